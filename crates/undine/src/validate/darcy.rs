//! Creeping flow through periodic arrays of obstacles: Darcy's law and permeability.
//!
//! A uniform force F on the fluid is as good as a mean pressure gradient ρF. With U the superficial velocity (mean over
//! the whole cell, obstacles included) the permeability is k = νU/F.
//!
//! **Cylinders, square array, across**, φ = 0.2. Sangani & Acrivos 1982 (Int. J. Multiphase Flow 8, 193) give the
//! drag per length D/μU = 51.53 in their table 1, and D = ρFL², so k = L²/51.53. Beside it, and why it is trusted:
//! - Drummond & Tahir 1984 (Int. J. Multiphase Flow 10, 515):
//!   8π / (-ln φ - 1.476 + (2φ - 0.796φ²)/(1 + 0.489φ - 1.605φ²)) = 51.33;
//! - the expansion of Sangani & Acrivos: 4π / (-½ ln φ - 0.738 + φ - 0.887φ² + 2.038φ³) = 50.76.
//!
//! **Spheres, simple cubic array**, φ = 0.125. Zick & Homsy 1982 (J. Fluid Mech. 115, 13) give K = 4.292 with the drag
//! 6πμaKU = ρFL³, so k = L³/6πaK. Beside it:
//! - Sangani & Acrivos 1982 (Int. J. Multiphase Flow 8, 343), K as a series of 31 terms in (φ/φ_max)^⅓: 4.2916;
//! - Hasimoto 1959 (J. Fluid Mech. 5, 317) with Sangani & Acrivos' next terms:
//!   1/K = 1 - 1.7601φ^⅓ + φ - 1.5593φ² + 3.9799φ^(8/3) - 3.0734φ^(10/3): K = 4.289.

use std::f64::consts::PI;

use super::profile::mean_velocity;
use super::snug::snug_spacing;
use super::{CaseError, Lab};
use crate::export::Plot;

/// Edge of a cell, m.
const L: f64 = 1e-3;
/// Viscosity, m²/s.
const NU: f64 = 1e-6;
const DENSITY: f64 = 1000.0;
/// Reynolds numbers UL/ν to expect from the three forces. Inertia enters with their square and is not yet seen.
const REYNOLDS: [f64; 3] = [0.25, 0.5, 1.0];
/// Frames of a run.
const FRAMES: usize = 40;

#[derive(Clone, Copy)]
enum Obstacle {
    Cylinder,
    Sphere,
}

struct Array {
    name: &'static str,
    obstacle: Obstacle,
    /// Share of the cell that is solid.
    fraction: f64,
    /// k/L².
    permeability: f64,
    /// How far the fluid moves in the mean, L. The flow itself is steady much sooner, but the particles start on a lattice
    /// that ends in steps around an obstacle: until it has moved by several spacings there is too little drag.
    way: f64,
}

impl Array {
    fn cylinders(way: f64) -> Self {
        Array {
            name: "cylinders",
            obstacle: Obstacle::Cylinder,
            fraction: 0.2,
            permeability: 1.0 / SANGANI_ACRIVOS,
            way,
        }
    }

    fn spheres(way: f64) -> Self {
        let fraction = 0.125;
        Array {
            name: "spheres",
            obstacle: Obstacle::Sphere,
            fraction,
            permeability: 1.0 / (6.0 * PI * ball_radius(fraction) * ZICK_HOMSY),
            way,
        }
    }

    /// The force that brings about a Reynolds number UL/ν, m/s².
    fn force(&self, reynolds: f64) -> f64 {
        reynolds * NU * NU / (self.permeability * L.powi(3))
    }

    /// The scene with one obstacle in the middle of the cell, and the space around it, m³.
    fn scene(&self, spacing: f64, reynolds: f64) -> (String, f64) {
        let force = self.force(reynolds);
        let mid = 0.5 * L;
        let (deep, shape) = match self.obstacle {
            Obstacle::Cylinder => {
                let (deep, radius) = (5.0 * spacing, L * (self.fraction / PI).sqrt());
                // Its ends are farther away than its wall.
                let (base, height) = (-2.0 * radius, deep + 4.0 * radius);
                let shape = format!(
                    "cylinder = {{ base = [{mid}, {mid}, {base}], axis = [0, 0, 1], radius = {radius}, height = {height} }}"
                );
                (deep, shape)
            }
            Obstacle::Sphere => {
                let radius = L * ball_radius(self.fraction);
                (L, format!("sphere = {{ center = [{mid}, {mid}, {mid}], radius = {radius} }}"))
            }
        };
        let mu = NU * DENSITY;
        let duration = self.way / reynolds * L * L / NU;
        let rate = FRAMES as f64 / duration;
        let text = format!(
            r#"
            gravity = [{force}, 0, 0]
            time = {{ duration = {duration}, frame_rate = {rate} }}
            domain = {{ min = [0, 0, 0], max = [{L}, {L}, {deep}], periodic = [true, true, true] }}
            model = {{ spacing = {spacing} }}
            [[fluid]]
            density = {DENSITY}
            viscosity = {mu}
            surface_tension = 0
            shape = {{ box = {{ min = [0, 0, 0], max = [{L}, {L}, {deep}] }} }}
            [[boundary]]
            slip = "no-slip"
            shape = {{ {shape} }}
            "#
        );
        (text, L * L * deep * (1.0 - self.fraction))
    }

    /// A spacing of about L/`across`, m.
    fn spacing(&self, across: f64) -> Result<f64, CaseError> {
        snug_spacing(L / across, |d| self.scene(d, REYNOLDS[1]))
    }

    fn flow(&self, lab: &mut Lab, d: f64, reynolds: f64, share: f64) -> Result<Flow, CaseError> {
        let mut speeds = Vec::new();
        lab.run(&self.scene(d, reynolds).0, share, |m| {
            speeds.push((m.frame.time, mean_velocity(m.frame, 0) * (1.0 - self.fraction)));
        })?;
        let mean = |s: &[(f64, f64)]| s.iter().map(|s| s.1).sum::<f64>() / s.len() as f64;
        let quarter = FRAMES / 4;
        let (before, last) = (mean(&speeds[2 * quarter..3 * quarter]), mean(&speeds[3 * quarter..]));
        Ok(Flow { force: self.force(reynolds), speed: last, drift: (last / before - 1.0).abs(), speeds })
    }
}

struct Flow {
    /// m/s².
    force: f64,
    /// Superficial speed in the last quarter of the run, m/s.
    speed: f64,
    /// By how much it changed since the quarter before, as a share.
    drift: f64,
    /// Superficial speed over time.
    speeds: Vec<(f64, f64)>,
}

impl Flow {
    /// k/L².
    fn permeability(&self) -> f64 {
        NU * self.speed / self.force / (L * L)
    }
}

/// D/μU of table 1 of Sangani & Acrivos 1982, square array, φ = 0.2.
const SANGANI_ACRIVOS: f64 = 51.53;
/// K of table 2 of Zick & Homsy 1982, simple cubic array, φ = 0.125.
const ZICK_HOMSY: f64 = 4.292;

/// Radius of the balls of a simple cubic array over its edge.
fn ball_radius(fraction: f64) -> f64 {
    (3.0 * fraction / (4.0 * PI)).cbrt()
}

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let linear = lab.either(0.02, 0.04);
    let gate = lab.either(0.04, 0.1);
    let way = lab.either(0.5, 0.25);
    // Spacings per cell; a cylinder's radius is 0.252 of it and a sphere's 0.310.
    let arrays = [
        (Array::cylinders(way), lab.either(20.0, 16.0), 36.0, lab.either([0.2, 0.3], [0.5, 0.0])),
        (Array::spheres(way), lab.either(16.0, 12.0), 24.0, lab.either([0.2, 0.3], [0.5, 0.0])),
    ];
    for (array, coarse, fine, [share, fine_share]) in arrays {
        // Proportional: three forces on one lattice.
        let mut flows = Vec::new();
        let d = array.spacing(coarse)?;
        for reynolds in REYNOLDS {
            // Runs at less force are longer.
            let part = (1.0 / reynolds) / REYNOLDS.iter().map(|r| 1.0 / r).sum::<f64>();
            flows.push(array.flow(lab, d, reynolds, share * part)?);
        }
        let middle = flows.iter().map(Flow::permeability).sum::<f64>() / flows.len() as f64;
        let off = flows.iter().map(|f| (f.permeability() / middle - 1.0).abs()).fold(0.0, f64::max);
        lab.check(format!("{}: U/F of three forces, off their mean", array.name), off, 0.0, off, linear);
        let points: Vec<_> = flows.iter().map(|f| (f.force * 1e3, f.speed * 1e6)).collect();

        // The right size: the middle force on a finer lattice.
        let flow = if lab.quick {
            flows.swap_remove(1)
        } else {
            array.flow(lab, array.spacing(fine)?, REYNOLDS[1], fine_share)?
        };
        let k = flow.permeability();
        lab.check_ratio(format!("{}: permeability k/L²", array.name), k, array.permeability, gate);
        lab.check(
            format!("{}: U still changes by", array.name),
            flow.drift,
            0.0,
            flow.drift,
            lab.either(0.01, 0.02),
        );

        let darcy = |force: f64| array.permeability * L * L * force / NU * 1e6;
        let most = array.force(REYNOLDS[2]);
        lab.plot(
            format!("darcy-{}", array.name),
            Plot::new(format!("Darcy's law: {}", array.name), "F / (mm/s²)", "U / (µm/s)")
                .line("published permeability", &[(0.0, 0.0), (most * 1e3, darcy(most))])
                .points("coarse lattice", &points)
                .points("fine lattice", &[(flow.force * 1e3, flow.speed * 1e6)]),
        );
        let speeds: Vec<_> = flow.speeds.iter().map(|(t, u)| (*t, u * 1e6)).collect();
        let end = speeds.last().map_or(0.0, |s| s.0);
        lab.plot(
            format!("darcy-{}-start", array.name),
            Plot::new(format!("Flow between {} sets in", array.name), "t / s", "U / (µm/s)")
                .line("published", &[(0.0, darcy(flow.force)), (end, darcy(flow.force))])
                .line("measured", &speeds),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_for_cylinders_agree() {
        let f: f64 = 0.2;
        let pade = (2.0 * f - 0.796 * f * f) / (1.0 + 0.489 * f - 1.605 * f * f);
        let drummond_tahir = 8.0 * PI / (-f.ln() - 1.476 + pade);
        let expansion = 4.0 * PI / (-0.5 * f.ln() - 0.738 + f - 0.887 * f.powi(2) + 2.038 * f.powi(3));
        assert!((drummond_tahir / SANGANI_ACRIVOS - 1.0).abs() < 0.005, "{drummond_tahir}");
        assert!((expansion / SANGANI_ACRIVOS - 1.0).abs() < 0.02, "{expansion}");
    }

    #[test]
    fn published_values_for_spheres_agree() {
        // Sangani & Acrivos 1982, the first terms; at φ = 0.125 the others add less than the tolerance.
        let q = [
            1.0, 1.418649, 2.012564, 2.331523, 2.564809, 2.584787, 2.873609, 3.340163, 3.536763, 3.504092,
            3.253622, 2.689757, 2.037769, 1.809341, 1.877347, 1.534685,
        ];
        let f: f64 = 0.125;
        let chi = (f / (PI / 6.0)).cbrt();
        let series: f64 = q.iter().rev().fold(0.0, |sum, q| sum * chi + q);
        let hasimoto = 1.0 - 1.7601 * f.cbrt() + f - 1.5593 * f * f + 3.9799 * f.powf(8.0 / 3.0)
            - 3.0734 * f.powf(10.0 / 3.0);
        assert!((series / ZICK_HOMSY - 1.0).abs() < 0.001, "{series}");
        assert!((1.0 / hasimoto / ZICK_HOMSY - 1.0).abs() < 0.001, "{hasimoto}");
        assert!((4.0 / 3.0 * PI * ball_radius(f).powi(3) - f).abs() < 1e-12);
    }
}
