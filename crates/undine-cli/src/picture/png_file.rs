//! Pictures read back from their files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, bail};
use undine::picture::{Image, MAX_EDGE};

/// Reads a PNG as [`Image::save_png`] writes it.
pub fn read(path: &Path) -> Result<Image> {
    let wrong = || format!("cannot read {}", path.display());
    let file = BufReader::new(File::open(path).with_context(wrong)?);
    let mut reader = png::Decoder::new(file).read_info().with_context(wrong)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    if reader.output_color_type() != (png::ColorType::Rgb, png::BitDepth::Eight)
        || width.max(height) > MAX_EDGE
    {
        bail!("{} is not a picture of a run: expected 8-bit RGB", path.display());
    }
    let mut bytes = vec![0; reader.output_buffer_size().with_context(wrong)?];
    reader.next_frame(&mut bytes).with_context(wrong)?;
    let mut image = Image::new(width, height, [0; 3]);
    let (pixels, _) = bytes.as_chunks::<3>();
    for (i, pixel) in pixels.iter().enumerate() {
        image.blend((i % width) as i64, (i / width) as i64, *pixel, 1.0);
    }
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_comes_back_as_it_was_saved() {
        let mut image = Image::new(31, 17, [3, 130, 255]);
        (0..17).for_each(|y| image.blend(2 * y, y, [(15 * y) as u8, 1, 254], 1.0));
        let path = std::env::temp_dir().join(format!("undine-picture-{}.png", std::process::id()));
        image.save_png(&path).unwrap();
        assert_eq!(read(&path).unwrap(), image);
        std::fs::write(&path, "no picture").unwrap();
        assert!(read(&path).is_err());
        std::fs::remove_file(path).unwrap();
    }
}
