use glam::{DVec2, DVec3};
use proptest::prelude::*;

use super::*;
use crate::scene::mesh::TriMesh;
use crate::scene::shape::Heightfield;

/// Corners - edges + triangles: 2 for each piece without handles.
fn euler(mesh: &TriMesh) -> i64 {
    // A closed mesh has three edges for two triangles.
    mesh.vertices.len() as i64 - mesh.triangles.len() as i64 / 2
}

fn pieces(mesh: &TriMesh) -> usize {
    let mut parent: Vec<usize> = (0..mesh.vertices.len()).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for t in &mesh.triangles {
        for k in 1..3 {
            let (a, b) = (root(&mut parent, t[0] as usize), root(&mut parent, t[k] as usize));
            parent[a] = b;
        }
    }
    (0..parent.len()).filter(|i| parent[*i] == *i).count()
}

#[test]
fn the_dragon_is_closed_in_one_piece_without_handles_and_one_metre_long() {
    let mesh = dragon();
    assert!(mesh.is_closed());
    assert_eq!((pieces(mesh), euler(mesh)), (1, 2));
    let b = mesh.bounds();
    assert!((b.size().x - 1.0).abs() < 1e-9 && b.min.y.abs() < 1e-9, "{b:?}");
    assert!((b.min.z + b.max.z).abs() < 1e-9 && b.size().z < 1.2 && b.size().y < 0.8, "{b:?}");
    assert!(mesh.volume() > 0.01 && mesh.triangles.len() < 60_000, "{mesh:?}, {} m³", mesh.volume());
}

#[test]
fn the_dragon_can_be_filled_with_fluid() {
    let (mesh, spacing) = (dragon(), 0.02);
    let points = crate::scene::fill::fill_mesh(mesh, spacing);
    let volume = points.len() as f64 * spacing.powi(3);
    assert!((volume / mesh.volume() - 1.0).abs() < 0.05, "{volume} of {}", mesh.volume());
}

fn river() -> Terrain {
    let valley = Valley { depth: 0.4, width: 0.3, bank: 0.5, meander: 0.2, bend: 1.0 };
    Terrain { seed: 3, relief: 0.2, scale: 0.5, octaves: 4, slope: 0.1, cell: 0.05, valley: Some(valley) }
}

#[test]
fn a_valley_lies_lower_than_its_banks_and_falls_along_x() {
    let field = river().heightfield(DVec3::ZERO, [4.0, 2.0]).unwrap();
    for i in 0..=40 {
        let x = 0.1 * f64::from(i);
        let lowest = (0..=40).map(|j| field.height(x, 0.05 * f64::from(j))).fold(f64::INFINITY, f64::min);
        let bed = 0.1 * (4.0 - x);
        assert!((bed - 1e-9..bed + 0.05).contains(&lowest), "bed {bed}, lowest {lowest} at {x}");
        assert!(field.height(x, 0.0) > bed + 0.3 && field.height(x, 2.0) > bed + 0.3);
    }
}

#[test]
fn terrain_of_too_many_samples_is_refused() {
    let fine = Terrain { cell: 1e-4, ..river() };
    assert!(fine.heightfield(DVec3::ZERO, [4.0, 2.0]).is_err());
}

#[test]
fn a_turned_square_is_a_ring_and_a_turned_triangle_on_the_axis_a_cone() {
    let square = [[1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0]].map(DVec2::from);
    let ring = lathe(&square, 64).unwrap();
    assert!(ring.is_closed() && euler(&ring) == 0, "{ring:?}");
    // Volume of a ring of 64 flat sides.
    let round = std::f64::consts::PI * 3.0;
    assert!((ring.volume() / round - 1.0).abs() < 2e-3, "{}", ring.volume());
    assert!(ring.contains(DVec3::new(1.5, 0.5, 0.0)) && !ring.contains(DVec3::new(0.5, 0.5, 0.0)));
    let cone = lathe(&[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]].map(DVec2::from), 64).unwrap();
    assert!(cone.is_closed() && euler(&cone) == 2, "{cone:?}");
    assert!((cone.volume() / (std::f64::consts::PI / 3.0) - 1.0).abs() < 2e-3);
}

#[test]
fn outlines_that_enclose_nothing_cannot_be_turned() {
    let line = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]].map(DVec2::from);
    assert!(lathe(&line, 16).is_none());
    assert!(lathe(&[[-1.0, 0.0], [1.0, 0.0], [0.5, 1.0]].map(DVec2::from), 16).is_none());
    assert!(lathe(&line[..2], 16).is_none());
}

fn heap(seed: u64, roughness: f64) -> Pile {
    Pile {
        min: DVec3::new(-0.5, 0.0, -0.4),
        max: DVec3::new(0.5, 0.6, 0.4),
        radius: [0.06, 0.12],
        count: 40,
        seed,
        roughness,
    }
}

#[test]
fn a_heap_rests_on_the_ground() {
    let ground = Heightfield::new(DVec3::new(-1.0, 0.0, -1.0), [2.0, 2.0], [2, 2], vec![0.1; 4]).unwrap();
    let rocks = heap(1, 0.6).rocks(Some(&ground));
    assert!(rocks.len() > 20, "{} rocks", rocks.len());
    for rock in &rocks {
        assert!(rock.center.y >= 0.1 + 0.79 * rock.radius, "{rock:?} is sunk");
    }
    assert!(rocks.iter().any(|rock| rock.center.y > 0.3), "nothing lies on top");
}

#[test]
fn no_rocks_are_no_mesh() {
    let tight = Pile { radius: [5.0, 6.0], ..heap(1, 0.5) };
    assert!(tight.mesh(None).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn rocks_are_closed_outward_and_within_their_radius(
        seed in any::<u64>(), roughness in 0.0..=1.0f64, radius in 0.01..10.0f64,
    ) {
        let center = DVec3::new(1.0, -2.0, 3.0);
        let rock = Rock::new(center, radius, seed, roughness);
        let mesh = rock.mesh(3);
        prop_assert!(mesh.is_closed());
        prop_assert_eq!(euler(&mesh), 2);
        prop_assert!(mesh.contains(center));
        for v in &mesh.vertices {
            let distance = v.distance(center);
            prop_assert!(distance <= radius * (1.0 + 1e-9) && distance >= 0.33 * radius);
        }
        prop_assert_eq!(&mesh, &Rock::new(center, radius, seed, roughness).mesh(3));
    }

    #[test]
    fn heaps_stay_in_their_box_and_their_rocks_apart(seed in any::<u64>(), roughness in 0.0..=1.0f64) {
        let heap = heap(seed, roughness);
        let rocks = heap.rocks(None);
        prop_assert!(rocks.len() >= 10, "{} rocks", rocks.len());
        let mesh = heap.mesh(None).unwrap();
        prop_assert!(mesh.is_closed());
        prop_assert_eq!(pieces(&mesh), rocks.len());
        let b = mesh.bounds();
        prop_assert!(b.min.cmpge(heap.min - 1e-9).all() && b.max.cmple(heap.max + 1e-9).all(), "{:?}", b);
        let meshes: Vec<TriMesh> = rocks.iter().map(|rock| rock.mesh(3)).collect();
        for (i, a) in meshes.iter().enumerate() {
            for b in meshes.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, b)| b) {
                prop_assert!(a.vertices.iter().all(|v| !b.contains(*v)));
            }
        }
        prop_assert_eq!(&mesh, &heap.mesh(None).unwrap());
    }

    #[test]
    fn terrain_keeps_its_bounds_and_follows_from_its_seed(
        seed in any::<u64>(), relief in 0.0..2.0f64, slope in -0.5..0.5f64, octaves in 1..8u32,
    ) {
        let terrain = Terrain { seed, relief, slope, octaves, valley: None, ..river() };
        let field = terrain.heightfield(DVec3::ZERO, [3.0, 1.0]).unwrap();
        let most = relief + 3.0 * slope.abs();
        prop_assert!(field.heights.iter().all(|h| (-1e-9..=most + 1e-9).contains(h)));
        let valley = Terrain { valley: river().valley, ..terrain };
        let deep = valley.heightfield(DVec3::ZERO, [3.0, 1.0]).unwrap();
        prop_assert!(deep.heights.iter().all(|h| (-1e-9..=most + 0.4 + 1e-9).contains(h)));
        prop_assert_eq!(&field, &terrain.heightfield(DVec3::ZERO, [3.0, 1.0]).unwrap());
        let other = Terrain { seed: seed ^ 1, ..terrain };
        prop_assert!(relief < 1e-3 || field != other.heightfield(DVec3::ZERO, [3.0, 1.0]).unwrap());
    }
}
