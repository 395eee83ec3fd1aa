//! How far particles have drifted since neighbours were searched, and whether two can have come near each other that were
//! not found.
//!
//! Looked at by cells of two supports and more, in which particles lay when they were searched: what flows as one uses up no skin,
//! however fast it is.

use rayon::prelude::*;

use super::work::Work;
use crate::neighbors::Moved;
use crate::state::particles::BLOCK;

/// Width of the cells, in what neighbours are searched by: two rows of the sort, so that these come cell by cell. (With cells of
/// two supports half of the rows lay in several, and there were eight times as many runs.)
const CELL: f32 = 2.0;
/// How far a particle may drift at all, in supports: two that are not in cells side by side must not meet. No cell is narrower than two.
pub const FARTHEST: f32 = 0.5 * (CELL - 1.0);
/// Cells for each run of particles at most; where there are more, particles are looked at as one.
const SPARSE: usize = 16;
/// Rounding of ways and places, relative.
const SLACK: f32 = 1e-3;

/// Sorted particles in sequence, of one block and one cell.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// One past the last.
    pub end: u32,
    cell: u32,
    /// Whether any lies beside others.
    beside: bool,
}

/// The runs of a block, and the box of cells they lie in.
#[derive(Clone, Debug)]
struct Part {
    runs: Vec<Run>,
    low: [i32; 3],
    high: [i32; 3],
}

/// The drift of all particles.
#[derive(Clone, Debug, Default)]
pub struct Drift {
    runs: Vec<Run>,
    /// The same by block; scratch.
    parts: Vec<Part>,
    /// How many runs each block has.
    in_block: Vec<usize>,
    /// The ways of each run.
    ways: Vec<Moved>,
    /// And of each cell that has particles.
    cells: Vec<Moved>,
    /// Cells side by side.
    near: Vec<[u32; 2]>,
    /// Number of each cell that has particles, by its place; scratch.
    numbers: Vec<u32>,
}

impl Drift {
    /// Starts anew from particles sorted in cells of `reach` supports, of which some are `beside` others than these.
    pub fn lay(&mut self, work: &Work, reach: f32, beside: impl Fn(usize) -> bool + Sync) {
        let n = work.len();
        let per_cell = 1.0 / (CELL * reach);
        let cell = |i: usize| work.at(i).map(|v| (v * per_cell) as i32);
        let empty = || Part { runs: Vec::new(), low: [0; 3], high: [0; 3] };
        self.parts.resize_with(n.div_ceil(BLOCK), empty);
        self.parts.par_iter_mut().enumerate().for_each(|(block, part)| {
            let end = (block * BLOCK + BLOCK).min(n);
            let mut i = block * BLOCK;
            part.runs.clear();
            (part.low, part.high) = ([i32::MAX; 3], [i32::MIN; 3]);
            while i < end {
                let (first, at) = (i, cell(i));
                part.low = std::array::from_fn(|a| part.low[a].min(at[a]));
                part.high = std::array::from_fn(|a| part.high[a].max(at[a]));
                i += 1;
                while i < end && cell(i) == at {
                    i += 1;
                }
                part.runs.push(Run { end: i as u32, cell: 0, beside: (first..i).any(&beside) });
            }
        });
        self.runs.clear();
        self.in_block.clear();
        self.near.clear();
        let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
        for part in &self.parts {
            self.runs.extend(&part.runs);
            self.in_block.push(part.runs.len());
            low = std::array::from_fn(|a| low[a].min(part.low[a]));
            high = std::array::from_fn(|a| high[a].max(part.high[a]));
        }
        // With a border all around, so that every cell has 26 others beside it.
        let size: [usize; 3] = std::array::from_fn(|a| high[a].saturating_sub(low[a]).max(0) as usize + 3);
        let all = size.iter().fold(1usize, |p, s| p.saturating_mul(*s));
        self.cells.clear();
        if all <= SPARSE * self.runs.len() + 64 {
            self.number(size, |i| {
                let at = cell(i);
                let [x, y, z] = std::array::from_fn(|a| (at[a] - low[a]) as usize + 1);
                (z * size[1] + y) * size[0] + x
            });
        } else {
            self.cells.push(Moved::NONE);
        }
        self.ways.clear();
        self.ways.resize(self.runs.len(), Moved::STILL);
    }

    /// Numbers the cells that have particles and finds which are side by side.
    fn number(&mut self, size: [usize; 3], place: impl Fn(usize) -> usize) {
        const NOBODY: u32 = u32::MAX;
        self.numbers.clear();
        self.numbers.resize(size.iter().product(), NOBODY);
        let mut first = 0;
        for run in &mut self.runs {
            let number = &mut self.numbers[place(first)];
            if *number == NOBODY {
                *number = self.cells.len() as u32;
                self.cells.push(Moved::NONE);
            }
            (run.cell, first) = (*number, run.end as usize);
        }
        let (row, layer) = (size[0], size[0] * size[1]);
        for (at, &a) in self.numbers.iter().enumerate().filter(|(_, a)| **a != NOBODY) {
            // Itself and those that come after it.
            for ahead in 0..14 {
                let by = ahead + 13;
                let other = at + by / 9 * layer + by / 3 % 3 * row + by % 3;
                let b = self.numbers[other - layer - row - 1];
                if b != NOBODY {
                    self.near.push([a, b]);
                }
            }
        }
    }

    /// The runs of each block, with the ways of each to be added to.
    pub fn blocks(&mut self) -> Vec<(&[Run], &mut [Moved])> {
        let (mut runs, mut ways) = (&self.runs[..], &mut self.ways[..]);
        let mut blocks = Vec::with_capacity(self.in_block.len());
        for &count in &self.in_block {
            let (own, rest) = runs.split_at(count);
            let (own_ways, rest_ways) = ways.split_at_mut(count);
            blocks.push((own, own_ways));
            (runs, ways) = (rest, rest_ways);
        }
        blocks
    }

    /// Whether two that were not found may be nearer than a support `h`, m, when a `skin` more was searched (in supports); or one
    /// that is beside others and one of those, which have moved by at most `others`, in supports.
    pub fn is_used_up(&mut self, h: f64, skin: f32, others: f32) -> bool {
        let skin = skin * (1.0 - SLACK) * h as f32;
        let farthest = FARTHEST * (1.0 - SLACK) * h as f32;
        let (mut all, mut beside) = (Moved::NONE, Moved::NONE);
        for (run, way) in self.runs.iter().zip(&self.ways) {
            all = all.and(*way);
            if run.beside {
                beside = beside.and(*way);
            }
        }
        let longest2 = all.longest2();
        let others = beside.longest2().sqrt() + others * h as f32;
        if longest2 > farthest * farthest || others > skin || !all.is_finite() {
            return true;
        }
        if 4.0 * longest2 <= skin * skin {
            return false;
        }
        self.cells.fill(Moved::NONE);
        for (run, way) in self.runs.iter().zip(&self.ways) {
            let cell = &mut self.cells[run.cell as usize];
            *cell = cell.and(*way);
        }
        if self.near.is_empty() {
            return all.nearer2(&all) > skin * skin;
        }
        self.near.iter().any(|&[a, b]| self.cells[a as usize].nearer2(&self.cells[b as usize]) > skin * skin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbors::Grid;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn none_comes_near_unfound_before_the_skin_is_used_up(
            points in prop::collection::vec([0.0..12.0f64, 0.0..4.0f64, 0.0..4.0f64], 2..400),
            speeds in prop::collection::vec([-0.2..0.2f32, -0.2..0.2f32, -0.2..0.2f32], 400),
            wind in 0.0..1.0f32,
            skin in 0.05..0.5f32,
        ) {
            let mut position: [Vec<f64>; 3] = std::array::from_fn(|a| points.iter().map(|p| p[a]).collect());
            let mut grid = Grid::new(1.0).reaching(1.0 + skin);
            let (mut key, mut order) = (vec![0; points.len()], vec![0; points.len()]);
            let view = |p: &[Vec<f64>; 3]| -> [Vec<f64>; 3] { p.clone() };
            let unsorted = view(&position);
            grid.fit([&unsorted[0], &unsorted[1], &unsorted[2]], None);
            grid.sort([&unsorted[0], &unsorted[1], &unsorted[2]], &mut key, &mut order);
            for (a, to) in position.iter_mut().enumerate() {
                *to = order.iter().map(|&i| unsorted[a][i as usize]).collect();
            }
            let mut work = Work::default();
            work.place(&grid, [&position[0], &position[1], &position[2]]);
            let mut drift = Drift::default();
            drift.lay(&work, grid.reach(), |_| false);
            let n = points.len();
            let listed: Vec<[f64; 3]> = (0..n).map(|i| std::array::from_fn(|a| position[a][i])).collect();
            let mut now = listed.clone();
            let distance = |p: &[[f64; 3]], i: usize, j: usize| {
                (0..3).map(|a| (p[i][a] - p[j][a]).powi(2)).sum::<f64>().sqrt()
            };
            for _ in 0..20 {
                let mut first = 0;
                for (runs, ways) in drift.blocks() {
                    for (run, way) in runs.iter().zip(ways) {
                        let mut step = Moved::NONE;
                        for i in first..run.end as usize {
                            let mut d = speeds[i].map(|v| 0.1 * v);
                            // A half flies as one.
                            d[0] += if listed[i][0] > 6.0 { 0.1 * wind } else { 0.0 };
                            (0..3).for_each(|a| now[i][a] += f64::from(d[a]));
                            step.add(d);
                        }
                        *way = way.then(step);
                        first = run.end as usize;
                    }
                }
                if drift.is_used_up(1.0, skin, 0.0) {
                    break;
                }
                for i in 0..n {
                    for j in 0..i {
                        let unfound = distance(&listed, i, j) >= f64::from(1.0 + skin);
                        prop_assert!(!unfound || distance(&now, i, j) >= 1.0 - 1e-5);
                    }
                }
            }
        }
    }
}
