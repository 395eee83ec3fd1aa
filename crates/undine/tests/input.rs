//! Input given by code while a scene runs: checked as a file's events are, recorded, and nothing of it applied when
//! it is refused.

use glam::DVec3;
use undine::checkpoint::{CheckpointReader, CheckpointWriter};
use undine::probe::Probes;
use undine::scene::{Action, Event, Scene};
use undine::world::World;

fn world() -> World {
    let text = r#"
[time]
frame_rate = 50
[model]
spacing = 0.1
[[fluid]]
name = "water"
shape = { box = { min = [0, 0, 0], max = [0.4, 0.4, 0.4] } }
[[emitter]]
name = "tap"
shape = { disc = { center = [1, 1, 0], normal = [0, -1, 0], radius = 0.2 } }
speed = 1
switch = "on"
"#;
    let scene = Scene::parse(text, "input.toml", std::path::Path::new("."), &[]);
    World::new(scene.unwrap_or_else(|e| panic!("{e}")).scene).unwrap()
}

fn brush(radius: f64, velocity: DVec3) -> Action {
    Action::Brush { id: 0, position: DVec3::splat(0.2), velocity, radius, strength: 10.0 }
}

fn set(key: &str, value: &[f64]) -> Action {
    Action::Set { key: key.into(), value: value.to_vec() }
}

#[test]
fn refused_input_leaves_the_run_as_it_would_have_been() {
    let (mut with, mut without) = (world(), world());
    let bad = [
        brush(-0.1, DVec3::X),
        brush(0.0, DVec3::X),
        brush(0.1, DVec3::new(0.0, f64::NAN, 0.0)),
        brush(f64::INFINITY, DVec3::X),
        Action::Switch { name: String::new(), on: true },
        Action::Switch { name: "a\nb".into(), on: true },
        set("gravity", &[0.0, f64::NAN, 0.0]),
        set("gravity", &[5.0]),
        set("gravity", &[0.0, 1e9, 0.0]),
        set("fluid.water.viscosity", &[-1.0]),
        set("fluid.mud.viscosity", &[1.0]),
        set("emitter.tap.speed", &[-1.0]),
        set("emitter.tap.speed", &[]),
        set("force.0.strength", &[1.0]),
    ];
    for action in bad {
        let error = with.input(action.clone()).expect_err(&format!("{action:?}"));
        assert!(!error.message.is_empty() && !error.key.is_empty(), "{error:?}");
    }
    for time in [-1.0, f64::NAN, 1e10] {
        let error = with.push_event(Event { time, action: brush(0.2, DVec3::X) }).unwrap_err();
        assert_eq!(error.key, "time");
    }
    for _ in 0..3 {
        with.advance_frame().unwrap();
        without.advance_frame().unwrap();
    }
    assert!(with.record().is_empty());
    assert_eq!(with.frame(), without.frame());
}

#[test]
fn the_energy_probe_follows_a_change_of_gravity_and_energy_is_kept_after_it() {
    let text = r#"
[time]
frame_rate = 100
[model]
spacing = 0.1
[[fluid]]
viscosity = 0
surface_tension = 0
shape = { box = { min = [0, 0, 0], max = [0.1, 0.1, 0.1] } }
[[probe]]
kind = "energy"
[[event]]
time = 0.05
set = { key = "gravity", value = [0, -2, 0] }
"#;
    let scene = Scene::parse(text, "fall.toml", std::path::Path::new("."), &[]).unwrap().scene;
    let probes = Probes::new(&scene);
    let mut world = World::new(scene).unwrap();
    // One particle of 1 kg in free fall: ½v² = gs before the change, and the sum stays after it.
    let mut sums = Vec::new();
    for _ in 0..40 {
        world.advance_frame().unwrap();
        let values = probes.measure(&world.frame());
        sums.push(values[0] + values[1]);
    }
    let start = 9.81 * 0.05;
    assert!(sums[..5].iter().all(|e| (e - start).abs() < 1e-4), "{sums:?}");
    let after = sums[5];
    assert!((after - start).abs() > 0.1, "the change does work: {sums:?}");
    assert!(sums[5..].iter().all(|e| (e - after).abs() < 1e-4), "{sums:?}");
}

#[test]
fn input_that_is_taken_is_recorded_and_can_be_resumed_and_played_back() {
    let mut live = world();
    live.advance_frame().unwrap();
    for action in [
        brush(0.3, DVec3::X),
        Action::Switch { name: "on".into(), on: true },
        set("gravity", &[0.0, -1.0, 0.0]),
        set("emitter.tap.speed", &[2.0]),
    ] {
        live.input(action).unwrap();
    }
    live.advance_frame().unwrap();
    assert_eq!(live.record().len(), 4);

    let mut writer = CheckpointWriter::in_memory();
    live.save(&mut writer).unwrap();
    let mut resumed = world();
    resumed.load(&mut CheckpointReader::from_bytes(writer.finish_bytes().unwrap()).unwrap()).unwrap();
    let mut replayed = world();
    for event in live.record() {
        replayed.push_event(event.clone()).unwrap();
    }
    while replayed.clock().frame < 5 {
        replayed.advance_frame().unwrap();
    }
    for world in [&mut live, &mut resumed] {
        while world.clock().frame < 5 {
            world.advance_frame().unwrap();
        }
        assert_eq!(world.frame(), replayed.frame());
    }
}

#[test]
fn a_touch_gathers_fluid_in_every_model_and_is_recorded() {
    for kind in ["sph", "lennard-jones"] {
        let text = format!(
            r#"
            gravity = [0, 0, 0]
            [time]
            frame_rate = 50
            [model]
            kind = "{kind}"
            spacing = 0.1
            max_speed = 3
            [[fluid]]
            shape = {{ box = {{ min = [0, 0, 0], max = [1, 0.2, 0.2] }} }}
            "#
        );
        let scene = Scene::parse(&text, "touch.toml", std::path::Path::new("."), &[]);
        let scene = scene.unwrap_or_else(|e| panic!("{e}")).scene;
        let mut world = World::new(scene).unwrap();
        let position = DVec3::new(0.0, 0.1, 0.1);
        let spread = |world: &World| {
            let frame = world.frame();
            let off = |p: &[f32; 3]| glam::Vec3::from(*p).as_dvec3().distance(position);
            frame.particles.position.iter().map(off).sum::<f64>() / frame.particles.len() as f64
        };
        let start = spread(&world);
        world.input(Action::Touch { id: 1, position, radius: 2.0, strength: 5.0 }).unwrap();
        (0..50).for_each(|_| world.advance_frame().unwrap());
        let held = spread(&world);
        assert!(held < 0.7 * start, "{kind}: {start} m became {held} m");
        world.input(Action::TouchUp { id: 1 }).unwrap();
        world.advance_frame().unwrap();
        assert_eq!(world.record().len(), 2, "{kind}");
        assert!(world.input(Action::Touch { id: 1, position, radius: 0.0, strength: 5.0 }).is_err());
    }
}
