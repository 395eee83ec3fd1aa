use proptest::prelude::*;

use super::*;
use crate::frame::Particles;

fn frame(position: Vec<[f32; 3]>, spacing: f64) -> Frame {
    Frame { spacing, particles: Particles { position, ..Particles::default() }, ..Frame::default() }
}

/// A block of n³ particles at rest.
fn lattice(n: usize, spacing: f32) -> Frame {
    let at = |i: usize| (i as f32 + 0.5) * spacing;
    let position = (0..n * n * n).map(|i| [at(i % n), at(i / n % n), at(i / n / n)]).collect();
    frame(position, f64::from(spacing))
}

proptest! {
    #[test]
    fn no_volume_is_lost_or_made(
        p in proptest::collection::vec((-3f32..3.0, -3f32..3.0, -3f32..3.0), 1..40),
        cell in 0.2f64..2.0,
        spread in 0.25f64..3.0,
        radius in 0.1f64..1.0,
    ) {
        let options = Options { cell, spread, radius, spacing: None };
        let count = p.len() as f64;
        let frame = frame(p.into_iter().map(|(x, y, z)| [x, y, z]).collect(), 0.2);
        let expected = count * options.at_rest() * 0.2f64.powi(3);
        let volume = build(&frame, &options).unwrap().volume();
        prop_assert!((volume / expected - 1.0).abs() < 1e-4, "{volume} {expected}");
    }
}

#[test]
fn deep_inside_a_fluid_at_rest_the_fraction_is_that_of_balls_in_a_lattice() {
    let frame = lattice(8, 0.1);
    let even = build(&frame, &Options { spread: 1.0, ..Options::default() }).unwrap();
    let near = build(&frame, &Options::default()).unwrap();
    for i in 0..50 {
        let p = Vec3::splat(0.4) + 0.002 * Vec3::new(i as f32, (i * 7 % 50) as f32, (i * 13 % 50) as f32);
        let rest = std::f32::consts::FRAC_PI_6;
        assert!((even.at(p) - rest).abs() < 1e-3, "{}", even.at(p));
        assert!((near.at(p) / rest - 1.0).abs() < 0.2, "{}", near.at(p));
    }
    assert_eq!(even.at(Vec3::splat(3.0)), 0.0);
}

#[test]
fn a_particle_that_moves_by_a_fiftieth_of_a_cell_changes_the_field_a_little_everywhere() {
    let probes: Vec<Vec3> = (0..27)
        .map(|i| 0.025 * Vec3::new((i % 3) as f32 - 1.0, (i / 3 % 3) as f32 - 1.0, (i / 9) as f32 - 1.0))
        .collect();
    let seen = |x: f32| {
        let field = build(&frame(vec![[x, 0.013, -0.007]], 0.1), &Options::default()).unwrap();
        probes.iter().map(|p| field.at(*p)).collect::<Vec<_>>()
    };
    let peak = seen(0.0).into_iter().fold(0.0, f32::max);
    let mut last = seen(-0.05);
    for i in -49..=50 {
        let now = seen(0.001 * i as f32);
        let jump = now.iter().zip(&last).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
        assert!(jump < 0.04 * peak, "{i}: {jump} of {peak}");
        last = now;
    }
}

#[test]
fn the_field_has_the_same_bits_on_any_number_of_threads_and_on_both_sides_of_a_border() {
    let mut wild = lattice(12, 0.1);
    for (i, p) in wild.particles.position.iter_mut().enumerate() {
        p.iter_mut().enumerate().for_each(|(a, x)| *x += 0.05 * ((i * (a + 3)) as f32).sin());
    }
    let build_on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| build(&wild, &Options::default()).unwrap())
    };
    let one = build_on(1);
    for threads in [2, 3] {
        let other = build_on(threads);
        assert_eq!(one.keys, other.keys);
        assert!(one.values == other.values);
    }
    let mut shared = 0;
    for (key, block) in one.keys.iter().zip(&one.values) {
        let Some(next) = one.map.get(&[key[0] + 1, key[1], key[2]]) else { continue };
        for row in 0..POINTS * POINTS {
            assert_eq!(block[row * POINTS + EDGE], one.values[*next as usize][row * POINTS]);
            shared += 1;
        }
    }
    assert!(shared > 1000);
}

#[test]
fn a_particle_far_away_costs_a_few_blocks_and_no_more() {
    let mut frame = lattice(4, 0.1);
    let few = build(&frame, &Options::default()).unwrap().blocks();
    frame.particles.position.push([1e6, -1e6, 1e6]);
    let more = build(&frame, &Options::default()).unwrap().blocks();
    assert!(more <= few + 8, "{few} {more}");
}

#[test]
fn the_gradient_points_into_the_fluid() {
    let field = build(&lattice(8, 0.1), &Options::default()).unwrap();
    let g = field.finder().gradient(Vec3::new(0.4, 0.8, 0.4));
    assert!(g.y < -1.0 && g.x.abs() < 0.1 * g.y.abs() && g.z.abs() < 0.1 * g.y.abs(), "{g}");
}

#[test]
fn what_cannot_be_built_is_told() {
    let bad = build(&frame(vec![[f32::NAN; 3]], 0.1), &Options::default());
    assert!(matches!(bad, Err(VolumeError::Particles(SurfaceError::NotFinite { particle: 0 }))));
    for spacing in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let error = build(&frame(vec![], spacing), &Options::default()).unwrap_err();
        assert!(matches!(error, VolumeError::Option { name: "spacing", .. }));
    }
    let wide = Options { cell: 0.1, spread: 4.0, ..Options::default() };
    let scattered = (0..20_000).map(|i| [i as f32 * 1000.0, 0.0, 0.0]).collect();
    assert!(matches!(build(&frame(scattered, 0.1), &wide), Err(VolumeError::TooLarge { .. })));
    assert_eq!(build(&frame(vec![], 0.1), &Options::default()).unwrap().blocks(), 0);
}
