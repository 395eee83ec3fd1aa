//! Cloth: sheets with structure, shear and bend springs.

use std::collections::BTreeMap;

use glam::DVec3;

use super::grid::NodeGrid;
use crate::scene::Solid;
use crate::scene::mesh::TriMesh;
use crate::scene::shape::Shape;
use crate::state::springs::Springs;

/// Neighbours that hold the weave, its angles, and the sheet flat. Bend springs reach over two nodes.
const STRUCTURE: [[i64; 3]; 2] = [[1, 0, 0], [0, 1, 0]];
const SHEAR: [[i64; 3]; 2] = [[1, 1, 0], [-1, 1, 0]];
const BEND: [[i64; 3]; 2] = [[2, 0, 0], [0, 2, 0]];

/// A node of a mesh is at least this share of the mean mass: slivers would make it too light to integrate.
const LIGHTEST: f64 = 1e-2;

/// What a sheet is besides nodes and springs.
pub(super) struct Sheet {
    pub(super) triangles: Vec<[u32; 3]>,
    /// Numbers of the corner nodes, from the first of the body.
    pub(super) corners: Vec<u32>,
    /// Distance of neighbouring nodes, m.
    pub(super) spacing: f64,
    /// Nodes along its longest side.
    pub(super) longest: f64,
}

/// Weaves a sheet.
pub(super) fn build(solid: &Solid, state: &mut Springs) -> Sheet {
    match &solid.shape {
        Shape::Mesh(mesh) => sew(solid, mesh, state),
        Shape::Box { min, max } => {
            let (points, place, spacing) = weave_box(*min, *max, solid.spacing);
            weave(solid, &points, &NodeGrid::new(place, true), spacing, true, state)
        }
        shape => {
            let points = shape.fill(solid.spacing);
            let grid = flat(NodeGrid::of_shape(shape, &points, solid.spacing), &points);
            weave(solid, &points, &grid, solid.spacing, false, state)
        }
    }
}

/// The middle plane of a box from edge to edge: the pitch is as near to the spacing as whole numbers allow.
fn weave_box(min: DVec3, max: DVec3, spacing: f64) -> (Vec<DVec3>, Vec<[i64; 3]>, f64) {
    let size = max - min;
    let normal = (0..3).fold(0, |thin, a| if size[a] < size[thin] { a } else { thin });
    let (u, v) = ((normal + 1) % 3, (normal + 2) % 3);
    let cells = |a: usize| (size[a] / spacing).round().max(1.0);
    let (nu, nv) = (cells(u), cells(v));
    let (mut points, mut place) = (Vec::new(), Vec::new());
    for j in 0..=nv as i64 {
        for i in 0..=nu as i64 {
            let mut p = 0.5 * (min + max);
            p[u] = min[u] + size[u] * (i as f64 / nu);
            p[v] = min[v] + size[v] * (j as f64 / nv);
            points.push(p);
            place.push([i, j, 0]);
        }
    }
    (points, place, (size[u] / nu).min(size[v] / nv))
}

/// A disc's grid lies across one of its axes: the other two become the first.
fn flat(grid: NodeGrid, points: &[DVec3]) -> NodeGrid {
    let used = |offset: [i64; 3]| (0..points.len()).any(|i| grid.at(i, offset).is_some());
    let axes: Vec<usize> = (0..3).filter(|a| used(std::array::from_fn(|k| i64::from(k == *a)))).collect();
    let (u, v) = (axes.first().copied().unwrap_or(0), axes.get(1).copied().unwrap_or(1));
    NodeGrid::new((0..points.len()).map(|i| [grid.place(i)[u], grid.place(i)[v], 0]).collect(), true)
}

fn weave(
    solid: &Solid,
    points: &[DVec3],
    grid: &NodeGrid,
    spacing: f64,
    has_corners: bool,
    state: &mut Springs,
) -> Sheet {
    let first = state.len() as u32;
    let quad = |i: usize| {
        let [b, c, d] = [[1, 0, 0], [1, 1, 0], [0, 1, 0]].map(|offset| grid.at(i, offset));
        Some([i as u32, b?, c?, d?])
    };
    let quads: Vec<[u32; 4]> = (0..points.len()).filter_map(quad).collect();
    // A node has a quarter of each quad around it; those of a round sheet's ragged edge share alike.
    let area = |q: &[u32; 4]| {
        let [a, b, _, d] = q.map(|i| points[i as usize]);
        (b - a).cross(d - a).length()
    };
    let mut share = vec![0.0; points.len()];
    let mut around = vec![0; points.len()];
    for q in &quads {
        for &i in q {
            share[i as usize] += 0.25 * area(q);
            around[i as usize] += 1;
        }
    }
    if let Shape::Disc { radius, .. } = solid.shape {
        share.fill(std::f64::consts::PI * radius * radius / points.len().max(1) as f64);
    }
    let areal = solid.density * solid.thickness;
    for (p, share) in points.iter().zip(&share) {
        state.push_node(*p, solid.velocity, areal * share, 0.5 * spacing);
    }
    let bend = solid.bend;
    for i in 0..points.len() {
        for (offsets, share) in [(&STRUCTURE, 1.0), (&SHEAR, 1.0), (&BEND, bend)] {
            for other in offsets.iter().filter_map(|offset| grid.at(i, *offset)).filter(|_| share > 0.0) {
                let (k, z) = (share * solid.stiffness, share * solid.damping);
                state.push_spring(first + i as u32, first + other, k, z);
            }
        }
    }
    let corners = (0..points.len() as u32).filter(|i| has_corners && around[*i as usize] == 1).collect();
    let triangles = quads.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    Sheet { triangles, corners, spacing, longest: grid.longest() }
}

/// A mesh: its corners are the nodes, its edges the springs; bend springs join the corners across an edge.
fn sew(solid: &Solid, mesh: &TriMesh, state: &mut Springs) -> Sheet {
    let first = state.len() as u32;
    let mut share = vec![0.0; mesh.vertices.len()];
    // The corners across each edge.
    let mut edges: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
    for (t, corners) in mesh.triangles.iter().enumerate() {
        let [a, b, c] = mesh.corners(t);
        let third = (b - a).cross(c - a).length() / 6.0;
        for k in 0..3 {
            share[corners[k] as usize] += third;
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            edges.entry([a.min(b), a.max(b)]).or_default().push(corners[(k + 2) % 3]);
        }
    }
    let mean = share.iter().sum::<f64>() / share.len().max(1) as f64;
    let length = |[a, b]: &[u32; 2]| mesh.vertices[*a as usize].distance(mesh.vertices[*b as usize]);
    let spacing = edges.keys().map(length).sum::<f64>() / edges.len().max(1) as f64;
    for (p, share) in mesh.vertices.iter().zip(&share) {
        let mass = solid.density * solid.thickness * share.max(LIGHTEST * mean);
        state.push_node(*p, solid.velocity, mass, 0.5 * spacing);
    }
    for (&[a, b], across) in &edges {
        state.push_spring(first + a, first + b, solid.stiffness, solid.damping);
        if let &[c, d] = &across[..]
            && c != d
            && solid.bend > 0.0
            && !edges.contains_key(&[c.min(d), c.max(d)])
        {
            let share = solid.bend;
            state.push_spring(first + c, first + d, share * solid.stiffness, share * solid.damping);
        }
    }
    let size = mesh.bounds().size().max_element();
    let longest = (size / spacing.max(1e-300) + 1.0).round();
    Sheet { triangles: mesh.triangles.clone(), corners: Vec::new(), spacing, longest }
}
