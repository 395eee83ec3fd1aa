//! Solves in single precision, as far as a step asks for, of one system for several right sides.

use super::exchange;
use super::gradient::{self, Left};
use super::kernels::{self, Split};
use super::{CLEAN, Matrix, Poisson, Report, Solve, TRUST, Turn, inside, power_of_two};

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
        let cells = self.matrix.check(b, p);
        let report = inside(cells, || self.solve.answer_here(&self.matrix, ranks, b, p, goal));
        self.mend();
        report
    }

    /// Two solvers of the system that was taken last, which may be at work at the same time. `mend` must follow when both are done.
    pub(in super::super) fn both(&mut self) -> [Solver<'_>; 2] {
        let Poisson { matrix, solve, second } = self;
        let second = second.get_or_insert_with(|| Box::new(Solve::new(&matrix.hierarchy)));
        [Solver { matrix, solve }, Solver { matrix, solve: second }]
    }
}

/// One of two that solve the same system.
pub struct Solver<'a> {
    matrix: &'a Matrix,
    solve: &'a mut Solve,
}

impl Solver<'_> {
    /// As [`Poisson::answer`], without further terms.
    ///
    /// # Panics
    /// As there.
    pub fn answer(self, b: &[f32], p: &mut [f32], goal: Goal) -> Report {
        let cells = self.matrix.check(b, p);
        inside(cells, || self.solve.answer_here(self.matrix, &[], b, p, goal))
    }
}

impl Matrix {
    /// Checks that there is an entry for each cell; returns how many there are.
    fn check(&self, b: &[f32], p: &[f32]) -> usize {
        let cells = self.finest().size.iter().product::<usize>();
        assert!(b.len() == cells && p.len() == cells, "b and p have one entry for each of {cells} cells");
        cells
    }
}

impl Solve {
    pub(super) fn answer_here(
        &mut self,
        m: &Matrix,
        ranks: &[Rank],
        b: &[f32],
        p: &mut [f32],
        goal: Goal,
    ) -> Report {
        let b_scale = power_of_two(exchange::largest(b));
        let scale = (f64::from(b_scale) / f64::from(m.scale)) as f32;
        let level = m.finest();
        let finite = level.load_b(b, b_scale, &mut self.b);
        m.singular.project(self.b.both_mut(), |v| v as f32);
        self.take_ranks(m, ranks);
        let level = m.finest();
        self.any = scale.is_normal() && exchange::largest(p) > 0.0;
        if self.any {
            level.load_b(p, scale, &mut self.guess);
            m.singular.project(self.guess.both_mut(), |v| v as f32);
            level.wrap_vector(&mut self.guess);
        }
        let goal = Goal { peak: goal.peak * f64::from(b_scale), ..goal };
        self.work.begin(&m.hierarchy);
        let (mut report, found) = self.approach(m, goal);
        if !finite {
            report.residual = f64::INFINITY;
        }
        p.fill(0.0);
        let sum = [self.any.then_some(&self.guess), found.then_some(&self.x)];
        m.finest().store_sum(sum, f64::from(scale).recip(), p);
        report
    }

    /// Finds the slots of further terms, without what components that nothing holds cannot answer to.
    fn take_ranks(&mut self, m: &Matrix, ranks: &[Rank]) {
        self.ranks.clear();
        let level = m.finest();
        let [nx, ny, _] = level.size;
        for rank in ranks {
            let slots = rank.d.iter().filter_map(|&(cell, d)| {
                let i = cell as usize;
                let (c, at) = level.slot(i % nx, i / nx % ny, i / (nx * ny));
                (level.inverse[c][at] > 0.0 && d != 0.0).then_some((c as u8, at as u32, d))
            });
            let weight = f64::from(rank.weight) * f64::from(m.scale);
            let mut slots = Slots { d: slots.collect(), weight };
            m.singular.project_sparse(&mut slots.d);
            if !slots.d.is_empty() && weight > 0.0 {
                self.ranks.push(slots);
            }
        }
    }

    /// Conjugate gradient from the guess, until the goal; whether `x` then is to be added to the guess.
    fn approach(&mut self, m: &Matrix, goal: Goal) -> (Report, bool) {
        let norm = kernels::square(&m.finest().groups, &self.b).sqrt();
        if norm == 0.0 {
            self.any = false;
            return (Report::default(), false);
        }
        let mut left = if self.any { self.lack(m) } else { Left { square: f64::INFINITY, peak: 0.0 } };
        if left.square > norm * norm || left.square.is_nan() {
            // No first guess, or one that is worse than none.
            self.any = false;
            let level = m.finest();
            kernels::copy(&level.groups, &self.b, &mut self.work.finest().b);
            left = Left { square: norm * norm, peak: f32::INFINITY };
        }
        let enough =
            |left: Left| left.square.sqrt() <= goal.tolerance * norm && f64::from(left.peak) <= goal.peak;
        let (mut start, mut found) = (left, false);
        let (mut turn, mut begun, mut iterations) = (Turn::Anew, false, 0);
        while !enough(left) && iterations < goal.most {
            let keep = if found { 1.0 } else { 0.0 };
            let Some(step) = self.step(m, turn, begun, keep) else { break };
            (left, turn, begun, found) = (step, Turn::On, true, true);
            iterations += 1;
            if iterations % CLEAN == 0 && m.singular.any() {
                let level = m.finest();
                m.singular.project(self.work.finest().b.both_mut(), |v| v as f32);
                left.square = kernels::square(&level.groups, &self.work.finest().b);
                begun = false;
            }
            if left.square.sqrt() < TRUST * start.square.sqrt() && !enough(left) {
                // What is carried on is no longer trusted.
                let level = m.finest();
                kernels::sum(&level.groups, self.any, &self.x, &mut self.guess);
                level.wrap_vector(&mut self.guess);
                self.any = true;
                left = self.lack(m);
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
    fn lack(&mut self, m: &Matrix) -> Left {
        let level = m.finest();
        let mut left = Left::default();
        for c in 0..2 {
            let k = level.colour(c);
            let x = [&self.guess[c][..], &self.guess[1 - c][..]];
            left.and(gradient::lack(
                &level.groups,
                &k,
                &level.excess[c],
                &self.b[c],
                x,
                &mut self.work.finest().b[c],
            ));
        }
        for rank in &self.ranks {
            rank.add(-rank.weight * rank.dot(&self.guess), &mut self.work.finest().b);
        }
        m.singular.project(self.work.finest().b.both_mut(), |v| v as f32);
        if !self.ranks.is_empty() {
            left.square = kernels::square(&level.groups, &self.work.finest().b);
            // Not known, so that at least one step is made.
            left.peak = f32::INFINITY;
        }
        left
    }
}
