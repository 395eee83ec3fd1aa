//! Shapes: signed distance, bounds, filling with particles.

use glam::DVec3;
use std::sync::Arc;

use super::mesh::TriMesh;

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

/// Heights over a regular grid of the xz plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Heightfield {
    /// Corner with the smallest x and z; its y is added to all heights, m.
    pub origin: DVec3,
    /// Extent along x and z, m.
    pub size: [f64; 2],
    /// Number of samples along x and z, each at least 2.
    pub samples: [usize; 2],
    /// Heights, m; x runs fastest.
    pub heights: Vec<f64>,
}
