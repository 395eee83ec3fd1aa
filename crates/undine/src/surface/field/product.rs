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
        knots.push(0.0);
        Profile { knots, per_cell }
    }

    /// Where it has come down to zero, cells.
    pub fn reach(&self) -> f32 {
        (self.knots.len() - 1) as f32 / self.per_cell
    }

    /// b(u)
    #[inline]
    pub fn value(&self, u: f32) -> f32 {
        let s = u.abs() * self.per_cell;
        let i = s as usize;
        match (self.knots.get(i), self.knots.get(i + 1)) {
            (Some(a), Some(b)) => a + (b - a) * (s - i as f32),
            _ => 0.0,
        }
    }

    /// The mean slope over a cell before and after.
    #[inline]
    pub fn slope(&self, u: f32) -> f32 {
        0.5 * (self.value(u + 1.0) - self.value(u - 1.0))
    }
}

pub fn fill(profile: &Profile, near: &Near, out: &mut [f32; VALUES]) {
    for j in 0..near.len() {
        let b: [[f32; 8]; 3] =
            std::array::from_fn(|a| std::array::from_fn(|i| profile.value(i as f32 - near.x[a][j])));
        for (iz, layer) in out.as_chunks_mut::<64>().0.iter_mut().enumerate() {
            let wz = near.column[0][j] * b[2][iz];
            if wz == 0.0 {
                continue;
            }
            for (iy, row) in layer.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let wyz = wz * b[1][iy];
                for (v, bx) in row.iter_mut().zip(b[0]) {
                    *v += wyz * bx;
                }
            }
        }
    }
}

pub fn at(profile: &Profile, near: &Near, velocity: &[Vec<f32>; 3], p: [f32; 3]) -> Sample {
    let mut s = Sample::default();
    let moves = velocity[0].len() == near.x[0].len();
    let reach = profile.reach() + 1.0;
    for j in 0..near.len() {
        let d: [f32; 3] = std::array::from_fn(|a| p[a] - near.x[a][j]);
        if d.iter().any(|d| d.abs() >= reach) {
            continue;
        }
        let (b, g) = (d.map(|d| profile.value(d)), d.map(|d| profile.slope(d)));
        let w = near.column[0][j];
        let part = w * b[0] * b[1] * b[2];
        s.value += part;
        s.gradient[0] += w * g[0] * b[1] * b[2];
        s.gradient[1] += w * b[0] * g[1] * b[2];
        s.gradient[2] += w * b[0] * b[1] * g[2];
        if moves {
            for a in 0..3 {
                s.velocity[a] += part * velocity[a][j];
            }
        }
    }
    s
}
