//! Where a surface ends: mirror images of samples beyond the rim keep those near it at their distance.

use std::collections::HashMap;

use glam::DVec3;

use crate::neighbors::Period;
use crate::scene::aabb::Aabb;
use crate::scene::bvh::Bvh;
use crate::scene::mesh::TriMesh;
use crate::scene::shape::Shape;

/// Way from the rim to a mirror image, × that to the rim. Farther images draw samples nearer to the rim, so that its
/// corners are not bare.
const BEYOND: f64 = 2.0;

/// The rim of a surface.
pub(super) enum Rim {
    /// The surface has no end.
    None,
    /// Vertical planes around ground; those at infinity are none.
    Rectangle { min: [f64; 2], max: [f64; 2] },
    /// The circle of a disc.
    Circle { center: DVec3, normal: DVec3, radius: f64 },
    /// Edges of a mesh that belong to one triangle.
    Edges { tree: Bvh, edges: Vec<[DVec3; 2]> },
}

impl Rim {
    /// The rim of ground or of a sheet, without what a period joins.
    pub fn new(shape: &Shape, period: Option<&Period>, spacing: f64) -> Self {
        let spans = |a: usize| period.is_some_and(|d| d.axes[a]);
        match shape {
            Shape::Heightfield(field) => {
                let b = field.bounds();
                let end = |a: usize, v: f64, none: f64| if spans(a) { none } else { v };
                let low = [0, 2].map(|a| end(a, b.min[a], f64::NEG_INFINITY));
                let high = [0, 2].map(|a| end(a, b.max[a], f64::INFINITY));
                Self::Rectangle { min: low, max: high }
            }
            Shape::Disc { center, normal, radius } => {
                Self::Circle { center: *center, normal: *normal, radius: *radius }
            }
            Shape::Mesh(mesh) => {
                let joined = |e: &[DVec3; 2]| {
                    period.is_some_and(|d| {
                        let near = |a: usize, v: f64| e.iter().all(|p| (p[a] - v).abs() < 0.01 * spacing);
                        (0..3).any(|a| d.axes[a] && (near(a, d.min[a]) || near(a, d.max[a])))
                    })
                };
                let edges: Vec<[DVec3; 2]> = open_edges(mesh).into_iter().filter(|e| !joined(e)).collect();
                if edges.is_empty() {
                    return Self::None;
                }
                let boxes: Vec<Aabb> = edges.iter().map(|e| Aabb::around(*e)).collect();
                let (tree, order) = Bvh::build(&boxes);
                Self::Edges { tree, edges: order.iter().map(|i| edges[*i as usize]).collect() }
            }
            _ => Self::None,
        }
    }

    /// Brings a place back that left the surface sideways.
    pub fn clamp(&self, mut p: DVec3) -> DVec3 {
        if let Self::Rectangle { min, max } = self {
            p.x = p.x.clamp(min[0], max[0]);
            p.z = p.z.clamp(min[1], max[1]);
        }
        p
    }

    /// Whether a place is beside the ground.
    pub fn is_beyond(&self, p: DVec3) -> bool {
        matches!(self, Self::Rectangle { .. }) && self.is_at(p, 0.0)
    }

    /// Whether a place is on the rim itself or beyond, within `tolerance` (m).
    pub fn is_at(&self, p: DVec3, tolerance: f64) -> bool {
        match self {
            Self::None => false,
            Self::Rectangle { min, max } => !(min[0] <= p.x && p.x < max[0] && min[1] <= p.z && p.z < max[1]),
            Self::Circle { center, radius, .. } => p.distance(*center) > radius - tolerance,
            Self::Edges { .. } => {
                let mut near = false;
                self.feet(p, tolerance, |foot, _| near |= foot.distance(p) <= tolerance);
                near
            }
        }
    }

    /// Whether a place of the surface is nearer than `reach` (m) to the rim.
    pub fn is_near(&self, p: DVec3, reach: f64) -> bool {
        let mut near = false;
        self.mirror(p, DVec3::Y, reach, |_| near = true);
        near
    }

    /// Visits the images beyond the rim of a place nearer than `reach` (m) to it, on a surface with this normal.
    pub fn mirror(&self, p: DVec3, normal: DVec3, reach: f64, mut visit: impl FnMut(DVec3)) {
        match self {
            Self::None => {}
            Self::Rectangle { min, max } => {
                let images = |v: f64, low: f64, high: f64| {
                    let (a, b) = (v - low < reach, high - v < reach);
                    [Some(v), a.then_some(low - BEYOND * (v - low)), b.then_some(high + BEYOND * (high - v))]
                };
                let (x, z) = (images(p.x, min[0], max[0]), images(p.z, min[1], max[1]));
                let pairs = (1..9).filter_map(|k| Some((x[k % 3]?, z[k / 3]?)));
                // Straight on along the slope.
                let slope =
                    |x: f64, z: f64| (normal.x * (p.x - x) + normal.z * (p.z - z)) / normal.y.max(0.1);
                pairs.for_each(|(x, z)| visit(DVec3::new(x, p.y + slope(x, z), z)));
            }
            Self::Circle { center, normal, radius } => {
                let q = p - *center;
                let radial = q - q.dot(*normal) * *normal;
                let r = radial.length();
                if r > 0.0 && radius - r < reach {
                    visit(p + radial * ((1.0 + BEYOND) * (radius - r) / r));
                }
            }
            Self::Edges { .. } => {
                let mut corner: Option<DVec3> = None;
                // One way across each edge; across two of them leads beyond their corner.
                let (mut ways, mut sum) = (0, DVec3::ZERO);
                self.feet(p, reach, |foot, interior| {
                    let way = (1.0 + BEYOND) * (foot - p);
                    if interior {
                        (ways, sum) = (ways + 1, sum + way);
                        visit(p + way);
                    } else if corner.is_none_or(|c| way.length() < c.length()) {
                        corner = Some(way);
                    }
                });
                match corner.filter(|_| ways == 0) {
                    Some(way) => visit(p + way),
                    None if ways == 2 => visit(p + sum),
                    None => {}
                }
            }
        }
    }

    /// Visits the nearest points of the edges within `reach`, and whether they lie between the ends.
    fn feet(&self, p: DVec3, reach: f64, mut visit: impl FnMut(DVec3, bool)) {
        let Self::Edges { tree, edges } = self else { return };
        tree.nearest(p, reach * reach * (1.0 + 1e-9) + f64::MIN_POSITIVE, |slot, _| {
            let [a, b] = edges[slot];
            let t = (p - a).dot(b - a) / (b - a).length_squared();
            let foot = a + (b - a) * t.clamp(0.0, 1.0);
            if foot.distance_squared(p) <= reach * reach {
                visit(foot, t > 0.0 && t <= 1.0);
            }
        });
    }
}

/// The edges that belong to one triangle, in the order of the triangles.
fn open_edges(mesh: &TriMesh) -> Vec<[DVec3; 2]> {
    let mut uses: HashMap<(u32, u32), u32> = HashMap::new();
    let sides = |t: &[u32; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])].map(|(a, b)| (a.min(b), a.max(b)));
    for edge in mesh.triangles.iter().flat_map(sides) {
        *uses.entry(edge).or_default() += 1;
    }
    mesh.triangles
        .iter()
        .flat_map(sides)
        .filter(|e| uses.get(e) == Some(&1))
        .map(|(a, b)| [a, b].map(|i| mesh.vertices[i as usize]))
        .collect()
}
