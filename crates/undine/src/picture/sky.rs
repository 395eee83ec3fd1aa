//! The light of a picture: sky with soft clouds, and a sun.

use glam::Vec3;

/// What lights the stage from afar.
#[derive(Clone, Debug)]
pub struct Sky {
    /// Unit vector to the sun.
    pub sun: Vec3,
    /// Sunlight on a surface that faces it, linear RGB; zero for no sun.
    pub sunlight: Vec3,
    /// Half angle of the sun's disc, rad. Raising it softens shadows.
    pub sun_angle: f32,
    /// Which sky.
    pub dome: Dome,
}

/// How the sky looks away from the sun.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Dome {
    /// The same radiance (linear RGB) everywhere and no sun: for plain figures.
    Even(Vec3),
    /// Pale at the horizon, blue above, with soft clouds.
    #[default]
    Day,
}

impl Dome {
    /// Darkness, with just enough light to see the walls.
    pub const NIGHT: Dome = Dome::Even(Vec3::new(0.014, 0.016, 0.022));
}

const HORIZON: Vec3 = Vec3::new(0.58, 0.76, 0.95);
const ZENITH: Vec3 = Vec3::new(0.04, 0.17, 0.56);
const CLOUD: Vec3 = Vec3::new(2.0, 2.0, 2.02);

impl Sky {
    /// A clear day with the sun in direction `sun`.
    pub fn day(sun: Vec3) -> Self {
        Self {
            sun: sun.normalize_or(Vec3::Y),
            sunlight: Vec3::new(4.6, 4.25, 3.7),
            sun_angle: 0.012,
            dome: Dome::Day,
        }
    }

    /// Even light without a sun.
    pub fn even(radiance: Vec3) -> Self {
        Self { sun: Vec3::Y, sunlight: Vec3::ZERO, sun_angle: 0.01, dome: Dome::Even(radiance) }
    }

    /// Radiance from direction `d`, without the sun's disc.
    pub fn radiance(&self, d: Vec3) -> Vec3 {
        match self.dome {
            Dome::Even(radiance) => radiance,
            Dome::Day => self.day_radiance(d),
        }
    }

    /// Radiance from direction `d` with the sun, for mirrors and the camera.
    pub fn radiance_with_sun(&self, d: Vec3) -> Vec3 {
        let mut l = self.radiance(d);
        // A soft rim keeps the mirrored sun free of stairs. The disc is dimmer than its angle asks for: a brighter
        // one only makes fireflies.
        let angle = d.dot(self.sun).clamp(-1.0, 1.0).acos();
        let disc = 1.0 - smoothstep(1.0, 2.2, angle / self.sun_angle);
        l += self.sunlight * (60.0 * disc);
        l
    }

    /// Radiance for matte surfaces: without clouds and sun, whose contrast would only be noise there.
    pub fn diffuse(&self, d: Vec3) -> Vec3 {
        match self.dome {
            Dome::Even(radiance) => radiance,
            Dome::Day => HORIZON.lerp(ZENITH, 0.6 * d.y.max(0.0)) * 0.85 + 0.1 * CLOUD,
        }
    }

    /// Mean light from above on a level surface, as radiance.
    pub fn ambient(&self) -> Vec3 {
        match self.dome {
            Dome::Even(radiance) => radiance,
            Dome::Day => 0.4 * HORIZON + 0.3 * ZENITH + 0.12 * CLOUD,
        }
    }

    /// The colour into which the far ground fades.
    pub fn horizon(&self, d: Vec3) -> Vec3 {
        self.radiance(Vec3::new(d.x, 0.0, d.z).normalize_or(Vec3::X))
    }

    fn day_radiance(&self, d: Vec3) -> Vec3 {
        let up = d.y.max(0.0);
        // At the horizon, which all of the ground fades into, there is no power to be taken.
        let mut l = if up > 0.0 { HORIZON.lerp(ZENITH, up.powf(0.55)) } else { HORIZON };
        let cos = d.dot(self.sun).max(0.0);
        l += Vec3::new(1.0, 0.86, 0.62) * (0.10 * cos.powi(10) + 0.9 * cos.powi(90));
        if up > 0.01 {
            // Clouds lie in a flat layer.
            let (x, z) = (d.x / (up + 0.12), d.z / (up + 0.12));
            let cover = smoothstep(0.48, 0.78, clouds(1.1 * x + 3.7, 1.1 * z + 1.3));
            let fade = smoothstep(0.02, 0.3, up);
            l = l.lerp(CLOUD * (1.0 + 0.5 * cos.powi(6)), 0.85 * cover * fade);
        }
        l
    }
}

/// 0 below `a`, 1 above `b`, smooth between.
pub fn smoothstep(a: f32, b: f32, x: f32) -> f32 {
    let t = ((x - a) / (b - a)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Four octaves of value noise, about 0..1.
fn clouds(mut x: f32, mut z: f32) -> f32 {
    let (mut sum, mut share) = (0.0, 0.5);
    for _ in 0..4 {
        sum += share * value_noise(x, z);
        share *= 0.5;
        // Turned and stretched, so that the lattices do not line up.
        (x, z) = (1.6 * x + 1.2 * z + 5.1, -1.2 * x + 1.6 * z + 9.7);
    }
    sum / 0.9375
}

fn value_noise(x: f32, z: f32) -> f32 {
    let (fx, fz) = (x.floor(), z.floor());
    let (u, v) = (smoothstep(0.0, 1.0, x - fx), smoothstep(0.0, 1.0, z - fz));
    let at = |i: f32, j: f32| {
        let mut h = ((fx + i) as i32 as u32).wrapping_mul(0x8da6_b343)
            ^ ((fz + j) as i32 as u32).wrapping_mul(0xd816_3841);
        h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
        h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
        ((h ^ (h >> 15)) >> 8) as f32 / 16_777_216.0
    };
    let near = at(0.0, 0.0) + u * (at(1.0, 0.0) - at(0.0, 0.0));
    let far = at(0.0, 1.0) + u * (at(1.0, 1.0) - at(0.0, 1.0));
    near + v * (far - near)
}
