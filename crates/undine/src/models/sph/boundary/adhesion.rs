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
use super::super::lists::{List, pad};
use super::super::params::Params;
use super::super::work::{Record, VOLUME};
use super::pairs::WallRate;
use super::seen::{Seen, Walk};
use super::set::Set;
use crate::kernels::{Wide, half_space_sum};
use crate::neighbors::BUNCH;
use crate::simd::{Lanes, widest};

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
        set: &Set,
        own: (&[Record], &[u8]),
        surface: &[[f32; 4]],
        forces: &Forces,
        out: &mut [[f32; 3]],
    ) {
        let c = self;
        widest!(apply_in(
            c: &Adhesion,
            seen: &Seen,
            set: &Set,
            own: (&[Record], &[u8]),
            surface: &[[f32; 4]],
            forces: &Forces,
            out: &mut [[f32; 3]],
        ));
    }
}

/// Ties a free surface to the wall that it ends at: its capillary stress goes on behind the wall, as between two particles of
/// the surface. Without it nothing held the rim of a drop against the pressure below it, and the drop jumped off the wall.
pub fn anchor(
    seen: &Seen,
    rates: &[WallRate],
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
        let (n, away) = (Vec3::new(x, y, z), Vec3::from(rates[i].color));
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

#[inline(always)]
fn apply_in<L: Lanes>(
    c: &Adhesion,
    seen: &Seen,
    set: &Set,
    (own, fluid): (&[Record], &[u8]),
    surface: &[[f32; 4]],
    forces: &Forces,
    out: &mut [[f32; 3]],
) {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let mut lists: [List; BUNCH] = Default::default();
    let mut walk = Walk::default();
    while let Some(sight) = seen.next::<L>(&mut walk, &mut lists) {
        for (k, list) in lists.iter_mut().enumerate().take(sight.bunch.count) {
            let i = sight.bunch.first + k;
            if list.len == 0 {
                continue;
            }
            pad::<L>(list, set.work.len());
            let p = seen.point(&sight, k);
            let q = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
            let mut sums = [zero; 6];
            let mut at = 0;
            while at < list.len {
                // SAFETY: numbers in the list are below that of the last record, with which it is filled up.
                let [x, y, z, _, _, _, _, volume] =
                    unsafe { L::gather8(set.work.records.as_ptr(), list.index.as_ptr().add(at)) };
                let mut sticks = [0.0f32; 16];
                for (s, &j) in sticks.iter_mut().zip(&list.index[at..list.len.min(at + L::N)]) {
                    *s = set.adhesion[j as usize];
                }
                // SAFETY: as many as any lanes.
                let stickiness = unsafe { L::load(sticks.as_ptr()) };
                let share = stickiness.mul(volume.abs());
                let d = [q[0].sub(x), q[1].sub(y), q[2].sub(z)];
                let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
                let w = one.sub(r2).max(zero);
                let spread = w.mul(share);
                let wets = stickiness.max(zero);
                let wets2 = wets.mul(wets);
                let hold = r2
                    .sub(L::splat(0.25))
                    .max(zero)
                    .mul(w)
                    .mul(wets2.mul(wets2).mul(wets2))
                    .mul(volume.abs());
                for a in 0..3 {
                    sums[a] = d[a].mul_add(spread, sums[a]);
                    sums[3 + a] = d[a].mul_add(hold, sums[3 + a]);
                }
                at += L::N;
            }
            let f = &forces.fluids[fluid[i] as usize];
            let sum = |a: usize| sums[a].sum();
            let away = Vec3::new(sum(0), sum(1), sum(2));
            let mut force = Vec3::new(sum(3), sum(4), sum(5)) * -c.hold;
            let [x, y, z, length] = surface[i];
            // n/√|n| √|n|, into the fluid; its part along the wall.
            let n = Vec3::new(x, y, z) * length.sqrt();
            let wall = away.normalize_or_zero();
            // The sign of the dial is that of the way the sum points: into the fluid, or into the wall.
            let outward = n.dot(wall) * wall - n;
            force += outward * (c.spread * away.length() * sign(set, list));
            let per = f.tension * own[i][VOLUME].abs() * f.per_mass;
            for a in 0..3 {
                out[i][a] += force[a] * per;
            }
        }
    }
}

/// Whether the walls around wet (1) or repel (-1).
fn sign(set: &Set, list: &List) -> f32 {
    let sum: f32 = list.index[..list.len].iter().map(|&j| set.adhesion[j as usize]).sum();
    sum.signum()
}
