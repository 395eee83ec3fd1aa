//! Sloshing: the first mode of a tank.
//!
//! Gravity leans sideways for half a second and then stands upright: that starts odd modes, the n-th with 1/n² of
//! the first's amplitude. The horizontal centre of mass sees another 1/n², so what is left to see is the first mode
//! alone, and it averages over all particles: no surface has to be found. A damped oscillation is fitted to it.

use std::f64::consts::{PI, TAU};

use super::fit::Oscillation;
use super::slab::{MAC, Slab};
use super::{CaseError, Lab};
use crate::export::Plot;

const G: f64 = 9.81;
const LENGTH: f64 = 1.0;
const DEPTH: f64 = 0.5;
/// Sideways acceleration over g while it leans; the surface then tilts by up to twice that: 5 cm at the walls.
const LEAN: f64 = 0.05;
const RELEASE: f64 = 0.5;

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let layers = lab.either(20.0, 8.0);
    let k = PI / LENGTH;
    let reference = TAU / (G * k * (k * DEPTH).tanh()).sqrt();
    let duration = RELEASE + lab.either(3.0, 2.0) * reference;
    let slab = Slab {
        spacing: DEPTH / layers,
        tank: [LENGTH, 1.4 * DEPTH],
        water: [LENGTH, DEPTH],
        gravity: [LEAN * G, -G],
        duration,
        frame_rate: 100.0,
        kernels: lab.scheme(),
    };
    let scene = slab.scene(&format!(
        r#"
        [[event]]
        time = {RELEASE}
        set = {{ key = "gravity", value = [0, -{G}, 0] }}
        "#
    ));
    let mut centre = Vec::new();
    lab.run(&scene, 1.0, |m| {
        let x = &m.frame.particles.position;
        let mean = x.iter().map(|p| f64::from(p[0])).sum::<f64>() / x.len() as f64;
        centre.push((m.frame.time, mean - 0.5 * LENGTH));
    })?;
    let free: Vec<_> = centre.iter().copied().filter(|p| p.0 >= RELEASE).collect();
    let fit = Oscillation::fit(&free, reference);
    lab.check_ratio(
        format!("period of the centre of mass, s (damped by {:.2}/s)", fit.damping),
        fit.period,
        reference,
        if lab.scheme() == MAC { 0.03 } else { 0.06 },
    );
    lab.check("R² of one damped mode", fit.r2, 1.0, 1.0 - fit.r2, 0.1);
    lab.plot(
        lab.name(),
        Plot::new("Sloshing: horizontal centre of mass", "t / s", "x - L/2 / m")
            .line("measured", &centre)
            .line("fitted mode", &free.iter().map(|p| (p.0, fit.at(p.0))).collect::<Vec<_>>()),
    );
    Ok(())
}
