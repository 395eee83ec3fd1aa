//! Axis-aligned boxes.

use glam::DVec3;

/// An axis-aligned box; empty when any `min` exceeds its `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Lowest corner, m.
    pub min: DVec3,
    /// Highest corner, m.
    pub max: DVec3,
}

impl Aabb {
    /// The box that contains nothing; the neutral element of [`Aabb::union`].
    pub const EMPTY: Self = Self { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

    /// The box between two corners.
    pub fn new(min: DVec3, max: DVec3) -> Self {
        Self { min, max }
    }

    /// The smallest box around some points.
    pub fn around(points: impl IntoIterator<Item = DVec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, |b, p| Self { min: b.min.min(p), max: b.max.max(p) })
    }

    /// The same box with every face moved outward by `margin` (m); inward when negative.
    #[must_use]
    pub fn grow(self, margin: f64) -> Self {
        Self { min: self.min - margin, max: self.max + margin }
    }

    /// The smallest box around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Whether `p` is inside or on the faces; never for a point that is not a number.
    pub fn contains(&self, p: DVec3) -> bool {
        self.min.cmple(p).all() && p.cmple(self.max).all()
    }

    /// Whether the boxes share a point.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// Whether no point is inside.
    pub fn is_empty(&self) -> bool {
        !self.min.cmple(self.max).all()
    }

    /// Edge lengths, m; zero when empty.
    pub fn size(&self) -> DVec3 {
        if self.is_empty() { DVec3::ZERO } else { self.max - self.min }
    }

    /// The middle, m.
    pub fn center(&self) -> DVec3 {
        0.5 * (self.min + self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_box_is_neutral_and_contains_nothing() {
        let unit = Aabb::new(DVec3::ZERO, DVec3::ONE);
        assert!(Aabb::EMPTY.is_empty() && !unit.is_empty());
        assert_eq!(Aabb::EMPTY.union(unit), unit);
        assert!(!Aabb::EMPTY.contains(DVec3::ZERO));
        assert_eq!(Aabb::EMPTY.size(), DVec3::ZERO);
    }

    #[test]
    fn growing_moves_every_face() {
        let b = Aabb::new(DVec3::ZERO, DVec3::ONE).grow(0.5);
        assert!(b.contains(DVec3::splat(-0.5)) && b.contains(DVec3::splat(1.5)));
        assert!(!b.contains(DVec3::new(0.5, 0.5, 1.6)) && !b.contains(DVec3::splat(f64::NAN)));
    }
}
