//! Removal of slivers: edges much shorter than a cell are drawn together.
//!
//! An edge is only drawn together when the surface stays a manifold (its ends have exactly two neighbours in common)
//! and no triangle turns over. In one round no two edges near each other are touched, so that every check holds.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::Surface;
use super::adjacency::Adjacency;
use super::cloud::KeyHasher;
use super::vector::{V, add, cross, dot, scale, sub, unit};

/// Rounds at most.
const ROUNDS: usize = 6;

/// Draws edges shorter than `least` (m) together.
///
/// After the first round only the triangles are looked at that had a short edge or whose corners moved. Building the
/// mesh anew for every round took 15 instead of 8.5 ms for 60k particles, with the same result.
pub fn remove_slivers(surface: &mut Surface, least: f32) {
    let mut around = Around { before: Adjacency::triangles(surface), now: HashMap::default() };
    let count = surface.position.len();
    let mut keep = vec![true; count];
    let mut touched = vec![false; count];
    let mut look: Vec<u32> = (0..surface.triangles.len() as u32).collect();
    for _ in 0..ROUNDS {
        let (merged, mut left) = round(surface, &around, &look, least, &mut touched);
        if merged.is_empty() {
            break;
        }
        touched.fill(false);
        for (a, b) in merged {
            keep[b as usize] = false;
            around.merge(surface, a, b);
            left.extend_from_slice(around.of(a));
        }
        left.retain(|&t| solid(&surface.triangles[t as usize]));
        left.sort_unstable();
        left.dedup();
        look = left;
    }
    compact(surface, &keep);
}

/// The triangles around each vertex.
struct Around {
    before: Adjacency,
    /// Those of the vertices where they have changed.
    now: HashMap<u32, Vec<u32>, BuildHasherDefault<KeyHasher>>,
}

impl Around {
    fn of(&self, v: u32) -> &[u32] {
        match self.now.get(&v) {
            Some(list) => list,
            None => self.before.of(v as usize),
        }
    }

    /// Gives the triangles of `b` to `a`, but for those of both, which go.
    fn merge(&mut self, surface: &mut Surface, a: u32, b: u32) {
        let mut list = [self.of(a), self.of(b)].concat();
        list.sort_unstable();
        list.dedup();
        list.retain(|&t| {
            let corners = &mut surface.triangles[t as usize];
            let third = corners.iter().copied().find(|&v| v != a && v != b).unwrap_or(a);
            corners.iter_mut().filter(|v| **v == b).for_each(|v| *v = a);
            let stays = solid(corners);
            if !stays {
                let others = self.of(third).iter().copied().filter(|&other| other != t).collect();
                self.now.insert(third, others);
            }
            stays
        });
        self.now.insert(a, list);
    }
}

/// Whether a triangle has three corners.
fn solid(t: &[u32; 3]) -> bool {
    t[0] != t[1] && t[1] != t[2] && t[2] != t[0]
}

/// One round through the triangles `look`: the pairs of vertices drawn together, of which the first stays, and the
/// triangles with short edges that were left.
fn round(
    surface: &mut Surface,
    around: &Around,
    look: &[u32],
    least: f32,
    touched: &mut [bool],
) -> (Vec<(u32, u32)>, Vec<u32>) {
    let (mut merged, mut left) = (Vec::new(), Vec::new());
    for &t in look {
        for k in 0..3 {
            let corners = surface.triangles[t as usize];
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            let d = sub(surface.position[a as usize], surface.position[b as usize]);
            // Each edge is seen from both its triangles: once is enough.
            if a > b || dot(d, d) >= least * least {
                continue;
            }
            left.push(t);
            if let Some(ring) = ring(surface, around, a, b, touched) {
                let middle = scale(add(surface.position[a as usize], surface.position[b as usize]), 0.5);
                if turns_over(surface, around, a, b, middle) {
                    continue;
                }
                merge(surface, a, b, middle);
                merged.push((a, b));
                touched[a as usize] = true;
                touched[b as usize] = true;
                ring.iter().for_each(|&v| touched[v as usize] = true);
            }
        }
    }
    (merged, left)
}

/// The neighbours of both ends, if the edge may be drawn together and nothing around was touched.
fn ring(surface: &Surface, around: &Around, a: u32, b: u32, touched: &[bool]) -> Option<Vec<u32>> {
    let beside = |v: u32| -> Vec<u32> {
        let corners = around.of(v).iter().flat_map(|&t| surface.triangles[t as usize]);
        let mut list: Vec<u32> = corners.filter(|&u| u != v).collect();
        list.sort_unstable();
        list.dedup();
        list
    };
    if touched[a as usize] || touched[b as usize] {
        return None;
    }
    let (mut first, second) = (beside(a), beside(b));
    let common = first.iter().filter(|v| second.binary_search(v).is_ok()).count();
    // A vertex of three neighbours beside the edge would be left with two.
    let thin = |v: &u32| around.of(*v).len() <= 3;
    if common != 2 || first.iter().chain(&second).any(|v| touched[*v as usize] || thin(v)) {
        return None;
    }
    first.extend(second);
    Some(first)
}

/// Whether a triangle around the edge would turn over, or nearly, with both ends in the middle.
fn turns_over(surface: &Surface, around: &Around, a: u32, b: u32, middle: V) -> bool {
    let normal = |p: [V; 3]| cross(sub(p[1], p[0]), sub(p[2], p[0]));
    [a, b].iter().any(|&v| {
        around.of(v).iter().any(|&t| {
            let t = surface.triangles[t as usize];
            if t.contains(&a) && t.contains(&b) {
                return false;
            }
            let old = t.map(|u| surface.position[u as usize]);
            let new = t.map(|u| if u == a || u == b { middle } else { surface.position[u as usize] });
            let (n, m) = (normal(old), normal(new));
            let outward =
                t.iter().fold([0.0; 3], |s, &u| surface.normal.get(u as usize).map_or(s, |n| add(s, *n)));
            // Slivers have no normal to speak of; then the field's decides.
            let size = (dot(n, n) * dot(m, m)).sqrt();
            dot(n, m) < 0.2 * size || dot(m, outward) < 0.0
        })
    })
}

fn merge(surface: &mut Surface, a: u32, b: u32, middle: V) {
    let (a, b) = (a as usize, b as usize);
    surface.position[a] = middle;
    if !surface.normal.is_empty() {
        surface.normal[a] = unit(add(surface.normal[a], surface.normal[b]), surface.normal[a]);
    }
    if !surface.velocity.is_empty() {
        surface.velocity[a] = scale(add(surface.velocity[a], surface.velocity[b]), 0.5);
    }
}

/// Drops triangles with two equal corners and vertices that are not kept.
fn compact(surface: &mut Surface, keep: &[bool]) {
    let mut number = vec![0u32; keep.len()];
    let mut next = 0;
    for (number, &keep) in number.iter_mut().zip(keep) {
        *number = next;
        next += u32::from(keep);
    }
    surface.triangles.retain(solid);
    surface.triangles.as_flattened_mut().iter_mut().for_each(|v| *v = number[*v as usize]);
    retain(&mut surface.position, keep);
    retain(&mut surface.normal, keep);
    retain(&mut surface.velocity, keep);
    retain(&mut surface.fluid, keep);
}

fn retain<T>(values: &mut Vec<T>, keep: &[bool]) {
    let mut v = 0;
    values.retain(|_| {
        v += 1;
        keep[v - 1]
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::tests::{area_and_volume, euler_number, frame};
    use crate::surface::{Method, Options, build};

    #[test]
    fn short_edges_go_and_the_surface_stays_closed() {
        let mut p = Vec::new();
        for i in 0..4000 {
            let c = [i % 16, i / 16 % 16, i / 256].map(|c| c as f32 - 7.3);
            if c.iter().map(|x| x * x).sum::<f32>() < 36.0 {
                p.push(c);
            }
        }
        let mut s = build(&frame(p), &Options::plain(Method::ColorField)).unwrap().0;
        let short = |s: &Surface| {
            let is_short = |t: &&[u32; 3]| {
                let d = sub(s.position[t[0] as usize], s.position[t[1] as usize]);
                dot(d, d) < 0.15 * 0.15
            };
            s.triangles.iter().filter(is_short).count()
        };
        let many = short(&s);
        let (before, vertices) = (area_and_volume(&s), s.position.len());
        remove_slivers(&mut s, 0.15);
        assert_eq!(euler_number(&s), 2);
        let after = area_and_volume(&s);
        assert!((after.1 / before.1 - 1.0).abs() < 2e-3, "{before:?} {after:?}");
        assert!(s.position.len() < vertices * 9 / 10, "{vertices} {}", s.position.len());
        assert_eq!(s.normal.len(), s.position.len());
        assert!(short(&s) * 10 < many, "{many} {}", short(&s));
    }
}
