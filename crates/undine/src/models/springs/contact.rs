//! Where nodes touch walls, other bodies and, for cloth, nodes of their own body.

use glam::DVec3;
use rayon::prelude::*;

use super::pairs::near_pairs;
use crate::scene::SolidKind;
use crate::scene::aabb::Aabb;
use crate::state::springs::{Body, Springs};
use crate::walls::Walls;

/// Stands for a wall in place of a second node.
pub(super) const WALL: u32 = u32::MAX;
/// Nodes keep this distance, × the wider spacing of two bodies, or a node would slip through the middle of four (which
/// is 0.71 spacings from each).
const MESH_WIDTH: f64 = 0.75;
/// Pairs of a cloth's own nodes are listed to this much beyond their contact, × spacing, and listed anew when a node
/// has gone half of it. The list holds more than what touches, so its age does not show in the result.
const SKIN: f64 = 0.5;
/// Nodes handed to a thread at a time.
const CHUNK: usize = 512;

/// Two nodes, or a node and a wall, that are near enough to touch within the step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub(super) a: u32,
    /// The other node, or [`WALL`].
    pub(super) b: u32,
    /// Unit, towards `a`.
    pub(super) normal: DVec3,
    /// Way to go until they touch, m; negative when they overlap.
    pub(super) gap: f64,
    /// Velocity of the wall, m/s.
    pub(super) velocity: DVec3,
    /// Coulomb's coefficient.
    pub(super) friction: f64,
}

/// Pairs of a cloth's own nodes that are near each other.
#[derive(Clone, Default)]
struct OwnPairs {
    pairs: Vec<[u32; 2]>,
    /// Node positions when they were listed.
    then: Vec<DVec3>,
}

/// Finds contacts.
#[derive(Clone, Default)]
pub(super) struct Contacts {
    /// In an order that does not depend on threads.
    pub(super) touches: Vec<Touch>,
    /// The body of each node.
    pub(super) body: Vec<u32>,
    own: Vec<OwnPairs>,
    /// Per body: the box around its nodes grown by what they reach in the step, and its index.
    boxes: Vec<(Aabb, usize)>,
}

impl Contacts {
    pub(super) fn new(state: &Springs) -> Self {
        let mut body = vec![0; state.len()];
        for (k, b) in state.bodies.iter().enumerate() {
            body[b.nodes.clone()].fill(k as u32);
        }
        Contacts { body, own: vec![OwnPairs::default(); state.bodies.len()], ..Default::default() }
    }

    /// Mass of the body of a node, kg.
    pub(super) fn mass(&self, state: &Springs, node: usize) -> f64 {
        state.bodies[self.body[node] as usize].mass
    }

    /// Lists everything that may touch within the next `dt`, s.
    pub(super) fn find(&mut self, state: &Springs, walls: &Walls, dt: f64) {
        self.touches.clear();
        if !walls.is_empty() {
            self.find_walls(state, walls, dt);
        }
        self.find_bodies(state, dt);
        for k in 0..state.bodies.len() {
            if state.bodies[k].kind == SolidKind::Cloth {
                self.find_own(state, k, dt);
            }
        }
    }

    fn find_walls(&mut self, state: &Springs, walls: &Walls, dt: f64) {
        let friction = |i: usize| state.bodies[self.body[i] as usize].friction;
        let chunks = state.len().div_ceil(CHUNK);
        let found: Vec<Vec<Touch>> = (0..chunks)
            .into_par_iter()
            .map(|c| {
                let mut found = Vec::new();
                for i in (CHUNK * c..state.len().min(CHUNK * (c + 1))).filter(|i| !state.pinned[*i]) {
                    let (p, r) = (state.position[i], state.radius[i]);
                    let travel = state.velocity[i].length() * dt;
                    walls.contacts(p, r + 2.0 * travel + 1e-3 * r, |contact| {
                        found.push(Touch {
                            a: i as u32,
                            b: WALL,
                            normal: contact.normal,
                            gap: contact.distance - r,
                            velocity: contact.velocity,
                            friction: friction(i),
                        });
                    });
                }
                found
            })
            .collect();
        self.touches.extend(found.into_iter().flatten());
    }

    /// Bodies whose boxes meet: sweep along x.
    fn find_bodies(&mut self, state: &Springs, dt: f64) {
        if state.bodies.len() < 2 {
            return;
        }
        self.boxes.clear();
        for (k, body) in state.bodies.iter().enumerate().filter(|(_, b)| !b.nodes.is_empty()) {
            let nodes = body.nodes.clone();
            let speed =
                state.velocity[nodes.clone()].iter().map(|v| v.length_squared()).fold(0.0, f64::max).sqrt();
            // Half of the contact distance, whatever the other body's is.
            let reach = state.radius[nodes.start].max(MESH_WIDTH * body.spacing) + 2.0 * speed * dt;
            self.boxes.push((Aabb::around(state.position[nodes].iter().copied()).grow(reach), k));
        }
        self.boxes.sort_by(|a, b| a.0.min.x.total_cmp(&b.0.min.x).then(a.1.cmp(&b.1)));
        let boxes = std::mem::take(&mut self.boxes);
        for (at, (one, k)) in boxes.iter().enumerate() {
            for (two, l) in boxes[at + 1..].iter().take_while(|(two, _)| two.min.x <= one.max.x) {
                let overlap = Aabb { min: one.min.max(two.min), max: one.max.min(two.max) };
                if !overlap.is_empty() {
                    self.find_between(state, (*k).min(*l), (*k).max(*l), overlap, dt);
                }
            }
        }
        self.boxes = boxes;
    }

    fn find_between(&mut self, state: &Springs, k: usize, l: usize, overlap: Aabb, dt: f64) {
        let (one, two) = (&state.bodies[k], &state.bodies[l]);
        let wide = |b: &Body| if b.kind == SolidKind::Ball { 0.0 } else { MESH_WIDTH * b.spacing };
        let radius = |b: &Body| state.radius[b.nodes.start];
        let distance = (radius(one) + radius(two)).max(wide(one)).max(wide(two));
        let overlap = overlap.grow(distance);
        let within = |b: &Body| -> Vec<u32> {
            let is_ball = b.kind == SolidKind::Ball;
            let near = |i: &usize| is_ball || overlap.contains(state.position[*i]);
            b.nodes.clone().filter(near).map(|i| i as u32).collect()
        };
        let (a, b) = (within(one), within(two));
        let friction = 0.5 * (one.friction + two.friction);
        near_pairs(&state.position, &a, &b, distance * 1.5, |i, j| {
            self.touches.extend(touch(state, i, j, distance, friction, dt));
        });
    }

    fn find_own(&mut self, state: &Springs, k: usize, dt: f64) {
        let body = &state.bodies[k];
        let own = &mut self.own[k];
        let distance = MESH_WIDTH * body.spacing;
        let now = &state.position[body.nodes.clone()];
        let stale = own.then.len() != now.len() || {
            // Moving as a whole brings no nodes together.
            let count = now.len().max(1) as f64;
            let mean = now.iter().zip(&own.then).map(|(now, then)| *now - *then).sum::<DVec3>() / count;
            let most = (0.5 * SKIN * body.spacing).powi(2);
            now.iter().zip(&own.then).any(|(now, then)| (*now - *then - mean).length_squared() > most)
        };
        if stale {
            own.pairs.clear();
            own.then.clear();
            own.then.extend_from_slice(now);
            let nodes: Vec<u32> = body.nodes.clone().map(|i| i as u32).collect();
            near_pairs(&state.position, &nodes, &nodes, distance + SKIN * body.spacing, |i, j| {
                if i < j && !state.are_joined(i as usize, j as usize) {
                    own.pairs.push([i, j]);
                }
            });
            own.pairs.sort_unstable();
        }
        let found = own.pairs.iter().filter_map(|&[i, j]| touch(state, i, j, distance, body.friction, dt));
        self.touches.extend(found);
    }
}

fn touch(state: &Springs, i: u32, j: u32, distance: f64, friction: f64, dt: f64) -> Option<Touch> {
    let (a, b) = (i as usize, j as usize);
    if state.pinned[a] && state.pinned[b] {
        return None;
    }
    let d = state.position[a] - state.position[b];
    let length = d.length();
    let speed = (state.velocity[a] - state.velocity[b]).length();
    let gap = length - distance;
    if gap > 2.0 * speed * dt + 1e-3 * distance || length == 0.0 {
        return None;
    }
    Some(Touch { a: i, b: j, normal: d / length, gap, velocity: DVec3::ZERO, friction })
}
