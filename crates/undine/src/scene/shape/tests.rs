use glam::DVec3;
use proptest::prelude::*;

use super::*;

fn point(reach: f64) -> impl Strategy<Value = DVec3> {
    [-reach..reach, -reach..reach, -reach..reach].prop_map(DVec3::from)
}

fn direction() -> impl Strategy<Value = DVec3> {
    point(1.0).prop_filter_map("too short", |v| (v.length() > 0.1).then(|| v.normalize()))
}

fn solid() -> impl Strategy<Value = Shape> {
    let sizes = [0.1..1.0, 0.1..1.0, 0.1..1.0_f64];
    prop_oneof![
        (point(0.5), sizes)
            .prop_map(|(c, s)| Shape::Box { min: c - DVec3::from(s), max: c + DVec3::from(s) }),
        (point(0.5), 0.1..1.0).prop_map(|(center, radius)| Shape::Sphere { center, radius }),
        (point(0.5), direction(), 0.1..1.0, 0.1..1.5)
            .prop_map(|(base, axis, radius, height)| Shape::Cylinder { base, axis, radius, height }),
    ]
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        3 => solid(),
        1 => (point(0.5), direction(), 0.1..1.0)
            .prop_map(|(center, normal, radius)| Shape::Disc { center, normal, radius }),
        1 => (point(0.5), 0.1..1.0)
            .prop_map(|(c, r)| Shape::Mesh(Arc::new(TriMesh::icosphere(c, r, 1)))),
    ]
}

/// The way along the negative gradient leads onto the surface.
fn foot(shape: &Shape, p: DVec3) -> DVec3 {
    let nearest = shape.nearest(p);
    p - nearest.distance * nearest.normal
}

proptest! {
    #[test]
    fn the_distance_leads_to_the_surface_along_the_normal(shape in any_shape(), p in point(2.0)) {
        let nearest = shape.nearest(p);
        prop_assert!((nearest.normal.length() - 1.0).abs() < 1e-12);
        prop_assert!(shape.nearest(foot(&shape, p)).distance.abs() < 1e-12);
        prop_assert_eq!(shape.contains(p), nearest.distance < 0.0);
        prop_assert!(shape.bounds().grow(1e-12).contains(foot(&shape, p)));
    }

    #[test]
    fn the_distance_never_changes_faster_than_the_point(shape in any_shape(), p in point(2.0), q in point(2.0)) {
        let change = shape.nearest(p).distance - shape.nearest(q).distance;
        prop_assert!(change.abs() <= p.distance(q) + 1e-12);
    }

    #[test]
    fn the_normal_is_the_gradient_of_the_distance(shape in any_shape(), p in point(2.0)) {
        let h = 1e-6;
        let slope = |k: usize| {
            let d = |s: f64| shape.nearest(p + s * h * DVec3::AXES[k]).distance;
            (d(1.0) - d(-1.0)) / (2.0 * h)
        };
        let gradient = DVec3::new(slope(0), slope(1), slope(2));
        prop_assume!((gradient.length() - 1.0).abs() < 1e-6);
        prop_assert!(gradient.distance(shape.nearest(p).normal) < 1e-4);
    }

    #[test]
    fn within_reach_gives_the_same_answer_and_beyond_none(
        shape in any_shape(), p in point(2.0), reach in 0.0..0.5,
    ) {
        let nearest = shape.nearest(p);
        prop_assert_eq!(shape.nearest_within(p, reach), (nearest.distance <= reach).then_some(nearest));
        prop_assert_eq!(shape.nearest_in_band(p, reach), (nearest.distance.abs() <= reach).then_some(nearest));
    }

    #[test]
    fn a_crossing_is_on_the_surface_and_nothing_is_before_it(
        shape in any_shape(), from in point(2.0), to in point(2.0),
    ) {
        let at = |t: f64| from + t * (to - from);
        let crossing = shape.crossing(from, to);
        if let Some(Crossing { t, normal }) = crossing {
            prop_assert!((0.0..=1.0).contains(&t) && normal.dot(to - from) <= 0.0);
            prop_assert!((normal.length() - 1.0).abs() < 1e-12);
            prop_assert!(shape.nearest(at(t)).distance.abs() < 1e-12);
        }
        let until = crossing.map_or(1.0, |c| c.t);
        for k in 0..20 {
            let p = at(until * f64::from(k) / 20.0);
            prop_assert_eq!(shape.contains(p), shape.contains(from));
        }
    }

    #[test]
    fn filled_points_are_inside_and_fewer_than_estimated(shape in any_shape(), spacing in 0.03..0.3) {
        let points = shape.fill(spacing);
        prop_assert!(points.len() as f64 <= shape.fill_count_estimate(spacing));
        let flat = matches!(shape, Shape::Disc { .. });
        for p in &points {
            let inside = if flat { shape.nearest(*p).distance < 1e-12 } else { shape.contains(*p) };
            prop_assert!(inside);
        }
    }

    #[test]
    fn finely_filled_points_take_up_the_volume(shape in any_shape()) {
        let flat = matches!(shape, Shape::Disc { .. });
        let size = match &shape {
            Shape::Disc { radius, .. } => PI * radius * radius,
            _ => shape.volume(),
        };
        let thinnest = match &shape {
            Shape::Box { min, max } => (*max - *min).min_element(),
            Shape::Sphere { radius, .. } | Shape::Disc { radius, .. } => 2.0 * radius,
            Shape::Cylinder { radius, height, .. } => height.min(2.0 * radius),
            _ => shape.bounds().size().min_element(),
        };
        // Layers are whole: of n across the thinnest side half a one may be missing or too much.
        let spacing = thinnest / 20.3;
        let cell = spacing.powi(if flat { 2 } else { 3 });
        let filled = shape.fill(spacing).len() as f64 * cell;
        prop_assert!((filled / size - 1.0).abs() < 0.06, "{filled} {size}");
    }

    #[test]
    fn odd_points_and_spacings_do_no_harm(
        shape in any_shape(),
        p in prop::array::uniform3(prop_oneof![-1.0..1.0_f64, Just(f64::NAN), Just(f64::INFINITY), Just(1e300)]),
        spacing in prop_oneof![Just(f64::NAN), Just(0.0), Just(-1.0), Just(1e-300), Just(1e9), Just(f64::INFINITY)],
    ) {
        let p = DVec3::from(p);
        shape.nearest(p);
        shape.nearest_within(p, spacing);
        shape.crossing(p, DVec3::ZERO);
        shape.crossing(DVec3::ZERO, p);
        shape.contains(p);
        prop_assert!(shape.fill(spacing).len() <= 1);
    }
}

#[test]
fn volumes_are_exact() {
    let unit = Shape::Box { min: DVec3::ZERO, max: DVec3::new(1.0, 2.0, 3.0) };
    assert_eq!(unit.volume(), 6.0);
    let mesh = Shape::Mesh(Arc::new(TriMesh::cuboid(DVec3::ZERO, DVec3::new(1.0, 2.0, 3.0))));
    assert!((mesh.volume() - 6.0).abs() < 1e-12 && mesh.is_closed());
    let disc = Shape::Disc { center: DVec3::ZERO, normal: DVec3::Y, radius: 1.0 };
    assert!(disc.volume() == 0.0 && !disc.is_closed() && !disc.contains(DVec3::ZERO));
}

#[test]
fn a_box_mesh_has_the_distance_of_the_box() {
    let (min, max) = (DVec3::new(-1.0, 0.0, 2.0), DVec3::new(1.0, 0.5, 3.0));
    let mesh = Shape::Mesh(Arc::new(TriMesh::cuboid(min, max)));
    let exact = Shape::Box { min, max };
    for k in 0..1000 {
        let k = f64::from(k);
        let p = DVec3::new(2.0 * (1.3 * k).sin(), (2.1 * k).sin(), 2.5 + (3.7 * k).sin());
        assert!((mesh.nearest(p).distance - exact.nearest(p).distance).abs() < 1e-12);
    }
}

#[test]
fn a_disc_is_crossed_only_within_its_rim() {
    let disc = Shape::Disc { center: DVec3::ZERO, normal: DVec3::Y, radius: 1.0 };
    let hit = disc.crossing(DVec3::new(0.5, -1.0, 0.0), DVec3::new(0.5, 3.0, 0.0)).unwrap();
    assert_eq!((hit.t, hit.normal), (0.25, DVec3::NEG_Y));
    assert!(disc.crossing(DVec3::new(1.5, -1.0, 0.0), DVec3::new(1.5, 3.0, 0.0)).is_none());
}
