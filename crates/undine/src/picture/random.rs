//! Numbers that look random but follow from the pixel alone, so that a picture does not depend on threads.

use glam::{Vec2, Vec3};

/// Dimensions in which the samples of a pixel are spread evenly, not merely at random.
const EVEN: usize = 8;
/// The generalised golden ratio of that many dimensions: the root of x⁹ = x + 1 (Roberts 2018).
const GOLDEN: f64 = 1.085_070_245_491_450_8;

/// Numbers 0..1 for one sample of one pixel. The first [`EVEN`] of all samples of a pixel are spread evenly; the rest
/// is PCG32 (O'Neill 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    even: [f32; EVEN],
    used: usize,
}

impl Random {
    /// The sequence of a pair of numbers, with nothing spread evenly.
    pub fn new(a: u64, b: u64) -> Self {
        let mut s = Self {
            state: mix(a ^ mix(b.wrapping_add(0x9e37_79b9_7f4a_7c15))),
            even: [0.0; EVEN],
            used: EVEN,
        };
        s.bits();
        s
    }

    /// Sample number `sample` of a pixel.
    pub fn of_pixel(pixel: u64, sample: u32) -> Self {
        // One shift a pixel and dimension, one step a sample.
        let mut shift = Self::new(pixel, u64::MAX);
        let mut s = Self::new(pixel, u64::from(sample));
        let mut step = 1.0;
        for x in &mut s.even {
            step /= GOLDEN;
            let at = f64::from(shift.unit()) + f64::from(sample) * step;
            *x = (at - at.floor()) as f32;
        }
        s.used = 0;
        s
    }

    #[inline]
    fn bits(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
    }

    /// Evenly spread in 0..1.
    #[inline]
    pub fn unit(&mut self) -> f32 {
        if let Some(x) = self.even.get(self.used) {
            self.used += 1;
            return x.min(0.999_999_9);
        }
        (self.bits() >> 8) as f32 * (1.0 / 16_777_216.0)
    }

    /// Two at once.
    #[inline]
    pub fn pair(&mut self) -> Vec2 {
        Vec2::new(self.unit(), self.unit())
    }
}

/// SplitMix64's finaliser.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `i`-th point of the R2 sequence (Roberts 2018), moved by `shift`: any stretch of it covers the square evenly.
#[inline]
pub fn r2(i: u32, shift: Vec2) -> Vec2 {
    let g = Vec2::new(0.754_877_7, 0.569_840_3);
    (shift + (i as f32) * g).map(|x| x - x.floor())
}

/// A direction around unit `n` with a density ∝ cosine, from a point of the unit square.
#[inline]
pub fn cosine_direction(n: Vec3, u: Vec2) -> Vec3 {
    let phi = std::f32::consts::TAU * u.x;
    let r = u.y.clamp(0.0, 1.0).sqrt();
    let (t, b) = n.any_orthonormal_pair();
    (r * phi.cos() * t + r * phi.sin() * b + (1.0 - r * r).max(0.0).sqrt() * n).normalize_or(n)
}

/// A direction evenly within the cone of half angle `angle` (small, rad) around unit `n`.
#[inline]
pub fn cone_direction(n: Vec3, angle: f32, u: Vec2) -> Vec3 {
    let phi = std::f32::consts::TAU * u.x;
    let r = u.y.clamp(0.0, 1.0).sqrt() * angle.tan();
    let (t, b) = n.any_orthonormal_pair();
    (n + r * phi.cos() * t + r * phi.sin() * b).normalize_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_within_zero_and_one_and_average_a_half() {
        let mut r = Random::new(3, 4);
        let v: Vec<f32> = (0..10_000).map(|_| r.unit()).collect();
        assert!(v.iter().all(|x| (0.0..1.0).contains(x)));
        assert!((v.iter().sum::<f32>() / 10_000.0 - 0.5).abs() < 0.01);
    }

    #[test]
    fn cosine_directions_stay_above_the_surface_and_average_two_thirds_up() {
        let n = Vec3::new(0.6, 0.0, 0.8);
        let mut sum = 0.0;
        for i in 0..4096 {
            let d = cosine_direction(n, r2(i, Vec2::ZERO));
            assert!(d.dot(n) > -1e-6 && d.is_normalized());
            sum += d.dot(n);
        }
        assert!((sum / 4096.0 - 2.0 / 3.0).abs() < 2e-3);
    }
}
