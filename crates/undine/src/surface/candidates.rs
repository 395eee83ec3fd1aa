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

/// Keeps the blocks that are not filled all through; `spacing` in cells.
///
/// A cavity so small that no place misses so many of its particles escapes this; the walk of the surface finds all
/// that is connected to what was kept, so no surface is ever left open.
pub fn not_filled(cloud: &Cloud, blocks: Vec<Key>, spacing: f32) -> Vec<Key> {
    // Bins of at least one spacing, a whole number of them to a block. Blocks below that see too few particles.
    let bins = ((EDGE as f32 / spacing) as usize).min(MOST_BINS);
    if bins == 0 {
        return blocks;
    }
    let enough = FILLED * (EDGE as f32 / bins as f32 / spacing).powi(3);
    let counts = counts(cloud, bins);
    blocks
        .into_par_iter()
        .with_min_len(64)
        .map_init(
            || (vec![0.0; (bins + 1).pow(3)], Vec::new()),
            |(nodes, near), key| {
                cloud.around(key, 1.0, near);
                // A block with a missing neighbour is not surrounded by fluid.
                if near.len() < 27 {
                    return Some(key);
                }
                nodes.fill(0.0);
                for block in near.iter() {
                    add_counts(&counts, bins, block, nodes);
                }
                nodes.iter().any(|&n| n < enough).then_some(key)
            },
        )
        .flatten_iter()
        .collect()
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
        let kept = not_filled(&cloud, all.clone(), 2.0);
        let inner: Vec<&Key> = all.iter().filter(|k| !kept.contains(k)).collect();
        // Blocks are 3.5 wide; the surface lies at 0 and 21.
        assert!(inner.iter().all(|k| k.iter().all(|&c| (1..5).contains(&c))), "{inner:?}");
        assert!(inner.len() >= 27, "{}", inner.len());
    }

    #[test]
    fn a_hole_is_seen() {
        let mut p = lattice(21);
        p.retain(|p| p.iter().map(|x| (x - 10.5).powi(2)).sum::<f32>() > 2.1);
        let cloud = Cloud::new(&p, 0.5).unwrap();
        let kept = not_filled(&cloud, in_reach(&cloud, 4.0).unwrap(), 2.0);
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
