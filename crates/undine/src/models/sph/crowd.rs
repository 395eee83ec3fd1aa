//! Neighbours of a bunch of particles, gathered once for all of them.
//!
//! The particles of a bunch lie side by side and have half of their neighbours in common. So those of any are picked out of the
//! candidates and gathered, each as one 32-byte record transposed while loading, and each particle goes through all of them:
//! what is beyond its support adds nothing. Before, each particle had a list of its own. Picking and gathering these took longer
//! than the sums over them.

use super::density::{images, load, square_distance};
use super::work::{Record, VOLUME, Work};
use crate::neighbors::{BUNCH, Candidates, Grid};
use crate::simd::Lanes;

/// Chunks of candidates after which a crowd is worked off.
const CHUNKS: usize = 32;
/// Neighbours of a crowd at most.
const MOST: usize = 16 * CHUNKS;

/// Who is near the bunches of a block of particles: found once, and used until one from elsewhere can have come.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// The first of up to L::N particles in sequence, and bits of those that are near.
    hits: Vec<[u32; 2]>,
    batches: Vec<Batch>,
    /// Lanes it was made with.
    lanes: usize,
}

/// Up to `CHUNKS` hits of a bunch, seen from one periodic image.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    end: u32,
    /// What to add to the points.
    pub shift: [f32; 3],
    /// Particles of the bunch.
    count: u8,
    /// Whether the bunch has no more batches.
    pub last: bool,
}

impl Shared {
    /// Number of batches.
    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Particles of the bunch that batch k belongs to.
    pub fn count(&self, k: usize) -> usize {
        self.batches[k].count.into()
    }

    /// Who is near the bunch of batch k, and more.
    pub fn near(&self, k: usize) -> impl Iterator<Item = usize> {
        let from = if k == 0 { 0 } else { self.batches[k - 1].end as usize };
        self.hits[from..self.batches[k].end as usize].iter().flat_map(|&[first, near]| {
            (0..16).filter(move |lane| near >> lane & 1 == 1).map(move |lane| first as usize + lane)
        })
    }

    /// The batches, each with the particles of its bunch, from `first` on.
    pub fn bunches(&self, first: usize) -> impl Iterator<Item = (usize, &Batch, std::ops::Range<usize>)> {
        let mut i = first;
        self.batches.iter().enumerate().map(move |(k, batch)| {
            let bunch = i..i + usize::from(batch.count);
            i = if batch.last { bunch.end } else { i };
            (k, batch, bunch)
        })
    }

    /// Forgets all, keeps the memory.
    #[inline(always)]
    pub fn clear<L: Lanes>(&mut self) {
        self.hits.clear();
        self.batches.clear();
        self.lanes = L::N;
    }

    /// Searches the neighbours of the particles from `first` to before `end`, as far as the grid reaches.
    #[inline(always)]
    pub fn search<L: Lanes>(&mut self, work: &Work, grid: &Grid, first: usize, end: usize) {
        let mut candidates = Candidates::default();
        self.clear::<L>();
        let mut i = first;
        while i < end {
            let (n, points) = work.bunch::<L>(grid, i, end, &mut candidates);
            self.find::<L>(work, &candidates, &points, n, grid.reach());
            i += n;
        }
    }

    /// Finds among the candidates, of `work`, those within `reach` of any of the first `n` points, of which the last is repeated;
    /// says whether there are any.
    #[inline(always)]
    pub fn find<L: Lanes>(
        &mut self,
        work: &Work,
        candidates: &Candidates,
        points: &[[f32; 3]; BUNCH],
        n: usize,
        reach: f32,
    ) -> bool {
        let reach2 = L::splat(reach * reach);
        let before = (self.hits.len(), self.batches.len());
        for (shift, chunks) in candidates.groups() {
            // (One test for the box around the bunch found more neighbours, and took as long.)
            let q = images::<L>(points, shift);
            for chunks in chunks.chunks(CHUNKS) {
                if self.hits.capacity() - self.hits.len() < chunks.len() {
                    // By an eighth, not by doubling: this is a good part of all memory.
                    self.hits.reserve_exact(chunks.len() + self.hits.len() / 8);
                }
                for c in chunks {
                    // SAFETY: candidates are below the number of particles.
                    let at = unsafe { load::<L>(work, c.first) };
                    let mut near = 0;
                    for q in q {
                        near |= square_distance(q, at).first_below(reach2, c.count);
                    }
                    // Written always and kept if any is near: no branch to guess.
                    let len = self.hits.len();
                    // SAFETY: room for all chunks was made.
                    unsafe {
                        self.hits.as_mut_ptr().add(len).write([c.first, near]);
                        self.hits.set_len(len + usize::from(near != 0));
                    }
                }
                let end = self.hits.len() as u32;
                self.batches.push(Batch { end, shift, count: n as u8, last: false });
            }
        }
        if self.hits.len() == before.0 {
            self.batches.truncate(before.1);
            return false;
        }
        if let Some(batch) = self.batches.last_mut() {
            batch.last = true;
        }
        true
    }
}

/// The neighbours of a bunch in one batch, by columns.
// Aligned, with columns of whole cache lines: vectors do not straddle two of them.
#[repr(C, align(64))]
pub struct Crowd {
    /// Components of the records. What fills the last vector up is far from all.
    columns: [[f32; MOST + 16]; 8],
    index: [u32; MOST + 32],
    len: usize,
}

impl Default for Crowd {
    fn default() -> Self {
        Crowd { index: [0; MOST + 32], len: 0, columns: [[0.0; MOST + 16]; 8] }
    }
}

impl Crowd {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Their numbers.
    pub fn index(&self) -> &[u32] {
        &self.index[..self.len]
    }

    /// Takes batch k of what was found.
    #[inline(always)]
    pub fn gather<L: Lanes>(&mut self, shared: &Shared, k: usize, records: &[Record]) -> Batch {
        assert_eq!(shared.lanes, L::N);
        let from = if k == 0 { 0 } else { shared.batches[k - 1].end as usize };
        let mut len = 0;
        for &[first, near] in &shared.hits[from..shared.batches[k].end as usize] {
            // SAFETY: a batch has at most as many hits as there is room for.
            unsafe { L::store_set_bits(near, first, self.index.as_mut_ptr().add(len)) };
            len += near.count_ones() as usize;
        }
        self.len = len;
        let filler = self.index[0];
        for k in 0..L::N {
            self.index[len + k] = filler;
        }
        let mut at = 0;
        while at < len {
            // SAFETY: all are numbers of particles.
            let mut columns = unsafe { L::gather8(records.as_ptr(), self.index.as_ptr().add(at)) };
            if len - at < L::N {
                // SAFETY: of the 32 entries at most 16 are read, from 16 on at most.
                columns[0] = columns[0].add(unsafe { L::load(FAR.as_ptr().add(16 - (len - at))) });
            }
            for (column, values) in self.columns.iter_mut().zip(columns) {
                // SAFETY: there is room for a vector more than neighbours.
                unsafe { values.store(column.as_mut_ptr().add(at)) };
            }
            at += L::N;
        }
        shared.batches[k]
    }

    /// Component c of the records from `at` on.
    #[inline(always)]
    pub fn column<L: Lanes>(&self, c: usize, at: usize) -> L {
        debug_assert!(at < self.len);
        // SAFETY: there is a vector more than neighbours.
        unsafe { L::load(self.columns[c].as_ptr().add(at)) }
    }

    /// Of other records of the same particles, those from `at` on.
    #[inline(always)]
    pub fn gather4<L: Lanes>(&self, records: &[[f32; 4]], at: usize) -> [L; 4] {
        // What the last vector is filled up with is among them.
        debug_assert!(at < self.len && self.index().iter().all(|j| (*j as usize) < records.len()));
        // SAFETY: all are numbers of particles.
        unsafe { L::gather4(records.as_ptr(), self.index.as_ptr().add(at)) }
    }
}

/// More about the neighbours of a crowd, by columns.
#[repr(C, align(64))]
pub struct More<const N: usize> {
    columns: [[f32; MOST + 16]; N],
}

impl<const N: usize> Default for More<N> {
    fn default() -> Self {
        More { columns: [[0.0; MOST + 16]; N] }
    }
}

impl<const N: usize> More<N> {
    /// Component c from `at` on.
    #[inline(always)]
    pub fn column<L: Lanes>(&self, c: usize, at: usize) -> L {
        debug_assert!(at < MOST);
        // SAFETY: there is a vector more than neighbours.
        unsafe { L::load(self.columns[c].as_ptr().add(at)) }
    }

    /// Takes values by number.
    pub fn pick(&mut self, crowd: &Crowd, of: impl Fn(usize) -> [f32; N]) {
        for (k, &j) in crowd.index().iter().enumerate() {
            for (column, value) in self.columns.iter_mut().zip(of(j as usize)) {
                column[k] = value;
            }
        }
    }
}

impl More<4> {
    /// Takes the surfaces of those vectors in which any has one, or of all.
    #[inline(always)]
    pub fn gather<L: Lanes>(&mut self, crowd: &Crowd, surface: &[[f32; 4]], all: bool) {
        let mut at = 0;
        while at < crowd.len {
            if all || crowd.column::<L>(VOLUME, at).below(L::splat(0.0)) != 0 {
                // SAFETY: all are numbers of particles, and there is room for a vector more.
                unsafe {
                    let columns = L::gather4(surface.as_ptr(), crowd.index.as_ptr().add(at));
                    for (column, values) in self.columns.iter_mut().zip(columns) {
                        values.store(column.as_mut_ptr().add(at));
                    }
                }
            }
            at += L::N;
        }
    }
}

/// A crowd with all that forces read of it.
#[derive(Default)]
pub struct Gathered {
    /// The neighbours.
    pub crowd: Crowd,
    /// Their surfaces.
    pub surfaces: More<4>,
    /// What their fluids differ in.
    pub mixed: More<5>,
}

/// Sixteen zeros, then sixteen that are far: read from 16 - n on, it leaves the first n lanes where they are.
static FAR: [f32; 32] = {
    let mut far = [0.0; 32];
    let mut k = 16;
    while k < 32 {
        far[k] = 1e9;
        k += 1;
    }
    far
};
