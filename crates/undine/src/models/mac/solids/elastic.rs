//! The paper's coupling (Génevaux 2003, section 3): a visco-elastic force between markers and nodes that are near each other.
//!
//! Each marker stands for a volume of liquid, and the force is in proportion to it, so that neither the number of markers nor the
//! subset of them that is used changes the motion.

use std::ops::Range;

use glam::DVec3;
use rayon::prelude::*;

use crate::models::mac::layout::Layout;
use crate::models::mac::transfer::{Faces, velocity_at};
use crate::scene::{Interaction, Scene, SolidKind};
use crate::state::markers::{Markers, Order};
use crate::state::springs::Springs;

/// Radius of nodes of lattices and cloth, × the edge of what they fill: there are no holes from half the diagonal on.
const COVER: f64 = 0.87;
/// Share of its radius by which water presses into a body that holds off the pressure of its own diameter's depth.
const GIVE: f64 = 0.1;
/// Damping, as a share of the critical one.
const DAMPING: f64 = 0.2;

/// The force between markers and nodes.
#[derive(Clone, Debug, Default)]
pub struct Elastic {
    /// Distance R up to which it acts, m, of the nodes of each body.
    radius: Vec<f64>,
    /// Rest length d_int, × R.
    length: f64,
    /// k_int, N/m, and z_int, N s/m, per volume of liquid (m³), for each body.
    stiffness: Vec<f64>,
    damping: Vec<f64>,
    /// Of the markers of each cell one of so many is used.
    subset: u32,
    /// The largest step that follows it, s.
    pub limit: f64,
}

/// What acts on a node, and on the liquid of cells.
type Reaction = (DVec3, Vec<(u32, DVec3)>);

impl Elastic {
    /// The force in a scene; what is not given follows from densities, gravity and sizes.
    pub fn new(scene: &Scene) -> Self {
        let Interaction { radius, length, stiffness, damping, subset } = scene.model.mac.interaction;
        let density = scene.fluids.first().map_or(1.0, |f| f.density);
        let g = scene.gravity.length();
        let mut own = Elastic { length, subset: subset as u32, limit: f64::INFINITY, ..Elastic::default() };
        for s in &scene.solids {
            let r = match (radius, s.kind, &s.shape) {
                (Some(r), _, _) => r,
                (None, SolidKind::Ball, crate::scene::shape::Shape::Sphere { radius, .. }) => *radius,
                _ => COVER * s.spacing,
            };
            // Liquid that has gone in by δ is held by κδ²/2; that is to be ρg·2R, or what stops a throw.
            let size = s.shape.bounds().size().max_element().max(2.0 * r);
            let held = (density * g * size).max(0.5 * density * s.velocity.length_squared());
            let k = stiffness.unwrap_or(2.0 * held / (GIVE * r).powi(2));
            own.stiffness.push(k);
            own.damping.push(damping.unwrap_or(2.0 * DAMPING * (k * density).sqrt()));
            own.radius.push(r);
            let fastest = (k / density).max(3.0 * GIVE * k / s.density).sqrt();
            own.limit = own.limit.min(0.8 / fastest.max(1e-30));
        }
        own
    }

    /// Accelerates the liquid for `kick`, s, and returns the forces on nodes, N. Markers are in order.
    pub fn act(
        &self,
        layout: &Layout,
        state: &Springs,
        (markers, order): (&Markers, &Order),
        u: &mut Faces,
        mass: impl Fn(usize, usize) -> f64,
        (volume, kick): (f64, f64),
    ) -> Vec<DVec3> {
        let bodies = state.bodies.iter().enumerate();
        let nodes: Vec<(usize, usize)> =
            bodies.flat_map(|(b, body)| body.nodes.clone().map(move |i| (b, i))).collect();
        let field = &*u;
        let found: Vec<Reaction> = nodes
            .par_iter()
            .map(|&(b, i)| self.around(layout, state, b, i, markers, order, field, volume))
            .collect();
        let mut cells = vec![DVec3::ZERO; layout.len()];
        let mut out = vec![DVec3::ZERO; state.len()];
        let mut touched = Vec::new();
        for (&(_, i), (force, on_cells)) in nodes.iter().zip(&found) {
            out[i] = *force;
            for (cell, f) in on_cells {
                cells[*cell as usize] += *f;
                touched.push(*cell as usize);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        // Half of a cell's force to either face.
        for &i in &touched {
            for a in 0..3 {
                for face in [i, i + layout.stride[a]] {
                    u[a][face] += (0.5 * kick * cells[i][a] / mass(a, face)) as f32;
                }
            }
        }
        for field in u.iter_mut() {
            layout.wrap(field);
        }
        out
    }

    /// The markers of a cell that are used, and for how many each stands. There is at least one, for else liquid would come in
    /// where by chance there is none; which they are changes as they move, so that no place is always seen by the same ones.
    fn chosen(&self, markers: &Markers, all: Range<u32>) -> (impl Iterator<Item = usize>, f64) {
        let count = all.end - all.start;
        let used = ((count + self.subset / 2) / self.subset).max(u32::from(count > 0));
        let first = if used == count {
            0
        } else {
            let x = markers.x[all.start as usize].map(f32::to_bits);
            let mixed = (x[0] ^ x[1].rotate_left(11) ^ x[2].rotate_left(22)).wrapping_mul(0x9E37_79B9);
            mixed >> 16
        };
        let chosen = (0..used).map(move |k| {
            let at =
                (u64::from(first) + u64::from(k) * u64::from(count) / u64::from(used)) % u64::from(count);
            all.start as usize + at as usize
        });
        (chosen, f64::from(count) / f64::from(used.max(1)))
    }

    /// Section 3.1, f = -k_int (|x| - d_int) - z_int d|x|/dt for |x| ≤ R, of all markers around a node.
    #[allow(clippy::too_many_arguments)]
    fn around(
        &self,
        layout: &Layout,
        state: &Springs,
        body: usize,
        node: usize,
        markers: &Markers,
        order: &Order,
        u: &Faces,
        volume: f64,
    ) -> Reaction {
        let r = self.radius[body];
        let (center, velocity) = (state.position[node], state.velocity[node]);
        let x = layout.local(center);
        let reach = DVec3::splat(r) / DVec3::from(layout.h);
        let (mut sum, mut cells) = (DVec3::ZERO, Vec::new());
        let range = |a: usize| {
            let low = (x[a] - reach[a]).floor().clamp(0.0, layout.n[a] as f64) as usize;
            let high = (x[a] + reach[a]).floor().clamp(-1.0, layout.n[a] as f64 - 1.0) + 1.0;
            low..high as usize
        };
        for cz in range(2) {
            for cy in range(1) {
                for cx in range(0) {
                    let c = cx + layout.n[0] * (cy + layout.n[1] * cz);
                    let mut on_cell = DVec3::ZERO;
                    let (chosen, each) = self.chosen(markers, order.start[c]..order.start[c + 1]);
                    for m in chosen {
                        let d = layout.world(markers.x[m]) - center;
                        let distance = d.length();
                        if distance > r || distance == 0.0 {
                            continue;
                        }
                        let n = d / distance;
                        let v = glam::Vec3::from(velocity_at(layout, u, &markers.x[m])).as_dvec3() - velocity;
                        let f = -self.stiffness[body] * (distance - self.length * r)
                            - self.damping[body] * v.dot(n);
                        on_cell += n * (f * volume * each);
                    }
                    if on_cell != DVec3::ZERO {
                        sum -= on_cell;
                        cells.push((layout.at([cx, cy, cz]) as u32, on_cell));
                    }
                }
            }
        }
        (sum, cells)
    }
}
