//! Walls and solids as triangles.

use std::borrow::Cow;

use glam::DVec3;

use crate::frame::Body;
use crate::scene::mesh::TriMesh;
use crate::scene::shape::{Heightfield, Shape};
use crate::scene::{Boundary, Inside};
use crate::surface::Surface;

/// Sides of a round wall: corners show only in close-ups.
const SIDES: u32 = 96;
/// Subdivisions of an icosahedron for a ball: 1280 triangles.
const BALL: u32 = 3;
/// Subdivisions for a ball that is a wall, often the largest thing in view: 20480 triangles.
const ROUND_WALL: u32 = 5;

/// The faces of a wall where its motion has not yet begun. A hollow shape `thickness` thick shows both its faces.
pub(super) fn wall(boundary: &Boundary, thickness: f64) -> Surface {
    let mut mesh = Builder::default();
    let t = boundary.thickness.unwrap_or(thickness);
    match (boundary.inside, &boundary.shape) {
        (Inside::Solid, Shape::Box { min, max }) => mesh.cuboid(*min, *max, false),
        (Inside::Hollow, Shape::Box { min, max }) if boundary.open_top => mesh.open_box(*min, *max, t),
        (Inside::Hollow, Shape::Box { min, max }) => {
            mesh.cuboid(*min - t, *max + t, false);
            mesh.cuboid(*min, *max, true);
        }
        (Inside::Solid, Shape::Sphere { center, radius }) => mesh.ball(*center, *radius, ROUND_WALL, false),
        (Inside::Hollow, Shape::Sphere { center, radius }) => {
            mesh.ball(*center, *radius + t, ROUND_WALL, false);
            mesh.ball(*center, *radius, ROUND_WALL, true);
        }
        (inside, Shape::Cylinder { base, axis, radius: r, height: h }) => {
            let (r, h) = (*r, *h);
            // Walked so that the solid is on the left.
            let profiles: &[&[[f64; 2]]] = match (inside, boundary.open_top) {
                (Inside::Solid, _) => &[&[[0.0, 0.0], [r, 0.0], [r, h], [0.0, h]]],
                (Inside::Hollow, true) => {
                    &[&[[0.0, -t], [r + t, -t], [r + t, h], [r, h], [r, 0.0], [0.0, 0.0]]]
                }
                (Inside::Hollow, false) => &[
                    &[[0.0, -t], [r + t, -t], [r + t, h + t], [0.0, h + t]],
                    &[[0.0, h], [r, h], [r, 0.0], [0.0, 0.0]],
                ],
            };
            profiles.iter().for_each(|profile| mesh.lathe(*base, *axis, profile));
        }
        (_, Shape::Disc { center, normal, radius }) => {
            mesh.lathe(*center, *normal, &[[*radius, 0.0], [0.0, 0.0]]);
        }
        // A sheet, whichever side is solid.
        (_, Shape::Mesh(shape)) => mesh.faceted(shape),
        (_, Shape::Heightfield(field)) => mesh.terrain(field),
    }
    mesh.0
}

/// The inner faces of the domain's closed sides, for display.
pub(super) fn room(min: DVec3, max: DVec3, closed: impl Fn(usize, bool) -> bool) -> Surface {
    let mut mesh = Builder::default();
    mesh.sides(min, max, true, closed);
    mesh.0
}

/// A solid as it is now.
pub(super) fn body(body: &Body) -> Surface {
    let mut mesh = Builder::default();
    if body.triangles.is_empty() {
        for (node, velocity) in body.nodes.iter().zip(&body.velocity) {
            mesh.ball(DVec3::from(node.map(f64::from)), f64::from(body.radius), BALL, false);
            mesh.0.velocity.resize(mesh.0.position.len(), *velocity);
        }
        return mesh.0;
    }
    let mut normal = vec![DVec3::ZERO; body.nodes.len()];
    let at = |i: u32| body.nodes.get(i as usize).map_or(DVec3::ZERO, |p| DVec3::from(p.map(f64::from)));
    for &[a, b, c] in &body.triangles {
        let area = (at(b) - at(a)).cross(at(c) - at(a));
        for corner in [a, b, c] {
            if let Some(normal) = normal.get_mut(corner as usize) {
                *normal += area;
            }
        }
    }
    Surface {
        position: body.nodes.clone(),
        normal: normal.into_iter().map(|n| n.normalize_or(DVec3::Y).as_vec3().to_array()).collect(),
        velocity: body.velocity.clone(),
        fluid: Vec::new(),
        triangles: body.triangles.clone(),
    }
}

/// Meshes as one.
pub(super) fn merge<'a>(meshes: impl IntoIterator<Item = Cow<'a, Surface>>) -> Surface {
    let mut all = Surface::default();
    for mesh in meshes {
        let first = all.position.len() as u32;
        all.position.extend(&mesh.position);
        all.normal.extend(&mesh.normal);
        all.velocity.extend(&mesh.velocity);
        all.triangles.extend(mesh.triangles.iter().map(|t| t.map(|corner| first + corner)));
    }
    all
}

#[derive(Default)]
struct Builder(Surface);

impl Builder {
    fn vertex(&mut self, p: DVec3, normal: DVec3) -> u32 {
        self.0.position.push(p.as_vec3().to_array());
        self.0.normal.push(normal.as_vec3().to_array());
        (self.0.position.len() - 1) as u32
    }

    /// A flat quadrilateral, anticlockwise.
    fn quad(&mut self, corners: [DVec3; 4]) {
        let normal = (corners[2] - corners[0]).cross(corners[3] - corners[1]).normalize_or(DVec3::Y);
        let [a, b, c, d] = corners.map(|p| self.vertex(p, normal));
        self.0.triangles.extend([[a, b, c], [a, c, d]]);
    }

    /// Sides of a box by (axis, is the upper end), facing outward or inward.
    fn sides(&mut self, min: DVec3, max: DVec3, inward: bool, wanted: impl Fn(usize, bool) -> bool) {
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for upper in [false, true] {
                if !wanted(axis, upper) {
                    continue;
                }
                let corner = |at_u: bool, at_v: bool| {
                    let mut p = if upper { max } else { min };
                    p[u] = if at_u { max[u] } else { min[u] };
                    p[v] = if at_v { max[v] } else { min[v] };
                    p
                };
                let mut corners =
                    [corner(false, false), corner(true, false), corner(true, true), corner(false, true)];
                if upper == inward {
                    corners.reverse();
                }
                self.quad(corners);
            }
        }
    }

    fn cuboid(&mut self, min: DVec3, max: DVec3, inward: bool) {
        self.sides(min, max, inward, |_, _| true);
    }

    /// A box without lid, `t` thick.
    fn open_box(&mut self, min: DVec3, max: DVec3, t: f64) {
        let not_top = |axis: usize, upper: bool| (axis, upper) != (1, true);
        let outer_min = min - t;
        let outer_max = DVec3::new(max.x + t, max.y, max.z + t);
        self.sides(outer_min, outer_max, false, not_top);
        self.sides(min, max, true, not_top);
        let rim = |p: DVec3| DVec3::new(p.x, max.y, p.z);
        let ring = |low: DVec3, high: DVec3| {
            [rim(low), rim(DVec3::new(low.x, 0.0, high.z)), rim(high), rim(DVec3::new(high.x, 0.0, low.z))]
        };
        let (outer, inner) = (ring(outer_min, outer_max), ring(min, max));
        for k in 0..4 {
            let next = (k + 1) % 4;
            self.quad([outer[k], outer[next], inner[next], inner[k]]);
        }
    }

    fn ball(&mut self, center: DVec3, radius: f64, subdivisions: u32, inward: bool) {
        let ball = TriMesh::icosphere(DVec3::ZERO, 1.0, subdivisions);
        let first = self.0.position.len() as u32;
        for &direction in &ball.vertices {
            self.vertex(center + radius * direction, if inward { -direction } else { direction });
        }
        self.0.triangles.extend(ball.triangles.iter().map(|&[a, b, c]| {
            if inward { [first + a, first + c, first + b] } else { [first + a, first + b, first + c] }
        }));
    }

    /// Turns a profile of (radius, height) about an axis; each leg is smooth around, sharp to its neighbours. The
    /// outside is on the right of the way.
    fn lathe(&mut self, base: DVec3, axis: DVec3, profile: &[[f64; 2]]) {
        let u = axis.any_orthonormal_vector();
        let v = axis.cross(u);
        for leg in profile.windows(2) {
            let ([r0, h0], [r1, h1]) = (leg[0], leg[1]);
            let first = self.0.position.len() as u32;
            for k in 0..SIDES {
                let (sin, cos) = (f64::from(k) / f64::from(SIDES) * std::f64::consts::TAU).sin_cos();
                let out = cos * u + sin * v;
                let normal = ((h1 - h0) * out - (r1 - r0) * axis).normalize_or(axis);
                self.vertex(base + r0 * out + h0 * axis, normal);
                self.vertex(base + r1 * out + h1 * axis, normal);
            }
            for k in 0..SIDES {
                let (here, next) = (first + 2 * k, first + 2 * ((k + 1) % SIDES));
                let [a, b, c, d] = [here, next, next + 1, here + 1];
                // At the axis one of the two has no area.
                if r0 > 0.0 {
                    self.0.triangles.push([a, b, c]);
                }
                if r1 > 0.0 {
                    self.0.triangles.push([a, c, d]);
                }
            }
        }
    }

    /// Each triangle with corners of its own: a mesh file of a wall does not tell where it is smooth.
    fn faceted(&mut self, mesh: &TriMesh) {
        for t in 0..mesh.triangles.len() {
            let corners = mesh.corners(t);
            let [a, b, c] = corners;
            let normal = (b - a).cross(c - a).normalize_or(DVec3::Y);
            let corners = corners.map(|p| self.vertex(p, normal));
            self.0.triangles.push(corners);
        }
    }

    fn terrain(&mut self, field: &Heightfield) {
        let [nx, nz] = field.samples;
        let step = [field.size[0] / (nx - 1) as f64, field.size[1] / (nz - 1) as f64];
        let height = |i: usize, j: usize| field.heights[j * nx + i];
        for j in 0..nz {
            for i in 0..nx {
                let slope =
                    |low: f64, high: f64, cells: usize, step: f64| (high - low) / (cells as f64 * step);
                let (i0, i1) = (i.saturating_sub(1), (i + 1).min(nx - 1));
                let (j0, j1) = (j.saturating_sub(1), (j + 1).min(nz - 1));
                let dx = slope(height(i0, j), height(i1, j), i1 - i0, step[0]);
                let dz = slope(height(i, j0), height(i, j1), j1 - j0, step[1]);
                let p = field.origin + DVec3::new(i as f64 * step[0], height(i, j), j as f64 * step[1]);
                self.vertex(p, DVec3::new(-dx, 1.0, -dz).normalize_or(DVec3::Y));
            }
        }
        let at = |i: usize, j: usize| (j * nx + i) as u32;
        for j in 0..nz - 1 {
            for i in 0..nx - 1 {
                let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                // Split like the heightfield itself, from the least to the greatest corner; y is up.
                self.0.triangles.extend([[a, c, b], [a, d, c]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Motion;
    use crate::scene::Slip;

    fn boundary(shape: Shape, inside: Inside, open_top: bool) -> Boundary {
        Boundary {
            name: "wall".into(),
            shape,
            inside,
            thickness: Some(0.1),
            open_top,
            slip: Slip::FreeSlip,
            adhesion: 0.0,
            motion: Motion::default(),
            color: None,
            clear: false,
        }
    }

    /// Closed, outward, and enclosing about that volume; normals point to the outside of their triangles.
    fn assert_solid(mesh: &Surface, volume: f64) {
        let at = |corner: u32| DVec3::from(mesh.position[corner as usize].map(f64::from));
        let mut enclosed = 0.0;
        for &[a, b, c] in &mesh.triangles {
            let (p, q, r) = (at(a), at(b), at(c));
            enclosed += p.dot(q.cross(r)) / 6.0;
            let face = (q - p).cross(r - p).normalize();
            for corner in [a, b, c] {
                let normal = DVec3::from(mesh.normal[corner as usize].map(f64::from));
                assert!((normal.length() - 1.0).abs() < 1e-5);
                assert!(normal.dot(face) > 0.9, "{normal} {face}");
            }
        }
        assert!((enclosed - volume).abs() < 0.01 * volume, "{enclosed} {volume}");
        // Signed, so a mesh that is inside out has shown itself above; welded, it has no border.
        let welded = TriMesh::new((0..mesh.position.len() as u32).map(at).collect(), mesh.triangles.clone());
        assert!(welded.unwrap().is_closed());
    }

    #[test]
    fn walls_are_closed_bodies_of_the_right_volume() {
        let cube = Shape::Box { min: DVec3::ZERO, max: DVec3::ONE };
        let ball = Shape::Sphere { center: DVec3::Y, radius: 0.5 };
        let axis = DVec3::new(1.0, 2.0, -0.5).normalize();
        let tube = Shape::Cylinder { base: DVec3::X, axis, radius: 0.5, height: 1.0 };
        let tau = std::f64::consts::TAU;
        let sphere = |r: f64| 2.0 / 3.0 * tau * r * r * r;
        let round = |r: f64, h: f64| 0.5 * tau * r * r * h;
        for (shape, inside, open, volume) in [
            (&cube, Inside::Solid, false, 1.0),
            (&cube, Inside::Hollow, false, 1.2f64.powi(3) - 1.0),
            (&cube, Inside::Hollow, true, 1.2 * 1.2 * 1.1 - 1.0),
            (&ball, Inside::Solid, false, sphere(0.5)),
            (&ball, Inside::Hollow, false, sphere(0.6) - sphere(0.5)),
            (&tube, Inside::Solid, false, round(0.5, 1.0)),
            (&tube, Inside::Hollow, false, round(0.6, 1.2) - round(0.5, 1.0)),
            (&tube, Inside::Hollow, true, round(0.6, 1.1) - round(0.5, 1.0)),
        ] {
            assert_solid(&wall(&boundary(shape.clone(), inside, open), 9.0), volume);
        }
    }

    #[test]
    fn a_ball_is_round_and_carries_its_velocity() {
        let ball = Body {
            name: "ball".into(),
            nodes: vec![[1.0, 2.0, 3.0]],
            velocity: vec![[0.0, -1.0, 0.0]],
            radius: 0.25,
            ..Body::default()
        };
        let mesh = body(&ball);
        assert_solid(&mesh, 4.0 / 3.0 * std::f64::consts::PI * 0.25f64.powi(3) * 0.99);
        assert_eq!(mesh.velocity, vec![[0.0, -1.0, 0.0]; mesh.position.len()]);
    }

    #[test]
    fn terrain_looks_up_and_has_the_heights_of_the_field() {
        let heights = vec![0.0, 0.1, 0.0, 0.2, 0.5, 0.1];
        let field = Heightfield::new(DVec3::X, [2.0, 1.0], [3, 2], heights).unwrap();
        let mesh = wall(&boundary(Shape::Heightfield(field.into()), Inside::Solid, false), 0.1);
        assert_eq!((mesh.position.len(), mesh.triangles.len()), (6, 4));
        assert_eq!(mesh.position[4], [2.0, 0.5, 1.0]);
        for t in &mesh.triangles {
            let [p, q, r] = t.map(|corner| DVec3::from(mesh.position[corner as usize].map(f64::from)));
            assert!((q - p).cross(r - p).y > 0.0);
        }
    }
}
