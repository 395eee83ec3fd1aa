//! Where the fluid has its density at rest: particles are counted around the nodes between bins, a whole number of
//! them to a block.
//!
//! What the blocks around a block add or take away is passed on along one axis after the other, so that each looks at
//! two neighbours three times instead of at 26.
//!
//! Counts are averaged with those of the nodes beside them. The particles of a solver that pushes them apart hardly need
//! it, but markers that ride on a grid lie at random: their counts on single nodes deviate by half, and of the 64 nodes
//! around a bin one nearly always missed the mark. Of a dam break's markers 4 to 25 % were found deep inside, averaged 47
//! to 61 %, and of the blocks filled all through next to none instead of 40 to 90 of 500 to 900.

use rayon::prelude::*;

use super::cloud::{Cloud, EDGE, Key};

/// A place counts as filled when it has this share of the particles that it has at rest, counted with weights that
/// fall off linearly over a bin, then averaged by (1, 2, 1)/4 along each axis. The surface lies where about half of them
/// are missing; so many are around the middle of a hole of 2³ particles.
const FILLED: f32 = 0.6;
/// Most bins along the edge of a block in which particles are counted.
const MOST_BINS: usize = 16;
/// No block.
const NONE: u32 = u32::MAX;

/// The blocks before and after each block along an axis.
type Sides = Vec<[u32; 2]>;

/// Which places are filled.
#[derive(Clone, Debug, Default)]
pub struct Filling {
    /// Bins along the edge of a block, of one spacing or more; 0 when a block is too small to see enough particles.
    bins: usize,
    /// Of each block with particles `bins`² rows of bins, y fastest; a bit for each bin that is deep inside.
    deep: Vec<u32>,
    /// Of each block whether all blocks around it have particles too.
    pub surrounded: Vec<bool>,
    /// Of each block whether it is surrounded and all of its nodes are filled.
    whole: Vec<bool>,
}

impl Filling {
    /// Looks at all blocks with particles; `spacing` in cells.
    pub fn new(cloud: &Cloud, spacing: f32) -> Self {
        let bins = ((EDGE as f32 / spacing) as usize).min(MOST_BINS);
        if bins == 0 {
            let none = vec![false; cloud.keys.len()];
            return Filling { bins, deep: Vec::new(), surrounded: none.clone(), whole: none };
        }
        let mut surrounded = vec![true; cloud.keys.len()];
        let sides = [0, 1, 2].map(|axis| sides(cloud, axis));
        let enough = FILLED * (EDGE as f32 / bins as f32 / spacing).powi(3);
        let n = bins + 1;
        let mut counts = counts(cloud, bins);
        // One list is read while the other is written.
        let mut spare = vec![0.0; counts.len()];
        for (axis, sides) in sides.iter().enumerate() {
            add_sides(&counts, n, axis, sides, &mut spare);
            std::mem::swap(&mut counts, &mut spare);
            let there = |&side: &u32| side != NONE && surrounded[side as usize];
            let all = |(b, sides): (usize, &[u32; 2])| surrounded[b] && sides.iter().all(there);
            surrounded = sides.iter().enumerate().map(all).collect();
        }
        for (axis, sides) in sides.iter().enumerate() {
            average(&counts, n, axis, sides, &mut spare);
            std::mem::swap(&mut counts, &mut spare);
        }
        let mut rows = vec![0; cloud.keys.len() * n * n];
        rows.par_iter_mut().zip(counts.par_chunks_exact(n)).with_min_len(4096).for_each(|(row, nodes)| {
            *row = nodes.iter().rev().fold(0, |r, &v| r << 1 | u32::from(v >= enough));
        });
        drop((counts, spare));
        let full = (1 << n) - 1;
        let mut whole = surrounded.clone();
        for (whole, rows) in whole.iter_mut().zip(rows.chunks_exact(n * n)) {
            *whole &= rows.iter().all(|&r| r == full);
        }
        Filling { bins, deep: deep_bins(rows, bins, &sides), surrounded, whole }
    }

    /// Those of the blocks that are not filled all through.
    ///
    /// A cavity so small that no place misses so many of its particles escapes this; the walk of the surface finds all
    /// that is connected to what was kept, so no surface is ever left open.
    pub fn seeds(&self, cloud: &Cloud, mut blocks: Vec<Key>) -> Vec<Key> {
        blocks.retain(|key| cloud.map.get(key).is_none_or(|&b| !self.whole[b as usize]));
        blocks
    }

    /// Which particles lie deep inside: in a bin that is filled all around, as are those beside it. The surface is two
    /// spacings away or nearly. Only the particles of the blocks with `wanted` are looked at; the others are deep.
    pub fn deep(&self, cloud: &Cloud, wanted: &[bool]) -> Vec<bool> {
        let bins = self.bins;
        if bins == 0 {
            return vec![false; cloud.len()];
        }
        let mut deep = vec![true; cloud.len()];
        let per_cell = bins as f32 / EDGE as f32;
        let parts = cloud.parts(&mut deep).into_par_iter().zip(self.deep.par_chunks_exact(bins * bins));
        parts.enumerate().with_min_len(64).filter(|(b, _)| wanted[*b]).for_each(|(b, (deep, rows))| {
            let (any, all) = rows.iter().fold((0, !0), |(any, all), r| (any | r, all & r));
            if any == 0 {
                deep.fill(false);
            } else if all != (1 << bins) - 1 {
                let range = cloud.range(b);
                let [x, y, z] = [0, 1, 2].map(|a| &cloud.local[a][range.clone()]);
                let bin = |x: f32| ((x * per_cell) as usize).min(bins - 1);
                for (k, deep) in deep.iter_mut().enumerate() {
                    *deep = rows[bin(z[k]) * bins + bin(y[k])] >> bin(x[k]) & 1 == 1;
                }
            }
        });
        deep
    }
}

fn sides(cloud: &Cloud, axis: usize) -> Sides {
    let beside = |key: &Key, step: i32| {
        let mut key = *key;
        key[axis] += step;
        cloud.map.get(&key).copied().unwrap_or(NONE)
    };
    cloud.keys.par_iter().with_min_len(256).map(|key| [beside(key, -1), beside(key, 1)]).collect()
}

/// What the particles of each block add to the nodes between its bins, the last ones included; x fastest.
fn counts(cloud: &Cloud, bins: usize) -> Vec<f32> {
    let per_cell = bins as f32 / EDGE as f32;
    let n = bins + 1;
    let mut counts = vec![0.0; cloud.keys.len() * n.pow(3)];
    counts.par_chunks_mut(n.pow(3)).enumerate().with_min_len(64).for_each(|(b, counts)| {
        for k in cloud.range(b) {
            let x: [f32; 3] = std::array::from_fn(|a| cloud.local[a][k] * per_cell);
            let c = x.map(|x| (x as usize).min(bins - 1));
            let f: [f32; 3] = std::array::from_fn(|a| x[a] - c[a] as f32);
            let first = (c[2] * n + c[1]) * n + c[0];
            for (dz, wz) in [(0, 1.0 - f[2]), (n * n, f[2])] {
                for (dy, wy) in [(0, 1.0 - f[1]), (n, f[1])] {
                    let pair = &mut counts[first + dz + dy..][..2];
                    pair[0] += wz * wy * (1.0 - f[0]);
                    pair[1] += wz * wy * f[0];
                }
            }
        }
    });
    counts
}

/// Adds the counts that blocks beside each other along an axis have on the nodes between them.
fn add_sides(old: &[f32], n: usize, axis: usize, sides: &Sides, new: &mut [f32]) {
    let size = n.pow(3);
    let stride = n.pow(axis as u32);
    new.par_chunks_exact_mut(size).zip(sides).enumerate().with_min_len(64).for_each(|(b, (new, sides))| {
        new.copy_from_slice(&old[b * size..][..size]);
        // First node of the face here and there.
        for (side, here, there) in [(sides[0], 0, (n - 1) * stride), (sides[1], (n - 1) * stride, 0)] {
            if side == NONE {
                continue;
            }
            let from = &old[side as usize * size..][..size];
            for high in (0..size).step_by(n * stride) {
                let new = &mut new[high + here..][..stride];
                new.iter_mut().zip(&from[high + there..][..stride]).for_each(|(new, from)| *new += from);
            }
        }
    });
}

/// Averages counts by (1, 2, 1)/4 along an axis. Where there is no block there are no particles.
fn average(old: &[f32], n: usize, axis: usize, sides: &Sides, new: &mut [f32]) {
    let size = n.pow(3);
    let stride = n.pow(axis as u32);
    let quarter = |new: &mut [f32], from: &[f32]| new.iter_mut().zip(from).for_each(|(n, f)| *n += 0.25 * f);
    new.par_chunks_exact_mut(size).zip(sides).enumerate().with_min_len(64).for_each(|(b, (new, sides))| {
        let here = &old[b * size..][..size];
        for high in (0..size).step_by(n * stride) {
            let (new, here) = (&mut new[high..][..n * stride], &here[high..][..n * stride]);
            new.iter_mut().zip(here).for_each(|(n, h)| *n = 0.5 * h);
            quarter(&mut new[stride..], here);
            quarter(new, &here[stride..]);
            // The faces are nodes of the blocks beside, too: those one farther are needed.
            for (side, at, there) in [(sides[0], 0, n - 2), (sides[1], n - 1, 1)] {
                if side != NONE {
                    let from = &old[side as usize * size + high + there * stride..][..stride];
                    quarter(&mut new[at * stride..][..stride], from);
                }
            }
        }
    });
}

/// The bins around which all nodes are filled to one bin away; `rows`: the nodes that are.
fn deep_bins(mut rows: Vec<u32>, bins: usize, sides: &[Sides; 3]) -> Vec<u32> {
    // Along x the nodes of a row are bits; along y and z they are rows, which become bins one axis after the other.
    let (n, blocks) = (bins + 1, sides[0].len());
    let old = rows.clone();
    rows.par_chunks_exact_mut(n * n).zip(&sides[0]).enumerate().with_min_len(256).for_each(
        |(b, (rows, sides))| {
            let node = |side: u32, r: usize, bit: usize| match side {
                NONE => 0,
                _ => old[side as usize * n * n + r] >> bit & 1,
            };
            for (r, row) in rows.iter_mut().enumerate() {
                let nodes =
                    node(sides[0], r, bins - 1) | old[b * n * n + r] << 1 | node(sides[1], r, 1) << (n + 1);
                *row = nodes & nodes >> 1 & nodes >> 2 & nodes >> 3;
            }
        },
    );
    // Rows along y, then layers along z: (rows in a layer, layers, step of a node, step of a bin).
    let mut along = |axis: usize, width: usize, lines: usize| {
        let old = std::mem::replace(&mut rows, vec![0; blocks * width * lines * bins]);
        let size = width * lines * n;
        rows.par_chunks_exact_mut(width * lines * bins)
            .zip(&sides[axis])
            .enumerate()
            .with_min_len(256)
            .for_each(|(b, (new, sides))| {
                let node = |k: usize, line: usize, w: usize| {
                    // Nodes count from the one before the block's first.
                    let (block, k) = match k {
                        0 => (sides[0], bins - 1),
                        k if k == n + 1 => (sides[1], 1),
                        k => (b as u32, k - 1),
                    };
                    if block == NONE { 0 } else { old[block as usize * size + (line * n + k) * width + w] }
                };
                for line in 0..lines {
                    for k in 0..bins {
                        for w in 0..width {
                            new[(line * bins + k) * width + w] =
                                (k..k + 4).fold(!0, |all, k| all & node(k, line, w));
                        }
                    }
                }
            });
    };
    along(1, 1, n);
    along(2, bins, 1);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::candidates::in_reach;

    fn lattice(n: i32) -> Vec<[f32; 3]> {
        let mut out = Vec::new();
        for z in 0..n {
            for y in 0..n {
                for x in 0..n {
                    out.push([x as f32 + 0.5, y as f32 + 0.5, z as f32 + 0.5]);
                }
            }
        }
        out
    }

    #[test]
    fn the_inside_of_a_cube_is_filled_and_its_rim_is_not() {
        let cloud = Cloud::new(&lattice(21), 0.5).unwrap();
        let filling = Filling::new(&cloud, 2.0);
        let all = in_reach(&cloud, 4.0, &filling.surrounded).unwrap();
        // Those that are surrounded need not be looked at.
        assert_eq!(all, in_reach(&cloud, 4.0, &vec![false; cloud.keys.len()]).unwrap());
        assert!(filling.surrounded.iter().any(|s| *s));
        let kept = filling.seeds(&cloud, all.clone());
        let inner: Vec<&Key> = all.iter().filter(|k| !kept.contains(k)).collect();
        // Blocks are 3.5 wide; the surface lies at 0 and 21.
        assert!(inner.iter().all(|k| k.iter().all(|&c| (1..5).contains(&c))), "{inner:?}");
        assert!(inner.len() >= 27, "{}", inner.len());
    }

    #[test]
    fn particles_two_spacings_and_more_below_the_surface_are_deep() {
        for cell in [0.25, 0.5, 0.7, 1.3] {
            let p = lattice(21);
            let cloud = Cloud::new(&p, cell).unwrap();
            let spacing = (1.0 / cell) as f32;
            let deep = Filling::new(&cloud, spacing).deep(&cloud, &vec![true; cloud.keys.len()]);
            let depth =
                |k: usize| p[cloud.order[k] as usize].iter().fold(f32::MAX, |d, x| d.min(*x).min(21.0 - x));
            let (mut most, mut least) = (0.0f32, f32::MAX);
            for (k, deep) in deep.iter().enumerate() {
                if *deep {
                    least = least.min(depth(k));
                } else {
                    most = most.max(depth(k));
                }
            }
            assert!(least >= 1.5, "cell {cell}: {least} deep");
            // Bins are no smaller than a spacing and smaller than two.
            assert!(most <= 4.5, "cell {cell}: {most} not deep");
        }
    }

    #[test]
    fn averages_are_those_of_all_nodes_on_one_grid() {
        let p: Vec<[f32; 3]> =
            lattice(14).iter().map(|p| std::array::from_fn(|a| p[a] + 0.3 * p[(a + 1) % 3].sin())).collect();
        let cloud = Cloud::new(&p, 1.0).unwrap();
        let (bins, n) = (EDGE, EDGE + 1);
        let mut got = counts(&cloud, bins);
        let sides = [0, 1, 2].map(|axis| sides(&cloud, axis));
        let mut spare = vec![f32::NAN; got.len()];
        for step in [add_sides, average] {
            for (axis, sides) in sides.iter().enumerate() {
                step(&got, n, axis, sides, &mut spare);
                std::mem::swap(&mut got, &mut spare);
            }
        }
        let hat = |u: f32| (1.0 - u.abs()).max(0.0);
        let weight = |u: f32| 0.25 * (hat(u - 1.0) + hat(u + 1.0)) + 0.5 * hat(u);
        for (b, key) in cloud.keys.iter().enumerate() {
            // On the rim, where blocks are missing beside others that are there, it may be less.
            for k in 0..n.pow(3) {
                let node = [k % n, k / n % n, k / (n * n)];
                let at: [f32; 3] = std::array::from_fn(|a| (key[a] * EDGE as i32 + node[a] as i32) as f32);
                let sum: f32 = p.iter().map(|p| (0..3).map(|a| weight(p[a] - at[a])).product::<f32>()).sum();
                let value = got[b * n.pow(3) + k];
                assert!(value < sum + 1e-4, "{at:?}: {value} of {sum}");
                if at.iter().all(|x| (1.0..=13.0).contains(x)) {
                    assert!((value - sum).abs() < 1e-4, "{at:?}: {value} of {sum}");
                }
            }
        }
    }

    #[test]
    fn a_hole_is_seen() {
        let mut p = lattice(21);
        p.retain(|p| p.iter().map(|x| (x - 10.5).powi(2)).sum::<f32>() > 2.1);
        let cloud = Cloud::new(&p, 0.5).unwrap();
        let filling = Filling::new(&cloud, 2.0);
        let kept = filling.seeds(&cloud, in_reach(&cloud, 4.0, &filling.surrounded).unwrap());
        assert!(kept.contains(&[2, 2, 2]) || kept.contains(&[3, 3, 3]));
    }
}
