//! Marching cubes through one block.

use super::cloud::{EDGE, Key, POINTS};
use super::field::{AT_ONCE, Aligned, Field, Points, Samples, VALUES, dispatch};
use super::gather::Near;
use super::tables::{EDGES, cases};
use crate::simd::Eight;

/// Vertices keep this far from the ends of their edge, × cell, so that no two of them fall together where the field
/// is exactly at its iso value.
const MARGIN: f32 = 1e-3;

/// Greatest value at the end of an edge that is told from greater ones, × iso. Flat kernels pile up far beyond the iso
/// value; a line from there would miss the surface.
const ENOUGH: f32 = 2.0;

/// Farthest that a vertex is moved along its edge after the interpolation, × cell.
const FARTHEST_STEP: f32 = 0.3;

/// Halvings of the way from a vertex to the inside end of its edge.
const MOST_HALVINGS: usize = 6;

/// The part of the surface in one block.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// The block.
    pub key: Key,
    /// The edges with a vertex that this block owns, ascending: (point × 3 + axis), x fastest.
    pub edges: Vec<u16>,
    /// Positions of the vertices from the block's corner, in cells.
    pub position: Vec<[f32; 3]>,
    /// Unit normals.
    pub normal: Vec<[f32; 3]>,
    /// Velocities, where the particles have them.
    pub velocity: Vec<[f32; 3]>,
    /// Fluids, where there are several.
    pub fluid: Vec<u8>,
    /// Triangles over edges, of this block or the next.
    pub triangles: Vec<[u16; 3]>,
    /// Faces that the surface passes through: bits -x, +x, -y, +y, -z, +z.
    pub faces: u8,
}

/// What particles carry to the vertices, in the order of the cloud.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// Velocities by axis, or empty.
    pub velocity: [Vec<f32>; 3],
    /// Fluids, or empty.
    pub fluid: Vec<u8>,
}

/// Memory used again from block to block.
#[derive(Debug)]
pub struct Scratch {
    near: Near,
    values: Box<Aligned<[f32; VALUES]>>,
    velocity: [Vec<f32>; 3],
    picked: Vec<u32>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            near: Near::default(),
            values: Box::new(Aligned([0.0; VALUES])),
            velocity: Default::default(),
            picked: Vec::new(),
        }
    }
}

/// For each row of points the ones inside, as bits.
pub type Rows = [[u8; POINTS]; POINTS];

/// The number of an edge in a block.
#[inline(always)]
pub fn edge_number(point: [usize; 3], axis: usize) -> u16 {
    (((point[2] * POINTS + point[1]) * POINTS + point[0]) * 3 + axis) as u16
}

/// The point and axis of an edge.
#[inline(always)]
pub fn edge_of(number: u16) -> ([usize; 3], usize) {
    let (p, axis) = (number as usize / 3, number as usize % 3);
    ([p % POINTS, p / POINTS % POINTS, p / (POINTS * POINTS)], axis)
}

/// Works out the surface in a block; `None` when there is none.
pub fn march(
    cloud: &super::cloud::Cloud,
    field: &Field,
    carried: &Carried,
    key: Key,
    scratch: &mut Scratch,
) -> Option<Piece> {
    let Scratch { near, values, velocity, picked } = scratch;
    let values = &mut values.0;
    field.collect(cloud, key, near);
    if near.len() == 0 {
        return None;
    }
    // Flat kernels pile up far beyond the iso value; a line from there would miss the surface.
    let most = if field.signed { f32::MAX } else { ENOUGH * field.iso };
    field.fill(near, most, values, picked);
    let (mut piece, rows) = piece_of(key, values, field.iso, most)?;
    for (to, from) in velocity.iter_mut().zip(&carried.velocity) {
        to.clear();
        if !from.is_empty() {
            to.extend(near.index.iter().map(|&k| from[k as usize]));
            to.resize(near.x[0].len(), 0.0);
        }
    }
    dress(field, near, velocity, carried, &rows, &mut piece, picked);
    Some(piece)
}

/// The bare surface through a block of values, those above `most` taken for that; `None` when there is none.
pub fn piece_of(key: Key, values: &[f32; VALUES], iso: f32, most: f32) -> Option<(Piece, Rows)> {
    let rows = inside(values, iso);
    let flat = rows.as_flattened();
    if flat.iter().all(|&r| r == 0) || flat.iter().all(|&r| r == 0xff) {
        return None;
    }
    let mut piece = Piece { key, faces: faces(&rows), ..Piece::default() };
    let count = crossings(&rows);
    piece.edges.reserve_exact(count);
    piece.position.reserve_exact(count);
    // A closed surface has twice as many triangles as vertices.
    piece.triangles.reserve(2 * count + 16);
    triangles(&rows, &mut piece.triangles);
    vertices(&rows, values, iso, most, &mut piece);
    Some((piece, rows))
}

dispatch!(inside, inside_lanes, (values: &[f32; VALUES], iso: f32) -> Rows);

#[inline(always)]
fn inside_lanes<L: Eight>(values: &[f32; VALUES], iso: f32) -> Rows {
    let mut rows = [[0; POINTS]; POINTS];
    let iso = L::splat(iso);
    for (row, values) in rows.as_flattened_mut().iter_mut().zip(values.as_chunks::<POINTS>().0) {
        // SAFETY: a row is eight values.
        *row = !unsafe { L::load(values.as_ptr()) }.below(iso) as u8;
    }
    rows
}

/// The faces on which the signs differ.
fn faces(rows: &Rows) -> u8 {
    let mixed = |face: &mut dyn Iterator<Item = u8>, mask: u8| {
        let (mut any, mut all) = (0, mask);
        for row in face {
            any |= row & mask;
            all &= row;
        }
        u8::from(any != 0 && all != mask)
    };
    let all = || rows.as_flattened().iter().copied();
    mixed(&mut all(), 1)
        | mixed(&mut all(), 1 << EDGE) << 1
        | mixed(&mut rows.iter().map(|l| l[0]), 0xff) << 2
        | mixed(&mut rows.iter().map(|l| l[EDGE]), 0xff) << 3
        | mixed(&mut rows[0].iter().copied(), 0xff) << 4
        | mixed(&mut rows[EDGE].iter().copied(), 0xff) << 5
}

fn triangles(rows: &Rows, out: &mut Vec<[u16; 3]>) {
    // An edge of a cell as an edge of the block, from the cell's first point on.
    let edge: [u16; 12] = EDGES.map(|(corner, axis)| {
        let c = corner as usize;
        edge_number([c & 1, c >> 1 & 1, c >> 2], axis as usize)
    });
    let cases = cases();
    for z in 0..EDGE {
        for y in 0..EDGE {
            let r = [rows[z][y], rows[z][y + 1], rows[z + 1][y], rows[z + 1][y + 1]];
            if r == [0; 4] || r == [0xff; 4] {
                continue;
            }
            for x in 0..EDGE {
                let pair = |k: usize| (r[k] >> x & 3) << (2 * k);
                let case = &cases[(pair(0) | pair(1) | pair(2) | pair(3)) as usize];
                let first = edge_number([x, y, z], 0);
                for t in &case.triangles[..case.count as usize] {
                    out.push(t.map(|e| first + edge[e as usize]));
                }
            }
        }
    }
}

/// The edges of a row that change sign and that the block owns, along x, y and z.
#[inline(always)]
fn changes(rows: &Rows, y: usize, z: usize) -> [u8; 3] {
    let row = rows[z][y];
    [row ^ row >> 1, row ^ rows[z][y + 1], row ^ rows[z + 1][y]].map(|r| r & 0x7f)
}

/// How many edges change sign.
fn crossings(rows: &Rows) -> usize {
    let mut count = 0;
    for z in 0..EDGE {
        for y in 0..EDGE {
            let [a, b, c] = changes(rows, y, z);
            count += (u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16).count_ones();
        }
    }
    count as usize
}

/// Vertices on the edges that change sign and that this block owns: those that start at any but its last
/// points, which are the first of the next block.
fn vertices(rows: &Rows, values: &[f32; VALUES], iso: f32, most: f32, piece: &mut Piece) {
    for z in 0..EDGE {
        for y in 0..EDGE {
            let on = changes(rows, y, z);
            let mut any = on[0] | on[1] | on[2];
            while any != 0 {
                let x = any.trailing_zeros() as usize;
                any &= any - 1;
                for (axis, on) in on.into_iter().enumerate() {
                    if on >> x & 1 == 1 {
                        let first = (z * POINTS + y) * POINTS + x;
                        let step = [1, POINTS, POINTS * POINTS][axis];
                        let (a, b) = (values[first].min(most), values[first + step].min(most));
                        let t = ((iso - a) / (b - a)).clamp(MARGIN, 1.0 - MARGIN);
                        let mut p = [x as f32, y as f32, z as f32];
                        p[axis] += t;
                        piece.edges.push(edge_number([x, y, z], axis));
                        piece.position.push(p);
                    }
                }
            }
        }
    }
}

/// Moves the vertices onto the surface of the field itself, and gives them normals, velocities and fluids.
fn dress(
    field: &Field,
    near: &Near,
    velocity: &[Vec<f32>; 3],
    carried: &Carried,
    rows: &Rows,
    piece: &mut Piece,
    picked: &mut Vec<u32>,
) {
    let moves = !velocity[0].is_empty();
    let count = piece.edges.len();
    piece.normal.reserve_exact(count);
    piece.velocity.reserve_exact(if moves { count } else { 0 });
    for (positions, edges) in piece.position.chunks_mut(AT_ONCE).zip(piece.edges.chunks(AT_ONCE)) {
        let s = settle(field, near, velocity, rows, positions, edges, picked);
        for (k, (p, edge)) in positions.iter_mut().zip(edges).enumerate() {
            let (point, axis) = edge_of(*edge);
            let low = point[axis] as f32;
            let g = s.gradient.map(|g| g[k]);
            // One step of Newton's along the edge.
            let step = (field.iso - s.value[k]) / g[axis];
            if step.abs() < FARTHEST_STEP {
                p[axis] = (p[axis] + step).clamp(low + MARGIN, low + 1.0 - MARGIN);
            }
            let length = (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]).sqrt();
            piece.normal.push(if length > 0.0 {
                g.map(|g| -g / length)
            } else {
                // A flat field gives no direction; along the edge is never wrong by a right angle.
                let out = if first_inside(rows, point) { 1.0 } else { -1.0 };
                std::array::from_fn(|a| if a == axis { out } else { 0.0 })
            });
            if moves {
                let part = if s.value[k] > 0.0 { 1.0 / s.value[k] } else { 0.0 };
                piece.velocity.push(s.velocity.map(|v| v[k] * part));
            }
            if !carried.fluid.is_empty() {
                piece.fluid.push(fluid_at(field, near, &carried.fluid, *p));
            }
        }
    }
}

/// Whether the first point of an edge is inside.
pub fn first_inside(rows: &Rows, point: [usize; 3]) -> bool {
    rows[point[2]][point[1]] >> point[0] & 1 == 1
}

/// The field at up to [`AT_ONCE`] vertices. Beyond the reach of sharp kernels it tells nothing: vertices there first halve
/// their way to the end that is inside.
fn settle(
    field: &Field,
    near: &Near,
    velocity: &[Vec<f32>; 3],
    rows: &Rows,
    positions: &mut [[f32; 3]],
    edges: &[u16],
    picked: &mut Vec<u32>,
) -> Samples {
    let mut halvings = 0;
    loop {
        // The last one again, to fill up the lanes.
        let points: Points =
            std::array::from_fn(|a| std::array::from_fn(|n| positions[n.min(positions.len() - 1)][a]));
        let s = field.at(near, velocity, &points, positions.len(), picked);
        let mut moved = false;
        for ((p, edge), value) in positions.iter_mut().zip(edges).zip(s.value) {
            if halvings < MOST_HALVINGS && value <= 0.25 * field.iso && !field.signed {
                let (point, axis) = edge_of(*edge);
                let end = point[axis] as f32 + if first_inside(rows, point) { 0.0 } else { 1.0 };
                p[axis] = 0.5 * (p[axis] + end);
                moved = true;
            }
        }
        if !moved {
            return s;
        }
        halvings += 1;
    }
}

/// The fluid that adds most at a point.
fn fluid_at(field: &Field, near: &Near, fluid: &[u8], p: [f32; 3]) -> u8 {
    let mut sum = [0.0f32; 256];
    let mut best = 0;
    for (k, &index) in near.index.iter().enumerate() {
        let f = fluid[index as usize];
        sum[f as usize] += field.share(near, k, p);
    }
    for f in 1..=255u8 {
        if sum[f as usize] > sum[best as usize] {
            best = f;
        }
    }
    best
}
