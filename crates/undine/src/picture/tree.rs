//! A four-wide bounding-volume tree for rays: binned surface-area heuristic, then every other level is folded away.
//!
//! It knows only boxes. A leaf is one packet of up to four things, so that boxes and things are both tested four at
//! once. (The tree of `scene::bvh` answers nearest-point queries in f64; rays want the opposite trade.)

use std::ops::ControlFlow;

use glam::{Vec3, Vec4};

use super::ray::Ray;

/// Things in a packet.
pub const WIDTH: usize = 4;
/// Marks an empty lane of a packet.
pub const EMPTY: u32 = u32::MAX;
/// Marks a child as a packet.
const LEAF: u32 = 1 << 31;
const BINS: usize = 16;
/// From here on ranges are halved, which bounds the depth for any input.
const SAH_DEPTH: usize = 24;
/// Deepest stack: three waiting children a level, 24 levels by area and 31 by halving.
const STACK: usize = 3 * (SAH_DEPTH + 31) + 1;

/// A box in f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lowest corner.
    pub min: Vec3,
    /// Highest corner.
    pub max: Vec3,
}

impl Bounds {
    /// Contains nothing.
    pub const EMPTY: Self = Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    /// The smallest box around points.
    pub fn around(points: impl IntoIterator<Item = Vec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, |b, p| Self { min: b.min.min(p), max: b.max.max(p) })
    }

    /// The smallest box around both.
    #[must_use]
    pub fn union(self, o: Self) -> Self {
        Self { min: self.min.min(o.min), max: self.max.max(o.max) }
    }

    /// Whether all corners are numbers and none exceeds its partner.
    pub fn is_sound(&self) -> bool {
        self.min.is_finite() && self.max.is_finite() && self.min.cmple(self.max).all()
    }

    /// Edge lengths; zero when empty.
    pub fn size(&self) -> Vec3 {
        (self.max - self.min).max(Vec3::ZERO)
    }

    /// Where a ray is inside, as a range of distances.
    pub fn span(&self, ray: &Ray) -> Option<(f32, f32)> {
        let inverse = inverse(ray.direction);
        let (a, b) = ((self.min - ray.origin) * inverse, (self.max - ray.origin) * inverse);
        let (near, far) = (a.min(b).max_element().max(ray.nearest), a.max(b).min_element().min(ray.farthest));
        (near < far).then_some((near, far))
    }

    /// Half the surface.
    fn area(&self) -> f32 {
        let s = self.size();
        s.x * s.y + s.y * s.z + s.z * s.x
    }
}

/// Four boxes and what they hold.
#[derive(Clone, Debug)]
struct Node {
    min: [Vec4; 3],
    max: [Vec4; 3],
    child: [u32; 4],
    /// One bit for each child that is there: an empty box would look endless to the slab test.
    there: u32,
}

/// The tree: boxes over packets.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// The things of each packet.
    packets: Vec<[u32; WIDTH]>,
}

struct Item {
    bounds: Bounds,
    center: Vec3,
    index: u32,
}

enum Branch {
    Leaf(Bounds, [u32; WIDTH]),
    Fork(Bounds, Box<[Branch; 2]>),
}

impl Branch {
    fn bounds(&self) -> Bounds {
        match self {
            Branch::Leaf(b, _) | Branch::Fork(b, _) => *b,
        }
    }
}

impl Tree {
    /// Builds the tree; things whose box is not sound are left out.
    pub fn new(bounds: &[Bounds]) -> Self {
        let mut items: Vec<Item> = bounds
            .iter()
            .enumerate()
            .filter(|(_, b)| b.is_sound())
            .map(|(i, b)| Item { bounds: *b, center: 0.5 * b.min + 0.5 * b.max, index: i as u32 })
            .collect();
        let mut tree = Self::default();
        if !items.is_empty() {
            tree.fold(&split(&mut items, 0));
        }
        tree
    }

    /// The things of each packet, in the order in which packets are numbered.
    pub fn packets(&self) -> &[[u32; WIDTH]] {
        &self.packets
    }

    /// Appends `branch` as one node of up to four children, and gives its number.
    fn fold(&mut self, branch: &Branch) -> u32 {
        let mut open: Vec<&Branch> = match branch {
            Branch::Leaf(..) => vec![branch],
            Branch::Fork(_, two) => two.iter().collect(),
        };
        // The largest box is the most often entered: open it first.
        while open.len() < 4 {
            let forks = open.iter().enumerate().filter(|(_, b)| matches!(b, Branch::Fork(..)));
            let largest = forks.max_by(|a, b| a.1.bounds().area().total_cmp(&b.1.bounds().area()));
            let Some((at, Branch::Fork(_, two))) = largest else { break };
            open.swap_remove(at);
            open.extend(two.iter());
        }
        let at = self.nodes.len();
        let (min, max) = ([Vec4::ZERO; 3], [Vec4::ZERO; 3]);
        self.nodes.push(Node { min, max, child: [LEAF; 4], there: 0 });
        for (lane, part) in open.into_iter().enumerate() {
            let child = match part {
                Branch::Leaf(_, packet) => {
                    self.packets.push(*packet);
                    LEAF | (self.packets.len() - 1) as u32
                }
                Branch::Fork(..) => self.fold(part),
            };
            let b = part.bounds();
            let node = &mut self.nodes[at];
            node.there |= 1 << lane;
            node.child[lane] = child;
            for axis in 0..3 {
                node.min[axis][lane] = b.min[axis];
                node.max[axis][lane] = b.max[axis];
            }
        }
        at as u32
    }

    /// Calls `visit` with the packets whose boxes the ray enters, near ones first, until it breaks. `visit` may
    /// shorten the ray.
    #[inline]
    pub fn walk(&self, ray: &mut Ray, mut visit: impl FnMut(usize, &mut Ray) -> ControlFlow<()>) {
        if self.nodes.is_empty() {
            return;
        }
        let inverse = inverse(ray.direction);
        let [ox, oy, oz] = ray.origin.to_array().map(Vec4::splat);
        let [ix, iy, iz] = inverse.to_array().map(Vec4::splat);
        let near_limit = Vec4::splat(ray.nearest);
        let mut stack = [(0u32, 0f32); STACK];
        let mut top = 1;
        stack[0] = (0, ray.nearest);
        while top > 0 {
            top -= 1;
            let (at, entry) = stack[top];
            if entry > ray.farthest {
                continue;
            }
            if at & LEAF != 0 {
                if visit((at & !LEAF) as usize, ray).is_break() {
                    return;
                }
                continue;
            }
            let node = &self.nodes[at as usize];
            let (ax, bx) = ((node.min[0] - ox) * ix, (node.max[0] - ox) * ix);
            let (ay, by) = ((node.min[1] - oy) * iy, (node.max[1] - oy) * iy);
            let (az, bz) = ((node.min[2] - oz) * iz, (node.max[2] - oz) * iz);
            let near = ax.min(bx).max(ay.min(by)).max(az.min(bz).max(near_limit));
            let far = ax.max(bx).min(ay.max(by)).min(az.max(bz)).min(Vec4::splat(ray.farthest));
            // Room for the rounding of the slabs (Ize 2013).
            let mut hits = near.cmple(far * 1.000_000_5).bitmask() & node.there;
            let near = near.to_array();
            let first = top;
            while hits != 0 {
                let lane = hits.trailing_zeros() as usize;
                hits &= hits - 1;
                // Insertion keeps the nearest on top.
                let mut slot = top;
                while slot > first && stack[slot - 1].1 < near[lane] {
                    stack[slot] = stack[slot - 1];
                    slot -= 1;
                }
                stack[slot] = (node.child[lane], near[lane]);
                top += 1;
            }
        }
    }
}

/// 1/direction without infinities, so that 0 × ∞ cannot arise.
#[inline]
fn inverse(direction: Vec3) -> Vec3 {
    direction.map(|d| if d.abs() > 1e-18 { 1.0 / d } else { 1e18f32.copysign(d) })
}

fn split(items: &mut [Item], depth: usize) -> Branch {
    let all = items.iter().fold(Bounds::EMPTY, |b, i| b.union(i.bounds));
    if items.len() <= WIDTH {
        let mut packet = [EMPTY; WIDTH];
        items.iter().zip(&mut packet).for_each(|(item, lane)| *lane = item.index);
        return Branch::Leaf(all, packet);
    }
    let at = if depth < SAH_DEPTH { best_split(items) } else { None };
    let at = at.unwrap_or_else(|| {
        let axis = widest(Bounds::around(items.iter().map(|i| i.center)).size());
        let middle = items.len() / 2;
        items.select_nth_unstable_by(middle, |a, b| {
            a.center[axis].total_cmp(&b.center[axis]).then(a.index.cmp(&b.index))
        });
        middle
    });
    let (left, right) = items.split_at_mut(at);
    let two = if left.len() + right.len() > 8192 {
        rayon::join(|| split(left, depth + 1), || split(right, depth + 1))
    } else {
        (split(left, depth + 1), split(right, depth + 1))
    };
    Branch::Fork(all, Box::new([two.0, two.1]))
}

fn widest(size: Vec3) -> usize {
    if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    }
}

/// Parts the items where boxes × counts are least and gives the length of the first part; `None` when all centres
/// fall together.
fn best_split(items: &mut [Item]) -> Option<usize> {
    let centers = Bounds::around(items.iter().map(|i| i.center));
    let axis = widest(centers.size());
    let width = centers.size()[axis];
    let scale = BINS as f32 / width;
    if !(width > 0.0 && scale.is_finite()) {
        return None;
    }
    let bin = |item: &Item| (((item.center[axis] - centers.min[axis]) * scale) as usize).min(BINS - 1);
    let mut bins = [(0usize, Bounds::EMPTY); BINS];
    for item in items.iter() {
        let b = &mut bins[bin(item)];
        b.0 += 1;
        b.1 = b.1.union(item.bounds);
    }
    let mut right = [0f32; BINS];
    let (mut count, mut bounds) = (0, Bounds::EMPTY);
    for i in (1..BINS).rev() {
        count += bins[i].0;
        bounds = bounds.union(bins[i].1);
        right[i] = packets(count) * bounds.area();
    }
    let (mut count, mut bounds) = (0, Bounds::EMPTY);
    let mut best: Option<(f32, usize)> = None;
    for i in 1..BINS {
        count += bins[i - 1].0;
        bounds = bounds.union(bins[i - 1].1);
        let cost = packets(count) * bounds.area() + right[i];
        if count > 0 && count < items.len() && best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, i));
        }
    }
    let (_, limit) = best?;
    // A stable order would cost memory; an unstable one is fine as it follows from the input alone.
    let mut at = 0;
    for i in 0..items.len() {
        if bin(&items[i]) < limit {
            items.swap(i, at);
            at += 1;
        }
    }
    Some(at)
}

/// Cost of testing `count` things: whole packets.
fn packets(count: usize) -> f32 {
    count.div_ceil(WIDTH) as f32
}
