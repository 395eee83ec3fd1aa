//! Between the caller's cells, with x running fastest, and the slots of the finest level.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::System;
use super::kernels::{Out, Split, Wide, eight};
use super::level::{LANES, Level};
use crate::simd::{Eight, Portable};

/// An excess below this part of the diagonal is the rounding of the diagonal.
const ROUNDING: f32 = 1e-6;

/// Boxes with fewer cells are not worth waking other threads.
pub(super) const PARALLEL: usize = 32768;

/// Cells of a group of either colour together.
pub(super) const CELLS: usize = 2 * LANES;

/// Calls a function with each row (y, z) of a box, in parallel if it is large.
pub(super) fn rows(size: [usize; 3], each: impl Fn(usize, usize) + Sync + Send) {
    let [nx, ny, nz] = size;
    let layer = |z: usize| (0..ny).for_each(|y| each(y, z));
    if nx * ny * nz < PARALLEL { (0..nz).for_each(layer) } else { (0..nz).into_par_iter().for_each(layer) }
}

/// The largest finite magnitude.
pub(super) fn largest(v: &[f32]) -> f32 {
    if v.len() < PARALLEL {
        largest_of(v)
    } else {
        v.par_chunks(PARALLEL / 4).map(largest_of).reduce(|| 0.0, f32::max)
    }
}

fn largest_of(v: &[f32]) -> f32 {
    // Lanes of their own, so that the compiler may take them at once.
    let mut most = [0.0f32; LANES];
    let (groups, rest) = v.as_chunks::<LANES>();
    for values in groups {
        for l in 0..LANES {
            let size = values[l].abs();
            most[l] = if (size > most[l]) & (size <= f32::MAX) { size } else { most[l] };
        }
    }
    rest.iter().map(|v| v.abs()).filter(|v| *v <= f32::MAX).chain(most).fold(0.0, f32::max)
}

fn unknown(diagonal: f32) -> bool {
    diagonal > 0.0 && diagonal <= f32::MAX
}

/// Up to 16 values of a row from x on, and what follows the last.
#[inline(always)]
fn window(row: Option<&[f32]>, x: usize, after: f32) -> [f32; CELLS + 1] {
    let mut out = [0.0; CELLS + 1];
    let Some(row) = row else { return out };
    // A length that the compiler knows: copies of any length are calls, which took half of the time.
    if let Some(all) = row[x..].first_chunk::<CELLS>() {
        out[..CELLS].copy_from_slice(all);
        out[CELLS] = row.get(x + CELLS).copied().unwrap_or(after);
    } else {
        let count = row.len() - x;
        out[..count].copy_from_slice(&row[x..]);
        out[count] = after;
    }
    out
}

/// Deals 16 values along x out to the two colours of a row with this parity.
#[inline(always)]
pub(super) fn deal(values: &[f32; CELLS], parity: usize, out: [Out; 2], at: usize) {
    let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
    for l in 0..LANES {
        even[l] = values[2 * l];
        odd[l] = values[2 * l + 1];
    }
    // SAFETY: the group is one of the level's, and no other thread's.
    unsafe {
        out[parity].write(at, &even);
        out[1 - parity].write(at, &odd);
    }
}

/// What the threads need to take the matrix.
struct Loading<'a> {
    system: &'a System,
    scale: f32,
    level: &'a Level,
    plus: [[Out; 2]; 3],
    diagonal: [Out; 2],
    inverse: [Out; 2],
    excess: [Out; 2],
    counts: Counts,
}

/// Counts by group, of which each thread changes its own.
#[derive(Clone, Copy)]
pub(super) struct Counts(*mut u8);

// SAFETY: no two threads have the same group.
unsafe impl Send for Counts {}
// SAFETY: as above.
unsafe impl Sync for Counts {}

impl Counts {
    pub(super) fn of(counts: &mut [u8]) -> Self {
        Counts(counts.as_mut_ptr())
    }

    /// The count of the group that begins at a slot.
    ///
    /// # Safety
    /// It must be one of the level's, and the caller's own.
    #[inline(always)]
    pub(super) unsafe fn at(self, at: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(at / LANES) }
    }
}

impl Loading<'_> {
    /// The diagonal of the row of cells behind one along an axis.
    #[inline(always)]
    fn behind(&self, here: usize, axis: usize, at: usize, stride: usize) -> Option<&[f32]> {
        let first = match at + 1 < self.level.size[axis] {
            true => here + stride,
            false if self.level.periodic[axis] && at > 0 => here - at * stride,
            false => return None,
        };
        Some(&self.system.diagonal[first..first + self.level.size[0]])
    }
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `eight!`, for its instructions
fn load_row<L: Eight>(job: &Loading, y: usize, z: usize) -> f64 {
    let (level, system, scale) = (job.level, job.system, job.scale);
    let [nx, ny, _] = level.size;
    let here = (z * ny + y) * nx;
    let own = &system.diagonal[here..here + nx];
    let (next_y, next_z) = (job.behind(here, 1, y, nx), job.behind(here, 2, z, nx * ny));
    let wrap = if level.periodic[0] && nx > 1 { own[0] } else { 0.0 };
    let parity = (y + z) & 1;
    for (group, x) in (0..nx).step_by(CELLS).enumerate() {
        let at = level.row(y, z) + group * LANES;
        let cells = CELLS.min(nx - x);
        let d = window(Some(own), x, wrap);
        let mut found = 0;
        for d in &d[..cells] {
            found += u8::from(unknown(*d));
        }
        // SAFETY: the group is this row's.
        unsafe {
            let count = job.counts.at(at);
            if found == 0 && *count == 0 {
                continue;
            }
            *count = found;
        }
        let mut rest = [0.0; CELLS];
        rest[..cells].copy_from_slice(&d[..cells]);
        let mut next = [0.0; CELLS];
        next.copy_from_slice(&d[1..]);
        for axis in 0..3 {
            if axis > 0 {
                next.copy_from_slice(&window([next_y, next_z][axis - 1], x, 0.0)[..CELLS]);
            }
            let given = window(Some(&system.plus[axis][here..here + nx]), x, 0.0);
            let mut taken = [0.0; CELLS];
            for l in 0..CELLS {
                let sound = unknown(d[l]) & unknown(next[l]) & (given[l] > 0.0) & (given[l] <= f32::MAX);
                taken[l] = if sound { given[l] * scale } else { 0.0 };
            }
            let (end, seam) = ([nx, y + 1, z + 1][axis] == level.size[axis], level.seam(axis));
            if end && seam > 1.0 {
                let doubled = if axis > 0 {
                    0..CELLS
                } else {
                    cells - 1..if nx - x <= CELLS { cells } else { cells - 1 }
                };
                for c in &mut taken[doubled] {
                    *c *= seam;
                }
            }
            if level.size[axis] == 1 && level.periodic[axis] {
                // Each cell is coupled with itself from both sides.
                for l in 0..CELLS {
                    rest[l] -= if given[l] > 0.0 { 2.0 * given[l] } else { 0.0 };
                }
            }
            deal(&taken, parity, job.plus[axis], at);
        }
        let (mut inverses, mut rounding) = ([0.0; CELLS], [0.0; CELLS]);
        for l in 0..CELLS {
            let value = rest[l] * scale;
            let sound = unknown(d[l]) & (f32::MIN_POSITIVE..=f32::MAX).contains(&value);
            rest[l] = if sound { value } else { 0.0 };
            inverses[l] = if sound { 1.0 / value } else { 0.0 };
            rounding[l] = if sound { ROUNDING * d[l] * scale } else { 0.0 };
        }
        deal(&rest, parity, job.diagonal, at);
        deal(&inverses, parity, job.inverse, at);
        deal(&rounding, parity, job.excess, at);
    }
    0.0
}

impl Level {
    /// Takes the matrix, times a scale, and finds where unknowns are.
    pub(super) fn load(&mut self, system: &System, scale: f32) {
        let plus = self.plus.each_mut().map(|p| p.out());
        let (diagonal, inverse, excess) = (self.diagonal.out(), self.inverse.out(), self.excess.out());
        let counts = Counts::of(&mut self.counts);
        let job = &Loading { system, scale, level: self, plus, diagonal, inverse, excess, counts };
        rows(self.size, |y, z| {
            eight!(load_row(job: &Loading, y: usize, z: usize));
        });
        self.list_groups();
    }

    /// Takes the right side, times a scale; whether all of it is finite.
    pub(super) fn load_b(&self, given: &[f32], scale: f32, b: &mut Split) -> bool {
        let out = b.out();
        let finite = AtomicBool::new(true);
        self.each_group(|at, x, parity, here| {
            let given = window(Some(&given[here..here + self.size[0]]), x, 0.0);
            let mut sound = true;
            for half in 0..2 {
                let c = half ^ parity;
                let inverse = &self.inverse[c][at..at + LANES];
                let mut values = [0.0; LANES];
                for l in 0..LANES {
                    let value = given[2 * l + half];
                    let (fine, is_unknown) = (value.abs() <= f32::MAX, inverse[l] > 0.0);
                    sound &= fine | !is_unknown;
                    values[l] = if fine & is_unknown { value * scale } else { 0.0 };
                }
                // SAFETY: the group is this thread's.
                unsafe { out[c].write(at, &values) };
            }
            if !sound {
                finite.store(false, Ordering::Relaxed);
            }
        });
        finite.into_inner()
    }

    /// Takes the first guess, times a scale.
    pub(super) fn load_guess(&self, given: &[f32], scale: f64, x: &mut [Vec<f64>; 2]) {
        let out = Wide::of(x);
        self.each_group(|at, x, parity, here| {
            let given = window(Some(&given[here..here + self.size[0]]), x, 0.0);
            for (l, given) in given.into_iter().take(CELLS).enumerate() {
                let colour = (l + parity) & 1;
                let sound = given.abs() <= f32::MAX && self.inverse[colour][at + l / 2] > 0.0;
                let value = if sound { f64::from(given) * scale } else { 0.0 };
                // SAFETY: the group is this thread's.
                unsafe { *out.at(colour, at + l / 2) = value };
            }
        });
    }

    /// Gives the answer back, where there are unknowns.
    pub(super) fn store(&self, x: &[Vec<f64>; 2], scale: f64, p: &mut [f32]) {
        let p = Out(p.as_mut_ptr());
        self.each_group(|at, x0, parity, here| {
            for l in 0..CELLS.min(self.size[0] - x0) {
                let colour = (l + parity) & 1;
                let value = (x[colour][at + l / 2] * scale) as f32;
                if self.inverse[colour][at + l / 2] > 0.0 && value.is_finite() {
                    // SAFETY: the cell is in the box, and this thread's.
                    unsafe { *p.at(here + x0 + l) = value };
                }
            }
        });
    }

    /// Gives the sum of vectors back, where there are unknowns.
    pub(super) fn store_sum(&self, of: [Option<&Split>; 2], scale: f64, p: &mut [f32]) {
        let p = Out(p.as_mut_ptr());
        let scale = scale as f32;
        self.each_group(|at, x0, parity, here| {
            let mut slots = [[0.0; LANES]; 2];
            for (c, slots) in slots.iter_mut().enumerate() {
                for v in of.iter().flatten() {
                    for (sum, v) in slots.iter_mut().zip(&v[c][at..at + LANES]) {
                        *sum += v;
                    }
                }
                for (sum, inverse) in slots.iter_mut().zip(&self.inverse[c][at..at + LANES]) {
                    let value = *sum * scale;
                    *sum = if (*inverse > 0.0) & (value.abs() <= f32::MAX) { value } else { 0.0 };
                }
            }
            let mut row = [0.0; CELLS];
            for l in 0..LANES {
                row[2 * l] = slots[parity][l];
                row[2 * l + 1] = slots[1 - parity][l];
            }
            let count = CELLS.min(self.size[0] - x0);
            for (l, value) in row.into_iter().enumerate().take(count) {
                // SAFETY: the cell is in the box, and this thread's.
                unsafe { *p.at(here + x0 + l) = value };
            }
        });
    }

    /// Calls a function with the first slot, first x, row parity and first cell of the row of each group with unknowns.
    fn each_group(&self, each: impl Fn(usize, usize, usize, usize) + Sync + Send) {
        let [nx, ny, _] = self.size;
        rows(self.size, |y, z| {
            let row = self.row(y, z);
            for (group, x) in (0..nx).step_by(CELLS).enumerate() {
                let at = row + group * LANES;
                if self.counts[at / LANES] > 0 {
                    each(at, x, (y + z) & 1, (z * ny + y) * nx);
                }
            }
        });
    }
}
