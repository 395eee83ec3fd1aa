//! Times a step and its passes (sort, density, forces, …) of a dam break of particles, or of a built-in scene:
//! `cargo bench -p undine --bench speed -- [PARTICLES | SCENE] [STEPS] [KEY=VALUE…]`.

mod common;

use std::time::Instant;

use undine::scene::Scene;
use undine::world::World;

/// Steps of a round.
const WINDOW: u64 = 3;
/// Steps before the first round.
const WARM_UP: u64 = 20;

fn main() {
    let args = common::args();
    let what = args.first().map_or("60000", String::as_str);
    let steps: u64 = common::argument(&args, 1, 50);
    let mut world = match what.parse() {
        Ok(particles) => common::dam_break(particles),
        Err(_) => scene(what, args.get(2..).unwrap_or_default()),
    };
    let advance = |world: &mut World, steps: u64| world.steps(steps).expect("the scene does not blow up");
    advance(&mut world, WARM_UP.min(steps));
    let mut best = common::Best::default();
    for _ in 0..(steps / WINDOW).max(1) {
        world.clear_passes();
        let begin = Instant::now();
        advance(&mut world, WINDOW);
        best.round(WINDOW as usize, begin.elapsed().as_secs_f64(), world.passes());
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
    for (name, value) in world.diagnostics() {
        println!("  {name} {value}, in {} steps", world.clock().steps);
    }
}

fn scene(name: &str, sets: &[String]) -> World {
    let loaded = Scene::load(name, sets).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2);
    });
    World::new(loaded.scene).expect("the scene can be run")
}
