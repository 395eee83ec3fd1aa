use super::*;

/// Space that repeats along the axes.
fn repeating(axes: [bool; 3]) -> Region {
    let (min, max) = (DVec3::splat(0.0), DVec3::new(2.0, 3.0, 2.5));
    let mut within = everywhere().within;
    for a in (0..3).filter(|a| axes[*a]) {
        (within.min[a], within.max[a]) = (min[a], max[a]);
    }
    Region { within, period: Some(Period { min, max, axes }) }
}

/// Checks the samples of a layer across the seams; `places` are of that layer.
fn is_even(name: &str, samples: &[Sample], places: &[DVec3], region: &Region, area: f64) {
    assert!(samples.iter().all(|s| region.contains(s.position)), "{name}");
    let (nearest, hole) = evenness(samples, places, region.period.as_ref());
    let share = samples.len() as f64 / (area / (D * D));
    assert!(nearest[0] > 0.7 && nearest[1] < 1.3 && hole < 0.8, "{name}: {nearest:?} {hole}");
    assert!((share - 1.0).abs() < 0.03, "{name}: {share}");
}

fn around_pillar(radius: f64) -> Vec<DVec3> {
    let mut random = Random(5);
    (0..2000)
        .map(|_| {
            let (s, c) = (2.0 * PI * random.next()).sin_cos();
            DVec3::new(1.0 + radius * c, 1.0 + radius * s, 2.5 * random.next())
        })
        .collect()
}

#[test]
fn a_pillar_as_long_as_the_period_has_no_ends() {
    let region = repeating([false, false, true]);
    let shape = Shape::Cylinder { base: DVec3::new(1.0, 1.0, 0.0), axis: DVec3::Z, radius: 0.6, height: 2.5 };
    let samples = Body::Solid(shape.clone()).sample(D, 1, &region);
    is_even("pillar", &samples, &around_pillar(0.55), &region, ring(0.55, 2.5));
    let pipe = Body::Shell { shape, thickness: 0.1 };
    is_even("pipe", &pipe.sample(D, 1, &region), &around_pillar(0.65), &region, ring(0.65, 2.5));
    // The same as a mesh with lids, and one that reaches beyond both ends.
    for (low, high) in [(0.0, 2.5), (-0.3, 2.9)] {
        let n = 48_u32;
        let corner = |k: u32, z: f64| {
            let (s, c) = (2.0 * PI * f64::from(k) / f64::from(n)).sin_cos();
            DVec3::new(1.0 + 0.6 * c, 1.0 + 0.6 * s, z)
        };
        let mut vertices: Vec<DVec3> = (0..n).flat_map(|k| [corner(k, low), corner(k, high)]).collect();
        vertices.extend([DVec3::new(1.0, 1.0, low), DVec3::new(1.0, 1.0, high)]);
        let triangles = (0..n)
            .flat_map(|k| {
                let (a, b) = (2 * k, 2 * ((k + 1) % n));
                [[a, b, a + 1], [b, b + 1, a + 1], [2 * n, b, a], [2 * n + 1, a + 1, b + 1]]
            })
            .collect();
        let mesh = TriMesh::new(vertices, triangles).unwrap();
        assert!(mesh.is_closed());
        let samples = Body::Solid(Shape::Mesh(Arc::new(mesh))).sample(D, 1, &region);
        is_even("mesh pillar", &samples, &around_pillar(0.549), &region, ring(0.549, 2.5));
    }
}

#[test]
fn a_floor_that_spans_two_periods_is_a_lattice_without_edges() {
    let region = repeating([true, false, true]);
    let body = Body::Solid(Shape::Box { min: DVec3::new(0.0, -0.5, 0.0), max: DVec3::new(2.0, 0.0, 2.5) });
    let samples = body.sample(D, 1, &region);
    // Top and bottom.
    assert_eq!(samples.len(), 2 * 20 * 25);
    let (nearest, _) = evenness(&samples, &[], region.period.as_ref());
    assert!((nearest[0] - 1.0).abs() < 1e-9 && (nearest[1] - 1.0).abs() < 1e-9, "{nearest:?}");
}

#[test]
fn ground_that_repeats_is_even_across_the_seams() {
    let region = repeating([true, false, true]);
    let n = 61;
    let height = |x: f64, z: f64| 0.1 * (PI * x).sin() + 0.1 * (2.0 * PI * z / 2.5 + 1.0).cos();
    let at = |i: usize, l: f64| l * i as f64 / (n - 1) as f64;
    let heights = (0..n * n).map(|i| height(at(i % n, 2.0), at(i / n, 2.5))).collect();
    let field = Arc::new(Heightfield::new(DVec3::ZERO, [2.0, 2.5], [n, n], heights).unwrap());
    let body = Body::Solid(Shape::Heightfield(field.clone()));
    let samples = body.sample(D, 1, &region);
    let mut random = Random(11);
    let (mut places, mut area) = (Vec::new(), 0.0);
    for _ in 0..4000 {
        let (x, z, e) = (2.0 * random.next(), 2.5 * random.next(), 1e-4);
        let slope = |a: f64, b: f64| (a - b) / (2.0 * e);
        let normal = DVec3::new(
            -slope(height(x + e, z), height(x - e, z)),
            1.0,
            -slope(height(x, z + e), height(x, z - e)),
        );
        area += 5.0 / 4000.0 * normal.length();
        places.push(DVec3::new(x, height(x, z), z) - 0.5 * D * normal.normalize());
    }
    is_even("ground", &samples, &places, &region, area);
}
