use glam::DVec3;
use proptest::prelude::*;

use super::*;

fn point(reach: f64) -> impl Strategy<Value = DVec3> {
    [-reach..reach, -reach..reach, -reach..reach].prop_map(DVec3::from)
}

/// A closed mesh with sharp, convex and hollow edges: a star-shaped bumpy ball.
fn star(bumps: &[f64], subdivisions: u32) -> TriMesh {
    let ball = TriMesh::icosphere(DVec3::ZERO, 1.0, subdivisions);
    let scaled = ball.vertices.iter().enumerate().map(|(i, v)| *v * bumps[i % bumps.len()]).collect();
    TriMesh::new(scaled, ball.triangles).unwrap()
}

/// A tray: five faces of a cube.
fn tray() -> TriMesh {
    let cube = TriMesh::cuboid(DVec3::NEG_ONE, DVec3::ONE);
    let open = cube.triangles.iter().filter(|t| t.iter().any(|&i| cube.vertices[i as usize].y < 0.0));
    let mesh = TriMesh::new(cube.vertices.clone(), open.copied().collect()).unwrap();
    assert!(!mesh.is_closed());
    mesh
}

/// Unsigned distance by looking at every triangle; inside by the winding number (van Oosterom and Strackee 1983).
fn brute_force(mesh: &TriMesh, p: DVec3) -> f64 {
    let mut distance = f64::INFINITY;
    let mut solid_angle = 0.0;
    for t in 0..mesh.triangles.len() {
        distance = distance.min(p.distance(nearest_point(p, mesh.corners(t)).0));
        let [a, b, c] = mesh.corners(t).map(|v| v - p);
        let (la, lb, lc) = (a.length(), b.length(), c.length());
        let below = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
        solid_angle += 2.0 * a.dot(b.cross(c)).atan2(below);
    }
    if mesh.is_closed() && solid_angle > 2.0 * std::f64::consts::PI { -distance } else { distance }
}

proptest! {
    #[test]
    fn the_signed_distance_is_that_of_brute_force(
        bumps in prop::collection::vec(0.3..2.0_f64, 7), p in point(2.5), far in -1e4..1e4_f64,
    ) {
        let mesh = star(&bumps, 1).transformed(1.0, DVec3::new(10.0, 20.0, 30.0), DVec3::splat(far));
        let p = p + far;
        let expected = brute_force(&mesh, p);
        let found = mesh.nearest(p);
        prop_assert!((found.distance - expected).abs() < 1e-9, "{found:?} {expected}");
        prop_assert!((found.normal.length() - 1.0).abs() < 1e-9);
        prop_assert_eq!(mesh.contains(p), expected < 0.0);
        for reach in [0.05, 0.3, 2.0] {
            let within = (expected <= reach).then_some(found);
            prop_assert_eq!(mesh.nearest_within(p, reach), within);
            prop_assert_eq!(mesh.nearest_in_band(p, reach), within.filter(|n| n.distance >= -reach));
        }
    }

    #[test]
    fn an_open_mesh_has_an_unsigned_distance_and_normals_towards_the_point(p in point(2.0), reach in 0.0..1.0) {
        let mesh = tray();
        let expected = brute_force(&mesh, p);
        let found = mesh.nearest(p);
        prop_assert!((found.distance - expected).abs() < 1e-12 && !mesh.contains(p));
        let on_surface = p - found.distance * found.normal;
        prop_assert!(brute_force(&mesh, on_surface) < 1e-12);
        prop_assert_eq!(mesh.nearest_within(p, reach), (expected <= reach).then_some(found));
    }

    #[test]
    fn the_distance_never_changes_faster_than_the_point(
        bumps in prop::collection::vec(0.3..2.0_f64, 7), p in point(2.0), step in point(0.5),
    ) {
        let mesh = star(&bumps, 1);
        let change = mesh.nearest(p + step).distance - mesh.nearest(p).distance;
        prop_assert!(change.abs() <= step.length() + 1e-12);
    }

    #[test]
    fn the_normal_is_the_gradient_of_the_distance(
        bumps in prop::collection::vec(0.5..1.5_f64, 7), p in point(2.0),
    ) {
        let mesh = star(&bumps, 1);
        let normal = mesh.nearest(p).normal;
        let h = 1e-5;
        let slope = |k: usize| {
            let d = |s: f64| mesh.nearest(p + s * h * DVec3::AXES[k]).distance;
            (d(1.0) - d(-1.0)) / (2.0 * h)
        };
        let gradient = DVec3::new(slope(0), slope(1), slope(2));
        // On the medial axis the gradient jumps and differences fall short of 1.
        prop_assume!((gradient.length() - 1.0).abs() < 1e-6);
        prop_assert!(gradient.distance(normal) < 1e-3, "{gradient} {normal}");
    }

    #[test]
    fn a_segment_crosses_where_the_first_triangle_is(
        bumps in prop::collection::vec(0.3..2.0_f64, 7), from in point(2.0), to in point(2.0),
    ) {
        let mesh = star(&bumps, 1);
        let test = SegmentTest::new(from, to).unwrap();
        let brute = (0..mesh.triangles.len()).filter_map(|t| test.hit(mesh.corners(t))).reduce(f64::min);
        let found = mesh.crossing(from, to);
        prop_assert_eq!(found.map(|c| c.t), brute);
        if let Some(crossing) = found {
            prop_assert!(crossing.normal.dot(to - from) <= 0.0);
            prop_assert!(mesh.nearest(from + crossing.t * (to - from)).distance.abs() < 1e-9);
        }
        // A change of sides needs a crossing.
        if mesh.contains(from) != mesh.contains(to) {
            prop_assert!(found.is_some());
        }
    }

    #[test]
    fn any_lists_give_a_mesh_or_an_error(
        vertices in prop::collection::vec(prop::array::uniform3(prop_oneof![
            -1.0..1.0_f64, Just(f64::NAN), Just(1e300), Just(1e-300), Just(0.0), Just(-0.0), Just(1.0),
        ]), 0..8),
        triangles in prop::collection::vec(prop::array::uniform3(0..9_u32), 0..20),
        p in prop::array::uniform3(prop_oneof![-1.0..1.0_f64, Just(f64::NAN), Just(f64::INFINITY), Just(1e200)]),
    ) {
        if let Ok(mesh) = TriMesh::new(vertices.into_iter().map(DVec3::from).collect(), triangles) {
            let p = DVec3::from(p);
            mesh.nearest(p);
            mesh.nearest_within(p, 0.1);
            mesh.crossing(p, DVec3::ZERO);
            mesh.contains(p);
            mesh.transformed(f64::NAN, p, p).nearest(p);
            mesh.transformed(0.0, p, DVec3::ZERO).crossing(p, DVec3::ZERO);
        }
    }
}

#[test]
fn a_fine_icosphere_is_nearly_a_sphere() {
    let center = DVec3::new(1.0, 2.0, 3.0);
    let mesh = TriMesh::icosphere(center, 0.5, 5);
    assert!(mesh.is_closed() && mesh.triangles.len() == 20 * 4_usize.pow(5));
    let volume = 4.0 / 3.0 * std::f64::consts::PI * 0.125;
    assert!((mesh.volume() / volume - 1.0).abs() < 2e-3);
    for k in 0..500 {
        let k = f64::from(k);
        let p = center + 0.9 * DVec3::new((1.3 * k).sin(), (2.1 * k).sin(), (3.7 * k).sin());
        let sphere = p.distance(center) - 0.5;
        assert!((mesh.nearest(p).distance - sphere).abs() < 1e-3);
        if sphere > -0.3 {
            assert!(mesh.nearest(p).normal.dot((p - center).normalize()) > 0.998);
        }
    }
}

#[test]
fn equal_corners_are_welded_and_unused_ones_dropped() {
    let cube = TriMesh::cuboid(DVec3::ZERO, DVec3::ONE);
    let mut split: Vec<DVec3> = (0..12).flat_map(|t| cube.corners(t)).map(|v| v * -0.0 + v).collect();
    split.push(DVec3::splat(9.0));
    let mesh = TriMesh::new(split, (0..12).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect()).unwrap();
    assert_eq!(mesh.vertices.len(), 8);
    assert!(mesh.is_closed());
    assert_eq!(mesh.bounds(), Aabb::new(DVec3::ZERO, DVec3::ONE));
}

#[test]
fn a_mesh_turned_inside_out_is_turned_back() {
    let mut triangles = TriMesh::cuboid(DVec3::ZERO, DVec3::ONE).triangles;
    triangles.iter_mut().for_each(|t| t.swap(0, 1));
    let mesh = TriMesh::new(TriMesh::cuboid(DVec3::ZERO, DVec3::ONE).vertices, triangles).unwrap();
    assert!(mesh.contains(DVec3::splat(0.5)) && mesh.volume() == 1.0);
}

#[test]
fn a_mesh_with_one_triangle_missing_or_reversed_is_open() {
    let cube = TriMesh::cuboid(DVec3::ZERO, DVec3::ONE);
    let mut reversed = cube.triangles.clone();
    reversed[3].swap(0, 1);
    assert!(!TriMesh::new(cube.vertices.clone(), reversed).unwrap().is_closed());
    let mesh = TriMesh::new(cube.vertices.clone(), cube.triangles[1..].to_vec()).unwrap();
    assert!(!mesh.is_closed() && mesh.volume() == 0.0 && !mesh.contains(DVec3::splat(0.5)));
}

#[test]
fn a_transform_scales_turns_and_moves_in_this_order() {
    let mesh = TriMesh::cuboid(DVec3::ZERO, DVec3::new(1.0, 2.0, 3.0));
    let turned = mesh.transformed(2.0, DVec3::new(0.0, 0.0, 90.0), DVec3::X);
    assert_eq!(turned.bounds(), Aabb::new(DVec3::new(-3.0, 0.0, 0.0), DVec3::new(1.0, 2.0, 6.0)));
    assert!((turned.volume() - 48.0).abs() < 1e-12);
    let mirrored = mesh.transformed(DVec3::new(-1.0, 1.0, 1.0), DVec3::ZERO, DVec3::ZERO);
    assert!(mirrored.contains(DVec3::new(-0.5, 1.0, 1.5)) && mirrored.is_closed());
    let about_y = mesh.transformed(1.0, DVec3::new(0.0, 90.0, 0.0), DVec3::ZERO);
    assert_eq!(about_y.bounds(), Aabb::new(DVec3::new(0.0, 0.0, -1.0), DVec3::new(3.0, 2.0, 0.0)));
}

#[test]
fn faults_are_named() {
    let corners = vec![DVec3::ZERO, DVec3::X, DVec3::Y];
    let message = |v: &[DVec3], t: &[[u32; 3]]| TriMesh::new(v.to_vec(), t.to_vec()).unwrap_err().to_string();
    assert!(message(&corners, &[[0, 1, 3]]).contains("triangle 0 (counted from 0) has 3"));
    assert!(message(&[DVec3::NAN], &[]).contains("vertex 0"));
    assert!(message(&corners, &[[0, 1, 1]]).contains("found none"));
    assert!(message(&[DVec3::ZERO, DVec3::X, 2.0 * DVec3::X], &[[0, 1, 2]]).contains("found none"));
}
