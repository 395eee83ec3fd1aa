//! How bodies lie in the grid: distances at the corners of cells, shares of faces, and which node moves what.

use glam::DVec3;
use rayon::prelude::*;

use super::{Immersed, Point};
use crate::models::mac::cuts::{Behind, Covered, Cuts, open_share, rows_near};
use crate::models::mac::layout::Layout;
use crate::models::mac::liquid::{Liquid, depth_of};
use crate::models::mac::transfer::{between, corner_stencil, floor, stencil, value_and_gradient, weights};
use crate::scene::SolidKind;
use crate::state::springs::Springs;

/// Distances are known up to so many cells.
pub const REACH: f64 = 4.0;
/// A cell with less of its volume in the open than this is one of the body, not of the liquid.
const INNER: f32 = 0.5;
/// A face less open than this is closed.
const SLIT: f32 = 0.02;
/// Stands for lattices in place of a ball.
const LATTICE: u32 = u32::MAX;
/// Rounds that smooth the depth inside bodies.
const ROUNDS: usize = 8;

/// A ball in the grid.
#[derive(Clone, Debug)]
pub struct Ball {
    /// Its node.
    pub node: usize,
    /// Its body.
    pub body: usize,
    /// Faces it closes: axis, number, and the share of the face that is its.
    pub faces: Vec<(u8, u32, f32)>,
}

/// What lattices leave at a cell's centre, by hat functions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inside {
    /// Σ volume × velocity, in cells' volumes.
    pub momentum: [f32; 3],
    /// Σ volume.
    pub volume: f32,
    /// Σ volume / density relative to the first fluid's, of nodes that nothing holds.
    pub mobility: f32,
}

/// A face that lattices fill in part.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// Its axis and number.
    pub face: (u8, u32),
    /// The share of it that is theirs.
    pub share: f32,
}

/// Bodies in the grid.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Distance of the nearest body at the lowest corner of each cell, m.
    pub corners: Vec<f32>,
    /// That of the nearest ball.
    pub round: Vec<f32>,
    /// Rows along x of cells that bodies are near to.
    pub near: Vec<bool>,
    /// Balls that touch the grid.
    pub balls: Vec<Ball>,
    /// Faces of lattices.
    pub filled: Vec<Filled>,
    /// Cells of lattices; empty without lattices.
    pub inside: Vec<Inside>,
    /// Share / relative density of lattices at faces; empty without lattices.
    pub mobility: [Vec<f32>; 3],
    /// Faces that bodies close in part or whole.
    touched: Vec<(u8, u32)>,
    /// For each covered face of the cuts that is a body's, in their order: which ball's, or [`LATTICE`].
    owner: [Vec<u32>; 3],
    /// What all bodies together lay claim to, at faces.
    claims: [Vec<f32>; 3],
    count: Vec<f32>,
    /// What lattices are made of, where corners were found.
    pub(super) points: Vec<Point>,
}

impl Shape {
    /// Distances of bodies whose nodes are at `position`.
    pub fn find_corners(
        &mut self,
        immersed: &Immersed,
        layout: &Layout,
        state: &Springs,
        position: &[DVec3],
    ) {
        let reach = REACH * layout.longest();
        self.corners.clear();
        self.corners.resize(layout.len(), reach as f32);
        self.round.clear();
        self.round.resize(layout.len(), reach as f32);
        if immersed.fillings.iter().any(|f| f.kind == SolidKind::Lattice) {
            self.count_lattices(immersed, layout, state, position);
        }
        for (b, body) in state.bodies.iter().enumerate() {
            if immersed.fillings[b].kind != SolidKind::Ball {
                continue;
            }
            for node in body.nodes.clone() {
                let (center, radius) = (position[node], immersed.fillings[b].swell * state.radius[node]);
                each_corner(layout, center, radius + reach, |i, p| {
                    let d = (p.distance(center) - radius) as f32;
                    self.corners[i] = self.corners[i].min(d);
                    self.round[i] = self.round[i].min(d);
                });
            }
        }
        self.near = rows_near(layout, &self.corners);
    }

    /// Takes distances from another, which has those of before then.
    pub fn take_distances(&mut self, other: &mut Shape) {
        std::mem::swap(&mut self.corners, &mut other.corners);
        std::mem::swap(&mut self.round, &mut other.round);
        std::mem::swap(&mut self.near, &mut other.near);
    }

    /// Lattices are seen as the liquid is: counts by hat functions, and the depth at which a flat surface would give them.
    fn count_lattices(&mut self, immersed: &Immersed, layout: &Layout, state: &Springs, position: &[DVec3]) {
        self.count.clear();
        self.count.resize(layout.len(), 0.0);
        immersed.points(layout, state, position, &mut self.points);
        let mut whole = 0.0;
        for p in &self.points {
            whole += p.share;
            let s = corner_stencil(&between(&p.at, layout.n), layout.stride);
            for (i, w) in weights(s, layout.stride) {
                self.count[i] += w * p.share as f32;
            }
        }
        // Beyond a side of the domain goes on what is before it.
        for a in (0..3).filter(|a| !layout.periodic[*a]) {
            for at in [1, layout.n[a] + 1] {
                let s = layout.stride[a];
                layout.each_of_layer(a, |i| self.count[at * s + i] *= 2.0);
            }
        }
        let edge = layout.shortest() as f32;
        let reach = (REACH * layout.longest()) as f32;
        let count = &self.count;
        self.corners.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, corner)| {
            // Far from any node there is nothing; deep inside all is alike.
            *corner = if count[i] > 0.0 { -edge * depth_of(count[i]) } else { reach };
        });
        self.swell_lattices(layout, whole as f32);
    }

    /// Hats round edges off. The surface of lattices is moved out, that they have their volume: `whole`, in cells.
    fn swell_lattices(&mut self, layout: &Layout, whole: f32) {
        let edge = layout.shortest() as f32;
        let [nx, ny, nz] = layout.n;
        let near =
            |i: &usize| self.corners[*i] < 1.5 * edge || self.corners[*i + layout.stride[2]] < 1.5 * edge;
        let cells: Vec<usize> = (0..ny * nz)
            .flat_map(|row| {
                let first = layout.at([0, row % ny, row / ny]);
                (first..first + nx).filter(near)
            })
            .collect();
        let volume = |out: f32| -> f32 {
            let planes = [0.1, 0.3, 0.5, 0.7, 0.9];
            let of = |i: &usize| planes.map(|o| self.closed_at(layout, 1, *i, o, out)).iter().sum::<f32>();
            // Parts of fixed length, so that the sum is the same for any number of threads.
            let parts: Vec<f32> = cells.par_chunks(128).map(|cells| cells.iter().map(of).sum()).collect();
            parts.iter().sum::<f32>() / planes.len() as f32
        };
        // By the secant, from nothing and an eighth of a cell.
        let (mut before, mut out) = ((0.0, volume(0.0)), 0.125 * edge);
        for _ in 0..2 {
            let now = volume(out);
            if now - before.1 <= 1e-6 * whole {
                break;
            }
            let next = out + (whole - now) * (out - before.0) / (now - before.1);
            (before, out) = ((out, now), next.clamp(-0.4 * edge, 0.6 * edge));
        }
        let reach = (REACH * layout.longest()) as f32;
        self.corners.par_iter_mut().with_min_len(4096).filter(|c| **c < reach).for_each(|c| *c -= out);
    }

    /// The share of a plane across axis `a` that bodies close: `offset` of the way from the face of a cell to the next one above,
    /// or below if it is negative, with their surface moved out by `out`, m.
    fn closed_at(&self, layout: &Layout, a: usize, i: usize, offset: f32, out: f32) -> f32 {
        let (along, s, t) = (layout.stride[a], layout.stride[(a + 1) % 3], layout.stride[(a + 2) % 3]);
        let beside = if offset < 0.0 { i.wrapping_sub(along) } else { i + along };
        let phi = [0, s, t, s + t].map(|k| {
            let here = self.corners.get(i + k).copied().unwrap_or(0.0);
            let there = self.corners.get(beside.wrapping_add(k)).copied().unwrap_or(here);
            here + offset.abs() * (there - here) - out
        });
        1.0 - open_share(phi)
    }

    /// Which body has which share of which face. `cuts` are those of walls and bodies, `bare` those of walls only.
    pub fn find_faces(
        &mut self,
        immersed: &Immersed,
        layout: &Layout,
        state: &Springs,
        bare: &Cuts,
        cuts: &mut Cuts,
    ) {
        for claims in &mut self.claims {
            claims.clear();
            claims.resize(layout.len(), 0.0);
        }
        self.claim_for_balls(immersed, layout, state);
        let lattices = immersed.fillings.iter().any(|f| f.kind == SolidKind::Lattice);
        self.filled.clear();
        self.touched.clear();
        self.inside.clear();
        if lattices {
            self.inside.resize(layout.len(), Inside::default());
            self.deposit(immersed, layout, state, |node| state.velocity[node]);
            for a in 0..3 {
                self.mobility[a].clear();
                self.mobility[a].resize(layout.len(), 0.0);
            }
        }
        for a in 0..3 {
            let s = layout.stride[a];
            let rows = layout.face_rows(a);
            for row in 0..rows[1] * rows[2] {
                let first = layout.at([0, row % rows[1], row / rows[1]]);
                if !self.near[first / layout.dims[0]] {
                    continue;
                }
                for i in first..first + rows[0] {
                    let round = bare.open[a][i] - cuts.open[a][i];
                    let own = if lattices {
                        0.5 * (self.inside[i].volume + self.inside[i - s].volume)
                    } else {
                        0.0
                    };
                    if round <= 0.0 && own <= 0.0 {
                        continue;
                    }
                    self.touched.push((a as u8, i as u32));
                    if self.claims[a][i] > 0.0 {
                        self.claims[a][i] = round / self.claims[a][i];
                    }
                    let mut share = 0.0;
                    if own > 0.0 {
                        let all = self.closed_around(layout, a, i) * bare.open[a][i];
                        share = (all - round).clamp(0.0, cuts.open[a][i]);
                    }
                    if cuts.open[a][i] - share < SLIT {
                        share = cuts.open[a][i];
                    }
                    if own > 0.0 && share > 0.0 {
                        let moves = 0.5 * (self.inside[i].mobility + self.inside[i - s].mobility);
                        self.mobility[a][i] = share * moves / own;
                        self.filled.push(Filled { face: (a as u8, i as u32), share });
                        cuts.open[a][i] -= share;
                    }
                }
            }
        }
        for ball in &mut self.balls {
            for (a, i, share) in &mut ball.faces {
                *share *= self.claims[usize::from(*a)][*i as usize];
            }
            ball.faces.retain(|f| f.2 > 0.0);
        }
        self.cover(layout, state, bare, cuts);
    }

    /// The share of what is around a face, half a cell to either side, that bodies close. Not of the face alone: a flat side would
    /// jump from one layer of faces to the next, and with it the volume that the pressure acts on.
    fn closed_around(&self, layout: &Layout, a: usize, i: usize) -> f32 {
        [-0.4, -0.2, 0.0, 0.2, 0.4].map(|o| self.closed_at(layout, a, i, o, 0.0)).iter().sum::<f32>() / 5.0
    }

    fn claim_for_balls(&mut self, immersed: &Immersed, layout: &Layout, state: &Springs) {
        self.balls.clear();
        for (b, body) in state.bodies.iter().enumerate() {
            if immersed.fillings[b].kind != SolidKind::Ball {
                continue;
            }
            for node in body.nodes.clone() {
                let (center, radius) =
                    (state.position[node], immersed.fillings[b].swell * state.radius[node]);
                let phi = |i: usize, offset: usize| {
                    let p = corner(layout, i + offset);
                    (p.distance(center) - radius) as f32
                };
                let mut faces = Vec::new();
                each_corner(layout, center, radius + 1.5 * layout.longest(), |i, _| {
                    for a in 0..3 {
                        let (s, t) = (layout.stride[(a + 1) % 3], layout.stride[(a + 2) % 3]);
                        if i + s + t >= layout.len() {
                            continue;
                        }
                        let share = 1.0 - open_share([phi(i, 0), phi(i, s), phi(i, t), phi(i, s + t)]);
                        if share > 0.0 {
                            self.claims[a][i] += share;
                            faces.push((a as u8, i as u32, share));
                        }
                    }
                });
                if !faces.is_empty() {
                    self.balls.push(Ball { node, body: b, faces });
                }
            }
        }
    }

    /// Spreads what lattices are made of, and how they move, over cells. They are where their corners were found.
    fn deposit(
        &mut self,
        immersed: &Immersed,
        layout: &Layout,
        state: &Springs,
        velocity: impl Fn(usize) -> DVec3,
    ) {
        let light: Vec<f32> =
            immersed.fillings.iter().map(|f| (immersed.reference / f.density) as f32).collect();
        for p in &self.points {
            let node = p.node as usize;
            let v = velocity(node).as_vec3().to_array();
            let moves = if state.pinned[node] { 0.0 } else { light[p.body as usize] };
            let s = stencil(&between(&p.at, layout.n), 3, layout.stride);
            for (i, w) in weights(s, layout.stride) {
                let share = w * p.share as f32;
                let to = &mut self.inside[i];
                for a in 0..3 {
                    to.momentum[a] += share * v[a];
                }
                to.volume += share;
                to.mobility += share * moves;
            }
        }
    }

    /// Tells the grid how lattices move that have new velocities.
    pub fn follow_lattices(
        &mut self,
        immersed: &Immersed,
        layout: &Layout,
        state: &Springs,
        velocity: impl Fn(usize) -> DVec3,
    ) {
        if self.inside.is_empty() {
            return;
        }
        self.inside.fill(Inside::default());
        self.deposit(immersed, layout, state, velocity);
    }

    /// Share / relative density of lattices at faces, if there are any.
    pub fn mobility(&self) -> Option<&[Vec<f32>; 3]> {
        (!self.inside.is_empty()).then_some(&self.mobility)
    }

    /// Velocity of lattices at a face, m/s.
    pub fn velocity(&self, layout: &Layout, a: usize, i: usize) -> [f32; 3] {
        let (p, q) = (&self.inside[i], &self.inside[i - layout.stride[a]]);
        let volume = p.volume + q.volume;
        if volume <= 0.0 {
            return [0.0; 3];
        }
        std::array::from_fn(|b| (p.momentum[b] + q.momentum[b]) / volume)
    }

    /// Faces inside bodies, so that velocities go on into them as into walls.
    fn cover(&mut self, layout: &Layout, state: &Springs, bare: &Cuts, cuts: &mut Cuts) {
        self.owner.iter_mut().for_each(Vec::clear);
        let mut owner = std::mem::take(&mut self.owner);
        let mut add = |f: (u8, u32), own: u32, velocity: [f32; 3]| {
            let (a, i) = (usize::from(f.0), f.1 as usize);
            if cuts.open[a][i] > 0.0 || bare.open[a][i] == 0.0 || cuts.behind[a][i] != Behind::Open {
                return;
            }
            cuts.behind[a][i] = Behind::Slip;
            let x = layout.local(layout.face_center(a, i)).as_vec3().to_array();
            let (distance, normal) = self.distance(layout, &x);
            let normal = normal.to_array();
            cuts.covered[a].push(Covered { face: f.1, normal, velocity, depth: -distance, no_slip: false });
            owner[a].push(own);
        };
        for (k, ball) in self.balls.iter().enumerate() {
            let velocity = state.velocity[ball.node].as_vec3().to_array();
            ball.faces.iter().for_each(|(a, i, _)| add((*a, *i), k as u32, velocity));
        }
        for f in &self.filled {
            add(f.face, LATTICE, self.velocity(layout, usize::from(f.face.0), f.face.1 as usize));
        }
        self.owner = owner;
    }

    /// Distance of the nearest body, m, at a place in cells, and the direction away from it.
    pub fn distance(&self, layout: &Layout, x: &[f32; 3]) -> (f32, glam::Vec3) {
        let s = corner_stencil(&between(x, layout.n), layout.stride);
        let (d, g) = value_and_gradient(&self.corners, layout.stride, s);
        let g = glam::Vec3::from(g) / glam::DVec3::from(layout.h).as_vec3();
        (d, g.normalize_or_zero())
    }

    /// Whether a place in cells is in a body: the sign of [`Shape::distance`], to the last bit. It is asked of all markers near bodies,
    /// few of which are inside, and the direction costs a root and a division; with both it was a sixth of a step of the u-tube.
    #[inline(always)]
    pub fn is_inside(&self, layout: &Layout, x: &[f32; 3]) -> bool {
        let (mut base, mut f) = (0, [0.0; 3]);
        for a in 0..3 {
            // What lies on the upper side belongs to the last cell.
            let cell = floor(x[a]).clamp(0, layout.n[a] as i32 - 1);
            base += (cell as usize + 1) * layout.stride[a];
            f[a] = x[a] - cell as f32;
        }
        let row = |offset: usize| {
            let pair = &self.corners[base + offset..base + offset + 2];
            pair[0] + f[0] * (pair[1] - pair[0])
        };
        let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
        let [_, y, z] = layout.stride;
        mix(mix(row(0), row(y), f[1]), mix(row(z), row(y + z), f[1]), f[2]) < 0.0
    }

    /// Writes the speed of bodies at their faces: `balls` are their velocities.
    pub fn set_speeds(&self, layout: &Layout, bare: &Cuts, balls: &[DVec3], cuts: &mut Cuts) {
        let at = |f: &(u8, u32)| (usize::from(f.0), f.1 as usize);
        for (a, i) in self.touched.iter().map(at) {
            cuts.speed[a][i] =
                if bare.has_bodies() { (1.0 - bare.open[a][i]) * bare.speed[a][i] } else { 0.0 };
        }
        for (ball, v) in self.balls.iter().zip(balls) {
            for (a, i, share) in &ball.faces {
                cuts.speed[usize::from(*a)][*i as usize] += share * v[usize::from(*a)] as f32;
            }
        }
        for f in &self.filled {
            let (a, i) = at(&f.face);
            cuts.speed[a][i] += f.share * self.velocity(layout, a, i)[a];
        }
        // From flow through the face to velocity of what closes it.
        for (a, i) in self.touched.iter().map(at) {
            cuts.speed[a][i] /= (1.0 - cuts.open[a][i]).max(1e-6);
        }
    }

    /// Gives faces inside bodies their velocities.
    pub fn set_covered(&self, layout: &Layout, balls: &[DVec3], cuts: &mut Cuts) {
        for a in 0..3 {
            let first = cuts.covered[a].len() - self.owner[a].len();
            for (c, own) in cuts.covered[a][first..].iter_mut().zip(&self.owner[a]) {
                c.velocity = match balls.get(*own as usize) {
                    Some(v) => v.as_vec3().to_array(),
                    None => self.velocity(layout, a, c.face as usize),
                };
            }
        }
    }
}

/// A place in cells, if it is inside the domain.
pub(super) fn place(layout: &Layout, p: DVec3) -> Option<[f32; 3]> {
    let x = layout.local(p);
    let n = DVec3::from(layout.n.map(|n| n as f64));
    (x.cmpge(DVec3::ZERO).all() && x.cmple(n).all()).then(|| x.as_vec3().to_array())
}

/// What a ball's radius must be multiplied with, that the shares of faces it closes add up to its volume: cuts are straight, and so a
/// little inside the sphere. A mean over places between the corners of cells.
pub(super) fn swell(layout: &Layout, radius: f64) -> f64 {
    let r = DVec3::splat(radius) / DVec3::from(layout.h);
    let cells = r.ceil() + 2.0;
    // Of balls of many cells it is the less the more.
    if !cells.is_finite() || cells.max_element() >= 40.0 || radius <= 0.0 {
        return 1.0;
    }
    let [nx, ny, nz] = cells.to_array().map(|c| c as i64);
    let (mut sum, mut places) = (0.0, 0.0);
    for offset in [DVec3::new(0.1, 0.35, 0.6), DVec3::new(0.45, 0.8, 0.25), DVec3::new(0.75, 0.05, 0.9)] {
        let phi = |x: i64, y: i64, z: i64| {
            let p = (DVec3::new(x as f64, y as f64, z as f64) - offset) * DVec3::from(layout.h);
            (p.length() - radius) as f32
        };
        for z in -nz..=nz {
            for y in -ny..=ny {
                for x in -nx..=nx {
                    let corners = [phi(x, y, z), phi(x, y + 1, z), phi(x, y, z + 1), phi(x, y + 1, z + 1)];
                    sum += f64::from(1.0 - open_share(corners));
                }
            }
        }
        places += 1.0;
    }
    let exact = 4.0 / 3.0 * std::f64::consts::PI * r.x * r.y * r.z;
    (exact * places / f64::max(sum, 1e-9)).cbrt().clamp(1.0, 1.5)
}

/// The lowest corner of a cell, m.
fn corner(layout: &Layout, i: usize) -> DVec3 {
    layout.min + DVec3::from(layout.cell(i).map(|c| c as f64)) * DVec3::from(layout.h)
}

/// Calls `visit` with the corners of the domain's cells in a box around a point.
pub(super) fn each_corner(layout: &Layout, center: DVec3, reach: f64, mut visit: impl FnMut(usize, DVec3)) {
    let x = layout.local(center);
    let r = DVec3::splat(reach) / DVec3::from(layout.h);
    let mut range = [(0, 0); 3];
    for a in 0..3 {
        let low = (x[a] - r[a]).ceil().clamp(0.0, layout.n[a] as f64 + 1.0) as usize;
        let high = (x[a] + r[a]).floor().clamp(-1.0, layout.n[a] as f64);
        if high < low as f64 {
            return;
        }
        range[a] = (low, high as usize);
    }
    for k in range[2].0..=range[2].1 {
        for j in range[1].0..=range[1].1 {
            for i in range[0].0..=range[0].1 {
                let at = layout.at([i, j, k]);
                visit(at, corner(layout, at));
            }
        }
    }
}

/// Depth of cells that bodies cover: from the cells beside them inwards, then smoothed, so that the surface goes on through a
/// body that floats.
pub fn wet_inside(layout: &Layout, bare: &Cuts, cuts: &Cuts, liquid: &mut Liquid) {
    let [nx, ny, nz] = layout.n;
    let inner: Vec<usize> = (0..ny * nz)
        .flat_map(|row| {
            let first = layout.at([0, row % ny, row / ny]);
            (first..first + nx).filter(|&i| bare.volume[i] > 0.0 && cuts.volume[i] < INNER * bare.volume[i])
        })
        .collect();
    if inner.is_empty() {
        return;
    }
    // Whether a cell's depth is known; walls' never is.
    let mut known: Vec<bool> = cuts.volume.iter().map(|v| *v > 0.0).collect();
    for a in (0..3).filter(|a| !layout.periodic[*a]) {
        for (upper, pad) in [(0, 0), (1, (layout.n[a] + 1) * layout.stride[a])] {
            if !layout.open[a][upper] {
                layout.each_of_layer(a, |i| known[pad + i] = false);
            }
        }
    }
    for &i in &inner {
        known[i] = false;
    }
    let mean = |depth: &[f32], known: &[bool], i: usize| {
        let (mut sum, mut count) = (0.0, 0.0);
        for s in layout.stride {
            for j in [i - s, i + s] {
                if known[j] {
                    sum += depth[j];
                    count += 1.0;
                }
            }
        }
        (count > 0.0).then(|| sum / count)
    };
    let mut left = inner.clone();
    while !left.is_empty() {
        let found: Vec<(usize, f32)> =
            left.iter().filter_map(|&i| Some((i, mean(&liquid.depth, &known, i)?))).collect();
        if found.is_empty() {
            // Walled in on all sides.
            left.iter().for_each(|&i| liquid.depth[i] = -1.0);
            break;
        }
        for (i, d) in found {
            liquid.depth[i] = d;
            known[i] = true;
        }
        left.retain(|&i| !known[i]);
        layout.wrap(&mut liquid.depth);
        layout.wrap(&mut known);
    }
    for _ in 0..ROUNDS {
        let next: Vec<f32> =
            inner.iter().map(|&i| mean(&liquid.depth, &known, i).unwrap_or(liquid.depth[i])).collect();
        inner.iter().zip(next).for_each(|(&i, d)| liquid.depth[i] = d);
        layout.wrap(&mut liquid.depth);
    }
    for &i in &inner {
        liquid.wet[i] = liquid.depth[i] >= 0.0;
        if cuts.hat[i] < 0.2 {
            liquid.fill[i] = if liquid.wet[i] { 1.0 } else { 0.0 };
        }
    }
    layout.wrap(&mut liquid.fill);
    layout.wrap(&mut liquid.wet);
}
