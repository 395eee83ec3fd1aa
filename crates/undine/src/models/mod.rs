//! The numerical models, each behind the small [`Solver`] trait.

pub mod lennard_jones;
pub mod mac;
mod spares;
pub mod sph;
pub mod springs;

use std::time::Instant;

use glam::DVec3;

use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::fields::Fields;
use crate::frame::Frame;
use crate::walls::Walls;
use springs::Solids;

/// A model in motion: it owns its state and advances it. On a CPU or a GPU, of particles or cells.
pub trait Solver: Send {
    /// The largest stable step now, and which limit rules.
    fn step_limit(&self) -> StepLimit;

    /// Advances by `dt`, s. `around` is what the model finds around itself during this step.
    fn step(&mut self, dt: f64, around: &Around, passes: &mut Passes) -> Result<(), Trouble>;

    /// Evens out the fluid that a scene starts with, before time starts.
    fn settle(&mut self, around: &Around) {
        let _ = around;
    }

    /// Brings derived state up to date after particles came or went between steps.
    fn refresh(&mut self, around: &Around, passes: &mut Passes);

    /// Adds fluid; returns how many were taken.
    fn insert(&mut self, births: &[Birth]) -> usize;

    /// Whether any particle is nearer than `distance` to a place (as of the last step).
    fn occupied(&self, place: DVec3, distance: f64) -> bool;

    /// Deletes the particles in a region; returns how many.
    fn remove(&mut self, region: &(dyn Fn(DVec3) -> bool + Sync)) -> usize;

    /// Number of particles or markers.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next step ends at a frame. What follows must not depend on what is not saved: a run may be resumed there.
    fn frame_ahead(&mut self) {}

    /// What it shows of itself.
    fn frame(&self, around: &Around) -> Frame;

    /// Changes a fluid's parameter while running; false when there is no such parameter.
    fn set_fluid(&mut self, fluid: usize, key: &str, value: f64) -> bool;

    /// Forces of the fluid on each node of the solids during the last step, N; `None` when it does not feel them.
    fn forces_on_solids(&self) -> Option<&[DVec3]> {
        None
    }

    /// Named numbers about the last step, for those who watch: iterations of solvers, errors.
    fn diagnostics(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Number of boundary particles.
    fn walls(&self) -> usize {
        0
    }

    /// Writes all state that the next step depends on.
    fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()>;

    /// Reads what [`Solver::save`] wrote.
    fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError>;
}

/// What surrounds the fluid during a step.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Time at the end of the step, s.
    pub time: f64,
    /// Walls, posed at that time.
    pub walls: &'a Walls,
    /// Gravity, force fields and brushes.
    pub fields: &'a Fields,
    /// Mass-spring bodies at the start of the step.
    pub solids: &'a Solids,
}

/// A new particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Birth {
    /// Where, m.
    pub position: DVec3,
    /// Its velocity, m/s.
    pub velocity: DVec3,
    /// Index of its fluid.
    pub fluid: usize,
}

/// The largest stable step and the limit that rules it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepLimit {
    /// Step, s.
    pub step: f64,
    /// Which limit: `cfl`, `force`, `viscous`, `tension`, `pair`, `solid`, `max_step`, `step`.
    pub name: &'static str,
}

/// A state that must not go on: non-finite or runaway.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the {term} blew up at t = {time:.6} s: particle {particle} at ({:.4}, {:.4}, {:.4}) m has {value:.3e}; \
     try a smaller `model.cfl`, a larger `model.compression` or a higher `model.max_speed`",
    position[0], position[1], position[2]
)]
pub struct Trouble {
    /// Which term is to blame: `pressure`, `viscosity`, `tension`, `pair force`, `force field`, `velocity`, `springs` (then the particle is a node).
    pub term: &'static str,
    /// Stable number of the particle.
    pub particle: u32,
    /// Where it was, m.
    pub position: [f64; 3],
    /// The offending magnitude.
    pub value: f64,
    /// When, s.
    pub time: f64,
}

/// Seconds spent in each named pass, in the order of first use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passes {
    times: Vec<(&'static str, f64)>,
}

impl Passes {
    /// Runs a pass and adds its time under its name.
    pub fn time<R>(&mut self, name: &'static str, pass: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let result = pass();
        self.add(name, begin.elapsed().as_secs_f64());
        result
    }

    /// Adds seconds under a name.
    pub fn add(&mut self, name: &'static str, seconds: f64) {
        match self.times.iter_mut().find(|t| t.0 == name) {
            Some(t) => t.1 += seconds,
            None => self.times.push((name, seconds)),
        }
    }

    /// The names and seconds.
    pub fn times(&self) -> &[(&'static str, f64)] {
        &self.times
    }

    /// Seconds in all passes together.
    pub fn total(&self) -> f64 {
        self.times.iter().map(|t| t.1).sum()
    }

    /// Forgets all times.
    pub fn clear(&mut self) {
        self.times.clear();
    }
}
