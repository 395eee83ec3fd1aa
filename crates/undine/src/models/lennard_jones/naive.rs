//! The plain equations over all pairs, in double precision: the oracle of the fast path.

use glam::DVec3;

use super::force::FRICTION_REACH;
use super::pair::Pair;
use crate::neighbors::Period;

/// What a pair is made of.
#[derive(Clone, Copy, Debug)]
pub struct Law<'a> {
    /// Eq. 2 and 3.
    pub pair: &'a Pair,
    /// Friction between particles, kg/s.
    pub damping: f64,
    /// Distance below which the force grows no more, × σ.
    pub core: f64,
    /// Where space repeats.
    pub period: Option<&'a Period>,
}

impl Law<'_> {
    /// From b to the nearest image of a, m.
    pub fn between(&self, a: DVec3, b: DVec3) -> DVec3 {
        let mut d = a - b;
        if let Some(p) = self.period {
            for axis in (0..3).filter(|axis| p.axes[*axis]) {
                let length = p.max[axis] - p.min[axis];
                d[axis] -= (d[axis] / length).round() * length;
            }
        }
        d
    }

    /// Force of the particle at b on the one at a, N; `velocity` is that of a seen from b, m/s.
    pub fn force(&self, a: DVec3, b: DVec3, velocity: DVec3) -> DVec3 {
        let d = self.between(a, b);
        let r = d.length();
        if r >= self.pair.cutoff || r == 0.0 {
            return DVec3::ZERO;
        }
        let held = r.max(self.core * self.pair.sigma);
        let reach = (FRICTION_REACH * self.pair.sigma).min(self.pair.cutoff);
        let w = (1.0 - (held / reach).powi(2)).max(0.0).powi(2);
        d * (self.pair.force(held) / held - self.damping * w * velocity.dot(d) / (held * held))
    }

    /// Forces on all particles, N.
    pub fn forces(&self, place: &[DVec3], velocity: &[DVec3]) -> Vec<DVec3> {
        let on = |i: usize| {
            let others = (0..place.len()).filter(|j| *j != i);
            others.map(|j| self.force(place[i], place[j], velocity[i] - velocity[j])).sum()
        };
        (0..place.len()).map(on).collect()
    }

    /// Energy of all pairs and Σ f·r, J.
    pub fn measure(&self, place: &[DVec3]) -> (f64, f64) {
        let (mut energy, mut virial) = (0.0, 0.0);
        for (i, a) in place.iter().enumerate() {
            for b in &place[..i] {
                let r = self.between(*a, *b).length();
                energy += self.pair.potential(r);
                virial += self.pair.force(r) * r;
            }
        }
        (energy, virial)
    }
}
