//! Density pass: ρ_i = Σ m W (Müller eq. 3), with poly6, as the number density of Solenthaler & Pajarola 2008 so that
//! fluids of different mass meet without a spurious pressure. Plus what the walls would hold (see `wall_kernels`).

use std::f64::consts::PI;

use glam::DVec3;
use rayon::prelude::*;

use super::params::Params;
use super::wall_kernels::WallKernels;
use super::work::{Record, VOLUME, Work};
use crate::models::Around;
use crate::neighbors::{BUNCH, Candidates, Grid};
use crate::simd::{Lanes, widest};
use crate::state::particles::{BLOCK, Particles};

/// Factor of Σ (1-s²)³ that makes the rest lattice 1.
pub fn normalisation(p: &Params) -> f64 {
    315.0 / (64.0 * PI) * (p.spacing / p.h).powi(3) / p.lattice
}

/// Writes each particle's volume (× Δ³, the inverse of its relative density) into its record.
pub fn density(
    work: &mut Work,
    grid: &Grid,
    particles: &Particles,
    around: &Around,
    walls: &WallKernels,
    params: &Params,
) {
    let scale = normalisation(params) as f32;
    let mut records = std::mem::take(&mut work.records);
    let n = work.len();
    let mut compression = std::mem::take(&mut work.compression);
    compression.resize(n, 0.0);
    let blocks = (records.par_chunks_mut(BLOCK), compression.par_chunks_mut(BLOCK));
    blocks.into_par_iter().enumerate().for_each(|(block, (records, compression))| {
        let first = block * BLOCK;
        sums(work, grid, first, records);
        for (k, record) in records.iter_mut().enumerate() {
            let i = first + k;
            debug_assert!(i < n);
            let p = DVec3::new(particles.x[i], particles.y[i], particles.z[i]);
            let held = if walls.is_near(around.walls, p) { walls.density(around.walls, p) } else { 0.0 };
            let relative = scale * record[VOLUME] + held;
            record[VOLUME] = 1.0 / relative;
            compression[k] = relative - 1.0;
        }
    });
    (work.records, work.compression) = (records, compression);
}

/// Σ_j (1-s²)³ of the particles from `first` on, into the volume slots; chooses the instruction set.
pub fn sums(work: &Work, grid: &Grid, first: usize, records: &mut [Record]) {
    widest!(sums_in(work: &Work, grid: &Grid, first: usize, records: &mut [Record]));
}

/// The loop itself, for any lanes.
#[inline(always)]
pub fn sums_in<L: Lanes>(work: &Work, grid: &Grid, first: usize, records: &mut [Record]) {
    let one = L::splat(1.0);
    let mut candidates = Candidates::default();
    let (mut i, end) = (first, first + records.len());
    while i < end {
        let (n, points) = work.bunch::<L, BUNCH>(grid, i, end, &mut candidates);
        let mut sums = [L::splat(0.0); BUNCH];
        for (shift, chunks) in candidates.groups() {
            let q = images::<L, BUNCH>(&points, shift);
            for c in chunks {
                // SAFETY: candidates are below n; the tail has 32 entries and is read from at most 16 on.
                let (at, keep) =
                    unsafe { (load(work, c.first), L::load(TAIL.as_ptr().add(16 - c.count as usize))) };
                for b in 0..BUNCH {
                    let w = one.sub(square_distance(q[b], at)).max(L::splat(0.0)).mul(keep);
                    let w2 = w.mul(w);
                    sums[b] = w2.mul_add(w, sums[b]);
                }
            }
        }
        for b in 0..n {
            records[i - first + b][VOLUME] = sums[b].sum();
        }
        i += n;
    }
}

/// The points of a bunch moved to a periodic image, each in all lanes.
#[inline(always)]
pub fn images<L: Lanes, const B: usize>(points: &[[f32; 3]; B], shift: [f32; 3]) -> [[L; 3]; B] {
    let mut out = [[L::splat(0.0); 3]; B];
    for b in 0..B {
        for a in 0..3 {
            out[b][a] = L::splat(points[b][a] + shift[a]);
        }
    }
    out
}

/// Coordinates of the particles from j on.
///
/// # Safety
/// j must be below the number of particles; the arrays are 16 longer.
#[inline(always)]
pub unsafe fn load<L: Lanes>(work: &Work, j: u32) -> [L; 3] {
    let j = j as usize;
    // SAFETY: see above.
    unsafe {
        [L::load(work.x.as_ptr().add(j)), L::load(work.y.as_ptr().add(j)), L::load(work.z.as_ptr().add(j))]
    }
}

/// Squared distances between points.
#[inline(always)]
pub fn square_distance<L: Lanes>(p: [L; 3], q: [L; 3]) -> L {
    let (dx, dy, dz) = (p[0].sub(q[0]), p[1].sub(q[1]), p[2].sub(q[2]));
    dz.mul_add(dz, dy.mul_add(dy, dx.mul(dx)))
}

/// Sixteen ones, then sixteen zeros: read from 16 - n on, it keeps the first n lanes.
static TAIL: [f32; 32] = {
    let mut tail = [0.0; 32];
    let mut k = 0;
    while k < 16 {
        tail[k] = 1.0;
        k += 1;
    }
    tail
};
