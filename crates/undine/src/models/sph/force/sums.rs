//! The sums over neighbours of eight particles, for the force pass.
//!
//! All instructions count here: on Zen 3 some three a cycle get through, whatever they are. So what all terms have in common is left
//! to the end, constants are read from memory by the instruction that uses them, and neighbours at a surface, which are few, are set
//! aside for a loop of their own: while one loop did both, it ran out of registers and kept its sums in memory.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::{COLOR, Forces, NONE, STRESS};
use crate::kernels::Cored;
use crate::models::sph::crowd::MOST;
use crate::models::sph::octet::{Neighbor, OCTET, Octet, Together, lanes};
use crate::models::sph::params::COHESION_ZERO;
use crate::models::sph::work::{PRESSURE, Record, VOLUME, Work};
use crate::simd::{Lanes, Octets, reread};

/// Running sums of an octet.
pub struct Sums<L> {
    own: Octet<L>,
    /// Zero where there is none.
    surface: [L; 4],
    /// Whether any is at a surface.
    at_surface: bool,
    /// Of the particles' fluids.
    constants: Mixed<L>,
    /// Force per [`Forces::pressure`], Pa.
    force: [L; 3],
    /// Σ V ∇W_poly6 and Σ V ∇²W_poly6, without their factors.
    color: [L; 4],
}

impl Forces {
    /// What the fluids of the neighbours from number k of the list on differ in.
    #[inline(always)]
    fn mixed_of<L: Octets>(&self, fluid: &[u8], neighbors: &[u32], k: usize) -> Together<'_, [f32; 5]> {
        let of = |j: u32| u32::from(fluid[j as usize]);
        let next = neighbors.get(k + 1).map_or(0, |j| of(*j));
        // SAFETY: these are numbers of fluids.
        unsafe { Together::of::<L>(&self.mixed, &[of(neighbors[k]), next], 0, &self.mixed[0]) }
    }
}

/// What surfaces do: radial × d - across × factor.
struct Pull<L> {
    radial: L,
    across: [L; 3],
    factor: L,
}

/// What fluids differ in.
#[derive(Clone, Copy)]
struct Mixed<L> {
    number: L,
    viscosity: L,
    damping: L,
    stress: L,
    calm: L,
}

impl<L: Octets> Mixed<L> {
    // (Not from a closure, which would be compiled without the instruction set.)
    #[inline(always)]
    fn of([number, viscosity, damping, stress, calm]: [L; 5]) -> Self {
        Mixed { number, viscosity, damping, stress, calm }
    }

    /// Means over both fluids of viscosity and damping; only a fluid's own surface pulls.
    #[inline(always)]
    fn with(self, other: Together<[f32; 5]>) -> Self {
        let half = L::splat(0.5);
        let other: [L; 5] = [other.lanes(0), other.lanes(1), other.lanes(2), other.lanes(3), other.lanes(4)];
        let other = Mixed::of(other);
        let apart = other.number.sub(self.number).abs();
        Mixed {
            number: self.number,
            viscosity: other.viscosity.add(self.viscosity).mul(half),
            damping: other.damping.add(self.damping).mul(half),
            stress: other.stress.where_below(apart, half),
            calm: other.calm.where_below(apart, half),
        }
    }
}

impl<L: Octets> Sums<L> {
    /// None yet, of the particles of these numbers.
    #[inline(always)]
    pub fn new(c: &Forces, work: &Work, fluid: &[u8], particles: Range<usize>) -> Self {
        let zero = L::splat(0.0);
        let records = &work.records[particles.clone()];
        let last = particles.end - 1;
        let at_surface = records.iter().any(|r| r[VOLUME] < 0.0);
        let number = |b: usize| (particles.start + b % OCTET).min(last);
        let constants = if c.fluids.len() == 1 {
            let [a, b, c, d, e] = c.mixed[0];
            Mixed::of([L::splat(a), L::splat(b), L::splat(c), L::splat(d), L::splat(e)])
        } else {
            let each: [[f32; 2 * OCTET]; 5] =
                std::array::from_fn(|m| std::array::from_fn(|b| c.mixed[usize::from(fluid[number(b)])][m]));
            Mixed::of([load(&each[0]), load(&each[1]), load(&each[2]), load(&each[3]), load(&each[4])])
        };
        let surface = if at_surface && !work.surface.is_empty() {
            let [x, y, z, length]: [[f32; 2 * OCTET]; 4] =
                std::array::from_fn(|m| std::array::from_fn(|b| work.surface[number(b)][m]));
            [load(&x), load(&y), load(&z), load(&length)]
        } else {
            [zero; 4]
        };
        let mut own = Octet::<L>::new(records);
        own.volume = own.volume.abs();
        Sums { own, surface, at_surface, constants, force: [zero; 3], color: [zero; 4] }
    }

    /// Adds neighbours, seen from a periodic image.
    #[inline(always)]
    pub fn add<const PAPER: bool, const MULTI: bool, const TENSION: u8>(
        &mut self,
        c: &Forces,
        work: &Work,
        fluid: &[u8],
        neighbors: (&[u32], [f32; 3]),
    ) {
        let mut aside = [const { MaybeUninit::uninit() }; MOST + 16];
        if TENSION == STRESS && self.at_surface {
            self.add_pairs::<PAPER, MULTI, TENSION, true>(c, work, fluid, neighbors, &mut aside);
        } else {
            let aside = self.add_pairs::<PAPER, MULTI, TENSION, false>(c, work, fluid, neighbors, &mut aside);
            if !aside.is_empty() {
                self.add_stress::<MULTI>(c, work, fluid, (aside, neighbors.1));
            }
        }
    }

    /// All but the stress of surfaces, while the neighbours that are at one go to `aside`; or that as well, where the particles are
    /// at a `SURFACE` themselves. The particles are among their neighbours and
    /// add nothing to themselves but to the Laplacian of the colour field; all terms vanish beyond the support.
    ///
    /// Every product of the two particles' values is formed so that i and j get the exact same number: pair
    /// forces cancel to the last bit, and momentum is kept to the rounding of the sums.
    #[inline(always)]
    fn add_pairs<'a, const PAPER: bool, const MULTI: bool, const TENSION: u8, const SURFACE: bool>(
        &mut self,
        c: &Forces,
        work: &Work,
        fluid: &[u8],
        (neighbors, shift): (&[u32], [f32; 3]),
        aside: &'a mut [MaybeUninit<u32>; MOST + 16],
    ) -> &'a [u32] {
        let zero = L::splat(0.0);
        let one = L::splat(black_box(1.0));
        let core = L::splat(black_box((2.0 * Cored::CORE) as f32));
        // Cohesion A s(1-s²)²(s²-z) between particles.
        let cohesion_of = |stress: L| {
            let a = stress.mul(L::splat(c.cohesion_per_stress));
            (a, a.mul(L::splat((COHESION_ZERO - 1.0) as f32)))
        };
        let own = Octet { at: self.own.image(shift), ..self.own };
        let spread = L::spread();
        // What does not change. More than there are registers for.
        let fixed = (own, self.constants, cohesion_of(self.constants.stress), one, core);
        let (mut force, mut color) = (self.force, self.color);
        let mut count = 0;
        assert!(neighbors.len() <= aside.len());
        assert!(!SURFACE || work.surface.len() == work.records.len());
        for k in (0..neighbors.len()).step_by(L::AT_ONCE) {
            reread(&raw const fixed);
            let (own, constants, cohesion, one, core) = &fixed;
            // SAFETY: these are numbers of particles.
            let Neighbor { record: r, d, w, .. } =
                unsafe { Neighbor::find((&work.records, neighbors), k, &own.at, *one, spread) };
            if TENSION == STRESS && !SURFACE {
                for (r, j) in r.each().zip(&neighbors[k..]) {
                    // Written always and kept if it is at a surface: no branch to guess.
                    // SAFETY: there is room for all.
                    unsafe { aside.get_unchecked_mut(count).write(*j) };
                    count += (r[VOLUME].to_bits() >> 31) as usize;
                }
            }
            let mut volumes = own.volume.mul(r.lanes(VOLUME));
            if TENSION != NONE {
                volumes = volumes.abs();
            }
            let dv = own.against(r);
            // (v_j - v_i)·(x_j - x_i): negative when they approach.
            let opening = dot(dv, d);
            let closing = opening.min(zero);
            let (constants, cohesion) = if MULTI {
                let mixed = constants.with(c.mixed_of::<L>(fluid, neighbors, k));
                (mixed, cohesion_of(mixed.stress))
            } else {
                (*constants, *cohesion)
            };
            let both = r.lanes(PRESSURE).add(own.pressure);
            let w2 = w.mul(w);
            let (mut inner, shear);
            if PAPER {
                // Eq. 10 with the spiky kernel, eq. 14 with the viscosity kernel.
                let dist = dot(d, d).sqrt();
                let inverse = one.div(dist.max(L::splat(1e-4)));
                let t = one.sub(dist).max(zero);
                let damp = inverse.mul(inverse).mul(closing);
                inner = damp.neg_mul_add(constants.damping, both).mul(volumes).mul(t.mul(t)).mul(inverse);
                shear = volumes.mul(t).mul(constants.viscosity);
                if TENSION == STRESS {
                    inner = w.mul_add(cohesion.0, cohesion.1).mul_add(w2, inner);
                }
            } else {
                // The same gradient as in the continuity pass, so that no energy comes from nowhere: g = w² (1 + 2c w³).
                let g = w2.mul(w).mul_add(*core, *one).mul(volumes);
                let push = closing.neg_mul_add(constants.damping, both);
                let whole = g.mul(w2);
                inner = if TENSION == STRESS {
                    push.mul_add(g, w.mul_add(cohesion.0, cohesion.1)).mul(w2)
                } else {
                    push.mul(whole)
                };
                shear = whole.mul(constants.viscosity);
            }
            if SURFACE {
                // SAFETY: there is one of each particle.
                let other = unsafe { Together::of::<L>(&work.surface, neighbors, k, &[0.0; 4]) };
                let pull = self.stress(&constants, other, (d, w, w2), volumes, opening);
                inner = inner.sub(pull.radial);
                for (force, across) in force.iter_mut().zip(pull.across) {
                    *force = across.neg_mul_add(pull.factor, *force);
                }
            }
            for a in 0..3 {
                force[a] = dv[a].mul_add(shear, d[a].neg_mul_add(inner, force[a]));
            }
            if TENSION == COLOR {
                // ∇W_poly6 and ∇²W_poly6 (eq. 16, 17) without their factors.
                let volume = r.lanes(VOLUME).abs();
                let g = volume.mul(w2);
                for a in 0..3 {
                    color[a] = d[a].neg_mul_add(g, color[a]);
                }
                color[3] = volume.mul(w).mul_add(L::splat(3.0).sub(dot(d, d).mul(L::splat(7.0))), color[3]);
            }
        }
        (self.force, self.color) = (force, color);
        // SAFETY: so many were written.
        unsafe { aside[..count].assume_init_ref() }
    }

    /// The capillary stress of both sides, F = (Π_i + Π_j)·d × factor with Π = |n| - nn/|n| and d from i to j, and the damping of
    /// surfaces, (|n_i| + |n_j|) calm d. A surface's own n does not feel its own Π, so nothing is left of it where the kernel
    /// reaches into the air.
    #[inline(always)]
    fn stress(
        &self,
        constants: &Mixed<L>,
        other: Together<[f32; 4]>,
        (d, w, w2): ([L; 3], L, L),
        volumes: L,
        opening: L,
    ) -> Pull<L> {
        let surface = &self.surface;
        let calm = opening.mul(constants.calm).mul(w2).mul(volumes);
        let factor = constants.stress.mul(w).mul(volumes);
        let other: [L; 4] = [other.lanes(0), other.lanes(1), other.lanes(2), other.lanes(3)];
        let a = dot([surface[0], surface[1], surface[2]], d);
        let b = dot([other[0], other[1], other[2]], d);
        let radial = surface[3].add(other[3]).mul(calm.add(factor));
        Pull { radial, across: std::array::from_fn(|c| other[c].mul_add(b, surface[c].mul(a))), factor }
    }

    /// Adds the stress of neighbours that are at a surface to particles that are not.
    #[inline(always)]
    fn add_stress<const MULTI: bool>(
        &mut self,
        c: &Forces,
        work: &Work,
        fluid: &[u8],
        (neighbors, shift): (&[u32], [f32; 3]),
    ) {
        assert_eq!(work.surface.len(), work.records.len());
        let own = &self.own;
        let q = own.image(shift);
        let (one, spread) = (L::splat(1.0), L::spread());
        let mut force = self.force;
        for k in (0..neighbors.len()).step_by(L::AT_ONCE) {
            // SAFETY: these are numbers of particles.
            let Neighbor { record: r, d, w, .. } =
                unsafe { Neighbor::find((&work.records, neighbors), k, &q, one, spread) };
            let volumes = own.volume.mul(r.lanes(VOLUME)).abs();
            let opening = dot(own.against(r), d);
            let constants = if MULTI {
                self.constants.with(c.mixed_of::<L>(fluid, neighbors, k))
            } else {
                self.constants
            };
            // SAFETY: there is one of each particle.
            let other = unsafe { Together::of::<L>(&work.surface, neighbors, k, &[0.0; 4]) };
            let pull = self.stress(&constants, other, (d, w, w.mul(w)), volumes, opening);
            for a in 0..3 {
                force[a] = d[a].mul_add(pull.radial, pull.across[a].neg_mul_add(pull.factor, force[a]));
            }
        }
        self.force = force;
    }

    /// The accelerations of the particles from number `first` on, which have these records.
    #[inline(always)]
    pub fn accelerations<const TENSION: u8>(
        &self,
        c: &Forces,
        fluid: &[u8],
        records: &[Record],
        first: usize,
        out: &mut [[f32; 3]],
    ) {
        let [x, y, z] = lanes(self.force.map(|f| f.mul(L::splat(c.pressure))));
        let color = lanes(self.color);
        for (b, out) in out.iter_mut().enumerate() {
            let own = &c.fluids[usize::from(fluid[first + b])];
            let mut f = [x[b], y[b], z[b]];
            if TENSION == COLOR {
                // -σ ∇²c n/|n| V (eq. 19), where |n| says that this is a surface.
                let n = [color[0][b], color[1][b], color[2][b]].map(|v| -c.color_gradient * v);
                let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
                if length > c.color_threshold {
                    let laplacian = -c.color_laplacian * color[3][b];
                    let volume = records[b][VOLUME].abs() * c.spacing3 as f32;
                    let scale = -own.tension * laplacian / length * volume;
                    f = std::array::from_fn(|a| n[a].mul_add(scale, f[a]));
                }
            }
            *out = f.map(|v| v * own.per_mass);
        }
    }
}

/// A value for each lane.
#[inline(always)]
fn load<L: Lanes>(values: &[f32; 2 * OCTET]) -> L {
    // SAFETY: as many as any lanes.
    unsafe { L::load(values.as_ptr()) }
}

#[inline(always)]
fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0].mul(b[0])))
}
