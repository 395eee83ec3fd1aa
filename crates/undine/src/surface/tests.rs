use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::frame::{Field, Particles};

/// Checks that a surface is closed and manifold; returns its Euler number.
pub fn euler_number(s: &Surface) -> i64 {
    let mut sides: HashMap<(u32, u32), u32> = HashMap::new();
    let mut corners: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    for t in &s.triangles {
        for k in 0..3 {
            assert!(t[k] != t[(k + 1) % 3], "a triangle of two corners");
            *sides.entry((t[k], t[(k + 1) % 3])).or_default() += 1;
            corners.entry(t[k]).or_default().push((t[(k + 1) % 3], t[(k + 2) % 3]));
        }
    }
    for (&(a, b), &n) in &sides {
        assert_eq!(n, 1, "side {a}-{b} is used {n} times in one direction");
        assert!(sides.contains_key(&(b, a)), "side {a}-{b} is open");
    }
    for (v, around) in &corners {
        // The triangles around a vertex make one fan.
        let next: HashMap<u32, u32> = around.iter().copied().collect();
        let (mut at, mut seen) = (around[0].0, 0);
        loop {
            at = next[&at];
            seen += 1;
            if at == around[0].0 {
                break;
            }
        }
        assert_eq!(seen, around.len(), "vertex {v} joins two sheets");
    }
    assert_eq!(corners.len(), s.position.len(), "a vertex without triangles");
    s.position.len() as i64 - sides.len() as i64 / 2 + s.triangles.len() as i64
}

pub fn area_and_volume(s: &Surface) -> (f64, f64) {
    let (mut area, mut volume) = (0.0, 0.0);
    for t in &s.triangles {
        let [a, b, c] = t.map(|v| glam::DVec3::from(s.position[v as usize].map(f64::from)));
        area += 0.5 * (b - a).cross(c - a).length();
        volume += a.dot(b.cross(c)) / 6.0;
    }
    (area, volume)
}

pub fn frame(position: Vec<[f32; 3]>) -> Frame {
    Frame {
        spacing: 1.0,
        support: 2.0,
        particles: Particles { position, fields: vec![] },
        ..Frame::default()
    }
}

fn lattice(n: i32, keep: impl Fn([f32; 3]) -> bool) -> Vec<[f32; 3]> {
    let mut out = Vec::new();
    for z in -n..=n {
        for y in -n..=n {
            for x in -n..=n {
                let p = [x as f32, y as f32, z as f32].map(|x| x + 0.37);
                if keep(p) {
                    out.push(p);
                }
            }
        }
    }
    out
}

fn length(p: [f32; 3]) -> f32 {
    p.iter().map(|x| x * x).sum::<f32>().sqrt()
}

fn all_methods() -> impl Iterator<Item = Options> {
    Method::ALL.iter().map(|&(_, method)| Options { method, ..Options::default() })
}

#[test]
fn a_ball_of_particles_is_one_closed_surface_of_the_right_size() {
    for options in all_methods() {
        let radius = 8.0;
        let s = build(&frame(lattice(9, |p| length(p) < radius)), &options).unwrap().0;
        assert_eq!(euler_number(&s), 2, "{:?}", options.method);
        let (_, volume) = area_and_volume(&s);
        let r = (volume / (4.0 / 3.0 * std::f64::consts::PI)).cbrt();
        assert!((r - 8.0).abs() < 0.5, "{:?}: radius {r}", options.method);
        for (p, n) in s.position.iter().zip(&s.normal) {
            let out: f32 = (0..3).map(|a| p[a] * n[a]).sum::<f32>() / length(*p);
            assert!(out > 0.7, "{:?} at {p:?}: {n:?}", options.method);
        }
    }
}

#[test]
fn two_drops_are_two_closed_surfaces_and_a_torus_has_a_hole() {
    for options in all_methods() {
        let drops =
            lattice(12, |p| length([p[0] - 6.0, p[1], p[2]]).min(length([p[0] + 6.0, p[1], p[2]])) < 4.0);
        assert_eq!(euler_number(&build(&frame(drops), &options).unwrap().0), 4, "{:?}", options.method);
        let torus = lattice(12, |p| ((p[0] * p[0] + p[1] * p[1]).sqrt() - 8.0).powi(2) + p[2] * p[2] < 9.0);
        assert_eq!(euler_number(&build(&frame(torus), &options).unwrap().0), 0, "{:?}", options.method);
    }
}

#[test]
fn nothing_gives_nothing_and_wild_input_an_error() {
    assert_eq!(build(&frame(vec![]), &Options::default()).unwrap().0, Surface::default());
    let error = |f: &Frame, o: &Options| build(f, o).unwrap_err();
    let nan = frame(vec![[0.0; 3], [f32::NAN, 0.0, 0.0]]);
    assert_eq!(error(&nan, &Options::default()), SurfaceError::NotFinite { particle: 1 });
    let one = frame(vec![[0.0; 3]]);
    for o in [
        Options { cell: 0.0, ..Options::default() },
        Options { cell: f64::NAN, ..Options::default() },
        Options { spacing: Some(-1.0), ..Options::default() },
        Options { support: Some(1e9), ..Options::default() },
        Options { threshold: Some(0.0), ..Options::default() },
    ] {
        assert!(matches!(error(&one, &o), SurfaceError::Option { .. }), "{o:?}");
    }
    let mut wrong = one;
    wrong.particles.fields.push(Field { name: "velocity", data: FieldData::Vector(vec![]) });
    assert!(matches!(error(&wrong, &Options::default()), SurfaceError::Field { .. }));
}

#[test]
fn a_particle_far_away_costs_nothing() {
    for options in all_methods() {
        let ball = lattice(6, |p| length(p) < 5.0);
        let near = build(&frame(ball.clone()), &options).unwrap().0;
        let far = [[1e6, 1e6, -1e6], [-1e6, 3.0, 1e6]];
        let both = build(&frame([ball, far.to_vec()].concat()), &options).unwrap().0;
        euler_number(&both);
        assert!(both.position.len() < near.position.len() + 2000, "{:?}", options.method);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for options in all_methods() {
        let f = frame(lattice(10, |p| length(p) < 9.0 && length([p[0] - 9.0, p[1], p[2]]) > 4.0));
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| build(&f, &options).unwrap().0)
        };
        let one = with(1);
        assert_eq!(one, with(2), "{:?}", options.method);
        assert_eq!(one, with(3), "{:?}", options.method);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_particles_give_a_closed_manifold_surface(
        p in prop::collection::vec([0.0f32..9.0, 0.0f32..9.0, 0.0f32..9.0], 1..300),
        cell in 0.2f64..1.5,
        method in 0usize..Method::ALL.len(),
    ) {
        let options = Options { method: Method::ALL[method].1, cell, ..Options::default() };
        euler_number(&build(&frame(p), &options).unwrap().0);
    }
}
