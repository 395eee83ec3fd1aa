//! A picture laid on the floor of the domain, seen through the fluid.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use super::build_shape::ShapeBuilder;
use super::read::Reader;

/// Largest picture, pixels.
const MOST_PIXELS: usize = 1 << 26;

/// A picture on the floor, its upper edge at the far end (-z).
#[derive(Clone, Debug, PartialEq)]
pub struct Backdrop {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// sRGB, row by row from the top.
    pub pixels: Arc<Vec<[u8; 3]>>,
}

impl Backdrop {
    /// Reads a PNG file.
    pub fn load(path: &Path) -> Result<Self, String> {
        let bytes =
            std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Self::decode(bytes).map_err(|reason| format!("{}: {reason}", path.display()))
    }

    /// A PNG file's bytes.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, String> {
        let mut decoder = png::Decoder::new(Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
        let (width, height) = (reader.info().width as usize, reader.info().height as usize);
        let size = reader.output_buffer_size().filter(|_| width.saturating_mul(height) <= MOST_PIXELS);
        let Some(size) = size else { return Err(format!("{width} × {height} pixels are too many")) };
        let mut data = vec![0; size];
        let info = reader.next_frame(&mut data).map_err(|error| error.to_string())?;
        let channels = info.color_type.samples();
        let color = |pixel: &[u8]| match pixel {
            [r, g, b, ..] => [*r, *g, *b],
            [gray, ..] => [*gray; 3],
            [] => [0; 3],
        };
        let pixels: Vec<_> = data[..info.buffer_size()].chunks_exact(channels).map(color).collect();
        if width == 0 || height == 0 || pixels.len() != width * height {
            return Err("the picture is not complete".into());
        }
        Ok(Backdrop { width, height, pixels: Arc::new(pixels) })
    }

    /// A face in a few flat colours: whoever stands before the screen, where there is no camera.
    pub fn face() -> Self {
        let (width, height) = (480, 340);
        let at = |x: usize, y: usize| -> [u8; 3] {
            let (x, y) = ((x as f32 + 0.5 - 240.0) / 170.0, (y as f32 + 0.5 - 170.0) / 170.0);
            let ball =
                |cx: f32, cy: f32, rx: f32, ry: f32| ((x - cx) / rx).powi(2) + ((y - cy) / ry).powi(2) < 1.0;
            let side = x.abs();
            let eye = |rx: f32, ry: f32| ((side - 0.27) / rx).powi(2) + ((y + 0.1) / ry).powi(2) < 1.0;
            if eye(0.045, 0.05) {
                [30, 26, 30]
            } else if eye(0.11, 0.065) {
                [245, 242, 236]
            } else if ((side - 0.27) / 0.17).powi(2) + ((y + 0.27) / 0.035).powi(2) < 1.0 {
                [70, 40, 24]
            } else if ball(0.0, 0.42, 0.24, 0.07) && y > 0.4 {
                [178, 62, 62]
            } else if ball(0.0, 0.14, 0.075, 0.13) {
                [222, 158, 122]
            } else if ball(0.0, 0.02, 0.56, 0.74) && y > -0.42 + 0.3 * x * x {
                [240, 190, 152]
            } else if ball(0.0, -0.12, 0.66, 0.8) && y < 0.35 {
                [92, 54, 30]
            } else if ball(0.0, 1.25, 0.95, 0.62) || (side < 0.2 && y > 0.4) {
                [176, 44, 48]
            } else if ((x * 6.0).floor() + (y * 6.0).floor()).rem_euclid(2.0) < 1.0 {
                [62, 120, 132]
            } else {
                [84, 146, 154]
            }
        };
        let pixels = (0..width * height).map(|i| at(i % width, i / width)).collect();
        Backdrop { width, height, pixels: Arc::new(pixels) }
    }

    /// The four pixels around a place (0..1 from the left and from the top) and their shares.
    pub fn around(&self, u: f32, v: f32) -> [([u8; 3], f32); 4] {
        let (x, y) = (u * self.width as f32 - 0.5, v * self.height as f32 - 0.5);
        let (fx, fy) = (x - x.floor(), y - y.floor());
        let at = |i: f32, j: f32| {
            let i = (x.floor() + i).clamp(0.0, self.width as f32 - 1.0) as usize;
            let j = (y.floor() + j).clamp(0.0, self.height as f32 - 1.0) as usize;
            self.pixels[j * self.width + i]
        };
        [
            (at(0.0, 0.0), (1.0 - fx) * (1.0 - fy)),
            (at(1.0, 0.0), fx * (1.0 - fy)),
            (at(0.0, 1.0), (1.0 - fx) * fy),
            (at(1.0, 1.0), fx * fy),
        ]
    }
}

/// Reads `[backdrop]`.
pub fn build_backdrop(backdrop: &Reader, has_floor: bool, shapes: &ShapeBuilder) -> Option<Backdrop> {
    let picture = if backdrop.has("file") {
        shapes.files.backdrop(&shapes.resolve(backdrop.text("file")))
    } else {
        Ok(Backdrop::face())
    };
    let key = if backdrop.has("file") { "file" } else { "make" };
    if !has_floor {
        backdrop.fail(
            key,
            "a backdrop needs a floor to lie on".into(),
            "a `[domain]` with its side -y closed",
        );
    }
    picture.map_err(|reason| backdrop.fail(key, reason, "a PNG picture")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_is_read_back_and_anything_else_is_an_error() {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[10, 20, 30, 250, 240, 230]).unwrap();
        writer.finish().unwrap();
        let picture = Backdrop::decode(bytes.clone()).unwrap();
        assert_eq!((picture.width, picture.height), (2, 1));
        assert_eq!(*picture.pixels, [[10, 20, 30], [250, 240, 230]]);
        for end in 0..bytes.len() - 12 {
            assert!(Backdrop::decode(bytes[..end].to_vec()).is_err(), "{end}");
        }
        assert!(Backdrop::load(Path::new("/no such file.png")).is_err());
    }

    #[test]
    fn shares_of_pixels_add_up_to_one_and_reach_to_the_edges() {
        let face = Backdrop::face();
        for (u, v) in [(0.0, 0.0), (1.0, 1.0), (0.31, 0.77), (0.5, 0.999)] {
            let sum: f32 = face.around(u, v).iter().map(|p| p.1).sum();
            assert!((sum - 1.0).abs() < 1e-5);
        }
        assert_eq!(face.around(0.0, 0.0)[3].0, face.pixels[0]);
    }
}
