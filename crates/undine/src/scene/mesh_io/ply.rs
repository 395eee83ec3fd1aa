//! PLY: text, and binary of either byte order.

use std::path::Path;

use glam::DVec3;

use super::text::{Words, words, wrong};
use super::{MeshError, Soup, push_fan};
use crate::misread::Misread;
use crate::ply_number::{Encoding, Number};

#[derive(Debug)]
struct Property {
    name: Vec<u8>,
    kind: Number,
    /// The type of a list's length.
    list: Option<Number>,
}

#[derive(Debug)]
struct Element {
    name: Vec<u8>,
    count: u64,
    properties: Vec<Property>,
    line: usize,
}

/// The body of a file, number by number. All types fit f64 exactly.
enum Numbers<'a> {
    Text(Words<'a>),
    Binary { path: &'a Path, bytes: &'a [u8], at: usize, big: bool },
}

impl Numbers<'_> {
    fn next(&mut self, kind: Number, what: &[u8]) -> Result<f64, MeshError> {
        let expected = || format!("a number for \"{}\"", String::from_utf8_lossy(what).escape_debug());
        match self {
            Self::Text(words) => {
                let word = words.next();
                word.and_then(|w| std::str::from_utf8(w).ok())
                    .and_then(|w| w.parse().ok())
                    .ok_or_else(|| words.wrong(&expected(), word))
            }
            Self::Binary { path, bytes, at, big } => {
                let size = kind.size();
                let Some(field) = bytes.get(*at..*at + size) else {
                    return Err(Misread::byte(path, *at, expected(), "the end").into());
                };
                let mut number = [0; 8];
                number[..size].copy_from_slice(field);
                if *big {
                    number[..size].reverse();
                }
                *at += size;
                Ok(kind.decode(number))
            }
        }
    }

    fn remaining(&self) -> usize {
        match self {
            Self::Text(words) => words.remaining(),
            Self::Binary { bytes, at, .. } => bytes.len() - at,
        }
    }

    /// The length of a list, at most what the bytes that are left can hold.
    fn length(&mut self, kind: Number, of: Number, what: &[u8]) -> Result<usize, MeshError> {
        let length = self.next(kind, what)?;
        let item = if matches!(self, Self::Text(_)) { 1 } else { of.size() };
        if length >= 0.0 && length.fract() == 0.0 && length * item as f64 <= self.remaining() as f64 {
            Ok(length as usize)
        } else {
            Err(self.wrong("a list length that the file can hold", length))
        }
    }

    /// The error about a number just read.
    fn wrong(&self, expected: &str, found: f64) -> MeshError {
        match self {
            Self::Text(words) => words.wrong(expected, Some(found.to_string().as_bytes())),
            Self::Binary { path, at, .. } => Misread::byte(path, *at, expected, found.to_string()).into(),
        }
    }
}

/// Reads the elements `vertex` (x, y, z) and `face` (`vertex_indices` or `vertex_index`); others are passed over.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Soup, MeshError> {
    let (format, elements, body, line) = header(path, bytes)?;
    let mut numbers = match format {
        Encoding::Text => Numbers::Text(Words::new(path, &bytes[body..], line)),
        Encoding::Little | Encoding::Big => {
            Numbers::Binary { path, bytes, at: body, big: format == Encoding::Big }
        }
    };
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for element in &elements {
        // A text number takes a digit and a space, the last no space.
        let least: usize = element
            .properties
            .iter()
            .map(|p| if format == Encoding::Text { 2 } else { p.list.unwrap_or(p.kind).size() })
            .sum();
        if u128::from(element.count) * least as u128 > numbers.remaining() as u128 + 1 {
            let expected = "a count that the file can hold";
            return Err(wrong(path, element.line, expected, Some(element.count.to_string().as_bytes())));
        }
        match element.name.as_slice() {
            // Without properties an element has no bytes, whatever its count.
            _ if element.properties.is_empty() => {}
            b"vertex" => read_vertices(path, element, &mut numbers, &mut vertices)?,
            b"face" => read_faces(path, element, &mut numbers, &mut triangles)?,
            _ => {
                for _ in 0..element.count {
                    element.properties.iter().try_for_each(|p| skip(&mut numbers, p))?;
                }
            }
        }
    }
    Ok((vertices, triangles))
}

fn read_vertices(
    path: &Path,
    element: &Element,
    numbers: &mut Numbers<'_>,
    vertices: &mut Vec<DVec3>,
) -> Result<(), MeshError> {
    let axis = |p: &Property| match (p.name.as_slice(), p.list) {
        (b"x", None) => Some(0),
        (b"y", None) => Some(1),
        (b"z", None) => Some(2),
        _ => None,
    };
    if (0..3).any(|k| !element.properties.iter().any(|p| axis(p) == Some(k))) {
        return Err(wrong(path, element.line, "properties x, y and z of \"vertex\"", Some(b"others")));
    }
    vertices.reserve(element.count as usize);
    for _ in 0..element.count {
        let mut position = DVec3::ZERO;
        for property in &element.properties {
            match axis(property) {
                Some(axis) => position[axis] = numbers.next(property.kind, &property.name)?,
                None => skip(numbers, property)?,
            }
        }
        vertices.push(position);
    }
    Ok(())
}

fn read_faces(
    path: &Path,
    element: &Element,
    numbers: &mut Numbers<'_>,
    triangles: &mut Vec<[u32; 3]>,
) -> Result<(), MeshError> {
    let is_corners =
        |p: &Property| p.list.is_some() && matches!(p.name.as_slice(), b"vertex_indices" | b"vertex_index");
    if !element.properties.iter().any(is_corners) {
        return Err(wrong(path, element.line, "a list \"vertex_indices\" of \"face\"", Some(b"none")));
    }
    let mut polygon = Vec::new();
    for _ in 0..element.count {
        for property in &element.properties {
            let Some(length) = property.list.filter(|_| is_corners(property)) else {
                skip(numbers, property)?;
                continue;
            };
            polygon.clear();
            for _ in 0..numbers.length(length, property.kind, &property.name)? {
                let index = numbers.next(property.kind, &property.name)?;
                if !(index >= 0.0 && index < f64::from(u32::MAX) && index.fract() == 0.0) {
                    return Err(numbers.wrong("the index of a vertex", index));
                }
                polygon.push(index as u32);
            }
            push_fan(path, triangles, &polygon)?;
        }
    }
    Ok(())
}

/// Passes over a property.
fn skip(numbers: &mut Numbers<'_>, property: &Property) -> Result<(), MeshError> {
    let count = match property.list {
        None => 1,
        Some(length) => numbers.length(length, property.kind, &property.name)?,
    };
    for _ in 0..count {
        numbers.next(property.kind, &property.name)?;
    }
    Ok(())
}

/// Format, elements, and where the body starts (byte and line).
fn header(path: &Path, bytes: &[u8]) -> Result<(Encoding, Vec<Element>, usize, usize), MeshError> {
    let mut format = None;
    let mut elements: Vec<Element> = Vec::new();
    let mut at = 0;
    let mut line = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len() - at, |n| n + 1);
        let text = bytes[at..at + length].trim_ascii();
        at += length;
        line += 1;
        let mut words = words(text);
        let first = words.next();
        if line == 1 {
            if first != Some(b"ply") {
                return Err(wrong(path, line, "\"ply\"", Some(text)));
            }
            continue;
        }
        match first {
            None | Some(b"comment" | b"obj_info") => {}
            Some(b"format") => {
                let found = words.next();
                let expected = "\"ascii\", \"binary_little_endian\" or \"binary_big_endian\"";
                format =
                    Some(found.and_then(Encoding::of).ok_or_else(|| wrong(path, line, expected, found))?);
            }
            Some(b"element") => {
                let name = words.next().ok_or_else(|| wrong(path, line, "the name of an element", None))?;
                let found = words.next();
                let count = found
                    .and_then(|w| std::str::from_utf8(w).ok()?.parse().ok())
                    .ok_or_else(|| wrong(path, line, "the count of an element", found))?;
                elements.push(Element { name: name.to_vec(), count, properties: Vec::new(), line });
            }
            Some(b"property") => {
                let Some(element) = elements.last_mut() else {
                    return Err(wrong(path, line, "\"element\" before \"property\"", first));
                };
                let kind = |word: Option<&[u8]>| {
                    word.and_then(Number::of).ok_or_else(|| wrong(path, line, "a number type", word))
                };
                let mut word = words.next();
                let mut list = None;
                if word == Some(b"list") {
                    list = Some(kind(words.next())?);
                    word = words.next();
                }
                let kind = kind(word)?;
                let name = words.next().ok_or_else(|| wrong(path, line, "the name of a property", None))?;
                element.properties.push(Property { name: name.to_vec(), kind, list });
            }
            Some(b"end_header") => {
                let format = format.ok_or_else(|| wrong(path, line, "\"format\" before the end", first))?;
                return Ok((format, elements, at, line + 1));
            }
            Some(_) => return Err(wrong(path, line, "\"element\", \"property\" or \"end_header\"", first)),
        }
    }
    Err(wrong(path, line.max(1), "\"end_header\"", None))
}
