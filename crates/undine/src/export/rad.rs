//! Radiance: polygons with a dielectric water, as Génevaux rendered them. `scene.rad` has materials, sky, floor and
//! walls that stand still; a file a frame has the surface, solids and walls that move:
//!
//! ```text
//! oconv scene.rad surface_0000.rad > 0000.oct
//! rpict -vf scene.vf -ab 1 0000.oct > 0000.hdr
//! ```
//!
//! Polygons of Radiance are flat: the format has no normals at corners.

use std::io::{self, Write};

use glam::DVec3;

use super::mesh::{Joined, Short, Shot, identifier, parts, signature};
use super::stage::{GLASS_IOR, Stage, WATER_IOR};
use crate::plain::{Records, Shortest};
use crate::surface::Surface;

/// Writes the polygons of a frame.
pub(super) fn write_frame(shot: &Shot<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut records = Records::new(out);
    let frame = shot.frame;
    records.next()?.extend_from_slice(signature(frame, "#").as_bytes());
    for (fluid, part) in parts(shot.surface) {
        let material = format!("fluid_{}", shot.stage.material(fluid));
        polygons(&mut records, &material, &format!("f{fluid}"), &part)?;
    }
    for (i, body) in frame.solids.iter().enumerate() {
        if body.triangles.is_empty() {
            for (k, node) in body.nodes.iter().enumerate().filter(|_| body.radius > 0.0) {
                let radius = Short(body.radius);
                writeln!(records.next()?, "solid sphere s{i}.{k}\n0\n0\n4 {} {radius}", Joined(node, " "))?;
            }
        } else {
            let mesh = Surface {
                position: body.nodes.clone(),
                triangles: body.triangles.clone(),
                ..Surface::default()
            };
            polygons(&mut records, "solid", &format!("s{i}"), &mesh)?;
        }
    }
    for (i, wall) in shot.stage.walls.iter().enumerate().filter(|(_, wall)| wall.moves()) {
        polygons(&mut records, material(wall.glass), &format!("w{i}"), &wall.mesh_at(frame.time))?;
    }
    records.finish()
}

/// Writes the scene around the frames.
pub(super) fn write_scene(stage: &Stage, out: &mut dyn Write) -> io::Result<()> {
    let mut records = Records::new(out);
    let sun = stage.sun();
    writeln!(
        records.next()?,
        "void light sun_light\n0\n0\n3 60000 58000 54000\n\
         sun_light source sun\n0\n0\n4 {} {} {} 0.53\n\
         void glow sky_glow\n0\n0\n4 0.8 0.95 1.2 0\n\
         sky_glow source sky\n0\n0\n4 0 1 0 180\n\
         void glow ground_glow\n0\n0\n4 0.5 0.5 0.5 0\n\
         ground_glow source ground\n0\n0\n4 0 -1 0 180\n\
         void plastic wall\n0\n0\n5 0.6 0.6 0.6 0 0\n\
         void plastic floor\n0\n0\n5 0.65 0.65 0.65 0 0\n\
         void plastic solid\n0\n0\n5 0.8 0.3 0.1 0.02 0.05\n\
         void dielectric glass\n0\n0\n5 0.98 0.99 0.98 {GLASS_IOR} 0",
        Shortest(sun.x),
        Shortest(sun.y),
        Shortest(sun.z)
    )?;
    for fluid in 0..stage.materials() {
        // What is left of light after one unit of length, 1 m. Nothing may be 0: it would be black for ever.
        let [r, g, b] =
            stage.look(fluid.min(255) as u8).color.map(|c| Shortest(c.max(1e-3).powf(1.0 / stage.depth())));
        writeln!(records.next()?, "void dielectric fluid_{fluid}\n0\n0\n5 {r} {g} {b} {WATER_IOR} 0")?;
    }
    let (low, high) = {
        let (centre, reach) = (stage.bounds.center(), stage.floor_reach());
        (centre - reach, centre + reach)
    };
    // A little below the lowest water, so that the two faces do not fight.
    let y = Shortest(stage.floor - 1e-3 * stage.bounds.size().max_element());
    let [x0, z0, x1, z1] = [low.x, low.z, high.x, high.z].map(Shortest);
    writeln!(
        records.next()?,
        "floor polygon the_floor\n0\n0\n12\n{x0} {y} {z1}\n{x1} {y} {z1}\n{x1} {y} {z0}\n{x0} {y} {z0}"
    )?;
    for (i, wall) in stage.walls.iter().enumerate().filter(|(_, wall)| !wall.moves()) {
        writeln!(records.next()?, "# {}", identifier(&wall.name))?;
        polygons(&mut records, material(wall.glass), &format!("w{i}"), &wall.mesh)?;
    }
    records.finish()
}

/// Writes the view file, for pictures 16 wide and 9 high.
pub(super) fn write_view(stage: &Stage, out: &mut dyn Write) -> io::Result<()> {
    let camera = &stage.camera;
    let d = (camera.target - camera.position).normalize_or(DVec3::NEG_Z);
    let horizontal = 2.0 * ((0.5 * camera.fov).to_radians().tan() * 16.0 / 9.0).atan();
    let p = camera.position;
    let [px, py, pz, dx, dy, dz] = [p.x, p.y, p.z, d.x, d.y, d.z].map(Shortest);
    writeln!(
        out,
        "rvu -vtv -vp {px} {py} {pz} -vd {dx} {dy} {dz} -vu 0 1 0 -vh {} -vv {}",
        Shortest(horizontal.to_degrees()),
        Shortest(camera.fov)
    )
}

fn material(glass: bool) -> &'static str {
    if glass { "glass" } else { "wall" }
}

fn polygons(records: &mut Records<'_>, material: &str, name: &str, mesh: &Surface) -> io::Result<()> {
    let at = |corner: u32| mesh.position[corner as usize];
    for (t, &[a, b, c]) in mesh.triangles.iter().enumerate() {
        let [p, q, r] = [a, b, c].map(at);
        let double = |p: [f32; 3]| DVec3::from(p.map(f64::from));
        // Radiance complains of polygons without area.
        if (double(q) - double(p)).cross(double(r) - double(p)) == DVec3::ZERO {
            continue;
        }
        writeln!(
            records.next()?,
            "{material} polygon {name}.{t}\n0\n0\n9\n{}\n{}\n{}",
            Joined(&p, " "),
            Joined(&q, " "),
            Joined(&r, " ")
        )?;
    }
    Ok(())
}
