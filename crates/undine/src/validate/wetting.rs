//! A drop on a plate, without gravity: its contact angle is what the plate's adhesion says.

use std::f64::consts::PI;

use super::{CaseError, Lab};
use crate::export::Plot;
use crate::frame::Frame;

/// Radius of the half sphere that the drop starts as, m.
const RADIUS: f64 = 0.01;
/// Tension of water, N/m, and a viscosity that calms the drop within the run, Pa s.
const TENSION: f64 = 0.072;
const VISCOSITY: f64 = 0.05;

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let dials: &[f64] = lab.either(&[-0.5, 0.0, 0.5, 0.75], &[-0.5, 0.0, 0.5]);
    let across: &[f64] = lab.either(&[7.0, 10.0, 14.0], &[8.0]);
    // A spacing in the height of the drop makes six to eleven degrees.
    let gate = 15.0;
    let mut plot = Plot::new("A drop comes to rest on a plate", "t / s", "contact angle / °");
    let share = 1.0 / (dials.len() * across.len()) as f64;
    for &across in across {
        for &dial in dials {
            let wanted = dial.acos().to_degrees();
            let angles = angles(lab, dial, RADIUS / across, share)?;
            let last = &angles[2 * angles.len() / 3..];
            let mean = last.iter().map(|a| a.1).sum::<f64>() / last.len() as f64;
            lab.check(
                format!("contact angle, °, of a drop of {across} spacings on adhesion {dial}; error in °"),
                mean,
                wanted,
                (mean - wanted).abs(),
                gate,
            );
            plot = plot.line(format!("{wanted:.0}°, {across} spacings"), &angles);
        }
    }
    lab.plot("contact-angle", plot);
    Ok(())
}

/// Contact angle (°) against time (s).
fn angles(lab: &mut Lab, dial: f64, spacing: f64, share: f64) -> Result<Vec<(f64, f64)>, CaseError> {
    let duration = lab.either(1.2, 0.6);
    let (wide, deep) = (3.0 * RADIUS, 2.0 * RADIUS);
    let scene = format!(
        r#"
        gravity = [0, 0, 0]
        time = {{ duration = {duration}, frame_rate = {} }}
        model = {{ spacing = {spacing} }}
        [[fluid]]
        density = 1000
        viscosity = {VISCOSITY}
        surface_tension = {TENSION}
        shape = {{ sphere = {{ center = [0, 0, 0], radius = {RADIUS} }} }}
        [[boundary]]
        shape = {{ box = {{ min = [-{wide}, -{deep}, -{wide}], max = [{wide}, 0, {wide}] }} }}
        slip = "no-slip"
        adhesion = {dial}
        "#,
        30.0 / duration,
    );
    let mut angles = Vec::new();
    lab.run(&scene, share, |m| angles.push((m.frame.time, angle(m.frame, spacing))))?;
    Ok(angles)
}

/// The angle (°) of the spherical cap with the drop's volume and height; 180 for anything higher than a ball of it.
fn angle(frame: &Frame, spacing: f64) -> f64 {
    let volume = frame.particles.len() as f64 * spacing.powi(3);
    let mut heights: Vec<f64> = frame.particles.position.iter().map(|p| f64::from(p[1])).collect();
    heights.sort_by(f64::total_cmp);
    // Not of a single particle.
    let top = &heights[heights.len().saturating_sub(5)..];
    let height = top.iter().sum::<f64>() / top.len() as f64 + 0.5 * spacing;
    // V = πh²(3R-h)/3 and h = R(1 - cos θ).
    let radius = volume / (PI * height * height) + height / 3.0;
    (1.0 - height / radius).clamp(-1.0, 1.0).acos().to_degrees()
}
