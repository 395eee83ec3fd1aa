//! The particles in reach of a block, side by side in its own coordinates.

use super::cloud::{Cloud, EDGE, Key};

/// Most numbers a particle carries besides its place.
pub const COLUMNS: usize = 7;

/// Particles seen from a block, in the order of the cloud; parallel arrays, filled up to a multiple of eight with
/// particles out of everyone's reach.
#[derive(Clone, Debug, Default)]
pub struct Near {
    /// Coordinates from the block's corner, in cells.
    pub x: [Vec<f32>; 3],
    /// What else they carry.
    pub column: [Vec<f32>; COLUMNS],
    /// Their numbers in the cloud; not filled up.
    pub index: Vec<u32>,
}

/// Far out of reach, and its square still exact.
const NOWHERE: f32 = 65536.0;

impl Near {
    /// Collects the particles at `local` (coordinates from their own blocks) not farther than `reach` cells from the
    /// box of the block, looking at blocks up to `search` cells away; `columns` are picked along.
    pub fn collect(
        &mut self,
        cloud: &Cloud,
        key: Key,
        local: &[Vec<f32>; 3],
        columns: &[Vec<f32>],
        reach: f32,
        search: f32,
    ) {
        self.index.clear();
        self.x.iter_mut().for_each(Vec::clear);
        self.column.iter_mut().for_each(Vec::clear);
        let (low, high) = (-reach, EDGE as f32 + reach);
        for (b, offset) in cloud.around(key, search) {
            for k in cloud.range(b) {
                let p = [local[0][k] + offset[0], local[1][k] + offset[1], local[2][k] + offset[2]];
                if p.iter().all(|&c| c > low && c < high) {
                    self.index.push(k as u32);
                    for a in 0..3 {
                        self.x[a].push(p[a]);
                    }
                }
            }
        }
        for (to, from) in self.column.iter_mut().zip(columns) {
            to.extend(self.index.iter().map(|&k| from[k as usize]));
        }
        let full = self.index.len().next_multiple_of(8);
        self.x.iter_mut().for_each(|x| x.resize(full, NOWHERE));
        self.column.iter_mut().take(columns.len()).for_each(|c| c.resize(full, 0.0));
    }

    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }
}
