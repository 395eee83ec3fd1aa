//! Lee's volume fraction (eq. 7): n · 4/3 π r³ / d³ of the n particles in a cube of edge d.
//!
//! The cube is laid around every point of the grid. A particle that is partly in it counts in part (its volume spread
//! over the cube of one spacing around it), without which the field would be a staircase.

use super::Source;
use crate::surface::field::{Field, Profile, Shape};

/// Edge d of the cube, × spacing.
pub const EDGE: f32 = 2.0;
/// Share of the fraction at rest on the surface.
const THRESHOLD: f32 = 0.5;

/// Volume of a ball in the cube around it, 4/3 π (½)³: the fraction at rest.
const AT_REST: f32 = std::f32::consts::PI / 6.0;

/// The field.
pub fn field(source: &Source) -> Field {
    let (d, side) = (source.support(EDGE), source.spacing);
    // The share along one axis of a particle of width `side` in a cube of width d around a point u away, over d.
    let (inner, outer) = (0.5 * (d - side), 0.5 * (d + side));
    let rise = 1.0 / (d * side);
    // Where d is but `side`, the profile is a tent and has no inner edge.
    let profile = Profile::new(vec![(outer, rise), (inner.max(0.0), -rise)]);
    Field {
        local: source.cloud.local.clone(),
        columns: vec![vec![AT_REST * side.powi(3); source.cloud.len()]],
        iso: AT_REST * source.threshold(THRESHOLD),
        reach: profile.reach(),
        shape: Shape::Product(profile),
        stray: 0.0,
        signed: false,
    }
}
