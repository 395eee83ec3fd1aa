use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::scene::shape::Shape;

fn bits(points: impl IntoIterator<Item = DVec3>) -> BTreeSet<[u64; 3]> {
    // + 0 makes -0 and 0 the same bits.
    points.into_iter().map(|p| (p + DVec3::ZERO).to_array().map(f64::to_bits)).collect()
}

#[test]
fn a_box_of_thirty_spacings_has_thirty_layers_half_a_spacing_from_its_faces() {
    let points = fill_box(DVec3::ZERO, DVec3::new(0.3, 0.1, 0.02), 0.01);
    assert_eq!(points.len(), 30 * 10 * 2);
    assert!(points[0].distance(DVec3::splat(0.005)) < 1e-15);
    assert!(points[29].distance(DVec3::new(0.295, 0.005, 0.005)) < 1e-15);
    assert!((points[30].y - 0.015).abs() < 1e-15, "x fastest, then y");
}

#[test]
fn a_box_is_never_empty_and_its_lattice_is_centred() {
    let small = fill_box(DVec3::ZERO, DVec3::splat(0.2), 1.0);
    assert!(small.len() == 1 && small[0].distance(DVec3::splat(0.1)) < 1e-15);
    let points = fill_box(DVec3::ZERO, DVec3::new(2.3, 0.5, 0.5), 1.0);
    assert_eq!(points.len(), 2);
    assert!((points[0].x - 0.65).abs() < 1e-15 && (points[1].x - 1.65).abs() < 1e-15);
}

#[test]
fn a_sphere_is_mapped_to_itself_by_mirrors_and_quarter_turns() {
    let points = fill_sphere(DVec3::ZERO, 0.537, 0.05);
    assert!(points.len() > 4000);
    let all = bits(points.iter().copied());
    assert_eq!(all.len(), points.len());
    assert_eq!(bits(points.iter().map(|p| DVec3::new(-p.x, p.y, p.z))), all);
    assert_eq!(bits(points.iter().map(|p| DVec3::new(p.z, p.y, -p.x))), all);
    assert_eq!(bits(points.iter().map(|p| DVec3::new(p.y, p.z, p.x))), all);
}

#[test]
fn an_upright_cylinder_is_symmetric_and_starts_half_a_spacing_above_its_base() {
    for axis in [DVec3::Y, DVec3::X, DVec3::Z, DVec3::NEG_Y] {
        let points = fill_cylinder(DVec3::ZERO, axis, 0.43, 0.5, 0.1);
        let least = points.iter().map(|p| p.dot(axis)).fold(f64::INFINITY, f64::min);
        assert!((least - 0.05).abs() < 1e-15);
        assert_eq!(points.len() % 5, 0);
        let all = bits(points.iter().copied());
        let turned = points.iter().map(|p| axis * p.dot(axis) + axis.cross(*p));
        assert_eq!(bits(turned), all, "{axis}");
    }
    let order = fill_cylinder(DVec3::ZERO, DVec3::Y, 0.43, 0.5, 0.1);
    assert!(order.windows(2).all(|w| (w[0].z, w[0].y, w[0].x) < (w[1].z, w[1].y, w[1].x)));
}

#[test]
fn bodies_smaller_than_the_spacing_keep_a_point() {
    assert_eq!(fill_sphere(DVec3::ONE, 0.3, 1.0), [DVec3::ONE]);
    assert_eq!(fill_cylinder(DVec3::ZERO, DVec3::Y, 0.3, 0.4, 1.0), [DVec3::new(0.0, 0.2, 0.0)]);
    assert_eq!(fill_cylinder(DVec3::ZERO, DVec3::Y, 0.3, 3.0, 1.0).len(), 3);
    assert_eq!(disc_lattice(DVec3::ONE, DVec3::Y, 0.3, 1.0), [DVec3::ONE]);
}

#[test]
fn a_disc_lattice_takes_up_the_area_of_the_disc() {
    let normal = DVec3::new(1.0, -2.0, 0.5).normalize();
    for (radius, tolerance) in [(1.3, 0.4), (2.0, 0.25), (5.0, 0.05), (20.0, 0.01)] {
        let points = disc_lattice(DVec3::ONE, normal, radius * 0.1, 0.1);
        let share = points.len() as f64 * 0.01 / (std::f64::consts::PI * radius * radius * 0.01);
        assert!((share - 1.0).abs() < tolerance, "{radius}: {share}");
        assert!(points.iter().all(|p| (*p - DVec3::ONE).dot(normal).abs() < 1e-12));
        assert!(points.iter().all(|p| p.distance(DVec3::ONE) < radius * 0.1));
        let apart = |p: &DVec3| points.iter().filter(|q| q.distance(*p) < 0.0999).count();
        assert!(points.iter().all(|p| apart(p) == 1));
    }
}

#[test]
fn a_box_mesh_is_filled_like_the_box() {
    let (min, max) = (DVec3::ZERO, DVec3::new(1.0, 0.5, 0.25));
    for spacing in [0.05, 0.0625, 0.07] {
        let mesh = TriMesh::cuboid(min, max);
        assert_eq!(fill_mesh(&mesh, spacing), fill_box(min, max, spacing));
    }
}

#[test]
fn a_mesh_with_a_cavity_is_filled_around_it() {
    let outer = TriMesh::icosphere(DVec3::ZERO, 1.0, 4);
    let inner = TriMesh::icosphere(DVec3::ZERO, 0.5, 4);
    let shift = outer.vertices.len() as u32;
    let mut triangles = outer.triangles.clone();
    triangles.extend(inner.triangles.iter().map(|&[a, b, c]| [a + shift, c + shift, b + shift]));
    let vertices = outer.vertices.iter().chain(&inner.vertices).copied().collect();
    let shell = TriMesh::new(vertices, triangles).unwrap();
    let points = fill_mesh(&shell, 0.05);
    assert!((points.len() as f64 * 0.05_f64.powi(3) / shell.volume() - 1.0).abs() < 0.02);
    assert!(points.iter().all(|p| (0.49..1.0).contains(&p.length()) && shell.contains(*p)));
}

#[test]
fn an_open_mesh_is_not_filled() {
    let cube = TriMesh::cuboid(DVec3::ZERO, DVec3::ONE);
    let open = TriMesh::new(cube.vertices.clone(), cube.triangles[1..].to_vec()).unwrap();
    let shape = Shape::Mesh(Arc::new(open));
    assert!(!shape.is_closed() && shape.fill(0.1).is_empty() && shape.fill_count_estimate(0.1) == 0.0);
}

#[test]
fn a_needle_across_much_space_counts_for_the_rows_that_are_searched() {
    let far = DVec3::splat(1e6);
    let vertices = vec![DVec3::ZERO, DVec3::X, DVec3::Y, far];
    let needle = TriMesh::new(vertices, vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]).unwrap();
    assert!(needle.is_closed());
    assert!(mesh_count(&needle, 0.01) > 1e12, "{:e}", mesh_count(&needle, 0.01));
    assert!(fill_mesh(&needle, 0.01).is_empty());
}
