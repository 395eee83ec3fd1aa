//! The coarsest level, solved at once: a dense Cholesky factor of a few dozen unknowns.

use super::hierarchy::Vectors;
use super::level::Level;

/// Levels of at most so many unknowns are solved at once.
pub(super) const MOST: usize = 64;

/// A pivot below this part of its diagonal is (but for rounding in double precision) that of a component without hold: its value is set to 0, any other
/// would do as well.
const SINGULAR: f64 = 1e-11;

/// The factor of a level's matrix.
#[derive(Default)]
pub(super) struct Coarsest {
    /// Colour and slot of each unknown.
    cells: Vec<(usize, usize)>,
    /// Lower triangle, row by row, n × n.
    factor: Vec<f64>,
    /// 1 / the factor's diagonal, 0 where it is singular.
    inverse: Vec<f64>,
}

impl Coarsest {
    pub(super) fn factorise(&mut self, level: &Level) {
        self.cells.clear();
        let [nx, ny, nz] = level.size;
        // The unknown's number by colour and slot, 1 more than it.
        let mut number = [vec![0u32; level.len()], vec![0u32; level.len()]];
        let mut ends = Vec::new();
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    let (c, at) = level.slot(x, y, z);
                    if level.inverse[c][at] > 0.0 {
                        self.cells.push((c, at));
                        ends.push([x + 1 == nx, y + 1 == ny, z + 1 == nz]);
                        number[c][at] = self.cells.len() as u32;
                    }
                }
            }
        }
        let [red, black] = &mut number;
        level.wrap_numbers([red, black]);
        let n = self.cells.len();
        self.factor.clear();
        self.factor.resize(n * n, 0.0);
        for (i, &(c, at)) in self.cells.iter().enumerate() {
            // Excess and couplings, not the rounded diagonal: a component without hold must be singular.
            self.factor[i * n + i] += f64::from(level.excess[c][at]);
            for (axis, end) in ends[i].into_iter().enumerate() {
                let seam = if end { f64::from(level.seam(axis)) } else { 1.0 };
                let coupling = f64::from(level.plus[axis][c][at]) / seam;
                if coupling > 0.0 {
                    let there = level.next(c, at, axis);
                    // A positive coupling has an unknown at its end; the number is never 0 then.
                    if let Some(j) = (number[1 - c][there] as usize).checked_sub(1) {
                        self.factor[i * n + j] -= coupling;
                        self.factor[j * n + i] -= coupling;
                        self.factor[i * n + i] += coupling;
                        self.factor[j * n + j] += coupling;
                    }
                }
            }
        }
        self.inverse.clear();
        for i in 0..n {
            for j in 0..i {
                let (a, b) = (&self.factor[i * n..i * n + j], &self.factor[j * n..j * n + j]);
                let sum = dot(a, b);
                self.factor[i * n + j] = (self.factor[i * n + j] - sum) * self.inverse[j];
            }
            let diagonal = self.factor[i * n + i];
            let row = &self.factor[i * n..i * n + i];
            let sum = dot(row, row);
            let pivot = diagonal - sum;
            self.inverse.push(if pivot > SINGULAR * diagonal { 1.0 / pivot.sqrt() } else { 0.0 });
        }
    }

    /// x = A⁻¹ b; `y` is room for it.
    pub(super) fn solve(&self, v: &mut Vectors, y: &mut Vec<f64>) {
        let n = self.cells.len();
        y.resize(n, 0.0);
        for i in 0..n {
            let (c, at) = self.cells[i];
            let row = &self.factor[i * n..i * n + i];
            let sum = dot(row, &y[..i]);
            y[i] = (f64::from(v.b[c][at]) - sum) * self.inverse[i];
        }
        for i in (0..n).rev() {
            let value = y[i] * self.inverse[i];
            y[i] = value;
            for j in 0..i {
                y[j] -= self.factor[i * n + j] * value;
            }
            let (c, at) = self.cells[i];
            v.x[c][at] = value as f32;
        }
    }

    /// Σ b x.
    pub(super) fn dot(&self, v: &Vectors) -> f64 {
        self.cells.iter().map(|&(c, at)| f64::from(v.b[c][at]) * f64::from(v.x[c][at])).sum()
    }
}

/// Σ a b in four sums beside each other: in one, each addition waits for the last.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for l in 0..4 {
            sums[l] += a[l] * b[l];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}
