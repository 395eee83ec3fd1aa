//! Probes that look at a place: front, height, pressure, velocity, flow.

use std::f64::consts::PI;

use glam::DVec3;

use super::{Seen, apart};
use crate::kernels::{Kernel, Poly6};
use crate::scene::Domain;
use crate::scene::aabb::Aabb;

/// Middle of the farthest slab, one spacing thick, with at least half as many particles as one full row across:
/// where fluid that is one layer deep ends. Slabs are slid, so the answer is finer than a spacing.
///
/// A row is as long as the fluid at its start was wide (as far as it lay in the domain).
pub(super) fn front(seen: &Seen, axis: usize, start: &Aabb) -> f64 {
    let d = seen.scene.spacing;
    let (mut low, mut high) = (start.min, start.max);
    if start.is_empty() {
        (low, high) = match &seen.scene.domain {
            Some(domain) => (domain.min, domain.max),
            None => {
                let now = Aabb::around(seen.particles().map(|(_, p)| p)).grow(0.5 * d);
                (now.min, now.max)
            }
        };
    }
    let row: f64 = [0, 2]
        .into_iter()
        .filter(|a| *a != axis)
        .map(|a| ((high[a] - low[a]) / d).round().max(1.0))
        .product();
    let need = ((0.5 * row).ceil() as usize).max(1);
    let mut along: Vec<f64> = seen.particles().map(|(_, p)| p[axis]).filter(|v| v.is_finite()).collect();
    along.sort_unstable_by(|a, b| b.total_cmp(a));
    // The farthest slab that holds `need` has the last of them on its near face. Rounding of f32 positions must
    // not tear a row apart.
    let slack = 1e-3 * d;
    along.windows(need).find(|w| w[0] - w[need - 1] <= d + slack).map_or(f64::NAN, |w| w[need - 1] + 0.5 * d)
}

/// A soft vertical column: particles near its axis count more.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Where it stands (x, z), and its images in walls that it reaches into: the fluid is taken to go on behind them.
    places: Vec<[f64; 2]>,
    /// Radius, m.
    radius: f64,
    /// Height of the domain's floor.
    floor: Option<f64>,
    domain: Option<Domain>,
}

/// Radius × spacing (of cells, where there are some: markers keep less order): wide enough that a lattice gives the same height wherever the column stands (within 0.5 %).
const COLUMN: f64 = 3.0;
/// A gap of so many spacings parts the column from drops above it.
const GAP: f64 = 2.0;

/// Weight at distance² q (in radii²) from the axis. Its integral over the cross-section is a quarter of that.
fn weight(q: f64) -> f64 {
    if q < 1.0 { (1.0 - q).powi(3) } else { 0.0 }
}

impl Column {
    pub(super) fn new(place: DVec3, spacing: f64, domain: Option<&Domain>) -> Self {
        let radius = COLUMN * spacing;
        let images = |axis: usize| {
            let mut all = vec![place[axis]];
            if let Some(d) = domain.filter(|d| !d.periodic[axis]) {
                for (upper, wall) in [(false, d.min[axis]), (true, d.max[axis])] {
                    if !d.open.contains(&(axis, upper)) && (wall - place[axis]).abs() < radius {
                        all.push(2.0 * wall - place[axis]);
                    }
                }
            }
            all
        };
        let (xs, zs) = (images(0), images(2));
        let places = xs.iter().flat_map(|x| zs.iter().map(move |z| [*x, *z])).collect();
        let floor = domain.filter(|d| !d.periodic[1] && !d.open.contains(&(1, false))).map(|d| d.min.y);
        Column { places, radius, floor, domain: domain.cloned() }
    }

    /// Weight of a particle, 1/m².
    fn weight(&self, p: DVec3) -> f64 {
        let domain = self.domain.as_ref();
        let r2 = self.radius * self.radius;
        let sum: f64 = self
            .places
            .iter()
            .map(|[x, z]| apart(domain, 0, *x, p.x).powi(2) + apart(domain, 2, *z, p.z).powi(2))
            .map(|d2| weight(d2 / r2))
            .sum();
        4.0 * sum / (PI * r2)
    }

    /// Height of the fluid's surface: the foot of the column plus its volume per area, up to the first gap.
    /// The floor where there is no fluid; not a number when there is no floor either.
    pub(super) fn height(&self, seen: &Seen) -> f64 {
        let d = seen.scene.spacing;
        let mut parts: Vec<(f64, f64)> = seen
            .particles()
            .map(|(i, p)| (p.y, self.weight(p) * seen.volume(i)))
            .filter(|(y, length)| *length > 0.0 && y.is_finite())
            .collect();
        parts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let Some(lowest) = parts.first().map(|p| p.0) else { return self.floor.unwrap_or(f64::NAN) };
        let foot = match self.floor {
            Some(floor) if lowest - floor < GAP * d => floor,
            _ => lowest - 0.5 * d,
        };
        let mut length = 0.0;
        let mut last = lowest;
        for (y, part) in parts {
            if y - last > GAP * d {
                break;
            }
            (length, last) = (length + part, y);
        }
        foot + length
    }
}

/// Weights Σ V W (Shepard's, not yet normalised) of the particles within the support of a place.
fn weights<'a>(seen: &'a Seen, place: DVec3) -> impl Iterator<Item = (usize, f64)> + 'a {
    let support = if seen.frame.support > 0.0 { seen.frame.support } else { 2.0 * seen.scene.spacing };
    let kernel = Poly6(support);
    let domain = seen.scene.domain.as_ref();
    seen.particles().filter_map(move |(i, p)| {
        let r2: f64 = (0..3).map(|a| apart(domain, a, place[a], p[a]).powi(2)).sum();
        (r2 < support * support).then(|| (i, seen.volume(i) * kernel.w(r2.sqrt())))
    })
}

/// Pressure at a place, Pa.
pub(super) fn pressure(seen: &Seen, place: DVec3) -> f64 {
    let Some(field) = seen.frame.particles.scalar("pressure") else { return f64::NAN };
    let (mut sum, mut norm) = (0.0, 0.0);
    for (i, w) in weights(seen, place) {
        sum += w * field.get(i).map_or(f64::NAN, |p| f64::from(*p));
        norm += w;
    }
    sum / norm
}

/// Velocity at a place, m/s.
pub(super) fn velocity(seen: &Seen, place: DVec3) -> [f64; 3] {
    let field = seen.velocity();
    let (mut sum, mut norm) = (DVec3::ZERO, 0.0);
    for (i, w) in weights(seen, place) {
        sum += w * field.get(i).map_or(DVec3::NAN, |v| glam::Vec3::from(*v).as_dvec3());
        norm += w;
    }
    (sum / norm).to_array()
}

/// Volume flow through the plane across `axis` at `position`, m³/s, positive along the axis.
///
/// Particles count by a hat function of two spacings either side, which a lattice of that spacing sums to 1
/// wherever the plane lies.
pub(super) fn flow(seen: &Seen, axis: usize, position: DVec3) -> f64 {
    let field = seen.velocity();
    if field.is_empty() && !seen.frame.particles.is_empty() {
        return f64::NAN;
    }
    let reach = 2.0 * seen.scene.spacing;
    let domain = seen.scene.domain.as_ref();
    let mut sum = 0.0;
    for (i, p) in seen.particles() {
        let x = apart(domain, axis, position[axis], p[axis]).abs() / reach;
        if x < 1.0 {
            let v = field.get(i).map_or(f64::NAN, |v| f64::from(v[axis]));
            sum += seen.volume(i) * v * (1.0 - x) / reach;
        }
    }
    sum
}
