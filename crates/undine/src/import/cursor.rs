//! A place in the bytes of a file: words, lines and runs of binary numbers.

use std::path::Path;

use super::ImportError;
use super::error::{wrong_byte, wrong_line};

/// A place in a file.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
    /// Whether lines mean nothing, so that errors name bytes.
    pub(super) binary: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Cursor { path, bytes, at: 0, binary: false }
    }

    /// Bytes that are left.
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next word on any line.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let start = rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let length = rest[start..].iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len() - start);
        self.at += start + length;
        Some(&rest[start..start + length])
    }

    /// The next word, without going on.
    pub(super) fn peek(&self) -> Option<&'a [u8]> {
        self.clone().word()
    }

    /// What is left of the line, and on behind its end.
    pub(super) fn line(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.bytes.len());
        rest[..length].trim_ascii()
    }

    /// The next word as text.
    pub(super) fn text(&mut self, expected: &str) -> Result<&'a str, ImportError> {
        let word = self.word();
        word.and_then(|w| std::str::from_utf8(w).ok()).ok_or_else(|| self.wrong(expected, word))
    }

    /// The next word as a whole number.
    pub(super) fn whole(&mut self, expected: &str) -> Result<usize, ImportError> {
        let word = self.word();
        let number = word.and_then(|w| std::str::from_utf8(w).ok()).and_then(|w| w.parse().ok());
        number.ok_or_else(|| self.wrong(expected, word))
    }

    /// The next word as a number.
    pub(super) fn number(&mut self, expected: &str) -> Result<f64, ImportError> {
        let word = self.word();
        let number = word.and_then(|w| std::str::from_utf8(w).ok()).and_then(|w| w.parse().ok());
        number.ok_or_else(|| self.wrong(expected, word))
    }

    /// The next `count` items of `size` bytes each, if they are there.
    pub(super) fn take(&mut self, count: usize, size: usize, what: &str) -> Result<&'a [u8], ImportError> {
        match count.checked_mul(size).filter(|length| *length <= self.remaining()) {
            Some(length) => {
                let taken = &self.bytes[self.at..self.at + length];
                self.at += length;
                Ok(taken)
            }
            None => {
                let expected = format!("{count} × {size} bytes of {what}");
                Err(wrong_byte(self.path, self.at, expected, format!("{} bytes", self.remaining())))
            }
        }
    }

    /// The error at this place.
    pub(super) fn wrong(&self, expected: &str, found: Option<&[u8]>) -> ImportError {
        if self.binary {
            let found = found.map_or("the end".to_owned(), |w| {
                String::from_utf8_lossy(w).escape_debug().take(40).collect()
            });
            return wrong_byte(self.path, self.at, expected, found);
        }
        wrong_line(self.path, self.bytes, self.at, expected, found)
    }
}
