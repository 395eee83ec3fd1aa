//! Walls: a particle is pushed off by its own mirror image, as two particles push each other, so that fluid rests half a
//! spacing off a wall of any shape. What is faster than that is held by push-out-and-reflect (`crate::walls`).

use glam::DVec3;

use super::force::{CORE, Closest, FRICTION_REACH};
use super::params::Params;
use crate::scene::Slip;
use crate::walls::{Contact, Walls};

/// Friction along a wall that fluid sticks to, × that across it.
const STICK: f64 = 4.0;

/// How far walls are felt, m.
pub fn reach(p: &Params) -> f64 {
    0.5 * (FRICTION_REACH * p.pair.sigma).min(p.pair.cutoff)
}

/// Force of all walls on a particle, N.
#[inline]
pub fn force(params: &Params, walls: &Walls, p: DVec3, v: DVec3, most: &mut Closest) -> DVec3 {
    let mut sum = DVec3::ZERO;
    walls.contacts(p, reach(params), |c| sum += one(params, c, v, most));
    sum
}

fn one(params: &Params, c: &Contact, v: DVec3, most: &mut Closest) -> DVec3 {
    let pair = &params.pair;
    let r = (2.0 * c.distance).max(CORE * pair.sigma);
    let relative = v - c.velocity;
    let away = relative.dot(c.normal);
    let w = (1.0 - (0.5 * r / reach(params)).powi(2)).max(0.0).powi(2);
    let mut f = c.normal * (pair.force(r).max(0.0) - params.damping * w * away);
    if c.slip == Slip::NoSlip {
        f -= (relative - c.normal * away) * (STICK * params.damping * w);
    }
    let s = (pair.sigma / r) as f32;
    let rate = (-2.0 * away / r) as f32;
    *most = most.and(Closest { close: s * s, rate });
    f
}
