//! Surfaces: from the particles of a [`crate::frame::Frame`] to triangles.

/// Triangles with shared vertices; the arrays over vertices are parallel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Vertex positions, m.
    pub position: Vec<[f32; 3]>,
    /// Unit normals, pointing out of the fluid.
    pub normal: Vec<[f32; 3]>,
    /// Velocities, m/s (motion blur); empty when unknown.
    pub velocity: Vec<[f32; 3]>,
    /// Which fluid each vertex belongs to; empty when there is but one.
    pub fluid: Vec<u8>,
    /// Vertices of each triangle, anticlockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}
