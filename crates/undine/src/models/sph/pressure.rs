//! Pressure step: from densities to pressures. Replaceable: a solver that makes the flow incompressible takes
//! the same working arrays and fills the same slots.

use rayon::prelude::*;

use super::params::Params;
use super::work::{PRESSURE, Record, VOLUME};
use crate::scene::Kernels;
use crate::state::particles::BLOCK;

/// Fills the pressure slots from the volume slots: p for Müller's kernels, p V² for the conservative one, as the
/// force pass wants them.
pub trait PressureStep: Send + Sync {
    /// `fluid` is parallel to `records`.
    fn solve(&self, params: &Params, fluid: &[u8], records: &mut [Record]);
}

/// p = k(ρ-ρ0) (Müller eq. 12). At a free surface ρ falls below ρ0 only because the kernel reaches into the
/// air; the suction this would give makes particles clump, so it is cut to `negative_pressure` of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct StateEquation;

impl PressureStep for StateEquation {
    fn solve(&self, params: &Params, fluid: &[u8], records: &mut [Record]) {
        let bulk: Vec<f32> = params.fluids.iter().map(|f| (f.stiffness * f.density) as f32).collect();
        let kept = params.negative_pressure as f32;
        let conservative = params.kernels == Kernels::Conservative;
        records.par_chunks_mut(8 * BLOCK).zip(fluid.par_chunks(8 * BLOCK)).for_each(|(records, fluid)| {
            for (r, &f) in records.iter_mut().zip(fluid) {
                let p = bulk[f as usize] * (1.0 / r[VOLUME] - 1.0);
                let p = if p < 0.0 { kept * p } else { p };
                r[PRESSURE] = if conservative { p * r[VOLUME] * r[VOLUME] } else { p };
            }
        });
    }
}
