//! Rays and what they meet.

use glam::Vec3;

/// A half line. Lengths in m, relative to the middle of the stage.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    /// Where it starts.
    pub origin: Vec3,
    /// Unit direction.
    pub direction: Vec3,
    /// Hits nearer than this are the surface it has just left.
    pub nearest: f32,
    /// Hits farther than this do not count.
    pub farthest: f32,
}

impl Ray {
    /// A ray of unlimited length.
    pub fn new(origin: Vec3, direction: Vec3, nearest: f32) -> Self {
        Self { origin, direction, nearest, farthest: f32::INFINITY }
    }

    /// The point at distance `t`.
    #[inline]
    pub fn at(&self, t: f32) -> Vec3 {
        self.origin + t * self.direction
    }
}

/// What kind of primitive was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A triangle of a mesh.
    Triangle,
    /// A ball.
    Sphere,
    /// A flat round splat.
    Disc,
}

/// The nearest primitive along a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Distance along the ray, m.
    pub t: f32,
    /// Weights of the second and third corner (triangles).
    pub uv: [f32; 2],
    /// Kind of primitive.
    pub kind: Kind,
    /// Its index within its kind, in the order it was added.
    pub index: u32,
}
