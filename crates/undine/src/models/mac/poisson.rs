//! placeholder until merge
use rayon::prelude::*;
#[derive(Clone, Debug)]
pub struct System {
    pub size: [usize; 3],
    pub periodic: [bool; 3],
    pub plus: [Vec<f32>; 3],
    pub diagonal: Vec<f32>,
}
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub iterations: usize,
    pub residual: f64,
}
pub struct Poisson {
    size: [usize; 3],
    periodic: [bool; 3],
}
impl Poisson {
    pub fn new(size: [usize; 3], periodic: [bool; 3]) -> Self {
        Poisson { size, periodic }
    }
    fn apply(&self, s: &System, x: &[f32], y: &mut [f32]) {
        let [nx, ny, nz] = self.size;
        let per = self.periodic;
        y.par_chunks_mut(nx * ny).enumerate().for_each(|(z, y)| {
            for c in 0..nx * ny {
                let i = z * nx * ny + c;
                let d = s.diagonal[i];
                if d == 0.0 {
                    y[c] = 0.0;
                    continue;
                }
                let (cx, cy) = (c % nx, c / nx);
                let mut v = d * x[i];
                let pos = [cx, cy, z];
                let st = [1, nx, nx * ny];
                for a in 0..3 {
                    let n = [nx, ny, nz][a];
                    if pos[a] + 1 < n {
                        v -= s.plus[a][i] * x[i + st[a]];
                    } else if per[a] {
                        v -= s.plus[a][i] * x[i - (n - 1) * st[a]];
                    }
                    if pos[a] > 0 {
                        v -= s.plus[a][i - st[a]] * x[i - st[a]];
                    } else if per[a] {
                        let j = i + (n - 1) * st[a];
                        v -= s.plus[a][j] * x[j];
                    }
                }
                y[c] = v;
            }
        });
    }
    pub fn solve(&mut self, s: &System, b: &[f32], p: &mut [f32], tolerance: f64, most: usize) -> Report {
        let n = b.len();
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.chunks(4096)
                .zip(b.chunks(4096))
                .map(|(a, b)| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>())
                .sum()
        };
        let mask = |v: &mut [f32]| {
            v.iter_mut().zip(&s.diagonal).for_each(|(v, d)| {
                if *d == 0.0 {
                    *v = 0.0
                }
            })
        };
        let mut r = vec![0.0f32; n];
        self.apply(s, p, &mut r);
        for i in 0..n {
            r[i] = b[i] - r[i];
        }
        mask(&mut r);
        let mut bb = b.to_vec();
        mask(&mut bb);
        let big = |v: &[f32]| v.iter().fold(0f32, |m, x| m.max(x.abs())) as f64;
        let goal = tolerance * big(&bb);
        let z = |r: &[f32]| -> Vec<f32> {
            r.iter().zip(&s.diagonal).map(|(r, d)| if *d > 0.0 { r / d } else { 0.0 }).collect()
        };
        let mut zz = z(&r);
        let mut d = zz.clone();
        let mut rz = dot(&r, &zz);
        let mut ad = vec![0.0f32; n];
        let mut it = 0;
        while big(&r) > goal && it < most.max(2000) && rz > 0.0 {
            self.apply(s, &d, &mut ad);
            let al = (rz / dot(&d, &ad)) as f32;
            if !al.is_finite() {
                break;
            }
            for i in 0..n {
                p[i] += al * d[i];
                r[i] -= al * ad[i];
            }
            zz = z(&r);
            let new = dot(&r, &zz);
            let be = (new / rz) as f32;
            rz = new;
            for i in 0..n {
                d[i] = zz[i] + be * d[i];
            }
            it += 1;
        }
        Report { iterations: it, residual: if goal > 0.0 { big(&r) / goal * tolerance } else { 0.0 } }
    }
}
