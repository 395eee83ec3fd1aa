//! What stands around the fluid in a picture: walls, floor, camera and the looks of the fluids. Made once from a
//! scene; the writers of whole scenes need it.

use glam::{DAffine3, DVec3};

use super::tessellate;
use crate::scene::aabb::Aabb;
use crate::scene::{Boundary, Camera, Inside, Motion, Scene};
use crate::surface::Surface;
use crate::walls;

/// Refractive index of water.
pub(super) const WATER_IOR: f64 = 1.333;
/// Refractive index of window glass.
pub(super) const GLASS_IOR: f64 = 1.52;

/// Colours of fluids that name none, linear RGB: water first, then such that are told apart from it.
const PALETTE: [[f64; 3]; 4] = [[0.1, 0.4, 0.65], [0.85, 0.55, 0.1], [0.7, 0.15, 0.2], [0.25, 0.6, 0.25]];

/// What stands around the fluid.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Title of the scene.
    pub title: String,
    /// Frames per simulated second.
    pub frame_rate: f64,
    /// Walls, in the order of the scene file.
    pub walls: Vec<StageWall>,
    /// The inner faces of the domain's walls; empty in open space. A guide, not a thing to render: it lies on the
    /// fluid's own faces.
    pub room: Surface,
    /// Looks of the fluids, by their number.
    pub fluids: Vec<Look>,
    /// Where the picture is taken from.
    pub camera: Camera,
    /// Height of the floor, m.
    pub floor: f64,
    /// The box around all that the scene tells of before it runs.
    pub bounds: Aabb,
}

/// A wall as triangles.
#[derive(Clone, Debug)]
pub struct StageWall {
    /// Its name.
    pub name: String,
    /// Its faces before its motion begins.
    pub mesh: Surface,
    /// Whether it is to be seen through: containers are.
    pub glass: bool,
    motion: Motion,
}

/// How a fluid looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Its name.
    pub name: String,
    /// Its colour in a body as deep as [`Stage::depth`], linear RGB 0..1.
    pub color: [f64; 3],
}

impl StageWall {
    /// Whether it moves during the run.
    pub fn moves(&self) -> bool {
        self.motion != Motion::default()
    }

    /// Where it is at `time` (s): moves the points of `mesh`.
    pub fn pose(&self, time: f64) -> DAffine3 {
        walls::placement(&self.motion, time)
    }

    /// Its faces at `time` (s).
    pub fn mesh_at(&self, time: f64) -> Surface {
        let mut mesh = self.mesh.clone();
        if self.moves() {
            let pose = self.pose(time);
            let double = |p: [f32; 3]| DVec3::from(p.map(f64::from));
            for p in &mut mesh.position {
                *p = pose.transform_point3(double(*p)).as_vec3().to_array();
            }
            for n in &mut mesh.normal {
                *n = pose.transform_vector3(double(*n)).as_vec3().to_array();
            }
        }
        mesh
    }
}

impl Stage {
    /// The stage of a scene.
    pub fn new(scene: &Scene) -> Self {
        let support = scene.model.support();
        let wall = |b: &Boundary| StageWall {
            name: b.name.clone(),
            mesh: tessellate::wall(b, 2.0 * support),
            glass: b.inside == Inside::Hollow || b.clear,
            motion: b.motion.clone(),
        };
        let room = scene.domain.as_ref().map_or_else(Surface::default, |d| {
            let closed = |axis: usize, upper| !d.periodic[axis] && !d.open.contains(&(axis, upper));
            tessellate::room(d.min, d.max, closed)
        });
        let look = |(i, fluid): (usize, &crate::scene::Fluid)| Look {
            name: fluid.name.clone(),
            color: fluid.color.unwrap_or(PALETTE[i % PALETTE.len()]),
        };
        let bounds = bounds(scene);
        Stage {
            title: scene.title.clone(),
            frame_rate: scene.time.frame_rate,
            walls: scene.boundaries.iter().map(wall).collect(),
            room,
            fluids: scene.fluids.iter().enumerate().map(look).collect(),
            camera: scene.camera.clone().unwrap_or_else(|| framing(&bounds)),
            floor: bounds.min.y,
            bounds,
        }
    }

    /// A stage of nothing but floor and camera around a box, for surfaces without a scene.
    pub fn around(bounds: Aabb) -> Self {
        Stage {
            title: String::new(),
            frame_rate: 60.0,
            walls: Vec::new(),
            room: Surface::default(),
            fluids: Vec::new(),
            camera: framing(&bounds),
            floor: bounds.min.y,
            bounds,
        }
    }

    /// Number of the material of a fluid: its own, or the last where a surface has more fluids than the stage.
    pub(super) fn material(&self, fluid: u8) -> usize {
        usize::from(fluid).min(self.materials() - 1)
    }

    /// Number of materials of fluids; at least 1.
    pub(super) fn materials(&self) -> usize {
        self.fluids.len().max(1)
    }

    /// The look of a fluid; those beyond the list look like water.
    pub fn look(&self, fluid: u8) -> Look {
        self.fluids
            .get(fluid as usize)
            .cloned()
            .unwrap_or_else(|| Look { name: "water".into(), color: PALETTE[0] })
    }

    /// The depth at which a fluid shows its colour, m.
    pub fn depth(&self) -> f64 {
        0.25 * self.bounds.size().max_element().max(1e-6)
    }

    /// Unit vector to the sun: from behind the camera's left shoulder, high.
    pub(super) fn sun(&self) -> DVec3 {
        let back = (self.camera.position - self.camera.target).with_y(0.0).normalize_or(DVec3::Z);
        let left = back.cross(DVec3::Y);
        (0.5 * back + 0.6 * left + 1.2 * DVec3::Y).normalize()
    }

    /// Half the edge of the floor, m: to the horizon as far as a picture shows it.
    pub(super) fn floor_reach(&self) -> f64 {
        100.0 * self.bounds.size().max_element().max(1e-6)
    }
}

/// A stage around a box of 1 m.
impl Default for Stage {
    fn default() -> Self {
        Stage::around(Aabb::new(DVec3::ZERO, DVec3::ONE))
    }
}

fn bounds(scene: &Scene) -> Aabb {
    let mut bounds = Aabb::EMPTY;
    if let Some(domain) = &scene.domain {
        bounds = bounds.union(Aabb::new(domain.min, domain.max));
    }
    let fluids = scene.fluids.iter().filter_map(|f| f.shape.as_ref());
    let shapes = fluids
        .chain(scene.boundaries.iter().map(|b| &b.shape))
        .chain(scene.solids.iter().map(|s| &s.shape))
        .chain(scene.emitters.iter().map(|e| &e.shape));
    for shape in shapes {
        bounds = bounds.union(shape.bounds());
    }
    if bounds.is_empty() { Aabb::new(DVec3::ZERO, DVec3::ONE) } else { bounds }
}

/// A camera that has the whole box in view, from the front, a little from the right and above.
fn framing(bounds: &Aabb) -> Camera {
    let fov: f64 = 36.0;
    let radius = (0.5 * bounds.size().length()).max(1e-6);
    let distance = radius / (0.5 * fov).to_radians().sin();
    let direction = DVec3::new(0.35, 0.3, 1.0).normalize();
    Camera { position: bounds.center() + distance * direction, target: bounds.center(), fov }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::builtin;

    #[test]
    fn every_built_in_scene_has_a_whole_stage_with_the_scene_in_view() {
        for name in builtin::BUILTIN.iter().map(|b| b.name) {
            let scene = Scene::load(name, &[]).unwrap().scene;
            let stage = Stage::new(&scene);
            for wall in &stage.walls {
                crate::export::mesh::check(&wall.mesh).unwrap();
                assert!(!wall.mesh.triangles.is_empty(), "{name}");
                assert_eq!(wall.mesh.normal.len(), wall.mesh.position.len());
            }
            let camera = framing(&stage.bounds);
            let look = (camera.target - camera.position).normalize();
            let half = (0.5 * camera.fov).to_radians();
            for k in 0..8u32 {
                let corner = DVec3::from_array(std::array::from_fn(|axis| {
                    if k >> axis & 1 == 1 { stage.bounds.max[axis] } else { stage.bounds.min[axis] }
                }));
                let angle = (corner - camera.position).normalize().dot(look).acos();
                assert!(angle <= half + 1e-9, "{name}: {angle} {half}");
            }
            assert!(stage.sun().y > 0.5);
        }
    }

    #[test]
    fn a_moving_wall_goes_where_its_motion_takes_it() {
        let text = r#"
            model = { spacing = 0.1 }
            [[fluid]]
            name = "water"
            shape = { box = { min = [0, 0, 0], max = [0.5, 0.5, 0.5] } }
            [[boundary]]
            shape = { box = { min = [1, 0, 0], max = [2, 1, 1] } }
            motion = { rotate = { center = [1, 0, 0], axis = [0, 1, 0], speed = 1.5707963267948966 } }
        "#;
        let files = &crate::scene::files::NoFiles;
        let scene = Scene::parse_with(text, "a.toml", std::path::Path::new("."), &[], files).unwrap().scene;
        let wall = &Stage::new(&scene).walls[0];
        assert!(wall.moves());
        // A quarter turn about y: x becomes -z.
        let turned = wall.mesh_at(1.0);
        let (low, high) = crate::export::mesh::extent(&turned.position);
        let near = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(near(low, [1.0, 0.0, -1.0]) && near(high, [2.0, 1.0, 0.0]), "{low:?} {high:?}");
    }
}
