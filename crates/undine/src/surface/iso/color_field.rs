//! Müller's smoothed colour field (eq. 15): c(r) = Σ m/ρ W(r - r_j, h) with the poly6 kernel (eq. 20), 1 deep inside
//! and 0 outside.

use std::f32::consts::PI;

use super::Source;
use crate::simd::{Eight, Octets};
use crate::surface::field::{Field, Shape};
use crate::surface::pairs::{PairSum, pair_sums};

/// Support h, × spacing.
pub const SUPPORT: f32 = 2.0;
/// Value on the surface.
const THRESHOLD: f32 = 0.5;

/// W(0) h³ of poly6.
pub const PEAK: f32 = 315.0 / (64.0 * PI);

/// The field.
pub fn field(source: &Source) -> Field {
    let h = source.support(SUPPORT);
    Field {
        local: source.cloud.local.clone(),
        columns: vec![peaks(source, h), vec![1.0 / (h * h); source.cloud.len()]],
        shape: Shape::Ball,
        iso: source.threshold(THRESHOLD),
        reach: h,
        stray: 0.0,
        signed: false,
    }
}

/// m/ρ W(0) of every particle, with m/ρ from the densities of the frame, else 1/ΣW.
pub fn peaks(source: &Source, h: f32) -> Vec<f32> {
    let rest = (source.spacing / h).powi(3) * PEAK;
    if let Some(expansion) = &source.expansion {
        return expansion.iter().map(|e| e * rest).collect();
    }
    let mut sums = pair_sums(source.cloud, &source.wanted, h, &[], &Poly6);
    sums.iter_mut().for_each(|s| *s = if *s > 0.0 { 1.0 / *s } else { rest });
    sums
}

/// Σ (1 - r²/h²)³, the particle itself included.
struct Poly6;

impl PairSum for Poly6 {
    type Sum<L: Octets> = L;
    type Output = f32;
    #[inline(always)]
    fn zero<L: Octets>(&self) -> L {
        L::splat(0.0)
    }
    #[inline(always)]
    fn add<L: Octets>(&self, sum: &mut L, _: [L; 3], r2: L, _: L) {
        let t = L::splat(1.0).sub(r2).max(L::splat(0.0));
        *sum = t.mul(t).mul_add(t, *sum);
    }
    #[inline(always)]
    fn finish<L: Octets>(&self, sums: &[L; 8]) -> [f32; 8] {
        L::sums(*sums).to_array()
    }
}
