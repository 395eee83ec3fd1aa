//! Motion with the flow: markers forward, and for the semi-Lagrangian scheme the grid's velocities backward (Stam 1999).

use glam::DVec3;
use rayon::prelude::*;

use super::cuts::Cuts;
use super::layout::Layout;
use super::transfer::{Faces, velocity_and_gradient_at, velocity_at};
use crate::scene::Convection;
use crate::state::markers::{BLOCK, Markers};
use crate::walls::Walls;

/// Share of the grid's own velocity that FLIP takes over, so that what the grid cannot see dies away.
pub(super) const PIC: f32 = 0.03;

/// What moves markers.
#[derive(Clone, Copy)]
pub struct Flow<'a> {
    /// How the grid lies.
    pub layout: &'a Layout,
    /// How walls cut it.
    pub cuts: &'a Cuts,
    /// The walls.
    pub walls: &'a Walls,
    /// Velocities, spread and padded.
    pub u: &'a Faces,
    /// Those before forces and pressure (for FLIP).
    pub before: &'a Faces,
    /// Velocities that move markers: those and what evens out the filling.
    pub drift: &'a Faces,
    /// How near a marker's middle gets to a wall, m.
    pub margin: f64,
    /// How velocities travel.
    pub convection: Convection,
    /// Time to move for, s.
    pub dt: f64,
}

/// What came of moving markers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// Greatest speed along an axis in cells per second; no number when any is none.
    pub rate: f32,
    /// Whether any left through an open side.
    pub left: bool,
}

impl Moved {
    fn and(self, o: Moved) -> Moved {
        // Keeps what is no number.
        let rate = if o.rate <= self.rate { self.rate } else { o.rate };
        Moved { rate, left: self.left || o.left }
    }
}

impl Flow<'_> {
    /// Gives markers, which are in order, their new velocities and moves them.
    pub fn carry(&self, markers: &mut Markers) -> Moved {
        let Markers { x, velocity, affine, .. } = markers;
        let blocks = x.len().div_ceil(BLOCK);
        let mut none: Vec<[[f32; 3]; 3]> = Vec::new();
        let affine = if self.convection == Convection::Apic { affine } else { &mut none };
        // Without gradients there is an empty slice for each block.
        let gradients: Vec<&mut [[[f32; 3]; 3]]> = if affine.is_empty() {
            (0..blocks).map(|_| &mut [][..]).collect()
        } else {
            affine.chunks_mut(BLOCK).collect()
        };
        (x.par_chunks_mut(BLOCK), velocity.par_chunks_mut(BLOCK), gradients)
            .into_par_iter()
            .map(|(x, velocity, affine)| self.carry_block(x, velocity, affine))
            .reduce(Moved::default, Moved::and)
    }

    fn carry_block(
        &self,
        x: &mut [[f32; 3]],
        velocity: &mut [[f32; 3]],
        affine: &mut [[[f32; 3]; 3]],
    ) -> Moved {
        let layout = self.layout;
        let scale: [f32; 3] = layout.h.map(|h| (self.dt / h) as f32);
        let mut moved = Moved::default();
        for k in 0..x.len() {
            let at = x[k];
            let u = match self.convection {
                Convection::Apic => {
                    let (u, gradient) = velocity_and_gradient_at(layout, self.u, &at);
                    affine[k] = gradient;
                    velocity[k] = u;
                    u
                }
                Convection::Flip => {
                    let u = velocity_at(layout, self.u, &at);
                    let was = velocity_at(layout, self.before, &at);
                    for a in 0..3 {
                        velocity[k][a] = PIC * u[a] + (1.0 - PIC) * (velocity[k][a] + u[a] - was[a]);
                    }
                    u
                }
                Convection::SemiLagrangian => {
                    let u = velocity_at(layout, self.u, &at);
                    velocity[k] = u;
                    u
                }
            };
            // Second order: the velocity half-way.
            let middle = self.held(std::array::from_fn(|a| at[a] + 0.5 * scale[a] * u[a]));
            let half = velocity_at(layout, self.drift, &middle);
            let to: [f32; 3] = std::array::from_fn(|a| at[a] + scale[a] * half[a]);
            let mut rate = 0f32;
            for a in 0..3 {
                let r = velocity[k][a].abs() / layout.h[a] as f32;
                rate = if r <= rate { rate } else { r };
            }
            let (place, left) = self.kept(at, to, &mut velocity[k]);
            x[k] = place;
            moved = moved.and(Moved { rate, left });
        }
        moved
    }

    /// A place inside the grid.
    #[inline(always)]
    fn held(&self, mut x: [f32; 3]) -> [f32; 3] {
        for a in 0..3 {
            let n = self.layout.n[a] as f32;
            x[a] = if self.layout.periodic[a] { wrapped(x[a], n) } else { x[a].clamp(0.0, n) };
        }
        x
    }

    /// Where a marker ends that would go from `at` to `to`: out of walls and inside the domain. Says whether it left through an
    /// open side; it is then outside.
    #[inline(always)]
    fn kept(&self, at: [f32; 3], mut to: [f32; 3], velocity: &mut [f32; 3]) -> ([f32; 3], bool) {
        let layout = self.layout;
        if self.cuts.has_bodies() && self.is_near_body(&at, &to) {
            to = self.out_of_walls(at, to, velocity);
        }
        let mut left = false;
        for a in 0..3 {
            let n = layout.n[a] as f32;
            if layout.periodic[a] {
                to[a] = wrapped(to[a], n);
                continue;
            }
            // On a wall itself a marker would stay for ever: the velocity across it is zero there.
            let margin = (self.margin / layout.h[a]) as f32;
            for (upper, out) in [(0, -to[a]), (1, to[a] - n)] {
                if layout.open[a][upper] {
                    left |= out > 0.0;
                } else if out > -margin {
                    to[a] = if upper == 0 { margin } else { n - margin };
                    let out = if upper == 0 { velocity[a] < 0.0 } else { velocity[a] > 0.0 };
                    if out {
                        velocity[a] = 0.0;
                    }
                }
            }
        }
        (to, left)
    }

    #[inline(always)]
    fn is_near_body(&self, at: &[f32; 3], to: &[f32; 3]) -> bool {
        let layout = self.layout;
        let mut way = 0f32;
        let mut cell = [0; 3];
        for a in 0..3 {
            way = way.max((to[a] - at[a]).abs() * layout.h[a] as f32);
            cell[a] = (at[a] as usize).min(layout.n[a] - 1);
        }
        // From the corner of the cell that is nearest to the wall the marker may be a diagonal away.
        self.cuts.clear[layout.at(cell)] < 1.8 * way + 1.8 * layout.longest() as f32
    }

    #[cold]
    fn out_of_walls(&self, at: [f32; 3], to: [f32; 3], velocity: &mut [f32; 3]) -> [f32; 3] {
        let layout = self.layout;
        let mut v = glam::Vec3::from(*velocity).as_dvec3();
        let before = v;
        let end = layout.world(to);
        let p = self.walls.collide(layout.world(at), end, &mut v, self.dt, true);
        if v != before {
            *velocity = v.as_vec3().to_array();
        }
        if p == end {
            return to;
        }
        let out: DVec3 = (p - end).normalize_or_zero() * self.margin;
        layout.local(p + out).as_vec3().to_array()
    }

    /// Traces the velocities of all faces back along the flow and leaves what was there in `out` (third order, Ralston 1962).
    pub fn trace_back(&self, out: &mut Faces) {
        let layout = self.layout;
        let scale: [f32; 3] = layout.h.map(|h| (self.dt / h) as f32);
        for (a, out) in out.iter_mut().enumerate() {
            let rows = layout.face_rows(a);
            out.par_chunks_mut(layout.plane()).enumerate().skip(1).take(rows[2]).for_each(|(plane, out)| {
                for y in 0..rows[1] {
                    for x in 0..rows[0] {
                        let c = [x, y, plane - 1];
                        let at: [f32; 3] =
                            std::array::from_fn(|b| c[b] as f32 + if a == b { 0.0 } else { 0.5 });
                        let step = |u: [f32; 3], t: f32| {
                            self.held(std::array::from_fn(|b| at[b] - t * scale[b] * u[b]))
                        };
                        let k1 = velocity_at(layout, self.u, &at);
                        let k2 = velocity_at(layout, self.u, &step(k1, 0.5));
                        let k3 = velocity_at(layout, self.u, &step(k2, 0.75));
                        let mean = std::array::from_fn(|b| (2.0 * k1[b] + 3.0 * k2[b] + 4.0 * k3[b]) / 9.0);
                        let from = step(mean, 1.0);
                        out[layout.at(c) - plane * layout.plane()] = velocity_at(layout, self.u, &from)[a];
                    }
                }
            });
            layout.wrap(out);
        }
    }
}

/// `x` in 0..n, where that wraps around.
#[inline(always)]
fn wrapped(x: f32, n: f32) -> f32 {
    if x < 0.0 {
        let y = x - n * (x / n).floor();
        // Rounding may end on n itself.
        if y < n { y } else { 0.0 }
    } else if x >= n {
        let y = x - n * (x / n).floor();
        if y < n && y >= 0.0 { y } else { 0.0 }
    } else {
        x
    }
}
