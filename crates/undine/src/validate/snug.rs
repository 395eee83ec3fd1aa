//! Filling closed spaces: a lattice of particles between round walls holds a little more or less fluid than the space
//! does, and too little leaves a void. A case may choose its spacing, so it takes one that fits.

use std::path::Path;

use super::CaseError;
use crate::scene::Scene;
use crate::world::World;

/// The spacing within 4 % of `wanted`, m, with which the particles' volume comes nearest to the space: `scene` gives
/// the scene and its space (m³) for a spacing.
pub(super) fn snug_spacing(wanted: f64, scene: impl Fn(f64) -> (String, f64)) -> Result<f64, CaseError> {
    let mut best = (f64::INFINITY, wanted);
    for k in -40..=40 {
        let d = wanted * (1.0 + 0.001 * f64::from(k));
        let (text, space) = scene(d);
        let world = World::new(Scene::parse(&text, "snug", Path::new("."), &[])?.scene)?;
        let off = (world.len() as f64 * d.powi(3) / space - 1.0).abs();
        if off < best.0 {
            best = (off, d);
        }
    }
    Ok(best.1)
}
