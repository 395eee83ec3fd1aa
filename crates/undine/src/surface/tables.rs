//! The 256 cases of marching cubes, worked out instead of copied.
//!
//! On a face whose inside corners are diagonal to each other they are kept apart. That depends on the four signs of
//! the face alone, so both cells beside it agree and no crack opens. The segments on the six faces join to closed
//! loops; a loop is cut into triangles by diagonals through the cell, never along a face, where the cell next door
//! might choose the same diagonal and make an edge of four triangles.

use std::sync::OnceLock;

/// Most triangles of a case.
pub const MOST: usize = 5;

/// A case: triangles over the edges of the cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Case {
    /// Number of triangles.
    pub count: u8,
    /// Edges of each, anticlockwise seen from outside.
    pub triangles: [[u8; 3]; MOST],
}

/// The lower end of an edge as a corner (bit 0: x, bit 1: y, bit 2: z), and its axis.
#[rustfmt::skip]
pub const EDGES: [(u8, u8); 12] = [
    (0, 0), (2, 0), (4, 0), (6, 0),
    (0, 1), (1, 1), (4, 1), (5, 1),
    (0, 2), (1, 2), (2, 2), (3, 2),
];

/// All cases, by the corners inside (bit c: corner c).
pub fn cases() -> &'static [Case; 256] {
    static CASES: OnceLock<[Case; 256]> = OnceLock::new();
    CASES.get_or_init(|| std::array::from_fn(|inside| case(inside as u8)))
}

fn is_inside(case: u8, corner: u8) -> bool {
    case >> corner & 1 == 1
}

/// Ends of an edge.
fn ends(edge: u8) -> (u8, u8) {
    let (low, axis) = EDGES[edge as usize];
    (low, low | 1 << axis)
}

fn edge_between(a: u8, b: u8) -> u8 {
    (0..12).find(|&e| ends(e) == (a.min(b), a.max(b))).expect("neighbouring corners share an edge")
}

/// The corners of a face (axis, side) in turn.
fn corners(axis: u8, side: u8) -> [u8; 4] {
    let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
    [0, u, u | v, v].map(|c| c | side << axis)
}

/// Whether two edges lie on a common face.
pub fn share_face(a: u8, b: u8) -> bool {
    (0..3).any(|axis| {
        let sides = [a, b].map(|e| {
            let (low, high) = ends(e);
            (low >> axis & 1, high >> axis & 1)
        });
        sides[0].0 == sides[0].1 && sides[0] == sides[1]
    })
}

/// The directed segments on a face: seen from outside the cell, the inside of the fluid lies on one fixed hand.
fn segments(case: u8, axis: u8, side: u8) -> Vec<(u8, u8)> {
    let ring = corners(axis, side);
    let mut out = Vec::new();
    // Walk the ring; a run of inside corners is cut off by one segment from where it is entered to where it is left.
    for k in 0..4 {
        let (before, here) = (ring[(k + 3) % 4], ring[k]);
        if !is_inside(case, before) && is_inside(case, here) {
            let mut last = k;
            while is_inside(case, ring[(last + 1) % 4]) {
                last += 1;
            }
            let entered = edge_between(before, here);
            let left = edge_between(ring[last % 4], ring[(last + 1) % 4]);
            // `corners` turns anticlockwise seen from +axis; seen from outside that is clockwise on the low side.
            out.push(if side == 1 { (entered, left) } else { (left, entered) });
        }
    }
    out
}

fn case(inside: u8) -> Case {
    let mut next = [None; 12];
    for axis in 0..3 {
        for side in 0..2 {
            for (from, to) in segments(inside, axis, side) {
                next[from as usize] = Some(to);
            }
        }
    }
    let mut result = Case::default();
    for first in 0..12 {
        let mut ring = Vec::new();
        let mut at = first;
        while let Some(to) = next[at as usize].take() {
            ring.push(at);
            at = to;
        }
        if !ring.is_empty() {
            let cut = cut(&ring).expect("every loop has diagonals through the cell (a test tries all)");
            for t in cut {
                result.triangles[result.count as usize] = t;
                result.count += 1;
            }
        }
    }
    result
}

/// Cuts a ring into triangles without a diagonal along a face.
fn cut(ring: &[u8]) -> Option<Vec<[u8; 3]>> {
    let n = ring.len();
    if n == 3 {
        return Some(vec![[ring[0], ring[1], ring[2]]]);
    }
    // The triangle over the side from the last to the first, with any third corner.
    for k in 1..n - 1 {
        let (a, b, c) = (ring[n - 1], ring[0], ring[k]);
        if (k > 1 && share_face(b, c)) || (k < n - 2 && share_face(c, a)) {
            continue;
        }
        let lower = if k > 1 { cut(&ring[..=k]) } else { Some(Vec::new()) };
        let upper = if k < n - 2 { cut(&ring[k..]) } else { Some(Vec::new()) };
        if let (Some(mut lower), Some(upper)) = (lower, upper) {
            lower.push([a, b, c]);
            lower.extend(upper);
            return Some(lower);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// How often each directed pair of edges follows in a triangle.
    fn sides(case: &Case) -> HashMap<(u8, u8), i32> {
        let mut sides = HashMap::new();
        for t in &case.triangles[..case.count as usize] {
            for k in 0..3 {
                *sides.entry((t[k], t[(k + 1) % 3])).or_insert(0) += 1;
            }
        }
        sides
    }

    #[test]
    fn every_case_uses_exactly_the_edges_that_change_sign() {
        for (inside, case) in cases().iter().enumerate() {
            let mut used = [false; 12];
            case.triangles[..case.count as usize].iter().flatten().for_each(|&e| used[e as usize] = true);
            for e in 0..12 {
                let (a, b) = ends(e);
                let crosses = is_inside(inside as u8, a) != is_inside(inside as u8, b);
                assert_eq!(used[e as usize], crosses, "case {inside} edge {e}");
            }
        }
    }

    #[test]
    fn open_sides_are_the_segments_of_the_faces_and_lie_on_one_face_each() {
        for (inside, case) in cases().iter().enumerate() {
            let sides = sides(case);
            let mut open: Vec<(u8, u8)> =
                sides.keys().copied().filter(|&(a, b)| !sides.contains_key(&(b, a))).collect();
            let mut want: Vec<(u8, u8)> = (0..6).flat_map(|f| segments(inside as u8, f / 2, f % 2)).collect();
            open.sort_unstable();
            want.sort_unstable();
            assert!(sides.values().all(|&n| n == 1), "case {inside}");
            assert_eq!(open, want, "case {inside}");
            for (a, b) in sides.keys().filter(|s| sides.contains_key(&(s.1, s.0))) {
                assert!(!share_face(*a, *b), "case {inside}: a diagonal lies on a face");
            }
        }
    }

    #[test]
    fn two_cells_with_the_same_signs_on_their_common_face_draw_opposite_segments_there() {
        for axis in 0..3u8 {
            for a in 0..=255u8 {
                for b in 0..=255u8 {
                    let (high, low) = (corners(axis, 1), corners(axis, 0));
                    if (0..4).any(|k| is_inside(a, high[k]) != is_inside(b, low[k])) {
                        continue;
                    }
                    let down = |e: u8| {
                        let (p, q) = ends(e);
                        edge_between(p & !(1 << axis), q & !(1 << axis))
                    };
                    let mut ours: Vec<_> =
                        segments(a, axis, 1).into_iter().map(|(p, q)| (down(q), down(p))).collect();
                    let mut theirs = segments(b, axis, 0);
                    ours.sort_unstable();
                    theirs.sort_unstable();
                    assert_eq!(ours, theirs, "axis {axis}, cases {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn triangles_look_away_from_the_inside() {
        // Corner 0 alone: a triangle whose normal points to (1, 1, 1).
        let case = cases()[1];
        assert_eq!(case.count, 1);
        let mut t = case.triangles[0];
        let first = t.iter().position(|&e| EDGES[e as usize].1 == 0).unwrap();
        t.rotate_left(first);
        assert_eq!(t.map(|e| EDGES[e as usize].1), [0, 1, 2]);
    }
}
