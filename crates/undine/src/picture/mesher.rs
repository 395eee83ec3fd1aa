//! Shapes of the scene as triangles and balls.

use glam::{DVec3, Vec3};

use super::geometry::{Sphere, Triangles};
use super::pose::Pose;
use crate::scene::mesh::TriMesh;
use crate::scene::shape::{Heightfield, Shape};

/// Corners around a round body.
const AROUND: usize = 128;
/// Samples of a heightfield along an edge that are drawn.
const MOST_HEIGHTS: usize = 1024;

/// Collects primitives in the stage's coordinates.
#[derive(Default)]
pub struct Mesher {
    /// Triangles so far.
    pub triangles: Triangles,
    /// Balls so far.
    pub spheres: Vec<Sphere>,
    /// Middle of the stage in the scene, m.
    pub origin: DVec3,
}

impl Mesher {
    /// A corner; the normal is zero for flat faces.
    pub fn corner(&mut self, p: DVec3, normal: DVec3) -> u32 {
        self.triangles.position.push((p - self.origin).as_vec3());
        self.triangles.normal.push(normal.as_vec3());
        self.triangles.paint.push(Vec3::ZERO);
        (self.triangles.position.len() - 1) as u32
    }

    /// A triangle of corners.
    pub fn triangle(&mut self, corners: [u32; 3], material: u16) {
        self.triangles.corners.push(corners);
        self.triangles.material.push(material);
    }

    /// A flat face of four corners, anticlockwise from outside.
    pub fn quad(&mut self, p: [DVec3; 4], material: u16) {
        let [a, b, c, d] = p.map(|p| self.corner(p, DVec3::ZERO));
        self.triangle([a, b, c], material);
        self.triangle([a, c, d], material);
    }

    /// A ball.
    pub fn ball(&mut self, center: DVec3, radius: f64, material: u16) {
        let center = (center - self.origin).as_vec3();
        self.spheres.push(Sphere { center, radius: radius as f32, paint: Vec3::splat(0.5), material });
    }

    /// The faces of a box; `inward` for the hollow of one, `lid` whether the upper one is there.
    pub fn cuboid(&mut self, pose: &Pose, min: DVec3, max: DVec3, inward: bool, lid: bool, material: u16) {
        let at = |x: usize, y: usize, z: usize| {
            let pick = |i: usize, axis: usize| if i == 0 { min[axis] } else { max[axis] };
            pose.to_world(DVec3::new(pick(x, 0), pick(y, 1), pick(z, 2)))
        };
        let faces = [
            [at(0, 1, 0), at(0, 1, 1), at(1, 1, 1), at(1, 1, 0)],
            [at(0, 0, 0), at(1, 0, 0), at(1, 0, 1), at(0, 0, 1)],
            [at(0, 0, 0), at(0, 0, 1), at(0, 1, 1), at(0, 1, 0)],
            [at(1, 0, 0), at(1, 1, 0), at(1, 1, 1), at(1, 0, 1)],
            [at(0, 0, 0), at(0, 1, 0), at(1, 1, 0), at(1, 0, 0)],
            [at(0, 0, 1), at(1, 0, 1), at(1, 1, 1), at(0, 1, 1)],
        ];
        for mut face in faces.into_iter().skip(usize::from(!lid)) {
            if inward {
                face.reverse();
            }
            self.quad(face, material);
        }
    }

    /// A body of revolution about the line through `base` along unit `axis`. `profile` lists (radius, height) with
    /// the body on its left; where two neighbouring edges turn less than 40° the surface is smooth.
    pub fn lathe(&mut self, pose: &Pose, base: DVec3, axis: DVec3, profile: &[[f64; 2]], material: u16) {
        let (x, z) = axis.any_orthonormal_pair();
        let out = |k: usize| {
            let a = std::f64::consts::TAU * k as f64 / AROUND as f64;
            x * a.cos() + z * a.sin()
        };
        let length = |w: &[[f64; 2]]| (w[1][0] - w[0][0]).hypot(w[1][1] - w[0][1]);
        let lengths: Vec<f64> = profile.windows(2).map(length).collect();
        // Normals of the edges in the profile's plane.
        let normals: Vec<[f64; 2]> = profile
            .windows(2)
            .map(|w| {
                let (dr, dh) = (w[1][0] - w[0][0], w[1][1] - w[0][1]);
                let l = dr.hypot(dh).max(1e-300);
                [dh / l, -dr / l]
            })
            .collect();
        for (e, w) in profile.windows(2).enumerate() {
            let end = |other: Option<usize>| {
                let n = normals[e];
                let m = other.and_then(|o| normals.get(o)).copied().unwrap_or(n);
                if n[0] * m[0] + n[1] * m[1] <= 0.77 {
                    return n;
                }
                // By length, or the first step of a rounded edge would bend the normals of a whole straight wall.
                let (l, k) = (lengths[e], other.and_then(|o| lengths.get(o)).copied().unwrap_or(0.0));
                [l * n[0] + k * m[0], l * n[1] + k * m[1]]
            };
            let ends = [end(e.checked_sub(1)), end(Some(e + 1))];
            let ring = |s: &mut Self, i: usize| -> Vec<u32> {
                (0..AROUND)
                    .map(|k| {
                        let p = base + out(k) * w[i][0] + axis * w[i][1];
                        let n = (out(k) * ends[i][0] + axis * ends[i][1]).normalize_or(axis);
                        s.corner(pose.to_world(p), pose.turn() * n)
                    })
                    .collect()
            };
            let (a, b) = (ring(self, 0), ring(self, 1));
            for k in 0..AROUND {
                let l = (k + 1) % AROUND;
                // `any_orthonormal_pair` is right-handed with the axis, so angles grow clockwise seen along it.
                if w[0][0] > 0.0 {
                    self.facing([a[k], b[k], a[l]], material);
                }
                if w[1][0] > 0.0 {
                    self.facing([a[l], b[k], b[l]], material);
                }
            }
        }
    }

    /// A triangle turned so that it faces the way of its corners' normals.
    fn facing(&mut self, [a, b, c]: [u32; 3], material: u16) {
        let p = |i: u32| self.triangles.position[i as usize];
        let n = |i: u32| self.triangles.normal[i as usize];
        let up = (p(b) - p(a)).cross(p(c) - p(a)).dot(n(a) + n(b) + n(c));
        self.triangle(if up < 0.0 { [a, c, b] } else { [a, b, c] }, material);
    }

    /// A mesh; corners between faces that meet at less than 40° are smooth.
    pub fn mesh(&mut self, pose: &Pose, mesh: &TriMesh, material: u16) {
        let faces: Vec<DVec3> = (0..mesh.triangles.len())
            .map(|t| {
                let [a, b, c] = mesh.corners(t);
                (b - a).cross(c - a)
            })
            .collect();
        let mut smooth = vec![DVec3::ZERO; mesh.vertices.len()];
        for (t, n) in mesh.triangles.iter().zip(&faces) {
            t.iter().for_each(|&i| smooth[i as usize] += *n);
        }
        let mut sharp = vec![false; smooth.len()];
        for (t, n) in mesh.triangles.iter().zip(&faces) {
            for &i in t {
                let i = i as usize;
                sharp[i] |= smooth[i].normalize_or_zero().dot(n.normalize_or_zero()) < 0.77;
            }
        }
        let first = self.triangles.position.len() as u32;
        for ((v, n), sharp) in mesh.vertices.iter().zip(&smooth).zip(&sharp) {
            let n = if *sharp { DVec3::ZERO } else { pose.turn() * n.normalize_or_zero() };
            self.corner(pose.to_world(*v), n);
        }
        for t in &mesh.triangles {
            self.triangle(t.map(|i| first + i), material);
        }
    }

    /// Terrain, at no more than [`MOST_HEIGHTS`] samples along an edge.
    pub fn heightfield(&mut self, pose: &Pose, field: &Heightfield, material: u16) {
        let n = field.samples.map(|n| n.clamp(2, MOST_HEIGHTS));
        let first = self.triangles.position.len() as u32;
        let step = [field.size[0] / (n[0] - 1) as f64, field.size[1] / (n[1] - 1) as f64];
        for j in 0..n[1] {
            for i in 0..n[0] {
                let (x, z) = (field.origin.x + i as f64 * step[0], field.origin.z + j as f64 * step[1]);
                let h = |dx: f64, dz: f64| field.height(x + dx * step[0], z + dz * step[1]);
                let slope = DVec3::new(
                    (h(-1.0, 0.0) - h(1.0, 0.0)) / (2.0 * step[0]),
                    1.0,
                    (h(0.0, -1.0) - h(0.0, 1.0)) / (2.0 * step[1]),
                );
                self.corner(
                    pose.to_world(DVec3::new(x, h(0.0, 0.0), z)),
                    pose.turn() * slope.normalize_or(DVec3::Y),
                );
            }
        }
        let at = |i: usize, j: usize| first + (j * n[0] + i) as u32;
        for j in 0..n[1] - 1 {
            for i in 0..n[0] - 1 {
                self.triangle([at(i, j), at(i + 1, j + 1), at(i + 1, j)], material);
                self.triangle([at(i, j), at(i, j + 1), at(i + 1, j + 1)], material);
            }
        }
    }

    /// A solid shape.
    pub fn solid(&mut self, pose: &Pose, shape: &Shape, material: u16) {
        match shape {
            Shape::Box { min, max } => self.cuboid(pose, *min, *max, false, true, material),
            Shape::Sphere { center, radius } => self.ball(pose.to_world(*center), *radius, material),
            Shape::Cylinder { base, axis, radius, height } => {
                let profile = [[0.0, 0.0], [*radius, 0.0], [*radius, *height], [0.0, *height]];
                self.lathe(pose, *base, *axis, &profile, material);
            }
            Shape::Disc { center, normal, radius } => {
                self.lathe(pose, *center, *normal, &[[*radius, 0.0], [0.0, 0.0]], material);
            }
            Shape::Mesh(mesh) => self.mesh(pose, mesh, material),
            Shape::Heightfield(field) => self.heightfield(pose, field, material),
        }
    }

    /// A container around a hollow shape: walls `side` thick, a bottom `bottom` thick that goes on for `sunk`.
    pub fn container(
        &mut self,
        pose: &Pose,
        shape: &Shape,
        side: f64,
        bottom: f64,
        sunk: f64,
        open: bool,
        material: u16,
    ) {
        match shape {
            Shape::Cylinder { base, axis, radius: r, height: h } => {
                let round = (0.4 * side).min(0.25 * r);
                let (out, low) = (r + side, -bottom);
                let mut profile = vec![[0.0, low - sunk], [out - round, low - sunk]];
                profile.extend((0..=6).map(|k| {
                    let a = std::f64::consts::FRAC_PI_2 * f64::from(k) / 6.0;
                    [out - round + round * a.sin(), low + round - round * a.cos()]
                }));
                if open {
                    let rim = 0.5 * side;
                    let arc = (0..=8).map(|k| {
                        let a = std::f64::consts::PI * k as f64 / 8.0;
                        [r + rim + rim * a.cos(), h - rim + rim * a.sin()]
                    });
                    profile.extend(arc);
                    profile.extend([[*r, 0.0], [0.0, 0.0]]);
                    self.lathe(pose, *base, *axis, &profile, material);
                } else {
                    profile.extend([[out, h + bottom], [0.0, h + bottom]]);
                    self.lathe(pose, *base, *axis, &profile, material);
                    let hollow = [[0.0, *h], [*r, *h], [*r, 0.0], [0.0, 0.0]];
                    self.lathe(pose, *base, *axis, &hollow, material);
                }
            }
            Shape::Box { min, max } => {
                let wall = DVec3::new(side, bottom, side);
                let top = if open { DVec3::new(side, 0.0, side) } else { wall };
                let (low, high) = (*min - wall - DVec3::Y * sunk, *max + top);
                self.cuboid(pose, low, high, false, !open, material);
                self.cuboid(pose, *min, *max, true, !open, material);
                if open {
                    self.rim(pose, [low, high], [*min, *max], material);
                }
            }
            Shape::Sphere { center, radius } => {
                let arc = |r: f64| {
                    move |k: usize| {
                        let a = std::f64::consts::PI * (k as f64 / 64.0 - 0.5);
                        [(r * a.cos()).max(0.0), r * a.sin()]
                    }
                };
                let outer: Vec<_> = (0..=64).map(arc(radius + side)).collect();
                let inner: Vec<_> = (0..=64).rev().map(arc(*radius)).collect();
                self.lathe(pose, *center, DVec3::Y, &outer, material);
                self.lathe(pose, *center, DVec3::Y, &inner, material);
            }
            other => self.solid(pose, other, material),
        }
    }

    /// The upper rim of an open box between its outer and inner walls.
    fn rim(&mut self, pose: &Pose, outer: [DVec3; 2], inner: [DVec3; 2], material: u16) {
        let y = outer[1].y;
        let ring = |b: [DVec3; 2]| {
            [(0, 0), (0, 1), (1, 1), (1, 0)]
                .map(|(i, j): (usize, usize)| pose.to_world(DVec3::new(b[i].x, y, b[j].z)))
        };
        let (o, i) = (ring(outer), ring(inner));
        for k in 0..4 {
            let l = (k + 1) % 4;
            self.quad([o[k], o[l], i[l], i[k]], material);
        }
    }
}
