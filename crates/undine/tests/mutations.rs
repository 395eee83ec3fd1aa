//! Whatever is changed in a scene file or a checkpoint: an error, trouble that is named, or a run. Never a panic, a
//! hang or memory without bound.

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use undine::checkpoint::{CheckpointReader, CheckpointWriter, VERSION};
use undine::scene::files::NoFiles;
use undine::scene::{Scene, SolidKind};
use undine::world::World;

/// Runs larger than this are not tried.
const MOST_PARTICLES: f64 = 600.0;
/// A few steps of so few particles take milliseconds; this leaves room for a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Small, and with a part of each kind.
const SCENES: [&str; 3] = [
    r#"
gravity = [0, -9.81, 0]
[time]
duration = 1
frame_rate = 60
max_step = 0.01
[domain]
min = [0, 0, 0]
max = [1, 1, 0.5]
periodic = [false, false, true]
open = ["+y"]
[model]
spacing = 0.1
max_particles = 500
seed = 3
jitter = 0.2
smoothing = 2
compression = 0.02
negative_pressure = 0
artificial_viscosity = 0.05
cfl = 1
restitution = 0.1
walls = "lennard-jones"
viscous_step = "implicit"
integrator = "velocity-verlet"
[[fluid]]
name = "water"
density = 1000
viscosity = 0.001
surface_tension = 0.072
velocity = [0, 0, 0]
shape = { box = { min = [0, 0, 0], max = [0.3, 0.4, 0.5] } }
[[fluid]]
name = "oil"
density = 800
shape = { cylinder = { base = [0.7, 0, 0.2], axis = [0, 1, 0], radius = 0.15, height = 0.3 } }
[[emitter]]
fluid = "oil"
shape = { disc = { center = [0.5, 0.9, 0.2], normal = [0, -1, 0], radius = 0.15 } }
speed = 1
start = 0
stop = 2
[[force]]
swirl = { center = [0.5, 0, 0.2], axis = [0, 1, 0], strength = 1, radius = 0.2 }
[[event]]
time = 0
set = { key = "fluid.water.viscosity", value = 0.1 }
[[event]]
time = 0
brush = { position = [0.2, 0.2, 0.2], velocity = [1, 0, 0], radius = 0.2, strength = 10 }
[[probe]]
kind = "height"
position = [0.1, 0, 0.1]
[[probe]]
kind = "front"
[volume]
preset = "milk"
points = [[0.1, 1, 1, 1, 0], [0.2, 1, 0.5, 0, 1]]
cell = 0.5
slices = 100
"#,
    r#"
[time]
step = 0.001
[model]
spacing = 0.1
kernels = "mueller"
tension = "color-field"
stiffness = 500
mass = 1
h = 0.2
max_speed = 3
[[fluid]]
shape = { sphere = { center = [0, 0.5, 0], radius = 0.25 } }
[[boundary]]
shape = { cylinder = { base = [0, 0, 0], axis = [0, 1, 0.1], radius = 0.5, height = 1 } }
inside = "hollow"
thickness = 0.2
open_top = true
motion = { rotate = { center = [0, 0, 0], axis = [0, 0, 1], speed = 1, angle = 1, start = 0 } }
[[boundary]]
shape = { heightfield = { origin = [-1, 0, -1], size = [2, 2], heights = [[0, 0.1], [0, 0.2]] } }
slip = "no-slip"
[[boundary]]
shape = { box = { min = [0, 0, 0], max = [1, 0.1, 1] } }
motion = { translate = { velocity = [1, 0, 0], frequency = 2, start = 0, stop = 1 } }
[[boundary]]
shape = { sphere = { center = [0, 0, 0], radius = 2, inside = "hollow" } }
[[outflow]]
shape = { box = { min = [0, 0, 0], max = [1, 0.2, 1] } }
[[emitter]]
shape = { sphere = { center = [0, 0.5, 0], radius = 0.2 } }
direction = [1, 0, 0]
speed = 1
[[force]]
brush = { track = [[0, 0, 0.5, 0], [1, 1, 0.1, 0]], radius = 0.3, strength = 10 }
[[force]]
uniform = [1, 0, 0]
[[probe]]
kind = "energy"
[[probe]]
kind = "density-error"
"#,
    r#"
[time]
max_step = 0.01
[domain]
min = [-1, 0, -1]
max = [1, 2, 1]
[model]
spacing = 0.1
max_particles = 600
[[fluid]]
shape = { box = { min = [0.5, 0, 0.5], max = [0.9, 0.3, 0.9] } }
[[solid]]
name = "ball"
shape = { sphere = { center = [0, 0.2, 0], radius = 0.2 } }
density = 500
velocity = [0, 1, 0]
friction = 0.3
[[solid]]
shape = { box = { min = [-0.2, 0.45, -0.2], max = [0.2, 0.85, 0.2] } }
density = 800
stiffness = 2000
damping = 5
pinned_in = [{ sphere = { center = [0.1, 0.8, 0.1], radius = 0.1 } }]
[[solid]]
kind = "lattice"
shape = { cylinder = { base = [0.6, 1, -0.5], axis = [1, 1, 0], radius = 0.15, height = 0.3 } }
spacing = 0.1
[[solid]]
kind = "cloth"
shape = { box = { min = [-0.5, 1.2, -0.5], max = [0.5, 1.21, 0.5] } }
spacing = 0.2
thickness = 0.01
bend = 0.05
pinned = ["corners", "-x"]
[[solid]]
kind = "cloth"
shape = { disc = { center = [0.5, 0.6, -0.5], normal = [0, 1, 0.5], radius = 0.3 } }
[[probe]]
kind = "body"
body = "ball"
"#,
];

/// The ends of the ranges that scenes allow, and beyond.
const NUMBERS: [&str; 15] = [
    "0", "-1", "1", "1e-12", "1e-6", "1e5", "1e6", "1e7", "-1e7", "1e9", "1e15", "1e-300", "1e308", "nan",
    "inf",
];

/// The text in pieces: words and numbers, and what stands between them.
fn pieces(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}

fn numbers(pieces: &[&str]) -> Vec<usize> {
    (0..pieces.len()).filter(|i| pieces[*i].parse::<f64>().is_ok()).collect()
}

fn parse(text: &str) -> Option<Scene> {
    Scene::parse_with(text, "mutated.toml", Path::new("."), &[], &NoFiles).ok().map(|loaded| loaded.scene)
}

/// The world of a scene, if the scene is right and small.
fn world(text: &str) -> Option<World> {
    let mut scene = parse(text)?;
    let fluids = scene.fluids.iter().filter_map(|fluid| fluid.shape.as_ref());
    let shapes = fluids.chain(scene.emitters.iter().map(|emitter| &emitter.shape));
    let count: f64 = shapes.map(|shape| shape.fill_count_estimate(scene.model.spacing)).sum();
    let joined = scene.solids.iter().filter(|solid| solid.kind != SolidKind::Ball);
    let nodes: f64 = joined.map(|solid| solid.shape.fill_count_estimate(solid.spacing)).sum();
    if count > MOST_PARTICLES || nodes > MOST_PARTICLES {
        return None;
    }
    scene.model.max_particles = scene.model.max_particles.min(MOST_PARTICLES as usize);
    World::new(scene).ok()
}

/// Steps, unless it stops with trouble; then the frame must be whole.
fn run(world: &mut World, steps: usize) -> bool {
    for _ in 0..steps {
        if world.step().is_err() {
            return false;
        }
    }
    let frame = world.frame();
    assert_eq!(frame.particles.position.len(), world.len());
    undine::probe::Probes::new(world.scene()).measure(&frame);
    true
}

/// Whether the scene ran.
fn survives(text: &str) -> bool {
    let begin = Instant::now();
    let ran = world(text).is_some_and(|mut world| run(&mut world, 3));
    assert!(begin.elapsed() < PATIENCE, "{:?} for\n{text}", begin.elapsed());
    ran
}

/// Most memory this process ever held, MiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? >> 10)
}

#[test]
fn each_number_of_a_scene_may_be_any_other() {
    let (mut ran, mut tried) = (0, 0);
    for scene in SCENES {
        assert!(survives(scene), "{scene}");
        let pieces = pieces(scene);
        assert_eq!(pieces.concat(), scene);
        for place in numbers(&pieces) {
            for number in NUMBERS {
                let mut pieces = pieces.clone();
                pieces[place] = number;
                // Shown when the test fails: the last one did it.
                println!("piece {place} as {number}");
                tried += 1;
                ran += usize::from(survives(&pieces.concat()));
            }
        }
    }
    println!("{ran} of {tried} mutated scenes ran; {:?} MiB at most", peak_memory());
    assert!(ran * 4 > tried, "only {ran} of {tried} mutated scenes ran: the test says little");
    assert!(peak_memory().is_none_or(|peak| peak < 1024), "{:?} MiB", peak_memory());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn several_changed_numbers_are_survived(
        scene in 0..SCENES.len(),
        edits in prop::collection::vec((any::<Index>(), 0..NUMBERS.len()), 2..5),
    ) {
        let mut pieces = pieces(SCENES[scene]);
        let places = numbers(&pieces);
        for (at, number) in edits {
            pieces[places[at.index(places.len())]] = NUMBERS[number];
        }
        survives(&pieces.concat());
    }

    #[test]
    fn exchanged_and_doubled_words_are_survived(
        scene in 0..SCENES.len(),
        edits in prop::collection::vec((any::<Index>(), any::<Index>(), any::<bool>()), 1..4),
    ) {
        let mut pieces = pieces(SCENES[scene]);
        for (at, other, swap) in edits {
            let (at, other) = (at.index(pieces.len()), other.index(pieces.len()));
            if swap { pieces.swap(at, other) } else { pieces.insert(at, pieces[other]) }
        }
        survives(&pieces.concat());
    }

    /// Behind a true checksum: a file forged or written by a broken program.
    #[test]
    fn changed_bytes_of_a_checkpoint_are_survived(
        edits in prop::collection::vec((any::<Index>(), any::<u8>(), 1..9usize), 1..4),
    ) {
        let mut world = world(SCENES[if edits.len() == 2 { 2 } else { 0 }]).unwrap();
        run(&mut world, 2);
        let mut writer = CheckpointWriter::in_memory();
        world.save(&mut writer).unwrap();
        let mut bytes = writer.finish_bytes().unwrap();
        let end = bytes.len() - 4;
        for (at, byte, length) in edits {
            let at = 20 + at.index(end - 20);
            bytes[at..(at + length).min(end)].fill(byte);
        }
        prop_assert_eq!(&bytes[8..12], &VERSION.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        let begin = Instant::now();
        if let Ok(mut reader) = CheckpointReader::from_bytes(bytes)
            && world.load(&mut reader).is_ok()
        {
            run(&mut world, 3);
        }
        prop_assert!(begin.elapsed() < PATIENCE);
    }
}
