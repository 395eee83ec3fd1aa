//! The loops between a level and the next coarser one.

use rayon::prelude::*;

use super::kernels::{
    Colour, ODD_ROW, Out, PARALLEL, Split, TASK, UNIFORM, UNIFORM_COUNT, at_of, diagonal, eight, load,
    neighbours, over,
};
use super::level::LANES;
use crate::simd::{Eight, Portable};

/// From a coarse level to the rows of the fine one that its rows are made of.
pub(super) struct Transfer<'a> {
    /// `counts` of the fine level.
    pub(super) counts: &'a [u8],
    /// Sizes of the fine level in y and z, and slots of its rows, a multiple of [`LANES`].
    pub(super) fine: [usize; 2],
    pub(super) slots: usize,
    pub(super) fine_stride: [usize; 2],
    pub(super) coarse_stride: [usize; 2],
}

impl Transfer<'_> {
    /// The first groups in the up to four rows of the fine level that belong to a group of the coarse one, how many rows,
    /// and how many groups in each.
    #[inline(always)]
    fn children(&self, group: u32) -> ([u32; 4], usize, usize) {
        let at = at_of(group);
        let (z, within) = (at / self.coarse_stride[1] - 1, at % self.coarse_stride[1]);
        let (y, first) = (within / self.coarse_stride[0] - 1, within % self.coarse_stride[0] - LANES);
        let (mut rows, mut count) = ([0; 4], 0);
        for z in 2 * z..(2 * z + 2).min(self.fine[1]) {
            for y in 2 * y..(2 * y + 2).min(self.fine[0]) {
                let row = (z + 1) * self.fine_stride[1] + (y + 1) * self.fine_stride[0] + LANES;
                rows[count] = ((row + 2 * first) | ((y + z) & 1)) as u32;
                count += 1;
            }
        }
        (rows, count, if 2 * first + LANES < self.slots { 2 } else { 1 })
    }
}

/// Sums the residual of the fine level's cells of one colour over each coarse cell, and sets `b` of the coarse level to it
/// or adds it; these are that level's groups.
pub(super) fn restrict(
    coarse: &[u32],
    transfer: &Transfer,
    k: &Colour,
    b: &[f32],
    [own, other]: [&[f32]; 2],
    adds: bool,
    to: &mut Split,
) {
    let out = to.out();
    over(
        coarse,
        |part| eight!(restrict_in(part: &[u32], transfer: &Transfer, k: &Colour, b: &[f32], own: &[f32], other: &[f32], adds: bool, out: [Out; 2])),
    );
}

#[inline(always)]
fn restrict_in<L: Eight>(
    coarse: &[u32],
    transfer: &Transfer,
    k: &Colour,
    b: &[f32],
    own: &[f32],
    other: &[f32],
    adds: bool,
    out: [Out; 2],
) -> f64 {
    let keep = if adds { 1.0 } else { 0.0 };
    for &group in coarse {
        let mut sums = [L::splat(0.0); 2];
        let (rows, count, halves) = transfer.children(group);
        for &row in &rows[..count] {
            for (half, sum) in sums.iter_mut().enumerate().take(halves) {
                let at = at_of(row) + half * LANES;
                let count = transfer.counts[at / LANES];
                if count == 0 {
                    continue;
                }
                let mark = if count >= UNIFORM_COUNT { UNIFORM } else { 0 };
                let fine = at as u32 | (row & ODD_ROW) | mark;
                // SAFETY: rows and slots are the fine level's.
                unsafe {
                    let (near, inverse) = neighbours::<L>(k, other, fine);
                    let mean = near.add(load(b, at)).mul(inverse);
                    *sum = mean.sub(load(own, at)).mul_add(diagonal(k, fine), *sum);
                }
            }
        }
        let (at, parity) = (at_of(group), (group & ODD_ROW) as usize);
        let sums = [sums[0].to_array(), sums[1].to_array()];
        for l in 0..LANES {
            let pair = [sums[l / 4][2 * l % LANES], sums[l / 4][2 * l % LANES + 1]];
            // SAFETY: the group is one of the level's, and this task's own.
            unsafe {
                *out[0].at(at + l) = pair[parity] + keep * *out[0].at(at + l);
                *out[1].at(at + l) = pair[1 - parity] + keep * *out[1].at(at + l);
            }
        }
    }
    0.0
}

/// Adds `factor` times the coarse level's answer to the fine level's cells of one colour. `parents` has, for each group of
/// the fine level, the first of the four coarse slots it belongs to, and in bit 0 the parity of their row.
pub(super) fn prolong(groups: &[u32], parents: &[u32], factor: f32, from: &Split, x: &mut [f32]) {
    let x = Out(x.as_mut_ptr());
    let [red, black] = &from.0;
    let task = |(part, parents): (&[u32], &[u32])| {
        eight!(prolong_in(part: &[u32], parents: &[u32], factor: f32, red: &[f32], black: &[f32], x: Out));
    };
    if groups.len() < PARALLEL {
        task((groups, parents));
    } else {
        groups.par_chunks(TASK).zip(parents.par_chunks(TASK)).for_each(task);
    }
}

#[inline(always)]
fn prolong_in<L: Eight>(
    groups: &[u32],
    parents: &[u32],
    factor: f32,
    red: &[f32],
    black: &[f32],
    x: Out,
) -> f64 {
    let factor = L::splat(factor);
    for (&group, &parent) in groups.iter().zip(parents) {
        let (from, parity) = ((parent & !ODD_ROW) as usize, parent & ODD_ROW);
        let (even, odd) = if parity == 0 { (red, black) } else { (black, red) };
        let (even, odd) = (&even[from..from + LANES / 2], &odd[from..from + LANES / 2]);
        let mut values = [0.0; LANES];
        for l in 0..LANES / 2 {
            values[2 * l] = even[l];
            values[2 * l + 1] = odd[l];
        }
        let at = at_of(group);
        // SAFETY: the group is one of the level's, and this task's own.
        unsafe { factor.mul_add(load(&values, 0), L::load(x.at(at))).store(x.at(at)) };
    }
    0.0
}
