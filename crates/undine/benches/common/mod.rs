//! What the benchmarks share: arguments, a dam break, and the least disturbed times.
#![allow(dead_code)] // each benchmark uses its part

use undine::models::Passes;
use undine::scene::Scene;
use undine::world::World;

/// The arguments, without what `cargo bench` adds.
pub fn args() -> Vec<String> {
    std::env::args().skip(1).filter(|a| a != "--bench").collect()
}

/// The argument at a place, or its default.
pub fn argument<T: std::str::FromStr>(args: &[String], at: usize, default: T) -> T {
    match args.get(at).map(|a| a.parse()) {
        None => default,
        Some(Ok(value)) => value,
        Some(Err(_)) => {
            eprintln!("argument {} is not understood: {}", at + 1, args[at]);
            std::process::exit(2);
        }
    }
}

/// A column of 1 × 1 × 0.5 m in a tank of 2.5 × 2 × 0.5 m, of about that many particles.
pub fn dam_break(particles: f64) -> World {
    let d = (1.0 * 1.0 * 0.5 / particles).cbrt();
    let text = format!(
        "gravity=[0,-9.81,0]\n[time]\nduration=4\n[domain]\nmin=[0,0,0]\nmax=[2.5,2,0.5]\n[model]\nspacing={d}\n[[fluid]]\nshape={{box={{min=[0,0,0],max=[1,1,0.5]}}}}\n"
    );
    let scene =
        Scene::parse(&text, "x.toml", std::path::Path::new("."), &[]).expect("the scene is right").scene;
    World::new(scene).expect("the scene can be run")
}

/// The best times of several rounds, in all and by pass: on a busy machine the best is the least disturbed.
#[derive(Default)]
pub struct Best {
    total: Option<f64>,
    passes: Vec<(String, f64)>,
}

impl Best {
    /// Takes note of a round that did its work `repeats` times: seconds in all, and those of its passes.
    pub fn round(&mut self, repeats: usize, seconds: f64, passes: &Passes) {
        let each = seconds / repeats as f64;
        self.total = Some(self.total.map_or(each, |best| best.min(each)));
        for (name, s) in passes.times() {
            let each = s / repeats as f64;
            match self.passes.iter_mut().find(|p| p.0 == *name) {
                Some(best) => best.1 = best.1.min(each),
                None => self.passes.push(((*name).to_string(), each)),
            }
        }
    }

    /// Seconds in all.
    pub fn total(&self) -> f64 {
        self.total.unwrap_or(f64::NAN)
    }

    /// Prints the passes, a line each.
    pub fn print_passes(&self) {
        for (name, s) in &self.passes {
            println!("  {name:10} {:.3} ms", s * 1e3);
        }
    }
}
