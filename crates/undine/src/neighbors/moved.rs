//! How far particles have moved.

use glam::Vec3A;

/// The box around the ways of some particles; or around their places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    least: Vec3A,
    most: Vec3A,
    /// No number once a particle is nowhere, else 0.
    lost: f32,
}

impl Moved {
    /// Of none.
    pub const NONE: Moved = Moved { least: Vec3A::INFINITY, most: Vec3A::NEG_INFINITY, lost: 0.0 };

    /// Of those that stay where they are.
    pub const STILL: Moved = Moved { least: Vec3A::ZERO, most: Vec3A::ZERO, lost: 0.0 };

    /// Takes one more.
    #[inline(always)]
    pub fn add(&mut self, d: [f32; 3]) {
        let d = Vec3A::from(d);
        self.lost += 0.0 * d.element_sum();
        (self.least, self.most) = (self.least.min(d), self.most.max(d));
    }

    /// Of ways from `least` to `most` along each axis.
    pub fn between(least: Vec3A, most: Vec3A) -> Self {
        Moved { least, most, lost: 0.0 * (least.element_sum() + most.element_sum()) }
    }

    /// Of both.
    #[inline]
    pub fn and(self, o: Self) -> Self {
        Moved { least: self.least.min(o.least), most: self.most.max(o.most), lost: self.lost + o.lost }
    }

    /// Whether all are somewhere.
    pub fn is_finite(&self) -> bool {
        self.lost == 0.0
    }

    /// Square of the most by which one of these and one of those can have come nearer.
    pub fn nearer2(&self, o: &Self) -> f32 {
        (self.most - o.least).max(o.most - self.least).max(Vec3A::ZERO).length_squared()
    }

    /// Square of the distance between boxes.
    pub fn gap2(&self, o: &Self) -> f32 {
        (self.least - o.most).max(o.least - self.most).max(Vec3A::ZERO).length_squared()
    }

    /// Of those that went these ways and then those.
    pub fn then(self, o: Self) -> Self {
        Moved { least: self.least + o.least, most: self.most + o.most, lost: self.lost + o.lost }
    }

    /// Square of the longest way at most; 0 of none.
    pub fn longest2(&self) -> f32 {
        self.most.max(-self.least).max(Vec3A::ZERO).length_squared()
    }
}
