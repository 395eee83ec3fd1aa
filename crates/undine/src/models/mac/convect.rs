//! Motion with the flow: markers forward, and for the semi-Lagrangian scheme the grid's velocities backward (Stam 1999).

#[cfg(target_arch = "x86_64")]
mod wide;

use std::ops::Range;

use glam::Vec4;
use rayon::prelude::*;

use super::cuts::Cuts;
use super::lattice::{Lattice, Plain, Read};
use super::layout::Layout;
use super::rows;
use super::transfer::{Faces, corner_value_at, velocity_at};
use crate::models::spares::Spares;
use crate::scene::Convection;
use crate::state::markers::{Markers, Order};
use crate::walls::Walls;

/// Share of the grid's own velocity that FLIP takes over, so that what the grid cannot see dies away.
pub(super) const PIC: f32 = 0.03;

/// What moves markers.
#[derive(Clone, Copy)]
pub struct Flow<'a> {
    /// How the grid lies.
    pub layout: &'a Layout,
    /// How walls cut it.
    pub cuts: &'a Cuts,
    /// The walls.
    pub walls: &'a Walls,
    /// Velocities, spread and padded.
    pub u: &'a Faces,
    /// Those before forces and pressure (for FLIP).
    pub before: &'a Faces,
    /// Velocities that move markers: those and what evens out the filling.
    pub drift: &'a Faces,
    /// How near a marker's middle gets to a wall, m.
    pub margin: f64,
    /// How velocities travel.
    pub convection: Convection,
    /// Time to move for, s.
    pub dt: f64,
}

/// What came of moving markers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// Greatest speed along an axis in cells per second; infinite when any is no number.
    pub rate: f32,
    /// Whether any left through an open side.
    pub left: bool,
}

impl Moved {
    fn and(self, o: Moved) -> Moved {
        Moved { rate: self.rate.max(o.rate), left: self.left || o.left }
    }
}

/// Cells in the order of markers that one thread takes at a time: some rows along x.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Rows, counted along y first.
    pub rows: Range<usize>,
}

/// Layers across z that a part has at most.
const LAYERS: usize = 4;
/// Values of a field that a thread looks at at a time.
const SOME: usize = 8192;
/// Parts there are at least, where there are as many rows.
const PARTS: usize = 8;

impl Part {
    /// The parts of a grid: whole layers where there are enough of them.
    pub fn all(layout: &Layout) -> Vec<Part> {
        let [_, ny, nz] = layout.n;
        let height =
            if nz >= PARTS { ny * (nz / PARTS).min(LAYERS) } else { ny.div_ceil(PARTS.div_ceil(nz)) };
        // Of a layer that is cut up no part reaches into the next.
        let span = if nz >= PARTS { ny * nz } else { ny };
        (0..ny * nz)
            .step_by(span)
            .flat_map(|first| {
                let end = first + span;
                (first..end).step_by(height).map(move |r| Part { rows: r..(r + height).min(end) })
            })
            .collect()
    }

    /// Their markers.
    pub fn markers(&self, layout: &Layout, order: &Order) -> Range<usize> {
        let nx = layout.n[0];
        order.start[self.rows.start * nx] as usize..order.start[self.rows.end * nx] as usize
    }

    /// The cells along x, and the numbers of the points of a lattice along y and z, in and around those of its markers by so many
    /// cells.
    fn points(
        &self,
        layout: &Layout,
        order: &Order,
        around: [usize; 3],
    ) -> (Range<usize>, [Range<isize>; 2]) {
        let [nx, ny, _] = layout.n;
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        for r in self.rows.clone() {
            let starts = &order.start[r * nx..=(r + 1) * nx];
            let (first, end) = (starts[0], starts[nx]);
            if first == end {
                continue;
            }
            // Those before the first and behind the last that have any.
            let x = starts.partition_point(|s| *s == first) - 1..starts.partition_point(|s| *s < end);
            for (b, c) in [x, r % ny..r % ny + 1, r / ny..r / ny + 1].into_iter().enumerate() {
                low[b] = low[b].min(c.start);
                high[b] = high[b].max(c.end);
            }
        }
        // What wraps around along x may come out at the other end.
        let x = if layout.periodic[0] {
            0..nx
        } else {
            low[0].saturating_sub(around[0])..(high[0] + around[0]).min(nx)
        };
        let numbers =
            |b: usize| 2 * (low[b] as isize - around[b] as isize)..2 * (high[b] + around[b]) as isize + 1;
        (x, [numbers(1), numbers(2)])
    }
}

/// How far markers get in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Cells that the middle of a way is away from its start at most, along each axis.
    pub middle: [usize; 3],
    /// Markers of cells whose corners are farther from bodies than this, m, do not touch them.
    pub near: f32,
    /// Farthest way along an axis, cells.
    pub most: f32,
}

/// Distance of the corners of a cell from a body, m, from which on a marker in it that goes as far as `way`, m, cannot get there:
/// from the corner that is nearest to the wall it may be a diagonal away.
#[inline(always)]
pub(super) fn near_body(layout: &Layout, way: f32) -> f32 {
    1.8 * (way + layout.longest() as f32)
}

/// By how much, m, a distance between corners may be less than what lies between theirs: Σ w |x - corner| ≤ √(Σ w |x - corner|²), half a
/// diagonal at most.
#[inline(always)]
pub(super) fn between_corners(layout: &Layout) -> f32 {
    0.87 * layout.longest() as f32
}

/// Fields of a part.
#[derive(Debug, Default)]
pub struct Fields {
    u: Lattice,
    before: Lattice,
    drift: Lattice,
}

/// Markers of a part.
struct Carried<'a> {
    rows: Range<usize>,
    x: &'a mut [[f32; 3]],
    velocity: &'a mut [[f32; 3]],
    affine: &'a mut [[[f32; 3]; 3]],
}

impl<'a> Carried<'a> {
    /// The first so many of them, which are its own no more.
    #[inline(always)]
    fn split_off(&mut self, count: usize) -> Carried<'a> {
        let gradients = if self.affine.is_empty() { 0 } else { count };
        Carried {
            rows: self.rows.clone(),
            x: self.x.split_off_mut(..count).expect("there are as many"),
            velocity: self.velocity.split_off_mut(..count).expect("there are as many"),
            affine: self.affine.split_off_mut(..gradients).expect("there are as many"),
        }
    }
}

#[inline(always)]
pub(super) fn load(x: &[f32; 3]) -> Vec4 {
    Vec4::new(x[0], x[1], x[2], 0.0)
}

#[inline(always)]
pub(super) fn store(x: Vec4) -> [f32; 3] {
    [x.x, x.y, x.z]
}

impl Flow<'_> {
    /// Gives markers, which are in order, their new velocities and moves them.
    pub fn carry(&self, markers: &mut Markers, order: &Order, spares: &Spares<Fields>) -> Moved {
        let layout = self.layout;
        let reach = self.reach();
        let has_affine = self.convection == Convection::Apic;
        let mut parts = Vec::new();
        let (mut x, mut velocity) = (&mut markers.x[..], &mut markers.velocity[..]);
        let mut affine = &mut markers.affine[..];
        for Part { rows } in Part::all(layout) {
            let count = Part { rows: rows.clone() }.markers(layout, order).len();
            let carried = Carried {
                rows,
                x: x.split_off_mut(..count).expect("the parts are all markers"),
                velocity: velocity.split_off_mut(..count).expect("the parts are all markers"),
                affine: affine.split_off_mut(..if has_affine { count } else { 0 }).expect("one for each"),
            };
            if count > 0 {
                parts.push(carried);
            }
        }
        parts
            .into_par_iter()
            .map_init(|| spares.lend(), |fields, carried| self.carry_part(fields, carried, order, reach))
            .reduce(Moved::default, Moved::and)
    }

    /// How far markers get.
    pub(super) fn reach(&self) -> Reach {
        let most = |u: &[f32]| {
            let greatest = u.par_chunks(SOME).map(rows::greatest).reduce(|| 0, u32::max);
            f32::from_bits(greatest)
        };
        let cells = |a: usize| {
            let cells = 0.5 * self.dt * f64::from(most(&self.u[a])) / self.layout.h[a];
            // Beyond the far side there is nothing. What is no number is not less, and told of later.
            if cells < self.layout.n[a] as f64 { cells as usize + 1 } else { self.layout.n[a] }
        };
        let fastest = self.drift.iter().map(|u| most(u)).fold(0.0, f32::max);
        let way = self.dt as f32 * fastest;
        Reach {
            middle: [cells(0), cells(1), cells(2)],
            near: near_body(self.layout, way),
            most: way / self.layout.shortest() as f32,
        }
    }

    fn carry_part(&self, fields: &mut Fields, carried: Carried, order: &Order, reach: Reach) -> Moved {
        let layout = self.layout;
        let part = Part { rows: carried.rows.clone() };
        let (x, [y, z]) = part.points(layout, order, [0; 3]);
        fields.u.take(layout, self.u, x.clone(), y.clone(), z.clone());
        if self.convection == Convection::Flip {
            fields.before.take(layout, self.before, x, y, z);
        }
        let (x, [y, z]) = part.points(layout, order, reach.middle);
        fields.drift.take(layout, self.drift, x, y, z);
        #[cfg(target_arch = "x86_64")]
        if fields.u.is_wide() && fields.drift.is_wide() {
            // SAFETY: the processor has the features.
            return unsafe { wide::carry(self, fields, carried, order, reach) };
        }
        self.carry_with::<Plain>(fields, carried, order, reach)
    }

    /// Moves the markers of a part, singly.
    #[inline(always)]
    fn carry_with<'a, R: Read<'a>>(
        &self,
        fields: &'a Fields,
        mut carried: Carried,
        order: &Order,
        reach: Reach,
    ) -> Moved {
        let [nx, ny, _] = self.layout.n;
        let mut moved = Moved::default();
        for cell in carried.rows.start * nx..carried.rows.end * nx {
            let count = (order.start[cell + 1] - order.start[cell]) as usize;
            if count > 0 {
                let care = self.needs_care([cell % nx, cell / nx % ny, cell / (nx * ny)], reach);
                moved = moved.and(self.carry_each::<R>(fields, carried.split_off(count), care));
            }
        }
        moved
    }

    /// Whether markers of a cell may get to a body.
    #[inline(always)]
    fn needs_care(&self, cell: [usize; 3], reach: Reach) -> bool {
        self.cuts.has_bodies() && self.cuts.clear[self.layout.at(cell)] < reach.near
    }

    /// Moves markers, all of them with `care` for bodies or none.
    #[inline(always)]
    fn carry_each<'a, R: Read<'a>>(&self, fields: &'a Fields, carried: Carried, care: bool) -> Moved {
        let layout = self.layout;
        let Carried { x, velocity, affine, .. } = carried;
        let (u, drift) = (R::new(&fields.u), R::new(&fields.drift));
        let before = if self.convection == Convection::Flip { R::new(&fields.before) } else { u };
        let [scale, per_h] = self.scales();
        let [low, high] = self.free();
        let nx = layout.n[0] as f32;
        let (mut fastest, mut left) = (Vec4::ZERO, false);
        for k in 0..x.len() {
            let at = load(&x[k]);
            let here = match self.convection {
                Convection::Apic => {
                    let (here, gradient) = u.with_gradient(at);
                    affine[k] = [store(gradient[0]), store(gradient[1]), store(gradient[2])];
                    velocity[k] = store(here);
                    here
                }
                Convection::Flip => {
                    let here = u.at(at);
                    let own = load(&velocity[k]) + here - before.at(at);
                    velocity[k] = store(PIC * here + (1.0 - PIC) * own);
                    here
                }
                Convection::SemiLagrangian => {
                    let here = u.at(at);
                    velocity[k] = store(here);
                    here
                }
            };
            fastest = fastest.max(load(&velocity[k]).abs() * per_h);
            // Second order: the velocity half-way.
            let mut middle = at + 0.5 * scale * here;
            if layout.periodic[0] {
                middle.x = wrapped(middle.x, nx);
            }
            let to = at + scale * drift.at(middle);
            if care || !(to.cmpge(low) & to.cmple(high)).all() {
                let (place, gone) = self.kept(x[k], store(to), &mut velocity[k]);
                x[k] = place;
                left |= gone;
                if !to.is_finite() {
                    fastest = Vec4::splat(f32::INFINITY);
                }
            } else {
                x[k] = store(to);
            }
        }
        Moved { rate: fastest.x.max(fastest.y).max(fastest.z), left }
    }

    /// Cells for each m/s: on a marker's way, and per second.
    #[inline(always)]
    fn scales(&self) -> [Vec4; 2] {
        let [x, y, z] = self.layout.h.map(|h| h as f32);
        let h = Vec4::new(x, y, z, 1.0);
        [self.dt as f32 / h, 1.0 / h]
    }

    /// Where markers need no care but for bodies, in cells.
    #[inline(always)]
    pub(super) fn free(&self) -> [Vec4; 2] {
        let layout = self.layout;
        let (mut low, mut high) = ([f32::NEG_INFINITY; 4], [f32::INFINITY; 4]);
        for a in 0..3 {
            let n = layout.n[a] as f32;
            let margin = (self.margin / layout.h[a]) as f32;
            let off = [0, 1].map(|s| if layout.periodic[a] || layout.open[a][s] { 0.0 } else { margin });
            (low[a], high[a]) = (off[0], n - off[1]);
            if layout.periodic[a] {
                high[a] = n.next_down();
            }
        }
        [Vec4::from(low), Vec4::from(high)]
    }

    /// Where a marker with the velocity `here` would go, m/s.
    pub(super) fn ahead(&self, at: [f32; 3], here: [f32; 3]) -> [f32; 3] {
        let scale = self.layout.h.map(|h| (self.dt / h) as f32);
        let middle = self.held(std::array::from_fn(|a| at[a] + 0.5 * scale[a] * here[a]));
        let half = velocity_at(self.layout, self.drift, &middle);
        std::array::from_fn(|a| at[a] + scale[a] * half[a])
    }

    /// A place inside the grid.
    #[inline(always)]
    fn held(&self, mut x: [f32; 3]) -> [f32; 3] {
        for a in 0..3 {
            let n = self.layout.n[a] as f32;
            x[a] = if self.layout.periodic[a] { wrapped(x[a], n) } else { x[a].clamp(0.0, n) };
        }
        x
    }

    /// Where a marker ends that would go from `at` to `to`: out of walls and inside the domain. Says whether it left through an
    /// open side; it is then outside.
    #[inline(always)]
    pub(super) fn kept(&self, at: [f32; 3], mut to: [f32; 3], velocity: &mut [f32; 3]) -> ([f32; 3], bool) {
        let layout = self.layout;
        if self.cuts.has_bodies() && self.is_near_body(&at, &to) {
            to = self.out_of_walls(at, to, velocity);
        }
        let mut left = false;
        for a in 0..3 {
            let n = layout.n[a] as f32;
            if layout.periodic[a] {
                to[a] = wrapped(to[a], n);
                continue;
            }
            // On a wall itself a marker would stay for ever: the velocity across it is zero there.
            let margin = (self.margin / layout.h[a]) as f32;
            for (upper, out) in [(0, -to[a]), (1, to[a] - n)] {
                if layout.open[a][upper] {
                    left |= out > 0.0;
                } else if out > -margin {
                    to[a] = if upper == 0 { margin } else { n - margin };
                    let out = if upper == 0 { velocity[a] < 0.0 } else { velocity[a] > 0.0 };
                    if out {
                        velocity[a] = 0.0;
                    }
                }
            }
        }
        (to, left)
    }

    #[inline(always)]
    fn is_near_body(&self, at: &[f32; 3], to: &[f32; 3]) -> bool {
        let layout = self.layout;
        let (mut way, mut square) = (0f32, 0f32);
        let mut cell = [0; 3];
        for a in 0..3 {
            let d = (to[a] - at[a]).abs() * layout.h[a] as f32;
            (way, square) = (way.max(d), square + d * d);
            cell[a] = (at[a] as usize).min(layout.n[a] - 1);
        }
        let far = corner_value_at(layout, self.cuts.corners(), at) > square.sqrt() + between_corners(layout);
        // What is no number is not far.
        self.cuts.clear[layout.at(cell)] < near_body(layout, way) && !far
    }

    #[cold]
    fn out_of_walls(&self, at: [f32; 3], to: [f32; 3], velocity: &mut [f32; 3]) -> [f32; 3] {
        let layout = self.layout;
        let mut v = glam::Vec3::from(*velocity).as_dvec3();
        let before = v;
        let end = layout.world(to);
        let p = self.walls.collide(layout.world(at), end, &mut v, self.dt, true);
        if v != before {
            *velocity = v.as_vec3().to_array();
        }
        let mut place = p;
        // Off the wall by the margin. Twice, since there may be another wall.
        for pass in 0..2 {
            match self.walls.nearest_body(place, self.margin) {
                Some(c) if c.distance < 0.0 || (pass == 0 && p != end) => {
                    place += c.normal * (self.margin - c.distance);
                }
                _ => break,
            }
        }
        if place == end { to } else { layout.local(place).as_vec3().to_array() }
    }

    /// Traces the velocities of all faces back along the flow and leaves what was there in `out` (third order, Ralston 1962).
    pub fn trace_back(&self, out: &mut Faces) {
        let layout = self.layout;
        let scale: [f32; 3] = layout.h.map(|h| (self.dt / h) as f32);
        for (a, out) in out.iter_mut().enumerate() {
            let rows = layout.face_rows(a);
            out.par_chunks_mut(layout.plane()).enumerate().skip(1).take(rows[2]).for_each(|(plane, out)| {
                for y in 0..rows[1] {
                    for x in 0..rows[0] {
                        let c = [x, y, plane - 1];
                        let at: [f32; 3] =
                            std::array::from_fn(|b| c[b] as f32 + if a == b { 0.0 } else { 0.5 });
                        let step = |u: [f32; 3], t: f32| {
                            self.held(std::array::from_fn(|b| at[b] - t * scale[b] * u[b]))
                        };
                        let k1 = velocity_at(layout, self.u, &at);
                        let k2 = velocity_at(layout, self.u, &step(k1, 0.5));
                        let k3 = velocity_at(layout, self.u, &step(k2, 0.75));
                        let mean = std::array::from_fn(|b| (2.0 * k1[b] + 3.0 * k2[b] + 4.0 * k3[b]) / 9.0);
                        let from = step(mean, 1.0);
                        out[layout.at(c) - plane * layout.plane()] = velocity_at(layout, self.u, &from)[a];
                    }
                }
            });
            layout.wrap(out);
        }
    }
}

/// `x` in 0..n, where that wraps around.
#[inline(always)]
pub(super) fn wrapped(x: f32, n: f32) -> f32 {
    if x < 0.0 {
        let y = x - n * (x / n).floor();
        // Rounding may end on n itself.
        if y < n { y } else { 0.0 }
    } else if x >= n {
        let y = x - n * (x / n).floor();
        if y < n && y >= 0.0 { y } else { 0.0 }
    } else {
        x
    }
}
