//! The list of neighbours with Verlet's skin: all pairs nearer than r_c + skin when it was made, which holds all pairs
//! nearer than r_c until something has moved by half the skin.
//!
//! Both particles of a pair list each other: twice the arithmetic of half a list, but each force is then summed by one
//! thread in one order, and results do not depend on the number of threads.

use rayon::prelude::*;

use crate::models::sph::density::{images, load, square_distance};
use crate::models::sph::work::Work;
use crate::neighbors::{BUNCH, Candidates, Grid};
use crate::simd::{Lanes, widest};

/// Particles handed to a thread at a time.
pub const BLOCK: usize = 64;

/// Neighbours of a block of particles.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Numbers of the neighbours, row after row, each filled up to full vectors with the number of a far place.
    pub index: Vec<u32>,
    /// Where each row ends.
    pub end: Vec<u32>,
}

/// All rows, by block.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The blocks.
    pub blocks: Vec<Rows>,
    spare: Work,
}

impl List {
    /// Lists all pairs of sorted particles at `position` (parallel arrays, m) nearer than the support of the grid that lies
    /// over them.
    pub fn find(&mut self, grid: &Grid, position: [&[f64]; 3]) {
        self.place(grid, position);
        self.find_placed(grid);
    }

    /// Takes sorted particles at `position` (parallel arrays, m), in units of the support.
    pub fn place(&mut self, grid: &Grid, position: [&[f64]; 3]) {
        self.spare.place_points(grid, position);
    }

    /// Where the particles taken are, in units of the support.
    pub fn places(&self) -> impl Iterator<Item = [f32; 4]> {
        let [x, y, z] = [&self.spare.x, &self.spare.y, &self.spare.z];
        (0..self.spare.len()).map(|i| [x[i], y[i], z[i], 0.0])
    }

    /// Lists all pairs of the particles taken.
    pub fn find_placed(&mut self, grid: &Grid) {
        let n = self.spare.len();
        self.blocks.resize_with(n.div_ceil(BLOCK), Rows::default);
        let work = &self.spare;
        self.blocks.par_iter_mut().enumerate().for_each(|(block, rows)| {
            let first = block * BLOCK;
            list(work, grid, first, (first + BLOCK).min(n), rows);
        });
    }

    /// Pairs listed, each twice, and what rows are filled up with.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|rows| rows.index.len()).sum()
    }

    /// Whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The neighbours of the particles from `first` to before `end`; chooses the instruction set.
fn list(work: &Work, grid: &Grid, first: usize, end: usize, rows: &mut Rows) {
    widest!(list_in(work: &Work, grid: &Grid, first: usize, end: usize, rows: &mut Rows));
}

#[inline(always)]
fn list_in<L: Lanes>(work: &Work, grid: &Grid, first: usize, end: usize, rows: &mut Rows) {
    let mut candidates = Candidates::default();
    let mut found: [Vec<u32>; BUNCH] = Default::default();
    let far = work.len() as u32;
    rows.index.clear();
    rows.end.clear();
    let mut i = first;
    while i < end {
        let (n, points) = work.bunch::<L, BUNCH>(grid, i, end, &mut candidates);
        for (shift, chunks) in candidates.groups() {
            let q = images::<L, BUNCH>(&points, shift);
            for list in &mut found[..n] {
                list.reserve((chunks.len() + 2) * L::N);
            }
            for c in chunks {
                // SAFETY: candidates are below the number of particles.
                let at = unsafe { load::<L>(work, c.first) };
                for b in 0..n {
                    let mut near = square_distance(q[b], at).first_below(L::splat(1.0), c.count);
                    let own = (i + b).wrapping_sub(c.first as usize);
                    near &= !(((own < L::N) as u32) << (own & (L::N - 1)));
                    let list = &mut found[b];
                    let len = list.len();
                    // SAFETY: room for a vector of each chunk was reserved.
                    unsafe {
                        L::store_set_bits(near, c.first, list.as_mut_ptr().add(len));
                        list.set_len(len + near.count_ones() as usize);
                    }
                }
            }
        }
        for list in &mut found[..n] {
            list.resize(list.len().next_multiple_of(L::N), far);
            rows.index.extend_from_slice(list);
            rows.end.push(rows.index.len() as u32);
            list.clear();
        }
        i += n;
    }
}
