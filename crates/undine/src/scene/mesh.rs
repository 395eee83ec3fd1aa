//! Triangle meshes: exact distance, inside, crossing.

use std::fmt;
use std::path::Path;

use glam::{DMat3, DVec3};

use super::aabb::Aabb;
use super::bvh::Bvh;
use super::distance_grid::{DistanceGrid, ROUGH};
use super::mesh_io::{self, MeshError, MeshFault};
use super::mesh_topology::{
    NO_NEIGHBOR, is_closed, is_solid, neighbors, signed_volume, vertex_normals, weld,
};
use super::shape::{Crossing, Nearest};
use super::triangle::{Feature, SegmentTest, area_normal, nearest_point};

/// Most triangles of a mesh.
pub const MAX_TRIANGLES: usize = 50_000_000;
/// Largest coordinate, m: beyond it squares and f32 boxes lose their meaning.
pub const MAX_COORDINATE: f64 = 1e12;

/// A triangle mesh with a bounding-volume tree for distance and inside tests.
///
/// Its lists are for reading: [`TriMesh::new`] welds, reorders and orients them and builds the tree over them.
#[derive(Clone)]
pub struct TriMesh {
    /// Corner positions, m; no two are equal and each is used.
    pub vertices: Vec<DVec3>,
    /// Corner indices, counter-clockwise seen from outside, in the order of the tree.
    pub triangles: Vec<[u32; 3]>,
    bounds: Aabb,
    closed: bool,
    volume: f64,
    bvh: Bvh,
    /// The triangle across each edge (closed meshes only).
    across: Vec<[u32; 3]>,
    /// Angle-weighted pseudonormals (closed meshes only).
    vertex_normals: Vec<DVec3>,
    grid: DistanceGrid,
}

/// The nearest place of a mesh.
#[derive(Clone, Copy)]
struct Hit {
    distance2: f64,
    triangle: usize,
    point: DVec3,
    feature: Feature,
}

/// Factors along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(pub DVec3);

impl From<f64> for Scale {
    fn from(factor: f64) -> Self {
        Self(DVec3::splat(factor))
    }
}

impl From<DVec3> for Scale {
    fn from(factors: DVec3) -> Self {
        Self(factors)
    }
}

impl TriMesh {
    /// Checks the triangles, welds equal corners, drops triangles without area, and builds the tree. A closed mesh
    /// that was inside out is turned.
    pub fn new(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        if triangles.len() > MAX_TRIANGLES {
            return Err(
                MeshFault::TooMany { count: triangles.len() as u64, limit: MAX_TRIANGLES as u64 }.into()
            );
        }
        if let Some(vertex) = vertices.iter().position(|v| !in_range(*v)) {
            return Err(MeshFault::Position { vertex }.into());
        }
        for (triangle, t) in triangles.iter().enumerate() {
            if let Some(&index) = t.iter().find(|&&i| i as usize >= vertices.len()) {
                return Err(
                    MeshFault::Index { triangle, index: index.into(), vertices: vertices.len() }.into()
                );
            }
        }
        let mesh = Self::build(&vertices, &triangles);
        if mesh.triangles.is_empty() { Err(MeshFault::Empty.into()) } else { Ok(mesh) }
    }

    /// Reads an OBJ, PLY or STL file.
    pub fn load(path: &Path) -> Result<Self, MeshError> {
        mesh_io::load(path)
    }

    /// The mesh scaled, then turned about x, y and z in this order (degrees), then moved (m).
    #[must_use]
    pub fn transformed(&self, scale: impl Into<Scale>, rotate_degrees: DVec3, translate: DVec3) -> Self {
        let Scale(scale) = scale.into();
        let linear = rotation(rotate_degrees) * DMat3::from_diagonal(scale);
        let vertices: Vec<DVec3> = self.vertices.iter().map(|v| linear * *v + translate).collect();
        // A mirror image runs clockwise.
        let mirrored = scale.element_product() < 0.0;
        let turn = |&[a, b, c]: &[u32; 3]| if mirrored { [a, c, b] } else { [a, b, c] };
        Self::from_parts(&vertices, self.triangles.iter().map(turn).collect())
    }

    /// A mesh of those triangles whose corners are within range; may be empty.
    pub(super) fn from_parts(vertices: &[DVec3], mut triangles: Vec<[u32; 3]>) -> Self {
        triangles.retain(|t| t.iter().all(|&i| in_range(vertices[i as usize])));
        Self::build(vertices, &triangles)
    }

    /// Whether every edge is shared by exactly two triangles that run along it in opposite directions. Only such a
    /// mesh has an inside.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The smallest box around the mesh; empty without triangles.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Enclosed volume, m³; 0 for an open mesh.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// Surface area, m².
    pub fn area(&self) -> f64 {
        (0..self.triangles.len()).map(|t| 0.5 * area_normal(self.corners(t)).length()).sum()
    }

    /// The corners of a triangle, m.
    ///
    /// # Panics
    /// When there is no such triangle.
    #[inline]
    pub fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|i| self.vertices[i as usize])
    }

    /// Whether `p` is inside; never for an open mesh.
    pub fn contains(&self, p: DVec3) -> bool {
        if !self.closed || !self.bounds.contains(p) {
            return false;
        }
        match self.grid.look_up(p) {
            Some(known) if known.least > 0.0 => known.signed < 0.0,
            _ => self.nearest(p).distance < 0.0,
        }
    }

    /// The signed distance of a closed mesh, the unsigned one of an open mesh (its normal then points to `p`).
    /// Infinite when there is nothing to be near to.
    pub fn nearest(&self, p: DVec3) -> Nearest {
        let most = self.grid.look_up(p).map_or(f64::INFINITY, |known| known.most);
        self.nearest_below(p, most)
    }

    /// Like [`TriMesh::nearest`], but `None` farther than `reach` (m) outside.
    pub fn nearest_within(&self, p: DVec3, reach: f64) -> Option<Nearest> {
        if !self.bounds.grow(reach).contains(p) {
            return None;
        }
        let known = self.grid.look_up(p)?;
        if known.least > reach && known.signed > 0.0 {
            return None;
        }
        // Where the point may be inside, finding nothing within reach is no answer yet.
        let outside = !self.closed || (known.least > 0.0 && known.signed > 0.0);
        let most = if outside { known.most.min(reach * (1.0 + 1e-9)) } else { known.most };
        let nearest = match self.search(p, most * most) {
            Some(hit) => self.signed(p, hit),
            None if outside => return None,
            None => self.nearest_below(p, f64::INFINITY),
        };
        (nearest.distance <= reach).then_some(nearest)
    }

    /// Like [`TriMesh::nearest`], but `None` farther than `reach` (m) from the surface on either side.
    pub fn nearest_in_band(&self, p: DVec3, reach: f64) -> Option<Nearest> {
        if !self.bounds.grow(reach).contains(p) {
            return None;
        }
        let known = self.grid.look_up(p)?;
        if known.least > reach {
            return None;
        }
        let most = known.most.min(reach * (1.0 + 1e-9));
        let nearest = self.signed(p, self.search(p, most * most)?);
        (nearest.distance.abs() <= reach).then_some(nearest)
    }

    /// The first hit of a segment with the surface.
    pub fn crossing(&self, from: DVec3, to: DVec3) -> Option<Crossing> {
        let test = SegmentTest::new(from, to)?;
        let mut first: Option<(f64, usize)> = None;
        self.bvh.segment(from, to, |triangle, best| {
            if let Some(t) = test.hit(self.corners(triangle)).filter(|t| *t < *best) {
                *best = t;
                first = Some((t, triangle));
            }
        });
        first.map(|(t, triangle)| {
            Crossing::facing(t, area_normal(self.corners(triangle)).normalize_or_zero(), to - from)
        })
    }

    /// Visits every triangle whose box meets the line along x through `(y, z)`.
    pub(crate) fn line_along_x(&self, y: f64, z: f64, mut visit: impl FnMut([DVec3; 3])) {
        self.bvh.line_along_x(y, z, |triangle| visit(self.corners(triangle)));
    }

    /// Everything behind the checks of [`TriMesh::new`].
    fn build(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let (vertices, mut triangles) = weld(vertices, triangles);
        let closed = is_closed(&triangles);
        triangles.retain(|t| is_solid(t.map(|i| vertices[i as usize])));
        let mut volume = if closed { signed_volume(&vertices, &triangles) } else { 0.0 };
        if volume < 0.0 {
            triangles.iter_mut().for_each(|t| t.swap(1, 2));
            volume = -volume;
        }

        let boxes: Vec<Aabb> =
            triangles.iter().map(|t| Aabb::around(t.map(|i| vertices[i as usize]))).collect();
        let bounds = boxes.iter().fold(Aabb::EMPTY, |a, b| a.union(*b));
        let (bvh, order) = Bvh::build(&boxes);
        let (vertices, triangles) = reorder(&vertices, &triangles, &order);
        let (across, vertex_normals) = if closed {
            (neighbors(&triangles), vertex_normals(&vertices, &triangles))
        } else {
            (Vec::new(), Vec::new())
        };
        let grid = DistanceGrid::build(Aabb::EMPTY, 0, |_, _| 0.0);
        let mut mesh =
            Self { vertices, triangles, bounds, closed, volume, bvh, across, vertex_normals, grid };
        let cells = (4 * mesh.triangles.len()).clamp(512, 32_768);
        mesh.grid = DistanceGrid::build(bounds, cells, |p, neighbor| mesh.rough_distance(p, neighbor));
        mesh
    }

    /// The nearest place, searched first only up to the known bound `most` (m).
    fn nearest_below(&self, p: DVec3, most: f64) -> Nearest {
        match self.search(p, most * most * (1.0 + 1e-12)).or_else(|| self.search(p, f64::INFINITY)) {
            Some(hit) => self.signed(p, hit),
            None => Nearest { distance: f64::INFINITY, normal: DVec3::Y },
        }
    }

    /// The nearest place that is nearer than the square root of `limit2`, m².
    ///
    /// Tried and lost: a grid of cells, each with the triangles that can be nearest to a place in it, sorted by their distance from
    /// its middle. In a bottle that is poured out all searches took a tenth less: as many triangles are looked at.
    fn search(&self, p: DVec3, limit2: f64) -> Option<Hit> {
        let mut found = None;
        self.bvh.nearest(p, limit2, |triangle, best| {
            let (point, feature) = nearest_point(p, self.corners(triangle));
            let distance2 = p.distance_squared(point);
            if distance2 < *best {
                *best = distance2;
                found = Some(Hit { distance2, triangle, point, feature });
            }
        });
        found
    }

    /// A signed distance for the grid: exact near the surface, elsewhere up to 1 / [`ROUGH`] too great, with the sign
    /// of the neighbour (its value and the way to it, m) from which no surface parts it.
    fn rough_distance(&self, p: DVec3, neighbor: Option<(f64, f64)>) -> f64 {
        let Some((value, way)) = neighbor.filter(|(value, way)| ROUGH * value.abs() > 1.001 * way) else {
            let most = neighbor.map_or(f64::INFINITY, |(value, way)| 1.001 * (value.abs() + way));
            return self.nearest_below(p, most).distance;
        };
        let most = 1.001 * (value.abs() + way);
        let mut found = most;
        self.bvh.nearest(p, most * most, |triangle, best| {
            let distance2 = p.distance_squared(nearest_point(p, self.corners(triangle)).0);
            // Only what is nearer by more than the roughness is worth a look.
            if ROUGH * ROUGH * distance2 < *best {
                *best = ROUGH * ROUGH * distance2;
                found = distance2.sqrt();
            }
        });
        found.copysign(value)
    }

    /// Sign and normal from the pseudonormal at the nearest place.
    fn signed(&self, p: DVec3, hit: Hit) -> Nearest {
        let pseudonormal = self.pseudonormal(&hit);
        let away = p - hit.point;
        let distance = hit.distance2.sqrt();
        let inside = self.closed && away.dot(pseudonormal) < 0.0;
        // So near that rounding decides the direction, the surface's own normal is better.
        let resolution = 1e-10 * (hit.point.abs().max_element() + self.bounds.size().max_element());
        let outward = if inside { -away } else { away };
        let normal = if distance > resolution {
            outward / distance
        } else {
            let n = pseudonormal.normalize_or(DVec3::Y);
            if self.closed || n.dot(away) >= 0.0 { n } else { -n }
        };
        Nearest { distance: if inside { -distance } else { distance }, normal }
    }

    fn pseudonormal(&self, hit: &Hit) -> DVec3 {
        let face = |t: usize| area_normal(self.corners(t)).normalize_or_zero();
        match hit.feature {
            Feature::Vertex(k) if self.closed => {
                self.vertex_normals[self.triangles[hit.triangle][k] as usize]
            }
            Feature::Edge(k) if self.closed => match self.across[hit.triangle][k] {
                NO_NEIGHBOR => face(hit.triangle),
                other => face(hit.triangle) + face(other as usize),
            },
            _ => face(hit.triangle),
        }
    }
}

/// Meshes are equal when their triangles are; the rest follows from them.
impl PartialEq for TriMesh {
    fn eq(&self, other: &Self) -> bool {
        self.vertices == other.vertices && self.triangles == other.triangles
    }
}

impl fmt::Debug for TriMesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TriMesh")
            .field("vertices", &self.vertices.len())
            .field("triangles", &self.triangles.len())
            .field("closed", &self.closed)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

fn in_range(v: DVec3) -> bool {
    // False for things that are not numbers as well.
    v.abs().cmple(DVec3::splat(MAX_COORDINATE)).all()
}

/// Triangles in the order of the tree, corners in the order of their first use: neighbours in space are then
/// neighbours in memory.
fn reorder(vertices: &[DVec3], triangles: &[[u32; 3]], order: &[u32]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    const UNSEEN: u32 = u32::MAX;
    let mut renumbered = vec![UNSEEN; vertices.len()];
    let mut used = Vec::with_capacity(vertices.len());
    let triangles = order
        .iter()
        .map(|&t| {
            triangles[t as usize].map(|i| {
                let new = &mut renumbered[i as usize];
                if *new == UNSEEN {
                    *new = used.len() as u32;
                    used.push(vertices[i as usize]);
                }
                *new
            })
        })
        .collect();
    (used, triangles)
}

/// Rotation about x, then y, then z; quarter turns are exact.
fn rotation(degrees: DVec3) -> DMat3 {
    let sin_cos = |angle: f64| match angle.rem_euclid(360.0) {
        0.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        other => other.to_radians().sin_cos(),
    };
    let [(sx, cx), (sy, cy), (sz, cz)] = degrees.to_array().map(sin_cos);
    let x = DMat3::from_cols_array(&[1.0, 0.0, 0.0, 0.0, cx, sx, 0.0, -sx, cx]);
    let y = DMat3::from_cols_array(&[cy, 0.0, -sy, 0.0, 1.0, 0.0, sy, 0.0, cy]);
    let z = DMat3::from_cols_array(&[cz, sz, 0.0, -sz, cz, 0.0, 0.0, 0.0, 1.0]);
    z * y * x
}

#[cfg(test)]
mod tests;
