//! Writes three made-up frames in every format, for `tools/check_exports.py` to open with other people's programs:
//! `cargo run --release -p undine --example export_sample -- DIR [PARTICLES]`

use std::path::Path;

use glam::DVec3;
use undine::export::{Format, Plot, RunExports, Stage};
use undine::frame::{Body, Field, FieldData, Frame, Particles};
use undine::run_folder::RunFolder;
use undine::scene::files::NoFiles;
use undine::scene::mesh::TriMesh;
use undine::scene::{Loaded, Scene};
use undine::surface::Surface;

/// Two fluids, a glass, a paddle that turns and a domain. The left ball is water, the right one oil.
const SCENE: &str = r#"
title = "Sample of \"exports\""
model = { spacing = 0.01 }
time = { duration = 1, frame_rate = 60 }
domain = { min = [-1, 0, -0.5], max = [1.5, 1, 1] }
[[fluid]]
name = "water"
color = [0.05, 0.25, 0.6]
shape = { box = { min = [0, 0, 0], max = [0.1, 0.1, 0.1] } }
[[fluid]]
name = "oil"
color = [0.8, 0.5, 0.1]
shape = { box = { min = [0.3, 0, 0], max = [0.4, 0.1, 0.1] } }
[[boundary]]
name = "glass"
shape = { cylinder = { base = [1, 0.05, 0.3], axis = [0, 1, 0], radius = 0.2, height = 0.5 } }
inside = "hollow"
open_top = true
[[boundary]]
name = "step"
shape = { box = { min = [-1, 0, -0.5], max = [1.5, 0.1, -0.3] } }
[[boundary]]
name = "paddle"
shape = { box = { min = [-0.9, 0.05, 0], max = [-0.6, 0.4, 0.05] } }
motion = { rotate = { center = [-0.75, 0, 0.025], axis = [0, 1, 0], speed = 6 } }
[camera]
position = [0.6, 1.1, 3.2]
target = [0.25, 0.4, 0.2]
fov = 40
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("which folder?")?;
    let count = arguments.next().map_or(Ok(1000), |n| n.parse())?;
    let folder = RunFolder::create(dir, false)?;
    folder.check_writable()?;

    let Loaded { scene, .. } = Scene::parse_with(SCENE, "sample.toml", Path::new("."), &[], &NoFiles)?;
    let mut exports = RunExports::open(&folder, &Format::ALL, Stage::new(&scene), 0)?;
    for index in 0..3 {
        for path in exports.write(&folder, &sample(index, count), Some(&surface(index)))? {
            println!("{}", path.display());
        }
    }

    let front = |a: f64| -> Vec<(f64, f64)> {
        (0..200).map(|i| f64::from(i) * 0.01).map(|t| (t, 1.0 + a * t * t / (0.6 + t))).collect()
    };
    let measured: Vec<(f64, f64)> =
        front(2.0).into_iter().step_by(14).map(|(t, x)| (t, x + 0.05 * (9.0 * t).sin())).collect();
    let plot = Plot::new("Dam break: surge front", "time √(g/a) t", "front x / a")
        .line("spacing 0.02 m", &front(1.8))
        .line("spacing 0.01 m", &front(1.95))
        .points("Martin & Moyce 1952", &measured);
    std::fs::write(folder.dir().join("plot.svg"), plot.to_svg())?;
    Ok(())
}

/// Two balls of different fluids, finer with each frame: the number of triangles changes.
fn surface(index: u64) -> Surface {
    let mut surface = Surface::default();
    for (fluid, x) in [(0u8, -0.1), (1, 0.5)] {
        let ball = TriMesh::icosphere(DVec3::ZERO, 1.0, 3 + index as u32);
        let first = surface.position.len() as u32;
        for v in &ball.vertices {
            surface.position.push((0.25 * *v + DVec3::new(x, 0.35, 0.2)).as_vec3().to_array());
            surface.normal.push(v.as_vec3().to_array());
            surface.velocity.push([x as f32, 0.5, index as f32]);
            surface.fluid.push(fluid);
        }
        surface.triangles.extend(ball.triangles.iter().map(|t| t.map(|corner| first + corner)));
    }
    surface
}

/// A wave on a grid of particles; every field differs from particle to particle.
fn sample(index: u64, count: usize) -> Frame {
    let time = index as f64 / 60.0;
    let vector = |f: fn(f32) -> [f32; 3]| (0..count).map(|i| f(i as f32)).collect::<Vec<_>>();
    let position = vector(|i| [i % 100.0 * 0.01, (i * 0.1).sin() * 0.1, (i / 100.0).floor() * 0.01]);
    let fields = vec![
        Field { name: "velocity", data: FieldData::Vector(vector(|i| [i.cos(), i.sin(), 0.5])) },
        Field {
            name: "density",
            data: FieldData::Scalar((0..count).map(|i| 1000.0 + (i as f32).sin()).collect()),
        },
        Field { name: "pressure", data: FieldData::Scalar((0..count).map(|i| i as f32 * 0.5).collect()) },
        Field { name: "fluid", data: FieldData::Byte((0..count).map(|i| (i % 3) as u8).collect()) },
        Field { name: "id", data: FieldData::Int((0..count).map(|i| (count - i) as u32).collect()) },
        Field { name: "normal", data: FieldData::Vector(vector(|i| [i.sin(), 0.0, i.cos()])) },
    ];
    let cloth = Body {
        name: "cloth".into(),
        nodes: vec![[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
        velocity: vec![[0.0, -1.0, 0.0]; 4],
        triangles: vec![[0, 1, 2], [1, 3, 2]],
        ..Body::default()
    };
    let ball = Body {
        name: "ball".into(),
        nodes: vec![[0.5, 2.0, 0.5]],
        velocity: vec![[0.0; 3]],
        radius: 0.1,
        ..Body::default()
    };
    Frame {
        index,
        time,
        spacing: 0.01,
        support: 0.02,
        gravity: None,
        spent: None,
        particles: Particles { position, fields },
        solids: vec![ball, cloth],
    }
}
