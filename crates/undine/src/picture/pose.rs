//! Where a moving wall is at a time.

use glam::{DMat3, DVec3};

use crate::scene::Motion;

/// Body frame → world: p = turn·(q - centre) + centre + shift.
#[derive(Clone, Copy, Debug)]
pub struct Pose {
    /// Rotation.
    pub turn: DMat3,
    centre: DVec3,
    shift: DVec3,
}

impl Pose {
    /// At rest where the scene file puts it.
    pub const REST: Self = Self { turn: DMat3::IDENTITY, centre: DVec3::ZERO, shift: DVec3::ZERO };

    /// The pose of a wall at `time`, s: the same motion as the model's walls.
    pub fn new(motion: &Motion, time: f64) -> Self {
        let mut pose = Self::REST;
        if let Some(r) = &motion.rotate {
            let angle = r.speed * (time - r.start).max(0.0);
            let most = r.angle.unwrap_or(f64::INFINITY);
            pose.turn = DMat3::from_axis_angle(r.axis, angle.clamp(-most, most));
            pose.centre = r.center;
        }
        if let Some(t) = &motion.translate {
            let along = (time.min(t.stop) - t.start).max(0.0);
            let w = std::f64::consts::TAU * t.frequency;
            pose.shift = t.velocity * if w > 0.0 { (w * along).sin() / w } else { along };
        }
        pose
    }

    /// A point of the body in the world.
    pub fn to_world(self, q: DVec3) -> DVec3 {
        self.turn * (q - self.centre) + self.centre + self.shift
    }

    /// A point of the world in the body's frame.
    pub fn to_body(self, p: DVec3) -> DVec3 {
        self.turn.transpose() * (p - self.centre - self.shift) + self.centre
    }
}
