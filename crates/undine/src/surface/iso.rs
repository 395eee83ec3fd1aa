//! The isofunctions: each turns particles into a [`Field`].

mod color_field;

use super::cloud::{Cloud, Key};
use super::field::Field;
use super::options::{Method, Options};

/// What an isofunction may look at.
pub struct Source<'a> {
    /// The particles.
    pub cloud: &'a Cloud,
    /// Spacing at rest, in cells.
    pub spacing: f32,
    /// ρ0/ρ of each particle in the order of the cloud, where densities are known.
    pub expansion: Option<Vec<f32>>,
    /// Blocks of the cloud whose particles the surface may feel; the particles of others may be treated as at rest.
    pub wanted: Vec<bool>,
    /// What the caller chose.
    pub options: &'a Options,
}

impl Source<'_> {
    fn support(&self, default: f32) -> f32 {
        self.options.support.map_or(default, |s| s as f32) * self.spacing
    }

    fn threshold(&self, default: f32) -> f32 {
        self.options.threshold.map_or(default, |t| t as f32)
    }
}

/// How far the method's particles are felt, × spacing, with what they may stray from their blocks.
pub fn reach(options: &Options) -> f64 {
    options.support.unwrap_or(f64::from(color_field::SUPPORT))
}

/// The field of the chosen method.
pub fn field(source: &Source) -> Field {
    match source.options.method {
        _ => color_field::field(source),
    }
}

/// The blocks of the cloud in reach (cells) of the blocks `of`.
pub fn wanted(cloud: &Cloud, of: &[Key], reach: f32) -> Vec<bool> {
    let mut wanted = vec![false; cloud.keys.len()];
    for key in of {
        for (b, _) in cloud.around(*key, reach) {
            wanted[b] = true;
        }
    }
    wanted
}
