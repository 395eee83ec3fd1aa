//! A short trial: some real steps, to tell how long all of them will take.

use std::time::{Duration, Instant};

use undine::models::Trouble;
use undine::world::World;

/// Enough steps for an estimate, and the longest that one should wait for it.
const STEPS: u64 = 20;
const WAIT: Duration = Duration::from_millis(500);
/// A step of one particle on one thread where nothing could be measured, s.
const GUESS: f64 = 400e-9;

/// What the trial found.
pub struct Trial {
    /// Wall time of a step of one particle or node, s.
    per_particle: f64,
    /// Why it ended early.
    pub trouble: Option<Trouble>,
}

impl Trial {
    /// Wall time of a step with that many particles and nodes, s.
    pub fn seconds_per_step(&self, particles: f64) -> f64 {
        self.per_particle * particles.max(1.0)
    }
}

/// Steps a world that is not needed any more.
pub fn run(mut world: World) -> Trial {
    let guess = GUESS / rayon::current_num_threads() as f64;
    let begin = Instant::now();
    let (mut particles, mut trouble) = (0, None);
    for _ in 0..STEPS {
        match world.step() {
            Ok(()) => particles += world.len() + world.solids().len(),
            Err(error) => {
                trouble = Some(error);
                break;
            }
        }
        if begin.elapsed() > WAIT {
            break;
        }
    }
    // A handful of particles costs the passes' overhead, not their work.
    let measured = begin.elapsed().as_secs_f64() / particles.max(1) as f64;
    Trial { per_particle: if particles < 1000 { guess.max(measured.min(1e-6)) } else { measured }, trouble }
}
