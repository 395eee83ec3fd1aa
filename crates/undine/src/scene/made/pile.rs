//! A heap of rocks, one after the other laid into the deepest hollow it finds. No two of them touch: a hair of room is
//! left between, so that all of them are one mesh with a clear inside and outside.

use glam::{DVec2, DVec3};

use super::noise::Random;
use super::rock::Rock;
use crate::scene::aabb::Aabb;
use crate::scene::mesh::TriMesh;
use crate::scene::shape::Heightfield;

/// Places that are tried for each rock.
const TRIES: usize = 24;
/// Rocks are smaller than the balls around them: at first they are laid as if they were balls this share as large.
const CLOSE: f64 = 0.82;
/// Room between rocks, × the smaller radius: more than the chords of their meshes stand out of them.
const GAP: f64 = 0.03;
/// Subdivisions of the meshes.
const DETAIL: u32 = 3;

/// A heap of rocks in a box, highest in its middle; on a ground, a ridge along the longer side of the box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pile {
    /// Lowest corner of the box, m; without ground the heap lies on its floor.
    pub min: DVec3,
    /// Highest corner, m. No rock leaves the box sideways or at the top.
    pub max: DVec3,
    /// Smallest and largest radius of a rock, m.
    pub radius: [f64; 2],
    /// Most rocks; those that find no room are left out.
    pub count: usize,
    /// Which of all such heaps.
    pub seed: u64,
    /// From balls (0) to edged rocks (1).
    pub roughness: f64,
}

impl Pile {
    /// The rocks at their places, resting on the ground, on the floor of the box, or on each other.
    pub fn rocks(&self, ground: Option<&Heightfield>) -> Vec<Rock> {
        let mut random = Random::new(self.seed, 2);
        let mut rocks: Vec<Rock> = Vec::new();
        for _ in 0..self.count {
            let r = random.between(self.radius[0], self.radius[1]);
            let seed = random.bits();
            let mut best: Option<DVec3> = None;
            for _ in 0..TRIES {
                let start = DVec2::new(random.unit(), random.unit());
                let Some(at) = self.settle(start, r, &rocks, ground) else { continue };
                if self.has_room(at, r, ground.is_some()) && best.is_none_or(|b| at.y < b.y) {
                    best = Some(at);
                }
            }
            let Some(at) = best else { continue };
            let top = self.rest(at.x, at.z, r, 1.0, &rocks, ground);
            let rock = Rock::new(DVec3::new(at.x, top, at.z), r, seed, self.roughness);
            let rock = lower(rock, &rocks, self.floor(at, r, ground));
            if rock.center.y + r <= self.max.y {
                rocks.push(rock);
            }
        }
        rocks
    }

    /// The whole heap as one mesh; `None` when no rock found room.
    pub fn mesh(&self, ground: Option<&Heightfield>) -> Option<TriMesh> {
        let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
        for rock in self.rocks(ground) {
            let first = vertices.len() as u32;
            let (corners, faces) = rock.parts(DETAIL);
            vertices.extend(corners);
            triangles.extend(faces.into_iter().map(|t| t.map(|i| i + first)));
        }
        (!triangles.is_empty()).then(|| TriMesh::from_parts(&vertices, triangles))
    }

    /// Lets a ball down at a place of the box (shares 0..1 of its width and depth) and rolls it downhill.
    fn settle(&self, share: DVec2, r: f64, rocks: &[Rock], ground: Option<&Heightfield>) -> Option<DVec3> {
        let (low, high) = (self.min + r, self.max - r);
        if low.x > high.x || low.z > high.z {
            return None;
        }
        let inside = |x: f64, z: f64| (x.clamp(low.x, high.x), z.clamp(low.z, high.z));
        let (mut x, mut z) = (low.x + share.x * (high.x - low.x), low.z + share.y * (high.z - low.z));
        let height = |x: f64, z: f64| self.rest(x, z, r, CLOSE, rocks, ground);
        let mut y = height(x, z);
        let mut step = 0.5 * r;
        while step > 0.03 * r {
            let around = [(step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)];
            let lower = around
                .map(|(dx, dz)| inside(x + dx, z + dz))
                .map(|(x, z)| (height(x, z), x, z))
                .into_iter()
                .reduce(|a, b| if b.0 < a.0 { b } else { a });
            match lower {
                Some((lower, nx, nz)) if lower < y => (y, x, z) = (lower, nx, nz),
                _ => step *= 0.5,
            }
        }
        Some(DVec3::new(x, y, z))
    }

    /// Height of the middle of a ball that is let down upon the ground and the balls around the rocks, all of them
    /// taken `share` as large against each other.
    fn rest(&self, x: f64, z: f64, r: f64, share: f64, rocks: &[Rock], ground: Option<&Heightfield>) -> f64 {
        let floor = self.floor(DVec3::new(x, 0.0, z), r, ground);
        rocks.iter().fold(floor, |y, rock| {
            let reach = share * (r + rock.radius);
            let d2 = (x - rock.center.x).powi(2) + (z - rock.center.z).powi(2);
            if d2 < reach * reach { y.max(rock.center.y + (reach * reach - d2).sqrt()) } else { y }
        })
    }

    /// Height of the middle of a ball that lies on the ground; a little sunk in, so that it has a bed.
    fn floor(&self, p: DVec3, r: f64, ground: Option<&Heightfield>) -> f64 {
        let Some(ground) = ground else { return self.min.y + r };
        let sunk = 0.8 * r;
        // Under its middle and at three quarters of its way out.
        let ring = 0.75 * sunk;
        let lift = (sunk * sunk - ring * ring).sqrt();
        let around = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)];
        around.iter().fold(ground.height(p.x, p.z) + sunk, |y, (dx, dz)| {
            y.max(ground.height(p.x + ring * dx, p.z + ring * dz) + lift)
        })
    }

    /// Whether a ball is below the top of the heap, which sinks from the middle of the box to its rim. A ridge sinks to
    /// its long sides only.
    fn has_room(&self, at: DVec3, r: f64, ridge: bool) -> bool {
        let half = 0.5 * (self.max - self.min);
        let out = ((at - self.min - half) / (half - r).max(DVec3::splat(1e-300))).abs();
        let out = match ridge {
            false => out.x.max(out.z),
            true if half.x < half.z => out.x,
            true => out.z,
        };
        let height = 2.0 * half.y * (1.0 - 0.55 * out * out);
        at.y + r <= self.min.y + height.max(2.0 * r)
    }
}

/// Lets a rock that lies as if it and all others were balls down upon their true surfaces.
fn lower(mut rock: Rock, others: &[Rock], floor: f64) -> Rock {
    let r = rock.radius;
    let reach = Aabb::new(rock.center.with_y(floor), rock.center);
    let near: Vec<(&Rock, Vec<DVec3>)> = others
        .iter()
        .filter(|other| reach.grow(r + (1.0 + GAP) * other.radius).contains(other.center))
        .map(|other| (other, other.parts(DETAIL).0))
        .collect();
    let own: Vec<DVec3> = {
        let (corners, _) = rock.parts(DETAIL);
        corners.into_iter().map(|v| v - rock.center).collect()
    };
    let meets = |rock: &Rock| {
        near.iter().any(|(other, corners)| {
            let gap = GAP * r.min(other.radius);
            own.iter().any(|v| other.covers(rock.center + *v, gap))
                || corners.iter().any(|v| rock.covers(*v, gap))
        })
    };
    // First by large steps, then by small ones; even the large ones are too short to pass through a rock.
    for step in [0.16 * r, 0.04 * r] {
        while rock.center.y - step >= floor {
            rock.center.y -= step;
            if meets(&rock) {
                rock.center.y += step;
                break;
            }
        }
    }
    rock
}
