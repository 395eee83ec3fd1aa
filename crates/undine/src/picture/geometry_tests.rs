use super::*;
use proptest::prelude::*;

fn point() -> impl Strategy<Value = Vec3> {
    (-2f32..2.0, -2f32..2.0, -2f32..2.0).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

fn geometry() -> impl Strategy<Value = Geometry> {
    let triangle = (point(), point(), point());
    let sphere = (point(), 0.01f32..0.6);
    let disc = (point(), point(), 0.01f32..0.6);
    let (t, s, d) = (
        prop::collection::vec(triangle, 0..60),
        prop::collection::vec(sphere, 0..60),
        prop::collection::vec(disc, 0..60),
    );
    (t, s, d).prop_map(|(t, s, d)| {
        let mut m = Triangles::default();
        for (a, b, c) in t {
            let first = m.position.len() as u32;
            // Small triangles among large ones exercise the tree.
            m.position.extend([a, a + 0.3 * b, a + 0.3 * c]);
            m.corners.push([first, first + 1, first + 2]);
            m.material.push(0);
        }
        let paint = Vec3::ONE;
        let s = s.into_iter().map(|(center, radius)| Sphere { center, radius, paint, material: 0 });
        let d = d.into_iter().map(|(center, n, radius)| Disc {
            center,
            normal: n.normalize_or(Vec3::Y),
            radius,
            paint,
            material: 0,
        });
        Geometry::new(m, s.collect(), d.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_tree_finds_what_looking_at_everything_finds(g in geometry(), from in point(), to in point()) {
        let Some(direction) = (to - from).try_normalize() else { return Ok(()) };
        let ray = Ray::new(3.0 * from, direction, 1e-5);
        // The same predicate on both ways: the answers are equal to the bit, not merely near.
        prop_assert_eq!(g.nearest(&ray), g.nearest_naive(&ray));
    }

    #[test]
    fn a_ball_is_hit_on_its_surface(c in point(), r in 0.01f32..1.0, from in point()) {
        let g = Geometry::new(
            Triangles::default(), vec![Sphere { center: c, radius: r, paint: Vec3::ONE, material: 0 }], vec![]);
        let from = 4.0 * from;
        let Some(direction) = (c - from).try_normalize() else { return Ok(()) };
        let ray = Ray::new(from, direction, 1e-5);
        if let Some(hit) = g.nearest(&ray) {
            prop_assert!((ray.at(hit.t).distance(c) - r).abs() < 1e-4);
        } else {
            prop_assert!(false, "aimed at its centre");
        }
    }
}

#[test]
fn a_ray_along_an_axis_in_the_plane_of_boxes_still_hits() {
    let m = Triangles {
        position: vec![Vec3::new(-1.0, 0.0, -1.0), Vec3::new(1.0, 0.0, -1.0), Vec3::new(0.0, 0.0, 2.0)],
        corners: vec![[0, 1, 2]],
        material: vec![0],
        ..Triangles::default()
    };
    let g = Geometry::new(m, vec![], vec![]);
    let hit = g.nearest(&Ray::new(Vec3::new(0.0, 3.0, 0.0), -Vec3::Y, 1e-5));
    assert_eq!(hit.map(|h| h.t), Some(3.0));
}

#[test]
fn things_that_are_not_finite_are_never_hit_and_never_hang() {
    let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX];
    let mut m = Triangles::default();
    let (mut s, mut d) = (Vec::new(), Vec::new());
    for x in bad {
        let first = m.position.len() as u32;
        m.position.extend([Vec3::splat(x), Vec3::ZERO, Vec3::new(1.0, x, 0.0)]);
        m.corners.push([first, first + 1, first + 2]);
        m.material.push(0);
        s.push(Sphere { center: Vec3::splat(x), radius: 1.0, paint: Vec3::ONE, material: 0 });
        s.push(Sphere {
            center: Vec3::ZERO,
            radius: if x == f32::MAX { -1.0 } else { x },
            paint: Vec3::ONE,
            material: 0,
        });
        d.push(Disc {
            center: Vec3::ZERO,
            normal: Vec3::splat(x),
            radius: 1.0,
            paint: Vec3::ONE,
            material: 0,
        });
    }
    let g = Geometry::new(m, s, d);
    for direction in [Vec3::X, Vec3::Y, Vec3::splat(f32::NAN), Vec3::ZERO] {
        let hit = g.nearest(&Ray::new(Vec3::new(-3.0, 0.1, 0.1), direction, 1e-5));
        assert!(hit.is_none_or(|h| h.t.is_finite()));
    }
}

#[test]
fn a_thousand_equal_balls_make_a_tree_of_bounded_depth() {
    let ball = Sphere { center: Vec3::ONE, radius: 0.5, paint: Vec3::ONE, material: 0 };
    let g = Geometry::new(Triangles::default(), vec![ball; 1000], vec![]);
    assert!(g.nearest(&Ray::new(Vec3::new(1.0, 1.0, 9.0), -Vec3::Z, 1e-5)).is_some());
}
