//! Which blocks may hold a piece of the surface: those in reach of particles.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use rayon::prelude::*;

use super::cloud::{Cloud, EDGE, Key, KeyHasher, rank};
use super::options::SurfaceError;

/// Most blocks that are looked at: 7 × 10⁸ cells.
pub const MOST_BLOCKS: usize = 1 << 21;
/// The blocks with a particle not farther than `reach` cells, by rank; `surrounded`: which blocks of the cloud have
/// particles in all blocks around them.
pub fn in_reach(cloud: &Cloud, reach: f32, surrounded: &[bool]) -> Result<Vec<Key>, SurfaceError> {
    let mut found: HashSet<Key, BuildHasherDefault<KeyHasher>> = cloud.keys.iter().copied().collect();
    for (b, surrounded) in surrounded.iter().enumerate() {
        // All that these reach are blocks of the cloud.
        if !surrounded || reach > EDGE as f32 {
            found.extend(touched(cloud, b, reach));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_fine_cells_are_refused_before_memory_is_asked_for() {
        let p: Vec<[f32; 3]> = (0..10_000).map(|i| [i as f32 * 1000.0, 0.0, 0.0]).collect();
        let cloud = Cloud::new(&p, 0.1).unwrap();
        let alone = vec![false; cloud.keys.len()];
        assert!(in_reach(&cloud, 3.0, &alone).is_ok());
        assert!(matches!(in_reach(&cloud, 24.0, &alone), Err(SurfaceError::TooLarge { .. })));
    }
}
