//! Génevaux's surface: markers counted in the cells of the grid and the counts smoothed.
//!
//! The count of a cell goes to the point in its middle; smoothing by (1, 2, 1)/4 along each axis, several times,
//! gives a marker the weights of a binomial row around its cell. The field is the count as a share of that at rest.

use super::Source;
use crate::surface::cloud::{NOWHERE, PAD};
use crate::surface::counts::filter::binomial;
use crate::surface::field::{Field, Profile, Shape};

/// Standard deviation of the smoothing, × spacing.
const WIDTH: f32 = 0.7;
/// Share of the count at rest on the surface.
pub const THRESHOLD: f32 = 0.5;

/// How far a marker is felt, in cells: one for each time of smoothing.
pub fn reach(spacing: f32, width: Option<f64>) -> usize {
    // Smoothing once has a variance of ½ cell²; the support is meant as twice the standard deviation and more.
    let width = width.map_or(WIDTH, |w| w as f32 * WIDTH / 2.0) * spacing;
    ((2.0 * width * width).round() as usize).clamp(1, 100)
}

/// The field.
pub fn field(source: &Source) -> Field {
    let times = reach(source.spacing, source.options.support);
    let knots = binomial(times);
    let mut local = source.cloud.local.clone();
    for x in &mut local {
        let count = x.len() - PAD;
        x[..count].iter_mut().for_each(|x| *x = x.round());
        x[count..].fill(NOWHERE);
    }
    Field {
        local,
        // At rest a cell holds cell³/spacing³ markers.
        columns: vec![vec![source.spacing.powi(3); source.cloud.len()]],
        shape: Shape::Product(Profile::of_knots(&knots)),
        iso: source.threshold(THRESHOLD),
        reach: times as f32 + 1.0,
        stray: 0.5,
        signed: false,
    }
}
