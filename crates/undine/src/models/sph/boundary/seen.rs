//! Neighbours of one set of particles among those of another, each set sorted in a grid of its own.

use super::super::lists::{Found, List, scan};
use super::super::work::Work;
use crate::neighbors::{BUNCH, Candidates, Grid};
use crate::simd::Lanes;

/// What a block of points sees of another set; kept for the force pass.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    found: Found,
    bunches: Vec<Bunch>,
    /// Coordinates of the points in the other set's grid.
    local: [Vec<f32>; 3],
}

/// Points in sequence that share their candidates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bunch {
    /// The first of them, in the block.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// One past its last batch.
    end: usize,
}

/// How far a walk through [`Seen`] has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    bunch: usize,
    batch: usize,
}

/// A bunch of points with one list of neighbours each.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// The points.
    pub bunch: Bunch,
    /// What to add to their coordinates (periodic images).
    shift: [f32; 3],
}

impl Seen {
    /// Takes the points of a block (parallel arrays, m) into the other set's grid, before a search for the neighbours of those
    /// that are `wanted`; says whether any is.
    pub fn place(&mut self, position: [&[f64]; 3], wanted: &[bool], grid: &Grid) -> bool {
        self.bunches.clear();
        if !wanted.contains(&true) {
            return false;
        }
        for (a, local) in self.local.iter_mut().enumerate() {
            local.resize(wanted.len(), 0.0);
            grid.locals(a, position[a], local);
        }
        true
    }

    /// The points for which neighbours were looked for.
    pub fn bunches(&self) -> &[Bunch] {
        &self.bunches
    }

    /// Coordinates of point i in the other set's grid.
    #[inline(always)]
    fn at(&self, i: usize) -> [f32; 3] {
        [self.local[0][i], self.local[1][i], self.local[2][i]]
    }

    /// Point k of a sight, in the other set's coordinates.
    #[inline(always)]
    pub fn point(&self, sight: &Sight, k: usize) -> [f32; 3] {
        let p = self.at(sight.bunch.first + k);
        [p[0] + sight.shift[0], p[1] + sight.shift[1], p[2] + sight.shift[2]]
    }

    /// The next points and, in `lists`, their neighbours. A point may come several times in sequence.
    #[inline(always)]
    pub fn next<L: Lanes>(&self, walk: &mut Walk, lists: &mut [List; BUNCH]) -> Option<Sight> {
        while self.bunches.get(walk.bunch)?.end <= walk.batch {
            walk.bunch += 1;
        }
        for list in lists.iter_mut() {
            list.len = 0;
        }
        let shift = self.found.list::<L>(walk.batch, lists).shift;
        walk.batch += 1;
        Some(Sight { bunch: self.bunches[walk.bunch], shift })
    }
}

/// What is done with neighbours as soon as they are found.
pub trait Visit {
    /// With those of point `i` of the block, which is at `p` in the other set's coordinates. A point may come several times in
    /// sequence.
    fn visit<L: Lanes>(&mut self, i: usize, p: [f32; 3], list: &mut List);
}

/// Searches for the neighbours of the placed points that are `wanted`, hands them to `visitor` and, to `keep`, lists them
/// for [`Seen::next`]. To be inlined into a function with its instruction set.
#[inline(always)]
pub fn search<L: Lanes, V: Visit>(
    seen: &mut Seen,
    wanted: &[bool],
    grid: &Grid,
    other: &Work,
    keep: bool,
    visitor: &mut V,
) {
    seen.found.clear::<L>();
    let mut candidates = Candidates::default();
    let mut lists: [List; BUNCH] = Default::default();
    let mut i = 0;
    while i < wanted.len() {
        if !wanted[i] {
            i += 1;
            continue;
        }
        let first = seen.at(i);
        let mut points = [first; BUNCH];
        let (mut low, mut high) = (first, first);
        let mut count = 1;
        // Close together and in one row, as `Grid::bunch`, but these may lie outside of the grid.
        while count < BUNCH && i + count < wanted.len() && wanted[i + count] {
            let p = seen.at(i + count);
            if !grid.same_row(first, p) || (p[0] - first[0]).abs() >= 0.5 {
                break;
            }
            points[count] = p;
            for a in 0..3 {
                low[a] = low[a].min(p[a]);
                high[a] = high[a].max(p[a]);
            }
            count += 1;
        }
        grid.candidates_beside::<L>(low, high, &mut candidates);
        for (shift, chunks) in candidates.groups() {
            for chunks in chunks.chunks(List::CHUNKS) {
                let found = if keep { Some(&mut seen.found) } else { None };
                scan::<L>(&mut lists, found, other, &points, shift, chunks);
                for (k, list) in lists.iter_mut().enumerate() {
                    if k < count && list.len > 0 {
                        let [x, y, z] = points[k];
                        let p = [x + shift[0], y + shift[1], z + shift[2]];
                        visitor.visit::<L>(i + k, p, list);
                    }
                    list.len = 0;
                }
            }
        }
        seen.bunches.push(Bunch { first: i, count, end: seen.found.batches() });
        i += count;
    }
}
