//! Times the pressure solver of the MAC model alone: `cargo bench -p undine --bench pressure -- [TOLERANCE] [LARGEST]`.
//!
//! Boxes of 32³, 64³ and 128³ cells (up to LARGEST³), all full with a free surface on top, half full, and a dam break
//! with cut cells: a column running out around a ball, with faces closed by the ball in part. Beside it, up to 64³, the
//! conjugate gradient with a modified incomplete Cholesky factor (MIC(0), Bridson's "Fluid Simulation for Computer
//! Graphics"), which most liquid solvers have: its iterations grow with the grid, and its sweeps are serial.

use std::time::Instant;

use undine::models::mac::poisson::{Poisson, System};

/// A box, which cells hold liquid, and how open the faces are to +x, +y, +z.
fn assemble(
    size: [usize; 3],
    liquid: impl Fn([f64; 3]) -> f64,
    open: impl Fn([f64; 3]) -> f64,
) -> (System, Vec<f32>) {
    let [nx, ny, nz] = size;
    let n = nx * ny * nz;
    let mut system = System {
        size,
        periodic: [false; 3],
        plus: std::array::from_fn(|_| vec![0.0; n]),
        diagonal: vec![0.0; n],
    };
    let scale = 1.0 / ny as f64;
    let centre = |x: usize, y: usize, z: usize| [x, y, z].map(|v| (v as f64 + 0.5) * scale);
    let index = |x: usize, y: usize, z: usize| (z * ny + y) * nx + x;
    let mut diagonal = vec![0.0f64; n];
    let mut b = vec![0.0; n];
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                let (i, here) = (index(x, y, z), centre(x, y, z));
                let phi = liquid(here);
                for (axis, there) in [[x + 1, y, z], [x, y + 1, z], [x, y, z + 1]].into_iter().enumerate() {
                    let mut face = here;
                    face[axis] += 0.5 * scale;
                    let fraction = open(face);
                    if axis == 1 && fraction > 0.0 {
                        // A velocity downward in every face of the liquid.
                        if phi < 0.0 {
                            b[i] -= fraction as f32;
                        }
                        if y + 1 < ny {
                            b[index(x, y + 1, z)] += fraction as f32;
                        }
                    }
                    if there[axis] >= size[axis] {
                        // Air above the box, walls elsewhere.
                        if axis == 1 && phi < 0.0 {
                            diagonal[i] += 2.0 * fraction;
                        }
                        continue;
                    }
                    let j = index(there[0], there[1], there[2]);
                    let other = liquid(centre(there[0], there[1], there[2]));
                    if phi < 0.0 && other < 0.0 {
                        system.plus[axis][i] = fraction as f32;
                        diagonal[i] += fraction;
                        diagonal[j] += fraction;
                    } else if phi < 0.0 || other < 0.0 {
                        // Ghost fluid: the free surface is a part of a cell away.
                        let (wet, dry) = (phi.min(other), phi.max(other));
                        let theta = (wet / (wet - dry)).max(0.01);
                        diagonal[if phi < 0.0 { i } else { j }] += fraction / theta;
                    }
                }
                if phi < 0.0 {
                    system.diagonal[i] = 1.0;
                }
            }
        }
    }
    for i in 0..n {
        let unknown = system.diagonal[i] > 0.0 && diagonal[i] > 0.0;
        system.diagonal[i] = if unknown { diagonal[i] as f32 } else { 0.0 };
        if !unknown {
            b[i] = 0.0;
        }
    }
    (system, b)
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let tolerance: f64 = args.first().map_or(1e-4, |a| a.parse().expect("a tolerance"));
    let largest: usize = args.get(1).map_or(128, |a| a.parse().expect("a size"));
    println!("tolerance {tolerance:e}, {} threads", rayon::current_num_threads());
    for n in [32, 64, 128].into_iter().filter(|n| *n <= largest) {
        case("full", [n; 3], |_| -1.0, |_| 1.0, tolerance);
        case("half full", [n; 3], |p| p[1] - 0.5, |_| 1.0, tolerance);
    }
    for n in [32, 64].into_iter().filter(|n| 2 * *n <= largest) {
        let liquid = |p: [f64; 3]| {
            let tongue = 0.6 - 0.5 * (p[0] / 1.2).min(1.0) + 0.02 * (17.0 * p[0] + 9.0 * p[2]).sin();
            (p[1] - tongue).max(p[0] - 1.5)
        };
        let open = |p: [f64; 3]| {
            let outside = length([p[0] - 0.6, p[1] - 0.2, p[2] - 0.5]) - 0.2;
            (0.5 + outside * n as f64).clamp(0.0, 1.0)
        };
        case("dam break", [2 * n, n, n], liquid, open, tolerance);
    }
}

fn case(
    name: &str,
    size: [usize; 3],
    liquid: impl Fn([f64; 3]) -> f64,
    open: impl Fn([f64; 3]) -> f64,
    tolerance: f64,
) {
    let (system, b) = assemble(size, liquid, open);
    let mut solver = Poisson::new(size, system.periodic);
    let unknowns = system.diagonal.iter().filter(|d| **d > 0.0).count();
    let (mut best, mut report) = (f64::INFINITY, Default::default());
    let mut p = vec![0.0; b.len()];
    let (begin, mut rounds) = (Instant::now(), 0);
    // The first round, with memory that was never touched, does not count.
    while rounds < 4 || begin.elapsed().as_secs_f64() < 0.5 {
        p.fill(0.0);
        let start = Instant::now();
        report = solver.solve(&system, &b, &mut p, tolerance, 200);
        if rounds > 0 {
            best = best.min(start.elapsed().as_secs_f64());
        }
        rounds += 1;
    }
    if size.iter().product::<usize>() <= 64 * 64 * 64 {
        let start = Instant::now();
        let iterations = mic(&system, &b, tolerance);
        let spent = start.elapsed().as_secs_f64();
        println!("MIC(0)     {size:?}: {:.3} ms, {iterations} iterations", spent * 1e3);
    }
    println!(
        "{name:10} {size:?}: {unknowns} unknowns, {:.3} ms, {:.1} ns per unknown, {} iterations, residual {:.1e}",
        best * 1e3,
        best * 1e9 / unknowns as f64,
        report.iterations,
        report.residual
    );
}

/// Iterations that the conjugate gradient takes with MIC(0); no axis is periodic.
fn mic(system: &System, b: &[f32], tolerance: f64) -> usize {
    const TAU: f32 = 0.97;
    const SIGMA: f32 = 0.25;
    let [nx, ny, _] = system.size;
    let strides = [1, nx, nx * ny];
    let cells: Vec<usize> = (0..b.len()).filter(|i| system.diagonal[*i] > 0.0).collect();
    // Couplings to the cell before along each axis; those to + are 0 at the last cell and beside cells without liquid.
    let before =
        |i: usize, axis: usize| if i >= strides[axis] { system.plus[axis][i - strides[axis]] } else { 0.0 };
    let mut inverse = vec![0.0f32; b.len()];
    for &i in &cells {
        let mut e = system.diagonal[i];
        for (axis, stride) in strides.into_iter().enumerate() {
            let c = before(i, axis);
            if c > 0.0 {
                let j = i - stride;
                let others: f32 = (0..3).filter(|a| *a != axis).map(|a| system.plus[a][j]).sum();
                e -= c * (c + TAU * others) * inverse[j] * inverse[j];
            }
        }
        inverse[i] = if e < SIGMA * system.diagonal[i] { system.diagonal[i] } else { e }.sqrt().recip();
    }
    let dot = |u: &[f32], v: &[f32]| cells.iter().map(|i| f64::from(u[*i]) * f64::from(v[*i])).sum::<f64>();
    let (mut x, mut r, mut p) = (vec![0.0f32; b.len()], b.to_vec(), vec![0.0f32; b.len()]);
    let (mut z, mut q) = (vec![0.0f32; b.len()], vec![0.0f32; b.len()]);
    let (goal, mut last) = (tolerance * dot(b, b).sqrt(), f64::INFINITY);
    for iteration in 0..5000 {
        if dot(&r, &r).sqrt() <= goal {
            return iteration;
        }
        for &i in &cells {
            let mut t = r[i];
            for axis in 0..3 {
                let c = before(i, axis);
                if c > 0.0 {
                    t += c * inverse[i - strides[axis]] * q[i - strides[axis]];
                }
            }
            q[i] = t * inverse[i];
        }
        for &i in cells.iter().rev() {
            let mut t = q[i];
            for axis in 0..3 {
                let c = system.plus[axis][i];
                if c > 0.0 {
                    t += c * inverse[i] * z[i + strides[axis]];
                }
            }
            z[i] = t * inverse[i];
        }
        let rz = dot(&r, &z);
        let beta = (rz / last) as f32;
        last = rz;
        cells.iter().for_each(|i| p[*i] = z[*i] + beta * p[*i]);
        for &i in &cells {
            let mut t = system.diagonal[i] * p[i];
            for axis in 0..3 {
                let (minus, plus) = (before(i, axis), system.plus[axis][i]);
                if minus > 0.0 {
                    t -= minus * p[i - strides[axis]];
                }
                if plus > 0.0 {
                    t -= plus * p[i + strides[axis]];
                }
            }
            q[i] = t;
        }
        let alpha = (rz / dot(&p, &q)) as f32;
        for &i in &cells {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
    }
    5000
}
