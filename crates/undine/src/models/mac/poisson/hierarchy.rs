//! The hierarchy of levels and the V-cycle over it, after Shao, Huang, Michels: "A fast unsmoothed aggregation
//! algebraic multigrid framework for the large-scale simulation of incompressible flow" (ACM TOG 41, 2022).
//!
//! Each coarse cell stands for 2 × 2 × 2 fine ones with one value. So the coarse matrix (Galerkin's, the sum of the
//! fine equations) has seven points again, whatever the coefficients and the shape of the liquid, and its row sums
//! are those of the fine one: a coarse cell is held by the free surface as much as its cells are.

use super::coarsest::{Coarsest, MOST};
use super::kernels::{self, Colour, Transfer};
use super::level::{LANES, Level};

/// Constant interpolation makes the coarse problem too stiff, twice in the limit of smooth answers: its corrections are
/// lengthened. (The preconditioner stays positive for any factor, see `Hierarchy::cycle`.)
const OVERCORRECTION: f32 = 1.8;

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
        fine.wrap_plus();
        fine.find_excess();
        fine.find_groups();
        while self.levels[self.depth - 1].unknowns > MOST && self.depth < self.levels.len() {
            let (fine, coarse) = self.levels.split_at_mut(self.depth);
            coarsen(&fine[self.depth - 1], &mut coarse[0]);
            self.depth += 1;
        }
        self.coarsest.factorise(&self.levels[self.depth - 1]);
    }

    /// One V-cycle: x of the finest level is about A⁻¹ b. Returns Σ b x.
    ///
    /// As a map from b to x it is symmetric and positive, as the conjugate gradient wants it: the sweeps after the coarse
    /// correction are those before it in reverse, and since I - ω P B Pᵀ A ≤ I in the energy norm for any positive B and
    /// ω, and the sweeps contract, so is I - M A < I.
    pub(super) fn cycle(&mut self) -> f64 {
        self.cycle_from(0)
    }

    fn cycle_from(&mut self, l: usize) -> f64 {
        if l + 1 == self.depth {
            let level = &mut self.levels[l];
            self.coarsest.solve(level);
            return self.coarsest.dot(level);
        }
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        let (fine, coarse) = (&mut fine[l], &mut coarse[0]);
        let two_coloured = fine.two_coloured();
        fine.sweep_from_zero(two_coloured);
        // The residual is 0 in the cells swept last.
        let transfer = transfer(fine, coarse);
        for &group in &coarse.groups {
            let at = (group & !1) as usize;
            coarse.b[0][at..at + LANES].fill(0.0);
            coarse.b[1][at..at + LANES].fill(0.0);
        }
        for c in 0..if two_coloured { 1 } else { 2 } {
            let (k, x) = (fine.colour(c), [&fine.x[c][..], &fine.x[1 - c][..]]);
            kernels::restrict(&coarse.groups, &transfer, &k, &fine.b[c], x, coarse.b.both_mut());
        }
        self.cycle_from(l + 1);
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        let (fine, coarse) = (&mut fine[l], &coarse[0]);
        for c in 0..if two_coloured { 1 } else { 2 } {
            let from = [&coarse.x[0][..], &coarse.x[1][..]];
            kernels::prolong(&coarse.groups, &transfer, OVERCORRECTION, from, &mut fine.x[c]);
        }
        fine.wrap_x();
        fine.relax(1) + fine.relax(0)
    }
}

fn transfer(fine: &Level, coarse: &Level) -> Transfer {
    Transfer {
        fine: [fine.size[1], fine.size[2]],
        slots: fine.stride[0] - LANES,
        fine_stride: fine.stride,
        coarse_stride: coarse.stride,
    }
}

impl Level {
    /// x of one colour's cells from the others'; returns Σ b x of them.
    fn relax(&mut self, c: usize) -> f64 {
        let [red, black] = &mut self.x.0;
        let (x, from) = if c == 0 { (red, &*black) } else { (black, &*red) };
        let k = Colour::of(&self.plus, &self.diagonal, &self.inverse, self.stride, c);
        let dot = kernels::relax(&self.groups, &k, &self.b[c], from, x);
        self.wrap_x();
        dot
    }

    /// The first sweep: x = 0, then the cells of one colour, then the others'.
    fn sweep_from_zero(&mut self, two_coloured: bool) {
        if !two_coloured {
            self.x.fill(0.0);
        }
        let k = Colour::of(&self.plus, &self.diagonal, &self.inverse, self.stride, 0);
        kernels::relax_from_zero(&self.groups, &k, &self.b[0], &mut self.x[0]);
        self.wrap_x();
        self.relax(1);
    }

    /// Sum of the couplings of a cell.
    fn couplings(&self, c: usize, at: usize, odd: usize) -> f32 {
        let ([own, other], [row, layer]) = ([c, 1 - c], self.stride);
        (self.plus[0][own][at] + self.plus[0][other][at + odd - 1])
            + (self.plus[1][own][at] + self.plus[1][other][at - row])
            + (self.plus[2][own][at] + self.plus[2][other][at - layer])
    }

    /// Adds to the diagonal what the doubled couplings across seams ask for.
    pub(super) fn load_seams(&mut self) {
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
        for z in 0..self.size[2] {
            for y in 0..self.size[1] {
                let row = self.row(y, z);
                for at in row..row + self.size[0].div_ceil(2) {
                    for c in 0..2 {
                        let d = self.diagonal[c][at];
                        self.excess[c][at] = if d > 0.0 {
                            let excess = d - self.couplings(c, at, (c + y + z) & 1);
                            if excess > self.excess[c][at] { excess } else { 0.0 }
                        } else {
                            0.0
                        };
                    }
                }
            }
        }
    }
}

/// Galerkin's coarse matrix for one value in each 2 × 2 × 2 cells.
fn coarsen(fine: &Level, coarse: &mut Level) {
    let [nx, ny, nz] = coarse.size;
    let [fx, fy, fz] = fine.size;
    // Fine cells whose + neighbours are in the next coarse cell: the second of two, or the only one at the far end.
    let last = |coarse: usize, fine: usize| (2 * coarse + 1).min(fine - 1);
    let seam: [f32; 3] = std::array::from_fn(|axis| coarse.seam(axis) / fine.seam(axis));
    for z in 0..nz {
        for y in 0..ny {
            let to = coarse.row(y, z);
            for x in 0..nx {
                let (c, at) = ((x + y + z) & 1, to + x / 2);
                let (mut plus, mut excess) = ([0.0f32; 3], 0.0f32);
                for z1 in 2 * z..(2 * z + 2).min(fz) {
                    for y1 in 2 * y..(2 * y + 2).min(fy) {
                        let slot = fine.row(y1, z1) + x;
                        let end = last(x, fx);
                        excess += fine.excess[0][slot] + fine.excess[1][slot];
                        plus[0] += fine.plus[0][(end + y1 + z1) & 1][slot];
                        if y1 == last(y, fy) {
                            plus[1] += fine.plus[1][0][slot] + fine.plus[1][1][slot];
                        }
                        if z1 == last(z, fz) {
                            plus[2] += fine.plus[2][0][slot] + fine.plus[2][1][slot];
                        }
                    }
                }
                for (axis, x) in [x, y, z].into_iter().enumerate() {
                    // Around a periodic axis of one coarse cell it would be coupled with itself.
                    let n = coarse.size[axis];
                    let factor = if n == 1 {
                        0.0
                    } else if x + 1 == n {
                        seam[axis]
                    } else {
                        1.0
                    };
                    coarse.plus[axis][c][at] = plus[axis] * factor;
                }
                coarse.excess[c][at] = excess;
            }
        }
    }
    coarse.wrap_plus();
    for z in 0..nz {
        for y in 0..ny {
            let row = coarse.row(y, z);
            for x in 0..nx {
                let (c, at) = ((x + y + z) & 1, row + x / 2);
                let d = coarse.excess[c][at] + coarse.couplings(c, at, x & 1);
                coarse.diagonal[c][at] = d;
                coarse.inverse[c][at] = if d > 0.0 { 1.0 / d } else { 0.0 };
            }
        }
    }
    coarse.find_groups();
}
