//! The header of a PLY file.

use std::io::{self, BufRead};

use super::PlyError;
use crate::ply_number::{Encoding, Number};

/// Longest header line, bytes.
const MAX_LINE: usize = 4096;
/// Most header lines.
const MAX_LINES: usize = 10_000;
/// Most properties of an element.
const MAX_PROPERTIES: usize = 256;

#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) kind: Number,
    /// Of a list, the kind of its length.
    pub(super) length: Option<Number>,
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
                encoding = Some(Encoding::of(name.as_bytes()).ok_or_else(|| wrong("unknown format"))?);
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
                let known = |name: &str| Number::of(name.as_bytes()).ok_or_else(|| wrong("unknown type"));
                let length = length.map(|l| known(l)).transpose()?;
                if matches!(length, Some(Number::F32 | Number::F64)) {
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
