//! The pair potential and force (Lee 2005, eq. 2, 3), cut off.

use crate::scene::Shifted;

/// A Lennard-Jones pair, cut off at r_c.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Distance σ of zero potential, m.
    pub sigma: f64,
    /// Depth ε of the well, J.
    pub epsilon: f64,
    /// Cut-off r_c, m.
    pub cutoff: f64,
    /// Force at the cut-off that is subtracted everywhere, N; 0 where only the potential is shifted.
    pub force_shift: f64,
    /// Potential at the cut-off, J.
    pub energy_shift: f64,
}

impl Pair {
    /// A pair with its cut-off, × σ.
    pub fn new(sigma: f64, epsilon: f64, cutoff: f64, shifted: Shifted) -> Self {
        let mut pair = Pair { sigma, epsilon, cutoff: f64::INFINITY, force_shift: 0.0, energy_shift: 0.0 };
        let rc = cutoff * sigma;
        pair.energy_shift = pair.potential(rc);
        if shifted == Shifted::Force {
            pair.force_shift = pair.force(rc);
        }
        pair.cutoff = rc;
        pair
    }

    /// Eq. 2, less what it is at the cut-off, J: u = 4ε((σ/r)¹² - (σ/r)⁶).
    pub fn potential(&self, r: f64) -> f64 {
        if r >= self.cutoff {
            return 0.0;
        }
        let s6 = (self.sigma / r).powi(6);
        let shift = if self.force_shift == 0.0 { 0.0 } else { (r - self.cutoff) * self.force_shift };
        4.0 * self.epsilon * (s6 * s6 - s6) - self.energy_shift + shift
    }

    /// Eq. 3, less what it is at the cut-off, N; positive pushes apart: f = 48ε/σ ((σ/r)¹³ - ½(σ/r)⁷).
    pub fn force(&self, r: f64) -> f64 {
        if r >= self.cutoff {
            return 0.0;
        }
        let s = self.sigma / r;
        let s6 = s.powi(6);
        48.0 * self.epsilon / self.sigma * s * s6 * (s6 - 0.5) - self.force_shift
    }

    /// u'' at a distance, N/m.
    pub fn stiffness(&self, r: f64) -> f64 {
        let s6 = (self.sigma / r).powi(6);
        4.0 * self.epsilon / (r * r) * s6 * (156.0 * s6 - 42.0)
    }

    /// Distance of no force without the cut-off, 2^(1/6) σ, m: the particle's size in Lee's terms.
    pub fn rest(&self) -> f64 {
        self.sigma / crate::scene::SIGMA
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn force_is_minus_the_slope_of_the_potential_and_stiffness_minus_that_of_the_force() {
        for shifted in Shifted::ALL {
            let p = Pair::new(0.7, 3.0, 2.5, shifted);
            for k in 0..150 {
                let (r, h) = (0.6 + 0.0076 * f64::from(k), 1e-6);
                let slope = (p.potential(r + h) - p.potential(r - h)) / (2.0 * h);
                assert!((p.force(r) + slope).abs() < 1e-4 * (1.0 + slope.abs()), "{shifted:?} at {r}");
                let bend = (p.force(r + h) - p.force(r - h)) / (2.0 * h);
                assert!((p.stiffness(r) + bend).abs() < 1e-4 * (1.0 + bend.abs()), "{shifted:?} at {r}");
            }
        }
    }

    #[test]
    fn nothing_jumps_at_the_cut_off_that_is_shifted() {
        for shifted in Shifted::ALL {
            let p = Pair::new(1.0, 1.0, 2.5, shifted);
            assert!(p.potential(2.5 - 1e-9).abs() < 1e-9);
            assert_eq!(p.force(2.5 - 1e-9).abs() < 1e-8, shifted == Shifted::Force);
            assert_eq!((p.potential(2.6), p.force(2.6)), (0.0, 0.0));
        }
    }
}
