//! Viscosity: ρ ∂u/∂t = ∇·(μ∇u) for each component on its own faces. Walls that stick pull at the distance they are at; nothing
//! pulls through the free surface or along walls that slip.

use rayon::prelude::*;

use super::cuts::{Behind, Cuts};
use super::extrapolate::Known;
use super::layout::Layout;
use super::liquid::Liquid;
use super::poisson::{Poisson, System};
use super::transfer::Faces;

/// Share of the explicit limit h²/(2·3ν) that is used.
const SAFE: f64 = 0.8;

/// A viscous step.
#[derive(Default)]
pub struct Viscosity {
    systems: Option<Box<[Implicit; 3]>>,
    next: Vec<f32>,
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

    /// Whether a face, of the domain, is amid others of the only fluid.
    #[inline(always)]
    fn is_plain(&self, a: usize, i: usize) -> bool {
        let (known, behind) = (&self.known.0[a], &self.cuts.behind[a]);
        let is_face = |j: usize| known.get(j) == Some(&true) && behind[j] == Behind::Open;
        self.liquid.mixture.is_empty() && self.layout.stride.iter().all(|s| is_face(i - s) && is_face(i + s))
    }

    /// Whether viscosity acts on a face: it has a velocity, and liquid beside it.
    #[inline(always)]
    fn acts(&self, a: usize, i: usize) -> bool {
        let below = i.checked_sub(self.layout.stride[a]);
        self.known.0[a][i]
            && self.cuts.behind[a][i] == Behind::Open
            && (self.liquid.wet[i] || below.is_some_and(|i| self.liquid.wet[i]))
    }
}

impl Viscosity {
    /// A step that is stable up to [`explicit_limit`].
    pub fn explicit(&mut self, thick: &Thick, u: &mut Faces, dt: f64) {
        let layout = thick.layout;
        let per_area = layout.h.map(|h| thick.nu / (h * h) as f32);
        for a in 0..3 {
            let rows = layout.face_rows(a);
            self.next.clone_from(&u[a]);
            let old = &u[a];
            self.next.par_chunks_mut(layout.plane()).enumerate().skip(1).take(rows[2]).for_each(
                |(plane, next)| {
                    for y in 0..rows[1] {
                        let first = layout.at([0, y, plane - 1]);
                        let wet = |at: usize| thick.liquid.wet[at..at + rows[0]].contains(&true);
                        if !wet(first) && !wet(first - layout.stride[a]) {
                            continue;
                        }
                        for i in first..first + rows[0] {
                            if !thick.acts(a, i) {
                                continue;
                            }
                            let mut sum = 0.0;
                            if thick.is_plain(a, i) {
                                for b in 0..3 {
                                    let s = layout.stride[b];
                                    sum += per_area[b] * ((old[i - s] - old[i]) + (old[i + s] - old[i]));
                                }
                                next[i - plane * layout.plane()] += dt as f32 * sum;
                                continue;
                            }
                            for b in 0..3 {
                                let s = layout.stride[b];
                                for j in [i - s, i + s] {
                                    sum += match thick.link(a, b, i, j) {
                                        Link::Free => 0.0,
                                        Link::Face(k) => k * (old[j] - old[i]),
                                        Link::Wall(k, v) => k * (v - old[i]),
                                    };
                                }
                            }
                            next[i - plane * layout.plane()] += dt as f32 * sum;
                        }
                    }
                },
            );
            std::mem::swap(&mut self.next, &mut u[a]);
            layout.wrap(&mut u[a]);
        }
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
