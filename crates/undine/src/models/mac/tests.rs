//! The grid against what must be exactly so.

use std::path::Path;

use glam::DVec3;

use super::cuts::{Cuts, open_share};
use super::layout::Layout;
use super::pressure::TOLERANCE;
use super::*;
use crate::walls::Walls;
use crate::world::World;

pub(super) fn scene(text: &str) -> Scene {
    Scene::parse(text, "test.toml", Path::new("."), &[]).unwrap().scene
}

pub(super) fn world(text: &str) -> World {
    World::new(scene(text)).unwrap()
}

/// A world after some frames.
pub(super) fn run(text: &str, frames: u64) -> World {
    let mut world = world(text);
    for _ in 0..frames {
        world.advance_frame().unwrap();
    }
    world
}

/// The last of some frames, computed by so many threads; with `resume` stopped half-way and taken up again.
pub(super) fn last_frame(text: &str, threads: usize, frames: u64, resume: bool) -> Frame {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut world = world(text);
        for k in 0..frames {
            if resume && k == frames / 2 {
                let mut out = CheckpointWriter::in_memory();
                world.save(&mut out).unwrap();
                let seen = world.frame();
                world = self::world(text);
                world.load(&mut CheckpointReader::from_bytes(out.finish_bytes().unwrap()).unwrap()).unwrap();
                assert_eq!(world.frame(), seen);
            }
            world.advance_frame().unwrap();
        }
        world.frame()
    })
}

fn fastest(world: &World) -> f32 {
    let frame = world.frame();
    let v = frame.particles.vector("velocity").unwrap();
    v.iter().map(|v| glam::Vec3::from(*v).length()).fold(0.0, f32::max)
}

const POOL: &str = r#"
    time = { duration = 1, frame_rate = 20 }
    domain = { min = [0, 0, 0], max = [1, 1, 0.5] }
    model = { kind = "mac", spacing = 0.0625 }
    [[fluid]]
    viscosity = 0
    shape = { box = { min = [0, 0, 0], max = [1, 0.53, 0.5] } }
"#;

#[test]
fn a_still_pool_is_still() {
    let world = run(POOL, 20);
    assert!(fastest(&world) < 1e-3, "{}", fastest(&world));
}

#[test]
fn a_pool_over_tilted_and_curved_walls_stays_nearly_still() {
    let walls = r#"
        [[boundary]]
        shape = { sphere = { center = [0.7, 0.1, 0.25], radius = 0.22 } }
        [[boundary]]
        shape = { cylinder = { center = [0.1, 0, 0.25], axis = [1, 2, 0], radius = 0.15, height = 0.5 } }
    "#;
    let mut world = world(&format!("{POOL}{walls}"));
    let mut most = 0f32;
    for _ in 0..20 {
        world.advance_frame().unwrap();
        most = most.max(fastest(&world));
    }
    // Of free fall from the surface: 3.2 m/s. Markers were left out of walls cell by cell, so the surface settles a little.
    assert!(most < 0.15, "{most}");
}

#[test]
fn volumes_are_kept_to_the_tolerance_in_a_collapse() {
    let mut world = world(&POOL.replace("max = [1, 0.53, 0.5]", "max = [0.4, 0.8, 0.5]"));
    for _ in 0..12 {
        world.advance_frame().unwrap();
        let diagnostics = world.diagnostics();
        let of = |name| diagnostics.iter().find(|d| d.0 == name).unwrap().1;
        assert!(of("divergence × step") <= TOLERANCE, "{}", of("divergence × step"));
        let iterations = of("pressure iterations");
        assert!(iterations <= 75.0, "{iterations}");
    }
}

#[test]
fn free_fall_is_exact() {
    let mut world = world(
        r#"
        time = { duration = 0.5, frame_rate = 10 }
        domain = { min = [0, 0, 0], max = [1, 2, 1] }
        model = { kind = "mac", spacing = 0.1 }
        [[fluid]]
        shape = { sphere = { center = [0.5, 1.6, 0.5], radius = 0.25 } }
        velocity = [0.3, 0, 0]
        "#,
    );
    let mean = |world: &World| {
        let frame = world.frame();
        let n = frame.particles.len() as f32;
        let x: glam::Vec3 = frame.particles.position.iter().map(|p| glam::Vec3::from(*p)).sum();
        let v: glam::Vec3 =
            frame.particles.vector("velocity").unwrap().iter().map(|p| glam::Vec3::from(*p)).sum();
        ((x / n).as_dvec3(), (v / n).as_dvec3())
    };
    let start = mean(&world).0;
    for _ in 0..4 {
        world.advance_frame().unwrap();
    }
    let (x, v) = mean(&world);
    let t = 0.4;
    let fallen = start + DVec3::new(0.3 * t, -0.5 * 9.81 * t * t, 0.0);
    assert!(x.distance(fallen) < 1e-4, "{x} instead of {fallen}");
    assert!(v.distance(DVec3::new(0.3, -9.81 * t, 0.0)) < 2e-3, "{v}");
}

#[test]
fn cut_faces_of_a_sphere_add_up_to_its_discs() {
    let scene = scene(
        r#"
        domain = { min = [0, 0, 0], max = [1, 1, 1] }
        model = { kind = "mac", spacing = 0.05 }
        [[fluid]]
        shape = { box = { min = [0, 0, 0], max = [0.1, 0.1, 0.1] } }
        [[boundary]]
        shape = { sphere = { center = [0.5, 0.52, 0.47], radius = 0.3 } }
        "#,
    );
    let layout = Layout::new(&scene).unwrap();
    let cuts = Cuts::new(&layout, &Walls::new(&scene));
    for (a, center) in [0.5, 0.52, 0.47].into_iter().enumerate() {
        for plane in 5..15 {
            let x = plane as f64 * 0.05 - center;
            let disc = std::f64::consts::PI * (0.09 - x * x).max(0.0);
            let mut sum = 0.0;
            for k in 0..400 {
                let cell = match a {
                    0 => [plane, k % 20, k / 20],
                    1 => [k % 20, plane, k / 20],
                    _ => [k % 20, k / 20, plane],
                };
                sum += f64::from(1.0 - cuts.open[a][layout.at(cell)]) * 0.0025;
            }
            assert!((sum - disc).abs() < 0.06 * disc + 5e-4, "axis {a}, plane {plane}: {sum} of {disc}");
        }
    }
    let solid: f32 = (0..8000).map(|c| 1.0 - cuts.volume[layout.at([c % 20, c / 20 % 20, c / 400])]).sum();
    let ball = 4.0 / 3.0 * std::f64::consts::PI * 0.027;
    assert!((f64::from(solid) * 0.05f64.powi(3) / ball - 1.0).abs() < 0.02);
}

#[test]
fn straight_cuts_of_a_square_have_their_exact_share() {
    assert_eq!(open_share([1.0; 4]), 1.0);
    assert_eq!(open_share([-1.0; 4]), 0.0);
    assert!((open_share([-0.25, 0.75, -0.25, 0.75]) - 0.75).abs() < 1e-6);
    assert!((open_share([-1.0, 1.0, 1.0, 3.0]) - 0.875).abs() < 1e-6);
}

fn splash((convection, markers): (&str, usize), threads: usize, frames: u64, resume: bool) -> Frame {
    let text = format!(
        r#"
        time = {{ duration = 1, frame_rate = 20 }}
        domain = {{ min = [0, 0, 0], max = [1, 0.8, 0.4], periodic = [false, false, true], open = ["+y"] }}
        model = {{ kind = "mac", spacing = 0.05, convection = "{convection}", markers = {markers} }}
        [[fluid]]
        viscosity = 0.5
        shape = {{ box = {{ min = [0, 0, 0], max = [0.4, 0.5, 0.4] }} }}
        [[fluid]]
        name = "oil"
        density = 700
        shape = {{ box = {{ min = [0.7, 0, 0], max = [1, 0.3, 0.4] }} }}
        [[boundary]]
        shape = {{ sphere = {{ center = [0.6, 0.1, 0.2], radius = 0.1 }} }}
        motion = {{ translate = {{ velocity = [0, 0.2, 0], frequency = 2 }} }}
        [[probe]]
        kind = "energy"
        [[emitter]]
        fluid = "oil"
        shape = {{ disc = {{ center = [0.5, 0.7, 0.2], normal = [0, -1, 0], radius = 0.08 }} }}
        speed = 1
        [[force]]
        swirl = {{ center = [0.5, 0, 0.2], axis = [0, 1, 0], strength = 2 }}
        "#
    );
    last_frame(&text, threads, frames, resume)
}

#[test]
fn a_splash_is_the_same_on_any_number_of_threads_and_after_stop_and_resume() {
    // With four in a row most markers only follow.
    let many = Convection::NAMES[0];
    for scheme in Convection::NAMES.map(|c| (c, 2)).into_iter().chain([(many, 4)]) {
        let plain = splash(scheme, 1, 10, false);
        assert!(plain.particles.len() > 7500);
        assert!(plain == splash(scheme, 3, 10, true), "{scheme:?}");
    }
}

#[test]
fn nothing_leaks_from_a_bowl_and_no_marker_is_lost() {
    for markers in [2, 4] {
        let mut world = world(&format!(
            r#"
            time = {{ duration = 1, frame_rate = 20 }}
            domain = {{ min = [0, 0, 0], max = [1, 1, 1] }}
            model = {{ kind = "mac", spacing = 0.05, markers = {markers} }}
            [[fluid]]
            shape = {{ sphere = {{ center = [0.4, 0.55, 0.5], radius = 0.22 }} }}
            velocity = [2, -1, 0]
            [[boundary]]
            inside = "hollow"
            shape = {{ sphere = {{ center = [0.5, 0.5, 0.5], radius = 0.42 }} }}
            [[probe]]
            kind = "leaks"
            "#
        ));
        let count = world.len();
        let probes = crate::probe::Probes::new(world.scene());
        for frame in 0..20 {
            world.advance_frame().unwrap();
            let shown = world.frame();
            assert_eq!(probes.measure(&shown)[0], 0.0, "{markers} markers along an edge, frame {frame}");
            // Nor is any beyond the wall: jets of the impact go as far as the wall is thick in a step.
            let away = |p: &[f32; 3]| (glam::Vec3::from(*p) - 0.5).length();
            let farthest = shown.particles.position.iter().map(away).fold(0.0, f32::max);
            assert!(farthest < 0.4201, "{markers} markers along an edge, frame {frame}: {farthest}");
        }
        assert_eq!(world.len(), count);
    }
}

#[test]
fn markers_that_flow_over_an_open_side_are_gone() {
    for markers in [2, 4] {
        let mut world = world(&format!(
            r#"
            time = {{ duration = 1, frame_rate = 20 }}
            domain = {{ min = [0, 0, 0], max = [1, 0.5, 0.25], open = ["+x", "+z"] }}
            model = {{ kind = "mac", spacing = 0.0625, markers = {markers} }}
            [[fluid]]
            shape = {{ box = {{ min = [0.5, 0, 0], max = [1, 0.4, 0.25] }} }}
            "#
        ));
        let count = world.len();
        for _ in 0..20 {
            world.advance_frame().unwrap();
        }
        assert!(world.len() < count / 2, "{} of {count} are left", world.len());
        let frame = world.frame();
        assert!(frame.particles.position.iter().all(|p| p[0] <= 1.0 && p[2] <= 0.25));
    }
}

#[test]
fn markers_that_only_follow_go_where_the_others_go() {
    let run = |markers: usize, stop: usize| {
        let mut world = world(
            &POOL
                .replace("max = [1, 0.53, 0.5]", "max = [0.375, 0.75, 0.5]")
                .replace("spacing = 0.0625", &format!("spacing = 0.0625, markers = {markers}")),
        );
        for _ in 0..stop {
            world.advance_frame().unwrap();
        }
        let frame = world.frame();
        let mean = |of: &[[f32; 3]]| {
            of.iter().map(|p| glam::Vec3::from(*p).as_dvec3()).sum::<DVec3>() / of.len() as f64
        };
        (
            mean(&frame.particles.position),
            mean(frame.particles.vector("velocity").unwrap()),
            frame.particles.len(),
        )
    };
    for stop in [0, 4, 10] {
        let (few, many) = (run(2, stop), run(4, stop));
        assert_eq!(many.2, 8 * few.2);
        assert!(few.0.distance(many.0) < 0.01, "{} and {}", few.0, many.0);
        assert!(few.1.distance(many.1) < 0.1, "{} and {}", few.1, many.1);
    }
}

/// The mean speed after 1 s in a gap of 1 m, pulled along by 1 m/s².
fn speed_in_a_gap(step: &str, viscosity: f64) -> f64 {
    let mut world = world(&format!(
        r#"
            gravity = [1, 0, 0]
            time = {{ duration = 1, frame_rate = 50 }}
            domain = {{ min = [0, 0, 0], max = [0.4, 1, 0.4], periodic = [true, false, true], slip = "no-slip" }}
            model = {{ kind = "mac", spacing = 0.1, viscous_step = "{step}" }}
            [[fluid]]
            density = 1000
            viscosity = {viscosity}
            shape = {{ box = {{ min = [0, 0, 0], max = [0.4, 1, 0.4] }} }}
            "#
    ));
    for _ in 0..50 {
        world.advance_frame().unwrap();
    }
    let frame = world.frame();
    let v = frame.particles.vector("velocity").unwrap();
    v.iter().map(|v| f64::from(v[0])).sum::<f64>() / v.len() as f64
}

#[test]
fn thin_fluid_waits_for_its_viscosity_and_slows_down_alike() {
    let [free, each, waited] =
        [("auto", 0.0), ("explicit", 0.1), ("auto", 0.1)].map(|(s, v)| speed_in_a_gap(s, v));
    assert!(free > 1.001 * each, "{free} and {each}");
    assert!((waited - each).abs() < 0.05 * (free - each), "{waited} instead of {each}, without {free}");
}

#[test]
fn thick_fluid_slows_down_alike_by_both_viscous_steps() {
    // Start-up of a plane flow (Morris 1997), averaged over the gap.
    let nu = 0.1;
    let odd = (0..20).map(|n| std::f64::consts::PI * f64::from(2 * n + 1));
    let exact = 1.0 / (12.0 * nu) - odd.map(|k| 8.0 / (nu * k.powi(4)) * (-k * k * nu).exp()).sum::<f64>();
    for step in ["explicit", "implicit"] {
        let mean = speed_in_a_gap(step, 100.0);
        assert!((mean / exact - 1.0).abs() < 0.03, "{step}: {mean} instead of {exact}");
    }
}

#[test]
fn a_scene_without_a_domain_is_refused() {
    let text = "model = { kind = \"mac\", spacing = 0.1 }\n[[fluid]]\nshape = { box = { min = [0, 0, 0], max = [1, 1, 1] } }";
    let error = Scene::parse(text, "test.toml", Path::new("."), &[]).unwrap_err().to_string();
    assert!(error.contains("[domain]"), "{error}");
}
