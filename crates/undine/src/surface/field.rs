//! A field as a sum over particles, and its value on the points of a block or anywhere in it.

mod ball;
mod ellipsoid;
mod product;

use super::cloud::{Cloud, Key, POINTS};
use super::gather::Near;
pub use product::Profile;

/// Points of a block.
pub const VALUES: usize = POINTS * POINTS * POINTS;

/// How far and in what form a particle spreads. The numbers a particle carries are columns.
#[derive(Clone, Debug)]
pub enum Shape {
    /// w (1 - k r²)³ while positive; columns w, k.
    Ball,
    /// w (1 - rᵀMr)³ while positive; columns w, Mxx, Myy, Mzz, 2Mxy, 2Mxz, 2Myz.
    Ellipsoid,
    /// w b(x) b(y) b(z); column w.
    Product(Profile),
}

/// A sum over particles; inside is where it is at least `iso`.
#[derive(Clone, Debug)]
pub struct Field {
    /// Places of the particles from the corners of their blocks, in cells.
    pub local: [Vec<f32>; 3],
    /// What they carry, as the shape says.
    pub columns: Vec<Vec<f32>>,
    /// Their form.
    pub shape: Shape,
    /// Value on the surface.
    pub iso: f32,
    /// Farthest that any particle is felt along an axis, cells.
    pub reach: f32,
    /// Farthest that a particle may lie outside its block, cells.
    pub stray: f32,
    /// Whether the weights have both signs: the sum then tells sides apart and is as steep on either.
    pub signed: bool,
}

/// The field at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Its value.
    pub value: f32,
    /// Its gradient, per cell.
    pub gradient: [f32; 3],
    /// Σ value of each particle × velocity, where asked for.
    pub velocity: [f32; 3],
}

impl Field {
    /// Collects the particles felt in a block.
    pub fn collect(&self, cloud: &Cloud, key: Key, near: &mut Near) {
        near.collect(cloud, key, &self.local, &self.columns, self.reach, self.reach + self.stray);
    }

    /// The values on the points of a block, x fastest.
    pub fn fill(&self, near: &Near, out: &mut [f32; VALUES]) {
        out.fill(0.0);
        match &self.shape {
            Shape::Ball => ball::fill(near, out),
            Shape::Ellipsoid => ellipsoid::fill(near, out),
            Shape::Product(profile) => product::fill(profile, near, out),
        }
    }

    /// The field at a point of the block, in cells from its corner; `velocity`: parallel to `near`, or empty.
    pub fn at(&self, near: &Near, velocity: &[Vec<f32>; 3], p: [f32; 3]) -> Sample {
        match &self.shape {
            Shape::Ball => ball::at(near, velocity, p),
            Shape::Ellipsoid => ellipsoid::at(near, velocity, p),
            Shape::Product(profile) => product::at(profile, near, velocity, p),
        }
    }

    /// What particle `k` of `near` adds at a point.
    pub fn share(&self, near: &Near, k: usize, p: [f32; 3]) -> f32 {
        let d: [f32; 3] = std::array::from_fn(|a| p[a] - near.x[a][k]);
        let c = |i: usize| near.column[i][k];
        let q = match &self.shape {
            Shape::Ball => c(1) * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]),
            Shape::Ellipsoid => {
                d[0] * (c(1) * d[0] + c(4) * d[1] + c(5) * d[2])
                    + d[1] * (c(2) * d[1] + c(6) * d[2])
                    + c(3) * d[2] * d[2]
            }
            Shape::Product(b) => return c(0) * b.value(d[0]) * b.value(d[1]) * b.value(d[2]),
        };
        c(0) * (1.0 - q).max(0.0).powi(3)
    }
}

/// First and last point, from 0 to 7, within `reach` of `x`, and a hair more.
#[inline(always)]
fn span(x: f32, reach: f32) -> (usize, usize) {
    let low = (x - reach).max(0.0) as i32;
    let high = (x + reach).min(7.0) as i32;
    (low as usize, (high + 1).clamp(0, 8) as usize)
}

/// Enters a generic function over lanes with AVX2 when there is, else with portable lanes.
macro_rules! dispatch {
    ($name:ident, $inner:ident, $(<$p:ident: $bound:ident>)? ($($arg:ident: $kind:ty),*) $(-> $result:ty)?) => {
        pub fn $name$(<$p: $bound>)?($($arg: $kind),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::simd::{Avx2, avx2_available};
                #[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
                fn fast$(<$p: $bound>)?($($arg: $kind),*) $(-> $result)? {
                    $inner::<Avx2 $(, $p)?>($($arg),*)
                }
                if avx2_available() {
                    // SAFETY: the instruction set was just checked.
                    return unsafe { fast($($arg),*) };
                }
            }
            $inner::<$crate::simd::Portable $(, $p)?>($($arg),*)
        }
    };
}
pub(super) use dispatch;

#[cfg(test)]
mod tests;
