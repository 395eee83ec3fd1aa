//! The weighted mean and covariance of the neighbours of a particle (Yu & Turk eq. 6-9).

use super::Source;
use crate::simd::Lanes;
use crate::surface::pairs::{PairSum, pair_sums};

/// Radius of the neighbourhood, × spacing.
pub const RADIUS: f32 = 2.5;

/// Weighted moments over the neighbours, in units of the radius.
#[derive(Clone, Copy, Debug, Default)]
pub struct Neighborhood {
    /// Σ w; a lone particle has 1.
    pub weight: f32,
    /// The weighted mean of the neighbours' places, from the particle.
    pub mean: [f32; 3],
    /// The weighted covariance around that mean: xx, yy, zz, xy, xz, yz.
    pub covariance: [f32; 6],
}

/// The neighbourhoods of the wanted particles; the others have no weight.
pub fn neighborhoods(source: &Source) -> Vec<Neighborhood> {
    pair_sums(source.cloud, &source.wanted, RADIUS * source.spacing, &[], &Moments)
}

struct Moments;

impl PairSum for Moments {
    type Sum<L: Lanes> = [L; 10];
    type Output = Neighborhood;
    #[inline(always)]
    fn zero<L: Lanes>(&self) -> [L; 10] {
        [L::splat(0.0); 10]
    }
    // w = 1 - (r/R)³ (eq. 11)
    #[inline(always)]
    fn add<L: Lanes>(&self, s: &mut [L; 10], d: [L; 3], r2: L, _: L) {
        let w = L::splat(1.0).sub(r2.mul(r2.sqrt())).max(L::splat(0.0));
        let (x, y, z) = (w.mul(d[0]), w.mul(d[1]), w.mul(d[2]));
        s[0] = s[0].add(w);
        s[1] = s[1].add(x);
        s[2] = s[2].add(y);
        s[3] = s[3].add(z);
        s[4] = x.mul_add(d[0], s[4]);
        s[5] = y.mul_add(d[1], s[5]);
        s[6] = z.mul_add(d[2], s[6]);
        s[7] = x.mul_add(d[1], s[7]);
        s[8] = x.mul_add(d[2], s[8]);
        s[9] = y.mul_add(d[2], s[9]);
    }
    #[inline(always)]
    fn finish<L: Lanes>(&self, s: &[L; 10]) -> Neighborhood {
        let weight = s[0].sum();
        let [x, y, z] = [s[1].sum() / weight, s[2].sum() / weight, s[3].sum() / weight];
        let c = [s[4].sum(), s[5].sum(), s[6].sum(), s[7].sum(), s[8].sum(), s[9].sum()];
        let product = [x * x, y * y, z * z, x * y, x * z, y * z];
        let mut covariance = [0.0; 6];
        for k in 0..6 {
            covariance[k] = c[k] / weight - product[k];
        }
        Neighborhood { weight, mean: [x, y, z], covariance }
    }
}
