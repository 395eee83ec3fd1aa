//! Projection: the pressure that keeps the liquid's volume (Chorin 1968), with faces weighted by their open share (Batty 2007,
//! Ng 2009) and the free surface where it lies between two centres (Enright 2003, the ghost-fluid method).

use rayon::prelude::*;

use super::cuts::Cuts;
use super::layout::Layout;
use super::liquid::Liquid;
use super::poisson::{Goal, Poisson, Rank, Report, Solver, System};
use super::rows::{self, Sides};
use super::transfer::Faces;

/// Volume that a cell may gain or lose in a step, as a share: what the pressure solve is stopped at.
pub const TOLERANCE: f64 = 1e-4;

/// What of it the solver may leave; rounding of pressure and velocities has the rest.
const SHARE: f64 = 0.8;

/// Greatest residual, as a share of the divergence: slow flow is to be right as well.
const RESIDUAL: f64 = 1e-2;

/// Most iterations of a solve, and of a second one after bodies took their velocities; what single precision cannot give is not waited
/// for.
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
                let fields = [&mut px[row.clone()], &mut py[row.clone()], &mut pz[row.clone()]];
                Row { layout, cuts, liquid, lattices, inverse, first }.equations(fields, &mut diagonal[row]);
            }
        });
        self.solver.take(&self.system);
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
        let mut p = std::mem::take(&mut self.p);
        lack(layout, cuts, liquid, u, &mut self.b);
        self.report = self.solve(&[], &mut p, dt, MOST);
        subtract_gradient(layout, cuts, liquid, &p, u);
        self.p = p;
    }

    /// The same, and `meanwhile` something else, with another solver of the same system: a system of few cells keeps but one thread
    /// busy.
    pub(super) fn project_while<R: Send>(
        &mut self,
        (layout, cuts, liquid): (&Layout, &Cuts, &Liquid),
        u: &mut Faces,
        [before, dt]: [f64; 2],
        meanwhile: impl FnOnce(Solver) -> R + Send,
    ) -> R {
        self.guess([before, dt]);
        lack(layout, cuts, liquid, u, &mut self.b);
        let Pressure { solver, p, b, report, .. } = self;
        let [first, second] = solver.both();
        let result;
        (*report, result) =
            rayon::join(|| first.answer(b, p, goal(RESIDUAL, dt, MOST)), || meanwhile(second));
        solver.mend();
        subtract_gradient(layout, cuts, liquid, p, u);
        result
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
        ranks: &[Rank],
        only_if_needed: bool,
    ) -> bool {
        let greatest = lack(layout, cuts, liquid, u, &mut self.b);
        if only_if_needed && greatest * dt <= TOLERANCE {
            return false;
        }
        let before = if only_if_needed { self.report.iterations } else { 0 };
        self.report = self.solve(ranks, p, dt, if only_if_needed { AGAIN } else { MOST });
        self.report.iterations += before;
        true
    }

    /// Solves for the lack of volume that is in `b`, from the first guess that is in `p`.
    fn solve(&mut self, ranks: &[Rank], p: &mut [f32], dt: f64, most: usize) -> Report {
        // Bodies are to have their velocities from a pressure that is right on the whole, not only cell by cell.
        let tolerance = if ranks.is_empty() { RESIDUAL } else { 0.1 * RESIDUAL };
        self.solver.answer(ranks, &self.b, p, goal(tolerance, dt, most))
    }

    /// Solves the same system for another right side, roughly.
    pub(super) fn answer(&mut self, b: &[f32], p: &mut [f32], goal: Goal) -> Report {
        self.solver.answer(&[], b, p, goal)
    }
}

/// What is asked of a solution for the pressure of a step.
fn goal(tolerance: f64, dt: f64, most: usize) -> Goal {
    Goal { tolerance, peak: SHARE * TOLERANCE / dt, most }
}

/// A row of cells along x, of which the first is `first`.
struct Row<'a> {
    layout: &'a Layout,
    cuts: &'a Cuts,
    liquid: &'a Liquid,
    lattices: Option<&'a [Vec<f32>; 3]>,
    /// 1/edge², 1/m².
    inverse: [f32; 3],
    first: usize,
}

impl Row<'_> {
    /// Couplings of its cells to their upper neighbours, and the diagonal.
    fn equations(&self, plus: [&mut [f32]; 3], diagonal: &mut [f32]) {
        let nx = diagonal.len();
        let wet = |from: usize| &self.liquid.wet[from..][..nx];
        let here = wet(self.first);
        diagonal.fill(0.0);
        let mut is_surface = false;
        for (a, plus) in plus.into_iter().enumerate() {
            let s = self.layout.stride[a];
            // Where both sides are wet, and the surface after.
            let sides = [(self.first, self.first - s), (self.first + s, self.first + s)];
            for (face, other) in sides {
                let open = &self.cuts.open[a][face..][..nx];
                let (light, other) = (&self.liquid.lightness[a][face..][..nx], wet(other));
                let own = self.lattices.map(|own| &own[a][face..][..nx]);
                let sides = Sides { open, light, own };
                rows::couple([here, other], sides, self.inverse[a], plus, diagonal);
                is_surface |= here != other;
            }
        }
        if is_surface {
            for x in (0..nx).filter(|x| here[*x]) {
                diagonal[x] += self.hold(self.first + x);
            }
        }
    }

    /// What the surface adds to the diagonal of a wet cell.
    fn hold(&self, i: usize) -> f32 {
        let mut sum = 0.0;
        for a in 0..3 {
            let s = self.layout.stride[a];
            for (face, other) in [(i, i - s), (i + s, i + s)] {
                if self.liquid.wet[other] {
                    continue;
                }
                let k = self.cuts.open[a][face] * self.liquid.lightness[a][face] * self.inverse[a];
                // Pressure on lattices goes on to the centre of the cell, not to the surface.
                let own = self.lattices.map_or(0.0, |l| l[a][face]) * self.inverse[a];
                if k > 0.0 {
                    sum += k / self.liquid.share(i, other);
                }
                sum += own;
            }
        }
        sum
    }
}

/// Minus the [`divergence`] of `u`, 1/s, and its greatest magnitude.
fn lack(layout: &Layout, cuts: &Cuts, liquid: &Liquid, u: &Faces, out: &mut [f32]) -> f64 {
    gather(layout, cuts, liquid, u, layout.h.map(|h| (-1.0 / h) as f32), out)
}

/// Divergence of `u` in each wet cell, 1/s (no padding), and its greatest magnitude.
pub fn divergence(layout: &Layout, cuts: &Cuts, liquid: &Liquid, u: &Faces, out: &mut [f32]) -> f64 {
    gather(layout, cuts, liquid, u, layout.h.map(|h| (1.0 / h) as f32), out)
}

/// Sums of what leaves wet cells, × `inverse`, and the greatest magnitude.
fn gather(
    layout: &Layout,
    cuts: &Cuts,
    liquid: &Liquid,
    u: &Faces,
    inverse: [f32; 3],
    out: &mut [f32],
) -> f64 {
    let [nx, ny, _] = layout.n;
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
                rows::leave([open, next_open], [u, next_u], inverse[a], out);
                if moving {
                    let (speed, next) = (&cuts.speed[a][first..][..nx], &cuts.speed[a][first + s..][..nx]);
                    for x in 0..nx {
                        let wall = (1.0 - next_open[x]) * next[x] - (1.0 - open[x]) * speed[x];
                        out[x] += wall * inverse[a];
                    }
                }
            }
            greatest = greatest.max(rows::greatest_wet(wet, out));
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
                // Faces between two cells of the box at once, those at its sides and at the surface singly.
                let between = match a {
                    0 => 1..nx,
                    1 if (1..ny).contains(&y) => 0..nx,
                    2 if (1..layout.n[2]).contains(&z) => 0..nx,
                    _ => 0..0,
                };
                let pairs = if between.is_empty() {
                    0..0
                } else {
                    row + between.start - below..row + between.end - below
                };
                let lower = &p[pairs.clone()];
                let upper = &p[pairs.start + below..][..lower.len()];
                let start = between.start;
                let sides = Sides { open: &open[start..], light: &light[start..], own: None };
                let wet = [&low[start..], &high[start..]];
                rows::accelerate(wet, sides, [lower, upper], inverse, &mut u[start..][..lower.len()]);
                let mut single = |x: usize| {
                    if open[x] != 0.0 && (low[x] | high[x]) {
                        u[x] -= light[x] * rise(layout, liquid, p, a, [x, y, z]) * inverse;
                    }
                };
                (0..start).chain(between.end..rows[0]).for_each(&mut single);
                // Few are at the surface: eight faces that are not are passed by at once.
                let (eights, rest) = low[between.clone()].as_chunks::<8>();
                let others = high[between.clone()].as_chunks::<8>().0;
                for (k, _) in eights.iter().zip(others).enumerate().filter(|(_, (low, high))| low != high) {
                    let eight = start + 8 * k..start + 8 * k + 8;
                    eight.filter(|x| low[*x] != high[*x]).for_each(&mut single);
                }
                (between.end - rest.len()..between.end).filter(|x| low[*x] != high[*x]).for_each(&mut single);
            }
        });
        layout.wrap(u);
    });
}
