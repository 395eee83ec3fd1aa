//! Rocks: balls that are stretched, cut by planes and weathered.

use glam::DVec3;

use super::noise::{Random, octaves};
use crate::scene::mesh::TriMesh;

/// Planes that cut a rock.
const CUTS: usize = 14;

/// A rock, star-shaped about its centre: a distance to its surface for every direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Rock {
    /// Its middle, m.
    pub center: DVec3,
    /// No part of it is farther from its middle, m.
    pub radius: f64,
    seed: u64,
    roughness: f64,
    /// Directions of the main axes and 1 / share of the radius along each.
    axes: [(DVec3, f64); 3],
    /// Normals and distances of the cutting planes, × radius.
    cuts: [(DVec3, f64); CUTS],
}

impl Rock {
    /// The rock of a seed; `roughness` runs from 0, a ball, to 1, flat faces and sharp edges.
    pub fn new(center: DVec3, radius: f64, seed: u64, roughness: f64) -> Self {
        let mut random = Random::new(seed, 1);
        let x = random.direction();
        let y = x.any_orthonormal_vector();
        let frame = [x, y, x.cross(y)];
        let axes = frame.map(|axis| (axis, 1.0 / (1.0 - 0.5 * roughness * random.unit())));
        let cuts = std::array::from_fn(|_| (random.direction(), 1.0 - roughness * random.between(0.25, 0.6)));
        Self { center, radius, seed, roughness, axes, cuts }
    }

    /// Distance from the middle to the surface in a direction (unit), m; from a third of the radius to the radius.
    pub fn reach(&self, direction: DVec3) -> f64 {
        let stretched: f64 = self.axes.iter().map(|(axis, k)| (k * axis.dot(direction)).powi(2)).sum();
        let ball = 1.0 / stretched.sqrt().max(1.0);
        let cut = self.cuts.iter().fold(ball, |reach, (normal, distance)| {
            let along = normal.dot(direction);
            if along * reach > *distance { distance / along } else { reach }
        });
        let weathered = octaves(self.seed, 2.5 * direction + 7.0, 3);
        self.radius * (cut * (1.0 - self.roughness * (0.07 + 0.07 * weathered))).max(1.0 / 3.0)
    }

    /// Its surface: an icosahedron split `subdivisions` times, with every corner on the rock.
    pub fn mesh(&self, subdivisions: u32) -> TriMesh {
        let (vertices, triangles) = self.parts(subdivisions);
        TriMesh::from_parts(&vertices, triangles)
    }

    pub(super) fn parts(&self, subdivisions: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let (mut vertices, triangles) = TriMesh::icosphere_parts(subdivisions);
        vertices.iter_mut().for_each(|v| *v = self.center + self.reach(*v) * *v);
        (vertices, triangles)
    }

    /// Whether a place is in the rock or nearer to it than `gap` (m), measured towards its middle.
    pub(super) fn covers(&self, p: DVec3, gap: f64) -> bool {
        let away = p - self.center;
        let distance = away.length();
        // Most places are told by the radius alone.
        distance < self.radius + gap && distance < self.reach(away / distance.max(1e-300)) + gap
    }
}
