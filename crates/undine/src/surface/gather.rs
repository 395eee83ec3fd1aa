//! The particles in reach of a block, side by side in its own coordinates.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::cloud::{Around, Cloud, Key, NOWHERE};
use super::field::dispatch;
use crate::simd::{MOST_LANES, Octets};

/// Most numbers a particle carries besides its place.
pub const COLUMNS: usize = 7;

/// Particles seen from a block, in the order of the cloud; parallel arrays, filled up to a multiple of [`MOST_LANES`] with
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
        let room = most + MOST_LANES;
        self.index.clear();
        self.index.reserve(room);
        for x in self.x.iter_mut().chain(&mut self.column[..columns.len()]) {
            x.clear();
            x.reserve(room);
        }
        let mut count = 0;
        for k in 0..self.blocks.len() {
            let block = self.blocks[k];
            let out = Out {
                index: &mut self.index.spare_capacity_mut()[count..],
                x: self.x.each_mut().map(|x| &mut x.spare_capacity_mut()[count..]),
                column: self
                    .column
                    .each_mut()
                    .map(|x| x.spare_capacity_mut().get_mut(count..).unwrap_or_default()),
            };
            count += pick(local, columns, cloud.range(block.block as usize), block.offset(), low, high, out);
        }
        let full = count.next_multiple_of(MOST_LANES);
        // SAFETY: so many were written.
        unsafe {
            self.index.set_len(count);
            self.x.iter_mut().chain(&mut self.column[..columns.len()]).for_each(|x| x.set_len(count));
        }
        self.x.iter_mut().for_each(|x| x.resize(full, NOWHERE));
        self.column[..columns.len()].iter_mut().for_each(|x| x.resize(full, 0.0));
    }

    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }
}

/// Room for what is picked, all of it and a vector more.
pub struct Out<'a> {
    index: &'a mut [MaybeUninit<u32>],
    x: [&'a mut [MaybeUninit<f32>]; 3],
    column: [&'a mut [MaybeUninit<f32>]; COLUMNS],
}

dispatch!(widest pick, pick_lanes, (
    local: &[Vec<f32>; 3],
    columns: &[Vec<f32>],
    range: Range<usize>,
    offset: [f32; 3],
    low: [f32; 3],
    high: [f32; 3],
    out: Out
) -> usize);

/// Writes the numbers, places seen from the block, and columns of the particles of `range` between `low` and `high`; returns how
/// many there are.
#[inline(always)]
fn pick_lanes<L: Octets>(
    local: &[Vec<f32>; 3],
    columns: &[Vec<f32>],
    range: Range<usize>,
    offset: [f32; 3],
    low: [f32; 3],
    high: [f32; 3],
    mut out: Out,
) -> usize {
    // The box seen from the particles' own block.
    let low = [L::splat(low[0] - offset[0]), L::splat(low[1] - offset[1]), L::splat(low[2] - offset[2])];
    let high = [L::splat(high[0] - offset[0]), L::splat(high[1] - offset[1]), L::splat(high[2] - offset[2])];
    let mut count = 0;
    let mut k = range.start;
    let move_by = [L::splat(offset[0]), L::splat(offset[1]), L::splat(offset[2])];
    let room = range.len() + L::N;
    assert!(out.index.len() >= room && out.x.iter().all(|x| x.len() >= room));
    assert!(out.column[..columns.len()].iter().all(|x| x.len() >= room));
    assert!(local.iter().all(|x| x.len() >= range.end + L::N));
    assert!(columns.iter().all(|x| x.len() >= range.end));
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
            if left < L::N {
                mask &= (1 << left) - 1;
            }
            if mask != 0 {
                L::store_set_bits(mask, k as u32, out.index.as_mut_ptr().add(count).cast());
                x.add(move_by[0]).store_packed(mask, out.x[0].as_mut_ptr().add(count).cast());
                y.add(move_by[1]).store_packed(mask, out.x[1].as_mut_ptr().add(count).cast());
                z.add(move_by[2]).store_packed(mask, out.x[2].as_mut_ptr().add(count).cast());
                for (from, to) in columns.iter().zip(&mut out.column) {
                    pack::<L>(from, k, mask, to.as_mut_ptr().add(count).cast());
                }
                count += mask.count_ones() as usize;
            }
        }
        k += L::N;
    }
    count
}

/// Writes those of the values from `k` on that have their bits in `mask`, packed to the front.
///
/// # Safety
/// There must be room for a vector at `to`, and a value for each bit.
#[inline(always)]
unsafe fn pack<L: Octets>(from: &[f32], k: usize, mask: u32, to: *mut f32) {
    // SAFETY: the caller's promise, and the length is looked at.
    unsafe {
        if k + L::N <= from.len() {
            L::load(from.as_ptr().add(k)).store_packed(mask, to);
        } else {
            // At the end of the cloud there may be less than a vector.
            let (mut mask, mut to) = (mask, to);
            while mask != 0 {
                to.write(*from.get_unchecked(k + mask.trailing_zeros() as usize));
                to = to.add(1);
                mask &= mask - 1;
            }
        }
    }
}
