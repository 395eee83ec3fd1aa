use super::*;

fn random_drop(count: usize) -> Vec<[f32; 3]> {
    let mut seed = 11u32;
    let mut random = || {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 8) as f32 / 16777216.0
    };
    (0..count).map(|_| [30.0 * random() - 7.0, 24.0 * random() + 3.0, 20.0 * random() - 40.0]).collect()
}

/// The smoothed count at a point, from all markers.
fn plain(position: &[[f32; 3]], cell: f64, times: usize, at: [i32; 3]) -> f64 {
    let weights = filter::binomial(times);
    let share = |p: &[f32; 3]| -> f64 {
        let along = |a: usize| {
            let far = ((f64::from(p[a]) / cell).round() as i32 - at[a]).unsigned_abs() as usize;
            weights.get(far).copied().unwrap_or(0.0)
        };
        along(0) * along(1) * along(2)
    };
    position.iter().map(share).sum()
}

#[test]
fn vertices_lie_where_the_smoothed_count_has_its_iso_value() {
    for (spacing, times) in [(1.0f32, 1), (1.7, 3)] {
        let position = random_drop(4000);
        let velocity: Vec<[f32; 3]> = position.iter().map(|p| [2.0, p[1], 0.5 * p[2]]).collect();
        let cell = 0.9;
        let wish =
            Wish { position: &position, velocity: Some(&velocity), cell, spacing, times, threshold: 0.5 };
        let found = build(&wish).unwrap();
        let iso = f64::from(0.5 * spacing.powi(-3));
        let mut vertices = 0;
        for piece in &found.pieces {
            let corner = piece.key.map(|k| k * EDGE as i32);
            for ((edge, p), v) in piece.edges.iter().zip(&piece.position).zip(&piece.velocity).step_by(17) {
                let (point, axis) = edge_of(*edge);
                let first: [i32; 3] = std::array::from_fn(|a| corner[a] + point[a] as i32);
                let mut second = first;
                second[axis] += 1;
                let t = f64::from(p[axis]) - point[axis] as f64;
                let [a, b] = [first, second].map(|at| plain(&position, cell, times, at));
                assert!((a < iso) != (b < iso), "{a} {b}");
                let near_end = !(0.002..0.998).contains(&t);
                assert!(near_end || (a + t * (b - a) - iso).abs() < 1e-4, "{a} {b} {t}");
                // Vertices are kept off from the ends of edges by a thousandth.
                assert!((v[0] - 2.0).abs() < if near_end { 0.01 } else { 1e-3 }, "{v:?}");
                let y = (f64::from(corner[1]) + f64::from(p[1])) * cell;
                assert!((f64::from(v[1]) - y).abs() < 2.0 * cell * f64::from(spacing), "{v:?} {y}");
                vertices += 1;
            }
        }
        assert!(vertices > 50, "{vertices}");
        // What is outside is known by the point it is at.
        for i in (0..position.len()).step_by(97) {
            let at = position[i].map(|x| (f64::from(x) / cell).round() as i32);
            let value = plain(&position, cell, times, at);
            if (value - iso).abs() > 1e-4 && value < iso {
                assert!(found.outside.contains(&(i as u32)), "{value}");
            } else if value > iso + 1e-4 {
                assert!(!found.outside.contains(&(i as u32)), "{value}");
            }
        }
    }
}

#[test]
fn every_crossed_edge_has_a_vertex() {
    let position = random_drop(600);
    let wish =
        Wish { position: &position, velocity: None, cell: 1.3, spacing: 1.0, times: 1, threshold: 0.3 };
    let found = build(&wish).unwrap();
    let vertices: usize = found.pieces.iter().map(|p| p.edges.len()).sum();
    let low = [-9, -1, -34];
    let high = [22, 25, -11];
    let inside = |at: [i32; 3]| plain(&position, 1.3, 1, at) >= 0.3;
    let mut crossed = 0;
    for z in low[2]..high[2] {
        for y in low[1]..high[1] {
            for x in low[0]..high[0] {
                let here = inside([x, y, z]);
                crossed += usize::from(here != inside([x + 1, y, z]));
                crossed += usize::from(here != inside([x, y + 1, z]));
                crossed += usize::from(here != inside([x, y, z + 1]));
            }
        }
    }
    assert_eq!(vertices, crossed);
}

#[test]
fn markers_far_apart_and_far_out_are_left_to_the_other_way() {
    let wish = |position: &[[f32; 3]]| {
        build(&Wish { position, velocity: None, cell: 0.1, spacing: 1.0, times: 1, threshold: 0.5 }).is_some()
    };
    assert!(wish(&[[1.0; 3]]));
    assert!(!wish(&[]));
    assert!(!wish(&[[0.0; 3], [1e4, 1e4, 1e4]]));
    assert!(!wish(&[[1e9, 0.0, 0.0]]));
    assert!(!wish(&[[f32::NAN, 0.0, 0.0]]));
}
