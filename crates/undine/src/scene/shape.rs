//! Shapes: signed distance, bounds, filling with particles.

use std::f64::consts::PI;
use std::sync::Arc;

use glam::DVec3;

use super::aabb::Aabb;
use super::mesh::TriMesh;
use super::{fill, primitives};

pub use super::fill::disc_lattice;
pub use super::heightfield::Heightfield;

/// A shape of the scene file, checked: sizes positive, axes unit length, meshes loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Axis-aligned box.
    Box {
        /// Lowest corner, m.
        min: DVec3,
        /// Highest corner, m.
        max: DVec3,
    },
    /// Ball.
    Sphere {
        /// Centre, m.
        center: DVec3,
        /// Radius, m.
        radius: f64,
    },
    /// Round cylinder.
    Cylinder {
        /// Centre of its lower end, m.
        base: DVec3,
        /// Unit vector from the lower to the upper end.
        axis: DVec3,
        /// Radius, m.
        radius: f64,
        /// Height along the axis, m.
        height: f64,
    },
    /// Flat disc (emitters).
    Disc {
        /// Centre, m.
        center: DVec3,
        /// Unit normal; emitters stream along it.
        normal: DVec3,
        /// Radius, m.
        radius: f64,
    },
    /// Triangle mesh, already placed (scaled, rotated, moved).
    Mesh(Arc<TriMesh>),
    /// Terrain over a rectangle of the xz plane; solid below.
    Heightfield(Arc<Heightfield>),
}

/// Nearest point of a surface as seen from a query point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Signed distance, m: negative inside the solid. Discs and open meshes have no inside.
    pub distance: f64,
    /// Unit, outward: the gradient of the distance.
    pub normal: DVec3,
}

/// Where a segment first meets a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Share of the segment before the hit, 0..1.
    pub t: f64,
    /// Unit normal of the surface on the side of the segment's start.
    pub normal: DVec3,
}

impl Crossing {
    /// Turns the normal against the `direction` of the segment.
    pub(super) fn facing(t: f64, normal: DVec3, direction: DVec3) -> Self {
        Self { t, normal: if normal.dot(direction) > 0.0 { -normal } else { normal } }
    }
}

impl Shape {
    /// The shape at another place.
    #[must_use]
    pub fn moved(&self, offset: DVec3) -> Self {
        let mut moved = self.clone();
        match &mut moved {
            Self::Box { min, max } => {
                *min += offset;
                *max += offset;
            }
            Self::Sphere { center, .. } | Self::Disc { center, .. } => *center += offset,
            Self::Cylinder { base, .. } => *base += offset,
            Self::Mesh(mesh) => *mesh = Arc::new(mesh.transformed(1.0, DVec3::ZERO, offset)),
            Self::Heightfield(field) => *field = Arc::new(field.moved(offset)),
        }
        moved
    }

    /// The smallest box around the surface. A heightfield's ground reaches below it without end.
    pub fn bounds(&self) -> Aabb {
        match self {
            Self::Box { min, max } => Aabb::new(*min, *max),
            Self::Sphere { center, radius } => Aabb::new(*center, *center).grow(*radius),
            Self::Cylinder { base, axis, radius, height } => {
                let tip = *base + *height * *axis;
                let rim = *radius * disc_extent(*axis);
                Aabb::new(base.min(tip) - rim, base.max(tip) + rim)
            }
            Self::Disc { center, normal, radius } => {
                let rim = *radius * disc_extent(*normal);
                Aabb::new(*center - rim, *center + rim)
            }
            Self::Mesh(mesh) => mesh.bounds(),
            Self::Heightfield(field) => field.bounds(),
        }
    }

    /// Enclosed volume, m³; 0 where nothing is enclosed (disc, open mesh, heightfield).
    pub fn volume(&self) -> f64 {
        match self {
            Self::Box { min, max } => (*max - *min).element_product(),
            Self::Sphere { radius, .. } => 4.0 / 3.0 * PI * radius.powi(3),
            Self::Cylinder { radius, height, .. } => PI * radius * radius * height,
            Self::Mesh(mesh) => mesh.volume(),
            Self::Disc { .. } | Self::Heightfield(_) => 0.0,
        }
    }

    /// Whether the surface encloses a volume that can be filled.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Box { .. } | Self::Sphere { .. } | Self::Cylinder { .. } => true,
            Self::Mesh(mesh) => mesh.is_closed(),
            Self::Disc { .. } | Self::Heightfield(_) => false,
        }
    }

    /// Whether `p` is strictly inside the solid.
    pub fn contains(&self, p: DVec3) -> bool {
        match self {
            Self::Box { min, max } => min.cmplt(p).all() && p.cmplt(*max).all(),
            Self::Disc { .. } => false,
            Self::Mesh(mesh) => mesh.contains(p),
            Self::Heightfield(field) => field.contains(p),
            Self::Sphere { .. } | Self::Cylinder { .. } => self.nearest(p).distance < 0.0,
        }
    }

    /// The exact signed distance to the surface and its gradient.
    pub fn nearest(&self, p: DVec3) -> Nearest {
        match self {
            Self::Box { min, max } => primitives::nearest_box(p, *min, *max),
            Self::Sphere { center, radius } => primitives::nearest_sphere(p, *center, *radius),
            Self::Cylinder { base, axis, radius, height } => {
                primitives::nearest_cylinder(p, *base, *axis, *radius, *height)
            }
            Self::Disc { center, normal, radius } => primitives::nearest_disc(p, *center, *normal, *radius),
            Self::Mesh(mesh) => mesh.nearest(p),
            Self::Heightfield(field) => field.nearest(p),
        }
    }

    /// Like [`Shape::nearest`], but `None` farther than `reach` (m) outside; anywhere inside there is an answer.
    /// Made to be asked for every particle at every step: out of reach costs tens of nanoseconds.
    pub fn nearest_within(&self, p: DVec3, reach: f64) -> Option<Nearest> {
        match self {
            Self::Mesh(mesh) => mesh.nearest_within(p, reach),
            Self::Heightfield(field) => field.nearest_within(p, reach),
            _ if !self.bounds().grow(reach).contains(p) => None,
            _ => Some(self.nearest(p)).filter(|n| n.distance <= reach),
        }
    }

    /// Like [`Shape::nearest`], but `None` farther than `reach` (m) from the surface on either side: for hollow walls,
    /// whose fluid is deep inside the shape.
    pub fn nearest_in_band(&self, p: DVec3, reach: f64) -> Option<Nearest> {
        match self {
            Self::Mesh(mesh) => mesh.nearest_in_band(p, reach),
            _ => self.nearest_within(p, reach).filter(|n| n.distance >= -reach),
        }
    }

    /// The first hit of the segment with the surface, from either side, so that nothing tunnels through thin or open
    /// meshes. A segment that starts on the surface hits it at 0 (unless it runs along it).
    pub fn crossing(&self, from: DVec3, to: DVec3) -> Option<Crossing> {
        match self {
            Self::Box { min, max } => primitives::cross_box(from, to, *min, *max),
            Self::Sphere { center, radius } => primitives::cross_sphere(from, to, *center, *radius),
            Self::Cylinder { base, axis, radius, height } => {
                primitives::cross_cylinder(from, to, *base, *axis, *radius, *height)
            }
            Self::Disc { center, normal, radius } => {
                primitives::cross_disc(from, to, *center, *normal, *radius)
            }
            Self::Mesh(mesh) => mesh.crossing(from, to),
            Self::Heightfield(field) => field.crossing(from, to),
        }
    }

    /// A cubic lattice of pitch `spacing` (m) strictly inside, x fastest; a disc gets a square lattice in its plane.
    /// Empty for open meshes and heightfields, and for more than 2³² points: ask [`Shape::fill_count_estimate`] first.
    pub fn fill(&self, spacing: f64) -> Vec<DVec3> {
        match self {
            Self::Box { min, max } => fill::fill_box(*min, *max, spacing),
            Self::Sphere { center, radius } => fill::fill_sphere(*center, *radius, spacing),
            Self::Cylinder { base, axis, radius, height } => {
                fill::fill_cylinder(*base, *axis, *radius, *height, spacing)
            }
            Self::Disc { center, normal, radius } => disc_lattice(*center, *normal, *radius, spacing),
            Self::Mesh(mesh) => fill::fill_mesh(mesh, spacing),
            Self::Heightfield(_) => Vec::new(),
        }
    }

    /// An upper bound of the number of points that [`Shape::fill`] gives, without making them.
    pub fn fill_count_estimate(&self, spacing: f64) -> f64 {
        match self {
            Self::Box { min, max } => fill::box_count(*min, *max, spacing),
            Self::Sphere { radius, .. } => fill::sphere_count(*radius, spacing),
            Self::Cylinder { radius, height, .. } => {
                (height / spacing).round().max(1.0) * fill::disc_count(*radius, spacing)
            }
            Self::Disc { radius, .. } => fill::disc_count(*radius, spacing),
            Self::Mesh(mesh) => fill::mesh_count(mesh, spacing),
            Self::Heightfield(_) => 0.0,
        }
    }
}

/// Half the extent of a unit disc along x, y and z.
fn disc_extent(normal: DVec3) -> DVec3 {
    (DVec3::ONE - normal * normal).max(DVec3::ZERO).map(f64::sqrt)
}

#[cfg(test)]
mod tests;
