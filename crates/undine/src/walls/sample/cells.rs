//! Points sorted into cubic cells, for neighbours nearer than a cell's edge.

use glam::DVec3;
use rayon::prelude::*;

/// Bits of a cell's number along an axis. Cells farther apart share a number, which only costs a look.
const BITS: u32 = 21;

/// The cells of a list of points.
pub(super) struct Cells {
    per_metre: f64,
    /// Points and their indices, sorted by cell.
    points: Vec<(DVec3, u32)>,
    /// Open addressing: a cell's number and where its points start, `u32::MAX` in free slots.
    slots: Vec<(u64, u32)>,
    keys: Vec<u64>,
}

impl Cells {
    /// Sorts `points` into cells of edge `edge`, m.
    pub fn new(points: &[DVec3], edge: f64) -> Self {
        let per_metre = 1.0 / edge;
        let mut order: Vec<(u64, u32)> =
            points.par_iter().enumerate().map(|(i, p)| (key(cell(*p, per_metre)), i as u32)).collect();
        order.par_sort_unstable();
        let mut slots = vec![(0, u32::MAX); (2 * order.len() + 2).next_power_of_two()];
        let mut last = None;
        for (start, (key, _)) in order.iter().enumerate() {
            if last != Some(*key) {
                last = Some(*key);
                let mut at = hash(*key, slots.len());
                while slots[at].1 != u32::MAX {
                    at = (at + 1) & (slots.len() - 1);
                }
                slots[at] = (*key, start as u32);
            }
        }
        let keys = order.iter().map(|(key, _)| *key).collect();
        let points = order.iter().map(|(_, i)| (points[*i as usize], *i)).collect();
        Self { per_metre, points, slots, keys }
    }

    /// Visits the points in the 27 cells around `p`: all within the edge of a cell, and some beyond.
    pub fn around(&self, p: DVec3, mut visit: impl FnMut(DVec3, usize)) {
        let [x, y, z] = cell(p, self.per_metre);
        for dz in -1..=1 {
            for dy in -1..=1 {
                for dx in -1..=1 {
                    let key = key([x + dx, y + dy, z + dz]);
                    let mut at = hash(key, self.slots.len());
                    while self.slots[at].1 != u32::MAX && self.slots[at].0 != key {
                        at = (at + 1) & (self.slots.len() - 1);
                    }
                    let mut i = self.slots[at].1 as usize;
                    while i < self.keys.len() && self.keys[i] == key {
                        let (q, index) = self.points[i];
                        visit(q, index as usize);
                        i += 1;
                    }
                }
            }
        }
    }
}

fn cell(p: DVec3, per_metre: f64) -> [i64; 3] {
    (p * per_metre).floor().to_array().map(|v| v as i64)
}

fn key([x, y, z]: [i64; 3]) -> u64 {
    let low = |v: i64| v as u64 & ((1 << BITS) - 1);
    low(z) << (2 * BITS) | low(y) << BITS | low(x)
}

fn hash(key: u64, slots: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (slots - 1)
}
