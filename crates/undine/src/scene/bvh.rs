//! A bounding-volume tree over things with boxes, in one flat array.
//!
//! Boxes are kept in f32 relative to the middle of everything and rounded outward, so a node is 32 bytes, both
//! children share a cache line, and the answers (computed in f64 by the caller) stay exact.

use std::cmp::Ordering;

use glam::{DVec3, Vec3A, Vec4};

use super::aabb::Aabb;

/// Most things in a leaf.
const LEAF: usize = 2;
/// Candidate planes per split of the surface-area heuristic.
const BINS: usize = 12;
/// Below this depth nodes are halved by count, which bounds the depth by `SAH_DEPTH + 32`.
const SAH_DEPTH: u32 = 28;
/// Traversal stack: one pending sibling per level.
const STACK: usize = 64;

/// Box distances are computed in f32; this covers their rounding (below 7e-7), the padding of boxes that of the point.
const SLACK: f32 = 1.0 - 2e-6;

/// A node; its fourth lanes hold whole numbers as bits. A leaf holds the slots `first..first + count`, an inner node
/// (`count` 0) the nodes `first`, `first + 1`.
#[derive(Clone, Copy, Debug)]
struct Node {
    min_first: Vec4,
    max_count: Vec4,
}

/// The tree. Slots are positions in the order that [`Bvh::build`] returns.
#[derive(Clone, Debug)]
pub(crate) struct Bvh {
    nodes: Vec<Node>,
    origin: DVec3,
}

impl Bvh {
    /// Builds the tree; the second value maps slots to indices into `boxes`.
    pub fn build(boxes: &[Aabb]) -> (Self, Vec<u32>) {
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let all = boxes.iter().fold(Aabb::EMPTY, |a, b| a.union(*b));
        if boxes.is_empty() {
            return (Self { nodes: Vec::new(), origin: DVec3::ZERO }, order);
        }
        let origin = all.center();
        // Covers the rounding of `x - origin` and of slab tests where f32 has no room of its own (near 0).
        let pad = 1e-9 * all.size().max_element();
        let blank = Node { min_first: Vec4::ZERO, max_count: Vec4::ZERO };
        let mut nodes = Vec::with_capacity(boxes.len() / 2 + 1);
        nodes.push(blank);
        let mut tasks = vec![(0_usize, 0_usize, boxes.len(), 0_u32)];
        while let Some((node, start, end, depth)) = tasks.pop() {
            let range = &mut order[start..end];
            let around = range.iter().fold(Aabb::EMPTY, |a, &i| a.union(boxes[i as usize])).grow(pad);
            let (min, max) = (around.min - origin, around.max - origin);
            if range.len() <= LEAF {
                nodes[node] = Node::new(min, max, start as u32, (end - start) as u32);
                continue;
            }
            let middle = start + split(boxes, range, depth < SAH_DEPTH);
            let first = nodes.len();
            nodes[node] = Node::new(min, max, first as u32, 0);
            nodes.extend([blank, blank]);
            tasks.push((first + 1, middle, end, depth + 1));
            tasks.push((first, start, middle, depth + 1));
        }
        (Self { nodes, origin }, order)
    }

    /// Visits the slots that may be nearer to `p` than the square root of `best` (m²), nearest boxes first. The
    /// visitor lowers `best` when it finds something nearer.
    pub fn nearest(&self, p: DVec3, best: f64, mut visit: impl FnMut(usize, &mut f64)) {
        let Some(root) = self.nodes.first() else { return };
        let q = (p - self.origin).as_vec3().extend(0.0);
        let mut best = best;
        let mut stack = [(0_u32, 0.0_f32); STACK];
        let mut top = 0;
        let mut node = root;
        if f64::from(root.distance2(q)).partial_cmp(&best) != Some(Ordering::Less) {
            return;
        }
        loop {
            if node.count() > 0 {
                for slot in node.slots() {
                    visit(slot, &mut best);
                }
            } else {
                let (a, b) = (node.first(), node.first() + 1);
                let (da, db) = (self.nodes[a as usize].distance2(q), self.nodes[b as usize].distance2(q));
                let (near, far) = if da <= db { ((a, da), (b, db)) } else { ((b, db), (a, da)) };
                if f64::from(near.1) < best {
                    if f64::from(far.1) < best && top < STACK {
                        stack[top] = far;
                        top += 1;
                    }
                    node = &self.nodes[near.0 as usize];
                    continue;
                }
            }
            loop {
                if top == 0 {
                    return;
                }
                top -= 1;
                if f64::from(stack[top].1) < best {
                    node = &self.nodes[stack[top].0 as usize];
                    break;
                }
            }
        }
    }

    /// Visits the slots whose boxes the segment may meet before `from + best·(to - from)`, nearest boxes first. The
    /// visitor lowers `best` (at most 1) when it finds an earlier hit.
    pub fn segment(&self, from: DVec3, to: DVec3, mut visit: impl FnMut(usize, &mut f64)) {
        if self.nodes.is_empty() {
            return;
        }
        let (o, d) = (from - self.origin, to - from);
        let (o, inverse) = ([o.x, o.y, o.z], [d.x.recip(), d.y.recip(), d.z.recip()]);
        // Hits at exactly 1 count too.
        let mut best = 1.0_f64.next_up();
        let mut stack = [(0_u32, 0.0_f64); STACK];
        let mut top = 0;
        if let Some(t) = self.nodes[0].entry(&o, &inverse) {
            stack[0] = (0, t);
            top = 1;
        }
        while top > 0 {
            top -= 1;
            let (index, t) = stack[top];
            // `<=`: a touching triangle in the next box may share the hit, harmless to look at.
            if t > best {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.count() > 0 {
                for slot in node.slots() {
                    visit(slot, &mut best);
                }
                continue;
            }
            let (a, b) = (node.first(), node.first() + 1);
            let ta = self.nodes[a as usize].entry(&o, &inverse).map(|t| (a, t));
            let tb = self.nodes[b as usize].entry(&o, &inverse).map(|t| (b, t));
            let (near, far) = match (ta, tb) {
                (Some(x), Some(y)) if y.1 < x.1 => (tb, ta),
                _ => (ta, tb),
            };
            for child in [far, near].into_iter().flatten() {
                if child.1 <= best && top < STACK {
                    stack[top] = child;
                    top += 1;
                }
            }
        }
    }

    /// Visits every slot whose box meets the line along x through `(y, z)`.
    pub fn line_along_x(&self, y: f64, z: f64, mut visit: impl FnMut(usize)) {
        if self.nodes.is_empty() {
            return;
        }
        let (y, z) = (y - self.origin.y, z - self.origin.z);
        let mut stack = [0_u32; STACK];
        let mut top = 1;
        while top > 0 {
            top -= 1;
            let node = &self.nodes[stack[top] as usize];
            let meets = |axis: usize, v: f64| {
                f64::from(node.min_first[axis]) <= v && v <= f64::from(node.max_count[axis])
            };
            if !meets(1, y) || !meets(2, z) {
                continue;
            }
            if node.count() > 0 {
                node.slots().for_each(&mut visit);
            } else if top + 2 <= STACK {
                stack[top] = node.first() + 1;
                stack[top + 1] = node.first();
                top += 2;
            }
        }
    }
}

impl Node {
    fn new(min: DVec3, max: DVec3, first: u32, count: u32) -> Self {
        // One step for the rounding of the box, two for that of a point near it.
        let down = |v: f32| v.next_down().next_down().next_down();
        let min = min.as_vec3().map(down);
        let max = max.as_vec3().map(|v| -down(-v));
        Self { min_first: min.extend(f32::from_bits(first)), max_count: max.extend(f32::from_bits(count)) }
    }

    #[inline]
    fn first(&self) -> u32 {
        self.min_first.w.to_bits()
    }

    #[inline]
    fn count(&self) -> u32 {
        self.max_count.w.to_bits()
    }

    /// The slots of a leaf.
    #[inline]
    fn slots(&self) -> std::ops::Range<usize> {
        self.first() as usize..(self.first() + self.count()) as usize
    }

    /// At most the square of the distance of `q` to the box, m².
    #[inline]
    fn distance2(&self, q: Vec4) -> f32 {
        let d = (self.min_first - q).max(q - self.max_count).max(Vec4::ZERO);
        // Beyond the range of f32 any bound will do.
        (SLACK * Vec3A::from_vec4(d).length_squared()).min(f32::MAX)
    }

    /// Where the segment `o + t/inverse`, t in 0..1, enters the box.
    #[inline]
    fn entry(&self, o: &[f64; 3], inverse: &[f64; 3]) -> Option<f64> {
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for axis in 0..3 {
            let a = (f64::from(self.min_first[axis]) - o[axis]) * inverse[axis];
            let b = (f64::from(self.max_count[axis]) - o[axis]) * inverse[axis];
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        (enter <= leave).then_some(enter)
    }
}

/// Reorders `range` into two parts and returns the size of the first (neither is empty).
fn split(boxes: &[Aabb], range: &mut [u32], by_area: bool) -> usize {
    let centers = Aabb::around(range.iter().map(|&i| boxes[i as usize].center()));
    let size = centers.size();
    let axis = (0..3).fold(0, |best, axis| if size[axis] > size[best] { axis } else { best });
    if by_area && size[axis] > 0.0 {
        let scale = BINS as f64 / size[axis];
        let low = centers.min[axis];
        let bin = |i: u32| (((boxes[i as usize].center()[axis] - low) * scale) as usize).min(BINS - 1);
        if let Some(plane) = cheapest_plane(boxes, range, bin) {
            let mut first = 0;
            for i in 0..range.len() {
                if bin(range[i]) <= plane {
                    range.swap(first, i);
                    first += 1;
                }
            }
            if first > 0 && first < range.len() {
                return first;
            }
        }
    }
    let half = range.len() / 2;
    let key = |i: u32| boxes[i as usize].center()[axis];
    range.select_nth_unstable_by(half, |&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
    half
}

/// The last bin of the first part at the least expected cost (surface area × count, both sides).
fn cheapest_plane(boxes: &[Aabb], range: &[u32], bin: impl Fn(u32) -> usize) -> Option<usize> {
    let mut bins = [(Aabb::EMPTY, 0_usize); BINS];
    for &i in range {
        let b = &mut bins[bin(i)];
        *b = (b.0.union(boxes[i as usize]), b.1 + 1);
    }
    let area = |b: &Aabb| {
        let s = b.size();
        s.x * s.y + s.y * s.z + s.z * s.x
    };
    let mut right = [0.0; BINS];
    let mut sum = (Aabb::EMPTY, 0);
    for k in (1..BINS).rev() {
        sum = (sum.0.union(bins[k].0), sum.1 + bins[k].1);
        right[k - 1] = area(&sum.0) * sum.1 as f64;
    }
    let mut best = None;
    let mut sum = (Aabb::EMPTY, 0);
    for (k, right) in right.iter().enumerate().take(BINS - 1) {
        sum = (sum.0.union(bins[k].0), sum.1 + bins[k].1);
        let cost = area(&sum.0) * sum.1 as f64 + right;
        if sum.1 > 0 && sum.1 < range.len() && best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, k));
        }
    }
    best.map(|(_, plane)| plane)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = DVec3> {
        [-1.0..1.0, -1.0..1.0, -1.0..1.0].prop_map(DVec3::from)
    }

    proptest! {
        #[test]
        fn the_nearest_box_is_the_brute_force_one(
            boxes in prop::collection::vec((point(), 0.0..0.3), 1..60), p in point(), shift in -1e6..1e6_f64,
        ) {
            let boxes: Vec<_> = boxes.iter().map(|&(c, r)| Aabb::new(c + shift, c + shift).grow(r)).collect();
            let p = 2.0 * p + shift;
            let distance2 = |b: &Aabb| (b.min - p).max(p - b.max).max(DVec3::ZERO).length_squared();
            let (bvh, order) = Bvh::build(&boxes);
            let mut found = f64::INFINITY;
            bvh.nearest(p, f64::INFINITY, |slot, best| {
                *best = best.min(distance2(&boxes[order[slot] as usize]));
                found = *best;
            });
            let brute = boxes.iter().map(distance2).fold(f64::INFINITY, f64::min);
            prop_assert_eq!(found, brute);
        }
    }

    #[test]
    fn many_equal_boxes_still_make_a_shallow_tree() {
        let boxes = vec![Aabb::new(DVec3::ZERO, DVec3::ONE); 10_000];
        let (bvh, order) = Bvh::build(&boxes);
        let mut seen = 0;
        bvh.line_along_x(0.5, 0.5, |_| seen += 1);
        assert_eq!((seen, order.len()), (10_000, 10_000));
    }

    #[test]
    fn an_empty_tree_visits_nothing() {
        let (bvh, _) = Bvh::build(&[]);
        bvh.nearest(DVec3::ZERO, f64::INFINITY, |_, _| panic!("nothing to visit"));
        bvh.segment(DVec3::ZERO, DVec3::ONE, |_, _| panic!("nothing to visit"));
        bvh.line_along_x(0.0, 0.0, |_| panic!("nothing to visit"));
    }
}
