//! Markers counted at the nearest points of a grid that is laid over all of them.

use rayon::prelude::*;

use super::bits::Bits;
use crate::surface::cloud::{EDGE, Key};
use crate::surface::field::dispatch;

/// Markers that are looked at in one go.
const CHUNK: usize = 4096;
/// Points that the grid may have for each marker, and besides. Drops that lie far apart would need more.
const POINTS_A_MARKER: usize = 16;
const POINTS_MORE: usize = 1 << 20;
/// Most points along an axis, so that their numbers are exact in f32.
const LONGEST: f32 = 1_000_000.0;

/// A grid of points around all markers, in whole blocks, and which point each marker is at.
#[derive(Debug)]
pub struct Points {
    /// The first block, and how many there are along each axis.
    pub first: Key,
    pub blocks: [usize; 3],
    /// Points beyond the blocks on each side.
    pub pad: usize,
    /// Steps from row to row and from layer to layer.
    pub row: usize,
    pub layer: usize,
    /// All points.
    pub len: usize,
    /// Number of the point of each marker.
    at: Vec<u32>,
    /// The least and the greatest of each chunk.
    spans: Vec<(u32, u32)>,
}

impl Points {
    /// Lays the grid; `reach` is how far from a marker the surface may be, in points. `None` where markers lie so far apart, or so
    /// far out, that another way is better.
    pub fn new(position: &[[f32; 3]], cell: f64, reach: usize, pad: usize) -> Option<Self> {
        let per_cell = (1.0 / cell) as f32;
        let [low, high] = bounds(position)?;
        let (mut first, mut blocks) = ([0; 3], [0; 3]);
        for a in 0..3 {
            let (low, high) = (low[a] * per_cell, high[a] * per_cell);
            // Written so that what is no number fails.
            let within = low.abs() < 1e8 && high.abs() < 1e8 && high - low < LONGEST;
            if !within {
                return None;
            }
            let block = |x: f32, off: i32| (x.round() as i32 + off).div_euclid(EDGE as i32);
            // A point more for roundings.
            first[a] = block(low, -(reach as i32) - 2);
            blocks[a] = (block(high, reach as i32 + 1) - first[a] + 1) as usize;
        }
        // The last points of the last blocks, and two vectors more for what is loaded beyond a row.
        let dims = blocks.map(|b| b * EDGE + 1 + 2 * pad);
        let len = dims[0].checked_mul(dims[1])?.checked_mul(dims[2])?.checked_add(16)?;
        if len > POINTS_A_MARKER * position.len() + POINTS_MORE || len > i32::MAX as usize {
            return None;
        }
        let (row, layer) = (dims[0], dims[0] * dims[1]);
        let place = Place {
            // Half a point more, since the fraction is cut off.
            origin: first.map(|f| ((f64::from(f) * EDGE as f64 - pad as f64 - 0.5) * cell) as f32),
            per_cell,
            most: dims.map(|d| d as f32 - 1.0),
            step: [1, row as i32, layer as i32],
        };
        let mut at = vec![0; position.len()];
        let mut spans = vec![(0, 0); position.len().div_ceil(CHUNK)];
        let chunks = at.par_chunks_mut(CHUNK).zip(position.par_chunks(CHUNK)).zip(&mut spans);
        chunks.for_each(|((at, position), span)| *span = number(&place, position, at));
        Some(Points { first, blocks, pad, row, layer, len, at, spans })
    }

    /// Calls `visit` with each marker's number and point and with the part of `values` that has the point, all markers of a point in their
    /// order, so that the result is one whatever the threads. Parts begin at the places of `start`, in values for each point: one for
    /// each, or fewer.
    fn each<T: Send, R: Default + Send>(
        &self,
        mut values: &mut [T],
        start: impl Fn(usize) -> usize,
        visit: impl Fn(&mut R, &mut [T], usize, usize, usize) + Sync,
    ) -> Vec<R> {
        let part = self.len.div_ceil(rayon::current_num_threads());
        let mut parts = Vec::new();
        for first in (0..self.len).step_by(part) {
            let end = (first + part).min(self.len);
            let own = values.split_off_mut(..start(end) - start(first)).unwrap_or_default();
            parts.push((first..end, own));
        }
        parts
            .into_par_iter()
            .map(|(points, own)| {
                let mut kept = R::default();
                for (c, (at, span)) in self.at.chunks(CHUNK).zip(&self.spans).enumerate() {
                    if (span.1 as usize) < points.start || span.0 as usize >= points.end {
                        continue;
                    }
                    let is_inside = span.0 as usize >= points.start && (span.1 as usize) < points.end;
                    for (i, at) in at.iter().enumerate() {
                        if is_inside || points.contains(&(*at as usize)) {
                            visit(&mut kept, own, points.start, c * CHUNK + i, *at as usize);
                        }
                    }
                }
                kept
            })
            .collect()
    }

    /// How many markers are at each point; `None` if more than a byte tells.
    pub fn count(&self) -> Option<Vec<u8>> {
        let mut count = zeros::<u8>(self.len);
        let full = self.each(
            &mut count,
            |at| at,
            |full: &mut bool, count, first, _, at| {
                let count = &mut count[at - first];
                *full |= *count == u8::MAX;
                *count = count.wrapping_add(1);
            },
        );
        full.iter().all(|full| !full).then_some(count)
    }

    /// Sums of the velocities of markers at the points `near`, as these are numbered; and the markers at the points `some`, ascending,
    /// all of which must be near.
    pub fn momentum(
        &self,
        near: &mut Bits,
        some: &Bits,
        velocity: Option<&[[f32; 3]]>,
    ) -> (Vec<[f32; 3]>, Vec<u32>) {
        let mut momentum = zeros::<[f32; 3]>(near.number());
        let near = &*near;
        let found = self.each(
            &mut momentum,
            |at| near.number_of(at),
            |found: &mut Vec<u32>, momentum, first, marker, at| {
                if !near.has(at) {
                    return;
                }
                if let Some(velocity) = velocity {
                    let sum = &mut momentum[near.number_of(at) - near.number_of(first)];
                    let v = velocity[marker];
                    *sum = [sum[0] + v[0], sum[1] + v[1], sum[2] + v[2]];
                }
                if some.has(at) {
                    found.push(marker as u32);
                }
            },
        );
        let mut found = found.concat();
        found.sort_unstable();
        (momentum, found)
    }

    /// Number of the first point of a block.
    pub fn of_block(&self, block: [usize; 3]) -> usize {
        let [x, y, z] = block.map(|b| b * EDGE + self.pad);
        x + y * self.row + z * self.layer
    }
}

/// So many zeros. They are written before they are read, or the system would first share a page of zeros and then copy it.
fn zeros<T: Clone + Default + Send>(len: usize) -> Vec<T> {
    let mut zeros = vec![T::default(); len];
    let page = 4096 / size_of::<T>();
    zeros
        .par_chunks_mut(64 * page)
        .for_each(|part| part.iter_mut().step_by(page).for_each(|z| *z = T::default()));
    zeros
}

/// How places become numbers of points.
pub struct Place {
    origin: [f32; 3],
    per_cell: f32,
    most: [f32; 3],
    step: [i32; 3],
}

dispatch!(number, number_in, (place: &Place, position: &[[f32; 3]], at: &mut [u32]) -> (u32, u32));

/// The numbers of the points of markers; the least and the greatest of them.
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // for its instructions
fn number_in<L>(place: &Place, position: &[[f32; 3]], at: &mut [u32]) -> (u32, u32) {
    let Place { origin, per_cell, most, step } = place;
    let (mut least, mut greatest) = (i32::MAX, 0);
    let (mut eight, mut numbers) = ([[0f32; 3]; 8], [[0i32; 3]; 8]);
    for (at, position) in at.chunks_mut(8).zip(position.chunks(8)) {
        // Always eight, so that loops become vectors; what is left of those before counts for nothing.
        eight[..position.len()].copy_from_slice(position);
        let (flat, out) = (eight.as_flattened(), numbers.as_flattened_mut());
        for k in 0..24 {
            let x = (flat[k] - origin[k % 3]) * per_cell;
            let x = if x < most[k % 3] { x } else { most[k % 3] };
            // SAFETY: all places are numbers within the grid, whose numbers of points are small.
            out[k] = unsafe { x.to_int_unchecked::<i32>() } * step[k % 3];
        }
        for (at, [x, y, z]) in at.iter_mut().zip(&numbers) {
            let number = x + y + z;
            (least, greatest) = (least.min(number), greatest.max(number));
            *at = number as u32;
        }
    }
    (least as u32, greatest as u32)
}

/// The lowest and the highest corner of a box around all places; none if one is no number.
fn bounds(position: &[[f32; 3]]) -> Option<[[f32; 3]; 2]> {
    let start = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3], true);
    let both = |a: Bounds, b: Bounds| -> Bounds {
        (std::array::from_fn(|k| a.0[k].min(b.0[k])), std::array::from_fn(|k| a.1[k].max(b.1[k])), a.2 & b.2)
    };
    let (low, high, finite) = position.par_chunks(CHUNK).map(bounds_of).reduce(|| start, both);
    (finite && !position.is_empty()).then_some([low, high])
}

/// Lowest and highest corner, and whether all are numbers.
pub type Bounds = ([f32; 3], [f32; 3], bool);

dispatch!(bounds_of, bounds_in, (position: &[[f32; 3]]) -> Bounds);

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // for its instructions
fn bounds_in<L>(position: &[[f32; 3]]) -> Bounds {
    let (mut low, mut high) = ([f32::INFINITY; 24], [f32::NEG_INFINITY; 24]);
    // 0 × what is no number, or without end, is no number.
    let mut zero = [0f32; 24];
    let mut eight = [position.first().copied().unwrap_or_default(); 8];
    for some in position.chunks(8) {
        // Always eight, so that loops become vectors; some twice change nothing.
        eight[..some.len()].copy_from_slice(some);
        let flat = eight.as_flattened();
        for k in 0..24 {
            low[k] = if flat[k] < low[k] { flat[k] } else { low[k] };
            high[k] = if flat[k] > high[k] { flat[k] } else { high[k] };
            zero[k] += 0.0 * flat[k];
        }
    }
    let mut bounds = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3], true);
    for k in 0..24 {
        bounds.0[k % 3] = low[k].min(bounds.0[k % 3]);
        bounds.1[k % 3] = high[k].max(bounds.1[k % 3]);
        bounds.2 &= zero[k] == 0.0;
    }
    bounds
}
