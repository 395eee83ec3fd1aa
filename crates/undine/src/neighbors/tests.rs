//! The search against brute force.

use super::*;
use crate::simd::Portable;
use proptest::prelude::*;

struct Sorted {
    grid: Grid,
    order: Vec<u32>,
    local: Vec<[f32; 3]>,
}

fn sorted(points: &[[f64; 3]], h: f64, period: Option<&Period>) -> Sorted {
    let p: [Vec<f64>; 3] = std::array::from_fn(|a| points.iter().map(|p| p[a]).collect());
    let view = [&p[0][..], &p[1][..], &p[2][..]];
    let mut grid = Grid::new(h);
    let (mut key, mut order) = (vec![0; points.len()], vec![0; points.len()]);
    grid.fit(view, period);
    grid.sort(view, &mut key, &mut order);
    let local = order.iter().map(|&i| grid.local(points[i as usize])).collect();
    Sorted { grid, order, local }
}

type Pairs = Vec<(u32, u32)>;

fn neighbors(s: &Sorted) -> Pairs {
    let (mut pairs, mut candidates) = (Vec::new(), Candidates::default());
    for (k, &p) in s.local.iter().enumerate() {
        s.grid.candidates::<Portable>(p, p, &mut candidates);
        for (shift, chunks) in candidates.groups() {
            for j in chunks.iter().flat_map(|c| c.range()) {
                let q = s.local[j];
                let d = std::array::from_fn(|a| p[a] + shift[a] - q[a]);
                if is_neighbor(d) {
                    pairs.push((s.order[k], s.order[j]));
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// All pairs whose distance is surely below h, and all that may be.
fn naive(points: &[[f64; 3]], h: f64, period: Option<&Period>) -> (Pairs, Pairs) {
    let (mut sure, mut maybe) = (Vec::new(), Vec::new());
    for (i, a) in points.iter().enumerate() {
        for (j, b) in points.iter().enumerate() {
            let r2: f64 = (0..3)
                .map(|k| {
                    let mut d = a[k] - b[k];
                    if let Some(p) = period.filter(|p| p.axes[k]) {
                        let l = p.max[k] - p.min[k];
                        d -= (d / l).round() * l;
                    }
                    d * d
                })
                .sum();
            let r = r2.sqrt() / h;
            if r < 1.0 - 1e-4 {
                sure.push((i as u32, j as u32));
            }
            if r < 1.0 + 1e-4 {
                maybe.push((i as u32, j as u32));
            }
        }
    }
    (sure, maybe)
}

fn agrees(points: &[[f64; 3]], h: f64, period: Option<&Period>) {
    let got = neighbors(&sorted(points, h, period));
    let (sure, maybe) = naive(points, h, period);
    assert!(got.windows(2).all(|w| w[0] != w[1]), "a pair was found twice");
    for pair in &sure {
        assert!(got.binary_search(pair).is_ok(), "missed {pair:?}: {:?}", points);
    }
    for pair in &got {
        assert!(maybe.binary_search(pair).is_ok(), "false neighbour {pair:?}");
    }
}

fn cloud(size: f64) -> impl Strategy<Value = Vec<[f64; 3]>> {
    prop::collection::vec([0.0..size, 0.0..size, 0.0..size], 1..120)
}

proptest! {
    #[test]
    fn finds_the_neighbours_that_brute_force_finds(points in cloud(4.0), h in 0.3..1.5f64) {
        agrees(&points, h, None);
    }

    #[test]
    fn finds_them_far_from_the_origin_and_across_empty_space(
        mut points in cloud(3.0),
        far in prop::collection::vec((0..3usize, -1e6..1e6f64), 0..20),
    ) {
        for (k, (axis, by)) in far.into_iter().enumerate() {
            let n = points.len();
            points[k % n][axis] += by;
            points[(k + 1) % n][axis] += by;
        }
        agrees(&points, 0.4, None);
    }

    #[test]
    fn finds_them_in_spray_that_spreads_everywhere(points in cloud(2000.0), near in cloud(1.0)) {
        let mut all = points.clone();
        for (p, d) in points.iter().zip(&near) {
            all.push([p[0] + 0.4 * d[0], p[1] + 0.4 * d[1], p[2] + 0.4 * d[2]]);
        }
        agrees(&all, 0.5, None);
    }

    #[test]
    fn finds_them_in_sheets_whose_rows_share_cells(points in cloud(400.0), near in cloud(1.0), flat in 0.0..4.0f64) {
        let mut all: Vec<[f64; 3]> = points.iter().map(|p| [p[0] * flat / 400.0, p[1], p[2]]).collect();
        for (k, d) in near.iter().enumerate() {
            let p = all[k % points.len()];
            all.push([p[0] + 0.4 * d[0], p[1] + 0.4 * d[1], p[2] + 0.4 * d[2]]);
        }
        agrees(&all, 0.5, None);
    }

    #[test]
    fn finds_them_across_periodic_faces(
        points in cloud(1.0), axes in any::<[bool; 3]>(), h in 0.11..0.5f64,
    ) {
        let period = Period { min: DVec3::ZERO, max: DVec3::ONE, axes };
        agrees(&points, h, Some(&period));
    }
}

#[test]
fn a_long_period_costs_no_cells() {
    let axes_of = [[true, false, false], [false, true, true], [true; 3]];
    for axes in axes_of {
        let end = 1000.0;
        let points: Vec<[f64; 3]> = (0..200)
            .map(|i| if i % 2 == 0 { 0.01 * f64::from(i) } else { end - 0.01 * f64::from(i) })
            .map(|x| [x, 0.5 * x, end - x])
            .collect();
        let period = Period { min: DVec3::ZERO, max: DVec3::splat(end), axes };
        let s = sorted(&points, 0.1, Some(&period));
        assert!(s.grid.start.len() < 70_000, "{} cells", s.grid.start.len());
        agrees(&points, 0.1, Some(&period));
    }
}

#[test]
fn rows_beside_the_lowest_particle_are_in_the_grid_far_from_the_origin() {
    for k in 0..1000 {
        let far = 55_546.550_8 * (1.0 + 0.37 * f64::from(k));
        let points = [[far, -far, far], [far + 0.1, -far + 0.1, far + 0.1]];
        let local = sorted(&points, 0.2, None).local;
        assert!(local.iter().flatten().all(|v| *v >= 1.0), "{far}: {local:?}");
        agrees(&points, 0.2, None);
    }
}

#[test]
fn places_beyond_all_numbers_have_no_neighbours() {
    let scattered: Vec<[f64; 3]> = (0..300).map(|i| [f64::from(i * 7919 % 300); 3]).collect();
    for points in [&[[0.0; 3]][..], &scattered[..]] {
        let s = sorted(points, 1e-3, None);
        let mut candidates = Candidates::default();
        for far in [1e30, -1e30, 3e9, -3e9] {
            s.grid.candidates_anywhere::<Portable>([far; 3], [far; 3], &mut candidates);
            for (_, chunks) in candidates.groups() {
                for j in chunks.iter().flat_map(|c| c.range()) {
                    assert!(!is_neighbor(std::array::from_fn(|a| far - s.local[j][a])));
                }
            }
        }
    }
}

#[test]
fn one_particle_a_thousand_kilometres_away_costs_no_cells() {
    let mut points: Vec<[f64; 3]> = (0..1000)
        .map(|i| [(i % 10) as f64 * 0.01, (i / 10 % 10) as f64 * 0.01, (i / 100) as f64 * 0.01])
        .collect();
    points.push([1e6, -1e6, 1e6]);
    let s = sorted(&points, 0.02, None);
    assert!(s.grid.start.len() < 70_000, "{} cells", s.grid.start.len());
    agrees(&points[..], 0.02, None);
}

proptest! {
    /// Particles that drifted by up to half of what the grid reaches farther are found from where they are now.
    #[test]
    fn finds_those_that_drifted_since_they_were_sorted(
        points in prop::collection::vec([-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64], 1..300),
        ways in prop::collection::vec([-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64], 300),
        reach in 1.0..1.5f32,
    ) {
        let h = 0.3;
        let p: [Vec<f64>; 3] = std::array::from_fn(|a| points.iter().map(|p| p[a]).collect());
        let view = [&p[0][..], &p[1][..], &p[2][..]];
        let mut grid = Grid::new(h).reaching(reach);
        let (mut key, mut order) = (vec![0; points.len()], vec![0; points.len()]);
        grid.fit(view, None);
        grid.sort(view, &mut key, &mut order);
        // At most half of it, as the crow flies.
        let by = 0.499 * f64::from(reach - 1.0) * h / 3f64.sqrt();
        let now: Vec<[f64; 3]> =
            points.iter().zip(&ways).map(|(p, w)| std::array::from_fn(|a| p[a] + by * w[a])).collect();
        let local = order.iter().map(|&i| grid.local(now[i as usize])).collect();
        let (sure, maybe) = naive(&now, h, None);
        let found = neighbors(&Sorted { grid, order, local });
        prop_assert!(sure.iter().all(|pair| found.binary_search(pair).is_ok()));
        prop_assert!(found.iter().all(|pair| maybe.contains(pair)));
    }
}

#[test]
fn grids_for_others_have_their_rows_in_common() {
    let grid = |low: f64| {
        let x: Vec<f64> = (0..100).map(|k| low + 0.11 * k as f64).collect();
        let mut grid = Grid::for_others(0.3, 1e7).reaching(1.1);
        grid.fit([&x, &x, &x], None);
        grid
    };
    let (a, b) = (grid(0.2), grid(-0.77));
    let row = |g: &Grid, y: f64| g.axis[1].cell(g.axis[1].local(y, g.per_h));
    let apart = row(&a, 1.0) - row(&b, 1.0);
    for k in 0..1000 {
        let y = 0.3 + 0.0097 * f64::from(k);
        assert_eq!(row(&a, y) - row(&b, y), apart, "at {y}");
    }
}
