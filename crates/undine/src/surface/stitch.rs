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
    let faces = pieces.iter().map(|p| p.triangles.len()).sum();
    let mut surface =
        Surface { position: vec![[0.0; 3]; count], triangles: vec![[0; 3]; faces], ..Surface::default() };
    let positions = parts(&mut surface.position, pieces.iter().map(|p| p.position.len()));
    let triangles = parts(&mut surface.triangles, pieces.iter().map(|p| p.triangles.len()));
    pieces.par_iter().enumerate().zip(positions).zip(triangles).with_min_len(16).for_each(
        |(((k, piece), positions), triangles)| {
            let corner = piece.key.map(|k| f64::from(k) * EDGE as f64);
            for (to, p) in positions.iter_mut().zip(&piece.position) {
                *to = std::array::from_fn(|a| ((corner[a] + f64::from(p[a])) * cell) as f32);
            }
            // Where each edge's vertex is, as far as known.
            let mut number = [u32::MAX; POINTS * POINTS * POINTS * 3];
            for (n, &e) in piece.edges.iter().enumerate() {
                number[e as usize] = first[k] + n as u32;
            }
            for (to, t) in triangles.iter_mut().zip(&piece.triangles) {
                *to = t.map(|e| {
                    if number[e as usize] == u32::MAX {
                        number[e as usize] = elsewhere(pieces, &map, &first, piece.key, e);
                    }
                    number[e as usize]
                });
            }
        },
    );
    surface.normal = join(pieces, count, |p| &p.normal);
    surface.velocity = join(pieces, count, |p| &p.velocity);
    surface.fluid = join(pieces, count, |p| &p.fluid);
    Ok(surface)
}

/// Cuts a slice into parts of these lengths.
fn parts<T>(mut whole: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lengths
        .map(|n| {
            let (part, rest) = std::mem::take(&mut whole).split_at_mut(n);
            whole = rest;
            part
        })
        .collect()
}

/// One list of the pieces' lists; empty when those are.
fn join<T: Copy + Default + Send + Sync>(
    pieces: &[Piece],
    count: usize,
    list: impl Fn(&Piece) -> &Vec<T> + Sync,
) -> Vec<T> {
    if pieces.iter().any(|p| list(p).len() != p.edges.len()) {
        return Vec::new();
    }
    let mut joined = vec![T::default(); count];
    let to = parts(&mut joined, pieces.iter().map(|p| p.edges.len()));
    pieces.par_iter().zip(to).with_min_len(64).for_each(|(piece, to)| to.copy_from_slice(list(piece)));
    joined
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
