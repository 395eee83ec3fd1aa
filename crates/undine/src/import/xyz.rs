//! XYZ: raw little-endian f32 triples, as splashsurf reads and writes them, or lines of numbers.

use std::path::Path;

use super::ImportError;
use super::builder::Builder;
use super::error::{wrong_byte, wrong_line};
use super::number::Number;
use crate::frame::Particles;

/// How much of a file is looked at to tell text from numbers, bytes.
const LOOK: usize = 4096;

/// Reads positions.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    let look = &bytes[..bytes.len().min(LOOK)];
    if look.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) {
        read_text(path, bytes)
    } else {
        read_raw(path, bytes)
    }
}

fn read_raw(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    if !bytes.len().is_multiple_of(12) {
        let whole = bytes.len() / 12 * 12;
        return Err(wrong_byte(
            path,
            whole,
            "x, y and z as 12 bytes",
            format!("{} bytes", bytes.len() - whole),
        ));
    }
    let mut builder = Builder::default();
    builder.positions(bytes.len() / 12, |i| Number::F32.decode(&bytes[4 * i..], false));
    builder.finish(path)
}

/// Lines of three numbers or more, the first three being the place; `#` begins a comment, and a first line of words
/// names the columns.
fn read_text(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    let mut numbers: Vec<f32> = Vec::new();
    let mut at = 0;
    let mut first = true;
    for line in bytes.split(|&b| b == b'\n') {
        let start = at;
        at += line.len() + 1;
        let line = line.split(|&b| b == b'#').next().unwrap_or_default().trim_ascii();
        if line.is_empty() {
            continue;
        }
        let separates = |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b';');
        let words = line.split(separates).filter(|word| !word.is_empty());
        let parse = |word: &[u8]| std::str::from_utf8(word).ok().and_then(|w| w.parse::<f32>().ok());
        let mut found = words.map(|word| (word, parse(word))).take(3);
        let place = [found.next(), found.next(), found.next()];
        if let [Some((_, Some(x))), Some((_, Some(y))), Some((_, Some(z)))] = place {
            numbers.extend([x, y, z]);
        } else if !(first && matches!(place[0], Some((_, None)))) {
            return Err(wrong_line(path, bytes, start, "three numbers", Some(line)));
        }
        first = false;
    }
    let mut builder = Builder::default();
    builder.positions(numbers.len() / 3, |i| f64::from(numbers[i]));
    builder.finish(path)
}
