//! Distance and crossing of box, ball, cylinder and disc.

use glam::{DVec2, DVec3};

use super::shape::{Crossing, Nearest};

/// Signed distance to a box.
pub(super) fn nearest_box(p: DVec3, min: DVec3, max: DVec3) -> Nearest {
    let q = p - 0.5 * (min + max);
    // Positive components are outside; the side is the sign of q.
    let d = (min - p).max(p - max);
    let side = DVec3::new(1.0_f64.copysign(q.x), 1.0_f64.copysign(q.y), 1.0_f64.copysign(q.z));
    let out = d.max(DVec3::ZERO);
    let distance = out.length();
    if distance > 0.0 {
        return Nearest { distance, normal: side * out / distance };
    }
    let axis = largest(d);
    Nearest { distance: d[axis], normal: side[axis] * DVec3::AXES[axis] }
}

/// Signed distance to a ball.
pub(super) fn nearest_sphere(p: DVec3, center: DVec3, radius: f64) -> Nearest {
    let q = p - center;
    Nearest { distance: q.length() - radius, normal: q.normalize_or(DVec3::Y) }
}

/// Signed distance to a cylinder: that of a rectangle in the half plane of radius and height.
pub(super) fn nearest_cylinder(p: DVec3, base: DVec3, axis: DVec3, radius: f64, height: f64) -> Nearest {
    let q = p - base;
    let along = q.dot(axis);
    let radial = q - along * axis;
    let r = radial.length();
    let outward = if r > 0.0 { radial / r } else { axis.any_orthonormal_vector() };
    let up = along >= 0.5 * height;
    let d = DVec2::new(r - radius, if up { along - height } else { -along });
    let end = if up { axis } else { -axis };
    let out = d.max(DVec2::ZERO);
    let distance = out.length();
    if distance > 0.0 {
        Nearest { distance, normal: (out.x * outward + out.y * end) / distance }
    } else if d.x >= d.y {
        Nearest { distance: d.x, normal: outward }
    } else {
        Nearest { distance: d.y, normal: end }
    }
}

/// Unsigned distance to a flat disc.
pub(super) fn nearest_disc(p: DVec3, center: DVec3, normal: DVec3, radius: f64) -> Nearest {
    let q = p - center;
    let along = q.dot(normal);
    let radial = q - along * normal;
    let r = radial.length();
    let away = if r > radius { along * normal + radial * (1.0 - radius / r) } else { along * normal };
    let distance = away.length();
    Nearest { distance, normal: if distance > 0.0 { away / distance } else { normal } }
}

/// First crossing of the faces of a box.
pub(super) fn cross_box(from: DVec3, to: DVec3, min: DVec3, max: DVec3) -> Option<Crossing> {
    let d = to - from;
    let mut first: Option<(f64, usize)> = None;
    for axis in 0..3 {
        for plane in [min[axis], max[axis]] {
            let t = (plane - from[axis]) / d[axis];
            if !(0.0..=1.0).contains(&t) || first.is_some_and(|(best, _)| best <= t) {
                continue;
            }
            let hit = from + t * d;
            let on_face =
                |other: usize| other == axis || (min[other] <= hit[other] && hit[other] <= max[other]);
            if (0..3).all(on_face) {
                first = Some((t, axis));
            }
        }
    }
    first.map(|(t, axis)| Crossing::facing(t, DVec3::AXES[axis], d))
}

/// First crossing of a sphere.
pub(super) fn cross_sphere(from: DVec3, to: DVec3, center: DVec3, radius: f64) -> Option<Crossing> {
    let (d, q) = (to - from, from - center);
    let t = first_root(d.length_squared(), q.dot(d), q.length_squared() - radius * radius, |_| true)?;
    Some(Crossing::facing(t, (q + t * d).normalize_or(DVec3::Y), d))
}

/// First crossing of a cylinder's side or ends.
pub(super) fn cross_cylinder(
    from: DVec3,
    to: DVec3,
    base: DVec3,
    axis: DVec3,
    radius: f64,
    height: f64,
) -> Option<Crossing> {
    let (d, q) = (to - from, from - base);
    let (along, rise) = (q.dot(axis), d.dot(axis));
    let (radial, slide) = (q - along * axis, d - rise * axis);
    let side = first_root(
        slide.length_squared(),
        radial.dot(slide),
        radial.length_squared() - radius * radius,
        |t| (0.0..=height).contains(&(along + t * rise)),
    )
    .map(|t| Crossing::facing(t, (radial + t * slide).normalize_or(axis), d));
    let end = |at: f64| {
        let t = (at - along) / rise;
        let inside = (radial + t * slide).length_squared() <= radius * radius;
        ((0.0..=1.0).contains(&t) && inside).then(|| Crossing::facing(t, axis, d))
    };
    [side, end(0.0), end(height)].into_iter().flatten().min_by(|a, b| a.t.total_cmp(&b.t))
}

/// Crossing of a disc.
pub(super) fn cross_disc(
    from: DVec3,
    to: DVec3,
    center: DVec3,
    normal: DVec3,
    radius: f64,
) -> Option<Crossing> {
    let d = to - from;
    let t = (center - from).dot(normal) / d.dot(normal);
    let inside = (from + t * d - center).length_squared() <= radius * radius;
    ((0.0..=1.0).contains(&t) && inside).then(|| Crossing::facing(t, normal, d))
}

/// The smaller root of a t² + 2 b t + c that lies in 0..1 and is accepted.
fn first_root(a: f64, b: f64, c: f64, accept: impl Fn(f64) -> bool) -> Option<f64> {
    let discriminant = b * b - a * c;
    if !(a > 0.0 && discriminant >= 0.0) {
        return None;
    }
    // Without cancellation: the larger root in size first, the other from the product of both.
    let q = -(b + discriminant.sqrt().copysign(b));
    let (t0, t1) = if q == 0.0 { (0.0, 0.0) } else { (q / a, c / q) };
    let usable = |t: &f64| (0.0..=1.0).contains(t) && accept(*t);
    [t0.min(t1), t0.max(t1)].into_iter().find(usable)
}

fn largest(v: DVec3) -> usize {
    (0..3).fold(0, |best, k| if v[k] > v[best] { k } else { best })
}
