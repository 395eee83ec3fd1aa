//! No particle passes a wall: the probe `leaks` stays 0, in every built-in scene at a coarse spacing and in cases made to
//! press, throw and squeeze fluid through walls, with every way of keeping it out.
//!
//! `examples/leaks.rs` does the same for the built-in scenes at full size.

use std::path::Path;

use glam::DVec3;
use undine::frame::Frame;
use undine::probe::Probes;
use undine::scene::builtin::BUILTIN;
use undine::scene::{Probe, ProbeKind, Scene, WallKind};
use undine::world::World;

/// Particle-steps of each run; a share of them without optimisation, so that tests stay quick.
const PATIENCE: f64 = if cfg!(debug_assertions) { 0.02 } else { 1.0 };

/// Runs a scene and looks for leaks now and then. `passed` says of a place and a time whether fluid can only have got there
/// through a wall.
fn run(
    what: &str,
    mut scene: Scene,
    particle_steps: f64,
    most_steps: u64,
    passed: impl Fn(DVec3, f64) -> bool,
) -> u64 {
    scene.probes = vec![Probe {
        name: "leaks".into(),
        kind: ProbeKind::Leaks,
        axis: 0,
        position: DVec3::ZERO,
        fluid: None,
        body: None,
    }];
    let probes = Probes::new(&scene);
    let duration = scene.time.duration;
    let mut world = World::new(scene).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut done = 0;
    while (done as f64) < PATIENCE * particle_steps && world.clock().steps < most_steps {
        if world.clock().time >= duration {
            break;
        }
        world.step().unwrap_or_else(|e| panic!("{what}: {e}"));
        done += world.len() as u64;
        if world.clock().steps.is_multiple_of(8) {
            let frame = world.frame();
            let leaks = probes.measure(&frame)[0];
            assert_eq!(leaks, 0.0, "{what}: in a wall at {} s, step {}", frame.time, world.clock().steps);
            if let Some(p) = positions(&frame).find(|p| passed(*p, frame.time)) {
                panic!("{what}: {p} at {} s is behind a wall, step {}", frame.time, world.clock().steps);
            }
        }
    }
    if std::env::var_os("UNDINE_SHOW").is_some() {
        let (steps, time) = (world.clock().steps, world.clock().time);
        eprintln!(
            "{what}: {} particles, {} walls, {steps} steps, {time:.3} s",
            world.len(),
            world.wall_particles()
        );
    }
    done
}

fn positions(frame: &Frame) -> impl Iterator<Item = DVec3> + '_ {
    frame.particles.position.iter().map(|p| glam::Vec3::from(*p).as_dvec3())
}

/// A built-in scene at a multiple of its spacing.
fn holds(name: &str, factor: f64) {
    let spacing = Scene::load(name, &[]).unwrap().scene.model.spacing * factor;
    let scene = Scene::load(name, &[format!("model.spacing={spacing}")]).unwrap().scene;
    run(name, scene, 1e6, 3000, |_, _| false);
}

/// A case with each way of keeping fluid out.
fn holds_any_way(case: &str, text: &str, passed: impl Fn(DVec3, f64) -> bool) {
    for kind in WallKind::NAMES {
        let set = [format!("model.walls=\"{kind}\"")];
        let scene =
            Scene::parse(text, case, Path::new("."), &set).unwrap_or_else(|e| panic!("{case}: {e}")).scene;
        let done = run(&format!("{case}, {kind}"), scene, 2e6, u64::MAX, &passed);
        assert!(done > 0);
    }
}

#[test]
fn a_jet_of_20_m_per_s_does_not_pass_a_plate_of_half_a_spacing() {
    let text = r#"
        time = { duration = 0.06 }
        model = { spacing = 0.02 }
        domain = { min = [-0.4, -0.4, -0.4], max = [0.4, 0.6, 0.4] }
        fluid = [{ name = "water" }]
        emitter = [{ fluid = "water", speed = 20, shape = { disc = { center = [0, 0.3, 0], normal = [0, -1, 0], radius = 0.1 } } }]
        boundary = [{ shape = { box = { min = [-0.5, -0.005, -0.5], max = [0.5, 0.005, 0.5] } }, slip = "no-slip" }]
    "#;
    holds_any_way("jet", text, |p, _| p.y < 0.0);
}

#[test]
fn water_thrown_into_a_corner_of_three_boxes_stays_there() {
    let text = r#"
        time = { duration = 0.12 }
        model = { spacing = 0.02 }
        fluid = [{ name = "water", velocity = [-6, -6, -6], shape = { sphere = { center = [0.25, 0.25, 0.25], radius = 0.16 } } }]
        boundary = [
            { shape = { box = { min = [-0.2, -0.2, -0.2], max = [1, 0, 1] } }, slip = "no-slip" },
            { shape = { box = { min = [-0.2, -0.2, -0.2], max = [0, 1, 1] } } },
            { shape = { box = { min = [-0.2, -0.2, -0.2], max = [1, 1, 0] } }, slip = "no-slip" } ]
    "#;
    // Over the rim it would be higher by now.
    holds_any_way("corner", text, |p, _| p.min_element() < -0.2 && p.max_element() < 0.5);
}

#[test]
fn a_fast_mixer_of_thin_blades_keeps_its_fluid_in_and_none_in_its_blades() {
    let text = r#"
        time = { duration = 0.15 }
        model = { spacing = 0.02 }
        fluid = [{ name = "water", shape = { cylinder = { base = [0, 0, 0], radius = 0.25, height = 0.14 } } }]
        [[boundary]]
        shape = { cylinder = { base = [0, 0, 0], radius = 0.25, height = 0.3 } }
        inside = "hollow"
        thickness = 0.01
        slip = "no-slip"
        [[boundary]]
        shape = { box = { min = [-0.22, 0.02, -0.005], max = [0.22, 0.12, 0.005] } }
        motion = { rotate = { center = [0, 0, 0], axis = [0, 1, 0], speed = 60 } }
        slip = "no-slip"
        [[boundary]]
        shape = { box = { min = [-0.005, 0.02, -0.22], max = [0.005, 0.12, 0.22] } }
        motion = { rotate = { center = [0, 0, 0], axis = [0, 1, 0], speed = 60 } }
    "#;
    holds_any_way("mixer", text, |p, _| p.x.hypot(p.z) > 0.255 || p.y < -0.005 || p.y > 0.305);
}

#[test]
fn a_plate_that_pushes_water_against_a_wall_lets_none_by() {
    let text = r#"
        time = { duration = 0.12 }
        model = { spacing = 0.02 }
        domain = { min = [0, 0, 0], max = [1, 0.6, 0.3] }
        fluid = [{ name = "water", shape = { box = { min = [0, 0, 0], max = [0.5, 0.2, 0.3] } } }]
        [[boundary]]
        shape = { box = { min = [0.5, -0.1, -0.1], max = [0.51, 0.7, 0.4] } }
        motion = { translate = { velocity = [-3, 0, 0], stop = 0.1 } }
        slip = "no-slip"
    "#;
    holds_any_way("piston", text, |p, t| p.x > 0.505 - 3.0 * t.min(0.1));
}

#[test]
fn a_thin_box_that_tumbles_keeps_its_water() {
    let text = r#"
        time = { duration = 0.6 }
        model = { spacing = 0.02 }
        fluid = [{ name = "water", shape = { box = { min = [-0.2, -0.15, -0.1], max = [0.2, 0, 0.1] } } }]
        [[boundary]]
        shape = { box = { min = [-0.2, -0.15, -0.1], max = [0.2, 0.15, 0.1] } }
        inside = "hollow"
        thickness = 0.01
        motion = { rotate = { center = [0, 0, 0], axis = [0.6, 0, 0.8], speed = 12 } }
        slip = "no-slip"
    "#;
    holds_any_way("box", text, |p, t| {
        let q = glam::DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), -12.0 * t) * p;
        (q.abs() - DVec3::new(0.2, 0.15, 0.1)).max_element() > 0.005
    });
}

macro_rules! scenes {
    ($($test:ident $name:literal $factor:literal)*) => {
        $(#[test]
        fn $test() {
            holds($name, $factor);
        })*

        #[test]
        fn every_built_in_scene_is_looked_at() {
            assert_eq!(BUILTIN.iter().map(|b| b.name).collect::<Vec<_>>(), [$($name),*]);
        }
    };
}

scenes! {
    adhesion_holds "adhesion" 2.0
    ball_splash_holds "ball-splash" 2.0
    bottle_10000_holds "bottle-10000" 2.0
    bottle_2000_holds "bottle-2000" 2.0
    buoyancy_holds "buoyancy" 2.0
    cloth_holds "cloth" 2.0
    cylinders_hold "cylinders" 2.0
    dam_break_holds "dam-break" 2.0
    dam_obstacle_holds "dam-obstacle" 2.0
    dragons_hold "dragons" 2.0
    drop_holds "drop" 2.0
    fountain_holds "fountain" 2.0
    horvath_15k_holds "horvath-15k" 2.0
    horvath_30k_holds "horvath-30k" 2.0
    horvath_45k_holds "horvath-45k" 2.0
    horvath_60k_holds "horvath-60k" 2.0
    jet_cube_holds "jet-cube" 2.0
    lava_holds "lava" 2.0
    mixer_holds "mixer" 2.0
    portrait_holds "portrait" 2.0
    pour_holds "pour" 2.0
    ricochet_holds "ricochet" 2.0
    river_holds "river" 2.0
    shadow_dance_holds "shadow-dance" 2.0
    splash_holds "splash" 2.0
    swirl_holds "swirl" 2.0
    two_fluids_hold "two-fluids" 2.0
    u_tube_holds "u-tube" 2.0
}
