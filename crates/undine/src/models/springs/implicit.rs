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

use glam::{DMat3, DVec3, Vec3A, Vec4};
use rayon::prelude::*;

use super::contact::{Contacts, Touch, WALL};
use crate::state::springs::{Body, Springs};

/// Weight θ of the end of the step in elastic forces of a body whose fastest wave turns by `phase` (rad) in it. Waves
/// that are followed keep their energy; with those that are too fast, rounding of large turns would feed them.
fn theta(phase: f64) -> f64 {
    1.0 - 0.45 / (1.0 + (0.25 * phase).powi(2))
}

/// Residual at which the solve ends, as a share of the greater of all forces and external ones.
const TOLERANCE: f64 = 1e-4;
/// Most iterations; what is left is error of the stiffest waves.
const MAX_ITERATIONS: usize = 300;
/// Stiffest spring, × mass / Δt², and strongest damping, × mass / Δt.
const RIGID: f64 = 1e4;
/// Nodes handed to a thread at a time. Sums are taken per chunk and then in order, so that threads do not matter.
const CHUNK: usize = 256;
/// Inertia of a contact, × that of the body on a wall, × that of the nodes between bodies: how nearly the approach is
/// stopped within one step. Walls cost no iterations, since they only add to the diagonal.
const WALL_GRIP: f64 = 100.0;
const PAIR_GRIP: f64 = 10.0;
/// Time in which an overlap goes away, in steps and s.
const RECOVERY: (f64, f64) = (10.0, 2e-3);

/// A block (c_l - c_t) n̂n̂ᵀ + c_t I of the matrix between two nodes, kg, as √(c_l - c_t) n̂ and c_t. Single precision
/// serves, and is read twice as fast: the matrix only steers the solve, and momentum is put right after it.
#[derive(Clone, Copy, Default)]
struct Block(Vec4);

impl Block {
    fn new(n: DVec3, along: f64, across: f64) -> Self {
        Block((n * (along - across).max(0.0).sqrt()).as_vec3().extend(across as f32))
    }

    #[inline(always)]
    fn times(&self, d: Vec3A) -> Vec3A {
        let s = Vec3A::from_vec4(self.0);
        s * s.dot(d) + d * self.0.w
    }

    fn times_exactly(&self, d: DVec3) -> DVec3 {
        let [x, y, z, across] = self.0.to_array().map(f64::from);
        let s = DVec3::new(x, y, z);
        s * s.dot(d) + d * across
    }

    /// The six numbers of the block: its diagonal, and what is beside it (xy, yz, zx).
    #[inline(always)]
    fn parts(&self) -> (DVec3, DVec3) {
        let [x, y, z, across] = self.0.to_array().map(f64::from);
        (DVec3::new(x * x + across, y * y + across, z * z + across), DVec3::new(x * y, y * z, z * x))
    }
}

/// A contact as one of its nodes sees it.
#[derive(Clone, Copy)]
struct Grip {
    /// The other node, or [`WALL`].
    other: u32,
    block: Block,
}

/// What a step makes of a body's springs.
#[derive(Clone, Copy)]
struct Rates {
    theta: f64,
    /// Most stiffness, N/m, and damping, N s/m: beyond, a spring is rigid in all that can be seen, and masses vanish
    /// beside it.
    most: [f64; 2],
}

impl Rates {
    fn new(body: &Body, dt: f64) -> Self {
        let most = RIGID * body.lightest / dt;
        Rates { theta: theta(dt * body.highest_frequency), most: [most / dt, most] }
    }
}

/// Buffers of the solve, kept between steps.
#[derive(Clone, Default)]
pub(super) struct Implicit {
    /// Per spring: its block, and its impulse on its first node, N s.
    block: Vec<Block>,
    impulse: Vec<DVec3>,
    /// Per node: right side; the block on the diagonal without contacts as in [`Block::parts`]; the inverse of that with
    /// contacts (0 for held nodes). Whole blocks, since a wall holds a node along one direction only, and a sheet is
    /// stiff along two.
    b: Vec<DVec3>,
    diagonal: Vec<(DVec3, DVec3)>,
    inverse: Vec<DMat3>,
    /// Contacts of each node: `grip[first_grip[i]..first_grip[i + 1]]`.
    grip: Vec<Grip>,
    first_grip: Vec<u32>,
    active: Vec<(Touch, Block)>,
    /// Δv, residual, search direction and its image.
    x: Vec<DVec3>,
    r: Vec<DVec3>,
    p: Vec<Vec3A>,
    q: Vec<Vec3A>,
    partial: Vec<f64>,
    /// Per body: whether nothing outside holds it.
    free: Vec<bool>,
    /// Per body.
    rates: Vec<Rates>,
    /// Iterations of the last solve.
    pub(super) iterations: usize,
}

impl Implicit {
    /// Advances all nodes by `dt`, s, under the acceleration `gravity`, m/s².
    pub(super) fn step(&mut self, state: &mut Springs, contacts: &Contacts, gravity: DVec3, dt: f64) {
        self.rates.clear();
        self.rates.extend(state.bodies.iter().map(|b| Rates::new(b, dt)));
        self.springs(state, &contacts.body, dt);
        self.nodes(state, gravity, dt);
        self.touches(state, contacts, gravity, dt);
        self.solve(state, gravity, dt);
        self.keep_momentum(state, &contacts.body);
        let (x, rates, body) = (&self.x, &self.rates, &contacts.body);
        let Springs { position, velocity, pinned, .. } = state;
        position
            .par_chunks_mut(CHUNK)
            .zip(velocity.par_chunks_mut(CHUNK))
            .zip(x.par_chunks(CHUNK).zip(body.par_chunks(CHUNK)).zip(pinned.par_chunks(CHUNK)))
            .for_each(|((position, velocity), ((x, body), pinned))| {
                for i in (0..x.len()).filter(|i| !pinned[*i]) {
                    position[i] += dt * (velocity[i] + rates[body[i] as usize].theta * x[i]);
                    velocity[i] += x[i];
                }
            });
    }

    /// Génevaux 2.2, f = -k(|l|-l0) - z l̇, and its derivatives, for each spring.
    fn springs(&mut self, state: &Springs, body: &[u32], dt: f64) {
        let count = state.pair.len();
        self.block.resize(count, Block::default());
        self.impulse.resize(count, DVec3::ZERO);
        let rates = &self.rates;
        let spring = |s: usize| {
            let [a, b] = state.pair[s].map(|i| i as usize);
            let l = state.position[a] - state.position[b];
            let v = state.velocity[a] - state.velocity[b];
            let length = l.length();
            let inverse = if length > 0.0 { 1.0 / length } else { 0.0 };
            let n = l * inverse;
            let Rates { theta, most } = rates[body[a] as usize];
            let (k, z) = (state.stiffness[s].min(most[0]), state.damping[s].min(most[1]));
            // Pressed springs push aside, which the matrix must not show: it would not be positive any more.
            let side = k * ((length - state.rest[s]) * inverse).max(0.0);
            let along = n * v.dot(n);
            let f = -n * (k * (length - state.rest[s])) - along * z;
            let kv = along * k + (v - along) * side;
            let t = theta * dt;
            (Block::new(n, dt * z + t * t * k, t * t * side), dt * (f - t * kv))
        };
        self.block
            .par_chunks_mut(4 * CHUNK)
            .zip(self.impulse.par_chunks_mut(4 * CHUNK))
            .enumerate()
            .for_each(|(c, (block, impulse))| {
                for (k, (block, impulse)) in block.iter_mut().zip(impulse).enumerate() {
                    (*block, *impulse) = spring(4 * CHUNK * c + k);
                }
            });
    }

    /// Right side and diagonal of each node.
    fn nodes(&mut self, state: &Springs, gravity: DVec3, dt: f64) {
        let n = state.len();
        self.b.resize(n, DVec3::ZERO);
        self.diagonal.resize(n, (DVec3::ZERO, DVec3::ZERO));
        let (block, impulse) = (&self.block, &self.impulse);
        self.b.par_chunks_mut(CHUNK).zip(self.diagonal.par_chunks_mut(CHUNK)).enumerate().for_each(
            |(c, (b, diagonal))| {
                for (k, (b, diagonal)) in b.iter_mut().zip(diagonal).enumerate() {
                    let i = CHUNK * c + k;
                    let mut sum = dt * (state.mass[i] * gravity + state.force[i]);
                    let mut inertia = (DVec3::splat(state.mass[i]), DVec3::ZERO);
                    for link in state.links(i) {
                        let s = link.spring as usize;
                        sum += if link.other as usize > i { impulse[s] } else { -impulse[s] };
                        let parts = block[s].parts();
                        inertia = (inertia.0 + parts.0, inertia.1 + parts.1);
                    }
                    (*b, *diagonal) = (sum, inertia);
                }
            },
        );
    }

    /// Contacts as dashpots that take away the approach beyond what closes the gap. Whether one acts is told by where
    /// its nodes would go alone.
    fn touches(&mut self, state: &Springs, contacts: &Contacts, gravity: DVec3, dt: f64) {
        self.free.clear();
        self.free.extend(state.bodies.iter().map(|b| !b.is_held));
        self.active.clear();
        let recovery = (RECOVERY.0 * dt).max(RECOVERY.1);
        let most = |i: usize| self.rates[contacts.body[i] as usize].most[0];
        let alone = |i: usize| match state.pinned[i] {
            true => DVec3::ZERO,
            false => {
                state.velocity[i]
                    + dt * (elastic_force(state, i, most(i)) + state.force[i]) / state.mass[i]
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
                    let inertia = |i: usize| self.diagonal[i].0.element_sum() / 3.0;
                    (both(&|i| state.mass[i]), PAIR_GRIP * both(&inertia))
                }
            };
            // Coulomb: friction is at most μ × the normal impulse.
            let push = (mass * (wanted - arrival)).max(0.0);
            let sideways = slip - n * slip.dot(n);
            let drag = (touch.friction * push / sideways.length().max(1e-12)).min(grip);
            let impulse = n * (grip * (wanted - slip.dot(n))) - sideways * drag;
            self.b[a] += impulse;
            match touch.b {
                WALL => self.free[contacts.body[a] as usize] = false,
                _ => self.b[b] -= impulse,
            }
            self.active.push((*touch, Block::new(n, grip, drag)));
        }
        self.list_grips(state.len());
        self.inverse.resize(state.len(), DMat3::ZERO);
        let (diagonal, grip, first) = (&self.diagonal, &self.grip, &self.first_grip);
        self.inverse.par_chunks_mut(CHUNK).enumerate().for_each(|(c, inverse)| {
            for (k, inverse) in inverse.iter_mut().enumerate() {
                let i = CHUNK * c + k;
                let (mut d, mut e) = diagonal[i];
                for g in &grip[first[i] as usize..first[i + 1] as usize] {
                    let parts = g.block.parts();
                    (d, e) = (d + parts.0, e + parts.1);
                }
                let rows = [DVec3::new(d.x, e.x, e.z), DVec3::new(e.x, d.y, e.y), DVec3::new(e.z, e.y, d.z)];
                let whole = DMat3::from_cols(rows[0], rows[1], rows[2]);
                *inverse = if state.pinned[i] { DMat3::ZERO } else { whole.inverse() };
            }
        });
    }

    fn list_grips(&mut self, nodes: usize) {
        self.first_grip.clear();
        self.first_grip.resize(nodes + 1, 0);
        let ends = |t: &Touch| [t.a, t.b].into_iter().filter(|i| *i != WALL);
        for i in self.active.iter().flat_map(|(t, _)| ends(t)) {
            self.first_grip[i as usize + 1] += 1;
        }
        for i in 0..nodes {
            self.first_grip[i + 1] += self.first_grip[i];
        }
        let empty = Grip { other: WALL, block: Block::default() };
        self.grip.clear();
        self.grip.resize(self.first_grip[nodes] as usize, empty);
        let mut next = self.first_grip.clone();
        for (t, block) in &self.active {
            for i in ends(t) {
                let at = &mut next[i as usize];
                self.grip[*at as usize] = Grip { other: if i == t.a { t.b } else { t.a }, block: *block };
                *at += 1;
            }
        }
    }

    fn solve(&mut self, state: &Springs, gravity: DVec3, dt: f64) {
        let n = state.len();
        for v in [&mut self.x, &mut self.r] {
            v.clear();
            v.resize(n, DVec3::ZERO);
        }
        for v in [&mut self.p, &mut self.q] {
            v.clear();
            v.resize(n, Vec3A::ZERO);
        }
        self.partial.clear();
        self.partial.resize(n.div_ceil(CHUNK), 0.0);
        // Bodies that nothing holds begin with what they do as a whole: falling costs no iteration.
        for body in state.bodies.iter().enumerate().filter(|(k, _)| self.free[*k]).map(|b| b.1) {
            let whole = self.b[body.nodes.clone()].iter().sum::<DVec3>() / body.mass;
            self.x[body.nodes.clone()].fill(whole);
        }
        self.p.iter_mut().zip(&self.x).for_each(|(p, x)| *p = x.as_vec3a());
        self.multiply(state);
        let (b, q, inverse) = (&self.b, &self.q, &self.inverse);
        let outer = |i: usize| dt * (state.mass[i] * gravity + state.force[i]);
        let square = |i: usize, v: DVec3| v.dot(inverse[i] * v);
        let limit: f64 = (0..n).map(|i| square(i, b[i]) + square(i, outer(i))).sum();
        for i in 0..n {
            self.r[i] = b[i] - q[i].as_dvec3();
            self.p[i] = (inverse[i] * self.r[i]).as_vec3a();
        }
        let mut rz: f64 = (0..n).map(|i| square(i, self.r[i])).sum();
        self.iterations = 0;
        while rz > TOLERANCE * TOLERANCE * limit && self.iterations < MAX_ITERATIONS {
            let pq = self.multiply(state);
            if pq <= 0.0 || !pq.is_finite() {
                break;
            }
            let next = self.descend(rz / pq);
            self.turn(next / rz);
            rz = next;
            self.iterations += 1;
        }
    }

    /// q = A p; returns p·q.
    fn multiply(&mut self, state: &Springs) -> f64 {
        let (p, block, grip, first) = (&self.p, &self.block, &self.grip, &self.first_grip);
        self.q.par_chunks_mut(CHUNK).zip(&mut self.partial).enumerate().for_each(|(c, (q, partial))| {
            *partial = 0.0;
            for (k, q) in q.iter_mut().enumerate() {
                let i = CHUNK * c + k;
                if state.pinned[i] {
                    *q = Vec3A::ZERO;
                    continue;
                }
                let own = p[i];
                let mut sum = state.mass[i] as f32 * own;
                for link in state.links(i) {
                    sum += block[link.spring as usize].times(own - p[link.other as usize]);
                }
                for g in &grip[first[i] as usize..first[i + 1] as usize] {
                    let other = if g.other == WALL { Vec3A::ZERO } else { p[g.other as usize] };
                    sum += g.block.times(own - other);
                }
                *q = sum;
                *partial += f64::from(own.dot(sum));
            }
        });
        self.partial.iter().sum()
    }

    /// x += α p, r -= α q; returns r·D⁻¹r.
    fn descend(&mut self, alpha: f64) -> f64 {
        let (p, q, inverse) = (&self.p, &self.q, &self.inverse);
        self.x
            .par_chunks_mut(CHUNK)
            .zip(self.r.par_chunks_mut(CHUNK))
            .zip(&mut self.partial)
            .enumerate()
            .for_each(|(c, ((x, r), partial))| {
                *partial = 0.0;
                for (k, (x, r)) in x.iter_mut().zip(r).enumerate() {
                    let i = CHUNK * c + k;
                    *x += alpha * p[i].as_dvec3();
                    *r -= alpha * q[i].as_dvec3();
                    *partial += r.dot(inverse[i] * *r);
                }
            });
        self.partial.iter().sum()
    }

    /// p = D⁻¹r + β p.
    fn turn(&mut self, beta: f64) {
        let (r, inverse) = (&self.r, &self.inverse);
        self.p.par_chunks_mut(CHUNK).enumerate().for_each(|(c, p)| {
            for (k, p) in p.iter_mut().enumerate() {
                let i = CHUNK * c + k;
                *p = (inverse[i] * r[i] + beta * p.as_dvec3()).as_vec3a();
            }
        });
    }

    /// What the solve left undone would be momentum from nowhere. Springs add nothing to the momentum of a body, so that
    /// of one that no wall holds is known: moving it as a whole puts it right, and strains no spring.
    fn keep_momentum(&mut self, state: &Springs, body: &[u32]) {
        let mut missing: Vec<DVec3> = state
            .bodies
            .iter()
            .map(|b| b.nodes.clone().map(|i| self.b[i] - state.mass[i] * self.x[i]).sum())
            .collect();
        for (touch, block) in self.active.iter().filter(|(t, _)| t.b != WALL) {
            let (a, b) = (touch.a as usize, touch.b as usize);
            let passed = block.times_exactly(self.x[a] - self.x[b]);
            missing[body[a] as usize] -= passed;
            missing[body[b] as usize] += passed;
        }
        for (k, body) in state.bodies.iter().enumerate().filter(|(k, _)| self.free[*k]) {
            let shift = missing[k] / body.mass;
            self.x[body.nodes.clone()].iter_mut().for_each(|x| *x += shift);
        }
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
