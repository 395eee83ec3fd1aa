//! Pressure and velocity of the fluid, gone on behind a wall (Adami, Hu & Adams 2012).

use std::sync::atomic::Ordering;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::super::continuity::core_gradient;
use super::super::lists::{List, pad};
use super::super::work::{PRESSURE, Work};
use super::Constants;
use super::seen::{Seen, Visit, search};
use super::set::Set;
use crate::neighbors::Grid;
use crate::scene::WallKind;
use crate::simd::{Lanes, widest};
use crate::state::particles::BLOCK;

/// Fluid nearer to the wall than this counts as so near, in spacings, where the profile of its velocity is gone on with.
const LEAST: f32 = 0.25;
/// No velocity behind a wall is more than so many times that before it.
const STEEPEST: f32 = 2.0;

/// Means over the fluid around a boundary particle, weighted with w³.
#[derive(Clone, Copy, Debug, Default)]
struct Means {
    /// Velocity of the wall, m/s.
    wall: [f32; 3],
    weight: f32,
    pressure: f32,
    velocity: [f32; 3],
    /// From the fluid to the boundary particle, h.
    way: [f32; 3],
    /// The same, times the fluid's rest density.
    mass_way: [f32; 3],
    /// Σ V g (v_f-v_b)·d, as in the continuity pass.
    convergence: f32,
}

/// Writes what the force pass is to see of each boundary particle that has fluid around it. Of the pressure no less than
/// `least`, Pa.
pub fn extrapolate(
    set: &mut Set,
    constants: &Constants,
    work: &Work,
    grid: &Grid,
    fluid: &[u8],
    gravity: DVec3,
    dt: f32,
    least: f32,
) {
    let Set { position, touched, busy, face, velocity, acceleration, adhesion, work: own, .. } = set;
    let gravity = gravity.as_vec3();
    let n = touched.len();
    busy.resize(n.div_ceil(BLOCK), true);
    own.records[..n].par_chunks_mut(BLOCK).zip(busy).enumerate().for_each_init(
        Seen::default,
        |seen, (block, (records, busy))| {
            let first = block * BLOCK;
            let range = first..first + records.len();
            let mut wanted = [false; BLOCK];
            for (w, t) in wanted.iter_mut().zip(&touched[range.clone()]) {
                *w = t.load(Ordering::Relaxed);
            }
            // Most of a large terrain is dry, and was so in the last step.
            let was_busy = std::mem::replace(busy, wanted.contains(&true));
            if !*busy && !was_busy {
                return;
            }
            let places = [0, 1, 2].map(|a| &position[a][range.clone()]);
            let mut means = [Means::default(); BLOCK];
            for (k, m) in means[..records.len()].iter_mut().enumerate() {
                m.wall = velocity[first + k];
            }
            let wanted = &wanted[..records.len()];
            if seen.place(places, wanted, grid) {
                let density = &constants.density;
                sum(seen, wanted, grid, &mut Sum { work, fluid, density, out: &mut means });
            }
            for (k, r) in records.iter_mut().enumerate() {
                if !wanted[k] {
                    r[PRESSURE] = 0.0;
                    continue;
                }
                let (m, j) = (&means[k], first + k);
                // None when its only fluid lies at h to the last bit.
                let per = 1.0 / m.weight.max(1e-20);
                let wall = Vec3::from(velocity[j]);
                // p + ρ(g-a)·(x_w-x_f): fluid at rest would go on like this.
                let pull = gravity - Vec3::from(acceleration[j]);
                let depth = pull.dot(Vec3::from(m.mass_way)) * constants.h;
                let behind = ((m.pressure + depth) * per).max(least);
                let [nx, ny, nz, depth] = face[j];
                // Of a sheet, fluid may be on either side.
                let before = Vec3::new(nx, ny, nz).dot(Vec3::from(m.way)).abs() * per - depth;
                let slope = (depth / before.max(LEAST * constants.unit)).min(STEEPEST);
                let v = wall - slope * (Vec3::from(m.velocity) * per - wall);
                r[PRESSURE] = match constants.kind {
                    // dρ/dt = ρ Σ V (v_b-v_f)·∇W, and p = k(ρ-ρ0), never below zero.
                    WallKind::EvolvedDensity => {
                        let rate = constants.rate * m.convergence * (constants.bulk + r[PRESSURE]);
                        (r[PRESSURE] + dt * rate).max(0.0)
                    }
                    // Eq. 10, its share of the pressure of both sides.
                    WallKind::LennardJones => 2.0 * adhesion.get(j).copied().unwrap_or(0.0) * behind,
                    _ => behind,
                };
                r[4..7].copy_from_slice(&v.to_array());
            }
        },
    );
}

/// Sums over the fluid around boundary particles, as the search finds it.
struct Sum<'a> {
    work: &'a Work,
    fluid: &'a [u8],
    density: &'a [f32],
    out: &'a mut [Means],
}

fn sum(seen: &mut Seen, wanted: &[bool], grid: &Grid, sum: &mut Sum) {
    widest!(sum_in(seen: &mut Seen, wanted: &[bool], grid: &Grid, sum: &mut Sum));
}

#[inline(always)]
fn sum_in<L: Lanes>(seen: &mut Seen, wanted: &[bool], grid: &Grid, sum: &mut Sum) {
    search::<L, _>(seen, wanted, grid, sum.work, false, sum);
}

impl Visit for Sum<'_> {
    #[inline(always)]
    fn visit<L: Lanes>(&mut self, i: usize, p: [f32; 3], list: &mut List) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        // Filled up with one of its own, whose weight is then taken off.
        let last = list.index[list.len - 1] as usize;
        pad::<L>(list, last);
        let q = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
        let m = &mut self.out[i];
        let wall = [L::splat(m.wall[0]), L::splat(m.wall[1]), L::splat(m.wall[2])];
        let mut sums = [zero; 12];
        let mut at = 0;
        while at < list.len {
            // SAFETY: all are numbers of fluid particles.
            let [x, y, z, pressure, vx, vy, vz, volume] =
                unsafe { L::gather8(self.work.records.as_ptr(), list.index.as_ptr().add(at)) };
            let d = [q[0].sub(x), q[1].sub(y), q[2].sub(z)];
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let w = one.sub(r2).max(zero);
            let mut kept = [0.0f32; 16];
            kept[..(list.len - at).min(L::N)].fill(1.0);
            // SAFETY: as many as any lanes.
            let kept = unsafe { L::load(kept.as_ptr()) };
            let w2 = w.mul(w);
            let w3 = w2.mul(w).mul(kept);
            let dv = [vx.sub(wall[0]), vy.sub(wall[1]), vz.sub(wall[2])];
            let closing = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
            let g = core_gradient(w, w2).mul(volume.abs()).mul(kept);
            sums[11] = closing.mul_add(g, sums[11]);
            let heavy = if self.density.len() > 1 {
                let mut heavy = [0.0f32; 16];
                for (h, &j) in heavy.iter_mut().zip(&list.index[at..at + L::N]) {
                    *h = self.density[self.fluid[j as usize] as usize];
                }
                // SAFETY: as above.
                w3.mul(unsafe { L::load(heavy.as_ptr()) })
            } else {
                w3.mul(L::splat(self.density[0]))
            };
            sums[0] = sums[0].add(w3);
            sums[1] = pressure.mul_add(w3, sums[1]);
            for (a, v) in [vx, vy, vz].into_iter().enumerate() {
                sums[2 + a] = v.mul_add(w3, sums[2 + a]);
                sums[5 + a] = d[a].mul_add(w3, sums[5 + a]);
                sums[8 + a] = d[a].mul_add(heavy, sums[8 + a]);
            }
            at += L::N;
        }
        m.weight += sums[0].sum();
        m.pressure += sums[1].sum();
        m.convergence += sums[11].sum();
        for a in 0..3 {
            m.velocity[a] += sums[2 + a].sum();
            m.way[a] += sums[5 + a].sum();
            m.mass_way[a] += sums[8 + a].sum();
        }
    }
}
