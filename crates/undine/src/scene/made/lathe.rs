//! Bodies of revolution: vessels, funnels, pipes.

use std::f64::consts::TAU;

use glam::{DVec2, DVec3};

use crate::scene::mesh::TriMesh;

/// Turns a closed outline about the y axis. Points are (radius, y), m; the last is joined to the first, and those on
/// the axis become one corner each. `None` when the outline encloses nothing or leaves the side x ≥ 0.
pub fn lathe(outline: &[DVec2], sides: u32) -> Option<TriMesh> {
    let n = outline.len();
    if n < 3 || sides < 3 || outline.iter().any(|p| p.is_nan() || p.x < 0.0) {
        return None;
    }
    let next = |i: usize| outline[(i + 1) % n];
    let area: f64 = (0..n).map(|i| outline[i].perp_dot(next(i))).sum();
    let size = outline.iter().fold(0.0_f64, |most, p| most.max(p.abs().max_element()));
    if area.abs() <= 1e-12 * size * size {
        return None;
    }
    let mut vertices = Vec::new();
    // First corner of each point's ring.
    let mut ring = Vec::with_capacity(n);
    for p in outline {
        ring.push(vertices.len() as u32);
        let count = if p.x == 0.0 { 1 } else { sides };
        vertices.extend((0..count).map(|k| {
            let (sin, cos) = (TAU * f64::from(k) / f64::from(sides)).sin_cos();
            DVec3::new(p.x * cos, p.y, p.x * sin)
        }));
    }
    let corner = |i: usize, k: u32| ring[i] + if outline[i].x == 0.0 { 0 } else { k % sides };
    let mut triangles = Vec::new();
    for i in 0..n {
        let j = (i + 1) % n;
        for k in 0..sides {
            let [a, b, c, d] = [corner(i, k), corner(i, k + 1), corner(j, k + 1), corner(j, k)];
            // One or both are no triangles where the outline is on the axis.
            triangles
                .extend([[a, b, c], [a, c, d]].into_iter().filter(|[a, b, c]| a != b && b != c && c != a));
        }
    }
    let mesh = TriMesh::from_parts(&vertices, triangles);
    mesh.is_closed().then_some(mesh)
}
