//! Times a step of a dam break and its passes (sort and neighbour search, density, forces, …):
//! `cargo bench -p undine --bench speed -- [PARTICLES] [STEPS]`.

mod common;

use std::time::Instant;

/// Steps of a round.
const WINDOW: usize = 3;

fn main() {
    let args = common::args();
    let particles: f64 = common::argument(&args, 0, 60_000.0);
    let steps: usize = common::argument(&args, 1, 50);
    let mut world = common::dam_break(particles);
    let step = |world: &mut undine::world::World| world.step().expect("a dam break does not blow up");
    for _ in 0..20 {
        step(&mut world);
    }
    let mut best = common::Best::default();
    for _ in 0..(steps / WINDOW).max(1) {
        world.clear_passes();
        let begin = Instant::now();
        for _ in 0..WINDOW {
            step(&mut world);
        }
        best.round(WINDOW, begin.elapsed().as_secs_f64(), world.passes());
    }
    println!(
        "{} particles, {} threads: {:.3} ms/step, {:.1} ns/particle, dt {:.2e} {}",
        world.len(),
        rayon::current_num_threads(),
        best.total() * 1e3,
        best.total() * 1e9 / world.len() as f64,
        world.clock().last_step,
        world.step_limit().name
    );
    best.print_passes();
}
