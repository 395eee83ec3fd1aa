//! The little of XML that VTK's files need: tags with attributes, and the text behind a tag.

use std::path::Path;

use super::ImportError;
use super::error::wrong_line;

/// Most attributes of a tag.
const MAX_ATTRIBUTES: usize = 64;

/// A tag.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    /// Its name; begins with `/` where it ends an element.
    pub(super) name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    /// Whether it ends itself: `<a/>`.
    pub(super) empty: bool,
    /// Where the text behind it begins.
    pub(super) end: usize,
    /// Where it begins.
    pub(super) start: usize,
}

impl<'a> Tag<'a> {
    /// An attribute as it is written: none of those that VTK uses needs unescaping.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
    }
}

/// The tags of a file.
#[derive(Debug)]
pub(super) struct Tags<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tags<'a> {
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Tags { path, bytes, at: 0 }
    }

    /// The error at a place.
    pub(super) fn wrong(&self, at: usize, expected: impl Into<String>, found: Option<&str>) -> ImportError {
        wrong_line(self.path, self.bytes, at, expected, found.map(str::as_bytes))
    }

    /// The text from a place to the next tag.
    pub(super) fn text(&self, from: usize) -> &'a [u8] {
        let rest = &self.bytes[from..];
        &rest[..rest.iter().position(|&b| b == b'<').unwrap_or(rest.len())]
    }

    /// The next tag; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Tag<'a>>, ImportError> {
        loop {
            let Some(start) = find(self.bytes, self.at, b"<") else {
                return Ok(None);
            };
            let rest = &self.bytes[start..];
            let skipped = if rest.starts_with(b"<!--") {
                Some(b"-->".as_slice())
            } else if rest.starts_with(b"<?") {
                Some(b"?>".as_slice())
            } else if rest.starts_with(b"<!") {
                Some(b">".as_slice())
            } else {
                None
            };
            if let Some(end) = skipped {
                let Some(at) = find(self.bytes, start, end) else {
                    return Err(self.wrong(start, "the end of a comment", None));
                };
                self.at = at + end.len();
                continue;
            }
            return self.tag(start).map(Some);
        }
    }

    fn tag(&mut self, start: usize) -> Result<Tag<'a>, ImportError> {
        // A `>` within quotes does not end the tag.
        let mut quote = None;
        let end = self.bytes[start..].iter().position(|&b| {
            match quote {
                Some(q) if b == q => quote = None,
                None if b == b'"' || b == b'\'' => quote = Some(b),
                _ => {}
            }
            quote.is_none() && b == b'>'
        });
        let Some(end) = end.map(|length| start + length) else {
            return Err(self.wrong(start, "the end of a tag", None));
        };
        self.at = end + 1;
        let Ok(mut rest) = std::str::from_utf8(&self.bytes[start + 1..end]) else {
            return Err(self.wrong(start, "a tag of UTF-8", Some("others")));
        };
        let empty = rest.ends_with('/');
        rest = rest.strip_suffix('/').unwrap_or(rest).trim();
        let name_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (name, mut rest) = rest.split_at(name_end);
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            let attribute = rest.split_once('=').and_then(|(key, after)| {
                let after = after.trim_start();
                let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
                let (value, after) = after[1..].split_once(quote)?;
                Some((key.trim(), value, after))
            });
            let Some((key, value, after)) = attribute.filter(|_| attributes.len() < MAX_ATTRIBUTES) else {
                return Err(self.wrong(start, "an attribute as name=\"value\"", Some(rest)));
            };
            attributes.push((key, value));
            rest = after;
        }
        Ok(Tag { name, attributes, empty, end: end + 1, start })
    }
}

/// Where `what` next occurs.
pub(super) fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    match what {
        [one] => rest.iter().position(|b| b == one).map(|at| from + at),
        _ => rest.windows(what.len()).position(|w| w == what).map(|at| from + at),
    }
}
