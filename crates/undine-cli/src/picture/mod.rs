//! Pictures of frames, for `run --pictures` and `render`: how they are drawn, and what is made of all of them.

pub mod album;
mod film;
mod plots;
mod png_file;

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result};
use undine::frame::Frame;
use undine::picture::{Dome, Image, Look, MAX_EDGE, Options, View, fluid_volume, render};
use undine::scene::{Preset, Scene, Volume};
use undine::surface::Surface;

/// Width and height, pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub [usize; 2]);

impl Default for Size {
    fn default() -> Self {
        Size([1280, 720])
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.0[0], self.0[1])
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let edge = |part: &str| part.trim().parse().ok().filter(|n| (16..=MAX_EDGE).contains(n));
        let (width, height) = text.split_once(['x', 'X', '×']).unwrap_or((text, ""));
        match (edge(width), edge(height)) {
            (Some(width), Some(height)) => Ok(Size([width, height])),
            _ => Err(format!("expected WIDTHxHEIGHT in pixels, each 16 to {MAX_EDGE}, such as 1280x720")),
        }
    }
}

/// How the pictures of a run are drawn.
pub struct Painter {
    /// Width and height.
    pub size: Size,
    /// How the fluid looks.
    pub look: Look,
    /// Values of the first and last colour; without them each picture has its own.
    pub range: Option<[f32; 2]>,
    /// Another look of volumes than the scene's.
    pub preset: Option<Preset>,
}

impl Painter {
    /// As the scene asks for: a volume where it says how, else water.
    pub fn of_scene(scene: &Scene, size: Size) -> Self {
        let look = if scene.volume.is_some() { Look::Volume } else { Look::Water };
        Painter { size, look, range: None, preset: None }
    }

    /// Whether it needs the surface of a frame.
    pub fn needs_surface(&self) -> bool {
        !matches!(self.look, Look::Particles { .. } | Look::Volume)
    }

    /// Draws a frame.
    pub fn draw(&self, scene: &Scene, frame: &Frame, surface: Option<&Surface>) -> Result<Image> {
        let [width, height] = self.size.0;
        let mut options = Options { width, height, look: self.look, range: self.range, ..Options::default() };
        let mut volumes = Vec::new();
        if self.look == Look::Volume {
            let volume = match self.preset {
                Some(preset) => Volume::of_preset(preset),
                None => scene.volume.clone().unwrap_or_default(),
            };
            let built = fluid_volume(Some(scene), frame, &volume);
            volumes.push(built.with_context(|| format!("no volume of frame {}", frame.index))?);
            options.sky = if volume.night { Dome::NIGHT } else { Dome::Day };
        }
        Ok(render(&View { scene: Some(scene), frame, surface, volumes: &volumes }, &options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_reads_back_and_nonsense_is_refused() {
        assert_eq!("640x360".parse::<Size>().unwrap().to_string(), "640x360");
        for wrong in ["", "640", "640x", "15x20", "640x360x2", "16385x20", "-640x360"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
