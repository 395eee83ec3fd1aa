//! What the fuzz targets and their seeds share.

use std::path::Path;
use std::sync::Once;

use undine::scene::files::NoFiles;
use undine::scene::{Loaded, Scene, SceneError};
use undine::world::World;

/// The most particles that a run may start with or grow to: many runs a second find more than large ones.
pub const MAX_PARTICLES: usize = 500;

/// The scene into which checkpoints are loaded: every part that a checkpoint speaks of, and few particles.
pub const CHECKPOINT_SCENE: &str = r#"
gravity = [0, -9.81, 0]
domain = { min = [0, 0, 0], max = [1, 1, 0.4], periodic = [false, false, true] }
model = { spacing = 0.1, max_particles = 500 }
[[fluid]]
name = "water"
shape = { box = { min = [0, 0, 0], max = [0.3, 0.3, 0.4] } }
[[fluid]]
name = "oil"
density = 800
shape = { box = { min = [0.5, 0, 0], max = [0.7, 0.2, 0.4] } }
[[emitter]]
fluid = "oil"
shape = { disc = { center = [0.5, 0.9, 0.2], normal = [0, -1, 0], radius = 0.15 } }
speed = 1
switch = "tap"
[[force]]
swirl = { center = [0.5, 0, 0.2], strength = 1 }
[[event]]
time = 0
switch = { name = "tap" }
[[event]]
time = 0
brush = { position = [0.2, 0.2, 0.2], velocity = [1, 0, 0], radius = 0.2 }
[[event]]
time = 0.001
set = { key = "fluid.water.viscosity", value = 0.1 }
"#;

/// Parses a scene that may name no files.
pub fn parse(text: &str, overrides: &[String]) -> Result<Loaded, SceneError> {
    Scene::parse_with(text, "scene.toml", Path::new("."), overrides, &NoFiles)
}

/// The world into which checkpoints are loaded.
pub fn checkpoint_world() -> World {
    one_thread();
    let scene = parse(CHECKPOINT_SCENE, &[]).expect("the scene of the checkpoints is right").scene;
    World::new(scene).expect("the scene of the checkpoints runs")
}

/// Keeps the fuzzer's own processes from fighting over the cores.
pub fn one_thread() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails only if someone has set it before.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    });
}

/// Steps a few times and looks at the result. Trouble is an answer like any other; a panic is none.
pub fn run(world: &mut World, steps: usize) {
    for _ in 0..steps {
        if world.step().is_err() {
            return;
        }
    }
    assert_eq!(world.frame().particles.position.len(), world.len());
}

/// Makes length and checksum of a checkpoint fit its bytes, so that the fuzzer gets past them.
pub fn seal(bytes: &mut [u8]) {
    if bytes.len() < 24 {
        return;
    }
    let (length, end) = (bytes.len() as u64, bytes.len() - 4);
    bytes[..8].copy_from_slice(b"UNDINECP");
    bytes[8..12].copy_from_slice(&undine::checkpoint::VERSION.to_le_bytes());
    bytes[12..20].copy_from_slice(&length.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}
