//! Readers of particle files, ours and other people's.
//!
//! [`read_particles`] tells the format by the file's first bytes and, where those say nothing, by its ending. Nothing
//! that a file says about its size is believed before the bytes are there.

mod bgeo;
mod builder;
mod cursor;
mod error;
mod npy;
mod number;
mod ply;
#[cfg(test)]
mod tests;
mod vtk_data;
mod vtk_legacy;
mod vtk_xml;
mod xml;
mod xyz;

use std::path::Path;

use crate::frame::Particles;

pub use error::ImportError;
pub use ply::{Column, PlyError, PlyPoints, Values, read_ply};

/// Reads a particle file: PLY, VTP, VTU, legacy VTK, classic BGEO (gzipped or not), XYZ (raw f32 or text) or NPY.
///
/// Positions are finite. Of the fields `velocity`, `density`, `pressure`, `fluid`, `id` and `normal` those are there
/// that the file has under their usual names; a field with a number that is not finite is left out.
pub fn read_particles(path: &Path) -> Result<Particles, ImportError> {
    let bytes = std::fs::read(path).map_err(|source| ImportError::Io { path: path.to_owned(), source })?;
    read_particle_bytes(path, &bytes)
}

/// Like [`read_particles`] from the bytes of a file; `path` is its name in errors, and its ending tells the format
/// where the bytes do not.
pub fn read_particle_bytes(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let begins = |magic: &[u8]| bytes.starts_with(magic);
    if begins(b"ply\n") || begins(b"ply\r") {
        read_ply_particles(path, bytes)
    } else if begins(b"\x93NUMPY") {
        npy::read(path, bytes)
    } else if begins(b"Bgeo") || begins(b"\x7fNSJ") || begins(b"\x1f\x8b") {
        bgeo::read(path, bytes)
    } else if begins(b"# vtk ") {
        vtk_legacy::read(path, bytes)
    } else {
        match ending.as_str() {
            "vtp" | "vtu" => vtk_xml::read(path, bytes),
            "xyz" | "txt" | "csv" => xyz::read(path, bytes),
            _ if bytes.trim_ascii_start().starts_with(b"<") => vtk_xml::read(path, bytes),
            // Of a known kind, but not what it should begin with: its reader says so.
            "ply" => read_ply_particles(path, bytes),
            "npy" => npy::read(path, bytes),
            "bgeo" => bgeo::read(path, bytes),
            "vtk" => vtk_legacy::read(path, bytes),
            _ => Err(ImportError::UnknownFormat { path: path.to_owned() }),
        }
    }
}

fn read_ply_particles(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    let wrong = |source| ImportError::Ply { path: path.to_owned(), source };
    let points = read_ply(&mut &bytes[..]).map_err(wrong)?;
    let particles = points.to_particles().ok_or(PlyError::NoVertices).map_err(wrong)?;
    builder::checked(path, particles)
}
