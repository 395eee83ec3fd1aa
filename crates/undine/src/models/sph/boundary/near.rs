//! A coarse map of where boundary particles are, which spares most of the fluid the search for them.

use glam::DVec3;

use crate::neighbors::Period;

/// Cells the map may have, 16 MiB of bits.
const MOST: f64 = (1u64 << 27) as f64;

/// Cells per h, and so how far around a particle cells are marked. With two of them fluid is spared the search from 1.25 h on,
/// with one from 1.5 h on.
const CELLS: i64 = 2;

/// A bit for each cell of a box: whether boundary particles may be nearer than h to a place in it.
#[derive(Clone, Debug, Default)]
pub struct Near {
    min: DVec3,
    /// Cells per metre, by axis.
    scale: DVec3,
    size: [i64; 3],
    period: Option<Period>,
    bits: Vec<u64>,
    /// Cells that hold particles.
    held: Vec<u32>,
}

impl Near {
    /// Lays the map over `position` (three parallel arrays, m; inside the period) for a support h.
    pub fn lay(&mut self, position: [&[f64]; 3], h: f64, period: Option<&Period>) {
        let n = position[0].len();
        let repeats = |a: usize| period.is_some_and(|p| p.axes[a]);
        let (mut min, mut max) = (DVec3::ZERO, DVec3::ZERO);
        for a in 0..3 {
            let (low, high) = match period.filter(|p| p.axes[a]) {
                Some(p) => (p.min[a], p.max[a]),
                None => position[a]
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, u), x| (l.min(*x), u.max(*x))),
            };
            (min[a], max[a]) = (low, high);
        }
        self.bits.clear();
        self.size = [0; 3];
        self.period = period.copied();
        if n == 0 {
            return;
        }
        let mut edge = h / CELLS as f64;
        let around = 2 * CELLS + 1;
        let cells =
            |edge: f64| (0..3).map(|a| ((max[a] - min[a]) / edge).ceil() + around as f64).product::<f64>();
        while cells(edge) > MOST {
            edge *= 2.0;
        }
        for a in 0..3 {
            if repeats(a) {
                // Whole cells, none narrower than they should be.
                self.size[a] = (((max[a] - min[a]) / edge).floor() as i64).max(1);
                self.scale[a] = self.size[a] as f64 / (max[a] - min[a]);
                self.min[a] = min[a];
            } else {
                self.size[a] = ((max[a] - min[a]) / edge).floor() as i64 + around;
                self.scale[a] = 1.0 / edge;
                self.min[a] = min[a] - edge * CELLS as f64;
            }
        }
        self.bits.resize((self.size.iter().product::<i64>() as usize).div_ceil(64), 0);
        // The cells that hold any, each once; sorted particles come cell by cell, mostly.
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        for ((x, y), z) in position[0].iter().zip(position[1]).zip(position[2]) {
            let at = self.index(self.cell(DVec3::new(*x, *y, *z)));
            if let Some(at) = at.filter(|at| self.bits[at / 64] >> (at % 64) & 1 == 0) {
                self.bits[at / 64] |= 1 << (at % 64);
                held.push(at as u32);
            }
        }
        let [width, height, _] = self.size;
        for at in held.iter().map(|at| i64::from(*at)) {
            let c = [at % width, at / width % height, at / width / height];
            for k in 0..around.pow(3) {
                let step = [k % around, k / around % around, k / around / around];
                let there = std::array::from_fn(|a| c[a] + step[a] - CELLS);
                if let Some(at) = self.index(there) {
                    self.bits[at / 64] |= 1 << (at % 64);
                }
            }
        }
        self.held = held;
    }

    fn cell(&self, p: DVec3) -> [i64; 3] {
        let q = (p - self.min) * self.scale;
        // `floor` without its call into libm.
        q.to_array().map(|v| v as i64 - i64::from((v as i64) as f64 > v))
    }

    fn index(&self, mut c: [i64; 3]) -> Option<usize> {
        for (a, c) in c.iter_mut().enumerate() {
            if self.period.is_some_and(|p| p.axes[a]) {
                *c = c.rem_euclid(self.size[a]);
            } else if *c < 0 || *c >= self.size[a] {
                return None;
            }
        }
        Some(((c[2] * self.size[1] + c[1]) * self.size[0] + c[0]) as usize)
    }

    /// Whether boundary particles may be nearer than h.
    #[inline]
    pub fn is_near(&self, p: DVec3) -> bool {
        !self.bits.is_empty()
            && self.index(self.cell(p)).is_some_and(|at| self.bits[at / 64] >> (at % 64) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_near_particle_is_missed(
            points in prop::collection::vec(prop::array::uniform3(0.0..3.0f64), 1..40),
            place in prop::array::uniform3(0.0..3.0f64),
            repeats in prop::array::uniform3(any::<bool>()),
            h in 0.05..0.9f64,
        ) {
            let period = Period { min: DVec3::ZERO, max: DVec3::splat(3.0), axes: repeats };
            let p: [Vec<f64>; 3] = std::array::from_fn(|a| points.iter().map(|p| p[a]).collect());
            let mut near = Near::default();
            near.lay([&p[0], &p[1], &p[2]], h, Some(&period));
            let is_close = points.iter().any(|q| {
                let mut d = DVec3::from(*q) - DVec3::from(place);
                for a in (0..3).filter(|a| repeats[*a]) {
                    d[a] -= (d[a] / 3.0).round() * 3.0;
                }
                d.length() < h
            });
            prop_assert!(!is_close || near.is_near(place.into()));
        }
    }

    #[test]
    fn far_places_are_not_near() {
        let mut near = Near::default();
        near.lay([&[0.0, 1.0], &[0.0, 0.0], &[0.0, 0.0]], 0.1, None);
        assert!(near.is_near(DVec3::new(0.05, 0.0, 0.0)) && !near.is_near(DVec3::new(0.5, 0.0, 0.0)));
        assert!(!near.is_near(DVec3::splat(1e9)) && !Near::default().is_near(DVec3::ZERO));
    }
}
