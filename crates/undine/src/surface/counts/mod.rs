//! Génevaux's smoothed marker counts (2.1) on a grid that is laid over all markers.
//!
//! The count of a point is that of the markers nearest to it, so that nothing needs to be sorted: markers are gone through once, and
//! once more for the velocities along the surface. The same surface as that of the sum over markers ([`super::iso`]), which
//! serves where markers lie far apart.

mod bits;
pub(super) mod filter;
mod points;

use rayon::prelude::*;

use self::bits::Bits;
use self::filter::{Filter, Grid, MOST, WIDE, WIDE_ROW, smooth, smooth_wide};
use self::points::Points;
use super::cloud::{EDGE, Key, POINTS, rank};
use super::field::{Aligned, VALUES};
use super::march::{Piece, Rows, edge_of, first_inside, piece_of};

/// Where all points of a block have this share of the count at rest, smoothed wider than the surface is, holes are noise: markers that
/// ride on a grid lie at random.
const FILLED: f32 = 0.6;
/// Variance of that smoothing, × spacing².
const VARIANCE: f32 = 0.7;
/// Points along an edge of a block and what is in reach of it, at most.
const WINDOW: usize = POINTS + 2 * MOST;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Places, m.
    pub position: &'a [[f32; 3]],
    /// Velocities, m/s, if there are any.
    pub velocity: Option<&'a [[f32; 3]]>,
    /// Edge of a cell, m, and how many there are to a spacing.
    pub cell: f64,
    pub spacing: f32,
    /// Times of smoothing.
    pub times: usize,
    /// Share of the count at rest on the surface.
    pub threshold: f32,
}

/// The surface by blocks, and the markers that it leaves outside.
#[derive(Debug, Default)]
pub struct Counted {
    /// By rank.
    pub pieces: Vec<Piece>,
    /// Ascending.
    pub outside: Vec<u32>,
}

/// Builds the surface; `None` where another way is better.
pub fn build(wish: &Wish) -> Option<Counted> {
    // Smoothing once has a variance of ½.
    let wider = ((2.0 * VARIANCE * wish.spacing * wish.spacing).ceil() as usize).max(wish.times + 1);
    if wider > MOST {
        return None;
    }
    let points = Points::new(wish.position, wish.cell, wish.times, wider)?;
    let count = points.count()?;
    // At rest a point has so many.
    let rest = wish.spacing.powi(-3);
    let blocks = Blocks {
        points: &points,
        count: &count,
        filter: Filter::new(wish.times),
        wider: Filter::new(wider),
        iso: wish.threshold * rest,
        filled: FILLED * rest,
    };
    let mut marched = blocks.walk();
    let (mut near, mut outside) = (Bits::new(points.len), Bits::new(points.len));
    for m in &marched {
        m.near.iter().for_each(|(at, row)| near.add_row(*at as usize, u64::from(*row)));
        for at in &m.outside {
            near.add_row(*at as usize, 1);
            outside.add_row(*at as usize, 1);
        }
    }
    let (momentum, outside) = points.momentum(&mut near, &outside, wish.velocity);
    if wish.velocity.is_some() {
        let give =
            |scratch: &mut Scratch, m: &mut Marched| blocks.give_velocities(&near, &momentum, scratch, m);
        marched.par_iter_mut().with_min_len(8).for_each_init(Scratch::default, give);
    }
    let mut pieces: Vec<Piece> = marched.into_iter().filter_map(|m| m.piece).collect();
    pieces.sort_unstable_by_key(|p| rank(&p.key));
    Some(Counted { pieces, outside })
}

/// A block that was looked at.
#[derive(Debug)]
struct Marched {
    block: [usize; 3],
    piece: Option<Piece>,
    /// Points whose markers have a share in its velocities: rows of bits, and the point of the first.
    near: Vec<(u32, u32)>,
    /// Its points that have markers and are outside.
    outside: Vec<u32>,
}

/// Memory used again from block to block.
#[derive(Debug)]
struct Scratch {
    filter: filter::Scratch,
    values: Box<Aligned<[f32; VALUES]>>,
    wider: Box<Aligned<[f32; VALUES]>>,
    wide: Vec<f32>,
    /// The components of the momentum in and around a block, and the same smoothed.
    window: [Vec<f32>; 3],
    smoothed: [Vec<f32>; 3],
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            filter: Default::default(),
            values: Box::new(Aligned([0.0; VALUES])),
            wider: Box::new(Aligned([0.0; VALUES])),
            wide: vec![0.0; WIDE_ROW * WIDE * WIDE],
            window: Default::default(),
            smoothed: std::array::from_fn(|_| vec![0.0; VALUES]),
        }
    }
}

struct Blocks<'a> {
    points: &'a Points,
    count: &'a [u8],
    filter: Filter,
    wider: Filter,
    iso: f32,
    filled: f32,
}

impl Blocks<'_> {
    fn grid(&self) -> Grid<'_, u8> {
        Grid { values: self.count, row: self.points.row, layer: self.points.layer }
    }

    fn number(&self, [x, y, z]: [usize; 3]) -> usize {
        x + self.points.blocks[0] * (y + self.points.blocks[1] * z)
    }

    /// Marches all blocks that are not filled all through, and those that the surface leads to from there.
    fn walk(&self) -> Vec<Marched> {
        let [nx, ny, nz] = self.points.blocks;
        let count = nx * ny * nz;
        let block = |k: usize| [k % nx, k / nx % ny, k / (nx * ny)];
        let march = |scratch: &mut Scratch, block: [usize; 3]| self.march(scratch, block);
        let found: Vec<(usize, Marched)> = (0..count)
            .into_par_iter()
            .with_min_len(16)
            .map_init(Scratch::default, |scratch, k| self.seed(scratch, block(k)).map(|m| (k, m)))
            .flatten_iter()
            .collect();
        let mut known = vec![false; count];
        found.iter().for_each(|(k, _)| known[*k] = true);
        let mut all: Vec<Marched> = found.into_iter().map(|f| f.1).collect();
        let mut from = 0;
        while from < all.len() {
            let mut next = Vec::new();
            for (at, piece) in all[from..].iter().filter_map(|m| Some((m.block, m.piece.as_ref()?))) {
                for face in (0..6).filter(|f| piece.faces >> f & 1 == 1) {
                    let mut beside = at;
                    let along = &mut beside[face / 2];
                    *along = if face % 2 == 1 { *along + 1 } else { along.wrapping_sub(1) };
                    // The surface is inside of all blocks.
                    let is_new = beside.iter().zip(self.points.blocks).all(|(b, n)| *b < n)
                        && !std::mem::replace(&mut known[self.number(beside)], true);
                    next.extend(is_new.then_some(beside));
                }
            }
            from = all.len();
            let found = next.into_par_iter().with_min_len(4).map_init(Scratch::default, march);
            all.par_extend(found);
        }
        all
    }

    /// Marches a block in which there is a surface or markers outside of it, if it is not filled all through.
    fn seed(&self, scratch: &mut Scratch, block: [usize; 3]) -> Option<Marched> {
        let first = self.points.of_block(block);
        let Scratch { filter, values, wider, .. } = scratch;
        let range = |values: &[f32; VALUES]| {
            values.iter().fold((f32::INFINITY, 0f32), |(least, most), v| (least.min(*v), most.max(*v)))
        };
        smooth(&self.filter, self.grid(), first, filter, &mut values.0);
        let (least, most) = range(&values.0);
        if least >= self.iso || most == 0.0 {
            return None;
        }
        // A place without any is no noise.
        if least > 0.0 {
            smooth(&self.wider, self.grid(), first, filter, &mut wider.0);
            if range(&wider.0).0 >= self.filled {
                return None;
            }
        }
        Some(self.march_values(scratch, block))
    }

    /// Marches a block.
    fn march(&self, scratch: &mut Scratch, block: [usize; 3]) -> Marched {
        let first = self.points.of_block(block);
        smooth(&self.filter, self.grid(), first, &mut scratch.filter, &mut scratch.values.0);
        self.march_values(scratch, block)
    }

    /// Marches a block whose values are known.
    fn march_values(&self, scratch: &mut Scratch, block: [usize; 3]) -> Marched {
        let (points, grid) = (self.points, self.grid());
        let first = points.of_block(block);
        let Scratch { filter, values, wide, .. } = scratch;
        let mut outside = Vec::new();
        for (row, values) in values.0.as_chunks::<POINTS>().0.iter().enumerate() {
            let (y, z) = (row % POINTS, row / POINTS);
            if y == EDGE || z == EDGE {
                continue;
            }
            let at = first + y * points.row + z * points.layer;
            let some = values.iter().zip(&self.count[at..]).take(EDGE).enumerate();
            let some = some.filter(|(_, (v, count))| **count > 0 && **v < self.iso);
            outside.extend(some.map(|(x, _)| (at + x) as u32));
        }
        let key: Key = std::array::from_fn(|a| points.first[a] + block[a] as i32);
        let piece = piece_of(key, &values.0, self.iso, f32::MAX).map(|(mut piece, rows)| {
            let before = first - 1 - points.row - points.layer;
            smooth_wide(&self.filter, grid, before, filter, wide);
            give_normals(wide, &rows, &mut piece);
            piece
        });
        let near = piece.as_ref().map_or(Vec::new(), |piece| self.near(block, piece));
        Marched { block, piece, near, outside }
    }

    /// The points whose markers have a share in the velocities of a block: all in reach of the ends of edges with a vertex.
    fn near(&self, block: [usize; 3], piece: &Piece) -> Vec<(u32, u32)> {
        let n = self.filter.times;
        let rows = POINTS + 2 * n;
        // Of each row of points those in reach along x, as bits from the first that may be; rows counted likewise.
        let mut ends = [0u32; WINDOW * WINDOW];
        for &edge in &piece.edges {
            let ([x, y, z], axis) = edge_of(edge);
            let reach = ((1u32 << (2 * n + 1)) - 1) << x;
            let row = (z + n) * rows + y + n;
            ends[row] |= reach;
            ends[row + [0, 1, rows][axis]] |= if axis == 0 { reach << 1 } else { reach };
        }
        let mut across = [0u32; WINDOW * WINDOW];
        let around = |k: usize| k.saturating_sub(n)..=(k + n).min(rows - 1);
        for (z, y) in (0..rows).flat_map(|z| (0..rows).map(move |y| (z, y))) {
            across[z * rows + y] = ends[z * rows..][around(y)].iter().fold(0, |all, row| all | row);
        }
        let points = self.points;
        let first = points.of_block(block) - n * (1 + points.row + points.layer);
        let mut near = Vec::with_capacity(rows * rows);
        for (z, y) in (0..rows).flat_map(|z| (0..rows).map(move |y| (z, y))) {
            let row = around(z).fold(0, |all, z| all | across[z * rows + y]);
            if row != 0 {
                near.push(((first + y * points.row + z * points.layer) as u32, row));
            }
        }
        near
    }

    /// Gives the vertices of a block the mean velocity of the markers around them.
    fn give_velocities(
        &self,
        near: &Bits,
        momentum: &[[f32; 3]],
        scratch: &mut Scratch,
        marched: &mut Marched,
    ) {
        let Some(piece) = &mut marched.piece else { return };
        let points = self.points;
        let first = points.of_block(marched.block);
        let Scratch { filter, window, smoothed, .. } = scratch;
        let n = self.filter.times;
        let edge = POINTS + 2 * n;
        let low = first - n * (1 + points.row + points.layer);
        // What is loaded beyond the last row.
        let size = edge * edge * edge + 8;
        for window in window.iter_mut() {
            window.clear();
            window.resize(size, 0.0);
        }
        for (k, (y, z)) in (0..edge).flat_map(|z| (0..edge).map(move |y| (y, z))).enumerate() {
            let at = low + y * points.row + z * points.layer;
            let mut row = near.row(at) & ((1 << edge) - 1);
            let mut number = near.number_of(at);
            while row != 0 {
                let x = row.trailing_zeros() as usize;
                row &= row - 1;
                for (window, m) in window.iter_mut().zip(momentum[number]) {
                    window[k * edge + x] = m;
                }
                number += 1;
            }
        }
        for (window, smoothed) in window.iter().zip(smoothed.iter_mut()) {
            let grid = Grid { values: window, row: edge, layer: edge * edge };
            smooth(&self.filter, grid, n * (1 + edge + edge * edge), filter, smoothed);
        }
        piece.velocity = piece
            .edges
            .iter()
            .zip(&piece.position)
            .map(|(&edge, p)| {
                let ([x, y, z], axis) = edge_of(edge);
                let t = p[axis] - [x, y, z][axis] as f32;
                let at = x + POINTS * (y + POINTS * z);
                let to = at + [1, POINTS, POINTS * POINTS][axis];
                // Of so many: that is where the surface is.
                std::array::from_fn(|a| {
                    let v = &smoothed[a];
                    (v[at] + t * (v[to] - v[at])) / self.iso
                })
            })
            .collect();
    }
}

/// Normals from differences over one cell to either side, which lie along an edge between those at its ends. `wide`: the values from
/// one point before the block on.
fn give_normals(wide: &[f32], rows: &Rows, piece: &mut Piece) {
    const STEP: [usize; 3] = [1, WIDE_ROW, WIDE_ROW * WIDE];
    let normal = |(&edge, p): (&u16, &[f32; 3])| {
        let (point, axis) = edge_of(edge);
        let t = p[axis] - point[axis] as f32;
        let at: usize = (0..3).map(|a| (point[a] + 1) * STEP[a]).sum();
        let to = at + STEP[axis];
        let g: [f32; 3] = std::array::from_fn(|a| {
            let slope = |at: usize| wide[at + STEP[a]] - wide[at - STEP[a]];
            slope(at) + t * (slope(to) - slope(at))
        });
        let length = (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]).sqrt();
        if length > 0.0 {
            g.map(|g| -g / length)
        } else {
            let out = if first_inside(rows, point) { 1.0 } else { -1.0 };
            std::array::from_fn(|a| if a == axis { out } else { 0.0 })
        }
    };
    piece.normal = piece.edges.iter().zip(&piece.position).map(normal).collect();
}

#[cfg(test)]
mod tests;
