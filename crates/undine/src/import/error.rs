//! Why particles cannot be read.

use std::io;
use std::path::{Path, PathBuf};

use super::PlyError;
use crate::misread::Misread;

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
    /// The file is wrong at a place.
    #[error(transparent)]
    Misread(#[from] Misread),
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
    Misread::byte(path, offset, expected, found).into()
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
    Misread::line(path, line, expected, found).into()
}
