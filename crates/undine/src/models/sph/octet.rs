//! Eight particles side by side, one in each lane, and their neighbours one after the other.
//!
//! The particles of an octet have most of their neighbours in common. Each neighbour of any is read once, one number for all lanes, and
//! every lane takes of it what is within its support. Nothing is gathered or transposed and no lane is added to another. (Before,
//! four particles shared neighbours that were gathered into columns, eight in the lanes: a step at 60k particles took 7.2 ms instead of
//! 6.4, with AVX2 on two threads.)
//!
//! On Zen 3 a neighbour takes some 15 cycles in the density pass and 19 in the force pass, at nearly three instructions a cycle, whatever
//! they are: fewer of them is what counts. So fixed values are read by the instructions that use them ([`crate::simd::reread`]). Tried and
//! lost, in a small model of these loops: two neighbours a turn; the distances of all first; finding a neighbour one turn before it is used
//! (it gained while sums were in memory); the shear apart from the rest of the force; four particles with two neighbours at once, which
//! have a quarter fewer to go through but need ten shuffles for each two (forces a tenth faster, densities as fast, twice the lists).
//! Bits instead of lists of what is near took as long to read as they saved.

use super::crowd::{MOST, Near};
use super::work::{PRESSURE, Record, VOLUME};
use crate::simd::{Eight, Lanes};

/// Particles of an octet.
pub const OCTET: usize = 8;

/// All that the passes need of eight particles.
#[derive(Clone, Copy)]
pub struct Octet<L> {
    /// Places, units of h.
    pub at: [L; 3],
    /// Pressures, Pa.
    pub pressure: L,
    /// Velocities, m/s.
    pub velocity: [L; 3],
    /// Volumes, × Δ³, negative at surfaces.
    pub volume: L,
}

impl<L: Lanes> Octet<L> {
    /// The records of up to eight particles, the last of them repeated.
    #[inline(always)]
    pub fn new(records: &[Record]) -> Self {
        assert!(L::N == OCTET && !records.is_empty());
        let last = records.len() as u32 - 1;
        let index: [u32; OCTET] = std::array::from_fn(|k| (k as u32).min(last));
        // SAFETY: all are below the number of records.
        let columns = unsafe { L::gather8(records.as_ptr(), index.as_ptr()) };
        Octet {
            at: [columns[0], columns[1], columns[2]],
            pressure: columns[PRESSURE],
            velocity: [columns[4], columns[5], columns[6]],
            volume: columns[VOLUME],
        }
    }

    /// Velocity of a neighbour against that of the particles, m/s.
    #[inline(always)]
    pub fn against(&self, r: &Record) -> [L; 3] {
        let [x, y, z] = self.velocity;
        [L::splat(r[4]).sub(x), L::splat(r[5]).sub(y), L::splat(r[6]).sub(z)]
    }

    /// The places seen from a periodic image.
    #[inline(always)]
    pub fn image(&self, shift: [f32; 3]) -> [L; 3] {
        let [x, y, z] = self.at;
        [x.add(L::splat(shift[0])), y.add(L::splat(shift[1])), z.add(L::splat(shift[2]))]
    }
}

/// A neighbour of an octet.
#[derive(Clone, Copy)]
pub struct Neighbor<'a, L> {
    /// Its record.
    pub record: &'a Record,
    /// From the particles to it, units of h. (The other way, their places would have to be in registers.)
    pub d: [L; 3],
    /// 1 - s², or 0 beyond the support.
    pub w: L,
    /// Whether it is within the support of any.
    pub is_near: bool,
}

impl<'a, L: Lanes> Neighbor<'a, L> {
    /// Number j of the records, seen from `q`, by way of 1 in all lanes.
    ///
    /// # Safety
    /// There must be such a record.
    #[inline(always)]
    pub unsafe fn find(records: &'a [Record], j: u32, q: &[L; 3], one: L) -> Self {
        debug_assert!((j as usize) < records.len());
        // SAFETY: the caller's promise.
        let record = unsafe { records.get_unchecked(j as usize) };
        let d = [L::splat(record[0]).sub(q[0]), L::splat(record[1]).sub(q[1]), L::splat(record[2]).sub(q[2])];
        let w = d[2].neg_mul_add(d[2], d[1].neg_mul_add(d[1], d[0].neg_mul_add(d[0], one)));
        Neighbor { record, d, w: w.max(L::splat(0.0)), is_near: w.signs() != (1 << L::N) - 1 }
    }
}

/// The numbers of the neighbours in a batch.
pub struct Numbers {
    index: [u32; MOST + 16],
    len: usize,
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers { index: [0; MOST + 16], len: 0 }
    }
}

impl Numbers {
    /// Takes batch k of what was found with as many lanes.
    #[inline(always)]
    pub fn take<L: Lanes>(&mut self, found: Near, k: usize) {
        self.len = found.numbers::<L>(k, &mut self.index);
    }

    /// The neighbours.
    #[inline(always)]
    pub fn all(&self) -> &[u32] {
        &self.index[..self.len]
    }
}

/// The neighbours of a block of particles as one pass sees them, for the next: of those found, all that are within the support of
/// any particle of the octet. Found are those a little farther off too, a fifth of all.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    index: Vec<u32>,
    /// One past the last of each batch.
    end: Vec<u32>,
}

impl Exact {
    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.index.clear();
        self.end.clear();
    }

    /// Gives the memory back.
    pub fn shed(&mut self) {
        *self = Exact::default();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.end.is_empty()
    }

    /// Takes a batch: of these numbers those that have a byte of 1 in `near`, while others have 0.
    #[inline(always)]
    pub fn take<L: Eight>(&mut self, numbers: &Numbers, near: &[u8; MOST + 16]) {
        let count = numbers.len;
        if self.index.capacity() - self.index.len() < count + OCTET {
            self.index.reserve(count + OCTET);
        }
        let mut len = self.index.len();
        let (eights, _) = near.as_chunks::<8>();
        for (k, eight) in eights[..count.div_ceil(8)].iter().enumerate() {
            let left = count - 8 * k;
            let mask = packed(eight) & if left < 8 { (1 << left) - 1 } else { 255 };
            // SAFETY: there are more entries than numbers, and there is room for an octet more.
            unsafe {
                let eight = L::load(numbers.index.as_ptr().add(8 * k).cast());
                eight.store_packed(u32::from(mask), self.index.as_mut_ptr().add(len).cast());
            }
            len += mask.count_ones() as usize;
        }
        // SAFETY: so many were written.
        unsafe { self.index.set_len(len) };
        self.end.push(len as u32);
    }

    /// Batch k.
    #[inline(always)]
    pub fn batch(&self, k: usize) -> &[u32] {
        let from = if k == 0 { 0 } else { self.end[k - 1] as usize };
        &self.index[from..self.end[k] as usize]
    }
}

/// Bit k is byte k, which is 0 or 1.
#[inline(always)]
fn packed(bytes: &[u8; 8]) -> u8 {
    // Each byte comes to lie at its place in the highest one.
    (u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// The lanes in memory.
#[inline(always)]
pub fn lanes<L: Lanes, const N: usize>(of: [L; N]) -> [[f32; OCTET]; N] {
    assert!(L::N == OCTET);
    let mut out = [[0.0; OCTET]; N];
    for (of, out) in of.into_iter().zip(&mut out) {
        // SAFETY: as many as there are.
        unsafe { of.store(out.as_mut_ptr()) };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_near_is_kept(batches in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..MOST), 1..5)) {
            let mut exact = Exact::default();
            let mut kept = Vec::new();
            for batch in &batches {
                let mut numbers = Numbers { len: batch.len(), ..Default::default() };
                let mut near = [1; MOST + 16];
                for (k, is_near) in batch.iter().enumerate() {
                    (numbers.index[k], near[k]) = (10 * k as u32, u8::from(*is_near));
                }
                exact.take::<Portable>(&numbers, &near);
                kept.push((0..batch.len()).filter(|k| batch[*k]).map(|k| 10 * k as u32).collect::<Vec<_>>());
            }
            for (k, kept) in kept.iter().enumerate() {
                prop_assert_eq!(exact.batch(k), &kept[..]);
            }
        }
    }
}
