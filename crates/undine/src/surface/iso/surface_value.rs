//! Bayraktar's φ with surface values (eq. 12-14): particles near the surface spread wider.
//!
//! n_i = x_i - c_i points from the centroid of the neighbourhood to the particle (Steele et al. 2004) and is long near
//! the surface. With R_i = Σ_j ‖n_j‖/(k h) over the k neighbours (eq. 13) and R the greatest of them, the surface
//! value is s_i = 1 - (R_i + R/2) (eq. 12).
//!
//! Eq. 14, √Σ (1 - (r_i s_i/h)²)³, widens the kernels near the surface. The paper cuts each term at r_i = h, where
//! it is not yet zero when s_i < 1; here it runs on to r_i = h/s_i, where it is, so that φ does not jump.

use rayon::prelude::*;

use super::Source;
use super::phi::deep_inside;
use crate::simd::{Eight, Lanes, Octets};
use crate::surface::field::{Field, Shape};
use crate::surface::pairs::{PairSum, pair_sums, totals};

/// Support h, × spacing.
pub const SUPPORT: f32 = 2.0;
/// φ on the surface, as a share of φ deep inside.
const THRESHOLD: f32 = 0.8;
/// Least surface value: it bounds the reach. ‖n‖ is at most 3h/8 beside a plane, and R_i is a mean of such.
pub const LEAST: f32 = 0.5;

/// The field.
pub fn field(source: &Source) -> Field {
    let h = source.support(SUPPORT);
    let s = surface_values(source, h);
    // Deep inside R_i is 0 and s = 1 - R/2.
    let inside = s.iter().fold(0.0f32, |m, &s| m.max(s));
    Field {
        local: source.cloud.local.clone(),
        columns: vec![vec![1.0; s.len()], s.iter().map(|s| (s / h).powi(2)).collect()],
        shape: Shape::Ball,
        iso: deep_inside(h / inside, source.spacing) * source.threshold(THRESHOLD).powi(2),
        reach: h / LEAST,
        stray: 0.0,
        signed: false,
    }
}

/// s_i of every particle. All are looked at, because R is the greatest of all.
fn surface_values(source: &Source, h: f32) -> Vec<f32> {
    let cloud = source.cloud;
    let all = vec![true; cloud.keys.len()];
    let normal = pair_sums(cloud, &all, h, &[], &Centroid);
    let mean = pair_sums(cloud, &all, h, &[normal], &Mean);
    let greatest = mean.par_iter().copied().reduce(|| 0.0, f32::max);
    mean.into_iter().map(|r| (1.0 - (r + 0.5 * greatest)).max(LEAST)).collect()
}

/// 1 where r² is below 1, else 0.
#[inline(always)]
fn within<L: Lanes>(r2: L) -> L {
    let (one, zero) = (L::splat(1.0), L::splat(0.0));
    one.sub(one.sub(one.sub(r2).max(zero).mul(L::splat(1e9))).max(zero))
}

/// ‖n‖/h: the length of the mean of the ways to the neighbours.
struct Centroid;

impl PairSum for Centroid {
    type Sum<L: Octets> = [L; 4];
    type Output = f32;
    #[inline(always)]
    fn zero<L: Octets>(&self) -> [L; 4] {
        [L::splat(0.0); 4]
    }
    #[inline(always)]
    fn add<L: Octets>(&self, sum: &mut [L; 4], d: [L; 3], r2: L, _: L) {
        let w = within(r2);
        sum[0] = w.mul_add(d[0], sum[0]);
        sum[1] = w.mul_add(d[1], sum[1]);
        sum[2] = w.mul_add(d[2], sum[2]);
        sum[3] = sum[3].add(w);
    }
    #[inline(always)]
    fn finish<L: Octets>(&self, sums: &[[L; 4]; 8]) -> [f32; 8] {
        let [x, y, z, count] = totals(sums);
        x.mul_add(x, y.mul_add(y, z.mul(z))).sqrt().div(count.max(L::Eight::splat(1.0))).to_array()
    }
}

/// The mean of what the neighbours carry.
struct Mean;

impl PairSum for Mean {
    type Sum<L: Octets> = [L; 2];
    type Output = f32;
    #[inline(always)]
    fn zero<L: Octets>(&self) -> [L; 2] {
        [L::splat(0.0); 2]
    }
    #[inline(always)]
    fn add<L: Octets>(&self, sum: &mut [L; 2], _: [L; 3], r2: L, column: L) {
        let w = within(r2);
        sum[0] = w.mul_add(column, sum[0]);
        sum[1] = sum[1].add(w);
    }
    #[inline(always)]
    fn finish<L: Octets>(&self, sums: &[[L; 2]; 8]) -> [f32; 8] {
        let [sum, count] = totals(sums);
        sum.div(count.max(L::Eight::splat(1.0))).to_array()
    }
}
