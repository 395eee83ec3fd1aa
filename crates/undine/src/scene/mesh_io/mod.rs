//! Mesh files: OBJ, PLY and STL. Any bytes give a mesh or an error, and no list is asked for that the size of the
//! file does not justify.

mod obj;
mod ply;
mod stl;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use glam::DVec3;

use super::mesh::{MAX_TRIANGLES, TriMesh};
use crate::misread::Misread;

/// Largest file that is read, bytes.
pub const MAX_FILE: u64 = 8 << 30;

/// Corners and triangles as a file lists them.
type Soup = (Vec<DVec3>, Vec<[u32; 3]>);

/// Why a mesh or a heightfield could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Neither the ending nor the content tell the format.
    #[error("{}: expected an OBJ, PLY or STL mesh", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The file is wrong at a place.
    #[error(transparent)]
    Misread(#[from] Misread),
    /// The content of a file was read, but makes no mesh or heightfield.
    #[error("{}: {fault}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: MeshFault,
    },
    /// The given lists make no mesh or heightfield.
    #[error(transparent)]
    Fault(#[from] MeshFault),
}

/// What is wrong with lists of corners, triangles or heights.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshFault {
    /// Nothing is left after triangles without area are dropped.
    #[error("expected at least one triangle with an area, found none")]
    Empty,
    /// A coordinate is not a number, or too large.
    #[error("expected finite coordinates up to 1e12 m, but vertex {vertex} (counted from 0) has others")]
    Position {
        /// Index of the vertex.
        vertex: usize,
    },
    /// A triangle names a vertex that is not there.
    #[error("expected vertex indices below {vertices}, but triangle {triangle} (counted from 0) has {index}")]
    Index {
        /// Index of the triangle.
        triangle: usize,
        /// The index it names.
        index: u64,
        /// Number of vertices.
        vertices: usize,
    },
    /// More than is allowed.
    #[error("expected at most {limit} triangles or samples, found {count}")]
    TooMany {
        /// How many there are.
        count: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// A heightfield's numbers do not fit together.
    #[error("expected {expected}, found {found}")]
    Heights {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
}

impl MeshError {
    /// Names the file of a fault.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Fault(fault) => Self::Content { path: path.to_owned(), fault },
            other => other,
        }
    }
}

/// Reads a mesh file.
pub(crate) fn load(path: &Path) -> Result<TriMesh, MeshError> {
    read(path, &read_file(path)?)
}

/// Reads a whole regular file, as long as it is no larger than [`MAX_FILE`].
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, MeshError> {
    let failed = |source| MeshError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("expected a regular file")));
    }
    if metadata.len() > MAX_FILE {
        return Err(failed(io::Error::other(format!("expected at most {MAX_FILE} bytes"))));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Reads a mesh from the bytes of a file; `path` gives the ending and the name in errors.
pub fn read(path: &Path, bytes: &[u8]) -> Result<TriMesh, MeshError> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let (vertices, triangles) = match ending.as_str() {
        "obj" => obj::read(path, bytes),
        "ply" => ply::read(path, bytes),
        "stl" => stl::read(path, bytes),
        _ if bytes.starts_with(b"ply") => ply::read(path, bytes),
        _ if stl::is_binary(bytes) || stl::is_text(bytes) => stl::read(path, bytes),
        _ if obj::is_text(bytes) => obj::read(path, bytes),
        _ => Err(MeshError::UnknownFormat { path: path.to_owned() }),
    }?;
    TriMesh::new(vertices, triangles).map_err(|error| error.in_file(path))
}

/// Adds a polygon as a fan about its first corner.
fn push_fan(path: &Path, triangles: &mut Vec<[u32; 3]>, polygon: &[u32]) -> Result<(), MeshError> {
    for pair in polygon.get(1..).unwrap_or_default().windows(2) {
        triangles.push([polygon[0], pair[0], pair[1]]);
    }
    if triangles.len() > MAX_TRIANGLES {
        let fault = MeshFault::TooMany { count: triangles.len() as u64, limit: MAX_TRIANGLES as u64 };
        return Err(MeshError::Content { path: path.to_owned(), fault });
    }
    Ok(())
}
