//! Times a picture of a dam break, as water and as particles:
//! `cargo bench -p undine --bench picture -- [PARTICLES] [WIDTH] [HEIGHT] [REPEATS]`.

mod common;

use std::time::Instant;

use undine::models::Passes;
use undine::picture::{ColorBy, Look, Mark, Options, View, render};
use undine::surface;

fn main() {
    let args = common::args();
    let particles = common::argument(&args, 0, 30_000.0);
    let (width, height) = (common::argument(&args, 1, 640), common::argument(&args, 2, 360));
    let repeats = common::argument(&args, 3, 3);
    let mut world = common::dam_break(particles);
    while world.clock().time < 0.25 {
        world.advance_frame().expect("a dam break does not blow up");
    }
    let frame = world.frame();
    let (surface, _) = surface::build(&frame, &surface::Options::of_scene(world.scene())).expect("a surface");
    println!(
        "{} particles, {} triangles, {} × {} pixels, {} threads",
        frame.particles.len(),
        surface.triangles.len(),
        width,
        height,
        rayon::current_num_threads()
    );
    let view = View { scene: Some(world.scene()), surface: Some(&surface), ..View::new(&frame) };
    let balls = Look::Particles { mark: Mark::Balls, by: ColorBy::Speed };
    for (what, look) in [("water", Look::Water), ("particles", balls)] {
        let options = Options { width, height, look, ..Options::default() };
        let mut best = common::Best::default();
        for _ in 0..repeats {
            let begin = Instant::now();
            let image = render(&view, &options);
            best.round(1, begin.elapsed().as_secs_f64(), &Passes::default());
            std::hint::black_box(image);
        }
        println!("{what}: {:.1} ms", best.total() * 1e3);
    }
}
