//! Projection: the pressure that keeps the liquid's volume (Chorin 1968), with faces weighted by their open share (Batty 2007,
//! Ng 2009) and the free surface where it lies between two centres (Enright 2003, the ghost-fluid method).

use rayon::prelude::*;

use super::cuts::Cuts;
use super::layout::Layout;
use super::liquid::Liquid;
use super::poisson::{Poisson, Report, System};
use super::transfer::Faces;

/// Volume that a cell may gain or lose in a step, as a share: what the pressure solve is stopped at.
pub const TOLERANCE: f64 = 1e-4;

/// The farthest cell is off by at most so many times the root mean square.
const OUTLIER: f64 = 10.0;

/// Most iterations of a solve, and of a second one for cells that are farther off than the others; what single precision cannot
/// give is not waited for.
const MOST: usize = 60;
const AGAIN: usize = 10;

/// The pressure system of a step and its solution.
pub struct Pressure {
    /// The system; its unknowns are the wet cells. Coefficients are open share / (relative density × edge²), 1/m².
    pub system: System,
    /// Time × pressure / density of the first fluid, m²/s; x fastest, no padding.
    pub p: Vec<f32>,
    /// What the last solve took.
    pub report: Report,
    b: Vec<f32>,
    solver: Poisson,
}

impl Pressure {
    /// Nothing solved yet.
    pub fn new(layout: &Layout) -> Self {
        let cells = layout.n.iter().product();
        Pressure {
            system: System {
                size: layout.n,
                periodic: layout.periodic,
                plus: std::array::from_fn(|_| vec![0.0; cells]),
                diagonal: vec![0.0; cells],
            },
            p: vec![0.0; cells],
            report: Report { iterations: 0, residual: 0.0 },
            b: vec![0.0; cells],
            solver: Poisson::new(layout.n, layout.periodic),
        }
    }

    /// Sets up the system for the liquid.
    pub fn assemble(&mut self, layout: &Layout, cuts: &Cuts, liquid: &Liquid) {
        let [nx, ny, _] = layout.n;
        let plane = nx * ny;
        let inverse: [f32; 3] = layout.h.map(|h| (1.0 / (h * h)) as f32);
        let System { plus: [px, py, pz], diagonal, .. } = &mut self.system;
        let planes = (
            px.par_chunks_mut(plane),
            py.par_chunks_mut(plane),
            pz.par_chunks_mut(plane),
            diagonal.par_chunks_mut(plane),
        );
        planes.into_par_iter().enumerate().for_each(|(z, (px, py, pz, diagonal))| {
            for c in 0..plane {
                let i = layout.at([c % nx, c / nx, z]);
                let mut plus = [0.0; 3];
                let mut sum = 0.0;
                if liquid.wet[i] {
                    for a in 0..3 {
                        let s = layout.stride[a];
                        for (face, other) in [(i, i - s), (i + s, i + s)] {
                            let open = cuts.open[a][face];
                            if open == 0.0 {
                                continue;
                            }
                            let k = open * liquid.lightness[a][face] * inverse[a];
                            if liquid.wet[other] {
                                sum += k;
                                if other > i {
                                    plus[a] = k;
                                }
                            } else {
                                sum += k / liquid.share(i, other);
                            }
                        }
                    }
                }
                diagonal[c] = sum;
                (px[c], py[c], pz[c]) = (plus[0], plus[1], plus[2]);
            }
        });
    }

    /// Makes `u` keep volumes during `dt`, s. `before` is the time the last pressure acted, s: a first guess.
    pub fn project(
        &mut self,
        layout: &Layout,
        cuts: &Cuts,
        liquid: &Liquid,
        u: &mut Faces,
        [before, dt]: [f64; 2],
    ) {
        let scale = if before > 0.0 { (dt / before) as f32 } else { 0.0 };
        self.p.par_iter_mut().zip(&self.system.diagonal).with_min_len(4096).for_each(|(p, d)| {
            *p = if *d > 0.0 { *p * scale } else { 0.0 };
        });
        divergence(layout, cuts, liquid, u, &mut self.b);
        let mut p = std::mem::take(&mut self.p);
        self.report = self.solve(&mut p, dt, MOST);
        subtract_gradient(layout, cuts, liquid, &p, u);
        // The solver stops by the 2-norm, and single cells may be farther off.
        if divergence(layout, cuts, liquid, u, &mut self.b) * dt > TOLERANCE {
            let mut more = vec![0.0; p.len()];
            let report = self.solve(&mut more, dt, AGAIN);
            self.report = Report { iterations: self.report.iterations + report.iterations, ..report };
            subtract_gradient(layout, cuts, liquid, &more, u);
            p.iter_mut().zip(&more).for_each(|(p, more)| *p += more);
        }
        self.p = p;
    }

    /// Solves for the divergence that is in `b`, from the first guess that is in `p`.
    fn solve(&mut self, p: &mut [f32], dt: f64, most: usize) -> Report {
        self.b.par_iter_mut().with_min_len(4096).for_each(|b| *b = -*b);
        let squares = |b: &[f32]| b.iter().map(|b| f64::from(*b).powi(2)).sum::<f64>();
        let norm = self.b.par_chunks(4096).map(squares).collect::<Vec<_>>().iter().sum::<f64>().sqrt();
        let unknowns =
            self.system.diagonal.par_iter().with_min_len(4096).filter(|d| **d > 0.0).count() as f64;
        let tolerance = (TOLERANCE / OUTLIER * unknowns.sqrt() / (norm * dt)).clamp(1e-4, 1e-2);
        let tolerance = if tolerance.is_nan() { 1e-2 } else { tolerance };
        self.solver.solve(&self.system, &self.b, p, tolerance, most)
    }

    /// Solves the same system for displacements that change volumes by the shares `wanted`, and leaves them in `out`, in
    /// m. A rough answer will do: what is left is corrected in later steps.
    pub fn displace(
        &mut self,
        layout: &Layout,
        cuts: &Cuts,
        liquid: &Liquid,
        wanted: &[f32],
        q: &mut [f32],
        out: &mut Faces,
    ) -> Report {
        q.fill(0.0);
        let report = self.solver.solve(&self.system, wanted, q, 0.05, 10);
        out.iter_mut().for_each(|o| o.par_iter_mut().for_each(|v| *v = 0.0));
        subtract_gradient(layout, cuts, liquid, q, out);
        report
    }
}

/// Divergence of `u` in each wet cell, 1/s (no padding), and its greatest magnitude.
pub fn divergence(layout: &Layout, cuts: &Cuts, liquid: &Liquid, u: &Faces, out: &mut [f32]) -> f64 {
    let [nx, ny, _] = layout.n;
    let inverse: [f32; 3] = layout.h.map(|h| (1.0 / h) as f32);
    let moving = cuts.has_bodies();
    let greatest = out.par_chunks_mut(nx * ny).enumerate().map(|(z, out)| {
        let mut greatest = 0f32;
        for (c, out) in out.iter_mut().enumerate() {
            let i = layout.at([c % nx, c / nx, z]);
            *out = 0.0;
            if !liquid.wet[i] {
                continue;
            }
            for a in 0..3 {
                let flow = |face: usize| {
                    let open = cuts.open[a][face];
                    let wall = if moving { (1.0 - open) * cuts.speed[a][face] } else { 0.0 };
                    open * u[a][face] + wall
                };
                *out += (flow(i + layout.stride[a]) - flow(i)) * inverse[a];
            }
            // Not f32::max, which loses what is no number.
            greatest = if out.abs() <= greatest { greatest } else { out.abs() };
        }
        greatest
    });
    greatest.reduce(|| 0.0, |a, b| if b <= a { a } else { b }).into()
}

/// Accelerates open faces beside wet cells by the gradient of `p`.
fn subtract_gradient(layout: &Layout, cuts: &Cuts, liquid: &Liquid, p: &[f32], u: &mut Faces) {
    let [nx, ny, _] = layout.n;
    for (a, u) in u.iter_mut().enumerate() {
        let s = layout.stride[a];
        let inverse = (1.0 / layout.h[a]) as f32;
        let rows = layout.face_rows(a);
        u.par_chunks_mut(layout.plane()).enumerate().skip(1).take(rows[2]).for_each(|(plane, u)| {
            let z = plane - 1;
            for y in 0..rows[1] {
                for x in 0..rows[0] {
                    let i = layout.at([x, y, z]);
                    let open = cuts.open[a][i];
                    let (low, high) = (liquid.wet[i - s], liquid.wet[i]);
                    if open == 0.0 || !(low || high) {
                        continue;
                    }
                    let c = [x, y, z];
                    let value = |lower: bool| {
                        let mut c = c;
                        if lower {
                            c[a] = if c[a] == 0 { layout.n[a] - 1 } else { c[a] - 1 };
                        }
                        p[c[0] + nx * (c[1] + ny * c[2])]
                    };
                    let rise = match (low, high) {
                        (true, true) => value(false) - value(true),
                        (true, false) => -value(true) / liquid.share(i - s, i),
                        _ => value(false) / liquid.share(i, i - s),
                    };
                    u[i - plane * layout.plane()] -= liquid.lightness[a][i] * rise * inverse;
                }
            }
        });
        layout.wrap(u);
    }
}
