//! Mitsuba 3: a scene a frame as XML; the meshes are PLY files beside it. `mitsuba -m scalar_rgb surface_0000.xml`

use std::fmt::Write as _;
use std::io::{self, Write};

use glam::{DAffine3, DMat4, DVec3};

use super::mesh::{Short, Shot, parts};
use super::stage::{GLASS_IOR, WATER_IOR};
use super::svg::escape;
use crate::plain::Shortest;

/// The PLY file of a fluid of a frame: the surface's own where there is one fluid.
pub(super) fn part_name(frame: u64, fluid: u8, several: bool) -> String {
    if several { format!("surface_{frame:04}.fluid{fluid}.ply") } else { format!("surface_{frame:04}.ply") }
}

/// The PLY file of a wall.
pub(super) fn wall_name(wall: usize) -> String {
    format!("walls.{wall}.ply")
}

/// Writes the scene of a frame.
pub(super) fn write(shot: &Shot<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (stage, frame) = (shot.stage, shot.frame);
    let mut xml = String::from("<scene version=\"3.0.0\">\n");
    let _ = writeln!(
        xml,
        "<!-- undine {} time {} frame {} -->",
        env!("CARGO_PKG_VERSION"),
        Shortest(frame.time),
        frame.index
    );
    xml += "<default name=\"spp\" value=\"64\"/>\n<default name=\"width\" value=\"1280\"/>\n\
            <default name=\"height\" value=\"720\"/>\n\
            <integrator type=\"path\"><integer name=\"max_depth\" value=\"16\"/></integrator>\n";
    let camera = &stage.camera;
    let _ = writeln!(
        xml,
        "<sensor type=\"perspective\">\n<string name=\"fov_axis\" value=\"y\"/>\n<float name=\"fov\" value=\"{}\"/>\n\
         <transform name=\"to_world\"><lookat origin=\"{}\" target=\"{}\" up=\"0, 1, 0\"/></transform>\n\
         <sampler type=\"independent\"><integer name=\"sample_count\" value=\"$spp\"/></sampler>\n\
         <film type=\"hdrfilm\"><integer name=\"width\" value=\"$width\"/><integer name=\"height\" value=\"$height\"/>\
         <rfilter type=\"gaussian\"/></film>\n</sensor>",
        Shortest(camera.fov),
        point(camera.position),
        point(camera.target)
    );
    // The sky lights the water from within too: paths leave it by chance. The sun's one direction they never hit, so
    // it is the weaker of the two.
    let _ = writeln!(
        xml,
        "<emitter type=\"constant\"><rgb name=\"radiance\" value=\"0.45, 0.55, 0.7\"/></emitter>\n\
         <emitter type=\"directional\"><vector name=\"direction\" value=\"{}\"/>\
         <rgb name=\"irradiance\" value=\"1.3, 1.25, 1.15\"/></emitter>",
        point(-stage.sun())
    );
    let centre = stage.bounds.center();
    let size = stage.bounds.size().max_element().max(1e-6);
    let floor = DAffine3::from_translation(centre.with_y(stage.floor - 1e-3 * size))
        * DAffine3::from_axis_angle(DVec3::X, -std::f64::consts::FRAC_PI_2)
        * DAffine3::from_scale(DVec3::splat(stage.floor_reach()));
    let _ = writeln!(
        xml,
        "<shape type=\"rectangle\"><transform name=\"to_world\">{}</transform>\n<bsdf type=\"diffuse\">\
         <texture name=\"reflectance\" type=\"checkerboard\"><rgb name=\"color0\" value=\"0.62, 0.62, 0.62\"/>\
         <rgb name=\"color1\" value=\"0.72, 0.72, 0.72\"/><transform name=\"to_uv\"><scale value=\"1000\"/></transform>\
         </texture></bsdf></shape>",
        matrix(&floor)
    );
    let _ = writeln!(
        xml,
        "<bsdf type=\"dielectric\" id=\"glass\"><float name=\"int_ior\" value=\"{GLASS_IOR}\"/></bsdf>\n\
         <bsdf type=\"twosided\" id=\"wall\"><bsdf type=\"diffuse\"><rgb name=\"reflectance\" value=\"0.6, 0.6, 0.6\"/>\
         </bsdf></bsdf>\n\
         <bsdf type=\"twosided\" id=\"solid\"><bsdf type=\"plastic\"><rgb name=\"diffuse_reflectance\" value=\"0.8, 0.3, 0.1\"/>\
         </bsdf></bsdf>"
    );
    let parts = parts(shot.surface);
    for (fluid, _) in &parts {
        let look = stage.look(*fluid);
        // Half the tint when light goes in, half when it comes out: no medium, which would be slow and noisy.
        let [r, g, b] = look.color.map(|c| Shortest(0.5 + 0.5 * c));
        let _ = writeln!(
            xml,
            "<!-- {} -->\n<shape type=\"ply\"><string name=\"filename\" value=\"{}\"/>\n<bsdf type=\"dielectric\">\
             <float name=\"int_ior\" value=\"{WATER_IOR}\"/>\
             <rgb name=\"specular_transmittance\" value=\"{r}, {g}, {b}\"/></bsdf></shape>",
            escape(&super::mesh::identifier(&look.name)),
            part_name(frame.index, *fluid, parts.len() > 1)
        );
    }
    if frame.solids.iter().any(|body| !body.triangles.is_empty()) {
        let _ = writeln!(
            xml,
            "<shape type=\"ply\"><string name=\"filename\" value=\"solids_{:04}.ply\"/><ref id=\"solid\"/></shape>",
            frame.index
        );
    }
    for body in frame.solids.iter().filter(|body| body.triangles.is_empty() && body.radius > 0.0) {
        for node in &body.nodes {
            let [x, y, z] = node.map(Short);
            let _ = writeln!(
                xml,
                "<shape type=\"sphere\"><point name=\"center\" x=\"{x}\" y=\"{y}\" z=\"{z}\"/>\
                 <float name=\"radius\" value=\"{}\"/><ref id=\"solid\"/></shape>",
                Short(body.radius)
            );
        }
    }
    for (i, wall) in stage.walls.iter().enumerate().filter(|(_, wall)| !wall.mesh.triangles.is_empty()) {
        let pose = if wall.moves() {
            format!("<transform name=\"to_world\">{}</transform>", matrix(&wall.pose(frame.time)))
        } else {
            String::new()
        };
        let _ = writeln!(
            xml,
            "<shape type=\"ply\"><string name=\"filename\" value=\"{}\"/>{pose}<ref id=\"{}\"/></shape>",
            wall_name(i),
            if wall.glass { "glass" } else { "wall" }
        );
    }
    xml += "</scene>\n";
    out.write_all(xml.as_bytes())
}

fn point(p: DVec3) -> String {
    format!("{}, {}, {}", Shortest(p.x), Shortest(p.y), Shortest(p.z))
}

/// Row by row.
fn matrix(pose: &DAffine3) -> String {
    let numbers = DMat4::from(*pose).transpose().to_cols_array().map(|x| Shortest(x).to_string());
    format!("<matrix value=\"{}\"/>", numbers.join(" "))
}
