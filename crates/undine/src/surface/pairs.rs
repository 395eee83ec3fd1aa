//! Sums over the neighbours of particles, block by block.

use rayon::prelude::*;

use super::cloud::{Cloud, EDGE};
use super::field::dispatch;
use super::gather::Near;
use crate::simd::{Lanes, MOST_LANES, Octets};

/// A sum over neighbours. A trait and not a closure, which would be compiled without the instruction set.
pub trait PairSum: Sync {
    /// What is summed, as many neighbours at once as there are lanes.
    type Sum<L: Octets>: Copy;
    /// What a particle gets in the end.
    type Output: Send + Copy + Default;
    /// Nothing yet.
    fn zero<L: Octets>(&self) -> Self::Sum<L>;
    /// Adds candidates at `d` (their place less the particle's, in units of the reach) with r² = |d|², of which
    /// only those may count that are below 1; `column`: the first column of what they carry.
    fn add<L: Octets>(&self, sum: &mut Self::Sum<L>, d: [L; 3], r2: L, column: L);
    /// The results of eight particles.
    fn finish<L: Octets>(&self, sums: &[Self::Sum<L>; 8]) -> [Self::Output; 8];
}

/// The totals of eight particles, by what is summed.
#[inline(always)]
pub fn totals<L: Octets, const N: usize>(sums: &[[L; N]; 8]) -> [L::Eight; N] {
    let mut out = [L::Eight::splat(0.0); N];
    for (c, out) in out.iter_mut().enumerate() {
        let s = sums;
        *out = L::sums([s[0][c], s[1][c], s[2][c], s[3][c], s[4][c], s[5][c], s[6][c], s[7][c]]);
    }
    out
}

/// The sums of all particles of the blocks with `wanted`; others get the default. `reach` in cells.
pub fn pair_sums<P: PairSum>(
    cloud: &Cloud,
    wanted: &[bool],
    reach: f32,
    columns: &[Vec<f32>],
    sum: &P,
) -> Vec<P::Output> {
    let mut out = vec![P::Output::default(); cloud.len()];
    let parts = cloud.parts(&mut out);
    pair_sums_into(
        cloud,
        |b, _| wanted[b],
        reach,
        columns,
        sum,
        parts,
        |part, own, results| {
            for (&k, result) in own.iter().zip(results) {
                part[k as usize] = *result;
            }
        },
    );
    out
}

/// Hands the sums of the particles for which `wanted` (block, particle) holds to `write`, block by block, with their
/// numbers in the block. `parts`: what each block writes to.
pub fn pair_sums_into<P: PairSum, T: Send>(
    cloud: &Cloud,
    wanted: impl Fn(usize, usize) -> bool + Sync,
    reach: f32,
    columns: &[Vec<f32>],
    sum: &P,
    parts: Vec<T>,
    write: impl Fn(T, &[u32], &[P::Output]) + Sync,
) {
    parts.into_par_iter().enumerate().with_min_len(4).for_each_init(
        || (Near::default(), Group::default(), Cubes::default(), Vec::new(), Vec::new()),
        |(near, group, cubes, own, results), (b, part)| {
            let range = cloud.range(b);
            own.clear();
            own.extend((0..range.len() as u32).filter(|&k| wanted(b, range.start + k as usize)));
            if own.is_empty() {
                return;
            }
            let place: [&[f32]; 3] = std::array::from_fn(|a| &cloud.local[a][range.clone()]);
            if own.len() > 8 {
                cubes.sort(place, own, reach);
            }
            near.collect(cloud, cloud.keys[b], &cloud.local, columns, around(place, own, reach), reach);
            results.clear();
            for eight in own.chunks(8) {
                // The last one again, to make it eight.
                let place = place.map(|x| std::array::from_fn(|n| x[eight[n.min(eight.len() - 1)] as usize]));
                group.pick(near, &place, reach);
                results.extend_from_slice(&sums(group, &place, reach, sum)[..eight.len()]);
            }
            write(part, own, results);
        },
    );
}

/// The box around particles and `reach` more.
fn around(place: [&[f32]; 3], own: &[u32], reach: f32) -> ([f32; 3], [f32; 3]) {
    let ends = place.map(|x| {
        own.iter().map(|&k| x[k as usize]).fold((f32::MAX, f32::MIN), |(l, h), x| (l.min(x), h.max(x)))
    });
    (ends.map(|e| e.0 - reach), ends.map(|e| e.1 + reach))
}

/// Sorts particles into small cubes, so that eight in a row lie close together and share most of their neighbours.
#[derive(Debug, Default)]
struct Cubes {
    /// Cube of each particle.
    of: Vec<u16>,
    /// Where the next particle of each cube goes.
    next: Vec<u32>,
    sorted: Vec<u32>,
}

/// Most cubes along the edge of a block.
const MOST_CUBES: usize = 8;
/// Least edge of a cube, × reach. Smaller ones hold fewer than eight particles at rest; with eighths of a block whatever
/// the cell, cells of one spacing looked at twice the neighbours.
const CUBE: f32 = 0.7;

impl Cubes {
    fn sort(&mut self, place: [&[f32]; 3], own: &mut Vec<u32>, reach: f32) {
        let along = ((EDGE as f32 / (CUBE * reach)) as usize).clamp(1, MOST_CUBES);
        let per_cell = along as f32 / EDGE as f32;
        self.next.clear();
        self.next.resize(along.pow(3) + 1, 0);
        self.of.clear();
        for &k in own.iter() {
            let c = place.map(|x| ((x[k as usize] * per_cell) as usize).min(along - 1));
            let cube = walk(c, along);
            self.next[cube + 1] += 1;
            self.of.push(cube as u16);
        }
        let mut sum = 0;
        for n in &mut self.next {
            sum += *n;
            *n = sum;
        }
        self.sorted.clear();
        self.sorted.resize(own.len(), 0);
        for (&k, &cube) in own.iter().zip(&self.of) {
            let next = &mut self.next[cube as usize];
            self.sorted[*next as usize] = k;
            *next += 1;
        }
        std::mem::swap(own, &mut self.sorted);
    }
}

/// The number of a cube on a walk to and fro, on which each lies beside the one before.
fn walk([x, y, z]: [usize; 3], along: usize) -> usize {
    let turn = |x: usize, back: bool| if back { along - 1 - x } else { x };
    let row = z * along + turn(y, z % 2 == 1);
    row * along + turn(x, row % 2 == 1)
}

/// The neighbours of eight particles that lie close together.
#[derive(Debug, Default)]
pub struct Group {
    /// Coordinates in units of the reach.
    x: [Vec<f32>; 3],
    /// What they carry, if anything.
    column: Vec<f32>,
}

impl Group {
    /// Takes those of `near` within `reach` of the box around the particles.
    fn pick(&mut self, near: &Near, place: &[[f32; 8]; 3], reach: f32) {
        let room = near.x[0].len() + MOST_LANES;
        for x in &mut self.x {
            x.clear();
            x.reserve(room);
        }
        // Where nothing is carried it stays zeros.
        if carries(near) {
            self.column.clear();
            self.column.reserve(room);
        }
        let count = pick(near, place, reach, self);
        // SAFETY: so many places were written, and as many columns where there are some.
        unsafe {
            self.x.iter_mut().for_each(|x| x.set_len(count));
            if carries(near) {
                self.column.set_len(count);
            }
        }
        let full = count.next_multiple_of(MOST_LANES);
        // Out of everyone's reach.
        self.x.iter_mut().for_each(|x| x.resize(full, 1e6));
        self.column.resize(full, 0.0);
    }
}

/// Whether particles carry something besides their places.
#[inline(always)]
fn carries(near: &Near) -> bool {
    near.column[0].len() == near.x[0].len()
}

dispatch!(widest pick, pick_lanes, (near: &Near, place: &[[f32; 8]; 3], reach: f32, out: &mut Group) -> usize);

#[inline(always)]
fn pick_lanes<L: Octets>(near: &Near, place: &[[f32; 8]; 3], reach: f32, out: &mut Group) -> usize {
    let full = near.x[0].len();
    let carried = carries(near);
    let (mut low, mut high) = ([L::splat(0.0); 3], [L::splat(0.0); 3]);
    for a in 0..3 {
        let (mut l, mut h) = (place[a][0], place[a][0]);
        for &x in &place[a][1..] {
            l = l.min(x);
            h = h.max(x);
        }
        (low[a], high[a]) = (L::splat(l), L::splat(h));
    }
    let (scale, zero) = (L::splat(1.0 / reach), L::splat(0.0));
    // A hair more: roundings must not cost a neighbour.
    let reach2 = L::splat(reach * reach * (1.0 + 1e-5));
    let mut count = 0;
    let room = full + L::N;
    assert!(out.x.iter().all(|x| x.capacity() >= room) && (!carried || out.column.capacity() >= room));
    for j in (0..full).step_by(L::N) {
        // SAFETY: all arrays of `near` are as long as `x`, a multiple of `MOST_LANES`; there is room for all and a vector more,
        // written or not.
        unsafe {
            let x = L::load(near.x[0].as_ptr().add(j));
            let y = L::load(near.x[1].as_ptr().add(j));
            let z = L::load(near.x[2].as_ptr().add(j));
            // How far out of the box, along each axis.
            let dx = low[0].sub(x).max(x.sub(high[0])).max(zero);
            let dy = low[1].sub(y).max(y.sub(high[1])).max(zero);
            let dz = low[2].sub(z).max(z.sub(high[2])).max(zero);
            let mask = dz.mul_add(dz, dy.mul_add(dy, dx.mul(dx))).below(reach2);
            x.mul(scale).store_packed(mask, out.x[0].as_mut_ptr().add(count));
            y.mul(scale).store_packed(mask, out.x[1].as_mut_ptr().add(count));
            z.mul(scale).store_packed(mask, out.x[2].as_mut_ptr().add(count));
            if carried {
                L::load(near.column[0].as_ptr().add(j))
                    .store_packed(mask, out.column.as_mut_ptr().add(count));
            }
            count += mask.count_ones() as usize;
        }
    }
    count
}

dispatch!(widest sums, sums_lanes, <P: PairSum>(group: &Group, place: &[[f32; 8]; 3], reach: f32, sum: &P) -> [P::Output; 8]);

/// Neighbours out of reach are not stepped over: that branch took 14 instead of 8 ms for 60k particles.
#[inline(always)]
fn sums_lanes<L: Octets, P: PairSum>(
    group: &Group,
    place: &[[f32; 8]; 3],
    reach: f32,
    sum: &P,
) -> [P::Output; 8] {
    let scale = 1.0 / reach;
    let full = group.x[0].len();
    let mut sums = [sum.zero::<L>(); 8];
    assert!(group.x.iter().chain([&group.column]).all(|x| x.len() == full) && full.is_multiple_of(L::N));
    for (n, out) in sums.iter_mut().enumerate() {
        let p = [L::splat(place[0][n] * scale), L::splat(place[1][n] * scale), L::splat(place[2][n] * scale)];
        let mut s = sum.zero::<L>();
        for j in (0..full).step_by(L::N) {
            // SAFETY: the lengths were just checked.
            unsafe {
                let dx = L::load(group.x[0].as_ptr().add(j)).sub(p[0]);
                let dy = L::load(group.x[1].as_ptr().add(j)).sub(p[1]);
                let dz = L::load(group.x[2].as_ptr().add(j)).sub(p[2]);
                let r2 = dz.mul_add(dz, dy.mul_add(dy, dx.mul(dx)));
                sum.add(&mut s, [dx, dy, dz], r2, L::load(group.column.as_ptr().add(j)));
            }
        }
        *out = s;
    }
    sum.finish(&sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_through_the_cubes_steps_from_each_to_one_beside_it() {
        for along in 1..=MOST_CUBES {
            let mut cubes: Vec<[usize; 3]> =
                (0..along.pow(3)).map(|i| [i % along, i / along % along, i / along.pow(2)]).collect();
            cubes.sort_by_key(|c| walk(*c, along));
            for (number, two) in cubes.windows(2).enumerate() {
                let steps: usize = (0..3).map(|a| two[0][a].abs_diff(two[1][a])).sum();
                assert_eq!((walk(two[0], along), steps), (number, 1));
            }
        }
    }

    #[test]
    fn sorted_particles_are_those_that_came_by_their_cubes() {
        let at = |k: usize, by: usize| (k * by % 701) as f32 / 100.0;
        let x: [Vec<f32>; 3] = [13, 29, 57].map(|by| (0..300).map(|k| at(k, by)).collect());
        let place = [&x[0][..], &x[1], &x[2]];
        for reach in [0.3, 2.5, 5.0, 40.0] {
            let before: Vec<u32> = (0..300).filter(|k| k % 3 != 1).collect();
            let mut own = before.clone();
            Cubes::default().sort(place, &mut own, reach);
            let along = ((EDGE as f32 / (CUBE * reach)) as usize).clamp(1, MOST_CUBES);
            let cube = |k: &u32| {
                let c = place.map(|x| ((x[*k as usize] * along as f32 / 7.0) as usize).min(along - 1));
                walk(c, along)
            };
            let mut expected = before;
            expected.sort_by_key(cube);
            assert_eq!(own, expected, "{reach}");
        }
    }
}
