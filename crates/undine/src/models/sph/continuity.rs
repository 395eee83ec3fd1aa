//! Density from the continuity equation: dρ_i/dt = ρ_i Σ V_j (v_i - v_j)·∇W.
//!
//! Summing the kernel (Müller eq. 3) makes pressure follow every irregularity of the packing; followed along the
//! flow, density is smooth, free surfaces need no correction, and with the same ∇W in the pressure force energy
//! is kept. Three terms keep it honest:
//! - density diffusion (Molteni & Colagrossi 2009), of what is left after the hydrostatic part (Fourtakas 2019);
//! - a bulk viscosity, which damps sound and nothing else;
//! - a slow pull towards the summed density inside the fluid, so that volume cannot drift over long runs.

use glam::DVec3;
use rayon::prelude::*;

use super::boundary::Boundary;
use super::crowd::{Crowd, Near, Shared};
use super::params::Params;
use super::wall_kernels::WallKernels;
use super::work::{Record, VOLUME, Work};
use crate::kernels::{Cored, Wide, lattice_sum};
use crate::models::Around;
use crate::neighbors::{BUNCH, Grid};
use crate::simd::{Lanes, prefetch, widest};
use crate::state::particles::{BLOCK, Particles};

/// Diffusion coefficient δ of the density, dimensionless (0.1 is usual).
const DIFFUSION: f64 = 0.1;
/// Bulk viscosity, × ρ c Δ. Without it a tank released from the uncompressed lattice was still bouncing after 2 s
/// (pressure 48 % off in the coarse case, 5 % with it). 1 was no calmer.
const BULK: f64 = 0.5;
/// How fast density is pulled to its sum inside the fluid, × c/Δ: slow beside diffusion, so that the sum's noise is
/// averaged over many particles. 0.005 doubled the noise of the pressure in a tank at rest.
const PULL: f64 = 0.00125;
/// Bounds of the relative density. Spray that flies apart does not get thinner as a fluid, it only loses its
/// neighbours: without the lower bound it would meet the pool again as all but empty space. The upper one is far
/// beyond any compression that the stiffness was chosen for.
const LEAST: f32 = 0.98;
const MOST: f32 = 1.25;
/// Bit of [`Particles::near_wall`] of those that feel walls without boundary particles.
pub const WALLS: u8 = 2;
/// Below this |∇c| h a particle is inside the fluid (Müller eq. 23). A flat surface has 0.98.
pub const SURFACE: f32 = 0.4;

/// Constants of the pass.
#[derive(Clone, Copy, Debug)]
pub struct Continuity {
    dt: f32,
    /// Δ³ 6f/h⁴: of Σ V_j g (v_j-v_i)·d.
    rate: f32,
    /// 2δΔc Δ³ 6f/h⁵: of Σ V_j g (ρ_j-ρ_i).
    diffusion: f32,
    /// Hydrostatic density gradient ρ0 g h/K, per unit of h.
    hydrostatic: [f32; 3],
    /// Bulk viscosity, as relative density per rate of it, s.
    bulk: f32,
    /// Δ³ 4f/h³ of the wide kernel: of Σ V w d, for ∇c h.
    color: f32,
    /// Makes Σ w³ + c w⁶ the relative density.
    sum: f32,
    /// Share of the way to the summed density in this step.
    pull: f32,
    /// Whether [`Totals`] are wanted.
    counts: bool,
}

/// Sums of one particle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    /// Σ V g (v_j-v_i)·d.
    pub convergence: f32,
    /// Σ V g (ρ_j-ρ_i).
    pub diffusion: f32,
    /// Σ V w d.
    pub color: [f32; 3],
    /// Σ w³ + c w⁶, itself included.
    pub sum: f32,
}

/// What all particles of a block add up to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Relative densities.
    pub density: f64,
    /// Relative densities as the kernel sums them.
    pub sum: f64,
    /// How many are at a surface.
    pub at_surface: usize,
}

impl Totals {
    /// Both together.
    pub fn and(self, o: &Self) -> Self {
        Totals {
            density: self.density + o.density,
            sum: self.sum + o.sum,
            at_surface: self.at_surface + o.at_surface,
        }
    }
}

impl Continuity {
    /// Constants for a step of `dt`, s.
    pub fn new(p: &Params, gravity: DVec3, dt: f64) -> Self {
        let slope = p.slope();
        let bulk = p.fluids.iter().map(|f| f.stiffness * f.density).fold(0.0, f64::max);
        let heaviest = p.fluids.iter().map(|f| f.density).fold(0.0, f64::max);
        Continuity {
            dt: dt as f32,
            rate: slope as f32,
            diffusion: (2.0 * DIFFUSION * p.spacing * p.sound() * slope / p.h) as f32,
            hydrostatic: (gravity * (heaviest * p.h / bulk)).as_vec3().to_array(),
            bulk: (BULK * p.spacing / p.sound()) as f32,
            color: ((p.spacing / p.h).powi(3) * 4.0 * Wide::FACTOR) as f32,
            sum: (1.0 / lattice_sum(1.0, p.h / p.spacing, |_, r| sum_term((r * p.spacing / p.h).powi(2))))
                as f32,
            pull: (PULL * dt * p.sound() / p.spacing) as f32,
            // Whether fluid is enclosed is told before the first step.
            counts: p.enclosed || dt == 0.0,
        }
    }

    /// Advances all densities by the step and writes volumes and surface normals into the working arrays.
    ///
    /// The volume written is that of the density the pressure is to see: with the bulk viscosity in it. Neighbours are searched in
    /// `grid`; without it they are those found before.
    pub fn apply(
        &self,
        work: &mut Work,
        grid: Option<&Grid>,
        particles: &mut Particles,
        around: &Around,
        walls: (&WallKernels, &Boundary),
    ) {
        let (walls, boundary) = walls;
        let Particles { x, y, z, velocity, density, near_wall, .. } = particles;
        let (x, y, z, velocity) = (&x[..], &y[..], &z[..], &velocity[..]);
        let mut surface = std::mem::take(&mut work.surface);
        surface.resize(work.len(), [0.0; 4]);
        let mut compression = std::mem::take(&mut work.compression);
        compression.resize(work.len(), 0.0);
        let mut found = std::mem::take(&mut work.found);
        let count = work.len().div_ceil(BLOCK);
        if grid.is_some() {
            found.prepare(count);
        }
        debug_assert!(count == 0 || found.get(count - 1).is_some(), "neighbours are kept");
        let mut totals = std::mem::take(&mut work.totals);
        totals.resize(count, Totals::default());
        let blocks = (
            density.par_chunks_mut(BLOCK),
            surface.par_chunks_mut(BLOCK),
            compression.par_chunks_mut(BLOCK),
            found.blocks(),
            near_wall.par_chunks_mut(BLOCK),
            totals.par_iter_mut(),
        );
        blocks.into_par_iter().enumerate().for_each_init(
            <(Crowd, Shared)>::default,
            |(crowd, searched), (block, (density, surface, compression, mut found, near, totals))| {
                *totals = Totals::default();
                let first = block * BLOCK;
                let range = first..first + density.len();
                prefetch(&x[range.clone()]);
                prefetch(&y[range.clone()]);
                prefetch(&z[range.clone()]);
                prefetch(&velocity[range]);
                prefetch(density);
                let mut sums = [Rate::default(); BLOCK];
                if let Some(grid) = grid {
                    // Into the same room for all, and then by as much as there is: memory that grows leaves gaps behind.
                    searched.search_widest(work, grid, first, first + density.len());
                    found.keep(searched);
                }
                self.pairs(work, first, &mut sums[..density.len()], found.look(), crowd);
                boundary.rates(block, &mut sums[..density.len()], near);
                for (k, rho) in density.iter_mut().enumerate() {
                    let i = first + k;
                    let p = DVec3::new(x[i], y[i], z[i]);
                    let mut rate = self.rate * sums[k].convergence;
                    // ∇c h, pointing into the fluid.
                    let mut n = sums[k].color.map(|v| -v * self.color);
                    let mut held = 0.0;
                    if walls.is_near(around.walls, p) {
                        near[k] |= WALLS;
                        let wall = walls.rate(around.walls, p, glam::Vec3::from(velocity[i]).as_dvec3());
                        near[k] |= u8::from(around.walls.is_near_unsampled_body(p));
                        rate += wall.rate;
                        held = wall.density;
                        n = std::array::from_fn(|a| n[a] + wall.color[a] as f32);
                    }
                    let rate = *rho * rate;
                    *rho += self.dt * (rate + self.diffusion * sums[k].diffusion);
                    let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
                    let sum = self.sum * sums[k].sum + held;
                    if length < SURFACE {
                        *rho += self.pull * (sum - *rho);
                    }
                    *rho = rho.clamp(LEAST, MOST);
                    if self.counts {
                        totals.density += f64::from(*rho);
                        totals.sum += f64::from(sum);
                        totals.at_surface += usize::from(length > SURFACE);
                    }
                    compression[k] = *rho - 1.0 + (self.bulk * rate).clamp(-0.05, 0.05);
                    let root = 1.0 / length.sqrt();
                    surface[k] = if length > SURFACE {
                        [n[0] * root, n[1] * root, n[2] * root, length]
                    } else {
                        [0.0; 4]
                    };
                }
            },
        );
        work.records.par_chunks_mut(8 * BLOCK).enumerate().for_each(|(block, records)| {
            for (k, r) in records.iter_mut().enumerate() {
                let i = 8 * BLOCK * block + k;
                r[VOLUME] = if surface[i][3] > 0.0 { -1.0 } else { 1.0 } / density[i];
            }
        });
        (work.surface, work.compression, work.found, work.totals) = (surface, compression, found, totals);
    }

    /// What the sums of a particle say of its place: ∇c h, pointing to where there is more, and relative density.
    pub fn neighborhood(&self, sums: &Rate) -> (DVec3, f32) {
        (glam::Vec3::from(sums.color).as_dvec3() * f64::from(-self.color), self.sum * sums.sum)
    }

    /// Sums over the neighbours, found before, of the particles from `first` on; chooses the instruction set.
    pub fn pairs(&self, work: &Work, first: usize, out: &mut [Rate], found: Near, crowd: &mut Crowd) {
        let c = self;
        widest!(Continuity::pairs_in(
            c: &Continuity,
            work: &Work,
            first: usize,
            out: &mut [Rate],
            found: Near,
            crowd: &mut Crowd,
        ));
    }

    /// The loop itself, for any lanes.
    #[inline(always)]
    pub fn pairs_in<L: Lanes>(
        &self,
        work: &Work,
        first: usize,
        out: &mut [Rate],
        found: Near,
        crowd: &mut Crowd,
    ) {
        let down = self.hydrostatic[0] == 0.0 && self.hydrostatic[2] == 0.0;
        let (mut i, mut k) = (first, 0);
        while k < found.batches() {
            let n = found.count(k);
            let mut sums = [[L::splat(0.0); 6]; BUNCH];
            loop {
                let batch = crowd.gather::<L>(found, k, &work.records);
                for (sums, own) in sums.iter_mut().zip(&work.records[i..i + n]) {
                    if down {
                        self.add::<L, true>(sums, own, crowd, batch.shift);
                    } else {
                        self.add::<L, false>(sums, own, crowd, batch.shift);
                    }
                }
                k += 1;
                if batch.last {
                    break;
                }
            }
            let mut of = [[0.0; BUNCH]; 6];
            for (c, of) in of.iter_mut().enumerate() {
                *of = L::sum4([sums[0][c], sums[1][c], sums[2][c], sums[3][c]]);
            }
            let [convergence, diffusion, x, y, z, sum] = of;
            for (b, out) in out[i - first..i - first + n].iter_mut().enumerate() {
                let color = [x[b], y[b], z[b]];
                *out = Rate { convergence: convergence[b], diffusion: diffusion[b], color, sum: sum[b] };
            }
            i += n;
        }
    }

    /// Adds all neighbours that a particle has in a crowd, seen from its periodic image; gravity may be along y alone (`DOWN`).
    #[inline(always)]
    fn add<L: Lanes, const DOWN: bool>(
        &self,
        sums: &mut [L; 6],
        own: &Record,
        crowd: &Crowd,
        shift: [f32; 3],
    ) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let q = [L::splat(own[0] + shift[0]), L::splat(own[1] + shift[1]), L::splat(own[2] + shift[2])];
        let own_v = [L::splat(own[4]), L::splat(own[5]), L::splat(own[6])];
        let own_volume = L::splat(own[VOLUME]);
        let h = [L::splat(self.hydrostatic[0]), L::splat(self.hydrostatic[1]), L::splat(self.hydrostatic[2])];
        let core = L::splat(Cored::CORE as f32);
        let mut all = *sums;
        let mut at = 0;
        while at < crowd.len() {
            let d =
                [q[0].sub(crowd.column(0, at)), q[1].sub(crowd.column(1, at)), q[2].sub(crowd.column(2, at))];
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let w = one.sub(r2).max(zero);
            let w2 = w.mul(w);
            let volume: L = crowd.column(VOLUME, at);
            let g = core_gradient(w, w2).mul(volume);
            let dv: [L; 3] = [
                crowd.column::<L>(4, at).sub(own_v[0]),
                crowd.column::<L>(5, at).sub(own_v[1]),
                crowd.column::<L>(6, at).sub(own_v[2]),
            ];
            let closing = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
            // ρ_j - ρ_i = V_i - V_j to first order around rest, less the hydrostatic difference.
            let apart = own_volume.sub(volume);
            let mut apart = h[1].mul_add(d[1], apart);
            if !DOWN {
                apart = h[2].mul_add(d[2], h[0].mul_add(d[0], apart));
            }
            all[0] = closing.mul_add(g, all[0]);
            all[1] = apart.mul_add(g, all[1]);
            let w3 = w2.mul(w);
            all[5] = w3.mul(w3).mul_add(core, w3.add(all[5]));
            let c = w.mul(volume);
            all[2] = d[0].mul_add(c, all[2]);
            all[3] = d[1].mul_add(c, all[3]);
            all[4] = d[2].mul_add(c, all[4]);
            at += L::N;
        }
        *sums = all;
    }
}

/// w³ + c w⁶ of the sum, from s².
pub(super) fn sum_term(s2: f64) -> f64 {
    let w = 1.0 - s2;
    w.powi(3) + Cored::CORE * w.powi(6)
}

/// As [`core_gradient`], of one.
pub fn gradient_of(w: f32) -> f32 {
    let w2 = w * w;
    (w2 * w * (2.0 * Cored::CORE) as f32 + 1.0) * w2
}

/// g = w² + 2c w⁵ of the cored kernel: ∇W = -6f/h⁴ g d.
#[inline(always)]
pub fn core_gradient<L: Lanes>(w: L, w2: L) -> L {
    w2.mul(w).mul_add(L::splat((2.0 * Cored::CORE) as f32), L::splat(1.0)).mul(w2)
}
