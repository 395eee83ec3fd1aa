//! The boxes around walls, side by side: a look at them spares most walls all else.

use glam::{DVec3, Vec3};

use crate::scene::aabb::Aabb;

/// Boxes that are looked at together.
const MANY: usize = 8;

/// Boxes by axis, in single precision; those of the last eight that are not there are empty.
#[derive(Clone, Debug, Default)]
pub struct Boxes {
    low: Vec<[[f32; MANY]; 3]>,
    high: Vec<[[f32; MANY]; 3]>,
}

impl Boxes {
    /// These boxes, rounded outwards.
    pub fn new(boxes: impl Iterator<Item = Aabb>) -> Self {
        let mut all = Boxes::default();
        for (k, b) in boxes.enumerate() {
            if k % MANY == 0 {
                all.low.push([[f32::INFINITY; MANY]; 3]);
                all.high.push([[f32::NEG_INFINITY; MANY]; 3]);
            }
            for a in 0..3 {
                all.low[k / MANY][a][k % MANY] = (b.min[a] as f32).next_down();
                all.high[k / MANY][a][k % MANY] = (b.max[a] as f32).next_up();
            }
        }
        all
    }

    /// The numbers of those that a way from `from` to `to` may touch, in sequence.
    #[inline]
    pub fn touched(&self, from: DVec3, to: DVec3) -> impl Iterator<Item = usize> {
        // Rounded to nearest, and the boxes outwards: what is in a box is not found outside of it.
        let (from, to): (Vec3, Vec3) = (from.as_vec3(), to.as_vec3());
        let (least, most) = (from.min(to).to_array(), from.max(to).to_array());
        self.low.iter().zip(&self.high).enumerate().flat_map(move |(eight, (low, high))| {
            let mut bits = 0u32;
            for k in 0..MANY {
                let mut touches = true;
                for a in 0..3 {
                    touches &= (low[a][k] <= most[a]) & (least[a] <= high[a][k]);
                }
                bits |= u32::from(touches) << k;
            }
            std::iter::from_fn(move || {
                let k = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (k < 32).then_some(eight * MANY + k as usize)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-1.0..1.0f64).prop_map(DVec3::from)
    }

    proptest! {
        #[test]
        fn no_box_that_a_way_touches_is_missed(
            corners in prop::collection::vec((point(), point()), 0..30),
            from in point(),
            to in point(),
            far in prop::bool::ANY,
        ) {
            // Far from the origin single precision is coarse.
            let shift = if far { DVec3::splat(1e5) } else { DVec3::ZERO };
            let boxes: Vec<Aabb> =
                corners.iter().map(|(a, b)| Aabb { min: a.min(*b) + shift, max: a.max(*b) + shift }).collect();
            let (from, to) = (from + shift, to + shift);
            let way = Aabb { min: from.min(to), max: from.max(to) };
            let found: Vec<usize> = Boxes::new(boxes.iter().copied()).touched(from, to).collect();
            prop_assert!(found.is_sorted());
            for (k, b) in boxes.iter().enumerate() {
                prop_assert!(!b.overlaps(&way) || found.contains(&k));
            }
        }
    }

    #[test]
    fn far_boxes_are_not_touched() {
        let unit = |x: f64| Aabb { min: DVec3::splat(x), max: DVec3::splat(x + 1.0) };
        let boxes = Boxes::new((0..20).map(|k| unit(3.0 * f64::from(k))));
        assert_eq!(boxes.touched(DVec3::splat(30.2), DVec3::splat(33.1)).collect::<Vec<_>>(), [10, 11]);
        assert_eq!(boxes.touched(DVec3::splat(1.5), DVec3::splat(2.5)).count(), 0);
    }
}
