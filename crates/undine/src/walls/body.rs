//! The solid part of a wall.

use glam::DVec3;

use crate::scene::aabb::Aabb;
use crate::scene::shape::{Nearest, Shape};
use crate::scene::{Boundary, Inside};

/// The solid part of a wall, in its own frame.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// The shape itself.
    Solid(Shape),
    /// A shell outward from the shape.
    Shell { shape: Shape, thickness: f64 },
    /// A container without a lid: `outer` without `inner`.
    Cup { inner: Shape, outer: Shape },
    /// A sheet without inside: held by crossing tests.
    Sheet(Shape),
}

impl Body {
    /// The body of a wall; hollow ones are so thick, m.
    pub(super) fn new(b: &Boundary, thickness: f64) -> Self {
        match (b.inside, b.open_top) {
            (Inside::Solid, _)
                if !b.shape.is_closed() && matches!(b.shape, Shape::Mesh(_) | Shape::Disc { .. }) =>
            {
                Body::Sheet(b.shape.clone())
            }
            (Inside::Solid, _) => Body::Solid(b.shape.clone()),
            (Inside::Hollow, true) => {
                cup(&b.shape, thickness).unwrap_or(Body::Shell { shape: b.shape.clone(), thickness })
            }
            (Inside::Hollow, false) => Body::Shell { shape: b.shape.clone(), thickness },
        }
    }

    pub(super) fn nearest_within(&self, p: DVec3, reach: f64) -> Option<Nearest> {
        match self {
            Body::Solid(shape) | Body::Sheet(shape) => shape.nearest_within(p, reach),
            Body::Shell { shape, thickness } => {
                let t = *thickness;
                let n = shape.nearest_within(p, t + reach)?;
                // Distance to the layer 0 < d < t around the shape.
                let (distance, sign) =
                    if n.distance < 0.5 * t { (-n.distance, -1.0) } else { (n.distance - t, 1.0) };
                (distance < reach).then_some(Nearest { distance, normal: n.normal * sign })
            }
            Body::Cup { inner, outer } => {
                let out = outer.nearest_within(p, reach)?;
                let hole = inner.nearest(p);
                let n = if out.distance > -hole.distance {
                    out
                } else {
                    Nearest { distance: -hole.distance, normal: -hole.normal }
                };
                (n.distance < reach).then_some(n)
            }
        }
    }

    /// How far it is at least to its surface, m, up to `reach`; not above 0 inside.
    pub(super) fn clearance(&self, p: DVec3, reach: f64) -> f64 {
        let distance = || self.nearest_within(p, reach).map_or(reach, |n| n.distance);
        match self {
            Body::Solid(Shape::Heightfield(ground)) => ground.clearance(p, reach),
            // As near on either side.
            Body::Sheet(_) => distance().abs(),
            _ => distance(),
        }
    }

    /// How thick it is where it is thinnest, m; of a mesh that is not known, and `guess` stands for it.
    pub(super) fn thickness(&self, guess: f64) -> f64 {
        match self {
            Body::Solid(Shape::Box { min, max }) => (*max - *min).min_element(),
            Body::Solid(Shape::Sphere { radius, .. }) => 2.0 * radius,
            Body::Solid(Shape::Cylinder { radius, height, .. }) => height.min(2.0 * radius),
            Body::Solid(Shape::Mesh(_)) => guess,
            Body::Shell { thickness, .. } => *thickness,
            Body::Cup { inner, outer } => inner.bounds().min.distance(outer.bounds().min) / 3f64.sqrt(),
            // Ground has no other side, and sheets are held by crossing tests.
            Body::Solid(Shape::Heightfield(_) | Shape::Disc { .. }) | Body::Sheet(_) => f64::INFINITY,
        }
    }

    /// Whether the way from `a` to `b` meets its surface.
    pub(super) fn is_crossed(&self, a: DVec3, b: DVec3) -> bool {
        match self {
            Body::Solid(shape) | Body::Sheet(shape) | Body::Shell { shape, .. } => {
                shape.crossing(a, b).is_some()
            }
            // What crosses the inner surface above the rim crosses no wall.
            Body::Cup { inner, outer } => {
                inner.crossing(a, b).is_some_and(|hit| outer.contains(a + (b - a) * hit.t))
            }
        }
    }

    pub(super) fn bounds(&self) -> Aabb {
        match self {
            // Ground has no bottom: what sank into it must still be pushed up.
            Body::Solid(ground @ Shape::Heightfield(_)) => {
                let b = ground.bounds();
                Aabb { min: b.min - DVec3::Y * 10.0 * b.size().max_element(), max: b.max }
            }
            Body::Solid(shape) | Body::Sheet(shape) => shape.bounds(),
            Body::Shell { shape, thickness } => shape.bounds().grow(*thickness),
            Body::Cup { outer, .. } => outer.bounds(),
        }
    }
}

/// A glass: the shape as the hollow, open along its axis, in a body `thickness` thicker on the other sides.
pub(crate) fn cup(shape: &Shape, thickness: f64) -> Option<Body> {
    match shape {
        Shape::Cylinder { base, axis, radius, height } => Some(Body::Cup {
            inner: Shape::Cylinder {
                base: *base,
                axis: *axis,
                radius: *radius,
                height: 1e3 * (height + radius),
            },
            outer: Shape::Cylinder {
                base: *base - *axis * thickness,
                axis: *axis,
                radius: radius + thickness,
                height: height + thickness,
            },
        }),
        Shape::Box { min, max } => {
            let t = DVec3::splat(thickness);
            let tall = DVec3::new(max.x, min.y + 1e3 * (*max - *min).max_element(), max.z);
            Some(Body::Cup {
                inner: Shape::Box { min: *min, max: tall },
                outer: Shape::Box {
                    min: *min - t,
                    max: DVec3::new(max.x + thickness, max.y, max.z + thickness),
                },
            })
        }
        _ => None,
    }
}
