//! Yu & Turk's anisotropic kernels (2013): particles moved to the mean of their neighbourhood, with kernels that are
//! flattened where the neighbours lie in a sheet: φ(x) = Σ m/ρ det G W(‖G (x - x̄)‖).
//!
//! G = R diag(1/s) Rᵀ / h with the eigenvectors R of the neighbours' covariance and s its eigenvalues over those of a
//! full neighbourhood, none below a quarter of the greatest (eq. 15) or [`LEAST`]. W has the form of poly6, which needs only
//! ‖G r‖² = rᵀMr with M = GᵀG.

use super::Source;
use super::color_field::peaks;
use super::eigen::eigen;
use super::neighborhood::{Form, Neighborhoods, RADIUS, settle};
use crate::simd::Eight;
use crate::surface::field::{Field, Shape};

/// Support h, × spacing.
pub const SUPPORT: f32 = 2.2;
/// Value on the surface: lower than without moving, which shrinks the fluid.
const THRESHOLD: f32 = 0.3;
/// Most that a kernel is stretched.
pub const STRETCH: f32 = 1.0;
/// Greatest ratio of the stretches, k_r.
const RATIO: f32 = 4.0;
/// Least stretch. With Yu & Turk's quarter of the greatest alone the kernels of a sheet of two layers are so flat that
/// they do not meet between the layers, and the sheet comes apart.
const LEAST: f32 = 0.36;
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
    let n = source.cloud.len();
    // Deep inside kernels are round.
    let round = 1.0 / (h * h);
    let mut columns = vec![peaks(source, h)];
    columns.extend([round, round, round, 0.0, 0.0, 0.0].map(|m| vec![m; n]));
    let (local, stray) = settle(source, &Flattened { h }, &mut columns);
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

/// Kernels flattened as the neighbours lie; h in cells.
struct Flattened {
    h: f32,
}

impl Form for Flattened {
    /// The weight over that of a round kernel, and the matrix.
    #[inline(always)]
    fn columns<L: Eight>(&self, around: &Neighborhoods<L>) -> [[f32; 7]; 8] {
        let [x, y, z] = around.mean;
        let weight = around.weight.mul(L::splat(1.0 / (FULL_WEIGHT * RADIUS * RADIUS * RADIUS)));
        let small = weight.below(L::splat(DROPLET));
        let aside = x.mul_add(x, y.mul_add(y, z.mul(z)));
        let deep = L::splat(FULL_ENOUGH).below(weight) & aside.below(L::splat(CENTRED * CENTRED));
        let mut out = [round(self.h, 1.0); 8];
        if deep == 0xff {
            return out;
        }
        let flat = flattened(around, self.h);
        for (k, out) in out.iter_mut().enumerate() {
            if small >> k & 1 == 1 {
                *out = round(self.h, SMALL);
            } else if deep >> k & 1 == 0 {
                for (out, flat) in out.iter_mut().zip(&flat) {
                    *out = flat[k];
                }
            }
        }
        out
    }
}

/// A round kernel of radius `scale` h.
#[inline(always)]
fn round(h: f32, scale: f32) -> [f32; 7] {
    let m = 1.0 / (h * h * scale * scale);
    [1.0 / (scale * scale * scale), m, m, m, 0.0, 0.0, 0.0]
}

/// Kernels of eight particles by the eigenvectors of their covariances; by column.
#[inline(always)]
fn flattened<L: Eight>(around: &Neighborhoods<L>, h: f32) -> [[f32; 8]; 7] {
    let (values, axes) = eigen(around.covariance);
    let greatest = values[0].max(values[1]).max(values[2]);
    let least = greatest.mul(L::splat(1.0 / RATIO));
    let mut stretch = L::splat(1.0);
    let mut m = [L::splat(0.0); 6];
    for (value, [x, y, z]) in values.into_iter().zip(axes) {
        let s = value.max(least).mul(L::splat(1.0 / FULL));
        let s = s.max(L::splat(LEAST)).min(L::splat(STRETCH));
        stretch = stretch.mul(s);
        let s = s.mul(L::splat(h));
        let k = L::splat(1.0).div(s.mul(s));
        let (kx, ky, kz) = (k.mul(x), k.mul(y), k.mul(z));
        m[0] = kx.mul_add(x, m[0]);
        m[1] = ky.mul_add(y, m[1]);
        m[2] = kz.mul_add(z, m[2]);
        m[3] = kx.mul_add(y.add(y), m[3]);
        m[4] = kx.mul_add(z.add(z), m[4]);
        m[5] = ky.mul_add(z.add(z), m[5]);
    }
    let mut out = [[0.0; 8]; 7];
    out[0] = L::splat(1.0).div(stretch).to_array();
    for (out, m) in out[1..].iter_mut().zip(m) {
        *out = m.to_array();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Lanes, Portable};

    fn shape(share: f32, covariance: [f32; 6]) -> [f32; 7] {
        let weight = Portable::splat(share * FULL_WEIGHT * RADIUS.powi(3));
        let mean = [Portable::splat(0.0); 3];
        let covariance = covariance.map(Portable::splat);
        Flattened { h: 2.0 }.columns(&Neighborhoods { weight, mean, covariance })[5]
    }

    #[test]
    fn a_full_neighborhood_gives_a_round_kernel_and_a_sheet_a_flat_one() {
        let s = shape(1.0, [FULL, FULL, FULL, 0.0, 0.0, 0.0]);
        assert_eq!(s, [1.0, 0.25, 0.25, 0.25, 0.0, 0.0, 0.0]);
        let s = shape(0.6, [FULL, 0.01, FULL, 0.0, 0.0, 0.0]);
        assert!((s[1] - 0.25).abs() < 1e-5 && (s[2] - 0.25 / (LEAST * LEAST)).abs() < 1e-3, "{s:?}");
        assert!((s[0] - 1.0 / LEAST).abs() < 1e-4, "{s:?}");
        let s = shape(0.1, [FULL, 0.01, FULL, 0.0, 0.0, 0.0]);
        assert_eq!(s, round(2.0, SMALL));
    }
}
