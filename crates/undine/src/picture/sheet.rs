//! A contact sheet: many small pictures of a run on one page, each with its time.

use super::font;
use super::image::{Image, MAX_EDGE};

/// Lays pictures out in rows, each `width` pixels wide, with labels below. Pictures keep their shape; the tallest
/// sets the height of all rows.
pub fn contact_sheet(pictures: &[(Image, String)], columns: usize, width: usize) -> Image {
    const GAP: usize = 8;
    let columns = columns.clamp(1, pictures.len().max(1));
    let width = width.clamp(16, (MAX_EDGE / columns).saturating_sub(GAP).max(16));
    let height_of = |image: &Image| (image.height() * width / image.width()).clamp(1, MAX_EDGE / 2);
    let tallest = pictures.iter().map(|(p, _)| height_of(p)).max().unwrap_or(width);
    let dot = (width / 200).max(1);
    let label = (font::HEIGHT + 5) * dot;
    let rows = pictures.len().div_ceil(columns);
    let (step_x, step_y) = (width + GAP, tallest + label + GAP);
    let mut sheet = Image::new(GAP + columns * step_x, GAP + rows * step_y, [24, 27, 32]);
    for (i, (picture, text)) in pictures.iter().enumerate() {
        let (x, y) = (GAP + i % columns * step_x, GAP + i / columns * step_y);
        sheet.paste(&picture.resized(width, height_of(picture)), x, y);
        font::draw(&mut sheet, text, x as i64, (y + tallest + 3 * dot) as i64, dot, [225, 228, 232]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_holds_every_picture_in_its_place() {
        let pictures: Vec<_> =
            (0..5u8).map(|i| (Image::new(64, 36, [40 * i, 10, 10]), format!("{i} s"))).collect();
        let sheet = contact_sheet(&pictures, 3, 32);
        assert_eq!(sheet.get(8 + 16, 8 + 9), Some([0, 10, 10]));
        assert_eq!(sheet.get(8 + 40 + 16, 8 + 9), Some([40, 10, 10]));
        assert_eq!(sheet.get(8 + 40 + 16, 8 + 18 + 12 + 8 + 9), Some([160, 10, 10]));
    }

    #[test]
    fn no_pictures_make_a_small_empty_sheet() {
        let sheet = contact_sheet(&[], 4, 320);
        assert!(sheet.width() < 1000 && sheet.height() < 100);
    }
}
