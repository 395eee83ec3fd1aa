//! The surface of a function of space as a mesh, by marching tetrahedra: unlike marching cubes they have no ambiguous
//! cases, so that the mesh is closed whatever the function.

use std::collections::HashMap;

use glam::{DVec3, UVec3};

use crate::scene::aabb::Aabb;

/// The six tetrahedra of a cube about its main diagonal (Kuhn); corner k has the upper x, y, z where bits 0, 1, 2 are
/// set. All of them turn the same way.
const TETRAHEDRA: [[usize; 4]; 6] =
    [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]];

/// Corners and triangles of the surface where `distance` is zero, in a box on whose rim it must be positive. The
/// function grows by at most 1 per m, so that far from the surface most of its values need not be asked for.
pub(super) fn polygonize(
    bounds: Aabb,
    cell: f64,
    distance: impl Fn(DVec3) -> f64,
) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let counts = (bounds.size() / cell).ceil().max(DVec3::ONE);
    let grid = Grid { origin: bounds.min, cell, counts: counts.as_uvec3() + 1 };
    let values = grid.values(distance);
    let mut mesh = Marcher {
        grid: &grid,
        values: &values,
        vertices: Vec::new(),
        triangles: Vec::new(),
        edges: HashMap::new(),
    };
    for z in 0..grid.counts.z - 1 {
        for y in 0..grid.counts.y - 1 {
            for x in 0..grid.counts.x - 1 {
                mesh.cube(UVec3::new(x, y, z));
            }
        }
    }
    (mesh.vertices, mesh.triangles)
}

/// Samples a cell apart.
struct Grid {
    origin: DVec3,
    cell: f64,
    counts: UVec3,
}

impl Grid {
    fn index(&self, at: UVec3) -> usize {
        ((at.z * self.counts.y + at.y) * self.counts.x + at.x) as usize
    }

    fn point(&self, index: usize) -> DVec3 {
        let (nx, ny) = (self.counts.x as usize, self.counts.y as usize);
        let at = DVec3::new((index % nx) as f64, (index / nx % ny) as f64, (index / (nx * ny)) as f64);
        self.origin + self.cell * at
    }

    /// Along each row the next sample that matters is as far as the last value says.
    fn values(&self, distance: impl Fn(DVec3) -> f64) -> Vec<f64> {
        let mut values = vec![0.0; self.counts.as_usizevec3().element_product()];
        for row in (0..values.len()).step_by(self.counts.x as usize) {
            let end = row + self.counts.x as usize;
            let mut i = row;
            while i < end {
                let d = distance(self.point(i));
                // Exact zeros would put corners of several edges into one place.
                let d = if d.abs() < 1e-9 * self.cell { 1e-9 * self.cell } else { d };
                // Cells next to the surface need true values: two cells of room.
                let skip = ((d.abs() / self.cell) as usize).saturating_sub(2);
                let last = (i + skip).min(end - 1);
                values[i..=last].fill(d);
                i = last + 1;
            }
        }
        values
    }
}

struct Marcher<'a> {
    grid: &'a Grid,
    values: &'a [f64],
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// The corner on each edge of the grid, by the indices of its ends.
    edges: HashMap<(usize, usize), u32>,
}

impl Marcher<'_> {
    fn cube(&mut self, at: UVec3) {
        let corners: [usize; 8] = std::array::from_fn(|k| {
            let k = k as u32;
            self.grid.index(at + UVec3::new(k & 1, k >> 1 & 1, k >> 2))
        });
        let inside = corners.iter().filter(|i| self.values[**i] < 0.0).count();
        if inside == 0 || inside == 8 {
            return;
        }
        for t in TETRAHEDRA {
            self.tetrahedron(t.map(|k| corners[k]));
        }
    }

    fn tetrahedron(&mut self, t: [usize; 4]) {
        let inside: Vec<usize> = (0..4).filter(|k| self.values[t[*k]] < 0.0).collect();
        // An even order of the corners turns the same way as the tetrahedron: [one, others…].
        const EVEN: [[usize; 4]; 4] = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 0, 1, 3], [3, 0, 2, 1]];
        match inside[..] {
            [one] => {
                let [a, b, c, d] = EVEN[one].map(|k| t[k]);
                let triangle = [(a, b), (a, c), (a, d)].map(|e| self.corner(e));
                self.triangles.push(triangle);
            }
            [_, _, _] => {
                let outside = (0..4).find(|k| !inside.contains(k)).unwrap_or(0);
                let [a, b, c, d] = EVEN[outside].map(|k| t[k]);
                let triangle = [(a, b), (a, d), (a, c)].map(|e| self.corner(e));
                self.triangles.push(triangle);
            }
            [p, q] => {
                // Both inside first, in an even order.
                let [_, b, c, d] = EVEN[p];
                let (r, s) = if q == b {
                    (c, d)
                } else if q == c {
                    (d, b)
                } else {
                    (b, c)
                };
                let [p, q, r, s] = [p, q, r, s].map(|k| t[k]);
                let [pr, ps, qr, qs] = [(p, r), (p, s), (q, r), (q, s)].map(|e| self.corner(e));
                self.triangles.extend([[pr, ps, qs], [pr, qs, qr]]);
            }
            _ => {}
        }
    }

    fn corner(&mut self, (a, b): (usize, usize)) -> u32 {
        let (a, b) = (a.min(b), a.max(b));
        let (va, vb) = (self.values[a], self.values[b]);
        // A little away from the ends, so that corners stay apart.
        let t = (va / (va - vb)).clamp(0.02, 0.98);
        let (grid, vertices) = (self.grid, &mut self.vertices);
        *self.edges.entry((a, b)).or_insert_with(|| {
            let (a, b) = (grid.point(a), grid.point(b));
            vertices.push(a + (b - a) * t);
            vertices.len() as u32 - 1
        })
    }
}

/// Evens out the triangles: each corner moves towards the mean of its neighbours and back (Taubin 1995), which does
/// not shrink the whole.
pub(super) fn smooth(vertices: &mut [DVec3], triangles: &[[u32; 3]], rounds: usize) {
    for share in (0..rounds).flat_map(|_| [0.5, -0.52]) {
        let mut sum = vec![(DVec3::ZERO, 0.0); vertices.len()];
        for t in triangles {
            for k in 0..3 {
                // Each edge of a closed mesh comes once in either direction.
                let (from, to) = (t[k] as usize, t[(k + 1) % 3] as usize);
                sum[from].0 += vertices[to];
                sum[from].1 += 1.0;
            }
        }
        for (v, (sum, count)) in vertices.iter_mut().zip(sum).filter(|(_, (_, count))| *count > 0.0) {
            *v += share * (sum / count - *v);
        }
    }
}
