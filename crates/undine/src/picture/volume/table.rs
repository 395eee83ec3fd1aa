//! The pre-integrated table (Engel, Kraus & Ertl 2001): what a slice does to light, for every value at its front and
//! its back, the value between them changing evenly.

use glam::Vec4;
use rayon::prelude::*;

use super::Transfer;

/// Values along each side of the table.
const SIDE: usize = 256;
/// Most parts of a slice, each with its mean extinction and colour.
const PARTS: usize = 24;

/// What slices of one thickness do to light.
#[derive(Clone, Debug)]
pub struct Table {
    /// Thickness of a slice, m.
    pub thickness: f32,
    /// From a value to its place along a side.
    scale: f32,
    /// Light added (RGB) and transmittance; front value fastest.
    slices: Vec<Vec4>,
    integral: Integral,
    /// All values up to the first are clear, and all from the second on.
    clear: [f32; 2],
}

/// Integrals of extinction, and of extinction × colour, over the value.
#[derive(Clone, Debug)]
struct Integral {
    /// From a value to its place.
    scale: f32,
    sums: Vec<[f64; 4]>,
}

impl Integral {
    fn new(transfer: &Transfer) -> Self {
        let last = transfer.table.len().saturating_sub(1).max(1);
        let width = f64::from(transfer.range[1] - transfer.range[0]) / last as f64;
        let mut sum = [0.0; 4];
        let mut sums = vec![sum];
        for pair in transfer.table.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|e| e.map(f64::from));
            for k in 0..3 {
                // Colour and extinction are linear here: their product is integrated exactly.
                let product = (2.0 * (a[k] * a[3] + b[k] * b[3]) + a[k] * b[3] + b[k] * a[3]) / 6.0;
                sum[k] += product * width;
            }
            sum[3] += 0.5 * (a[3] + b[3]) * width;
            sums.push(sum);
        }
        Self { scale: (1.0 / width) as f32, sums }
    }

    /// The integrals up to a place, in entries.
    fn at(&self, place: f64) -> [f64; 4] {
        let last = self.sums.len() - 1;
        let place = place.clamp(0.0, last as f64);
        let i = (place as usize).min(last.saturating_sub(1));
        let f = place - i as f64;
        let (a, b) = (self.sums[i], self.sums[(i + 1).min(last)]);
        std::array::from_fn(|k| a[k] + f * (b[k] - a[k]))
    }

    fn extinction(&self, place: f32) -> f64 {
        let last = self.sums.len() - 1;
        let place = place.clamp(0.0, last as f32);
        let i = (place as usize).min(last.saturating_sub(1));
        let (a, b) = (self.sums[i][3], self.sums[(i + 1).min(last)][3]);
        a + f64::from(place - i as f32) * (b - a)
    }
}

impl Table {
    /// Integrates every pair of values. The transfer function starts at the value 0.
    pub fn new(transfer: &Transfer, thickness: f32) -> Self {
        let integral = Integral::new(transfer);
        let last = (integral.sums.len() - 1) as f64;
        // Places of the table's values along the integrals.
        let place = |i: usize| last * i as f64 / (SIDE - 1) as f64;
        let mut slices = vec![Vec4::W; SIDE * SIDE];
        slices.par_chunks_mut(SIDE).enumerate().for_each(|(back, row)| {
            for (front, slice) in row.iter_mut().enumerate() {
                *slice = if front == back {
                    even(transfer, (back as f32) / (SIDE - 1) as f32, thickness)
                } else {
                    uneven(&integral, [place(front), place(back)], front.abs_diff(back).min(PARTS), thickness)
                };
            }
        });
        let top = transfer.range[1];
        let seen = |entry: &[f32; 4]| entry[3] > 0.0;
        let value = |entry: usize| entry as f32 / integral.scale;
        let below = match transfer.table.iter().position(seen) {
            Some(first) => value(first.saturating_sub(1)),
            None => f32::INFINITY,
        };
        let above = match transfer.table.iter().rposition(seen) {
            // The last entry goes on for ever.
            Some(i) if i + 1 == transfer.table.len() => f32::INFINITY,
            Some(i) => value(i + 1),
            None => 0.0,
        };
        Self { thickness, scale: (SIDE - 1) as f32 / top, slices, integral, clear: [below, above] }
    }

    /// Whether a slice between two values is clear for sure, which most are.
    #[inline]
    pub fn passes(&self, front: f32, back: f32) -> bool {
        front.max(back) <= self.clear[0] || front.min(back) >= self.clear[1]
    }

    /// Light that a whole slice adds (RGB) and its transmittance, between two values.
    #[inline]
    pub fn slice(&self, front: f32, back: f32) -> Vec4 {
        const LAST: f32 = (SIDE - 1) as f32 - 1e-3;
        let x = (front * self.scale).clamp(0.0, LAST);
        let y = (back * self.scale).clamp(0.0, LAST);
        let (i, j) = (x as usize, y as usize);
        let (fx, fy) = (x - i as f32, y - j as f32);
        let at = j * SIDE + i;
        let four = &self.slices[at..at + SIDE + 2];
        let near = four[0] + fx * (four[1] - four[0]);
        let far = four[SIDE] + fx * (four[SIDE + 1] - four[SIDE]);
        near + fy * (far - near)
    }

    /// Mean extinction of a slice between two values, 1/m.
    #[inline]
    pub fn extinction(&self, front: f32, back: f32) -> f32 {
        let scale = self.integral.scale;
        let (mut a, mut b) = (front * scale, back * scale);
        if (b - a).abs() < 0.5 {
            // Nearly one value: the difference of integrals would be noise.
            let middle = 0.5 * (a + b);
            (a, b) = (middle - 0.25, middle + 0.25);
        }
        let sum = self.integral.extinction(b) - self.integral.extinction(a);
        (sum as f32 * scale / (b - a)).max(0.0)
    }

    /// Whether nothing is to be seen of all values from `low` to `high`.
    pub fn is_clear(&self, low: f32, high: f32) -> bool {
        let scale = self.integral.scale;
        let last = (self.integral.sums.len() - 1) as f32;
        let (low, high) = ((low * scale).floor(), (high * scale).floor() + 1.0);
        // Above the last entry its extinction goes on: an entry more tells of it.
        let (low, high) = (low.clamp(0.0, last - 1.0), high.clamp(1.0, last));
        self.integral.extinction(high) <= self.integral.extinction(low)
    }
}

/// A slice of one value throughout; `share` of the range.
fn even(transfer: &Transfer, share: f32, thickness: f32) -> Vec4 {
    let (color, extinction) =
        transfer.at(transfer.range[0] + share * (transfer.range[1] - transfer.range[0]));
    let through = (-extinction * thickness).exp();
    (color * (1.0 - through)).extend(through)
}

/// A slice between two places of the integrals, in parts.
fn uneven(integral: &Integral, [front, back]: [f64; 2], parts: usize, thickness: f32) -> Vec4 {
    let mut before = integral.at(front);
    // From a difference of integrals to the mean over a part, and on to its thickness.
    let scale = f64::from(thickness) * f64::from(integral.scale) / (back - front);
    let (mut left, mut light) = (1f32, [0f32; 3]);
    for k in 1..=parts {
        let after = integral.at(front + (back - front) * k as f64 / parts as f64);
        let depth = (scale * (after[3] - before[3])).max(0.0);
        if depth > 0.0 {
            let through = (-(depth as f32)).exp();
            let share = left * (1.0 - through) * (scale / depth) as f32;
            for (light, k) in light.iter_mut().zip(0..3) {
                *light += share * (after[k] - before[k]) as f32;
            }
            left *= through;
        }
        before = after;
    }
    Vec4::new(light[0], light[1], light[2], left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{ControlPoint, Preset};
    use glam::Vec3;

    /// The integral by many small steps.
    fn brute(transfer: &Transfer, front: f32, back: f32, thickness: f32) -> Vec4 {
        let steps = 20_000;
        let (mut left, mut light) = (1f32, Vec3::ZERO);
        for i in 0..steps {
            let value = front + (back - front) * (i as f32 + 0.5) / steps as f32;
            let (color, extinction) = transfer.at(value);
            let through = (-extinction * thickness / steps as f32).exp();
            light += color * (left * (1.0 - through));
            left *= through;
        }
        light.extend(left)
    }

    #[test]
    fn the_table_agrees_with_brute_force() {
        for preset in Preset::ALL {
            let transfer = Transfer::of_points(&preset.points(), 0.02, 0.65);
            let table = Table::new(&transfer, 0.01);
            for (front, back) in
                [(0.0, 0.5), (0.5, 0.0), (0.2, 0.32), (0.33, 0.12), (0.1, 0.26), (0.22, 0.225), (0.25, 0.25)]
            {
                let (got, expected) = (table.slice(front, back), brute(&transfer, front, back, 0.01));
                let error = (got - expected).abs().max_element();
                assert!(error < 0.015, "{preset:?} {front} {back}: {got} {expected}");
                let depth = table.extinction(front, back) * 0.01;
                assert!(((-depth).exp() - expected.w).abs() < 2e-3, "{preset:?} {front} {back}");
            }
        }
    }

    #[test]
    fn a_clear_function_lets_all_light_through_and_an_opaque_one_none() {
        let flat = |opacity: f64| {
            let point = |value: f64| ControlPoint { value, color: [0.2, 0.4, 0.8], opacity };
            Transfer::of_points(&[point(0.01), point(1.0)], 1e-4, 1.0)
        };
        let clear = Table::new(&flat(0.0), 0.01);
        let opaque = Table::new(&flat(1.0), 0.01);
        for (a, b) in [(0.0, 0.0), (0.1, 0.9), (0.9, 0.1), (0.5, 0.5), (1.0, 1.0), (5.0, 5.0)] {
            assert_eq!(clear.slice(a, b), Vec4::W);
            if a + b > 0.0 {
                assert!((opaque.slice(a, b) - Vec4::new(0.2, 0.4, 0.8, 0.0)).length() < 1e-2, "{a} {b}");
            }
        }
        assert!(clear.is_clear(0.0, 9.0) && clear.passes(0.0, 9.0));
        assert!(!opaque.passes(3.0, 4.0) && opaque.passes(0.0, 0.0));
        assert!(!opaque.is_clear(0.5, 0.5) && !opaque.is_clear(3.0, 4.0));
    }

    #[test]
    fn values_around_a_feature_are_not_clear_and_those_beside_it_are() {
        let lee = Table::new(&Transfer::of_points(&Preset::LeeWater.points(), 0.01, 0.65), 0.01);
        assert!(lee.is_clear(0.0, 0.205) && lee.is_clear(0.31, 0.6) && lee.is_clear(0.0, 0.0));
        assert!(lee.passes(0.1, 0.2) && lee.passes(0.31, 0.5));
        assert!(!lee.passes(0.1, 0.22) && !lee.passes(0.2, 0.5) && !lee.passes(0.25, 0.25));
        assert!(!lee.is_clear(0.0, 0.6) && !lee.is_clear(0.25, 0.25) && !lee.is_clear(0.2, 0.215));
    }
}
