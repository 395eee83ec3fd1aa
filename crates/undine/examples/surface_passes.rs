//! What the passes of a surface take: `cargo run --release --example surface_passes -- SPACING FILE.ply...`.
//!
//! The options are those of a run of `mac`: cells of one spacing, densities reused. Each file is built several times, of which the
//! best counts; the numbers are milliseconds, means over the files.
use std::io::BufReader;

use undine::export::read_ply;
use undine::frame::Frame;
use undine::surface::{Options, build};

/// Times that a surface is built.
const TIMES: usize = 5;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let spacing: f64 = args.get(1).and_then(|s| s.parse().ok()).expect("a spacing");
    let options = Options { cell: 1.0, rest_density: vec![1000.0], ..Options::default() };
    let files = &args[2..];
    let mut sums: Vec<(String, f64)> = Vec::new();
    let (mut vertices, mut triangles) = (0, 0);
    for file in files {
        let mut input = BufReader::new(std::fs::File::open(file).expect("a readable file"));
        let particles = read_ply(&mut input).expect("a PLY file").to_particles().expect("x, y and z");
        let frame = Frame { spacing, support: 2.0 * spacing, particles, ..Frame::default() };
        let total = |times: &[(String, f64)]| times.iter().map(|t| t.1).sum::<f64>();
        let mut best: Vec<(String, f64)> = Vec::new();
        for _ in 0..TIMES {
            let (surface, passes) = build(&frame, &options).expect("a surface");
            let times: Vec<(String, f64)> = passes.times().iter().map(|(n, s)| (n.to_string(), *s)).collect();
            if best.is_empty() || total(&times) < total(&best) {
                best = times;
            }
            (vertices, triangles) = (surface.position.len(), surface.triangles.len());
        }
        for (name, seconds) in best {
            match sums.iter_mut().find(|s| s.0 == name) {
                Some(s) => s.1 += seconds,
                None => sums.push((name, seconds)),
            }
        }
    }
    let each = |s: f64| 1e3 * s / files.len() as f64;
    let all: f64 = sums.iter().map(|s| s.1).sum();
    let passes: Vec<String> = sums.iter().map(|(name, s)| format!("{name} {:.2}", each(*s))).collect();
    println!("{}, all {:.2}", passes.join(", "), each(all));
    println!("the last has {vertices} vertices and {triangles} triangles");
}
