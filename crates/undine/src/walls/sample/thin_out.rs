//! Choosing an even few of many: sample elimination (Yuksel 2015, "Sample elimination for generating Poisson disk
//! sample sets").

use std::collections::BinaryHeap;

use glam::DVec3;

use super::cells::Cells;
use super::project::Spot;

/// Distance at which two kept spots do not mind each other, × spacing: that of neighbours in a triangular lattice.
const APART: f64 = 1.0746;

/// A weight that is the largest first, of equal ones the later spot.
#[derive(PartialEq)]
struct Entry(f64, usize);

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// Leaves `wanted` of the spots by taking away the most crowded one again and again. `images` gives the images of a
/// spot beyond rims and seams.
pub(super) fn thin_out(
    spots: Vec<Spot>,
    wanted: usize,
    spacing: f64,
    images: impl Fn(&Spot) -> Vec<DVec3>,
) -> Vec<Spot> {
    let reach = APART * spacing;
    let mut points: Vec<DVec3> = spots.iter().map(|s| s.position).collect();
    let mut owners: Vec<usize> = (0..spots.len()).collect();
    for (i, s) in spots.iter().enumerate() {
        let list = images(s);
        owners.extend(list.iter().map(|_| i));
        points.extend(list);
    }
    let cells = Cells::new(&points, reach);
    let neighbors: Vec<Vec<(usize, f64)>> = spots
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let mut list = Vec::new();
            cells.around(s.position, |q, j| {
                let r = s.position.distance(q);
                if j != i && r < reach && s.shares_sheet(&spots[owners[j]]) {
                    list.push((owners[j], (1.0 - r / reach).powi(8)));
                }
            });
            list
        })
        .collect();
    let mut weight: Vec<f64> = neighbors.iter().map(|list| list.iter().map(|(_, w)| w).sum()).collect();
    let mut heap: BinaryHeap<Entry> = weight.iter().enumerate().map(|(i, w)| Entry(*w, i)).collect();
    let mut kept = vec![true; spots.len()];
    let mut left = spots.len();
    while left > wanted {
        let Some(Entry(w, i)) = heap.pop() else { break };
        if !kept[i] || w != weight[i] {
            continue;
        }
        kept[i] = false;
        left -= 1;
        for &(j, w) in neighbors[i].iter().filter(|(j, _)| kept[*j]) {
            weight[j] -= w;
            heap.push(Entry(weight[j], j));
        }
    }
    spots.into_iter().zip(kept).filter(|(_, k)| *k).map(|(s, _)| s).collect()
}
