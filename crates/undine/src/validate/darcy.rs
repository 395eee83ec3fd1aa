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
/// Forces, m/s²; the Reynolds number UL/ν of the greatest is 0.08 among cylinders and 0.16 among spheres.
const FORCES: [f64; 3] = [1e-3, 2e-3, 4e-3];

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
    /// Time after which the flow is steady, L²/ν.
    settled: f64,
}

impl Array {
    fn cylinders() -> Self {
        Array {
            name: "cylinders",
            obstacle: Obstacle::Cylinder,
            fraction: 0.2,
            permeability: 1.0 / SANGANI_ACRIVOS,
            settled: 0.2,
        }
    }

    fn spheres() -> Self {
        let fraction = 0.125;
        Array {
            name: "spheres",
            obstacle: Obstacle::Sphere,
            fraction,
            permeability: 1.0 / (6.0 * PI * ball_radius(fraction) * ZICK_HOMSY),
            settled: 0.25,
        }
    }

    /// The scene with one obstacle in the middle of the cell, and the space around it, m³.
    fn scene(&self, spacing: f64, force: f64) -> (String, f64) {
        let mid = 0.5 * L;
        let (deep, shape) = match self.obstacle {
            Obstacle::Cylinder => {
                let (deep, radius) = (6.0 * spacing, L * (self.fraction / PI).sqrt());
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
        let duration = 1.25 * self.settled * L * L / NU;
        let rate = 50.0 / duration;
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

    /// Superficial speed over time, in the mean when settled, and by how much it still changes, as a share.
    fn flow(&self, lab: &mut Lab, cells: f64, force: f64, share: f64) -> Result<Flow, CaseError> {
        let d = snug_spacing(L / cells, |d| self.scene(d, force))?;
        let mut speeds = Vec::new();
        lab.run(&self.scene(d, force).0, share, |m| {
            speeds.push((m.frame.time, mean_velocity(m.frame, 0) * (1.0 - self.fraction)));
        })?;
        let mean = |s: &[(f64, f64)]| s.iter().map(|s| s.1).sum::<f64>() / s.len() as f64;
        let (before, last) = (mean(&speeds[31..41]), mean(&speeds[41..]));
        Ok(Flow { speed: last, drift: (last / before - 1.0).abs(), speeds })
    }
}

struct Flow {
    speed: f64,
    drift: f64,
    speeds: Vec<(f64, f64)>,
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
    let gate = lab.either(0.05, 0.10);
    for (array, coarse, fine) in [(Array::cylinders(), 28.0, 56.0), (Array::spheres(), 16.0, 32.0)] {
        // Proportional: three forces, all on the coarse lattice.
        let coarse = lab.either(coarse, if coarse == 28.0 { 20.0 } else { 14.0 });
        let share = lab.either(0.03, 0.16);
        let mut flows = Vec::new();
        for force in FORCES {
            flows.push(array.flow(lab, coarse, force, share)?);
        }
        let per_force: Vec<f64> = flows.iter().zip(FORCES).map(|(f, force)| f.speed / force).collect();
        let middle = per_force.iter().sum::<f64>() / 3.0;
        let off = per_force.iter().map(|s| (s / middle - 1.0).abs()).fold(0.0, f64::max);
        lab.check(format!("{}: U/F of three forces, off their mean", array.name), off, 0.0, off, 0.02);

        // The right size: the middle force on the fine lattice.
        let flow = if lab.quick { flows.swap_remove(1) } else { array.flow(lab, fine, FORCES[1], 0.4)? };
        let measured = NU * flow.speed / FORCES[1] / (L * L);
        lab.check_ratio(format!("{}: permeability k/L²", array.name), measured, array.permeability, gate);
        lab.check(format!("{}: U still changes by", array.name), flow.drift, 0.0, flow.drift, 0.01);

        let darcy = |force: f64| array.permeability * L * L * force / NU * 1e6;
        let points: Vec<_> =
            per_force.iter().zip(FORCES).map(|(s, force)| (force * 1e3, s * force * 1e6)).collect();
        lab.plot(
            format!("darcy-{}", array.name),
            Plot::new(format!("Darcy's law: {}", array.name), "F / (mm/s²)", "U / (µm/s)")
                .line("published permeability", &[(0.0, 0.0), (4.0, darcy(4e-3))])
                .points("coarse lattice", &points)
                .points("fine lattice", &[(FORCES[1] * 1e3, flow.speed * 1e6)]),
        );
        let speeds: Vec<_> = flow.speeds.iter().map(|(t, u)| (*t, u * 1e6)).collect();
        let end = speeds.last().map_or(0.0, |s| s.0);
        lab.plot(
            format!("darcy-{}-start", array.name),
            Plot::new(format!("Flow between {} sets in", array.name), "t / s", "U / (µm/s)")
                .line("published", &[(0.0, darcy(FORCES[1])), (end, darcy(FORCES[1]))])
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
