//! Writes two made-up frames in every format, for `tools/check_exports.py` to read with other people's readers:
//! `cargo run --release -p undine --example export_sample -- DIR [PARTICLES]`

use std::time::Instant;

use undine::atomic::{AtomicFile, Durability};
use undine::export::{Format, Plot, Pvd, write_particles, write_solids};
use undine::frame::{Body, Field, FieldData, Frame, Particles};
use undine::run_folder::RunFolder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("which folder?")?;
    let count = arguments.next().map_or(Ok(1000), |n| n.parse())?;
    let folder = RunFolder::create(dir, false)?;
    folder.check_writable()?;

    let mut pvd = Pvd::new();
    for index in 0..2 {
        let frame = sample(index, count);
        for format in Format::ALL {
            let path = folder.particles_path(index, format.name());
            let start = Instant::now();
            AtomicFile::write_with(&path, Durability::Process, |out| write_particles(format, &frame, out))?;
            println!("{} {:.3} s", path.display(), start.elapsed().as_secs_f64());
        }
        AtomicFile::write_with(folder.solids_path(index, "ply"), Durability::Process, |out| {
            write_solids(&frame, out)
        })?;
        pvd.push(frame.time, &format!("particles_{index:04}.vtp"));
        pvd.write(&folder.pvd_path())?;
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
        radius: 0.0,
    };
    let ball = Body {
        name: "ball".into(),
        nodes: vec![[0.5, 2.0, 0.5]],
        velocity: vec![[0.0; 3]],
        triangles: vec![],
        radius: 0.1,
    };
    Frame {
        index,
        time,
        spacing: 0.01,
        support: 0.02,
        particles: Particles { position, fields },
        solids: vec![ball, cloth],
    }
}
