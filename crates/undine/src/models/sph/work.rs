//! The working copy of the particles: local f32 coordinates in units of h, sorted by cell, laid out for SIMD.

use rayon::prelude::*;

use super::continuity::Totals;
use super::crowd::Found;
use super::octet::Exact;
use crate::neighbors::{Candidates, Grid};
use crate::simd::Lanes;
use crate::state::pages::Pages;
use crate::state::particles::{BLOCK, Particles};

/// Slot of a [`Record`]: pressure, Pa.
pub const PRESSURE: usize = 3;
/// Slot of the volume, × Δ³; negative where the particle is at a surface (see [`Work::surface`]).
pub const VOLUME: usize = 7;

/// Particles from which on their memory counts.
pub const MANY: usize = 1 << 17;

/// All that the force pass needs of a neighbour, in one 32-byte load:
/// x y z (units of h), pressure (Pa), velocity (m/s), volume (× Δ³).
pub type Record = [f32; 8];

/// Working arrays, kept between steps.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Local coordinates as of the last search for neighbours, units of h, each with 16 more entries so that full vectors can be read
    /// at the end.
    pub x: Pages<f32>,
    /// See `x`.
    pub y: Pages<f32>,
    /// See `x`.
    pub z: Pages<f32>,
    /// One record a particle.
    pub records: Vec<Record>,
    /// Colour-field gradient n of surface particles as (n/√|n|, |n|), h = 1; zero inside.
    pub surface: Vec<[f32; 4]>,
    /// Relative compression ρ/ρ0 - 1 that the pressure answers to.
    pub compression: Vec<f32>,
    /// Neighbours by block, as the density pass found them; empty where it keeps none.
    pub found: Found,
    /// Those of them that count, by block, as the density pass saw them; empty where it keeps none.
    pub exact: Vec<Exact>,
    /// Sums by block, of the continuity pass.
    pub totals: Vec<Totals>,
    n: usize,
}

impl Work {
    /// Number of particles.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Copies sorted particles into working form; the coordinates to search by only where neighbours are to be `fresh`.
    pub fn fill(&mut self, particles: &Particles, grid: &Grid, fresh: bool) {
        let n = particles.len();
        self.n = n;
        self.records.resize(n, [0.0; 8]);
        if fresh {
            let Particles { x, y, z, .. } = particles;
            self.place_points(grid, [x, y, z]);
        }
        self.records.par_chunks_mut(BLOCK).enumerate().for_each(|(block, records)| {
            let range = block * BLOCK..block * BLOCK + records.len();
            let mut local = [[0.0; BLOCK]; 3];
            for (a, local) in local.iter_mut().enumerate() {
                grid.locals(a, &particles.position()[a][range.clone()], local);
            }
            let [x, y, z] = &local;
            let moved = particles.velocity[range.clone()].iter().zip(&particles.density[range]);
            for (k, (record, (v, density))) in records.iter_mut().zip(moved).enumerate() {
                *record = [x[k], y[k], z[k], 0.0, v[0], v[1], v[2], 1.0 / density];
            }
        });
    }

    /// Gives back the memory of what a search for neighbours makes anew.
    pub fn shed(&mut self) {
        (self.x, self.y, self.z) = Default::default();
        self.found.shed();
    }

    /// Takes sorted places that are no fluid (parallel arrays, m): coordinates, and records with these alone.
    pub fn place(&mut self, grid: &Grid, position: [&[f64]; 3]) {
        self.place_points(grid, position);
        self.records.resize(self.n, [0.0; 8]);
        let (x, y, z) = (&self.x, &self.y, &self.z);
        self.records.par_iter_mut().enumerate().with_min_len(BLOCK).for_each(|(i, r)| {
            *r = [x[i], y[i], z[i], 0.0, 0.0, 0.0, 0.0, 0.0];
        });
    }

    /// Takes the coordinates of sorted places (parallel arrays, m) alone.
    pub fn place_points(&mut self, grid: &Grid, position: [&[f64]; 3]) {
        let n = position[0].len();
        self.n = n;
        for (a, local) in [&mut self.x, &mut self.y, &mut self.z].into_iter().enumerate() {
            local.resize(n + 16);
            // The tail is masked out of every result; any finite value does.
            local[n..].fill(0.0);
            let blocks = local[..n].par_chunks_mut(8 * BLOCK).zip(position[a].par_chunks(8 * BLOCK));
            blocks.for_each(|(local, x)| grid.locals(a, x, local));
        }
    }

    /// The next bunch of particles from i on, before `end`, and its candidates: how many there are and their
    /// coordinates, those of the last repeated.
    #[inline(always)]
    pub fn bunch<L: Lanes, const B: usize>(
        &self,
        grid: &Grid,
        i: usize,
        end: usize,
        out: &mut Candidates,
    ) -> (usize, [[f32; 3]; B]) {
        let n = grid.bunch::<B>(&self.x[i..end], &self.y[i..end], &self.z[i..end]);
        let mut points = [[self.x[i], self.y[i], self.z[i]]; B];
        for (k, point) in points.iter_mut().enumerate().skip(1) {
            let k = i + k.min(n - 1);
            *point = [self.x[k], self.y[k], self.z[k]];
        }
        let (mut low, mut high) = (points[0], points[0]);
        for point in &points[1..] {
            for a in 0..3 {
                low[a] = low[a].min(point[a]);
                high[a] = high[a].max(point[a]);
            }
        }
        grid.candidates::<L>(low, high, out);
        (n, points)
    }

    /// Local coordinates of particle i.
    #[inline(always)]
    pub fn at(&self, i: usize) -> [f32; 3] {
        let [x, y, z, ..] = self.records[i];
        [x, y, z]
    }

    /// Colour-field gradient of particle i times h, pointing into the fluid; zero inside.
    pub fn normal(&self, i: usize) -> glam::DVec3 {
        let [x, y, z, length] = self.surface.get(i).copied().unwrap_or_default();
        glam::Vec3::new(x, y, z).as_dvec3() * f64::from(length).sqrt()
    }

    /// Pressure of particle i, Pa.
    #[inline(always)]
    pub fn pressure(&self, i: usize) -> f32 {
        self.records[i][PRESSURE]
    }

    /// Relative density ρ/ρ0 of particle i.
    #[inline(always)]
    pub fn relative_density(&self, i: usize) -> f32 {
        1.0 / self.records[i][VOLUME].abs()
    }
}
