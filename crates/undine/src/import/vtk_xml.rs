//! VTP and VTU: the points of VTK's XML files with their data.

use std::path::Path;

use super::ImportError;
use super::builder::{Builder, Known};
use super::error::wrong_byte;
use super::number::Number;
use super::vtk_data::{self, Place, Style};
use super::xml::{Tag, Tags, find};
use crate::frame::Particles;

/// The data behind the tags.
#[derive(Clone, Copy)]
struct Appended<'a> {
    /// From the first byte behind the underscore.
    bytes: &'a [u8],
    start: usize,
    base64: bool,
}

struct File<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    style: Style,
    appended: Option<Appended<'a>>,
}

/// Which part of a piece the tags are in.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Points,
    PointData,
    Other,
}

/// Reads the points of all pieces.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    // The appended data may hold anything, also what looks like tags: the tags end where it begins.
    let head = find(bytes, 0, b"<AppendedData").unwrap_or(bytes.len());
    let mut tags = Tags::new(path, &bytes[..head]);
    let root = match tags.next()? {
        Some(tag) if tag.name == "VTKFile" => tag,
        Some(tag) => return Err(tags.wrong(tag.start, "<VTKFile>", Some(tag.name))),
        None => return Err(tags.wrong(0, "<VTKFile>", None)),
    };
    let kind = root.attribute("type").unwrap_or("");
    if !matches!(kind, "PolyData" | "UnstructuredGrid") {
        return Err(tags.wrong(root.start, "type PolyData or UnstructuredGrid", Some(kind)));
    }
    let file = File { path, bytes, style: style(&tags, &root)?, appended: appended(path, bytes, head)? };
    let mut all = Builder::default();
    let mut piece: Option<(usize, Builder)> = None;
    let mut section = Section::Other;
    let mut any = false;
    while let Some(tag) = tags.next()? {
        match (tag.name, &mut piece) {
            ("Piece", _) => {
                let found = tag.attribute("NumberOfPoints");
                let count = found
                    .and_then(|n| n.trim().parse().ok())
                    .ok_or_else(|| tags.wrong(tag.start, "a whole NumberOfPoints", found))?;
                any = true;
                piece = (!tag.empty).then(Default::default);
                if let Some((points, _)) = &mut piece {
                    *points = count;
                }
                section = Section::Other;
            }
            ("/Piece", place) => {
                if let Some((_, builder)) = place.take() {
                    all.append(builder);
                }
            }
            ("Points", _) if !tag.empty => section = Section::Points,
            ("PointData", _) if !tag.empty => section = Section::PointData,
            ("/Points" | "/PointData", _) => section = Section::Other,
            ("DataArray", Some((count, builder))) => {
                file.array(&tags, &tag, section, *count, builder)?;
            }
            _ => {}
        }
    }
    if !any {
        return Err(tags.wrong(head, "a <Piece>", None));
    }
    if piece.is_some() {
        return Err(tags.wrong(head, "</Piece>", None));
    }
    all.finish(path)
}

fn style(tags: &Tags<'_>, root: &Tag<'_>) -> Result<Style, ImportError> {
    let big = match root.attribute("byte_order") {
        None | Some("LittleEndian") => false,
        Some("BigEndian") => true,
        other => return Err(tags.wrong(root.start, "a byte_order LittleEndian or BigEndian", other)),
    };
    let head = match root.attribute("header_type") {
        None | Some("UInt32") => Number::U32,
        Some("UInt64") => Number::U64,
        other => return Err(tags.wrong(root.start, "a header_type UInt32 or UInt64", other)),
    };
    let packed = match root.attribute("compressor") {
        None | Some("") => false,
        Some("vtkZLibDataCompressor") => true,
        other => return Err(tags.wrong(root.start, "the compressor vtkZLibDataCompressor or none", other)),
    };
    Ok(Style { big, head, packed })
}

fn appended<'a>(path: &'a Path, bytes: &'a [u8], head: usize) -> Result<Option<Appended<'a>>, ImportError> {
    if head == bytes.len() {
        return Ok(None);
    }
    let mut tags = Tags::new(path, &bytes[head..]);
    let Some(tag) = tags.next()? else { return Ok(None) };
    let wrong =
        |expected: &str, found: &str| wrong_byte(path, head, expected, found.escape_debug().to_string());
    let base64 = match tag.attribute("encoding") {
        Some("raw") => false,
        None | Some("base64") => true,
        Some(other) => return Err(wrong("an encoding raw or base64", other)),
    };
    let Some(mark) = find(bytes, head + tag.end, b"_") else {
        return Err(wrong("an underscore before the data", "the end"));
    };
    Ok(Some(Appended { bytes: &bytes[mark + 1..], start: mark + 1, base64 }))
}

impl<'a> File<'a> {
    /// Reads an array, if it is one that particles have.
    fn array(
        &self,
        tags: &Tags<'a>,
        tag: &Tag<'a>,
        section: Section,
        count: usize,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let components: usize = match tag.attribute("NumberOfComponents") {
            None => 1,
            Some(word) => {
                let parsed = word.trim().parse().ok().filter(|n| *n > 0);
                parsed.ok_or_else(|| tags.wrong(tag.start, "a NumberOfComponents", Some(word)))?
            }
        };
        let known = match section {
            Section::Points if components != 3 => {
                return Err(tags.wrong(
                    tag.start,
                    "points of 3 components",
                    tag.attribute("NumberOfComponents"),
                ));
            }
            Section::Points => None,
            Section::PointData => match Known::of(tag.attribute("Name").unwrap_or(""), components) {
                None => return Ok(()),
                known => known,
            },
            Section::Other => return Ok(()),
        };
        if section == Section::Points && builder.len() > 0 {
            return Err(tags.wrong(tag.start, "one array of points", Some("another")));
        }
        let numbers = count
            .checked_mul(components)
            .ok_or_else(|| tags.wrong(tag.start, "an array that memory can hold", None))?;
        let mut add = |at: &dyn Fn(usize) -> f64| match known {
            None => builder.positions(count, at),
            Some(known) => builder.field(known, count, at),
        };
        if tag.attribute("format").is_none_or(|format| format == "ascii") {
            let values = self.ascii(tags, tag, numbers)?;
            add(&|i| values[i]);
            return Ok(());
        }
        let number = number(tags, tag)?;
        let Some(length) = numbers.checked_mul(number.size()) else {
            return Err(tags.wrong(tag.start, "an array that memory can hold", None));
        };
        let (place, offset) = self.place(tags, tag)?;
        let data = vtk_data::read(place, self.style, length)
            .map_err(|fault| wrong_byte(self.path, offset, fault.expected, fault.found))?;
        add(&|i| number.decode(&data[i * number.size()..], self.style.big));
        Ok(())
    }

    fn ascii(&self, tags: &Tags<'a>, tag: &Tag<'a>, numbers: usize) -> Result<Vec<f64>, ImportError> {
        let text = tags.text(tag.end);
        // A number takes a digit and a space, the last no space.
        if numbers > text.len() / 2 + 1 {
            let found = format!("{} bytes", text.len());
            return Err(tags.wrong(tag.start, format!("{numbers} numbers"), Some(&found)));
        }
        let mut values = Vec::with_capacity(numbers);
        for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            let word = std::str::from_utf8(word).unwrap_or("");
            let number = word.parse().map_err(|_| tags.wrong(tag.end, "numbers", Some(word)))?;
            values.push(number);
        }
        if values.len() != numbers {
            let found = values.len().to_string();
            return Err(tags.wrong(tag.start, format!("{numbers} numbers"), Some(&found)));
        }
        Ok(values)
    }

    /// Where the bytes of an array are, also as a byte of the file.
    fn place(&self, tags: &Tags<'a>, tag: &Tag<'a>) -> Result<(Place<'a>, usize), ImportError> {
        match tag.attribute("format") {
            Some("binary") => Ok((Place::Base64(tags.text(tag.end).trim_ascii_start()), tag.end)),
            Some("appended") => {
                let Some(appended) = self.appended else {
                    return Err(tags.wrong(tag.start, "appended data", None));
                };
                let found = tag.attribute("offset");
                let bytes = found
                    .and_then(|offset| offset.trim().parse::<usize>().ok())
                    .and_then(|offset| Some((offset, appended.bytes.get(offset..)?)));
                let Some((offset, bytes)) = bytes else {
                    return Err(tags.wrong(tag.start, "an offset within the appended data", found));
                };
                let place = if appended.base64 { Place::Base64(bytes) } else { Place::Raw(bytes) };
                Ok((place, (appended.start + offset).min(self.bytes.len())))
            }
            other => Err(tags.wrong(tag.start, "a format ascii, binary or appended", other)),
        }
    }
}

fn number(tags: &Tags<'_>, tag: &Tag<'_>) -> Result<Number, ImportError> {
    Ok(match tag.attribute("type") {
        Some("Int8") => Number::I8,
        Some("UInt8") => Number::U8,
        Some("Int16") => Number::I16,
        Some("UInt16") => Number::U16,
        Some("Int32") => Number::I32,
        Some("UInt32") => Number::U32,
        Some("Int64") => Number::I64,
        Some("UInt64") => Number::U64,
        Some("Float32") => Number::F32,
        Some("Float64") => Number::F64,
        other => return Err(tags.wrong(tag.start, "a type such as Float32", other)),
    })
}
