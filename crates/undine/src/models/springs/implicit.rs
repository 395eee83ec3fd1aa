//! One implicit step of all nodes: elastic forces by the θ-method, damping and contacts fully implicit, linearised, and
//! solved by conjugate gradients.
//!
//! With K = -∂f/∂x and D = -∂f/∂v, x' = x + Δt (v + θ Δv) and v' = v + Δv give
//!
//! ```text
//! (M + Δt D + θ²Δt² K) Δv = Δt (f - D v - θ Δt K v)
//! ```
//!
//! Why implicit: an explicit step has to follow the fastest wave from node to node, and damping shortens it further;
//! stiff or light bodies would need hundreds of steps per step of the fluid. The number of iterations grows with the
//! same frequency, but its worst case is bounded and nothing explodes. Why θ a little above ½: ½ keeps the energy of
//! waves but lets the fastest ring for ever, 1 (backward Euler) eats the slow ones that one came to see. A body whose
//! fastest waves cannot be followed gets a θ near 1.

use glam::DVec3;
use rayon::prelude::*;

use super::contact::{Contacts, Touch, WALL};
use super::islands::{self, Block, End, Grip, Island};
use super::system::{Rates, System};
use crate::state::springs::{Body, Springs};

/// Weight θ of the end of the step in elastic forces of a body whose fastest wave turns by `phase` (rad) in it. Waves
/// that are followed keep their energy; with those that are too fast, rounding of large turns would feed them.
fn theta(phase: f64) -> f64 {
    1.0 - 0.45 / (1.0 + (0.25 * phase).powi(2))
}

/// Stiffest spring, × mass / Δt², and strongest damping, × mass / Δt.
const RIGID: f64 = 1e4;
/// Inertia of a contact, × that of the body on a wall, × that of the nodes between bodies: how nearly the approach is
/// stopped within one step. Walls cost no iterations, since they only add to the diagonal.
const WALL_GRIP: f64 = 100.0;
const PAIR_GRIP: f64 = 10.0;
/// Time in which an overlap goes away, in steps and s.
const RECOVERY: (f64, f64) = (10.0, 2e-3);
/// Bodies of more nodes are moved by several threads.
const MANY: usize = 4096;

/// What a step of `dt`, s, makes of the springs of a body.
pub(super) fn rates(body: &Body, dt: f64) -> Rates {
    let most = RIGID * body.lightest / dt;
    Rates { theta: theta(dt * body.highest_frequency), most: [most / dt, most] }
}

/// The equations of all bodies, kept between steps for their memory: nothing in them outlives a step.
#[derive(Clone, Default)]
pub(super) struct Implicit {
    /// Per body.
    systems: Vec<System>,
    /// Contacts that act.
    active: Vec<(Touch, Block)>,
    /// Per body: whether nothing outside holds it.
    free: Vec<bool>,
    /// Iterations of the last solve, of that island which took most.
    pub(super) iterations: usize,
}

impl Implicit {
    /// For the bodies of `state`.
    pub(super) fn new(state: &Springs) -> Self {
        let systems = state.bodies.iter().map(|b| System::new(state, b)).collect();
        Implicit { systems, ..Implicit::default() }
    }

    /// Advances all nodes by `dt`, s, under the acceleration `gravity`, m/s².
    pub(super) fn step(&mut self, state: &mut Springs, contacts: &Contacts, gravity: DVec3, dt: f64) {
        let (bodies, shared) = (&state.bodies, &*state);
        each(&mut self.systems, |(k, system)| {
            system.assemble(shared, &bodies[k], gravity, rates(&bodies[k], dt), dt);
        });
        self.touches(state, contacts, gravity, dt);
        self.solve(state, contacts);
        self.keep_momentum(state, &contacts.body);
        let Springs { position, velocity, pinned, bodies, .. } = state;
        for (system, body) in self.systems.iter().zip(bodies) {
            let nodes = body.nodes.clone();
            let (position, velocity) = (&mut position[nodes.clone()], &mut velocity[nodes.clone()]);
            let (theta, pinned) = (system.rates.theta, &pinned[nodes]);
            let advance = |(i, (position, velocity)): (usize, (&mut DVec3, &mut DVec3))| {
                if !pinned[i] {
                    let change = system.change(i);
                    *position += dt * (*velocity + theta * change);
                    *velocity += change;
                }
            };
            if position.len() < MANY {
                position.iter_mut().zip(velocity).enumerate().for_each(advance);
            } else {
                position.par_iter_mut().zip(velocity).enumerate().with_min_len(MANY / 4).for_each(advance);
            }
        }
    }

    /// Contacts as dashpots that take away the approach beyond what closes the gap. Whether one acts is told by where
    /// its nodes would go alone.
    fn touches(&mut self, state: &Springs, contacts: &Contacts, gravity: DVec3, dt: f64) {
        self.free.clear();
        self.free.extend(state.bodies.iter().map(|b| !b.is_held));
        self.active.clear();
        let recovery = (RECOVERY.0 * dt).max(RECOVERY.1);
        let systems = &mut self.systems;
        let body = |i: usize| contacts.body[i] as usize;
        // The number of a node in its body.
        let own = |i: usize| i - state.bodies[body(i)].nodes.start;
        let most: Vec<f64> = systems.iter().map(|s| s.rates.most[0]).collect();
        let alone = |i: usize| match state.pinned[i] {
            true => DVec3::ZERO,
            false => {
                state.velocity[i]
                    + dt * (elastic_force(state, i, most[body(i)]) + state.force[i]) / state.mass[i]
                    + dt * gravity
            }
        };
        for touch in &contacts.touches {
            let (a, b) = (touch.a as usize, touch.b as usize);
            let (other, slip) = match touch.b {
                WALL => (touch.velocity, state.velocity[a] - touch.velocity),
                _ => (alone(b), state.velocity[a] - state.velocity[b]),
            };
            let n = touch.normal;
            let arrival = (alone(a) - other).dot(n);
            if touch.gap + dt * arrival >= 0.0 {
                continue;
            }
            let wanted = if touch.gap > 0.0 { -touch.gap / dt } else { -touch.gap / recovery };
            let (mass, grip) = match touch.b {
                WALL => (state.mass[a], WALL_GRIP * contacts.mass(state, a)),
                _ => {
                    let both = |of: &dyn Fn(usize) -> f64| {
                        let inverse = |i: usize| if state.pinned[i] { 0.0 } else { 1.0 / of(i) };
                        1.0 / (inverse(a) + inverse(b))
                    };
                    let inertia = |i: usize| systems[body(i)].inertia(own(i));
                    (both(&|i| state.mass[i]), PAIR_GRIP * both(&inertia))
                }
            };
            // Coulomb: friction is at most μ × the normal impulse.
            let push = (mass * (wanted - arrival)).max(0.0);
            let sideways = slip - n * slip.dot(n);
            let drag = (touch.friction * push / sideways.length().max(1e-12)).min(grip);
            let impulse = n * (grip * (wanted - slip.dot(n))) - sideways * drag;
            systems[body(a)].push(own(a), impulse);
            match touch.b {
                WALL => self.free[body(a)] = false,
                _ => {
                    systems[body(a)].gain += impulse;
                    systems[body(b)].gain -= impulse;
                    systems[body(b)].push(own(b), -impulse);
                }
            }
            self.active.push((*touch, Block::new(n, grip, drag)));
        }
    }

    /// Solves the bodies that hang together, each lot on its own.
    fn solve(&mut self, state: &Springs, contacts: &Contacts) {
        let body = |i: u32| contacts.body[i as usize] as usize;
        let pairs = self.active.iter().filter(|(t, _)| t.b != WALL).map(|(t, _)| [body(t.a), body(t.b)]);
        let (number, count) = islands::number(self.systems.len(), pairs);
        let mut islands: Vec<Island> = (0..count).map(|_| Island::default()).collect();
        let mut member = Vec::with_capacity(self.systems.len());
        for (k, system) in self.systems.drain(..).enumerate() {
            let island = &mut islands[number[k]];
            member.push(island.members.len());
            island.members.push((k, system));
            island.free.push(self.free[k]);
        }
        let end =
            |i: u32| End { member: member[body(i)], node: i as usize - state.bodies[body(i)].nodes.start };
        for (touch, block) in &self.active {
            let b = (touch.b != WALL).then(|| end(touch.b));
            islands[number[body(touch.a)]].grips.push(Grip { a: end(touch.a), b, block: *block });
        }
        each(&mut islands, |(_, island)| island.solve(|k| state.bodies[k].mass));
        self.iterations = islands.iter().map(|i| i.iterations).max().unwrap_or(0);
        let mut systems: Vec<(usize, System)> = islands.into_iter().flat_map(|i| i.members).collect();
        systems.sort_by_key(|s| s.0);
        self.systems.extend(systems.into_iter().map(|s| s.1));
    }

    /// What the solve left undone would be momentum from nowhere. Springs add nothing to the momentum of a body, so that
    /// of one that no wall holds is known: moving it as a whole puts it right, and strains no spring.
    fn keep_momentum(&mut self, state: &Springs, body: &[u32]) {
        let own = |i: usize| i - state.bodies[body[i] as usize].nodes.start;
        for system in &mut self.systems {
            system.shift = DVec3::ZERO;
        }
        let mut missing: Vec<DVec3> = (state.bodies.iter().zip(&self.systems))
            .map(|(b, s)| s.gain - b.nodes.clone().map(|i| state.mass[i] * s.change(own(i))).sum::<DVec3>())
            .collect();
        for (touch, block) in self.active.iter().filter(|(t, _)| t.b != WALL) {
            let change = |i: u32| self.systems[body[i as usize] as usize].change(own(i as usize));
            let passed = block.times_exactly(change(touch.a) - change(touch.b));
            missing[body[touch.a as usize] as usize] -= passed;
            missing[body[touch.b as usize] as usize] += passed;
        }
        for (k, system) in self.systems.iter_mut().enumerate().filter(|(k, _)| self.free[*k]) {
            system.shift = missing[k] / state.bodies[k].mass;
        }
    }
}

/// Does the same for all, on threads if there are several.
fn each<T: Send>(all: &mut [T], work: impl Fn((usize, &mut T)) + Sync + Send) {
    match all {
        [one] => work((0, one)),
        all => all.par_iter_mut().enumerate().for_each(work),
    }
}

/// Force of its springs, none stiffer than `most` (N/m), on a node without damping, N.
fn elastic_force(state: &Springs, i: usize, most: f64) -> DVec3 {
    let mut sum = DVec3::ZERO;
    for link in state.links(i) {
        let l = state.position[i] - state.position[link.other as usize];
        let length = l.length();
        if length > 0.0 {
            let s = link.spring as usize;
            sum -= l * (state.stiffness[s].min(most) * (1.0 - state.rest[s] / length));
        }
    }
    sum
}
