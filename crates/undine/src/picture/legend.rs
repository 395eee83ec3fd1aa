//! What the colours of a picture mean, drawn into it.

use super::color::{Scale, map};
use super::font;
use super::image::Image;

/// Draws a bar of the colour scale with round numbers and the unit into the lower right corner.
pub fn legend(image: &mut Image, scale: &Scale) {
    let dot = (image.height() / 360).max(1);
    let (bar, thick) = (image.width() * 28 / 100, 9 * dot);
    let margin = 14 * dot;
    // Too small a picture has no room for words.
    if image.width() < bar + 2 * margin || image.height() < 60 * dot || bar < 60 {
        return;
    }
    let left = image.width() - margin - bar;
    let top = image.height() - margin - font::HEIGHT * dot - 5 * dot - thick;
    shade(image, left as i64 - 10 * dot as i64, top as i64 - 16 * dot as i64, dot);
    for x in 0..bar {
        let color = map((x as f32 + 0.5) / bar as f32);
        (0..thick).for_each(|y| image.blend((left + x) as i64, (top + y) as i64, color, 1.0));
    }
    let title = match scale.by.unit() {
        "" => scale.by.name().to_string(),
        unit => format!("{} ({unit})", scale.by.name()),
    };
    font::draw(image, &title, left as i64, top as i64 - 11 * dot as i64, dot, [255; 3]);
    let [low, high] = scale.range.map(f64::from);
    for tick in ticks(low, high) {
        let x = left as f64 + (tick - low) / (high - low) * bar as f64;
        (0..2 * dot).for_each(|y| image.blend(x as i64, (top + thick + y) as i64, [255; 3], 1.0));
        let text = label(tick, high - low);
        let half = font::width(&text, dot) as f64 / 2.0;
        let x = (x - half).clamp(left as f64 - half, (image.width() - margin / 2) as f64 - 2.0 * half);
        font::draw(image, &text, x as i64, (top + thick + 4 * dot) as i64, dot, [255; 3]);
    }
}

/// Darkens the corner from (x, y) on, so that white letters stand out.
fn shade(image: &mut Image, x: i64, y: i64, dot: usize) {
    let soft = (8 * dot) as f32;
    for py in y..image.height() as i64 {
        for px in x..image.width() as i64 {
            let inside = ((px - x) as f32 / soft).min((py - y) as f32 / soft).min(1.0);
            image.blend(px, py, [18, 24, 34], 0.5 * inside);
        }
    }
}

/// Round numbers within a range: two to six of them.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    if !(rough > 0.0 && rough.is_finite()) {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let m = rough / power;
    // Never finer than the rough step: crowded numbers run into each other.
    let round = [1.0, 2.0, 5.0].into_iter().find(|r| *r >= 0.999 * m).unwrap_or(10.0);
    let step = power * round;
    let first = (low / step - 1e-9).ceil() as i64;
    (0..12).map(|k| (first + k) as f64 * step).take_while(|t| *t <= high + 1e-9 * step).collect()
}

/// A tick's number with as many places as a range of this width needs.
fn label(value: f64, width: f64) -> String {
    let value = if value.abs() < 1e-9 * width { 0.0 } else { value };
    if value.abs() >= 1e5 || (width < 1e-3 && value != 0.0) {
        return format!("{value:.1e}");
    }
    let places = (1.0 - (width / 5.0).log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::ColorBy;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ticks_are_few_rising_and_within_the_range(low in -1e3f64..1e3, width in 1e-3f64..1e6) {
            let low = low * width;
            let t = ticks(low, low + width);
            prop_assert!((2..=6).contains(&t.len()), "{t:?}");
            prop_assert!(t.windows(2).all(|w| w[0] < w[1]));
            prop_assert!(t.iter().all(|x| *x >= low - 1e-6 * width && *x <= low + width * (1.0 + 1e-6)));
        }
    }

    #[test]
    fn labels_are_short_and_round() {
        assert_eq!(label(0.5, 2.0), "0.5");
        assert_eq!(label(1500.0, 4000.0), "1500");
        assert_eq!(label(1e-18, 1.0), "0");
        assert_eq!(label(250_000.0, 1e6), "2.5e5");
    }

    #[test]
    fn a_legend_shows_both_ends_of_the_scale_and_spares_tiny_pictures() {
        let scale = Scale { by: ColorBy::Speed, range: [0.0, 2.0] };
        let mut image = Image::new(640, 360, [200; 3]);
        legend(&mut image, &scale);
        assert!(image.pixels().contains(&map(0.5 / 179.0)) && image.pixels().contains(&map(178.5 / 179.0)));
        let mut tiny = Image::new(20, 10, [200; 3]);
        legend(&mut tiny, &scale);
        assert_eq!(tiny, Image::new(20, 10, [200; 3]));
    }
}
