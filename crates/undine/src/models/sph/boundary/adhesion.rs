//! Adhesion: how a liquid wets a wall.
//!
//! The dial of a wall is the cosine of its contact angle θ: 0 is neutral (90°), 1 is wetted by all liquid, -1 by none. Three
//! forces follow from it and from the liquid's surface tension σ, each divided by its own lattice sum, so that they hold
//! when the spacing changes:
//! - where a free surface meets the wall it is tied to it, whatever the angle;
//! - along the wall the line of contact is pulled outwards by what is missing to balance in Young's equation, σ (cos θ - cos θ_d) a
//!   metre, with the angle θ_d that the surface has there (Huber et al. 2016);
//! - towards the wall, where it wets well: lifting liquid off it takes work a square metre that goes with cos⁶θ.
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
/// With none a drop jumped off its wall.
const ANCHOR: f32 = 1.5;
/// Of Young's force; 1 to 1.5 give the same angles, 2 tears drops of 14 spacings' radius apart. Without θ_d, and 0.2 σ cos θ instead, drops
/// on neutral walls had 72°, 100° and 113° with 7, 10 and 14 spacings in their radius; now 91°, 89° and 94°.
const YOUNG: f64 = 1.2;
/// Beside a wall the normal of all that is filled, walls too, leans to the wall, that of the fluid alone away from it: of the latter so much,
/// beside 1 of the former, makes drops on neutral walls rest at 90°. With 0 they had 95° to 105°, with 1 they had 70° to 90°.
const ALONE: f32 = 0.2;
/// Of the work 2σ a square metre that it takes to lift wetting liquid off a wall: the other forces do some of it. With 1 the lowest layer
/// of a drop stuck to a wall that it wets, and drove off the rest; with 0 parts of it came off by themselves.
const HOLD: f64 = 0.15;

/// Constants of the forces, per σ.
#[derive(Clone, Copy, Debug)]
pub struct Adhesion {
    /// Of |∇c h| of the surface times Σ V w d of the wall, m.
    line: f32,
    /// Makes Σ V w d of a wall its share of ∇c h.
    color: f32,
    /// Of Σ a⁶ V f(s) d, f = (s²-¼)(1-s²), m.
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
            line: (YOUNG * color * d.powi(3) / (h * h) / (wall * surface)) as f32,
            color: color as f32,
            hold: (HOLD * 2.0 / energy) as f32,
        }
    }

    /// Adds to the accelerations of a block of fluid; `stuck` where any wall sticks. `surface` is that of
    /// [`super::super::work::Work`].
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
            let (volume, wall) = (own[i][VOLUME].abs(), Vec3::from(rates.color(i)));
            let stuck = stuck.get(i).copied().unwrap_or_default();
            let mut force = Vec3::from(stuck.hold) * (-self.hold * f.tension);
            let [x, y, z, length] = surface[i];
            if length > 0.0 {
                force += tie(Vec3::new(x, y, z), length, wall) * f.stress;
                force += self.pull(Vec3::new(x, y, z) * length.sqrt(), wall, stuck) * f.tension;
            }
            let force = force * (volume * f.per_mass);
            (0..3).for_each(|a| out[i][a] += force[a]);
        }
    }

    /// Young's force along a wall, per σ and Δ³ of fluid, m, on a surface with `n`, ∇c h into what is filled. `wall` is Σ V w d of it.
    fn pull(&self, n: Vec3, wall: Vec3, stuck: Stuck) -> Vec3 {
        let off = wall.normalize_or_zero();
        let alone = n + wall * self.color;
        let inward = (n.normalize_or_zero() + ALONE * alone.normalize_or_zero()).normalize_or_zero();
        let cos = -inward.dot(off);
        let outward = n.dot(off) * off - n;
        outward * (self.line * (Vec3::from(stuck.spread) - cos * wall).dot(off))
    }
}

/// Ties a free surface to the wall that it ends at: its capillary stress Π = |n| - nn/|n| goes on behind the wall, as between two
/// particles of the surface. `root` is n/√|n|. Without it nothing held the rim of a drop against the pressure below it.
fn tie(root: Vec3, length: f32, wall: Vec3) -> Vec3 {
    (root * root.dot(wall) - length * wall) * ANCHOR
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

/// ∫ f(s) s ds from s to 1, with f = (s²-¼)(1-s²) beyond ½: the work of taking two particles apart.
fn well(s2: f64) -> f64 {
    let whole = |u: f64| -u.powi(3) / 3.0 + 0.625 * u * u - 0.25 * u;
    0.5 * (whole(1.0) - whole(s2.clamp(0.25, 1.0)))
}
