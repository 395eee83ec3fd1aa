//! From the solids of a scene to nodes and springs.

use std::collections::HashMap;

use glam::{DMat3, DVec3};

use super::{cloth, lattice};
use crate::scene::shape::Shape;
use crate::scene::{Pin, Scene, Solid, SolidKind};
use crate::state::springs::{Body, Springs};

/// All solids of a scene at time 0.
pub(super) fn build(scene: &Scene) -> Springs {
    let mut state = Springs::default();
    for solid in &scene.solids {
        let body = build_body(solid, &mut state);
        state.bodies.push(body);
    }
    state.link();
    for b in 0..state.bodies.len() {
        let highest = highest_frequency(&state, state.bodies[b].nodes.clone());
        state.bodies[b].highest_frequency = highest;
        state.bodies[b].lowest_frequency *= highest;
    }
    state
}

fn build_body(solid: &Solid, state: &mut Springs) -> Body {
    let (node, spring) = (state.len(), state.pair.len());
    let (mut triangles, mut corners, mut spacing, mut longest) = (Vec::new(), Vec::new(), solid.spacing, 1.0);
    match (solid.kind, &solid.shape) {
        (SolidKind::Ball, Shape::Sphere { center, radius }) => {
            spacing = *radius;
            state.push_node(*center, solid.velocity, solid.density * solid.shape.volume(), *radius);
        }
        (SolidKind::Cloth, _) => {
            let sheet = cloth::build(solid, state);
            (triangles, corners) = (sheet.triangles, sheet.corners);
            (spacing, longest) = (sheet.spacing, sheet.longest);
        }
        _ => (triangles, longest) = lattice::build(solid, state),
    }
    let nodes = node..state.len();
    for pin in &solid.pinned {
        for i in held_by(pin, state, nodes.clone(), &triangles, &corners, spacing) {
            state.pinned[i] = true;
            state.velocity[i] = DVec3::ZERO;
        }
    }
    Body {
        name: solid.name.clone(),
        kind: solid.kind,
        springs: spring..state.pair.len(),
        triangles,
        spacing,
        friction: solid.friction,
        mass: state.mass[nodes.clone()].iter().sum(),
        lightest: state.mass[nodes.clone()].iter().copied().fold(f64::INFINITY, f64::min),
        is_held: state.pinned[nodes.clone()].contains(&true),
        // The longest standing wave over n nodes, as a share of the highest frequency; see `build`.
        lowest_frequency: if state.pair.len() > spring { std::f64::consts::FRAC_PI_2 / longest } else { 0.0 },
        highest_frequency: 0.0,
        nodes,
    }
}

/// The nodes that a pin holds.
fn held_by(
    pin: &Pin,
    state: &Springs,
    nodes: std::ops::Range<usize>,
    triangles: &[[u32; 3]],
    corners: &[u32],
    spacing: f64,
) -> Vec<usize> {
    let first = nodes.start;
    let position = &state.position;
    match pin {
        Pin::Corners => corners.iter().map(|c| first + *c as usize).collect(),
        Pin::Edges => border_nodes(triangles).into_iter().map(|n| first + n as usize).collect(),
        Pin::Side(axis, upper) => {
            let along = |i: usize| if *upper { position[i][*axis] } else { -position[i][*axis] };
            let most = nodes.clone().map(along).fold(f64::NEG_INFINITY, f64::max);
            nodes.filter(|i| along(*i) > most - 0.25 * spacing).collect()
        }
        Pin::Within(shape) => nodes.filter(|i| shape.nearest(position[*i]).distance <= 0.0).collect(),
    }
}

/// Corners of edges that belong to one triangle only.
fn border_nodes(triangles: &[[u32; 3]]) -> Vec<u32> {
    let mut edges: HashMap<[u32; 2], u32> = HashMap::new();
    for t in triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            *edges.entry([a.min(b), a.max(b)]).or_default() += 1;
        }
    }
    let mut nodes: Vec<u32> = edges.into_iter().filter(|e| e.1 == 1).flat_map(|e| e.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Upper bound of the frequencies of a body, rad/s: ω² ≤ 2 λ/m, with λ the greatest eigenvalue of Σ k n̂n̂ᵀ of a node's
/// springs, bounded by the sums of its rows.
fn highest_frequency(state: &Springs, nodes: std::ops::Range<usize>) -> f64 {
    let mut most = 0.0f64;
    for i in nodes.filter(|i| !state.pinned[*i]) {
        let mut sum = DMat3::ZERO;
        for link in state.links(i) {
            let n = (state.position[link.other as usize] - state.position[i]).normalize_or_zero();
            let kn = state.stiffness[link.spring as usize] * n;
            sum += DMat3::from_cols(kn * n.x, kn * n.y, kn * n.z);
        }
        let rows = [sum.x_axis, sum.y_axis, sum.z_axis].map(|row| row.abs().element_sum());
        most = most.max(2.0 * rows[0].max(rows[1]).max(rows[2]) / state.mass[i]);
    }
    most.sqrt()
}
