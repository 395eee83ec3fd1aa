//! From linear light to the bytes of a picture.

use std::sync::OnceLock;

use glam::Vec3;

/// Keeps colours as they are and rolls off only what is too bright, first in brightness, then towards white (the
/// Khronos PBR neutral curve): a colour scale stays readable, a highlight does not clip.
pub fn tone_map(light: Vec3) -> Vec3 {
    const START: f32 = 0.8 - 0.04;
    const DESATURATION: f32 = 0.15;
    let light = finite(light);
    let least = light.min_element();
    let light = light - if least < 0.08 { least - 6.25 * least * least } else { 0.04 };
    let peak = light.max_element();
    if peak < START {
        return light.max(Vec3::ZERO);
    }
    let rest = 1.0 - START;
    let mapped = 1.0 - rest * rest / (peak + rest - START);
    let white = 1.0 - 1.0 / (DESATURATION * (peak - mapped) + 1.0);
    (light * (mapped / peak)).lerp(Vec3::splat(mapped), white).clamp(Vec3::ZERO, Vec3::ONE)
}

/// Light as numbers a picture can hold: none below zero, none beyond what f32 squares bear.
pub fn finite(light: Vec3) -> Vec3 {
    light.map(|x| if x.is_finite() { x.clamp(0.0, 1e6) } else { 0.0 })
}

/// The sRGB curve, linear 0..1 to a byte. Looked up: powers for each component stood out in a profile of pictures.
pub fn srgb(linear: f32) -> u8 {
    static STEPS: OnceLock<Steps> = OnceLock::new();
    let steps = STEPS.get_or_init(Steps::new);
    let x = linear.clamp(0.0, 1.0);
    let byte = steps.first[(x * CELLS as f32) as usize];
    byte + u8::from(x >= steps.from[usize::from(byte) + 1])
}

/// Equal parts of 0..1, so many that the curve rises by less than a byte in each.
const CELLS: usize = 4096;

/// Where the bytes of the sRGB curve begin.
struct Steps {
    /// The byte at the beginning of each cell.
    first: [u8; CELLS + 1],
    /// The least number of each byte; nothing is as much as the last.
    from: [f32; 257],
}

impl Steps {
    fn new() -> Self {
        let mut from = [f32::INFINITY; 257];
        for (byte, from) in from[..256].iter_mut().enumerate() {
            // Numbers from zero on are in the order of their bits.
            let (mut low, mut high) = (0, 1f32.to_bits());
            while low < high {
                let middle = (low + high) / 2;
                if usize::from(curve(f32::from_bits(middle))) >= byte {
                    high = middle
                } else {
                    low = middle + 1
                }
            }
            *from = f32::from_bits(low);
        }
        Steps { first: std::array::from_fn(|c| curve(c as f32 / CELLS as f32)), from }
    }
}

fn curve(x: f32) -> u8 {
    let y = if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
    (255.0 * y + 0.5) as u8
}

/// The inverse of [`srgb`].
pub fn linear(byte: u8) -> f32 {
    let y = byte as f32 / 255.0;
    if y <= 0.040_45 { y / 12.92 } else { ((y + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_and_its_inverse_agree_on_every_byte() {
        for b in 0..=255u8 {
            assert_eq!(srgb(linear(b)), b);
        }
    }

    #[test]
    fn what_is_looked_up_is_the_curve() {
        for k in 0..=1_000_003u32 {
            let x = k as f32 / 1_000_003.0;
            assert_eq!(srgb(x), curve(x), "{x}");
        }
        assert_eq!([-1.0, 0.0, 1.0, 7.0, f32::NAN].map(srgb), [0, 0, 255, 255, 0]);
    }

    #[test]
    fn brighter_light_is_never_darker_and_anything_is_mapped_into_range() {
        let mut last = 0.0;
        for i in 0..200 {
            let v = tone_map(Vec3::splat(0.05 * i as f32)).y;
            assert!(v >= last && v <= 1.0);
            last = v;
        }
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -3.0, f32::MAX] {
            let v = tone_map(Vec3::splat(odd));
            assert!(v.is_finite() && v.min_element() >= 0.0 && v.max_element() <= 1.0);
        }
    }
}
