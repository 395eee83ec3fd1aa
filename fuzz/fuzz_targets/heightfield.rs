//! Any bytes are a height map or an error, and a height map answers every question.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use glam::DVec3;
use libfuzzer_sys::fuzz_target;
use undine::scene::shape::{Heightfield, Shape};

fuzz_target!(|bytes: &[u8]| {
    let read = Heightfield::read(Path::new("h.asc"), bytes, DVec3::new(-1.0, 0.5, 2.0), [3.0, 0.1]);
    let Ok(field) = read else { return };
    let shape = Shape::Heightfield(Arc::new(field));
    let bounds = shape.bounds();
    for point in [bounds.min, bounds.max, (bounds.min + bounds.max) * 0.5, DVec3::ZERO, DVec3::splat(1e9)] {
        assert!(!shape.nearest(point).distance.is_nan());
        let _ = (shape.contains(point), shape.nearest_within(point, 0.1), shape.crossing(bounds.min, point));
    }
});
