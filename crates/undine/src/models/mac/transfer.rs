//! Markers to grid and back: velocities travel on markers (APIC, Jiang 2015; FLIP, Zhu & Bridson 2005).
//!
//! Weights are trilinear. A marker's node values are `v + C·(x_node - x)`, and C is the gradient of the interpolated velocity,
//! so that rigid and shearing motions survive the way to the grid and back.

#[cfg(target_arch = "x86_64")]
mod wide;

use std::ops::Range;

use glam::Vec4;
use rayon::prelude::*;

use super::layout::Layout;
use super::rows;
use crate::state::markers::{Markers, Order};

/// Layers of cells that a thread sums at a time. A fixed number, so that sums are the same for any number of threads.
const LAYERS: usize = 4;

/// What markers leave on the grid.
#[derive(Clone, Debug, Default)]
pub struct Deposit {
    /// Momentum and mass (relative to that of the first fluid, in markers) at each face.
    pub faces: [Vec<[f32; 2]>; 3],
    /// Markers at each cell's centre, by hat functions.
    pub cells: Vec<f32>,
    blocks: Vec<Block>,
}

/// Sums of some layers, with one more on each side.
#[derive(Clone, Debug, Default)]
struct Block {
    faces: [Vec<[f32; 2]>; 3],
    cells: Vec<f32>,
    /// Places within a layer that markers can have reached: some rows along x. Only these are sums.
    span: Range<usize>,
}

/// Where a marker is between the nodes along one axis: beside faces, and beside centres.
#[derive(Clone, Copy)]
pub(super) struct Between {
    /// Lower node (padded), from faces and from centres.
    base: [usize; 2],
    /// Share of the way to the upper node.
    f: [f32; 2],
}

impl Between {
    #[inline(always)]
    fn new(x: f32, n: usize) -> Self {
        // What lies on the upper side belongs to the last cell.
        let cell = floor(x).clamp(0, n as i32 - 1);
        let near = floor(x + 0.5).clamp(0, n as i32);
        Between { base: [cell as usize + 1, near as usize], f: [x - cell as f32, x + 0.5 - near as f32] }
    }
}

/// ⌊x⌋ of a small number by adding a large one, whose fraction is rounded away; `as` would check its range. A whole number
/// may come out one less, which is the same place between nodes.
#[inline(always)]
pub(super) fn floor(x: f32) -> i32 {
    const LARGE: f32 = 12_582_912.0;
    ((x - 0.5 + LARGE).to_bits() as i32) - (LARGE.to_bits() as i32)
}

/// The eight nodes around a marker for one kind of value.
#[derive(Clone, Copy)]
pub(super) struct Stencil {
    base: usize,
    f: [f32; 3],
}

#[inline(always)]
pub(super) fn between(x: &[f32; 3], n: [usize; 3]) -> [Between; 3] {
    std::array::from_fn(|a| Between::new(x[a], n[a]))
}

/// Nodes of faces of axis `a`, or of centres for 3.
#[inline(always)]
pub(super) fn stencil(at: &[Between; 3], a: usize, stride: [usize; 3]) -> Stencil {
    let kind = |b: usize| usize::from(a != b);
    Stencil {
        base: at[0].base[kind(0)] + at[1].base[kind(1)] * stride[1] + at[2].base[kind(2)] * stride[2],
        f: std::array::from_fn(|b| at[b].f[kind(b)]),
    }
}

/// Nodes at the corners of the cell, each named as the cell it is the lowest corner of.
#[inline(always)]
pub(super) fn corner_stencil(at: &[Between; 3], stride: [usize; 3]) -> Stencil {
    Stencil {
        base: at[0].base[0] + at[1].base[0] * stride[1] + at[2].base[0] * stride[2],
        f: std::array::from_fn(|b| at[b].f[0]),
    }
}

/// The eight nodes and their weights.
#[inline(always)]
pub(super) fn weights(s: Stencil, stride: [usize; 3]) -> [(usize, f32); 8] {
    std::array::from_fn(|n| {
        let bit = [n & 1, n >> 1 & 1, n >> 2];
        let w = |a: usize| if bit[a] == 1 { s.f[a] } else { 1.0 - s.f[a] };
        (s.base + bit[0] + bit[1] * stride[1] + bit[2] * stride[2], w(0) * w(1) * w(2))
    })
}

impl Deposit {
    /// Sums markers, which are in order but for velocities and gradients, which are still in that of before. `density` is
    /// that of each fluid over the first's. Without `velocities` only cells are summed.
    pub fn sum(
        &mut self,
        layout: &Layout,
        markers: &Markers,
        order: &Order,
        density: &[f32],
        velocities: bool,
    ) {
        let plane = layout.plane();
        let source = Source { layout, markers, order, density };
        let blocks = layout.n[2].div_ceil(LAYERS);
        self.blocks.resize_with(blocks, Block::default);
        let cells = layout.n[0] * layout.n[1];
        // One by one: they are few, and a thread that has two left makes the other wait.
        self.blocks.par_iter_mut().enumerate().with_max_len(1).for_each(|(b, block)| {
            let (from, to) = (b * LAYERS, ((b + 1) * LAYERS).min(layout.n[2]));
            block.clear(layout, order, from..to, velocities);
            let range = order.start[from * cells] as usize..order.start[to * cells] as usize;
            if velocities {
                #[cfg(target_arch = "x86_64")]
                if super::lattice::wide::is_possible() {
                    // SAFETY: the processor has the features.
                    unsafe { wide::sum(block, source, range, from..to) };
                    return;
                }
                block.sum(source, range, from * plane);
            } else {
                block.count(layout, markers, range, from * plane);
            }
        });
        self.gather(layout, velocities);
    }

    /// Adds the blocks up, in their order.
    fn gather(&mut self, layout: &Layout, velocities: bool) {
        let plane = layout.plane();
        let Deposit { faces, cells, blocks } = self;
        let blocks = &*blocks;
        cells.resize(layout.len(), 0.0);
        cells.par_chunks_mut(plane).enumerate().for_each(|(z, out)| {
            gather_layer(z, blocks, |b| &b.cells, out, 0.0, rows::add);
        });
        fold(layout, None, cells, |a, b| a + b);
        if !velocities {
            return;
        }
        for (a, face) in faces.iter_mut().enumerate() {
            face.resize(layout.len(), [0.0; 2]);
            face.par_chunks_mut(plane).enumerate().for_each(|(z, out)| {
                let add = |part: &[[f32; 2]], sums: &mut [[f32; 2]]| {
                    rows::add(part.as_flattened(), sums.as_flattened_mut())
                };
                gather_layer(z, blocks, |b| &b.faces[a], out, [0.0; 2], add);
            });
            fold(layout, Some(a), face, |a, b| [a[0] + b[0], a[1] + b[1]]);
        }
    }
}

/// The blocks that have a share in a layer (padded), and which of their layers it is.
fn parts(z: usize, blocks: usize) -> impl Iterator<Item = (usize, usize)> {
    let first = z.saturating_sub(LAYERS + 1).div_ceil(LAYERS);
    (first..=(z / LAYERS).min(blocks - 1)).map(move |b| (b, z - b * LAYERS))
}

/// Adds up the shares that blocks have `of` a layer (padded).
fn gather_layer<T: Copy>(
    z: usize,
    blocks: &[Block],
    of: impl Fn(&Block) -> &[T],
    out: &mut [T],
    zero: T,
    add: impl Fn(&[T], &mut [T]),
) {
    for (k, (b, layer)) in parts(z, blocks.len()).enumerate() {
        let block = &blocks[b];
        let part = &of(block)[layer * out.len()..][block.span.clone()];
        if k == 0 {
            // The first is taken as it is.
            out[..block.span.start].fill(zero);
            out[block.span.clone()].copy_from_slice(part);
            out[block.span.end..].fill(zero);
        } else {
            add(part, &mut out[block.span.clone()]);
        }
    }
}

/// Adds what fell beyond a side that wraps around to where it belongs, on both ends.
fn fold<T: Copy>(layout: &Layout, faces: Option<usize>, field: &mut [T], add: impl Fn(T, T) -> T) {
    for b in (0..3).filter(|b| layout.periodic[*b]) {
        let s = layout.stride[b];
        let n = layout.n[b];
        // Padded numbers of layers that are one and the same.
        let same: &[(usize, usize)] = if faces == Some(b) { &[(1, n + 1)] } else { &[(0, n), (1, n + 1)] };
        for &(low, high) in same {
            layout.each_of_layer(b, |i| {
                let sum = add(field[low * s + i], field[high * s + i]);
                field[low * s + i] = sum;
                field[high * s + i] = sum;
            });
        }
    }
}

/// What is summed.
#[derive(Clone, Copy)]
struct Source<'a> {
    layout: &'a Layout,
    markers: &'a Markers,
    order: &'a Order,
    density: &'a [f32],
}

impl Block {
    /// Makes ready for the markers of some layers of cells.
    fn clear(&mut self, layout: &Layout, order: &Order, layers: Range<usize>, velocities: bool) {
        let [nx, ny, _] = layout.n;
        let has = |y: usize| {
            layers.clone().any(|z| {
                let row = nx * (y + ny * z);
                order.start[row] < order.start[row + nx]
            })
        };
        let low = (0..ny).find(|y| has(*y)).unwrap_or(0);
        let high = (low..ny).rfind(|y| has(*y)).map_or(low, |y| y + 3);
        // Rows are padded, and the hats of markers reach one row beyond their own.
        self.span = low * layout.dims[0]..high * layout.dims[0];
        fn zero<T: Clone>(sums: &mut Vec<T>, zero: T, plane: usize, span: &Range<usize>) {
            sums.resize((LAYERS + 2) * plane, zero.clone());
            sums.chunks_exact_mut(plane).for_each(|layer| layer[span.clone()].fill(zero.clone()));
        }
        zero(&mut self.cells, 0.0, layout.plane(), &self.span);
        if velocities {
            self.faces.iter_mut().for_each(|f| zero(f, [0.0; 2], layout.plane(), &self.span));
        }
    }

    #[inline(always)]
    fn add_count(&mut self, stride: [usize; 3], s: Stencil, weight: f32) {
        let [fx, fy, fz] = s.f;
        for k in 0..2 {
            let wz = weight * if k == 0 { 1.0 - fz } else { fz };
            for j in 0..2 {
                let w = wz * if j == 0 { 1.0 - fy } else { fy };
                let row = s.base + j * stride[1] + k * stride[2];
                let nodes = &mut self.cells[row..row + 2];
                nodes[0] += w * (1.0 - fx);
                nodes[1] += w * fx;
            }
        }
    }

    fn count(&mut self, layout: &Layout, markers: &Markers, range: Range<usize>, offset: usize) {
        for i in range {
            let mut s = stencil(&between(&markers.x[i], layout.n), 3, layout.stride);
            s.base -= offset;
            self.add_count(layout.stride, s, markers.weight(i));
        }
    }

    fn sum(&mut self, source: Source, range: Range<usize>, offset: usize) {
        let Source { layout, markers, order, density } = source;
        let stride = layout.stride;
        let zero = [[0.0; 3]; 3];
        for i in range {
            let was = order.order[i] as usize;
            let at = between(&markers.x[i], layout.n);
            let velocity = markers.velocity[was];
            let affine = if markers.has_affine { &markers.affine[was] } else { &zero };
            let weight = markers.weight(i);
            let mass = weight * density[usize::from(markers.fluid[i])];
            for a in 0..3 {
                let mut s = stencil(&at, a, stride);
                s.base -= offset;
                let along = [affine[0][a], affine[1][a], affine[2][a]];
                add_momentum(&mut self.faces[a], stride, s, velocity[a], along, mass);
            }
            let mut s = stencil(&at, 3, stride);
            s.base -= offset;
            self.add_count(stride, s, weight);
        }
    }
}

/// Adds a marker's momentum and mass: `v` is its velocity along the axis of the faces, `c` its derivatives.
#[inline(always)]
fn add_momentum(nodes: &mut [[f32; 2]], stride: [usize; 3], s: Stencil, v: f32, c: [f32; 3], mass: f32) {
    let [fx, fy, fz] = s.f;
    // At the lowest node and its neighbour along x: velocity and 1, so that times the weights they are momentum and mass.
    let low = v - c[0] * fx - c[1] * fy - c[2] * fz;
    let value = Vec4::new(low, 1.0, low + c[0], 1.0);
    let weight = mass * Vec4::new(1.0 - fx, 1.0 - fx, fx, fx);
    let (y, z) = (Vec4::new(c[1], 0.0, c[1], 0.0), Vec4::new(c[2], 0.0, c[2], 0.0));
    let (below, above) = ((1.0 - fz) * weight, fz * weight);
    let mut add = |offset: usize, weight: Vec4, value: Vec4| {
        let pair: &mut [[f32; 2]] = &mut nodes[s.base + offset..][..2];
        let sum = Vec4::new(pair[0][0], pair[0][1], pair[1][0], pair[1][1]) + weight * value;
        pair.copy_from_slice(&[[sum.x, sum.y], [sum.z, sum.w]]);
    };
    add(0, (1.0 - fy) * below, value);
    add(stride[1], fy * below, value + y);
    add(stride[2], (1.0 - fy) * above, value + z);
    add(stride[1] + stride[2], fy * above, value + y + z);
}

/// A velocity field on faces, with padding filled.
pub type Faces = [Vec<f32>; 3];

/// Value and gradient (per cell) of one component at a place.
#[inline(always)]
pub(super) fn value_and_gradient(field: &[f32], stride: [usize; 3], s: Stencil) -> (f32, [f32; 3]) {
    let [fx, fy, fz] = s.f;
    let row = |j: usize, k: usize| {
        let row = s.base + j * stride[1] + k * stride[2];
        let pair = &field[row..row + 2];
        (pair[0] + fx * (pair[1] - pair[0]), pair[1] - pair[0])
    };
    let (a, da) = row(0, 0);
    let (b, db) = row(1, 0);
    let (c, dc) = row(0, 1);
    let (d, dd) = row(1, 1);
    let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
    let (low, high) = (mix(a, b, fy), mix(c, d, fy));
    (mix(low, high, fz), [mix(mix(da, db, fy), mix(dc, dd, fy), fz), mix(b - a, d - c, fz), high - low])
}

#[inline(always)]
fn value(field: &[f32], stride: [usize; 3], s: Stencil) -> f32 {
    let [fx, fy, fz] = s.f;
    let row = |j: usize, k: usize| {
        let row = s.base + j * stride[1] + k * stride[2];
        let pair = &field[row..row + 2];
        pair[0] + fx * (pair[1] - pair[0])
    };
    let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
    mix(mix(row(0, 0), row(1, 0), fy), mix(row(0, 1), row(1, 1), fy), fz)
}

/// Velocity at a place in cells, m/s.
#[inline(always)]
pub fn velocity_at(layout: &Layout, field: &Faces, x: &[f32; 3]) -> [f32; 3] {
    let at = between(x, layout.n);
    std::array::from_fn(|a| value(&field[a], layout.stride, stencil(&at, a, layout.stride)))
}

/// Velocity at a place in cells, m/s, and its gradient, m/s per cell.
#[inline(always)]
pub fn velocity_and_gradient_at(layout: &Layout, field: &Faces, x: &[f32; 3]) -> ([f32; 3], [[f32; 3]; 3]) {
    let at = between(x, layout.n);
    let mut v = [0.0; 3];
    let mut g = [[0.0; 3]; 3];
    for a in 0..3 {
        (v[a], g[a]) = value_and_gradient(&field[a], layout.stride, stencil(&at, a, layout.stride));
    }
    (v, g)
}

/// Value of a field of cell centres at a place in cells.
#[inline(always)]
pub fn center_value_at(layout: &Layout, field: &[f32], x: &[f32; 3]) -> f32 {
    value(field, layout.stride, stencil(&between(x, layout.n), 3, layout.stride))
}

/// Value of a field of corners, each named as the cell it is the lowest of, at a place in cells.
#[inline(always)]
pub(super) fn corner_value_at(layout: &Layout, field: &[f32], x: &[f32; 3]) -> f32 {
    value(field, layout.stride, corner_stencil(&between(x, layout.n), layout.stride))
}

/// Sums of a marker property weighted as the cells' counts are: for densities and viscosities of several fluids.
pub fn sum_property(
    layout: &Layout,
    markers: &Markers,
    order: &Order,
    of: &[[f32; 2]],
    out: &mut Vec<[f32; 2]>,
) {
    let plane = layout.plane();
    let cells = layout.n[0] * layout.n[1];
    let sums: Vec<Vec<[f32; 2]>> = (0..layout.n[2].div_ceil(LAYERS))
        .into_par_iter()
        .map(|b| {
            let mut nodes = vec![[0.0f32; 2]; (LAYERS + 2) * plane];
            let (from, to) = (b * LAYERS, ((b + 1) * LAYERS).min(layout.n[2]));
            for i in order.start[from * cells] as usize..order.start[to * cells] as usize {
                let q = of[usize::from(markers.fluid[i])].map(|q| q * markers.weight(i));
                let s = stencil(&between(&markers.x[i], layout.n), 3, layout.stride);
                for n in 0..8 {
                    let bit = [n & 1, n >> 1 & 1, n >> 2];
                    let w: f32 = (0..3).map(|a| if bit[a] == 1 { s.f[a] } else { 1.0 - s.f[a] }).product();
                    let at = s.base - from * plane + bit[0] + bit[1] * layout.stride[1] + bit[2] * plane;
                    nodes[at][0] += w * q[0];
                    nodes[at][1] += w * q[1];
                }
            }
            nodes
        })
        .collect();
    out.resize(layout.len(), [0.0; 2]);
    out.par_chunks_mut(plane).enumerate().for_each(|(z, out)| {
        out.fill([0.0; 2]);
        for (b, layer) in parts(z, sums.len()) {
            rows::add(sums[b][layer * plane..][..plane].as_flattened(), out.as_flattened_mut());
        }
    });
    fold(layout, None, out, |a, b| [a[0] + b[0], a[1] + b[1]]);
}
