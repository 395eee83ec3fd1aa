//! The scenes of Génevaux 2003 at double spacing, for a while: they run, and bodies and markers stay where they can be.

use undine::scene::Scene;
use undine::world::World;

fn coarse(name: &str, frames: u64) -> World {
    let plain = Scene::load(name, &[]).unwrap().scene;
    let set = [format!("model.spacing={}", 2.0 * plain.model.spacing), "model.markers=2".into()];
    let mut world = World::new(Scene::load(name, &set).unwrap().scene).unwrap();
    let count = world.len();
    for _ in 0..frames {
        world.advance_frame().unwrap();
    }
    if world.scene().emitters.is_empty() {
        assert_eq!(world.len(), count, "{name}");
    }
    let domain = world.scene().domain.clone().unwrap();
    for p in &world.frame().particles.position {
        let p = glam::Vec3::from(*p).as_dvec3();
        assert!(p.cmpge(domain.min - 1e-6).all() && p.cmple(domain.max + 1e-6).all(), "{name}: {p}");
    }
    world
}

#[test]
fn a_ball_rises_and_floats() {
    let world = coarse("buoyancy", 24);
    let y = world.solids().state().position[0].y;
    assert!((1.0..1.25).contains(&y), "{y}");
}

#[test]
fn a_thrown_ball_splashes() {
    let world = coarse("ricochet", 8);
    assert!(world.solids().state().position[0].x > 0.6);
}

#[test]
fn a_ball_that_falls_in_comes_up_again() {
    let world = coarse("ball-splash", 18);
    assert!(world.solids().state().position[0].y > 0.3);
}

#[test]
fn a_jet_pushes_a_cube() {
    let world = coarse("jet-cube", 8);
    let cube = world.solids().state();
    assert!(cube.momentum(0..cube.len()).x > 0.0);
}

#[test]
fn cubes_fall_into_the_arms_of_a_tube() {
    let world = coarse("u-tube", 10);
    let state = world.solids().state();
    let heavy = state.bodies[1].nodes.clone();
    assert!(state.centre(heavy).y < 0.7);
}
