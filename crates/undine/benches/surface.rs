//! Times a surface and its passes: `cargo bench -p undine --bench surface -- [METHOD] [CELL] [REPEATS] [FILE.ply SPACING]`.
//! Without a file it is that of a dam break of 60,000 particles, 0.25 s after it began.

mod common;

use std::io::BufReader;
use std::time::Instant;

use undine::export::read_ply;
use undine::frame::{Field, FieldData, Frame};
use undine::surface::{Method, Options, build};

fn main() {
    let args = common::args();
    let name = common::argument(&args, 0, Method::default().name().to_string());
    let Some(method) = Method::from_name(&name) else {
        eprintln!("there is no method {name}");
        std::process::exit(2);
    };
    let cell = common::argument(&args, 1, 0.5);
    let repeats = common::argument(&args, 2, 10);
    let mut frame = match args.get(3) {
        Some(file) => read(file, common::argument(&args, 4, f64::NAN)),
        None => moving(),
    };
    println!("{} particles, {} threads, {name}", frame.particles.len(), rayon::current_num_threads());
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

fn read(file: &str, spacing: f64) -> Frame {
    if spacing.is_nan() {
        eprintln!("the spacing of the particles must follow the file");
        std::process::exit(2);
    }
    let mut input = BufReader::new(std::fs::File::open(file).expect("a readable file"));
    let particles = read_ply(&mut input).expect("a PLY file").to_particles().expect("x, y and z");
    Frame { spacing, support: 2.0 * spacing, particles, ..Frame::default() }
}

fn moving() -> Frame {
    let mut world = common::dam_break(60_000.0);
    while world.clock().time < 0.25 {
        world.advance_frame().expect("a dam break does not blow up");
    }
    world.frame()
}

fn time(what: &str, frame: &Frame, options: &Options, repeats: usize) {
    let mut best = common::Best::default();
    let mut size = (0, 0);
    for _ in 0..repeats {
        let begin = Instant::now();
        let (surface, passes) = build(frame, options).expect("a surface");
        best.round(1, begin.elapsed().as_secs_f64(), &passes);
        size = (surface.position.len(), surface.triangles.len());
    }
    println!("{what}: {:.2} ms, {} vertices, {} triangles", best.total() * 1e3, size.0, size.1);
    best.print_passes();
}
