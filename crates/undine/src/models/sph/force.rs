//! Force pass: pressure, viscosity, tension and outside forces give the acceleration, and the second half-kick
//! of the leap-frog follows at once.
//!
//! See [`super::octet`] for how neighbours are gone through.

mod sums;

use std::f64::consts::PI;

use glam::DVec3;
use rayon::prelude::*;

use self::sums::Sums;
use super::boundary::Boundary;
use super::continuity::WALLS;
use super::crowd::{Near, Shared};
use super::octet::{Exact, Numbers};
use super::params::{FluidParams, Params, STRESS_FACTOR};
use super::wall_kernels::{WallAction, WallKernels};
use super::work::{PRESSURE, Record, VOLUME, Work};
use crate::kernels::{Cored, Wide};
use crate::models::Around;
use crate::neighbors::Grid;
use crate::scene::{Kernels, TensionKind};
use crate::simd::{Octets, prefetch, widest};
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
    /// Number, viscosity, damping, stress and calm of each, the last four per `pressure`: sums over pairs leave it to the end.
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
                .map(|(k, f)| {
                    let per = |of: f32| (f64::from(of) / pressure) as f32;
                    [k as f32, per(f.viscosity), per(f.damping), per(f.stress), per(f.calm)]
                })
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

    /// Whether surfaces pull.
    pub fn has_tension(&self) -> bool {
        self.tension != NONE
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
        let gravity = around.fields.gravity.as_vec3().to_array();
        let ([speed2, acceleration2], first) =
            (velocity.par_chunks_mut(BLOCK), acceleration.par_chunks_mut(BLOCK))
                .into_par_iter()
                .enumerate()
                .with_max_len(2)
                .map(|(block, (velocity, acceleration))| {
                    let first = block * BLOCK;
                    let range = first..first + velocity.len();
                    prefetch(&x[range.clone()]);
                    prefetch(&y[range.clone()]);
                    prefetch(&z[range]);
                    prefetch(velocity);
                    let exact = work.exact.get(block).filter(|e| !e.is_empty());
                    self.pairs(work, grid, fluid, first, acceleration, (work.found.get(block), exact));
                    boundary.forces(block, work, fluid, first, self, acceleration);
                    let mut act = WallAction::default();
                    for (k, a) in acceleration.iter_mut().enumerate() {
                        let i = first + k;
                        let p = || DVec3::new(x[i], y[i], z[i]);
                        let near = if knows_walls {
                            near_wall[i] & WALLS != 0
                        } else {
                            walls.is_near(around.walls, p())
                        };
                        if near {
                            let v = glam::Vec3::from(velocity[k]).as_dvec3();
                            walls.action(around.walls, p(), v, around.fields.gravity, &mut act);
                            *a = self.wall(&work.records[i], fluid[i], &act, glam::Vec3::from(*a)).into();
                        }
                    }
                    if !only_gravity {
                        for (k, a) in acceleration.iter_mut().enumerate() {
                            let p = DVec3::new(x[first + k], y[first + k], z[first + k]);
                            let v = glam::Vec3::from(velocity[k]).as_dvec3();
                            *a = (glam::Vec3::from(*a) + around.fields.acceleration(p, v).as_vec3()).into();
                        }
                    }
                    let gravity = if only_gravity { gravity } else { [0.0; 3] };
                    let mut most = [0, 0];
                    kick(velocity, acceleration, gravity, half, &mut most);
                    (most, first)
                })
                .reduce(Default::default, |a, b| {
                    ([a.0[0].max(b.0[0]), a.0[1].max(b.0[1])], if b.0[0] > a.0[0] { b.1 } else { a.1 })
                });
        let fastest = velocity[first..].iter().position(|v| square(v).to_bits() == speed2);
        Extremes {
            speed2: f32::from_bits(speed2),
            acceleration2: f32::from_bits(acceleration2),
            fastest: first + fastest.unwrap_or(0),
        }
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
        widest!(Forces::pairs_with(
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
    pub fn pairs_with<L: Octets>(
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
    fn pairs_of<L: Octets, const PAPER: bool, const MULTI: bool>(
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
    fn pairs_in<L: Octets, const PAPER: bool, const MULTI: bool, const TENSION: u8>(
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
                        numbers.all()
                    }
                };
                let mixed = !alone || MULTI && neighbors.iter().any(|j| fluid[*j as usize] != fluid[i]);
                let neighbors = (neighbors, batch.shift);
                // Most of several fluids is among its own.
                if mixed {
                    sums.add::<PAPER, true, TENSION>(self, work, fluid, neighbors);
                } else {
                    sums.add::<PAPER, false, TENSION>(self, work, fluid, neighbors);
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

/// Adds gravity to accelerations and kicks velocities by `half` a step, s. The bits of the greatest |v|² and |a|²: they are in the
/// order of the numbers, and what is no number is greater than all. Chooses the instruction set.
fn kick(v: &mut [[f32; 3]], a: &mut [[f32; 3]], gravity: [f32; 3], half: f32, most: &mut [u32; 2]) {
    widest!(kick_in(
        v: &mut [[f32; 3]],
        a: &mut [[f32; 3]],
        gravity: [f32; 3],
        half: f32,
        most: &mut [u32; 2],
    ));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn kick_in<L>(
    velocity: &mut [[f32; 3]],
    acceleration: &mut [[f32; 3]],
    gravity: [f32; 3],
    half: f32,
    out: &mut [u32; 2],
) {
    let mut most = [0, 0];
    for (v, a) in velocity.iter_mut().zip(acceleration) {
        for c in 0..3 {
            a[c] += gravity[c];
            v[c] += half * a[c];
        }
        most = [most[0].max(square(v).to_bits()), most[1].max(square(a).to_bits())];
    }
    *out = most;
}

#[inline(always)]
fn square(v: &[f32; 3]) -> f32 {
    v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
}
