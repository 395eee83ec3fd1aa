//! How the grid lies over the domain, and how its cells and faces are numbered.

use std::ops::Range;

use glam::DVec3;

use super::MacError;
use crate::scene::Scene;

/// A staggered grid over the domain, with one layer of padding around it.
///
/// Cells and faces share one numbering: face `i` of axis `a` is the lower face of cell `i`, and the upper one is
/// `i + stride[a]`. Cell (x, y, z) counts from 0 in the domain; padding is at -1 and n.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Cells along each axis.
    pub n: [usize; 3],
    /// Cell edges, m.
    pub h: [f64; 3],
    /// Lowest corner, m.
    pub min: DVec3,
    /// Axes that wrap around.
    pub periodic: [bool; 3],
    /// Whether the lower and the upper side of each axis is open: air behind it, no wall.
    pub open: [[bool; 2]; 3],
    /// Whether fluid sticks to the sides of the domain.
    pub no_slip: bool,
    /// Cells with padding along each axis.
    pub dims: [usize; 3],
    /// Steps in the numbering along each axis.
    pub stride: [usize; 3],
}

/// Most cells: their numbers stay within 32 bits.
const MOST: f64 = 1e9;

impl Layout {
    /// The grid of a scene. Each axis is divided into the nearest whole number of cells, so that the sides of the domain are
    /// faces of cells; edges then differ from `model.spacing` by what it takes.
    pub fn new(scene: &Scene) -> Result<Self, MacError> {
        let domain = scene.domain.as_ref().ok_or(MacError::NoDomain)?;
        let size = domain.max - domain.min;
        let counts = (size / scene.model.spacing).round().max(DVec3::ONE);
        let count = (counts.x + 2.0) * (counts.y + 2.0) * (counts.z + 2.0);
        if count.is_nan() || count > MOST {
            return Err(MacError::TooLarge { cells: count });
        }
        let n = counts.to_array().map(|c| c as usize);
        let dims = n.map(|n| n + 2);
        let mut open = [[false; 2]; 3];
        for &(axis, upper) in &domain.open {
            open[axis][usize::from(upper)] = true;
        }
        Ok(Layout {
            n,
            h: (size / counts).to_array(),
            min: domain.min,
            periodic: domain.periodic,
            open,
            no_slip: domain.slip == crate::scene::Slip::NoSlip,
            dims,
            stride: [1, dims[0], dims[0] * dims[1]],
        })
    }

    /// Number of cells, padding included.
    pub fn len(&self) -> usize {
        self.dims[0] * self.dims[1] * self.dims[2]
    }

    /// Whether there are none; there always are.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cells of one layer across z, padding included.
    pub fn plane(&self) -> usize {
        self.stride[2]
    }

    /// Number of a cell of the domain.
    #[inline(always)]
    pub fn at(&self, c: [usize; 3]) -> usize {
        (c[0] + 1) + (c[1] + 1) * self.stride[1] + (c[2] + 1) * self.stride[2]
    }

    /// The cell with a number; -1 and n are padding.
    pub fn cell(&self, index: usize) -> [isize; 3] {
        let [dx, dy, _] = self.dims;
        [index % dx, index / dx % dy, index / (dx * dy)].map(|c| c as isize - 1)
    }

    /// Volume of a cell, m³.
    pub fn volume(&self) -> f64 {
        self.h[0] * self.h[1] * self.h[2]
    }

    /// Shortest edge, m.
    pub fn shortest(&self) -> f64 {
        self.h[0].min(self.h[1]).min(self.h[2])
    }

    /// Longest edge, m.
    pub fn longest(&self) -> f64 {
        self.h[0].max(self.h[1]).max(self.h[2])
    }

    /// A place in cells from the lowest corner.
    pub fn local(&self, p: DVec3) -> DVec3 {
        (p - self.min) / DVec3::from(self.h)
    }

    /// The place, m, of a point given in cells.
    pub fn world(&self, x: [f32; 3]) -> DVec3 {
        self.min + DVec3::new(x[0].into(), x[1].into(), x[2].into()) * DVec3::from(self.h)
    }

    /// Centre of the face of axis `a` with a number, m.
    pub fn face_center(&self, a: usize, index: usize) -> DVec3 {
        let c = self.cell(index);
        let at = |b: usize| c[b] as f64 + if a == b { 0.0 } else { 0.5 };
        self.min + DVec3::new(at(0), at(1), at(2)) * DVec3::from(self.h)
    }

    /// Centre of a cell, m.
    pub fn cell_center(&self, index: usize) -> DVec3 {
        let c = self.cell(index).map(|c| c as f64 + 0.5);
        self.min + DVec3::from(c) * DVec3::from(self.h)
    }

    /// The numbers of the faces of axis `a` that belong to the domain, row by row: the first of a row, and how many there
    /// are. The upper face of a periodic axis is left out; it is the lower one.
    pub fn face_rows(&self, a: usize) -> [usize; 3] {
        std::array::from_fn(|b| self.n[b] + usize::from(a == b && !self.periodic[a]))
    }

    /// Copies what wraps around into the padding and, of faces, onto the upper ones.
    pub fn wrap<T: Copy>(&self, field: &mut [T]) {
        for b in (0..3).filter(|b| self.periodic[*b]) {
            let n = self.n[b] as isize;
            self.copy_layer(b, n - 1, -1, field);
            self.copy_layer(b, 0, n, field);
        }
    }

    /// Copies a layer across axis `b` onto another.
    pub fn copy_layer<T: Copy>(&self, b: usize, from: isize, to: isize, field: &mut [T]) {
        let (from, to) = ((from + 1) as usize * self.stride[b], (to + 1) as usize * self.stride[b]);
        self.each_of_layer(b, |i| field[to + i] = field[from + i]);
    }

    /// Calls `visit` with the number, less that of the layer's first, of each cell of a layer across axis `b`.
    pub fn each_of_layer(&self, b: usize, mut visit: impl FnMut(usize)) {
        self.each_run_of_layer(b, |run| run.for_each(&mut visit));
    }

    /// As [`Layout::each_of_layer`], with the numbers of cells that lie side by side.
    pub fn each_run_of_layer(&self, b: usize, mut visit: impl FnMut(Range<usize>)) {
        let [_, sy, sz] = self.stride;
        let [nx, ny, nz] = self.dims;
        match b {
            0 => (0..ny * nz).for_each(|row| visit(row * sy..row * sy + 1)),
            1 => (0..nz).for_each(|k| visit(k * sz..k * sz + nx)),
            _ => visit(0..nx * ny),
        }
    }
}
