//! Sums of fluid over boundary particles.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::continuity::core_gradient;
use super::super::crowd::{Crowd, MOST};
use super::super::force::Forces;
use super::super::octet::{OCTET, Octet, Records, Together, lanes, mark_far};
use super::super::outlook::{self, BEYOND, Scope};
use super::super::work::{PRESSURE, Record, VOLUME};
use super::Constants;
use super::adhesion::Stuck;
use super::seen::{Seen, Visit, VisitOctet};
use super::set::Set;
use crate::kernels::Cored;
use crate::scene::WallKind;
use crate::simd::{Lanes, Octets, widest};

/// Fluid whose distance to the surface of a wall is less than this, in spacings, is so near that a step may end in the wall.
pub const NEAR: f32 = 0.2;

/// A point nearer to the surface than a step is nearer to a sample than this, in spacings: those of a plane are at most 1.2 apart, and
/// 0.65² + 2 × 0.6² is 1.14. Behind an edge they lie deeper: with the root of 1.2 a particle was seen to enter one.
const NEAREST: f32 = 1.304;

/// What walls add to the sums of the continuity pass for a block of fluid, as parallel arrays: they count as filled with fluid that
/// moves with them. What is of no bunch that looks for walls is 0.
#[derive(Clone, Debug, Default)]
pub struct WallRates {
    /// Σ V g (v_b-v_i)·d.
    pub convergence: Vec<f32>,
    /// Σ V w d.
    pub color: [Vec<f32>; 3],
    /// Σ V (w³ + c w⁶).
    pub sum: Vec<f32>,
    /// 1 where a step may end in a wall, before the next survey.
    pub near: Vec<u8>,
}

impl WallRates {
    /// None, of so many particles; what is slow stays as it is in a quick step, and what is near in all but a survey.
    pub fn reset(&mut self, count: usize, scope: Scope) {
        fn zero<T: Clone + Default>(of: &mut Vec<T>, count: usize) {
            of.clear();
            of.resize(count, T::default());
        }
        zero(&mut self.convergence, count);
        if scope == Scope::Survey {
            zero(&mut self.near, count);
        }
        if scope != Scope::Quick {
            self.color.iter_mut().for_each(|of| zero(of, count));
            zero(&mut self.sum, count);
        }
    }

    /// Whether any wall is within the support of a particle.
    #[inline(always)]
    pub fn is_touched(&self, i: usize) -> bool {
        self.sum[i] > 0.0
    }

    /// Σ V w d of a particle.
    pub fn color(&self, i: usize) -> [f32; 3] {
        self.color.each_ref().map(|color| color[i])
    }
}

/// Adds values to as many sums.
#[inline(always)]
pub fn add(sums: &mut [f32], values: &[f32]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// Sums over boundary particles.
pub struct Rates<'a> {
    /// Their normals, and depths in h.
    pub face: &'a [[f32; 4]],
    /// Where those that fluid sees are to be marked.
    pub touched: Option<&'a [AtomicBool]>,
    /// And those that may come within its support soon, in a survey.
    pub awake: &'a [AtomicBool],
    /// 2/h of the time for which a survey looks ahead, s/m.
    pub ahead: f32,
    /// The block of fluid.
    pub own: &'a [Record],
    /// Δ/h.
    pub unit: f32,
    /// The sums.
    pub out: &'a mut WallRates,
    /// Stickiness of each boundary particle as [`Set::adhesion`] has it, where any sticks, and the sums for that.
    pub adhesion: (&'a [[f32; 2]], &'a mut [Stuck]),
}

impl Rates<'_> {
    /// Bits of the points that are near the surface of a wall or come so near by a `way`, h, judged by the planes through the boundary
    /// particles from number k of the list on.
    #[inline(always)]
    fn near<L: Octets>(&self, neighbors: &[u32], k: usize, d: [L; 3], way: L) -> u32 {
        // SAFETY: there is one of each boundary particle.
        let face = unsafe { Together::of::<L>(self.face, neighbors, k, &[0.0; 4]) };
        // In a thin wall a sample is as deep as half of it, but at its rim half a spacing behind the narrow side.
        let plane = face.lanes::<L>(3).max(L::splat(0.5 * self.unit));
        let along = d[2].mul_add(face.lanes(2), d[1].mul_add(face.lanes(1), d[0].mul(face.lanes(0))));
        along.sub(plane).below(way.add(L::splat(NEAR * self.unit)))
    }
}

/// Adds up [`Rates`], where fluid `STICKS` to walls all that adhesion needs as well: in a pass of its own that took longer than the
/// other forces of walls.
/// Where it is not `SLOW`, only what changes within a step is added up; a `SURVEY` tells which boundary particles are far.
struct Adding<'r, 'a, const STICKS: bool, const SLOW: bool, const SURVEY: bool>(&'r mut Rates<'a>);

impl<const STICKS: bool, const SLOW: bool, const SURVEY: bool> VisitOctet
    for Adding<'_, '_, STICKS, SLOW, SURVEY>
{
    #[inline(always)]
    fn visit<L: Octets>(
        &mut self,
        points: Range<usize>,
        p: [L; 3],
        neighbors: &[u32],
        records: &[Record],
        far: &mut [u8; MOST + 16],
    ) {
        let rates = &mut *self.0;
        assert!(rates.face.len() == records.len());
        assert!(!STICKS || rates.adhesion.0.len() == records.len());
        if let Some(touched) = rates.touched {
            mark(touched, neighbors);
        }
        let nearest = L::splat(NEAREST * rates.unit);
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let v = Octet::<L>::new(&rates.own[points.clone()]).velocity;
        let spread = L::spread();
        let look = (L::splat(rates.ahead), L::splat(BEYOND));
        let mut sums = [zero; 5];
        let mut stuck = [zero; 6];
        let mut near = 0;
        for k in (0..neighbors.len()).step_by(L::AT_ONCE) {
            // SAFETY: these are numbers of boundary particles.
            let r = unsafe { Records::<L>::of(records, neighbors, k, spread) };
            let d: [L; 3] = [p[0].sub(r.lanes(0)), p[1].sub(r.lanes(1)), p[2].sub(r.lanes(2))];
            let volume = r.lanes(VOLUME).abs();
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let within = one.sub(r2);
            let w = within.max(zero);
            let w2 = w.mul(w);
            let dv: [L; 3] = [r.lanes(4).sub(v[0]), r.lanes(5).sub(v[1]), r.lanes(6).sub(v[2])];
            let closing = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
            if SURVEY {
                // How far it may come until the next survey.
                let speed = dv[2].mul_add(dv[2], dv[1].mul_add(dv[1], dv[0].mul(dv[0]))).sqrt();
                let way = speed.mul_add(L::splat(0.5 * rates.ahead), L::splat(outlook::STRAY));
                let close = way.add(nearest);
                let closer = r2.below(close.mul(close)) & !near;
                if closer != 0 {
                    near |= closer & rates.near(neighbors, k, d, way);
                }
                // Here the way is from the wall to the fluid.
                mark_far(within, zero.sub(closing), look, &mut far[k..k + L::AT_ONCE]);
            }
            sums[0] = closing.mul_add(core_gradient(w, w2, w2.mul(volume)), sums[0]);
            let c = w.mul(volume);
            if SLOW {
                for a in 0..3 {
                    sums[1 + a] = d[a].mul_add(c, sums[1 + a]);
                }
                let w3 = w2.mul(w);
                let term = w3.mul(w3).mul_add(L::splat(Cored::CORE as f32), w3);
                sums[4] = term.mul_add(volume, sums[4]);
            }
            if STICKS {
                // SAFETY: there is one of each boundary particle.
                let sticky = unsafe { Together::of::<L>(rates.adhesion.0, neighbors, k, &[0.0; 2]) };
                let pull = c.mul(sticky.lanes(0));
                let hold = r2.sub(L::splat(0.25)).max(zero).mul(c).mul(sticky.lanes(1));
                for a in 0..3 {
                    stuck[a] = d[a].mul_add(pull, stuck[a]);
                    stuck[3 + a] = d[a].mul_add(hold, stuck[3 + a]);
                }
            }
        }
        let [convergence, x, y, z, sum] = lanes(sums);
        let near = near | near >> OCTET;
        let out = &mut *rates.out;
        add(&mut out.convergence[points.clone()], &convergence);
        if SLOW {
            for (color, part) in out.color.iter_mut().zip([&x, &y, &z]) {
                add(&mut color[points.clone()], part);
            }
            add(&mut out.sum[points.clone()], &sum);
        }
        if SURVEY {
            for (b, is_near) in out.near[points.clone()].iter_mut().enumerate() {
                *is_near |= (near >> b & 1) as u8;
            }
        }
        if STICKS {
            let [x, y, z, u, v, w] = lanes(stuck);
            for (b, stuck) in rates.adhesion.1[points].iter_mut().enumerate() {
                stuck.add([x[b], y[b], z[b]], [u[b], v[b], w[b]]);
            }
        }
    }

    #[inline(always)]
    fn keep(&mut self, neighbors: &[u32]) {
        mark(self.0.awake, neighbors);
    }
}

fn mark(flags: &[AtomicBool], numbers: &[u32]) {
    numbers.iter().for_each(|j| flags[*j as usize].store(true, Ordering::Relaxed));
}

/// Sums over the boundary particles around a block of fluid.
pub fn rates(seen: &mut Seen, records: &[Record], rates: &mut Rates, scope: Scope) {
    widest!(rates_in(seen: &mut Seen, records: &[Record], rates: &mut Rates, scope: Scope));
}

#[inline(always)]
fn rates_in<L: Octets>(seen: &mut Seen, records: &[Record], rates: &mut Rates, scope: Scope) {
    match (scope, rates.adhesion.0.is_empty()) {
        (Scope::Survey, true) => seen.survey::<L, _>(records, &mut Adding::<false, true, true>(rates)),
        (Scope::Survey, false) => seen.survey::<L, _>(records, &mut Adding::<true, true, true>(rates)),
        (Scope::All, true) => seen.octets::<L, _>(records, &mut Adding::<false, true, false>(rates)),
        (Scope::All, false) => seen.octets::<L, _>(records, &mut Adding::<true, true, false>(rates)),
        // What adheres has tension, and then no step is quick.
        (Scope::Quick, _) => seen.octets::<L, _>(records, &mut Adding::<false, false, false>(rates)),
    }
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
    out: &mut [[f32; 3]],
) {
    widest!(forces_in(
        seen: &Seen,
        records: &[Record],
        own: (&[Record], &[u8]),
        of: (&Forces, &Constants),
        out: &mut [[f32; 3]],
    ));
}

#[inline(always)]
fn forces_in<L: Octets>(
    seen: &Seen,
    records: &[Record],
    own: (&[Record], &[u8]),
    (forces, constants): (&Forces, &Constants),
    out: &mut [[f32; 3]],
) {
    if constants.kind == WallKind::LennardJones {
        seen.octets::<L, _>(records, &mut Push::<true> { own, forces, constants, out });
    } else {
        seen.octets::<L, _>(records, &mut Push::<false> { own, forces, constants, out });
    }
}

/// Eq. 8 as the pass over fluid takes it, of one pair, over the distance: an acceleration per distance in h.
pub fn repulsion(r2: f32, constants: &Constants) -> f32 {
    let unit2 = constants.unit * constants.unit;
    let near = r2.max(0.25 * unit2);
    let u3 = (unit2 / near).powi(3);
    (u3 * (u3 - 1.0)).max(0.0) / near * (constants.repulsion / constants.h)
}

impl<const REPEL: bool> VisitOctet for Push<'_, REPEL> {
    #[inline(always)]
    fn visit<L: Octets>(
        &mut self,
        points: Range<usize>,
        p: [L; 3],
        neighbors: &[u32],
        records: &[Record],
        _: &mut [u8; MOST + 16],
    ) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let constants = self.constants;
        let own = Octet::<L>::new(&self.own.0[points.clone()]);
        let own_volume = own.volume.abs();
        // Half of the damping, viscosity and mass by particle.
        let mut each = [[0.0; OCTET]; 3];
        for (b, fluid) in self.own.1[points.clone()].iter().enumerate() {
            let f = &self.forces.fluids[usize::from(*fluid)];
            (each[0][b], each[1][b], each[2][b]) = (0.5 * f.damping, f.viscosity, 1.0 / f.per_mass);
        }
        // SAFETY: eight of each.
        let (damping, viscosity, mass): (L, L, L) = unsafe {
            (
                L::load_eight(each[0].as_ptr()),
                L::load_eight(each[1].as_ptr()),
                L::load_eight(each[2].as_ptr()),
            )
        };
        let pressure = L::splat(self.forces.pressure);
        let spread = L::spread();
        let mut force = [zero; 3];
        for k in (0..neighbors.len()).step_by(L::AT_ONCE) {
            // SAFETY: these are numbers of boundary particles.
            let r = unsafe { Records::<L>::of(records, neighbors, k, spread) };
            let d: [L; 3] = [p[0].sub(r.lanes(0)), p[1].sub(r.lanes(1)), p[2].sub(r.lanes(2))];
            let (p_j, signed): (L, L) = (r.lanes(PRESSURE), r.lanes(VOLUME));
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let w = one.sub(r2).max(zero);
            let g = core_gradient(w, w.mul(w), w.mul(w)).mul(own_volume.mul(signed.abs()));
            // The velocity seen is that behind the wall, as far from the wall's as the fluid's on the other side.
            let dv = own.against(r);
            let closing = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0]))).max(zero);
            let radial = if REPEL {
                // Eq. 8: D/r ((r0/r)¹² - (r0/r)⁶) up to r0 = Δ, as an acceleration; kept finite where they meet.
                let r0 = L::splat(constants.unit * constants.unit);
                let near = r2.max(L::splat(0.25 * constants.unit * constants.unit));
                let u = r0.div(near);
                let u3 = u.mul(u).mul(u);
                let scale = mass.mul(L::splat(constants.repulsion / constants.h));
                let push = u3.mul(u3.sub(one)).max(zero).div(near).mul(scale).mul(signed.abs());
                // Eq. 10: what is kept of the pressure of both pulls.
                push.sub(p_j.mul(pressure).mul(g))
            } else {
                closing.mul_add(damping, p_j.add(own.pressure).mul(pressure)).mul(g)
            };
            // Fluid slips where volumes are negative.
            let shear = g.mul(viscosity).where_below(zero, signed);
            for a in 0..3 {
                force[a] = dv[a].mul_add(shear, d[a].mul_add(radial, force[a]));
            }
        }
        let [x, y, z] = lanes(force);
        for (b, i) in points.enumerate() {
            let per_mass = self.forces.fluids[usize::from(self.own.1[i])].per_mass;
            for (out, force) in self.out[i].iter_mut().zip([x[b], y[b], z[b]]) {
                *out += force * per_mass;
            }
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
