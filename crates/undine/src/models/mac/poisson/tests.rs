//! Tests of the pressure solver against a naive one.

use proptest::prelude::*;

use super::*;

/// A box of liquid with what it is filled with: random, but the same for a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 31)
    }
}

fn cells(size: [usize; 3]) -> impl Iterator<Item = (usize, [usize; 3])> {
    let [nx, ny, nz] = size;
    (0..nx * ny * nz).map(move |i| (i, [i % nx, i / nx % ny, i / (nx * ny)]))
}

/// The neighbour in + axis, if there is one.
fn next(size: [usize; 3], periodic: [bool; 3], i: usize, at: [usize; 3], axis: usize) -> Option<usize> {
    let stride = [1, size[0], size[0] * size[1]][axis];
    if at[axis] + 1 < size[axis] { Some(i + stride) } else { periodic[axis].then(|| i - at[axis] * stride) }
}

/// Couplings by face, and the hold of each cell; unknowns are where `liquid` is.
fn assemble(
    size: [usize; 3],
    periodic: [bool; 3],
    liquid: impl Fn([usize; 3]) -> bool,
    mut coupling: impl FnMut([usize; 3], usize) -> f32,
    mut hold: impl FnMut([usize; 3]) -> f32,
) -> System {
    let n: usize = size.iter().product();
    let mut system =
        System { size, periodic, plus: std::array::from_fn(|_| vec![0.0; n]), diagonal: vec![0.0; n] };
    let wet: Vec<bool> = cells(size).map(|(_, at)| liquid(at)).collect();
    let mut diagonal = vec![0.0f64; n];
    for (i, at) in cells(size) {
        for axis in 0..3 {
            // What is to be ignored is set all the same.
            let c = coupling(at, axis);
            system.plus[axis][i] = c;
            if let Some(j) = next(size, periodic, i, at, axis)
                && wet[i]
                && wet[j]
            {
                diagonal[i] += f64::from(c);
                diagonal[j] += f64::from(c);
            }
        }
        diagonal[i] += f64::from(hold(at));
    }
    for i in 0..n {
        system.diagonal[i] = if wet[i] { diagonal[i] as f32 } else { 0.0 };
    }
    system
}

/// Gravity's kind of liquid: filled up to y = `fill`, held by a free surface there; b of the divergence of noise.
fn tank(size: [usize; 3], fill: f64) -> (System, Vec<f32>) {
    let wet = |at: [usize; 3]| (at[1] as f64 + 0.5) < fill * size[1] as f64;
    let system = assemble(
        size,
        [false; 3],
        wet,
        |_, _| 1.0,
        |at| {
            let above = [at[0], at[1] + 1, at[2]];
            if above[1] == size[1] || !wet(above) { 1.5 } else { 0.0 }
        },
    );
    let mut random = Random(7);
    let b =
        system.diagonal.iter().map(|d| if *d > 0.0 { (random.next() - 0.4) as f32 } else { 0.0 }).collect();
    (system, b)
}

/// A p in double precision. A diagonal that is the sum of the couplings but for rounding is taken for the sum.
fn product(system: &System, p: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; p.len()];
    let mut sum = vec![0.0; p.len()];
    for (i, at) in cells(system.size) {
        for axis in 0..3 {
            if let Some(j) = next(system.size, system.periodic, i, at, axis)
                && system.diagonal[i] > 0.0
                && system.diagonal[j] > 0.0
            {
                let c = f64::from(system.plus[axis][i]);
                out[i] -= c * p[j];
                out[j] -= c * p[i];
                sum[i] += c;
                sum[j] += c;
            }
        }
    }
    for i in 0..p.len() {
        let d = f64::from(system.diagonal[i]);
        out[i] += p[i] * if (d - sum[i]).abs() < 1e-6 * d { sum[i] } else { d };
    }
    out
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// ‖b - A p‖ / ‖b‖, and how much of it may be the rounding of p.
fn true_residual(system: &System, b: &[f32], p: &[f32]) -> (f64, f64) {
    let wide: Vec<f64> = p.iter().map(|p| f64::from(*p)).collect();
    let ap = product(system, &wide);
    let (mut r, mut rounding) = (Vec::new(), Vec::new());
    for i in 0..p.len() {
        let unknown = system.diagonal[i] > 0.0;
        r.push(if unknown { f64::from(b[i]) - ap[i] } else { 0.0 });
        rounding.push(2.0 * f64::from(system.diagonal[i]) * wide[i].abs() * f64::from(f32::EPSILON));
    }
    let b: Vec<f64> =
        b.iter().zip(&system.diagonal).map(|(b, d)| if *d > 0.0 { f64::from(*b) } else { 0.0 }).collect();
    (norm(&r) / norm(&b), norm(&rounding) / norm(&b))
}

fn solve(system: &System, b: &[f32], tolerance: f64) -> (Vec<f32>, Report) {
    let mut p = vec![0.0; b.len()];
    let report = Poisson::new(system.size, system.periodic).solve(system, b, &mut p, tolerance, 200);
    (p, report)
}

#[test]
fn a_tank_is_solved_to_the_tolerance_asked_for_and_the_report_is_true() {
    for size in [[20, 20, 20], [33, 17, 9], [64, 32, 32], [64, 64, 1], [100, 40, 20]] {
        let (system, b) = tank(size, 0.6);
        for tolerance in [1e-2, 1e-4, 1e-6] {
            let (p, report) = solve(&system, &b, tolerance);
            let (residual, rounding) = true_residual(&system, &b, &p);
            println!("{size:?} {tolerance}: {report:?}, true {residual:e}, rounding {rounding:e}");
            assert!(report.residual <= tolerance, "{size:?} {tolerance}: {report:?}");
            assert!((residual - report.residual).abs() <= rounding + 1e-9, "{residual} is not {report:?}");
        }
    }
}

/// Components of the unknowns by naive relabelling, and whether each has hold.
fn components(system: &System) -> Vec<Option<usize>> {
    let mut label: Vec<Option<usize>> =
        system.diagonal.iter().enumerate().map(|(i, d)| (*d > 0.0).then_some(i)).collect();
    loop {
        let mut changed = false;
        for (i, at) in cells(system.size) {
            for axis in 0..3 {
                let Some(j) = next(system.size, system.periodic, i, at, axis) else { continue };
                if let (Some(a), Some(b)) = (label[i], label[j])
                    && a != b
                    && system.plus[axis][i] > 0.0
                {
                    (label[i], label[j]) = (Some(a.min(b)), Some(a.min(b)));
                    changed = true;
                }
            }
        }
        if !changed {
            return label;
        }
    }
}

/// The answer by Gaussian elimination, of zero mean (as b is made) in the components that are named singular.
fn naive(system: &System, b: &[f32], singular: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let label = components(system);
    let n = b.len();
    let mut b: Vec<f64> = (0..n).map(|i| if label[i].is_some() { f64::from(b[i]) } else { 0.0 }).collect();
    let mut a = vec![vec![0.0; n]; n];
    for (j, row) in a.iter_mut().enumerate() {
        // The matrix is symmetric: its columns are its rows.
        *row = product(system, &(0..n).map(|i| f64::from(u8::from(i == j))).collect::<Vec<_>>());
    }
    for &s in singular {
        let cells: Vec<usize> = (0..n).filter(|i| label[*i] == Some(s)).collect();
        let mean = cells.iter().map(|i| b[*i]).sum::<f64>() / cells.len() as f64;
        let scale = a[s][s].max(1e-30);
        for &i in &cells {
            b[i] -= mean;
            // Adds a multiple of the projection on the constant: the answer's mean becomes 0.
            for &j in &cells {
                a[i][j] += scale;
            }
        }
    }
    let rhs = b.clone();
    for i in 0..n {
        if a[i][i] == 0.0 {
            a[i][i] = 1.0;
        }
        for k in i + 1..n {
            let f = a[k][i] / a[i][i];
            if f != 0.0 {
                let (top, below) = a.split_at_mut(k);
                below[0][i..].iter_mut().zip(&top[i][i..]).for_each(|(x, y)| *x -= f * y);
                b[k] -= f * b[i];
            }
        }
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - sum) / a[i][i];
    }
    (b, rhs)
}

/// The labels of components without hold, by construction: no cell has any.
fn singular(system: &System, held: &[bool]) -> Vec<usize> {
    let label = components(system);
    let mut all: Vec<usize> = label.iter().copied().flatten().collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|s| !(0..held.len()).any(|i| label[i] == Some(*s) && held[i]));
    all
}

/// A box of random liquid, coefficients and hold.
fn random_system(
    size: [usize; 3],
    periodic: [bool; 3],
    fill: f64,
    hold: f64,
    contrast: f64,
    seed: u64,
) -> (System, Vec<f32>, Vec<bool>) {
    let mut random = Random(seed);
    let n: usize = size.iter().product();
    let wet: Vec<bool> = (0..n).map(|_| random.next() < fill).collect();
    let held: Vec<bool> = (0..n).map(|_| random.next() < hold).collect();
    let index = |at: [usize; 3]| (at[2] * size[1] + at[1]) * size[0] + at[0];
    let mut faces = Random(seed ^ 1);
    let mut surface = Random(seed ^ 2);
    let system = assemble(
        size,
        periodic,
        |at| wet[index(at)],
        |_, _| match faces.next() {
            blocked if blocked < 0.1 => 0.0,
            _ => contrast.powf(-faces.next()) as f32,
        },
        |at| if held[index(at)] { (0.1 + surface.next()) as f32 } else { 0.0 },
    );
    let b = (0..n).map(|_| random.next() as f32 - 0.5).collect();
    (system, b, held)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_liquids_are_solved_as_by_elimination(
        size in prop::array::uniform3(1usize..8),
        periodic in prop::array::uniform3(any::<bool>()),
        fill in 0.2f64..1.2,
        hold in prop_oneof![Just(0.0), 0.0f64..0.5],
        contrast in prop_oneof![Just(1.0), 1.0f64..1000.0],
        seed in any::<u64>(),
    ) {
        let (system, b, held) = random_system(size, periodic, fill, hold, contrast, seed);
        let singular = singular(&system, &held);
        let (expected, rhs) = naive(&system, &b, &singular);
        let (p, report) = solve(&system, &b, 1e-6);
        prop_assert!(report.residual <= 1e-6, "{:?}", report);
        let wide: Vec<f64> = p.iter().map(|p| f64::from(*p)).collect();
        let error: Vec<f64> = wide.iter().zip(&expected).map(|(p, e)| p - e).collect();
        // The answer may be off by A⁻¹ of the residual: A · error is measured against b, and the error itself loosely.
        let off = norm(&product(&system, &error));
        let rounding = norm(&expected) * 12.0 * f64::from(f32::EPSILON);
        prop_assert!(off <= 1.1e-6 * norm(&rhs) + rounding, "{} of {}", off, norm(&rhs));
        prop_assert!(norm(&error) <= 1e-3 * norm(&expected) + 1e-12, "{} of {}", norm(&error), norm(&expected));
        for (p, d) in p.iter().zip(&system.diagonal) {
            prop_assert!(*d > 0.0 || *p == 0.0);
        }
    }
}

#[test]
fn iterations_stay_flat_as_the_grid_grows() {
    for fill in [0.5, 1.0] {
        let counts = [16, 32, 64].map(|n| {
            let (system, b) = tank([n; 3], fill);
            solve(&system, &b, 1e-5).1.iterations
        });
        println!("{fill}: {counts:?}");
        assert!(counts[2] * 2 <= counts[0] * 3, "{counts:?}");
    }
}

#[test]
fn a_warm_start_saves_iterations_and_a_bad_one_costs_none() {
    let (system, mut b) = tank([40, 24, 24], 0.7);
    let (mut p, cold) = solve(&system, &b, 1e-4);
    b.iter_mut().enumerate().for_each(|(i, b)| *b *= 1.0 + 0.01 * (i as f32).sin());
    let mut solver = Poisson::new(system.size, system.periodic);
    let warm = solver.solve(&system, &b, &mut p, 1e-4, 200);
    assert!(warm.iterations < cold.iterations && warm.residual <= 1e-4, "{cold:?}, {warm:?}");
    let again = solver.solve(&system, &b, &mut p, 1.1e-4, 200);
    assert_eq!(again.iterations, 0);
    p.fill(f32::NAN);
    p[1] = 1e30;
    let (expected, from_zero) = solve(&system, &b, 1e-4);
    let bad = solver.solve(&system, &b, &mut p, 1e-4, 200);
    assert_eq!((bad, p), (from_zero, expected));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    // Large enough for the parallel loops, with a seam of odd size.
    let size = [80, 41, 40];
    let (system, b, _) = random_system(size, [true, true, false], 0.9, 0.1, 10.0, 5);
    let bits = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (p, report) = pool.install(|| solve(&system, &b, 1e-5));
        assert!(report.residual <= 1e-5 && report.iterations > 3, "{report:?}");
        p.iter().map(|p| p.to_bits()).collect::<Vec<_>>()
    };
    let one = bits(1);
    assert!(one == bits(2) && one == bits(3));
}

#[test]
fn an_answer_does_not_depend_on_what_was_solved_before() {
    let size = [40, 18, 9];
    let periodic = [false, false, true];
    let mut solver = Poisson::new(size, periodic);
    for (seed, fill) in [(1, 1.1), (2, 0.3), (3, 0.8), (4, 0.1), (5, 1.0)] {
        let (system, mut b, _) = random_system(size, periodic, fill, 0.02, 500.0, seed);
        let (expected, report) = solve(&system, &b, 1e-5);
        let mut p = vec![0.0; b.len()];
        assert_eq!(solver.solve(&system, &b, &mut p, 1e-5, 200), report);
        assert!(p.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
        // Nor on what could not be solved.
        b.iter_mut().for_each(|b| *b = f32::NAN);
        let report = solver.solve(&system, &b, &mut p, 1e-5, 200);
        assert!(report.residual.is_infinite() && p.iter().all(|p| p.is_finite()));
    }
}

#[test]
fn a_closed_vessel_gets_the_pressure_of_zero_mean() {
    // Two vessels with a wall between them, closed all around, and a pool that is not.
    let size = [48, 20, 20];
    let vessel = |at: [usize; 3]| at[0] / 16;
    let wet = |at: [usize; 3]| at[0] % 16 != 15;
    let system =
        assemble(size, [false; 3], wet, |_, _| 1.0, |at| f32::from(u8::from(vessel(at) == 2 && at[1] == 19)));
    let b: Vec<f32> = cells(size).map(|(i, _)| (i as f32 * 0.37).sin() + 0.2).collect();
    let (p, report) = solve(&system, &b, 1e-6);
    assert!(report.residual <= 1e-6 && report.iterations < 20, "{report:?}");
    let mean = |v: &dyn Fn(usize) -> f64, which: usize| {
        let (mut sum, mut count) = (0.0, 0.0);
        for (i, at) in cells(size).filter(|(_, at)| wet(*at) && vessel(*at) == which) {
            let _ = at;
            sum += v(i);
            count += 1.0;
        }
        sum / count
    };
    let wide: Vec<f64> = p.iter().map(|p| f64::from(*p)).collect();
    let ap = product(&system, &wide);
    let means = [0, 1].map(|which| mean(&|i| f64::from(b[i]), which));
    for which in [0, 1] {
        assert!(mean(&|i| wide[i], which).abs() < 1e-6 * norm(&wide) / (wide.len() as f64).sqrt());
    }
    assert!(mean(&|i| wide[i], 2).abs() > 1.0);
    for (i, at) in cells(size).filter(|(_, at)| wet(*at)) {
        let expected = f64::from(b[i]) - if vessel(at) < 2 { means[vessel(at)] } else { 0.0 };
        assert!((ap[i] - expected).abs() < 1e-3, "{at:?}: {} is not {expected}", ap[i]);
    }
}

#[test]
fn ghost_fluid_cut_cells_and_light_fluids_take_no_more_than_twice_the_iterations() {
    let size = [48, 48, 48];
    let (plain, b) = tank(size, 0.6);
    let wet = |at: [usize; 3]| plain.diagonal[(at[2] * 48 + at[1]) * 48 + at[0]] > 0.0;
    let mut random = Random(3);
    let mut surface = Random(4);
    let hard = assemble(
        size,
        [false; 3],
        wet,
        |at, _| {
            // A cut ball with tiny fractions on its skin, and a fluid a thousand times lighter in one half.
            let away = at.map(|v| v as f64 - 18.0).iter().map(|v| v * v).sum::<f64>().sqrt() - 9.0;
            let open = if away < 1.0 { (away * random.next()).max(1e-6) } else { 1.0 };
            (if away < 0.0 { 0.0 } else { open } * if at[0] > 30 { 1000.0 } else { 1.0 }) as f32
        },
        |at| {
            if wet(at) && !wet([at[0], at[1] + 1, at[2]]) {
                (1.0 / (0.01 + surface.next())) as f32
            } else {
                0.0
            }
        },
    );
    let (_, easy) = solve(&plain, &b, 1e-5);
    let (_, hard) = solve(&hard, &b, 1e-5);
    assert!(hard.residual <= 1e-5 && hard.iterations <= 2 * easy.iterations, "{easy:?}, {hard:?}");
}

#[test]
fn empty_boxes_single_cells_and_senseless_matrices_are_survived() {
    for size in [[0, 0, 0], [5, 0, 3], [1, 1, 1], [4, 3, 2]] {
        let n: usize = size.iter().product();
        let mut system = System { size, periodic: [true, false, true], ..System::default() };
        system.plus = std::array::from_fn(|_| vec![0.0; n]);
        system.diagonal = vec![0.0; n];
        let b = vec![1.0; n];
        let (p, report) = solve(&system, &b, 1e-4);
        assert_eq!((report, p), (Report::default(), vec![0.0; n]));
        if n > 0 {
            system.diagonal[0] = 4.0;
            let (p, _) = solve(&system, &b, 1e-6);
            assert_eq!(p[0], 0.25);
        }
        for bad in [f32::NAN, f32::INFINITY, -1.0, 1e38, 1e-44] {
            system.plus.iter_mut().for_each(|plus| plus.fill(bad));
            for diagonal in [1.0, bad] {
                system.diagonal.fill(diagonal);
                let (p, _) = solve(&system, &b, 1e-4);
                assert!(p.iter().all(|p| p.is_finite()), "{bad} {diagonal}: {p:?}");
            }
        }
    }
}

/// A tank and terms as of two bodies in it, one of them light.
fn tank_with_bodies(size: [usize; 3]) -> (System, Vec<f32>, Vec<Rank>) {
    let (system, b) = tank(size, 0.6);
    let [nx, ny, _] = size;
    let body = |first: [usize; 3], axis: usize, weight: f32| {
        let cell = |at: [usize; 3]| (at[0] + nx * (at[1] + ny * at[2])) as u32;
        let mut d = Vec::new();
        for k in 0..64 {
            let at = [first[0] + k % 4, first[1] + k / 4 % 4, first[2] + k / 16];
            let mut next = at;
            next[axis] += 1;
            d.extend([(cell(at), 0.7), (cell(next), -0.7)]);
        }
        Rank { d, weight }
    };
    let ranks = (0..3).flat_map(|a| [body([2, 3, 2], a, 0.05), body([9, 2, 7], a, 2.0)]).collect();
    (system, b, ranks)
}

#[test]
fn terms_of_bodies_are_solved_for_with_the_system() {
    for size in [[20, 20, 20], [64, 48, 40]] {
        let (system, b, ranks) = tank_with_bodies(size);
        let mut solver = Poisson::new(size, system.periodic);
        solver.take(&system);
        let mut p = vec![0.0; b.len()];
        let goal = Goal { tolerance: 1e-4, peak: f64::INFINITY, most: 60 };
        let report = solver.answer(&ranks, &b, &mut p, goal);
        let wide: Vec<f64> = p.iter().map(|p| f64::from(*p)).collect();
        let mut left = product(&system, &wide);
        for rank in &ranks {
            let sum: f64 = rank.d.iter().map(|(c, d)| f64::from(*d) * wide[*c as usize]).sum();
            for (c, d) in rank.d.iter().filter(|(c, _)| system.diagonal[*c as usize] > 0.0) {
                left[*c as usize] += f64::from(rank.weight) * sum * f64::from(*d);
            }
        }
        let left: Vec<f64> = (0..b.len())
            .map(|i| if system.diagonal[i] > 0.0 { f64::from(b[i]) - left[i] } else { 0.0 })
            .collect();
        let wide_b: Vec<f64> = b.iter().map(|b| f64::from(*b)).collect();
        let residual = norm(&left) / norm(&wide_b);
        println!("{size:?}: {report:?}, true {residual:e}");
        assert!(report.residual <= 1e-4 && report.iterations <= 20, "{report:?}");
        assert!(residual <= 2e-4, "{residual} is not {report:?}");
        // From the answer nothing is left to do but what rounding asks for.
        let again = solver.answer(&ranks, &b, &mut p, Goal { tolerance: 2e-4, ..goal });
        assert!(again.iterations <= 1, "{again:?}");
    }
}

#[test]
fn no_cell_is_farther_off_than_the_peak_and_threads_make_no_difference() {
    let size = [64, 48, 40];
    let (system, b, ranks) = tank_with_bodies(size);
    let answer = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut solver = Poisson::new(size, system.periodic);
            solver.take(&system);
            let mut p = vec![0.0; b.len()];
            let loose = Goal { tolerance: 0.5, peak: f64::INFINITY, most: 60 };
            let rough = solver.answer(&[], &b, &mut p, loose);
            let report = solver.answer(&[], &b, &mut p, Goal { peak: 1e-3, ..loose });
            assert!(rough.iterations > 0 && report.iterations > 0, "{rough:?} {report:?}");
            let mut coupled = p.clone();
            solver.answer(&ranks, &b, &mut coupled, loose);
            (p, coupled)
        })
    };
    let (p, coupled) = answer(1);
    let wide: Vec<f64> = p.iter().map(|p| f64::from(*p)).collect();
    let ap = product(&system, &wide);
    let worst = (0..b.len())
        .filter(|i| system.diagonal[*i] > 0.0)
        .map(|i| (f64::from(b[i]) - ap[i]).abs())
        .fold(0.0, f64::max);
    assert!(worst <= 1.1e-3, "{worst}");
    for threads in 2..=3 {
        assert!(answer(threads) == (p.clone(), coupled.clone()), "{threads} threads");
    }
}

#[test]
fn two_right_sides_at_the_same_time_have_the_answers_of_one_after_the_other() {
    for size in [[20, 12, 9], [64, 48, 40]] {
        let (system, b, _) = tank_with_bodies(size);
        let other: Vec<f32> = b.iter().enumerate().map(|(i, b)| b * (0.1 * i as f32).sin()).collect();
        let goal = Goal { tolerance: 1e-3, peak: f64::INFINITY, most: 60 };
        let mut solver = Poisson::new(size, system.periodic);
        solver.take(&system);
        let zeros = vec![0.0; b.len()];
        let (mut p, mut q) = (zeros.clone(), zeros.clone());
        let reports = [solver.answer(&[], &b, &mut p, goal), solver.answer(&[], &other, &mut q, goal)];
        assert!(reports.iter().all(|r| r.iterations > 1));
        // Twice, since the second finds memory that was used.
        for _ in 0..2 {
            let (mut first, mut second) = (zeros.clone(), zeros.clone());
            let [one, two] = solver.both();
            let both =
                rayon::join(|| one.answer(&b, &mut first, goal), || two.answer(&other, &mut second, goal));
            solver.mend();
            assert_eq!([both.0, both.1], reports);
            assert!(first == p && second == q);
            solver.take(&tank(size, 0.3).0);
            solver.take(&system);
        }
    }
}
