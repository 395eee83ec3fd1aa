//! Where meshes and height maps come from: the only door between the scene reader and the disk.

use std::path::Path;

use glam::DVec3;

use super::backdrop::Backdrop;
use super::made;
use super::mesh::TriMesh;
use super::shape::Heightfield;

/// A mesh that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// See [`made::dragon`].
    Dragon,
}

/// Reads the files that a scene names. Reasons for failure are sentences for people.
pub trait Files {
    /// Reads a mesh and moves it to its place.
    fn mesh(&self, path: &Path, placement: &Placement) -> Result<TriMesh, String>;
    /// Moves a model to its place.
    fn model(&self, model: Model, placement: &Placement) -> TriMesh {
        match model {
            Model::Dragon => placement.apply(made::dragon()),
        }
    }
    /// Reads a height map.
    fn heightfield(&self, path: &Path, origin: DVec3, size: [f64; 2]) -> Result<Heightfield, String>;
    /// Reads a picture.
    fn backdrop(&self, _path: &Path) -> Result<Backdrop, String> {
        Err("files cannot be read here".into())
    }
}

/// Scale, then rotation, then translation of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Factor on all coordinates.
    pub scale: f64,
    /// Turns about x, then y, then z, degrees.
    pub rotate: DVec3,
    /// Offset, m.
    pub translate: DVec3,
}

impl Placement {
    /// The mesh moved to its place.
    pub fn apply(&self, mesh: &TriMesh) -> TriMesh {
        if (self.scale, self.rotate, self.translate) == (1.0, DVec3::ZERO, DVec3::ZERO) {
            return mesh.clone();
        }
        mesh.transformed(self.scale, self.rotate, self.translate)
    }
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn mesh(&self, path: &Path, placement: &Placement) -> Result<TriMesh, String> {
        TriMesh::load(path).map(|mesh| placement.apply(&mesh)).map_err(|error| error.to_string())
    }

    fn heightfield(&self, path: &Path, origin: DVec3, size: [f64; 2]) -> Result<Heightfield, String> {
        Heightfield::load(path, origin, size).map_err(|error| error.to_string())
    }

    fn backdrop(&self, path: &Path) -> Result<Backdrop, String> {
        Backdrop::load(path)
    }
}

/// No files at all, for the web and for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn mesh(&self, _path: &Path, _placement: &Placement) -> Result<TriMesh, String> {
        Err("files cannot be read here".into())
    }

    fn heightfield(&self, _path: &Path, _origin: DVec3, _size: [f64; 2]) -> Result<Heightfield, String> {
        Err("files cannot be read here".into())
    }
}
