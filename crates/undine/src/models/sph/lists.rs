//! Packed lists of neighbours for the passes that do more than a sum over them.
//!
//! Only about one candidate in four is within h, so those are picked out first and then taken eight at a time, each as
//! one 32-byte record transposed while loading. (Computing on all candidates with masks was not timed against it.)

use super::density::{images, load, square_distance};
use super::work::Work;
use crate::neighbors::{BUNCH, Chunk};
use crate::simd::Lanes;

/// The first n of eight bits.
static KEEP: [u32; 9] = [0, 1, 3, 7, 15, 31, 63, 127, 255];

/// Packed neighbour numbers of one particle, worked off before it can overflow.
pub struct List {
    /// Numbers of the neighbours; one more vector past the end may be written.
    pub index: [u32; 8 * List::CHUNKS + 16],
    /// How many there are.
    pub len: usize,
}

impl Default for List {
    fn default() -> Self {
        List { index: [0; 8 * List::CHUNKS + 16], len: 0 }
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
        debug_assert!(self.len + 8 <= self.index.len());
        // SAFETY: each call so far added at most eight.
        unsafe { L::store_set_bits(near, first, self.index.as_mut_ptr().add(self.len)) };
        self.len += near.count_ones() as usize;
    }
}

/// Lists the neighbours of a bunch of points, seen from their periodic image, among at most [`List::CHUNKS`]
/// chunks.
#[inline(always)]
pub fn scan<L: Lanes>(
    lists: &mut [List; BUNCH],
    work: &Work,
    points: &[[f32; 3]; BUNCH],
    shift: [f32; 3],
    chunks: &[Chunk],
) {
    debug_assert!(chunks.len() <= List::CHUNKS);
    let q = images::<L>(points, shift);
    for c in chunks {
        // SAFETY: candidates are below the number of particles.
        let at = unsafe { load::<L>(work, c.first) };
        let keep = KEEP[c.count.min(8) as usize];
        for b in 0..BUNCH {
            let near = square_distance(q[b], at).below(L::splat(1.0)) & keep;
            // SAFETY: a list has room for eight from each of so many chunks.
            unsafe { lists[b].push::<L>(near, c.first) };
        }
    }
}

/// Fills the last vector of a list up with particle i, so that it can be read in eights.
#[inline(always)]
pub fn pad(list: &mut List, i: usize) {
    // SAFETY: the list keeps room for two more vectors.
    unsafe { list.index.as_mut_ptr().add(list.len).cast::<[u32; 8]>().write_unaligned([i as u32; 8]) };
}
