//! Why particles cannot be read.

use std::io;
use std::path::{Path, PathBuf};

use super::PlyError;

/// Longest excerpt of a file in an error, bytes.
const EXCERPT: usize = 40;

/// Why a particle file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The system could not read it.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Neither its first bytes nor its ending tell the format.
    #[error("{}: expected PLY, VTP, VTU, VTK, BGEO, XYZ or NPY particles", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A text file is wrong at a line.
    #[error("{}:{line}: expected {expected}, found {found}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A binary file is wrong at a byte.
    #[error("{}: byte {offset}: expected {expected}, found {found}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// Position, counted from 0.
        offset: usize,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A PLY file is wrong.
    #[error("{}: {source}", path.display())]
    Ply {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: PlyError,
    },
    /// A particle is nowhere.
    #[error("{}: the position of particle {particle} is not finite", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// Which, counted from 0.
        particle: usize,
    },
}

/// "expected, found" at a byte.
pub(super) fn wrong_byte(
    path: &Path,
    offset: usize,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> ImportError {
    ImportError::Binary { path: path.to_owned(), offset, expected: expected.into(), found: found.into() }
}

/// "expected, found" at the line of a byte of a text.
pub(super) fn wrong_line(
    path: &Path,
    text: &[u8],
    at: usize,
    expected: impl Into<String>,
    found: Option<&[u8]>,
) -> ImportError {
    let line = 1 + text[..at.min(text.len())].iter().filter(|&&b| b == b'\n').count();
    let found = match found {
        None => "the end".to_owned(),
        Some(word) => {
            let shown = String::from_utf8_lossy(&word[..word.len().min(EXCERPT)]).escape_debug().to_string();
            format!("\"{shown}\"")
        }
    };
    ImportError::Text { path: path.to_owned(), line, expected: expected.into(), found }
}
