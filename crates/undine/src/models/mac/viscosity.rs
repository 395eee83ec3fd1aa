//! Viscosity: ρ ∂u/∂t = ∇·(μ∇u) for each component on its own faces. Walls that stick pull at the distance they are at; nothing
//! pulls through the free surface or along walls that slip.

use rayon::prelude::*;

use super::cuts::{Behind, Cuts};
use super::each_plane;
use super::extrapolate::Known;
use super::layout::Layout;
use super::liquid::Liquid;
use super::poisson::{Poisson, System};
use super::transfer::Faces;
use crate::simd::widest;

/// Share of the explicit limit h²/(2·3ν) that is used.
const SAFE: f64 = 0.8;

/// A viscous step.
#[derive(Default)]
pub struct Viscosity {
    systems: Option<Box<[Implicit; 3]>>,
    next: Faces,
    /// 1 for faces that have a velocity and are not behind walls.
    is_face: [Vec<u8>; 3],
    /// Iterations of the last implicit step, all components together.
    pub iterations: usize,
}

/// One component's system.
struct Implicit {
    system: System,
    solver: Poisson,
    b: Vec<f32>,
    x: Vec<f32>,
}

/// The largest explicit step for the kinematic viscosity ν, m²/s.
pub fn explicit_limit(layout: &Layout, nu: f64) -> f64 {
    let sum: f64 = layout.h.iter().map(|h| 2.0 / (h * h)).sum();
    SAFE / (nu * sum).max(1e-300)
}

/// Share of the explicit limit that thin fluids wait for. The shortest waves lose less than 0.3 % of their height at once.
const WAIT: f64 = 2e-3;

/// How long viscosity is to act in a step of `dt` that ends at `end`: for `kick`, or, where that would do next to nothing, for all
/// of a longer time in the step in which that ends. Of water on cells of 3 cm it is a quarter of a second, twenty steps.
pub fn due(limit: f64, kick: f64, dt: f64, end: f64) -> f64 {
    let time = WAIT * limit;
    if kick >= time || dt >= time {
        return kick;
    }
    // Of the time alone: a run that goes on from a checkpoint does the same.
    time * ((end / time).floor() - ((end - dt) / time).floor())
}

/// What viscosity works on.
#[derive(Clone, Copy)]
pub struct Thick<'a> {
    /// How the grid lies.
    pub layout: &'a Layout,
    /// How walls cut it.
    pub cuts: &'a Cuts,
    /// Where the liquid is.
    pub liquid: &'a Liquid,
    /// Faces that have a velocity.
    pub known: &'a Known,
    /// Kinematic viscosity of the first fluid, m²/s, where there is only one.
    pub nu: f32,
    /// Density of the first fluid, kg/m³.
    pub density: f32,
}

/// What a face is joined to along one direction.
enum Link {
    /// Nothing pulls.
    Free,
    /// Another face of liquid.
    Face(f32),
    /// A wall with a velocity.
    Wall(f32, f32),
}

impl Thick<'_> {
    /// ν at a face, m²/s, relative to the first fluid's density: μ/ρ_first.
    #[inline(always)]
    fn mu(&self, a: usize, i: usize) -> f32 {
        if self.liquid.mixture.is_empty() {
            return self.nu;
        }
        let m = &self.liquid.mixture;
        let below = i.checked_sub(self.layout.stride[a]).map_or(0.0, |i| m[i][1]);
        let mean = match (below, m[i][1]) {
            (0.0, v) | (v, 0.0) => v,
            (v, w) => 0.5 * (v + w),
        };
        mean / self.density
    }

    /// How face `i` of axis `a` is joined to the next one, `j`, along axis `b`; 1/s.
    #[inline(always)]
    fn link(&self, a: usize, b: usize, i: usize, j: usize) -> Link {
        let (cuts, h) = (self.cuts, self.layout.h[b] as f32);
        let mu = self.mu(a, i);
        let scale = self.liquid.lightness[a][i] / (h * h);
        // Beyond an open side there is nothing.
        let Some(behind) = cuts.behind[a].get(j) else { return Link::Free };
        match behind {
            Behind::Open if self.known.0[a][j] => Link::Face(0.5 * (mu + self.mu(a, j)) * scale),
            Behind::Open => Link::Free,
            // Along its own axis a wall's face is where the wall is, and its speed is known.
            Behind::Slip if a == b => Link::Wall(mu * scale, self.speed(a, j)),
            Behind::Slip => Link::Free,
            Behind::NoSlip => {
                let theta = if a == b || cuts.distance[a].is_empty() || !self.inside(j) {
                    if a == b { 1.0 } else { 0.5 }
                } else {
                    let (d, e) = (cuts.distance[a][i], cuts.distance[a][j].min(0.0));
                    if d - e > 0.0 { (d / (d - e)).clamp(0.1, 1.0) } else { 0.5 }
                };
                Link::Wall(mu * scale / theta, self.speed(a, j))
            }
        }
    }

    fn speed(&self, a: usize, j: usize) -> f32 {
        if self.cuts.has_bodies() { self.cuts.speed[a][j] } else { 0.0 }
    }

    /// Whether a face is no padding.
    fn inside(&self, j: usize) -> bool {
        let c = self.layout.cell(j);
        (0..3).all(|b| c[b] >= 0 && c[b] < self.layout.n[b] as isize)
    }

    /// The face in the domain that is face `j`, where that wraps around its own axis.
    #[inline(always)]
    fn real(&self, a: usize, j: usize) -> usize {
        let layout = self.layout;
        if !layout.periodic[a] {
            return j;
        }
        match layout.cell(j)[a] {
            -1 => j + layout.n[a] * layout.stride[a],
            c if c == layout.n[a] as isize => j - layout.n[a] * layout.stride[a],
            _ => j,
        }
    }

    /// Whether viscosity acts on a face: it has a velocity, and liquid beside it.
    #[inline(always)]
    fn acts(&self, a: usize, i: usize) -> bool {
        let below = i.checked_sub(self.layout.stride[a]);
        self.known.0[a][i]
            && self.cuts.behind[a][i] == Behind::Open
            && (self.liquid.wet[i] || below.is_some_and(|i| self.liquid.wet[i]))
    }

    /// Adds what viscosity gives to a plane of faces, from number `at` on, in `dt`, s.
    fn pull(&self, a: usize, at: usize, old: &[f32], is_face: &[u8], dt: f32, next: &mut [f32]) {
        let layout = self.layout;
        let rows = layout.face_rows(a);
        let plane = at / layout.plane();
        if plane == 0 || plane > rows[2] {
            return;
        }
        let per_area = layout.h.map(|h| dt * self.nu / (h * h) as f32);
        let mut kind = vec![0; rows[0]];
        for y in 0..rows[1] {
            let first = layout.at([0, y, plane - 1]);
            let wet = |at: usize| &self.liquid.wet[at..at + rows[0]];
            let wet = [wet(first), wet(first - layout.stride[a])];
            if !wet[0].contains(&true) && !wet[1].contains(&true) {
                continue;
            }
            find_kinds(is_face, first, layout.stride, wet, &mut kind);
            // Of several fluids none is plain, and behind the last plane there are no faces.
            let is_plain = self.liquid.mixture.is_empty() && first + rows[0] + layout.stride[2] <= old.len();
            let next = &mut next[first - at..][..rows[0]];
            if is_plain {
                pull_plain(old, first, layout.stride, per_area, &kind, next);
            }
            let rest = if is_plain { AT_EDGE..=AT_EDGE } else { AT_EDGE..=AMID };
            for (x, next) in next.iter_mut().enumerate().filter(|(x, _)| rest.contains(&kind[*x])) {
                let i = first + x;
                let mut sum = 0.0;
                for b in 0..3 {
                    let s = layout.stride[b];
                    for j in [i - s, i + s] {
                        sum += match self.link(a, b, i, j) {
                            Link::Free => 0.0,
                            Link::Face(k) => k * (old[j] - old[i]),
                            Link::Wall(k, v) => k * (v - old[i]),
                        };
                    }
                }
                *next += dt * sum;
            }
        }
    }
}

/// What viscosity does to a face: nothing, something at an edge of the liquid, or what it does amid other faces.
const NOT: u8 = 0;
const AT_EDGE: u8 = 1;
const AMID: u8 = 2;

/// Finds which faces of a row are what, given which cells on either side are wet. Chooses the instruction set.
fn find_kinds(is_face: &[u8], first: usize, stride: [usize; 3], wet: [&[bool]; 2], kind: &mut [u8]) {
    widest!(find_kinds_in(is_face: &[u8], first: usize, stride: [usize; 3], wet: [&[bool]; 2], kind: &mut [u8]));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn find_kinds_in<L>(is_face: &[u8], first: usize, stride: [usize; 3], wet: [&[bool]; 2], kind: &mut [u8]) {
    let n = kind.len();
    let of = |at: usize| &is_face[at..at + n];
    let [sx, sy, sz] = stride;
    let (here, left, right) = (of(first), of(first - sx), of(first + sx));
    let (below, above) = (of(first - sy), of(first + sy));
    let (before, behind) = (of(first - sz), of(first + sz));
    let [high, low] = wet.map(|w| &w[..n]);
    for i in 0..n {
        let amid = left[i] & right[i] & below[i] & above[i] & before[i] & behind[i];
        let acts = here[i] & (u8::from(high[i]) | u8::from(low[i]));
        kind[i] = acts + (acts & amid);
    }
    debug_assert!([NOT, AT_EDGE, AMID] == [0, 1, 2]);
}

/// Adds to the faces of a row that are amid others what these do. Chooses the instruction set.
fn pull_plain(
    old: &[f32],
    first: usize,
    stride: [usize; 3],
    per_area: [f32; 3],
    kind: &[u8],
    next: &mut [f32],
) {
    widest!(pull_plain_in(
        old: &[f32],
        first: usize,
        stride: [usize; 3],
        per_area: [f32; 3],
        kind: &[u8],
        next: &mut [f32],
    ));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn pull_plain_in<L>(
    old: &[f32],
    first: usize,
    stride: [usize; 3],
    per_area: [f32; 3],
    kind: &[u8],
    next: &mut [f32],
) {
    let n = next.len();
    let of = |at: usize| &old[at..at + n];
    let [sx, sy, sz] = stride;
    let (here, kind) = (of(first), &kind[..n]);
    let (left, right) = (of(first - sx), of(first + sx));
    let (below, above) = (of(first - sy), of(first + sy));
    let (before, behind) = (of(first - sz), of(first + sz));
    for i in 0..n {
        let u = here[i];
        let sum = per_area[0] * ((left[i] - u) + (right[i] - u))
            + per_area[1] * ((below[i] - u) + (above[i] - u))
            + per_area[2] * ((before[i] - u) + (behind[i] - u));
        next[i] += if kind[i] == AMID { sum } else { 0.0 };
    }
}

impl Viscosity {
    /// A step that is stable up to [`explicit_limit`].
    pub fn explicit(&mut self, thick: &Thick, u: &mut Faces, dt: f64) {
        let layout = thick.layout;
        let plane = layout.plane();
        let Viscosity { next, is_face, .. } = self;
        for is_face in &mut *is_face {
            // Behind the last plane there is none.
            is_face.resize(layout.len() + plane, 0);
        }
        each_plane(layout, is_face, |a, at, is_face| {
            let known = thick.known.0[a].get(at..).unwrap_or_default();
            for ((is, known), behind) in
                is_face.iter_mut().zip(known).zip(&thick.cuts.behind[a][at.min(layout.len())..])
            {
                *is = u8::from(*known & (*behind == Behind::Open));
            }
        });
        next.iter_mut().zip(&*u).for_each(|(next, u)| next.resize(u.len(), 0.0));
        let (old, is_face) = (&*u, &*is_face);
        each_plane(layout, next, |a, at, next| {
            next.copy_from_slice(&old[a][at..at + next.len()]);
            thick.pull(a, at, &old[a], &is_face[a], dt as f32, next);
        });
        std::mem::swap(next, u);
        u.iter_mut().for_each(|u| layout.wrap(u));
    }

    /// A step of any length: u - Δt ∇·(ν∇u) = u*, solved for each component.
    pub fn implicit(&mut self, thick: &Thick, u: &mut Faces, dt: f64) {
        let layout = thick.layout;
        let systems = self.systems.get_or_insert_with(|| {
            Box::new(std::array::from_fn(|a| Implicit::new(layout.face_rows(a), layout.periodic)))
        });
        self.iterations = 0;
        for a in 0..3 {
            self.iterations += systems[a].step(thick, a, &mut u[a], dt as f32);
            layout.wrap(&mut u[a]);
        }
    }
}

impl Implicit {
    fn new(size: [usize; 3], periodic: [bool; 3]) -> Self {
        let n = size.iter().product();
        Implicit {
            system: System {
                size,
                periodic,
                plus: std::array::from_fn(|_| vec![0.0; n]),
                diagonal: vec![0.0; n],
            },
            solver: Poisson::new(size, periodic),
            b: vec![0.0; n],
            x: vec![0.0; n],
        }
    }

    fn step(&mut self, thick: &Thick, a: usize, u: &mut [f32], dt: f32) -> usize {
        let layout = thick.layout;
        let [nx, ny, _] = self.system.size;
        let plane = nx * ny;
        let System { plus: [px, py, pz], diagonal, .. } = &mut self.system;
        let planes = (
            px.par_chunks_mut(plane),
            py.par_chunks_mut(plane),
            pz.par_chunks_mut(plane),
            diagonal.par_chunks_mut(plane),
            self.b.par_chunks_mut(plane),
            self.x.par_chunks_mut(plane),
        );
        let old = &*u;
        planes.into_par_iter().enumerate().for_each(|(z, (px, py, pz, diagonal, b, x))| {
            for c in 0..plane {
                let i = layout.at([c % nx, c / nx, z]);
                let mut plus = [0.0; 3];
                (diagonal[c], b[c], x[c]) = (0.0, 0.0, old[i]);
                if thick.acts(a, i) {
                    // Times the density, which makes the system symmetric where it varies.
                    let mass = 1.0 / thick.liquid.lightness[a][i];
                    (diagonal[c], b[c]) = (mass, mass * old[i]);
                    for axis in 0..3 {
                        let s = layout.stride[axis];
                        for j in [i - s, i + s] {
                            match thick.link(a, axis, i, j) {
                                Link::Free => {}
                                Link::Face(k) => {
                                    let k = k * mass * dt;
                                    diagonal[c] += k;
                                    if !thick.acts(a, thick.real(a, j)) {
                                        b[c] += k * old[j];
                                    } else if j > i {
                                        plus[axis] = k;
                                    }
                                }
                                Link::Wall(k, v) => {
                                    let k = k * mass * dt;
                                    diagonal[c] += k;
                                    b[c] += k * v;
                                }
                            }
                        }
                    }
                }
                (px[c], py[c], pz[c]) = (plus[0], plus[1], plus[2]);
            }
        });
        let report = self.solver.solve(&self.system, &self.b, &mut self.x, 1e-5, 400);
        let (x, diagonal) = (&self.x, &self.system.diagonal);
        u.par_chunks_mut(layout.plane()).enumerate().skip(1).take(self.system.size[2]).for_each(|(at, u)| {
            for c in 0..plane {
                let from = (at - 1) * plane + c;
                if diagonal[from] > 0.0 {
                    u[layout.at([c % nx, c / nx, at - 1]) - at * layout.plane()] = x[from];
                }
            }
        });
        report.iterations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_the_time_comes_due_in_the_end() {
        // Steps of all lengths, some longer than the wait.
        for limit in [0.01, 1.0, 3.7, 100.0] {
            let (mut end, mut sum, mut times) = (0.0, 0.0, 0);
            for k in 0..1000 {
                let dt = 1e-3 * f64::from(1 + k * 7 % 5);
                end += dt;
                let now = due(limit, dt, dt, end);
                sum += now;
                times += u32::from(now > 0.0);
            }
            let wait = WAIT * limit;
            assert!(f64::abs(sum - end) <= wait + 1e-9, "{limit}: {sum} of {end}");
            assert!(
                f64::from(times) <= 2.0 * end / wait + 1000.0 * f64::from(u8::from(wait < 5e-3)),
                "{limit}: {times}"
            );
        }
    }
}
