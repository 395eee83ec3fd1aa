use std::f64::consts::PI;
use std::sync::Arc;

use glam::DVec3;

use super::cells::Cells;
use super::*;
use crate::kernels::{Cored, Kernel};
use crate::scene::heightfield::Heightfield;
use crate::scene::mesh::TriMesh;
use crate::walls::cup;

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

fn quality(body: &Body, samples: &[Sample], places: &[DVec3]) -> Quality {
    let points: Vec<DVec3> = samples.iter().map(|s| s.position).collect();
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
    for (i, p) in points.iter().enumerate() {
        let r = least(*p, i);
        nearest = [nearest[0].min(r), nearest[1].max(r)];
    }
    let hole = places.iter().map(|p| least(*p, usize::MAX)).fold(0.0, f64::max);
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
    let sums: Vec<f64> = places(body, -0.5 * D, 5000)
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

/// Bodies, and the area of a layer at a depth.
fn bodies() -> Vec<(&'static str, Body, Box<dyn Fn(f64) -> f64>)> {
    let mesh = TriMesh::icosphere(DVec3::ZERO, 1.0, 4);
    let inner = 3.0 * mesh.volume() / mesh.area();
    let mesh_area = mesh.area();
    let glass = Shape::Cylinder { base: DVec3::ZERO, axis: DVec3::Y, radius: 0.8, height: 1.2 };
    let (tent, tent_area) = tent();
    vec![
        ("ball", ball(), Box::new(|d: f64| 4.0 * PI * (1.0 - d).powi(2)) as Box<dyn Fn(f64) -> f64>),
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
fn layers_are_even_and_without_holes() {
    let mut wrong = Vec::new();
    for (name, body, area) in bodies() {
        let all = body.sample(D, 2, &everywhere());
        let sheet = matches!(body, Body::Sheet(_));
        for k in 0..if sheet { 1 } else { 2 } {
            let depth = if sheet { 0.0 } else { (k as f64 + 0.5) * D };
            let of_layer = |s: &&Sample| (s.depth - depth).abs() < 0.4 * D;
            let samples: Vec<Sample> = all.iter().filter(of_layer).copied().collect();
            let q = quality(&body, &samples, &places(&body, depth, 4000));
            let expected = area(depth) / (D * D);
            let count = q.count as f64 / expected;
            println!(
                "{name:8} layer {k}: {:5} ({count:.3}), nearest {:.2?}, hole {:.2}, depth {:.4}",
                q.count, q.nearest, q.hole, q.depth_error
            );
            if q.nearest[0] < 0.7 || q.nearest[1] > 1.3 || q.hole > 0.8 || q.depth_error > 0.02 {
                wrong.push(name);
            }
            if (count - 1.0).abs() > 0.07 {
                wrong.push(name);
            }
        }
        println!("{name:8} kernel sum {:.4?}", kernel_sum(&body, &all));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
