//! Fits and curves.

use std::f64::consts::TAU;

use glam::{DMat3, DVec3};

/// A value of a curve given by points with rising x, by straight lines between them; its end values beyond.
pub(super) fn at(curve: &[(f64, f64)], x: f64) -> f64 {
    let i = curve.partition_point(|p| p.0 <= x);
    match (i.checked_sub(1).and_then(|k| curve.get(k)), curve.get(i)) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0),
        (Some(a), None) => a.1,
        (None, Some(b)) => b.1,
        (None, None) => f64::NAN,
    }
}

/// Root mean square of `error(measured, reference)` over the reference points, with the measured curve read at
/// x + shift.
pub(super) fn rms(
    curve: &[(f64, f64)],
    reference: &[(f64, f64)],
    shift: f64,
    error: impl Fn(f64, f64) -> f64,
) -> f64 {
    let sum: f64 = reference.iter().map(|(x, y)| error(at(curve, x + shift), *y).powi(2)).sum();
    (sum / reference.len() as f64).sqrt()
}

/// The shift within ±`most` with the least [`rms`], and that.
pub(super) fn best_shift(
    curve: &[(f64, f64)],
    reference: &[(f64, f64)],
    most: f64,
    error: impl Fn(f64, f64) -> f64,
) -> (f64, f64) {
    let steps = 120;
    (-steps..=steps)
        .map(|k| most * f64::from(k) / f64::from(steps))
        .map(|shift| (shift, rms(curve, reference, shift, &error)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((0.0, f64::NAN))
}

/// The line through the origin of least squares: its slope, and the share R² of the variance that it explains (below
/// that of a line with an offset, and negative when a constant would do better).
pub(super) fn proportion(points: &[(f64, f64)]) -> (f64, f64) {
    let slope = points.iter().map(|p| p.0 * p.1).sum::<f64>() / points.iter().map(|p| p.0 * p.0).sum::<f64>();
    (slope, determination(points, |x| slope * x))
}

/// R² = 1 - Σ(y - f(x))²/Σ(y - mean)².
fn determination(points: &[(f64, f64)], f: impl Fn(f64) -> f64) -> f64 {
    let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
    let left: f64 = points.iter().map(|p| (p.1 - f(p.0)).powi(2)).sum();
    1.0 - left / points.iter().map(|p| (p.1 - mean).powi(2)).sum::<f64>()
}

/// A damped oscillation y = e^(-γt) (a cos ωt + b sin ωt) + c, t from the first point on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Oscillation {
    /// 2π/ω, s.
    pub period: f64,
    /// γ, 1/s.
    pub damping: f64,
    /// R² of the fit.
    pub r2: f64,
    start: f64,
    factors: DVec3,
}

impl Oscillation {
    /// Value at a time.
    pub(super) fn at(&self, time: f64) -> f64 {
        self.factors.dot(Self::basis(time - self.start, self.period, self.damping))
    }

    fn basis(t: f64, period: f64, damping: f64) -> DVec3 {
        let (sin, cos) = (TAU / period * t).sin_cos();
        let fade = (-damping * t).exp();
        DVec3::new(fade * cos, fade * sin, 1.0)
    }

    /// For a given period and damping the rest is linear: the normal equations.
    fn with(curve: &[(f64, f64)], period: f64, damping: f64) -> Self {
        let start = curve.first().map_or(0.0, |p| p.0);
        let (mut matrix, mut right) = (DMat3::ZERO, DVec3::ZERO);
        for (t, y) in curve {
            let b = Self::basis(t - start, period, damping);
            matrix += DMat3::from_cols(b * b.x, b * b.y, b * b.z);
            right += b * *y;
        }
        let mut fit = Oscillation { period, damping, r2: f64::NAN, start, factors: matrix.inverse() * right };
        fit.r2 = determination(curve, |t| fit.at(t));
        fit
    }

    /// The best fit with a period within a factor of 2 of a guess.
    pub(super) fn fit(curve: &[(f64, f64)], guess: f64) -> Self {
        let mut best = Self::with(curve, guess, 0.0);
        let mut reach = (2f64.ln(), 2.0 / guess);
        let mut steps = 60;
        // Each round looks at a grid around the best so far, finer each time.
        for _ in 0..6 {
            let centre = best;
            for i in -steps..=steps {
                for j in -8..=8 {
                    let period = centre.period * (reach.0 * f64::from(i) / f64::from(steps)).exp();
                    let damping = centre.damping + reach.1 * f64::from(j) / 8.0;
                    let fit = Self::with(curve, period, damping);
                    if fit.r2 > best.r2 {
                        best = fit;
                    }
                }
            }
            reach = (2.0 * reach.0 / f64::from(steps), reach.1 / 4.0);
            steps = 8;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_curve_is_found_again() {
        let curve: Vec<_> = (0..300).map(|i| f64::from(i) * 0.01).map(|t| (t, 1.0 + t * t)).collect();
        let reference = [(0.5, 1.36), (1.0, 1.81), (1.5, 2.0 + 0.69 - 0.25)];
        let (shift, error) = best_shift(&curve, &reference, 0.3, |a, b| a - b);
        assert!((shift + 0.1).abs() < 0.2 && error < 0.5);
        let exact: Vec<_> = [0.5, 1.0, 1.5].map(|t: f64| (t, 1.0 + (t - 0.2).powi(2))).to_vec();
        let (shift, error) = best_shift(&curve, &exact, 0.3, |a, b| a - b);
        assert!((shift + 0.2).abs() < 1e-9 && error < 1e-4, "{shift} {error}");
    }

    #[test]
    fn a_proportion_is_fitted_and_an_offset_lowers_its_determination() {
        let (slope, r2) = proportion(&[(1.0, 2.0), (2.0, 4.0), (4.0, 8.0)]);
        assert!((slope - 2.0).abs() < 1e-12 && (r2 - 1.0).abs() < 1e-12);
        assert!(proportion(&[(1.0, 12.0), (2.0, 14.0), (4.0, 18.0)]).1 < 0.5);
    }

    #[test]
    fn a_damped_offset_oscillation_is_found_despite_noise() {
        let curve: Vec<_> = (0..400)
            .map(|i| f64::from(i) * 1e-2)
            .map(|t| (t, 0.3 + (-0.2 * t).exp() * (TAU * t / 0.9 + 0.4).cos() + 0.1 * (37.0 * t).sin()))
            .collect();
        let fit = Oscillation::fit(&curve, 1.2);
        assert!((fit.period / 0.9 - 1.0).abs() < 0.005, "{fit:?}");
        assert!((fit.damping - 0.2).abs() < 0.03 && fit.r2 > 0.95, "{fit:?}");
        assert!((fit.at(0.0) - 0.3 - 0.4f64.cos()).abs() < 0.1, "{fit:?}");
    }
}
