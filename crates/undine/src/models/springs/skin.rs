//! The skin of a body: points at which a fluid feels it.

use glam::DVec3;

use crate::scene::SolidKind;
use crate::state::springs::{Body, Springs};

/// Nodes as near as this, × the fluid's spacing, are dense enough to be the skin themselves.
const DENSE: f64 = 1.2;

/// A body with a skin of more points than this is far larger than any fluid around it can be; it is felt at its nodes only.
const MOST: f64 = 1e7;

/// A point that moves with up to three nodes: x = Σ w x_node + offset, v = Σ w v_node. A force on it goes to its nodes
/// by the same weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkinPoint {
    /// Its nodes; with weight 0 where it has fewer.
    pub nodes: [u32; 3],
    /// Their weights, 1 in sum.
    pub weights: [f32; 3],
    /// From the weighted mean of the nodes to the point, m; of a ball, which does not turn.
    pub offset: DVec3,
}

impl SkinPoint {
    fn node(node: usize) -> Self {
        SkinPoint { nodes: [node as u32; 3], weights: [1.0, 0.0, 0.0], offset: DVec3::ZERO }
    }

    fn mean(&self, of: &[DVec3]) -> DVec3 {
        self.shares().map(|(node, w)| of[node] * w).sum()
    }

    /// The nodes and their weights.
    pub fn shares(&self) -> impl Iterator<Item = (usize, f64)> {
        let all = self.nodes.into_iter().zip(self.weights);
        all.filter(|(_, w)| *w != 0.0).map(|(node, w)| (node as usize, f64::from(w)))
    }

    /// Where it is, m.
    pub fn position(&self, state: &Springs) -> DVec3 {
        self.mean(&state.position) + self.offset
    }

    /// How it moves, m/s.
    pub fn velocity(&self, state: &Springs) -> DVec3 {
        self.mean(&state.velocity)
    }
}

/// The skin of a body for a fluid of the given spacing, m.
pub(super) fn skin(state: &Springs, body: &Body, spacing: f64) -> Vec<SkinPoint> {
    match body.kind {
        SolidKind::Ball => ball(state, body, spacing),
        SolidKind::Lattice if body.spacing > DENSE * spacing && !body.triangles.is_empty() => {
            surface(state, body, spacing)
        }
        // A wide weave has pores.
        SolidKind::Lattice | SolidKind::Cloth => body.nodes.clone().map(SkinPoint::node).collect(),
    }
}

/// Points evenly on a sphere (a Fibonacci lattice), half a spacing inside, where particles of the body would be.
fn ball(state: &Springs, body: &Body, spacing: f64) -> Vec<SkinPoint> {
    let node = body.nodes.start;
    let r = state.radius[node] - 0.5 * spacing;
    let n = (4.0 * std::f64::consts::PI * (r / spacing).powi(2)).ceil();
    // Smaller than a particle, or without bounds.
    if r <= 0.0 || n < 4.0 || n.is_nan() || n > MOST {
        return vec![SkinPoint::node(node)];
    }
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let point = |k: u64| {
        let y = 1.0 - 2.0 * (k as f64 + 0.5) / n;
        let (sin, cos) = (golden * k as f64).sin_cos();
        let across = (1.0 - y * y).sqrt();
        SkinPoint { offset: r * DVec3::new(across * cos, y, across * sin), ..SkinPoint::node(node) }
    };
    (0..n as u64).map(point).collect()
}

/// Each triangle of the border in m² equal parts of about a spacing squared, a point in the middle of each.
fn surface(state: &Springs, body: &Body, spacing: f64) -> Vec<SkinPoint> {
    let mut points = Vec::new();
    let corners = |t: &[u32; 3]| t.map(|i| body.nodes.start as u32 + i);
    let parts = |nodes: [u32; 3]| {
        let [a, b, c] = nodes.map(|i| state.position[i as usize]);
        let area = 0.5 * (b - a).cross(c - a).length();
        (area.sqrt() / spacing).round().max(1.0)
    };
    let all: f64 = body.triangles.iter().map(|t| parts(corners(t)).powi(2)).sum();
    if all.is_nan() || all > MOST {
        return body.nodes.clone().map(SkinPoint::node).collect();
    }
    for t in &body.triangles {
        let nodes = corners(t);
        let m = parts(nodes) as u32;
        let third = 1.0 / 3.0;
        let mut push = |u: f64, v: f64| {
            let [u, v] = [u / f64::from(m), v / f64::from(m)];
            let weights = [(1.0 - u - v) as f32, u as f32, v as f32];
            points.push(SkinPoint { nodes, weights, offset: DVec3::ZERO });
        };
        for j in 0..m {
            for i in 0..m - j {
                let (u, v) = (f64::from(i), f64::from(j));
                push(u + third, v + third);
                if i + j + 1 < m {
                    push(u + 2.0 * third, v + 2.0 * third);
                }
            }
        }
    }
    points
}
