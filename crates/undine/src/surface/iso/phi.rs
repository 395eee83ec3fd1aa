//! Bayraktar's φ(x) = √Σ (1 - (r_i/h)²)³ (eq. 11). The root is monotone, so the sum is followed to the square of φ.

use super::Source;
use super::color_field::PEAK;
use crate::surface::field::{Field, Shape};

/// Support h, × spacing.
pub const SUPPORT: f32 = 2.0;
/// φ on the surface, as a share of φ deep inside.
const THRESHOLD: f32 = 0.68;

/// The field.
pub fn field(source: &Source) -> Field {
    let h = source.support(SUPPORT);
    let n = source.cloud.len();
    Field {
        local: source.cloud.local.clone(),
        columns: vec![vec![1.0; n], vec![1.0 / (h * h); n]],
        shape: Shape::Ball,
        iso: deep_inside(h, source.spacing) * source.threshold(THRESHOLD).powi(2),
        reach: h,
        stray: 0.0,
        signed: false,
    }
}

/// φ² in a fluid at rest: the integral of (1 - (r/h)²)³ over the particles' number density.
pub fn deep_inside(h: f32, spacing: f32) -> f32 {
    (h / spacing).powi(3) / PEAK
}
