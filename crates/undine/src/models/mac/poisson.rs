//! The pressure solver: conjugate gradient, preconditioned by multigrid.
//!
//! The work per cell stays flat as the grid grows, because a V-cycle of multigrid removes errors of all wavelengths at
//! once. Sums have a fixed order, so the answer is the same to the last bit for any number of threads.
//!
//! Why none of the crates there are: those with multigrid or incomplete Cholesky (`nalgebra-sparse-linalg`, `kryst`,
//! `del-ls`) and the direct solvers (`faer`) take general sparse matrices. Here the matrix changes every step and is seven
//! points on a box: without indices it is built and applied several times faster, in single precision, and the order of
//! sums is ours.

mod coarsest;
mod components;
mod exchange;
mod gradient;
mod hierarchy;
mod kernels;
mod level;
mod quick;
mod setup;
#[cfg(test)]
mod tests;
mod transfer;

use components::Singular;
use gradient::{Left, Stride};
use hierarchy::{Hierarchy, Vectors, Work};
use kernels::Split;
use level::Level;
pub use quick::{Goal, Rank, Solver};

/// Equations of the pressure: symmetric, seven points, on a box of cells with x running fastest.
///
/// Row i is `diagonal[i]` p_i - Σ coupling · p_neighbour = b_i, with a diagonal that is the sum of the couplings or more.
/// It is taken for just the sum if it is above it by no more than 1e-6 of itself: that is rounding.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Number of cells along x, y, z.
    pub size: [usize; 3],
    /// Axes whose last cell neighbours the first.
    pub periodic: [bool; 3],
    /// Coupling (≥ 0) of each cell to its neighbour in +x, +y, +z. That of the last cell of an axis is ignored unless the
    /// axis is periodic, as is one where either cell is not an unknown.
    pub plus: [Vec<f32>; 3],
    /// The diagonal; 0 where the cell is not an unknown.
    pub diagonal: Vec<f32>,
}

/// How a solution went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Iterations of the conjugate gradient.
    pub iterations: usize,
    /// ‖b - A p‖ / ‖b‖ in the 2-norm, evaluated in double precision before p is rounded to single. Of components
    /// without hold b and p are those without their means. Infinite if b is not finite.
    pub residual: f64,
}

/// Below this part of the last residual taken in double precision, the one that is carried on in single precision is no
/// longer trusted.
const TRUST: f64 = 1e-4;

/// Iterations after which the residual is taken in double precision anyway.
const REPLACE: usize = 16;

/// Part by which it may then differ from that carried on in single precision.
const DRIFT: f64 = 0.01;

/// How often in a row it may then be no better.
const PATIENCE: usize = 4;

/// Iterations after which r is freed of the mean that rounding gives it in components without hold: there is no p for it.
const CLEAN: usize = 4;

/// How the direction of a step follows from the last.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    /// There was none.
    Anew,
    /// As usual.
    On,
    /// The residual was replaced by one that differs.
    Drifted,
}

/// Solver that keeps its memory from one solution to the next (but no numbers: the answer depends only on what is
/// given).
pub struct Poisson {
    matrix: Matrix,
    solve: Solve,
    /// For a second right side at the same time, once that was asked for.
    second: Option<Box<Solve>>,
}

/// A system that was taken.
struct Matrix {
    hierarchy: Hierarchy,
    singular: Singular,
    /// What it is multiplied with: a power of two.
    scale: f32,
}

impl Matrix {
    fn finest(&self) -> &Level {
        &self.hierarchy.levels[0]
    }
}

/// What one solution works on.
struct Solve {
    /// Residual and what a cycle makes of it, and the same of coarser levels.
    work: Work,
    b: Split,
    /// Answer in double precision, a better one on trial, and what the conjugate gradient has added since the former.
    sure: [Vec<f64>; 2],
    /// Whether the answer is other than 0; without, `sure` means nothing.
    any: bool,
    trial: [Vec<f64>; 2],
    /// The first guess in single precision.
    guess: Split,
    x: Split,
    p: Split,
    q: Split,
    w: Split,
    ranks: Vec<quick::Slots>,
    /// p · q, α and r · z of the last step.
    last: [f64; 3],
    /// Something was not finite.
    broken: bool,
}

impl Poisson {
    /// A solver for boxes of this size.
    pub fn new(size: [usize; 3], periodic: [bool; 3]) -> Self {
        let hierarchy = Hierarchy::new(size, periodic);
        let solve = Solve::new(&hierarchy);
        let matrix = Matrix { hierarchy, singular: Singular::default(), scale: 1.0 };
        Poisson { matrix, solve, second: None }
    }

    /// Solves for the pressure to a relative residual of `tolerance` in at most `most` iterations.
    ///
    /// `p` is the first guess and then the answer, 0 in cells that are not unknowns. Whatever happens it is finite, and
    /// the best that was found.
    ///
    /// # Panics
    /// If a slice has not as many entries as the box has cells.
    pub fn solve(
        &mut self,
        system: &System,
        b: &[f32],
        p: &mut [f32],
        tolerance: f64,
        most: usize,
    ) -> Report {
        let cells = system.diagonal.len();
        assert!(b.len() == cells && p.len() == cells, "b and p have one entry for each of {cells} cells");
        self.take(system);
        let report = inside(cells, || self.solve.solve_here(&self.matrix, b, p, tolerance, most));
        self.mend();
        report
    }

    /// Takes a system, to be solved for one right side or several by [`Poisson::answer`].
    ///
    /// # Panics
    /// If a vector of it has not as many entries as the box has cells.
    pub fn take(&mut self, system: &System) {
        let level = self.matrix.finest();
        if system.size != level.size || system.periodic != level.periodic {
            *self = Poisson::new(system.size, system.periodic);
        }
        let cells = system.size.iter().product::<usize>();
        let [x, y, z] = &system.plus;
        assert!(
            [x, y, z, &system.diagonal].iter().all(|v| v.len() == cells),
            "the system has one entry for each of {cells} cells"
        );
        inside(cells, || {
            let Poisson { matrix: Matrix { hierarchy, singular, scale }, solve, .. } = self;
            *scale = power_of_two(exchange::largest(&system.diagonal));
            hierarchy.levels[0].load(system, *scale);
            hierarchy.build();
            singular.find(system, &hierarchy.levels[0], &mut solve.p);
        });
    }

    /// Starts anew if something was not finite: such numbers would come back from cells outside the next liquid, 0 · ∞ is not 0.
    pub(super) fn mend(&mut self) {
        if self.solve.broken || self.second.as_ref().is_some_and(|s| s.broken) {
            let Level { size, periodic, .. } = *self.matrix.finest();
            *self = Poisson::new(size, periodic);
        }
    }
}

impl Solve {
    fn new(hierarchy: &Hierarchy) -> Self {
        let len = hierarchy.levels[0].len();
        let split = || Split::new(len);
        let double = || [vec![0.0; len], vec![0.0; len]];
        Solve {
            work: Work::new(hierarchy),
            b: split(),
            sure: double(),
            any: false,
            trial: double(),
            guess: split(),
            x: split(),
            p: split(),
            q: split(),
            w: split(),
            ranks: Vec::new(),
            last: [0.0; 3],
            broken: false,
        }
    }

    fn solve_here(&mut self, m: &Matrix, b: &[f32], p: &mut [f32], tolerance: f64, most: usize) -> Report {
        let b_scale = power_of_two(exchange::largest(b));
        let scale = f64::from(b_scale) / f64::from(m.scale);
        let level = m.finest();
        let finite = level.load_b(b, b_scale, &mut self.b);
        m.singular.project(self.b.both_mut(), |v| v as f32);
        self.any = exchange::largest(p) > 0.0;
        if self.any {
            level.load_guess(p, scale, &mut self.sure);
            m.singular.project(double(&mut self.sure), |v| v);
        }
        self.work.begin(&m.hierarchy);
        let mut report = self.iterate(m, tolerance, most);
        if !finite {
            report.residual = f64::INFINITY;
        }
        p.fill(0.0);
        if self.any {
            m.singular.project(double(&mut self.sure), |v| v);
            m.finest().store(&self.sure, scale.recip(), p);
        }
        report
    }

    /// r = b - A x of the trial in double precision; returns ‖r‖.
    fn residual(&mut self, m: &Matrix) -> f64 {
        let level = m.finest();
        level.wrap_double(&mut self.trial);
        let mut square = 0.0;
        for c in 0..2 {
            let k = level.colour(c);
            let x = [&self.trial[c][..], &self.trial[1 - c][..]];
            square += kernels::residual(
                &level.groups,
                &k,
                &level.excess[c],
                &self.b[c],
                x,
                &mut self.work.finest().b[c],
            );
        }
        m.singular.project(self.work.finest().b.both_mut(), |v| v as f32);
        square.sqrt()
    }

    /// Conjugate gradient with residuals replaced now and then by true ones (van der Vorst and Ye 2000).
    fn iterate(&mut self, m: &Matrix, tolerance: f64, most: usize) -> Report {
        let level = m.finest();
        let norm = kernels::square(&level.groups, &self.b).sqrt();
        if norm == 0.0 {
            self.any = false;
            return Report::default();
        }
        let goal = tolerance * norm;
        self.ranks.clear();
        kernels::clear(&level.groups, &mut self.x);
        let mut sure = if self.any { self.improve(m) } else { f64::INFINITY };
        if sure > norm {
            // No first guess, or one that is worse than none.
            (sure, self.any, self.broken) = (norm, false, false);
            let level = m.finest();
            kernels::copy(&level.groups, &self.b, &mut self.work.finest().b);
        }
        let (mut iterations, mut failures) = (0, 0);
        let mut turn = Turn::Anew;
        while sure > goal && iterations < most && failures < PATIENCE {
            let aim = goal.max(TRUST * sure);
            let until = most.min(iterations + REPLACE);
            let mut left = sure;
            while left > aim && iterations < until {
                let Some(step) = self.step(m, turn, false, 1.0) else { break };
                turn = Turn::On;
                left = step.square.sqrt();
                iterations += 1;
                if iterations % CLEAN == 0 && m.singular.any() {
                    let level = m.finest();
                    m.singular.project(self.work.finest().b.both_mut(), |v| v as f32);
                    left = kernels::square(&level.groups, &self.work.finest().b).sqrt();
                }
            }
            let now = self.improve(m);
            if self.broken {
                break;
            }
            if (now - left).abs() > DRIFT * now {
                turn = Turn::Drifted;
            }
            // Residuals of the conjugate gradient may grow for a while.
            failures = if now < 0.9 * sure { 0 } else { failures + 1 };
            if now < sure {
                sure = now;
                self.any = true;
                std::mem::swap(&mut self.sure, &mut self.trial);
                kernels::clear(&m.finest().groups, &mut self.x);
            }
        }
        Report { iterations, residual: sure / norm }
    }

    /// β and z · q, with q of the last step.
    fn turn(&mut self, m: &Matrix, turn: Turn, rz: f64) -> [f64; 2] {
        let [pq, alpha, before] = self.last;
        match turn {
            Turn::Anew => [0.0; 2],
            Turn::On => [rz / before, -rz / alpha],
            // The usual form relies on the former residual: p turns away from its last direction, unless that is where the new
            // residual points (then the last step was not exact, and must be repeated).
            Turn::Drifted => {
                let level = m.finest();
                let zq = kernels::dot(&level.groups, &self.work.finest().x, &self.q);
                if zq * zq < 0.1 * pq * rz { [-zq / pq, zq] } else { [0.0; 2] }
            }
        }
    }

    /// One step of the conjugate gradient, with a cycle; what is left after it, or nothing if it fails. See [`gradient`]; `keep` is
    /// [`Stride::keep`], `begun` as in [`Hierarchy::cycle`].
    fn step(&mut self, m: &Matrix, turn: Turn, begun: bool, keep: f32) -> Option<Left> {
        let [red, black] = m.hierarchy.cycle(&mut self.work, begun);
        let rz = red + black;
        let level = m.finest();
        let is_known = m.hierarchy.ends_exact() && self.ranks.is_empty();
        let mut zw = if is_known { red } else { 0.0 };
        for c in usize::from(is_known)..2 {
            let z = self.work.finest();
            let z = [&z.x[c][..], &z.x[1 - c][..]];
            zw += gradient::apply(&level.groups, &level.colour(c), z, &mut self.w[c]);
        }
        for rank in &self.ranks {
            zw += rank.apply(&self.work.finest().x, &mut self.w);
        }
        let [mut beta, zq] = self.turn(m, turn, rz);
        let mut pq = zw + beta * (2.0 * zq + beta * self.last[0]);
        if pq <= 0.0 && zw > 0.0 {
            // Rounding; p starts anew.
            (beta, pq) = (0.0, zw);
        }
        let alpha = (rz / pq) as f32;
        if !(rz > 0.0 && pq > 0.0 && alpha.is_finite()) {
            self.broken |= !(rz.is_finite() && pq.is_finite());
            return None;
        }
        self.last = [pq, alpha.into(), rz];
        let level = m.finest();
        let k = [0, 1].map(|c| level.colour(c));
        let w = [(!is_known).then_some(&self.w[0][..]), Some(&self.w[1][..])];
        let stride = Stride { alpha, beta: beta as f32, keep };
        let Vectors { b, x } = self.work.finest();
        let vectors = [x, &mut self.p, &mut self.q, &mut self.x, b];
        Some(gradient::advance(&level.groups, [&k[0], &k[1]], stride, w, vectors))
    }

    /// Puts the answer with what the conjugate gradient found on trial; the norm of its true residual.
    fn improve(&mut self, m: &Matrix) -> f64 {
        let level = m.finest();
        kernels::add(&level.groups, self.any.then_some(&self.sure), &self.x, &mut self.trial);
        let norm = self.residual(m);
        self.broken |= !norm.is_finite();
        if norm.is_finite() { norm } else { f64::INFINITY }
    }
}

/// Does work on a box of so many cells from within a worker thread if it is large: each parallel loop started from outside would wake
/// one and wait for it.
fn inside<R: Send>(cells: usize, work: impl FnOnce() -> R + Send) -> R {
    if cells < exchange::PARALLEL { work() } else { rayon::scope(|_| work()) }
}

/// The slices of either colour.
fn double([red, black]: &mut [Vec<f64>; 2]) -> [&mut [f64]; 2] {
    [red, black]
}

/// A power of two that brings a magnitude near 1, without rounding and far from the ends of the range.
fn power_of_two(magnitude: f32) -> f32 {
    if magnitude > 0.0 && magnitude.is_finite() {
        (-magnitude.log2().round()).clamp(-120.0, 120.0).exp2()
    } else {
        1.0
    }
}
