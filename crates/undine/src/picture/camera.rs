//! Cameras: from the scene, or one that frames what there is to see.

use glam::{DVec2, DVec3, Vec3};

use super::ray::Ray;
use crate::scene::Camera;
use crate::scene::aabb::Aabb;

/// Vertical field of view of a camera that frames by itself, degrees.
const FOV: f64 = 32.0;
/// Share of the picture's half width and height that framed corners may fill.
const FILL: f64 = 0.9;

/// A camera that looks at all of `bounds` from a little above and beside, for a picture of this shape (width over
/// height). The long side of the scene runs across the picture.
pub fn framing(bounds: Aabb, aspect: f64) -> Camera {
    let sound = bounds.min.is_finite() && bounds.max.is_finite() && !bounds.is_empty();
    let b = if sound { bounds } else { Aabb::new(DVec3::splat(-0.5), DVec3::splat(0.5)) };
    let b = b.grow(1e-6 + 1e-3 * b.size().max_element());
    let (beside, above) = (27f64.to_radians(), 19f64.to_radians());
    // Seen from +z, or from +x when the scene is longer that way.
    let front = if b.size().z > 1.25 * b.size().x { DVec3::X } else { DVec3::Z };
    let right = DVec3::Y.cross(front);
    let flat = front * beside.cos() + right * beside.sin();
    let back = flat * above.cos() + DVec3::Y * above.sin();
    let mut target = b.center();
    let mut distance = 0.0;
    let tan = DVec2::new((0.5 * FOV).to_radians().tan() * aspect.max(1e-3), (0.5 * FOV).to_radians().tan());
    for _ in 0..16 {
        distance = 0.0f64;
        for corner in corners(b) {
            let p = to_camera(corner - target, back);
            distance = distance.max(p.z + p.x.abs() / (FILL * tan.x)).max(p.z + p.y.abs() / (FILL * tan.y));
        }
        // Aim at the middle of what is seen, which perspective moves.
        let (mut low, mut high) = (DVec2::INFINITY, DVec2::NEG_INFINITY);
        for corner in corners(b) {
            let p = to_camera(corner - target, back);
            let q = DVec2::new(p.x, p.y) / (distance - p.z);
            (low, high) = (low.min(q), high.max(q));
        }
        let (x, y) = axes(back);
        let off = 0.5 * (low + high) * distance;
        target += x * off.x + y * off.y;
    }
    Camera { position: target + back * distance, target, fov: FOV }
}

/// Where a point falls in the picture: x to the right and y up, -1..1 within it; `None` behind the camera.
pub fn project(camera: &Camera, aspect: f64, p: DVec3) -> Option<[f64; 2]> {
    let back = (camera.position - camera.target).normalize_or(DVec3::Z);
    let q = to_camera(p - camera.position, back);
    let tan = (0.5 * camera.fov).to_radians().tan();
    (q.z < 0.0).then(|| [q.x / (-q.z * tan * aspect), q.y / (-q.z * tan)])
}

fn corners(b: Aabb) -> impl Iterator<Item = DVec3> {
    let pick = move |i: usize, bit: usize, axis: usize| if i & bit == 0 { b.min[axis] } else { b.max[axis] };
    (0..8).map(move |i| DVec3::new(pick(i, 1, 0), pick(i, 2, 1), pick(i, 4, 2)))
}

/// Right and up of a camera that looks against `back`.
fn axes(back: DVec3) -> (DVec3, DVec3) {
    let x = DVec3::Y.cross(back).try_normalize().unwrap_or(DVec3::X);
    (x, back.cross(x).normalize_or(DVec3::Y))
}

fn to_camera(v: DVec3, back: DVec3) -> DVec3 {
    let (x, y) = axes(back);
    DVec3::new(v.dot(x), v.dot(y), v.dot(back))
}

/// A camera ready to shoot rays, in the stage's coordinates.
#[derive(Clone, Debug)]
pub struct Eye {
    position: Vec3,
    right: Vec3,
    up: Vec3,
    forward: Vec3,
    size: [f32; 2],
}

impl Eye {
    /// For a picture of `width` × `height` pixels of a stage whose origin is at `origin`.
    pub fn new(camera: &Camera, origin: DVec3, width: usize, height: usize) -> Self {
        let back = (camera.position - camera.target).try_normalize().unwrap_or(DVec3::Z);
        let (x, y) = axes(back);
        let tan = (0.5 * camera.fov.clamp(1e-3, 179.0)).to_radians().tan();
        let aspect = width as f64 / height.max(1) as f64;
        Self {
            position: (camera.position - origin).as_vec3(),
            right: (x * tan * aspect).as_vec3(),
            up: (y * tan).as_vec3(),
            forward: (-back).as_vec3(),
            size: [width as f32, height as f32],
        }
    }

    /// The ray through a point of the picture, in pixels from its upper left corner.
    pub fn ray(&self, x: f32, y: f32) -> Ray {
        let (u, v) = (2.0 * x / self.size[0] - 1.0, 1.0 - 2.0 * y / self.size[1]);
        let d = (self.forward + u * self.right + v * self.up).normalize_or(self.forward);
        Ray::new(self.position, d, 0.0)
    }

    /// Angle of a pixel, rad.
    pub fn pixel(&self) -> f32 {
        2.0 * self.up.length() / self.size[1].max(1.0)
    }

    /// Direction in which it looks.
    pub fn forward(&self) -> Vec3 {
        self.forward
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_framed_scene_is_wholly_within_the_picture_and_fills_it(
            c in (-10f64..10.0, -10f64..10.0, -10f64..10.0),
            s in (0.01f64..5.0, 0.01f64..5.0, 0.01f64..5.0),
            aspect in 0.5f64..2.5,
        ) {
            let (c, s) = (DVec3::from(c), DVec3::from(s));
            let b = Aabb::new(c - s, c + s);
            let camera = framing(b, aspect);
            let mut most = 0f64;
            for corner in corners(b) {
                let [x, y] = project(&camera, aspect, corner).expect("in front of the camera");
                prop_assert!(x.abs() < 0.95 && y.abs() < 0.95, "{x} {y}");
                most = most.max(x.abs()).max(y.abs());
            }
            prop_assert!(most > 0.8, "much room is left: {most}");
        }
    }

    #[test]
    fn bounds_that_are_not_finite_still_give_a_camera() {
        for b in [Aabb::EMPTY, Aabb::new(DVec3::NAN, DVec3::ONE), Aabb::new(DVec3::ZERO, DVec3::ZERO)] {
            let camera = framing(b, 1.6);
            assert!(camera.position.is_finite() && camera.position != camera.target);
        }
    }

    #[test]
    fn the_ray_of_a_pixel_passes_through_what_projects_there() {
        let camera = Camera { position: DVec3::new(3.0, 2.0, 4.0), target: DVec3::ONE, fov: 40.0 };
        let p = DVec3::new(0.5, 1.2, 0.3);
        let [x, y] = project(&camera, 1.5, p).unwrap();
        let eye = Eye::new(&camera, DVec3::ZERO, 300, 200);
        let ray = eye.ray((0.5 + 0.5 * x as f32) * 300.0, (0.5 - 0.5 * y as f32) * 200.0);
        let away = (p - camera.position).as_vec3();
        assert!(ray.direction.cross(away).length() < 1e-4);
    }
}
