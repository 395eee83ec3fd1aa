//! The list of candidates for neighbours that a search of the grid writes.

/// Nine rows, each in at most four parts: a period is at least one support long.
pub(super) const MAX_GROUPS: usize = 36;

/// Up to eight particles in sequence.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chunk {
    /// The first of them.
    pub first: u32,
    /// How many there are from here to the end of the run; only up to eight belong to this chunk.
    pub count: u32,
}

impl Chunk {
    /// The particles of this chunk.
    #[inline]
    pub fn range(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count.min(8)) as usize
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

    /// Writes a run of particles in chunks of eight. Four chunks are always written, whether needed or not.
    ///
    /// # Safety
    /// There must be room for four chunks from `at` on, or as many as the run needs.
    #[inline(always)]
    pub(super) unsafe fn write(&mut self, at: usize, start: u32, count: u32) {
        debug_assert!(at + (count.div_ceil(8) as usize).max(4) <= self.chunks.len());
        let mut k = 0;
        loop {
            for _ in 0..4 {
                let chunk = Chunk { first: start + k, count: count.wrapping_sub(k) };
                // SAFETY: the caller made room.
                unsafe { *self.chunks.get_unchecked_mut(at + k as usize / 8) = chunk };
                k += 8;
            }
            if k >= count {
                break;
            }
        }
    }

    pub(super) fn push(&mut self, start: u32, count: u32) {
        let chunks = count.div_ceil(8) as usize;
        self.reserve(self.len + chunks + 4);
        // SAFETY: room was just made, to the next multiple of four.
        unsafe { self.write(self.len, start, count) };
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
