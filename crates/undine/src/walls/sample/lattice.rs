//! Lattices for bodies made of boxes.

use glam::DVec3;

use super::super::Body;
use super::cells::Cells;
use super::{Region, Sample, layers_across};
use crate::neighbors::Period;
use crate::scene::aabb::Aabb;

/// Samples nearer than this to an earlier one are the same, × spacing.
const SAME: f64 = 0.7;

/// The places of a lattice along one axis.
#[derive(Clone, Copy)]
struct Row {
    first: f64,
    pitch: f64,
    count: i64,
    /// Whether there are faces across the lower and the upper end.
    ends: [bool; 2],
}

impl Row {
    /// `count` places from `first` to `last`; a single one is in the middle.
    fn between(first: f64, last: f64, count: i64) -> Self {
        if count <= 1 {
            return Self { first: 0.5 * (first + last), pitch: 1.0, count: 1, ends: [true; 2] };
        }
        Self { first, pitch: (last - first) / (count - 1) as f64, count, ends: [true; 2] }
    }

    /// Around a period: without ends.
    fn around(d: &Period, a: usize, spacing: f64) -> Self {
        let length = d.max[a] - d.min[a];
        let count = (length / spacing).round().max(1.0);
        let pitch = length / count;
        Self { first: d.min[a] + 0.5 * pitch, pitch, count: count as i64, ends: [false; 2] }
    }

    fn at(&self, i: i64) -> f64 {
        self.first + i as f64 * self.pitch
    }

    /// The indices of places between two coordinates.
    fn range(&self, low: f64, high: f64) -> std::ops::Range<i64> {
        // `as` saturates at infinity.
        let from = ((low - self.first) / self.pitch).ceil() as i64;
        let to = ((high - self.first) / self.pitch).floor() as i64;
        from.max(0)..to.saturating_add(1).min(self.count)
    }

    /// -1 at the lower face, 1 at the upper one, 0 elsewhere and where both are one.
    fn side(&self, i: i64) -> f64 {
        let (low, high) = (self.ends[0] && i == 0, self.ends[1] && i == self.count - 1);
        f64::from(u8::from(high)) - f64::from(u8::from(low))
    }

    fn is_end(&self, i: i64) -> bool {
        self.ends[0] && i == 0 || self.ends[1] && i == self.count - 1
    }
}

/// Visits the places on the faces of a block of the lattice, with the direction out of the block.
fn faces(rows: &[Row; 3], within: &Aabb, mut visit: impl FnMut(DVec3, DVec3)) {
    let ranges = [0, 1, 2].map(|a| rows[a].range(within.min[a], within.max[a]));
    for a in 0..3 {
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        for i in [0, rows[a].count - 1] {
            if !rows[a].is_end(i) || !ranges[a].contains(&i) {
                continue;
            }
            for j in ranges[b].clone() {
                for k in ranges[c].clone() {
                    let mut at = [0; 3];
                    (at[a], at[b], at[c]) = (i, j, k);
                    // Edges belong to the face of the first axis.
                    if (0..a).any(|e| rows[e].is_end(at[e])) {
                        continue;
                    }
                    let place = |f: &dyn Fn(usize) -> f64| DVec3::new(f(0), f(1), f(2));
                    let p = place(&|e| rows[e].at(at[e]));
                    visit(p, place(&|e| rows[e].side(at[e])).normalize_or(DVec3::AXES[a]));
                }
            }
            if rows[a].count == 1 {
                break;
            }
        }
    }
}

/// The axes along which a period joins a box to its image.
fn spans(b: &Aabb, spacing: f64, region: &Region) -> [bool; 3] {
    let slack = 0.01 * spacing;
    [0, 1, 2].map(|a| {
        region
            .period
            .as_ref()
            .is_some_and(|d| d.axes[a] && b.min[a] <= d.min[a] + slack && b.max[a] >= d.max[a] - slack)
    })
}

/// Lattice layers of a solid box.
pub(super) fn solid_box(b: Aabb, spacing: f64, layers: usize, region: &Region) -> Vec<Sample> {
    let joined = spans(&b, spacing, region);
    let across = [0, 1, 2].map(|a| layers_across(b.size()[a], spacing));
    let mut samples = Vec::new();
    for k in 0..layers {
        if (0..3).any(|a| !joined[a] && across[a] <= 2 * k) {
            break;
        }
        let depth = (k as f64 + 0.5) * spacing;
        let rows = [0, 1, 2].map(|a| match &region.period {
            Some(d) if joined[a] => Row::around(d, a, spacing),
            _ => Row::between(b.min[a] + depth, b.max[a] - depth, (across[a] - 2 * k) as i64),
        });
        faces(&rows, &region.bounds(), |position, normal| {
            let depth = (0..3)
                .filter(|a| !joined[*a])
                .map(|a| (position[a] - b.min[a]).min(b.max[a] - position[a]))
                .fold(f64::INFINITY, f64::min);
            samples.push(Sample { position, normal, depth });
        });
    }
    samples
}

/// Depth of layer `k` of a wall with room for `across` layers; that in the middle is midway.
fn layer_depth(k: usize, across: usize, thickness: f64, spacing: f64) -> f64 {
    if across == 2 * k + 1 { 0.5 * thickness } else { (k as f64 + 0.5) * spacing }
}

/// Lattice layers behind the inner faces of a hollow box: the lattice of the fluid goes on through its edges.
pub(super) fn hollow_box(
    b: Aabb,
    thickness: f64,
    spacing: f64,
    layers: usize,
    region: &Region,
) -> Vec<Sample> {
    let joined = spans(&b, spacing, region);
    let across = layers_across(thickness, spacing);
    let mut samples = Vec::new();
    for k in 0..layers.min(across.div_ceil(2)) {
        let depth = layer_depth(k, across, thickness, spacing);
        let rows = [0, 1, 2].map(|a| match &region.period {
            Some(d) if joined[a] => Row::around(d, a, spacing),
            _ => {
                let count = layers_across(b.size()[a], spacing) + 2 * k + 2;
                Row::between(b.min[a] - depth, b.max[a] + depth, count as i64)
            }
        });
        faces(&rows, &region.bounds(), |position, normal| {
            let out = (b.min - position).max(position - b.max);
            let outside =
                DVec3::from([0, 1, 2].map(|a| if joined[a] { 0.0 } else { out[a].max(0.0) })).length();
            let depth = outside.min(thickness - outside);
            // Outside a rounded edge of the shell, or as near to it as its own layer.
            let is_edge = (0..3).filter(|a| !joined[*a] && out[*a] > 0.0).count() > 1;
            if !is_edge || outside < thickness - 0.5 * spacing {
                samples.push(Sample { position, normal: -normal, depth });
            }
        });
    }
    samples
}

/// Lattice layers of a box without lid: behind its inner faces, then behind the outer ones and under its rim.
pub(super) fn cup_box(
    body: &Body,
    hollow: Aabb,
    outer: Aabb,
    spacing: f64,
    layers: usize,
    region: &Region,
) -> Vec<Sample> {
    let joined = spans(&hollow, spacing, region);
    let thickness = hollow.min.y - outer.min.y;
    let across = layers_across(thickness, spacing);
    let top = outer.max.y;
    let mut found = Vec::new();
    let mut collect = |rows: &[Row; 3], outward: f64| {
        faces(rows, &region.bounds(), |p, normal| found.push((p, outward * normal)));
    };
    for k in 0..layers.min(across.div_ceil(2)) {
        let depth = layer_depth(k, across, thickness, spacing);
        let rows = [0, 1, 2].map(|a| match &region.period {
            Some(d) if joined[a] => Row::around(d, a, spacing),
            _ if a == 1 => {
                let count = layers_across(top - hollow.min.y, spacing) + k + 1;
                let mut row = Row::between(hollow.min.y - depth, top - 0.5 * spacing, count as i64);
                row.ends[1] = false;
                row
            }
            _ => {
                let count = layers_across(hollow.size()[a], spacing) + 2 * k + 2;
                Row::between(hollow.min[a] - depth, hollow.max[a] + depth, count as i64)
            }
        });
        collect(&rows, -1.0);
    }
    for k in 0..layers.min(across / 2) {
        let depth = (k as f64 + 0.5) * spacing;
        let rows = [0, 1, 2].map(|a| match &region.period {
            Some(d) if joined[a] => Row::around(d, a, spacing),
            _ => {
                let inner = if a == 1 { top - hollow.min.y } else { hollow.size()[a] };
                let walls = if a == 1 { across } else { 2 * across };
                let count = (layers_across(inner, spacing) + walls).saturating_sub(2 * k);
                Row::between(outer.min[a] + depth, outer.max[a] - depth, count as i64)
            }
        });
        collect(&rows, 1.0);
    }
    let inside = |p: DVec3| {
        // Along a joined axis the ends are no surface: the middle tells the depth.
        let mut q = p;
        for a in (0..3).filter(|a| joined[*a]) {
            q[a] = hollow.center()[a];
        }
        body.nearest_within(q, 0.0).map(|n| -n.distance)
    };
    found.retain(|(p, _)| inside(*p).is_some_and(|depth| depth > 0.25 * spacing.min(thickness)));
    let sample = |&(position, normal): &(DVec3, DVec3)| {
        let depth = inside(position)?;
        Some(Sample { position, normal, depth })
    };
    without_doubles(found.iter().filter_map(sample).collect(), spacing)
}

/// Drops samples that are nearly where an earlier one is.
pub(super) fn without_doubles(samples: Vec<Sample>, spacing: f64) -> Vec<Sample> {
    let points: Vec<DVec3> = samples.iter().map(|s| s.position).collect();
    let cells = Cells::new(&points, spacing);
    let mut kept = vec![true; points.len()];
    for i in 0..points.len() {
        let mut double = false;
        cells.around(points[i], |q, j| double |= j < i && kept[j] && points[i].distance(q) < SAME * spacing);
        kept[i] = !double;
    }
    samples.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(s, _)| s).collect()
}
