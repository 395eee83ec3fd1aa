//! Surface normals from the colour field (Müller eq. 15, 16, 23, 24). Only frames need them, not steps.

use std::f64::consts::PI;

use rayon::prelude::*;

use super::crowd::Near;
use super::params::Params;
use super::work::{Record, VOLUME, Work};
use crate::neighbors::{Candidates, Grid};
use crate::simd::Portable;
use crate::state::particles::BLOCK;

/// Below this |∇c|·h a particle is inside the fluid and gets no normal (eq. 23). A flat surface has 1.1.
pub const SURFACE: f32 = 0.5;

/// The outward unit normal -n/|n| of surface particles, zero inside.
pub fn normals(work: &Work, grid: &Grid, p: &Params) -> Vec<[f32; 3]> {
    let factor = (945.0 / (32.0 * PI) * (p.spacing / p.h).powi(3)) as f32;
    let mut normals = vec![[0.0; 3]; work.len()];
    // Where no neighbours are kept, all are sorted.
    normals.par_chunks_mut(BLOCK).enumerate().for_each(|(block, normals)| match work.found.get(block) {
        Some(found) => kept(work, found, block * BLOCK, normals),
        None => searched(work, grid, block * BLOCK, normals),
    });
    normals.par_iter_mut().with_min_len(BLOCK).for_each(|n| {
        let length = factor * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
        *n = if length > SURFACE { n.map(|v| v * factor / length) } else { [0.0; 3] };
    });
    normals
}

/// Adds the part of a neighbour to the gradient at `p`.
#[inline(always)]
fn add(n: &mut [f32; 3], p: [f32; 3], shift: [f32; 3], r: &Record) {
    let d: [f32; 3] = std::array::from_fn(|a| p[a] + shift[a] - r[a]);
    let w = (1.0 - d[0] * d[0] - d[1] * d[1] - d[2] * d[2]).max(0.0);
    let g = r[VOLUME].abs() * w * w;
    *n = std::array::from_fn(|a| n[a] + g * d[a]);
}

/// Gradients from the neighbours that the steps keep.
fn kept(work: &Work, found: Near, first: usize, out: &mut [[f32; 3]]) {
    for (k, batch, bunch) in found.bunches(first) {
        for i in bunch {
            found.near(k).for_each(|j| add(&mut out[i - first], work.at(i), batch.shift, &work.records[j]));
        }
    }
}

fn searched(work: &Work, grid: &Grid, first: usize, out: &mut [[f32; 3]]) {
    let mut candidates = Candidates::default();
    for (k, n) in out.iter_mut().enumerate() {
        let at = work.at(first + k);
        grid.candidates::<Portable>(at, at, &mut candidates);
        for (shift, chunks) in candidates.groups() {
            for r in chunks.iter().flat_map(|c| &work.records[c.range()]) {
                add(n, at, shift, r);
            }
        }
    }
}
