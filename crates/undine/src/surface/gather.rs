//! The particles in reach of a block, side by side in its own coordinates.

use std::mem::MaybeUninit;

use super::cloud::{Around, Cloud, Key, NOWHERE};
use super::field::dispatch;
use crate::simd::Eight;

/// Most numbers a particle carries besides its place.
pub const COLUMNS: usize = 7;

/// Particles seen from a block, in the order of the cloud; parallel arrays, filled up to a multiple of eight with
/// particles out of everyone's reach.
#[derive(Clone, Debug, Default)]
pub struct Near {
    /// Coordinates from the block's corner, in cells.
    pub x: [Vec<f32>; 3],
    /// What else they carry.
    pub column: [Vec<f32>; COLUMNS],
    /// Half the size along each axis of the box in which they are felt, as [`super::field::Field::collect`] finds it.
    pub extent: [Vec<f32>; 3],
    /// Their numbers in the cloud; not filled up.
    pub index: Vec<u32>,
    blocks: Vec<Around>,
}

impl Near {
    /// Collects the particles at `local` (coordinates from their own blocks) in the box from `low` to `high` seen from
    /// the block, looking at blocks up to `search` cells away; `columns` are picked along.
    pub fn collect(
        &mut self,
        cloud: &Cloud,
        key: Key,
        local: &[Vec<f32>; 3],
        columns: &[Vec<f32>],
        (low, high): ([f32; 3], [f32; 3]),
        search: f32,
    ) {
        cloud.around(key, search, &mut self.blocks);
        let most: usize = self.blocks.iter().map(|b| cloud.range(b.block as usize).len()).sum();
        // A vector more, for the last one that is stored. Room that nothing is in yet: to fill it with zeros first took a tenth of
        // the time of a surface.
        self.index.clear();
        self.index.reserve(most + 8);
        for x in &mut self.x {
            x.clear();
            x.reserve(most + 8);
        }
        let mut count = 0;
        for k in 0..self.blocks.len() {
            let block = self.blocks[k];
            let range = cloud.range(block.block as usize);
            let out = self.x.each_mut().map(|x| &mut x.spare_capacity_mut()[count..]);
            let index = &mut self.index.spare_capacity_mut()[count..];
            count += pick(local, range, block.offset(), low, high, out, index);
        }
        // SAFETY: so many were written.
        unsafe {
            self.index.set_len(count);
            self.x.iter_mut().for_each(|x| x.set_len(count));
        }
        let full = count.next_multiple_of(8);
        self.x.iter_mut().for_each(|x| x.resize(full, NOWHERE));
        for (to, from) in self.column.iter_mut().zip(columns) {
            to.clear();
            to.extend(self.index.iter().map(|&k| from[k as usize]));
            to.resize(full, 0.0);
        }
    }

    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }
}

dispatch!(pick, pick_lanes, (
    local: &[Vec<f32>; 3],
    range: std::ops::Range<usize>,
    offset: [f32; 3],
    low: [f32; 3],
    high: [f32; 3],
    out: [&mut [MaybeUninit<f32>]; 3],
    index: &mut [MaybeUninit<u32>]
) -> usize);

/// Writes the places, seen from the block, and the numbers of the particles of `range` between `low` and `high` to
/// `out` and `index`, which have room for all of them and eight more; returns how many there are.
#[inline(always)]
fn pick_lanes<L: Eight>(
    local: &[Vec<f32>; 3],
    range: std::ops::Range<usize>,
    offset: [f32; 3],
    low: [f32; 3],
    high: [f32; 3],
    out: [&mut [MaybeUninit<f32>]; 3],
    index: &mut [MaybeUninit<u32>],
) -> usize {
    // The box seen from the particles' own block.
    let low = [L::splat(low[0] - offset[0]), L::splat(low[1] - offset[1]), L::splat(low[2] - offset[2])];
    let high = [L::splat(high[0] - offset[0]), L::splat(high[1] - offset[1]), L::splat(high[2] - offset[2])];
    let mut count = 0;
    let mut k = range.start;
    let move_by = [L::splat(offset[0]), L::splat(offset[1]), L::splat(offset[2])];
    let room = range.len() + 8;
    assert!(index.len() >= room && out.iter().all(|x| x.len() >= room));
    assert!(local.iter().all(|x| x.len() >= range.end + 8));
    while k < range.end {
        // SAFETY: the lengths were just checked.
        unsafe {
            let x = L::load(local[0].as_ptr().add(k));
            let y = L::load(local[1].as_ptr().add(k));
            let z = L::load(local[2].as_ptr().add(k));
            let mut mask = low[0].below(x) & x.below(high[0]);
            mask &= low[1].below(y) & y.below(high[1]);
            mask &= low[2].below(z) & z.below(high[2]);
            let left = range.end - k;
            if left < 8 {
                mask &= (1 << left) - 1;
            }
            L::store_set_bits(mask, k as u32, index.as_mut_ptr().add(count).cast());
            x.add(move_by[0]).store_packed(mask, out[0].as_mut_ptr().add(count).cast());
            y.add(move_by[1]).store_packed(mask, out[1].as_mut_ptr().add(count).cast());
            z.add(move_by[2]).store_packed(mask, out[2].as_mut_ptr().add(count).cast());
            count += mask.count_ones() as usize;
        }
        k += 8;
    }
    count
}
