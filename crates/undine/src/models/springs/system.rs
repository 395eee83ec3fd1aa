//! The equations of one body, without what touches it, and the vectors of their solution.

use glam::{DVec3, Vec3A};
use rayon::prelude::*;

use super::kernels::{self, Blocks, Made, Matrix, Now, Six, Three, Wide};
use super::rows::{GROUP, Rows, Sixteen};
use crate::state::springs::{Body, Springs};

/// Groups handed to a thread at a time. Sums are taken per chunk and then in order, so that threads do not matter.
const CHUNK: usize = 32;
/// Bodies of fewer groups are left to one thread: with AVX-512 a product with the matrix takes 4 µs for 1000 nodes of a lattice, less
/// than to wake another thread.
const SERIAL: usize = 128;

/// What a step makes of a body's springs.
#[derive(Clone, Copy, Default)]
pub(super) struct Rates {
    /// Weight of the end of the step in elastic forces.
    pub(super) theta: f64,
    /// Most stiffness, N/m, and damping, N s/m: beyond, a spring is rigid in all that can be seen, and masses vanish
    /// beside it.
    pub(super) most: [f64; 2],
}

/// A body's equations.
#[derive(Clone)]
pub(super) struct System {
    rows: Rows,
    mass: Vec<Sixteen>,
    /// 1 for nodes that may move.
    open: Vec<Sixteen>,
    /// Places as a sum of two, m, and velocities, m/s, against the body's first node.
    place: [Wide; 2],
    velocity: Wide,
    blocks: Vec<Blocks>,
    diagonal: Vec<Six>,
    /// The inverses of the blocks on the diagonal with contacts, 0 for held nodes. Whole blocks, since a wall holds a node
    /// along one direction only, and a sheet is stiff along two.
    inverse: Vec<Six>,
    /// Right side, and the part of it that is not of springs or contacts, N s.
    b: Vec<Three>,
    outer: Vec<Three>,
    /// Δv, residual, and the image of the search direction, later D⁻¹r.
    x: Vec<Three>,
    r: Vec<Three>,
    q: Vec<Three>,
    /// Search direction.
    p: Wide,
    pub(super) rates: Rates,
    /// Impulse from outside in the step, kg m/s: what the momentum has to change by if nothing holds the body.
    pub(super) gain: DVec3,
    /// What is added to Δv of all nodes for the sake of momentum, m/s.
    pub(super) shift: DVec3,
}

/// Calls `work` for all parts, on threads if they are worth it.
fn share<T: Send>(
    parallel: bool,
    parts: impl Iterator<Item = T>,
    work: impl Fn(T) -> f64 + Sync + Send,
) -> f64 {
    if !parallel {
        return parts.map(work).sum();
    }
    let sums: Vec<f64> = parts.collect::<Vec<_>>().into_par_iter().map(work).collect();
    sums.iter().sum()
}

impl System {
    pub(super) fn new(state: &Springs, body: &Body) -> Self {
        System::of_rows(Rows::new(state, body), state, body)
    }

    pub(super) fn of_rows(rows: Rows, state: &Springs, body: &Body) -> Self {
        let (groups, padded) = (rows.groups(), rows.padded());
        let none = [Sixteen::default(); 3];
        let wide: Wide = std::array::from_fn(|_| vec![0.0; padded]);
        let (mut mass, mut open) = (vec![Sixteen::default(); groups], vec![Sixteen::default(); groups]);
        for (k, i) in body.nodes.clone().enumerate() {
            mass[k / GROUP].0[k % GROUP] = state.mass[i] as f32;
            open[k / GROUP].0[k % GROUP] = if state.pinned[i] { 0.0 } else { 1.0 };
        }
        System {
            mass,
            open,
            place: [wide.clone(), wide.clone()],
            velocity: wide.clone(),
            blocks: vec![[Sixteen::default(); 4]; rows.springs.len()],
            diagonal: vec![[Sixteen::default(); 6]; groups],
            inverse: vec![[Sixteen::default(); 6]; groups],
            b: vec![none; groups],
            outer: vec![none; groups],
            x: vec![none; groups],
            r: vec![none; groups],
            q: vec![none; groups],
            p: wide,
            rates: Rates::default(),
            gain: DVec3::ZERO,
            shift: DVec3::ZERO,
            rows,
        }
    }

    fn is_parallel(&self) -> bool {
        self.rows.groups() > SERIAL
    }

    /// Sets up the equations of a step of `dt`, s, under the acceleration `gravity`, m/s².
    pub(super) fn assemble(&mut self, state: &Springs, body: &Body, gravity: DVec3, rates: Rates, dt: f64) {
        self.rates = rates;
        self.look(state, body);
        let parallel = self.is_parallel();
        let System { rows, place, velocity, mass, blocks, diagonal, inverse, open, b, .. } = self;
        let now = Now {
            rows,
            place,
            velocity,
            mass,
            dt: dt as f32,
            t: (rates.theta * dt) as f32,
            most: rates.most.map(|v| v.min(f64::from(f32::MAX)) as f32),
        };
        let mut left = blocks.as_mut_slice();
        let parts = b.chunks_mut(CHUNK).zip(diagonal.chunks_mut(CHUNK)).zip(inverse.chunks_mut(CHUNK));
        let parts = parts.enumerate().map(|(c, ((impulse, diagonal), inverse))| {
            let (first, last) = (CHUNK * c, CHUNK * c + impulse.len() - 1);
            let slots = now.rows.slots(last).end - now.rows.slots(first).start;
            let (blocks, rest) = std::mem::take(&mut left).split_at_mut(slots);
            left = rest;
            (first, Made { impulse, diagonal, blocks }, inverse)
        });
        share(parallel, parts, |(first, made, inverse)| {
            let Made { impulse, diagonal, blocks } = made;
            kernels::assemble(&now, first, Made { impulse, diagonal: &mut *diagonal, blocks });
            kernels::invert(diagonal, &open[first..first + inverse.len()], inverse);
            0.0
        });
        self.gain = DVec3::ZERO;
        for (k, i) in body.nodes.clone().enumerate() {
            let outer = dt * (state.mass[i] * gravity + state.force[i]);
            self.gain += outer;
            for (c, v) in outer.to_array().into_iter().enumerate() {
                self.outer[k / GROUP][c].0[k % GROUP] = v as f32;
                self.b[k / GROUP][c].0[k % GROUP] += v as f32;
            }
        }
    }

    /// Takes places and velocities against those of the first node. A place is kept with what rounding leaves of it: between
    /// neighbours in a large body a difference of single numbers would be wrong by much more than 10⁻⁷.
    fn look(&mut self, state: &Springs, body: &Body) {
        let Some(first) = body.nodes.clone().next() else { return };
        let (origin, drift) = (state.position[first], state.velocity[first]);
        for (k, i) in body.nodes.clone().enumerate() {
            let (place, velocity) = (state.position[i] - origin, state.velocity[i] - drift);
            for c in 0..3 {
                let coarse = place[c] as f32;
                self.place[0][c][self.rows.margin + k] = coarse;
                self.place[1][c][self.rows.margin + k] = (place[c] - f64::from(coarse)) as f32;
                self.velocity[c][self.rows.margin + k] = velocity[c] as f32;
            }
        }
    }

    /// Mean of the block on the diagonal of a node without contacts, kg.
    pub(super) fn inertia(&self, node: usize) -> f64 {
        let block = &self.diagonal[node / GROUP];
        (0..3).map(|c| f64::from(block[c].0[node % GROUP])).sum::<f64>() / 3.0
    }

    /// The block on the diagonal of a node without contacts, kg.
    pub(super) fn diagonal(&self, node: usize) -> [f64; 6] {
        self.diagonal[node / GROUP].map(|v| f64::from(v.0[node % GROUP]))
    }

    /// Tells the block of a node with its contacts, kg.
    pub(super) fn set_diagonal(&mut self, node: usize, block: [f64; 6]) {
        let (group, lane) = (node / GROUP, node % GROUP);
        if self.open[group].0[lane] > 0.0 {
            for (to, v) in self.inverse[group].iter_mut().zip(kernels::invert_one(block)) {
                to.0[lane] = v as f32;
            }
        }
    }

    /// Adds an impulse of a contact on a node to the right side, N s.
    pub(super) fn push(&mut self, node: usize, impulse: DVec3) {
        for (to, v) in self.b[node / GROUP].iter_mut().zip(impulse.to_array()) {
            to.0[node % GROUP] = (f64::from(to.0[node % GROUP]) + v) as f32;
        }
    }

    /// What the residual is measured by: the squares of all impulses and of those from outside.
    pub(super) fn scale(&mut self) -> f64 {
        for v in [&mut self.x, &mut self.q] {
            v.fill([Sixteen::default(); 3]);
        }
        for p in &mut self.p {
            p.fill(0.0);
        }
        self.r.copy_from_slice(&self.outer);
        let outer = self.descend(0.0);
        self.q.fill([Sixteen::default(); 3]);
        self.r.copy_from_slice(&self.b);
        outer + self.descend(0.0)
    }

    /// Sets the search direction of all nodes.
    pub(super) fn head(&mut self, along: DVec3) {
        let nodes = self.rows.margin..self.rows.margin + self.rows.nodes;
        for (p, v) in self.p.iter_mut().zip(along.to_array()) {
            p[nodes.clone()].fill(v as f32);
        }
    }

    /// q = A p without contacts; returns p·q.
    pub(super) fn multiply(&mut self) -> f64 {
        let parallel = self.is_parallel();
        let System { rows, mass, blocks, p, q, .. } = self;
        let a = Matrix { rows, mass, blocks };
        share(parallel, q.chunks_mut(CHUNK).enumerate(), |(c, q)| kernels::multiply(&a, CHUNK * c, p, q))
    }

    /// x += α p, r -= α q, q = D⁻¹r; returns r·D⁻¹r.
    pub(super) fn descend(&mut self, alpha: f64) -> f64 {
        let parallel = self.is_parallel();
        let System { rows, p, inverse, x, r, q, .. } = self;
        let parts = x.chunks_mut(CHUNK).zip(r.chunks_mut(CHUNK)).zip(q.chunks_mut(CHUNK)).enumerate();
        share(parallel, parts, |(c, ((x, r), q))| {
            let (first, size) = (CHUNK * c, x.len());
            kernels::descend((alpha as f32, rows.margin), first, p, &inverse[first..first + size], [x, r, q])
        })
    }

    /// p = q + β p.
    pub(super) fn turn(&mut self, beta: f64) {
        let parallel = self.is_parallel();
        let System { rows, p, q, .. } = self;
        let nodes = rows.margin..rows.margin + GROUP * rows.groups();
        let [px, py, pz] = p.each_mut().map(|p| p[nodes.clone()].chunks_mut(GROUP * CHUNK));
        share(parallel, q.chunks(CHUNK).zip(px.zip(py).zip(pz)), |(z, ((px, py), pz))| {
            kernels::turn(beta as f32, z, [px, py, pz]);
            0.0
        });
    }

    /// The search direction of a node.
    #[inline(always)]
    pub(super) fn direction(&self, node: usize) -> Vec3A {
        let at = self.rows.margin + node;
        Vec3A::new(self.p[0][at], self.p[1][at], self.p[2][at])
    }

    /// Adds to the image of the search direction at a node.
    #[inline(always)]
    pub(super) fn add_image(&mut self, node: usize, of: Vec3A) {
        for (to, v) in self.q[node / GROUP].iter_mut().zip(of.to_array()) {
            to.0[node % GROUP] += v;
        }
    }

    /// Δv of a node, m/s.
    #[inline(always)]
    pub(super) fn change(&self, node: usize) -> DVec3 {
        let x = &self.x[node / GROUP];
        let [x, y, z] = [0, 1, 2].map(|c| f64::from(x[c].0[node % GROUP]));
        DVec3::new(x, y, z) + self.shift
    }

    #[cfg(test)]
    pub(super) fn right_side(&self, node: usize) -> DVec3 {
        let [x, y, z] = [0, 1, 2].map(|c| f64::from(self.b[node / GROUP][c].0[node % GROUP]));
        DVec3::new(x, y, z)
    }

    #[cfg(test)]
    pub(super) fn image(&self, node: usize) -> DVec3 {
        let [x, y, z] = [0, 1, 2].map(|c| f64::from(self.q[node / GROUP][c].0[node % GROUP]));
        DVec3::new(x, y, z)
    }

    #[cfg(test)]
    pub(super) fn set_direction(&mut self, node: usize, to: DVec3) {
        for (p, v) in self.p.iter_mut().zip(to.to_array()) {
            p[self.rows.margin + node] = v as f32;
        }
    }
}
