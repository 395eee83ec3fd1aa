//! Numbers that look random: a sequence from a seed, and smooth noise over space.

use glam::DVec3;

/// Scrambles all bits (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A sequence of numbers from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The sequence of a seed and a stream: equal seeds with other streams have nothing in common.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed ^ mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Evenly spread from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly spread between two numbers.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A unit vector, all directions alike.
    pub fn direction(&mut self) -> DVec3 {
        // Of the points of a cube those within the unit ball, half of them; the bound keeps it from running on for ever.
        for _ in 0..64 {
            let p = DVec3::new(self.between(-1.0, 1.0), self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let length2 = p.length_squared();
            if length2 > 1e-4 && length2 <= 1.0 {
                return p / length2.sqrt();
            }
        }
        DVec3::Y
    }
}

/// Gradient noise (Perlin 2002), from -1 to 1, zero on whole numbers, features of size 1.
pub(super) fn noise(seed: u64, p: DVec3) -> f64 {
    let cell = p.floor();
    let f = p - cell;
    let fade = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    let corner = |dx: u8, dy: u8, dz: u8| {
        let d = DVec3::new(dx.into(), dy.into(), dz.into());
        // Whole numbers as bits: far from the origin they saturate, which does no harm.
        let [x, y, z] = (cell + d).to_array().map(|c| c as i64 as u64);
        let hash = mix(seed ^ mix(x ^ mix(y ^ mix(z))));
        gradient(hash, f - d)
    };
    let lerp = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let along_x = |dy, dz| lerp(corner(0, dy, dz), corner(1, dy, dz), fade.x);
    let along_y = |dz| lerp(along_x(0, dz), along_x(1, dz), fade.y);
    lerp(along_y(0), along_y(1), fade.z).clamp(-1.0, 1.0)
}

/// The product of `p` with one of the twelve directions to the edges of a cube.
fn gradient(hash: u64, p: DVec3) -> f64 {
    let (a, b) = match hash >> 8 & 3 {
        0 => (p.x, p.y),
        1 => (p.y, p.z),
        _ => (p.z, p.x),
    };
    (if hash & 1 == 0 { a } else { -a }) + (if hash & 2 == 0 { b } else { -b })
}

/// Noise upon noise, each octave half as wide and half as strong; from -1 to 1.
pub(super) fn octaves(seed: u64, p: DVec3, count: u32) -> f64 {
    let (mut sum, mut most, mut share, mut at) = (0.0, 0.0, 1.0, p);
    for octave in 0..count.max(1) {
        // Shifted, so that the zeros of all octaves do not fall together at the origin.
        sum += share * noise(mix(seed ^ u64::from(octave)), at + 0.37);
        most += share;
        share *= 0.5;
        at *= 2.0;
    }
    sum / most
}

/// 0 up to `low`, 1 from `high` on, smooth between.
pub(super) fn smooth_step(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
