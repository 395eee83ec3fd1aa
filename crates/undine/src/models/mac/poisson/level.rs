//! One level of the multigrid hierarchy: a box of cells, split into two colours like a chessboard.
//!
//! A row of cells along x is two rows of slots, one for each colour: the cells x = 2h and x = 2h + 1 are slot h, one
//! of either colour. So the neighbours of eight slots of one colour are eight slots of the other next to each other
//! (no lane is wasted on a red-black sweep), and the two cells in a slot are those that coarsening joins.

use super::kernels::{self, Colour, Split, at_of};
use super::setup;

/// Slots that are worked on at once.
pub(super) const LANES: usize = 8;

/// A copy of a cell behind the end of a periodic axis.
#[derive(Clone, Copy)]
pub(super) struct Ghost {
    to: (u8, u32),
    from: (u8, u32),
    /// The cell that sees it, if that has the same colour.
    by: Option<(u8, u32)>,
    /// The axis of which it is before the first cell.
    before: Option<u8>,
}

/// A box of cells and its equations.
///
/// Around a periodic axis of odd size cells of one colour are neighbours, and sweeping them at once might not converge.
/// There the coupling c and its ghost are written as 2 c times the mean of the cell behind and the cell that looks, with
/// c more on its diagonal: the same equation, but a sweep then steps only part of the way.
pub(super) struct Level {
    pub(super) size: [usize; 3],
    pub(super) periodic: [bool; 3],
    /// Slots from a row to the next in y, and from a layer to the next in z.
    pub(super) stride: [usize; 2],
    /// Coupling to the neighbour in +x, +y, +z, of either colour; 0 where there is none.
    pub(super) plus: [Split; 3],
    /// What the diagonal has above the sum of the couplings: the hold of a free surface.
    pub(super) excess: Split,
    pub(super) diagonal: Split,
    /// 1 / diagonal; 0 in cells that are no unknowns.
    pub(super) inverse: Split,
    /// Where the groups of [`LANES`] slots with unknowns begin, in ascending order, with [`kernels::ODD_ROW`] and
    /// [`kernels::UNIFORM`].
    pub(super) groups: Vec<u32>,
    /// For each group the first of the coarse slots it belongs to, and their row's parity.
    pub(super) parents: Vec<u32>,
    /// Unknowns in each group of slots, by its number, and [`kernels::UNIFORM_COUNT`].
    pub(super) counts: Vec<u8>,
    pub(super) unknowns: usize,
    /// The coupling of the groups that are marked as uniform.
    pub(super) uniform: f32,
    ghosts: Vec<Ghost>,
}

impl Level {
    pub(super) fn new(size: [usize; 3], periodic: [bool; 3]) -> Self {
        // Eight slots between rows: the slot before the first and the one after the last belong to nobody else.
        let row = LANES + size[0].div_ceil(2).next_multiple_of(LANES);
        let layer = row * (size[1] + 2);
        let split = || Split::new(layer * (size[2] + 2) + LANES);
        let mut level = Level {
            size,
            periodic,
            stride: [row, layer],
            plus: std::array::from_fn(|_| split()),
            excess: split(),
            diagonal: split(),
            inverse: split(),
            groups: Vec::new(),
            parents: Vec::new(),
            counts: vec![0; layer * (size[2] + 2) / LANES + 1],
            unknowns: 0,
            uniform: 0.0,
            ghosts: Vec::new(),
        };
        level.find_ghosts();
        level
    }

    /// Slots of a vector of one colour.
    pub(super) fn len(&self) -> usize {
        self.stride[1] * (self.size[2] + 2) + LANES
    }

    /// Where the slots of a row begin.
    #[inline(always)]
    pub(super) fn row(&self, y: usize, z: usize) -> usize {
        (z + 1) * self.stride[1] + (y + 1) * self.stride[0] + LANES
    }

    /// Colour and slot of a cell, which may be one outside the box.
    fn place(&self, cell: [isize; 3]) -> (u8, u32) {
        let [x, y, z] = cell;
        let row = (z + 1) as usize * self.stride[1] + (y + 1) as usize * self.stride[0] + LANES;
        ((x + y + z).rem_euclid(2) as u8, (row as isize + x.div_euclid(2)) as u32)
    }

    /// Colour and slot of a cell in the box.
    pub(super) fn slot(&self, x: usize, y: usize, z: usize) -> (usize, usize) {
        ((x + y + z) & 1, self.row(y, z) + x / 2)
    }

    /// Whether no cell neighbours one of its own colour, as it would around a periodic axis of odd size.
    pub(super) fn two_coloured(&self) -> bool {
        (0..3).all(|a| !self.periodic[a] || self.size[a] == 1 || self.size[a].is_multiple_of(2))
    }

    fn find_ghosts(&mut self) {
        let size = self.size.map(|n| n as isize);
        for axis in 0..3 {
            // An axis of one cell would couple that cell with itself, which changes nothing.
            if !self.periodic[axis] || size[axis] < 2 {
                continue;
            }
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for i in 0..size[u] {
                for j in 0..size[v] {
                    for (outside, inside) in [(-1, size[axis] - 1), (size[axis], 0)] {
                        let mut cell = [0; 3];
                        (cell[u], cell[v], cell[axis]) = (i, j, outside);
                        let to = self.place(cell);
                        cell[axis] = inside;
                        let from = self.place(cell);
                        cell[axis] = size[axis] - 1 - inside;
                        let by = Some(self.place(cell)).filter(|by| by.0 == from.0);
                        let before = (outside < 0).then_some(axis as u8);
                        self.ghosts.push(Ghost { to, from, by, before });
                    }
                }
            }
        }
    }

    /// Factor of the couplings across the seam of an axis, see [`Level`].
    pub(super) fn seam(&self, axis: usize) -> f32 {
        if self.periodic[axis] && self.size[axis] % 2 == 1 { 2.0 } else { 1.0 }
    }

    /// Copies the cells at the ends of periodic axes to where their neighbours look for them.
    fn wrap<T: Copy>(ghosts: &[Ghost], [red, black]: [&mut [T]; 2], mean: impl Fn(T, T) -> T) {
        for ghost in ghosts {
            let get = |(c, at): (u8, u32)| if c == 0 { red[at as usize] } else { black[at as usize] };
            let value = match ghost.by {
                None => get(ghost.from),
                Some(by) => mean(get(ghost.from), get(by)),
            };
            let to = if ghost.to.0 == 0 { &mut *red } else { &mut *black };
            to[ghost.to.1 as usize] = value;
        }
    }

    /// [`Level::wrap`] of a vector.
    pub(super) fn wrap_vector(&self, v: &mut Split) {
        Level::wrap(&self.ghosts, v.both_mut(), |a, b| 0.5 * (a + b));
    }

    /// [`Level::wrap`] of a vector in double precision.
    pub(super) fn wrap_double(&self, v: &mut [Vec<f64>; 2]) {
        let [red, black] = v;
        Level::wrap(&self.ghosts, [red, black], |a, b| 0.5 * (a + b));
    }

    /// [`Level::wrap`] of numbers of cells.
    pub(super) fn wrap_numbers(&self, v: [&mut [u32]; 2]) {
        Level::wrap(&self.ghosts, v, |behind, _| behind);
    }

    /// The slot (of the other colour) of the neighbour in + `axis`.
    pub(super) fn next(&self, colour: usize, at: usize, axis: usize) -> usize {
        match axis {
            0 => {
                let (z, y) = (at / self.stride[1], at % self.stride[1] / self.stride[0]);
                at + ((colour + y + z) & 1)
            }
            _ => at + self.stride[axis - 1],
        }
    }

    /// Copies the couplings across the seams of periodic axes to before their first cells. Other ghosts have none: they may
    /// lie within a group, and are no cells.
    pub(super) fn wrap_plus(&mut self) {
        for ghost in &self.ghosts {
            if let Some(axis) = ghost.before {
                let plus = &mut self.plus[usize::from(axis)];
                plus[usize::from(ghost.to.0)][ghost.to.1 as usize] =
                    plus[usize::from(ghost.from.0)][ghost.from.1 as usize];
            }
        }
    }

    /// What the kernels need to know of a colour's equations.
    pub(super) fn colour(&self, c: usize) -> Colour<'_> {
        Colour::of(&self.plus, &self.diagonal, &self.inverse, self.stride, self.uniform, c)
    }

    /// Groups in a row.
    pub(super) fn row_groups(&self) -> usize {
        self.stride[0] / LANES - 1
    }

    /// Lists the groups with unknowns, from `counts`.
    pub(super) fn list_groups(&mut self) {
        self.groups.clear();
        self.unknowns = 0;
        for z in 0..self.size[2] {
            for y in 0..self.size[1] {
                let row = self.row(y, z);
                for at in (row..row + self.row_groups() * LANES).step_by(LANES) {
                    let count = self.counts[at / LANES];
                    if count > 0 {
                        self.groups.push((at | ((y + z) & 1)) as u32);
                        self.unknowns += usize::from(count);
                    }
                }
            }
        }
    }

    /// Marks the groups that are uniform, with the coupling in the middle of the list for measure: it does not matter much
    /// which, as long as it is that of many.
    pub(super) fn find_uniform(&mut self) {
        let middle = self.groups.get(self.groups.len() / 2).map_or(0, |group| at_of(*group));
        self.uniform = self.plus[0][0][middle + LANES / 2];
        let mut groups = std::mem::take(&mut self.groups);
        if self.uniform > 0.0 {
            setup::mark_uniform(&mut groups, [&self.colour(0), &self.colour(1)], &self.excess);
        }
        for &group in groups.iter().filter(|group| **group & kernels::UNIFORM != 0) {
            self.counts[at_of(group) / LANES] += kernels::UNIFORM_COUNT;
        }
        self.groups = groups;
    }

    /// Finds the coarse slots that the groups belong to.
    pub(super) fn find_parents(&mut self, coarse: &Level) {
        self.parents.clear();
        for &group in &self.groups {
            let at = at_of(group);
            let (z, within) = (at / self.stride[1] - 1, at % self.stride[1]);
            let (y, slot) = (within / self.stride[0] - 1, within % self.stride[0] - LANES);
            self.parents.push(((coarse.row(y / 2, z / 2) + slot / 2) | ((y / 2 + z / 2) & 1)) as u32);
        }
    }
}
