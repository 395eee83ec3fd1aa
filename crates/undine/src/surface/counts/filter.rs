//! Binomial smoothing of a window of a grid.

use crate::simd::Eight;
use crate::surface::cloud::POINTS;
use crate::surface::field::{Aligned, dispatch};

/// Most times of smoothing.
pub const MOST: usize = 8;

/// Smoothing by (1, 2, 1)/4 along each axis, so many times.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Times.
    pub times: usize,
    /// Weights from the middle outwards: the upper half of row 2n of Pascal's triangle over 4ⁿ.
    weights: [f32; MOST + 1],
}

impl Filter {
    /// `times` must be at most [`MOST`].
    pub fn new(times: usize) -> Self {
        let mut weights = [0.0; MOST + 1];
        for (to, from) in weights.iter_mut().zip(binomial(times)) {
            *to = from as f32;
        }
        Filter { times, weights }
    }
}

/// Weights of smoothing by (1, 2, 1)/4 so many times, from the middle outwards.
pub fn binomial(times: usize) -> Vec<f64> {
    let n = times as f64;
    let mut weights = vec![1.0f64];
    for k in 0..times {
        weights.push(weights[k] * (n - k as f64) / (n + 1.0 + k as f64));
    }
    let sum = weights[0] + 2.0 * weights[1..].iter().sum::<f64>();
    weights.iter_mut().for_each(|w| *w /= sum);
    weights
}

/// What is smoothed: numbers, or counts in bytes, of which four times as many fit into a cache.
pub trait Value: Copy {
    /// Eight of them.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn load<L: Eight>(p: *const Self) -> L;
}

impl Value for f32 {
    #[inline(always)]
    unsafe fn load<L: Eight>(p: *const Self) -> L {
        // SAFETY: the caller's promise.
        unsafe { L::load(p) }
    }
}

impl Value for u8 {
    #[inline(always)]
    unsafe fn load<L: Eight>(p: *const Self) -> L {
        // SAFETY: the caller's promise.
        unsafe { L::load_bytes(p) }
    }
}

/// Values on a grid of points, x fastest, and the steps from row to row and from layer to layer.
#[derive(Clone, Copy)]
pub struct Grid<'a, T> {
    pub values: &'a [T],
    pub row: usize,
    pub layer: usize,
}

/// A line of the cache.
const LINE: usize = 16;
type Line = Aligned<[f32; LINE]>;

/// Memory used again from window to window.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Rows smoothed along x, of one layer.
    along: Vec<Line>,
    /// Rows smoothed along x and y, of all layers.
    across: Vec<Line>,
}

/// Points of the wider window along y and z, and along x, where a row is two vectors.
pub const WIDE: usize = POINTS + 2;
pub const WIDE_ROW: usize = 2 * POINTS;

dispatch!(smooth, block_lanes, <T: Value>(
    filter: &Filter, grid: Grid<T>, first: usize, scratch: &mut Scratch, out: &mut [f32]
));
dispatch!(smooth_wide, wide_lanes, <T: Value>(
    filter: &Filter, grid: Grid<T>, first: usize, scratch: &mut Scratch, out: &mut [f32]
));

/// Smooths the 8³ points from number `first` on.
#[inline(always)]
fn block_lanes<L: Eight, T: Value>(
    filter: &Filter,
    grid: Grid<T>,
    first: usize,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    smooth_lanes::<L, T, POINTS, 1>(filter, grid, first, scratch, out);
}

/// Smooths the points of [`WIDE_ROW`] × [`WIDE`]² from number `first` on.
#[inline(always)]
fn wide_lanes<L: Eight, T: Value>(
    filter: &Filter,
    grid: Grid<T>,
    first: usize,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    smooth_lanes::<L, T, WIDE, 2>(filter, grid, first, scratch, out);
}

/// The weighted sum of eight values at `middle` and of those up to `n` steps on either side, N if that is not 0. Not a closure, which
/// would be compiled without the instruction set.
///
/// # Safety
/// They must be there.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // steps and weights are numbered alike
unsafe fn sum<L: Eight, T: Value, const N: usize>(
    weights: &[L; MOST + 1],
    n: usize,
    middle: *const T,
    step: usize,
) -> L {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = T::load::<L>(middle).mul(weights[0]);
        for k in 1..=if N > 0 { N } else { n.min(MOST) } {
            let both = T::load::<L>(middle.sub(k * step)).add(T::load(middle.add(k * step)));
            sum = both.mul_add(weights[k], sum);
        }
        sum
    }
}

/// Along one axis after the other, in the same order for every point, so that windows that overlap agree to the last bit. The usual
/// times are compiled apart: with loops of a length that is not known it took three times as long.
#[inline(always)]
fn smooth_lanes<L: Eight, T: Value, const ROWS: usize, const VECTORS: usize>(
    filter: &Filter,
    grid: Grid<T>,
    first: usize,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    match filter.times {
        1 => smooth_times::<L, T, ROWS, VECTORS, 1>(filter, grid, first, scratch, out),
        2 => smooth_times::<L, T, ROWS, VECTORS, 2>(filter, grid, first, scratch, out),
        4 => smooth_times::<L, T, ROWS, VECTORS, 4>(filter, grid, first, scratch, out),
        _ => smooth_times::<L, T, ROWS, VECTORS, 0>(filter, grid, first, scratch, out),
    }
}

#[inline(always)]
fn smooth_times<L: Eight, T: Value, const ROWS: usize, const VECTORS: usize, const N: usize>(
    filter: &Filter,
    grid: Grid<T>,
    first: usize,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    let Grid { values, row, layer } = grid;
    let (n, wide) = (if N > 0 { N } else { filter.times }, 8 * VECTORS);
    let mut weights = [L::splat(0.0); MOST + 1];
    for (to, from) in weights.iter_mut().zip(filter.weights) {
        *to = L::splat(from);
    }
    let rows = ROWS + 2 * n;
    let first = first - n * (1 + row + layer);
    scratch.along.resize((rows * wide).div_ceil(LINE), Aligned([0.0; LINE]));
    scratch.across.resize((rows * ROWS * wide).div_ceil(LINE), Aligned([0.0; LINE]));
    assert!(filter.times <= MOST && n == filter.times && out.len() == ROWS * ROWS * wide);
    assert!(first + (rows - 1) * (row + layer) + wide + 2 * n <= values.len());
    // SAFETY: the window lies among the values, and scratch and `out` have the sizes that were just checked.
    unsafe {
        for z in 0..rows {
            let along = scratch.along.as_mut_ptr().cast::<f32>();
            for y in 0..rows {
                let from = values.as_ptr().add(first + y * row + z * layer + n);
                for v in 0..VECTORS {
                    sum::<L, _, N>(&weights, n, from.add(8 * v), 1).store(along.add(y * wide + 8 * v));
                }
            }
            let across = scratch.across.as_mut_ptr().cast::<f32>().add(z * ROWS * wide);
            for k in (0..ROWS * wide).step_by(8) {
                sum::<L, _, N>(&weights, n, along.add(n * wide + k).cast_const(), wide).store(across.add(k));
            }
        }
        let middle = scratch.across.as_ptr().cast::<f32>().add(n * ROWS * wide);
        for k in (0..ROWS * ROWS * wide).step_by(8) {
            sum::<L, _, N>(&weights, n, middle.add(k), ROWS * wide).store(out.as_mut_ptr().add(k));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_smoothed_as_point_by_point() {
        let (row, layer, layers) = (40, 40 * 30, 30);
        let bytes: Vec<u8> =
            (0..layer * layers).map(|i: usize| (i.wrapping_mul(2_654_435_761) >> 7 & 3) as u8).collect();
        let values: Vec<f32> = bytes.iter().map(|b| f32::from(*b)).collect();
        let grid = Grid { values: &values, row, layer };
        let mut scratch = Scratch::default();
        for times in [0, 1, 2, 3, 4, 8] {
            let weights = binomial(times);
            let filter = Filter::new(times);
            let plain = |at: usize| {
                let mut sum = 0.0;
                let n = times as isize;
                for (z, y, x) in
                    (-n..=n).flat_map(|z| (-n..=n).flat_map(move |y| (-n..=n).map(move |x| (z, y, x))))
                {
                    let w = [x, y, z].iter().map(|k| weights[k.unsigned_abs()]).product::<f64>();
                    let from = at as isize + x + y * row as isize + z * layer as isize;
                    sum += w * f64::from(values[from as usize]);
                }
                sum
            };
            let first = 9 + 9 * row + 9 * layer;
            let mut out = [0.0; 512];
            smooth(&filter, grid, first, &mut scratch, &mut out);
            for i in (0..512).step_by(7) {
                let want = plain(first + i % 8 + i / 8 % 8 * row + i / 64 * layer);
                assert!((f64::from(out[i]) - want).abs() < 1e-5, "{times} {i}: {} {want}", out[i]);
            }
            let mut of_bytes = [0.0; 512];
            smooth(&filter, Grid { values: &bytes, row, layer }, first, &mut scratch, &mut of_bytes);
            assert_eq!(out, of_bytes);
            let mut wide = vec![0.0; WIDE_ROW * WIDE * WIDE];
            smooth_wide(&filter, grid, first - 1 - row - layer, &mut scratch, &mut wide);
            for (i, out) in out.iter().enumerate() {
                let (x, y, z) = (i % 8 + 1, i / 8 % 8 + 1, i / 64 + 1);
                assert_eq!(out.to_bits(), wide[x + WIDE_ROW * (y + WIDE * z)].to_bits());
            }
        }
    }
}
