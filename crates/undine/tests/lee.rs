//! The scenes after Lee 2005: no particle in a wall, the same fluid at double and half spacing, and what each is to show.

use glam::DVec3;
use undine::frame::Frame;
use undine::scene::Scene;
use undine::world::World;

/// Simulated times are cut to this share without optimisation, so that tests stay quick.
const PATIENCE: f64 = if cfg!(debug_assertions) { 0.1 } else { 1.0 };

fn world(name: &str, factor: f64) -> World {
    let scene = Scene::load(name, &[]).unwrap_or_else(|e| panic!("{e}")).scene;
    let spacing = format!("model.spacing={}", scene.model.spacing * factor);
    World::new(Scene::load(name, &[spacing]).unwrap_or_else(|e| panic!("{e}")).scene).unwrap()
}

fn positions(frame: &Frame) -> impl Iterator<Item = DVec3> + '_ {
    frame.particles.position.iter().map(|p| glam::Vec3::from(*p).as_dvec3())
}

/// Runs to `time`, checking every frame; the last one.
fn until(name: &str, world: &mut World, time: f64) -> Frame {
    while world.clock().time < time * PATIENCE - 1e-9 {
        world.advance_frame().unwrap_or_else(|e| panic!("{name}: {e}"));
        let frame = world.frame();
        let slack = 1e-3 * frame.spacing;
        for p in positions(&frame) {
            assert!(p.is_finite(), "{name}: a particle at {p}");
            assert!(!world.walls().is_beyond(p, slack), "{name} at {:.3} s: {p} is in a wall", frame.time);
        }
    }
    world.frame()
}

fn centre(frame: &Frame) -> DVec3 {
    positions(frame).sum::<DVec3>() / frame.particles.len().max(1) as f64
}

/// How far the centres of mass are apart at two spacings, m, and each.
fn apart(name: &str, factors: [f64; 2], time: f64) -> (f64, [DVec3; 2]) {
    let centres = factors.map(|factor| centre(&until(name, &mut world(name, factor), time)));
    (centres[0].distance(centres[1]), centres)
}

#[test]
fn bottles_have_the_particles_of_the_paper() {
    for (name, count) in [("bottle-2000", 2_000.0), ("bottle-10000", 10_000.0)] {
        let world = world(name, 1.0);
        assert!((world.len() as f64 / count - 1.0).abs() < 0.03, "{name} has {}", world.len());
    }
}

/// The share of particles in the cup.
fn in_cup(world: &World) -> f64 {
    let cup = world.scene().boundaries.iter().find(|b| b.name == "cup").unwrap();
    let frame = world.frame();
    positions(&frame).filter(|p| cup.shape.contains(*p)).count() as f64 / frame.particles.len() as f64
}

#[test]
fn a_bottle_is_poured_into_the_cup_at_any_spacing() {
    if cfg!(debug_assertions) {
        return; // Needs its seconds of simulated time.
    }
    for (name, time) in [("bottle-2000", 5.0), ("bottle-10000", 8.0)] {
        let mut world = world(name, 2.0);
        until(name, &mut world, time);
        let share = in_cup(&world);
        assert!(share > 0.6, "{name} at double spacing: only {share:.2} is in the cup");
    }
    let mut world = world("bottle-2000", 1.0);
    until("bottle-2000", &mut world, 5.0);
    let share = in_cup(&world);
    assert!(share > 0.8, "bottle-2000: only {share:.2} is in the cup");
}

#[test]
fn bottles_pour_alike_at_other_spacings() {
    for (name, factors, time, allowed) in [
        ("bottle-2000", [2.0, 1.0], 0.5, 0.01),
        ("bottle-2000", [1.0, 0.5], 0.3, 0.006),
        ("bottle-10000", [2.0, 1.0], 0.4, 0.015),
        ("bottle-10000", [1.0, 0.5], 0.05, 0.01),
    ] {
        let (apart, centres) = apart(name, factors, time);
        assert!(apart < allowed, "{name} × {factors:?}: {centres:?} are {apart} m apart");
    }
}

#[test]
fn jets_of_the_shadow_dance_meet_in_the_middle_and_splash_up() {
    let mut world = world("shadow-dance", 2.0);
    let frame = until("shadow-dance", &mut world, 2.3);
    if cfg!(debug_assertions) {
        return; // Needs its seconds of simulated time.
    }
    let Some(undine::frame::FieldData::Byte(fluid)) = frame.particles.field("fluid") else {
        panic!("no fluid field")
    };
    assert!(fluid.contains(&0) && fluid.contains(&1));
    let crossed = positions(&frame).zip(fluid).filter(|(p, f)| (p.x > 0.0) == (**f == 0)).count();
    assert!(crossed * 50 > fluid.len(), "{crossed} of {} met the other side", fluid.len());
    let velocity = frame.particles.vector("velocity").unwrap();
    let rising = positions(&frame).zip(velocity).filter(|(p, v)| p.y > 0.05 && v[1] > 0.1).count();
    assert!(rising > 10, "{rising} splash up");
    until("shadow-dance", &mut world, 5.0);
}

#[test]
fn a_finger_gathers_drops_and_draws_them_elsewhere() {
    // Mean distance from where the finger is, over ground.
    let spread = |frame: &Frame, at: DVec3| {
        let off = |p: DVec3| (p - at).with_y(0.0).length();
        positions(frame).map(off).sum::<f64>() / frame.particles.len() as f64
    };
    let (first, second) = (DVec3::new(-0.09, 0.0, -0.03), DVec3::new(0.1, 0.0, 0.04));
    let mut world = world("portrait", 2.0);
    let start = spread(&until("portrait", &mut world, 0.4), first);
    if cfg!(debug_assertions) {
        return; // Needs its seconds of simulated time.
    }
    let gathered = spread(&until("portrait", &mut world, 2.5), first);
    assert!(gathered < 0.6 * start, "{start} m became {gathered} m");
    let drawn = spread(&until("portrait", &mut world, 5.1), second);
    assert!(drawn < 0.6 * start, "{drawn} m from the second finger");
}

#[test]
fn the_fountain_rises_and_keeps_its_bowl_full() {
    let mut world = world("fountain", 2.0);
    let frame = until("fountain", &mut world, 1.0);
    if cfg!(debug_assertions) {
        return; // Needs its seconds of simulated time.
    }
    let top = positions(&frame).map(|p| p.y).fold(0.0, f64::max);
    // v²/2g above the nozzle is 0.24 m.
    assert!((0.36..0.6).contains(&top), "it rises to {top} m");
    let bowl = |p: &DVec3| p.x.hypot(p.z) < 0.18 && p.y > 0.16;
    let before = positions(&frame).filter(bowl).count();
    let frame = until("fountain", &mut world, 6.0);
    let after = positions(&frame).filter(bowl).count();
    assert!(after * 10 > before * 8 && after < before * 4, "{before} became {after} in the bowl");
}

#[test]
fn small_scenes_survive_half_spacing() {
    for (name, time) in [("portrait", 0.7), ("fountain", 0.1), ("shadow-dance", 0.3)] {
        until(name, &mut world(name, 0.5), time);
    }
}
