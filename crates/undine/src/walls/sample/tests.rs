use std::f64::consts::PI;
use std::sync::Arc;

use glam::DVec3;
use proptest::prelude::*;

use super::cells::Cells;
use super::*;
use crate::kernels::{Cored, Kernel};
use crate::scene::heightfield::Heightfield;
use crate::scene::mesh::TriMesh;
use crate::walls::body::cup;

mod seams;
mod wishes;

/// Spacing of the tests, m.
const D: f64 = 0.1;

fn everywhere() -> Region {
    Region { within: Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY }, period: None }
}

/// Numbers in 0..1 from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn within(&mut self, b: &Aabb) -> DVec3 {
        b.min + b.size() * DVec3::new(self.next(), self.next(), self.next())
    }
}

fn ball() -> Body {
    Body::Solid(Shape::Sphere { center: DVec3::new(0.3, -0.2, 0.1), radius: 1.0 })
}

fn block() -> Body {
    Body::Solid(Shape::Box { min: DVec3::new(0.0, 0.1, 0.2), max: DVec3::new(1.23, 1.56, 1.97) })
}

fn log() -> Body {
    let axis = DVec3::new(0.3, 0.8, 0.2).normalize();
    Body::Solid(Shape::Cylinder { base: DVec3::ONE, axis, radius: 0.73, height: 1.9 })
}

fn terrain_height(x: f64, z: f64) -> f64 {
    0.3 * (2.0 * x).sin() * (1.5 * z).cos() + 0.4 * x
}

fn terrain() -> Body {
    let n = 65;
    let at = |i: usize| 3.0 * i as f64 / (n - 1) as f64;
    let heights = (0..n * n).map(|i| terrain_height(at(i % n), at(i / n))).collect();
    let field = Heightfield::new(DVec3::ZERO, [3.0, 3.0], [n, n], heights).unwrap();
    Body::Solid(Shape::Heightfield(Arc::new(field)))
}

/// Area of the terrain shifted by `depth` along its normals, within the rectangle.
fn terrain_area(depth: f64) -> f64 {
    let n = 600;
    let at = |i: usize| -0.3 + 3.6 * i as f64 / n as f64;
    let point = |i: usize, j: usize| {
        let (x, z, e) = (at(i), at(j), 1e-4);
        let slope = |a: f64, b: f64| (a - b) / (2.0 * e);
        let normal = DVec3::new(
            -slope(terrain_height(x + e, z), terrain_height(x - e, z)),
            1.0,
            -slope(terrain_height(x, z + e), terrain_height(x, z - e)),
        );
        DVec3::new(x, terrain_height(x, z), z) - depth * normal.normalize()
    };
    let mut area = 0.0;
    for j in 0..n {
        for i in 0..n {
            let [a, b, c, d] = [point(i, j), point(i + 1, j), point(i, j + 1), point(i + 1, j + 1)];
            let m = 0.25 * (a + b + c + d);
            if m.x >= 0.0 && m.x <= 3.0 && m.z >= 0.0 && m.z <= 3.0 {
                area += 0.5 * ((b - a).cross(d - a).length() + (d - a).cross(c - a).length());
            }
        }
    }
    area
}

/// A hill without underside: an open mesh.
fn tent() -> (Body, f64) {
    let n = 20;
    let height = |x: f64, z: f64| 0.3 * (1.7 * x).sin() + 0.2 * z * z;
    let vertices = (0..=n)
        .flat_map(|j| (0..=n).map(move |i| (f64::from(i) * 0.1, f64::from(j) * 0.1)))
        .map(|(x, z)| DVec3::new(x, height(x, z), z))
        .collect();
    let m = n as u32 + 1;
    let triangles = (0..n as u32)
        .flat_map(|j| (0..n as u32).map(move |i| j * m + i))
        .flat_map(|v| [[v, v + m, v + 1], [v + 1, v + m, v + m + 1]])
        .collect();
    let mesh = TriMesh::new(vertices, triangles).unwrap();
    let area = mesh.area();
    (Body::Sheet(Shape::Mesh(Arc::new(mesh))), area)
}

struct Quality {
    count: usize,
    nearest: [f64; 2],
    hole: f64,
    depth_error: f64,
}

/// Random places of the layer `depth` behind the surface of a body.
fn places(body: &Body, depth: f64, count: usize) -> Vec<DVec3> {
    let bounds = match body {
        Body::Solid(ground @ Shape::Heightfield(_)) => ground.bounds(),
        _ => body.bounds(),
    };
    let bounds = bounds.grow(2.0 * D);
    let mut random = Random(7);
    let mut places = Vec::new();
    for _ in 0..200 * count {
        let p = random.within(&bounds);
        let Some(n) = body.nearest_within(p, 3.0 * D) else { continue };
        if (n.distance + depth).abs() > D {
            continue;
        }
        let q = p - n.normal * (n.distance + depth);
        if body.nearest_within(q, 3.0 * D).is_some_and(|n| (n.distance + depth).abs() < 1e-3 * D) {
            places.push(q);
        }
        if places.len() == count {
            break;
        }
    }
    places
}

/// How even samples are among each other and their images across a period.
fn evenness(samples: &[Sample], places: &[DVec3], period: Option<&Period>) -> ([f64; 2], f64) {
    let mut points: Vec<DVec3> = samples.iter().map(|s| s.position).collect();
    for a in (0..3).filter(|a| period.is_some_and(|d| d.axes[*a])) {
        let length = period.map_or(0.0, |d| d.max[a] - d.min[a]) * DVec3::AXES[a];
        let images: Vec<DVec3> = points.iter().flat_map(|p| [*p + length, *p - length]).collect();
        points.extend(images);
    }
    let cells = Cells::new(&points, 3.0 * D);
    let least = |p: DVec3, except: usize| {
        let mut least = f64::INFINITY;
        cells.around(p, |q, j| {
            if j != except {
                least = least.min(p.distance(q));
            }
        });
        least / D
    };
    let mut nearest = [f64::INFINITY, 0.0_f64];
    for (i, p) in points.iter().take(samples.len()).enumerate() {
        let r = least(*p, i);
        nearest = [nearest[0].min(r), nearest[1].max(r)];
    }
    (nearest, places.iter().map(|p| least(*p, usize::MAX)).fold(0.0, f64::max))
}

fn quality(body: &Body, samples: &[Sample], places: &[DVec3]) -> Quality {
    let (nearest, hole) = evenness(samples, places, None);
    let depth_error = samples
        .iter()
        .map(|s| {
            let d = body.nearest_within(s.position, D).map_or(f64::INFINITY, |n| n.distance);
            (d + s.depth).abs() / D
        })
        .fold(0.0, f64::max);
    Quality { count: samples.len(), nearest, hole, depth_error }
}

/// Whether the surface is smooth around a place: its normal changes little.
fn away_from_edges(body: &Body, p: DVec3) -> bool {
    let Some(n) = body.nearest_within(p, D) else { return false };
    let u = n.normal.any_orthonormal_vector();
    let v = n.normal.cross(u);
    (0..8).map(|k| (PI / 4.0 * f64::from(k)).sin_cos()).all(|(s, c)| {
        let q = p + 2.5 * D * (c * u + s * v) - n.normal * n.distance;
        let beyond = match body {
            Body::Solid(Shape::Heightfield(f)) => !f.covers(q.x, q.z),
            _ => false,
        };
        !beyond
            && body.nearest_within(q + D * n.normal, 4.0 * D).is_some_and(|m| m.normal.dot(n.normal) > 0.8)
    })
}

/// Mean and standard deviation of Σ V W over the samples at places half a spacing before the wall, relative to the
/// cubic lattice.
fn kernel_sum(body: &Body, samples: &[Sample]) -> [f64; 2] {
    let kernel = Cored(2.0 * D);
    let points: Vec<DVec3> = samples.iter().map(|s| s.position).collect();
    let cells = Cells::new(&points, 2.0 * D);
    let sum = |p: DVec3| {
        let mut sum = 0.0;
        cells.around(p, |q, _| sum += D.powi(3) * kernel.w(p.distance(q)));
        sum
    };
    let sheet = matches!(body, Body::Sheet(_));
    let mut lattice = 0.0;
    for z in if sheet { vec![0.5] } else { vec![1.0, 2.0] } {
        for (x, y) in (-2..=2).flat_map(|i| (-2..=2).map(move |j| (f64::from(i), f64::from(j)))) {
            lattice += D.powi(3) * kernel.w(D * DVec3::new(x, y, z).length());
        }
    }
    let sums: Vec<f64> = places(body, -0.5 * D, 2500)
        .iter()
        .filter(|p| away_from_edges(body, **p))
        .map(|p| sum(*p) / lattice)
        .collect();
    let mean = sums.iter().sum::<f64>() / sums.len() as f64;
    let spread = sums.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / sums.len() as f64;
    [mean, spread.sqrt()]
}

fn ring(radius: f64, height: f64) -> f64 {
    2.0 * PI * radius * height
}

/// The area of a layer at a depth, m².
type Area = Box<dyn Fn(f64) -> f64>;

/// Bodies to sample.
fn bodies() -> Vec<(&'static str, Body, Area)> {
    let mesh = TriMesh::icosphere(DVec3::ZERO, 1.0, 4);
    let inner = 3.0 * mesh.volume() / mesh.area();
    let mesh_area = mesh.area();
    let glass = Shape::Cylinder { base: DVec3::ZERO, axis: DVec3::Y, radius: 0.8, height: 1.2 };
    let (tent, tent_area) = tent();
    vec![
        ("ball", ball(), Box::new(|d: f64| 4.0 * PI * (1.0 - d).powi(2)) as Area),
        (
            "great ball",
            Body::Solid(Shape::Sphere { center: DVec3::ZERO, radius: 2.4 }),
            Box::new(|d: f64| 4.0 * PI * (2.4 - d).powi(2)),
        ),
        (
            "great disc",
            Body::Sheet(Shape::Disc { center: DVec3::ONE, normal: DVec3::new(0.6, 0.48, 0.64), radius: 3.3 }),
            Box::new(|_| PI * 3.3 * 3.3),
        ),
        ("block", block(), {
            Box::new(|d: f64| {
                let s = DVec3::new(1.23, 1.46, 1.77) - 2.0 * d;
                2.0 * (s.x * s.y + s.y * s.z + s.z * s.x)
            })
        }),
        ("log", log(), { Box::new(|d: f64| ring(0.73 - d, 1.9 - 2.0 * d) + 2.0 * PI * (0.73 - d).powi(2)) }),
        (
            "mesh",
            Body::Solid(Shape::Mesh(Arc::new(mesh))),
            Box::new(move |d: f64| mesh_area * (1.0 - d / inner).powi(2)),
        ),
        (
            "shell",
            Body::Shell { shape: Shape::Sphere { center: DVec3::ZERO, radius: 0.8 }, thickness: 0.4 },
            Box::new(|d: f64| 4.0 * PI * ((0.8 + d).powi(2) + (1.2 - d).powi(2))),
        ),
        ("cup", cup(&glass, 0.4).unwrap(), {
            Box::new(|d: f64| {
                // Outside, bottom, rim; then inside with its rounded corner, and the floor.
                let round = PI / 2.0 * d * (2.0 * PI * (0.8 + d * 2.0 / PI));
                ring(1.2 - d, 1.6 - 2.0 * d)
                    + PI * (1.2 - d).powi(2)
                    + PI * ((1.2 - d).powi(2) - (0.8 + d).powi(2))
                    + ring(0.8 + d, 1.2 - d)
                    + PI * 0.64
                    + round
            })
        }),
        (
            "slope",
            Body::Solid(Shape::Mesh(Arc::new(
                TriMesh::cuboid(DVec3::ZERO, DVec3::new(3.0, 0.8, 3.0)).transformed(
                    1.0,
                    DVec3::new(17.0, 33.0, 11.0),
                    DVec3::ZERO,
                ),
            ))),
            Box::new(|d: f64| {
                let s = DVec3::new(3.0, 0.8, 3.0) - 2.0 * d;
                2.0 * (s.x * s.y + s.y * s.z + s.z * s.x)
            }),
        ),
        ("terrain", terrain(), Box::new(terrain_area)),
        ("tent", tent, Box::new(move |_| tent_area)),
        (
            "disc",
            Body::Sheet(Shape::Disc { center: DVec3::ONE, normal: DVec3::new(0.6, 0.0, 0.8), radius: 1.1 }),
            Box::new(|_| PI * 1.21),
        ),
    ]
}

#[test]
fn layers_are_even_without_holes_and_as_dense_as_the_fluid() {
    let mut wrong = Vec::new();
    for (name, body, area) in bodies() {
        let all = body.sample(D, 2, &everywhere());
        let sheet = matches!(body, Body::Sheet(_));
        for k in 0..if sheet { 1 } else { 2 } {
            let depth = if sheet { 0.0 } else { (k as f64 + 0.5) * D };
            let of_layer = |s: &&Sample| (s.depth - depth).abs() < 0.4 * D;
            let samples: Vec<Sample> = all.iter().filter(of_layer).copied().collect();
            let q = quality(&body, &samples, &places(&body, depth, 2000));
            let share = q.count as f64 / (area(depth) / (D * D));
            let even = q.nearest[0] > 0.7 && q.nearest[1] < 1.3 && q.hole < 0.8;
            let report = format!(
                "{name} {k}: {} samples ({share:.3}), nearest {:.2?}, hole {:.2}, depth {:.4}",
                q.count, q.nearest, q.hole, q.depth_error
            );
            if !even || q.depth_error > 0.02 || (share - 1.0).abs() > 0.05 {
                wrong.push(report);
            }
        }
        assert!(all.iter().all(|s| (s.normal.length() - 1.0).abs() < 1e-9), "{name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn kernel_sums_before_a_wall_are_nearly_those_of_a_lattice() {
    // Mean and spread: a curved wall has less (or more) behind it than a plane. On the lattice of a block the spread is
    // that between places above its points and between them.
    let expected = [
        ("ball", [0.91, 0.045]),
        ("great ball", [0.955, 0.045]),
        ("great disc", [1.0, 0.035]),
        ("block", [1.02, 0.035]),
        ("mesh", [0.915, 0.035]),
        ("slope", [1.0, 0.05]),
        ("tent", [1.0, 0.07]),
        ("disc", [1.0, 0.05]),
    ];
    for (name, body, _) in bodies() {
        let [mean, spread] = kernel_sum(&body, &body.sample(D, 2, &everywhere()));
        if let Some((_, [expected, most])) = expected.iter().find(|(n, _)| *n == name) {
            assert!((mean - expected).abs() < 0.02 && spread < *most, "{name}: {mean} {spread}");
        }
    }
}

#[test]
fn the_layers_of_a_box_of_whole_spacings_are_the_lattice_that_fills_it() {
    let shape = Shape::Box { min: DVec3::ZERO, max: DVec3::new(0.8, 0.5, 0.7) };
    let mut samples: Vec<DVec3> =
        Body::Solid(shape.clone()).sample(D, 9, &everywhere()).iter().map(|s| s.position).collect();
    let mut lattice = shape.fill(D);
    assert_eq!(samples.len(), lattice.len());
    let order = |p: &DVec3| (p / D).floor().to_array().map(|v| v as i64);
    samples.sort_by_key(order);
    lattice.sort_by_key(order);
    assert!(samples.iter().zip(&lattice).all(|(a, b)| a.distance(*b) < 1e-9));
}

#[test]
fn a_hollow_box_goes_on_with_the_lattice_in_it() {
    let (min, max) = (DVec3::ZERO, DVec3::new(0.8, 0.5, 0.7));
    for open in [false, true] {
        let shape = Shape::Box { min, max };
        let body = if open {
            cup(&shape, 0.4).unwrap()
        } else {
            Body::Shell { shape: shape.clone(), thickness: 0.4 }
        };
        let samples = body.sample(D, 2, &everywhere());
        let behind = |p: &DVec3| shape.nearest(*p).distance < 2.2 * D;
        let inner: Vec<DVec3> = samples.iter().map(|s| s.position).filter(behind).collect();
        for p in &inner {
            let index = p / D - 0.5;
            assert!((index - index.round()).abs().max_element() < 1e-6, "{p}");
        }
        // Two lattice cells around the hollow, without the farther corners and what is above a cup.
        let expected = if open { 12 * 7 * 11 - 8 * 5 * 7 - 4 } else { 12 * 9 * 11 - 8 * 5 * 7 - 8 };
        assert_eq!(inner.len(), expected, "open: {open}");
        for s in &samples {
            let n = body.nearest_within(s.position, D).unwrap();
            assert!((n.distance + s.depth).abs() < 0.02 * D && s.depth > 0.45 * D, "{s:?}");
        }
        let (nearest, _) = evenness(&samples, &[], None);
        assert!(nearest[0] > 0.7 && nearest[1] < 1.3, "{nearest:?}");
    }
}

#[test]
fn a_plate_thinner_than_a_spacing_is_one_sheet_in_its_middle() {
    let (min, max) = (DVec3::new(0.0, 0.1, 0.0), DVec3::new(2.0, 0.1 + 0.5 * D, 2.4));
    let turn = DVec3::new(17.0, 33.0, 11.0);
    let mesh = TriMesh::cuboid(min, max);
    let tilted = mesh.transformed(1.0, turn, DVec3::ZERO);
    // Places of the mid-surface, a little inside.
    let mut random = Random(3);
    let middle = Aabb::new(
        DVec3::new(0.3 * D, 0.1 + 0.25 * D, 0.3 * D),
        DVec3::new(2.0 - 0.3 * D, 0.1 + 0.25 * D, 2.4 - 0.3 * D),
    );
    let flat: Vec<DVec3> = (0..2000).map(|_| random.within(&middle)).collect();
    // A mesh of one corner tells where the turn takes a place.
    let turned = |p: DVec3| {
        let axes = [DVec3::X, DVec3::Y, DVec3::Z].map(|a| {
            let t = TriMesh::new(vec![DVec3::ZERO, a, a + 0.5 * DVec3::new(a.y, a.z, a.x)], vec![[0, 1, 2]]);
            let t = t.unwrap().transformed(1.0, turn, DVec3::ZERO);
            *t.vertices.iter().find(|v| (v.length() - 1.0).abs() < 1e-9).unwrap()
        });
        p.x * axes[0] + p.y * axes[1] + p.z * axes[2]
    };
    let cases = [
        (Body::Solid(Shape::Box { min, max }), flat.clone()),
        (Body::Solid(Shape::Mesh(Arc::new(tilted))), flat.into_iter().map(turned).collect()),
    ];
    for (body, places) in cases {
        let samples = body.sample(D, 2, &everywhere());
        let (nearest, hole) = evenness(&samples, &places, None);
        let share = samples.len() as f64 / (2.0 * 2.4 / (D * D));
        assert!(nearest[0] > 0.7 && nearest[1] < 1.3 && hole < 0.8, "{nearest:?} {hole}");
        assert!((share - 1.0).abs() < 0.07, "{share}");
        for s in &samples {
            assert!((s.depth - 0.25 * D).abs() < 0.02 * D, "{s:?}");
            let n = body.nearest_within(s.position, D).unwrap();
            assert!((n.distance + s.depth).abs() < 0.02 * D, "{s:?} {n:?}");
        }
    }
}

#[test]
fn samples_do_not_depend_on_the_number_of_threads() {
    for (name, body, _) in bodies() {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| body.sample(D, 1, &everywhere()))
        };
        assert!(with(1) == with(2), "{name}");
    }
}

#[test]
fn a_region_cuts_a_wall_without_unevenness_at_the_cut() {
    let body = ball();
    let within = Aabb::new(DVec3::new(0.0, -2.0, -2.0), DVec3::new(0.9, 2.0, 0.4));
    let region = Region { within, period: None };
    let samples = body.sample(D, 1, &region);
    assert!(samples.iter().all(|s| within.contains(s.position)));
    let inside = within.grow(-0.4 * D);
    let places: Vec<DVec3> =
        places(&body, 0.5 * D, 4000).into_iter().filter(|p| inside.contains(*p)).collect();
    let (nearest, hole) = evenness(&samples, &places, None);
    assert!(nearest[0] > 0.7 && hole < 1.1, "{nearest:?} {hole}");
    let whole = body.sample(D, 1, &everywhere());
    let expected = whole.iter().filter(|s| within.contains(s.position)).count() as f64;
    assert!((samples.len() as f64 / expected - 1.0).abs() < 0.03, "{} {expected}", samples.len());
}

fn gates(body: &Body, depth: f64) -> Result<Quality, TestCaseError> {
    let samples = body.sample(D, 1, &everywhere());
    let q = quality(body, &samples, &places(body, depth, 300));
    prop_assert!(q.nearest[0] > 0.7 && q.nearest[1] < 1.3, "{:?}", q.nearest);
    prop_assert!(q.hole < 0.85 && q.depth_error < 0.02, "{} {}", q.hole, q.depth_error);
    Ok(q)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_balls_are_even(center in [-9.0..9.0, -9.0..9.0, -9.0..9.0], radius in 2.5..10.0) {
        let radius = radius * D;
        let body = Body::Solid(Shape::Sphere { center: DVec3::from(center), radius });
        let q = gates(&body, 0.5 * D)?;
        let expected = 4.0 * PI * (radius / D - 0.5_f64).powi(2);
        prop_assert!((q.count as f64 / expected - 1.0).abs() < 0.07, "{} of {expected}", q.count);
    }

    #[test]
    fn random_boxes_are_even(min in [-9.0..9.0, -9.0..9.0, -9.0..9.0], size in [2.5..12.0, 2.5..12.0, 2.5..12.0]) {
        let (min, size) = (DVec3::from(min), D * DVec3::from(size));
        let samples = Body::Solid(Shape::Box { min, max: min + size }).sample(D, 1, &everywhere());
        let (nearest, _) = evenness(&samples, &[], None);
        prop_assert!(nearest[0] > 0.7 && nearest[1] < 1.3, "{:?}", nearest);
        let n = (size / D + 0.5).floor();
        prop_assert_eq!(samples.len() as f64, n.element_product() - (n - 2.0).max(DVec3::ZERO).element_product());
    }

    #[test]
    fn random_cylinders_are_even(
        base in [-9.0..9.0, -9.0..9.0, -9.0..9.0],
        axis in [-1.0..1.0, -1.0..1.0, 0.1..1.0],
        radius in 3.0..9.0,
        height in 3.0..15.0,
    ) {
        let (radius, height) = (radius * D, height * D);
        let axis = DVec3::from(axis).normalize();
        let body = Body::Solid(Shape::Cylinder { base: DVec3::from(base), axis, radius, height });
        let q = gates(&body, 0.5 * D)?;
        let r = radius - 0.5 * D;
        let expected = (ring(r, height - D) + 2.0 * PI * r * r) / (D * D);
        prop_assert!((q.count as f64 / expected - 1.0).abs() < 0.07, "{} of {expected}", q.count);
    }
}
