//! Pressure step: from densities to pressures. Replaceable: a solver that makes the flow incompressible takes
//! the same working arrays and fills the same slots.

use rayon::prelude::*;

use super::params::Params;
use super::work::{PRESSURE, Record};
use crate::state::particles::BLOCK;

/// Fills the pressure slots of the records.
pub trait PressureStep: Send + Sync {
    /// `fluid` and `compression` (ρ/ρ0 - 1) are parallel to `records`.
    fn solve(&self, params: &Params, fluid: &[u8], compression: &[f32], records: &mut [Record]);
}

/// p = k(ρ-ρ0) (Müller eq. 12). Below ρ0 this pulls, and pulling particles clump; so suction is cut to
/// `negative_pressure` of itself, unless the fluid is enclosed.
#[derive(Clone, Copy, Debug, Default)]
pub struct StateEquation;

impl PressureStep for StateEquation {
    fn solve(&self, params: &Params, fluid: &[u8], compression: &[f32], records: &mut [Record]) {
        let bulk: Vec<f32> = params.fluids.iter().map(|f| (f.stiffness * f.density) as f32).collect();
        let kept = params.suction() as f32;
        let blocks = (
            records.par_chunks_mut(8 * BLOCK),
            fluid.par_chunks(8 * BLOCK),
            compression.par_chunks(8 * BLOCK),
        );
        blocks.into_par_iter().for_each(|(records, fluid, compression)| {
            for ((r, &f), &c) in records.iter_mut().zip(fluid).zip(compression) {
                let p = bulk[f as usize] * c;
                r[PRESSURE] = if p < 0.0 { kept * p } else { p };
            }
        });
    }
}
