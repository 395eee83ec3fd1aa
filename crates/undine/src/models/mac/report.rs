//! Numbers about the grid and its liquid.

use super::{Mac, pressure};

impl Mac {
    /// Greatest |∇·u| of any wet cell after the last step, 1/s.
    pub fn greatest_divergence(&self) -> f64 {
        let Some(cuts) = &self.cuts else { return 0.0 };
        let mut out = vec![0.0; self.layout.n.iter().product()];
        pressure::divergence(&self.layout, cuts, &self.liquid, &self.u, &mut out)
    }

    /// Volume under the liquid's surface at the start of the last step, m³; spray is not counted.
    pub fn volume(&self) -> f64 {
        let Some(cuts) = &self.cuts else { return 0.0 };
        let (layout, liquid) = (&self.layout, &self.liquid);
        let [nx, ny, nz] = layout.n;
        let row = |r: usize| {
            let first = layout.at([0, r % ny, r / ny]);
            let inside = |i: usize| {
                layout.stride.iter().enumerate().all(|(a, s)| {
                    (liquid.wet[i - s] || cuts.open[a][i] == 0.0)
                        && (liquid.wet[i + s] || cuts.open[a][i + s] == 0.0)
                })
            };
            let share = |i: usize| {
                let part =
                    if liquid.wet[i] && inside(i) { 1.0 } else { (liquid.depth[i] + 0.5).clamp(0.0, 1.0) };
                f64::from(cuts.volume[i] * part)
            };
            (first..first + nx).map(share).sum::<f64>()
        };
        (0..ny * nz).map(row).sum::<f64>() * layout.volume()
    }

    /// What [`crate::world::World::diagnostics`] tells.
    pub(super) fn numbers(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("pressure iterations", self.pressure.report.iterations as f64),
            ("pressure residual", self.pressure.report.residual),
            ("viscosity iterations", self.viscosity.iterations as f64),
            ("even iterations", self.even.iterations as f64),
            ("divergence × step", self.greatest_divergence() * self.kick),
            ("volume", self.volume()),
        ]
    }
}
