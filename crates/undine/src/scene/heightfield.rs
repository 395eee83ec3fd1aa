//! Terrain over a rectangle of the xz plane; solid below, no wall around.

use std::fmt;
use std::path::Path;

use glam::DVec3;

use super::aabb::Aabb;
use super::bvh::Bvh;
use super::mesh::MAX_COORDINATE;
use super::mesh_io::text::{number, words, wrong};
use super::mesh_io::{MeshError, MeshFault, read_file};
use super::shape::{Crossing, Nearest};
use super::triangle::{SegmentTest, area_normal, nearest_point};

/// Most samples of a heightfield.
pub const MAX_SAMPLES: usize = 50_000_000;

/// Heights over a regular grid of the xz plane. Each cell is two triangles, split from its corner with the smallest
/// x and z to the one with the greatest; height and distance both speak of these.
#[derive(Clone)]
pub struct Heightfield {
    /// Corner with the smallest x and z; its y is added to all heights, m.
    pub origin: DVec3,
    /// Extent along x and z, m.
    pub size: [f64; 2],
    /// Number of samples along x and z, each at least 2.
    pub samples: [usize; 2],
    /// Heights, m; x runs fastest.
    pub heights: Vec<f64>,
    bounds: Aabb,
    /// The least that a place above the ground is away from it, per height above it: of the steepest triangle.
    least: f64,
    bvh: Bvh,
    /// Cells in the order of the tree.
    cells: Vec<u32>,
}

impl Heightfield {
    /// Checks the numbers and builds the tree over the cells.
    pub fn new(
        origin: DVec3,
        size: [f64; 2],
        samples: [usize; 2],
        heights: Vec<f64>,
    ) -> Result<Self, MeshError> {
        let wrong = |expected, found: String| Err(MeshFault::Heights { expected, found }.into());
        if heights.len() > MAX_SAMPLES {
            return Err(MeshFault::TooMany { count: heights.len() as u64, limit: MAX_SAMPLES as u64 }.into());
        }
        let [nx, nz] = samples;
        if nx < 2 || nz < 2 {
            return wrong("at least 2 x 2 samples", format!("{nx} x {nz}"));
        }
        if nx.checked_mul(nz) != Some(heights.len()) {
            return wrong("as many heights as samples", format!("{} for {nx} x {nz}", heights.len()));
        }
        if !size.iter().all(|s| *s > 0.0 && *s <= MAX_COORDINATE) {
            return wrong("a positive size up to 1e12 m", format!("{size:?}"));
        }
        let finite = |v: f64| v.abs() <= MAX_COORDINATE;
        if !origin.to_array().iter().chain(&heights).all(|v| finite(*v)) {
            return wrong("finite heights and origin up to 1e12 m", "others".to_owned());
        }
        let (low, high) = heights
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), h| (low.min(*h), high.max(*h)));
        let corner = DVec3::new(size[0], 0.0, size[1]);
        let bounds = Aabb::new(origin + low * DVec3::Y, origin + corner + high * DVec3::Y);
        let (bvh, _) = Bvh::build(&[]);
        let mut field = Self { origin, size, samples, heights, bounds, least: 1.0, bvh, cells: Vec::new() };
        let cells = (0..(nx - 1) * (nz - 1)).map(|cell| field.cell_triangles(cell));
        let up = |triangle| area_normal(triangle).try_normalize().map_or(0.0, |n| n.y);
        let least = cells.clone().flatten().map(up).fold(1.0, f64::min);
        let boxes: Vec<Aabb> = cells.map(|two| Aabb::around(two.into_iter().flatten())).collect();
        // Room for rounding.
        field.least = 0.999 * least;
        (field.bvh, field.cells) = Bvh::build(&boxes);
        Ok(field)
    }

    /// The heightfield at another place; where it is when that is out of range.
    #[must_use]
    pub fn moved(&self, offset: DVec3) -> Self {
        let origin = self.origin + offset;
        Self::new(origin, self.size, self.samples, self.heights.clone()).unwrap_or_else(|_| self.clone())
    }

    /// Reads heights (m) from rows of numbers separated by spaces, commas or semicolons, or from an ESRI `.asc` grid.
    /// A row runs along x; the first row has the smallest z (in an `.asc` grid: north is -z). The extent is `size`,
    /// whatever the cell size in the file. Samples without data take the lowest height.
    pub fn load(path: &Path, origin: DVec3, size: [f64; 2]) -> Result<Self, MeshError> {
        Self::read(path, &read_file(path)?, origin, size)
    }

    /// Like [`Heightfield::load`] from the bytes of a file; `path` is its name in errors.
    pub fn read(path: &Path, bytes: &[u8], origin: DVec3, size: [f64; 2]) -> Result<Self, MeshError> {
        let (samples, heights) = read_rows(path, bytes)?;
        Self::new(origin, size, samples, heights).map_err(|error| error.in_file(path))
    }

    /// The smallest box around the surface (not around the ground below it).
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// The surface's y over `(x, z)`, m; beyond the rectangle that of its nearest border.
    pub fn height(&self, x: f64, z: f64) -> f64 {
        let (i, fx) = self.cell_of(x - self.origin.x, 0);
        let (j, fz) = self.cell_of(z - self.origin.z, 1);
        let at = |i: usize, j: usize| self.heights[j * self.samples[0] + i];
        let (h00, h11) = (at(i, j), at(i + 1, j + 1));
        let h = if fx >= fz {
            let h10 = at(i + 1, j);
            h00 + (h10 - h00) * fx + (h11 - h10) * fz
        } else {
            let h01 = at(i, j + 1);
            h00 + (h01 - h00) * fz + (h11 - h01) * fx
        };
        self.origin.y + h
    }

    /// Whether `(x, z)` is in the rectangle.
    pub fn covers(&self, x: f64, z: f64) -> bool {
        let (x, z) = (x - self.origin.x, z - self.origin.z);
        (0.0..=self.size[0]).contains(&x) && (0.0..=self.size[1]).contains(&z)
    }

    /// Whether `p` is below the surface.
    pub fn contains(&self, p: DVec3) -> bool {
        self.covers(p.x, p.z) && p.y < self.height(p.x, p.z)
    }

    /// Signed distance to the surface; beside the rectangle the distance to its rim, never negative.
    pub fn nearest(&self, p: DVec3) -> Nearest {
        let far = Nearest { distance: f64::INFINITY, normal: DVec3::Y };
        // The point straight below or above bounds the search.
        let limit = if self.covers(p.x, p.z) { (p.y - self.height(p.x, p.z)).abs() } else { f64::INFINITY };
        self.nearest_below(p, limit).unwrap_or(far)
    }

    /// Like [`Heightfield::nearest`], but `None` farther than `reach` (m) outside.
    pub fn nearest_within(&self, p: DVec3, reach: f64) -> Option<Nearest> {
        let ground = if self.covers(p.x, p.z) {
            p.y - self.height(p.x, p.z)
        } else if self.bounds.grow(reach).contains(p) {
            f64::INFINITY
        } else {
            return None;
        };
        if p.y > self.bounds.max.y + reach || self.least * ground > reach && ground < f64::INFINITY {
            return None;
        }
        let limit = if ground < 0.0 { -ground } else { ground.min(reach) };
        self.nearest_below(p, limit).filter(|n| n.distance <= reach)
    }

    /// How far it is at least to the surface, m, up to `reach`; not above 0 below it. Quicker than the nearest place, and up to as many
    /// times less as the steepest slope is longer than it is high.
    pub fn clearance(&self, p: DVec3, reach: f64) -> f64 {
        if self.covers(p.x, p.z) {
            let ground = p.y - self.height(p.x, p.z);
            return (self.least * ground).min(reach);
        }
        self.nearest_within(p, reach).map_or(reach, |n| n.distance)
    }

    /// The first hit of a segment with the surface.
    pub fn crossing(&self, from: DVec3, to: DVec3) -> Option<Crossing> {
        let test = SegmentTest::new(from, to)?;
        let mut first: Option<(f64, DVec3)> = None;
        self.bvh.segment(from, to, |slot, best| {
            for triangle in self.cell_triangles(self.cells[slot] as usize) {
                if let Some(t) = test.hit(triangle).filter(|t| *t < *best) {
                    *best = t;
                    first = Some((t, area_normal(triangle).normalize_or(DVec3::Y)));
                }
            }
        });
        first.map(|(t, normal)| Crossing::facing(t, normal, to - from))
    }

    /// The nearest place not farther than `limit` (m).
    fn nearest_below(&self, p: DVec3, limit: f64) -> Option<Nearest> {
        // The bound may be the answer itself (level ground): room for rounding.
        let room = 1e-12 * (p.abs().max_element() + self.bounds.size().max_element());
        let limit = limit * (1.0 + 1e-9) + room;
        let mut found: Option<(f64, DVec3, [DVec3; 3])> = None;
        self.bvh.nearest(p, limit * limit, |slot, best| {
            for triangle in self.cell_triangles(self.cells[slot] as usize) {
                let (point, _) = nearest_point(p, triangle);
                let distance2 = p.distance_squared(point);
                if distance2 < *best {
                    *best = distance2;
                    found = Some((distance2, point, triangle));
                }
            }
        });
        let (distance2, point, triangle) = found?;
        let below = self.contains(p);
        let distance = distance2.sqrt();
        let away = if below { point - p } else { p - point };
        let normal = if distance > 100.0 * room {
            away / distance
        } else {
            area_normal(triangle).normalize_or(DVec3::Y)
        };
        Some(Nearest { distance: if below { -distance } else { distance }, normal })
    }

    /// Cell and the share of it (0..1) at `offset` m along x (`axis` 0) or z (1).
    fn cell_of(&self, offset: f64, axis: usize) -> (usize, f64) {
        let cells = self.samples[axis] - 1;
        let at = (offset / self.size[axis] * cells as f64).clamp(0.0, cells as f64);
        let cell = (at as usize).min(cells - 1);
        (cell, at - cell as f64)
    }

    fn sample(&self, i: usize, j: usize) -> DVec3 {
        // Multiplied before it is divided: the last sample lies exactly at the end.
        let along = |i: usize, axis: usize| self.size[axis] * i as f64 / (self.samples[axis] - 1) as f64;
        self.origin + DVec3::new(along(i, 0), self.heights[j * self.samples[0] + i], along(j, 1))
    }

    /// The two triangles of a cell, normals up.
    pub(crate) fn cell_triangles(&self, cell: usize) -> [[DVec3; 3]; 2] {
        let (i, j) = (cell % (self.samples[0] - 1), cell / (self.samples[0] - 1));
        let (p00, p10) = (self.sample(i, j), self.sample(i + 1, j));
        let (p01, p11) = (self.sample(i, j + 1), self.sample(i + 1, j + 1));
        [[p00, p11, p10], [p00, p01, p11]]
    }
}

/// Heightfields are equal when their numbers are; the tree follows from them.
impl PartialEq for Heightfield {
    fn eq(&self, other: &Self) -> bool {
        (self.origin, self.size, self.samples) == (other.origin, other.size, other.samples)
            && self.heights == other.heights
    }
}

impl fmt::Debug for Heightfield {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heightfield")
            .field("origin", &self.origin)
            .field("size", &self.size)
            .field("samples", &self.samples)
            .finish_non_exhaustive()
    }
}

/// Samples along x and z, and the heights.
fn read_rows(path: &Path, bytes: &[u8]) -> Result<([usize; 2], Vec<f64>), MeshError> {
    let mut heights = Vec::new();
    let mut holes = Vec::new();
    let (mut columns, mut rows) = (0, 0);
    let (mut no_data, mut asc_columns) = (None, None);
    let text: Vec<u8> = bytes.iter().map(|&b| if matches!(b, b',' | b';') { b' ' } else { b }).collect();
    for (at, line) in text.split(|&b| b == b'\n').enumerate() {
        let at = at + 1;
        let line = line.split(|&b| b == b'#').next().unwrap_or_default();
        let mut row = words(line).peekable();
        let Some(first) = row.peek() else { continue };
        if first[0].is_ascii_alphabetic() && heights.is_empty() {
            // An .asc header: `ncols 3`. Corner and cell size give way to the scene's.
            let key = first.to_ascii_lowercase();
            row.next();
            let value = number(path, at, "a number after the key", row.next())?;
            match key.as_slice() {
                b"nodata_value" => no_data = Some(value),
                b"ncols" => asc_columns = Some((value, at)),
                b"nrows" | b"xllcorner" | b"yllcorner" | b"xllcenter" | b"yllcenter" | b"cellsize"
                | b"dx" | b"dy" => {}
                _ => return Err(wrong(path, at, "a row of heights or a key of an .asc grid", Some(&key))),
            }
            continue;
        }
        let before = heights.len();
        for word in row {
            let height = number(path, at, "a height", Some(word))?;
            if Some(height) == no_data {
                holes.push(heights.len());
            }
            heights.push(height);
        }
        let found = heights.len() - before;
        if rows == 0 {
            columns = found;
        } else if found != columns {
            let expected = format!("{columns} heights, as in the first row");
            return Err(wrong(path, at, &expected, Some(found.to_string().as_bytes())));
        }
        rows += 1;
    }
    if let Some((declared, at)) = asc_columns.filter(|(n, _)| *n != columns as f64) {
        let expected = format!("ncols {columns}, as the rows have");
        return Err(wrong(path, at, &expected, Some(declared.to_string().as_bytes())));
    }
    if !holes.is_empty() {
        let lowest =
            heights.iter().filter(|h| Some(**h) != no_data).fold(f64::INFINITY, |low, h| low.min(*h));
        holes.into_iter().for_each(|i| heights[i] = lowest);
    }
    Ok(([columns, rows], heights))
}

#[cfg(test)]
mod tests;
