//! Sloshing: the first mode of a tank.
//!
//! Gravity leans sideways for half a second and then stands upright: that starts odd modes, the n-th with 1/n² of
//! the first's amplitude. The horizontal centre of mass sees another 1/n², so what is left to see is the first mode
//! alone, and it averages over all particles: no surface has to be found.

use std::f64::consts::{PI, TAU};

use super::fit::period;
use super::{CaseError, Lab};
use crate::export::Plot;

const G: f64 = 9.81;
const LENGTH: f64 = 1.0;
const DEPTH: f64 = 0.5;
/// Sideways acceleration over g while it leans; the surface then tilts by up to twice that: 5 cm at the walls.
const LEAN: f64 = 0.05;
const RELEASE: f64 = 0.5;

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let layers = lab.either(25.0, 10.0);
    let d = DEPTH / layers;
    let thick = 5.0 * d;
    let k = PI / LENGTH;
    let reference = TAU / (G * k * (k * DEPTH).tanh()).sqrt();
    let duration = RELEASE + lab.either(3.3, 2.2) * reference;
    let scene = format!(
        r#"
        gravity = [{side}, -{G}, 0]
        time = {{ duration = {duration}, frame_rate = 100 }}
        domain = {{ min = [0, 0, 0], max = [{LENGTH}, {top}, {thick}], periodic = [false, false, true], open = ["+y"] }}
        model = {{ spacing = {d} }}
        [[fluid]]
        name = "water"
        density = 1000
        viscosity = 0.001
        surface_tension = 0.072
        shape = {{ box = {{ min = [0, 0, 0], max = [{LENGTH}, {DEPTH}, {thick}] }} }}
        [[event]]
        time = {RELEASE}
        set = {{ key = "gravity", value = [0, -{G}, 0] }}
        "#,
        side = LEAN * G,
        top = 1.4 * DEPTH,
    );
    let mut centre = Vec::new();
    lab.run(&scene, 1.0, |m| {
        let x = &m.frame.particles.position;
        let mean = x.iter().map(|p| f64::from(p[0])).sum::<f64>() / x.len() as f64;
        centre.push((m.frame.time, mean - 0.5 * LENGTH));
    })?;
    let free: Vec<_> = centre.iter().copied().filter(|p| p.0 >= RELEASE).collect();
    let (measured, crossings) = period(&free);
    lab.check_ratio(
        format!("period from {crossings} zero crossings, s"),
        measured,
        reference,
        lab.either(0.06, 0.08),
    );
    // How much is left of the motion: shows the damping; no gate but that some is left.
    let swing = |from: f64, to: f64| {
        let part = || free.iter().filter(move |p| p.0 >= from && p.0 < to).map(|p| p.1);
        part().fold(f64::MIN, f64::max) - part().fold(f64::MAX, f64::min)
    };
    let kept = swing(duration - reference, f64::INFINITY) / swing(RELEASE, RELEASE + reference);
    lab.check("swing of the last period over that of the first", kept, 1.0, 1.0 - kept, 0.8);
    lab.plot(
        "sloshing",
        Plot::new("Sloshing: horizontal centre of mass", "t / s", "x - L/2 / m").line("measured", &centre),
    );
    Ok(())
}
