//! A list of neighbours of which parts are made anew, where the fluid is fast.
//!
//! Particles that lie together form a patch. Each particle has a place of reference and may move by its patch's `half` from there;
//! listed are all pairs whose places of reference are nearer than the cut-off and both halves. A patch of which one has moved
//! farther gets new places of reference: its rows are made anew, and those of the patches it was or is near. Water at rest in a
//! cup keeps its list while more is poured into it.
//!
//! Rows are those of clusters, of eight particles, which lie together: a row has all that any of them needs,
//! and is read once for all of them ([`super::clusters`]). A row is made of others' particles; those of a cluster need no list.
//!
//! What is listed, and in which order, follows from the places of reference and the halves alone, not from when rows were made.

use rayon::prelude::*;

use super::clusters::WIDTH;
use super::force::Quad;
use super::list::{BLOCK, Rows};
use crate::simd::{Lanes, widest};

/// Particles of a patch: those of a block of rows.
pub(super) const PATCH: usize = BLOCK;
/// Particles of a chunk, the smallest part with a box of its own.
const CHUNK: usize = 16;
/// A bit for each particle of a cluster.
const OWN: u32 = (1 << WIDTH) - 1;
/// Where no particle is, in supports: far from all, and its square is a number.
const NOWHERE: f32 = 1e18;
/// Rounding of ways, in supports.
const SLACK: f32 = 2e-5;

/// Boxes as parallel arrays, each with sixteen more that are nowhere.
#[derive(Clone, Debug, Default)]
struct Boxes {
    low: [Vec<f32>; 3],
    high: [Vec<f32>; 3],
}

impl Boxes {
    fn resize(&mut self, n: usize) {
        for side in self.low.iter_mut().chain(&mut self.high) {
            side.clear();
            side.resize(n + CHUNK, NOWHERE);
        }
    }

    fn get(&self, k: usize) -> Bounds {
        Bounds {
            low: std::array::from_fn(|a| self.low[a][k]),
            high: std::array::from_fn(|a| self.high[a][k]),
        }
    }

    fn set(&mut self, k: usize, b: &Bounds) {
        for a in 0..3 {
            (self.low[a][k], self.high[a][k]) = (b.low[a], b.high[a]);
        }
    }
}

/// A box.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: [f32; 3],
    high: [f32; 3],
}

impl Bounds {
    const NONE: Bounds = Bounds { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3] };

    fn around(points: impl Iterator<Item = [f32; 3]>) -> Self {
        points.fold(Self::NONE, |b, p| b.and(&Bounds { low: p, high: p }))
    }

    #[inline(always)]
    fn and(&self, o: &Self) -> Self {
        let least = |a: f32, b: f32| if a < b { a } else { b };
        let most = |a: f32, b: f32| if a > b { a } else { b };
        Bounds {
            low: std::array::from_fn(|a| least(self.low[a], o.low[a])),
            high: std::array::from_fn(|a| most(self.high[a], o.high[a])),
        }
    }
}

/// A patch that has new places of reference.
#[derive(Clone, Debug)]
struct Renewed {
    patch: u32,
    /// The larger of the old and the new half.
    half: f32,
    bounds: Bounds,
    /// Old and new places.
    points: [[f32; 2 * PATCH]; 3],
}

/// The places of reference, and how far particles may be from them.
#[derive(Clone, Debug, Default)]
pub(super) struct Patches {
    /// Places, supports, with sixteen more that are nowhere.
    at: [Vec<f32>; 3],
    /// By patch, supports.
    half: Vec<f32>,
    /// By chunk, and its half.
    boxes: Boxes,
    chunk_half: Vec<f32>,
    cutoff: f32,
    renewed: Vec<Renewed>,
}

impl Patches {
    /// Takes all places of reference, supports, with the cut-off and the half of each patch.
    pub fn lay(&mut self, places: &[Quad], cutoff: f32, half: Vec<f32>) {
        let (n, chunks) = (places.len(), places.len().div_ceil(CHUNK));
        self.cutoff = cutoff;
        for (a, at) in self.at.iter_mut().enumerate() {
            at.clear();
            at.extend(places.iter().map(|p| p[a]));
            at.resize(n + 2 * CHUNK, NOWHERE);
        }
        self.half = half;
        self.half.resize(n.div_ceil(PATCH), 0.0);
        self.boxes.resize(chunks);
        self.chunk_half.clear();
        self.chunk_half.resize(chunks + CHUNK, 0.0);
        (0..self.half.len()).for_each(|patch| self.enclose(patch, n));
    }

    /// How far particles of each patch may be from their places of reference, supports.
    pub fn halves(&self) -> &[f32] {
        &self.half
    }

    fn enclose(&mut self, patch: usize, n: usize) {
        let end = ((patch + 1) * PATCH).min(n);
        for first in (patch * PATCH..end).step_by(CHUNK) {
            let [x, y, z] = &self.at;
            let of = (first..(first + CHUNK).min(end)).map(|i| [x[i], y[i], z[i]]);
            self.boxes.set(first / CHUNK, &Bounds::around(of));
            self.chunk_half[first / CHUNK] = self.half[patch];
        }
    }

    /// Patches of which a particle has gone too far, by the squares of the longest ways, supports.
    pub fn worn(&self, far2: &[f32], share: f32, out: &mut Vec<u32>) {
        let beyond = |share: f32| {
            let ways = far2.iter().zip(&self.half).map(move |(far2, half)| {
                let most = share * (half - SLACK);
                *far2 > most * most || far2.is_nan()
            });
            ways.enumerate().filter(|w| w.1).map(|w| w.0 as u32)
        };
        out.clear();
        if beyond(1.0).next().is_some() {
            out.extend(beyond(share));
        }
    }

    /// Gives patches new places of reference and halves.
    pub fn renew(&mut self, worn: &[u32], places: &[Quad], half: impl Fn(usize) -> f32) {
        self.renewed.clear();
        let n = places.len();
        for &patch in worn {
            let p = patch as usize;
            let (first, end) = (p * PATCH, ((p + 1) * PATCH).min(n));
            let mut points = [[NOWHERE; 2 * PATCH]; 3];
            for a in 0..3 {
                points[a][..end - first].copy_from_slice(&self.at[a][first..end]);
                for (k, place) in places[first..end].iter().enumerate() {
                    points[a][PATCH + k] = place[a];
                    self.at[a][first + k] = place[a];
                }
            }
            let new = half(p);
            let largest = new.max(self.half[p]);
            self.half[p] = new;
            self.enclose(p, n);
            let both = (0..end - first).chain(PATCH..PATCH + end - first);
            let bounds = Bounds::around(both.map(|k| [points[0][k], points[1][k], points[2][k]]));
            self.renewed.push(Renewed { patch, half: largest, bounds, points });
        }
    }

    /// Makes all rows.
    pub fn list_all(&self, n: usize, blocks: &mut Vec<Rows>) {
        blocks.resize_with(n.div_ceil(PATCH), Rows::default);
        blocks.par_iter_mut().enumerate().for_each(|(patch, rows)| list(self, patch, n, rows));
    }

    /// Makes all rows for the lanes of [`crate::simd::Portable`].
    #[cfg(test)]
    pub fn list_portable(&self, n: usize, blocks: &mut Vec<Rows>) {
        blocks.resize_with(n.div_ceil(PATCH), Rows::default);
        for (patch, rows) in blocks.iter_mut().enumerate() {
            list_in::<crate::simd::Portable>(self, patch, n, rows);
        }
    }

    /// Makes the rows that patches with new places of reference have changed; how many patches'.
    pub fn list_renewed(&self, n: usize, blocks: &mut [Rows]) -> usize {
        blocks
            .par_iter_mut()
            .enumerate()
            .map(|(patch, rows)| {
                let mut touched = false;
                is_touched(self, patch, n, &mut touched);
                if touched {
                    list(self, patch, n, rows);
                }
                usize::from(touched)
            })
            .sum()
    }

    /// Whether a particle of now is nearer than `reach` to a place, all in supports.
    pub fn is_near(&self, p: [f32; 3], reach: f32, now: &[Quad]) -> bool {
        let chunks = now.len().div_ceil(CHUNK).min(self.chunk_half.len());
        (0..chunks).any(|chunk| {
            let (b, reach_here) = (self.boxes.get(chunk), reach + self.chunk_half[chunk]);
            let off = |a: usize| (b.low[a] - p[a]).max(p[a] - b.high[a]).max(0.0);
            let gap2: f32 = (0..3).map(|a| off(a) * off(a)).sum();
            gap2 < reach_here * reach_here
                && now[chunk * CHUNK..now.len().min((chunk + 1) * CHUNK)]
                    .iter()
                    .any(|q| (0..3).map(|a| (p[a] - q[a]) * (p[a] - q[a])).sum::<f32>() < reach * reach)
        })
    }

    /// The box around a patch.
    fn bounds(&self, patch: usize, n: usize) -> Bounds {
        let end = ((patch + 1) * PATCH).min(n).div_ceil(CHUNK);
        (patch * PATCH / CHUNK..end).fold(Bounds::NONE, |b, chunk| b.and(&self.boxes.get(chunk)))
    }
}

/// Square of the distance from boxes between `low` and `high` to one.
#[inline(always)]
fn gap2<L: Lanes>(low: [L; 3], high: [L; 3], b: &Bounds) -> L {
    let zero = L::splat(0.0);
    let mut sum = zero;
    for a in 0..3 {
        let off = low[a].sub(L::splat(b.high[a])).max(L::splat(b.low[a]).sub(high[a])).max(zero);
        sum = off.mul_add(off, sum);
    }
    sum
}

/// Lanes from a place in three arrays.
///
/// # Safety
/// Each must have a full vector from there.
#[inline(always)]
unsafe fn load3<L: Lanes>(of: [*const f32; 3], at: usize) -> [L; 3] {
    // SAFETY: passed on.
    unsafe { [L::load(of[0].add(at)), L::load(of[1].add(at)), L::load(of[2].add(at))] }
}

/// Whether the rows of a patch may have changed.
fn is_touched(of: &Patches, patch: usize, n: usize, out: &mut bool) {
    widest!(is_touched_in(of: &Patches, patch: usize, n: usize, out: &mut bool));
}

#[inline(always)]
fn is_touched_in<L: Lanes>(of: &Patches, patch: usize, n: usize, out: &mut bool) {
    let own = of.bounds(patch, n);
    for r in &of.renewed {
        let reach = of.cutoff + (of.half[patch] + r.half) + SLACK;
        let mut off2 = 0.0;
        for a in 0..3 {
            let off = (r.bounds.low[a] - own.high[a]).max(own.low[a] - r.bounds.high[a]).max(0.0);
            off2 += off * off;
        }
        if r.patch as usize == patch {
            *out = true;
            return;
        }
        if off2 >= reach * reach {
            continue;
        }
        let reach2 = L::splat(reach * reach);
        for k in (0..2 * PATCH).step_by(L::N) {
            // SAFETY: as many points as that are there.
            let p =
                unsafe { load3::<L>([r.points[0].as_ptr(), r.points[1].as_ptr(), r.points[2].as_ptr()], k) };
            if gap2(p, p, &own).below(reach2) != 0 {
                *out = true;
                return;
            }
        }
    }
}

/// Sixteen chunks that may hold neighbours of a patch.
#[derive(Clone, Copy)]
struct Sixteen {
    low: [[f32; CHUNK]; 3],
    high: [[f32; CHUNK]; 3],
    reach2: [f32; CHUNK],
    first: [u32; CHUNK],
}

impl Sixteen {
    const NONE: Sixteen = Sixteen {
        low: [[NOWHERE; CHUNK]; 3],
        high: [[NOWHERE; CHUNK]; 3],
        reach2: [0.0; CHUNK],
        first: [0; CHUNK],
    };
}

/// The rows of a patch, one for each cluster; chooses the instruction set.
fn list(of: &Patches, patch: usize, n: usize, rows: &mut Rows) {
    widest!(list_in(of: &Patches, patch: usize, n: usize, rows: &mut Rows));
}

#[inline(always)]
fn list_in<L: Lanes>(of: &Patches, patch: usize, n: usize, rows: &mut Rows) {
    let (begin, end) = (patch * PATCH, ((patch + 1) * PATCH).min(n));
    rows.index.clear();
    rows.end.clear();
    let nearby = nearby::<L>(of, patch, n);
    let at = [of.at[0].as_ptr(), of.at[1].as_ptr(), of.at[2].as_ptr()];
    let mut hit: Vec<(u32, f32)> = vec![(0, 0.0); (nearby.len() + 1) * CHUNK];
    for i in (begin..end).step_by(WIDTH) {
        let mut around = Bounds::NONE;
        // The last cluster is filled up with its last particle.
        let mut points = [[L::splat(0.0); 3]; WIDTH];
        for (k, point) in points.iter_mut().enumerate() {
            let k = (i + k).min(end - 1);
            let p = [of.at[0][k], of.at[1][k], of.at[2][k]];
            around = around.and(&Bounds { low: p, high: p });
            *point = p.map(L::splat);
        }
        let mut hits = 0;
        for near in &nearby {
            for k in (0..CHUNK).step_by(L::N) {
                // SAFETY: there are sixteen.
                let mut mask = unsafe {
                    let low =
                        load3::<L>([near.low[0].as_ptr(), near.low[1].as_ptr(), near.low[2].as_ptr()], k);
                    let high =
                        load3::<L>([near.high[0].as_ptr(), near.high[1].as_ptr(), near.high[2].as_ptr()], k);
                    gap2(low, high, &around).below(L::load(near.reach2.as_ptr().add(k)))
                };
                while mask != 0 {
                    let slot = (k + mask.trailing_zeros() as usize) & (CHUNK - 1);
                    mask &= mask - 1;
                    hit[hits] = (near.first[slot], near.reach2[slot]);
                    hits += 1;
                }
            }
        }
        let mut len = rows.index.len();
        rows.index.reserve((hits + 1) * CHUNK);
        let out = rows.index.as_mut_ptr();
        for &(first, reach2) in &hit[..hits] {
            let reach2 = L::splat(reach2);
            for first in (first as usize..first as usize + CHUNK).step_by(L::N) {
                // SAFETY: chunks are full, with places that are nowhere after the last particle.
                let p = unsafe { load3::<L>(at, first) };
                // The particles of the cluster itself are not listed.
                let own = if (first..first + L::N).contains(&i) { OWN << (i - first) } else { 0 };
                if own.count_ones() as usize == L::N || gap2(p, p, &around).below(reach2) == 0 {
                    continue;
                }
                let mut least = L::splat(f32::INFINITY);
                for q in &points {
                    let d = [q[0].sub(p[0]), q[1].sub(p[1]), q[2].sub(p[2])];
                    least = least.min(d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0]))));
                }
                let near = least.below(reach2) & !own;
                // SAFETY: there is room for a full vector of each.
                unsafe { L::store_set_bits(near, first as u32, out.add(len)) };
                len += near.count_ones() as usize;
            }
        }
        // SAFETY: so many were written.
        unsafe { rows.index.set_len(len) };
        rows.end.push(len as u32);
    }
}

/// The chunks near a patch.
#[inline(always)]
fn nearby<L: Lanes>(of: &Patches, patch: usize, n: usize) -> Vec<Sixteen> {
    let own = of.bounds(patch, n);
    let (half, cutoff) = (of.half[patch], of.cutoff);
    let chunks = n.div_ceil(CHUNK);
    let Boxes { low, high } = &of.boxes;
    let mut out = Vec::with_capacity(8);
    let mut count = 0;
    for k in (0..chunks).step_by(L::N) {
        // SAFETY: there are sixteen more boxes, and halves.
        let mut hits = unsafe {
            let low = load3::<L>([low[0].as_ptr(), low[1].as_ptr(), low[2].as_ptr()], k);
            let high = load3::<L>([high[0].as_ptr(), high[1].as_ptr(), high[2].as_ptr()], k);
            let reach = L::load(of.chunk_half.as_ptr().add(k)).add(L::splat(half)).add(L::splat(cutoff));
            gap2(low, high, &own).below(reach.mul(reach))
        };
        while hits != 0 {
            let chunk = k + hits.trailing_zeros() as usize;
            hits &= hits - 1;
            let slot = count % CHUNK;
            if slot == 0 {
                out.push(Sixteen::NONE);
            }
            count += 1;
            let Some(last) = out.last_mut() else { continue };
            for a in 0..3 {
                (last.low[a][slot], last.high[a][slot]) = (low[a][chunk], high[a][chunk]);
            }
            let reach = cutoff + (half + of.chunk_half[chunk]);
            (last.reach2[slot], last.first[slot]) = (reach * reach, (chunk * CHUNK) as u32);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::order::order;
    use super::*;
    use proptest::prelude::*;

    fn distance2(a: Quad, b: Quad) -> f32 {
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum()
    }

    /// All that is listed for each cluster of `width`, its own particles among them.
    fn listed(blocks: &[Rows], n: usize, width: usize) -> Vec<Vec<u32>> {
        let mut out = Vec::new();
        for (patch, rows) in blocks.iter().enumerate() {
            let mut begin = 0;
            for (k, end) in rows.end.iter().enumerate() {
                let first = patch * PATCH + k * width;
                let mut row: Vec<u32> = (first as u32..n.min(first + width) as u32).collect();
                row.extend(&rows.index[begin..*end as usize]);
                begin = *end as usize;
                out.push(row);
            }
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rows_made_anew_are_those_of_the_whole_list_and_miss_no_pair(
            points in prop::collection::vec([0.0..6.0f32, 0.0..3.0f32, 0.0..3.0f32], 2..700),
            speeds in prop::collection::vec([-0.1..0.1f32, -0.1..0.1f32, -0.1..0.1f32], 700),
            fast in 0.5..6.0f32,
            halves in [0.02..0.1f32, 0.1..0.3f32],
        ) {
            let cutoff = 0.85;
            let mut places: Vec<Quad> = points.iter().map(|p| [p[0], p[1], p[2], 0.0]).collect();
            let mut sorted = Vec::new();
            order(&places, &mut sorted);
            places = sorted.iter().map(|i| places[*i as usize]).collect();
            let n = places.len();
            let half = |patch: usize| halves[patch % 2];
            let mut patches = Patches::default();
            patches.lay(&places, cutoff, (0..n.div_ceil(PATCH)).map(half).collect());
            let mut blocks = Vec::new();
            patches.list_all(n, &mut blocks);
            let mut references = places.clone();
            let mut worn = Vec::new();
            for _ in 0..6 {
                for (p, v) in places.iter_mut().zip(&speeds) {
                    // Fast ones lie together, as in a jet.
                    let speed = if p[0] < fast { 0.1 } else { 1.0 };
                    (0..3).for_each(|a| p[a] += speed * v[a]);
                }
                let far2: Vec<f32> = places
                    .chunks(PATCH)
                    .zip(references.chunks(PATCH))
                    .map(|(p, r)| p.iter().zip(r).map(|(p, r)| distance2(*p, *r)).fold(0.0, f32::max))
                    .collect();
                patches.worn(&far2, 0.5, &mut worn);
                patches.renew(&worn, &places, |patch| half(patch + 1));
                for patch in &worn {
                    let of = *patch as usize * PATCH..n.min((*patch as usize + 1) * PATCH);
                    references[of.clone()].copy_from_slice(&places[of]);
                }
                patches.list_renewed(n, &mut blocks);
                let mut whole = Patches::default();
                whole.lay(&references, cutoff, patches.halves().to_vec());
                let mut all = Vec::new();
                whole.list_all(n, &mut all);
                prop_assert_eq!(blocks.iter().map(|b| &b.index).collect::<Vec<_>>(), all.iter().map(|b| &b.index).collect::<Vec<_>>());
                let width = WIDTH;
                let rows = listed(&blocks, n, width);
                prop_assert_eq!(rows.len(), n.div_ceil(width));
                for (cluster, row) in rows.iter().enumerate() {
                    let own = cluster * width..n.min((cluster + 1) * width);
                    for j in 0..n {
                        let (mut near, mut sure) = (own.contains(&j), true);
                        for i in own.clone() {
                            let reach = cutoff + (patches.halves()[i / PATCH] + patches.halves()[j / PATCH]);
                            let d2 = distance2(references[i], references[j]);
                            near |= d2 < reach * reach;
                            sure &= (d2 - reach * reach).abs() > 1e-5;
                            let apart = distance2(places[i], places[j]) >= cutoff * cutoff;
                            prop_assert!(apart || row.contains(&(j as u32)));
                        }
                        if sure {
                            prop_assert_eq!(row.iter().filter(|k| **k == j as u32).count(), usize::from(near));
                        }
                    }
                }
            }
        }

        #[test]
        fn a_place_is_occupied_where_a_particle_is_near(
            points in prop::collection::vec([0.0..3.0f32, 0.0..3.0f32, 0.0..3.0f32], 1..200),
            p in [0.0..3.0f32, 0.0..3.0f32, 0.0..3.0f32],
            reach in 0.1..1.0f32,
        ) {
            let places: Vec<Quad> = points.iter().map(|p| [p[0], p[1], p[2], 0.0]).collect();
            let mut patches = Patches::default();
            patches.lay(&places, 0.8, vec![0.1; places.len().div_ceil(PATCH)]);
            // All have moved since.
            let now: Vec<Quad> = places.iter().map(|p| [p[0] + 0.09, p[1], p[2], 0.0]).collect();
            let near = now.iter().any(|q| distance2([p[0], p[1], p[2], 0.0], *q) < reach * reach);
            prop_assert_eq!(patches.is_near(p, reach, &now), near);
        }
    }
}
