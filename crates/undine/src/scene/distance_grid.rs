//! Distances on a coarse grid: they tell in one lookup that a point is out of reach, and bound the search otherwise.

use glam::DVec3;
use rayon::prelude::*;

use super::aabb::Aabb;

/// Most cells along an axis.
const MOST: f64 = 64.0;

/// Tabulated distances may exceed the true ones, which are at least this share of them. Deep inside a ball, where
/// all the surface is equally far, exact ones would cost a look at every triangle.
pub(crate) const ROUGH: f64 = 0.9;

/// Signed distances at the middles of cubic cells. A distance changes by at most the way walked, so one value
/// bounds the distance at every point around it.
#[derive(Clone, Debug)]
pub(crate) struct DistanceGrid {
    min: DVec3,
    cell: f64,
    cells: [usize; 3],
    values: Vec<f32>,
}

/// What the grid knows about the distance at a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// |distance| is at least this, m; the sign is that of `signed` when this is positive.
    pub least: f64,
    /// |distance| is at most this, m.
    pub most: f64,
    /// Rough signed distance at the middle of the cell, m.
    pub signed: f64,
}

impl DistanceGrid {
    /// Tabulates a signed distance (rough by [`ROUGH`], its sign exact) in about `count` cells over `around`.
    /// `distance` is given the point and, where there is one, the value of a neighbour and the way to it.
    pub fn build(
        around: Aabb,
        count: usize,
        distance: impl Fn(DVec3, Option<(f64, f64)>) -> f64 + Sync,
    ) -> Self {
        let size = around.size();
        let longest = size.max_element();
        if !(longest > 0.0 && longest.is_finite()) {
            return Self { min: DVec3::ZERO, cell: 1.0, cells: [0; 3], values: Vec::new() };
        }
        let volume = size.max(DVec3::splat(longest / MOST)).element_product();
        let cell = (volume / count as f64).cbrt().max(longest / MOST);
        let cells = (size / cell).ceil().max(DVec3::ONE).to_array().map(|n| n as usize);
        let min = around.center() - 0.5 * cell * DVec3::from(cells.map(|n| n as f64));
        let mut grid = Self { min, cell, cells, values: Vec::new() };
        let [nx, ny, nz] = cells;
        grid.values = (0..nz)
            .into_par_iter()
            .flat_map_iter(|z| {
                let (grid, distance) = (&grid, &distance);
                let (mut before, mut row_start) = (None, None);
                (0..ny).flat_map(move |y| (0..nx).map(move |x| (x, y))).map(move |(x, y)| {
                    let neighbor = if x == 0 { row_start } else { before };
                    let d = distance(grid.middle([x, y, z]), neighbor);
                    before = Some((d, cell));
                    if x == 0 {
                        row_start = before;
                    }
                    d as f32
                })
            })
            .collect();
        grid
    }

    /// What is known at `p`; points outside use the nearest cell. `None` for an empty grid.
    #[inline]
    pub fn look_up(&self, p: DVec3) -> Option<Bounds> {
        let q = (p - self.min) / self.cell;
        // `as` saturates: points below and things that are not numbers land in cell 0.
        let at = [0, 1, 2].map(|k| (q[k] as usize).min(self.cells[k].saturating_sub(1)));
        let value = *self.values.get((at[2] * self.cells[1] + at[1]) * self.cells[0] + at[0])?;
        let signed = f64::from(value);
        let way = p.distance(self.middle(at));
        // The values were rounded to f32.
        let slack = 1e-6 * (signed.abs() + self.cell);
        Some(Bounds { least: ROUGH * signed.abs() - way - slack, most: signed.abs() + way + slack, signed })
    }

    fn middle(&self, at: [usize; 3]) -> DVec3 {
        self.min + self.cell * DVec3::new(at[0] as f64 + 0.5, at[1] as f64 + 0.5, at[2] as f64 + 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bounds_hold_for_a_sphere(p in [-3.0..3.0, -3.0..3.0, -3.0..3.0]) {
            let sphere = |p: DVec3| p.length() - 1.0;
            let around = Aabb::new(DVec3::NEG_ONE, DVec3::ONE);
            let grid = DistanceGrid::build(around, 500, |p, _| sphere(p) / (0.95 + 0.05 * (99.0 * p.x).sin()));
            let p = DVec3::from(p);
            let known = grid.look_up(p).unwrap();
            let d = sphere(p);
            prop_assert!(known.least <= d.abs() && d.abs() <= known.most);
            prop_assert!(known.least <= 0.0 || known.signed * d > 0.0);
        }
    }
}
