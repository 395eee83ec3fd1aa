//! The list of candidates for neighbours that a search of the grid writes.

use crate::simd::Lanes;

/// Nine rows, each in at most four parts: a period is at least one support long.
pub(super) const MAX_GROUPS: usize = 36;

/// Particles in sequence, as many as there are lanes or fewer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chunk {
    /// The first of them.
    pub first: u32,
    /// How many there are.
    pub count: u32,
}

impl Chunk {
    /// The particles of this chunk.
    #[inline]
    pub fn range(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// Chunks up to `end` are to be seen from the point moved by `shift`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    /// To add to the point, units of h (periodic images).
    pub shift: [f32; 3],
    /// One past the last of its chunks.
    pub end: u32,
}

/// The candidates of one particle; made once and used for many.
#[derive(Clone, Debug)]
pub struct Candidates {
    pub(super) chunks: Vec<Chunk>,
    pub(super) len: usize,
    pub(super) groups: [Group; MAX_GROUPS],
    pub(super) group_count: usize,
    /// Row of the last particle and where its nine rows start, while they stay the same.
    pub(super) row: (i32, i32),
    pub(super) row_start: [i32; 9],
}

impl Default for Candidates {
    fn default() -> Self {
        Candidates {
            chunks: vec![Chunk::default(); 64],
            len: 0,
            groups: [Group::default(); MAX_GROUPS],
            group_count: 0,
            row: (i32::MIN, 0),
            row_start: [0; 9],
        }
    }
}

impl Candidates {
    /// Makes room for so many chunks, and four more.
    #[inline(always)]
    pub(super) fn reserve(&mut self, chunks: usize) {
        if chunks + 4 > self.chunks.len() {
            self.chunks.resize(2 * (chunks + 4), Chunk::default());
        }
    }

    /// Writes a run of particles in chunks of [`Lanes::N`]. Chunks for 32 particles are always written, whether needed
    /// or not.
    ///
    /// # Safety
    /// There must be room for four chunks from `at` on, or as many as the run needs.
    #[inline(always)]
    pub(super) unsafe fn write<L: Lanes>(&mut self, at: usize, start: u32, count: u32) {
        debug_assert!(at + (count as usize).div_ceil(L::N).max(32 / L::N) <= self.chunks.len());
        let width = L::N as u32;
        let mut k = 0;
        loop {
            for _ in 0..32 / width {
                let chunk = Chunk { first: start + k, count: count.saturating_sub(k).min(width) };
                // SAFETY: the caller made room.
                unsafe { *self.chunks.get_unchecked_mut(at + (k / width) as usize) = chunk };
                k += width;
            }
            if k >= count {
                break;
            }
        }
    }

    pub(super) fn push<L: Lanes>(&mut self, start: u32, count: u32) {
        let chunks = count.div_ceil(L::N as u32) as usize;
        self.reserve(self.len + chunks + 4);
        // SAFETY: room was just made, to the next multiple of four.
        unsafe { self.write::<L>(self.len, start, count) };
        self.len += chunks;
    }

    /// The chunks by periodic image: what to add to the point, and the chunks to be seen from there.
    #[inline(always)]
    pub fn groups(&self) -> impl Iterator<Item = ([f32; 3], &[Chunk])> {
        (0..self.group_count).map(|g| {
            let first = if g == 0 { 0 } else { self.groups[g - 1].end as usize };
            (self.groups[g].shift, &self.chunks[first..self.groups[g].end as usize])
        })
    }
}
