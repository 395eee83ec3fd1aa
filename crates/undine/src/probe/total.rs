//! Probes that sum over all fluid, and bodies.

use glam::DVec3;

use super::Seen;
use crate::frame::Frame;

/// Kinetic energy Σ ½mv² and potential energy -Σ m g·x (zero at the origin), J. g is the gravity in force at the
/// frame: when an event changes it, the potential energy jumps by the work of changing it. Then what all fluids together gave to
/// solids since the start, and what they lost besides, if the frame tells.
pub(super) fn energy(seen: &Seen) -> [f64; 4] {
    let velocity = seen.velocity();
    let gravity = seen.gravity();
    let (mut kinetic, mut potential) = (0.0, 0.0);
    for (i, p) in seen.particles() {
        let m = seen.mass(i);
        let v = velocity.get(i).map_or(DVec3::NAN, |v| glam::Vec3::from(*v).as_dvec3());
        kinetic += 0.5 * m * v.length_squared();
        potential -= m * gravity.dot(p);
    }
    let given = seen.frame.solids.iter().map(|b| b.work).fold(0.0, |a, b| a + b);
    [kinetic, potential, given, seen.frame.spent.map_or(f64::NAN, |spent| spent - given)]
}

/// Masses, places and velocities of a body's nodes.
fn nodes(frame: &Frame, body: usize) -> impl Iterator<Item = (f64, DVec3, DVec3)> + '_ {
    let vector = |v: &[f32; 3]| glam::Vec3::from(*v).as_dvec3();
    frame.solids.get(body).into_iter().flat_map(move |b| {
        let moving = b.nodes.iter().zip(&b.velocity).zip(&b.mass);
        moving.map(move |((x, v), m)| (f64::from(*m), vector(x), vector(v)))
    })
}

/// Kinetic and potential energy of a body, J, as of the fluid in [`energy`], what its springs store, and the work that the fluid has
/// done on it since the start.
pub(super) fn body_energy(seen: &Seen, body: usize) -> [f64; 4] {
    let gravity = seen.gravity();
    let [elastic, work] = seen.frame.solids.get(body).map_or([f64::NAN; 2], |b| [b.elastic, b.work]);
    nodes(seen.frame, body).fold(
        [0.0, 0.0, elastic, work],
        |[kinetic, potential, elastic, work], (m, x, v)| {
            [kinetic + 0.5 * m * v.length_squared(), potential - m * gravity.dot(x), elastic, work]
        },
    )
}

/// Momentum of a body, kg m/s.
pub(super) fn body_momentum(frame: &Frame, body: usize) -> [f64; 3] {
    nodes(frame, body).map(|(m, _, v)| m * v).sum::<DVec3>().to_array()
}

/// Momentum Σ mv, kg m/s.
pub(super) fn momentum(seen: &Seen) -> [f64; 3] {
    let velocity = seen.velocity();
    let mut sum = DVec3::ZERO;
    for (i, _) in seen.particles() {
        let v = velocity.get(i).map_or(DVec3::NAN, |v| glam::Vec3::from(*v).as_dvec3());
        sum += v * seen.mass(i);
    }
    sum.to_array()
}

/// Mean and greatest |ρ-ρ0|/ρ0 of the particles inside the fluid, which are those without a normal. At a free
/// surface the kernel reaches into air, so its density says nothing.
pub(super) fn density_error(seen: &Seen) -> [f64; 2] {
    let Some(density) = seen.frame.particles.scalar("density") else { return [f64::NAN; 2] };
    let normal = seen.frame.particles.vector("normal").unwrap_or(&[]);
    let (mut sum, mut most, mut count) = (0.0, 0.0f64, 0u64);
    for (i, _) in seen.particles() {
        if normal.get(i).is_some_and(|n| *n != [0.0; 3]) {
            continue;
        }
        let rest = seen.density(i);
        let error = (density.get(i).map_or(f64::NAN, |d| f64::from(*d)) - rest).abs() / rest;
        sum += error;
        most = if error.is_nan() { error } else { most.max(error) };
        count += 1;
    }
    if count == 0 { [f64::NAN; 2] } else { [sum / count as f64, most] }
}

/// Centre of mass and velocity of a body: the means over its nodes, by mass where it is known.
pub(super) fn body(frame: &Frame, body: Option<usize>) -> [f64; 6] {
    let Some(body) = body.and_then(|b| frame.solids.get(b)).filter(|b| !b.nodes.is_empty()) else {
        return [f64::NAN; 6];
    };
    let mass = |i: usize| body.mass.get(i).map_or(1.0, |m| f64::from(*m));
    let total: f64 = (0..body.nodes.len()).map(mass).sum();
    let mean = |all: &[[f32; 3]]| -> DVec3 {
        all.iter().enumerate().map(|(i, v)| mass(i) * glam::Vec3::from(*v).as_dvec3()).sum::<DVec3>() / total
    };
    let (x, v) = (mean(&body.nodes), mean(&body.velocity));
    [x.x, x.y, x.z, v.x, v.y, v.z]
}
