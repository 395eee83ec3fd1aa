//! How far particles have moved.

/// The box around the ways of some particles; or around their places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    least: [f32; 3],
    most: [f32; 3],
    /// No number once a particle is nowhere, else 0.
    lost: f32,
}

impl Moved {
    /// Of none.
    pub const NONE: Moved = Moved { least: [f32::INFINITY; 3], most: [f32::NEG_INFINITY; 3], lost: 0.0 };

    /// Of those that stay where they are.
    pub const STILL: Moved = Moved { least: [0.0; 3], most: [0.0; 3], lost: 0.0 };

    /// Takes one more.
    #[inline(always)]
    pub fn add(&mut self, d: [f32; 3]) {
        self.lost += 0.0 * (d[0] + d[1] + d[2]);
        for (k, d) in d.into_iter().enumerate() {
            self.least[k] = if self.least[k] < d { self.least[k] } else { d };
            self.most[k] = if self.most[k] > d { self.most[k] } else { d };
        }
    }

    /// Of ways from `least` to `most` along each axis.
    pub fn between(least: glam::Vec3A, most: glam::Vec3A) -> Self {
        let lost = 0.0 * (least.element_sum() + most.element_sum());
        Moved { least: least.to_array(), most: most.to_array(), lost }
    }

    /// Of both.
    pub fn and(self, o: Self) -> Self {
        Moved {
            least: std::array::from_fn(|k| self.least[k].min(o.least[k])),
            most: std::array::from_fn(|k| self.most[k].max(o.most[k])),
            lost: self.lost + o.lost,
        }
    }

    /// Whether all are somewhere.
    pub fn is_finite(&self) -> bool {
        self.lost == 0.0
    }

    /// Square of the most by which one of these and one of those can have come nearer.
    pub fn nearer2(&self, o: &Self) -> f32 {
        let axis = |k: usize| (self.most[k] - o.least[k]).max(o.most[k] - self.least[k]).max(0.0);
        (0..3).map(|k| axis(k) * axis(k)).sum()
    }

    /// Square of the distance between boxes.
    pub fn gap2(&self, o: &Self) -> f32 {
        let axis = |k: usize| (self.least[k] - o.most[k]).max(o.least[k] - self.most[k]).max(0.0);
        (0..3).map(|k| axis(k) * axis(k)).sum()
    }

    /// Of those that went these ways and then those.
    pub fn then(self, o: Self) -> Self {
        Moved {
            least: std::array::from_fn(|k| self.least[k] + o.least[k]),
            most: std::array::from_fn(|k| self.most[k] + o.most[k]),
            lost: self.lost + o.lost,
        }
    }

    /// Square of the longest way at most; 0 of none.
    pub fn longest2(&self) -> f32 {
        let axis = |k: usize| self.most[k].max(-self.least[k]).max(0.0);
        (0..3).map(|k| axis(k) * axis(k)).sum()
    }
}
