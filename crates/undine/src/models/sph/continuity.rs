//! Density from the continuity equation: dρ_i/dt = ρ_i Σ V_j (v_i - v_j)·∇W.
//!
//! Summing the kernel (Müller eq. 3) makes pressure follow every irregularity of the packing; followed along the
//! flow, density is smooth, free surfaces need no correction, and with the same ∇W in the pressure force energy
//! is kept. Three terms keep it honest:
//! - density diffusion (Molteni & Colagrossi 2009), of what is left after the hydrostatic part (Fourtakas 2019);
//! - a bulk viscosity, which damps sound and nothing else;
//! - a slow pull towards the summed density inside the fluid, so that volume cannot drift over long runs.

use std::hint::black_box;

use glam::DVec3;
use rayon::prelude::*;

use super::boundary::Boundary;
use super::crowd::{MOST as CROWD, Near, Shared};
use super::octet::{Exact, Neighbor, Numbers, OCTET, Octet, mark_far};
use super::outlook::{self, Look, Scope};
use super::params::Params;
use super::wall_kernels::WallKernels;
use super::work::{MANY, Record, VOLUME, Work};
use crate::kernels::{Cored, Wide, lattice_sum};
use crate::models::Around;
use crate::neighbors::Grid;
use crate::simd::{Lanes, Octets, prefetch, reread, widest};
use crate::state::particles::{BLOCK, Particles};
use crate::walls::Walls;

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
    /// What is summed.
    scope: Scope,
    /// 2/h of the time for which a survey looks ahead, s/m.
    ahead: f32,
    /// Whether [`Totals`] are wanted.
    counts: bool,
    /// Whether surfaces are to be marked in the records, because they pull.
    marks: bool,
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

/// Sums of a block of particles, as parallel arrays with room for the lanes of an octet after the last.
#[derive(Clone, Debug)]
pub struct Rates {
    /// See [`Rate`].
    pub convergence: [f32; ROOM],
    /// See [`Rate`].
    pub diffusion: [f32; ROOM],
    /// See [`Rate`].
    pub color: [[f32; ROOM]; 3],
    /// See [`Rate`].
    pub sum: [f32; ROOM],
}

const ROOM: usize = BLOCK + OCTET;

impl Default for Rates {
    fn default() -> Self {
        let zero = [0.0; ROOM];
        Rates { convergence: zero, diffusion: zero, color: [zero; 3], sum: zero }
    }
}

impl Rates {
    /// Those of one particle of the block.
    pub fn get(&self, k: usize) -> Rate {
        Rate {
            convergence: self.convergence[k],
            diffusion: self.diffusion[k],
            color: [self.color[0][k], self.color[1][k], self.color[2][k]],
            sum: self.sum[k],
        }
    }
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
    /// Constants for a step of `dt`, s, that looks at all neighbours as they are now.
    pub fn new(p: &Params, gravity: DVec3, dt: f64) -> Self {
        Self::within(p, gravity, dt, Look::NOW, dt)
    }

    /// Constants for a step of `dt`, s. Where sums are taken, densities are pulled towards them for the time `since` the last such, s.
    pub fn within(p: &Params, gravity: DVec3, dt: f64, look: Look, since: f64) -> Self {
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
            pull: (PULL * since * p.sound() / p.spacing) as f32,
            scope: look.scope,
            ahead: (2.0 * look.span / p.h) as f32,
            // Whether fluid is enclosed is told before the first step.
            counts: p.enclosed || dt == 0.0,
            marks: p.fluids.iter().any(|f| f.tension > 0.0),
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
        // Of many particles these would be too much memory: the next pass takes all that were found.
        let many = work.len() >= MANY;
        let mut exact = std::mem::take(&mut work.exact);
        exact.resize_with(count, Exact::default);
        if many {
            exact.iter_mut().for_each(Exact::shed);
        }
        let blocks = (
            density.par_chunks_mut(BLOCK),
            surface.par_chunks_mut(BLOCK),
            compression.par_chunks_mut(BLOCK),
            found.blocks(),
            near_wall.par_chunks_mut(BLOCK),
            totals.par_iter_mut(),
            exact.par_iter_mut(),
        );
        blocks.into_par_iter().enumerate().with_max_len(2).for_each_init(
            <(Shared, Rates)>::default,
            |(searched, sums), (block, (density, surface, compression, mut found, near, totals, exact))| {
                let first = block * BLOCK;
                let range = first..first + density.len();
                let at = [&x[range.clone()], &y[range.clone()], &z[range.clone()]];
                at.into_iter().for_each(prefetch);
                prefetch(&velocity[range.clone()]);
                prefetch(density);
                if let Some(grid) = grid {
                    // Into the same room for all, and then by as much as there is: memory that grows leaves gaps behind.
                    searched.search_octets(work, grid, first, range.end);
                    found.keep(searched);
                }
                self.pairs(work, first, sums, found.look(), (!many).then_some(exact));
                boundary.rates(block, sums, near, self.scope);
                self.add_walls(sums, at, &velocity[range], near, (around.walls, walls));
                self.settle(sums, density, compression, surface, totals);
            },
        );
        work.records.par_chunks_mut(8 * BLOCK).enumerate().for_each(|(block, records)| {
            for (k, r) in records.iter_mut().enumerate() {
                let i = 8 * BLOCK * block + k;
                r[VOLUME] = if self.marks && surface[i][3] > 0.0 { -1.0 } else { 1.0 } / density[i];
            }
        });
        (work.surface, work.compression, work.found, work.totals) = (surface, compression, found, totals);
        work.exact = exact;
    }

    /// Adds what walls without boundary particles add, and says in `near` which feel them.
    fn add_walls(
        &self,
        sums: &mut Rates,
        at: [&[f64]; 3],
        velocity: &[[f32; 3]],
        near: &mut [u8],
        (walls, kernels): (&Walls, &WallKernels),
    ) {
        let mut feels = [0; BLOCK];
        let feels = &mut feels[..near.len()];
        walls.mark_near_unsampled(at, feels);
        for (k, _) in feels.iter().enumerate().filter(|(_, feels)| **feels != 0) {
            let p = DVec3::new(at[0][k], at[1][k], at[2][k]);
            near[k] |= WALLS | u8::from(walls.is_near_unsampled_body(p));
            let wall = kernels.rate(walls, p, glam::Vec3::from(velocity[k]).as_dvec3());
            sums.convergence[k] += wall.rate / self.rate;
            sums.sum[k] += wall.density / self.sum;
            (0..3).for_each(|a| sums.color[a][k] -= wall.color[a] as f32 / self.color);
        }
    }

    /// Advances the densities of a block and says which are at a surface. Chooses the instruction set.
    fn settle(
        &self,
        sums: &Rates,
        density: &mut [f32],
        compression: &mut [f32],
        surface: &mut [[f32; 4]],
        totals: &mut Totals,
    ) {
        let c = self;
        widest!(Continuity::settle_in(
            c: &Continuity,
            sums: &Rates,
            density: &mut [f32],
            compression: &mut [f32],
            surface: &mut [[f32; 4]],
            totals: &mut Totals,
        ));
    }

    #[inline(always)]
    #[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
    fn settle_in<L: Lanes>(
        &self,
        sums: &Rates,
        density: &mut [f32],
        compression: &mut [f32],
        surface: &mut [[f32; 4]],
        totals: &mut Totals,
    ) {
        if self.scope == Scope::Quick {
            for (k, density) in density.iter_mut().enumerate() {
                let (rho, rate) = self.advanced(*density, sums, k);
                *density = rho.clamp(LEAST, MOST);
                compression[k] = self.compression(*density, rate);
            }
            return;
        }
        let n = density.len();
        let [x, y, z] = sums.color.each_ref().map(|color| &color[..n]);
        // |∇c|² h²
        let mut square = [0.0; BLOCK];
        let square = &mut square[..n];
        for (k, square) in square.iter_mut().enumerate() {
            *square = (x[k] * x[k] + y[k] * y[k] + z[k] * z[k]) * (self.color * self.color);
        }
        let sum = &sums.sum[..n];
        let compression = &mut compression[..n];
        for (k, density) in density.iter_mut().enumerate() {
            let (rho, rate) = self.advanced(*density, sums, k);
            let pull = if square[k] > SURFACE * SURFACE { 0.0 } else { self.pull };
            let rho = rho + pull * (self.sum * sum[k] - rho);
            *density = rho.clamp(LEAST, MOST);
            compression[k] = self.compression(*density, rate);
        }
        surface.fill([0.0; 4]);
        for (k, square) in square.iter().enumerate().filter(|(_, square)| **square > SURFACE * SURFACE) {
            // ∇c h, pointing into the fluid.
            let n = [x[k], y[k], z[k]].map(|v| -v * self.color);
            let length = square.sqrt();
            let root = 1.0 / length.sqrt();
            surface[k] = [n[0] * root, n[1] * root, n[2] * root, length];
        }
        *totals = Totals::default();
        if self.counts {
            totals.density = density.iter().map(|v| f64::from(*v)).sum();
            totals.sum = sum.iter().map(|v| f64::from(self.sum * v)).sum();
            totals.at_surface = square.iter().filter(|v| **v > SURFACE * SURFACE).count();
        }
    }

    /// A density carried on by flow and diffusion, and the rate of the flow, 1/s.
    #[inline(always)]
    fn advanced(&self, density: f32, sums: &Rates, k: usize) -> (f32, f32) {
        let rate = density * self.rate * sums.convergence[k];
        (density + self.dt * (rate + self.diffusion * sums.diffusion[k]), rate)
    }

    /// What the pressure is to see of a density that changes at this rate.
    #[inline(always)]
    fn compression(&self, density: f32, rate: f32) -> f32 {
        density - 1.0 + (self.bulk * rate).clamp(-0.05, 0.05)
    }

    /// What the sums of a particle say of its place: ∇c h, pointing to where there is more, and relative density.
    pub fn neighborhood(&self, sums: &Rate) -> (DVec3, f32) {
        (glam::Vec3::from(sums.color).as_dvec3() * f64::from(-self.color), self.sum * sums.sum)
    }

    /// Sums over the neighbours, found before, of the particles from `first` on. A survey tells `exact` which of them may count, other
    /// scopes take it from there, if it is kept. Chooses the instruction set.
    pub fn pairs(&self, work: &Work, first: usize, out: &mut Rates, found: Near, exact: Option<&mut Exact>) {
        let c = self;
        widest!(Continuity::pairs_in(
            c: &Continuity,
            work: &Work,
            first: usize,
            out: &mut Rates,
            found: Near,
            exact: Option<&mut Exact>,
        ));
    }

    /// The loop itself, for any lanes.
    #[inline(always)]
    pub fn pairs_in<L: Octets>(
        &self,
        work: &Work,
        first: usize,
        out: &mut Rates,
        found: Near,
        exact: Option<&mut Exact>,
    ) {
        let down = self.hydrostatic[0] == 0.0 && self.hydrostatic[2] == 0.0;
        match (self.scope == Scope::Quick, down) {
            (false, false) => self.pairs_of::<L, false, true>(work, first, out, found, exact),
            (false, true) => self.pairs_of::<L, true, true>(work, first, out, found, exact),
            (true, false) => self.pairs_of::<L, false, false>(work, first, out, found, exact),
            (true, true) => self.pairs_of::<L, true, false>(work, first, out, found, exact),
        }
    }

    #[inline(always)]
    fn pairs_of<L: Octets, const DOWN: bool, const SLOW: bool>(
        &self,
        work: &Work,
        first: usize,
        out: &mut Rates,
        found: Near,
        mut exact: Option<&mut Exact>,
    ) {
        let survey = self.scope == Scope::Survey;
        if let Some(exact) = exact.as_deref_mut().filter(|_| survey) {
            exact.clear();
        }
        let (mut numbers, mut far) = (Numbers::default(), [0; CROWD + 16]);
        let (mut i, mut k) = (first, 0);
        while k < found.batches() {
            let n = found.count(k);
            let own = Octet::<L>::new(&work.records[i..i + n]);
            let mut sums = [L::splat(0.0); 6];
            loop {
                let batch = found.batch(k);
                let at = (&work.records[..], batch.shift);
                match &mut exact {
                    Some(exact) if !survey => {
                        self.add::<L, DOWN, SLOW, false>(&mut sums, &own, exact.batch(k), at, &mut far);
                    }
                    Some(exact) => {
                        numbers.take::<L>(found, k);
                        self.add::<L, DOWN, SLOW, true>(&mut sums, &own, numbers.all(), at, &mut far);
                        exact.take::<L>(&numbers, &far);
                    }
                    None => {
                        numbers.take::<L>(found, k);
                        self.add::<L, DOWN, SLOW, false>(&mut sums, &own, numbers.all(), at, &mut far);
                    }
                }
                k += 1;
                if batch.last {
                    break;
                }
            }
            // More than there are particles, perhaps: the next ones write over that.
            let [convergence, diffusion, x, y, z, sum] = sums;
            let at = i - first;
            store(convergence, -1.0, at, &mut out.convergence);
            store(diffusion, -1.0, at, &mut out.diffusion);
            if SLOW {
                store(sum, 0.5, at, &mut out.sum);
                for (of, to) in [x, y, z].into_iter().zip(&mut out.color) {
                    store(of, -1.0, at, to);
                }
            }
            i += n;
        }
    }

    /// Adds the neighbours of particles, seen from a periodic image; gravity may be along y alone (`DOWN`), and what changes slowly
    /// (`SLOW`) left out. Says in `far` of each for whom it stays beyond the support, where it is to be a `SURVEY`.
    #[inline(always)]
    fn add<L: Octets, const DOWN: bool, const SLOW: bool, const SURVEY: bool>(
        &self,
        sums: &mut [L; 6],
        own: &Octet<L>,
        neighbors: &[u32],
        (records, shift): (&[Record], [f32; 3]),
        far: &mut [u8; CROWD + 16],
    ) {
        let q = own.image(shift);
        let h = [L::splat(self.hydrostatic[0]), L::splat(self.hydrostatic[1]), L::splat(self.hydrostatic[2])];
        let one = L::splat(black_box(1.0));
        let core = L::splat(black_box((2.0 * Cored::CORE) as f32));
        let look = (L::splat(self.ahead), L::splat(outlook::BEYOND));
        let spread = L::spread();
        // What does not change. More than there are registers for.
        let fixed = (Octet { at: q, ..*own }, h, one, core, look);
        let mut all = *sums;
        assert!(neighbors.len() <= CROWD);
        let mut k = 0;
        while k < neighbors.len() {
            reread(&raw const fixed);
            let (own, h, one, core, look) = &fixed;
            // SAFETY: these are numbers of particles.
            let neighbor = unsafe { Neighbor::find((records, neighbors), k, &own.at, *one, spread) };
            let Neighbor { record: r, d, w, .. } = neighbor;
            let volume = r.lanes(VOLUME);
            let w2 = w.mul(w);
            let w3 = w2.mul(w);
            // g = w² + 2c w⁵ = w² (1 + 2c w³) of the cored kernel: ∇W = 6f/h⁴ g d.
            let cored = w3.mul_add(*core, *one);
            let g = w2.mul(volume).mul(cored);
            let dv = own.against(r);
            let opening = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0])));
            if SURVEY {
                mark_far(neighbor.within, opening, *look, &mut far[k..k + L::AT_ONCE]);
            }
            k += L::AT_ONCE;
            // ρ_i - ρ_j = V_j - V_i to first order around rest, less the hydrostatic difference.
            let mut apart = h[1].mul_add(d[1], volume.sub(own.volume));
            if !DOWN {
                apart = h[2].mul_add(d[2], h[0].mul_add(d[0], apart));
            }
            all[0] = opening.mul_add(g, all[0]);
            all[1] = apart.mul_add(g, all[1]);
            if SLOW {
                // Twice w³ + c w⁶.
                all[5] = w3.mul_add(cored, w3.add(all[5]));
                let c = w.mul(volume);
                all[2] = d[0].mul_add(c, all[2]);
                all[3] = d[1].mul_add(c, all[3]);
                all[4] = d[2].mul_add(c, all[4]);
            }
        }
        *sums = all;
    }
}

/// Writes the sums of an octet. (A closure would be compiled without the instruction set, which took a tenth of the pass.)
#[inline(always)]
fn store<L: Octets>(of: L, scale: f32, at: usize, to: &mut [f32; ROOM]) {
    let to = &mut to[at..at + OCTET];
    // SAFETY: room for all particles.
    unsafe { of.mul(L::splat(scale)).store_eight(to.as_mut_ptr()) };
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

/// g = w² + 2c w⁵ of the cored kernel, times what `w2_times` is of w²: ∇W = -6f/h⁴ g d.
#[inline(always)]
pub fn core_gradient<L: Lanes>(w: L, w2: L, w2_times: L) -> L {
    w2.mul(w).mul_add(L::splat((2.0 * Cored::CORE) as f32), L::splat(1.0)).mul(w2_times)
}
