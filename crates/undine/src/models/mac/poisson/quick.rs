//! Solves in single precision, as far as a step asks for, of one system for several right sides.

use super::exchange;
use super::gradient::{self, Left};
use super::kernels::{self, Colour, Split};
use super::{CLEAN, Poisson, Report, TRUST, Turn, inside, power_of_two};

/// When a solution will do: all that is asked for, or so many iterations.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// ‖b - A p‖ / ‖b‖.
    pub tolerance: f64,
    /// Greatest |b - A p| of any cell.
    pub peak: f64,
    /// Most iterations.
    pub most: usize,
}

/// A term `weight` d dᵀ (≥ 0) of the matrix beside the couplings, as of a rigid body.
#[derive(Clone, Debug, Default)]
pub struct Rank {
    /// What of d is not 0, by cell; a cell may be there several times.
    pub d: Vec<(u32, f32)>,
    /// What it is multiplied with.
    pub weight: f32,
}

/// A [`Rank`] by colour and slot of the unknowns.
pub(super) struct Slots {
    d: Vec<(u8, u32, f32)>,
    weight: f64,
}

impl Slots {
    fn dot(&self, v: &Split) -> f64 {
        self.d.iter().map(|&(c, at, d)| f64::from(d) * f64::from(v[c.into()][at as usize])).sum()
    }

    fn add(&self, factor: f64, to: &mut Split) {
        for &(c, at, d) in &self.d {
            to[c.into()][at as usize] += (factor * f64::from(d)) as f32;
        }
    }

    /// w += weight d dᵀz; returns Σ z of what is added.
    pub(super) fn apply(&self, z: &Split, w: &mut Split) -> f64 {
        let product = self.dot(z);
        self.add(self.weight * product, w);
        self.weight * product * product
    }
}

impl Poisson {
    /// Solves the system that was taken last, with further terms. As [`Poisson::solve`], but the residual is the conjugate gradient's own:
    /// it differs from the true one by the rounding of single precision.
    ///
    /// # Panics
    /// If `b` or `p` has not as many entries as the box has cells.
    pub fn answer(&mut self, ranks: &[Rank], b: &[f32], p: &mut [f32], goal: Goal) -> Report {
        let cells = self.hierarchy.levels[0].size.iter().product::<usize>();
        assert!(b.len() == cells && p.len() == cells, "b and p have one entry for each of {cells} cells");
        inside(cells, || self.answer_here(ranks, b, p, goal))
    }

    fn answer_here(&mut self, ranks: &[Rank], b: &[f32], p: &mut [f32], goal: Goal) -> Report {
        let b_scale = power_of_two(exchange::largest(b));
        let scale = (f64::from(b_scale) / f64::from(self.matrix_scale)) as f32;
        let level = &self.hierarchy.levels[0];
        let finite = level.load_b(b, b_scale, &mut self.b);
        self.singular.project(self.b.both_mut(), |v| v as f32);
        self.take_ranks(ranks);
        let level = &self.hierarchy.levels[0];
        self.any = scale.is_normal() && exchange::largest(p) > 0.0;
        if self.any {
            level.load_b(p, scale, &mut self.guess);
            self.singular.project(self.guess.both_mut(), |v| v as f32);
            level.wrap_vector(&mut self.guess);
        }
        let goal = Goal { peak: goal.peak * f64::from(b_scale), ..goal };
        let (mut report, found) = self.approach(goal);
        if !finite {
            report.residual = f64::INFINITY;
        }
        p.fill(0.0);
        let sum = [self.any.then_some(&self.guess), found.then_some(&self.x)];
        self.hierarchy.levels[0].store_sum(sum, f64::from(scale).recip(), p);
        self.mend();
        report
    }

    /// Finds the slots of further terms, without what components that nothing holds cannot answer to.
    fn take_ranks(&mut self, ranks: &[Rank]) {
        self.ranks.clear();
        let level = &self.hierarchy.levels[0];
        let [nx, ny, _] = level.size;
        for rank in ranks {
            let slots = rank.d.iter().filter_map(|&(cell, d)| {
                let i = cell as usize;
                let (c, at) = level.slot(i % nx, i / nx % ny, i / (nx * ny));
                (level.inverse[c][at] > 0.0 && d != 0.0).then_some((c as u8, at as u32, d))
            });
            let weight = f64::from(rank.weight) * f64::from(self.matrix_scale);
            let mut slots = Slots { d: slots.collect(), weight };
            self.singular.project_sparse(&mut slots.d);
            if !slots.d.is_empty() && weight > 0.0 {
                self.ranks.push(slots);
            }
        }
    }

    /// Conjugate gradient from the guess, until the goal; whether `x` then is to be added to the guess.
    fn approach(&mut self, goal: Goal) -> (Report, bool) {
        let norm = kernels::square(&self.hierarchy.levels[0].groups, &self.b).sqrt();
        if norm == 0.0 {
            self.any = false;
            return (Report::default(), false);
        }
        let mut left = if self.any { self.lack() } else { Left { square: f64::INFINITY, peak: 0.0 } };
        if left.square > norm * norm || left.square.is_nan() {
            // No first guess, or one that is worse than none.
            self.any = false;
            let level = &mut self.hierarchy.levels[0];
            kernels::copy(&level.groups, &self.b, &mut level.b);
            left = Left { square: norm * norm, peak: f32::INFINITY };
        }
        let enough =
            |left: Left| left.square.sqrt() <= goal.tolerance * norm && f64::from(left.peak) <= goal.peak;
        let (mut start, mut found) = (left, false);
        let (mut turn, mut begun, mut iterations) = (Turn::Anew, false, 0);
        while !enough(left) && iterations < goal.most {
            let keep = if found { 1.0 } else { 0.0 };
            let Some(step) = self.step(turn, begun, keep) else { break };
            (left, turn, begun, found) = (step, Turn::On, true, true);
            iterations += 1;
            if iterations % CLEAN == 0 && self.singular.any() {
                let level = &mut self.hierarchy.levels[0];
                self.singular.project(level.b.both_mut(), |v| v as f32);
                left.square = kernels::square(&level.groups, &level.b);
                begun = false;
            }
            if left.square.sqrt() < TRUST * start.square.sqrt() && !enough(left) {
                // What is carried on is no longer trusted.
                let level = &self.hierarchy.levels[0];
                kernels::sum(&level.groups, self.any, &self.x, &mut self.guess);
                level.wrap_vector(&mut self.guess);
                self.any = true;
                left = self.lack();
                (start, found, turn, begun) = (left, false, Turn::Anew, false);
            }
        }
        if left.square > start.square || left.square.is_nan() {
            self.broken |= !left.square.is_finite();
            (left, found) = (start, false);
        }
        (Report { iterations, residual: left.square.sqrt() / norm }, found)
    }

    /// r = b - A x of the guess.
    fn lack(&mut self) -> Left {
        let level = &mut self.hierarchy.levels[0];
        let mut left = Left::default();
        for c in 0..2 {
            let k = Colour::of(&level.plus, &level.diagonal, &level.inverse, level.stride, level.uniform, c);
            let x = [&self.guess[c][..], &self.guess[1 - c][..]];
            left.and(gradient::lack(&level.groups, &k, &level.excess[c], &self.b[c], x, &mut level.b[c]));
        }
        for rank in &self.ranks {
            rank.add(-rank.weight * rank.dot(&self.guess), &mut level.b);
        }
        self.singular.project(level.b.both_mut(), |v| v as f32);
        if !self.ranks.is_empty() {
            left.square = kernels::square(&level.groups, &level.b);
            // Not known, so that at least one step is made.
            left.peak = f32::INFINITY;
        }
        left
    }
}
