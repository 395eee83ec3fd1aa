//! Nodes of a body on a regular grid, found by whole-numbered coordinates.

use std::collections::HashMap;

use glam::DVec3;

use crate::scene::fill::frame;
use crate::scene::shape::Shape;

/// Nodes by their place in a square or cubic grid.
pub(super) struct NodeGrid {
    place: Vec<[i64; 3]>,
    node: HashMap<[i64; 3], u32>,
    /// Whether the axes are a right-handed frame.
    pub(super) right_handed: bool,
}

impl NodeGrid {
    /// The grid that filling a shape gives: along x, y and z, or along the axis of a round shape.
    pub(super) fn of_shape(shape: &Shape, points: &[DVec3], spacing: f64) -> Self {
        let axes = match shape {
            Shape::Cylinder { axis: main, .. } | Shape::Disc { normal: main, .. } => frame(*main).0,
            _ => DVec3::AXES,
        };
        let first = points.first().copied().unwrap_or_default();
        let place = |p: &DVec3| axes.map(|axis| ((*p - first).dot(axis) / spacing).round() as i64);
        let right_handed = axes[0].cross(axes[1]).dot(axes[2]) > 0.0;
        Self::new(points.iter().map(place).collect(), right_handed)
    }

    /// Nodes at given places.
    pub(super) fn new(place: Vec<[i64; 3]>, right_handed: bool) -> Self {
        let node = place.iter().enumerate().map(|(i, p)| (*p, i as u32)).collect();
        NodeGrid { place, node, right_handed }
    }

    /// Where a node is.
    pub(super) fn place(&self, node: usize) -> [i64; 3] {
        self.place[node]
    }

    /// The node at an offset from another.
    pub(super) fn at(&self, node: usize, offset: [i64; 3]) -> Option<u32> {
        let p = self.place[node];
        self.node.get(&[p[0] + offset[0], p[1] + offset[1], p[2] + offset[2]]).copied()
    }

    /// The corners of the cell above a node, x fastest, if all are there.
    pub(super) fn cell(&self, node: usize) -> Option<[u32; 8]> {
        let mut corners = [node as u32; 8];
        for (k, corner) in corners.iter_mut().enumerate().skip(1) {
            *corner = self.at(node, [k as i64 & 1, k as i64 >> 1 & 1, k as i64 >> 2])?;
        }
        Some(corners)
    }

    /// Places along the longest axis.
    pub(super) fn longest(&self) -> f64 {
        let along = |a: usize| {
            let all = || self.place.iter().map(|p| p[a]);
            all().max().unwrap_or(0) - all().min().unwrap_or(0) + 1
        };
        (0..3).map(along).max().unwrap_or(1) as f64
    }
}
