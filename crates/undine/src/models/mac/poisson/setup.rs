//! The loops that complete a level's equations.

use rayon::prelude::*;

use super::kernels::{Colour, ODD_ROW, Out, PARALLEL, Split, UNIFORM, at_of, eight, load, neighbours, over};
use super::level::LANES;
use crate::simd::{Eight, Portable};

/// From the diagonal and the couplings the excess, where it is more than `excess` (the rounding of the diagonal) before.
pub(super) fn find_excess(groups: &[u32], k: &Colour, excess: &mut [f32]) {
    let excess = Out(excess.as_mut_ptr());
    over(groups, |part| eight!(find_excess_in(part: &[u32], k: &Colour, excess: Out)));
}

#[inline(always)]
fn find_excess_in<L: Eight>(groups: &[u32], k: &Colour, excess: Out) -> f64 {
    for &group in groups {
        let at = at_of(group);
        // SAFETY: the group is one of the level's, and this task's own.
        unsafe {
            let mut found = load::<L>(k.diagonal, at).sub(couplings(k, group)).to_array();
            let rounding = L::load(excess.at(at)).to_array();
            for l in 0..LANES {
                found[l] = if found[l] > rounding[l] { found[l] } else { 0.0 };
            }
            excess.write(at, &found);
        }
    }
    0.0
}

/// From excess and couplings the diagonal and its inverse, where the inverse is positive before: ghosts have couplings, but
/// are no cells.
pub(super) fn find_diagonal(groups: &[u32], k: &Colour, excess: &[f32], diagonal: Out, inverse: Out) {
    over(
        groups,
        |part| eight!(find_diagonal_in(part: &[u32], k: &Colour, excess: &[f32], diagonal: Out, inverse: Out)),
    );
}

#[inline(always)]
fn find_diagonal_in<L: Eight>(
    groups: &[u32],
    k: &Colour,
    excess: &[f32],
    diagonal: Out,
    inverse: Out,
) -> f64 {
    for &group in groups {
        let at = at_of(group);
        // SAFETY: the group is one of the level's, and this task's own.
        unsafe {
            let mut d = load::<L>(excess, at).add(couplings(k, group)).to_array();
            let mut inverses = [0.0; LANES];
            for l in 0..LANES {
                let cell = *inverse.at(at + l) > 0.0;
                d[l] = if cell && d[l] >= f32::MIN_POSITIVE { d[l] } else { 0.0 };
                inverses[l] = if d[l] > 0.0 { 1.0 / d[l] } else { 0.0 };
            }
            diagonal.write(at, &d);
            inverse.write(at, &inverses);
        }
    }
    0.0
}

/// Marks the groups that are [`UNIFORM`].
pub(super) fn mark_uniform(groups: &mut [u32], k: [&Colour; 2], excess: &Split) {
    let mark = |group: &mut u32| *group |= if is_uniform(*group, k, excess) { UNIFORM } else { 0 };
    if groups.len() < PARALLEL {
        groups.iter_mut().for_each(mark)
    } else {
        groups.par_iter_mut().for_each(mark)
    }
}

fn is_uniform(group: u32, k: [&Colour; 2], excess: &Split) -> bool {
    let at = at_of(group);
    k.iter().zip(&excess.0).all(|(k, excess)| {
        let odd = ((k.colour as u32 + group) & ODD_ROW) as usize;
        let [row, layer] = k.stride;
        let couplings = [
            (k.own[0], at),
            (k.own[1], at),
            (k.own[2], at),
            (k.other[0], at + odd - 1),
            (k.other[1], at - row),
            (k.other[2], at - layer),
        ];
        couplings.iter().all(|(v, at)| v[*at..at + LANES].iter().all(|c| *c == k.uniform))
            && excess[at..at + LANES].iter().all(|e| *e == 0.0)
    })
}

/// Sum of the couplings of the eight cells of a colour.
///
/// # Safety
/// `group` must be one of the level that `k` belongs to.
#[inline(always)]
unsafe fn couplings<L: Eight>(k: &Colour, group: u32) -> L {
    let at = at_of(group);
    let odd = ((k.colour as u32 + group) & ODD_ROW) as usize;
    let [row, layer] = k.stride;
    // SAFETY: as in `neighbours`.
    unsafe {
        let x = load::<L>(k.own[0], at).add(load(k.other[0], at + odd - 1));
        let y = load::<L>(k.own[1], at).add(load(k.other[1], at - row));
        let z = load::<L>(k.own[2], at).add(load(k.other[2], at - layer));
        x.add(y).add(z)
    }
}

/// Where there is an excess, which is where [`spread`] starts from.
pub(super) fn start_spreading(groups: &[u32], excess: &Split, seen: &mut Split) {
    for &group in groups {
        let at = at_of(group);
        for c in 0..2 {
            for l in at..at + LANES {
                seen[c][l] = if excess[c][l] > 0.0 { 1.0 } else { 0.0 };
            }
        }
    }
}

/// Spreads the news of an excess: a cell has seen one (1, else 0) if it has one itself or a neighbour has seen one. In
/// sequence, so that the news crosses the box in one sweep along the order of groups; every other sweep goes against it.
/// Returns how many cells have seen none yet.
pub(super) fn spread(groups: &[u32], k: [&Colour; 2], sweep: usize, seen: &mut Split) -> usize {
    let back = sweep.is_multiple_of(2);
    let (k0, k1) = (k[0], k[1]);
    eight!(spread_in(groups: &[u32], back: bool, k0: &Colour, k1: &Colour, seen: &mut Split)) as usize
}

#[inline(always)]
fn spread_in<L: Eight>(groups: &[u32], back: bool, k0: &Colour, k1: &Colour, seen: &mut Split) -> f64 {
    let (mut loose, zero, one) = (0, L::splat(0.0), L::splat(1.0));
    for i in 0..groups.len() {
        let group = groups[if back { groups.len() - 1 - i } else { i }];
        let at = at_of(group);
        for (c, k) in [(0, k0), (1, k1)] {
            // SAFETY: the group is one of the level's.
            unsafe {
                let (own, inverse) = (load::<L>(&seen[c], at), load::<L>(k.inverse, at));
                let news = neighbours::<L>(k, &seen[1 - c], group).0;
                let new = own.max(one.where_below(zero, news).where_below(zero, inverse));
                loose += (zero.below(inverse) & !zero.below(new)).count_ones();
                new.store(seen[c].as_mut_ptr().add(at));
            }
        }
    }
    f64::from(loose)
}
