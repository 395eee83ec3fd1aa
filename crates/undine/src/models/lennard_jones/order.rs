//! The order of particles in which any eight, sixteen or sixty-four that follow each other lie close together.
//!
//! Boxes are cut in two across their longest side until sixty-four particles are left, and those again down to eight (a k-d tree,
//! Bentley 1975). Along a Morton curve, eight that follow each other often span a jump of the curve.

use super::force::Quad;
use super::patches::PATCH;

/// Particles of the smallest parts.
const LEAF: usize = 8;
/// Parts of fewer particles are cut by one thread.
const FEW: usize = 2048;

/// The order of some places.
pub(super) fn order(places: &[Quad], out: &mut Vec<u32>) {
    let mut items: Vec<Item> = places.iter().zip(0..).map(|(p, i)| ([p[0], p[1], p[2]], i)).collect();
    cut(&mut items);
    out.clear();
    out.extend(items.iter().map(|item| item.1));
}

/// A place and its number.
type Item = ([f32; 3], u32);

fn cut(items: &mut [Item]) {
    let n = items.len();
    if n <= LEAF {
        return;
    }
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for (p, _) in &*items {
        for a in 0..3 {
            low[a] = if p[a] < low[a] { p[a] } else { low[a] };
            high[a] = if p[a] > high[a] { p[a] } else { high[a] };
        }
    }
    let longest = |a: usize, b: usize| if high[b] - low[b] > high[a] - low[a] { b } else { a };
    let axis = longest(longest(0, 1), 2);
    // Whole patches, or whole leaves.
    let whole = if n > PATCH { PATCH } else { LEAF };
    let middle = (n / 2).next_multiple_of(whole);
    // The number decides where places are the same, so that there is but one order.
    items.select_nth_unstable_by(middle, |a, b| a.0[axis].total_cmp(&b.0[axis]).then(a.1.cmp(&b.1)));
    let (left, right) = items.split_at_mut(middle);
    if n > FEW {
        rayon::join(|| cut(left), || cut(right));
    } else {
        cut(left);
        cut(right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_part_is_on_one_side_of_the_rest(
            points in prop::collection::vec([0.0..6.0f32, 0.0..3.0f32, 0.0..3.0f32], 0..3000),
        ) {
            let places: Vec<Quad> = points.iter().map(|p| [p[0], p[1], p[2], 0.0]).collect();
            let mut sorted = Vec::new();
            order(&places, &mut sorted);
            let mut all = sorted.clone();
            all.sort_unstable();
            prop_assert_eq!(all, (0..places.len() as u32).collect::<Vec<_>>());
            let volume = |of: &[u32]| {
                let side = |a: usize| {
                    let along = of.iter().map(|i| places[*i as usize][a]);
                    along.clone().fold(f32::MIN, f32::max) - along.fold(f32::MAX, f32::min)
                };
                side(0) * side(1) * side(2)
            };
            // Boxes of one size do not overlap, so that together they fit into the whole.
            for size in [LEAF, PATCH] {
                let sum: f32 = sorted.chunks(size).map(volume).sum();
                prop_assert!(sum <= 6.0 * 3.0 * 3.0 * 1.001, "{size}: {sum}");
            }
        }
    }

    #[test]
    fn a_lattice_is_cut_into_cubes() {
        let at = |i: u32| [(i % 8) as f32, (i / 8 % 8) as f32, (i / 64) as f32, 0.0];
        let places: Vec<Quad> = (0..512).map(|i| at(i * 37 % 512)).collect();
        let mut sorted = Vec::new();
        order(&places, &mut sorted);
        for (size, side) in [(LEAF, 1.0), (PATCH, 3.0)] {
            for part in sorted.chunks(size) {
                for a in [0, 1, 2] {
                    let along = part.iter().map(|i| places[*i as usize][a]);
                    let (low, high) = along.fold((f32::MAX, f32::MIN), |(l, h), v| (l.min(v), h.max(v)));
                    assert_eq!(high - low, side);
                }
            }
        }
        // What is no number, or far away, has a place in it, too.
        order(&[[f32::NAN, 1e30, -1e30, 0.0]; 20], &mut sorted);
        assert_eq!(sorted.len(), 20);
    }
}
