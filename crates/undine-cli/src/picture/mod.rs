//! Pictures of frames, for `run --pictures` and `render`: how they are drawn, and what is made of all of them.

pub mod album;
mod film;
mod plots;
mod png_file;

use std::fmt;
use std::str::FromStr;

use undine::frame::Frame;
use undine::picture::{Image, Look, MAX_EDGE, Options, View, render};
use undine::scene::Scene;
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
}

impl Painter {
    /// Water of that size.
    pub fn water(size: Size) -> Self {
        Painter { size, look: Look::Water, range: None }
    }

    /// Whether it needs the surface of a frame.
    pub fn needs_surface(&self) -> bool {
        !matches!(self.look, Look::Particles { .. })
    }

    /// Draws a frame.
    pub fn draw(&self, scene: &Scene, frame: &Frame, surface: Option<&Surface>) -> Image {
        let [width, height] = self.size.0;
        let options = Options { width, height, look: self.look, range: self.range, ..Options::default() };
        render(&View { scene: Some(scene), frame, surface, volumes: &[] }, &options)
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
