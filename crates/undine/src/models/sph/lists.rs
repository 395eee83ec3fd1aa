//! Packed lists of the neighbours that a particle has in another set: fluid beside walls. ([`super::crowd`] is for its own.)
//!
//! Only about one candidate in four is within h, so those are picked out first and then taken a vector at a time, each as
//! one 32-byte record transposed while loading. (Computing on all candidates with masks was not timed against it.)

use super::density::{images, load, square_distance};
use super::work::Work;
use crate::neighbors::{BUNCH, Chunk};
use crate::simd::Lanes;

/// Packed neighbour numbers of one particle, worked off before it can overflow.
pub struct List {
    /// Numbers of the neighbours; one more vector past the end may be written.
    pub index: [u32; 16 * List::CHUNKS + 32],
    /// How many there are.
    pub len: usize,
}

impl Default for List {
    fn default() -> Self {
        List { index: [0; 16 * List::CHUNKS + 32], len: 0 }
    }
}

impl List {
    /// Chunks after which the list is worked off.
    pub const CHUNKS: usize = 64;

    /// Adds `first` + each set bit of `near`.
    ///
    /// # Safety
    /// At most `CHUNKS` calls between two workings-off.
    #[inline(always)]
    unsafe fn push<L: Lanes>(&mut self, near: u32, first: u32) {
        debug_assert!(self.len + L::N <= self.index.len());
        // SAFETY: each call so far added at most one vector.
        unsafe { L::store_set_bits(near, first, self.index.as_mut_ptr().add(self.len)) };
        self.len += near.count_ones() as usize;
    }
}

/// What a search found in a block of particles, kept from the density pass for the force pass, which would find the
/// same: about half of each pass is the search.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Neighbours of a bunch within the L::N particles from `first` on, as [`Found::stride`] words: `first`, then
    /// L::N bits for each particle of the bunch, of which bit k says that `first` + k is one of its neighbours.
    hits: Vec<u32>,
    batches: Vec<Batch>,
    /// Lanes it was made with.
    lanes: usize,
}

/// Up to [`List::CHUNKS`] hits of a bunch, seen from one periodic image.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    end: u32,
    /// What to add to the points.
    pub shift: [f32; 3],
}

impl Found {
    /// Words of one entry of `hits`.
    const fn stride<L: Lanes>() -> usize {
        1 + L::N * BUNCH / 32
    }

    /// Forgets all, keeps the memory.
    pub fn clear<L: Lanes>(&mut self) {
        self.lanes = L::N;
        self.hits.clear();
        self.batches.clear();
    }

    /// Number of batches.
    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Lists the neighbours of batch k, the lists being empty.
    #[inline(always)]
    pub fn list<L: Lanes>(&self, k: usize, lists: &mut [List; BUNCH]) -> Batch {
        assert_eq!(self.lanes, L::N);
        let from = if k == 0 { 0 } else { self.batches[k - 1].end as usize };
        for hits in self.hits[from..self.batches[k].end as usize].chunks_exact(Self::stride::<L>()) {
            for (b, list) in lists.iter_mut().enumerate() {
                let bit = b * L::N;
                let mask = hits[1 + bit / 32] >> (bit % 32) & ((1 << L::N) - 1);
                // SAFETY: a batch has at most as many hits as a list has room for.
                unsafe { list.push::<L>(mask, hits[0]) };
            }
        }
        self.batches[k]
    }
}

/// Lists the neighbours of the points of a bunch, seen from their periodic image, among at most
/// [`List::CHUNKS`] chunks, and keeps what it found where that is wanted.
#[inline(always)]
pub fn scan<L: Lanes>(
    lists: &mut [List; BUNCH],
    mut found: Option<&mut Found>,
    work: &Work,
    points: &[[f32; 3]; BUNCH],
    shift: [f32; 3],
    chunks: &[Chunk],
) {
    debug_assert!(chunks.len() <= List::CHUNKS);
    // (As q·q - 2p·q < 1 - p·p, with one q·q for the bunch, it is fewer operations but a longer chain: 3 % slower.)
    let q = images::<L>(points, shift);
    let stride = Found::stride::<L>();
    if let Some(found) = &mut found
        && found.hits.capacity() - found.hits.len() < stride * chunks.len()
    {
        // By an eighth, not by doubling: this is a good part of all memory.
        found.hits.reserve_exact(stride * chunks.len() + found.hits.len() / 8);
    }
    for c in chunks {
        // SAFETY: candidates are below the number of particles.
        let at = unsafe { load::<L>(work, c.first) };
        let mut masks = [0; 2];
        for b in 0..BUNCH {
            let near = square_distance(q[b], at).first_below(L::splat(1.0), c.count);
            masks[b * L::N / 32] |= near << (b * L::N % 32);
            // SAFETY: a list has room for a vector from each of so many chunks.
            unsafe { lists[b].push::<L>(near, c.first) };
        }
        let Some(found) = &mut found else { continue };
        // Written always and kept if any bit is set: no branch to guess.
        let at = found.hits.len();
        // SAFETY: room for all chunks was reserved.
        unsafe {
            let to = found.hits.as_mut_ptr().add(at);
            to.write(c.first);
            for k in 1..stride {
                to.add(k).write(masks[k - 1]);
            }
            found.hits.set_len(at + if masks[0] | masks[1] != 0 { stride } else { 0 });
        }
    }
    if let Some(found) = found {
        found.batches.push(Batch { end: found.hits.len() as u32, shift });
    }
}

/// Fills the last vector of a list up with particle i, so that it can be read in vectors.
#[inline(always)]
pub fn pad<L: Lanes>(list: &mut List, i: usize) {
    // SAFETY: the list keeps room for two more vectors.
    let to = unsafe { list.index.as_mut_ptr().add(list.len) };
    for k in 0..L::N {
        // SAFETY: as above.
        unsafe { to.add(k).write(i as u32) };
    }
}
