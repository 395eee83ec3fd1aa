//! Between the caller's cells, with x running fastest, and the slots of the finest level.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::System;
use super::kernels::{Out, Split, Wide};
use super::level::{LANES, Level};

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
    let greatest = |m: f32, v: &f32| if v.abs() > m && v.abs() <= f32::MAX { v.abs() } else { m };
    let part = |v: &[f32]| v.iter().fold(0.0, greatest);
    if v.len() < PARALLEL { part(v) } else { v.par_chunks(PARALLEL / 4).map(part).reduce(|| 0.0, f32::max) }
}

fn unknown(diagonal: f32) -> bool {
    diagonal > 0.0 && diagonal <= f32::MAX
}

/// Up to 16 values of a row from x on, and what follows the last.
#[inline(always)]
fn window(row: Option<&[f32]>, x: usize, after: f32) -> [f32; CELLS + 1] {
    let mut out = [0.0; CELLS + 1];
    if let Some(row) = row {
        let end = row.len().min(x + CELLS + 1);
        out[..end - x].copy_from_slice(&row[x..end]);
        if end - x <= CELLS {
            out[end - x] = after;
        }
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

/// The couplings of which both ends are unknowns, times a scale.
#[inline(always)]
fn couplings(plus: &[f32; CELLS + 1], own: &[f32], next: &[f32], scale: f32) -> [f32; CELLS] {
    let mut out = [0.0; CELLS];
    for l in 0..CELLS {
        let sound = unknown(own[l]) & unknown(next[l]) & (plus[l] > 0.0) & (plus[l] <= f32::MAX);
        out[l] = if sound { plus[l] * scale } else { 0.0 };
    }
    out
}

impl Level {
    /// Takes the matrix, times a scale, and finds where unknowns are.
    pub(super) fn load(&mut self, system: &System, scale: f32) {
        let [nx, ny, _] = self.size;
        let plus = self.plus.each_mut().map(|p| p.out());
        let (diagonal, inverse, excess) = (self.diagonal.out(), self.inverse.out(), self.excess.out());
        let counts = self.counts.as_mut_ptr() as usize;
        let level = &*self;
        // The row of cells behind one along an axis.
        let behind = |here: usize, axis: usize, at: usize, stride: usize| {
            let first = match at + 1 < level.size[axis] {
                true => here + stride,
                false if level.periodic[axis] && at > 0 => here - at * stride,
                false => return None,
            };
            Some(&system.diagonal[first..first + nx])
        };
        rows(self.size, |y, z| {
            let here = (z * ny + y) * nx;
            let own = &system.diagonal[here..here + nx];
            let (next_y, next_z) = (behind(here, 1, y, nx), behind(here, 2, z, nx * ny));
            let wrap = if level.periodic[0] && nx > 1 { own[0] } else { 0.0 };
            let parity = (y + z) & 1;
            for (group, x) in (0..nx).step_by(CELLS).enumerate() {
                let at = level.row(y, z) + group * LANES;
                // SAFETY: one count for each group, and the group is this row's.
                let count = unsafe { &mut *(counts as *mut u8).add(at / LANES) };
                let d = window(Some(own), x, wrap);
                let found = d[..CELLS.min(nx - x)].iter().filter(|d| unknown(**d)).count() as u8;
                if found == 0 && *count == 0 {
                    continue;
                }
                *count = found;
                let mut rest = [0.0; CELLS];
                rest.copy_from_slice(&d[..CELLS]);
                for (axis, next) in [Some(&d[1..]), None, None].into_iter().enumerate() {
                    let rows = [None, next_y, next_z][axis].map(|row| window(Some(row), x, 0.0));
                    let given = window(Some(&system.plus[axis][here..here + nx]), x, 0.0);
                    let next = match (next, &rows) {
                        (Some(next), _) => next,
                        (None, Some(rows)) => &rows[..],
                        (None, None) => &[0.0; CELLS][..],
                    };
                    let mut taken = couplings(&given, &d, next, scale);
                    let end = [nx, y + 1, z + 1][axis];
                    if end == level.size[axis] && level.seam(axis) > 1.0 {
                        match axis {
                            0 if nx - x <= CELLS => taken[nx - 1 - x] *= level.seam(0),
                            0 => {}
                            _ => taken.iter_mut().for_each(|c| *c *= level.seam(axis)),
                        }
                    }
                    if level.size[axis] == 1 && level.periodic[axis] {
                        // Each cell is coupled with itself from both sides.
                        for l in 0..CELLS {
                            rest[l] -= if given[l] > 0.0 { 2.0 * given[l] } else { 0.0 };
                        }
                    }
                    deal(&taken, parity, plus[axis], at);
                }
                let (mut inverses, mut rounding) = ([0.0; CELLS], [0.0; CELLS]);
                for l in 0..CELLS {
                    let value = rest[l] * scale;
                    let sound = unknown(d[l]) & unknown(value) & (value >= f32::MIN_POSITIVE);
                    rest[l] = if sound { value } else { 0.0 };
                    inverses[l] = if sound { 1.0 / value } else { 0.0 };
                    rounding[l] = if sound { ROUNDING * d[l] * scale } else { 0.0 };
                }
                // The slot after the last cell may be a ghost's, whose own diagonal the window has there.
                if nx - x < CELLS {
                    rest[nx - x..].fill(0.0);
                    inverses[nx - x..].fill(0.0);
                }
                deal(&rest, parity, diagonal, at);
                deal(&inverses, parity, inverse, at);
                deal(&rounding, parity, excess, at);
            }
        });
        self.list_groups();
    }

    /// Takes the right side, times a scale; whether all of it is finite.
    pub(super) fn load_b(&self, given: &[f32], scale: f32, b: &mut Split) -> bool {
        let out = b.out();
        let finite = AtomicBool::new(true);
        self.each_group(|at, x, parity, here| {
            let given = window(Some(&given[here..here + self.size[0]]), x, 0.0);
            let mut values = [0.0; CELLS];
            let mut sound = true;
            for l in 0..CELLS {
                let is_unknown = self.inverse[(l + parity) & 1][at + l / 2] > 0.0;
                let fine = given[l].abs() <= f32::MAX;
                sound &= fine | !is_unknown;
                values[l] = if fine & is_unknown { given[l] * scale } else { 0.0 };
            }
            deal(&values, parity, out, at);
            if !sound {
                finite.store(false, Ordering::Relaxed);
            }
        });
        finite.into_inner()
    }

    /// Takes the first guess, times a scale; whether there is one.
    pub(super) fn load_guess(&self, given: &[f32], scale: f64, x: &mut [Vec<f64>; 2]) -> bool {
        let out = Wide::of(x);
        let any = AtomicBool::new(false);
        self.each_group(|at, x, parity, here| {
            let given = window(Some(&given[here..here + self.size[0]]), x, 0.0);
            let mut some = false;
            for l in 0..CELLS {
                let colour = (l + parity) & 1;
                let sound = given[l].abs() <= f32::MAX && self.inverse[colour][at + l / 2] > 0.0;
                let value = if sound { f64::from(given[l]) * scale } else { 0.0 };
                some |= value != 0.0;
                // SAFETY: the group is this thread's.
                unsafe { *out.at(colour, at + l / 2) = value };
            }
            if some {
                any.store(true, Ordering::Relaxed);
            }
        });
        any.into_inner()
    }

    /// Gives the answer back, 0 where there is no unknown.
    pub(super) fn store(&self, x: &[Vec<f64>; 2], scale: f64, p: &mut [f32]) {
        p.fill(0.0);
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
