//! Particles spread by the same profile along each axis: counts in boxes and their smoothing.

use super::{Sample, VALUES};
use crate::surface::gather::Near;

/// A symmetric, piecewise linear profile b(u) of the distance along one axis, u in cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Values at u = 0, 1/`per_cell`, 2/`per_cell`, …; zero beyond.
    knots: Vec<f32>,
    per_cell: f32,
}

impl Profile {
    /// From values at equal distances.
    pub fn new(mut knots: Vec<f32>, per_cell: f32) -> Self {
        // Two, so that there is a line to follow beyond the end too.
        knots.extend([0.0, 0.0]);
        Profile { knots, per_cell }
    }

    /// Where it has come down to zero, cells.
    pub fn reach(&self) -> f32 {
        (self.knots.len() - 2) as f32 / self.per_cell
    }

    /// b(u)
    #[inline(always)]
    pub fn value(&self, u: f32) -> f32 {
        let last = self.knots.len() - 2;
        // Beyond the end the line is 0 throughout.
        let s = (u.abs() * self.per_cell).min(last as f32 + 1.0);
        let i = (s as usize).min(last);
        let (a, b) = (self.knots[i], self.knots[i + 1]);
        a + (b - a) * (s - i as f32)
    }

    /// The mean slope over a cell before and after.
    #[inline(always)]
    pub fn slope(&self, u: f32) -> f32 {
        0.5 * (self.value(u + 1.0) - self.value(u - 1.0))
    }
}

pub fn fill(profile: &Profile, near: &Near, out: &mut [f32; VALUES]) {
    let mut b = [[0.0f32; 8]; 3];
    for j in 0..near.len() {
        for (b, x) in b.iter_mut().zip(&near.x) {
            for (i, b) in b.iter_mut().enumerate() {
                *b = profile.value(i as f32 - x[j]);
            }
        }
        for (layer, bz) in out.as_chunks_mut::<64>().0.iter_mut().zip(b[2]) {
            let wz = near.column[0][j] * bz;
            if wz == 0.0 {
                continue;
            }
            for (row, by) in layer.as_chunks_mut::<8>().0.iter_mut().zip(b[1]) {
                for (v, bx) in row.iter_mut().zip(b[0]) {
                    *v += wz * by * bx;
                }
            }
        }
    }
}

pub fn at(profile: &Profile, near: &Near, velocity: &[Vec<f32>; 3], p: [f32; 3]) -> Sample {
    let mut s = Sample::default();
    let moves = velocity[0].len() == near.x[0].len();
    let reach = profile.reach() + 1.0;
    for (j, w) in near.column[0][..near.len()].iter().enumerate() {
        let d = [p[0] - near.x[0][j], p[1] - near.x[1][j], p[2] - near.x[2][j]];
        if d[0].abs().max(d[1].abs()).max(d[2].abs()) >= reach {
            continue;
        }
        let b = [profile.value(d[0]), profile.value(d[1]), profile.value(d[2])];
        let g = [profile.slope(d[0]), profile.slope(d[1]), profile.slope(d[2])];
        let part = w * b[0] * b[1] * b[2];
        s.value += part;
        s.gradient[0] += w * g[0] * b[1] * b[2];
        s.gradient[1] += w * b[0] * g[1] * b[2];
        s.gradient[2] += w * b[0] * b[1] * g[2];
        if moves {
            for (sum, v) in s.velocity.iter_mut().zip(velocity) {
                *sum += part * v[j];
            }
        }
    }
    s
}
