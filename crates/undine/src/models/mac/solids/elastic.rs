//! The paper's coupling (Génevaux 2003, section 3): a visco-elastic force between markers and nodes that are near each other.
//!
//! Each marker stands for a volume of liquid, and the force is in proportion to it, so that neither the number of markers nor the
//! subset of them that is used changes the motion.

use std::ops::Range;

use glam::DVec3;
use rayon::prelude::*;

use super::sheet;
use crate::models::mac::layout::Layout;
use crate::models::mac::transfer::{Faces, velocity_at};
use crate::scene::aabb::Aabb;
use crate::scene::shape::Shape;
use crate::scene::{Interaction, Scene, SolidKind};
use crate::state::markers::{Markers, Order};
use crate::state::springs::Springs;

/// Radius of nodes of lattices and cloth, × the edge of what they fill: there are no holes from half the diagonal on.
const COVER: f64 = 0.87;
/// Share of its radius by which water presses into a body at the bottom.
const GIVE: f64 = 0.05;
/// The same of the distance at which cloth holds water off.
const SHEET_GIVE: f64 = 0.5;
/// Least markers of a cell that are used, if it has so many: with fewer, chance kicks the liquid out of bodies. (A ball in cells of 27
/// rises earlier than with all of them by 4.8 % with 12, 5.1 with 16 and 4.0 with 20, the mean of four balls whose densities hardly
/// differ; single ones are off by 2 % more or less.)
const LEAST: u32 = 20;
/// Damping, as a share of the critical one.
const DAMPING: f64 = 0.2;

/// The force between markers and nodes.
#[derive(Clone, Debug, Default)]
pub struct Elastic {
    /// Distance R up to which it acts, m, of the nodes of each body, or of the triangles of cloth.
    pub(super) radius: Vec<f64>,
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

/// The liquid and the bodies of a step.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// How the grid lies.
    pub layout: &'a Layout,
    /// The bodies.
    pub state: &'a Springs,
    /// Markers, in order.
    pub markers: &'a Markers,
    /// That order.
    pub order: &'a Order,
    /// Velocities at faces, m/s.
    pub u: &'a Faces,
    /// Volume of a marker, m³.
    pub volume: f64,
}

/// Depth of the liquid at the start, m, along gravity.
fn deepest(scene: &Scene) -> f64 {
    let Some(down) = scene.gravity.try_normalize() else { return 0.0 };
    let mut all = Aabb::EMPTY;
    for shape in scene.fluids.iter().filter_map(|f| f.shape.as_ref()) {
        all = all.union(shape.bounds());
    }
    if let Some(domain) = &scene.domain {
        all = Aabb { min: all.min.max(domain.min), max: all.max.min(domain.max) };
    }
    (all.max - all.min).max(DVec3::ZERO).dot(down.abs())
}

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
                (None, SolidKind::Ball, Shape::Sphere { radius, .. }) => *radius,
                (None, SolidKind::Cloth, _) => scene.model.spacing,
                _ => COVER * s.spacing,
            };
            // Liquid that has gone in by δ is held by κδ²/2; that is to be its greatest pressure, or what stops a throw.
            let size = s.shape.bounds().size().max_element().max(2.0 * r).max(deepest(scene));
            let held = (density * g * size).max(0.5 * density * s.velocity.length_squared());
            let half = 0.5 * s.shape.bounds().size().min_element();
            let is_sheet = s.kind == SolidKind::Cloth;
            let give = if is_sheet { SHEET_GIVE * r } else { (GIVE * half).clamp(GIVE * r, 0.5 * r) };
            let k = stiffness.unwrap_or(2.0 * held / give.powi(2));
            own.stiffness.push(k);
            own.damping.push(damping.unwrap_or(2.0 * DAMPING * (k * density).sqrt()));
            own.radius.push(r);
            // Mass of liquid that presses, over that of the body.
            let carried = if is_sheet { 2.0 * give / s.thickness } else { 3.0 * give / half.max(r) };
            let fastest = (k / density).max(carried * k / s.density).sqrt();
            own.limit = own.limit.min(0.8 / fastest.max(1e-30));
        }
        own
    }

    /// The forces on nodes, N, and on the liquid of cells (padded numbers).
    pub fn act(&self, field: &Field) -> (Vec<DVec3>, Vec<(u32, DVec3)>) {
        let state = field.state;
        let (mut out, mut cells) = (vec![DVec3::ZERO; state.len()], Vec::new());
        for (b, body) in state.bodies.iter().enumerate() {
            if body.kind == SolidKind::Cloth {
                let grip = sheet::hold_off(self, field, b);
                grip.nodes.iter().for_each(|(i, f)| out[*i] += *f);
                cells.extend(grip.cells);
                continue;
            }
            let found: Vec<_> =
                body.nodes.clone().into_par_iter().map(|i| self.around(field, b, i)).collect();
            for (i, (force, on_cells)) in body.nodes.clone().zip(found) {
                out[i] = force;
                cells.extend(on_cells);
            }
        }
        (out, cells)
    }

    /// The markers of a cell that are used, and for how many each stands. Which they are changes as they move, so that no place is
    /// always seen by the same ones: liquid would come in where by chance there is none.
    fn chosen(&self, markers: &Markers, all: Range<u32>) -> (impl Iterator<Item = usize>, f64) {
        let count = all.end - all.start;
        let used = ((count + self.subset / 2) / self.subset).max(LEAST.min(count));
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

    /// Section 3.1, f = -k_int (|x| - d_int) - z_int d|x|/dt on a marker that is `away` from a place of a body with a velocity, N.
    pub(super) fn force(
        &self,
        field: &Field,
        body: usize,
        marker: usize,
        (away, velocity): (DVec3, DVec3),
    ) -> DVec3 {
        let distance = away.length();
        let n = away / distance;
        let u = velocity_at(field.layout, field.u, &field.markers.x[marker]);
        let v = glam::Vec3::from(u).as_dvec3() - velocity;
        let f = -self.stiffness[body] * (distance - self.length * self.radius[body])
            - self.damping[body] * v.dot(n);
        n * (f * field.volume)
    }

    /// Calls `visit` with the markers of cells within reach of a box, their cell (padded) and for how many each stands.
    pub(super) fn each_near(
        &self,
        field: &Field,
        body: usize,
        [low, high]: [DVec3; 2],
        mut visit: impl FnMut(usize, u32, f64),
    ) {
        let layout = field.layout;
        let r = DVec3::splat(self.radius[body]);
        let (low, high) = (layout.local(low - r), layout.local(high + r));
        let range = |a: usize| {
            let first = low[a].floor().clamp(0.0, layout.n[a] as f64) as usize;
            let last = high[a].floor().clamp(-1.0, layout.n[a] as f64 - 1.0) + 1.0;
            first..last as usize
        };
        for cz in range(2) {
            for cy in range(1) {
                for cx in range(0) {
                    let c = cx + layout.n[0] * (cy + layout.n[1] * cz);
                    let start = &field.order.start;
                    let (chosen, each) = self.chosen(field.markers, start[c]..start[c + 1]);
                    let cell = layout.at([cx, cy, cz]) as u32;
                    chosen.for_each(|m| visit(m, cell, each));
                }
            }
        }
    }

    /// What all markers within R do to a node, and it to the liquid of their cells.
    fn around(&self, field: &Field, body: usize, node: usize) -> (DVec3, Vec<(u32, DVec3)>) {
        let (center, velocity) = (field.state.position[node], field.state.velocity[node]);
        let (mut sum, mut cells) = (DVec3::ZERO, Vec::<(u32, DVec3)>::new());
        self.each_near(field, body, [center; 2], |m, cell, each| {
            let away = field.layout.world(field.markers.x[m]) - center;
            let distance = away.length();
            if distance > self.radius[body] || distance == 0.0 {
                return;
            }
            let f = self.force(field, body, m, (away, velocity)) * each;
            sum -= f;
            match cells.last_mut().filter(|last| last.0 == cell) {
                Some(last) => last.1 += f,
                None => cells.push((cell, f)),
            }
        });
        (sum, cells)
    }
}

/// Accelerates the liquid by forces on that of cells (section 3.2: half of a cell's to either face) during `kick`, s. `mass` is that of
/// a face, kg. To share by the masses of the faces was tried: then water that a ball flew into gained a tenth more momentum than the ball
/// lost, not a thirtieth.
pub fn push(
    layout: &Layout,
    forces: &[(u32, DVec3)],
    mass: impl Fn(usize, usize) -> f64,
    kick: f64,
    u: &mut Faces,
) {
    for (i, force) in forces.iter().map(|(i, f)| (*i as usize, f)) {
        for a in 0..3 {
            for face in [i, i + layout.stride[a]] {
                u[a][face] += (0.5 * kick * force[a] / mass(a, face)) as f32;
            }
        }
    }
    for field in u.iter_mut() {
        layout.wrap(field);
    }
}
