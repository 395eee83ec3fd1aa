//! The header of a PLY file.

use std::io::{self, BufRead};

use super::{PlyError, Values};

/// Longest header line, bytes.
const MAX_LINE: usize = 4096;
/// Most header lines.
const MAX_LINES: usize = 10_000;
/// Most properties of an element.
const MAX_PROPERTIES: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    Text,
    Little,
    Big,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Kind {
    fn of(name: &str) -> Option<Kind> {
        Some(match name {
            "char" | "int8" => Kind::I8,
            "uchar" | "uint8" => Kind::U8,
            "short" | "int16" => Kind::I16,
            "ushort" | "uint16" => Kind::U16,
            "int" | "int32" => Kind::I32,
            "uint" | "uint32" => Kind::U32,
            "float" | "float32" => Kind::F32,
            "double" | "float64" => Kind::F64,
            _ => return None,
        })
    }

    pub(super) fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    pub(super) fn column(self) -> Values {
        match self {
            Kind::F32 => Values::F32(Vec::new()),
            Kind::F64 => Values::F64(Vec::new()),
            Kind::U8 => Values::U8(Vec::new()),
            Kind::U32 => Values::U32(Vec::new()),
            Kind::I8 | Kind::I16 | Kind::U16 | Kind::I32 => Values::I32(Vec::new()),
        }
    }
}

#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Of a list, the kind of its length.
    pub(super) length: Option<Kind>,
}

#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) properties: Vec<Property>,
}

#[derive(Debug)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    pub(super) comments: Vec<String>,
    pub(super) elements: Vec<Element>,
}

/// A line without its end; `None` at the end of the file. At most [`MAX_LINE`] bytes.
fn read_line(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut limited = io::Read::take(input, MAX_LINE as u64);
    limited.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    while line.last().is_some_and(|&b| b == b'\n' || b == b'\r') {
        line.pop();
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

pub(super) fn read_header(input: &mut dyn BufRead) -> Result<Header, PlyError> {
    if read_line(input)?.as_deref() != Some("ply") {
        return Err(PlyError::NotPly);
    }
    let mut encoding = None;
    let mut comments = Vec::new();
    let mut elements: Vec<Element> = Vec::new();
    for line in 2..MAX_LINES {
        let wrong = |what: &str| PlyError::Header { line, what: what.to_owned() };
        let text = read_line(input)?.ok_or_else(|| wrong("the file ends"))?;
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["format", name, _version] => {
                encoding = Some(match *name {
                    "ascii" => Encoding::Text,
                    "binary_little_endian" => Encoding::Little,
                    "binary_big_endian" => Encoding::Big,
                    _ => return Err(wrong("unknown format")),
                });
            }
            ["comment", ..] => comments.push(text["comment".len()..].trim().to_owned()),
            ["obj_info", ..] | [] => {}
            ["element", name, count] => {
                let count = count.parse().map_err(|_| wrong("the count is not a whole number"))?;
                elements.push(Element { name: (*name).to_owned(), count, properties: Vec::new() });
            }
            ["property", rest @ ..] => {
                let (name, kind, length) = match rest {
                    ["list", length, kind, name] => (name, kind, Some(length)),
                    [kind, name] => (name, kind, None),
                    _ => return Err(wrong("a property needs a type and a name")),
                };
                let known = |name: &str| Kind::of(name).ok_or_else(|| wrong("unknown type"));
                let length = length.map(|l| known(l)).transpose()?;
                if matches!(length, Some(Kind::F32 | Kind::F64)) {
                    return Err(wrong("the length of a list is not a whole number"));
                }
                let property = Property { name: (*name).to_owned(), kind: known(kind)?, length };
                let element = elements.last_mut().ok_or_else(|| wrong("a property before any element"))?;
                if element.properties.iter().any(|p| p.name == property.name) {
                    return Err(wrong("a property of that name is already there"));
                }
                if element.properties.len() == MAX_PROPERTIES {
                    return Err(wrong("too many properties"));
                }
                element.properties.push(property);
            }
            ["end_header"] => {
                let encoding = encoding.ok_or_else(|| wrong("no format line"))?;
                return Ok(Header { encoding, comments, elements });
            }
            _ => return Err(wrong("unknown line")),
        }
    }
    Err(PlyError::Header { line: MAX_LINES, what: "too many lines".to_owned() })
}
