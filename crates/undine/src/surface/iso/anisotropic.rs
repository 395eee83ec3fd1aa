//! Yu & Turk's anisotropic kernels (2013): particles moved to the mean of their neighbourhood, with kernels that are
//! flattened where the neighbours lie in a sheet: φ(x) = Σ m/ρ det G W(‖G (x - x̄)‖).
//!
//! G = R diag(1/s) Rᵀ / h with the eigenvectors R of the neighbours' covariance and s its eigenvalues over those of a
//! full neighbourhood, none below a quarter of the greatest (eq. 15). W has the form of poly6, which needs only
//! ‖G r‖² = rᵀMr with M = GᵀG.

use rayon::prelude::*;

use super::color_field::{PEAK, volumes};
use super::eigen::eigen;
use super::neighborhood::{Neighborhood, RADIUS, neighborhoods};
use super::{Source, moved};
use crate::surface::field::{Field, Shape};

/// Support h, × spacing.
pub const SUPPORT: f32 = 2.2;
/// Value on the surface: lower than without moving, which shrinks the fluid.
const THRESHOLD: f32 = 0.3;
/// Most that a kernel is stretched.
pub const STRETCH: f32 = 1.0;
/// Greatest ratio of the stretches, k_r.
const RATIO: f32 = 4.0;
/// Weight of the neighbourhood, as a share of that at rest, below which a particle is a droplet and stays round; the
/// paper counts 25 neighbours.
const DROPLET: f32 = 0.25;
/// Weight of the neighbourhood, as a share of that at rest, and distance of its mean, × radius, from which on a
/// particle is deep inside and its kernel round: no need to look for axes.
const FULL_ENOUGH: f32 = 0.9;
const CENTRED: f32 = 0.05;
/// Size of the kernel of a droplet, k_n.
const SMALL: f32 = 0.6;

/// The eigenvalue of the covariance of w = 1 - r³ in a full unit ball: ∫ w r⁴ dr / (3 ∫ w r² dr) = (1/5 - 1/8)/½.
const FULL: f32 = 0.15;
/// Its weight over the number density: 4π ∫ w r² dr = 4π/6.
const FULL_WEIGHT: f32 = 4.0 * std::f32::consts::PI / 6.0;

/// The field.
pub fn field(source: &Source) -> Field {
    let h = source.support(SUPPORT);
    let around = neighborhoods(source);
    let (local, stray) = moved(source, &around, RADIUS * source.spacing);
    let volume = volumes(source, h);
    let rest = FULL_WEIGHT * RADIUS.powi(3);
    let shapes: Vec<[f32; 7]> = around
        .par_iter()
        .zip(volume)
        .with_min_len(1024)
        .map(|(around, volume)| shape(around, volume, h, rest))
        .collect();
    let columns = (0..7).map(|c| shapes.iter().map(|s| s[c]).collect()).collect();
    Field {
        local,
        columns,
        shape: Shape::Ellipsoid,
        iso: source.threshold(THRESHOLD),
        reach: h * STRETCH,
        stray,
        signed: false,
    }
}

/// Weight and matrix of a particle; `rest`: Σ w of a full neighbourhood.
fn shape(around: &Neighborhood, volume: f32, h: f32, rest: f32) -> [f32; 7] {
    let round = |scale: f32| {
        let m = 1.0 / (h * scale).powi(2);
        [volume * PEAK / (h * scale).powi(3), m, m, m, 0.0, 0.0, 0.0]
    };
    // Particles that nobody looked at, without weight, lie deep inside too.
    let [x, y, z] = around.mean;
    let deep = around.weight > FULL_ENOUGH * rest && x * x + y * y + z * z < CENTRED * CENTRED;
    if around.weight == 0.0 || deep {
        return round(1.0);
    }
    if around.weight < DROPLET * rest {
        return round(SMALL);
    }
    let (values, axes) = eigen(around.covariance);
    let greatest = values[0].max(values[1]).max(values[2]);
    let s = values.map(|v| (v.max(greatest / RATIO) / FULL).clamp(STRETCH / RATIO / 2.0, STRETCH));
    let mut out = [0.0; 7];
    out[0] = volume * PEAK / (h.powi(3) * s[0] * s[1] * s[2]);
    for (axis, s) in axes.iter().zip(s) {
        let k = 1.0 / (s * h).powi(2);
        let [x, y, z] = *axis;
        for (m, product) in
            out[1..].iter_mut().zip([x * x, y * y, z * z, 2.0 * x * y, 2.0 * x * z, 2.0 * y * z])
        {
            *m += k * product;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_neighborhood_gives_a_round_kernel_and_a_sheet_a_flat_one() {
        let full =
            Neighborhood { weight: 50.0, mean: [0.0; 3], covariance: [FULL, FULL, FULL, 0.0, 0.0, 0.0] };
        let s = shape(&full, 1.0, 2.0, 50.0);
        for a in 1..4 {
            assert!((s[a] - 0.25).abs() < 1e-5, "{s:?}");
        }
        let sheet = Neighborhood { weight: 30.0, covariance: [FULL, 0.01, FULL, 0.0, 0.0, 0.0], ..full };
        let s = shape(&sheet, 1.0, 2.0, 50.0);
        assert!((s[1] - 0.25).abs() < 1e-5 && (s[2] - 0.25 * 16.0).abs() < 1e-3, "{s:?}");
    }
}
