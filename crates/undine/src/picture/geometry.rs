//! Triangles, balls and splat discs in trees; the nearest hit of a ray, or all of them.

use std::ops::ControlFlow;

use glam::{Vec3, Vec4};

use super::ray::{Hit, Kind, Ray};
use super::tree::{Bounds, EMPTY, Tree};

/// Rays through a shared edge must not slip between its triangles: corner weights may fall this far below 0.
const EDGE: f32 = 1e-6;

/// Triangles over shared corners, as given.
#[derive(Clone, Debug, Default)]
pub struct Triangles {
    /// Corners, m.
    pub position: Vec<Vec3>,
    /// Unit normals at the corners; zero for a flat face.
    pub normal: Vec<Vec3>,
    /// Colours at the corners, linear.
    pub paint: Vec<Vec3>,
    /// Corners of each triangle, anticlockwise from outside.
    pub corners: Vec<[u32; 3]>,
    /// Material of each triangle.
    pub material: Vec<u16>,
}

/// A ball.
#[derive(Clone, Copy, Debug)]
pub struct Sphere {
    /// Centre, m.
    pub center: Vec3,
    /// Radius, m.
    pub radius: f32,
    /// Colour, linear.
    pub paint: Vec3,
    /// Index of its material.
    pub material: u16,
}

/// A flat round splat.
#[derive(Clone, Copy, Debug)]
pub struct Disc {
    /// Centre, m.
    pub center: Vec3,
    /// Unit normal.
    pub normal: Vec3,
    /// Radius, m.
    pub radius: f32,
    /// Colour, linear.
    pub paint: Vec3,
    /// Index of its material.
    pub material: u16,
}

/// Four triangles: a corner and two edges each.
#[derive(Debug)]
struct Triangle4 {
    corner: [Vec4; 3],
    edge1: [Vec4; 3],
    edge2: [Vec4; 3],
}

/// Four balls.
#[derive(Debug)]
struct Sphere4 {
    center: [Vec4; 3],
    radius: Vec4,
}

/// Everything solid that a ray can meet.
#[derive(Debug, Default)]
pub struct Geometry {
    /// Triangles.
    pub triangles: Triangles,
    /// Balls.
    pub spheres: Vec<Sphere>,
    /// Splats.
    pub discs: Vec<Disc>,
    triangle_tree: Tree,
    triangle_packets: Vec<Triangle4>,
    sphere_tree: Tree,
    sphere_packets: Vec<Sphere4>,
    disc_tree: Tree,
}

impl Geometry {
    /// Builds the trees. What is not finite is never hit.
    pub fn new(triangles: Triangles, spheres: Vec<Sphere>, discs: Vec<Disc>) -> Self {
        let at = |i: u32| triangles.position[i as usize];
        let boxes: Vec<Bounds> =
            triangles.corners.iter().map(|c| Bounds::around(c.iter().map(|&i| at(i)))).collect();
        // `around` skips numbers that are not: look at each corner.
        let sound = |c: &[u32; 3]| c.iter().all(|&i| at(i).is_finite());
        let boxes: Vec<Bounds> = boxes
            .into_iter()
            .zip(&triangles.corners)
            .map(|(b, c)| if sound(c) { b } else { Bounds::EMPTY })
            .collect();
        let triangle_tree = Tree::new(&boxes);
        let triangle_packets = triangle_tree.packets().iter().map(|p| triangle4(&triangles, p)).collect();
        let boxes: Vec<Bounds> = spheres.iter().map(sphere_bounds).collect();
        let sphere_tree = Tree::new(&boxes);
        let sphere_packets = sphere_tree.packets().iter().map(|p| sphere4(&spheres, p)).collect();
        let boxes: Vec<Bounds> = discs.iter().map(disc_bounds).collect();
        let disc_tree = Tree::new(&boxes);
        Self {
            triangles,
            spheres,
            discs,
            triangle_tree,
            triangle_packets,
            sphere_tree,
            sphere_packets,
            disc_tree,
        }
    }

    /// The box around everything that can be hit.
    pub fn bounds(&self) -> Bounds {
        let t = self.triangles.corners.iter().flatten().map(|&i| self.triangles.position[i as usize]);
        let t = Bounds::around(t.filter(|p| p.is_finite()));
        let s = self.spheres.iter().map(sphere_bounds).chain(self.discs.iter().map(disc_bounds));
        s.filter(Bounds::is_sound).fold(t, Bounds::union)
    }

    /// The nearest hit.
    pub fn nearest(&self, ray: &Ray) -> Option<Hit> {
        let mut best = None;
        self.each(&mut ray.clone(), |hit, ray| {
            ray.farthest = hit.t;
            best = Some(hit);
            ControlFlow::Continue(())
        });
        best
    }

    /// Calls `visit` with hits in no special order until it breaks; `visit` may shorten the ray.
    #[inline]
    pub fn each(&self, ray: &mut Ray, mut visit: impl FnMut(Hit, &mut Ray) -> ControlFlow<()>) {
        self.triangle_tree.walk(ray, |packet, ray| {
            let (t, u, v, mut lanes) = self.triangle_packets[packet].hit(ray);
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                if t[lane] < ray.farthest {
                    let index = self.triangle_tree.packets()[packet][lane];
                    visit(Hit { t: t[lane], uv: [u[lane], v[lane]], kind: Kind::Triangle, index }, ray)?;
                }
            }
            ControlFlow::Continue(())
        });
        self.sphere_tree.walk(ray, |packet, ray| {
            let (near, far, mut lanes) = self.sphere_packets[packet].hit(ray);
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let index = self.sphere_tree.packets()[packet][lane];
                for t in [near[lane], far[lane]] {
                    if t > ray.nearest && t < ray.farthest {
                        visit(Hit { t, uv: [0.0; 2], kind: Kind::Sphere, index }, ray)?;
                    }
                }
            }
            ControlFlow::Continue(())
        });
        self.disc_tree.walk(ray, |packet, ray| {
            for &index in self.disc_tree.packets()[packet].iter().filter(|&&i| i != EMPTY) {
                if let Some(t) = hit_disc(ray, &self.discs[index as usize]) {
                    visit(Hit { t, uv: [0.0; 2], kind: Kind::Disc, index }, ray)?;
                }
            }
            ControlFlow::Continue(())
        });
    }

    /// The same as [`Geometry::each`] by looking at everything: the tests' oracle.
    #[cfg(test)]
    pub fn nearest_naive(&self, ray: &Ray) -> Option<Hit> {
        let mut best: Option<Hit> = None;
        let mut offer = |hit: Hit| {
            if best.is_none_or(|b| hit.t < b.t) {
                best = Some(hit);
            }
        };
        for i in 0..self.triangles.corners.len() as u32 {
            let (t, u, v, lanes) = triangle4(&self.triangles, &[i, EMPTY, EMPTY, EMPTY]).hit(ray);
            if lanes & 1 != 0 {
                offer(Hit { t: t[0], uv: [u[0], v[0]], kind: Kind::Triangle, index: i });
            }
        }
        for i in 0..self.spheres.len() as u32 {
            let (near, far, lanes) = sphere4(&self.spheres, &[i, EMPTY, EMPTY, EMPTY]).hit(ray);
            for t in [near[0], far[0]] {
                if lanes & 1 != 0 && t > ray.nearest && t < ray.farthest {
                    offer(Hit { t, uv: [0.0; 2], kind: Kind::Sphere, index: i });
                }
            }
        }
        for (i, disc) in self.discs.iter().enumerate() {
            if let Some(t) = hit_disc(ray, disc) {
                offer(Hit { t, uv: [0.0; 2], kind: Kind::Disc, index: i as u32 });
            }
        }
        best
    }

    /// Geometric normal (outward), shading normal, paint and material at a hit.
    pub fn surface(&self, ray: &Ray, hit: &Hit) -> (Vec3, Vec3, Vec3, u16) {
        let index = hit.index as usize;
        match hit.kind {
            Kind::Triangle => {
                let m = &self.triangles;
                let c = m.corners[index].map(|i| i as usize);
                let [a, b, d] = c.map(|i| m.position[i]);
                let flat = (b - a).cross(d - a).normalize_or(-ray.direction);
                let w = Vec3::new(1.0 - hit.uv[0] - hit.uv[1], hit.uv[0], hit.uv[1]);
                let blend = |v: &[Vec3]| {
                    if v.len() == m.position.len() {
                        w.x * v[c[0]] + w.y * v[c[1]] + w.z * v[c[2]]
                    } else {
                        Vec3::ZERO
                    }
                };
                let smooth = blend(&m.normal).normalize_or(flat);
                // A normal turned the wrong way would send light through the surface.
                let smooth = if smooth.is_finite() && smooth.dot(flat) > 0.05 { smooth } else { flat };
                (flat, smooth, blend(&m.paint), m.material[index])
            }
            Kind::Sphere => {
                let s = &self.spheres[index];
                let n = ((ray.at(hit.t) - s.center) / s.radius).normalize_or(-ray.direction);
                (n, n, s.paint, s.material)
            }
            Kind::Disc => {
                let d = &self.discs[index];
                let n = if d.normal.dot(ray.direction) > 0.0 { -d.normal } else { d.normal };
                (n, n, d.paint, d.material)
            }
        }
    }

    /// Material of the primitive that was hit.
    #[inline]
    pub fn material(&self, hit: &Hit) -> u16 {
        let index = hit.index as usize;
        match hit.kind {
            Kind::Triangle => self.triangles.material[index],
            Kind::Sphere => self.spheres[index].material,
            Kind::Disc => self.discs[index].material,
        }
    }
}

impl Triangle4 {
    /// Distances, corner weights and which lanes are hit (Möller & Trumbore 1997).
    #[inline]
    fn hit(&self, ray: &Ray) -> ([f32; 4], [f32; 4], [f32; 4], u32) {
        let d = ray.direction.to_array().map(Vec4::splat);
        let o = ray.origin.to_array().map(Vec4::splat);
        let p = cross(d, self.edge2);
        let inverse = Vec4::ONE / dot(self.edge1, p);
        let s = [o[0] - self.corner[0], o[1] - self.corner[1], o[2] - self.corner[2]];
        let u = dot(s, p) * inverse;
        let q = cross(s, self.edge1);
        let v = dot(d, q) * inverse;
        let t = dot(self.edge2, q) * inverse;
        // Empty lanes and triangles without area give 0/0: no comparison holds.
        let hit = u.cmpge(Vec4::splat(-EDGE))
            & v.cmpge(Vec4::splat(-EDGE))
            & (u + v).cmple(Vec4::splat(1.0 + EDGE))
            & t.cmpgt(Vec4::splat(ray.nearest))
            & t.cmplt(Vec4::splat(ray.farthest));
        (t.to_array(), u.to_array(), v.to_array(), hit.bitmask())
    }
}

impl Sphere4 {
    /// Both distances and which lanes are met at all.
    #[inline]
    fn hit(&self, ray: &Ray) -> ([f32; 4], [f32; 4], u32) {
        let d = ray.direction.to_array().map(Vec4::splat);
        let o = ray.origin.to_array().map(Vec4::splat);
        let to = [self.center[0] - o[0], self.center[1] - o[1], self.center[2] - o[2]];
        let along = dot(to, d);
        // Distance from the axis by its components, not as a difference of squares: exact for far, small balls.
        let off = [to[0] - along * d[0], to[1] - along * d[1], to[2] - along * d[2]];
        let under = self.radius * self.radius - dot(off, off);
        let half = under.max(Vec4::ZERO).map(f32::sqrt);
        let hit = under.cmpgt(Vec4::ZERO) & self.radius.cmpgt(Vec4::ZERO);
        ((along - half).to_array(), (along + half).to_array(), hit.bitmask())
    }
}

fn hit_disc(ray: &Ray, disc: &Disc) -> Option<f32> {
    let t = (disc.center - ray.origin).dot(disc.normal) / ray.direction.dot(disc.normal);
    let near = t > ray.nearest && t < ray.farthest;
    (near && ray.at(t).distance_squared(disc.center) < disc.radius * disc.radius).then_some(t)
}

#[inline]
fn cross(a: [Vec4; 3], b: [Vec4; 3]) -> [Vec4; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline]
fn dot(a: [Vec4; 3], b: [Vec4; 3]) -> Vec4 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn triangle4(m: &Triangles, packet: &[u32; 4]) -> Triangle4 {
    let z = [Vec4::ZERO; 3];
    let mut four = Triangle4 { corner: z, edge1: z, edge2: z };
    for (lane, &i) in packet.iter().enumerate().filter(|(_, i)| **i != EMPTY) {
        let [a, b, c] = m.corners[i as usize].map(|i| m.position[i as usize]);
        for axis in 0..3 {
            four.corner[axis][lane] = a[axis];
            four.edge1[axis][lane] = (b - a)[axis];
            four.edge2[axis][lane] = (c - a)[axis];
        }
    }
    four
}

fn sphere4(spheres: &[Sphere], packet: &[u32; 4]) -> Sphere4 {
    let mut four = Sphere4 { center: [Vec4::ZERO; 3], radius: Vec4::ZERO };
    for (lane, &i) in packet.iter().enumerate().filter(|(_, i)| **i != EMPTY) {
        let s = &spheres[i as usize];
        for axis in 0..3 {
            four.center[axis][lane] = s.center[axis];
        }
        four.radius[lane] = s.radius;
    }
    four
}

fn sphere_bounds(s: &Sphere) -> Bounds {
    let sound = s.center.is_finite() && s.radius.is_finite() && s.radius > 0.0;
    if sound { Bounds { min: s.center - s.radius, max: s.center + s.radius } } else { Bounds::EMPTY }
}

fn disc_bounds(d: &Disc) -> Bounds {
    let sound = d.center.is_finite() && d.normal.is_normalized() && d.radius.is_finite() && d.radius > 0.0;
    let rim = d.radius * (Vec3::ONE - d.normal * d.normal).max(Vec3::ZERO).map(f32::sqrt);
    if sound { Bounds { min: d.center - rim, max: d.center + rim } } else { Bounds::EMPTY }
}

#[cfg(test)]
#[path = "geometry_tests.rs"]
mod tests;
