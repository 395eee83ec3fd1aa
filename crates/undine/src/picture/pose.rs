//! Where a moving wall is at a time.

use glam::{DAffine3, DMat3, DVec3};

use crate::scene::Motion;
use crate::walls::placement;

/// Body frame → world.
#[derive(Clone, Copy, Debug)]
pub struct Pose(DAffine3);

impl Pose {
    /// At rest where the scene file puts it.
    pub const REST: Self = Self(DAffine3::IDENTITY);

    /// The pose of a wall at `time`, s: where the model has it.
    pub fn new(motion: &Motion, time: f64) -> Self {
        Self(placement(motion, time))
    }

    /// Its rotation, for directions.
    pub fn turn(self) -> DMat3 {
        self.0.matrix3
    }

    /// A point of the body in the world.
    pub fn to_world(self, q: DVec3) -> DVec3 {
        self.0.transform_point3(q)
    }

    /// A point of the world in the body's frame.
    pub fn to_body(self, p: DVec3) -> DVec3 {
        self.0.matrix3.transpose() * (p - self.0.translation)
    }
}
