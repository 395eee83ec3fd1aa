//! Follows the surface from block to block, as Müller does from cell to cell: every face that it passes through
//! leads to a block that must be marched too.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use rayon::prelude::*;

use super::candidates::MOST_BLOCKS;
use super::cloud::{Cloud, Key, KeyHasher, rank};
use super::field::Field;
use super::march::{Carried, Piece, Scratch, march};
use super::options::SurfaceError;

/// Marches the blocks `seeds` and all that the surface leads to from there. The pieces come by rank.
pub fn walk(
    cloud: &Cloud,
    field: &Field,
    carried: &Carried,
    seeds: &[Key],
) -> Result<Vec<Piece>, SurfaceError> {
    let mut known: HashSet<Key, BuildHasherDefault<KeyHasher>> = seeds.iter().copied().collect();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut blocks = seeds.to_vec();
    while !blocks.is_empty() {
        let mut found: Vec<Piece> = blocks
            .par_iter()
            .with_min_len(4)
            .map_init(Scratch::default, |scratch, &key| march(cloud, field, carried, key, scratch))
            .flatten_iter()
            .collect();
        blocks.clear();
        for piece in &found {
            for face in (0..6).filter(|f| piece.faces >> f & 1 == 1) {
                let mut next = piece.key;
                next[face / 2] += if face % 2 == 1 { 1 } else { -1 };
                if known.insert(next) {
                    blocks.push(next);
                }
            }
        }
        pieces.append(&mut found);
        if known.len() > MOST_BLOCKS {
            return Err(SurfaceError::TooLarge { limit: MOST_BLOCKS });
        }
    }
    pieces.sort_unstable_by_key(|p| rank(&p.key));
    Ok(pieces)
}
