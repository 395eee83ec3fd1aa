//! Joins the pieces of the blocks to one surface with shared vertices.

use rayon::prelude::*;

use super::Surface;
use super::cloud::{EDGE, Key, KeyMap, POINTS};
use super::march::{Piece, edge_number, edge_of};
use super::options::SurfaceError;

/// Numbers the vertices by block and edge and the triangles by block and cell: the same whatever the threads.
/// `pieces` by rank.
pub fn stitch(pieces: &[Piece], cell: f64) -> Result<Surface, SurfaceError> {
    let mut map = KeyMap::default();
    map.reserve(pieces.len());
    let mut first = Vec::with_capacity(pieces.len());
    let mut count = 0;
    for (k, piece) in pieces.iter().enumerate() {
        map.insert(piece.key, k as u32);
        first.push(count as u32);
        count += piece.edges.len();
        if count > u32::MAX as usize {
            return Err(SurfaceError::TooManyVertices { count });
        }
    }
    let position = |piece: &Piece| -> Vec<[f32; 3]> {
        let corner = piece.key.map(|k| f64::from(k) * EDGE as f64);
        let world = |p: &[f32; 3]| std::array::from_fn(|a| ((corner[a] + f64::from(p[a])) * cell) as f32);
        piece.position.iter().map(world).collect()
    };
    let triangles = |(k, piece): (usize, &Piece)| -> Vec<[u32; 3]> {
        // Where each edge's vertex is, as far as known.
        let mut number = [u32::MAX; POINTS * POINTS * POINTS * 3];
        for (n, &e) in piece.edges.iter().enumerate() {
            number[e as usize] = first[k] + n as u32;
        }
        let mut out = Vec::with_capacity(piece.triangles.len());
        for t in &piece.triangles {
            out.push(t.map(|e| {
                if number[e as usize] == u32::MAX {
                    number[e as usize] = elsewhere(pieces, &map, &first, piece.key, e);
                }
                number[e as usize]
            }));
        }
        out
    };
    let parts: Vec<_> = pieces
        .par_iter()
        .enumerate()
        .with_min_len(16)
        .map(|(k, piece)| (position(piece), triangles((k, piece))))
        .collect();
    let mut surface = Surface::default();
    surface.position.reserve_exact(count);
    surface.triangles.reserve_exact(pieces.iter().map(|p| p.triangles.len()).sum());
    for (position, triangles) in parts {
        surface.position.extend(position);
        surface.triangles.extend(triangles);
    }
    for piece in pieces {
        surface.normal.extend_from_slice(&piece.normal);
        surface.velocity.extend_from_slice(&piece.velocity);
        surface.fluid.extend_from_slice(&piece.fluid);
    }
    Ok(surface)
}

/// The vertex of an edge that belongs to a block beyond.
fn elsewhere(pieces: &[Piece], map: &KeyMap, first: &[u32], key: Key, edge: u16) -> u32 {
    let (mut point, axis) = edge_of(edge);
    let mut owner = key;
    for a in 0..3 {
        if point[a] == EDGE {
            point[a] = 0;
            owner[a] += 1;
        }
    }
    let number = edge_number(point, axis);
    // The walk goes on through every face that the surface passes, and both blocks see the same signs there.
    let k = map.get(&owner).copied().expect("the block beyond a crossed face was marched") as usize;
    let n = pieces[k].edges.binary_search(&number).expect("both blocks see the same sign change");
    first[k] + n as u32
}
