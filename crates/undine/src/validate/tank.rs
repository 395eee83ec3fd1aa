//! Water at rest in a tank.

use super::slab::Slab;
use super::{CaseError, Lab};
use crate::export::Plot;

const G: f64 = 9.81;
/// That of the slab's water.
const DENSITY: f64 = 1000.0;
const DEPTH: f64 = 0.5;

/// Layers of particles, and duration, s.
fn size(lab: &Lab) -> (f64, f64) {
    (lab.either(25.0, 10.0), lab.either(3.0, 2.4))
}

/// A tank that is the domain.
pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let (layers, duration) = size(lab);
    let slab = Slab {
        spacing: DEPTH / layers,
        tank: [DEPTH, 1.2 * DEPTH],
        water: [DEPTH, DEPTH],
        gravity: [0.0, -G],
        duration,
        frame_rate: 50.0,
        kernels: lab.scheme(),
    };
    measure(lab, &slab.scene("[[probe]]\nkind = \"energy\""))
}

/// A tank of three plates.
pub(super) fn of_plates(lab: &mut Lab) -> Result<(), CaseError> {
    let (layers, duration) = size(lab);
    let d = DEPTH / layers;
    let (deep, top) = (6.0 * d, 1.2 * DEPTH);
    // Thicker than the kernel reaches, and longer along z than the domain, so that they end nowhere in it.
    let (thick, margin) = (4.0 * d, 8.0 * d);
    let (out, back, front) = (DEPTH + thick, -margin, deep + margin);
    let plate = |[x0, y0]: [f64; 2], [x1, y1]: [f64; 2]| {
        format!(
            "[[boundary]]\nslip = \"no-slip\"\nshape = {{ box = {{ min = [{x0}, {y0}, {back}], max = [{x1}, {y1}, {front}] }} }}\n"
        )
    };
    let plates = plate([-thick, -thick], [out, 0.0])
        + &plate([-thick, 0.0], [0.0, top])
        + &plate([DEPTH, 0.0], [out, top]);
    let scene = format!(
        r#"
        gravity = [0, -{G}, 0]
        time = {{ duration = {duration}, frame_rate = 50 }}
        domain = {{ min = [-{thick}, -{thick}, 0], max = [{out}, {top}, {deep}], periodic = [false, false, true], open = ["-x", "+x", "-y", "+y"] }}
        model = {{ spacing = {d} }}
        [[fluid]]
        name = "water"
        density = {DENSITY}
        viscosity = 0.001
        surface_tension = 0.072
        shape = {{ box = {{ min = [0, 0, 0], max = [{DEPTH}, {DEPTH}, {deep}] }} }}
        {plates}
        [[probe]]
        kind = "energy"
        "#
    );
    measure(lab, &scene)
}

fn measure(lab: &mut Lab, scene: &str) -> Result<(), CaseError> {
    let (_, duration) = size(lab);
    let name = lab.name();
    let mut d = 0.0;
    let mut kinetic = Vec::new();
    let mut errors = Vec::new();
    let mut last = Vec::new();
    let mut count = 0;
    let world = lab.run(scene, 1.0, |m| {
        kinetic.push((m.frame.time, m.probes[0]));
        count = m.frame.particles.len();
        d = m.frame.spacing;
        if m.frame.time >= 0.9 * duration {
            last = pressures(m.frame);
            errors.push(l2(&last));
        }
    })?;

    let error = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
    lab.check("pressure, L2 of p - ρg(H-y) over L2 of ρg(H-y)", error, 0.0, error, 0.03);

    // M g H of the water.
    let scale = count as f64 * DENSITY * d.powi(3) * G * DEPTH;
    let mean = |from: f64, to: f64| {
        let part: Vec<f64> =
            kinetic.iter().filter(|k| k.0 >= from && k.0 < to).map(|k| k.1 / scale).collect();
        part.iter().sum::<f64>() / part.len() as f64
    };
    let (middle, end) =
        (mean(duration / 3.0, 2.0 * duration / 3.0), mean(2.0 * duration / 3.0, f64::INFINITY));
    lab.check("kinetic energy over MgH, last third", end, 0.0, end, 1e-3);
    // What is left when nothing moves but the last digits rises and falls as it likes.
    let rise = if end < 1e-9 { 0.0 } else { end / middle };
    lab.check("kinetic energy, last third over middle third", end / middle, 0.0, rise, 1.0);

    if let Some((_, divergence)) = world.diagnostics().iter().find(|d| d.0 == "divergence × step") {
        lab.check("greatest |∇·u|Δt", *divergence, 0.0, *divergence, crate::models::mac::pressure::TOLERANCE);
    }

    let exact = [(0.0, DENSITY * G * DEPTH), (DEPTH, 0.0)];
    let measured: Vec<_> = last.iter().map(|(y, p, _)| (*y, *p)).collect();
    lab.plot(
        format!("{name}-pressure"),
        Plot::new("Tank at rest: pressure", "y / m", "p / Pa")
            .line("ρg(H-y)", &exact)
            .points("particles", &measured),
    );
    let logs: Vec<_> = kinetic.iter().skip(1).map(|(t, k)| (*t, (k / scale).log10())).collect();
    lab.plot(
        format!("{name}-energy"),
        Plot::new("Tank at rest: kinetic energy", "t / s", "log₁₀ of energy/MgH")
            .line("measured", &logs)
            .line("gate", &[(0.0, -3.0), (duration, -3.0)]),
    );
    Ok(())
}

/// Height, pressure and wanted pressure of each particle.
fn pressures(frame: &crate::frame::Frame) -> Vec<(f64, f64, f64)> {
    let pressure = frame.particles.scalar("pressure").unwrap_or(&[]);
    let rows = frame.particles.position.iter().zip(pressure);
    rows.map(|(x, p)| (f64::from(x[1]), f64::from(*p), DENSITY * G * (DEPTH - f64::from(x[1])))).collect()
}

/// √Σ(p - p_ref)² / √Σp_ref².
fn l2(rows: &[(f64, f64, f64)]) -> f64 {
    let sum = |f: &dyn Fn(&(f64, f64, f64)) -> f64| rows.iter().map(f).sum::<f64>();
    (sum(&|r| (r.1 - r.2).powi(2)) / sum(&|r| r.2.powi(2))).sqrt()
}
