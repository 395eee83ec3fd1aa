//! Markers that only follow.
//!
//! A scene may ask for many markers a cell, to see the surface finely. Momentum needs no more than a few: of those, each
//! stands for several and carries their velocity ([`condense`]), and all that the grid is told comes from them. The many
//! have a place and nothing else, as in the paper, and move with the flow.

#[cfg(target_arch = "x86_64")]
mod wide;

use std::ops::Range;

use glam::{Vec3, Vec4};
use rayon::prelude::*;

use super::convect::{Flow, Reach, between_corners, load, store};
use super::following::Owed;
use super::lattice::Lattice;
#[cfg(target_arch = "x86_64")]
use super::lattice::wide::Wide;
use super::lattice::{Plain, Read, beside};
use super::layout::Layout;
use super::population::drop_outside;
use super::solids::shape::{REACH, Shape};
use super::transfer::velocity_at;
use super::watch::Watch;
use crate::models::Birth;
use crate::models::spares::Spares;
use crate::state::markers::{BLOCK, Markers, Order};

/// They are put in the order of cells again when the fastest has gone so far, 1/64 cells, of which a step counts at most so many: for the
/// cache's sake alone.
const SORT: u32 = 128;
const MOST_OF_STEP: f32 = 16.0;
/// Planes of displacements that a thread finds at a time.
const PLANES: usize = 8;
/// Fourth component of a displacement where no flow was found. Elsewhere it is how far walls and bodies are beyond what a marker must be
/// careful of, cells, from -1 to 1.
const UNKNOWN: f32 = -1e6;
/// How fast the distance of a body, as counts of hat functions give it, may fall at most, per length.
const STEEP: f32 = 2.0;
/// Farthest from the marker it is put back to, × distance of markers that carry.
const BACK: f32 = 0.2;

/// Markers that only follow.
#[derive(Clone, Debug, Default)]
pub struct Tracers {
    /// They.
    pub markers: Markers,
    order: Order,
    /// How far the fastest has gone since they were put in order, 1/64 cells.
    pub age: u32,
    /// Those where emitters are.
    pub watch: Watch,
    /// Whether they may be moved later than others.
    pub may_wait: bool,
    /// What they have not gone yet.
    pub owed: Owed,
    /// How many stand in a row for one that carries.
    pub ratio: usize,
    /// Displacements of a step, in cells.
    shift: Lattice,
    spares: Spares<Lattice>,
}

/// How many markers in a row one that carries may stand for, where `edge` are along the edge of a cell: so many that two are left.
pub fn ratio(edge: usize) -> usize {
    if edge >= 4 && edge.is_multiple_of(2) { edge / 2 } else { 1 }
}

/// Markers that carry velocities for `births`, of which `1 / size` cells in a row come together: place in cells, velocity,
/// fluid, and how much of such a block they fill.
pub fn condense(layout: &Layout, births: &[Birth], ratio: usize, size: f64) -> Vec<(Birth, f32)> {
    let block = |b: &Birth| {
        let c = (layout.local(b.position) * size).floor();
        // Along x first, as cells go.
        [c.z, c.y, c.x].map(|c| c as i64)
    };
    let mut sorted: Vec<([i64; 3], usize, u32)> =
        births.iter().enumerate().map(|(i, b)| (block(b), b.fluid, i as u32)).collect();
    sorted.par_sort_unstable();
    let full = (ratio * ratio * ratio) as f64;
    sorted
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|group| {
            let n = group.len() as f64;
            let sum = |of: fn(&Birth) -> glam::DVec3| {
                group.iter().map(|g| of(&births[g.2 as usize])).sum::<glam::DVec3>() / n
            };
            let birth =
                Birth { position: sum(|b| b.position), velocity: sum(|b| b.velocity), fluid: group[0].1 };
            (birth, (n / full) as f32)
        })
        .collect()
}

/// What tracers look at beside the flow.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// Markers that carry.
    pub carriers: &'a Markers,
    /// How many of those are about each cell.
    pub cells: &'a [f32],
    /// Bodies in the liquid, where they will be.
    pub bodies: Option<&'a Shape>,
    /// Distance between markers that carry, cells.
    pub apart: f32,
}

impl Tracers {
    /// None yet; `ratio` in a row stand for one that carries.
    pub fn new(ratio: usize, watch: Watch, may_wait: bool) -> Self {
        let markers = Markers { only_follow: true, ..Markers::default() };
        Tracers { markers, ratio, watch, may_wait, ..Tracers::default() }
    }

    /// Moves them with the flow; says whether any left through an open side.
    pub fn follow(&mut self, flow: &Flow, sight: Sight) -> bool {
        let reach = flow.reach();
        self.age += (64.0 * reach.most).clamp(1.0, MOST_OF_STEP) as u32;
        self.find_shift(flow, sight, reach);
        let Tracers { markers, shift, .. } = self;
        let blocks = markers.x.par_chunks_mut(BLOCK).zip(markers.id.par_chunks(BLOCK));
        let shift = &*shift;
        blocks
            .map(|(x, id)| {
                #[cfg(target_arch = "x86_64")]
                if shift.is_wide() {
                    // SAFETY: the processor has the features.
                    return unsafe { wide::move_all(flow, sight, shift, x, id) };
                }
                move_with::<Plain>(flow, sight, shift, x, id)
            })
            .reduce(|| false, |a, b| a | b)
    }

    /// Finds how far the step moves each point of a lattice where markers are.
    fn find_shift(&mut self, flow: &Flow, sight: Sight, reach: Reach) {
        let layout = flow.layout;
        let [nx, ny, _] = layout.n.map(|n| 2 * n + 1);
        let around_x = reach.middle[0] + 1;
        let [_, around_y, around_z] = reach.middle.map(|r| 2 * r as isize);
        let spares = &self.spares;
        let points = self.shift.all(layout);
        points.par_chunks_mut(PLANES * nx * ny).enumerate().for_each_init(
            || spares.lend(),
            |drift, (c, planes)| {
                let first = c * PLANES;
                let end = first + planes.len() / (nx * ny);
                // Rows that no liquid is near to are passed by.
                let (wet, x) = sight.wet_rows(layout, first, end);
                for (r, row) in planes.chunks_exact_mut(nx).enumerate() {
                    if !wet.contains(&(r % ny)) {
                        row.fill(Vec4::new(0.0, 0.0, 0.0, UNKNOWN));
                    }
                }
                if wet.is_empty() {
                    return;
                }
                // One more on either side, since a lattice holds at least a cell.
                drift.take(
                    layout,
                    flow.drift,
                    if layout.periodic[0] {
                        0..layout.n[0]
                    } else {
                        x.start.saturating_sub(around_x)..(x.end + around_x).min(layout.n[0])
                    },
                    wet.start as isize - 1 - around_y..wet.end as isize + 1 + around_y,
                    first as isize - 1 - around_z..end as isize + 1 + around_z,
                );
                let mut seen = Seen::new(layout);
                for (r, row) in planes.chunks_exact_mut(nx).enumerate() {
                    let (j, k) = (r % ny, first + r / ny);
                    if !wet.contains(&j) {
                        continue;
                    }
                    if !seen.look(flow, sight, j, k) {
                        row.fill(Vec4::new(0.0, 0.0, 0.0, UNKNOWN));
                        continue;
                    }
                    #[cfg(target_arch = "x86_64")]
                    if drift.is_wide() {
                        // SAFETY: the processor has the features.
                        unsafe { shift_row_wide(flow, drift, (j, k), &seen, row) };
                        continue;
                    }
                    shift_row::<Plain>(flow, drift, (j, k), &seen, row);
                }
            },
        );
    }

    /// Puts them in order again when it is time. Those that `left` through an open side go.
    pub fn rest(&mut self, layout: &Layout, left: bool) {
        if self.age >= SORT {
            self.sort_some(layout, left);
        } else if left {
            drop_outside(&mut self.markers, layout.n);
        }
        self.look_around(layout);
    }

    /// Puts them in the order of cells.
    pub fn sort(&mut self, layout: &Layout) {
        self.sort_some(layout, false);
        self.look_around(layout);
    }

    /// Finds those where emitters are.
    pub fn look_around(&mut self, layout: &Layout) {
        self.watch.find(&self.markers.x, layout.n);
    }

    fn sort_some(&mut self, layout: &Layout, only_inside: bool) {
        if only_inside {
            self.order.find_inside(&self.markers.x, layout.n);
        } else {
            self.order.find(&self.markers.x, layout.n);
        }
        self.order.apply(&mut self.markers);
        self.age = 0;
    }
}

/// What is about the points of a row along x.
struct Seen {
    /// Whether markers that carry are about, by cells.
    wet: Vec<bool>,
    /// Distances of walls and of bodies, m, at corners of cells and then at points.
    walls: Vec<f32>,
    bodies: Vec<f32>,
    spare: Vec<f32>,
}

impl Seen {
    fn new(layout: &Layout) -> Self {
        let points = vec![f32::INFINITY; 2 * layout.n[0] + 1];
        Seen {
            wet: vec![false; layout.dims[0]],
            walls: points.clone(),
            bodies: points,
            spare: vec![0.0; layout.n[0] + 1],
        }
    }

    /// Looks at row (j, k); says whether any marker that carries is about.
    fn look(&mut self, flow: &Flow, sight: Sight, j: usize, k: usize) -> bool {
        let layout = flow.layout;
        self.wet.fill(false);
        let inside = |i: usize, b: usize| beside(i, false).map(|c| c.clamp(1, layout.n[b]));
        let ([y0, y1], [z0, z1]) = (inside(j, 1), inside(k, 2));
        for y in y0..=y1 {
            for z in z0..=z1 {
                let first = y * layout.stride[1] + z * layout.stride[2];
                for (wet, cells) in self.wet.iter_mut().zip(&sight.cells[first..]) {
                    *wet |= *cells > 0.0;
                }
            }
        }
        if !self.wet.contains(&true) {
            return false;
        }
        if flow.cuts.has_bodies() {
            between(layout, flow.cuts.corners(), (j, k), &mut self.spare, &mut self.walls);
        }
        if let Some(shape) = sight.bodies {
            between(layout, &shape.corners, (j, k), &mut self.spare, &mut self.bodies);
            // Beyond that there is none.
            let reach = 0.999 * (REACH * layout.longest()) as f32;
            self.bodies.iter_mut().filter(|d| **d > reach).for_each(|d| *d = f32::INFINITY);
        }
        true
    }
}

/// What lies between the values of a field of corners at the points of row (j, k).
fn between(layout: &Layout, field: &[f32], (j, k): (usize, usize), spare: &mut [f32], out: &mut [f32]) {
    // Corners are named as the cells they are the lowest of, and these are padded.
    let ends = |i: usize| i / 2 + 1..=i.div_ceil(2) + 1;
    spare.fill(0.0);
    for y in ends(j) {
        for z in ends(k) {
            let first = 1 + y * layout.stride[1] + z * layout.stride[2];
            for (sum, v) in spare.iter_mut().zip(&field[first..]) {
                *sum += v;
            }
        }
    }
    let share = 1.0 / (ends(j).count() * ends(k).count()) as f32;
    for (i, out) in out.iter_mut().enumerate() {
        *out = 0.5 * share * (spare[i / 2] + spare[i.div_ceil(2)]);
    }
}

#[inline(always)]
fn scale(flow: &Flow) -> Vec4 {
    let [x, y, z] = flow.layout.h.map(|h| (flow.dt / h) as f32);
    Vec4::new(x, y, z, 0.0)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn shift_row_wide(flow: &Flow, drift: &Lattice, at: (usize, usize), seen: &Seen, row: &mut [Vec4]) {
    shift_row::<Wide>(flow, drift, at, seen, row);
}

#[inline(always)]
fn shift_row<'a, R: Read<'a>>(
    flow: &Flow,
    drift: &'a Lattice,
    (j, k): (usize, usize),
    seen: &Seen,
    row: &mut [Vec4],
) {
    let read = R::new(drift);
    let scale = scale(flow);
    let h = Vec3::from(flow.layout.h.map(|h| h as f32));
    let (per_cell, off) = (1.0 / h.max_element(), between_corners(flow.layout));
    for (i, shift) in row.iter_mut().enumerate() {
        let [a, b] = beside(i, false);
        if !(seen.wet[a] | seen.wet[b]) {
            *shift = Vec4::new(0.0, 0.0, 0.0, UNKNOWN);
            continue;
        }
        let at = Vec4::new(0.5 * i as f32, 0.5 * j as f32, 0.5 * k as f32, 0.0);
        let mut middle = at + 0.5 * scale * drift.point(i, j as isize, k as isize);
        if flow.layout.periodic[0] {
            middle.x = middle.x.rem_euclid(flow.layout.n[0] as f32);
        }
        let to = scale * read.at(middle);
        // How far walls are beyond the way there. Markers between points have the mean of what these have, and so less than they
        // have themselves.
        let way = (to.truncate() * h).length();
        let clear = (seen.walls[i] - off - way).min(seen.bodies[i] - STEEP * way);
        *shift = Vec4::new(to.x, to.y, to.z, (per_cell * clear).clamp(-1.0, 1.0));
    }
}

#[inline(always)]
fn move_with<'a, R: Read<'a>>(
    flow: &Flow,
    sight: Sight,
    shift: &'a Lattice,
    x: &mut [[f32; 3]],
    id: &[u32],
) -> bool {
    let read = R::new(shift);
    let [mut low, high] = flow.free();
    low.w = 0.0;
    let mut left = false;
    for (x, id) in x.iter_mut().zip(id) {
        let at = load(x);
        let to = at + read.at(at);
        if (to.cmpge(low) & to.cmple(high)).all() {
            *x = store(to);
        } else {
            left |= careful(flow, sight, x, to, *id);
        }
    }
    left
}

/// Moves a marker that may meet a wall, a body or a side of the domain, or that the liquid has left. Says whether it is gone.
#[cold]
fn careful(flow: &Flow, sight: Sight, x: &mut [f32; 3], to: Vec4, id: u32) -> bool {
    let (mut at, mut to, known) = (*x, store(to), to.w > -1.01);
    if !known {
        // Between points some of which no flow was found for.
        let here = velocity_at(flow.layout, flow.drift, &at);
        if here == [0.0; 3] && sight.is_dry(flow.layout, &at) {
            let Some(back) = sight.back(id) else { return false };
            (at, to) = back;
        } else {
            to = flow.ahead(at, here);
        }
    }
    if !to.iter().all(|t| t.is_finite()) {
        return false;
    }
    let (place, left) = flow.kept(at, to, &mut [0.0; 3]);
    *x = place;
    if let Some(shape) = sight.bodies {
        shape.push_out(flow.layout, x);
    }
    left
}

impl Sight<'_> {
    /// Numbers along y of the rows of points, in planes `first` to `end` across z, from the first to the last with markers that carry about;
    /// and the cells along x from the first to the last of these.
    fn wet_rows(&self, layout: &Layout, first: usize, end: usize) -> (Range<usize>, Range<usize>) {
        let [nx, ny, nz] = layout.n;
        let (mut low, mut high) = ([usize::MAX; 2], [0; 2]);
        for y in 1..=ny {
            for z in (first / 2..=end / 2 + 1).map(|z| z.clamp(1, nz)) {
                let row = y * layout.stride[1] + z * layout.stride[2];
                // The padding too: what wraps around is about as well.
                let cells = &self.cells[row..row + layout.dims[0]];
                let Some(from) = cells.iter().position(|c| *c > 0.0) else { continue };
                let to = cells.iter().rposition(|c| *c > 0.0).unwrap_or(from);
                for (b, [from, to]) in [[from, to], [y, y]].into_iter().enumerate() {
                    (low[b], high[b]) = (low[b].min(from), high[b].max(to));
                }
            }
        }
        if low[1] > high[1] {
            return (0..0, 0..0);
        }
        let x = low[0].clamp(1, nx) - 1..high[0].clamp(1, nx);
        (2 * low[1] - 2..2 * high[1] + 1, x)
    }

    /// Whether no marker that carries is about.
    fn is_dry(&self, layout: &Layout, x: &[f32; 3]) -> bool {
        let cell = std::array::from_fn(|a| (x[a] as usize).min(layout.n[a] - 1));
        self.cells[layout.at(cell)] <= 0.0
    }

    /// Where a marker goes on that the liquid went away from: from one that carries to a place beside it. Which one, its
    /// number says.
    fn back(&self, id: u32) -> Option<([f32; 3], [f32; 3])> {
        let mut state = id.wrapping_mul(0x9E37_79B9) | 1;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let count = self.carriers.len();
        let at = *self.carriers.x.get((random() * count as f32) as usize)?;
        Some((at, at.map(|x| x + BACK * self.apart * (2.0 * random() - 1.0))))
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::scene::Scene;

    #[test]
    fn markers_that_carry_have_the_mass_and_momentum_of_those_they_stand_for() {
        let text = "domain = { min = [0, 0, 0], max = [1, 1, 1] }\nmodel = { kind = 'mac', spacing = 0.25 }\n[[fluid]]\n\
                    shape = { box = { min = [0, 0, 0], max = [1, 0.4, 1] } }\n";
        let scene = Scene::parse(text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        let layout = Layout::new(&scene).unwrap();
        // Sixteen in a row: of the last blocks along x half are there.
        let d = 0.0625;
        let births: Vec<Birth> = (0..15 * 16 * 4)
            .map(|k| {
                let c = DVec3::new((k % 15) as f64, (k / 15 % 16) as f64, (k / 240) as f64);
                Birth { position: d * (c + 0.5), velocity: c, fluid: usize::from(k / 240 > 1) }
            })
            .collect();
        let few = condense(&layout, &births, 2, 2.0);
        assert_eq!(few.len(), 8 * 8 * 2);
        let whole = |b: &Birth, w: f64| (w * b.position, w * b.velocity);
        for fluid in [0, 1] {
            let of = |b: &Birth| b.fluid == fluid;
            let many = births.iter().filter(|b| of(b)).map(|b| whole(b, 1.0));
            let many = many.fold((DVec3::ZERO, DVec3::ZERO), |s, b| (s.0 + b.0, s.1 + b.1));
            let some = few.iter().filter(|b| of(&b.0)).map(|(b, w)| whole(b, 8.0 * f64::from(*w)));
            let some = some.fold((DVec3::ZERO, DVec3::ZERO), |s, b| (s.0 + b.0, s.1 + b.1));
            assert!(many.0.distance(some.0) < 1e-9 * many.0.length(), "{} and {}", many.0, some.0);
            assert!(many.1.distance(some.1) < 1e-9 * many.1.length(), "{} and {}", many.1, some.1);
        }
        let first = few[0];
        assert_eq!((first.0.position, first.1), (DVec3::splat(d), 1.0));
    }

    #[test]
    fn rows_are_halved_to_two_a_cell() {
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(ratio), [1, 1, 1, 2, 1, 3, 1, 4]);
    }
}
