//! A dragon: bones with flesh around them, two wings of skin, all melted together and made a mesh.

use std::sync::OnceLock;

use glam::DVec3;

use super::implicit::{polygonize, smooth};
use crate::scene::aabb::Aabb;
use crate::scene::mesh::TriMesh;
use crate::scene::triangle::nearest_point;

/// Cell of the mesh, in the units of the plan below (the dragon is about 2.6 long).
const CELL: f64 = 0.038;
/// Over which distance parts melt into each other.
const MELT: f64 = 0.06;
/// Half the thickness of the wings.
const SKIN: f64 = 0.034;

/// Along the back from the tip of the tail to the snout: x (forward), y (up), z (to its left), radius.
const SPINE: [[f64; 4]; 15] = [
    [-1.22, 0.30, -0.62, 0.030],
    [-1.40, 0.14, -0.36, 0.042],
    [-1.34, 0.10, -0.08, 0.058],
    [-1.08, 0.14, 0.10, 0.078],
    [-0.80, 0.27, 0.10, 0.105],
    [-0.54, 0.43, 0.03, 0.150],
    [-0.28, 0.53, 0.00, 0.205],
    [0.00, 0.55, 0.00, 0.215],
    [0.24, 0.61, 0.00, 0.205],
    [0.42, 0.77, 0.00, 0.150],
    [0.47, 0.97, 0.02, 0.110],
    [0.50, 1.15, 0.03, 0.095],
    [0.62, 1.29, 0.05, 0.100],
    [0.78, 1.30, 0.09, 0.098],
    [1.00, 1.21, 0.14, 0.062],
];

/// One side's limbs: chains of (x, y, z, radius); the other side is their mirror image.
const LIMBS: [&[[f64; 4]]; 7] = [
    // Hind leg and toes.
    &[
        [-0.30, 0.47, 0.14, 0.150],
        [-0.14, 0.30, 0.24, 0.095],
        [-0.36, 0.15, 0.25, 0.062],
        [-0.22, 0.05, 0.26, 0.055],
    ],
    &[[-0.24, 0.05, 0.26, 0.050], [-0.08, 0.035, 0.21, 0.035]],
    &[[-0.24, 0.05, 0.26, 0.050], [-0.08, 0.035, 0.33, 0.035]],
    // Front leg and toes.
    &[
        [0.27, 0.56, 0.14, 0.120],
        [0.22, 0.32, 0.23, 0.075],
        [0.34, 0.14, 0.23, 0.056],
        [0.40, 0.05, 0.23, 0.052],
    ],
    &[[0.40, 0.05, 0.23, 0.048], [0.53, 0.035, 0.18, 0.034]],
    &[[0.40, 0.05, 0.23, 0.048], [0.53, 0.035, 0.29, 0.034]],
    // The bones of the wing up to its wrist.
    &[[0.12, 0.72, 0.10, 0.075], [-0.02, 1.02, 0.34, 0.060], [0.10, 1.32, 0.58, 0.052]],
];

/// Joints of a wing: shoulder, elbow, wrist, the tips of its fingers, and where its skin meets the back.
const SHOULDER: [f64; 3] = [0.12, 0.72, 0.10];
const ELBOW: [f64; 3] = [-0.02, 1.02, 0.34];
const WRIST: [f64; 3] = [0.10, 1.32, 0.58];
const FINGERS: [[f64; 3]; 3] = [[-0.26, 1.38, 1.12], [-0.62, 1.12, 0.90], [-0.66, 0.90, 0.52]];
const ROOT: [f64; 3] = [-0.30, 0.64, 0.08];

/// The head's own parts, in the middle plane of the head: lower jaw, horns and ears follow its turn.
const JAW: [[f64; 4]; 2] = [[0.70, 1.21, 0.08, 0.062], [0.92, 1.06, 0.13, 0.036]];
const HORNS: [&[[f64; 4]]; 4] = [
    &[[0.68, 1.36, 0.11, 0.045], [0.50, 1.48, 0.15, 0.036], [0.36, 1.50, 0.16, 0.030]],
    &[[0.68, 1.36, 0.01, 0.045], [0.50, 1.48, -0.05, 0.036], [0.36, 1.50, -0.07, 0.030]],
    &[[0.96, 1.27, 0.165, 0.030], [0.97, 1.305, 0.17, 0.028]],
    &[[0.96, 1.27, 0.100, 0.030], [0.97, 1.305, 0.09, 0.028]],
];

/// The dragon: 1 m from tail to snout, standing on y = 0 about the y axis, looking along +x. Closed and in one piece.
pub fn dragon() -> &'static TriMesh {
    static DRAGON: OnceLock<TriMesh> = OnceLock::new();
    DRAGON.get_or_init(|| {
        let plan = Plan::new();
        let (mut vertices, triangles) = polygonize(plan.bounds(), CELL, |p| plan.distance(p));
        smooth(&mut vertices, &triangles, 3);
        let Aabb { min, max } = Aabb::around(vertices.iter().copied());
        let foot = DVec3::new(0.5 * (min.x + max.x), min.y, 0.5 * (min.z + max.z));
        vertices.iter_mut().for_each(|v| *v = (*v - foot) / (max.x - min.x));
        TriMesh::from_parts(&vertices, triangles)
    })
}

/// Two joints with the flesh between them: a cone with round ends.
#[derive(Clone, Copy)]
struct Bone {
    from: DVec3,
    to: DVec3,
    radius: [f64; 2],
}

impl Bone {
    fn new(a: [f64; 4], b: [f64; 4]) -> Self {
        let at = |p: [f64; 4]| DVec3::new(p[0], p[1], p[2]);
        Self { from: at(a), to: at(b), radius: [a[3], b[3]] }
    }

    fn distance(&self, p: DVec3) -> f64 {
        let (along, away) = (self.to - self.from, p - self.from);
        let t = (away.dot(along) / along.length_squared()).clamp(0.0, 1.0);
        (away - t * along).length() - (self.radius[0] + (self.radius[1] - self.radius[0]) * t)
    }
}

/// Parts that melt into each other, and the crest, which keeps its edges.
struct Plan {
    bones: Vec<Bone>,
    skins: Vec<[DVec3; 3]>,
    crest: Vec<Bone>,
}

impl Plan {
    fn new() -> Self {
        let spine = curve(&SPINE);
        let mut bones = chain(&spine);
        bones.push(Bone::new(JAW[0], JAW[1]));
        HORNS.iter().for_each(|horn| bones.extend(chain(horn)));
        let mut skins = Vec::new();
        for side in [1.0, -1.0] {
            let mirror = |[x, y, z, r]: [f64; 4]| [x, y, side * z, r];
            let at = |[x, y, z]: [f64; 3]| DVec3::new(x, y, side * z);
            for limb in LIMBS {
                bones.extend(chain(&limb.iter().map(|j| mirror(*j)).collect::<Vec<_>>()));
            }
            let [shoulder, elbow, wrist, root] = [SHOULDER, ELBOW, WRIST, ROOT].map(at);
            let tips = FINGERS.map(at);
            for tip in tips {
                bones.push(Bone { from: wrist, to: tip, radius: [0.048, 0.034] });
            }
            // Between two fingers the skin hangs in: towards the wrist at the middle of its rim.
            let web = |a: DVec3, b: DVec3, hub: DVec3| {
                let rim = 0.5 * (a + b) + 0.22 * (hub - 0.5 * (a + b));
                [[hub, a, rim], [hub, rim, b]]
            };
            skins.extend(web(tips[0], tips[1], wrist));
            skins.extend(web(tips[1], tips[2], wrist));
            skins.push([wrist, tips[2], elbow]);
            skins.extend(web(tips[2], root, elbow));
            skins.push([elbow, root, shoulder]);
        }
        // Spikes on the back, less towards the tail and the head.
        let crest = (8..spine.len() - 12).step_by(4).map(|i| {
            let [x, y, z, r] = spine[i];
            let back = DVec3::from_slice(&spine[i][..3]) - DVec3::from_slice(&spine[i + 1][..3]);
            let up = (DVec3::Y - back * back.y / back.length_squared()).normalize_or(DVec3::Y);
            let base = DVec3::new(x, y, z) + 0.7 * r * up;
            let tip = base + (0.55 * r + 0.075) * up + 0.06 * back.normalize_or_zero();
            Bone { from: base, to: tip, radius: [0.03 + 0.2 * r, 0.024] }
        });
        // The end of the tail is a blade.
        let [tail, before] = [spine[0], spine[1]].map(|p| DVec3::from_slice(&p[..3]));
        let out = (tail - before).normalize_or(DVec3::NEG_X);
        let wide = out.cross(DVec3::Y).normalize_or(DVec3::Z);
        skins.push([tail + 0.17 * out, tail + 0.085 * wide - 0.03 * out, tail - 0.085 * wide - 0.03 * out]);
        Self { bones, skins, crest: crest.collect() }
    }

    fn bounds(&self) -> Aabb {
        let bones = self.bones.iter().chain(&self.crest).flat_map(|b| [b.from, b.to]);
        Aabb::around(bones.chain(self.skins.iter().flatten().copied())).grow(0.35)
    }

    /// About the distance to its surface; a little less where parts melt together.
    fn distance(&self, p: DVec3) -> f64 {
        let mut d = f64::INFINITY;
        for bone in &self.bones {
            d = melt(d, bone.distance(p), MELT);
        }
        for skin in &self.skins {
            d = melt(d, p.distance(nearest_point(p, *skin).0) - SKIN, 0.5 * MELT);
        }
        for spike in &self.crest {
            d = melt(d, spike.distance(p), 0.3 * MELT);
        }
        d
    }
}

/// The lower of two numbers, with a smooth passage where they differ by less than `width` (Quilez: smooth minimum).
fn melt(a: f64, b: f64, width: f64) -> f64 {
    let h = (width - (a - b).abs()).max(0.0) / width;
    a.min(b) - 0.25 * width * h * h
}

fn chain(joints: &[[f64; 4]]) -> Vec<Bone> {
    joints.windows(2).map(|pair| Bone::new(pair[0], pair[1])).collect()
}

/// A smooth curve through points, four pieces between two (Catmull and Rom 1974).
fn curve(points: &[[f64; 4]]) -> Vec<[f64; 4]> {
    let at = |i: isize| points[i.clamp(0, points.len() as isize - 1) as usize];
    let mut smooth = Vec::new();
    for i in 0..points.len() as isize - 1 {
        let [a, b, c, d] = [at(i - 1), at(i), at(i + 1), at(i + 2)];
        for step in 0..4 {
            let t = 0.25 * f64::from(step);
            smooth.push(std::array::from_fn(|k| {
                let (p, q) = (c[k] - a[k], d[k] - b[k]);
                let e = c[k] - b[k];
                b[k] + t * (0.5 * p + t * (3.0 * e - p - 0.5 * q + t * (0.5 * p + 0.5 * q - 2.0 * e)))
            }));
        }
    }
    smooth.extend(points.last());
    smooth
}
