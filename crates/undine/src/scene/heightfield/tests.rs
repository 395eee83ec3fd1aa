use proptest::prelude::*;

use super::*;

fn field(heights: Vec<f64>) -> Heightfield {
    Heightfield::new(DVec3::new(-1.0, 0.5, 2.0), [4.0, 3.0], [5, 4], heights).unwrap()
}

fn heights() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1.0..1.0_f64, 20)
}

fn brute_force(field: &Heightfield, p: DVec3) -> f64 {
    let distance = (0..12)
        .flat_map(|cell| field.cell_triangles(cell))
        .map(|t| p.distance(nearest_point(p, t).0))
        .fold(f64::INFINITY, f64::min);
    if field.contains(p) { -distance } else { distance }
}

proptest! {
    #[test]
    fn the_distance_is_that_of_brute_force(
        h in heights(), x in -3.0..5.0, y in -4.0..4.0, z in 0.0..7.0, reach in 0.0..1.0,
    ) {
        let field = field(h);
        let p = DVec3::new(x, y, z);
        let expected = brute_force(&field, p);
        let found = field.nearest(p);
        prop_assert!((found.distance - expected).abs() < 1e-12);
        prop_assert_eq!(field.nearest_within(p, reach), (expected <= reach).then_some(found));
    }

    #[test]
    fn the_clearance_is_no_more_than_the_distance_and_tells_the_same_side(
        h in heights(), x in -3.0..5.0, y in -4.0..4.0, z in 0.0..7.0, reach in 0.01..3.0,
    ) {
        let (field, p) = (field(h), DVec3::new(x, y, z));
        let (clearance, distance) = (field.clearance(p, reach), field.nearest(p).distance);
        prop_assert!(clearance <= distance.clamp(0.0, reach) + 1e-12, "{clearance} of {distance}");
        prop_assert!((clearance > 0.0) == (distance > 0.0), "{clearance} of {distance}");
        // Useful: no slope of these heights is steeper than 3 in 1.
        prop_assert!(distance <= 0.0 || clearance >= 0.25 * distance.min(reach), "{clearance} of {distance}");
    }

    #[test]
    fn the_surface_is_where_the_height_says(h in heights(), x in -1.0..3.0, z in 2.0..5.0) {
        let field = field(h);
        let on = DVec3::new(x, field.height(x, z), z);
        prop_assert!(field.nearest(on).distance.abs() < 1e-12);
        prop_assert!(field.contains(on - 1e-9 * DVec3::Y) && !field.contains(on + 1e-9 * DVec3::Y));
        let hit = field.crossing(on + DVec3::Y, on - 3.0 * DVec3::Y).unwrap();
        prop_assert!((hit.t - 0.25).abs() < 1e-12 && hit.normal.y > 0.0);
        let hit = field.crossing(on - 9.0 * DVec3::Y, on + DVec3::Y).unwrap();
        prop_assert!((hit.t - 0.9).abs() < 1e-12 && hit.normal.y < 0.0);
    }

    #[test]
    fn any_text_gives_a_field_or_an_error(text in "[-0-9. ,;#a-z\n\r]{0,80}", bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        for bytes in [text.as_bytes(), &bytes] {
            let _ = Heightfield::read(Path::new("h.txt"), bytes, DVec3::ZERO, [1.0, 1.0]);
        }
    }
}

#[test]
fn level_ground_has_the_vertical_distance() {
    let field = field(vec![0.25; 20]);
    let above = field.nearest(DVec3::new(0.3, 1.0, 3.3));
    assert!((above.distance - 0.25).abs() < 1e-12 && above.normal.distance(DVec3::Y) < 1e-12);
    let below = field.nearest_within(DVec3::new(0.3, -100.0, 3.3), 0.01).unwrap();
    assert!(below.distance < -3.0);
    assert!(field.nearest_within(DVec3::new(-1.2, 0.75, 3.3), 0.1).is_none(), "no wall beside it");
    assert!(field.nearest_within(DVec3::new(-1.2, -3.0, 3.3), 0.3).is_none(), "no wall beside it");
    assert!(field.nearest(DVec3::NAN).distance.is_infinite());
}

#[test]
fn rows_are_read_with_spaces_commas_or_as_an_asc_grid() {
    let read = |text: &str| Heightfield::read(Path::new("h.txt"), text.as_bytes(), DVec3::ZERO, [2.0, 1.0]);
    let plain = read("# heights\n0 1 2\n3 4 5\n").unwrap();
    assert_eq!((plain.samples, plain.height(2.0, 0.0), plain.height(0.0, 1.0)), ([3, 2], 2.0, 3.0));
    assert_eq!(read("0,1,2,\r\n3; 4; 5").unwrap(), plain);
    let asc =
        "ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n-9999 1 2\n3 4 5\n";
    assert_eq!(read(asc).unwrap().heights, [1.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let message = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(message("0 1\n2 3 4\n"), "h.txt:2: expected 2 heights, as in the first row, found \"3\"");
    assert_eq!(message("0 1\n2 b\n"), "h.txt:2: expected a height, found \"b\"");
    assert_eq!(message(""), "h.txt: expected at least 2 x 2 samples, found 0 x 0");
    assert!(message("ncols 9\n1 2\n3 4").starts_with("h.txt:1: expected ncols 2"));
}

#[test]
fn wrong_numbers_are_refused() {
    let make =
        |size, samples, heights: Vec<f64>| Heightfield::new(DVec3::ZERO, size, samples, heights).is_err();
    assert!(make([1.0, 0.0], [2, 2], vec![0.0; 4]));
    assert!(make([1.0, 1.0], [2, 2], vec![0.0; 5]));
    assert!(make([1.0, 1.0], [usize::MAX, 2], vec![0.0; 4]));
    assert!(make([1.0, 1.0], [2, 2], vec![f64::NAN; 4]));
}
