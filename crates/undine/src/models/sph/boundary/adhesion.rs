//! Adhesion: how a liquid wets a wall.
//!
//! The dial of a wall is the cosine of its contact angle θ: 0 is neutral (90°), 1 is wetted by all liquid, -1 by none. Three
//! forces follow from it and from the liquid's surface tension σ, each divided by its own lattice sum, so that they hold
//! when the spacing changes:
//! - where a free surface meets the wall it is tied to it ([`anchor`]), whatever the angle;
//! - along the wall the line of contact is pulled outwards by a share of σ cos θ a metre, the part of Young's equation
//!   that the liquid's own tension does not have;
//! - towards the wall, where it wets well: lifting liquid off it takes 2σ cos⁶θ a square metre.
//!
//! Their shares were fitted to drops at rest of radius 10 Δ (case `contact-angle` of `undine validate`).
//!
//! Bayraktar's eq. 10, in which stickiness is a share of the pressure, goes with his repulsion: `walls = "lennard-jones"`.

use glam::Vec3;

use super::super::force::Forces;
use super::super::params::Params;
use super::super::work::{Record, VOLUME};
use super::pairs::WallRates;
use super::seen::Seen;
use crate::kernels::{Wide, half_space_sum};

/// Share of the stress behind the wall that a surface is tied with; twice its own would be that of a surface that goes on there.
/// With none a drop jumped off its wall; after 1.2 s on a neutral one it has 105° to 112° with this, 80° with 1.6.
const ANCHOR: f32 = 1.5;
/// Share of σ cos θ along the wall: what is tied spreads more easily. With 0.4 drops on walls of 60° spread to 23°, with 0.15
/// they had 44° to 55°; on walls of 120° they have 109° to 122° with this.
const SPREAD: f64 = 0.2;

/// Constants of the forces, per σ.
#[derive(Clone, Copy, Debug)]
pub struct Adhesion {
    /// Of |∇c h| of the surface times Σ a V w d of the wall, m.
    spread: f32,
    /// Of Σ a⁶ V f(s) d, f = (s²-¼)(1-s²), m; with a instead of a⁶ the lowest layer of a drop stuck to walls of 60° and the
    /// rest of it left.
    hold: f32,
}

impl Adhesion {
    /// Constants for these parameters.
    pub fn new(p: &Params) -> Self {
        let (d, h) = (p.spacing, p.h);
        let color = (d / h).powi(3) * 4.0 * Wide::FACTOR;
        // |∇c| h that a half-space adds to a place in layer k before it, and what a hold in it would.
        let layers = (h / d).ceil() as i32;
        let behind = |k: i32, f: &dyn Fn([f64; 3], f64) -> f64| {
            half_space_sum(d / h, 1.0, -k - 1, f) / (d / h).powi(3)
        };
        let gradient = |k: i32| behind(k, &|x, r| -x[1] * (1.0 - r * r)) * color;
        let wall: f64 = (0..layers).map(gradient).sum::<f64>() * d / h;
        let surface: f64 = (0..layers)
            .map(gradient)
            .filter(|g| *g > f64::from(super::super::continuity::SURFACE))
            .sum::<f64>()
            * d
            / h;
        let energy: f64 = (0..layers).map(|k| behind(k, &|_, r| well(r * r))).sum::<f64>() * h / (d * d);
        Adhesion {
            spread: (SPREAD * color * d.powi(3) / (h * h) / (wall * surface)) as f32,
            hold: (2.0 / energy) as f32,
        }
    }

    /// Adds to the accelerations of a block of fluid. `surface` is that of [`super::super::work::Work`].
    pub fn apply(
        &self,
        seen: &Seen,
        (rates, stuck): (&WallRates, &[Stuck]),
        (own, fluid, surface): (&[Record], &[u8], &[[f32; 4]]),
        forces: &Forces,
        out: &mut [[f32; 3]],
    ) {
        let points = seen.bunches().iter().flat_map(|b| b.first..b.first + b.count);
        for i in points.filter(|i| rates.is_touched(*i)) {
            let f = &forces.fluids[usize::from(fluid[i])];
            let away = Vec3::from(stuck[i].spread);
            let mut force = Vec3::from(stuck[i].hold) * -self.hold;
            let [x, y, z, length] = surface[i];
            if length > 0.0 {
                // n/√|n| √|n|, into the fluid; its part along the wall.
                let n = Vec3::new(x, y, z) * length.sqrt();
                let wall = away.normalize_or_zero();
                let outward = n.dot(wall) * wall - n;
                // Whether the walls around wet (1) or repel (-1): that is the way the sum points, into the fluid or into the wall.
                let sign = away.dot(Vec3::from(rates.color(i))).signum();
                force += outward * (self.spread * away.length() * sign);
            }
            let per = f.tension * own[i][VOLUME].abs() * f.per_mass;
            for a in 0..3 {
                out[i][a] += force[a] * per;
            }
        }
    }
}

/// Sums of a particle over the boundary particles that it sees, of stickiness a.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stuck {
    /// Σ a V w d.
    spread: [f32; 3],
    /// Σ a⁶ V f(s) d, f = (s²-¼)(1-s²) beyond ½, where a is positive.
    hold: [f32; 3],
}

impl Stuck {
    /// Both sums.
    #[cfg(test)]
    pub fn both(&self) -> [[f32; 3]; 2] {
        [self.spread, self.hold]
    }

    /// Adds a part of the sums.
    pub fn add(&mut self, spread: [f32; 3], hold: [f32; 3]) {
        for a in 0..3 {
            self.spread[a] += spread[a];
            self.hold[a] += hold[a];
        }
    }
}

/// Ties a free surface to the wall that it ends at: its capillary stress goes on behind the wall, as between two particles of
/// the surface. Without it nothing held the rim of a drop against the pressure below it, and the drop jumped off the wall.
pub fn anchor(
    seen: &Seen,
    rates: &WallRates,
    (own, fluid): (&[Record], &[u8]),
    surface: &[[f32; 4]],
    forces: &Forces,
    out: &mut [[f32; 3]],
) {
    for i in seen.bunches().iter().flat_map(|b| b.first..b.first + b.count) {
        // Marked so where there is a surface.
        if own[i][VOLUME] >= 0.0 {
            continue;
        }
        let f = &forces.fluids[fluid[i] as usize];
        // Π = |n| - nn/|n|, of both the same.
        let [x, y, z, length] = surface[i];
        let (n, away) = (Vec3::new(x, y, z), Vec3::from(rates.color(i)));
        let pull = (n * n.dot(away) - length * away) * ANCHOR;
        let per = f.stress * own[i][VOLUME].abs() * f.per_mass;
        (0..3).for_each(|a| out[i][a] += pull[a] * per);
    }
}

/// ∫ f(s) s ds from s to 1, with f = (s²-¼)(1-s²) beyond ½: the work of taking two particles apart.
fn well(s2: f64) -> f64 {
    let whole = |u: f64| -u.powi(3) / 3.0 + 0.625 * u * u - 0.25 * u;
    0.5 * (whole(1.0) - whole(s2.clamp(0.25, 1.0)))
}
