//! Neighbours of a bunch of particles, found for all of them together.
//!
//! The particles of a bunch lie side by side and have much of their neighbours in common. So those of any are picked out of the
//! candidates, and each particle goes through all of them: what is beyond its support adds nothing. Bunches of fluid are of eight, see
//! [`super::octet`]. Those of boundary particles, which lie in one layer, are of four, and the fluid they see is gathered ([`Crowd`]), each
//! neighbour as one 32-byte record transposed while loading. Before, each particle had a list of its own. Picking and gathering these
//! took longer than the sums over them.

use rayon::prelude::*;

use super::density::{images, load, square_distance};
use super::octet::OCTET;
use super::work::{Record, Work};
use crate::neighbors::{Candidates, Grid};
use crate::simd::{Lanes, widest};
use crate::state::pages::Pages;

/// Neighbours of a crowd at most: after as many candidates it is worked off. (With half of that every second octet inside the fluid
/// came in two parts.)
pub const MOST: usize = 512;

/// Who is near the bunches of a block of particles: found once, and used until one from elsewhere can have come.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// The first of up to L::N particles in sequence, and bits of those that are near.
    hits: Vec<[u32; 2]>,
    batches: Vec<Batch>,
    /// Lanes it was made with.
    lanes: usize,
}

/// Up to [`MOST`] neighbours of a bunch, seen from one periodic image.
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

/// A look at [`Shared`], wherever its hits are.
#[derive(Clone, Copy, Debug)]
pub struct Near<'a> {
    hits: &'a [[u32; 2]],
    batches: &'a [Batch],
    lanes: usize,
}

impl<'a> Near<'a> {
    /// Number of batches.
    pub fn batches(self) -> usize {
        self.batches.len()
    }

    /// Particles of the bunch that batch k belongs to.
    pub fn count(self, k: usize) -> usize {
        self.batches[k].count.into()
    }

    /// Batch k.
    #[inline(always)]
    pub fn batch(self, k: usize) -> Batch {
        self.batches[k]
    }

    /// The hits of batch k.
    #[inline(always)]
    fn hits(self, k: usize) -> &'a [[u32; 2]] {
        let from = if k == 0 { 0 } else { self.batches[k - 1].end as usize };
        &self.hits[from..self.batches[k].end as usize]
    }

    /// Writes the numbers of those near the bunch of batch k; how many there are.
    #[inline(always)]
    pub fn numbers<L: Lanes>(self, k: usize, out: &mut [u32; MOST + 16]) -> usize {
        assert_eq!(self.lanes, L::N);
        let mut len = 0;
        for &[first, near] in self.hits(k) {
            // SAFETY: a batch has at most as many hits as there is room for.
            unsafe { L::store_set_bits(near, first, out.as_mut_ptr().add(len)) };
            len += near.count_ones() as usize;
        }
        len
    }

    /// Who is near the bunch of batch k, and more.
    pub fn near(self, k: usize) -> impl Iterator<Item = usize> {
        self.hits(k).iter().flat_map(|&[first, near]| {
            (0..16).filter(move |lane| near >> lane & 1 == 1).map(move |lane| first as usize + lane)
        })
    }

    /// The batches, each with the particles of its bunch, from `first` on.
    pub fn bunches(self, first: usize) -> impl Iterator<Item = (usize, &'a Batch, std::ops::Range<usize>)> {
        let mut i = first;
        self.batches.iter().enumerate().map(move |(k, batch)| {
            let bunch = i..i + usize::from(batch.count);
            i = if batch.last { bunch.end } else { i };
            (k, batch, bunch)
        })
    }
}

impl Shared {
    /// Number of batches.
    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// A look at it.
    pub fn look(&self) -> Near<'_> {
        Near { hits: &self.hits, batches: &self.batches, lanes: self.lanes }
    }

    /// Takes what another has found; its hits into `room` if they fit.
    fn take(&mut self, other: &Shared, room: &mut [[u32; 2]]) {
        self.lanes = other.lanes;
        self.batches.clear();
        self.batches.reserve_exact(other.batches.len());
        self.batches.extend(&other.batches);
        if let Some(room) = room.get_mut(..other.hits.len()) {
            room.copy_from_slice(&other.hits);
            self.hits = Vec::new();
        } else {
            self.hits.clone_from(&other.hits);
        }
    }

    /// A look at what was taken, with the room that it was given.
    fn look_in<'a>(&'a self, room: &'a [[u32; 2]]) -> Near<'a> {
        let hits = if self.hits.is_empty() { room } else { &self.hits };
        Near { hits, ..self.look() }
    }

    /// Forgets all, keeps the memory.
    #[inline(always)]
    pub fn clear<L: Lanes>(&mut self) {
        self.hits.clear();
        self.batches.clear();
        self.lanes = L::N;
    }

    /// Searches the neighbours of the particles from `first` to before `end`, as far as the grid reaches; chooses the instruction set.
    pub fn search_octets(&mut self, work: &Work, grid: &Grid, first: usize, end: usize) {
        let found = self;
        widest!(Shared::search(found: &mut Shared, work: &Work, grid: &Grid, first: usize, end: usize));
    }

    /// As [`Shared::search_octets`], for given lanes.
    #[inline(always)]
    pub fn search<L: Lanes>(&mut self, work: &Work, grid: &Grid, first: usize, end: usize) {
        let mut candidates = Candidates::default();
        self.clear::<L>();
        let mut i = first;
        while i < end {
            let (n, points) = work.bunch::<L, OCTET>(grid, i, end, &mut candidates);
            self.find::<L, OCTET>(work, &candidates, &points, n, grid.reach());
            i += n;
        }
    }

    /// Finds among the candidates, of `work`, those within `reach` of any of the first `n` points, of which the last is repeated;
    /// says whether there are any.
    #[inline(always)]
    pub fn find<L: Lanes, const B: usize>(
        &mut self,
        work: &Work,
        candidates: &Candidates,
        points: &[[f32; 3]; B],
        n: usize,
        reach: f32,
    ) -> bool {
        let reach2 = L::splat(reach * reach);
        let before = (self.hits.len(), self.batches.len());
        for (shift, chunks) in candidates.groups() {
            // (One test for the box around the bunch found more neighbours, and took as long.)
            let q = images::<L, B>(points, shift);
            for chunks in chunks.chunks(MOST / L::N) {
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

/// Hits of a block there is room for at first, about what one of full bunches in a lattice has.
const ROOM: usize = 2048;

/// What all blocks of particles have found: hits in one array that can be shed.
#[derive(Clone, Debug, Default)]
pub struct Found {
    hits: Pages<[u32; 2]>,
    /// Hits of a block there is room for.
    room: usize,
    blocks: Vec<Shared>,
}

impl Found {
    /// What block `block` has found, if it is kept.
    pub fn get(&self, block: usize) -> Option<Near<'_>> {
        let room = self.hits.get(block * self.room..(block + 1) * self.room)?;
        self.blocks.get(block).map(|shared| shared.look_in(room))
    }

    /// Makes room for so many blocks that are to be searched.
    pub fn prepare(&mut self, blocks: usize) {
        // As much as any block needed before.
        let most = self.blocks.iter().filter_map(|b| b.batches.last()).map(|b| b.end as usize).max();
        self.room = most.map_or(ROOM, |most| most + most / 32).max(1);
        self.blocks.resize_with(blocks, Shared::default);
        self.hits.resize(blocks * self.room);
    }

    /// The blocks, each with its room.
    pub fn blocks(&mut self) -> impl IndexedParallelIterator<Item = Block<'_>> {
        let rooms = self.hits.par_chunks_mut(self.room.max(1));
        self.blocks.par_iter_mut().zip(rooms).map(|(shared, room)| Block { shared, room })
    }

    /// Gives most of its memory back; nothing is kept.
    pub fn shed(&mut self) {
        self.hits.shed();
    }
}

/// What a block of particles has found, and room for it.
pub struct Block<'a> {
    shared: &'a mut Shared,
    room: &'a mut [[u32; 2]],
}

impl Block<'_> {
    /// Keeps what was found.
    pub fn keep(&mut self, found: &Shared) {
        self.shared.take(found, self.room);
    }

    /// What is kept.
    pub fn look(&self) -> Near<'_> {
        self.shared.look_in(self.room)
    }
}

/// The neighbours of a bunch in one batch, by columns.
// Aligned, with columns of whole cache lines: vectors do not straddle two of them.
#[repr(C, align(64))]
pub struct Crowd {
    /// Components of the records. What fills the last vector up is far from all.
    columns: [[f32; MOST + 16]; 8],
    index: [u32; MOST + 16],
    len: usize,
}

impl Default for Crowd {
    fn default() -> Self {
        Crowd { index: [0; MOST + 16], len: 0, columns: [[0.0; MOST + 16]; 8] }
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
    pub fn gather<L: Lanes>(&mut self, found: Near, k: usize, records: &[Record]) -> Batch {
        let len = found.numbers::<L>(k, &mut self.index);
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
        found.batches[k]
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
