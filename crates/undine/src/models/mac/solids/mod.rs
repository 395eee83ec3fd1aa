//! Mass-spring bodies in the liquid of the grid.
//!
//! By default the pressure is solved for liquid and bodies together, so that buoyancy and added mass follow from it and what the
//! liquid loses the bodies gain. Bodies cut the grid as walls do ([`shape`]). A ball is rigid: its velocity is an unknown beside the
//! pressure ([`couple`], after Batty 2007). The faces that a lattice fills move as liquid of its density would, and its springs hold it
//! together after. `coupling = "markers"` is the paper's force between markers and nodes ([`elastic`]).

pub mod couple;
pub mod elastic;
pub mod push;
pub mod remainder;
pub mod shape;
mod sheet;
#[cfg(test)]
mod tests;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use self::shape::Shape;
use super::cuts::Cuts;
use super::layout::Layout;
use super::liquid::Liquid;
use crate::models::springs::Solids;
use crate::scene::{Scene, SolidKind};
use crate::state::springs::Springs;

/// What a body is to the grid.
#[derive(Clone, Debug)]
pub struct Filling {
    /// What it is; the grid does not feel cloth, which fills nothing.
    pub kind: SolidKind,
    /// Density, kg/m³.
    pub density: f64,
    /// Into how many points along each edge the volume of a node is divided, so that the grid sees no gaps.
    pub parts: usize,
    /// What the radius of a ball is multiplied with; see `shape::swell`.
    pub swell: f64,
    /// Impulse from the fluid during the last step, kg m/s.
    pub impulse: DVec3,
}

/// A part of the volume of a lattice's node.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Where it is, in cells.
    at: [f32; 3],
    /// How much, in cells' volumes.
    share: f64,
    /// Whose: the node and the body it belongs to.
    node: u32,
    body: u32,
}

/// Bodies as the grid sees them.
#[derive(Clone, Debug, Default)]
pub struct Immersed {
    /// For each body of the scene.
    pub fillings: Vec<Filling>,
    /// Node positions at rest, m, and for each node the inverse of Σ D Dᵀ over the vectors D to its linked nodes.
    rest: Vec<DVec3>,
    spread: Vec<DMat3>,
    /// Density of the first fluid, kg/m³.
    reference: f64,
    /// Where they are.
    pub shape: Shape,
    /// Where they will be, as far as distances go.
    ahead: Shape,
    /// Forces on nodes during the last step, N.
    pub forces: Vec<DVec3>,
    /// Velocities of nodes at the start of the last step, m/s, and its length, s.
    pub before: (Vec<DVec3>, f64),
    /// Velocities of nodes in the middle of this step, m/s, as far as the liquid knows.
    middle: Vec<DVec3>,
    /// Greatest speed of a node along an axis, cells per second.
    pub rate: f64,
}

impl Immersed {
    /// The bodies of a scene.
    pub fn new(scene: &Scene, layout: &Layout) -> Self {
        let filling = |s: &crate::scene::Solid| Filling {
            kind: s.kind,
            density: s.density,
            parts: (1.5 * s.spacing / layout.shortest() - 1e-6).ceil().clamp(1.0, 6.0) as usize,
            swell: match s.shape {
                crate::scene::shape::Shape::Sphere { radius, .. } => shape::swell(layout, radius),
                _ => 1.0,
            },
            impulse: DVec3::ZERO,
        };
        Immersed {
            fillings: scene.solids.iter().map(filling).collect(),
            reference: scene.fluids.first().map_or(1.0, |f| f.density),
            ..Immersed::default()
        }
    }

    /// Whether no body fills anything.
    pub fn is_empty(&self) -> bool {
        self.fillings.iter().all(|f| f.kind == SolidKind::Cloth)
    }

    /// Takes the bodies' present shape for their rest; to be called once, at the start.
    pub fn settle(&mut self, state: &Springs) {
        self.rest = state.position.clone();
        self.forces = vec![DVec3::ZERO; state.len()];
        self.before = (state.velocity.clone(), 0.0);
        self.spread = (0..state.len())
            .map(|i| {
                let mut sum = DMat3::ZERO;
                for link in state.links(i) {
                    let d = self.rest[link.other as usize] - self.rest[i];
                    sum += DMat3::from_cols(d * d.x, d * d.y, d * d.z);
                }
                if sum.determinant() > 1e-9 * sum.x_axis.x.max(sum.y_axis.y).powi(3) {
                    sum.inverse()
                } else {
                    DMat3::ZERO
                }
            })
            .collect();
    }

    /// How the surroundings of a node are deformed.
    fn deformation(&self, state: &Springs, position: &[DVec3], i: usize) -> DMat3 {
        if self.spread[i] == DMat3::ZERO {
            return DMat3::IDENTITY;
        }
        let mut sum = DMat3::ZERO;
        for link in state.links(i) {
            let j = link.other as usize;
            let (d, rest) = (position[j] - position[i], self.rest[j] - self.rest[i]);
            sum += DMat3::from_cols(d * rest.x, d * rest.y, d * rest.z);
        }
        sum * self.spread[i]
    }

    /// The points of all lattices inside the domain, whose nodes are at `position`, in the order of these.
    fn points(&self, layout: &Layout, state: &Springs, position: &[DVec3], out: &mut Vec<Point>) {
        out.clear();
        for body in (0..state.bodies.len()).filter(|b| self.fillings[*b].kind == SolidKind::Lattice) {
            let nodes = state.bodies[body].nodes.clone().into_par_iter().with_min_len(64);
            out.par_extend(nodes.flat_map_iter(|node| self.points_of(layout, state, position, [body, node])));
        }
    }

    /// Those of a node.
    fn points_of(
        &self,
        layout: &Layout,
        state: &Springs,
        position: &[DVec3],
        [body, node]: [usize; 2],
    ) -> impl Iterator<Item = Point> {
        let Filling { parts, density, .. } = self.fillings[body];
        let each = parts.pow(3);
        let volume = state.mass[node] / density;
        let edge = volume.cbrt() / parts as f64;
        let f = if parts == 1 { DMat3::IDENTITY } else { self.deformation(state, position, node) };
        let middle = 0.5 * (parts as f64 - 1.0);
        let center = position[node];
        let share = volume / each as f64 / layout.volume();
        (0..each).filter_map(move |k| {
            let at = [k % parts, k / parts % parts, k / (parts * parts)].map(|c| (c as f64 - middle) * edge);
            let at = shape::place(layout, center + f * DVec3::from(at))?;
            Some(Point { at, share, node: node as u32, body: body as u32 })
        })
    }

    /// The share of `gravity` that bodies follow: what rests on a wall does not fall, and the liquid must not be told so. It is taken
    /// from the last step.
    pub fn share_of_gravity(&self, state: &Springs, body: usize, gravity: DVec3) -> f64 {
        let dt = self.before.1;
        let g2 = gravity.length_squared();
        if dt == 0.0 || g2 == 0.0 {
            return 1.0;
        }
        let nodes = state.bodies[body].nodes.clone();
        let gain: DVec3 = nodes.map(|i| state.mass[i] * (state.velocity[i] - self.before.0[i])).sum();
        let own = gain - self.fillings[body].impulse;
        (own.dot(gravity) / (state.bodies[body].mass * dt * g2)).clamp(0.0, 1.0)
    }

    /// Follows the bodies: cuts the grid, which walls alone cut as in `bare`. `old` cuts are written over.
    pub fn follow(&mut self, layout: &Layout, bare: &Cuts, solids: &Solids, old: Cuts) -> Cuts {
        let state = solids.state();
        if self.rest.len() != state.len() {
            self.settle(state);
        }
        self.rate = (state.velocity.iter())
            .map(|v| (*v / DVec3::from(layout.h)).abs().max_element())
            .fold(0.0, f64::max);
        let mut shape = std::mem::take(&mut self.shape);
        shape.find_corners(self, layout, state, &state.position);
        let mut cuts = bare.with_solids(layout, [&shape.corners, &shape.round], &shape.near, old);
        shape.find_faces(self, layout, state, bare, &mut cuts);
        self.shape = shape;
        cuts
    }

    /// Forgets the trial step that found the pressure at the start.
    pub fn forget(&mut self) {
        self.forces.fill(DVec3::ZERO);
        self.before.1 = 0.0;
    }

    /// Cells that bodies cover lie as deep under the surface as the liquid beside them.
    pub fn wet_inside(&self, layout: &Layout, bare: &Cuts, cuts: &Cuts, liquid: &mut Liquid) {
        shape::wet_inside(layout, bare, cuts, liquid);
    }
}
