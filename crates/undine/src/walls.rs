//! Walls as every model sees them: distance, normal and velocity at a place, and push-out-and-reflect.

mod body;
mod boxes;
mod collide;
mod sample;
#[cfg(test)]
mod tests;

use glam::{DAffine3, DMat3, DVec3};

use crate::neighbors::Period;
use crate::scene::aabb::Aabb;
use crate::scene::{Boundary, Domain, Kernels, ModelKind, Motion, Rotate, Scene, Slip, Translate, WallKind};

pub(crate) use self::body::Body;
use self::boxes::Boxes;
pub use self::sample::{Sample, SampleError, WallSamples};

/// A wall near a place.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    /// Signed distance to it, m; negative inside the solid.
    pub distance: f64,
    /// Unit vector from the wall into the fluid.
    pub normal: DVec3,
    /// Velocity of the wall there, m/s.
    pub velocity: DVec3,
    /// Tangential behaviour.
    pub slip: Slip,
    /// Whether it has boundary particles.
    pub sampled: bool,
}

/// Whether a wall has boundary particles. By default those have them to which fluid sticks; along smooth walls it slips,
/// and particles are rough: water in a glass of them stopped swirling.
pub fn is_sampled(scene: &Scene, slip: Slip, adhesion: f64) -> bool {
    let sph = &scene.model.sph;
    scene.model.kind == ModelKind::Sph
        && sph.kernels == Kernels::Conservative
        && match sph.walls {
            WallKind::Particles => slip == Slip::NoSlip || adhesion != 0.0,
            WallKind::EvolvedDensity | WallKind::LennardJones => true,
            WallKind::Layers => false,
        }
}

/// How a point of a wall moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct PointMotion {
    /// Velocity, m/s.
    pub velocity: DVec3,
    /// Acceleration, m/s².
    pub acceleration: DVec3,
}

/// One wall and its pose.
#[derive(Clone, Debug)]
struct Wall {
    body: Body,
    motion: Motion,
    slip: Slip,
    sampled: bool,
    /// Body frame → world: p = turn·(q - centre) + centre + shift.
    turn: DMat3,
    centre: DVec3,
    shift: DVec3,
    spin: DVec3,
    velocity: DVec3,
    /// Of the translation, m/s².
    acceleration: DVec3,
    /// World bounds at this pose, and those grown by the kernel support h.
    bounds: Aabb,
    reach: Aabb,
    h: f64,
    /// How thick it is at least, m.
    thickness: f64,
    period: Option<Period>,
}

impl Wall {
    fn new(b: &Boundary, h: f64, period: Option<Period>, sampled: bool) -> Self {
        let thickness = b.thickness.unwrap_or(2.0 * h);
        let body = Body::new(b, thickness);
        let bounds = body.bounds();
        let mut wall = Wall {
            motion: b.motion.clone(),
            slip: b.slip,
            sampled,
            turn: DMat3::IDENTITY,
            centre: b.motion.rotate.as_ref().map_or(DVec3::ZERO, |r| r.center),
            shift: DVec3::ZERO,
            spin: DVec3::ZERO,
            velocity: DVec3::ZERO,
            acceleration: DVec3::ZERO,
            bounds,
            reach: bounds.grow(h),
            h,
            thickness: body.thickness(THIN_MESH * h),
            body,
            period,
        };
        wall.pose(0.0);
        wall
    }

    fn moves(&self) -> bool {
        self.motion != Motion::default()
    }

    fn pose(&mut self, time: f64) {
        if let Some(r) = &self.motion.rotate {
            let (angle, speed) = angle_at(r, time);
            self.turn = DMat3::from_axis_angle(r.axis, angle);
            self.spin = r.axis * speed;
        }
        if let Some(t) = &self.motion.translate {
            (self.shift, self.velocity) = shift_at(t, time);
            let w = std::f64::consts::TAU * t.frequency;
            let swings = time >= t.start && time < t.stop;
            self.acceleration = if swings { -w * w * self.shift } else { DVec3::ZERO };
        }
        if self.moves() {
            // World box around the turned box.
            let b = self.body.bounds();
            let (c, e) = ((b.min + b.max) * 0.5, (b.max - b.min) * 0.5);
            let c = self.to_world(c);
            let abs =
                DMat3::from_cols(self.turn.x_axis.abs(), self.turn.y_axis.abs(), self.turn.z_axis.abs());
            let e = abs * e;
            self.bounds = Aabb { min: c - e, max: c + e };
            self.reach = self.bounds.grow(self.h);
        }
    }

    fn to_world(&self, q: DVec3) -> DVec3 {
        self.turn * (q - self.centre) + self.centre + self.shift
    }

    fn to_body(&self, p: DVec3) -> DVec3 {
        self.turn.transpose() * (p - self.centre - self.shift) + self.centre
    }

    fn velocity_at(&self, p: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(p - self.centre - self.shift)
    }

    /// At most, of any of its points, m/s.
    fn fastest(&self) -> f64 {
        let centre = self.centre + self.shift;
        let farthest = (self.bounds.max - centre).abs().max((self.bounds.min - centre).abs());
        self.velocity.length() + self.spin.length() * farthest.length()
    }

    /// The image of a place nearest to the wall, where space repeats.
    #[inline]
    fn image(&self, p: DVec3) -> DVec3 {
        let Some(period) = &self.period else { return p };
        let mut q = p;
        for a in (0..3).filter(|a| period.axes[*a]) {
            let length = period.max[a] - period.min[a];
            q[a] -= ((p[a] - 0.5 * (self.bounds.min[a] + self.bounds.max[a])) / length).round() * length;
        }
        q
    }

    /// How far it is at least to its surface, m, up to `reach`; not above 0 inside.
    fn clearance(&self, p: DVec3, reach: f64) -> f64 {
        let p = self.image(p);
        if self.bounds.grow(reach).contains(p) { self.body.clearance(self.to_body(p), reach) } else { reach }
    }

    fn contact(&self, p: DVec3, reach: f64) -> Option<Contact> {
        let p = self.image(p);
        if !self.bounds.grow(reach).contains(p) {
            return None;
        }
        if !self.moves() {
            let n = self.body.nearest_within(p, reach)?;
            return Some(Contact {
                distance: n.distance,
                normal: n.normal,
                velocity: DVec3::ZERO,
                slip: self.slip,
                sampled: self.sampled,
            });
        }
        let n = self.body.nearest_within(self.to_body(p), reach)?;
        Some(Contact {
            distance: n.distance,
            normal: self.turn * n.normal,
            velocity: self.velocity_at(p),
            slip: self.slip,
            sampled: self.sampled,
        })
    }
}

/// Angle (rad) and angular speed (rad/s) of a rotation.
fn angle_at(r: &Rotate, time: f64) -> (f64, f64) {
    let angle = r.speed * (time - r.start).max(0.0);
    match r.angle.filter(|most| angle.abs() >= *most) {
        Some(most) => (most * r.speed.signum(), 0.0),
        None => (angle, if time >= r.start { r.speed } else { 0.0 }),
    }
}

/// Shift (m) and velocity (m/s) of a translation.
fn shift_at(t: &Translate, time: f64) -> (DVec3, DVec3) {
    let along = (time.min(t.stop) - t.start).max(0.0);
    let running = time >= t.start && time < t.stop;
    let w = std::f64::consts::TAU * t.frequency;
    // Oscillation starts from rest position at full speed: x = v/ω sin ωt.
    let (path, speed) = if w > 0.0 { ((w * along).sin() / w, (w * along).cos()) } else { (along, 1.0) };
    (t.velocity * path, if running { t.velocity * speed } else { DVec3::ZERO })
}

/// Where a motion has taken a wall at `time`, s: p ↦ turn·(p - centre) + centre + shift.
pub(crate) fn placement(motion: &Motion, time: f64) -> DAffine3 {
    let (mut turn, mut centre, mut shift) = (DMat3::IDENTITY, DVec3::ZERO, DVec3::ZERO);
    if let Some(r) = &motion.rotate {
        turn = DMat3::from_axis_angle(r.axis, angle_at(r, time).0);
        centre = r.center;
    }
    if let Some(t) = &motion.translate {
        shift = shift_at(t, time).0;
    }
    DAffine3 { matrix3: turn, translation: centre + shift - turn * centre }
}

/// The repeating axes of a scene's domain, if any.
pub fn period(scene: &Scene) -> Option<Period> {
    let d = scene.domain.as_ref().filter(|d| d.periodic.contains(&true))?;
    Some(Period { min: d.min, max: d.max, axes: d.periodic })
}

/// How thin a mesh may be anywhere, × h.
const THIN_MESH: f64 = 0.1;

/// All walls of a scene at one moment.
#[derive(Clone, Debug)]
pub struct Walls {
    domain: Option<Domain>,
    /// (axis, upper end) of the domain's real walls.
    faces: Vec<(usize, bool)>,
    /// No face is nearer than h in here.
    clear: Aabb,
    /// What the closed faces of the domain enclose.
    inside: Aabb,
    walls: Vec<Wall>,
    /// Around each, wherever it is: all of space where it moves or repeats.
    boxes: Boxes,
    /// Whether any has no inside.
    sheets: bool,
    /// Whether the domain's faces have boundary particles.
    sampled_faces: bool,
    /// Whether any body has none.
    unsampled: bool,
    restitution: f64,
}

impl Walls {
    /// The walls of a scene at time 0.
    pub fn new(scene: &Scene) -> Self {
        let h = scene.model.support();
        let faces: Vec<(usize, bool)> = scene.domain.as_ref().map_or(Vec::new(), |d| {
            (0..3)
                .flat_map(|a| [(a, false), (a, true)])
                .filter(|(a, up)| !d.periodic[*a] && !d.open.contains(&(*a, *up)))
                .collect()
        });
        let mut clear = Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
        let mut inside = clear;
        if let Some(d) = &scene.domain {
            for &(a, upper) in &faces {
                if upper {
                    (inside.max[a], clear.max[a]) = (d.max[a], d.max[a] - h);
                } else {
                    (inside.min[a], clear.min[a]) = (d.min[a], d.min[a] + h);
                }
            }
        }
        let sampled = |b: &Boundary| is_sampled(scene, b.slip, b.adhesion);
        let walls: Vec<Wall> =
            scene.boundaries.iter().map(|b| Wall::new(b, h, period(scene), sampled(b))).collect();
        let everywhere = Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
        let stays = |w: &Wall| !w.moves() && w.period.is_none();
        Walls {
            boxes: Boxes::new(walls.iter().map(|w| if stays(w) { w.bounds } else { everywhere })),
            sheets: walls.iter().any(|w| matches!(w.body, Body::Sheet(_))),
            sampled_faces: scene
                .domain
                .as_ref()
                .is_some_and(|d| d.slip == Slip::NoSlip && is_sampled(scene, d.slip, 0.0)),
            unsampled: !scene.boundaries.iter().all(sampled),
            domain: scene.domain.clone(),
            faces,
            clear,
            inside,
            walls,
            restitution: scene.model.sph.restitution,
        }
    }

    /// Greatest speed of any point of a wall now, m/s.
    pub fn fastest(&self) -> f64 {
        self.walls.iter().filter(|w| w.moves()).map(Wall::fastest).fold(0.0, f64::max)
    }

    /// Moves the moving walls to where they are at `time`, s.
    pub fn pose(&mut self, time: f64) {
        self.walls.iter_mut().filter(|w| w.moves()).for_each(|w| w.pose(time));
    }

    /// Whether wall `w` has boundary particles.
    pub fn has_particles(&self, w: usize) -> bool {
        self.walls[w].sampled
    }

    /// Whether any wall ever moves.
    pub fn moves(&self) -> bool {
        self.walls.iter().any(Wall::moves)
    }

    /// Number of walls: faces of the domain and bodies.
    pub fn len(&self) -> usize {
        self.faces.len() + self.walls.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The box in which nothing is beyond a face of the domain.
    pub fn inside(&self) -> &Aabb {
        &self.inside
    }

    /// Whether any wall may be nearer than the kernel support: a quick look that spares most particles the rest.
    #[inline(always)]
    pub fn is_near(&self, p: DVec3) -> bool {
        !self.clear.contains(p) || self.walls.iter().any(|w| w.reach.contains(w.image(p)))
    }

    /// As [`Walls::is_near`], of walls without boundary particles.
    #[inline(always)]
    pub fn is_near_unsampled(&self, p: DVec3) -> bool {
        !self.clear.contains(p) && !self.sampled_faces || self.is_near_unsampled_body(p)
    }

    /// As [`Walls::is_near_unsampled`], for many places (three parallel arrays, m): sets what `out` is to 1 where it is so, else to 0.
    pub fn mark_near_unsampled(&self, at: [&[f64]; 3], out: &mut [u8]) {
        out.fill(0);
        if !self.sampled_faces && self.domain.is_some() {
            for (a, at) in at.into_iter().enumerate() {
                let (min, max) = (self.clear.min[a], self.clear.max[a]);
                for (near, x) in out.iter_mut().zip(at) {
                    *near |= u8::from(!(*x >= min && *x <= max));
                }
            }
        }
        if self.unsampled {
            for (k, near) in out.iter_mut().enumerate() {
                let p = DVec3::new(at[0][k], at[1][k], at[2][k]);
                *near |= u8::from(self.is_near_unsampled_body(p));
            }
        }
    }

    /// Whether a body without boundary particles may be nearer than the kernel support.
    #[inline(always)]
    pub fn is_near_unsampled_body(&self, p: DVec3) -> bool {
        self.unsampled && self.walls.iter().any(|w| !w.sampled && w.reach.contains(w.image(p)))
    }

    /// Where a place in the frame of wall `w` is now.
    pub fn to_world(&self, w: usize, q: DVec3) -> DVec3 {
        self.walls[w].to_world(q)
    }

    /// A direction in the frame of wall `w`, as it points now.
    pub fn turned(&self, w: usize, n: DVec3) -> DVec3 {
        self.walls[w].turn * n
    }

    /// How a place in the frame of wall `w` moves now.
    pub fn motion_at(&self, w: usize, q: DVec3) -> PointMotion {
        let wall = &self.walls[w];
        let p = wall.to_world(q);
        let velocity = wall.velocity_at(p);
        PointMotion { velocity, acceleration: wall.acceleration + wall.spin.cross(velocity - wall.velocity) }
    }

    /// As [`Walls::contacts`], of walls without boundary particles.
    #[inline]
    pub fn unsampled(&self, p: DVec3, reach: f64, mut visit: impl FnMut(&Contact)) {
        if !self.sampled_faces {
            self.faces(p, reach, &mut visit);
        }
        if self.unsampled {
            for wall in self.walls.iter().filter(|w| !w.sampled) {
                if let Some(c) = wall.contact(p, reach) {
                    visit(&c);
                }
            }
        }
    }

    #[inline]
    fn faces(&self, p: DVec3, reach: f64, mut visit: impl FnMut(&Contact)) {
        if let Some(d) = &self.domain {
            for &(a, upper) in &self.faces {
                let distance = if upper { d.max[a] - p[a] } else { p[a] - d.min[a] };
                if distance < reach {
                    let mut normal = DVec3::ZERO;
                    normal[a] = if upper { -1.0 } else { 1.0 };
                    visit(&Contact {
                        distance,
                        normal,
                        velocity: DVec3::ZERO,
                        slip: d.slip,
                        sampled: self.sampled_faces,
                    });
                }
            }
        }
    }

    /// Calls `visit` with each wall nearer than `reach` to a place.
    #[inline]
    pub fn contacts(&self, p: DVec3, reach: f64, mut visit: impl FnMut(&Contact)) {
        self.faces(p, reach, &mut visit);
        for wall in &self.walls {
            if let Some(c) = wall.contact(p, reach) {
                visit(&c);
            }
        }
    }

    /// The nearest wall that is not a face of the domain, up to `reach`.
    pub fn nearest_body(&self, p: DVec3, reach: f64) -> Option<Contact> {
        let near = self.walls.iter().filter_map(|wall| wall.contact(p, reach));
        near.min_by(|a, b| a.distance.total_cmp(&b.distance))
    }

    /// How far it is at least to the nearest wall that is not a face of the domain, m, up to `reach`; not above 0 inside of one.
    pub fn clearance(&self, p: DVec3, reach: f64) -> f64 {
        let near = self.boxes.touched(p - reach, p + reach).map(|w| &self.walls[w]);
        near.map(|wall| wall.clearance(p, reach)).fold(reach, f64::min)
    }

    /// Whether there are walls beside the faces of the domain.
    pub fn has_bodies(&self) -> bool {
        !self.walls.is_empty()
    }

    /// Signed distance to the nearest wall, up to `reach`.
    pub fn distance(&self, p: DVec3, reach: f64) -> f64 {
        let mut nearest = reach;
        self.contacts(p, reach, |c| nearest = nearest.min(c.distance));
        nearest
    }

    /// Whether a place lies deeper than `slack` (m) inside a wall or behind a closed face of the domain. Sheets have no inside.
    pub fn is_beyond(&self, p: DVec3, slack: f64) -> bool {
        let mut behind = false;
        self.faces(p, -slack, |_| behind = true);
        let solid = self.walls.iter().filter(|wall| !matches!(wall.body, Body::Sheet(_)));
        behind || solid.filter_map(|wall| wall.contact(p, 0.0)).any(|c| c.distance < -slack)
    }
}
