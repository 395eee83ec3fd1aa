//! Lays a fluid's surface flat against the walls it touches.
//!
//! A surface built from particles stops short of a wall by a fraction of their spacing and is bumpy there. Seen through
//! glass that looks like a gap of air; on the floor it would even mirror. So corners that face a near wall are moved
//! onto it: just short of a pane, just into glass (which displaces the fluid), and into solids and ground.

use glam::DVec3;
use rayon::prelude::*;

use super::View;
use super::pose::Pose;
use crate::scene::Inside;
use crate::surface::Surface;

/// Distances of the wall, × spacing, up to which the surface is laid against it all the way, and up to which at all.
const REACH: [f64; 2] = [0.9, 1.3];
/// Cosines between the surface's and the wall's normal from which on it is laid against it at all, and all the way.
/// Between the two the surface bends towards the wall: a step there would be seen as the teeth of its triangles.
const FACING: [f64; 2] = [0.15, 0.45];

/// Positions and normals of a surface after it has been laid against the walls.
pub fn cling(surface: &Surface, view: &View) -> (Vec<DVec3>, Vec<DVec3>) {
    let position: Vec<DVec3> = surface.position.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect();
    let normal = if surface.normal.len() == position.len() {
        surface.normal.iter().map(|n| DVec3::from_array(n.map(f64::from)).normalize_or_zero()).collect()
    } else {
        corner_normals(&position, &surface.triangles)
    };
    let spacing = view.frame.spacing;
    if !(spacing > 0.0 && spacing.is_finite()) {
        return (position, normal);
    }
    let reach = REACH[1] * spacing;
    let Some(scene) = view.scene else {
        return on_ground(position, normal, super::compose::extent(view).min.y, reach, spacing);
    };
    let poses: Vec<Pose> = scene.boundaries.iter().map(|b| Pose::new(&b.motion, view.frame.time)).collect();
    let lay = |(mut p, mut n): (DVec3, DVec3)| {
        let free = n;
        for (wall, pose) in scene.boundaries.iter().zip(&poses) {
            let hollow = wall.inside == Inside::Hollow;
            let Some(near) = wall.shape.nearest_in_band(pose.to_body(p), reach) else { continue };
            let out = pose.turn() * near.normal;
            // The fluid is inside a hollow and outside a solid.
            let towards = if hollow { out } else { -out };
            let gap = if hollow { -near.distance } else { near.distance };
            let share = share(free.dot(towards), gap / spacing);
            if share > 0.0 {
                let into = if hollow { 0.1 * spacing } else { -0.15 * spacing };
                p += share * (into - near.distance) * out;
                n = n.lerp(towards, share).normalize_or(towards);
            }
        }
        if let Some(d) = &scene.domain {
            for axis in 0..3 {
                for upper in [false, true] {
                    if d.periodic[axis] || d.open.contains(&(axis, upper)) {
                        continue;
                    }
                    let (face, sign) = if upper { (d.max[axis], 1.0) } else { (d.min[axis], -1.0) };
                    let share = share(free[axis] * sign, (face - p[axis]) * sign / spacing);
                    if share > 0.0 {
                        let floor = axis == 1 && !upper;
                        let to = face + sign * spacing * if floor { 0.25 } else { -0.02 };
                        p[axis] += share * (to - p[axis]);
                        let mut towards = DVec3::ZERO;
                        towards[axis] = sign;
                        n = n.lerp(towards, share).normalize_or(towards);
                    }
                }
            }
        }
        (p, n)
    };
    position.into_par_iter().zip(normal).map(lay).unzip()
}

/// How far towards a wall the surface is laid, 0 to 1: by the cosine between the normals and the gap in spacings.
fn share(facing: f64, gap: f64) -> f64 {
    let ramp = |[from, to]: [f64; 2], x: f64| {
        let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    };
    ramp(FACING, facing) * (1.0 - ramp(REACH, gap))
}

/// Without a scene the ground is as low as the fluid: what faces it there is sunk into it.
fn on_ground(
    mut position: Vec<DVec3>,
    mut normal: Vec<DVec3>,
    level: f64,
    reach: f64,
    spacing: f64,
) -> (Vec<DVec3>, Vec<DVec3>) {
    for (p, n) in position.iter_mut().zip(&mut normal) {
        if p.y - level < reach && n.y < -FACING[1] {
            (p.y, *n) = (level - 0.25 * spacing, DVec3::NEG_Y);
        }
    }
    (position, normal)
}

/// Normals at corners from the faces around them, weighted by area.
fn corner_normals(position: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normal = vec![DVec3::ZERO; position.len()];
    for t in triangles.iter().filter(|t| t.iter().all(|i| (*i as usize) < position.len())) {
        let [a, b, c] = t.map(|i| position[i as usize]);
        let n = (b - a).cross(c - a);
        if n.is_finite() {
            t.iter().for_each(|&i| normal[i as usize] += n);
        }
    }
    normal.into_iter().map(DVec3::normalize_or_zero).collect()
}
