//! POV-Ray: a scene for the whole run, and an include file a frame with the surface as `mesh2`, the solids and the
//! poses of moving walls.
//!
//! POV-Ray's axes are left-handed; a camera whose `right` is -x shows our right-handed ones unmirrored.

use std::io::{self, Write};

use glam::{DAffine3, DVec3};

use super::mesh::{Joined, Short, Shot, identifier, parts, signature};
use super::stage::{GLASS_IOR, Stage, WATER_IOR};
use super::tessellate;
use crate::plain::{Records, Shortest};
use crate::surface::Surface;

/// Writes the include file of a frame.
pub(super) fn write_frame(shot: &Shot<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut records = Records::new(out);
    let frame = shot.frame;
    records.next()?.extend_from_slice(signature(frame, "//").as_bytes());
    for (i, wall) in shot.stage.walls.iter().enumerate().filter(|(_, wall)| wall.moves()) {
        write!(records.next()?, "#declare Pose_{i} = transform {{ ")?;
        put_matrix(records.next()?, &wall.pose(frame.time))?;
        writeln!(records.next()?, " }}")?;
    }
    for (fluid, part) in parts(shot.surface) {
        mesh2(&mut records, &part)?;
        let material = shot.stage.material(fluid);
        writeln!(records.next()?, "  material {{ Fluid_{material} }}\n}}")?;
    }
    for body in &frame.solids {
        if body.triangles.is_empty() {
            for node in &body.nodes {
                let radius = Short(body.radius);
                writeln!(
                    records.next()?,
                    "sphere {{ <{}>, {radius} texture {{ Solid }} }}",
                    Joined(node, ", ")
                )?;
            }
        } else {
            mesh2(&mut records, &tessellate::body(body))?;
            writeln!(records.next()?, "  texture {{ Solid }}\n}}")?;
        }
    }
    records.finish()
}

/// Writes the scene that includes the frames. `povray scene.pov +KFI0 +KFF99` renders the first hundred.
pub(super) fn write_scene(stage: &Stage, out: &mut dyn Write) -> io::Result<()> {
    let mut records = Records::new(out);
    let camera = &stage.camera;
    let point = |p: DVec3| format!("<{}, {}, {}>", Shortest(p.x), Shortest(p.y), Shortest(p.z));
    let title: String = stage.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    writeln!(
        records.next()?,
        "// {title}\n\
         // One frame:  povray scene.pov +KFI0 +KFF0 +W1280 +H720 +A0.3\n\
         // The run:    povray scene.pov +KFI0 +KFF239 +W1280 +H720 +A0.3\n\
         #version 3.7;\n\
         global_settings {{ assumed_gamma 1.0 max_trace_level 16 }}\n\
         #declare Fov = {};    // vertical, degrees\n\
         camera {{\n  perspective\n  location {}\n  right -x*image_width/image_height\n  up y\n\
         \x20 angle 2*degrees(atan2(tan(radians(Fov)/2)*image_width/image_height, 1))\n  look_at {}\n}}",
        Shortest(camera.fov),
        point(camera.position),
        point(camera.target)
    )?;
    writeln!(
        records.next()?,
        "light_source {{ {} color rgb 1.6 parallel point_at 0 }}\n\
         sky_sphere {{ pigment {{ gradient y color_map {{ [0 rgb <0.75, 0.82, 0.9>] [0.6 rgb <0.25, 0.45, 0.8>] }} }} }}\n\
         #default {{ finish {{ ambient rgb 0.35 diffuse 0.65 }} }}",
        point(1000.0 * stage.bounds.size().max_element().max(1.0) * stage.sun())
    )?;
    // A little below the lowest water, so that the two faces do not fight.
    let size = stage.bounds.size().max_element().max(1e-6);
    writeln!(
        records.next()?,
        "plane {{ y, {} pigment {{ checker color rgb 0.72 color rgb 0.62 scale {} }} }}",
        Shortest(stage.floor - 1e-3 * size),
        Shortest(0.1 * size)
    )?;
    writeln!(
        records.next()?,
        "#declare Solid = texture {{ pigment {{ color rgb <0.8, 0.3, 0.1> }} finish {{ specular 0.3 }} }}\n\
         #declare Wall = texture {{ pigment {{ color rgb 0.6 }} }}\n\
         #declare Glass = material {{\n  texture {{ pigment {{ color rgbt 1 }} finish {{ ambient 0 diffuse 0 specular 0.5 \
         roughness 0.002 reflection {{ 0, 1 fresnel on }} conserve_energy }} }}\n  interior {{ ior {GLASS_IOR} }}\n}}"
    )?;
    for fluid in 0..stage.materials() {
        let look = stage.look(fluid.min(255) as u8);
        let [r, g, b] = look.color.map(Shortest);
        // Power 1001 is exponential (Beer's law): half of the light is lost at the fade distance, and what is left
        // has the colour's tint.
        writeln!(
            records.next()?,
            "#declare Fluid_{fluid} = material {{    // {}\n  texture {{ pigment {{ color rgbt 1 }} finish {{ ambient 0 \
             diffuse 0 specular 0.7 roughness 0.001 reflection {{ 0, 1 fresnel on }} conserve_energy }} }}\n  \
             interior {{ ior {WATER_IOR} fade_distance {} fade_power 1001 fade_color <{r}, {g}, {b}> }}\n}}",
            identifier(&look.name),
            Shortest(stage.depth())
        )?;
    }
    writeln!(records.next()?, "#include concat(\"surface_\", str(frame_number, -4, 0), \".inc\")")?;
    for (i, wall) in stage.walls.iter().enumerate().filter(|(_, wall)| !wall.mesh.triangles.is_empty()) {
        writeln!(records.next()?, "// {}", identifier(&wall.name))?;
        mesh2(&mut records, &wall.mesh)?;
        let look = if wall.glass { "material { Glass }" } else { "texture { Wall }" };
        let pose = if wall.moves() { format!(" transform {{ Pose_{i} }}") } else { String::new() };
        writeln!(records.next()?, "  {look}{pose}\n}}")?;
    }
    records.finish()
}

/// A `mesh2` without its end, so that a material can follow.
fn mesh2(records: &mut Records<'_>, mesh: &Surface) -> io::Result<()> {
    writeln!(records.next()?, "mesh2 {{\n  vertex_vectors {{ {}", mesh.position.len())?;
    for p in &mesh.position {
        writeln!(records.next()?, ",<{}>", Joined(p, ","))?;
    }
    if !mesh.normal.is_empty() {
        writeln!(records.next()?, "  }}\n  normal_vectors {{ {}", mesh.normal.len())?;
        for n in &mesh.normal {
            writeln!(records.next()?, ",<{}>", Joined(n, ","))?;
        }
    }
    writeln!(records.next()?, "  }}\n  face_indices {{ {}", mesh.triangles.len())?;
    for [a, b, c] in &mesh.triangles {
        writeln!(records.next()?, ",<{a},{b},{c}>")?;
    }
    writeln!(records.next()?, "  }}")
}

fn put_matrix(record: &mut Vec<u8>, pose: &DAffine3) -> io::Result<()> {
    // POV-Ray multiplies rows from the left: the columns of ours, one after the other.
    let numbers = pose.to_cols_array().map(|x| Shortest(x).to_string());
    write!(record, "matrix <{}>", numbers.join(", "))
}
