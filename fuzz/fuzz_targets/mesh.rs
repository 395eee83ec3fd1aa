//! Any bytes are a mesh or an error, and a mesh answers every question. The first byte chooses the ending.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use glam::DVec3;
use libfuzzer_sys::fuzz_target;
use undine::scene::mesh_io;
use undine::scene::shape::Shape;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let name = ["m.obj", "m.ply", "m.stl", "m"][usize::from(choice % 4)];
    let Ok(mesh) = mesh_io::read(Path::new(name), bytes) else { return };
    undine_fuzz::one_thread();
    let shape = Shape::Mesh(Arc::new(mesh));
    let bounds = shape.bounds();
    for point in [bounds.min, bounds.max, (bounds.min + bounds.max) * 0.5, DVec3::ZERO, DVec3::splat(1e9)] {
        assert!(!shape.nearest(point).distance.is_nan());
        let _ = (shape.contains(point), shape.nearest_within(point, 0.1), shape.crossing(bounds.min, point));
    }
    let spacing = (bounds.max - bounds.min).max_element() / 8.0;
    let estimate = shape.fill_count_estimate(spacing);
    assert!(shape.fill(spacing).len() as f64 <= estimate.max(1.0), "more points than {estimate}");
});
