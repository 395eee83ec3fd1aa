//! Which blocks may hold a piece of the surface: those in reach of particles, less those filled all through.

use rayon::prelude::*;

use super::cloud::{Cloud, EDGE, Key, rank};
use super::options::SurfaceError;

/// Most blocks that are looked at; each takes a few hundred bytes at most before it holds triangles.
const MOST_BLOCKS: usize = 1 << 22;
/// A place counts as filled when the cube of two or more spacings around it holds this share of the particles that
/// it holds at rest: a lattice aligned with the cubes fills some of them to 0.63.
const FILLED: f32 = 0.6;
/// Most bins along the edge of a block in which particles are counted.
const MOST_BINS: usize = 16;

/// The blocks with a particle not farther than `reach` cells, by rank.
pub fn in_reach(cloud: &Cloud, reach: f32) -> Result<Vec<Key>, SurfaceError> {
    let mut found: Vec<Key> = Vec::new();
    for b in 0..cloud.keys.len() {
        let range: [(i32, i32); 3] = std::array::from_fn(|a| {
            let x = &cloud.local[a][cloud.range(b)];
            let (low, high) =
                x.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
            let block = |x: f32| (x / EDGE as f32).floor() as i32;
            (block(low - reach), block(high + reach))
        });
        let key = cloud.keys[b];
        for z in range[2].0..=range[2].1 {
            for y in range[1].0..=range[1].1 {
                for x in range[0].0..=range[0].1 {
                    found.push([key[0] + x, key[1] + y, key[2] + z]);
                }
            }
        }
        // Sorted now and then, so that the memory stays in proportion to the blocks there are.
        if found.len() >= 4 * MOST_BLOCKS {
            tidy(&mut found);
            if found.len() > MOST_BLOCKS {
                return Err(SurfaceError::TooLarge { limit: MOST_BLOCKS });
            }
        }
    }
    tidy(&mut found);
    if found.len() > MOST_BLOCKS {
        return Err(SurfaceError::TooLarge { limit: MOST_BLOCKS });
    }
    Ok(found)
}

fn tidy(keys: &mut Vec<Key>) {
    keys.par_sort_unstable_by_key(rank);
    keys.dedup();
}

/// Keeps the blocks that are not filled all through; `spacing` in cells.
///
/// A cavity so small that no cube misses so many of its particles escapes this; the walk of the surface finds all
/// that is connected to what was kept, so no surface is ever left open.
pub fn not_filled(cloud: &Cloud, blocks: Vec<Key>, spacing: f32) -> Vec<Key> {
    // Bins of at least one spacing, a whole number of them to a block where blocks are larger.
    let bins = ((EDGE as f32 / spacing) as usize).clamp(1, MOST_BINS);
    let width = (EDGE as f32 / bins as f32).max(spacing);
    let enough = (FILLED * (2.0 * width / spacing).powi(3)).ceil() as u32;
    let n = bins + 2;
    blocks
        .into_par_iter()
        .with_min_len(64)
        .map_init(
            || vec![0u32; n * n * n],
            |count, key| {
                count.fill(0);
                for (b, offset) in cloud.around(key, width) {
                    for k in cloud.range(b) {
                        let c: [f32; 3] =
                            std::array::from_fn(|a| (cloud.local[a][k] + offset[a]) / width + 1.0);
                        if c.iter().all(|&c| c >= 0.0 && c < n as f32) {
                            count[(c[2] as usize * n + c[1] as usize) * n + c[0] as usize] += 1;
                        }
                    }
                }
                (!all_filled(count, n, enough)).then_some(key)
            },
        )
        .flatten_iter()
        .collect()
}

/// Whether every two by two by two bins hold enough.
fn all_filled(count: &mut [u32], n: usize, enough: u32) -> bool {
    // Sums of neighbours, an axis at a time, in place: an entry needs only itself and a later one.
    for step in [1, n, n * n] {
        for i in 0..count.len() - step {
            count[i] += count[i + step];
        }
    }
    let last = n - 1;
    (0..last).all(|z| (0..last).all(|y| count[(z * n + y) * n..][..last].iter().all(|&c| c >= enough)))
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
        let p: Vec<[f32; 3]> = (0..40).map(|i| [i as f32 * 1000.0, 0.0, 0.0]).collect();
        let cloud = Cloud::new(&p, 0.1).unwrap();
        assert!(matches!(in_reach(&cloud, 400.0), Err(SurfaceError::TooLarge { .. })));
    }
}
