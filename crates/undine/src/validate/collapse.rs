//! Collapsing columns of water: Martin & Moyce 1952 and Koshizuka & Oka 1996.

use super::fit::{best_shift, rms};
use super::slab::{self, Slab};
use super::{CaseError, Lab};
use crate::export::Plot;

/// Martin & Moyce's front, n² = 2: T = n t √(g/a), Z = x/a.
const MM_FRONT: [(f64, f64); 15] = [
    (0.41, 1.11),
    (0.84, 1.22),
    (1.19, 1.44),
    (1.43, 1.67),
    (1.63, 1.89),
    (1.83, 2.11),
    (1.98, 2.33),
    (2.20, 2.56),
    (2.32, 2.78),
    (2.51, 3.00),
    (2.65, 3.22),
    (2.83, 3.44),
    (2.98, 3.67),
    (3.11, 3.89),
    (3.33, 4.11),
];
/// Their height of the column, n² = 2: τ = t √(g/a), h/(n²a).
const MM_HEIGHT: [(f64, f64); 15] = [
    (0.56, 0.94),
    (0.77, 0.89),
    (0.93, 0.83),
    (1.08, 0.78),
    (1.28, 0.72),
    (1.46, 0.67),
    (1.66, 0.61),
    (1.84, 0.56),
    (2.00, 0.50),
    (2.21, 0.44),
    (2.45, 0.39),
    (2.70, 0.33),
    (3.06, 0.28),
    (3.44, 0.22),
    (4.20, 0.17),
];
/// Koshizuka & Oka's front: T = t √(2g/L), Z = x/L.
const KO_FRONT: [(f64, f64); 8] = [
    (0.381, 1.111),
    (0.769, 1.252),
    (1.153, 1.505),
    (1.537, 1.892),
    (1.935, 2.241),
    (2.323, 2.615),
    (2.719, 3.003),
    (3.096, 3.624),
];
/// The experiments' time origin is uncertain by so much (the gate opens in a finite time).
const SHIFT: f64 = 0.3;
const G: f64 = 9.81;

/// Front and height over time (s, m) of a column a × 2a in a tank of a given length, `layers` across a.
#[allow(clippy::type_complexity)] // two curves
fn collapse(
    lab: &mut Lab,
    kernels: &'static str,
    a: f64,
    tank: f64,
    layers: f64,
    duration: f64,
    share: f64,
) -> Result<[Vec<(f64, f64)>; 2], CaseError> {
    let slab = Slab {
        spacing: a / layers,
        tank: [tank, 2.5 * a],
        water: [a, 2.0 * a],
        gravity: [0.0, -G],
        duration,
        frame_rate: 200.0 / duration,
        kernels,
    };
    let scene = slab.scene(&format!(
        r#"
        [[probe]]
        kind = "front"
        [[probe]]
        kind = "height"
        position = [0, 0, {}]
        "#,
        0.5 * slab.depth()
    ));
    let mut curves = [Vec::new(), Vec::new()];
    lab.run(&scene, share, |m| {
        for (curve, value) in curves.iter_mut().zip(m.probes) {
            curve.push((m.frame.time, *value));
        }
    })?;
    Ok(curves)
}

fn scaled(curve: &[(f64, f64)], time: f64, length: f64) -> Vec<(f64, f64)> {
    curve.iter().map(|(t, x)| (t * time, x / length)).collect()
}

/// What a scheme is held to.
pub(super) struct Scheme {
    pub kernels: &'static str,
    /// Layers across the column, full and quick.
    pub layers: (f64, f64),
    /// Gates of the front and of the height, full and quick.
    pub front: (f64, f64),
    pub height: (f64, f64),
    /// File names of the plots begin with it.
    pub plots: &'static str,
    /// Share of the case's work.
    pub share: f64,
}

/// The gates of the default scheme.
pub(super) const CONSERVATIVE: Scheme = Scheme {
    kernels: slab::DEFAULT,
    layers: (20.0, 10.0),
    front: (0.07, 0.12),
    height: (0.07, 0.1),
    plots: "dam-break",
    share: 1.0,
};

pub(super) fn martin_moyce(lab: &mut Lab) -> Result<(), CaseError> {
    let scheme = Scheme { kernels: lab.scheme(), plots: lab.name(), ..CONSERVATIVE };
    martin_moyce_with(lab, &scheme)
}

pub(super) fn martin_moyce_with(lab: &mut Lab, scheme: &Scheme) -> Result<(), CaseError> {
    let a = 0.05715;
    let rate = (G / a).sqrt();
    // Long enough that the front never comes back, and to the last height, τ = 4.2.
    let layers = lab.either(scheme.layers.0, scheme.layers.1);
    let duration = (4.2 + SHIFT) / rate;
    let [front, height] = collapse(lab, scheme.kernels, a, 10.0 * a, layers, duration, scheme.share)?;

    let front = scaled(&front, 2f64.sqrt() * rate, a);
    let (shift, error) = best_shift(&front, &MM_FRONT, SHIFT, |m, r| m / r - 1.0);
    let gate = lab.either(scheme.front.0, scheme.front.1);
    let as_is = rms(&front, &MM_FRONT, 0.0, |m, r| m / r - 1.0);
    let what = format!("front, RMS of Z/Z_ref - 1 (shift ΔT {shift:+.3}; {as_is:.3} without)");
    lab.check(what, error, 0.0, error, gate);
    let shifted: Vec<_> = front.iter().map(|p| (p.0 - shift, p.1)).filter(|p| p.0 <= 3.5).collect();
    lab.plot(
        format!("{}-front", scheme.plots),
        Plot::new("Dam break: front", "T = n t √(g/a)", "Z = x/a")
            .line("measured", &front.iter().copied().filter(|p| p.0 <= 3.5).collect::<Vec<_>>())
            .line(format!("shifted by {:+.3}", -shift), &shifted)
            .points("Martin & Moyce 1952", &MM_FRONT),
    );

    let height = scaled(&height, rate, 2.0 * a);
    let (shift, error) = best_shift(&height, &MM_HEIGHT, SHIFT, |m, r| m - r);
    let as_is = rms(&height, &MM_HEIGHT, 0.0, |m, r| m - r);
    let what = format!("height, RMS in units of the column (shift Δτ {shift:+.3}; {as_is:.3} without)");
    lab.check(what, error, 0.0, error, lab.either(scheme.height.0, scheme.height.1));
    lab.plot(
        format!("{}-height", scheme.plots),
        Plot::new("Dam break: height", "τ = t √(g/a)", "h/(n²a)")
            .line("measured", &height)
            .points("Martin & Moyce 1952", &MM_HEIGHT),
    );
    Ok(())
}

pub(super) fn koshizuka_oka(lab: &mut Lab) -> Result<(), CaseError> {
    let length = 0.146;
    let rate = (2.0 * G / length).sqrt();
    let layers = lab.either(20.0, 10.0);
    let [front, _] = collapse(lab, lab.scheme(), length, 4.0 * length, layers, (3.1 + SHIFT) / rate, 1.0)?;
    let front = scaled(&front, rate, length);
    let (shift, error) = best_shift(&front, &KO_FRONT, SHIFT, |m, r| m / r - 1.0);
    let gate = lab.either(0.07, 0.12);
    let as_is = rms(&front, &KO_FRONT, 0.0, |m, r| m / r - 1.0);
    let what = format!("front, RMS of Z/Z_ref - 1 (shift ΔT {shift:+.3}; {as_is:.3} without)");
    lab.check(what, error, 0.0, error, gate);
    lab.plot(
        format!("{}-front", lab.name()),
        Plot::new("Dam break in a short tank: front", "T = t √(2g/L)", "Z = x/L")
            .line("measured", &front)
            .line(
                format!("shifted by {:+.3}", -shift),
                &front.iter().map(|p| (p.0 - shift, p.1)).collect::<Vec<_>>(),
            )
            .points("Koshizuka & Oka 1996", &KO_FRONT),
    );
    Ok(())
}
