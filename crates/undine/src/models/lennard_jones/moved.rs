//! How far particles have moved since the list of neighbours was made, and whether two of them can have come near each other
//! that are not listed.
//!
//! Ways are looked at by groups of particles that lie together: a drop that falls past water at rest on its other side uses up no
//! skin, nor does a jet that falls as one.

use super::force::Quad;
use crate::neighbors::Moved;

/// Particles of the smallest groups.
pub(super) const GROUP: usize = 64;
/// Groups at most; more particles make larger ones.
const MOST: usize = 64;
/// Groups farther apart than this, in supports, are not looked at pair by pair.
const FAR: f32 = 2.5;
/// Rounding of places, in supports, and of ways, relative.
const SLACK: f32 = 2e-5;

/// Which groups of particles are near each other as listed.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// Smallest groups in each.
    each: usize,
    /// Two groups, and by how much more than the skin they may come nearer, in supports.
    near: Vec<(u32, u32, f32)>,
    ways: Vec<Moved>,
    /// The skin, in supports.
    skin: f32,
}

impl Groups {
    /// For sorted particles as listed, in supports, with their skin; in space that repeats all are one.
    pub fn lay(&mut self, listed: &[Quad], skin: f64, repeats: bool) {
        let smallest = listed.len().div_ceil(GROUP);
        self.each = if repeats { smallest } else { smallest.div_ceil(MOST) }.max(1);
        self.skin = skin as f32;
        let origin = vec![[0.0; 4]; GROUP * self.each];
        let boxes: Vec<Moved> = listed.chunks(GROUP * self.each).map(|l| moved(l, &origin)).collect();
        self.near.clear();
        for (a, of_a) in boxes.iter().enumerate() {
            for (b, of_b) in boxes.iter().enumerate().skip(a) {
                let gap2 = of_a.gap2(of_b);
                if gap2 < FAR * FAR {
                    self.near.push((a as u32, b as u32, gap2.sqrt().max(1.0) - 1.0));
                }
            }
        }
    }

    /// The skin that the ways of the smallest groups since would need, in supports; what is no number where a particle is nowhere.
    pub fn needed(&mut self, ways: &[Moved]) -> f32 {
        self.ways.clear();
        self.ways
            .extend(ways.chunks(self.each.max(1)).map(|w| w.iter().copied().fold(Moved::NONE, Moved::and)));
        let all = self.ways.iter().copied().fold(Moved::NONE, Moved::and);
        if !all.is_finite() {
            return f32::NAN;
        }
        // Groups that are not near are at least so far apart.
        let mut needed = all.nearer2(&all).sqrt() - (FAR - 1.0);
        for &(a, b, more) in &self.near {
            if let (Some(a), Some(b)) = (self.ways.get(a as usize), self.ways.get(b as usize)) {
                needed = needed.max(a.nearer2(b).sqrt() - more);
            }
        }
        needed * (1.0 + SLACK) + SLACK
    }

    /// Whether two particles can have come nearer than the cut-off that are not listed.
    pub fn is_used_up(&self, needed: f32) -> bool {
        needed > self.skin
    }
}

/// From the places of a list to those now.
pub(super) fn moved(now: &[Quad], listed: &[Quad]) -> Moved {
    let mut m = Moved::NONE;
    for (a, b) in now.iter().zip(listed) {
        m.add([a[0] - b[0], a[1] - b[1], a[2] - b[2]]);
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distance(a: Quad, b: Quad) -> f32 {
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
    }

    proptest! {
        #[test]
        fn no_pair_comes_nearer_than_the_cut_off_unlisted_before_the_skin_is_used_up(
            points in prop::collection::vec([0.0..30.0f32, 0.0..3.0f32, 0.0..3.0f32], 2..400),
            speeds in prop::collection::vec([-0.2..0.2f32, -0.2..0.2f32, -0.2..0.2f32], 400),
            skin in 0.05..0.5f64,
        ) {
            let mut listed: Vec<Quad> = points.iter().map(|p| [p[0], p[1], p[2], 0.0]).collect();
            listed.sort_by(|a, b| a[0].total_cmp(&b[0]));
            let mut groups = Groups::default();
            groups.lay(&listed, skin, false);
            // Fast ones lie together, as in a jet.
            let speed = |i: usize| if listed[i][0] > 20.0 { 1.0 } else { 0.1 };
            for t in 1..20 {
                let now: Vec<Quad> = (0..listed.len())
                    .map(|i| std::array::from_fn(|k| if k < 3 { listed[i][k] + speeds[i][k] * speed(i) * 0.2 * t as f32 } else { 0.0 }))
                    .collect();
                let ways: Vec<Moved> =
                    now.chunks(GROUP).zip(listed.chunks(GROUP)).map(|(a, b)| moved(a, b)).collect();
                let needed = groups.needed(&ways);
                if groups.is_used_up(needed) {
                    break;
                }
                for i in 0..now.len() {
                    for j in 0..i {
                        let unlisted = distance(listed[i], listed[j]) >= 1.0;
                        prop_assert!(!unlisted || distance(now[i], now[j]) >= 1.0 - skin as f32 - 1e-5);
                    }
                }
            }
        }
    }

    #[test]
    fn what_falls_as_one_uses_up_no_skin_and_what_is_nowhere_is_told() {
        let listed: Vec<Quad> = (0..200).map(|i| [i as f32 * 0.1, 0.0, 0.0, 0.0]).collect();
        let moved = |by: f32| listed.iter().map(|p| [p[0], p[1] + by, p[2], 0.0]).collect::<Vec<Quad>>();
        let mut groups = Groups::default();
        groups.lay(&listed, 0.1, false);
        let ways = |now: &[Quad]| -> Vec<Moved> {
            now.chunks(GROUP).zip(listed.chunks(GROUP)).map(|(a, b)| super::moved(a, b)).collect()
        };
        let needed = groups.needed(&ways(&moved(-3.0)));
        assert!(!groups.is_used_up(needed), "{needed}");
        let mut now = moved(0.0);
        now[50][1] = 0.2;
        let needed = groups.needed(&ways(&now));
        assert!(groups.is_used_up(needed), "{needed}");
        now[150][2] = f32::NAN;
        assert!(groups.needed(&ways(&now)).is_nan());
    }
}
