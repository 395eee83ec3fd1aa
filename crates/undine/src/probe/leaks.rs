//! The probe that counts what passed a wall.

use std::borrow::Cow;

use rayon::prelude::*;

use super::Seen;

/// How deep a particle must be in a wall to count, × spacing: one that rests on it is rounded to either side.
const SLACK: f64 = 1e-3;

/// Number of particles inside a wall, as it is posed at the frame's time, or behind a closed face of the domain.
///
/// Open sheets have no inside, and what came through a wall and out again on its other side is not told from what went
/// around it. A particle without a place counts.
pub(super) fn leaks(seen: &Seen) -> f64 {
    let Some(walls) = &seen.scene.walls else { return f64::NAN };
    let mut walls = Cow::Borrowed(walls);
    if walls.moves() {
        walls.to_mut().pose(seen.frame.time);
    }
    let all = seen.particles().map(|(_, p)| p).collect::<Vec<_>>();
    let is_beyond = |p: &&glam::DVec3| {
        // Positions of a frame are rounded to f32.
        let slack = SLACK * seen.scene.spacing + p.abs().max_element() * f64::from(f32::EPSILON);
        !p.is_finite() || walls.is_beyond(**p, slack)
    };
    all.par_iter().filter(is_beyond).count() as f64
}
