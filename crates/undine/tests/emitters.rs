//! Emitters and outflows of running scenes: streams without gaps or overlaps, times, rates, switches and caps.

use glam::DVec3;
use undine::emitter::forecast;
use undine::scene::{Action, Scene};
use undine::world::World;

/// A stream along x without weight, Δ = 0.01 m; `emitter` and `more` are added to the file.
fn world(emitter: &str, more: &str) -> World {
    let text = format!(
        r#"
title = "stream"
gravity = [0, 0, 0]
[time]
duration = 1
frame_rate = 100
[model]
spacing = 0.01
{more}
[[fluid]]
name = "water"
surface_tension = 0
[[emitter]]
name = "spout"
shape = {{ disc = {{ center = [0, 0, 0], normal = [1, 0, 0], radius = 0.03 }} }}
{emitter}
"#
    );
    let scene = Scene::parse(&text, "stream.toml", std::path::Path::new("."), &[]);
    World::new(scene.unwrap_or_else(|e| panic!("{e}")).scene).unwrap_or_else(|e| panic!("{e}"))
}

fn run(world: &mut World, until: f64) {
    while world.clock().time < until - 1e-9 {
        world.advance_frame().unwrap_or_else(|e| panic!("{e}"));
    }
}

fn positions(world: &World) -> Vec<DVec3> {
    world.frame().particles.position.iter().map(|p| glam::Vec3::from(*p).as_dvec3()).collect()
}

/// Number of particles of the disc's lattice, from the first layer.
fn layer(emitter: &str) -> usize {
    let mut world = world(emitter, "");
    world.step().unwrap_or_else(|e| panic!("{e}"));
    world.len()
}

/// Distance of each particle to its nearest neighbour, × spacing.
fn nearest(points: &[DVec3], spacing: f64) -> Vec<f64> {
    let to = |i: usize| {
        let others = points.iter().enumerate().filter(move |(j, _)| *j != i);
        others.map(|(_, q)| q.distance(points[i])).fold(f64::INFINITY, f64::min) / spacing
    };
    (0..points.len()).map(to).collect()
}

#[test]
fn a_stream_has_neither_gaps_nor_overlaps_at_any_speed() {
    for speed in [0.3, 1.0, 2.7] {
        let mut world = world(&format!("speed = {speed}"), "");
        run(&mut world, 0.2 / speed);
        let points = positions(&world);
        for (p, d) in points.iter().zip(nearest(&points, 0.01)) {
            assert!((0.7..1.3).contains(&d), "speed {speed}: {p} has its nearest neighbour at {d} spacings");
        }
        // Along the axis no slice of 1.5 spacings is empty, up to the front.
        let front = points.iter().map(|p| p.x).fold(0.0, f64::max);
        assert!((front / 0.2 - 1.0).abs() < 0.1, "speed {speed}: front at {front}");
        let mut x: Vec<f64> = points.iter().map(|p| p.x).collect();
        x.sort_by(f64::total_cmp);
        let gap = x.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
        assert!(gap < 0.015, "speed {speed}: a gap of {gap} m");
    }
}

#[test]
fn the_poured_stream_of_the_built_in_scene_is_unbroken_below_the_spout() {
    let scene = Scene::load("pour", &[]).unwrap_or_else(|e| panic!("{e}")).scene;
    let (spacing, spout) = (scene.model.spacing, scene.emitters[0].shape.bounds().max.y);
    let mut world = World::new(scene).unwrap();
    run(&mut world, 0.1);
    // Shortly after emission: falling stretches it later on.
    let fresh: Vec<DVec3> = positions(&world).into_iter().filter(|p| p.y > spout - 3.0 * spacing).collect();
    assert!(fresh.len() > 40, "{}", fresh.len());
    for d in nearest(&fresh, spacing) {
        assert!((0.7..1.3).contains(&d), "{d}");
    }
}

#[test]
fn an_emitter_delivers_its_volume_between_start_and_stop_only() {
    let emitter = "speed = 1.0\nstart = 0.1\nstop = 0.3";
    let per_layer = layer("speed = 1.0");
    let mut world = world(emitter, "");
    run(&mut world, 0.1);
    assert_eq!(world.len(), 0);
    run(&mut world, 0.2);
    assert!(world.len() > 8 * per_layer);
    run(&mut world, 0.3);
    let at_stop = world.len();
    run(&mut world, 0.5);
    assert_eq!(world.len(), at_stop);
    // 0.2 s at 1 m/s are 20 layers.
    assert!(at_stop.abs_diff(20 * per_layer) <= per_layer, "{at_stop} in layers of {per_layer}");
}

#[test]
fn a_rate_gives_that_volume_per_second() {
    let rate = 2e-3;
    let mut world = world(&format!("rate = {rate}"), "");
    run(&mut world, 0.5);
    let volume = world.len() as f64 * 0.01_f64.powi(3);
    assert!((volume / (0.5 * rate) - 1.0).abs() < 0.1, "{volume} m³");
}

#[test]
fn a_switch_turns_an_emitter_on_and_off_from_the_file_and_live() {
    let events = "[[event]]\ntime = 0.1\nswitch = { name = \"tap\" }\n[[event]]\ntime = 0.2\nswitch = { name = \"tap\", on = false }";
    let mut world = world(&format!("speed = 1.0\nswitch = \"tap\"\n{events}"), "");
    let per_layer = layer("speed = 1.0");
    run(&mut world, 0.1);
    assert_eq!(world.len(), 0);
    run(&mut world, 0.3);
    let first = world.len();
    assert!(first.abs_diff(10 * per_layer) <= per_layer, "{first} in layers of {per_layer}");
    world.input(Action::Switch { name: "tap".into(), on: true }).unwrap();
    run(&mut world, 0.4);
    assert!((world.len() - first).abs_diff(10 * per_layer) <= per_layer, "{}", world.len() - first);
}

#[test]
fn outflow_deletes_what_enters_it_and_a_steady_stream_keeps_its_length() {
    let outflow = "[[outflow]]\nshape = { box = { min = [0.1, -1, -1], max = [9, 1, 1] } }";
    let mut world = world(&format!("speed = 1.0\n{outflow}"), "");
    run(&mut world, 0.2);
    let steady = world.len();
    run(&mut world, 0.6);
    let per_layer = layer("speed = 1.0");
    assert!(steady > 8 * per_layer && world.len().abs_diff(steady) <= per_layer, "{steady}, {}", world.len());
    // A frame comes after the last step, outflow before it: nothing is deeper than one step.
    assert!(positions(&world).iter().all(|p| p.x < 0.105));
}

#[test]
fn the_cap_on_particles_holds_and_outflow_makes_room_again() {
    let outflow =
        "[[outflow]]\nswitch = \"drain\"\nshape = { box = { min = [0.05, -1, -1], max = [9, 1, 1] } }";
    let mut world = world(&format!("speed = 1.0\n{outflow}"), "max_particles = 250");
    run(&mut world, 0.5);
    assert_eq!(world.len(), 250);
    assert!(world.is_capped());
    world.input(Action::Switch { name: "drain".into(), on: true }).unwrap();
    world.step().unwrap_or_else(|e| panic!("{e}"));
    run(&mut world, 0.53);
    assert!(world.len() < 250 && !world.is_empty(), "{}", world.len());
}

#[test]
fn a_volume_emitter_keeps_itself_filled_without_crowding() {
    let text = r#"
gravity = [0, -9.81, 0]
[time]
duration = 1
frame_rate = 100
[model]
spacing = 0.01
[[fluid]]
name = "water"
[[emitter]]
shape = { box = { min = [0, 0, 0], max = [0.05, 0.05, 0.05] } }
direction = [0, -1, 0]
speed = 0.5
"#;
    let scene =
        Scene::parse(text, "box.toml", std::path::Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(scene.scene).unwrap();
    run(&mut world, 0.2);
    let points = positions(&world);
    let inside =
        points.iter().filter(|p| p.cmpge(DVec3::ZERO).all() && p.cmple(DVec3::splat(0.05)).all()).count();
    assert!((80..=200).contains(&inside), "{inside} of 125");
    assert!(nearest(&points, 0.01).iter().all(|d| *d > 0.4), "crowded");
    // How densely gaps are filled again is not told in advance.
    let mut brief = world.scene().clone();
    brief.time.duration = 0.2;
    let told = forecast(&brief, 0).added / points.len() as f64;
    assert!((0.5..2.0).contains(&told), "{told} of what came");
}

#[test]
fn the_forecast_is_what_a_run_then_adds() {
    let switched = "speed = 1.0\nswitch = \"tap\"\n[[event]]\ntime = 0.2\nswitch = { name = \"tap\" }\n\
        [[event]]\ntime = 0.3\nset = { key = \"emitter.spout.speed\", value = 2.0 }\n\
        [[event]]\ntime = 0.5\nswitch = { name = \"tap\", on = false }";
    let (per_layer, never) = (layer("speed = 1.0"), "speed = 1.0\nswitch = \"tap\"");
    // Layers that the text of the scene promises, and the mean over the run in layers.
    for (emitter, more, layers, mean) in [
        ("speed = 1.0", "", 100.0, 50.0),
        ("speed = 1.0\nstart = 0.1\nstop = 0.3", "", 20.0, 16.0),
        (switched, "", 50.0, 31.5),
        (never, "", 0.0, 0.0),
        ("speed = 1.0\nstart = 5", "", 0.0, 0.0),
        ("speed = 1.0", "max_particles = 300", 300.0 / per_layer as f64, 300.0 / per_layer as f64 * 0.94),
    ] {
        let mut world = world(emitter, more);
        let told = forecast(world.scene(), 0);
        run(&mut world, 1.0);
        let (added, layer) = (world.len() as f64, per_layer as f64);
        assert!(
            (told.added - added).abs() <= 1.5 * layer,
            "{emitter}: {told:?}, {added} in layers of {layer}"
        );
        assert!((told.added / layer - layers).abs() <= 1.0, "{emitter}: {told:?} in layers of {layer}");
        assert!((told.mean / layer - mean).abs() <= 1.5, "{emitter}: {told:?} in layers of {layer}");
    }
}
