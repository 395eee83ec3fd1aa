//! How many particles emitters will add, before anything is run.

use std::collections::BTreeMap;

use glam::DVec3;

use crate::scene::shape::Shape;
use crate::scene::{Action, Emitter, Scene, Settable};

/// How many particles a run will have, as far as starts, stops, switches, speeds and the cap tell. What outflow deletes
/// and what finds its place taken is not taken off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Particles that emitters add by the end.
    pub added: f64,
    /// Mean number of particles over the run, those of the start included.
    pub mean: f64,
}

/// Forecasts a run that starts with `start` particles. Switches are off until an event of the scene turns them on.
pub fn forecast(scene: &Scene, start: usize) -> Forecast {
    let mut valves: Vec<Valve> = scene.emitters.iter().map(|e| Valve::new(e, scene)).collect();
    let mut by_switch: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut changes = Vec::new();
    for (i, emitter) in scene.emitters.iter().enumerate() {
        changes.push((emitter.start, Change::Start(i)));
        changes.push((emitter.stop, Change::Stop(i)));
        if let Some(name) = &emitter.switch {
            by_switch.entry(name).or_default().push(i);
        }
    }
    for event in &scene.events {
        match &event.action {
            Action::Switch { name, on } => changes.push((event.time, Change::Switch(name, *on))),
            Action::Set { key, value } => {
                if let (Some(Settable::EmitterSpeed(i)), [speed]) = (scene.settable(key), &value[..]) {
                    changes.push((event.time, Change::Speed(i, *speed)));
                }
            }
            _ => {}
        }
    }
    changes.retain(|(time, _)| *time < scene.time.duration);
    // Stable: those of one time in the order of the file.
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));

    let mut count = Count::new(start as f64, scene.model.max_particles as f64);
    for (time, change) in changes {
        count.pass(time);
        match change {
            Change::Start(i) => valves[i].change(&mut count, |valve| valve.started = true),
            Change::Stop(i) => valves[i].change(&mut count, |valve| valve.started = false),
            Change::Speed(i, speed) => valves[i].change(&mut count, |valve| valve.speed = speed),
            Change::Switch(name, on) => {
                for &i in by_switch.get(name).into_iter().flatten() {
                    valves[i].change(&mut count, |valve| valve.switched = on);
                }
            }
        }
    }
    count.pass(scene.time.duration);
    let mean = if scene.time.duration > 0.0 { count.area / scene.time.duration } else { start as f64 };
    Forecast { added: count.particles - start as f64, mean }
}

#[derive(Clone, Copy)]
enum Change<'a> {
    Start(usize),
    Stop(usize),
    Switch(&'a str, bool),
    Speed(usize, f64),
}

/// An emitter as a source of numbers.
struct Valve {
    started: bool,
    switched: bool,
    speed: f64,
    /// Particles that an opening gives at once: a layer of a stream, all of a volume.
    filling: f64,
    /// Particles per metre that the fluid moves on.
    per_metre: f64,
    /// What gravity adds to the square of the speed on the way out of a volume, m²/s².
    fall: f64,
}

impl Valve {
    fn new(emitter: &Emitter, scene: &Scene) -> Self {
        let d = scene.model.particle_spacing();
        let places = emitter.shape.fill(d);
        let (front, fall) = match emitter.shape {
            Shape::Disc { .. } => (places.len(), 0.0),
            // A volume is left through the places that have none before them.
            _ => {
                let leads = |p: &&DVec3| !emitter.shape.contains(**p + emitter.direction * d);
                let along = places.iter().map(|p| p.dot(emitter.direction));
                let most = along.clone().fold(f64::NEG_INFINITY, f64::max);
                let way = most - along.fold(f64::INFINITY, f64::min);
                let pull = scene.gravity.dot(emitter.direction).max(0.0);
                (places.iter().filter(leads).count(), 2.0 * pull * way.max(0.0))
            }
        };
        Valve {
            started: false,
            switched: emitter.switch.is_none(),
            speed: emitter.speed,
            filling: places.len() as f64,
            per_metre: front as f64 / d,
            fall,
        }
    }

    fn change(&mut self, count: &mut Count, how: impl FnOnce(&mut Self)) {
        let (was_open, old) = (self.is_open(), self.rate());
        how(self);
        count.rate += self.rate() - old;
        if self.is_open() && !was_open {
            count.add(self.filling);
        }
    }

    fn is_open(&self) -> bool {
        self.started && self.switched
    }

    /// Particles per second.
    fn rate(&self) -> f64 {
        if self.is_open() { self.per_metre * (self.speed.powi(2) + self.fall).sqrt() } else { 0.0 }
    }
}

/// A number of particles that grows steadily, up to the cap.
struct Count {
    time: f64,
    particles: f64,
    most: f64,
    /// Particles per second.
    rate: f64,
    /// Particles × seconds so far.
    area: f64,
}

impl Count {
    fn new(particles: f64, most: f64) -> Self {
        Count { time: 0.0, particles, most: most.max(particles), rate: 0.0, area: 0.0 }
    }

    fn add(&mut self, particles: f64) {
        self.particles = (self.particles + particles).min(self.most);
    }

    fn pass(&mut self, until: f64) {
        let dt = (until - self.time).max(0.0);
        // Sums of differences may leave less than nothing.
        let rate = self.rate.max(0.0);
        let growing = if rate > 0.0 { dt.min((self.most - self.particles) / rate) } else { 0.0 };
        let before = self.particles;
        self.add(rate * growing);
        self.area += growing * 0.5 * (before + self.particles) + (dt - growing) * self.particles;
        self.time = self.time.max(until);
    }
}
