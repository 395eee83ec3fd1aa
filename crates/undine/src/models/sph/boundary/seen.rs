//! Neighbours of one set of particles among those of another, each set sorted in a grid of its own.

use std::ops::Range;

use super::super::crowd::{Crowd, MOST, Shared};
use super::super::octet::{Exact, Numbers, OCTET};
use super::super::work::{Record, Work};
use crate::neighbors::{BUNCH, Candidates, Grid};
use crate::simd::{Lanes, Octets, widest};

/// What a block of points sees of another set.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    found: Shared,
    /// Of what was found, all that may come to count soon, see [`super::super::outlook`].
    exact: Exact,
    bunches: Vec<Bunch>,
    /// Coordinates of the points in the other set's grid, and room for an octet that begins with the last.
    local: [Vec<f32>; 3],
}

/// Which neighbours are gone through.
enum Lists<'a> {
    /// All that were found, and those that are not far are kept.
    Survey(&'a mut Exact),
    /// Those.
    Exact(&'a Exact),
}

/// Points in sequence that share their neighbours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bunch {
    /// The first of them, in the block.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// One past its last batch.
    end: usize,
}

/// What is done with the points of a block and the neighbours of each.
pub trait Visit {
    /// Whether it is to see point `i` of the block.
    #[inline(always)]
    fn wants(&self, _i: usize) -> bool {
        true
    }
    /// Neighbours are there, those of a bunch of points.
    fn arrive(&mut self, _crowd: &Crowd) {}
    /// Point `i` of the block sees them from `p`, in the other set's coordinates; some lie beyond its support. A point may come
    /// several times in sequence.
    fn visit<L: Lanes>(&mut self, i: usize, p: [f32; 3], crowd: &Crowd);
}

/// What is done with up to eight points of a block side by side, each in its lane, and the neighbours of any.
pub trait VisitOctet {
    /// The points are at `p`, in the other set's coordinates (lanes after the last are anywhere), and see these of the other set's
    /// records; some lie beyond the support of all. Points may come several times in sequence. A survey says in `far` of each for
    /// which points it stays beyond the support.
    fn visit<L: Octets>(
        &mut self,
        points: Range<usize>,
        p: [L; 3],
        neighbors: &[u32],
        records: &[Record],
        far: &mut [u8; MOST + 16],
    );
    /// These are those that a survey keeps.
    #[inline(always)]
    fn keep(&mut self, _neighbors: &[u32]) {}
}

impl Seen {
    /// Takes the points of a block (parallel arrays, m) into the other set's grid.
    pub fn place(&mut self, position: [&[f64]; 3], grid: &Grid) {
        for (a, local) in self.local.iter_mut().enumerate() {
            local.resize(position[a].len() + OCTET, 0.0);
            grid.locals(a, position[a], local);
        }
    }

    /// Whether none sees any.
    pub fn is_empty(&self) -> bool {
        self.bunches.is_empty()
    }

    /// Sees none.
    pub fn clear(&mut self) {
        self.bunches.clear();
    }

    /// The points that see any, and perhaps others.
    pub fn bunches(&self) -> &[Bunch] {
        &self.bunches
    }

    /// Whether point i is handed out with number j of the other set.
    #[cfg(test)]
    pub fn counts(&self, i: usize, j: usize) -> bool {
        let mut k = 0;
        self.bunches.iter().any(|bunch| {
            let batches = std::mem::replace(&mut k, bunch.end)..bunch.end;
            (bunch.first..bunch.first + bunch.count).contains(&i)
                && batches.into_iter().any(|k| self.exact.batch(k).contains(&(j as u32)))
        })
    }

    /// Coordinates of point i in the other set's grid.
    #[inline(always)]
    fn at(&self, i: usize) -> [f32; 3] {
        [self.local[0][i], self.local[1][i], self.local[2][i]]
    }

    /// Searches for the neighbours of the placed points that are `wanted`, as far as the grid of the other set reaches. Bunches are of
    /// four, as [`Seen::each`] has most of.
    pub fn search(&mut self, wanted: &[bool], grid: &Grid, other: &Work) {
        let seen = self;
        widest!(search_fours(seen: &mut Seen, wanted: &[bool], grid: &Grid, other: &Work));
    }

    /// The same in bunches of eight, for [`Seen::octets`].
    pub fn search_octets(&mut self, wanted: &[bool], grid: &Grid, other: &Work) {
        let seen = self;
        widest!(search_eights(seen: &mut Seen, wanted: &[bool], grid: &Grid, other: &Work));
    }

    /// Hands octets of points and all neighbours found, with the other set's records, to the visitor, and keeps those that are not far
    /// for [`Seen::octets`]. To be inlined into a function with its instruction set.
    #[inline(always)]
    pub fn survey<L: Octets, V: VisitOctet>(&mut self, records: &[Record], visitor: &mut V) {
        let mut exact = std::mem::take(&mut self.exact);
        exact.clear();
        self.go_through::<L, V>(Lists::Survey(&mut exact), records, visitor);
        self.exact = exact;
    }

    /// The same with those neighbours that are not far, where there are any.
    #[inline(always)]
    pub fn octets<L: Octets, V: VisitOctet>(&self, records: &[Record], visitor: &mut V) {
        self.go_through::<L, V>(Lists::Exact(&self.exact), records, visitor);
    }

    // (Not with closures, which would be compiled without the instruction set.)
    #[inline(always)]
    fn go_through<L: Octets, V: VisitOctet>(&self, mut lists: Lists, records: &[Record], visitor: &mut V) {
        let (mut numbers, mut far) = (Numbers::default(), [0; MOST + 16]);
        let near = self.found.look();
        let mut k = 0;
        for bunch in &self.bunches {
            let points = bunch.first..bunch.first + bunch.count;
            while k < bunch.end {
                let neighbors = match &lists {
                    Lists::Survey(_) => {
                        numbers.take::<L>(near, k);
                        numbers.all()
                    }
                    Lists::Exact(exact) => exact.batch(k),
                };
                if !neighbors.is_empty() {
                    let shift = near.batch(k).shift;
                    let [x, y, z] = self.local.each_ref().map(|of| &of[bunch.first..bunch.first + OCTET]);
                    // SAFETY: eight of each.
                    let p = unsafe {
                        [L::load_eight(x.as_ptr()), L::load_eight(y.as_ptr()), L::load_eight(z.as_ptr())]
                    };
                    let p = [
                        p[0].add(L::splat(shift[0])),
                        p[1].add(L::splat(shift[1])),
                        p[2].add(L::splat(shift[2])),
                    ];
                    visitor.visit::<L>(points.clone(), p, neighbors, records, &mut far);
                }
                if let Lists::Survey(exact) = &mut lists {
                    exact.take::<L>(&numbers, &far);
                    visitor.keep(exact.batch(k));
                }
                k += 1;
            }
        }
    }

    /// Hands the points and their neighbours, with the other set's records, to the visitor. To be inlined into a function with its
    /// instruction set.
    #[inline(always)]
    pub fn each<L: Lanes, V: Visit>(&self, records: &[Record], crowd: &mut Crowd, visitor: &mut V) {
        let mut k = 0;
        for bunch in &self.bunches {
            if !(bunch.first..bunch.first + bunch.count).any(|i| visitor.wants(i)) {
                k = bunch.end;
            }
            while k < bunch.end {
                let shift = crowd.gather::<L>(self.found.look(), k, records).shift;
                visitor.arrive(crowd);
                for i in bunch.first..bunch.first + bunch.count {
                    let p = self.at(i);
                    visitor.visit::<L>(i, [p[0] + shift[0], p[1] + shift[1], p[2] + shift[2]], crowd);
                }
                k += 1;
            }
        }
    }
}

/// Length of a bunch of fours, and of eights, along x, supports. (Boundary particles lie a half apart: with 0.5 they came in twos.)
const LONGEST: [f32; 2] = [1.0, 1.3];

#[inline(always)]
fn search_fours<L: Lanes>(seen: &mut Seen, wanted: &[bool], grid: &Grid, other: &Work) {
    search_in::<L, BUNCH>(seen, wanted, grid, other);
}

#[inline(always)]
fn search_eights<L: Lanes>(seen: &mut Seen, wanted: &[bool], grid: &Grid, other: &Work) {
    search_in::<L, OCTET>(seen, wanted, grid, other);
}

#[inline(always)]
fn search_in<L: Lanes, const B: usize>(seen: &mut Seen, wanted: &[bool], grid: &Grid, other: &Work) {
    let longest = LONGEST[usize::from(B > BUNCH)];
    seen.found.clear::<L>();
    seen.bunches.clear();
    let mut candidates = Candidates::default();
    let mut i = 0;
    while i < wanted.len() {
        if !wanted[i] {
            i += 1;
            continue;
        }
        let first = seen.at(i);
        let mut points = [first; B];
        let (mut low, mut high) = (first, first);
        let mut count = 1;
        // Close together and in one row, as `Grid::bunch`, but these may lie outside of the grid.
        while count < B && i + count < wanted.len() && wanted[i + count] {
            let p = seen.at(i + count);
            if !grid.same_row(first, p) || (p[0] - first[0]).abs() >= longest {
                break;
            }
            points[count..].fill(p);
            for a in 0..3 {
                low[a] = low[a].min(p[a]);
                high[a] = high[a].max(p[a]);
            }
            count += 1;
        }
        grid.candidates_beside::<L>(low, high, &mut candidates);
        if seen.found.find::<L, B>(other, &candidates, &points, count, grid.reach()) {
            seen.bunches.push(Bunch { first: i, count, end: seen.found.batches() });
        }
        i += count;
    }
}
