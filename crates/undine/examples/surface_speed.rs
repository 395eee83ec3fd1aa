//! Times the passes of a surface: `cargo run --release --example surface_speed -- FILE.ply SPACING [METHOD] [CELL] [REPEATS]`.
use std::io::BufReader;

use undine::export::read_ply;
use undine::frame::{Field, FieldData, Frame};
use undine::surface::{Method, Options, build};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (Some(file), Some(spacing)) = (args.get(1), args.get(2).and_then(|s| s.parse().ok())) else {
        eprintln!("surface_speed FILE.ply SPACING [METHOD] [CELL] [REPEATS]");
        std::process::exit(2);
    };
    let method = args.get(3).map_or(Some(Method::default()), |m| Method::from_name(m)).expect("a method");
    let cell = args.get(4).map_or(0.5, |c| c.parse().expect("a cell size"));
    let repeats = args.get(5).map_or(10, |r| r.parse().expect("a number"));
    let mut input = BufReader::new(std::fs::File::open(file).expect("a readable file"));
    let particles = read_ply(&mut input).expect("a PLY file").to_particles().expect("x, y and z");
    let mut frame = Frame { spacing, support: 2.0 * spacing, particles, ..Frame::default() };
    println!("{} particles, {} threads", frame.particles.len(), rayon::current_num_threads());
    let options = Options { cell, ..Options::plain(method) };
    time("raw", &frame, &options, repeats);
    if frame.particles.scalar("density").is_none() {
        // Stands for the solver's: the cost of reuse does not depend on the values.
        let data = FieldData::Scalar(vec![1000.0; frame.particles.len()]);
        frame.particles.fields.push(Field { name: "density", data });
    }
    let reuse = Options { rest_density: vec![1000.0], ..options };
    time("reuse", &frame, &reuse, repeats);
    let finish = Options { method, cell, rest_density: vec![1000.0], ..Options::default() };
    time("reuse, with slivers removed, smoothing and droplets", &frame, &finish, repeats);
}

fn time(what: &str, frame: &Frame, options: &Options, repeats: usize) {
    // The machine may be busy: the best of many is the least disturbed.
    let mut best: Vec<(&str, f64)> = Vec::new();
    let (mut total, mut size) = (f64::MAX, (0, 0));
    for _ in 0..repeats {
        let begin = std::time::Instant::now();
        let (surface, passes) = build(frame, options).expect("a surface");
        total = total.min(begin.elapsed().as_secs_f64());
        size = (surface.position.len(), surface.triangles.len());
        for (k, &(name, s)) in passes.times().iter().enumerate() {
            if best.len() <= k {
                best.push((name, f64::MAX));
            }
            best[k].1 = best[k].1.min(s);
        }
    }
    println!("{what}: {:.2} ms, {} vertices, {} triangles", total * 1e3, size.0, size.1);
    for (name, s) in best {
        println!("  {name:10} {:.2} ms", s * 1e3);
    }
}
