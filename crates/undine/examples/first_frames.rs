//! The library in one page: `cargo run --release -p undine --example first_frames`

use undine::atomic::{AtomicFile, Durability};
use undine::export::{Format, write_particles};
use undine::scene::Scene;
use undine::world::World;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let loaded = Scene::load("dam-break", &["model.spacing=0.04".into()])?;
    let mut world = World::new(loaded.scene)?;
    for _ in 0..10 {
        world.advance_frame()?;
        let frame = world.frame();
        let path = std::env::temp_dir().join(format!("water_{:04}.ply", frame.index));
        AtomicFile::write_with(&path, Durability::Process, |out| write_particles(Format::Ply, &frame, out))?;
        println!("t = {:.3} s: {} particles in {}", frame.time, frame.particles.len(), path.display());
    }
    Ok(())
}
