//! Fits and curves.

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

/// The straight line of least squares: slope, value at 0, coefficient of determination R².
pub(super) fn line(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = points.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let xx = mean(&|p| (p.0 - x).powi(2));
    let xy = mean(&|p| (p.0 - x) * (p.1 - y));
    let yy = mean(&|p| (p.1 - y).powi(2));
    (xy / xx, y - xy / xx * x, xy * xy / (xx * yy))
}

/// Mean period of an oscillation about its mean, from all its zero crossings, and how many there were.
pub(super) fn period(curve: &[(f64, f64)]) -> (f64, usize) {
    let mut middle = curve.iter().map(|p| p.1).sum::<f64>() / curve.len() as f64;
    let mut found = Vec::new();
    // Twice: the mean is then taken over whole periods.
    for _ in 0..2 {
        found = crossings(curve, middle);
        let whole = (found.len().max(1) - 1) / 2 * 2;
        if whole >= 2 {
            let (from, to) = (found[0], found[whole]);
            let inside: Vec<f64> = curve.iter().filter(|p| p.0 >= from && p.0 <= to).map(|p| p.1).collect();
            middle = inside.iter().sum::<f64>() / inside.len() as f64;
        }
    }
    found = if found.is_empty() { found } else { crossings(curve, middle) };
    match (found.first(), found.last()) {
        (Some(a), Some(b)) if found.len() > 1 => (2.0 * (b - a) / (found.len() - 1) as f64, found.len()),
        _ => (f64::NAN, found.len()),
    }
}

fn crossings(curve: &[(f64, f64)], level: f64) -> Vec<f64> {
    curve
        .windows(2)
        .filter(|w| (w[0].1 - level) * (w[1].1 - level) < 0.0)
        .map(|w| w[0].0 + (w[1].0 - w[0].0) * (level - w[0].1) / (w[1].1 - w[0].1))
        .collect()
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
    fn a_line_is_fitted_and_noise_lowers_its_determination() {
        let (slope, zero, r2) = line(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]);
        assert!((slope - 2.0).abs() < 1e-12 && (zero - 1.0).abs() < 1e-12 && (r2 - 1.0).abs() < 1e-12);
        assert!(line(&[(1.0, 3.0), (2.0, 1.0), (3.0, 4.0)]).2 < 0.5);
    }

    #[test]
    fn the_period_of_a_damped_offset_cosine_is_found() {
        let curve: Vec<_> = (0..4000)
            .map(|i| f64::from(i) * 1e-3)
            .map(|t| (t, 0.3 + (-0.2 * t).exp() * (std::f64::consts::TAU * t / 0.9 + 0.4).cos()))
            .collect();
        let (period, count) = period(&curve);
        assert!((period / 0.9 - 1.0).abs() < 0.01, "{period}");
        assert_eq!(count, 9);
    }
}
