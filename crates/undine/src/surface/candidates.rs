//! Which blocks may hold a piece of the surface: those in reach of particles, less those filled all through.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use rayon::prelude::*;

use super::cloud::{Around, Cloud, EDGE, Key, KeyHasher, rank};
use super::options::SurfaceError;

/// Most blocks that are looked at: 7 × 10⁸ cells.
pub const MOST_BLOCKS: usize = 1 << 21;
/// A place counts as filled when it has this share of the particles that it has at rest, counted with weights that
/// fall off linearly over a bin. The surface lies where about half of them are missing.
const FILLED: f32 = 0.7;
/// Most bins along the edge of a block in which particles are counted.
const MOST_BINS: usize = 16;

/// The blocks with a particle not farther than `reach` cells, by rank.
pub fn in_reach(cloud: &Cloud, reach: f32) -> Result<Vec<Key>, SurfaceError> {
    let mut found: HashSet<Key, BuildHasherDefault<KeyHasher>> = HashSet::default();
    for b in 0..cloud.keys.len() {
        found.extend(touched(cloud, b, reach));
        if found.len() > MOST_BLOCKS {
            return Err(SurfaceError::TooLarge { limit: MOST_BLOCKS });
        }
    }
    let mut found: Vec<Key> = found.into_iter().collect();
    found.par_sort_unstable_by_key(rank);
    Ok(found)
}

/// The blocks in reach of the box around a block's particles.
fn touched(cloud: &Cloud, block: usize, reach: f32) -> impl Iterator<Item = Key> {
    let key = cloud.keys[block];
    let [x, y, z]: [(i32, i32); 3] = std::array::from_fn(|a| {
        let x = &cloud.local[a][cloud.range(block)];
        let (low, high) =
            x.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        let block = |x: f32| key[a] + (x / EDGE as f32).floor() as i32;
        (block(low - reach), block(high + reach))
    });
    let along = |r: (i32, i32)| r.0..=r.1;
    along(z).flat_map(move |z| along(y).flat_map(move |y| along(x).map(move |x| [x, y, z])))
}

/// Where the fluid has its density at rest: looked at on the nodes between bins, a whole number of them to a block.
#[derive(Clone, Debug, Default)]
pub struct Filling {
    /// Bins along the edge of a block, of one spacing or more; 0 when a block is too small to see enough particles.
    bins: usize,
    /// Of each block with particles (`bins` + 1)² rows of nodes, y fastest; a bit for each node that is filled.
    rows: Vec<u32>,
    /// Of each block whether all of its nodes are filled.
    whole: Vec<bool>,
}

impl Filling {
    /// Looks at all blocks with particles; `spacing` in cells.
    pub fn new(cloud: &Cloud, spacing: f32) -> Self {
        let bins = ((EDGE as f32 / spacing) as usize).min(MOST_BINS);
        let n = bins + 1;
        let blocks = cloud.keys.len();
        let mut filling = Filling { bins, rows: vec![0; blocks * n * n], whole: vec![false; blocks] };
        if bins == 0 {
            return filling;
        }
        let enough = FILLED * (EDGE as f32 / bins as f32 / spacing).powi(3);
        let counts = counts(cloud, bins);
        filling
            .rows
            .par_chunks_mut(n * n)
            .zip(&mut filling.whole)
            .enumerate()
            .with_min_len(64)
            .for_each_init(
                || (vec![0.0; n.pow(3)], Vec::new()),
                |(nodes, near), (b, (rows, whole))| {
                    cloud.around(cloud.keys[b], 1.0, near);
                    nodes.fill(0.0);
                    for block in near.iter() {
                        add_counts(&counts, bins, block, nodes);
                    }
                    for (row, nodes) in rows.iter_mut().zip(nodes.chunks_exact(n)) {
                        *row = nodes.iter().rev().fold(0, |r, &v| r << 1 | u32::from(v >= enough));
                    }
                    // A block with a missing neighbour is not surrounded by fluid.
                    *whole = near.len() == 27 && rows.iter().all(|&r| r == (1 << n) - 1);
                },
            );
        filling
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
        let mut deep = vec![true; cloud.len()];
        let per_cell = self.bins as f32 / EDGE as f32;
        cloud.parts(&mut deep).into_par_iter().enumerate().with_min_len(64).for_each_init(
            || (Vec::new(), Vec::new()),
            |(near, rows), (b, deep)| {
                if !wanted[b] {
                    return;
                }
                self.deep_bins(cloud, b, near, rows);
                let first = cloud.range(b).start;
                for (k, deep) in deep.iter_mut().enumerate() {
                    let bin = |a: usize| (cloud.local[a][first + k] * per_cell) as usize;
                    let [x, y, z] = [0, 1, 2].map(|a| bin(a).min(self.bins.saturating_sub(1)));
                    *deep = self.bins > 0 && rows[z * (self.bins + 3) + y] >> x & 1 == 1;
                }
            },
        );
        deep
    }

    /// The deep bins of a block as bits of `rows`, `bins` + 3 of them to a layer.
    fn deep_bins(&self, cloud: &Cloud, block: usize, near: &mut Vec<Around>, rows: &mut Vec<u32>) {
        // The nodes of the block and one more on every side.
        let (bins, n, m) = (self.bins, self.bins + 1, self.bins + 3);
        rows.clear();
        rows.resize(m * m, 0);
        cloud.around(cloud.keys[block], 1.0, near);
        for from in near.iter() {
            let source = &self.rows[from.block as usize * n * n..][..n * n];
            // First node there, first node here, and how many. Nodes on a border are known to both sides.
            let [x, y, z] = from.step.map(|s| match s {
                -1 => (bins.saturating_sub(1), 0, 1),
                0 => (0, 1, n),
                _ => (1.min(bins), n + 1, 1),
            });
            for k in 0..z.2 {
                for j in 0..y.2 {
                    let row = source[(z.0 + k) * n + y.0 + j] >> x.0 & ((1 << x.2) - 1);
                    rows[(z.1 + k) * m + y.1 + j] |= row << x.1;
                }
            }
        }
        // A bin is deep when the four nodes along each axis from the one before it on are all filled.
        for step in [1, m] {
            for r in 0..m * m {
                rows[r] = (1..4).fold(rows[r], |all, k| all & rows.get(r + k * step).copied().unwrap_or(0));
            }
        }
        rows.iter_mut().for_each(|r| *r = *r & *r >> 1 & *r >> 2 & *r >> 3);
    }
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

/// Adds what a block near by, or the block itself, adds to the nodes of a block.
fn add_counts(counts: &[f32], bins: usize, from: &Around, nodes: &mut [f32]) {
    let n = bins + 1;
    let source = &counts[from.block as usize * n.pow(3)..][..n.pow(3)];
    // First node there, first node here, and how many.
    let [x, y, z] = from.step.map(|s| match s {
        -1 => (bins, 0, 1),
        0 => (0, 0, n),
        _ => (0, bins, 1),
    });
    for k in 0..z.2 {
        for j in 0..y.2 {
            let from = ((z.0 + k) * n + y.0 + j) * n + x.0;
            let to = ((z.1 + k) * n + y.1 + j) * n + x.1;
            for i in 0..x.2 {
                nodes[to + i] += source[from + i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let all = in_reach(&cloud, 4.0).unwrap();
        let kept = Filling::new(&cloud, 2.0).seeds(&cloud, all.clone());
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
    fn a_hole_is_seen() {
        let mut p = lattice(21);
        p.retain(|p| p.iter().map(|x| (x - 10.5).powi(2)).sum::<f32>() > 2.1);
        let cloud = Cloud::new(&p, 0.5).unwrap();
        let kept = Filling::new(&cloud, 2.0).seeds(&cloud, in_reach(&cloud, 4.0).unwrap());
        assert!(kept.contains(&[2, 2, 2]) || kept.contains(&[3, 3, 3]));
    }

    #[test]
    fn too_fine_cells_are_refused_before_memory_is_asked_for() {
        let p: Vec<[f32; 3]> = (0..10_000).map(|i| [i as f32 * 1000.0, 0.0, 0.0]).collect();
        let cloud = Cloud::new(&p, 0.1).unwrap();
        assert!(in_reach(&cloud, 3.0).is_ok());
        assert!(matches!(in_reach(&cloud, 24.0), Err(SurfaceError::TooLarge { .. })));
    }
}
