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

    /// Sets up the system for the liquid, and for lattices in it that have the given share / relative density at faces.
    pub fn assemble(
        &mut self,
        layout: &Layout,
        cuts: &Cuts,
        liquid: &Liquid,
        lattices: Option<&[Vec<f32>; 3]>,
    ) {
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
            for y in 0..ny {
                let first = layout.at([0, y, z]);
                let row = y * nx..(y + 1) * nx;
                if !liquid.wet[first..first + nx].contains(&true) {
                    for field in [&mut *px, &mut *py, &mut *pz, &mut *diagonal] {
                        field[row.clone()].fill(0.0);
                    }
                    continue;
                }
                for (i, c) in (first..first + nx).zip(row) {
                    let (plus, sum) = equation(layout, cuts, liquid, lattices, inverse, i);
                    diagonal[c] = sum;
                    (px[c], py[c], pz[c]) = (plus[0], plus[1], plus[2]);
                }
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
        self.guess([before, dt]);
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

    /// Takes the last pressure, which acted for `before`, s, for a first guess of that of `dt`.
    pub(super) fn guess(&mut self, [before, dt]: [f64; 2]) {
        let scale = if before > 0.0 { (dt / before) as f32 } else { 0.0 };
        self.p.par_iter_mut().zip(&self.system.diagonal).with_min_len(4096).for_each(|(p, d)| {
            *p = if *d > 0.0 { *p * scale } else { 0.0 };
        });
    }

    /// Solves for the divergence of `u` from the first guess in `p`. With `only_if_needed` not if it is within the tolerance;
    /// says whether it did.
    pub(super) fn solve_divergence(
        &mut self,
        (layout, cuts, liquid): (&Layout, &Cuts, &Liquid),
        u: &Faces,
        dt: f64,
        p: &mut [f32],
        only_if_needed: bool,
    ) -> bool {
        let greatest = divergence(layout, cuts, liquid, u, &mut self.b);
        if only_if_needed && greatest * dt <= TOLERANCE {
            return false;
        }
        let before = if only_if_needed { self.report.iterations } else { 0 };
        self.report = self.solve(p, dt, if only_if_needed { AGAIN } else { MOST });
        self.report.iterations += before;
        true
    }

    /// Solves the system for a right side of one's own.
    pub(super) fn respond(&mut self, b: &[f32], q: &mut [f32], tolerance: f64) {
        q.fill(0.0);
        self.report.iterations += self.solver.solve(&self.system, b, q, tolerance, MOST).iterations;
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

/// Couplings of a cell to its upper neighbours, and the diagonal.
#[inline(always)]
fn equation(
    layout: &Layout,
    cuts: &Cuts,
    liquid: &Liquid,
    lattices: Option<&[Vec<f32>; 3]>,
    inverse: [f32; 3],
    i: usize,
) -> ([f32; 3], f32) {
    let (mut plus, mut sum) = ([0.0; 3], 0.0);
    if !liquid.wet[i] {
        return (plus, sum);
    }
    for a in 0..3 {
        let s = layout.stride[a];
        for (face, other) in [(i, i - s), (i + s, i + s)] {
            let own = lattices.map_or(0.0, |l| l[a][face]);
            let k = (cuts.open[a][face] * liquid.lightness[a][face] + own) * inverse[a];
            if k == 0.0 {
                continue;
            }
            if liquid.wet[other] {
                sum += k;
                if other > i {
                    plus[a] = k;
                }
            } else {
                // Pressure on lattices goes on to the centre of the cell, not to the surface.
                let own = own * inverse[a];
                sum += (k - own) / liquid.share(i, other) + own;
            }
        }
    }
    (plus, sum)
}

/// Divergence of `u` in each wet cell, 1/s (no padding), and its greatest magnitude.
pub fn divergence(layout: &Layout, cuts: &Cuts, liquid: &Liquid, u: &Faces, out: &mut [f32]) -> f64 {
    let [nx, ny, _] = layout.n;
    let inverse: [f32; 3] = layout.h.map(|h| (1.0 / h) as f32);
    let moving = cuts.has_bodies();
    let greatest = out.par_chunks_mut(nx * ny).enumerate().map(|(z, out)| {
        let mut greatest = 0u32;
        for (y, out) in out.chunks_exact_mut(nx).enumerate() {
            let first = layout.at([0, y, z]);
            out.fill(0.0);
            let wet = &liquid.wet[first..first + nx];
            if !wet.contains(&true) {
                continue;
            }
            for a in 0..3 {
                let s = layout.stride[a];
                let (open, next_open) = (&cuts.open[a][first..][..nx], &cuts.open[a][first + s..][..nx]);
                let (u, next_u) = (&u[a][first..][..nx], &u[a][first + s..][..nx]);
                for x in 0..nx {
                    out[x] += (next_open[x] * next_u[x] - open[x] * u[x]) * inverse[a];
                }
                if moving {
                    let (speed, next) = (&cuts.speed[a][first..][..nx], &cuts.speed[a][first + s..][..nx]);
                    for x in 0..nx {
                        let wall = (1.0 - next_open[x]) * next[x] - (1.0 - open[x]) * speed[x];
                        out[x] += wall * inverse[a];
                    }
                }
            }
            for (out, wet) in out.iter_mut().zip(wet) {
                *out = if *wet { *out } else { 0.0 };
                // As bits magnitudes have the same order, and what is no number comes last.
                greatest = greatest.max(out.abs().to_bits());
            }
        }
        greatest
    });
    f32::from_bits(greatest.reduce(|| 0, u32::max)).into()
}

/// Rise of `p` over a face beside a wet cell, from its lower side to its upper; where one is air, over the way to the surface
/// as if it went on.
#[inline(always)]
pub(super) fn rise(layout: &Layout, liquid: &Liquid, p: &[f32], a: usize, c: [usize; 3]) -> f32 {
    let (i, s) = (layout.at(c), layout.stride[a]);
    let [nx, ny, _] = layout.n;
    let value = |lower: bool| {
        let mut c = c;
        if lower {
            c[a] = if c[a] == 0 { layout.n[a] - 1 } else { c[a] - 1 };
        }
        p[c[0] + nx * (c[1] + ny * c[2])]
    };
    match (liquid.wet[i - s], liquid.wet[i]) {
        (true, true) => value(false) - value(true),
        (true, false) => -value(true) / liquid.share(i - s, i),
        (false, true) => value(false) / liquid.share(i, i - s),
        (false, false) => 0.0,
    }
}

/// As [`rise`], with no pressure at the centre of a cell of air: what lattices feel.
#[inline(always)]
pub(super) fn step_up(layout: &Layout, liquid: &Liquid, p: &[f32], a: usize, c: [usize; 3]) -> f32 {
    let (i, s) = (layout.at(c), layout.stride[a]);
    let share = match (liquid.wet[i - s], liquid.wet[i]) {
        (true, false) => liquid.share(i - s, i),
        (false, true) => liquid.share(i, i - s),
        _ => 1.0,
    };
    share * rise(layout, liquid, p, a, c)
}

/// Accelerates open faces beside wet cells by the gradient of `p`.
pub(super) fn subtract_gradient(layout: &Layout, cuts: &Cuts, liquid: &Liquid, p: &[f32], u: &mut Faces) {
    let [nx, ny, _] = layout.n;
    u.par_iter_mut().enumerate().for_each(|(a, u)| {
        let (s, below) = (layout.stride[a], [1, nx, nx * ny][a]);
        let inverse = (1.0 / layout.h[a]) as f32;
        let rows = layout.face_rows(a);
        u.par_chunks_mut(layout.plane()).enumerate().skip(1).take(rows[2]).for_each(|(plane, u)| {
            let z = plane - 1;
            for y in 0..rows[1] {
                let first = layout.at([0, y, z]);
                let (low, high) = (&liquid.wet[first - s..][..rows[0]], &liquid.wet[first..][..rows[0]]);
                if !low.contains(&true) && !high.contains(&true) {
                    continue;
                }
                let (open, light) = (&cuts.open[a][first..][..rows[0]], &liquid.lightness[a][first..]);
                let u = &mut u[first - plane * layout.plane()..][..rows[0]];
                let row = nx * (y + ny * z);
                for x in 0..rows[0] {
                    if open[x] == 0.0 || !(low[x] | high[x]) {
                        continue;
                    }
                    let here = x + row;
                    // Amid the liquid, and not over the seam of a periodic axis.
                    let rise = if low[x] & high[x] & ([x, y, z][a] > 0) {
                        p[here] - p[here - below]
                    } else {
                        rise(layout, liquid, p, a, [x, y, z])
                    };
                    u[x] -= light[x] * rise * inverse;
                }
            }
        });
        layout.wrap(u);
    });
}
