//! Triangle meshes.

use glam::DVec3;

/// A triangle mesh with a bounding-volume tree for distance and inside tests.
#[derive(Clone, Debug, PartialEq)]
pub struct TriMesh {
    /// Corner positions, m.
    pub vertices: Vec<DVec3>,
    /// Corner indices, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}
