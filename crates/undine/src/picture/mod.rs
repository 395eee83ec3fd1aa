//! Pictures without a GPU: a ray tracer for water, particles, walls and volumes.
//!
//! [`render`] takes a [`View`] (a frame, its surface, the scene) and [`Options`] (size, look, camera) and gives an
//! [`Image`]. Every number that looks random follows from the pixel, so a picture is the same for any thread count.

mod camera;
mod cling;
mod color;
mod compose;
pub mod film;
mod font;
mod geometry;
mod ground;
mod image;
mod legend;
mod mesher;
mod optics;
mod pose;
mod random;
mod ray;
mod render;
mod sheet;
mod sky;
mod stage;
#[cfg(test)]
mod tests;
mod tone;
mod trace;
mod tree;
mod volume;

pub use camera::{framing, project};
pub use color::{ColorBy, Scale};
pub use compose::extent;
pub use image::{Image, MAX_EDGE};
pub use ray::Ray;
pub use render::render;
pub use sheet::contact_sheet;
pub use sky::{Dome, Sky};
pub use tree::Bounds;
pub use volume::{DensityGrid, FluidVolume, Medium, Passage, Transfer, fluid_volume};

use std::sync::Arc;

use crate::frame::Frame;
use crate::scene::{Camera, Scene};
use crate::surface::Surface;

/// What is to be seen.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Domain, walls and colours; without it only the frame and the surface are drawn.
    pub scene: Option<&'a Scene>,
    /// Particles, solids and the time.
    pub frame: &'a Frame,
    /// The fluid's surface, for [`Look::Water`] and [`Look::Surface`].
    pub surface: Option<&'a Surface>,
    /// Media without a surface.
    pub volumes: &'a [Arc<dyn Medium>],
}

impl<'a> View<'a> {
    /// A view of a frame alone.
    pub fn new(frame: &'a Frame) -> Self {
        Self { scene: None, frame, surface: None, volumes: &[] }
    }
}

/// How the fluid is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    /// Its surface as clear, tinted water.
    Water,
    /// Its surface as an opaque skin in the colours of a field (speed or fluid).
    Surface(ColorBy),
    /// Its particles.
    Particles {
        /// As what.
        mark: Mark,
        /// In which colours.
        by: ColorBy,
    },
    /// As the media of [`View::volumes`] (see [`fluid_volume`]) and nothing else. One ray a pixel, and more at edges.
    Volume,
}

/// What a particle is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A ball of the particle's spacing.
    Balls,
    /// A disc across the surface normal (Müller 2003); a ball where there is no normal.
    Splats,
}

/// How a picture is taken.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Most rays a pixel. Raising it smooths edges and costs time; even places stop at a quarter of it.
    pub samples: u32,
    /// How the fluid is drawn.
    pub look: Look,
    /// The camera; without one the scene's, and without that one that frames the scene.
    pub camera: Option<Camera>,
    /// Values of the first and last colour; without them from the frame. Films want them fixed.
    pub range: Option<[f32; 2]>,
    /// Whether colours are explained in the picture.
    pub legend: bool,
    /// The light: a sunny day, or even light without shadows.
    pub sky: Dome,
    /// Factor on all light.
    pub exposure: f32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            width: 1280,
            height: 720,
            samples: 16,
            look: Look::Water,
            camera: None,
            range: None,
            legend: true,
            sky: Dome::Day,
            exposure: 1.0,
        }
    }
}
