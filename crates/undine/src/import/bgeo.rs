//! BGEO: Houdini's classic binary geometry, version 5, gzipped or not. See `export/bgeo.rs` for the layout.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::builder::{Builder, Known};
use super::cursor::Cursor;
use super::error::wrong_byte;
use super::number::Number;
use super::{ImportError, builder};
use crate::frame::Particles;

const FLOAT: i64 = 0;
const INT: i64 = 1;
const INDEXED_STRING: i64 = 4;
const VECTOR: i64 = 5;

/// Most point attributes: no file has so many.
const MAX_ATTRIBUTES: usize = 4096;

struct Attribute {
    known: Option<builder::Known>,
    number: Number,
    /// Byte within a point's record.
    offset: usize,
}

/// Reads the points.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    let bytes = unpacked(path, bytes)?;
    let mut cursor = Cursor::new(path, &bytes);
    let magic = cursor.take(5, 1, "the magic of BGEO")?;
    if magic != b"BgeoV" {
        let what = if magic.starts_with(b"\x7fNSJ") { "Houdini's newer JSON geometry" } else { "others" };
        return Err(wrong_byte(path, 0, "\"BgeoV\", classic geometry", what));
    }
    let head = cursor.take(9, 4, "counts")?;
    let count = |k: usize| Number::I32.decode(&head[4 * k..], true) as i64;
    if count(0) != 5 {
        return Err(wrong_byte(path, 5, "version 5", count(0).to_string()));
    }
    let whole = |k: usize, what: &str| {
        usize::try_from(count(k)).map_err(|_| wrong_byte(path, 5 + 4 * k, what, count(k).to_string()))
    };
    let points = whole(1, "a number of points")?;
    let attributes = whole(5, "a number of point attributes")?;
    if attributes > MAX_ATTRIBUTES {
        return Err(wrong_byte(path, 25, "at most 4096 point attributes", attributes.to_string()));
    }
    let mut record = 16;
    let mut list = Vec::new();
    for _ in 0..attributes {
        let length = Number::U16.decode(cursor.take(1, 2, "a name's length")?, true) as usize;
        let name = String::from_utf8_lossy(cursor.take(length, 1, "a name")?);
        let size = Number::U16.decode(cursor.take(1, 2, "a size")?, true) as usize;
        let at = bytes.len() - cursor.remaining();
        let kind = Number::I32.decode(cursor.take(1, 4, "a kind")?, true) as i64;
        let number = match kind {
            FLOAT | VECTOR => Number::F32,
            INT | INDEXED_STRING => Number::I32,
            other => {
                return Err(wrong_byte(path, at, "an attribute of kind 0, 1, 4 or 5", other.to_string()));
            }
        };
        if kind == INDEXED_STRING {
            let strings = Number::U32.decode(cursor.take(1, 4, "a number of strings")?, true) as u64;
            for _ in 0..strings {
                let length = Number::U16.decode(cursor.take(1, 2, "a string's length")?, true) as usize;
                cursor.take(length, 1, "a string")?;
            }
        } else {
            cursor.take(size, 4, "defaults")?;
        }
        let known = if kind == INDEXED_STRING { None } else { Known::of(&name, size) };
        list.push(Attribute { known, number, offset: record });
        record += 4 * size;
    }
    let data = cursor.take(points, record, "points")?;
    let mut builder = Builder::default();
    // Houdini's places are homogeneous, but w is 1 in all files of particles.
    builder.positions(points, |i| Number::F32.decode(&data[i / 3 * record + 4 * (i % 3)..], true));
    for Attribute { known, number, offset } in list {
        let Some(known) = known else { continue };
        let components = if matches!(known, Known::Velocity | Known::Normal) { 3 } else { 1 };
        builder.field(known, points, |i| {
            number.decode(&data[i / components * record + offset + 4 * (i % components)..], true)
        });
    }
    builder.finish(path)
}

/// A gzipped file without its packing. What it says of its size is not used: memory grows with the bytes that come
/// out, about a thousand for each that is there at most.
fn unpacked<'a>(path: &Path, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, ImportError> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut unpacked = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes);
    match decoder.read_to_end(&mut unpacked) {
        Ok(_) => Ok(Cow::Owned(unpacked)),
        Err(error) => {
            Err(wrong_byte(path, bytes.len() - decoder.get_ref().len(), "gzipped data", error.to_string()))
        }
    }
}
