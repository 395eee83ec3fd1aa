//! A file that is not what its format says: what was expected, what was found, and where. The readers of meshes and of
//! particles tell it alike.

use std::fmt;
use std::path::{Path, PathBuf};

/// Longest excerpt of a file in an error, bytes.
const EXCERPT: usize = 40;

/// Where a file is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A line of a text, counted from 1.
    Line(usize),
    /// A byte of a binary file, counted from 0.
    Byte(usize),
}

/// A file is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{at}: expected {expected}, found {found}", path.display())]
pub struct Misread {
    /// The file.
    pub path: PathBuf,
    /// Where.
    pub at: At,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl Misread {
    /// At a line of a text; `None` was found at its end.
    pub(crate) fn line(path: &Path, line: usize, expected: impl Into<String>, found: Option<&[u8]>) -> Self {
        let found = match found {
            None => "the end".to_owned(),
            Some(word) => {
                let shown = String::from_utf8_lossy(&word[..word.len().min(EXCERPT)]);
                format!("\"{}\"", shown.escape_debug())
            }
        };
        Misread { path: path.to_owned(), at: At::Line(line), expected: expected.into(), found }
    }

    /// At a byte.
    pub(crate) fn byte(
        path: &Path,
        offset: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Misread {
            path: path.to_owned(),
            at: At::Byte(offset),
            expected: expected.into(),
            found: found.into(),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Line(line) => write!(f, ":{line}"),
            At::Byte(offset) => write!(f, ": byte {offset}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_as_editors_read_it_and_what_was_found_is_cut_and_escaped() {
        let path = Path::new("a.obj");
        assert_eq!(
            Misread::line(path, 3, "a number", None).to_string(),
            "a.obj:3: expected a number, found the end"
        );
        let long = [b"\x00\n".as_slice(), &[b'x'; 100]].concat();
        let told = Misread::line(path, 1, "a word", Some(&long)).to_string();
        assert_eq!(told, format!("a.obj:1: expected a word, found \"\\0\\n{}\"", "x".repeat(38)));
        assert_eq!(
            Misread::byte(path, 80, "84 bytes", "80").to_string(),
            "a.obj: byte 80: expected 84 bytes, found 80"
        );
    }
}
