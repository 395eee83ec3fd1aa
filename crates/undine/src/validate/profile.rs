//! Profiles: a component of the velocity across a gap, and how far it is from a known one.

use crate::frame::Frame;

/// Mean places and mean velocities along `along` of the particles in equal bins across `across`, from lowest to
/// highest. Bins without particles are left out.
pub(super) fn profile(
    frame: &Frame,
    across: usize,
    along: usize,
    [from, to]: [f64; 2],
    bins: usize,
) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0, 0usize); bins];
    let velocity = frame.particles.vector("velocity").unwrap_or(&[]);
    for (x, v) in frame.particles.position.iter().zip(velocity) {
        let at = f64::from(x[across]);
        let bin = ((at - from) / (to - from) * bins as f64).floor().clamp(0.0, bins as f64 - 1.0);
        let sum = &mut sums[bin as usize];
        *sum = (sum.0 + at, sum.1 + f64::from(v[along]), sum.2 + 1);
    }
    let filled = sums.into_iter().filter(|s| s.2 > 0);
    filled.map(|(x, v, n)| (x / n as f64, v / n as f64)).collect()
}

/// √Σ(u - u_exact)² / √Σu_exact² over the rows of a profile; not a number when there are none.
pub(super) fn relative_l2(rows: &[(f64, f64)], exact: impl Fn(f64) -> f64) -> f64 {
    let off: f64 = rows.iter().map(|(x, u)| (u - exact(*x)).powi(2)).sum();
    let all: f64 = rows.iter().map(|(x, _)| exact(*x).powi(2)).sum();
    (off / all).sqrt()
}

/// Mean velocity of all particles, m/s.
pub(super) fn mean_velocity(frame: &Frame, along: usize) -> f64 {
    let velocity = frame.particles.vector("velocity").unwrap_or(&[]);
    velocity.iter().map(|v| f64::from(v[along])).sum::<f64>() / velocity.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Field, FieldData, Particles};

    fn sheared(n: usize) -> Frame {
        let heights: Vec<f32> = (0..n).map(|k| (k as f32 + 0.5) / n as f32).collect();
        let velocity = heights.iter().map(|y| [3.0 * y, 0.0, 0.0]).collect();
        Frame {
            particles: Particles {
                position: heights.iter().map(|y| [0.0, *y, 0.0]).collect(),
                fields: vec![Field { name: "velocity", data: FieldData::Vector(velocity) }],
            },
            ..Frame::default()
        }
    }

    #[test]
    fn a_linear_profile_is_found_as_such() {
        let rows = profile(&sheared(100), 1, 0, [0.0, 1.0], 10);
        assert_eq!(rows.len(), 10);
        assert!((rows[0].0 - 0.05).abs() < 1e-6 && (rows[9].0 - 0.95).abs() < 1e-6);
        assert!(relative_l2(&rows, |y| 3.0 * y) < 1e-6);
        // A profile that is 10 % slower everywhere is 10 % off.
        assert!((relative_l2(&rows, |y| 3.0 * y / 0.9) - 0.1).abs() < 1e-6);
        assert!((mean_velocity(&sheared(100), 0) - 1.5).abs() < 1e-6);
    }

    #[test]
    fn empty_bins_are_left_out_and_nothing_gives_no_number() {
        assert_eq!(profile(&sheared(4), 1, 0, [0.0, 2.0], 8).len(), 4);
        assert!(relative_l2(&[], |_| 1.0).is_nan());
        assert!(mean_velocity(&Frame::default(), 0).is_nan());
    }
}
