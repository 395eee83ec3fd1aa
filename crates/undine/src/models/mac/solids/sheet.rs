//! The paper's force between markers and triangles (Génevaux 2003, section 6, its future work): cloth, and meshes as shells.
//!
//! A marker is held off by the nearest triangle of a sheet alone, along the line to its nearest point, on whichever side it is. The
//! triangle's corners share the reaction by how near that point is to each, so that neither momentum nor torque is lost.

use glam::DVec3;
use rayon::prelude::*;

use super::elastic::{Elastic, Field};
use crate::scene::triangle::{area_normal, nearest_point};

/// A marker near a triangle.
#[derive(Clone, Copy)]
struct Near {
    marker: u32,
    triangle: u32,
    distance: f64,
    /// Where on the triangle.
    point: DVec3,
    /// Its cell, padded, and for how many markers it stands.
    cell: u32,
    each: f64,
}

/// What acts on nodes and on the liquid of cells, N.
#[derive(Default)]
pub(super) struct Grip {
    pub(super) nodes: Vec<(usize, DVec3)>,
    pub(super) cells: Vec<(u32, DVec3)>,
}

/// The forces between a sheet and the markers near it.
pub(super) fn hold_off(elastic: &Elastic, field: &Field, body: usize) -> Grip {
    let state = field.state;
    let (sheet, first) = (&state.bodies[body], state.bodies[body].nodes.start);
    let corners = |t: usize| sheet.triangles[t].map(|i| first + i as usize);
    let places = |t: usize| corners(t).map(|i| state.position[i]);
    let mut near: Vec<Near> = (0..sheet.triangles.len())
        .into_par_iter()
        .flat_map_iter(|t| markers_near(elastic, field, body, t as u32, places(t)))
        .collect();
    // Of all triangles near a marker the nearest, of equals the first.
    near.sort_unstable_by(|a, b| {
        (a.marker, a.distance, a.triangle)
            .partial_cmp(&(b.marker, b.distance, b.triangle))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    near.dedup_by_key(|n| n.marker);
    let mut grip = Grip::default();
    for n in near {
        let (nodes, triangle) = (corners(n.triangle as usize), places(n.triangle as usize));
        let share = shares(n.point, triangle);
        let velocity = (0..3).map(|k| share[k] * state.velocity[nodes[k]]).sum::<DVec3>();
        let away = field.layout.world(field.markers.x[n.marker as usize]) - n.point;
        let force = elastic.force(field, body, n.marker as usize, (away, velocity)) * n.each;
        grip.cells.push((n.cell, force));
        grip.nodes.extend((0..3).map(|k| (nodes[k], -share[k] * force)));
    }
    grip
}

fn markers_near(
    elastic: &Elastic,
    field: &Field,
    body: usize,
    triangle: u32,
    places: [DVec3; 3],
) -> Vec<Near> {
    let [a, b, c] = places;
    let (low, high) = (a.min(b).min(c), a.max(b).max(c));
    let mut found = Vec::new();
    elastic.each_near(field, body, [low, high], |marker, cell, each| {
        let x = field.layout.world(field.markers.x[marker]);
        let (point, _) = nearest_point(x, places);
        let distance = x.distance(point);
        if distance <= elastic.radius[body] && distance > 0.0 {
            found.push(Near { marker: marker as u32, triangle, distance, point, cell, each });
        }
    });
    found
}

/// Shares of the corners in a point of a triangle.
fn shares(p: DVec3, [a, b, c]: [DVec3; 3]) -> [f64; 3] {
    let normal = area_normal([a, b, c]);
    let whole = normal.length_squared();
    if whole == 0.0 {
        return [1.0 / 3.0; 3];
    }
    let of = |q: DVec3, r: DVec3| area_normal([p, q, r]).dot(normal) / whole;
    let (of_a, of_b) = (of(b, c), of(c, a));
    [of_a, of_b, 1.0 - of_a - of_b]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_share_a_point_by_nearness() {
        let triangle = [DVec3::ZERO, DVec3::X * 2.0, DVec3::Y * 3.0];
        let share = [0.2, 0.5, 0.3];
        let p = (0..3).map(|k| share[k] * triangle[k]).sum::<DVec3>();
        let found = shares(p, triangle);
        assert!((0..3).all(|k| (found[k] - share[k]).abs() < 1e-12), "{found:?}");
    }
}
