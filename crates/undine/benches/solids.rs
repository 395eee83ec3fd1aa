//! Times mass-spring bodies alone: a cube of about 10,000 nodes falling on a floor, and a cloth of 100 × 100 nodes held
//! at its corners: `cargo bench -p undine --bench solids -- [MILLISECONDS]`.

mod common;

use std::path::Path;
use std::time::Instant;

use undine::models::Passes;
use undine::models::springs::Solids;
use undine::scene::Scene;
use undine::{fields::Fields, walls::Walls};

const CASES: [(&str, &str); 4] = [
    ("cube, soft", "shape = { box = { min = [0, 0.002, 0], max = [0.22, 0.222, 0.22] } }, spacing = 0.01"),
    (
        "cube, stiff",
        "shape = { box = { min = [0, 0.002, 0], max = [0.22, 0.222, 0.22] } }, spacing = 0.01, stiffness = 1e5",
    ),
    (
        "cloth, soft",
        "kind = 'cloth', shape = { box = { min = [0, 1, 0], max = [0.99, 1.001, 0.99] } }, spacing = 0.01, \
         stiffness = 50, damping = 0.1, pinned = ['corners']",
    ),
    (
        "cloth, stiff",
        "kind = 'cloth', shape = { box = { min = [0, 1, 0], max = [0.99, 1.001, 0.99] } }, spacing = 0.01, \
         stiffness = 2000, damping = 0.1, pinned = ['corners']",
    ),
];

fn main() {
    let args = common::args();
    let steps: usize = common::argument(&args, 0, 300);
    for (name, solid) in CASES {
        let text = format!(
            "solid = [{{ {solid} }}]\n[domain]\nmin = [-2, 0, -2]\nmax = [2, 2, 2]\n[model]\nspacing = 0.01\n[[fluid]]\n"
        );
        let scene = Scene::parse(&text, "solids.toml", Path::new("."), &[]).expect("a sound scene").scene;
        let (mut solids, walls, fields) = (Solids::new(&scene), Walls::new(&scene), Fields::new(&scene));
        let mut passes = Passes::default();
        let begin = Instant::now();
        let mut iterations = 0;
        for step in 1..=steps {
            let time = 1e-3 * step as f64;
            solids.step(1e-3, time, &walls, &fields, &mut passes).expect("solids do not blow up");
            iterations += solids.iterations();
        }
        let per_step = 1e3 / steps as f64;
        println!(
            "{name}: {} nodes, {:.2} ms per ms simulated on {} threads, {:.0} iterations",
            solids.len(),
            begin.elapsed().as_secs_f64() * per_step,
            rayon::current_num_threads(),
            iterations as f64 / steps as f64,
        );
        for (pass, time) in passes.times() {
            println!("  {pass}: {:.2} ms", time * per_step);
        }
    }
}
