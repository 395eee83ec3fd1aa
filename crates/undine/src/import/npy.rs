//! NPY: an N×3 array of numpy, f4 or f8, rows or columns first.

use std::path::Path;

use super::builder::Builder;
use super::error::wrong_byte;
use super::number::Number;
use super::{ImportError, cursor::Cursor};
use crate::frame::Particles;

/// Reads an array of positions.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    let wrong =
        |at, expected: &str, found: &str| wrong_byte(path, at, expected, found.escape_debug().to_string());
    let mut cursor = Cursor::new(path, bytes);
    if cursor.take(1, 6, "the magic of NPY")? != b"\x93NUMPY" {
        return Err(wrong(0, "the magic of NPY", "others"));
    }
    let version = cursor.take(2, 1, "the version")?[0];
    let length = match version {
        1 => Number::U16,
        2 | 3 => Number::U32,
        other => return Err(wrong(6, "version 1, 2 or 3", &other.to_string())),
    };
    let length = length.decode(cursor.take(1, length.size(), "the header's length")?, false) as usize;
    let header = cursor.take(length, 1, "the header")?;
    let header = String::from_utf8_lossy(header);
    let start = bytes.len() - cursor.remaining();

    let value = |key: &str| {
        let after = header.split_once(&format!("'{key}'"))?.1;
        Some(after.trim_start().strip_prefix(':')?.trim_start())
    };
    let descr = value("descr").unwrap_or("");
    let (number, big) = match descr.get(1..4).unwrap_or("") {
        "<f4" => (Number::F32, false),
        "<f8" => (Number::F64, false),
        ">f4" => (Number::F32, true),
        ">f8" => (Number::F64, true),
        other => return Err(wrong(10, "a descr of f4 or f8", other)),
    };
    let fortran = match value("fortran_order") {
        Some(word) if word.starts_with("False") => false,
        Some(word) if word.starts_with("True") => true,
        _ => return Err(wrong(10, "a fortran_order", "none")),
    };
    let shape = value("shape").and_then(|s| Some(s.strip_prefix('(')?.split_once(')')?.0)).unwrap_or("");
    let sizes: Option<Vec<usize>> =
        shape.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.parse().ok()).collect();
    let Some([count, 3]) = sizes.as_deref() else {
        return Err(wrong(10, "a shape of (N, 3)", shape));
    };
    let count = *count;
    let data = cursor.take(count, 3 * number.size(), "positions")?;
    if cursor.remaining() > 0 {
        return Err(wrong(start + data.len(), "the end", &format!("{} more bytes", cursor.remaining())));
    }
    let mut builder = Builder::default();
    let at = |i: usize| number.decode(&data[i * number.size()..], big);
    if fortran {
        builder.positions(count, |i| at(i % 3 * count + i / 3));
    } else {
        builder.positions(count, at);
    }
    builder.finish(path)
}
