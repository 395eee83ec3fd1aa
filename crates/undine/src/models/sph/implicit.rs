//! Viscosity of thick fluids, implicit: lava and honey do not shorten the step.
//!
//! An explicit step is stable up to 0.1 Δ²ρ/μ, which falls with the viscosity. Here velocities after all other forces, v*,
//! are taken on to those that solve
//!
//! ```text
//! m_i v_i + δt Σ_j k_ij (v_i - v_j) + δt Σ_b k_ib (1 + s/d) (v_i - v_b) = m_i v*_i
//! ```
//!
//! with the same Morris viscosity k = μ V_i V_j 12f/h⁵ g as the explicit one, s the depth of a boundary particle and d the
//! distance of the fluid from the wall (Morris 1997: the profile goes on straight through the wall). The matrix is symmetric and
//! positive; conjugate gradients with its diagonal as preconditioner need a few rounds. Sums over all particles are made
//! in blocks of fixed size, so that the result is the same on any number of threads.

use glam::Vec3;
use rayon::prelude::*;

use super::boundary::Boundary;
use super::continuity::core_gradient;
use super::crowd::Crowd;
use super::force::Forces;
use super::octet::OCTET;
use super::work::{VOLUME, Work};
use crate::simd::{Lanes, widest};
use crate::state::particles::{BLOCK, Particles};

/// Rounds at most; what is left of the residual then is carried by the next step.
const ROUNDS: usize = 200;
/// Residual at which it is solved, of what viscosity would change in the step.
const TOLERANCE: f64 = 1e-3;

/// A vector a particle, the last component unused.
type Vector = [f32; 4];

/// The matrix and the vectors of the solve, kept between steps.
#[derive(Clone, Debug, Default)]
pub struct Implicit {
    rows: Vec<Rows>,
    /// m + δt Σ k, kg.
    diagonal: Vec<f32>,
    v: Vec<Vector>,
    r: Vec<Vector>,
    p: Vec<Vector>,
    ap: Vec<Vector>,
    /// Rounds of the last solve.
    pub rounds: usize,
    /// Greatest change of a velocity by the last step, m/s, over its length, s: m/s².
    pub change: f32,
}

/// Neighbours of a block of particles.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// One past the last entry of each particle.
    end: Vec<u32>,
    index: Vec<u32>,
    /// δt k, kg.
    k: Vec<f32>,
}

impl Implicit {
    /// Takes velocities on by a viscous step of `dt`, s.
    pub fn apply(
        &mut self,
        dt: f64,
        forces: &Forces,
        work: &Work,
        boundary: &Boundary,
        particles: &mut Particles,
    ) {
        let n = particles.len();
        if n == 0 || dt == 0.0 {
            return;
        }
        self.build(dt as f32, forces, work, boundary, particles);
        self.solve(n);
        let changes = particles.velocity.par_iter_mut().zip(&self.v).with_min_len(BLOCK).map(|(to, v)| {
            let new = Vec3::new(v[0], v[1], v[2]);
            let change = new.distance_squared(Vec3::from(*to));
            *to = new.into();
            change
        });
        self.change = changes.reduce(|| 0.0, f32::max).sqrt() / dt as f32;
    }

    /// The matrix, and the residual m v* - A v* in `r`.
    fn build(&mut self, dt: f32, forces: &Forces, work: &Work, boundary: &Boundary, particles: &Particles) {
        let n = particles.len();
        let Particles { fluid, velocity, .. } = particles;
        self.rows.resize_with(n.div_ceil(BLOCK), Rows::default);
        self.diagonal.resize(n, 0.0);
        for a in [&mut self.v, &mut self.r, &mut self.p, &mut self.ap] {
            a.resize(n, [0.0; 4]);
        }
        self.v.par_iter_mut().zip(velocity).with_min_len(BLOCK).for_each(|(v, from)| {
            *v = [from[0], from[1], from[2], 0.0];
        });
        let v = &self.v;
        let blocks =
            (self.rows.par_iter_mut(), self.diagonal.par_chunks_mut(BLOCK), self.r.par_chunks_mut(BLOCK));
        let blocks = blocks.into_par_iter().enumerate();
        blocks.for_each_init(Crowd::default, |crowd, (block, (rows, diagonal, r))| {
            let first = block * BLOCK;
            coefficients(rows, block, dt, forces, work, fluid, crowd);
            // Whoever has no neighbours at all, not even itself, has a broken place; the guard will say so.
            rows.end.resize(r.len(), rows.index.len() as u32);
            // What walls take: δt Σ k (1 + s/d), and that times their velocity.
            let mut held = [[0.0; 4]; BLOCK];
            boundary.hold(block, work, fluid, first, forces, &mut held[..r.len()], crowd);
            let mut at = 0;
            for (k, r) in r.iter_mut().enumerate() {
                let i = first + k;
                let mass = 1.0 / forces.fluids[fluid[i] as usize].per_mass;
                let own = Vec3::new(v[i][0], v[i][1], v[i][2]);
                let [x, y, z, wall] = held[k];
                let mut pull = (Vec3::new(x, y, z) - own * wall) * dt;
                let mut sum = mass + dt * wall;
                let end = rows.end[k] as usize;
                for (j, k) in rows.index[at..end].iter().zip(&rows.k[at..end]) {
                    let other = v[*j as usize];
                    pull += (Vec3::new(other[0], other[1], other[2]) - own) * *k;
                    sum += k;
                }
                at = end;
                diagonal[k] = sum;
                *r = [pull.x, pull.y, pull.z, 0.0];
            }
        });
    }

    /// Conjugate gradients from v* on.
    fn solve(&mut self, n: usize) {
        let Implicit { rows, diagonal, v, r, p, ap, .. } = self;
        // z = r/diagonal is never stored.
        let scaled = |r: &Vector, d: f32| [r[0] / d, r[1] / d, r[2] / d, 0.0];
        p.par_iter_mut().zip(&*r).zip(&*diagonal).with_min_len(BLOCK).for_each(|((p, r), d)| {
            *p = scaled(r, *d);
        });
        let mut rz = dot(r, p);
        let enough = TOLERANCE * TOLERANCE * rz;
        self.rounds = 0;
        while rz > enough && rz > f64::MIN_POSITIVE && self.rounds < ROUNDS {
            multiply(rows, diagonal, p, ap);
            let curvature = dot(p, ap);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let alpha = (rz / curvature) as f32;
            let next: Vec<f64> = (v.par_chunks_mut(BLOCK), r.par_chunks_mut(BLOCK))
                .into_par_iter()
                .enumerate()
                .map(|(block, (v, r))| {
                    let first = block * BLOCK;
                    let mut sum = 0.0;
                    for k in 0..v.len() {
                        for a in 0..3 {
                            v[k][a] += alpha * p[first + k][a];
                            r[k][a] -= alpha * ap[first + k][a];
                            sum += f64::from(r[k][a]) * f64::from(r[k][a] / diagonal[first + k]);
                        }
                    }
                    sum
                })
                .collect();
            let next: f64 = next.iter().sum();
            let beta = (next / rz) as f32;
            p.par_iter_mut().zip(&*r).zip(&*diagonal).with_min_len(BLOCK).for_each(|((p, r), d)| {
                let z = scaled(r, *d);
                for a in 0..3 {
                    p[a] = z[a] + beta * p[a];
                }
            });
            rz = next;
            self.rounds += 1;
        }
        debug_assert_eq!(v.len(), n);
    }
}

/// Sum over all particles, block by block.
fn dot(a: &[Vector], b: &[Vector]) -> f64 {
    let blocks: Vec<f64> = (a.par_chunks(BLOCK), b.par_chunks(BLOCK))
        .into_par_iter()
        .map(|(a, b)| {
            let each =
                |(a, b): (&Vector, &Vector)| (0..3).map(|c| f64::from(a[c]) * f64::from(b[c])).sum::<f64>();
            a.iter().zip(b).map(each).sum()
        })
        .collect();
    blocks.iter().sum()
}

/// `out` = A p, with A p = diagonal p - Σ k p_j.
fn multiply(rows: &[Rows], diagonal: &[f32], p: &[Vector], out: &mut [Vector]) {
    out.par_chunks_mut(BLOCK).zip(rows).enumerate().for_each(|(block, (out, rows))| {
        let mut at = 0;
        for (k, out) in out.iter_mut().enumerate() {
            let i = block * BLOCK + k;
            let end = rows.end[k] as usize;
            let mut sum = p[i].map(|v| diagonal[i] * v);
            // Four lanes are one vector: the compiler makes one load and one product of each neighbour.
            for (j, k) in rows.index[at..end].iter().zip(&rows.k[at..end]) {
                let other = p[*j as usize];
                for a in 0..4 {
                    sum[a] -= k * other[a];
                }
            }
            at = end;
            *out = sum;
        }
    });
}

/// Fills the rows of a block.
fn coefficients(
    rows: &mut Rows,
    block: usize,
    dt: f32,
    forces: &Forces,
    work: &Work,
    fluid: &[u8],
    crowd: &mut Crowd,
) {
    widest!(coefficients_in(
        rows: &mut Rows,
        block: usize,
        dt: f32,
        forces: &Forces,
        work: &Work,
        fluid: &[u8],
        crowd: &mut Crowd,
    ));
}

#[inline(always)]
fn coefficients_in<L: Lanes>(
    rows: &mut Rows,
    block: usize,
    dt: f32,
    forces: &Forces,
    work: &Work,
    fluid: &[u8],
    crowd: &mut Crowd,
) {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let first = block * BLOCK;
    let Some(found) = work.found.get(block) else { return };
    rows.end.clear();
    rows.index.clear();
    rows.k.clear();
    // The batches of a bunch come one after the other, but the neighbours of a particle must: they are gathered here.
    let mut gathered: [(Vec<u32>, Vec<f32>); OCTET] = Default::default();
    let (mut i, mut batch) = (first, 0);
    while batch < found.batches() {
        let n = found.count(batch);
        loop {
            let b = crowd.gather::<L>(found, batch, &work.records);
            for (k, (index, ks)) in gathered[..n].iter_mut().enumerate() {
                let own = work.records[i + k];
                let mu = forces.fluids[fluid[i + k] as usize].thick;
                let q = [own[0] + b.shift[0], own[1] + b.shift[1], own[2] + b.shift[2]];
                let q = [L::splat(q[0]), L::splat(q[1]), L::splat(q[2])];
                let own_volume = L::splat(dt * own[VOLUME].abs());
                for (vector, numbers) in crowd.index().chunks(L::N).enumerate() {
                    let at = vector * L::N;
                    let d = [
                        q[0].sub(crowd.column(0, at)),
                        q[1].sub(crowd.column(1, at)),
                        q[2].sub(crowd.column(2, at)),
                    ];
                    let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
                    let w = one.sub(r2).max(zero);
                    let volume: L = crowd.column(VOLUME, at);
                    let g = core_gradient(w, w.mul(w), w.mul(w)).mul(own_volume.mul(volume.abs()));
                    let mut out = [0.0f32; 16];
                    // SAFETY: room for as many as any lanes.
                    unsafe { g.store(out.as_mut_ptr()) };
                    for (&j, g) in numbers.iter().zip(out) {
                        if g > 0.0 && (j as usize != i + k || b.shift != [0.0; 3]) {
                            index.push(j);
                            ks.push(g * 0.5 * (mu + forces.fluids[fluid[j as usize] as usize].thick));
                        }
                    }
                }
            }
            batch += 1;
            if b.last {
                break;
            }
        }
        for (index, ks) in &mut gathered[..n] {
            rows.index.append(index);
            rows.k.append(ks);
            rows.end.push(rows.index.len() as u32);
        }
        i += n;
    }
}
