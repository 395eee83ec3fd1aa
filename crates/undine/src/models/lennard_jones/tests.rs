//! The fast path against the plain equations, the rule of the list, and what must stay the same.

use std::path::Path;

use glam::DVec3;
use proptest::prelude::*;

use super::naive::Law;
use super::*;
use crate::checkpoint::{CheckpointReader, CheckpointWriter};
use crate::models::springs::Solids;
use crate::models::{Around, Birth, Passes, Solver};
use crate::simd::Portable;
use crate::walls::Walls;
use crate::world::World;

fn scene(text: &str) -> Scene {
    Scene::parse(text, "lennard-jones.toml", Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}")).scene
}

/// A box of particles that repeats along x and z, on a disturbed lattice, moving every which way.
fn jumble(keys: &str, wobble: f64) -> (Scene, LennardJones) {
    let scene = scene(&format!(
        r#"
        gravity = [0, 0, 0]
        domain = {{ min = [0, 0, 0], max = [12, 30, 12], periodic = [true, false, true], open = ["-y", "+y"] }}
        [model]
        kind = "lennard-jones"
        spacing = 1
        sigma = 1
        epsilon = 1
        drag = 0
        {keys}
        [[fluid]]
        density = 1
        "#
    ));
    let mut model = LennardJones::new(&scene);
    let births: Vec<Birth> = (0..12 * 12 * 10)
        .map(|i| {
            let dice = |k: usize| ((i * 7919 + k * 104_729) % 1000) as f64 / 1000.0 - 0.5;
            let at = DVec3::new((i % 12) as f64, (i / 144) as f64, (i / 12 % 12) as f64);
            Birth {
                position: at + 0.5 + wobble * DVec3::new(dice(1), dice(2), dice(3)),
                velocity: DVec3::new(dice(4), dice(5), dice(6)),
                fluid: 0,
            }
        })
        .collect();
    model.insert(&births);
    (scene, model)
}

/// Runs a model in its scene.
struct Bench {
    walls: Walls,
    fields: crate::fields::Fields,
    solids: Solids,
    passes: Passes,
}

impl Bench {
    fn new(scene: &Scene) -> Self {
        Bench {
            walls: Walls::new(scene),
            fields: crate::fields::Fields::new(scene),
            solids: Solids::new(scene),
            passes: Passes::default(),
        }
    }

    fn refresh(&mut self, model: &mut LennardJones) {
        let Bench { walls, fields, solids, passes } = self;
        model.refresh(&Around { time: 0.0, walls, fields, solids }, passes);
    }

    fn step(&mut self, model: &mut LennardJones, dt: f64) {
        let Bench { walls, fields, solids, passes } = self;
        model.step(dt, &Around { time: 0.0, walls, fields, solids }, passes).unwrap();
    }
}

fn places(model: &LennardJones) -> Vec<DVec3> {
    let p = &model.particles;
    (0..p.len()).map(|i| DVec3::new(p.x[i], p.y[i], p.z[i])).collect()
}

fn velocities(model: &LennardJones) -> Vec<DVec3> {
    model.particles.velocity.iter().map(|v| Vec3::from(*v).as_dvec3()).collect()
}

fn law(model: &LennardJones) -> Law<'_> {
    Law {
        pair: &model.params.pair,
        damping: model.params.damping,
        core: model.params.core,
        period: model.period.as_ref(),
    }
}

#[test]
fn fast_forces_are_those_of_the_plain_equations_whatever_the_options() {
    for keys in [
        "damping = 0\nshifted = \"potential\"",
        "damping = 0",
        "damping = 0.5\nshifted = \"potential\"",
        "damping = 0.5\ncutoff = 1.7",
    ] {
        let (scene, mut model) = jumble(keys, 0.3);
        let mut bench = Bench::new(&scene);
        bench.refresh(&mut model);
        // Moved on, so that the list is not fresh.
        for _ in 0..3 {
            bench.step(&mut model, 0.001);
        }
        let expected = law(&model).forces(&places(&model), &velocities(&model));
        let velocity = model.particles.velocity.iter().chain(&[[0.0; 3]]);
        let record: Vec<_> = model.place.iter().zip(velocity).map(|(p, v)| force::record(*p, *v)).collect();
        let seen = Seen { record: &record, ..model.seen() };
        for (block, rows) in model.list.blocks.iter().enumerate() {
            let n = rows.end.len();
            let (mut fast, mut plain) = (vec![[0.0; 3]; n], vec![[0.0; 3]; n]);
            let mut most = [Closest::default(); 2];
            force::forces(&seen, rows, block * BLOCK, &mut fast, &mut most[0]);
            force::forces_in::<Portable>(&seen, rows, block * BLOCK, &mut plain, &mut most[1]);
            for k in 0..n {
                let e = expected[block * BLOCK + k];
                for got in [fast[k], plain[k]] {
                    let got = Vec3::from(got).as_dvec3() * f64::from(model.constants.force);
                    assert!(got.distance(e) < 2e-4 * (10.0 + e.length()), "{keys}: {got} is not {e}");
                }
            }
            assert!((most[0].close - most[1].close).abs() < 1e-4 * most[0].close);
            assert_eq!(most[0].rate > 0.0, model.params.damping > 0.0);
        }
        let (energy, virial) = law(&model).measure(&places(&model));
        let m = model.measure();
        assert!(
            (m.potential - energy).abs() < 1e-4 * energy.abs(),
            "{keys}: {} is not {energy}",
            m.potential
        );
        assert!((m.virial - virial).abs() < 1e-3 * energy.abs(), "{keys}: {} is not {virial}", m.virial);
    }
}

/// The same in open space, where lists are kept by patches and rows are those of clusters.
#[test]
fn forces_on_clusters_are_those_of_the_plain_equations_whatever_the_options() {
    for keys in [
        "damping = 0\nshifted = \"potential\"",
        "damping = 0",
        "damping = 0.5\nshifted = \"potential\"",
        "damping = 0.5\ncutoff = 1.7\nshifted = \"potential\"",
        "damping = 0.5\ncutoff = 1.7",
        "damping = 0.5",
    ] {
        let (mut scene, of) = jumble(keys, 0.3);
        scene.domain = None;
        let mut model = LennardJones::new(&scene);
        let births: Vec<Birth> = places(&of)
            .into_iter()
            .zip(velocities(&of))
            .map(|(position, velocity)| Birth { position, velocity, fluid: 0 })
            .collect();
        // Some are missing, so that the last cluster is not full.
        model.insert(&births[..births.len() - 3]);
        let mut bench = Bench::new(&scene);
        bench.refresh(&mut model);
        // Moved on, so that the list is not fresh.
        for _ in 0..3 {
            bench.step(&mut model, 0.001);
        }
        assert!(model.patched && model.period.is_none());
        let expected = law(&model).forces(&places(&model), &velocities(&model));
        let velocity = model.particles.velocity.iter().chain(&[[0.0; 3]]);
        let record: Vec<_> = model.place.iter().zip(velocity).map(|(p, v)| force::record(*p, *v)).collect();
        let seen = Seen { record: &record, ..model.seen() };
        let n = expected.len();
        let mut plain_rows = Vec::new();
        model.patches.list_portable(n, &mut plain_rows);
        for (block, (rows, plain_rows)) in model.list.blocks.iter().zip(&plain_rows).enumerate() {
            let first = block * BLOCK;
            let count = BLOCK.min(n - first);
            let (mut fast, mut plain) = (vec![[0.0; 3]; count], vec![[0.0; 3]; count]);
            let mut most = [Closest::default(); 2];
            clusters::forces(&seen, rows, first, &mut fast, &mut most[0]);
            clusters::forces_in::<Portable>(&seen, plain_rows, first, &mut plain, &mut most[1]);
            let mut closest = 0f64;
            for k in 0..count {
                let e = expected[first + k];
                for got in [fast[k], plain[k]] {
                    let got = Vec3::from(got).as_dvec3() * f64::from(model.constants.force);
                    assert!(got.distance(e) < 2e-4 * (10.0 + e.length()), "{keys}: {got} is not {e}");
                }
                let (all, sigma) = (places(&model), model.params.pair.sigma);
                for (_, p) in all.iter().enumerate().filter(|(j, _)| *j != first + k) {
                    closest = closest.max((sigma / p.distance(all[first + k])).powi(2));
                }
            }
            for most in most {
                assert!((f64::from(most.close) - closest).abs() < 1e-3 * closest, "{most:?}, not {closest}");
                assert_eq!(most.rate > 0.0, model.params.damping > 0.0);
            }
        }
        let (energy, virial) = law(&model).measure(&places(&model));
        let m = model.measure();
        assert!(
            (m.potential - energy).abs() < 1e-4 * energy.abs(),
            "{keys}: {} is not {energy}",
            m.potential
        );
        assert!((m.virial - virial).abs() < 1e-3 * energy.abs(), "{keys}: {} is not {virial}", m.virial);
    }
}

/// Pairs nearer than the cut-off that are not listed.
fn missed(model: &LennardJones) -> usize {
    let (places, law) = (places(model), law(model));
    let mut missed = 0;
    for (block, rows) in model.list.blocks.iter().enumerate() {
        let mut begin = 0;
        for (k, end) in rows.end.iter().enumerate() {
            let i = block * BLOCK + k;
            let row = &rows.index[begin..*end as usize];
            begin = *end as usize;
            let near =
                |j: &usize| *j != i && law.between(places[i], places[*j]).length() < model.params.pair.cutoff;
            missed += (0..places.len()).filter(near).filter(|j| !row.contains(&(*j as u32))).count();
        }
    }
    missed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn the_list_never_misses_a_pair(speed in 0.0..8.0f64, dt in 0.0005..0.004f64, wobble in 0.0..0.12f64, cutoff in 1.2..2.6f64) {
        let (scene, mut model) = jumble(&format!("damping = 0.2\ncutoff = {cutoff}"), wobble);
        model.scale_velocities(speed);
        let mut bench = Bench::new(&scene);
        bench.refresh(&mut model);
        for _ in 0..8 {
            bench.step(&mut model, dt);
            prop_assert_eq!(missed(&model), 0);
        }
    }
}

#[test]
fn a_list_serves_many_steps() {
    let (scene, mut model) = jumble("damping = 0", 0.0);
    let mut bench = Bench::new(&scene);
    bench.refresh(&mut model);
    for _ in 0..200 {
        bench.step(&mut model, 0.002);
    }
    assert!(model.lists() < 40, "{} lists in 200 steps", model.lists());
}

#[test]
fn momentum_and_energy_are_kept_without_friction() {
    let (scene, mut model) = jumble("damping = 0", 0.1);
    let mut bench = Bench::new(&scene);
    bench.refresh(&mut model);
    let energy = |m: Measured| m.kinetic + m.potential;
    let (start, before) = (energy(model.measure()), velocities(&model));
    let flow: f64 = before.iter().map(|v| v.length()).sum();
    for _ in 0..500 {
        bench.step(&mut model, 0.002);
    }
    let drift = velocities(&model).iter().sum::<DVec3>() - before.iter().sum::<DVec3>();
    assert!(drift.length() < 1e-5 * flow, "{drift} of {flow}");
    let off = (energy(model.measure()) - start) / model.len() as f64;
    assert!(off.abs() < 2e-3, "the energy of a particle went off by {off}");
}

const COLUMN: &str = r#"
    time = { duration = 1, frame_rate = 100 }
    domain = { min = [0, 0, 0], max = [0.2, 0.3, 0.1], open = ["+y"] }
    model = { kind = "lennard-jones", spacing = 0.01, cutoff = 1.8, temperature = 0.1 }
    [[fluid]]
    shape = { box = { min = [0, 0, 0], max = [0.1, 0.12, 0.1] } }
    [[boundary]]
    shape = { cylinder = { base = [0.15, 0.02, 0.05], radius = 0.02, height = 0.1 } }
    motion = { rotate = { center = [0.15, 0.05, 0.05], axis = [0, 0, 1], speed = 3 } }
    [[emitter]]
    shape = { disc = { center = [0.1, 0.25, 0.05], normal = [0.2, -1, 0], radius = 0.02 } }
    speed = 1
    "#;

fn bytes(world: &World) -> Vec<u8> {
    let mut out = CheckpointWriter::in_memory();
    world.save(&mut out).unwrap();
    out.finish_bytes().unwrap()
}

#[test]
fn one_thread_and_three_give_the_same_bits() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = World::new(scene(COLUMN)).unwrap();
            (0..20).for_each(|_| world.advance_frame().unwrap());
            bytes(&world)
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn a_resumed_run_is_the_same_to_the_last_bit_wherever_it_stopped() {
    let mut whole = World::new(scene(COLUMN)).unwrap();
    for stop in 0..40 {
        let saved = bytes(&whole);
        let mut resumed = World::new(scene(COLUMN)).unwrap();
        resumed.load(&mut CheckpointReader::from_bytes(saved).unwrap()).unwrap();
        for _ in 0..7 {
            resumed.step().unwrap();
            whole.step().unwrap();
        }
        assert_eq!(bytes(&whole), bytes(&resumed), "stopped at {stop}");
    }
}

#[test]
fn friction_alone_slows_as_it_should_whatever_the_step() {
    let scene = scene(
        r#"
        gravity = [0, -2, 0]
        model = { kind = "lennard-jones", spacing = 1, drag = 5, max_speed = 1 }
        [[fluid]]
        "#,
    );
    for dt in [0.01, 0.5] {
        let mut model = LennardJones::new(&scene);
        model.insert(&[Birth { position: DVec3::ZERO, velocity: DVec3::X, fluid: 0 }]);
        let mut bench = Bench::new(&scene);
        bench.refresh(&mut model);
        for k in 1..=(1.0 / dt) as i32 {
            bench.step(&mut model, dt);
            let (v, t) = (velocities(&model)[0], dt * f64::from(k));
            assert!((v.x - (-5.0 * t).exp()).abs() < 1e-5, "{v} at {t}");
            assert!((v.y + 0.4 * (1.0 - (-5.0 * t).exp())).abs() < 1e-5, "{v} at {t}");
        }
    }
}

#[test]
fn a_thermostat_holds_its_temperature() {
    let (scene, mut model) = jumble("damping = 0\ntemperature = 0.9", 0.1);
    model.params.drag = vec![2.0];
    let mut bench = Bench::new(&scene);
    bench.refresh(&mut model);
    let (mut sum, mut count) = (0.0, 0);
    for k in 0..3000 {
        bench.step(&mut model, 0.003);
        if k >= 1000 {
            sum += model.measure().kinetic * 2.0 / 3.0 / model.len() as f64;
            count += 1;
        }
    }
    let mean = sum / f64::from(count);
    assert!((mean / 0.9 - 1.0).abs() < 0.03, "{mean}");
}

#[test]
fn without_inertia_nothing_flies_on() {
    let mut world = World::new(scene(
        r#"
        time = { duration = 1, frame_rate = 100 }
        domain = { min = [0, 0, 0], max = [0.2, 0.3, 0.1], open = ["+y"] }
        model = { kind = "lennard-jones", spacing = 0.01, dynamics = "overdamped", drag = 50 }
        [[fluid]]
        shape = { box = { min = [0, 0.1, 0], max = [0.1, 0.15, 0.1] } }
        velocity = [1, 0, 0]
        "#,
    ))
    .unwrap();
    world.advance_frame().unwrap();
    let frame = world.frame();
    let mean = frame.particles.vector("velocity").unwrap().iter().map(|v| v[1]).sum::<f32>()
        / frame.particles.len() as f32;
    // It sinks at g/γ and goes nowhere else.
    assert!((mean + 9.81 / 50.0).abs() < 0.01, "{mean}");
}

/// Mean height and kinetic energy per mass of a collapsing column at some spacing.
fn collapse(spacing: f64) -> (f64, f64) {
    let text = COLUMN.replace("spacing = 0.01", &format!("spacing = {spacing}"));
    let text = text.split("[[boundary]]").next().unwrap();
    let mut world = World::new(scene(text)).unwrap();
    (0..15).for_each(|_| world.advance_frame().unwrap());
    let frame = world.frame();
    let n = frame.particles.len() as f64;
    let height = frame.particles.position.iter().map(|p| f64::from(p[1])).sum::<f64>() / n;
    let v = frame.particles.vector("velocity").unwrap();
    (height, v.iter().map(|v| 0.5 * f64::from(Vec3::from(*v).length_squared())).sum::<f64>() / n)
}

#[test]
fn a_column_collapses_alike_at_other_spacings() {
    let (coarse, fine) = (collapse(0.01), collapse(0.005));
    assert!((coarse.0 - fine.0).abs() < 0.06 * 0.12, "heights {} and {}", coarse.0, fine.0);
    assert!((coarse.1 / fine.1 - 1.0).abs() < 0.4, "energies {} and {}", coarse.1, fine.1);
}
