//! Wavefront OBJ: `v` and `f` lines; everything else is left out.

use std::path::Path;

use glam::DVec3;

use super::text::{number, words, wrong};
use super::{MeshError, Soup, push_fan};

/// Whether some line is a corner.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes.split(|&b| b == b'\n').any(|line| words(line).next() == Some(b"v"))
}

/// Reads corners and faces; polygons become fans.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Soup, MeshError> {
    let mut vertices: Vec<DVec3> = Vec::new();
    let mut triangles = Vec::new();
    let mut polygon: Vec<u32> = Vec::new();
    // Faces may name corners of later lines: the highest is checked at the end.
    let mut highest = (0_u32, 0_usize);
    let mut lines = bytes.split(|&b| b == b'\n').enumerate();
    let mut joined = Vec::new();
    while let Some((at, first)) = lines.next() {
        let at = at + 1;
        // A backslash at the end joins the next line.
        let mut line = first;
        if line.trim_ascii_end().ends_with(b"\\") {
            joined.clear();
            while let Some(part) = line.trim_ascii_end().strip_suffix(b"\\") {
                joined.extend_from_slice(part);
                joined.push(b' ');
                line = lines.next().map_or(&[][..], |(_, next)| next);
            }
            joined.extend_from_slice(line);
            line = &joined;
        }
        let line = line.split(|&b| b == b'#').next().unwrap_or_default();
        let mut words = words(line);
        match words.next() {
            Some(b"v") => {
                let mut coordinate = || number(path, at, "three coordinates after \"v\"", words.next());
                vertices.push(DVec3::new(coordinate()?, coordinate()?, coordinate()?));
            }
            Some(b"f") => {
                polygon.clear();
                for word in words {
                    let index = corner(word, vertices.len()).ok_or_else(|| {
                        wrong(
                            path,
                            at,
                            "the number of a corner (from 1, or negative from the last)",
                            Some(word),
                        )
                    })?;
                    if index >= highest.0 {
                        highest = (index, at);
                    }
                    polygon.push(index);
                }
                if polygon.len() < 3 {
                    return Err(wrong(
                        path,
                        at,
                        "at least three corners after \"f\"",
                        Some(line.trim_ascii()),
                    ));
                }
                push_fan(path, &mut triangles, &polygon)?;
            }
            _ => {}
        }
    }
    if !triangles.is_empty() && highest.0 as usize >= vertices.len() {
        let found = (u64::from(highest.0) + 1).to_string();
        let expected = format!("a corner number up to {}", vertices.len());
        return Err(wrong(path, highest.1, &expected, Some(found.as_bytes())));
    }
    Ok((vertices, triangles))
}

/// The corner index (from 0) of `v`, `v/vt`, `v//vn` or `v/vt/vn`, when `count` corners are known so far.
fn corner(word: &[u8], count: usize) -> Option<u32> {
    let first = word.split(|&b| b == b'/').next()?;
    let number: i64 = std::str::from_utf8(first).ok()?.parse().ok()?;
    let index = if number > 0 {
        number - 1
    } else if number < 0 {
        count as i64 + number
    } else {
        -1
    };
    // The highest u32 stays free: it marks "none" further on.
    u32::try_from(index).ok().filter(|&i| i < u32::MAX)
}
