//! From control points to colour and extinction at every value.

use super::Transfer;
use crate::scene::ControlPoint;

/// Entries of a transfer function: features of a few thousandths of the range are kept.
const ENTRIES: usize = 4096;
/// Greatest opacity of one depth: 1 would be an extinction without bound.
const OPAQUE: f64 = 0.99;

impl Transfer {
    /// The function through `points` for the values 0 to `top`; opacities are those of `depth` m.
    pub fn of_points(points: &[ControlPoint], depth: f64, top: f64) -> Self {
        let entry = |i: usize| {
            let (color, opacity) = between(points, top * i as f64 / (ENTRIES - 1) as f64);
            let extinction = -(1.0 - opacity.clamp(0.0, OPAQUE)).ln() / depth;
            [color[0] as f32, color[1] as f32, color[2] as f32, extinction as f32]
        };
        Self { range: [0.0, top as f32], table: (0..ENTRIES).map(entry).collect() }
    }
}

/// Colour and opacity at a value: linear between points, fading to 0 below the first, as the last above it.
fn between(points: &[ControlPoint], value: f64) -> ([f64; 3], f64) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return ([0.0; 3], 0.0) };
    if value < first.value {
        return (first.color, first.opacity * (value / first.value));
    }
    let Some(pair) = points.windows(2).find(|pair| value < pair[1].value) else {
        return (last.color, last.opacity);
    };
    let f = (value - pair[0].value) / (pair[1].value - pair[0].value);
    let mix = |a: f64, b: f64| a + f * (b - a);
    let color = std::array::from_fn(|i| mix(pair[0].color[i], pair[1].color[i]));
    (color, mix(pair[0].opacity, pair[1].opacity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Preset;

    #[test]
    fn lees_table_is_blue_water_between_a_fifth_and_a_third() {
        let lee = Transfer::of_points(&Preset::LeeWater.points(), 1.0, 0.6);
        let extinction = |v: f32| lee.at(v).1;
        assert!(extinction(0.0) == 0.0 && extinction(0.209) == 0.0 && extinction(0.301) == 0.0);
        assert!((extinction(0.25) + 0.01f32.ln()).abs() < 1e-3);
        // Half way from the first point to the second the opacity is a half.
        assert!((extinction(0.22) + 0.5f32.ln()).abs() < 0.01);
        let (color, _) = lee.at(0.28);
        let bytes = color.to_array().map(super::super::super::tone::srgb);
        assert!(bytes.iter().zip([154u8, 208, 228]).all(|(a, b)| a.abs_diff(b) <= 1), "{bytes:?}");
    }

    #[test]
    fn empty_space_is_clear_in_every_preset() {
        for preset in Preset::ALL {
            let transfer = Transfer::of_points(&preset.points(), 0.01, 0.65);
            assert_eq!(transfer.at(0.0).1, 0.0, "{preset:?}");
            assert!(transfer.table.iter().flatten().all(|x| x.is_finite() && *x >= 0.0));
        }
    }
}
