//! The hierarchy of levels and the V-cycle over it, after Shao, Huang, Michels: "A fast unsmoothed aggregation
//! algebraic multigrid framework for the large-scale simulation of incompressible flow" (ACM TOG 41, 2022).
//!
//! Each coarse cell stands for 2 × 2 × 2 fine ones with one value. So the coarse matrix (Galerkin's, the sum of the
//! fine equations) has seven points again, whatever the coefficients and the shape of the liquid, and its row sums
//! are those of the fine one: a coarse cell is held by the free surface as much as its cells are.

use super::coarsest::{Coarsest, MOST};
use super::exchange::{CELLS, Counts, deal, rows};
use super::kernels::{self, Colour, Split, at_of};
use super::level::{LANES, Level};
use super::setup;
use super::transfer::{self, Transfer};

/// Constant interpolation makes the coarse problem too stiff, twice in the limit of smooth answers: its corrections are
/// lengthened. (The preconditioner stays positive for any factor, see `Hierarchy::cycle`.)
const OVERCORRECTION: f32 = 1.8;

/// Sweeps before and after the coarse correction on coarse levels, where they cost little: with one, as on the finest, the
/// number of iterations grows faster with the grid (half as many more on 128³ cells).
const COARSE_SWEEPS: usize = 2;

/// Right side and answer of a level.
pub(super) struct Vectors {
    pub(super) b: Split,
    pub(super) x: Split,
}

/// What a cycle works on. Several may be under way with one hierarchy.
pub(super) struct Work {
    /// By level.
    levels: Vec<Vectors>,
    y: Vec<f64>,
}

impl Work {
    /// For a hierarchy of boxes like this.
    pub(super) fn new(hierarchy: &Hierarchy) -> Self {
        let vectors = |level: &Level| Vectors { b: Split::new(level.len()), x: Split::new(level.len()) };
        Work { levels: hierarchy.levels.iter().map(vectors).collect(), y: Vec::new() }
    }

    /// Makes ready for the matrix that the hierarchy has now.
    pub(super) fn begin(&mut self, hierarchy: &Hierarchy) {
        // Of the level that is solved at once only unknowns are written, and all is read.
        self.levels[hierarchy.depth - 1].x.fill(0.0);
    }

    /// Those of the finest level.
    pub(super) fn finest(&mut self) -> &mut Vectors {
        &mut self.levels[0]
    }
}

/// The levels, from the finest on.
pub(super) struct Hierarchy {
    pub(super) levels: Vec<Level>,
    coarsest: Coarsest,
    /// Levels in use: the last of them is solved at once.
    depth: usize,
}

impl Hierarchy {
    pub(super) fn new(mut size: [usize; 3], periodic: [bool; 3]) -> Self {
        let mut levels = vec![Level::new(size, periodic)];
        while size.iter().product::<usize>() > MOST {
            size = size.map(|n| n.div_ceil(2));
            levels.push(Level::new(size, periodic));
        }
        Hierarchy { levels, coarsest: Coarsest::default(), depth: 1 }
    }

    /// Builds the coarse levels from the finest, whose couplings and diagonal are set.
    pub(super) fn build(&mut self) {
        self.depth = 1;
        let fine = &mut self.levels[0];
        fine.load_seams();
        fine.wrap_plus();
        fine.find_excess();
        fine.find_uniform();
        while self.levels[self.depth - 1].unknowns > MOST && self.depth < self.levels.len() {
            let (fine, coarse) = self.levels.split_at_mut(self.depth);
            coarsen(&fine[self.depth - 1], &mut coarse[0]);
            fine[self.depth - 1].find_parents(&coarse[0]);
            self.depth += 1;
        }
        self.coarsest.factorise(&self.levels[self.depth - 1]);
    }

    /// One V-cycle: x of the finest level is about A⁻¹ b. Returns Σ b x of either colour. If it is `begun`, x of the first colour is
    /// b / diagonal already.
    ///
    /// As a map from b to x it is symmetric and positive, as the conjugate gradient wants it: the sweeps after the coarse
    /// correction are those before it in reverse, and since I - ω P B Pᵀ A ≤ I in the energy norm for any positive B and
    /// ω, and the sweeps contract, so is I - M A < I.
    pub(super) fn cycle(&self, work: &mut Work, begun: bool) -> [f64; 2] {
        self.cycle_from(0, &mut work.levels, &mut work.y, begun)
    }

    /// Whether A x is b in the cells of the first colour after a cycle: they were relaxed last, and are no neighbours.
    pub(super) fn ends_exact(&self) -> bool {
        self.depth > 1 && self.levels[0].two_coloured()
    }

    /// The cycle from level `l` on, to which the first of the vectors belong.
    fn cycle_from(&self, l: usize, vectors: &mut [Vectors], y: &mut Vec<f64>, begun: bool) -> [f64; 2] {
        let fine = &self.levels[l];
        if l + 1 == self.depth {
            let v = &mut vectors[0];
            self.coarsest.solve(v, y);
            fine.wrap_vector(&mut v.x);
            return [self.coarsest.dot(v), 0.0];
        }
        let coarse = &self.levels[l + 1];
        let two_coloured = fine.two_coloured();
        let sweeps = if l > 0 { COARSE_SWEEPS } else { 1 };
        let (v, below) = vectors.split_at_mut(1);
        let v = &mut v[0];
        fine.sweep_from_zero(v, two_coloured, begun);
        for _ in 1..sweeps {
            fine.relax(v, 0);
            fine.relax(v, 1);
        }
        // The residual is 0 in the cells swept last.
        let between = between(fine, coarse);
        for c in 0..if two_coloured { 1 } else { 2 } {
            let (k, x) = (fine.colour(c), [&v.x[c][..], &v.x[1 - c][..]]);
            transfer::restrict(&coarse.groups, &between, &k, &v.b[c], x, c > 0, &mut below[0].b);
        }
        self.cycle_from(l + 1, below, y, false);
        for c in 0..if two_coloured { 1 } else { 2 } {
            transfer::prolong(&fine.groups, &fine.parents, OVERCORRECTION, &below[0].x, &mut v.x[c]);
        }
        fine.wrap_vector(&mut v.x);
        for _ in 1..sweeps {
            fine.relax(v, 1);
            fine.relax(v, 0);
        }
        let black = fine.relax(v, 1);
        [fine.relax(v, 0), black]
    }
}

fn between<'a>(fine: &'a Level, coarse: &Level) -> Transfer<'a> {
    Transfer {
        counts: &fine.counts,
        fine: [fine.size[1], fine.size[2]],
        slots: fine.stride[0] - LANES,
        fine_stride: fine.stride,
        coarse_stride: coarse.stride,
    }
}

impl Level {
    /// x of one colour's cells from the others'; returns Σ b x of them.
    fn relax(&self, v: &mut Vectors, c: usize) -> f64 {
        let [red, black] = &mut v.x.0;
        let (x, from) = if c == 0 { (red, &*black) } else { (black, &*red) };
        let dot = kernels::relax(&self.groups, &self.colour(c), &v.b[c], from, x);
        self.wrap_vector(&mut v.x);
        dot
    }

    /// The first sweep: x = 0, then the cells of one colour, then the others'.
    fn sweep_from_zero(&self, v: &mut Vectors, two_coloured: bool, begun: bool) {
        if !two_coloured {
            v.x.fill(0.0);
        }
        if !(begun && two_coloured) {
            kernels::relax_from_zero(&self.groups, &self.colour(0), &v.b[0], &mut v.x[0]);
        }
        self.wrap_vector(&mut v.x);
        self.relax(v, 1);
    }

    /// Adds to the diagonal what the doubled couplings across seams ask for.
    fn load_seams(&mut self) {
        for ghost in self.doubled() {
            let (c, at, axis, there) = ghost;
            let half = 0.5 * self.plus[axis][c][at];
            for (c, at) in [(c, at), there] {
                if half > 0.0 {
                    self.diagonal[c][at] += half;
                    self.inverse[c][at] = 1.0 / self.diagonal[c][at];
                }
            }
        }
    }

    /// The cells before a seam whose couplings are doubled, with the axis and the cells behind it.
    fn doubled(&self) -> Vec<(usize, usize, usize, (usize, usize))> {
        let mut all = Vec::new();
        for axis in (0..3).filter(|a| self.seam(*a) > 1.0 && self.size[*a] > 1) {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for i in 0..self.size[u] {
                for j in 0..self.size[v] {
                    let mut cell = [0; 3];
                    (cell[u], cell[v]) = (i, j);
                    let there = self.slot(cell[0], cell[1], cell[2]);
                    cell[axis] = self.size[axis] - 1;
                    let (c, at) = self.slot(cell[0], cell[1], cell[2]);
                    all.push((c, at, axis, there));
                }
            }
        }
        all
    }

    /// What the diagonal has above the couplings, if more than `excess` has so far: the rounding of the diagonal.
    fn find_excess(&mut self) {
        for c in 0..2 {
            let k = Colour::of(&self.plus, &self.diagonal, &self.inverse, self.stride, self.uniform, c);
            setup::find_excess(&self.groups, &k, &mut self.excess[c]);
        }
    }
}

/// Galerkin's coarse matrix for one value in each 2 × 2 × 2 cells.
fn coarsen(fine: &Level, coarse: &mut Level) {
    let [nx, ny, nz] = coarse.size;
    let seam: [f32; 3] = std::array::from_fn(|axis| coarse.seam(axis) / fine.seam(axis));
    let plus = coarse.plus.each_mut().map(|p| p.out());
    let (excess, inverse) = (coarse.excess.out(), coarse.inverse.out());
    let counts = Counts::of(&mut coarse.counts);
    let shape = &*coarse;
    rows(coarse.size, |y, z| {
        let (ys, zs) = (2 * y..(2 * y + 2).min(fine.size[1]), 2 * z..(2 * z + 2).min(fine.size[2]));
        for (group, x) in (0..nx).step_by(CELLS).enumerate() {
            let at = shape.row(y, z) + group * LANES;
            // SAFETY: the group is this row's.
            let count = unsafe { &mut *counts.at(at) };
            // Up to two groups in each of the fine rows.
            let halves = if x + LANES < nx { 2 } else { 1 };
            let (mut sums, mut hold, mut found) = ([[0.0f32; CELLS]; 3], [0.0f32; CELLS], false);
            for z1 in zs.clone() {
                for y1 in ys.clone() {
                    for half in 0..halves {
                        let slot = fine.row(y1, z1) + x + half * LANES;
                        if fine.counts[slot / LANES] == 0 {
                            continue;
                        }
                        found = true;
                        let (part, odd) = (half * LANES, 1 - ((y1 + z1) & 1));
                        add(&mut hold, part, [&fine.excess[0], &fine.excess[1]], slot);
                        // Cells whose + neighbours are in the next coarse cell: the second of two.
                        add(&mut sums[0], part, [&fine.plus[0][odd]], slot);
                        if fine.size[0] % 2 == 1
                            && (slot..slot + LANES).contains(&(fine.row(y1, z1) + nx - 1))
                        {
                            // Or the only one at the far end.
                            sums[0][nx - 1 - x] += fine.plus[0][1 - odd][fine.row(y1, z1) + nx - 1];
                        }
                        if y1 + 1 == ys.end {
                            add(&mut sums[1], part, [&fine.plus[1][0], &fine.plus[1][1]], slot);
                        }
                        if z1 + 1 == zs.end {
                            add(&mut sums[2], part, [&fine.plus[2][0], &fine.plus[2][1]], slot);
                        }
                    }
                }
            }
            if !found && *count == 0 {
                continue;
            }
            *count = u8::from(found);
            let ends = [x + CELLS >= nx, y + 1 == ny, z + 1 == nz];
            for axis in 0..3 {
                // Around a periodic axis of one coarse cell it would be coupled with itself.
                let factor = if shape.size[axis] == 1 { 0.0 } else { seam[axis] };
                match (axis, ends[axis]) {
                    (_, false) => {}
                    (0, true) => sums[0][nx - 1 - x] *= factor,
                    (_, true) => sums[axis].iter_mut().for_each(|c| *c *= factor),
                }
                deal(&sums[axis], (y + z) & 1, plus[axis], at);
            }
            deal(&hold, (y + z) & 1, excess, at);
            let cells: [f32; CELLS] = std::array::from_fn(|l| if found && x + l < nx { 1.0 } else { 0.0 });
            deal(&cells, (y + z) & 1, inverse, at);
        }
    });
    coarse.wrap_plus();
    coarse.list_groups();
    let (diagonal, inverse) = (coarse.diagonal.out(), coarse.inverse.out());
    for c in 0..2 {
        let k = coarse.colour(c);
        setup::find_diagonal(&coarse.groups, &k, &coarse.excess[c], diagonal[c], inverse[c]);
    }
    // Now that it is known which coarse cells anything holds: whole components without hold are no unknowns.
    for &group in &coarse.groups {
        let at = at_of(group);
        let unknowns = |c: usize| coarse.inverse[c][at..at + LANES].iter().filter(|i| **i > 0.0).count();
        coarse.counts[at / LANES] = (unknowns(0) + unknowns(1)) as u8;
    }
    coarse.list_groups();
    coarse.find_uniform();
}

/// Adds eight slots of each vector to a part of the sums.
#[inline(always)]
fn add<const N: usize>(sums: &mut [f32; CELLS], part: usize, vectors: [&Vec<f32>; N], slot: usize) {
    for v in vectors {
        for (sum, v) in sums[part..part + LANES].iter_mut().zip(&v[slot..slot + LANES]) {
            *sum += v;
        }
    }
}
