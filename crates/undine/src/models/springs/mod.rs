//! Mass-spring bodies after Génevaux, Habibi & Dischler 2003, section 2.2: balls, lattices and cloth.
//!
//! | what | here |
//! |---|---|
//! | 2.2 visco-elastic springs | `kernels`, `assemble` |
//! | 2.2 motion of the nodes | `implicit`, linearised; solved by `islands` |
//! | nodes and springs of a shape | `build`, `lattice`, `cloth` |
//! | walls, other bodies, cloth on itself | `contact` |
//! | what a fluid feels | [`SkinPoint`] |
//!
//! `docs/solids.md` tells what is chosen and why.

mod build;
mod cloth;
mod contact;
mod grid;
mod implicit;
mod islands;
mod kernels;
mod lattice;
#[cfg(test)]
mod naive;
mod pairs;
mod rows;
mod skin;
mod system;
#[cfg(test)]
mod tests;

use glam::DVec3;
use rayon::prelude::*;

pub use self::skin::SkinPoint;

use self::contact::Contacts;
use self::implicit::Implicit;
use super::{Passes, StepLimit, Trouble};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::fields::Fields;
use crate::frame;
use crate::scene::{Force, Scene, SolidKind};
use crate::state::springs::Springs;
use crate::walls::Walls;

/// Way of a node in a part of a step, × its radius: farther, and it might pass another one unseen.
const STRIDE: f64 = 0.5;
/// Phase of a body's slowest elastic wave in a part of a step, rad: its period is then right within 1 %.
const PHASE: f64 = 0.3;
/// Most parts of a step for the sake of elastic waves; stiffer ones are damped, not followed.
const MOST_FOR_WAVES: f64 = 4.0;
/// Most parts of a step for the sake of contacts; faster nodes limit the step itself.
const MOST_PARTS: f64 = 32.0;
/// A faster node is running away, m/s.
const RUNAWAY: f64 = 1e6;

/// All mass-spring bodies of a world.
#[derive(Clone, Default)]
pub struct Solids {
    state: Springs,
    contacts: Contacts,
    implicit: Implicit,
    /// The least radius of a node, m.
    finest: f64,
    /// Work of forces from outside on each body since the start, J.
    work: Vec<f64>,
}

impl Solids {
    /// The bodies of a scene at time 0.
    pub fn new(scene: &Scene) -> Self {
        let state = build::build(scene);
        Solids {
            contacts: Contacts::new(&state),
            finest: state.radius.iter().copied().fold(f64::INFINITY, f64::min),
            implicit: Implicit::new(&state),
            work: vec![0.0; state.bodies.len()],
            state,
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.state.is_empty()
    }

    /// Nodes, springs and bodies.
    pub fn state(&self) -> &Springs {
        &self.state
    }

    /// Adds a force on a node, N, for the next step.
    pub fn add_force(&mut self, node: usize, force: DVec3) {
        self.state.force[node] += force;
    }

    /// Adds forces on all nodes, N, for the next step.
    pub fn add_forces(&mut self, forces: &[DVec3]) {
        for (sum, f) in self.state.force.iter_mut().zip(forces) {
            *sum += *f;
        }
    }

    /// Points at which a fluid of the given spacing (m) feels a body.
    pub fn skin(&self, body: usize, spacing: f64) -> Vec<SkinPoint> {
        self.state.bodies.get(body).map_or(Vec::new(), |b| skin::skin(&self.state, b, spacing))
    }

    /// Iterations of the last solve.
    pub fn iterations(&self) -> usize {
        self.implicit.iterations
    }

    /// The largest step, if the bodies limit it: a node may not pass another one or a wall unseen.
    pub fn step_limit(&self) -> Option<StepLimit> {
        let speed = self.top_speed();
        (speed > 0.0).then(|| StepLimit { step: MOST_PARTS * STRIDE * self.finest / speed, name: "solid" })
    }

    fn top_speed(&self) -> f64 {
        self.state.velocity.iter().map(|v| v.length_squared()).fold(0.0, f64::max).sqrt()
    }

    /// Advances by `dt`, s, to `time`; walls are posed at that time. Forces on nodes act throughout, then are forgotten.
    pub fn step(
        &mut self,
        dt: f64,
        time: f64,
        walls: &Walls,
        fields: &Fields,
        passes: &mut Passes,
    ) -> Result<(), Trouble> {
        if self.is_empty() {
            return Ok(());
        }
        let gravity = steady(fields);
        let parts = self.parts(dt, gravity);
        let dt = dt / parts;
        for _ in 0..parts as u32 {
            passes.time("solid contacts", || self.contacts.find(&self.state, walls, dt));
            passes.time("springs", || {
                let before = self.state.position.clone();
                self.book(0.5 * dt);
                self.implicit.step(&mut self.state, &self.contacts, gravity, dt);
                keep_out(&mut self.state, &before, walls, dt);
                self.book(0.5 * dt);
            });
            self.check(time)?;
        }
        self.state.force.fill(DVec3::ZERO);
        Ok(())
    }

    /// Adds the work of forces from outside at the velocities of now for `dt`, s.
    fn book(&mut self, dt: f64) {
        let Springs { force, velocity, bodies, .. } = &self.state;
        for (work, body) in self.work.iter_mut().zip(bodies) {
            *work += dt * body.nodes.clone().map(|i| force[i].dot(velocity[i])).sum::<f64>();
        }
    }

    /// Into how many parts a step is cut.
    fn parts(&self, dt: f64, gravity: DVec3) -> f64 {
        let way = dt * (self.top_speed() + dt * gravity.length());
        let stiffest = self.state.bodies.iter().map(|b| b.lowest_frequency).fold(0.0, f64::max);
        let waves = (dt * stiffest / PHASE).ceil().min(MOST_FOR_WAVES);
        let contacts = (way / (STRIDE * self.finest)).ceil();
        waves.max(contacts).clamp(1.0, MOST_PARTS)
    }

    fn check(&self, time: f64) -> Result<(), Trouble> {
        let state = &self.state;
        let wild = |i: &usize| {
            let (p, v) = (state.position[*i], state.velocity[*i]);
            // Written so that NaN is wild too.
            !(p.is_finite() && v.length_squared() < RUNAWAY * RUNAWAY)
        };
        match (0..self.len()).find(wild) {
            None => Ok(()),
            Some(i) => Err(Trouble {
                term: "springs",
                particle: i as u32,
                position: state.position[i].to_array(),
                value: state.velocity[i].length(),
                time,
            }),
        }
    }

    /// What they show of themselves.
    pub fn frame(&self) -> Vec<frame::Body> {
        let state = &self.state;
        let single = |v: &DVec3| v.as_vec3().to_array();
        let show = |(b, work): (&crate::state::springs::Body, &f64)| frame::Body {
            name: b.name.clone(),
            nodes: state.position[b.nodes.clone()].iter().map(single).collect(),
            velocity: state.velocity[b.nodes.clone()].iter().map(single).collect(),
            mass: state.mass[b.nodes.clone()].iter().map(|m| *m as f32).collect(),
            triangles: b.triangles.clone(),
            // Nodes without triangles, such as a single row of them, are drawn as balls too.
            radius: match (b.kind, b.triangles.is_empty()) {
                (SolidKind::Ball, _) | (_, true) => {
                    state.radius.get(b.nodes.start).map_or(0.0, |r| *r as f32)
                }
                _ => 0.0,
            },
            elastic: state.stored(b.springs.clone()),
            work: *work,
        };
        state.bodies.iter().zip(&self.work).map(show).collect()
    }

    /// Writes all that the next step depends on.
    pub fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        out.section("solids")?;
        for vectors in [&self.state.position, &self.state.velocity, &self.state.force] {
            let plain: Vec<[f64; 3]> = vectors.iter().map(|v| v.to_array()).collect();
            out.put_f64x3s(&plain)?;
        }
        out.put_f64s(&self.work)
    }

    /// Reads what [`Solids::save`] wrote.
    pub fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        from.section("solids")?;
        let n = self.len();
        let state = &mut self.state;
        for vectors in [&mut state.position, &mut state.velocity, &mut state.force] {
            let plain = from.get_f64x3s()?;
            if plain.len() != n {
                return Err(CheckpointError::Damaged { what: "the nodes of the solids".into() });
            }
            vectors.clear();
            vectors.extend(plain.into_iter().map(DVec3::from_array));
        }
        self.work = from.get_f64s()?;
        if self.work.len() != state.bodies.len() {
            return Err(CheckpointError::Damaged { what: "the work on the solids".into() });
        }
        Ok(())
    }
}

/// Gravity and uniform fields, m/s². Swirls and brushes belong to the fluid, which hands them on.
fn steady(fields: &Fields) -> DVec3 {
    let uniform = fields.forces.iter().map(|f| match f {
        Force::Uniform(a) => *a,
        _ => DVec3::ZERO,
    });
    fields.gravity + uniform.sum::<DVec3>()
}

/// No node's centre ends in or behind a wall, whatever drives it.
fn keep_out(state: &mut Springs, before: &[DVec3], walls: &Walls, dt: f64) {
    if walls.is_empty() {
        return;
    }
    let Springs { position, velocity, pinned, .. } = state;
    let nodes = position.par_iter_mut().zip(velocity).with_min_len(512);
    nodes.zip(before.par_iter().zip(pinned)).filter(|(_, (_, pinned))| !**pinned).for_each(
        |((position, velocity), (before, _))| {
            *position = walls.collide(*before, *position, velocity, dt, true)
        },
    );
}
