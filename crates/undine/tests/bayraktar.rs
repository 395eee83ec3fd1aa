//! Bayraktar's scenes (2010, figures 1 and 3 to 9): sizes as in the paper, and a short run of each at double spacing.

use glam::DVec3;
use undine::emitter::forecast;
use undine::scene::Scene;
use undine::walls::Walls;
use undine::world::World;

/// Fluid and boundary particles that the paper states; 0 where it states none.
const STATED: [(&str, f64, f64); 8] = [
    ("adhesion", 0.0, 0.0),
    ("dam-obstacle", 0.0, 0.0),
    ("cloth", 0.0, 0.0),
    ("river", 60e3, 220e3),
    ("mixer", 50e3, 150e3),
    ("dragons", 0.0, 0.0),
    ("cylinders", 48e3, 130e3),
    ("lava", 50e3, 60e3),
];

fn load(name: &str, factor: f64) -> Scene {
    let scene = Scene::load(name, &[]).unwrap_or_else(|e| panic!("{e}")).scene;
    let spacing = format!("model.spacing={}", scene.model.spacing * factor);
    Scene::load(name, &[spacing]).unwrap_or_else(|e| panic!("{e}")).scene
}

#[test]
fn the_scenes_have_about_as_many_particles_as_the_papers() {
    for (name, fluid, walls) in STATED {
        let scene = load(name, 1.0);
        let samples = Walls::new(&scene).samples(scene.model.spacing, 1).unwrap();
        let count: usize = samples.iter().map(|body| body.samples.len()).sum();
        if std::env::var_os("UNDINE_SHOW").is_some() {
            let each: Vec<_> =
                samples.iter().map(|b| (&scene.boundaries[b.wall].name[..], b.samples.len())).collect();
            eprintln!("{name}: {count} boundary particles, {each:?}");
        }
        let off = count as f64 / walls.max(1.0) - 1.0;
        assert!(walls == 0.0 || off.abs() < 0.15, "{name} has {count} boundary particles");
        let world = World::new(scene.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let count = world.len() as f64 + forecast(&scene, world.len()).added;
        let off = count / fluid.max(1.0) - 1.0;
        if std::env::var_os("UNDINE_SHOW").is_some() {
            eprintln!("{name}: {} fluid particles at the start, {count} emitted and all", world.len());
        }
        assert!(fluid == 0.0 || off.abs() < 0.05, "{name} has {count} fluid particles");
        assert!(count > 10_000.0, "{name} has {count} fluid particles");
    }
}

#[test]
fn all_walls_are_without_slip() {
    for (name, ..) in STATED {
        let scene = load(name, 1.0);
        assert!(scene.boundaries.iter().all(|wall| wall.slip == undine::scene::Slip::NoSlip), "{name}");
        assert!(scene.domain.is_none(), "{name}: its walls are bodies");
    }
}

/// A few tenths of a second at double spacing: nothing is lost, nothing is in a wall, the steps do not collapse.
fn run(name: &str, time: f64) {
    let time = if cfg!(debug_assertions) { 0.1 * time } else { time };
    let mut world = World::new(load(name, 2.0)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let spacing = world.scene().model.spacing;
    let mut steps = 0;
    while world.clock().time < time {
        world.step().unwrap_or_else(|e| panic!("{name}: {e}"));
        steps += 1;
        assert!(f64::from(steps) < 20_000.0 * time.max(0.1), "{name}: steps collapse");
    }
    let frame = world.frame();
    assert!(frame.particles.len() > 100, "{name}: {} particles", frame.particles.len());
    for p in &frame.particles.position {
        let p = DVec3::from_array(p.map(f64::from));
        assert!(p.is_finite());
        // Where walls meet at a sharp angle, out of one is a little into the other.
        let depth = -world.walls().distance(p, spacing);
        assert!(depth < 0.25 * spacing, "{name}: {p} is {} spacings in a wall", depth / spacing);
    }
}

#[test]
fn adhesion_runs() {
    run("adhesion", 0.5);
}

#[test]
fn dam_obstacle_runs() {
    run("dam-obstacle", 0.5);
}

#[test]
fn cloth_runs() {
    run("cloth", 0.4);
}

#[test]
fn river_runs() {
    run("river", 0.8);
}

#[test]
fn mixer_runs() {
    run("mixer", 0.6);
}

#[test]
fn dragons_run() {
    run("dragons", 0.5);
}

#[test]
fn cylinders_run() {
    run("cylinders", 0.5);
}

#[test]
fn lava_runs() {
    run("lava", 1.0);
}

/// Wetting once made the lowest layer of a drop stick to its plate and drive off the rest.
#[test]
fn a_drop_spreads_on_a_plate_that_it_wets_and_stays_there() {
    let text = "
        gravity = [0, 0, 0]
        time = { duration = 1 }
        model = { spacing = 0.001 }
        fluid = [{ viscosity = 0.05, surface_tension = 0.072, shape = { sphere = { center = [0, 0, 0], radius = 0.01 } } }]
        boundary = [{ slip = 'no-slip', adhesion = 1, shape = { box = { min = [-0.03, -0.02, -0.03], max = [0.03, 0, 0.03] } } }]
    ";
    let scene = Scene::parse(text, "drop", std::path::Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(scene.scene).unwrap_or_else(|e| panic!("{e}"));
    let lowest = |world: &World| world.frame().particles.position.iter().filter(|p| p[1] < 0.001).count();
    let before = lowest(&world);
    while world.clock().time < 0.3 {
        world.step().unwrap_or_else(|e| panic!("{e}"));
    }
    let highest = world.frame().particles.position.iter().fold(0.0, |high: f32, p| high.max(p[1]));
    assert!(highest < 0.01, "a particle at {highest} m");
    assert!(lowest(&world) > 2 * before, "{} beside the plate, {before} before", lowest(&world));
}
