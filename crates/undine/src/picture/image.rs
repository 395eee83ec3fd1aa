//! Pictures as bytes, and PNG files.

use std::io::{self, Write};
use std::path::Path;

use crate::atomic::{AtomicFile, Durability, OutputError};

/// Most pixels along one edge.
pub const MAX_EDGE: usize = 16_384;

/// An sRGB picture, 8 bits a channel, rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Image {
    /// A picture of one colour; edges are held within 1..=[`MAX_EDGE`].
    pub fn new(width: usize, height: usize, color: [u8; 3]) -> Self {
        let (width, height) = (width.clamp(1, MAX_EDGE), height.clamp(1, MAX_EDGE));
        Self { width, height, pixels: vec![color; width * height] }
    }

    /// Pixels across.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels down.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The pixels, row by row from the top.
    pub fn pixels(&self) -> &[[u8; 3]] {
        &self.pixels
    }

    pub(super) fn pixels_mut(&mut self) -> &mut [[u8; 3]] {
        &mut self.pixels
    }

    /// The bytes, three a pixel.
    pub fn bytes(&self) -> &[u8] {
        self.pixels.as_flattened()
    }

    /// A pixel; `None` outside.
    pub fn get(&self, x: usize, y: usize) -> Option<[u8; 3]> {
        (x < self.width && y < self.height).then(|| self.pixels[y * self.width + x])
    }

    /// Lays `color` over a pixel with `share` 0..1; nothing outside the picture.
    pub fn blend(&mut self, x: i64, y: i64, color: [u8; 3], share: f32) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let pixel = &mut self.pixels[y as usize * self.width + x as usize];
        for (old, new) in pixel.iter_mut().zip(color) {
            *old = (*old as f32 + share.clamp(0.0, 1.0) * (new as f32 - *old as f32) + 0.5) as u8;
        }
    }

    /// Copies `other` with its upper left corner at (x, y), cut to this picture.
    pub fn paste(&mut self, other: &Image, x: usize, y: usize) {
        let columns = other.width.min(self.width.saturating_sub(x));
        for row in 0..other.height.min(self.height.saturating_sub(y)) {
            let to = (y + row) * self.width + x;
            let from = row * other.width;
            self.pixels[to..to + columns].copy_from_slice(&other.pixels[from..from + columns]);
        }
    }

    /// The picture made smaller (or larger) by averaging areas, in linear light.
    #[must_use]
    pub fn resized(&self, width: usize, height: usize) -> Image {
        let mut out = Image::new(width, height, [0; 3]);
        let (w, h) = (out.width, out.height);
        let (sx, sy) = (self.width as f32 / w as f32, self.height as f32 / h as f32);
        for y in 0..h {
            let (y0, y1) = (y as f32 * sy, (y + 1) as f32 * sy);
            for x in 0..w {
                let (x0, x1) = (x as f32 * sx, (x + 1) as f32 * sx);
                let (mut sum, mut total) = ([0f32; 3], 0f32);
                for j in y0 as usize..(y1.ceil() as usize).min(self.height) {
                    let b = (y1.min(j as f32 + 1.0) - y0.max(j as f32)).max(0.0);
                    for i in x0 as usize..(x1.ceil() as usize).min(self.width) {
                        let share = b * (x1.min(i as f32 + 1.0) - x0.max(i as f32)).max(0.0);
                        let p = self.pixels[j * self.width + i];
                        (0..3).for_each(|k| sum[k] += share * super::tone::linear(p[k]));
                        total += share;
                    }
                }
                out.pixels[y * w + x] = sum.map(|s| super::tone::srgb(s / total.max(1e-20)));
            }
        }
        out
    }

    /// The picture as a PNG file in memory.
    pub fn to_png(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out)
            .expect("a vector takes all bytes, and the header fits the data by construction");
        out
    }

    /// Writes a PNG.
    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut encoder = png_encoder(out, self.width, self.height);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        let mut writer = encoder.write_header().map_err(png_error)?;
        writer.write_image_data(self.bytes()).map_err(png_error)?;
        writer.finish().map_err(png_error)
    }

    /// Writes a PNG file; it appears under its name only when complete.
    pub fn save_png(&self, path: &Path) -> Result<(), OutputError> {
        AtomicFile::write_with(path, Durability::Process, |file| self.encode(file))
    }
}

pub(super) fn png_encoder<W: Write>(out: W, width: usize, height: usize) -> png::Encoder<'static, W> {
    let mut encoder = png::Encoder::new(out, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder
}

pub(super) fn png_error(error: png::EncodingError) -> io::Error {
    match error {
        png::EncodingError::IoError(e) => e,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_gives_back_the_very_pixels() {
        let mut image = Image::new(37, 23, [0; 3]);
        for (i, p) in image.pixels_mut().iter_mut().enumerate() {
            *p = [(i * 7) as u8, ((i * 13) >> 2) as u8, (i ^ 0x5a) as u8];
        }
        let png = image.to_png();
        let mut reader = png::Decoder::new(io::Cursor::new(&png)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), (37, 23));
        assert_eq!(&bytes[..info.buffer_size()], image.bytes());
    }

    #[test]
    fn a_picture_has_at_least_one_pixel_and_a_bounded_size() {
        assert_eq!(Image::new(0, 0, [9; 3]).pixels(), [[9; 3]]);
        assert_eq!(Image::new(usize::MAX, 1, [0; 3]).width(), MAX_EDGE);
    }

    #[test]
    fn resizing_keeps_an_even_colour_and_blends_halves() {
        assert!(Image::new(31, 17, [80, 90, 100]).resized(8, 5).pixels().iter().all(|p| *p == [80, 90, 100]));
        let mut two = Image::new(2, 1, [0; 3]);
        two.pixels_mut()[1] = [255; 3];
        // Half the light, not half the byte.
        assert_eq!(two.resized(1, 1).pixels(), [[188; 3]]);
    }

    #[test]
    fn pasting_and_blending_beyond_the_edge_is_cut() {
        let mut image = Image::new(4, 4, [0; 3]);
        image.paste(&Image::new(3, 3, [5; 3]), 2, 3);
        assert_eq!(image.get(3, 3), Some([5; 3]));
        image.blend(-1, 2, [255; 3], 1.0);
        image.blend(9, 2, [255; 3], 1.0);
        assert_eq!(image.get(0, 2), Some([0; 3]));
        image.paste(&Image::new(3, 3, [5; 3]), 9, 9);
    }
}
