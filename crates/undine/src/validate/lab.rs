//! Where a case is run: it counts progress and collects checks and plots.

use std::path::Path;

use super::{Case, CaseError, Check, Outcome};
use crate::export::Plot;
use crate::frame::Frame;
use crate::probe::Probes;
use crate::scene::Scene;
use crate::world::World;

/// Collects what a case measures.
pub struct Lab<'a> {
    case: &'static str,
    model: &'static str,
    /// Coarse and short, for tests.
    pub quick: bool,
    progress: &'a mut dyn FnMut(f64),
    done: f64,
    outcome: Outcome,
}

/// A moment of a run, with its probes measured.
pub(super) struct Moment<'a> {
    pub frame: &'a Frame,
    pub probes: &'a [f64],
}

impl<'a> Lab<'a> {
    pub(super) fn new(case: &Case, quick: bool, progress: &'a mut dyn FnMut(f64)) -> Self {
        Lab { case: case.name, model: case.model, quick, progress, done: 0.0, outcome: Outcome::default() }
    }

    /// The default scheme of the case's model, for a slab.
    pub(super) fn scheme(&self) -> &'static str {
        if self.model == "mac" { super::slab::MAC } else { super::slab::DEFAULT }
    }

    /// Name of the case: file names of its plots begin with it.
    pub(super) fn name(&self) -> &'static str {
        self.case
    }

    /// Adds to the share of the work that is done, for what is run by hand.
    pub(super) fn advance(&mut self, share: f64) {
        self.done += share;
        (self.progress)(self.done.min(1.0));
    }

    /// One of two values: the first in full, the second when quick.
    pub(super) fn either<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Runs a scene to its end and shows every frame, the first included. `share` of the case's work is this run.
    pub(super) fn run(
        &mut self,
        scene: &str,
        share: f64,
        mut see: impl FnMut(&Moment),
    ) -> Result<World, CaseError> {
        let scene = Scene::parse(scene, self.case, Path::new("."), &[])?.scene;
        let frames = scene.time.frames();
        let probes = Probes::new(&scene);
        let mut world = World::new(scene)?;
        let start = self.done;
        for k in 0..=frames {
            if k > 0 {
                world.advance_frame()?;
            }
            let frame = world.frame();
            see(&Moment { frame: &frame, probes: &probes.measure(&frame) });
            self.done = start + share * (k + 1) as f64 / (frames + 1) as f64;
            (self.progress)(self.done.min(1.0));
        }
        Ok(world)
    }

    /// Adds a number and its error, which must not exceed the gate.
    pub(super) fn check(
        &mut self,
        what: impl Into<String>,
        measured: f64,
        reference: f64,
        error: f64,
        gate: f64,
    ) {
        let check = Check {
            case: self.case,
            model: self.model,
            what: what.into(),
            measured,
            reference,
            error,
            gate,
            pass: error <= gate,
        };
        self.outcome.checks.push(check);
    }

    /// As [`Lab::check`], with the error as a share of the reference.
    pub(super) fn check_ratio(&mut self, what: impl Into<String>, measured: f64, reference: f64, gate: f64) {
        self.check(what, measured, reference, (measured / reference - 1.0).abs(), gate);
    }

    /// Adds a plot under a file name.
    pub(super) fn plot(&mut self, name: impl Into<String>, plot: Plot) {
        self.outcome.plots.push((name.into(), plot));
    }

    pub(super) fn into_outcome(self) -> Outcome {
        self.outcome
    }
}
