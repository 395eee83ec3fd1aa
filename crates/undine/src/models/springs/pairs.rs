//! Pairs of near nodes.

use glam::DVec3;

use crate::scene::aabb::Aabb;

/// Most cells of the search, × nodes: a body spread far gets larger cells instead.
const CELLS_PER_NODE: f64 = 8.0;

/// Calls `visit` with each pair of one node of `a` and one of `b` nearer than `reach`, m; in an order that depends on
/// nothing but the nodes.
pub(super) fn near_pairs(
    position: &[DVec3],
    a: &[u32],
    b: &[u32],
    reach: f64,
    mut visit: impl FnMut(u32, u32),
) {
    let near = |i: u32, j: u32| position[i as usize].distance_squared(position[j as usize]) < reach * reach;
    if a.len().min(b.len()) <= 8 {
        for &i in a {
            b.iter().filter(|j| i != **j && near(i, **j)).for_each(|&j| visit(i, j));
        }
        return;
    }
    let bounds = Aabb::around(b.iter().map(|i| position[*i as usize]));
    if !(bounds.min.is_finite() && bounds.max.is_finite()) {
        return;
    }
    let size = bounds.size();
    let mut cell = reach;
    let count = |cell: f64| size.to_array().map(|s| (s / cell).floor() + 1.0);
    while count(cell).iter().product::<f64>() > CELLS_PER_NODE * b.len() as f64 + 64.0 {
        cell *= 1.26;
    }
    let n = count(cell).map(|c| c as i64);
    let place = |p: DVec3| ((p - bounds.min) / cell).floor().to_array().map(|x| x as i64);
    let index = |c: [i64; 3]| ((c[2] * n[1] + c[1]) * n[0] + c[0]) as usize;
    // Counting sort of b by cell.
    let mut first = vec![0u32; (n[0] * n[1] * n[2]) as usize + 1];
    let cells: Vec<usize> = b.iter().map(|j| index(place(position[*j as usize]))).collect();
    cells.iter().for_each(|c| first[c + 1] += 1);
    for c in 1..first.len() {
        first[c] += first[c - 1];
    }
    let mut next = first.clone();
    let mut sorted = vec![0u32; b.len()];
    for (&j, &c) in b.iter().zip(&cells) {
        sorted[next[c] as usize] = j;
        next[c] += 1;
    }
    for &i in a {
        let c = place(position[i as usize]);
        let range =
            |axis: usize| c[axis].saturating_sub(1).max(0)..=c[axis].saturating_add(1).min(n[axis] - 1);
        if (0..3).any(|axis| range(axis).is_empty()) {
            continue;
        }
        for z in range(2) {
            for y in range(1) {
                // Neighbours in x are one contiguous range.
                let x = range(0);
                let row = first[index([*x.start(), y, z])]..first[index([*x.end(), y, z]) + 1];
                for &j in &sorted[row.start as usize..row.end as usize] {
                    if i != j && near(i, j) {
                        visit(i, j);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_cells_find_what_going_through_all_pairs_finds(
            points in prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), 2..80),
            split in 1..79usize,
            reach in 0.01..1.0f64,
            far in 1.0..1e6f64,
        ) {
            let mut position: Vec<DVec3> = points.iter().map(|p| DVec3::from_array(*p)).collect();
            position[0] *= far;
            let split = split.min(position.len() - 1);
            let (a, b): (Vec<u32>, Vec<u32>) =
                (0..position.len() as u32).partition(|i| (*i as usize) < split);
            let mut found = Vec::new();
            near_pairs(&position, &a, &b, reach, |i, j| found.push((i, j)));
            found.sort_unstable();
            let all = a.iter().flat_map(|i| b.iter().map(move |j| (*i, *j)));
            let near = |(i, j): &(u32, u32)| position[*i as usize].distance(position[*j as usize]) < reach;
            prop_assert_eq!(found, all.filter(near).collect::<Vec<_>>());
        }
    }
}
