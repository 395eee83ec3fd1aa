//! Lattices: a shape filled with nodes, each joined to its 26 neighbours.

use glam::DVec3;

use super::grid::NodeGrid;
use crate::scene::Solid;
use crate::state::springs::Springs;

/// Half of the 26 neighbours: three along edges of a cell, six across its faces, four across its body. The first keep
/// lengths, the others angles and volume.
#[rustfmt::skip]
const FORWARD: [[i64; 3]; 13] = [
    [1, 0, 0], [0, 1, 0], [0, 0, 1],
    [1, 1, 0], [-1, 1, 0], [1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1],
    [1, 1, 1], [-1, 1, 1], [1, -1, 1], [-1, -1, 1],
];

/// The faces of a cell as corners, counter-clockwise from outside in a right-handed frame, and where the next cell is.
#[rustfmt::skip]
const FACES: [([usize; 4], [i64; 3]); 6] = [
    ([0, 4, 6, 2], [-1, 0, 0]), ([1, 3, 7, 5], [1, 0, 0]),
    ([0, 1, 5, 4], [0, -1, 0]), ([2, 6, 7, 3], [0, 1, 0]),
    ([0, 2, 3, 1], [0, 0, -1]), ([4, 5, 7, 6], [0, 0, 1]),
];

/// Fills the shape; returns the border's triangles and the nodes along its longest side.
pub(super) fn build(solid: &Solid, state: &mut Springs) -> (Vec<[u32; 3]>, f64) {
    let points = solid.shape.fill(solid.spacing);
    let grid = NodeGrid::of_shape(&solid.shape, &points, solid.spacing);
    // The mass of the body is exact whatever the spacing.
    let mass = solid.density * solid.shape.volume() / points.len().max(1) as f64;
    let first = state.len() as u32;
    for p in &points {
        state.push_node(*p, solid.velocity, mass, 0.5 * solid.spacing);
    }
    for i in 0..points.len() {
        for other in FORWARD.iter().filter_map(|offset| grid.at(i, *offset)) {
            state.push_spring(first + i as u32, first + other, solid.stiffness, solid.damping);
        }
    }
    (border(&grid, &points), grid.longest())
}

/// The faces that belong to one cell only.
fn border(grid: &NodeGrid, points: &[DVec3]) -> Vec<[u32; 3]> {
    let cells: Vec<_> = (0..points.len()).map(|i| grid.cell(i)).collect();
    let mut triangles = Vec::new();
    for (i, cell) in cells.iter().enumerate() {
        let Some(cell) = cell else { continue };
        for (face, next) in &FACES {
            if grid.at(i, *next).is_some_and(|next| cells[next as usize].is_some()) {
                continue;
            }
            let mut q = face.map(|corner| cell[corner]);
            if !grid.right_handed {
                q.reverse();
            }
            triangles.extend([[q[0], q[1], q[2]], [q[0], q[2], q[3]]]);
        }
    }
    triangles
}
