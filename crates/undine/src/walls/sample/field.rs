//! The signed distance to a body as its samples need it: without the ends that a period joins.

use std::sync::Arc;

use glam::DVec3;

use super::super::Body;
use super::Region;
use super::rim::Rim;
use crate::neighbors::Period;
use crate::scene::aabb::Aabb;
use crate::scene::mesh::TriMesh;
use crate::scene::shape::{Nearest, Shape};

/// A body may miss the ends of a period by this share of a spacing and still join its image.
const JOIN: f64 = 0.01;

/// A shape; where a period joins it to its own image, the ends are gone.
struct Skin {
    shape: Shape,
    /// The surface without ends, whose images count too; `None` when `shape` was made longer instead.
    bare: Option<Shape>,
}

enum Kind {
    Solid(Skin),
    Shell {
        skin: Skin,
        thickness: f64,
    },
    Cup {
        inner: Shape,
        outer: Shape,
    },
    Sheet(Skin),
    /// Outside of a shell: a shape with rounded edges.
    Grown {
        skin: Skin,
        by: f64,
    },
}

/// The distance to a body, joined to its images along the axes it spans.
pub(super) struct Field {
    kind: Kind,
    /// The period along the axes that the body spans.
    period: Option<Period>,
    bounds: Aabb,
    /// Where the surface ends.
    pub rim: Rim,
}

impl Field {
    /// The distance to a body sampled in `layers` layers.
    pub fn new(body: &Body, spacing: f64, layers: usize, region: &Region) -> Self {
        let deep = (layers + 4) as f64 * spacing;
        let main = match body {
            Body::Solid(shape) | Body::Sheet(shape) | Body::Shell { shape, .. } => shape,
            Body::Cup { inner, .. } => inner,
        };
        let period = spanned(main.bounds(), spacing, region);
        let skin = |shape: &Shape| Skin::new(shape, period.as_ref(), deep, spacing);
        let mut bounds = main.bounds();
        let kind = match body {
            Body::Solid(shape) => Kind::Solid(skin(shape)),
            Body::Sheet(shape) => Kind::Sheet(skin(shape)),
            Body::Shell { shape, thickness } => {
                bounds = bounds.grow(*thickness);
                Kind::Shell { skin: skin(shape), thickness: *thickness }
            }
            Body::Cup { inner, outer } => {
                bounds = outer.bounds();
                Kind::Cup { inner: skin(inner).shape, outer: skin(outer).shape }
            }
        };
        let rim = match body {
            Body::Sheet(shape) | Body::Solid(shape @ Shape::Heightfield(_)) => {
                Rim::new(shape, period.as_ref(), spacing)
            }
            _ => Rim::None,
        };
        Self { kind, period, bounds, rim }
    }

    /// The distance to a shape grown by `by`, m.
    pub fn grown(shape: &Shape, by: f64, spacing: f64, region: &Region) -> Self {
        let period = spanned(shape.bounds(), spacing, region);
        let skin = Skin::new(shape, period.as_ref(), 2.0 * by + 4.0 * spacing, spacing);
        Self { kind: Kind::Grown { skin, by }, period, bounds: shape.bounds().grow(by), rim: Rim::None }
    }

    /// Whether samples lie on the surface itself.
    pub fn is_sheet(&self) -> bool {
        matches!(self.kind, Kind::Sheet(_))
    }

    /// The smallest box around the surface.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// The period along the axes that the body spans.
    pub fn period(&self) -> Option<&Period> {
        self.period.as_ref()
    }

    /// The image of a place within the period.
    pub fn wrap(&self, mut p: DVec3) -> DVec3 {
        if let Some(d) = &self.period {
            for a in (0..3).filter(|a| d.axes[*a]) {
                let length = d.max[a] - d.min[a];
                if p[a] < d.min[a] {
                    p[a] += length;
                }
                if p[a] >= d.max[a] {
                    p[a] -= length;
                }
                // Rounding may have put it on the far end.
                if !(d.min[a] <= p[a] && p[a] < d.max[a]) {
                    p[a] = d.min[a];
                }
            }
        }
        p
    }

    /// Signed distance and gradient; `None` farther than `reach` outside and maybe deeper than `reach` inside.
    pub fn nearest(&self, p: DVec3, reach: f64) -> Option<Nearest> {
        let n = match &self.kind {
            Kind::Solid(skin) | Kind::Sheet(skin) => skin.nearest(p, reach, self.period.as_ref())?,
            Kind::Shell { skin, thickness } => {
                let n = skin.nearest(p, thickness + reach, self.period.as_ref())?;
                if n.distance < 0.5 * thickness {
                    Nearest { distance: -n.distance, normal: -n.normal }
                } else {
                    Nearest { distance: n.distance - thickness, normal: n.normal }
                }
            }
            Kind::Cup { inner, outer } => {
                let out = outer.nearest_within(p, reach)?;
                let hole = inner.nearest(p);
                if out.distance > -hole.distance {
                    out
                } else {
                    Nearest { distance: -hole.distance, normal: -hole.normal }
                }
            }
            Kind::Grown { skin, by } => {
                let n = skin.nearest(p, by + reach, self.period.as_ref())?;
                Nearest { distance: n.distance - by, normal: n.normal }
            }
        };
        (n.distance <= reach).then_some(n)
    }
}

/// The period along those axes whose both ends a box reaches.
fn spanned(bounds: Aabb, spacing: f64, region: &Region) -> Option<Period> {
    let d = region.period.as_ref()?;
    let slack = JOIN * spacing;
    let axes = [0, 1, 2]
        .map(|a| d.axes[a] && bounds.min[a] <= d.min[a] + slack && bounds.max[a] >= d.max[a] - slack);
    axes.contains(&true).then_some(Period { min: d.min, max: d.max, axes })
}

impl Skin {
    fn new(shape: &Shape, period: Option<&Period>, deep: f64, spacing: f64) -> Self {
        let plain = Self { shape: shape.clone(), bare: None };
        let Some(d) = period else { return plain };
        let spans = |a: usize| d.axes[a];
        match shape {
            Shape::Box { min, max } => {
                let (mut min, mut max) = (*min, *max);
                for a in (0..3).filter(|a| spans(*a)) {
                    min[a] = min[a].min(d.min[a]) - deep;
                    max[a] = max[a].max(d.max[a]) + deep;
                }
                Self { shape: Shape::Box { min, max }, bare: None }
            }
            Shape::Cylinder { base, axis, radius, height } => {
                let along = (0..3).find(|a| spans(*a) && axis[*a].abs() > 1.0 - 1e-9);
                match along {
                    Some(_) => Self {
                        shape: Shape::Cylinder {
                            base: *base - *axis * deep,
                            axis: *axis,
                            radius: *radius,
                            height: height + 2.0 * deep,
                        },
                        bare: None,
                    },
                    None => plain,
                }
            }
            Shape::Heightfield(_) => Self { shape: shape.clone(), bare: Some(shape.clone()) },
            Shape::Mesh(mesh) => {
                // Triangles in the joined ends are no surface.
                let slack = JOIN * spacing;
                let is_end = |t: usize| {
                    let corners = mesh.corners(t);
                    (0..3).filter(|a| spans(*a)).any(|a| {
                        corners.iter().all(|c| c[a] <= d.min[a] + slack)
                            || corners.iter().all(|c| c[a] >= d.max[a] - slack)
                    })
                };
                let kept = (0..mesh.triangles.len()).filter(|t| !is_end(*t)).map(|t| mesh.triangles[t]);
                match TriMesh::new(mesh.vertices.clone(), kept.collect()) {
                    Ok(open) => Self { shape: shape.clone(), bare: Some(Shape::Mesh(Arc::new(open))) },
                    Err(_) => plain,
                }
            }
            Shape::Sphere { .. } | Shape::Disc { .. } => plain,
        }
    }

    fn nearest(&self, p: DVec3, reach: f64, period: Option<&Period>) -> Option<Nearest> {
        let (Some(bare), Some(d)) = (&self.bare, period) else {
            return self.shape.nearest_within(p, reach);
        };
        let mut best: Option<(f64, Nearest)> = None;
        let bounds = bare.bounds().grow(reach);
        let shifts = |a: usize| -> [f64; 3] {
            let length = if d.axes[a] { d.max[a] - d.min[a] } else { 0.0 };
            [0.0, length, -length]
        };
        let count = |a: usize| if d.axes[a] { 3 } else { 1 };
        for x in 0..count(0) {
            for y in 0..count(1) {
                for z in 0..count(2) {
                    let q = p + DVec3::new(shifts(0)[x], shifts(1)[y], shifts(2)[z]);
                    // Ground has no bottom.
                    let level = DVec3::new(q.x, q.y.clamp(bounds.min.y, f64::INFINITY), q.z);
                    if !bounds.contains(level) {
                        continue;
                    }
                    if let Some(n) = bare.nearest_within(q, reach) {
                        let distance = n.distance.abs();
                        if best.is_none_or(|(least, _)| distance < least) {
                            best = Some((distance, n));
                        }
                    }
                }
            }
        }
        let (distance, n) = best?;
        // An image counts from outside even where the body itself contains the place.
        let inside = self.shape.contains(p);
        let flip = inside != (n.distance < 0.0);
        let normal = if flip { -n.normal } else { n.normal };
        Some(Nearest { distance: if inside { -distance } else { distance }, normal })
    }
}
