//! Sources of fluid. A disc sends out layers exactly one spacing apart, each placed where it would be by now, so
//! that a stream has neither gaps nor overlaps whatever the steps; a volume keeps itself filled.

mod forecast;

use glam::DVec3;

use crate::models::{Birth, Solver};
use crate::scene::shape::Shape;
use crate::scene::{Emitter, Scene};

pub use forecast::{Forecast, forecast};

/// A place is taken when a particle is nearer than this, × spacing: a stream that backs up is not crowded.
const CROWDED: f64 = 0.7;

/// Most layers of a stream that come in one step.
const MOST_LAYERS: f64 = 1000.0;

/// An emitter in motion.
#[derive(Clone, Debug)]
pub struct Source {
    emitter: Emitter,
    places: Vec<DVec3>,
    spacing: f64,
    /// How far the last layer has moved from the disc, m.
    travelled: f64,
}

impl Source {
    /// The emitters of a scene.
    pub fn all(scene: &Scene) -> Vec<Source> {
        let spacing = scene.model.particle_spacing();
        scene
            .emitters
            .iter()
            .map(|e| Source {
                places: e.shape.fill(spacing),
                emitter: e.clone(),
                spacing,
                travelled: spacing,
            })
            .collect()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.emitter.name
    }

    /// The switch that must be on.
    pub fn switch(&self) -> Option<&str> {
        self.emitter.switch.as_deref()
    }

    /// Number of particles of a full layer (disc) or filling (volume).
    pub fn layer(&self) -> usize {
        self.places.len()
    }

    /// Changes its speed, m/s.
    pub fn set_speed(&mut self, speed: f64) {
        self.emitter.speed = speed;
    }

    /// Speed, m/s.
    pub fn speed(&self) -> f64 {
        self.emitter.speed
    }

    /// State to save: how far the last layer has moved, and the speed.
    pub fn state(&self) -> [f64; 2] {
        [self.travelled, self.emitter.speed]
    }

    /// Restores what [`Source::state`] gave.
    pub fn restore(&mut self, state: [f64; 2]) {
        [self.travelled, self.emitter.speed] = state;
    }

    fn is_open(&self, time: f64, switched_on: bool) -> bool {
        switched_on && time >= self.emitter.start && time < self.emitter.stop
    }

    /// The particles due at `time`, appended to `births`, at most up to `room` of them in all.
    pub fn emit(
        &mut self,
        time: f64,
        switched_on: bool,
        solver: &dyn Solver,
        births: &mut Vec<Birth>,
        room: usize,
    ) {
        if !self.is_open(time, switched_on) {
            // The next opening starts with a fresh layer.
            self.travelled = self.spacing;
            return;
        }
        let is_stream = matches!(self.emitter.shape, Shape::Disc { .. });
        if !is_stream {
            return self.fill_places(DVec3::ZERO, solver, births, room);
        }
        // In a long step more than one layer has left the disc; a step by hand may be so long that most are gone again.
        if self.travelled > MOST_LAYERS * self.spacing {
            self.travelled = MOST_LAYERS * self.spacing;
        }
        while self.travelled >= self.spacing {
            self.travelled -= self.spacing;
            self.fill_places(self.emitter.direction * self.travelled, solver, births, room);
        }
    }

    fn fill_places(&self, offset: DVec3, solver: &dyn Solver, births: &mut Vec<Birth>, room: usize) {
        let velocity = self.emitter.direction * self.emitter.speed;
        for place in &self.places {
            let position = *place + offset;
            if births.len() < room && !solver.occupied(position, CROWDED * self.spacing) {
                births.push(Birth { position, velocity, fluid: self.emitter.fluid });
            }
        }
    }

    /// Lets time pass: layers move on.
    pub fn pass(&mut self, time: f64, dt: f64, switched_on: bool) {
        if self.is_open(time, switched_on) {
            self.travelled += self.emitter.speed * dt;
        }
    }
}
