//! Rocks: balls that are stretched, cut by planes and weathered.

use glam::DVec3;

use super::noise::{Random, octaves};
use crate::scene::mesh::TriMesh;

/// Half of what weather takes off at most, × radius.
const WEATHER: f64 = 0.07;
/// No surface is nearer to the middle, × radius.
const LEAST: f64 = 1.0 / 3.0;
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
        self.weathered(direction, self.cut(direction))
    }

    /// What is left after the cuts, × radius; the surface is not farther out.
    fn cut(&self, direction: DVec3) -> f64 {
        let stretched: f64 = self.axes.iter().map(|(axis, k)| (k * axis.dot(direction)).powi(2)).sum();
        let ball = 1.0 / stretched.sqrt().max(1.0);
        self.cuts.iter().fold(ball, |reach, (normal, distance)| {
            let along = normal.dot(direction);
            if along * reach > *distance { distance / along } else { reach }
        })
    }

    fn weathered(&self, direction: DVec3, cut: f64) -> f64 {
        let noise = octaves(self.seed, 2.5 * direction + 7.0, 3);
        self.radius * (cut * (1.0 - WEATHER * self.roughness * (1.0 + noise))).max(LEAST)
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
        if distance >= self.radius + gap {
            return false;
        }
        // The noise is what costs most; few places are so near to the surface that it decides.
        let direction = away / distance.max(1e-300);
        let cut = self.cut(direction);
        let most = self.radius * cut.max(LEAST) + gap;
        let least = most - 2.0 * WEATHER * self.roughness * self.radius * cut;
        distance < least || (distance < most && distance < self.weathered(direction, cut) + gap)
    }
}
