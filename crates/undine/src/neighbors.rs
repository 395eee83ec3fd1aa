//! Neighbour search: particles sorted by cell, so that the neighbours of a point are at most nine contiguous
//! runs of the sorted arrays.
//!
//! Positions are turned into *local* f32 coordinates in units of the support h. Cells are one h wide along y and
//! z and a quarter h along x, the fast axis of the sort: a sweep along x is cut to the chord of the sphere
//! through each row, which leaves about half of the candidates of 27 full cells.
//!
//! Space is unbounded: where the bounding box has far more cells than particles, empty stretches of each axis
//! are squeezed to a gap of a few cells (this also keeps f32 exact far from the origin), and if that is not
//! enough rows share cells modulo the grid size. Neither changes who is a neighbour of whom.

mod candidates;
mod moved;

use glam::DVec3;
use rayon::prelude::*;

pub use self::candidates::{Candidates, Chunk};
use self::candidates::{Group, MAX_GROUPS};
pub use self::moved::Moved;
use crate::simd::{Lanes, widest};

/// Cells per support along x: finer cells cut a sweep closer to its chord but make more of them. With 2, 3 and 6 a step
/// took 1 to 3 % longer.
const FINE: f32 = 4.0;
/// Particles that share a list of candidates.
pub const BUNCH: usize = 4;
/// Length of a bunch of up to [`BUNCH`], and of a larger one, along x, supports: longer ones have too few neighbours in common. In
/// thin sheets octets of 0.8 at most have a quarter of their lanes empty: in `lava` they go through 73 pairs a particle, those of 1.3
/// through 69.5 and are a seventh fewer (26 pairs count).
const LONGEST: [f32; 2] = [0.5, 1.3];
/// Grows the swept region so that rounding never hides a neighbour, in units of h.
const SLACK: f32 = 1e-5;
/// Cells the grid may have per particle before space is squeezed: in thin sheets over a wide bed, as rivers are, most are
/// empty, and steps through shared cells took a quarter longer (lava, dragons). In large grids their memory counts, so that
/// beyond [`MANY_CELLS`] there are fewer.
const CELLS_PER_PARTICLE: f64 = 16.0;
const MANY_CELLS: f64 = (1 << 21) as f64;
const FEWER_PER_PARTICLE: f64 = 4.0;
const CELLS_AT_LEAST: f64 = 65536.0;
/// [`Grid::unsqueezed`] of frugal grids: looking for the stretch of an axis that a place is in takes longer than all else, and so
/// near the origin single precision is exact enough.
const UNSQUEEZED: f64 = 256.0;
/// Cells that these may have however few the particles: with fewer, so many rows share cells that neighbours in one row are
/// hardly ever sorted side by side.
const FRUGAL_CELLS: f64 = (1 << 18) as f64;
/// Fewest rows that are shared: those beside a row must be others.
const SHARED_ROWS: f64 = 4.0;
/// Room around the particles, in supports: a little more than one, because far from the origin the place of the lowest particle
/// in its grid is rounded, and the rows beside a place below one would begin before the first cell.
const MARGIN: f64 = 1.0 + 1.0 / 64.0;
/// Buckets in which empty stretches of an axis are looked for.
const BUCKETS: usize = 4096;

/// What happens past the ends of an axis of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrap {
    /// Nothing is there.
    Ends,
    /// Cells are shared modulo the size; positions are not shifted.
    Shared,
    /// Space repeats after this length, in units of h.
    Periodic(f32),
}

/// A stretch of an axis that holds particles.
#[derive(Clone, Copy, Debug)]
struct Run {
    low: f64,
    high: f64,
    /// Added to a world coordinate to get the local one, m.
    shift: f64,
}

#[derive(Clone, Debug)]
struct Axis {
    runs: Vec<Run>,
    wrap: Wrap,
    cells: i32,
    /// Cells per unit of h.
    scale: f32,
}

impl Axis {
    #[inline]
    fn local(&self, x: f64, per_h: f64) -> f32 {
        let run = match self.runs.len() {
            1 => &self.runs[0],
            _ => &self.runs[self.run(x)],
        };
        ((x + run.shift) * per_h) as f32
    }

    /// The run that holds x or, in a gap, the nearer one: a place beside a run has its neighbours there.
    fn run(&self, x: f64) -> usize {
        let above = self.runs.partition_point(|r| r.high < x);
        let nearer_below = match (above.checked_sub(1), self.runs.get(above)) {
            (Some(below), Some(run)) => x - self.runs[below].high < run.low - x,
            (below, None) => below.is_some(),
            (None, Some(_)) => false,
        };
        above - usize::from(nearer_below)
    }

    /// As [`Axis::local`], for many.
    fn locals(&self, x: &[f64], per_h: f64, out: &mut [f32]) {
        if let [run] = &self.runs[..] {
            shift_all(x, run.shift, per_h, out);
        } else {
            for (out, x) in out.iter_mut().zip(x) {
                *out = self.local(*x, per_h);
            }
        }
    }

    #[inline]
    fn cell(&self, local: f32) -> i32 {
        match self.wrap {
            // Truncation is `floor` here, without its call into libm; a coordinate that rounds up to the full
            // period belongs to the last cell.
            Wrap::Ends | Wrap::Periodic(_) => ((local * self.scale) as i32).clamp(0, self.cells - 1),
            Wrap::Shared => whole(local * self.scale).rem_euclid(self.cells),
        }
    }
}

/// (x + shift) × scale. Without looking for the run at each, these are vectors; chooses the instruction set.
fn shift_all(x: &[f64], shift: f64, scale: f64, out: &mut [f32]) {
    widest!(shift_all_in(x: &[f64], shift: f64, scale: f64, out: &mut [f32]));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn shift_all_in<L>(x: &[f64], shift: f64, scale: f64, out: &mut [f32]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = ((x + shift) * scale) as f32;
    }
}

/// The cell grid over sorted particles.
#[derive(Clone, Debug)]
pub struct Grid {
    /// 1/h, 1/m.
    per_h: f64,
    axis: [Axis; 3],
    /// No axis repeats and rows along x are whole, so that the short way through the rows serves.
    plain: bool,
    /// First particle of each cell, and the total at the end.
    start: Vec<u32>,
    /// Cells it may have before space is squeezed, however few the particles.
    least_cells: f64,
    /// And for each particle.
    cells_per_particle: f64,
    /// Axes no longer than this, in supports, are not squeezed but share rows at once.
    unsqueezed: f64,
    /// Room around the particles, in supports, in which places can be looked up the quick way.
    margin: f64,
    /// Whether cells begin at multiples of their width, m.
    aligned: bool,
    /// How far candidates are looked for, in supports, and its inverse: the width of cells.
    reach: f32,
    per_reach: f32,
}

/// A bounded box and which of its axes repeat.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    /// Lowest corner, m.
    pub min: DVec3,
    /// Highest corner, m.
    pub max: DVec3,
    /// Axes that repeat.
    pub axes: [bool; 3],
}

impl Grid {
    /// An empty grid for support `h`, m.
    pub fn new(h: f64) -> Self {
        let axis = Axis {
            runs: vec![Run { low: 0.0, high: 0.0, shift: 0.0 }],
            wrap: Wrap::Ends,
            cells: 1,
            scale: 1.0,
        };
        Grid {
            per_h: 1.0 / h,
            axis: [axis.clone(), axis.clone(), axis],
            plain: false,
            start: vec![0, 0],
            least_cells: CELLS_AT_LEAST,
            cells_per_particle: CELLS_PER_PARTICLE,
            unsqueezed: 0.0,
            margin: MARGIN,
            aligned: false,
            reach: 1.0,
            per_reach: 1.0,
        }
    }

    /// The grid with candidates as far as `reach` supports: particles that have all moved by no more than half of what that is
    /// above one still find their neighbours without being sorted again. Not for space that repeats.
    pub fn reaching(self, reach: f32) -> Self {
        Grid { reach, per_reach: 1.0 / reach, ..self }
    }

    /// As [`Grid::new`], for particles that are sorted often and of which few roll far off: no more cells than clearing and
    /// counting takes little time for. Rows far apart share theirs then.
    pub fn frugal(h: f64) -> Self {
        Grid {
            least_cells: FRUGAL_CELLS,
            cells_per_particle: FEWER_PER_PARTICLE,
            unsqueezed: UNSQUEEZED,
            ..Grid::new(h)
        }
    }

    /// A grid in which others than its own particles are looked up: with room around for all that are near, and with cells
    /// to spare, `cells` at least, so that space need not be squeezed. Such grids of one support have their rows in common: particles
    /// in one row of their own grid are in one row of the others'. (While each began at its lowest particle, bunches of those that
    /// look for others held half as many.)
    pub fn for_others(h: f64, cells: f64) -> Self {
        Grid { least_cells: cells.max(CELLS_AT_LEAST), margin: 2.0, aligned: true, ..Grid::new(h) }
    }

    /// How far candidates are looked for, in supports.
    pub fn reach(&self) -> f32 {
        self.reach
    }

    /// Lays the grid over the particles at `position` (three parallel arrays, m).
    pub fn fit(&mut self, position: [&[f64]; 3], period: Option<&Period>) {
        let n = position[0].len();
        let h = 1.0 / self.per_h;
        let many = (self.cells_per_particle * n as f64).min(MANY_CELLS);
        let budget = many.max(FEWER_PER_PARTICLE * n as f64).max(self.least_cells);
        // And as much more as particles may move before they are sorted again.
        let room = (self.margin * f64::from(self.reach) + f64::from(self.reach) - 1.0) * h;
        for (a, (axis, x)) in self.axis.iter_mut().zip(position).enumerate() {
            axis.runs.clear();
            if let Some(p) = period.filter(|p| p.axes[a]) {
                axis.runs.push(Run { low: p.min[a], high: p.max[a], shift: -p.min[a] });
                axis.wrap = Wrap::Periodic(((p.max[a] - p.min[a]) * self.per_h) as f32);
            } else {
                // A margin, so that rows and chords around a particle stay inside the grid.
                let (low, high) = bounds_of(x);
                let cell = h * f64::from(self.reach);
                let shift = if self.aligned {
                    ((room / cell).ceil() - (low / cell).floor()) * cell
                } else {
                    room - low
                };
                axis.runs.push(Run { low, high, shift });
                axis.wrap = Wrap::Ends;
            }
        }
        let per_h = self.per_h;
        let per_cell = per_h * f64::from(self.per_reach);
        let sizes = |axis: &[Axis; 3]| -> [f64; 3] {
            std::array::from_fn(|a| {
                (axis_length(&axis[a]) * per_cell + 2.0) * if a == 0 { FINE as f64 } else { 1.0 }
            })
        };
        if sizes(&self.axis).iter().product::<f64>() > budget {
            for (axis, x) in self.axis.iter_mut().zip(position) {
                if axis.wrap == Wrap::Ends && axis_length(axis) * per_h > self.unsqueezed {
                    axis.runs = squeeze(x, axis.runs[0].low, axis.runs[0].high, h, room);
                }
            }
        }
        // If even the occupied stretches span too many cells (spray in all directions), let cells be shared:
        // halve the longest axis until the grid fits, y and z first, since whole rows along x are gone through the short way.
        // A period cannot share cells with itself; it gets wider ones.
        let mut size = sizes(&self.axis);
        let mut shared = [false; 3];
        while size.iter().product::<f64>() > budget {
            let rows = (1..3).filter(|a| size[*a] >= 2.0 * SHARED_ROWS);
            let longest = rows.max_by(|&a, &b| size[a].total_cmp(&size[b]));
            let Some(a) = longest.or((size[0] > 32.0).then_some(0)) else { break };
            size[a] /= 2.0;
            shared[a] = true;
        }
        for a in 0..3 {
            let fine = if a == 0 { FINE } else { 1.0 };
            let axis = &mut self.axis[a];
            match axis.wrap {
                Wrap::Periodic(length) => {
                    let most = if shared[a] { size[a] as i32 } else { i32::MAX };
                    axis.cells = ((length * fine).floor() as i32).min(most).max(1);
                    axis.scale = axis.cells as f32 / length;
                }
                _ if shared[a] => {
                    axis.wrap = Wrap::Shared;
                    axis.cells = size[a] as i32;
                    axis.scale = fine * self.per_reach;
                }
                _ => {
                    // Margin, and one more cell because the last coordinate may round up into the next.
                    axis.cells = (((axis_length(axis) + room) * per_cell) * fine as f64) as i32 + 2;
                    axis.scale = fine * self.per_reach;
                }
            }
        }
        let [x, y, z] = &self.axis;
        self.plain =
            x.wrap == Wrap::Ends && [y, z].iter().all(|a| matches!(a.wrap, Wrap::Ends | Wrap::Shared));
    }

    /// The local coordinates of a point, in units of h.
    #[inline]
    pub fn local(&self, p: [f64; 3]) -> [f32; 3] {
        let [x, y, z] = &self.axis;
        [x.local(p[0], self.per_h), y.local(p[1], self.per_h), z.local(p[2], self.per_h)]
    }

    /// The local coordinates of many points along an axis, in units of h.
    pub fn locals(&self, axis: usize, x: &[f64], out: &mut [f32]) {
        self.axis[axis].locals(x, self.per_h, out);
    }

    /// The cell number of local coordinates.
    #[inline]
    fn cell(&self, p: [f32; 3]) -> u32 {
        let [x, y, z] = &self.axis;
        let c = [x.cell(p[0]), y.cell(p[1]), z.cell(p[2])];
        ((c[2] * self.axis[1].cells + c[1]) * self.axis[0].cells + c[0]) as u32
    }

    /// Sorts: fills `order` so that `order[k]` is the particle that comes k-th. Stable, so the order does not
    /// depend on the number of threads. `key` is scratch. Both are as long as there are particles.
    pub fn sort(&mut self, position: [&[f64]; 3], key: &mut [u32], order: &mut [u32]) {
        let [x, y, z] = position;
        const PART: usize = 2048;
        key.par_chunks_mut(PART).enumerate().for_each(|(part, keys)| {
            let range = part * PART..part * PART + keys.len();
            let mut p = [[0.0; PART]; 3];
            for (a, x) in [x, y, z].into_iter().enumerate() {
                self.locals(a, &x[range.clone()], &mut p[a]);
            }
            for (k, key) in keys.iter_mut().enumerate() {
                *key = self.cell([p[0][k], p[1][k], p[2][k]]);
            }
        });
        let cells = self.axis.iter().map(|a| a.cells as usize).product::<usize>();
        // Counting and placing are serial: a few operations a particle beside hundreds in the force pass.
        self.start.clear();
        self.start.resize(cells + 2, 0);
        for &k in key.iter() {
            self.start[k as usize + 2] += 1;
        }
        let mut sum = 0;
        for s in &mut self.start {
            sum += *s;
            *s = sum;
        }
        // `start[k+1]` is where cell k begins, and counts up to its end as particles are placed: where cell k+1 begins.
        for (i, &k) in key.iter().enumerate() {
            let s = &mut self.start[k as usize + 1];
            order[*s as usize] = i as u32;
            *s += 1;
        }
        self.start.truncate(cells + 1);
    }

    /// How many of the particles at local `x`, `y`, `z` (sorted, a bunch of up to `B`) from the first on
    /// lie close enough together to share their candidates: in the same row and within half a support along it.
    #[inline(always)]
    pub fn bunch<const B: usize>(&self, x: &[f32], y: &[f32], z: &[f32]) -> usize {
        let row = |k: usize| ((y[k] * self.axis[1].scale) as i32, (z[k] * self.axis[2].scale) as i32);
        let first = row(0);
        let longest = LONGEST[usize::from(B > BUNCH)];
        let mut n = 1;
        while n < B.min(x.len()) && row(n) == first && (x[n] - x[0]).abs() < longest {
            n += 1;
        }
        n
    }

    /// Whether two places, which may lie outside of the grid, are in one row along x.
    #[inline(always)]
    pub fn same_row(&self, p: [f32; 3], q: [f32; 3]) -> bool {
        (1..3).all(|a| (p[a] * self.axis[a].scale).floor() == (q[a] * self.axis[a].scale).floor())
    }

    /// Lists in `out` the candidates for neighbours of a bunch of particles in the box from `p` to `q` (local
    /// coordinates; one particle when they are the same), in a fixed order.
    ///
    /// A list, not a callback: a closure inside a SIMD loop would be compiled without its instruction set. And
    /// inlined into that loop, so that the chords of eight rows are computed at once. The list of vectors is
    /// written without branches, because the number of vectors in a row is unpredictable. Profiled, making a list
    /// took more of the density pass than going through it, so four particles share one, at the price of more
    /// candidates: 21 → 17 ms a step at 60k on one thread.
    #[inline(always)]
    pub fn candidates<L: Lanes>(&self, p: [f32; 3], q: [f32; 3], out: &mut Candidates) {
        if !self.plain {
            return self.candidates_anywhere::<L>(p, q, out);
        }
        // From here on in cells, as far as they reach.
        let (p, q) = (p.map(|v| v * self.per_reach), q.map(|v| v * self.per_reach));
        let [ax, ay, az] = &self.axis;
        let (cy, cz) = (p[1] as i32, p[2] as i32);
        if (cy, cz) != out.row {
            // Sorted particles share their rows with the one before, mostly.
            out.row = (cy, cz);
            for k in 0..9 {
                let (dy, dz) = (k as i32 % 3 - 1, k as i32 / 3 - 1);
                // Shared rows come again; of others none is past the last.
                let (y, z) = ((cy + dy) % ay.cells, (cz + dz) % az.cells);
                out.row_start[k] = (z * ay.cells + y) * ax.cells;
            }
            out.row_start.swap(4, 8);
        }
        // Distances to the rows below, the same and above.
        let below_y = (p[1] - cy as f32 - SLACK).max(0.0);
        let above_y = ((cy + 1) as f32 - q[1] - SLACK).max(0.0);
        let below_z = (p[2] - cz as f32 - SLACK).max(0.0);
        let above_z = ((cz + 1) as f32 - q[2] - SLACK).max(0.0);
        let (by, ay2, bz, az2) = (below_y * below_y, above_y * above_y, below_z * below_z, above_z * above_z);
        // The eight rows around, then the own one (`row_start` has rows 4 and 8 swapped for this): squared
        // distance of the row, half chord of the unit sphere, first and last cell, first and last particle.
        let square = [by + bz, bz, ay2 + bz, by, az2 + ay2, ay2, by + az2, az2];
        let (mut low, mut high) = ([0i32; 8], [0i32; 8]);
        for k in 0..8 {
            let reach = (1.0 - square[k]).max(0.0).sqrt() + SLACK;
            low[k] = ((p[0] - reach) * FINE) as i32;
            high[k] = ((q[0] + reach) * FINE) as i32;
        }
        let (mut start, mut count) = ([0u32; 9], [0u32; 9]);
        let cells = self.start.as_slice();
        for k in 0..9 {
            let (low, high) = if k < 8 {
                (low[k], high[k])
            } else {
                (((p[0] - 1.0 - SLACK) * FINE) as i32, ((q[0] + 1.0 + SLACK) * FINE) as i32)
            };
            // `fit` leaves a margin of one support on every side of every particle; what is beyond all the same is looked for slowly.
            let at =
                |cell: i32| cells.get(usize::try_from(out.row_start[k].checked_add(cell)?).ok()?).copied();
            let (Some(first), Some(last)) = (at(low), at(high.saturating_add(1))) else {
                return self.candidates_anywhere::<L>(
                    p.map(|v| v / self.per_reach),
                    q.map(|v| v / self.per_reach),
                    out,
                );
            };
            start[k] = first;
            count[k] = if k < 8 && square[k] >= 1.0 { 0 } else { last.saturating_sub(first) };
        }
        out.reserve(count.iter().sum::<u32>() as usize / L::N + 9);
        let mut len = 0;
        for k in 0..9 {
            // SAFETY: room was made for all runs, and four more.
            unsafe { out.write::<L>(len, start[k], count[k]) };
            len += count[k].div_ceil(L::N as u32) as usize;
        }
        out.len = len;
        out.groups[0] = Group { shift: [0.0; 3], end: len as u32 };
        out.group_count = 1;
    }

    /// As [`Grid::candidates`], for places other than those the grid was laid over.
    #[inline(always)]
    pub fn candidates_beside<L: Lanes>(&self, p: [f32; 3], q: [f32; 3], out: &mut Candidates) {
        let [ax, ay, az] = &self.axis;
        let low = p.iter().all(|v| v * self.per_reach >= 1.0 + SLACK);
        let inside =
            |axis: &Axis, x: f32| axis.wrap == Wrap::Shared || x * axis.scale < (axis.cells - 1) as f32;
        let high = q[0] * self.per_reach <= (ax.cells - 2) as f32 / FINE - 1.0 - 2.0 * SLACK
            && inside(ay, q[1])
            && inside(az, q[2]);
        if self.plain && low && high {
            self.candidates::<L>(p, q, out);
        } else {
            self.candidates_anywhere::<L>(p, q, out);
        }
    }

    /// As [`Grid::candidates`], for any place and any kind of axis.
    pub fn candidates_anywhere<L: Lanes>(&self, p: [f32; 3], q: [f32; 3], out: &mut Candidates) {
        let [ax, ay, az] = &self.axis;
        let (rows_y, rows_z) = (rows(ay, p[1], q[1]), rows(az, p[2], q[2]));
        (out.len, out.group_count) = (0, 0);
        for (cz, shift_z, dz) in rows_z.into_iter().flatten() {
            for (cy, shift_y, dy) in rows_y.into_iter().flatten() {
                let rest = self.reach * self.reach - dy * dy - dz * dz;
                if rest <= 0.0 {
                    continue;
                }
                let reach = rest.sqrt() + SLACK;
                let row = (cz * ay.cells + cy) * ax.cells;
                let low = whole((p[0] - reach) * ax.scale);
                let high = whole((q[0] + reach) * ax.scale);
                match ax.wrap {
                    Wrap::Ends => {
                        if high >= 0 && low < ax.cells {
                            let (low, high) = (low.max(0), high.min(ax.cells - 1));
                            self.add_run::<L>(out, row + low, row + high, [0.0, shift_y, shift_z]);
                        }
                    }
                    Wrap::Shared | Wrap::Periodic(_) => {
                        let length = if let Wrap::Periodic(l) = ax.wrap { l } else { 0.0 };
                        // A row shared with itself is swept once at most.
                        let high = if length == 0.0 { high.min(low + ax.cells - 1) } else { high };
                        for turn in low.div_euclid(ax.cells)..=high.div_euclid(ax.cells) {
                            let first = turn * ax.cells;
                            let a = low.max(first) - first;
                            let b = high.min(first + ax.cells - 1) - first;
                            self.add_run::<L>(
                                out,
                                row + a,
                                row + b,
                                [-(turn as f32) * length, shift_y, shift_z],
                            );
                        }
                    }
                }
            }
        }
    }

    fn add_run<L: Lanes>(&self, out: &mut Candidates, first: i32, last: i32, shift: [f32; 3]) {
        let (start, end) = (self.start[first as usize], self.start[last as usize + 1]);
        if start == end {
            return;
        }
        out.push::<L>(start, end - start);
        let same = out.group_count > 0 && out.groups[out.group_count - 1].shift == shift;
        if !same && out.group_count < MAX_GROUPS {
            out.groups[out.group_count].shift = shift;
            out.group_count += 1;
        }
        out.groups[out.group_count - 1].end = out.len as u32;
    }
}

/// Rounds down; places far from all particles (an emitter's) end where a few more cells do not overflow.
#[inline]
fn whole(x: f32) -> i32 {
    let x = x.clamp(-1e9, 1e9);
    // `floor` without its call into libm.
    let cut = x as i32;
    cut - i32::from(cut as f32 > x)
}

/// The rows of an axis around coordinates from x to y, both in the same row: row number, shift for the point,
/// distance to the row.
fn rows(axis: &Axis, x: f32, y: f32) -> [Option<(i32, f32, f32)>; 3] {
    let c = whole(x * axis.scale);
    // A coordinate that rounds up to the full period belongs to the last cell.
    let c = if matches!(axis.wrap, Wrap::Periodic(_)) { c.clamp(0, axis.cells - 1) } else { c };
    let width = 1.0 / axis.scale;
    let below = (x - c as f32 * width - SLACK).max(0.0);
    let above = ((c + 1) as f32 * width - y - SLACK).max(0.0);
    [(c - 1, below), (c, 0.0), (c + 1, above)].map(|(c, distance)| match axis.wrap {
        Wrap::Ends => (0..axis.cells).contains(&c).then_some((c, 0.0, distance)),
        Wrap::Shared => Some((c.rem_euclid(axis.cells), 0.0, distance)),
        Wrap::Periodic(l) if c < 0 => Some((c + axis.cells, l, distance)),
        Wrap::Periodic(l) if c >= axis.cells => Some((c - axis.cells, -l, distance)),
        Wrap::Periodic(_) => Some((c, 0.0, distance)),
    })
}

fn axis_length(axis: &Axis) -> f64 {
    axis.runs.last().map_or(0.0, |r| r.high + r.shift)
}

/// Smallest and largest value; (0, 0) of nothing.
fn bounds_of(x: &[f64]) -> (f64, f64) {
    // Eight at once, and plain comparisons: `min` also has an answer for what is no number, which is not here.
    let part = |x: &[f64]| {
        let (mut low, mut high) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
        let (eights, rest) = x.as_chunks::<8>();
        let mut add = |k: usize, v: f64| {
            low[k] = if v < low[k] { v } else { low[k] };
            high[k] = if v > high[k] { v } else { high[k] };
        };
        for eight in eights {
            for (k, v) in eight.iter().enumerate() {
                add(k, *v);
            }
        }
        rest.iter().for_each(|v| add(0, *v));
        (low.into_iter().fold(f64::INFINITY, f64::min), high.into_iter().fold(f64::NEG_INFINITY, f64::max))
    };
    x.par_chunks(1 << 14).map(part).reduce_with(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 0.0))
}

/// The stretches of an axis that hold particles, moved together until gaps of three supports remain.
fn squeeze(x: &[f64], low: f64, high: f64, h: f64, room: f64) -> Vec<Run> {
    let width = ((high - low) / BUCKETS as f64).max(h);
    let mut bucket = vec![(f64::INFINITY, f64::NEG_INFINITY); BUCKETS + 1];
    for &v in x {
        let b = &mut bucket[(((v - low) / width) as usize).min(BUCKETS)];
        *b = (b.0.min(v), b.1.max(v));
    }
    let mut runs: Vec<Run> = Vec::new();
    for &(l, u) in bucket.iter().filter(|b| b.0 <= b.1) {
        match runs.last_mut() {
            Some(run) if l - run.high <= 3.0 * h => run.high = u,
            last => {
                let shift = last.map_or(room - l, |r| r.high + r.shift + 3.0 * h - l);
                runs.push(Run { low: l, high: u, shift });
            }
        }
    }
    runs
}

/// A place moved into the period.
pub fn wrap(mut p: DVec3, period: Option<&Period>) -> DVec3 {
    if let Some(period) = period {
        for a in (0..3).filter(|a| period.axes[*a]) {
            let length = period.max[a] - period.min[a];
            p[a] -= ((p[a] - period.min[a]) / length).floor() * length;
        }
    }
    p
}

/// Whether two local points are neighbours: the one predicate of the fast path and of the oracle.
#[inline(always)]
pub fn is_neighbor(d: [f32; 3]) -> bool {
    d[2].mul_add(d[2], d[1].mul_add(d[1], d[0] * d[0])) < 1.0
}

#[cfg(test)]
mod tests;
