//! Yu & Turk's first half (eq. 6): particles moved to the weighted mean of their neighbourhood, which takes the
//! noise out of the surface, under Müller's colour field.

use super::Source;
use super::color_field::peaks;
use super::neighborhood::settle;
use crate::surface::field::{Field, Shape};

/// Support h, × spacing.
pub const SUPPORT: f32 = 2.0;
/// Value on the surface: lower than without, because moving inwards shrinks the fluid.
const THRESHOLD: f32 = 0.4;

/// The field.
pub fn field(source: &Source) -> Field {
    let h = source.support(SUPPORT);
    let (local, stray) = settle(source, &(), &mut []);
    Field {
        local,
        columns: vec![peaks(source, h), vec![1.0 / (h * h); source.cloud.len()]],
        shape: Shape::Ball,
        iso: source.threshold(THRESHOLD),
        reach: h,
        stray,
        signed: false,
    }
}
