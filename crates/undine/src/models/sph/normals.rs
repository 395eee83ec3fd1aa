//! Surface normals from the colour field (Müller eq. 15, 16, 23, 24). Only frames need them, not steps.

use std::f64::consts::PI;

use rayon::prelude::*;

use super::params::Params;
use super::work::{VOLUME, Work};
use crate::neighbors::{Candidates, Grid};
use crate::simd::Portable;

/// Below this |∇c|·h a particle is inside the fluid and gets no normal (eq. 23). A flat surface has 1.1.
pub const SURFACE: f32 = 0.5;

/// The outward unit normal -n/|n| of surface particles, zero inside.
pub fn normals(work: &Work, grid: &Grid, p: &Params) -> Vec<[f32; 3]> {
    let factor = (945.0 / (32.0 * PI) * (p.spacing / p.h).powi(3)) as f32;
    (0..work.len())
        .into_par_iter()
        .map_init(Candidates::default, |candidates, i| {
            let at = work.at(i);
            let mut n = [0.0f32; 3];
            grid.candidates::<Portable>(at, at, candidates);
            for (shift, chunks) in candidates.groups() {
                for r in chunks.iter().flat_map(|c| &work.records[c.range()]) {
                    let d: [f32; 3] = std::array::from_fn(|a| at[a] + shift[a] - r[a]);
                    let w = (1.0 - d[0] * d[0] - d[1] * d[1] - d[2] * d[2]).max(0.0);
                    let g = r[VOLUME].abs() * w * w;
                    n = std::array::from_fn(|a| n[a] + g * d[a]);
                }
            }
            let length = factor * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
            if length > SURFACE { n.map(|v| v * factor / length) } else { [0.0; 3] }
        })
        .collect()
}
