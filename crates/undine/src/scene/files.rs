//! Where meshes and height maps come from: the only door between the scene reader and the disk.

use std::path::Path;

use glam::{DMat3, DVec3};

use super::mesh::TriMesh;
use super::shape::Heightfield;

/// Reads the files that a scene names. Reasons for failure are sentences for people.
pub trait Files {
    /// Reads a mesh and moves it to its place.
    fn mesh(&self, path: &Path, placement: &Placement) -> Result<TriMesh, String>;
    /// Reads a height map.
    fn heightfield(&self, path: &Path, origin: DVec3, size: [f64; 2]) -> Result<Heightfield, String>;
}

/// Scale, then rotation, then translation of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Factor on all coordinates.
    pub scale: f64,
    /// Rotation matrix.
    pub rotation: DMat3,
    /// Offset, m.
    pub translation: DVec3,
}

impl Placement {
    /// From a scale, turns about x, then y, then z in degrees, and an offset.
    pub fn new(scale: f64, degrees: DVec3, translation: DVec3) -> Self {
        let [x, y, z] = degrees.to_array().map(f64::to_radians);
        let rotation = DMat3::from_rotation_z(z) * DMat3::from_rotation_y(y) * DMat3::from_rotation_x(x);
        Placement { scale, rotation, translation }
    }

    /// Where a point of the file goes.
    pub fn apply(&self, point: DVec3) -> DVec3 {
        self.rotation * (self.scale * point) + self.translation
    }
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn mesh(&self, path: &Path, _placement: &Placement) -> Result<TriMesh, String> {
        Err(format!("mesh files cannot be read yet: {}", path.display()))
    }

    fn heightfield(&self, path: &Path, _origin: DVec3, _size: [f64; 2]) -> Result<Heightfield, String> {
        Err(format!("height files cannot be read yet: {}", path.display()))
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
