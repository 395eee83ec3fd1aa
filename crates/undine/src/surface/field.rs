//! A field as a sum over particles, and its value on the points of a block or anywhere in it.

mod ball;
mod ellipsoid;
mod product;
mod sample;

use super::cloud::{Cloud, EDGE, Key, POINTS};
use super::gather::Near;
pub use product::Profile;
pub use sample::{AT_ONCE, Points, Samples};

/// Points of a block.
pub const VALUES: usize = POINTS * POINTS * POINTS;

/// Values that begin where a line of the cache does. Rows of eight that are read and written again and again took three times as long
/// where every other one lay across two lines, which depended on what else was in memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Aligned<T>(pub T);

/// 0 to 7: the x of the points of a row.
const RAMP: [f32; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

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

impl Field {
    /// Collects the particles felt in a block and works out how far each of them is.
    pub fn collect(&self, cloud: &Cloud, key: Key, near: &mut Near) {
        let felt = ([-self.reach; 3], [EDGE as f32 + self.reach; 3]);
        near.collect(cloud, key, &self.local, &self.columns, felt, self.reach + self.stray);
        self.measure(near);
    }

    /// Works out how far each particle is felt.
    fn measure(&self, near: &mut Near) {
        match &self.shape {
            Shape::Ball => ball::measure(near),
            Shape::Ellipsoid => ellipsoid::measure(near),
            Shape::Product(profile) => product::measure(profile, near),
        }
    }

    /// The values on the points of a block, x fastest. Only those below `enough` are sure to be right; others may
    /// lack parts of what exceeds it. All parts are positive and each point sums them in the order of the cloud, so
    /// that blocks beside each other agree on which those are and, bit for bit, on the values of all others.
    /// `picked`: scratch.
    pub fn fill(&self, near: &Near, enough: f32, out: &mut [f32; VALUES], picked: &mut Vec<u32>) {
        out.fill(0.0);
        match &self.shape {
            Shape::Ball => ball::fill(near, out),
            Shape::Ellipsoid => ellipsoid::fill(near, self.reach, enough, out, picked),
            Shape::Product(profile) => product::fill(profile, near, out),
        }
    }

    /// The field at the first `count` points, of the block; `velocity`: parallel to `near`, or empty; `picked`: scratch.
    pub fn at(
        &self,
        near: &Near,
        velocity: &[Vec<f32>; 3],
        points: &Points,
        count: usize,
        picked: &mut Vec<u32>,
    ) -> Samples {
        match &self.shape {
            Shape::Ball => sample::samples(&ball::Balls::new(near), near, velocity, points, count, picked),
            Shape::Ellipsoid => {
                sample::samples(&ellipsoid::Ellipsoids::new(near), near, velocity, points, count, picked)
            }
            Shape::Product(profile) => {
                sample::samples(&product::Products::new(profile, near), near, velocity, points, count, picked)
            }
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

/// Enters a generic function over lanes: eight of them, of the best instruction set there is, or after `widest` the most.
macro_rules! dispatch {
    (widest $name:ident, $($rest:tt)*) => {
        $crate::surface::field::dispatch!(@ Avx512, $name, $($rest)*);
    };
    (@ $widest:ident, $name:ident, $inner:ident, $(<$p:ident: $bound:ident>)? ($($arg:ident: $kind:ty),*) $(-> $result:ty)?) => {
        pub fn $name$(<$p: $bound>)?($($arg: $kind),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::simd::{Level, level};
                #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
                fn avx512$(<$p: $bound>)?($($arg: $kind),*) $(-> $result)? {
                    $inner::<$crate::simd::$widest $(, $p)?>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
                fn avx2$(<$p: $bound>)?($($arg: $kind),*) $(-> $result)? {
                    $inner::<$crate::simd::Avx2 $(, $p)?>($($arg),*)
                }
                match level() {
                    // SAFETY: this processor has the instruction set.
                    Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    Level::Avx2 => return unsafe { avx2($($arg),*) },
                    Level::Portable => {}
                }
            }
            $inner::<$crate::simd::Portable $(, $p)?>($($arg),*)
        }
    };
    ($name:ident, $($rest:tt)*) => {
        $crate::surface::field::dispatch!(@ Avx2, $name, $($rest)*);
    };
}
pub(super) use dispatch;

#[cfg(test)]
mod tests;
