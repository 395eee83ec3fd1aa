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

/// Marches a function of the place, in cells, over a cube of blocks.
fn march_exactly(blocks: i32, iso: f32, f: impl Fn([f32; 3]) -> f32) -> Surface {
    let mut pieces = Vec::new();
    for z in -blocks..blocks {
        for y in -blocks..blocks {
            for x in -blocks..blocks {
                let mut values = [0.0; field::VALUES];
                for (i, v) in values.iter_mut().enumerate() {
                    let p = [x * 7 + i as i32 % 8, y * 7 + i as i32 / 8 % 8, z * 7 + i as i32 / 64];
                    *v = f(p.map(|c| c as f32));
                }
                pieces.extend(march::piece_of([x, y, z], &values, iso, 2.0 * iso).map(|p| p.0));
            }
        }
    }
    stitch::stitch(&pieces, 1.0).unwrap()
}

#[test]
fn an_exact_sphere_converges_with_second_order() {
    let errors = [4.0f32, 8.0, 16.0].map(|r| {
        // Off the lattice, so that no symmetry helps; 2r - distance is r on the sphere.
        let f = |p: [f32; 3]| 2.0 * r - length([p[0] - 0.21, p[1] - 0.43, p[2] + 0.37]);
        let s = march_exactly(4, r, f);
        assert_eq!(euler_number(&s), 2);
        let (area, volume) = area_and_volume(&s);
        let r = f64::from(r);
        let pi = std::f64::consts::PI;
        [(area / (4.0 * pi * r * r) - 1.0).abs(), (volume / (4.0 / 3.0 * pi * r.powi(3)) - 1.0).abs()]
    });
    for (coarse, fine) in errors.iter().zip(&errors[1..]) {
        for k in 0..2 {
            let order = (coarse[k] / fine[k]).log2();
            assert!((1.8..2.3).contains(&order), "order {order}: {errors:?}");
        }
    }
    assert!(errors[2].iter().all(|e| *e < 3e-3), "{errors:?}");
}

#[test]
fn exact_shapes_have_their_euler_numbers() {
    let ball = |p: [f32; 3], x: f32| length([p[0] - x, p[1], p[2]]);
    let drops = march_exactly(4, 5.3, |p| 10.6 - ball(p, 9.0).min(ball(p, -9.0)));
    assert_eq!(euler_number(&drops), 4);
    let torus = march_exactly(4, 4.2, |p| {
        8.4 - (((p[0] * p[0] + p[1] * p[1]).sqrt() - 12.0).powi(2) + p[2] * p[2]).sqrt()
    });
    assert_eq!(euler_number(&torus), 0);
}

#[test]
fn values_exactly_on_the_surface_leave_it_manifold() {
    // An octahedron through lattice points, and noise of whole numbers full of them and of doubtful faces.
    let s = march_exactly(2, 6.0, |p| 12.0 - p.iter().map(|x| x.abs()).sum::<f32>());
    assert_eq!(euler_number(&s), 2);
    let noise = |p: [f32; 3]| {
        if p.iter().any(|x| x.abs() >= 13.0) {
            return 0.0;
        }
        let h =
            p.iter().fold(7u32, |h, &x| (h ^ (x as i32 as u32)).wrapping_mul(0x9e37_79b1).rotate_left(13));
        (h >> 13 & 3) as f32
    };
    for iso in [1.0, 2.0, 3.0] {
        euler_number(&march_exactly(2, iso, noise));
    }
}

/// The colour field at a point by a sum over all particles in f64.
fn naive_color(p: [f64; 3], particles: &[[f32; 3]], h: f64) -> f64 {
    let w = |a: [f64; 3], b: [f64; 3]| {
        let q: f64 = (0..3).map(|k| ((a[k] - b[k]) / h).powi(2)).sum();
        if q < 1.0 { (1.0 - q).powi(3) } else { 0.0 }
    };
    let all: Vec<[f64; 3]> = particles.iter().map(|p| p.map(f64::from)).collect();
    all.iter()
        .filter(|q| w(p, **q) > 0.0)
        .map(|q| w(p, *q) / all.iter().map(|r| w(*q, *r)).sum::<f64>())
        .sum()
}

#[test]
fn the_fast_way_agrees_with_a_dense_grid_of_direct_sums() {
    let mut seed = 5u32;
    let mut random = || {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 8) as f32 / 16777216.0
    };
    let particles: Vec<[f32; 3]> = (0..150).map(|_| [(); 3].map(|()| random() * 6.0)).collect();
    let options = Options::plain(Method::ColorField);
    let s = build(&frame(particles.clone()), &options).unwrap().0;
    for p in &s.position {
        let v = naive_color(p.map(f64::from), &particles, 2.0);
        assert!((v - 0.5).abs() < 0.05, "{p:?}: {v}");
    }
    // Every edge of the dense grid that changes sign has a vertex, and no other.
    let (low, n) = (-5i32, 23i32);
    let mut inside = vec![false; (n * n * n) as usize];
    for (i, inside) in inside.iter_mut().enumerate() {
        let i = i as i32;
        let p = [i % n, i / n % n, i / (n * n)].map(|c| f64::from(c + low) * 0.5);
        *inside = naive_color(p, &particles, 2.0) >= 0.5;
    }
    let at = |x: i32, y: i32, z: i32| inside[((z * n + y) * n + x) as usize];
    let mut crossings = 0;
    for z in 0..n - 1 {
        for y in 0..n - 1 {
            for x in 0..n - 1 {
                let here = at(x, y, z);
                crossings += usize::from(here != at(x + 1, y, z));
                crossings += usize::from(here != at(x, y + 1, z));
                crossings += usize::from(here != at(x, y, z + 1));
            }
        }
    }
    assert_eq!(crossings, s.position.len());
}

/// Yu & Turk's field at a point by sums over all particles in f64, with no particle left out as deep.
fn naive_anisotropic(p: [f64; 3], particles: &[NaiveKernel]) -> f64 {
    let share = |k: &NaiveKernel| {
        let d = glam::DVec3::from(p) - k.place;
        let q = d.dot(k.matrix * d);
        if q < 1.0 { k.weight * (1.0 - q).powi(3) } else { 0.0 }
    };
    particles.iter().map(share).sum()
}

struct NaiveKernel {
    place: glam::DVec3,
    weight: f64,
    matrix: glam::DMat3,
}

/// The kernels, with the constants of `iso/anisotropic.rs` and `iso/neighborhood.rs` for a spacing of 1.
fn naive_kernels(particles: &[[f32; 3]]) -> Vec<NaiveKernel> {
    use crate::simd::{Eight, Lanes, Portable};
    use glam::{DMat3, DVec3};
    let (h, radius) = (2.2f64, 2.5f64);
    let all: Vec<DVec3> = particles.iter().map(|p| DVec3::from(p.map(f64::from))).collect();
    let outer = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
    all.iter()
        .map(|&x| {
            let w = |y: DVec3| (1.0 - (x.distance(y) / radius).powi(3)).max(0.0);
            let total: f64 = all.iter().map(|&y| w(y)).sum();
            let mean = all.iter().map(|&y| (y - x) * w(y)).sum::<DVec3>() / (total * radius);
            let moment = |m: DMat3, y: &DVec3| m + outer(*y - x, *y - x) * w(*y);
            let moments = all.iter().fold(DMat3::ZERO, moment) * (1.0 / (total * radius * radius));
            let covariance = moments - outer(mean, mean);
            let full = total / (4.0 * std::f64::consts::PI / 6.0 * radius.powi(3));
            let sum: f64 =
                all.iter().map(|y| (1.0 - x.distance_squared(*y) / (h * h)).max(0.0).powi(3)).sum();
            let (stretch, matrix) = if full < 0.25 {
                (0.6f64.powi(3), DMat3::IDENTITY * (1.0 / (0.6 * h).powi(2)))
            } else if full > 0.9 && mean.length() < 0.05 {
                (1.0, DMat3::IDENTITY * (1.0 / (h * h)))
            } else {
                let c = covariance.to_cols_array_2d();
                let m = [c[0][0], c[1][1], c[2][2], c[0][1], c[0][2], c[1][2]];
                let (values, axes) = iso::eigen(m.map(|m| Portable::splat(m as f32)));
                let values = values.map(|v| f64::from(v.to_array()[0]));
                let greatest = values.iter().fold(0.0, |m: f64, v| m.max(*v));
                let s = values.map(|v| (v.max(greatest / 4.0) / 0.15).clamp(0.36, 1.0));
                let mut matrix = DMat3::ZERO;
                for (axis, s) in axes.iter().zip(s) {
                    let axis = DVec3::from(axis.map(|x| f64::from(x.to_array()[0])));
                    matrix += outer(axis, axis) * (1.0 / (s * h).powi(2));
                }
                (s[0] * s[1] * s[2], matrix)
            };
            let part = if mean.length() > 0.15 { 0.9 * (1.0 - 0.15 / mean.length()) } else { 0.0 };
            let way = (mean * part * radius).clamp(DVec3::splat(-1.0), DVec3::splat(1.0));
            NaiveKernel { place: x + way, weight: 1.0 / sum / stretch, matrix }
        })
        .collect()
}

#[test]
fn the_fast_anisotropic_surface_lies_where_direct_sums_have_their_iso_value() {
    // A ball with a flat side and some noise, large enough for particles deep inside, and a drop beside it.
    let mut seed = 5u32;
    let mut random = || {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 8) as f32 / 16777216.0 - 0.5
    };
    let ball = |p: [f32; 3]| (length(p) < 6.5 && p[1] < 3.0) || length([p[0] - 9.0, p[1], p[2]]) < 1.8;
    let mut particles = lattice(11, ball);
    particles.iter_mut().flatten().for_each(|x| *x += 0.4 * random());
    let kernels = naive_kernels(&particles);
    let value = |p: [f64; 3]| naive_anisotropic(p, &kernels);
    let s = build(&frame(particles.clone()), &Options::plain(Method::Anisotropic)).unwrap().0;
    // Vertices come from an interpolation and one step of Newton's, so they are near and not exact.
    let mut errors: Vec<f64> = s.position.iter().map(|p| (value(p.map(f64::from)) - 0.3).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let (half, most) = (errors[errors.len() / 2], errors[errors.len() * 9 / 10]);
    assert!(half < 0.02 && most < 0.1, "half within {half}, nine tenths within {most}");
    // Every edge of the dense grid that changes sign has a vertex, and no other.
    let n = 54;
    let mut inside = vec![false; n * n * n];
    for (i, inside) in inside.iter_mut().enumerate() {
        let p = [i % n, i / n % n, i / (n * n)].map(|c| (c as f64 - 24.0) * 0.5);
        *inside = value(p) >= 0.3;
    }
    let differ = |i: usize, step: usize| usize::from(inside.get(i + step).is_some_and(|v| *v != inside[i]));
    let crossings: usize = (0..inside.len()).map(|i| differ(i, 1) + differ(i, n) + differ(i, n * n)).sum();
    assert_eq!(crossings, s.position.len());
}

#[test]
fn velocity_and_fluid_come_from_the_particles_near_by() {
    let p = lattice(12, |p| length([p[0] - 6.0, p[1], p[2]]).min(length([p[0] + 6.0, p[1], p[2]])) < 4.0);
    let velocity = p.iter().map(|p| if p[0] > 0.0 { [1.0, 2.0, 3.0] } else { [-1.0, 0.0, 5.0] }).collect();
    let fluid = p.iter().map(|p| u8::from(p[0] > 0.0)).collect();
    let mut f = frame(p);
    f.particles.fields.push(Field { name: "velocity", data: FieldData::Vector(velocity) });
    f.particles.fields.push(Field { name: "fluid", data: FieldData::Byte(fluid) });
    for options in all_methods() {
        let s = build(&f, &options).unwrap().0;
        assert_eq!((s.velocity.len(), s.fluid.len()), (s.position.len(), s.position.len()));
        for (k, p) in s.position.iter().enumerate() {
            let want = if p[0] > 0.0 { [1.0, 2.0, 3.0] } else { [-1.0, 0.0, 5.0] };
            assert_eq!(s.fluid[k], u8::from(p[0] > 0.0));
            for (v, want) in s.velocity[k].iter().zip(want) {
                assert!((v - want).abs() < 1e-4, "{:?}", options.method);
            }
        }
    }
}

#[test]
fn densities_of_the_frame_are_used_when_the_rest_densities_are_known() {
    let ball = lattice(9, |p| length(p) < 8.0);
    let n = ball.len();
    let mut f = frame(ball);
    let size = |f: &Frame, rest_density| {
        let options = Options { rest_density, ..Options::plain(Method::ColorField) };
        area_and_volume(&build(f, &options).unwrap().0).1
    };
    let without = size(&f, vec![]);
    f.particles.fields.push(Field { name: "density", data: FieldData::Scalar(vec![800.0; n]) });
    assert_eq!(size(&f, vec![]), without);
    let (thin, right) = (size(&f, vec![1000.0]), size(&f, vec![800.0]));
    assert!(thin > right * 1.01, "{thin} {right}");
}

#[test]
fn thin_sheets_and_lone_particles_stay() {
    for method in [Method::ColorField, Method::Smoothed, Method::Anisotropic] {
        let sheet = lattice(9, |p| p[1].abs() < 0.5 && p[0].hypot(p[2]) < 8.0);
        let s = build(&frame(sheet), &Options::plain(method)).unwrap().0;
        assert_eq!(euler_number(&s), 2, "{method:?}: one sheet without holes");
        let s = build(&frame(vec![[0.3, 0.4, 0.5]]), &Options::plain(method)).unwrap().0;
        assert_eq!(euler_number(&s), 2, "{method:?}: one drop");
    }
}

fn all_methods() -> impl Iterator<Item = Options> {
    Method::ALL.iter().map(|&(_, method)| Options::plain(method))
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
    for options in all_methods().chain([Options { tessellation: 1, ..Options::default() }]) {
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
        let method = Method::ALL[method].1;
        euler_number(&build(&frame(p.clone()), &Options { cell, ..Options::plain(method) }).unwrap().0);
        // All that is done afterwards keeps it so.
        let options = Options { method, cell, tessellation: 1, ..Options::default() };
        euler_number(&build(&frame(p), &options).unwrap().0);
    }
}

#[test]
fn the_default_surface_of_a_sheet_of_one_or_two_layers_is_one_piece() {
    for layers in [1.0, 2.0] {
        let sheet: Vec<[f32; 3]> = lattice(12, |p| p[1] > 0.0 && p[1] < layers);
        let count = sheet.len() as f64;
        let s = build(&frame(sheet), &Options::plain(Method::Anisotropic)).unwrap().0;
        assert_eq!(euler_number(&s), 2, "{layers} layers");
        let volume = area_and_volume(&s).1 / count;
        assert!((0.85..1.15).contains(&volume), "{layers} layers: {volume}");
    }
}
