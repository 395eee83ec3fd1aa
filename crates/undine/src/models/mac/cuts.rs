//! How walls cut the grid: the open share of each face and cell (Batty 2007, Ng 2009), and how walls move there.

use std::ops::Range;

use rayon::prelude::*;

use super::layout::Layout;
use crate::scene::Slip;
use crate::walls::Walls;

/// Distances to walls are known up to so many cells.
const REACH: f64 = 3.0;

/// A face less open than this is closed: nothing is solved on slits that make the pressure system stiff.
const SLIT: f32 = 0.01;

/// Corners nearer to a surface than this, × edge, are on it.
const SNAP: f64 = 1e-3;

/// What is behind a face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behind {
    /// Fluid can be here.
    #[default]
    Open,
    /// All wall, along which fluid slides.
    Slip,
    /// All wall, to which fluid sticks.
    NoSlip,
}

/// Walls as the grid sees them.
#[derive(Clone, Debug)]
pub struct Cuts {
    /// Open share of each face.
    pub open: [Vec<f32>; 3],
    /// Velocity of the wall through each face that is not all open, m/s.
    pub speed: [Vec<f32>; 3],
    /// What each face is.
    pub behind: [Vec<Behind>; 3],
    /// Open share of each cell's volume.
    pub volume: Vec<f32>,
    /// Share of the hat function around each cell's centre that lies in the open.
    pub hat: Vec<f32>,
    /// Distance of the walls at the centre of each face, m; up to a few cells. Empty without bodies.
    pub distance: [Vec<f32>; 3],
    /// Least distance of a body from any corner of each cell, m; empty without bodies.
    pub clear: Vec<f32>,
    /// Faces that are all wall of a body, near its surface.
    pub covered: [Vec<Covered>; 3],
    /// Distance of the nearest body at the lowest corner of each cell, m; empty without bodies.
    corners: Vec<f32>,
    bodies: bool,
    moves: bool,
}

/// A face inside a body.
#[derive(Clone, Copy, Debug)]
pub struct Covered {
    /// Its number.
    pub face: u32,
    /// From the wall into the fluid.
    pub normal: [f32; 3],
    /// Velocity of the wall, m/s.
    pub velocity: [f32; 3],
    /// How deep it lies in the wall, m.
    pub depth: f32,
    /// Whether fluid sticks to it.
    pub no_slip: bool,
}

impl Cuts {
    /// The cuts of walls as posed now.
    pub fn new(layout: &Layout, walls: &Walls) -> Self {
        let n = layout.len();
        let bodies = walls.has_bodies();
        let some = |v: bool| if v { n } else { 0 };
        let mut cuts = Cuts {
            open: std::array::from_fn(|_| vec![1.0; n]),
            speed: std::array::from_fn(|_| vec![0.0; some(bodies)]),
            behind: std::array::from_fn(|_| vec![Behind::Open; n]),
            volume: vec![1.0; n],
            hat: vec![1.0; n],
            distance: std::array::from_fn(|_| vec![0.0; some(bodies)]),
            clear: vec![0.0; some(bodies)],
            covered: std::array::from_fn(|_| Vec::new()),
            corners: Vec::new(),
            bodies,
            moves: walls.moves(),
        };
        cuts.update(layout, walls);
        cuts
    }

    /// Whether walls other than the domain's sides are there.
    pub fn has_bodies(&self) -> bool {
        self.bodies
    }

    /// Distance of the nearest body at the lowest corner of each cell, m, up to a few cells; empty without bodies.
    pub fn corners(&self) -> &[f32] {
        &self.corners
    }

    /// Follows walls that move.
    pub fn follow(&mut self, layout: &Layout, walls: &Walls) {
        if self.moves {
            self.update(layout, walls);
        }
    }

    fn update(&mut self, layout: &Layout, walls: &Walls) {
        if self.bodies {
            self.corners = corners(layout, walls);
            let corners = std::mem::take(&mut self.corners);
            for a in 0..3 {
                self.cut_faces(layout, |i| corners[i], a, None);
            }
            self.cut_cells(layout, |i| corners[i], None);
            // Nothing is behind a slit into a cell that is all wall; air there would draw liquid in.
            let volume = &self.volume;
            for (open, s) in self.open.iter_mut().zip(layout.stride) {
                open.par_iter_mut().enumerate().skip(s).with_min_len(4096).for_each(|(i, open)| {
                    if volume[i] == 0.0 || volume[i - s] == 0.0 {
                        *open = 0.0;
                    }
                });
            }
            self.corners = corners;
        }
        self.close_sides(layout);
        if self.bodies {
            for a in 0..3 {
                self.look_behind(layout, walls, a);
            }
        }
        self.sum_hats(layout, 0..layout.dims[2]);
    }

    /// The cuts of these walls and of mass-spring bodies with the given distances at the lowest corners of cells, m: `all` cut
    /// cells, `round` faces too, in the rows of `near` (see [`rows_near`]). What else closes faces, and what is in them, is left to be
    /// told. They are written over `old` ones, whose memory they take.
    pub fn with_solids(&self, layout: &Layout, [all, round]: [&[f32]; 2], near: &[bool], old: Cuts) -> Cuts {
        let n = layout.len();
        let mut cuts = old;
        cuts.copy(self);
        cuts.bodies = true;
        if !self.bodies {
            let far = (REACH * layout.longest()) as f32;
            cuts.corners.resize(n, f32::INFINITY);
            cuts.speed.iter_mut().for_each(|field| field.resize(n, 0.0));
            cuts.distance.iter_mut().for_each(|field| field.resize(n, far));
            cuts.clear.resize(n, 0.0);
        }
        let walls = std::mem::take(&mut cuts.corners);
        for a in 0..3 {
            cuts.cut_faces(layout, |i| walls[i].min(round[i]), a, Some(near));
        }
        cuts.cut_cells(layout, |i| walls[i].min(all[i]), Some(near));
        cuts.corners = walls;
        // Markers look at walls only where these are; bodies push them by themselves.
        if self.bodies {
            cuts.clear.clone_from(&self.clear)
        } else {
            cuts.clear.fill(f32::INFINITY)
        }
        cuts.close_sides(layout);
        for a in 0..3 {
            let each = cuts.open[a].par_iter_mut().zip(&self.open[a]).with_min_len(4096);
            each.for_each(|(open, bare)| *open = open.min(*bare));
        }
        let is_near = |z: &usize| near[z * layout.dims[1]..][..layout.dims[1]].contains(&true);
        let mut planes = (0..layout.dims[2]).filter(is_near);
        if let Some(first) = planes.next() {
            let last = planes.next_back().unwrap_or(first);
            cuts.sum_hats(layout, first.saturating_sub(1)..(last + 2).min(layout.dims[2]));
        }
        cuts
    }

    /// Becomes as another, in the memory it has.
    fn copy(&mut self, from: &Cuts) {
        for a in 0..3 {
            self.open[a].clone_from(&from.open[a]);
            self.speed[a].clone_from(&from.speed[a]);
            self.behind[a].clone_from(&from.behind[a]);
            self.distance[a].clone_from(&from.distance[a]);
            self.covered[a].clone_from(&from.covered[a]);
        }
        self.volume.clone_from(&from.volume);
        self.hat.clone_from(&from.hat);
        self.clear.clone_from(&from.clear);
        self.corners.clone_from(&from.corners);
        (self.bodies, self.moves) = (from.bodies, from.moves);
    }

    /// Cuts faces by the distances at corners, m; of all rows along x or of those that are `near`.
    fn cut_faces(
        &mut self,
        layout: &Layout,
        corner: impl Fn(usize) -> f32 + Sync,
        a: usize,
        near: Option<&[bool]>,
    ) {
        let (s, t) = (layout.stride[(a + 1) % 3], layout.stride[(a + 2) % 3]);
        let (last, row) = (layout.len(), layout.dims[0]);
        let rows = self.open[a].par_chunks_mut(row).zip(self.distance[a].par_chunks_mut(row));
        rows.enumerate().filter(|(r, _)| near.is_none_or(|near| near[*r])).for_each(
            |(r, (open, distance))| {
                for (i, (open, distance)) in (r * row..).zip(open.iter_mut().zip(distance)) {
                    if i + s + t >= last {
                        break;
                    }
                    let phi = [0, s, t, s + t].map(|k| corner(i + k));
                    *open = open_share(phi);
                    *distance = 0.25 * (phi[0] + phi[1] + phi[2] + phi[3]);
                }
            },
        );
    }

    /// The same for cells.
    fn cut_cells(&mut self, layout: &Layout, corner: impl Fn(usize) -> f32 + Sync, near: Option<&[bool]>) {
        let [sx, sy, sz] = layout.stride;
        let (last, row) = (layout.len(), layout.dims[0]);
        let edge = layout.shortest() as f32;
        let rows = self.volume.par_chunks_mut(row).zip(self.clear.par_chunks_mut(row));
        rows.enumerate().filter(|(r, _)| near.is_none_or(|near| near[*r])).for_each(
            |(r, (volume, clear))| {
                for (i, (volume, clear)) in (r * row..).zip(volume.iter_mut().zip(clear)) {
                    if i + sx + sy + sz >= last {
                        break;
                    }
                    let phi: [f32; 8] =
                        std::array::from_fn(|c| corner(i + (c & 1) * sx + (c >> 1 & 1) * sy + (c >> 2) * sz));
                    let low = phi.iter().copied().fold(f32::INFINITY, f32::min);
                    let high = phi.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    *clear = low;
                    *volume = if low >= 0.0 {
                        1.0
                    } else if high <= 0.0 {
                        0.0
                    } else {
                        open_volume(phi, edge)
                    };
                }
            },
        );
    }

    /// Sides of the domain that are walls.
    fn close_sides(&mut self, layout: &Layout) {
        for a in 0..3 {
            if layout.periodic[a] {
                continue;
            }
            let wall = if layout.no_slip { Behind::NoSlip } else { Behind::Slip };
            for (upper, at) in [(0, 0), (1, layout.n[a] as isize)] {
                let first = (at + 1) as usize * layout.stride[a];
                let closed = !layout.open[a][upper];
                layout.each_of_layer(a, |i| {
                    if closed {
                        self.open[a][first + i] = 0.0;
                        self.behind[a][first + i] = wall;
                    }
                });
                // Padding: beyond a wall for faces along it, and for cells.
                let pad = if upper == 0 { 0 } else { (layout.n[a] + 1) * layout.stride[a] };
                layout.each_of_layer(a, |i| {
                    self.volume[pad + i] = if closed { 0.0 } else { 1.0 };
                    for b in (0..3).filter(|b| *b != a) {
                        if closed {
                            self.behind[b][pad + i] = wall;
                            self.open[b][pad + i] = 0.0;
                        }
                    }
                });
            }
        }
    }

    /// What faces inside bodies have around them.
    fn look_behind(&mut self, layout: &Layout, walls: &Walls, a: usize) {
        let reach = REACH * layout.longest();
        let rows = layout.face_rows(a);
        let (open, distance) = (&self.open[a], &self.distance[a]);
        let found: Vec<(usize, f32, Option<Covered>)> = (0..rows[1] * rows[2])
            .into_par_iter()
            .flat_map_iter(|row| {
                let first = layout.at([0, row % rows[1], row / rows[1]]);
                (first..first + rows[0]).filter_map(move |i| {
                    // Of closed sides of the domain there is nothing to know; of open faces, that they are.
                    if open[i] >= 1.0 || (open[i] == 0.0 && distance[i] > 0.0) {
                        return None;
                    }
                    let contact = walls.nearest_body(layout.face_center(a, i), reach)?;
                    let speed = contact.velocity[a] as f32;
                    let covered = (open[i] == 0.0).then(|| Covered {
                        face: i as u32,
                        normal: contact.normal.as_vec3().to_array(),
                        velocity: contact.velocity.as_vec3().to_array(),
                        depth: -contact.distance as f32,
                        no_slip: contact.slip == Slip::NoSlip,
                    });
                    Some((i, speed, covered))
                })
            })
            .collect();
        self.covered[a].clear();
        self.speed[a].fill(0.0);
        let at_side = |i: usize| {
            let c = layout.cell(i)[a];
            !layout.periodic[a] && (c == 0 || c == layout.n[a] as isize)
        };
        let closed = &mut self.behind[a];
        for (behind, share) in closed.iter_mut().zip(&self.open[a]) {
            if *share > 0.0 {
                *behind = Behind::Open;
            }
        }
        for (i, speed, covered) in found {
            if at_side(i) && self.behind[a][i] != Behind::Open && self.open[a][i] == 0.0 {
                continue;
            }
            self.speed[a][i] = speed;
            if let Some(covered) = covered {
                self.behind[a][i] = if covered.no_slip { Behind::NoSlip } else { Behind::Slip };
                self.covered[a].push(covered);
            }
        }
        // Deeper than distances reach: wall all the same.
        for i in 0..self.open[a].len() {
            if self.open[a][i] == 0.0 && self.behind[a][i] == Behind::Open {
                self.behind[a][i] = Behind::Slip;
            }
        }
    }

    /// Sums what of the hats around the cells of some planes across z is open.
    fn sum_hats(&mut self, layout: &Layout, planes: Range<usize>) {
        layout.wrap(&mut self.volume);
        // Hats reach into the planes beside these.
        let around = planes.start.saturating_sub(1)..(planes.end + 1).min(layout.dims[2]);
        let part = |planes: &Range<usize>| planes.start * layout.plane()..planes.end * layout.plane();
        // A hat over three cells holds ⅛, ¾ and ⅛ of its area in them.
        let hat = |field: &[f32], s: usize| -> Vec<f32> {
            let last = field.len();
            (0..last)
                .into_par_iter()
                .with_min_len(4096)
                .map(|i| {
                    if i < s || i + s >= last {
                        return field[i];
                    }
                    0.75 * field[i] + 0.125 * (field[i - s] + field[i + s])
                })
                .collect()
        };
        let mut field = hat(&self.volume[part(&around)], layout.stride[0]);
        field = hat(&field, layout.stride[1]);
        field = hat(&field, layout.stride[2]);
        let first = (planes.start - around.start) * layout.plane();
        let to = part(&planes);
        self.hat[to.clone()].copy_from_slice(&field[first..first + to.len()]);
    }
}

/// The rows along x of cells, by y first and padded, within two cells of which a body is nearer than the farthest that distances at
/// corners tell of.
pub fn rows_near(layout: &Layout, corners: &[f32]) -> Vec<bool> {
    let [width, ny, nz] = layout.dims;
    let far = 0.999 * (REACH * layout.longest()) as f32;
    let has: Vec<bool> =
        corners.par_chunks(width).with_min_len(64).map(|row| row.iter().any(|d| *d < far)).collect();
    let mut near = vec![false; has.len()];
    for (r, _) in has.iter().enumerate().filter(|(_, has)| **has) {
        let (y, z) = (r % ny, r / ny);
        for z in z.saturating_sub(2)..(z + 3).min(nz) {
            near[z * ny..][y.saturating_sub(2)..(y + 3).min(ny)].fill(true);
        }
    }
    near
}

/// Distance of the nearest body at the lowest corner of each cell, m.
fn corners(layout: &Layout, walls: &Walls) -> Vec<f32> {
    let reach = REACH * layout.longest();
    let half = 0.5 * glam::DVec3::from(layout.h);
    (0..layout.len())
        .into_par_iter()
        .map(|i| {
            let p = layout.cell_center(i) - half;
            let distance = walls.nearest_body(p, reach).map_or(reach, |c| c.distance);
            // Rounding must not open faces that lie in a surface.
            if distance.abs() < SNAP * layout.shortest() { 0.0 } else { distance as f32 }
        })
        .collect()
}

/// The share of a square with positive distance, of the distances at its corners (0,0), (1,0), (0,1), (1,1): straight cuts
/// from edge to edge.
pub fn open_share(phi: [f32; 4]) -> f32 {
    let inside = phi.iter().filter(|p| **p > 0.0).count();
    if inside == 4 {
        return 1.0;
    }
    if inside == 0 {
        return 0.0;
    }
    // Around the square; area of the polygon of open corners and cuts by the shoelace rule.
    let around = [([0.0, 0.0], phi[0]), ([1.0, 0.0], phi[1]), ([1.0, 1.0], phi[3]), ([0.0, 1.0], phi[2])];
    let mut points = [[0f32; 2]; 8];
    let mut count = 0;
    for k in 0..4 {
        let ((p, a), (q, b)) = (around[k], around[(k + 1) % 4]);
        if a > 0.0 {
            points[count] = p;
            count += 1;
        }
        if (a > 0.0) != (b > 0.0) {
            let t = a / (a - b);
            points[count] = [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
            count += 1;
        }
    }
    let mut area = 0.0;
    for k in 0..count {
        let (p, q) = (points[k], points[(k + 1) % count]);
        area += p[0] * q[1] - q[0] * p[1];
    }
    let share = 0.5 * area;
    if share < SLIT { 0.0 } else { share.min(1.0) }
}

/// The share of a cell with positive distance, by a few samples of the distance between its corners.
fn open_volume(phi: [f32; 8], edge: f32) -> f32 {
    const N: usize = 4;
    let mut sum = 0.0;
    for k in 0..N * N * N {
        let f = [k % N, k / N % N, k / (N * N)].map(|c| (c as f32 + 0.5) / N as f32);
        let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
        let x: [f32; 4] = std::array::from_fn(|c| mix(phi[2 * c], phi[2 * c + 1], f[0]));
        let y = [mix(x[0], x[1], f[1]), mix(x[2], x[3], f[1])];
        let d = mix(y[0], y[1], f[2]);
        // Each sample stands for a small cube.
        sum += (0.5 + d * N as f32 / edge).clamp(0.0, 1.0);
    }
    sum / (N * N * N) as f32
}
