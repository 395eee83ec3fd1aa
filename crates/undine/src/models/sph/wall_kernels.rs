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
use crate::kernels::{Cored, Kernel, Poly6, Spiky, Wide, half_space_sum, lattice_sum};
use crate::scene::{Kernels, Slip};
use crate::walls::Walls;

const SAMPLES: usize = 512;

/// Tables over the distance to a wall, 0..h.
#[derive(Clone, Debug)]
pub struct WallKernels {
    /// Kernel support, m.
    pub h: f64,
    /// Which kernels.
    pub kernels: Kernels,
    /// Relative density held by the wall.
    density: Vec<f32>,
    /// Σ V ∇W_spiky of the wall, away from it, 1/m.
    gradient: Vec<f32>,
    /// Σ V ∇²W_viscosity of the wall, 1/m².
    laplacian: Vec<f32>,
    /// Σ V ∇c of the wall, away from it, × h.
    color: Vec<f32>,
    /// Share of Σ V x ∂W/∂x, along the wall, that lies in the wall.
    along: Vec<f32>,
    /// Share of Σ V y ∂W/∂y, across it.
    across: Vec<f32>,
}

/// What the walls do to one particle.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallAction {
    /// Σ V ∇W_spiky, pointing away from the walls, 1/m.
    pub gradient: DVec3,
    /// Σ V ∇²W (v_wall - v), m/s · 1/m²: zero for free slip.
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

impl WallKernels {
    /// Tables for these parameters.
    pub fn new(p: &Params) -> Self {
        let (h, d) = (p.h, p.spacing);
        // Sum over layers at depths (k+½)Δ of f, the integral over a plane at distance z in units of h.
        let table = |f: &dyn Fn(f64) -> f64| -> Vec<f32> {
            (0..=SAMPLES)
                .map(|i| {
                    let at = h * i as f64 / SAMPLES as f64;
                    let layers = (h / d).ceil() as usize + 1;
                    (0..layers)
                        .map(|k| (at + (k as f64 + 0.5) * d) / h)
                        .filter(|s| *s < 1.0)
                        .map(|s| d * f(s))
                        .sum::<f64>() as f32
                })
                .collect()
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
        let mut walls = WallKernels {
            h,
            kernels: p.kernels,
            density: table(&density),
            gradient: table(&gradient),
            laplacian: table(&laplacian),
            along: table(&density),
            color: table(&|s| s * w(s).powi(2)),
            across: Vec::new(),
        };
        walls.across = table(&|s| s * h * gradient(s));
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
        let (fit_density, fit_gradient) = (
            missing as f32 / walls.look(&walls.density, 0.5 * d),
            push as f32 / walls.look(&walls.gradient, 0.5 * d),
        );
        let moment = |a: usize, half: bool| {
            lattice_sum(d, h, |x, r| {
                if x[1] > 0.0 || !half { -slope(r) * x[a] * x[a] / r.max(1e-9 * h) } else { 0.0 }
            })
        };
        let color =
            lattice_sum(d, h, |x, r| if x[1] > 0.0 { -Wide(h).derivative(r) * x[1] / r * h } else { 0.0 });
        let fit_color = color as f32 / walls.look(&walls.color, 0.5 * d);
        let fit_along = (moment(0, true) / moment(0, false)) as f32 / walls.look(&walls.along, 0.5 * d);
        let fit_across = (moment(1, true) / moment(1, false)) as f32 / walls.look(&walls.across, 0.5 * d);
        walls.color.iter_mut().for_each(|v| *v *= fit_color);
        walls.along.iter_mut().for_each(|v| *v *= fit_along);
        walls.across.iter_mut().for_each(|v| *v *= fit_across);
        walls.density.iter_mut().for_each(|v| *v *= fit_density);
        walls.gradient.iter_mut().for_each(|v| *v *= fit_gradient);
        walls
    }

    fn look(&self, table: &[f32], distance: f64) -> f32 {
        let t = (distance.max(0.0) / self.h * SAMPLES as f64).min(SAMPLES as f64);
        let i = (t as usize).min(SAMPLES - 1);
        let f = t as f32 - i as f32;
        table[i] + f * (table[i + 1] - table[i])
    }

    /// Relative density the walls hold at a place: 1 - Π(1 - part), exact where two meet at a right angle.
    #[inline]
    pub fn density(&self, walls: &Walls, p: DVec3) -> f32 {
        let mut free = 1.0;
        walls.contacts(p, self.h, |c| free *= 1.0 - self.look(&self.density, c.distance));
        1.0 - free
    }

    /// What walls add to the sums of the continuity pass for a particle at p moving at `v`: the rate of density
    /// (positive when approaching), 1/s; the gradient of the colour field × h (walls count as filled: fluid meets
    /// them at a right angle).
    #[inline]
    pub fn rate(&self, walls: &Walls, p: DVec3, v: DVec3) -> (f32, DVec3) {
        let (mut rate, mut color) = (0.0, DVec3::ZERO);
        walls.contacts(p, self.h, |c| {
            let gradient = self.look(&self.gradient, c.distance);
            rate += gradient * (c.velocity - v).dot(c.normal) as f32;
            color -= c.normal * f64::from(self.look(&self.color, c.distance));
        });
        (rate, color)
    }

    /// What the walls do to a particle at p moving at `v`, with gravity g.
    #[inline]
    pub fn action(&self, walls: &Walls, p: DVec3, v: DVec3, g: DVec3) -> WallAction {
        let mut act = WallAction::default();
        let mut free = 1.0;
        walls.contacts(p, self.h, |c| {
            // The gradient of the density above by the product rule, part by part.
            let part = f64::from(self.look(&self.density, c.distance));
            let gradient = f64::from(self.look(&self.gradient, c.distance));
            let relative = v - c.velocity;
            let towards = (-relative.dot(c.normal)).max(0.0);
            act.gradient = act.gradient * (1.0 - part) + c.normal * (gradient * free);
            act.approach += c.normal * (gradient * towards);
            if c.slip == Slip::NoSlip {
                act.drag -= relative * f64::from(self.look(&self.laplacian, c.distance));
            }
            free *= 1.0 - part;
            if act.count < 4 {
                act.sides[act.count] = (c.normal, f64::from(self.look(&self.along, c.distance)));
                act.count += 1;
            }
            act.weight -= c.normal * (g.dot(c.normal) * f64::from(self.look(&self.across, c.distance)));
        });
        act
    }
}
