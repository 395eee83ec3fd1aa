//! Force pass: pressure, viscosity, tension and outside forces give the acceleration, and the second half-kick
//! of the leap-frog follows at once.
//!
//! See [`super::octet`] for how neighbours are gone through.

use std::f64::consts::PI;
use std::ops::Range;

use glam::DVec3;
use rayon::prelude::*;

use super::boundary::Boundary;
use super::continuity::{WALLS, core_gradient};
use super::crowd::{Crowd, Near, Shared};
use super::octet::{Exact, Neighbor, Numbers, OCTET, Octet, lanes};
use super::params::{COHESION_ZERO, FluidParams, Params, STRESS_FACTOR};
use super::wall_kernels::{WallAction, WallKernels};
use super::work::{PRESSURE, Record, VOLUME, Work};
use crate::kernels::{Cored, Wide};
use crate::models::Around;
use crate::neighbors::Grid;
use crate::scene::{Kernels, TensionKind};
use crate::simd::{Lanes, eight, prefetch};
use crate::state::particles::{BLOCK, Particles};

/// No tension term.
const NONE: u8 = 0;
/// Capillary stress.
const STRESS: u8 = 1;
/// Müller's colour field.
const COLOR: u8 = 2;

/// Constants of the pass; see [`Forces::new`] for their formulas. Volumes are in Δ³, distances in h.
#[derive(Clone, Debug)]
pub struct Forces {
    kernels: Kernels,
    tension: u8,
    /// Per fluid.
    pub(super) fluids: Vec<FluidConstants>,
    /// Number, viscosity, damping, stress and calm of each, for pairs of different ones.
    mixed: Vec<[f32; 5]>,
    /// Ratio of `cohesion` and `stress`, the same for all fluids.
    cohesion_per_stress: f32,
    /// Pressure force per pressure and kernel polynomial, N/Pa.
    pub(super) pressure: f32,
    /// Gradient and Laplacian of the colour field.
    color_gradient: f32,
    color_laplacian: f32,
    /// Below this |n| a particle is not at the surface (eq. 23), 1/m.
    color_threshold: f32,
    spacing: f64,
    spacing3: f64,
    /// No pressure that a wall answers to is less, Pa.
    pub(super) least: f32,
}

/// What a particle's fluid gives to its forces.
#[derive(Clone, Copy, Debug)]
pub struct FluidConstants {
    /// 1/m, 1/kg.
    pub per_mass: f32,
    /// ρ0, kg/m³.
    density: f32,
    /// Viscous force per velocity difference and kernel polynomial, N s/m.
    pub viscosity: f32,
    /// The same, where viscosity is left to the implicit step; the other one is then zero.
    pub thick: f32,
    /// Artificial viscous force per closing speed × distance and kernel polynomial.
    pub damping: f32,
    /// Capillary force per |n| h of the surface and kernel polynomial, N.
    pub stress: f32,
    /// Damping of a surface per closing speed × distance, |n| h and kernel polynomial.
    calm: f32,
    /// σ, N/m.
    pub tension: f32,
    /// μ, Pa s.
    mu: f32,
    /// α ρ c, the artificial impedance, Pa s/m.
    impedance: f32,
}

/// The greatest speed and acceleration of a step, squared, with the particle that has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extremes {
    /// Greatest |v|², m²/s²; not a number or infinite when the state is broken.
    pub speed2: f32,
    /// Greatest |a|², m²/s⁴.
    pub acceleration2: f32,
    /// Who has the greatest speed.
    pub fastest: usize,
}

impl Extremes {
    #[inline(always)]
    fn merge(mut self, o: Self) -> Self {
        // NaN must win, so "not smaller" rather than "greater"; and once it has won it must stay. A branch, because
        // it is hardly ever taken.
        let smaller = o.speed2 <= self.speed2 || self.speed2.is_nan();
        if !smaller {
            (self.speed2, self.fastest) = (o.speed2, o.fastest);
        }
        if o.acceleration2 > self.acceleration2 {
            self.acceleration2 = o.acceleration2;
        }
        self
    }
}

impl Forces {
    /// Constants for these parameters.
    pub fn new(p: &Params, tension: TensionKind) -> Self {
        let (d, h) = (p.spacing, p.h);
        let any = p.fluids.iter().any(|f| f.tension > 0.0);
        let d6 = d.powi(6);
        // σ(I - nn)|n|, with |n| in 1/h and both sides' parts added: (Π_i + Π_j) V_i V_j 4f/h⁴ s w.
        let stress = STRESS_FACTOR / h * 4.0 * Wide::FACTOR * d6 / h.powi(4);
        let calm = 4.0 * Wide::FACTOR * d6 / h.powi(4) * h / d;
        let (pressure, viscosity, damping) = match p.kernels {
            // ½(p_i + p_j) 45/πh⁴ (1-s)²; μ 45/πh⁵ (1-s); Monaghan's 1992 artificial viscosity as a pressure
            // ½αρc (Δ/r) v_closing.
            Kernels::Mueller => {
                let pressure = 0.5 * 45.0 / PI * d6 / h.powi(4);
                (pressure, 45.0 / PI * d6 / h.powi(5), pressure * d / h)
            }
            // (p_i + p_j) V_i V_j 6f/h⁴ s g; μ 12f/h⁵ g (Morris 1997); the artificial viscosity
            // with (Δ/r)² taken as 1. g = w² + 2c w⁵: only powers of r² are left, no root, no division.
            Kernels::Conservative => {
                let pressure = 6.0 * Cored::FACTOR * d6 / h.powi(4) / p.lattice_gradient;
                let laplacian = p.lattice_gradient * p.thinning;
                (pressure, 12.0 * Cored::FACTOR * d6 / h.powi(5) / laplacian, pressure * h / d)
            }
        };
        let cohesion_per_stress = (p.cohesion(1.0) / stress) as f32;
        let constants = |f: &FluidParams| {
            let impedance = p.alpha * f.density * f.sound();
            FluidConstants {
                per_mass: (1.0 / f.mass) as f32,
                density: f.density as f32,
                viscosity: if p.implicit { 0.0 } else { (f.viscosity * viscosity) as f32 },
                thick: if p.implicit { (f.viscosity * viscosity) as f32 } else { 0.0 },
                damping: (impedance * damping) as f32,
                stress: (f.tension * stress) as f32,
                calm: (p.calm(f) * calm) as f32,
                tension: f.tension as f32,
                mu: f.viscosity as f32,
                impedance: impedance as f32,
            }
        };
        let fluids: Vec<FluidConstants> = p.fluids.iter().map(constants).collect();
        Forces {
            kernels: p.kernels,
            tension: match tension {
                _ if !any => NONE,
                TensionKind::Stress => STRESS,
                TensionKind::ColorField => COLOR,
            },
            mixed: fluids
                .iter()
                .enumerate()
                .map(|(k, f)| [k as f32, f.viscosity, f.damping, f.stress, f.calm])
                .collect(),
            fluids,
            cohesion_per_stress,
            pressure: pressure as f32,
            color_gradient: (945.0 / (32.0 * PI) * d.powi(3) / h.powi(4)) as f32,
            color_laplacian: (945.0 / (32.0 * PI) * d.powi(3) / h.powi(5)) as f32,
            color_threshold: 0.2 / h as f32,
            spacing: d,
            spacing3: d.powi(3),
            least: if p.enclosed { f32::NEG_INFINITY } else { 0.0 },
        }
    }

    /// Pressure alone.
    pub fn bare(p: &Params) -> Self {
        let mut bare = p.clone();
        bare.alpha = 0.0;
        bare.fluids.iter_mut().for_each(|f| (f.viscosity, f.tension) = (0.0, 0.0));
        Self::new(&bare, TensionKind::Stress)
    }

    /// Computes all accelerations and kicks velocities by `half` a step, s.
    pub fn apply(
        &self,
        work: &Work,
        grid: &Grid,
        particles: &mut Particles,
        around: &Around,
        walls: (&WallKernels, &Boundary),
        half: f32,
    ) -> Extremes {
        let (walls, boundary) = walls;
        let Particles { x, y, z, velocity, acceleration, fluid, near_wall, .. } = particles;
        let (x, y, z, fluid, near_wall) = (&x[..], &y[..], &z[..], &fluid[..], &near_wall[..]);
        // The continuity pass looked for them.
        let knows_walls = self.kernels == Kernels::Conservative;
        let only_gravity = around.fields.only_gravity();
        let gravity = around.fields.gravity.as_vec3();
        (velocity.par_chunks_mut(BLOCK), acceleration.par_chunks_mut(BLOCK))
            .into_par_iter()
            .enumerate()
            .map_init(Crowd::default, |crowd, (block, (velocity, acceleration))| {
                let first = block * BLOCK;
                let range = first..first + velocity.len();
                prefetch(&x[range.clone()]);
                prefetch(&y[range.clone()]);
                prefetch(&z[range]);
                prefetch(velocity);
                let exact = work.exact.get(block).filter(|e| !e.is_empty());
                self.pairs(work, grid, fluid, first, acceleration, (work.found.get(block), exact));
                boundary.forces(block, work, fluid, first, self, acceleration, crowd);
                let mut most = Extremes { fastest: first, ..Default::default() };
                let mut act = WallAction::default();
                for (k, a) in acceleration.iter_mut().enumerate() {
                    let i = first + k;
                    let p = DVec3::new(x[i], y[i], z[i]);
                    let v = glam::Vec3::from(velocity[k]).as_dvec3();
                    let mut sum = glam::Vec3::from(*a);
                    let near =
                        if knows_walls { near_wall[i] & WALLS != 0 } else { walls.is_near(around.walls, p) };
                    if near {
                        walls.action(around.walls, p, v, around.fields.gravity, &mut act);
                        sum = self.wall(&work.records[i], fluid[i], &act, sum);
                    }
                    sum += if only_gravity { gravity } else { around.fields.acceleration(p, v).as_vec3() };
                    // From here on with what is in registers: reading back what was just written costs a stall.
                    let kicked = glam::Vec3::from(velocity[k]) + half * sum;
                    (*a, velocity[k]) = (sum.into(), kicked.into());
                    most = most.merge(Extremes {
                        speed2: kicked.length_squared(),
                        acceleration2: sum.length_squared(),
                        fastest: i,
                    });
                }
                most
            })
            .reduce(Extremes::default, Extremes::merge)
    }

    /// The acceleration `pairs` of a particle by its neighbours, with what the walls do to it.
    fn wall(&self, r: &Record, fluid: u8, act: &WallAction, pairs: glam::Vec3) -> glam::Vec3 {
        let f = &self.fluids[fluid as usize];
        let per_mass = f64::from(f.per_mass);
        let volume = f64::from(r[VOLUME].abs()) * self.spacing3;
        let p = f64::from(r[PRESSURE].max(self.least));
        // The wall answers with the particle's own pressure: its layers are an extension of the fluid. (In the
        // spiky gradient the mean of both is taken, in the other their sum.)
        let both = if self.kernels == Kernels::Mueller { 1.0 } else { 2.0 };
        let push = act.gradient * (both * volume * p) + act.approach * (volume * f64::from(f.impedance));
        let drag = act.drag * (volume * f64::from(f.mu));
        // In the layers the pressure goes on rising with depth, but only where there is a head of fluid above.
        let head = p / (f64::from(f.density) * act.weight.length() * self.spacing).max(1e-30);
        let along = act.extend(pairs.as_dvec3() + push * per_mass);
        (along + drag * per_mass + act.weight * head.min(1.0)).as_vec3()
    }

    /// Accelerations from neighbours of the particles from `first` on; chooses instruction set and variant.
    ///
    /// `found` is what the density pass found of just these particles, without which they are searched, and which of those count.
    pub fn pairs(
        &self,
        work: &Work,
        grid: &Grid,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
        found: (Option<Near>, Option<&Exact>),
    ) {
        let c = self;
        eight!(Forces::pairs_with(
            c: &Forces,
            work: &Work,
            grid: &Grid,
            fluid: &[u8],
            first: usize,
            out: &mut [[f32; 3]],
            found: (Option<Near>, Option<&Exact>),
        ));
    }

    /// As [`Forces::pairs`], for given lanes.
    #[inline(always)]
    pub fn pairs_with<L: Lanes>(
        &self,
        work: &Work,
        grid: &Grid,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
        (found, exact): (Option<Near>, Option<&Exact>),
    ) {
        let mut own = Shared::default();
        let found = match found {
            Some(found) => found,
            None => {
                own.search::<L>(work, grid, first, first + out.len());
                own.look()
            }
        };
        let found = (found, exact);
        match (self.kernels, self.fluids.len() > 1) {
            (Kernels::Mueller, false) => self.pairs_of::<L, true, false>(work, fluid, first, out, found),
            (Kernels::Mueller, true) => self.pairs_of::<L, true, true>(work, fluid, first, out, found),
            (Kernels::Conservative, false) => {
                self.pairs_of::<L, false, false>(work, fluid, first, out, found)
            }
            (Kernels::Conservative, true) => self.pairs_of::<L, false, true>(work, fluid, first, out, found),
        }
    }

    #[inline(always)]
    fn pairs_of<L: Lanes, const PAPER: bool, const MULTI: bool>(
        &self,
        work: &Work,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
        found: (Near, Option<&Exact>),
    ) {
        match self.tension {
            NONE => self.pairs_in::<L, PAPER, MULTI, NONE>(work, fluid, first, out, found),
            STRESS => self.pairs_in::<L, PAPER, MULTI, STRESS>(work, fluid, first, out, found),
            _ => self.pairs_in::<L, PAPER, MULTI, COLOR>(work, fluid, first, out, found),
        }
    }

    #[inline(always)]
    fn pairs_in<L: Lanes, const PAPER: bool, const MULTI: bool, const TENSION: u8>(
        &self,
        work: &Work,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
        found: (Near, Option<&Exact>),
    ) {
        let (found, exact) = found;
        let mut numbers = Numbers::default();
        let (mut i, mut k) = (first, 0);
        while k < found.batches() {
            let n = found.count(k);
            let mut sums = Sums::<L>::new(self, work, fluid, i..i + n);
            let alone = !MULTI || fluid[i..i + n].iter().all(|f| *f == fluid[i]);
            loop {
                let batch = found.batch(k);
                let neighbors = match exact {
                    Some(exact) => exact.batch(k),
                    None => {
                        numbers.take::<L>(found, k);
                        numbers.and_one()
                    }
                };
                let mixed = !alone || MULTI && neighbors.iter().any(|j| fluid[*j as usize] != fluid[i]);
                let neighbors = (neighbors, batch.shift);
                // Most of several fluids is among its own.
                if mixed {
                    sums.add_all::<PAPER, true, TENSION>(self, work, fluid, neighbors);
                } else {
                    sums.add_all::<PAPER, false, TENSION>(self, work, fluid, neighbors);
                }
                k += 1;
                if batch.last {
                    break;
                }
            }
            sums.accelerations::<TENSION>(self, fluid, &work.records[i..], i, &mut out[i - first..][..n]);
            i += n;
        }
    }
}

/// Running sums of an octet.
struct Sums<L> {
    own: Octet<L>,
    /// Zero where there is none.
    surface: [L; 4],
    /// Whether any is at a surface.
    at_surface: bool,
    /// Of the particles' fluids.
    constants: Mixed<L>,
    /// Force, N.
    force: [L; 3],
    /// Σ V ∇W_poly6 and Σ V ∇²W_poly6, without their factors.
    color: [L; 4],
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

impl<L: Lanes> Mixed<L> {
    #[inline(always)]
    fn of(get: impl Fn(usize) -> L) -> Self {
        Mixed { number: get(0), viscosity: get(1), damping: get(2), stress: get(3), calm: get(4) }
    }

    /// Means over both fluids of viscosity and damping; only a fluid's own surface pulls.
    #[inline(always)]
    fn with(self, other: &[f32; 5]) -> Self {
        let half = L::splat(0.5);
        let other = Mixed::of(|c| L::splat(other[c]));
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

impl<L: Lanes> Sums<L> {
    #[inline(always)]
    fn new(c: &Forces, work: &Work, fluid: &[u8], particles: Range<usize>) -> Self {
        let zero = L::splat(0.0);
        let records = &work.records[particles.clone()];
        let last = particles.end - 1;
        let at_surface = records.iter().any(|r| r[VOLUME] < 0.0);
        let per_lane = |of: &dyn Fn(usize) -> f32| {
            let values: [f32; OCTET] = std::array::from_fn(|b| of((particles.start + b).min(last)));
            // SAFETY: as many as there are lanes.
            unsafe { L::load(values.as_ptr()) }
        };
        let constants = if c.fluids.len() == 1 {
            Mixed::of(|m| L::splat(c.mixed[0][m]))
        } else {
            Mixed::of(|m| per_lane(&|i| c.mixed[usize::from(fluid[i])][m]))
        };
        let surface = if at_surface && !work.surface.is_empty() {
            std::array::from_fn(|m| per_lane(&|i| work.surface[i][m]))
        } else {
            [zero; 4]
        };
        Sums { own: Octet::new(records), surface, at_surface, constants, force: [zero; 3], color: [zero; 4] }
    }

    #[inline(always)]
    fn add_all<const PAPER: bool, const MULTI: bool, const TENSION: u8>(
        &mut self,
        c: &Forces,
        work: &Work,
        fluid: &[u8],
        neighbors: (&[u32], [f32; 3]),
    ) {
        if TENSION == STRESS && self.at_surface {
            self.add::<PAPER, MULTI, TENSION, true>(c, work, fluid, neighbors);
        } else {
            self.add::<PAPER, MULTI, TENSION, false>(c, work, fluid, neighbors);
        }
    }

    /// Adds neighbours, after which comes one more that does not count, seen from a periodic image. The particles are among them and add nothing to themselves but
    /// to the Laplacian of the colour field; all terms vanish beyond the support.
    ///
    /// Every product of the two particles' values is formed so that i and j get the exact same number: pair
    /// forces cancel to the last bit, and momentum is kept to the rounding of the sums.
    #[inline(always)]
    fn add<const PAPER: bool, const MULTI: bool, const TENSION: u8, const SURFACE: bool>(
        &mut self,
        c: &Forces,
        work: &Work,
        fluid: &[u8],
        (neighbors, shift): (&[u32], [f32; 3]),
    ) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let own = &self.own;
        let q = own.image(shift);
        let own_volume = own.volume.abs();
        let pressure = L::splat(c.pressure);
        let (mut force, mut color) = (self.force, self.color);
        let [first, others @ ..] = neighbors else { return };
        // SAFETY: these, here and below, are numbers of particles.
        let mut next = unsafe { Neighbor::find(&work.records, *first, &q) };
        for (&j, &following) in neighbors.iter().zip(others) {
            let Neighbor { record: r, d, w, .. } = next;
            // SAFETY: see above.
            next = unsafe { Neighbor::find(&work.records, following, &q) };
            let j = j as usize;
            let volume = L::splat(r[VOLUME].abs());
            let volumes = own_volume.mul(volume);
            let dv = [
                L::splat(r[4]).sub(own.velocity[0]),
                L::splat(r[5]).sub(own.velocity[1]),
                L::splat(r[6]).sub(own.velocity[2]),
            ];
            // (v_j - v_i)·(x_i - x_j): positive when they approach.
            let approach = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
            let closing = approach.max(zero);
            let constants =
                if MULTI { self.constants.with(&c.mixed[usize::from(fluid[j])]) } else { self.constants };
            let both = L::splat(r[PRESSURE]).add(own.pressure).mul(pressure);
            let w2 = w.mul(w);
            let (mut radial, shear);
            if PAPER {
                // Eq. 10 with the spiky kernel, eq. 14 with the viscosity kernel.
                let dist = square(d).sqrt();
                let inverse = one.div(dist.max(L::splat(1e-4)));
                let t = one.sub(dist).max(zero);
                let damp = inverse.mul(inverse).mul(closing).mul(constants.damping);
                radial = damp.add(both).mul(volumes).mul(t.mul(t)).mul(inverse);
                shear = volumes.mul(t).mul(constants.viscosity);
            } else {
                // The same gradient as in the continuity pass, so that no energy comes from nowhere.
                let g = core_gradient(w, w2, w2.mul(volumes));
                radial = closing.mul_add(constants.damping, both).mul(g);
                shear = g.mul(constants.viscosity);
            }
            if TENSION == STRESS {
                // Cohesion A s(1-s²)²(s²-z) between particles.
                let cohesion = constants.stress.mul(L::splat(c.cohesion_per_stress));
                let beyond = w.add(L::splat((COHESION_ZERO - 1.0) as f32));
                radial = cohesion.mul(w2).mul_add(beyond, radial);
            }
            for a in 0..3 {
                force[a] = dv[a].mul_add(shear, d[a].mul_add(radial, force[a]));
            }
            if TENSION == STRESS && (SURFACE || r[VOLUME] < 0.0) {
                let calm = approach.mul(constants.calm).mul(w2).mul(volumes);
                let factor = constants.stress.mul(w).mul(volumes);
                force = self.stress(&work.surface[j], d, (factor, calm), force);
            }
            if TENSION == COLOR {
                // ∇W_poly6 and ∇²W_poly6 (eq. 16, 17) without their factors.
                let g = volume.mul(w2);
                for a in 0..3 {
                    color[a] = d[a].mul_add(g, color[a]);
                }
                color[3] = volume.mul(w).mul_add(L::splat(3.0).sub(square(d).mul(L::splat(7.0))), color[3]);
            }
        }
        (self.force, self.color) = (force, color);
    }

    /// Adds the capillary stress of both sides, F = -(Π_i + Π_j)·d × factor, with Π = |n| - nn/|n|, and the damping
    /// (|n_i| + |n_j|) `calm` d. A surface's own
    /// n does not feel its own Π, so nothing is left of it where the kernel reaches into the air.
    #[inline(always)]
    fn stress(&self, other: &[f32; 4], d: [L; 3], (factor, calm): (L, L), mut force: [L; 3]) -> [L; 3] {
        let own = &self.surface;
        let other = [L::splat(other[0]), L::splat(other[1]), L::splat(other[2]), L::splat(other[3])];
        let a = own[2].mul_add(d[2], own[1].mul_add(d[1], own[0].mul(d[0])));
        let b = other[2].mul_add(d[2], other[1].mul_add(d[1], other[0].mul(d[0])));
        let m = own[3].add(other[3]);
        let radial = m.mul(calm.sub(factor));
        for c in 0..3 {
            let across = other[c].mul_add(b, own[c].mul(a));
            force[c] = d[c].mul_add(radial, across.mul_add(factor, force[c]));
        }
        force
    }

    /// The accelerations of the particles from number `first` on, which have these records.
    #[inline(always)]
    fn accelerations<const TENSION: u8>(
        &self,
        c: &Forces,
        fluid: &[u8],
        records: &[Record],
        first: usize,
        out: &mut [[f32; 3]],
    ) {
        let [x, y, z] = lanes(self.force);
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

/// |d|².
#[inline(always)]
fn square<L: Lanes>(d: [L; 3]) -> L {
    d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])))
}
