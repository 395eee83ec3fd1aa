//! Sums of fluid over boundary particles.

use std::sync::atomic::{AtomicBool, Ordering};

use super::super::continuity::core_gradient;
use super::super::crowd::Crowd;
use super::super::force::Forces;
use super::super::work::{PRESSURE, Record, VOLUME};
use super::Constants;
use super::seen::{Seen, Visit};
use super::set::Set;
use crate::kernels::Cored;
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

/// Sums over boundary particles.
pub struct Rates<'a> {
    /// Their normals, and depths in h.
    pub face: &'a [[f32; 4]],
    /// Where those that fluid sees are to be marked.
    pub touched: Option<&'a [AtomicBool]>,
    /// The block of fluid.
    pub own: &'a [Record],
    /// Δ/h.
    pub unit: f32,
    /// The sums.
    pub out: &'a mut [WallRate],
}

impl Rates<'_> {
    /// Whether a point is near the surface of a wall, judged by the planes through those boundary particles from `at` on of which a
    /// bit is set.
    #[inline(always)]
    fn is_near<L: Lanes>(&self, crowd: &Crowd, at: usize, d: [L; 3], close: u32) -> bool {
        let [x, y, z, depth] = crowd.gather4::<L>(self.face, at);
        // In a thin wall a sample is as deep as half of it, but at its rim half a spacing behind the narrow side.
        let plane = depth.max(L::splat(0.5 * self.unit));
        let before = d[2].mul_add(z, d[1].mul_add(y, d[0].mul(x))).sub(plane);
        before.below(L::splat(NEAR * self.unit)) & close != 0
    }
}

impl Visit for Rates<'_> {
    fn arrive(&mut self, crowd: &Crowd) {
        if let Some(touched) = self.touched {
            for &j in crowd.index() {
                touched[j as usize].store(true, Ordering::Relaxed);
            }
        }
    }

    #[inline(always)]
    fn visit<L: Lanes>(&mut self, i: usize, p: [f32; 3], crowd: &Crowd) {
        let close = L::splat(NEAREST * self.unit * self.unit);
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let q = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
        let own = &self.own[i];
        let v = [L::splat(own[4]), L::splat(own[5]), L::splat(own[6])];
        let mut sums = [zero; 5];
        let mut near = false;
        let mut at = 0;
        while at < crowd.len() {
            let d: [L; 3] =
                [q[0].sub(crowd.column(0, at)), q[1].sub(crowd.column(1, at)), q[2].sub(crowd.column(2, at))];
            let volume = crowd.column::<L>(VOLUME, at).abs();
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let w = one.sub(r2).max(zero);
            let closer = r2.below(close);
            near = near || closer != 0 && self.is_near(crowd, at, d, closer);
            let w2 = w.mul(w);
            let dv: [L; 3] = [
                crowd.column::<L>(4, at).sub(v[0]),
                crowd.column::<L>(5, at).sub(v[1]),
                crowd.column::<L>(6, at).sub(v[2]),
            ];
            let closing = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
            sums[0] = closing.mul_add(core_gradient(w, w2, w2.mul(volume)), sums[0]);
            let c = w.mul(volume);
            for a in 0..3 {
                sums[1 + a] = d[a].mul_add(c, sums[1 + a]);
            }
            let w3 = w2.mul(w);
            let term = w3.mul(w3).mul_add(L::splat(Cored::CORE as f32), w3);
            sums[4] = term.mul_add(volume, sums[4]);
            at += L::N;
        }
        let rate = &mut self.out[i];
        let [x, y, z, sum] = L::sum4([sums[1], sums[2], sums[3], sums[4]]);
        rate.near |= near;
        rate.convergence += sums[0].sum();
        for (color, sum) in rate.color.iter_mut().zip([x, y, z]) {
            *color += sum;
        }
        rate.sum += sum;
    }
}

/// Sums over the boundary particles around a block of fluid.
pub fn rates(seen: &Seen, records: &[Record], crowd: &mut Crowd, rates: &mut Rates) {
    widest!(rates_in(seen: &Seen, records: &[Record], crowd: &mut Crowd, rates: &mut Rates));
}

#[inline(always)]
fn rates_in<L: Lanes>(seen: &Seen, records: &[Record], crowd: &mut Crowd, rates: &mut Rates) {
    seen.each::<L, _>(records, crowd, rates);
}

/// Accelerations of a block of fluid: pressure or repulsion (`REPEL`), and drag.
struct Push<'a, const REPEL: bool> {
    own: (&'a [Record], &'a [u8]),
    forces: &'a Forces,
    constants: &'a Constants,
    out: &'a mut [[f32; 3]],
}

/// Adds accelerations: pressure or repulsion, and drag.
pub fn forces(
    seen: &Seen,
    records: &[Record],
    own: (&[Record], &[u8]),
    of: (&Forces, &Constants),
    crowd: &mut Crowd,
    out: &mut [[f32; 3]],
) {
    widest!(forces_in(
        seen: &Seen,
        records: &[Record],
        own: (&[Record], &[u8]),
        of: (&Forces, &Constants),
        crowd: &mut Crowd,
        out: &mut [[f32; 3]],
    ));
}

#[inline(always)]
fn forces_in<L: Lanes>(
    seen: &Seen,
    records: &[Record],
    own: (&[Record], &[u8]),
    (forces, constants): (&Forces, &Constants),
    crowd: &mut Crowd,
    out: &mut [[f32; 3]],
) {
    if constants.kind == WallKind::LennardJones {
        seen.each::<L, _>(records, crowd, &mut Push::<true> { own, forces, constants, out });
    } else {
        seen.each::<L, _>(records, crowd, &mut Push::<false> { own, forces, constants, out });
    }
}

/// Eq. 8 as the pass over fluid takes it, of one pair, over the distance: an acceleration per distance in h.
pub fn repulsion(r2: f32, constants: &Constants) -> f32 {
    let unit2 = constants.unit * constants.unit;
    let near = r2.max(0.25 * unit2);
    let u3 = (unit2 / near).powi(3);
    (u3 * (u3 - 1.0)).max(0.0) / near * (constants.repulsion / constants.h)
}

impl<const REPEL: bool> Visit for Push<'_, REPEL> {
    #[inline(always)]
    fn visit<L: Lanes>(&mut self, i: usize, p: [f32; 3], crowd: &Crowd) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let f = &self.forces.fluids[usize::from(self.own.1[i])];
        let (own, constants) = (&self.own.0[i], self.constants);
        let q = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
        let v = [L::splat(own[4]), L::splat(own[5]), L::splat(own[6])];
        let (own_p, own_volume) = (L::splat(own[PRESSURE]), L::splat(own[VOLUME].abs()));
        // The velocity seen is that behind the wall, as far from the wall's as the fluid's on the other side.
        let (pressure, damping, viscosity) =
            (L::splat(self.forces.pressure), L::splat(0.5 * f.damping), L::splat(f.viscosity));
        let mut force = [zero; 3];
        let mut at = 0;
        while at < crowd.len() {
            let d: [L; 3] =
                [q[0].sub(crowd.column(0, at)), q[1].sub(crowd.column(1, at)), q[2].sub(crowd.column(2, at))];
            let (p_j, signed): (L, L) = (crowd.column(PRESSURE, at), crowd.column(VOLUME, at));
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let w = one.sub(r2).max(zero);
            let g = core_gradient(w, w.mul(w), w.mul(w)).mul(own_volume.mul(signed.abs()));
            let dv: [L; 3] = [
                crowd.column::<L>(4, at).sub(v[0]),
                crowd.column::<L>(5, at).sub(v[1]),
                crowd.column::<L>(6, at).sub(v[2]),
            ];
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
            let shear = g.mul(viscosity).where_below(zero, signed);
            for a in 0..3 {
                force[a] = dv[a].mul_add(shear, d[a].mul_add(radial, force[a]));
            }
            at += L::N;
        }
        let force = L::sum4([force[0], force[1], force[2], zero]);
        for (out, force) in self.out[i].iter_mut().zip(force) {
            *out += force * f.per_mass;
        }
    }
}

/// What holds fluid in the implicit viscous step.
struct Hold<'a> {
    set: &'a Set,
    own: (&'a [Record], &'a [u8]),
    forces: &'a Forces,
    unit: f32,
    out: &'a mut [[f32; 4]],
}

/// Adds what holds fluid in the implicit viscous step; see [`super::Boundary::hold`].
pub fn hold(
    seen: &Seen,
    set: &Set,
    own: (&[Record], &[u8]),
    of: (&Forces, f32),
    crowd: &mut Crowd,
    out: &mut [[f32; 4]],
) {
    widest!(hold_in(
        seen: &Seen,
        set: &Set,
        own: (&[Record], &[u8]),
        of: (&Forces, f32),
        crowd: &mut Crowd,
        out: &mut [[f32; 4]],
    ));
}

#[inline(always)]
fn hold_in<L: Lanes>(
    seen: &Seen,
    set: &Set,
    own: (&[Record], &[u8]),
    (forces, unit): (&Forces, f32),
    crowd: &mut Crowd,
    out: &mut [[f32; 4]],
) {
    seen.each::<L, _>(&set.work.records, crowd, &mut Hold { set, own, forces, unit, out });
}

impl Visit for Hold<'_> {
    #[inline(always)]
    fn visit<L: Lanes>(&mut self, i: usize, p: [f32; 3], crowd: &Crowd) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let mu = self.forces.fluids[usize::from(self.own.1[i])].thick * self.own.0[i][VOLUME].abs();
        let q = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
        let mut sum = zero;
        let mut at = 0;
        while at < crowd.len() {
            let d: [L; 3] =
                [q[0].sub(crowd.column(0, at)), q[1].sub(crowd.column(1, at)), q[2].sub(crowd.column(2, at))];
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let w = one.sub(r2).max(zero);
            let [x, y, z, depth] = crowd.gather4::<L>(&self.set.face, at);
            let before = d[2].mul_add(z, d[1].mul_add(y, d[0].mul(x))).abs().sub(depth);
            let steep = depth.div(before.max(L::splat(0.25 * self.unit)));
            let mirrored = one.add(L::splat(2.0).sub(L::splat(2.0).sub(steep).max(zero)));
            // Fluid slips where volumes are negative.
            let volume = crowd.column::<L>(VOLUME, at).max(zero);
            let k = core_gradient(w, w.mul(w), w.mul(w)).mul(L::splat(mu)).mul(volume).mul(mirrored);
            sum = sum.add(k);
            if self.set.moves {
                let mut shares = [0.0; 16];
                // SAFETY: as many as any lanes.
                unsafe { k.store(shares.as_mut_ptr()) };
                for (k, &j) in shares.iter().zip(&crowd.index()[at..]) {
                    (0..3).for_each(|a| self.out[i][a] += k * self.set.velocity[j as usize][a]);
                }
            }
            at += L::N;
        }
        self.out[i][3] += sum.sum();
    }
}
