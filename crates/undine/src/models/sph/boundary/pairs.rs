//! Sums of fluid over boundary particles.

use std::sync::atomic::{AtomicBool, Ordering};

use super::super::continuity::{core_gradient, gradient_of};
use super::super::force::{FluidConstants, Forces};
use super::super::lists::{List, pad};
use super::super::work::{PRESSURE, Record, VOLUME, Work};
use super::Constants;
use super::seen::{Seen, Visit, Walk, search};
use super::set::Set;
use glam::Vec3;

use crate::kernels::Cored;
use crate::neighbors::{BUNCH, Grid};
use crate::scene::WallKind;
use crate::simd::{Lanes, widest};

/// Fluid whose distance to the surface of a wall is less than this, in spacings, is so near that a step may end in the wall.
const NEAR: f32 = 0.2;

/// A point nearer to the surface than a step is nearer to a sample than the root of this, in spacings: those of a plane are at
/// most 1.2 apart, and 0.65² + 2 × 0.6² is 1.14. Behind an edge they lie deeper: with 1.2 a particle was seen to enter one.
const NEAREST: f32 = 1.7;

/// What walls add to the sums of the continuity pass: they count as filled with fluid that moves with them.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallRate {
    /// Σ V g (v_b-v_i)·d.
    pub convergence: f32,
    /// Σ V w d.
    pub color: [f32; 3],
    /// Σ V (w³ + c w⁶).
    pub sum: f32,
    /// Whether a step may end in a wall.
    pub near: bool,
}

/// Sums over boundary particles as the search finds them, and marks them.
pub struct Rates<'a> {
    /// The boundary particles.
    pub work: &'a Work,
    /// Their normals, and depths in h.
    pub face: &'a [[f32; 4]],
    /// Those that fluid sees.
    pub touched: &'a [AtomicBool],
    /// The block of fluid.
    pub own: &'a [Record],
    /// Δ/h.
    pub unit: f32,
    /// The sums.
    pub out: &'a mut [WallRate],
}

impl Rates<'_> {
    /// Whether a point is near the surface of a wall, judged by the planes through the listed boundary particles.
    fn is_near(&self, list: &List, p: [f32; 3]) -> bool {
        list.index[..list.len].iter().any(|&j| {
            let r = &self.work.records[j as usize];
            let d = Vec3::new(p[0] - r[0], p[1] - r[1], p[2] - r[2]);
            let [x, y, z, depth] = self.face[j as usize];
            // In a thin wall a sample is as deep as half of it, but at its rim half a spacing behind the narrow side.
            let plane = depth.max(0.5 * self.unit);
            d.length_squared() < NEAREST * self.unit * self.unit
                && d.dot(Vec3::new(x, y, z)) - plane < NEAR * self.unit
        })
    }
}

impl Visit for Rates<'_> {
    #[inline(always)]
    fn visit<L: Lanes>(&mut self, i: usize, p: [f32; 3], list: &mut List) {
        for &j in &list.index[..list.len] {
            self.touched[j as usize].store(true, Ordering::Relaxed);
        }
        let close = L::splat(1.0 - NEAREST * self.unit * self.unit);
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        pad::<L>(list, self.work.len());
        let q = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
        let own = &self.own[i];
        let v = [L::splat(own[4]), L::splat(own[5]), L::splat(own[6])];
        let mut sums = [zero; 5];
        let (mut at, mut closer) = (0, 0);
        while at < list.len {
            // SAFETY: numbers in the list are below that of the last record, with which it is filled up.
            let [x, y, z, _, vx, vy, vz, volume] =
                unsafe { L::gather8(self.work.records.as_ptr(), list.index.as_ptr().add(at)) };
            let volume = volume.abs();
            let d = [q[0].sub(x), q[1].sub(y), q[2].sub(z)];
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let w = one.sub(r2).max(zero);
            closer |= close.below(w);
            let w2 = w.mul(w);
            let dv = [vx.sub(v[0]), vy.sub(v[1]), vz.sub(v[2])];
            let closing = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
            sums[0] = closing.mul_add(core_gradient(w, w2).mul(volume), sums[0]);
            let c = w.mul(volume);
            for a in 0..3 {
                sums[1 + a] = d[a].mul_add(c, sums[1 + a]);
            }
            let w3 = w2.mul(w);
            let term = w3.mul(w3).mul_add(L::splat(Cored::CORE as f32), w3);
            sums[4] = term.mul_add(volume, sums[4]);
            at += L::N;
        }
        let near = closer != 0 && self.is_near(list, p);
        let rate = &mut self.out[i];
        rate.near |= near;
        rate.convergence += sums[0].sum();
        for a in 0..3 {
            rate.color[a] += sums[1 + a].sum();
        }
        rate.sum += sums[4].sum();
    }
}

/// Searches the boundary particles around a block of fluid that was placed among them, and sums over them.
pub fn rates(seen: &mut Seen, wanted: &[bool], grid: &Grid, rates: &mut Rates) {
    widest!(rates_in(seen: &mut Seen, wanted: &[bool], grid: &Grid, rates: &mut Rates));
}

#[inline(always)]
fn rates_in<L: Lanes>(seen: &mut Seen, wanted: &[bool], grid: &Grid, rates: &mut Rates) {
    search::<L, _>(seen, wanted, grid, rates.work, true, rates);
}

/// Adds accelerations: pressure or repulsion, and drag.
pub fn forces(
    seen: &Seen,
    set: &Set,
    own: (&[Record], &[u8]),
    forces: &Forces,
    constants: &Constants,
    out: &mut [[f32; 3]],
) {
    widest!(forces_in(
        seen: &Seen,
        set: &Set,
        own: (&[Record], &[u8]),
        forces: &Forces,
        constants: &Constants,
        out: &mut [[f32; 3]],
    ));
}

#[inline(always)]
fn forces_in<L: Lanes>(
    seen: &Seen,
    set: &Set,
    (own, fluid): (&[Record], &[u8]),
    forces: &Forces,
    constants: &Constants,
    out: &mut [[f32; 3]],
) {
    let mut lists: [List; BUNCH] = Default::default();
    let mut walk = Walk::default();
    while let Some(sight) = seen.next::<L>(&mut walk, &mut lists) {
        for (k, list) in lists.iter_mut().enumerate().take(sight.bunch.count) {
            let i = sight.bunch.first + k;
            let f = &forces.fluids[fluid[i] as usize];
            let p = seen.point(&sight, k);
            pad::<L>(list, set.work.len());
            let force = if constants.kind == WallKind::LennardJones {
                force_of::<L, true>(list, p, &own[i], &set.work.records, f, forces.pressure, constants)
            } else {
                force_of::<L, false>(list, p, &own[i], &set.work.records, f, forces.pressure, constants)
            };
            for a in 0..3 {
                out[i][a] += force[a] * f.per_mass;
            }
        }
    }
}

/// Eq. 8 as the pass over fluid takes it, of one pair, over the distance: an acceleration per distance in h.
pub fn repulsion(r2: f32, constants: &Constants) -> f32 {
    let unit2 = constants.unit * constants.unit;
    let near = r2.max(0.25 * unit2);
    let u3 = (unit2 / near).powi(3);
    (u3 * (u3 - 1.0)).max(0.0) / near * (constants.repulsion / constants.h)
}

/// Force of the listed boundary particles on one of fluid, N.
#[inline(always)]
fn force_of<L: Lanes, const REPEL: bool>(
    list: &List,
    p: [f32; 3],
    own: &Record,
    records: &[Record],
    f: &FluidConstants,
    pressure: f32,
    constants: &Constants,
) -> [f32; 3] {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let q = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
    let v = [L::splat(own[4]), L::splat(own[5]), L::splat(own[6])];
    let (own_p, own_volume) = (L::splat(own[PRESSURE]), L::splat(own[VOLUME].abs()));
    // The velocity seen is that behind the wall, as far from the wall's as the fluid's on the other side.
    let (pressure, damping, viscosity) =
        (L::splat(pressure), L::splat(0.5 * f.damping), L::splat(f.viscosity));
    let mut force = [zero; 3];
    let mut at = 0;
    while at < list.len {
        // SAFETY: numbers in the list are below that of the last record, with which it is filled up.
        let [x, y, z, p_j, vx, vy, vz, signed] =
            unsafe { L::gather8(records.as_ptr(), list.index.as_ptr().add(at)) };
        let d = [q[0].sub(x), q[1].sub(y), q[2].sub(z)];
        let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
        let w = one.sub(r2).max(zero);
        let g = core_gradient(w, w.mul(w)).mul(own_volume.mul(signed.abs()));
        let dv = [vx.sub(v[0]), vy.sub(v[1]), vz.sub(v[2])];
        let closing = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0]))).max(zero);
        let radial = if REPEL {
            // Eq. 8: D/r ((r0/r)¹² - (r0/r)⁶) up to r0 = Δ, as an acceleration; kept finite where they meet.
            let r0 = L::splat(constants.unit * constants.unit);
            let near = r2.max(L::splat(0.25 * constants.unit * constants.unit));
            let u = r0.div(near);
            let u3 = u.mul(u).mul(u);
            let scale = constants.repulsion / (constants.h * f.per_mass);
            let push = u3.mul(u3.sub(one)).max(zero).div(near).mul(L::splat(scale)).mul(signed.abs());
            // Eq. 10: what is kept of the pressure of both pulls.
            push.sub(p_j.mul(pressure).mul(g))
        } else {
            closing.mul_add(damping, p_j.add(own_p).mul(pressure)).mul(g)
        };
        // Fluid slips where volumes are negative.
        let shear = g.mul(viscosity).mul(signed.max(zero)).div(signed.abs().max(L::splat(1e-6)));
        for a in 0..3 {
            force[a] = dv[a].mul_add(shear, d[a].mul_add(radial, force[a]));
        }
        at += L::N;
    }
    [force[0].sum(), force[1].sum(), force[2].sum()]
}

/// Adds what holds fluid in the implicit viscous step; see [`super::Boundary::hold`].
pub fn hold(
    seen: &Seen,
    set: &Set,
    own: (&[Record], &[u8]),
    forces: &Forces,
    unit: f32,
    out: &mut [[f32; 4]],
) {
    widest!(hold_in(
        seen: &Seen,
        set: &Set,
        own: (&[Record], &[u8]),
        forces: &Forces,
        unit: f32,
        out: &mut [[f32; 4]],
    ));
}

#[inline(always)]
fn hold_in<L: Lanes>(
    seen: &Seen,
    set: &Set,
    (own, fluid): (&[Record], &[u8]),
    forces: &Forces,
    unit: f32,
    out: &mut [[f32; 4]],
) {
    let mut lists: [List; BUNCH] = Default::default();
    let mut walk = Walk::default();
    while let Some(sight) = seen.next::<L>(&mut walk, &mut lists) {
        for (k, list) in lists.iter_mut().enumerate().take(sight.bunch.count) {
            let i = sight.bunch.first + k;
            let mu = forces.fluids[fluid[i] as usize].thick * own[i][VOLUME].abs();
            let p = seen.point(&sight, k);
            for &j in &list.index[..list.len] {
                let r = &set.work.records[j as usize];
                // Fluid slips where volumes are negative.
                if r[VOLUME] <= 0.0 {
                    continue;
                }
                let d = Vec3::new(p[0] - r[0], p[1] - r[1], p[2] - r[2]);
                let [x, y, z, depth] = set.face[j as usize];
                let before = d.dot(Vec3::new(x, y, z)).abs() - depth;
                let mirrored = 1.0 + (depth / before.max(0.25 * unit)).min(2.0);
                let g = gradient_of((1.0 - d.length_squared()).max(0.0)) * mu * r[VOLUME] * mirrored;
                let v = set.velocity[j as usize];
                for a in 0..3 {
                    out[i][a] += g * v[a];
                }
                out[i][3] += g;
            }
        }
    }
}
