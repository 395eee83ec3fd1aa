//! Any scene that is accepted runs, or stops with the trouble named.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undine::scene::Scene;
use undine::world::World;
use undine_fuzz::MAX_PARTICLES;

/// Small enough to be tried in milliseconds.
fn is_small(scene: &Scene) -> bool {
    let spacing = scene.model.spacing;
    let fluids = scene.fluids.iter().filter_map(|fluid| fluid.shape.as_ref());
    let shapes = fluids.chain(scene.emitters.iter().map(|emitter| &emitter.shape));
    shapes.map(|shape| shape.fill_count_estimate(spacing)).sum::<f64>() <= MAX_PARTICLES as f64
}

fuzz_target!(|text: &str| {
    undine_fuzz::one_thread();
    let Ok(loaded) = undine_fuzz::parse(text, &[]) else { return };
    let mut scene = loaded.scene;
    if !is_small(&scene) {
        return;
    }
    scene.model.max_particles = scene.model.max_particles.min(MAX_PARTICLES);
    if let Ok(mut world) = World::new(scene) {
        undine_fuzz::run(&mut world, 5);
    }
});
