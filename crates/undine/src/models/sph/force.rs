//! Force pass: pressure, viscosity, tension and outside forces give the acceleration, and the second half-kick
//! of the leap-frog follows at once.
//!
//! See [`super::crowd`] for how neighbours are found.

use std::f64::consts::PI;

use glam::DVec3;
use rayon::prelude::*;

use super::boundary::Boundary;
use super::continuity::{WALLS, core_gradient};
use super::crowd::{Crowd, Gathered, More, Near, Shared};
use super::params::{COHESION_ZERO, FluidParams, Params, STRESS_FACTOR};
use super::wall_kernels::{WallAction, WallKernels};
use super::work::{PRESSURE, Record, VOLUME, Work};
use crate::kernels::{Cored, Wide};
use crate::models::Around;
use crate::neighbors::Grid;
use crate::scene::{Kernels, TensionKind};
use crate::simd::{Lanes, prefetch, widest};
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
    /// Amplitude of the cohesion between particles, N.
    cohesion: f32,
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
                cohesion: (f.tension * stress) as f32 * cohesion_per_stress,
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
            .map_init(Gathered::default, |gathered, (block, (velocity, acceleration))| {
                let first = block * BLOCK;
                let range = first..first + velocity.len();
                prefetch(&x[range.clone()]);
                prefetch(&y[range.clone()]);
                prefetch(&z[range]);
                prefetch(velocity);
                self.pairs(work, grid, fluid, first, acceleration, (work.found.get(block), gathered));
                boundary.forces(block, work, fluid, first, self, acceleration, &mut gathered.crowd);
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
    /// `near` is what the density pass found of just these particles, without which they are searched, and room for them.
    pub fn pairs(
        &self,
        work: &Work,
        grid: &Grid,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
        near: (Option<Near>, &mut Gathered),
    ) {
        let c = self;
        widest!(Forces::pairs_with(
            c: &Forces,
            work: &Work,
            grid: &Grid,
            fluid: &[u8],
            first: usize,
            out: &mut [[f32; 3]],
            near: (Option<Near>, &mut Gathered),
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
        near: (Option<Near>, &mut Gathered),
    ) {
        let mut own = Shared::default();
        let (found, gathered) = near;
        let found = match found {
            Some(found) => found,
            None => {
                own.search::<L>(work, grid, first, first + out.len());
                own.look()
            }
        };
        let near = (found, gathered);
        match (self.kernels, self.fluids.len() > 1) {
            (Kernels::Mueller, false) => self.pairs_of::<L, true, false>(work, fluid, first, out, near),
            (Kernels::Mueller, true) => self.pairs_of::<L, true, true>(work, fluid, first, out, near),
            (Kernels::Conservative, false) => self.pairs_of::<L, false, false>(work, fluid, first, out, near),
            (Kernels::Conservative, true) => self.pairs_of::<L, false, true>(work, fluid, first, out, near),
        }
    }

    #[inline(always)]
    fn pairs_of<L: Lanes, const PAPER: bool, const MULTI: bool>(
        &self,
        work: &Work,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
        near: (Near, &mut Gathered),
    ) {
        match self.tension {
            NONE => self.pairs_in::<L, PAPER, MULTI, NONE>(work, fluid, first, out, near),
            STRESS => self.pairs_in::<L, PAPER, MULTI, STRESS>(work, fluid, first, out, near),
            _ => self.pairs_in::<L, PAPER, MULTI, COLOR>(work, fluid, first, out, near),
        }
    }

    #[inline(always)]
    fn pairs_in<L: Lanes, const PAPER: bool, const MULTI: bool, const TENSION: u8>(
        &self,
        work: &Work,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
        near: (Near, &mut Gathered),
    ) {
        let (found, Gathered { crowd, surfaces, mixed }) = near;
        let (mut i, mut k) = (first, 0);
        while k < found.batches() {
            let n = found.count(k);
            let mut sums = [
                Sums::<L>::new(self, fluid, work, i),
                Sums::<L>::new(self, fluid, work, i + 1.min(n - 1)),
                Sums::<L>::new(self, fluid, work, i + 2.min(n - 1)),
                Sums::<L>::new(self, fluid, work, i + 3.min(n - 1)),
            ];
            loop {
                let batch = crowd.gather::<L>(found, k, &work.records);
                if TENSION == STRESS {
                    let all = work.records[i..i + n].iter().any(|r| r[VOLUME] < 0.0);
                    surfaces.gather::<L>(crowd, &work.surface, all);
                }
                // Most of several fluids is among its own.
                if MULTI
                    && (crowd.index().iter().any(|j| fluid[*j as usize] != fluid[i])
                        || fluid[i..i + n].iter().any(|f| *f != fluid[i]))
                {
                    mixed.pick(crowd, |j| self.mixed[usize::from(fluid[j])]);
                    for sums in &mut sums[..n] {
                        sums.add::<PAPER, true, TENSION>(crowd, (surfaces, mixed), batch.shift);
                    }
                } else {
                    for sums in &mut sums[..n] {
                        sums.add::<PAPER, false, TENSION>(crowd, (surfaces, mixed), batch.shift);
                    }
                }
                k += 1;
                if batch.last {
                    break;
                }
            }
            for b in 0..n {
                out[i - first + b] = sums[b].acceleration::<TENSION>();
            }
            i += n;
        }
    }
}

/// Running sums of one particle.
struct Sums<'a, L> {
    c: &'a Forces,
    own: &'a FluidConstants,
    own_fluid: u8,
    record: &'a Record,
    /// Zero where there is none.
    surface: &'a [f32; 4],
    /// Force, N.
    force: [L; 3],
    /// Σ V ∇W_poly6 and Σ V ∇²W_poly6, without their factors.
    color: [L; 4],
}

impl<'a, L: Lanes> Sums<'a, L> {
    #[inline(always)]
    fn new(c: &'a Forces, fluid: &[u8], work: &'a Work, i: usize) -> Self {
        let zero = L::splat(0.0);
        Sums {
            c,
            own: &c.fluids[fluid[i] as usize],
            own_fluid: fluid[i],
            record: &work.records[i],
            surface: work.surface.get(i).unwrap_or(&[0.0; 4]),
            force: [zero; 3],
            color: [zero; 4],
        }
    }

    /// Adds all neighbours that the particle has in a crowd, seen from its periodic image. Itself is among them and adds nothing but
    /// to the Laplacian of the colour field; all terms vanish beyond the support.
    ///
    /// Every product of the two particles' values is formed so that i and j get the exact same number: pair
    /// forces cancel to the last bit, and momentum is kept to the rounding of the sums.
    #[inline(always)]
    fn add<const PAPER: bool, const MULTI: bool, const TENSION: u8>(
        &mut self,
        crowd: &Crowd,
        (surfaces, mixed): (&More<4>, &More<5>),
        shift: [f32; 3],
    ) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let c = self.c;
        let r = self.record;
        let q = [L::splat(r[0] + shift[0]), L::splat(r[1] + shift[1]), L::splat(r[2] + shift[2])];
        let (own_p, own_volume) = (L::splat(r[PRESSURE]), L::splat(r[VOLUME].abs()));
        let own_v = [L::splat(r[4]), L::splat(r[5]), L::splat(r[6])];
        let pressure = L::splat(c.pressure);
        let cohesion = L::splat(self.own.cohesion);
        let own = (
            L::splat(self.own.viscosity),
            L::splat(self.own.damping),
            L::splat(self.own.stress),
            L::splat(self.own.calm),
        );
        let (mut force, mut color) = (self.force, self.color);
        let mut at = 0;
        while at < crowd.len() {
            let d =
                [q[0].sub(crowd.column(0, at)), q[1].sub(crowd.column(1, at)), q[2].sub(crowd.column(2, at))];
            let (p_j, signed_volume): (L, L) = (crowd.column(PRESSURE, at), crowd.column(VOLUME, at));
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let volume = signed_volume.abs();
            let volumes = own_volume.mul(volume);
            let dv: [L; 3] = [
                crowd.column::<L>(4, at).sub(own_v[0]),
                crowd.column::<L>(5, at).sub(own_v[1]),
                crowd.column::<L>(6, at).sub(own_v[2]),
            ];
            // (v_j - v_i)·(x_i - x_j): positive when they approach.
            let approach = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
            let closing = approach.max(zero);
            let (viscosity, damping, stress, calm) = if MULTI { self.mixed(mixed, at) } else { own };
            let both = p_j.add(own_p).mul(pressure);
            let w = one.sub(r2).max(zero);
            let w2 = w.mul(w);
            let (mut radial, shear);
            if PAPER {
                // Eq. 10 with the spiky kernel, eq. 14 with the viscosity kernel.
                let dist = r2.sqrt();
                let inverse = one.div(dist.max(L::splat(1e-4)));
                let t = one.sub(dist).max(zero);
                let damp = inverse.mul(inverse).mul(closing).mul(damping);
                radial = damp.add(both).mul(volumes).mul(t.mul(t)).mul(inverse);
                shear = volumes.mul(t).mul(viscosity);
            } else {
                // The same gradient as in the continuity pass, so that no energy comes from nowhere.
                let g = core_gradient(w, w2).mul(volumes);
                radial = closing.mul_add(damping, both).mul(g);
                shear = g.mul(viscosity);
            }
            if TENSION == STRESS {
                // Cohesion A s(1-s²)²(s²-z) between particles.
                let cohesion = if MULTI { stress.mul(L::splat(c.cohesion_per_stress)) } else { cohesion };
                let zero = L::splat(COHESION_ZERO as f32);
                radial = cohesion.mul(w2).mul_add(zero.sub(r2), radial);
            }
            for a in 0..3 {
                force[a] = dv[a].mul_add(shear, d[a].mul_add(radial, force[a]));
            }
            if TENSION == STRESS && (r[VOLUME] < 0.0 || signed_volume.below(zero) != 0) {
                let calm = approach.mul(calm).mul(w2).mul(volumes);
                force = self.stress(surfaces, at, d, (stress.mul(w).mul(volumes), calm), force);
            }
            if TENSION == COLOR {
                // ∇W_poly6 and ∇²W_poly6 (eq. 16, 17) without their factors.
                let g = volume.mul(w2);
                for a in 0..3 {
                    color[a] = d[a].mul_add(g, color[a]);
                }
                color[3] = volume.mul(w).mul_add(L::splat(3.0).sub(r2.mul(L::splat(7.0))), color[3]);
            }
            at += L::N;
        }
        (self.force, self.color) = (force, color);
    }

    /// Adds the capillary stress of both sides, F = -(Π_i + Π_j)·d × factor, with Π = |n| - nn/|n|, and the damping
    /// (|n_i| + |n_j|) `calm` d. A surface's own
    /// n does not feel its own Π, so nothing is left of it where the kernel reaches into the air.
    #[inline(always)]
    fn stress(
        &self,
        surfaces: &More<4>,
        at: usize,
        d: [L; 3],
        (factor, calm): (L, L),
        mut force: [L; 3],
    ) -> [L; 3] {
        let own = self.surface;
        let other: [L; 4] =
            [surfaces.column(0, at), surfaces.column(1, at), surfaces.column(2, at), surfaces.column(3, at)];
        let own = [L::splat(own[0]), L::splat(own[1]), L::splat(own[2]), L::splat(own[3])];
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

    /// Means over both fluids of viscosity, damping and tension; only a fluid's own surface pulls.
    #[inline(always)]
    fn mixed(&self, mixed: &More<5>, at: usize) -> (L, L, L, L) {
        let half = L::splat(0.5);
        let apart = mixed.column::<L>(0, at).sub(L::splat(self.own_fluid.into())).abs();
        (
            mixed.column::<L>(1, at).add(L::splat(self.own.viscosity)).mul(half),
            mixed.column::<L>(2, at).add(L::splat(self.own.damping)).mul(half),
            mixed.column::<L>(3, at).where_below(apart, half),
            mixed.column::<L>(4, at).where_below(apart, half),
        )
    }

    #[inline(always)]
    fn acceleration<const TENSION: u8>(&self) -> [f32; 3] {
        // (The sums of four particles at once, by axis, took longer.)
        let [x, y, z, _] = L::sum4([self.force[0], self.force[1], self.force[2], L::splat(0.0)]);
        let mut f = [x, y, z];
        if TENSION == COLOR {
            // -σ ∇²c n/|n| V (eq. 19), where |n| says that this is a surface.
            let n = [self.color[0].sum(), self.color[1].sum(), self.color[2].sum()]
                .map(|v| -self.c.color_gradient * v);
            let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
            if length > self.c.color_threshold {
                let laplacian = -self.c.color_laplacian * self.color[3].sum();
                let scale = -self.own.tension * laplacian / length
                    * self.record[VOLUME].abs()
                    * self.c.spacing3 as f32;
                f = std::array::from_fn(|a| n[a].mul_add(scale, f[a]));
            }
        }
        f.map(|v| v * self.own.per_mass)
    }
}
