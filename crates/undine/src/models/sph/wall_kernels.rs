//! What a wall adds to the sums of a particle near it.
//!
//! Push-out alone leaves the kernel half empty at a wall: density and pressure come out too low and particles
//! stack up there. So each wall counts as if it were filled with layers of fluid particles at rest, the first
//! half a spacing behind the surface. Smeared out along the layer, each sum depends only on the distance d to
//! the wall and is a table over d; near an edge the parts of two walls combine as the space they cover. Pressure goes on
//! into the layers as it would in fluid at rest (Adami 2012), and so do the gradients along the wall.

use std::f64::consts::PI;

use glam::DVec3;

use super::params::Params;
use crate::kernels::{Cored, Kernel, Poly6, Spiky, Viscosity, Wide, half_space_sum, lattice_sum};
use crate::scene::{Kernels, Slip};
use crate::walls::{Contact, Walls};

const SAMPLES: usize = 512;

/// Tables over the distance to a wall, 0..h.
#[derive(Clone, Debug)]
pub struct WallKernels {
    /// Kernel support, m.
    pub h: f64,
    /// Which kernels.
    pub kernels: Kernels,
    /// Samples per metre.
    scale: f64,
    /// Particles nearer to a wall than this count as so near where layers mirror their motion, m.
    least: f64,
    /// At equal distances from 0 to h.
    samples: Vec<Sample>,
}

/// Sums over the layers of a wall, side by side so that one look finds all.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Sample([f32; 8]);

/// Slot of a [`Sample`]: relative density held by the wall.
const DENSITY: usize = 0;
/// Σ V ∇W_spiky of the wall, away from it, 1/m.
const GRADIENT: usize = 1;
/// Σ V ∇²W_viscosity of the wall, 1/m².
const LAPLACIAN: usize = 2;
/// Σ V ∇c of the wall, away from it, × h.
const COLOR: usize = 3;
/// Share of Σ V x ∂W/∂x, along the wall, that lies in the wall.
const ALONG: usize = 4;
/// Share of Σ V y ∂W/∂y, across it.
const ACROSS: usize = 5;
/// Σ V s ∇²W of the wall, s the depth of the layer, 1/m.
const DEPTH: usize = 6;

/// What the walls do to one particle.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallAction {
    /// Σ V ∇W_spiky, pointing away from the walls, 1/m.
    pub gradient: DVec3,
    /// Σ V ∇²W (v_layer - v), m/s · 1/m²: zero for free slip.
    pub drag: DVec3,
    /// Normals of up to four walls, each with the share of sums along it that lies in it.
    sides: [(DVec3, f64); 4],
    count: usize,
    /// -Σ V (g·r) ∇W across the walls: what a pressure that rises by ρg·r in them adds, m/s².
    pub weight: DVec3,
    /// Σ V ∇W_spiky (v·n) over walls that the particle approaches, for artificial viscosity, m/s · 1/m.
    pub approach: DVec3,
}

impl WallAction {
    /// Completes the sum of a particle's other forces by its part along the walls that lies behind them.
    ///
    /// Fluid beside a wall sees half a neighbourhood, and so only a share of the gradients along the wall. Water in a tank
    /// was held up by that share alone next to its sides: it sank there and rose in the middle, for ever.
    pub fn extend(&self, mut a: DVec3) -> DVec3 {
        for (n, share) in &self.sides[..self.count] {
            a += (a - *n * a.dot(*n)) * (share / (1.0 - share));
        }
        a
    }
}

/// What walls add to the sums of the continuity pass.
#[derive(Clone, Copy, Debug)]
pub struct WallRate {
    /// Rate of density, positive when approaching, 1/s.
    pub rate: f32,
    /// Gradient of the colour field × h: walls count as filled, so that fluid meets them at a right angle.
    pub color: DVec3,
    /// As [`WallKernels::density`].
    pub density: f32,
}

impl WallKernels {
    /// Tables for these parameters.
    pub fn new(p: &Params) -> Self {
        let (h, d) = (p.h, p.spacing);
        // Sum over layers at depths (k+½)Δ of f, the integral over a plane at distance z in units of h.
        let mut walls = WallKernels {
            h,
            kernels: p.kernels,
            scale: SAMPLES as f64 / h,
            least: 0.25 * d,
            samples: vec![Sample::default(); SAMPLES + 1],
        };
        let mut deep_table = |slot: usize, f: &dyn Fn(f64, f64) -> f64| {
            for (i, sample) in walls.samples.iter_mut().enumerate() {
                let at = h * i as f64 / SAMPLES as f64;
                let layers = (h / d).ceil() as usize + 1;
                sample.0[slot] = (0..layers)
                    .map(|k| (k as f64 + 0.5) * d)
                    .filter(|depth| at + depth < h)
                    .map(|depth| d * f((at + depth) / h, depth))
                    .sum::<f64>() as f32;
            }
        };
        // Integrals over a plane at distance z = s h: of W, 2π ∫_z^h W r dr; of ∇W, of which only the part along
        // the normal is left, -2π z W(z); of the Laplacian likewise.
        let (f, core) = (Cored::FACTOR, Cored::CORE);
        let w = |s: f64| 1.0 - s * s;
        let cored = |s: f64| w(s).powi(3) + core * w(s).powi(6);
        type Plane<'a> = Box<dyn Fn(f64) -> f64 + 'a>;
        let (density, gradient, laplacian): (Plane, Plane, Plane) = match p.kernels {
            Kernels::Mueller => (
                Box::new(|s| 315.0 / 256.0 / h * (1.0 - s * s).powi(4) / p.lattice),
                Box::new(|s| 30.0 / (h * h) * s * (1.0 - s).powi(3)),
                Box::new(|s| 90.0 / h.powi(3) * (1.0 / 6.0 - s * s / 2.0 + s.powi(3) / 3.0)),
            ),
            Kernels::Conservative => (
                Box::new(|s| PI * f / h * (w(s).powi(4) / 4.0 + core * w(s).powi(7) / 7.0) / p.lattice),
                Box::new(|s| 2.0 * PI * f / (h * h) * s * cored(s) / p.lattice_gradient),
                Box::new(|s| 4.0 * PI * f / h.powi(3) * cored(s) / p.lattice_gradient),
            ),
        };
        deep_table(DEPTH, &|s, depth| depth * laplacian(s));
        let mut table = |slot, f: &dyn Fn(f64) -> f64| deep_table(slot, &|s, _| f(s));
        table(DENSITY, &density);
        table(GRADIENT, &gradient);
        table(LAPLACIAN, &laplacian);
        table(COLOR, &|s| s * w(s).powi(2));
        table(ALONG, &density);
        table(ACROSS, &|s| s * h * gradient(s));
        // A smeared layer is not quite a lattice layer: fit both parts at half a spacing, where fluid at rest is.
        let w = |r: f64| match p.kernels {
            Kernels::Mueller => Poly6(h).w(r),
            Kernels::Conservative => Cored(h).w(r),
        };
        let slope = |r: f64| match p.kernels {
            Kernels::Mueller => Spiky(h).derivative(r),
            Kernels::Conservative => Cored(h).derivative(r) / p.lattice_gradient,
        };
        let missing = 1.0 - half_space_sum(d, h, 0, |_, r| w(r)) / p.lattice;
        let push = lattice_sum(d, h, |x, r| if x[1] > 0.0 { -slope(r) * x[1] / r } else { 0.0 });
        let moment = |a: usize, half: bool| {
            lattice_sum(d, h, |x, r| {
                if x[1] > 0.0 || !half { -slope(r) * x[a] * x[a] / r.max(1e-9 * h) } else { 0.0 }
            })
        };
        let color =
            lattice_sum(d, h, |x, r| if x[1] > 0.0 { -Wide(h).derivative(r) * x[1] / r * h } else { 0.0 });
        let laplacian = |r: f64| match p.kernels {
            Kernels::Mueller => Viscosity(h).laplacian(r),
            Kernels::Conservative => -2.0 * Cored(h).derivative(r) / r / p.lattice_gradient,
        };
        // Of layers that mirror the motion: a linear profile must feel no force.
        let shear = lattice_sum(d, h, |x, r| if x[1] > 0.0 { laplacian(r) * x[1] / (0.5 * d) } else { 0.0 });
        let at_rest = walls.look(0.5 * d);
        let mirrored = f64::from(at_rest[LAPLACIAN]) + f64::from(at_rest[DEPTH]) / (0.5 * d);
        let right = [
            (DENSITY, missing),
            (GRADIENT, push),
            (COLOR, color),
            (ALONG, moment(0, true) / moment(0, false)),
            (ACROSS, moment(1, true) / moment(1, false)),
        ];
        for (slot, right) in right {
            walls.samples.iter_mut().for_each(|s| s.0[slot] *= right as f32 / at_rest[slot]);
        }
        for slot in [LAPLACIAN, DEPTH] {
            walls.samples.iter_mut().for_each(|s| s.0[slot] *= (shear / mirrored) as f32);
        }
        walls
    }

    /// The sums at a distance from the wall.
    #[inline(always)]
    fn look(&self, distance: f64) -> [f32; 8] {
        let t = ((distance * self.scale) as f32).clamp(0.0, SAMPLES as f32);
        let i = (t as u32 as usize).min(SAMPLES - 1);
        let f = t - i as f32;
        let (a, b) = (&self.samples[i].0, &self.samples[i + 1].0);
        std::array::from_fn(|k| a[k] + f * (b[k] - a[k]))
    }

    /// Whether any wall may be nearer than the support: a quick look that spares most particles the rest.
    #[inline(always)]
    pub fn is_near(&self, walls: &Walls, p: DVec3) -> bool {
        walls.is_near_unsampled(p)
    }

    #[inline(always)]
    fn contacts(&self, walls: &Walls, p: DVec3, visit: impl FnMut(&Contact)) {
        walls.unsampled(p, self.h, visit);
    }

    /// Relative density the walls hold at a place: 1 - Π(1 - part), exact where two meet at a right angle.
    #[inline]
    pub fn density(&self, walls: &Walls, p: DVec3) -> f32 {
        let mut free = 1.0;
        self.contacts(walls, p, |c| free *= 1.0 - self.look(c.distance)[DENSITY]);
        1.0 - free
    }

    /// What walls add to the sums of the continuity pass for a particle at p moving at `v`.
    #[inline]
    pub fn rate(&self, walls: &Walls, p: DVec3, v: DVec3) -> WallRate {
        let (mut rate, mut free, mut color) = (0.0, 1.0, DVec3::ZERO);
        self.contacts(walls, p, |c| {
            let sums = self.look(c.distance);
            rate += sums[GRADIENT] * (c.velocity - v).dot(c.normal) as f32;
            color -= c.normal * f64::from(sums[COLOR]);
            free *= 1.0 - sums[DENSITY];
        });
        WallRate { rate, color, density: 1.0 - free }
    }

    /// What the walls do to a particle at p moving at `v`, with gravity g; in place, because it is large.
    #[inline]
    pub fn action(&self, walls: &Walls, p: DVec3, v: DVec3, g: DVec3, act: &mut WallAction) {
        (act.gradient, act.drag, act.weight, act.approach) = Default::default();
        act.count = 0;
        let mut free = 1.0;
        self.contacts(walls, p, |c| {
            // The gradient of the density above by the product rule, part by part.
            let sums = self.look(c.distance).map(f64::from);
            let (part, gradient) = (sums[DENSITY], sums[GRADIENT]);
            let relative = v - c.velocity;
            let towards = (-relative.dot(c.normal)).max(0.0);
            act.gradient = act.gradient * (1.0 - part) + c.normal * (gradient * free);
            act.approach += c.normal * (gradient * towards);
            if c.slip == Slip::NoSlip {
                // The profile goes on straight through the wall (Morris 1997): a layer as deep as the particle is near
                // moves against it.
                act.drag -= relative * (sums[LAPLACIAN] + sums[DEPTH] / c.distance.max(self.least));
            }
            free *= 1.0 - part;
            if act.count < 4 {
                act.sides[act.count] = (c.normal, sums[ALONG]);
                act.count += 1;
            }
            act.weight -= c.normal * (g.dot(c.normal) * sums[ACROSS]);
        });
    }
}
