//! The isofunctions: each turns particles into a [`Field`].

mod anisotropic;
mod color_field;
mod eigen;
pub mod marker_count;
mod neighborhood;
mod phi;
mod smoothed;
mod surface_value;
mod volume_fraction;

use super::cloud::{Cloud, Key};
use super::field::Field;
use super::filling::Filling;
use super::options::{Method, Options};
#[cfg(test)]
pub use eigen::eigen;
use neighborhood::FARTHEST_MOVE;

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
    /// Where the fluid has its density at rest.
    pub filling: &'a Filling,
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

/// How far the method's particles are felt, in cells, with what they may stray from their blocks; `spacing` in cells.
pub fn reach(options: &Options, spacing: f32) -> f32 {
    let support = |default: f32| options.support.map_or(default, |s| s as f32) * spacing;
    match options.method {
        Method::ColorField => support(color_field::SUPPORT),
        Method::Phi => support(phi::SUPPORT),
        Method::SurfaceValue => support(surface_value::SUPPORT) / surface_value::LEAST,
        Method::MarkerCount => marker_count::reach(spacing, options.support) as f32 + 1.5,
        Method::VolumeFraction => 0.5 * (support(volume_fraction::EDGE) + spacing),
        Method::Smoothed => support(smoothed::SUPPORT) + FARTHEST_MOVE * spacing,
        Method::Anisotropic => support(anisotropic::SUPPORT) * anisotropic::STRETCH + FARTHEST_MOVE * spacing,
    }
}

/// Whether a particle without neighbours lies inside its own surface: where its volume follows from its density.
pub fn shows_lone_particles(method: Method) -> bool {
    matches!(method, Method::ColorField | Method::Smoothed | Method::Anisotropic)
}

/// The field of the chosen method.
pub fn field(source: &Source) -> Field {
    match source.options.method {
        Method::ColorField => color_field::field(source),
        Method::Phi => phi::field(source),
        Method::SurfaceValue => surface_value::field(source),
        Method::MarkerCount => marker_count::field(source),
        Method::VolumeFraction => volume_fraction::field(source),
        Method::Smoothed => smoothed::field(source),
        Method::Anisotropic => anisotropic::field(source),
    }
}

/// The blocks of the cloud in reach (cells) of the blocks `of`.
pub fn wanted(cloud: &Cloud, of: &[Key], reach: f32) -> Vec<bool> {
    let mut wanted = vec![false; cloud.keys.len()];
    let mut around = Vec::new();
    for key in of {
        cloud.around(*key, reach, &mut around);
        around.iter().for_each(|b| wanted[b.block as usize] = true);
    }
    wanted
}
