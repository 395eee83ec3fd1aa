//! What a triangle soup needs before it is a mesh: welded corners, its edges, outward orientation, pseudonormals.

use std::collections::HashMap;

use glam::DVec3;

use super::triangle::area_normal;

/// Marks an edge without a neighbour.
pub(crate) const NO_NEIGHBOR: u32 = u32::MAX;

/// Triangles thinner than this (height / longest edge) have no usable normal.
const THIN: f64 = 1e-13;

/// Merges corners at exactly equal positions and drops triangles that lose a corner by it. Exact equality is what
/// STL and split texture seams need, and never closes a gap that was meant.
pub(crate) fn weld(vertices: &[DVec3], triangles: &[[u32; 3]]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let mut seen: HashMap<[u64; 3], u32> = HashMap::with_capacity(vertices.len());
    let mut welded: Vec<DVec3> = Vec::with_capacity(vertices.len());
    let merged: Vec<u32> = vertices
        .iter()
        .map(|v| {
            // + 0 makes -0 and 0 the same bits.
            let key = (*v + DVec3::ZERO).to_array().map(f64::to_bits);
            *seen.entry(key).or_insert_with(|| {
                welded.push(*v);
                welded.len() as u32 - 1
            })
        })
        .collect();
    let triangles = triangles
        .iter()
        .map(|t| t.map(|i| merged[i as usize]))
        .filter(|[a, b, c]| a != b && b != c && c != a)
        .collect();
    (welded, triangles)
}

/// Whether a triangle has an area worth the name.
pub(crate) fn is_solid(corners: [DVec3; 3]) -> bool {
    let [a, b, c] = corners;
    let longest2 = a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a));
    area_normal(corners).length() > THIN * longest2
}

/// Every edge as (its two corners, lower first; whether it runs downward; 4 · triangle + its number there), sorted so
/// that the triangles of an edge lie side by side.
fn sorted_edges(triangles: &[[u32; 3]]) -> Vec<(u64, bool, u32)> {
    let mut edges = Vec::with_capacity(3 * triangles.len());
    for (t, triangle) in triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (triangle[k], triangle[(k + 1) % 3]);
            let key = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
            edges.push((key, a > b, (4 * t + k) as u32));
        }
    }
    edges.sort_unstable();
    edges
}

/// Whether every edge is shared by exactly two triangles that run along it in opposite directions.
pub(crate) fn is_closed(triangles: &[[u32; 3]]) -> bool {
    let edges = sorted_edges(triangles);
    !edges.is_empty()
        && edges.chunk_by(|a, b| a.0 == b.0).all(|edge| edge.len() == 2 && edge[0].1 != edge[1].1)
}

/// The triangle across each edge, [`NO_NEIGHBOR`] where there is none or more than one.
pub(crate) fn neighbors(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut across = vec![[NO_NEIGHBOR; 3]; triangles.len()];
    for edge in sorted_edges(triangles).chunk_by(|a, b| a.0 == b.0) {
        if let [(_, _, a), (_, _, b)] = *edge {
            across[(a / 4) as usize][(a % 4) as usize] = b / 4;
            across[(b / 4) as usize][(b % 4) as usize] = a / 4;
        }
    }
    across
}

/// Pseudonormals of the corners: face normals weighted by the angle at the corner (Bærentzen and Aanæs 2005), the
/// only weights for which the sign of the distance is right at a corner.
pub(crate) fn vertex_normals(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; vertices.len()];
    for triangle in triangles {
        let corners = triangle.map(|i| vertices[i as usize]);
        let normal = area_normal(corners).normalize_or_zero();
        for k in 0..3 {
            let (p, q) = (corners[(k + 1) % 3] - corners[k], corners[(k + 2) % 3] - corners[k]);
            let angle = p.cross(q).length().atan2(p.dot(q));
            normals[triangle[k] as usize] += normal * angle;
        }
    }
    normals
}

/// Enclosed volume by the divergence theorem, m³; negative when the corners run clockwise seen from outside.
pub(crate) fn signed_volume(vertices: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    // About a corner of the mesh, so that a small mesh far from the origin keeps its digits.
    let Some(&[first, ..]) = triangles.first() else { return 0.0 };
    let about = vertices[first as usize];
    let six: f64 = triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|i| vertices[i as usize] - about);
            a.dot(b.cross(c))
        })
        .sum();
    six / 6.0
}
