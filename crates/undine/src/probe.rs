//! Measurements of a frame, one row of `probes.csv` each.

use crate::frame::Frame;
use crate::scene::Scene;

/// The probes of a scene.
#[derive(Clone, Debug, Default)]
pub struct Probes;

impl Probes {
    /// The probes of a scene.
    pub fn new(_scene: &Scene) -> Probes {
        Probes
    }

    /// Names of the columns after `time`.
    pub fn columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// Their values, as many as [`Probes::columns`].
    pub fn measure(&self, _frame: &Frame) -> Vec<f64> {
        Vec::new()
    }
}
