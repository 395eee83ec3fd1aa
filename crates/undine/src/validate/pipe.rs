//! Flow through a round pipe.

use std::f64::consts::PI;

use super::profile::mean_velocity;
use super::snug::snug_spacing;
use super::{CaseError, Lab};
use crate::export::Plot;

/// Radius, m.
const R: f64 = 5e-4;
/// Viscosity, m²/s.
const NU: f64 = 1e-6;
/// Force, m/s². The Reynolds number of the mean speed and diameter is 0.03.
const F: f64 = 1e-3;
const DENSITY: f64 = 1000.0;

/// The scene and the space within the pipe, m³. The pipe lies along x, which repeats.
fn scene(spacing: f64, duration: f64) -> (String, f64) {
    let length = 6.0 * spacing;
    let mu = NU * DENSITY;
    // The pipe's ends are farther away than its wall.
    let (end, long) = (-3.0 * R, length + 6.0 * R);
    let (out, rate) = (R + 6.0 * spacing, 40.0 / duration);
    let text = format!(
        r#"
        gravity = [{F}, 0, 0]
        time = {{ duration = {duration}, frame_rate = {rate} }}
        domain = {{ min = [0, -{out}, -{out}], max = [{length}, {out}, {out}], periodic = [true, false, false], open = ["-y", "+y", "-z", "+z"] }}
        model = {{ spacing = {spacing} }}
        [[fluid]]
        density = {DENSITY}
        viscosity = {mu}
        surface_tension = 0
        shape = {{ cylinder = {{ base = [0, 0, 0], axis = [1, 0, 0], radius = {R}, height = {length} }} }}
        [[boundary]]
        inside = "hollow"
        slip = "no-slip"
        shape = {{ cylinder = {{ base = [{end}, 0, 0], axis = [1, 0, 0], radius = {R}, height = {long} }} }}
        "#
    );
    (text, PI * R * R * length)
}

/// Hagen and Poiseuille: Q = πFR⁴/8ν.
pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let across = lab.either(15.0, 7.0);
    let gate = lab.either(0.02, 0.03);
    // The slowest mode, ν(2.405/R)², has fallen to e^-8.
    let duration = 8.0 * R * R / (NU * 2.405_f64.powi(2));
    let d = snug_spacing(R / across, |d| scene(d, duration))?;
    let (text, _) = scene(d, duration);
    let (mut flow, mut rows) = (Vec::new(), Vec::new());
    lab.run(&text, 1.0, |m| {
        // All fluid of the pipe crosses a plane in the time it takes to run through its length.
        flow.push((m.frame.time, mean_velocity(m.frame, 0) * PI * R * R));
        let velocity = m.frame.particles.vector("velocity").unwrap_or(&[]);
        let places = m.frame.particles.position.iter();
        let radius = |x: &[f32; 3]| f64::from(x[1]).hypot(f64::from(x[2]));
        rows = places.zip(velocity).map(|(x, v)| (radius(x), f64::from(v[0]))).collect();
    })?;
    let reference = PI * F * R.powi(4) / (8.0 * NU);
    let last: Vec<f64> = flow.iter().filter(|f| f.0 > 0.85 * duration).map(|f| f.1).collect();
    let measured = last.iter().sum::<f64>() / last.len() as f64;
    lab.check_ratio("flow rate, mm³/s", measured * 1e9, reference * 1e9, gate);
    let exact = |r: f64| F / (4.0 * NU) * (R * R - r * r);
    let error = super::profile::relative_l2(&rows, exact);
    lab.check("u(r), L2 over the particles", error, 0.0, error, gate);

    let curve: Vec<_> =
        (0..=50).map(|k| R * f64::from(k) / 50.0).map(|r| (r * 1e3, exact(r) * 1e6)).collect();
    let points: Vec<_> = rows.iter().map(|(r, u)| (r * 1e3, u * 1e6)).collect();
    lab.plot(
        "pipe",
        Plot::new("Flow through a pipe", "r / mm", "u / (µm/s)")
            .line("F/4ν (R²-r²)", &curve)
            .points("particles", &points),
    );
    Ok(())
}
