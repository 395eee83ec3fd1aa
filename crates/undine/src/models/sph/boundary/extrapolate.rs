//! Pressure and velocity of the fluid, gone on behind a wall (Adami, Hu & Adams 2012).

use std::sync::atomic::Ordering;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::super::continuity::core_gradient;
use super::super::crowd::{Crowd, More};
use super::super::work::{PRESSURE, VOLUME, Work};
use super::Constants;
use super::seen::{Seen, Visit};
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
    let Set {
        position,
        touched,
        awake,
        busy,
        face,
        velocity,
        acceleration,
        adhesion,
        work: own,
        fresh,
        wet,
        moves,
        ..
    } = set;
    let gravity = gravity.as_vec3();
    let evolves = constants.kind == WallKind::EvolvedDensity;
    let n = touched.len();
    busy.resize(n.div_ceil(BLOCK), true);
    wet.resize_with(n.div_ceil(BLOCK), Seen::default);
    // A few at a time: most are dry, and each portion makes room for a crowd.
    let blocks = (own.records.par_chunks_mut(BLOCK), busy, wet).into_par_iter().enumerate().with_max_len(4);
    let room = || (Crowd::default(), More::<1>::default(), [Means::default(); BLOCK]);
    blocks.for_each_init(room, |(crowd, heavy, means), (block, (records, busy, seen))| {
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
        if *fresh || *moves {
            seen.place([0, 1, 2].map(|a| &position[a][range.clone()]), grid);
        }
        if *fresh {
            seen.search(&wanted[..records.len()], grid, work);
        }
        if !evolves {
            // No fluid sees the others now; but what evolves does so without.
            for (w, awake) in wanted.iter_mut().zip(&awake[range.clone()]) {
                *w &= awake.load(Ordering::Relaxed);
            }
        }
        for (m, _) in means.iter_mut().zip(&wanted).filter(|(_, wanted)| **wanted || evolves) {
            *m = Means::default();
        }
        sum(seen, work, crowd, (fluid, constants), heavy, (&wanted, &velocity[range], means));
        for (k, r) in records.iter_mut().enumerate() {
            if !evolves && !wanted[k] {
                continue;
            }
            let (m, j) = (&means[k], first + k);
            if m.weight <= 1e-20 {
                r[PRESSURE] = 0.0;
                continue;
            }
            let per = 1.0 / m.weight;
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
                WallKind::LennardJones => 2.0 * adhesion.get(j).map_or(0.0, |[a, _]| *a) * behind,
                _ => behind,
            };
            r[4..7].copy_from_slice(&v.to_array());
        }
    });
}

/// Sums over the fluid around boundary particles, of several fluids (`MANY`) or where densities of walls evolve.
struct Sum<'a, const MANY: bool, const EVOLVES: bool> {
    fluid: &'a [u8],
    density: &'a [f32],
    /// Rest density of each.
    heavy: &'a mut More<1>,
    /// Which boundary particles count.
    wanted: &'a [bool; BLOCK],
    /// Their velocities, m/s.
    wall: &'a [[f32; 3]],
    out: &'a mut [Means],
}

fn sum(
    seen: &Seen,
    work: &Work,
    crowd: &mut Crowd,
    of: (&[u8], &Constants),
    heavy: &mut More<1>,
    out: (&[bool; BLOCK], &[[f32; 3]], &mut [Means]),
) {
    widest!(sum_in(
        seen: &Seen,
        work: &Work,
        crowd: &mut Crowd,
        of: (&[u8], &Constants),
        heavy: &mut More<1>,
        out: (&[bool; BLOCK], &[[f32; 3]], &mut [Means]),
    ));
}

#[inline(always)]
fn sum_in<L: Lanes>(
    seen: &Seen,
    work: &Work,
    crowd: &mut Crowd,
    (fluid, constants): (&[u8], &Constants),
    heavy: &mut More<1>,
    (wanted, wall, out): (&[bool; BLOCK], &[[f32; 3]], &mut [Means]),
) {
    let (density, records) = (&constants.density[..], &work.records);
    match (density.len() > 1, constants.kind == WallKind::EvolvedDensity) {
        (false, false) => {
            seen.each::<L, _>(
                records,
                crowd,
                &mut Sum::<false, false> { fluid, density, heavy, wanted, wall, out },
            );
        }
        (true, false) => {
            seen.each::<L, _>(
                records,
                crowd,
                &mut Sum::<true, false> { fluid, density, heavy, wanted, wall, out },
            );
        }
        (_, true) => seen.each::<L, _>(
            records,
            crowd,
            &mut Sum::<true, true> { fluid, density, heavy, wanted, wall, out },
        ),
    }
}

impl<const MANY: bool, const EVOLVES: bool> Visit for Sum<'_, MANY, EVOLVES> {
    #[inline(always)]
    fn wants(&self, i: usize) -> bool {
        self.wanted[i]
    }

    fn arrive(&mut self, crowd: &Crowd) {
        if MANY {
            self.heavy.pick(crowd, |j| [self.density[usize::from(self.fluid[j])]]);
        }
    }

    #[inline(always)]
    fn visit<L: Lanes>(&mut self, i: usize, p: [f32; 3], crowd: &Crowd) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let q = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
        let m = &mut self.out[i];
        let [x, y, z] = self.wall[i];
        let wall = [L::splat(x), L::splat(y), L::splat(z)];
        let mut sums = [zero; 12];
        let mut at = 0;
        while at < crowd.len() {
            let d: [L; 3] =
                [q[0].sub(crowd.column(0, at)), q[1].sub(crowd.column(1, at)), q[2].sub(crowd.column(2, at))];
            let v: [L; 3] = [crowd.column(4, at), crowd.column(5, at), crowd.column(6, at)];
            let (pressure, volume): (L, L) = (crowd.column(PRESSURE, at), crowd.column(VOLUME, at));
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let w = one.sub(r2).max(zero);
            let w2 = w.mul(w);
            let w3 = w2.mul(w);
            if EVOLVES {
                let dv = [v[0].sub(wall[0]), v[1].sub(wall[1]), v[2].sub(wall[2])];
                let closing = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
                let g = core_gradient(w, w2, w2.mul(volume.abs()));
                sums[11] = closing.mul_add(g, sums[11]);
            }
            sums[0] = sums[0].add(w3);
            sums[1] = pressure.mul_add(w3, sums[1]);
            for a in 0..3 {
                sums[2 + a] = v[a].mul_add(w3, sums[2 + a]);
                sums[5 + a] = d[a].mul_add(w3, sums[5 + a]);
            }
            if MANY {
                let heavy = w3.mul(self.heavy.column(0, at));
                for a in 0..3 {
                    sums[8 + a] = d[a].mul_add(heavy, sums[8 + a]);
                }
            }
            at += L::N;
        }
        let [weight, pressure, vx, vy] = L::sum4([sums[0], sums[1], sums[2], sums[3]]);
        let [vz, x, y, z] = L::sum4([sums[4], sums[5], sums[6], sums[7]]);
        m.weight += weight;
        m.pressure += pressure;
        if EVOLVES {
            m.convergence += sums[11].sum();
        }
        let (velocity, way) = ([vx, vy, vz], [x, y, z]);
        for a in 0..3 {
            m.velocity[a] += velocity[a];
            m.way[a] += way[a];
            m.mass_way[a] += if MANY { sums[8 + a].sum() } else { way[a] * self.density[0] };
        }
    }
}
