//! Meshes from formulas.

use std::collections::HashMap;

use glam::DVec3;

use super::mesh::TriMesh;

/// Subdivisions beyond this exceed the largest mesh.
const MAX_SUBDIVISIONS: u32 = 10;

impl TriMesh {
    /// An icosahedron whose triangles are split in four `subdivisions` times (at most 10), corners on the sphere.
    pub fn icosphere(center: DVec3, radius: f64, subdivisions: u32) -> Self {
        let (vertices, triangles) = Self::icosphere_parts(subdivisions);
        let vertices: Vec<DVec3> = vertices.into_iter().map(|v| center + radius * v).collect();
        Self::from_parts(&vertices, triangles)
    }

    /// Corners and triangles of the unit icosphere.
    pub(super) fn icosphere_parts(subdivisions: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let g = (1.0 + 5.0_f64.sqrt()) / 2.0;
        let mut vertices: Vec<DVec3> = Vec::from(
            [
                [-1.0, g, 0.0],
                [1.0, g, 0.0],
                [-1.0, -g, 0.0],
                [1.0, -g, 0.0],
                [0.0, -1.0, g],
                [0.0, 1.0, g],
                [0.0, -1.0, -g],
                [0.0, 1.0, -g],
                [g, 0.0, -1.0],
                [g, 0.0, 1.0],
                [-g, 0.0, -1.0],
                [-g, 0.0, 1.0],
            ]
            .map(|v| DVec3::from(v).normalize()),
        );
        #[rustfmt::skip]
        let mut triangles: Vec<[u32; 3]> = vec![
            [0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11],
            [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8],
            [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9],
            [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1],
        ];
        for _ in 0..subdivisions.min(MAX_SUBDIVISIONS) {
            let mut middles: HashMap<(u32, u32), u32> = HashMap::new();
            let mut middle = |a: u32, b: u32| {
                *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    vertices.push((vertices[a as usize] + vertices[b as usize]).normalize());
                    vertices.len() as u32 - 1
                })
            };
            triangles = triangles
                .iter()
                .flat_map(|&[a, b, c]| {
                    let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
                    [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
                })
                .collect();
        }
        (vertices, triangles)
    }

    /// An axis-aligned box of twelve triangles.
    pub fn cuboid(min: DVec3, max: DVec3) -> Self {
        let corner = |k: u32| {
            let pick = |bit: u32, axis: usize| if k >> bit & 1 == 1 { max[axis] } else { min[axis] };
            DVec3::new(pick(0, 0), pick(1, 1), pick(2, 2))
        };
        // Corner k has the upper x, y, z where bits 0, 1, 2 are set.
        let quads: [[u32; 4]; 6] =
            [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        Self::from_parts(&(0..8).map(corner).collect::<Vec<_>>(), triangles)
    }
}
