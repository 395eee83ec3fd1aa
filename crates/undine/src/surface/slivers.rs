//! Removal of slivers: edges much shorter than a cell are drawn together.
//!
//! An edge is only drawn together when the surface stays a manifold (its ends have exactly two neighbours in common)
//! and no triangle turns over. In one round no two edges near each other are touched, so that every check holds: all
//! edges are checked at once by the surface as it was before the round, then those that nothing near by has touched are
//! taken in the order of the triangles.

use rayon::prelude::*;

use super::Surface;
use super::adjacency::Adjacency;
use super::vector::{V, add, cross, dot, scale, sub, unit};

/// Rounds at most.
const ROUNDS: usize = 6;
/// Triangles that are looked at in one go.
const CHUNK: usize = 1024;

/// Draws edges shorter than `least` (m) together.
///
/// After the first round only the triangles are looked at that had a short edge or whose corners moved. Building the
/// mesh anew for every round took 15 instead of 8.5 ms for 60k particles, with the same result. With the checks on one
/// thread, lists of triangles in a hash table and of neighbours on the heap, 35k vertices of a dam break took 14 ms.
pub fn remove_slivers(surface: &mut Surface, least: f32) {
    let mut around = Around::new(surface);
    let count = surface.position.len();
    let mut keep = vec![true; count];
    let mut touched = vec![false; count];
    let mut look: Vec<u32> = (0..surface.triangles.len() as u32).collect();
    for _ in 0..ROUNDS {
        let checked: Vec<Checked> =
            look.par_chunks(CHUNK).map(|look| check(surface, &around, look, least)).collect();
        touched.fill(false);
        let merged = choose(&checked, &mut touched);
        if merged.is_empty() {
            break;
        }
        let mut left: Vec<u32> = checked.iter().flat_map(|c| c.short.iter().map(|s| s.triangle)).collect();
        for (a, b) in merged {
            keep[b as usize] = false;
            draw_together(surface, a, b);
            around.merge(surface, a, b);
            left.extend_from_slice(around.of(a));
        }
        left.retain(|&t| solid(&surface.triangles[t as usize]));
        left.par_sort_unstable();
        left.dedup();
        look = left;
    }
    compact(surface, &keep);
}

/// The triangles around each vertex, ascending: one list with beginnings and lengths. Where they have grown they follow
/// at its end.
struct Around {
    start: Vec<u32>,
    count: Vec<u32>,
    list: Vec<u32>,
    joined: Vec<u32>,
}

impl Around {
    fn new(surface: &Surface) -> Self {
        let (mut start, list) = Adjacency::triangles(surface).into_parts();
        let count = start.windows(2).map(|w| w[1] - w[0]).collect();
        start.pop();
        Around { start, count, list, joined: Vec::new() }
    }

    fn of(&self, v: u32) -> &[u32] {
        &self.list[self.start[v as usize] as usize..][..self.count[v as usize] as usize]
    }

    /// Gives the triangles of `b` to `a`, but for those of both, which go.
    fn merge(&mut self, surface: &mut Surface, a: u32, b: u32) {
        let mut joined = std::mem::take(&mut self.joined);
        join(self.of(a), self.of(b), &mut joined);
        joined.retain(|&t| {
            let corners = &mut surface.triangles[t as usize];
            let third = corners.iter().copied().find(|&v| v != a && v != b).unwrap_or(a);
            corners.iter_mut().filter(|v| **v == b).for_each(|v| *v = a);
            let stays = solid(corners);
            if !stays {
                self.remove(third, t);
            }
            stays
        });
        self.start[a as usize] = self.list.len() as u32;
        self.count[a as usize] = joined.len() as u32;
        self.list.extend_from_slice(&joined);
        self.joined = joined;
    }

    fn remove(&mut self, v: u32, triangle: u32) {
        let (first, count) = (self.start[v as usize] as usize, self.count[v as usize] as usize);
        let list = &mut self.list[first..][..count];
        if let Some(k) = list.iter().position(|&t| t == triangle) {
            list[k..].rotate_left(1);
            self.count[v as usize] -= 1;
        }
    }
}

/// Joins two ascending lists, without doubles.
fn join(mut a: &[u32], mut b: &[u32], out: &mut Vec<u32>) {
    out.clear();
    while let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_first(), b.split_first()) {
        out.push(*x.min(y));
        (a, b) = (if x <= y { rest_a } else { a }, if y <= x { rest_b } else { b });
    }
    out.extend_from_slice(a);
    out.extend_from_slice(b);
}

/// Whether a triangle has three corners.
fn solid(t: &[u32; 3]) -> bool {
    t[0] != t[1] && t[1] != t[2] && t[2] != t[0]
}

/// A short edge.
struct Short {
    a: u32,
    b: u32,
    /// Where it was seen.
    triangle: u32,
    /// Where the neighbours of its ends lie in the list, when it may be drawn together.
    ring: Option<(usize, usize)>,
}

/// The short edges of some triangles.
#[derive(Default)]
struct Checked {
    short: Vec<Short>,
    /// Neighbours of the ends, the ends themselves among them.
    rings: Vec<u32>,
}

/// Finds the short edges of the triangles `look`, and which of them may be drawn together.
fn check(surface: &Surface, around: &Around, look: &[u32], least: f32) -> Checked {
    let mut out = Checked::default();
    for &triangle in look {
        let corners = surface.triangles[triangle as usize];
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            let d = sub(surface.position[a as usize], surface.position[b as usize]);
            // Each edge is seen from both its triangles: once is enough.
            if a > b || dot(d, d) >= least * least {
                continue;
            }
            let first = out.rings.len();
            let may = ring(surface, around, a, b, &mut out.rings)
                && !turns_over(surface, around, a, b, middle(surface, a, b));
            if !may {
                out.rings.truncate(first);
            }
            let ring = may.then_some((first, out.rings.len()));
            out.short.push(Short { a, b, triangle, ring });
        }
    }
    out
}

/// The pairs of vertices to be drawn together, of which the first stays: one after the other those whose neighbours were
/// not touched before.
fn choose(checked: &[Checked], touched: &mut [bool]) -> Vec<(u32, u32)> {
    let mut merged = Vec::new();
    for Checked { short, rings } in checked {
        for s in short {
            let Some((first, end)) = s.ring else { continue };
            let ring = &rings[first..end];
            if ring.iter().all(|&v| !touched[v as usize]) {
                ring.iter().for_each(|&v| touched[v as usize] = true);
                merged.push((s.a, s.b));
            }
        }
    }
    merged
}

/// Adds the neighbours of both ends to `out`; whether the surface stays a manifold with the edge drawn together.
fn ring(surface: &Surface, around: &Around, a: u32, b: u32, out: &mut Vec<u32>) -> bool {
    // On a closed surface each neighbour follows the vertex in one of the triangles around it.
    let after = |v: u32| {
        move |&t: &u32| {
            let [p, q, r] = surface.triangles[t as usize];
            if p == v {
                q
            } else if q == v {
                r
            } else {
                p
            }
        }
    };
    let first = out.len();
    out.extend(around.of(a).iter().map(after(a)));
    let second = out.len();
    out.extend(around.of(b).iter().map(after(b)));
    let (of_a, of_b) = out[first..].split_at(second - first);
    let common = of_a.iter().filter(|v| of_b.contains(v)).count();
    // A vertex of three neighbours beside the edge would be left with two.
    common == 2 && out[first..].iter().all(|&v| around.count[v as usize] > 3)
}

fn middle(surface: &Surface, a: u32, b: u32) -> V {
    scale(add(surface.position[a as usize], surface.position[b as usize]), 0.5)
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

fn draw_together(surface: &mut Surface, a: u32, b: u32) {
    let middle = middle(surface, a, b);
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
    let Surface { position, normal, velocity, fluid, triangles } = surface;
    let renumber = || {
        triangles.retain(solid);
        triangles.as_flattened_mut().iter_mut().for_each(|v| *v = number[*v as usize]);
    };
    let drop = || {
        retain(position, keep);
        retain(normal, keep);
        retain(velocity, keep);
        retain(fluid, keep);
    };
    rayon::join(renumber, drop);
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::surface::tests::{area_and_volume, euler_number, frame};
    use crate::surface::{Method, Options, build};

    /// The same, one edge after the other on the surface as it is by then, with lists made anew for each.
    fn one_by_one(surface: &mut Surface, least: f32) {
        let mut keep = vec![true; surface.position.len()];
        let mut look: Vec<u32> = (0..surface.triangles.len() as u32).collect();
        for _ in 0..ROUNDS {
            let around = Around::new(surface);
            let mut touched = vec![false; surface.position.len()];
            let (mut merged, mut left) = (Vec::new(), Vec::new());
            for &t in &look {
                for k in 0..3 {
                    let corners = surface.triangles[t as usize];
                    let (a, b) = (corners[k], corners[(k + 1) % 3]);
                    let d = sub(surface.position[a as usize], surface.position[b as usize]);
                    if a > b || dot(d, d) >= least * least {
                        continue;
                    }
                    left.push(t);
                    let solid = |t: &&u32| solid(&surface.triangles[**t as usize]);
                    let beside = |v: u32| -> BTreeSet<u32> {
                        let of = around.of(v).iter().filter(solid);
                        of.flat_map(|&t| surface.triangles[t as usize]).filter(|u| *u != v).collect()
                    };
                    let (first, second) = (beside(a), beside(b));
                    let mut ring = first.union(&second);
                    let stays =
                        |v: &u32| !touched[*v as usize] && around.of(*v).iter().filter(solid).count() > 3;
                    if first.intersection(&second).count() != 2
                        || !ring.all(stays)
                        || turns_over(surface, &around, a, b, middle(surface, a, b))
                    {
                        continue;
                    }
                    draw_together(surface, a, b);
                    merged.push((a, b));
                    first.union(&second).for_each(|&v| touched[v as usize] = true);
                }
            }
            if merged.is_empty() {
                break;
            }
            for (a, b) in merged {
                keep[b as usize] = false;
                surface.triangles.as_flattened_mut().iter_mut().filter(|v| **v == b).for_each(|v| *v = a);
                let with_a = (0..surface.triangles.len()).filter(|&t| surface.triangles[t].contains(&a));
                left.extend(with_a.map(|t| t as u32));
            }
            look = left;
            look.retain(|&t| solid(&surface.triangles[t as usize]));
            look.sort_unstable();
            look.dedup();
        }
        compact(surface, &keep);
    }

    #[test]
    fn all_at_once_is_the_same_as_one_by_one() {
        let mut seed = 7u32;
        let mut random = || {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 8) as f32 / 16777216.0
        };
        let p: Vec<[f32; 3]> = (0..400).map(|_| [8.0, 6.0, 7.0].map(|edge| edge * random())).collect();
        let options = Options { cell: 0.7, ..Options::plain(Method::Anisotropic) };
        let s = build(&frame(p), &options).unwrap().0;
        for least in [0.1, 0.3, 0.6] {
            let (mut fast, mut slow) = (s.clone(), s.clone());
            remove_slivers(&mut fast, least);
            one_by_one(&mut slow, least);
            assert!(fast.position.len() < s.position.len());
            assert_eq!(fast, slow, "{least}");
        }
    }

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
