//! Words and numbers of text files, with the line for errors.

use std::path::Path;

use super::MeshError;
use crate::misread::Misread;

/// The error "expected, found" at a line.
pub(crate) fn wrong(path: &Path, line: usize, expected: &str, found: Option<&[u8]>) -> MeshError {
    Misread::line(path, line, expected, found).into()
}

/// A finite number.
pub(crate) fn number(
    path: &Path,
    line: usize,
    expected: &str,
    word: Option<&[u8]>,
) -> Result<f64, MeshError> {
    word.and_then(|w| std::str::from_utf8(w).ok())
        .and_then(|w| w.parse::<f64>().ok())
        .filter(|v| v.is_finite())
        .ok_or_else(|| wrong(path, line, expected, word))
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The words of a text, whatever its lines, with the line of the last word given.
pub(crate) struct Words<'a> {
    path: &'a Path,
    rest: &'a [u8],
    /// Line of the next byte, counted from 1.
    pub line: usize,
}

impl<'a> Words<'a> {
    /// Starts at line `line` of a file.
    pub fn new(path: &'a Path, bytes: &'a [u8], line: usize) -> Self {
        Self { path, rest: bytes, line }
    }

    /// Bytes that are left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next word.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        while let Some((&byte, rest)) = self.rest.split_first() {
            if !byte.is_ascii_whitespace() {
                break;
            }
            self.line += usize::from(byte == b'\n');
            self.rest = rest;
        }
        let length = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// Leaves out what is left of the line.
    pub fn skip_line(&mut self) {
        let length = self.rest.iter().position(|&b| b == b'\n').unwrap_or(self.rest.len());
        self.rest = &self.rest[length..];
    }

    /// The next word as a number.
    pub fn number(&mut self, expected: &str) -> Result<f64, MeshError> {
        let word = self.next();
        number(self.path, self.line, expected, word)
    }

    /// The next word, which must be `keyword` in any case of letters.
    pub fn keyword(&mut self, keyword: &str) -> Result<(), MeshError> {
        match self.next() {
            Some(word) if word.eq_ignore_ascii_case(keyword.as_bytes()) => Ok(()),
            word => Err(self.wrong(&format!("\"{keyword}\""), word)),
        }
    }

    /// The error at the current line.
    pub fn wrong(&self, expected: &str, found: Option<&[u8]>) -> MeshError {
        wrong(self.path, self.line, expected, found)
    }
}
