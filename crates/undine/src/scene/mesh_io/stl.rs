//! STL, binary and text. Equal corners are welded when the mesh is made.

use std::path::Path;

use glam::DVec3;

use super::text::Words;
use super::{MeshError, Soup};
use crate::misread::Misread;

/// Bytes before the triangles of a binary file: a free text, then their number.
const HEADER: usize = 84;
/// Bytes of a triangle: normal, three corners, attribute.
const TRIANGLE: usize = 50;

/// Whether the size is exactly that of a binary file with as many triangles as it says. This decides, for many
/// binary files begin with "solid" too.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    count(bytes).is_some_and(|n| bytes.len() as u64 == HEADER as u64 + TRIANGLE as u64 * u64::from(n))
}

/// Whether the first word is that of a text file.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"))
}

/// Reads a file of either kind.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Soup, MeshError> {
    if !is_binary(bytes) && is_text(bytes) { read_text(path, bytes) } else { read_binary(path, bytes) }
}

fn count(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(..HEADER)?.last_chunk()?))
}

fn read_binary(path: &Path, bytes: &[u8]) -> Result<Soup, MeshError> {
    let wrong =
        |expected: &str, found: String| MeshError::from(Misread::byte(path, HEADER - 4, expected, found));
    let Some(count) = count(bytes) else {
        return Err(wrong(
            "\"solid\" or a binary STL of at least 84 bytes",
            format!("{} bytes", bytes.len()),
        ));
    };
    let body = &bytes[HEADER..];
    if u64::from(count) * TRIANGLE as u64 > body.len() as u64 {
        let fitting = body.len() / TRIANGLE;
        return Err(wrong(&format!("at most the {fitting} triangles that fit the file"), count.to_string()));
    }
    let mut vertices = Vec::with_capacity(3 * count as usize);
    for triangle in body.chunks_exact(TRIANGLE).take(count as usize) {
        let (floats, _) = triangle[12..48].as_chunks::<4>();
        let floats: Vec<f64> = floats.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect();
        vertices.extend(floats.chunks_exact(3).map(DVec3::from_slice));
    }
    Ok(numbered(vertices))
}

fn read_text(path: &Path, bytes: &[u8]) -> Result<Soup, MeshError> {
    let mut words = Words::new(path, bytes, 1);
    let mut vertices = Vec::new();
    words.keyword("solid")?;
    words.skip_line();
    loop {
        match words.next() {
            None => break,
            Some(word) if word.eq_ignore_ascii_case(b"facet") => {
                words.keyword("normal")?;
                for _ in 0..3 {
                    // Left out: normals follow from the corners, and many files have none worth reading.
                    words.next();
                }
                words.keyword("outer")?;
                words.keyword("loop")?;
                for _ in 0..3 {
                    words.keyword("vertex")?;
                    let mut coordinate = || words.number("three coordinates after \"vertex\"");
                    vertices.push(DVec3::new(coordinate()?, coordinate()?, coordinate()?));
                }
                words.keyword("endloop")?;
                words.keyword("endfacet")?;
            }
            // Both carry a free name. A file may hold several solids.
            Some(word) if word.eq_ignore_ascii_case(b"endsolid") || word.eq_ignore_ascii_case(b"solid") => {
                words.skip_line();
            }
            found => return Err(words.wrong("\"facet\" or \"endsolid\"", found)),
        }
    }
    Ok(numbered(vertices))
}

/// Every three corners are a triangle.
fn numbered(vertices: Vec<DVec3>) -> Soup {
    let triangles = (0..vertices.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    (vertices, triangles)
}
