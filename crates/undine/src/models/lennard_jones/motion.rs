//! A step: half-kick, drift, collisions, forces, half-kick.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::force::{self, Quad, Seen};
use super::kick::Kick;
use super::list::BLOCK;
use super::relist::fill;
use super::wall::{Beside, Moment};
use super::{Extremes, LennardJones};
use crate::models::{Around, Trouble};
use crate::scene::Dynamics;
use crate::state::particles::Particles;

/// A particle faster than this many times the greatest expected speed (and five times √(ε/m)) is running away.
const RUNAWAY: f64 = 20.0;

/// A particle that moves by more than this in a step, in spacings, is held against all walls, near or not.
const HOP: f64 = 0.5;

impl LennardJones {
    /// First half-kick, drift, collisions. Says how far particles are from where they were listed.
    pub(super) fn advance(&mut self, dt: f64, around: &Around) -> Moved {
        let kick = Kick::new(&self.params, 0.5 * dt);
        let overdamped = self.params.dynamics == Dynamics::Overdamped;
        // A wall that moves comes nearer by itself.
        let hop = (HOP * self.params.spacing / dt - around.walls.fastest()).max(0.0);
        let hop2 = (hop * hop) as f32;
        let has_walls = !around.walls.is_empty();
        let n = self.particles.len();
        let now = Moment { time: around.time, travel: self.travel };
        // What is kept of walls is by number, and numbers have changed where particles came or went.
        let fresh = !self.stale && self.beside.len() == n;
        let LennardJones { params, particles, grid, place, velocity: seen, listed, beside, .. } = self;
        let Particles { x, y, z, velocity, acceleration, near_wall, fluid, .. } = particles;
        let blocks = (
            x.par_chunks_mut(BLOCK),
            y.par_chunks_mut(BLOCK),
            z.par_chunks_mut(BLOCK),
            velocity.par_chunks_mut(BLOCK),
            acceleration.par_chunks(BLOCK),
            near_wall.par_chunks(BLOCK),
            fluid.par_chunks(BLOCK),
            place[..n].par_chunks_mut(BLOCK),
            seen[..n].par_chunks_mut(BLOCK),
            listed[..n].par_chunks(BLOCK),
        );
        let moved = blocks.into_par_iter().enumerate().map(
            |(block, (x, y, z, velocity, acceleration, near_wall, fluid, place, seen, listed))| {
                for (k, v) in velocity.iter_mut().enumerate() {
                    let mut u = Vec3::from(*v);
                    if !overdamped {
                        u = kick.half(u, acceleration[k].into(), fluid[k]);
                    }
                    let from = DVec3::new(x[k], y[k], z[k]);
                    let mut fast = u.as_dvec3();
                    let mut p = from + fast * dt;
                    if has_walls {
                        let bodies = near_wall[k] != 0
                            && !(fresh && beside[block * BLOCK + k].is_clear(params, p, now))
                            || u.length_squared() > hop2;
                        let before = fast;
                        p = around.walls.collide(from, p, &mut fast, dt, bodies);
                        if fast != before {
                            u = fast.as_vec3();
                        }
                    }
                    *v = u.to_array();
                    [x[k], y[k], z[k]] = p.to_array();
                    seen[k] = [u.x, u.y, u.z, 0.0];
                }
                fill(grid, [x, y, z], place);
                Moved::of(place, listed)
            },
        );
        moved.reduce(|| Moved::NONE, Moved::and)
    }

    /// All forces, and the second half-kick.
    pub(super) fn forces(&mut self, around: &Around, dt: f64) {
        let kick = Kick::new(&self.params, 0.5 * dt);
        let heat = kick.heat(&self.params, dt, self.steps);
        let params = &self.params;
        let seen = Seen { place: &self.place, velocity: &self.velocity, constants: &self.constants };
        let scale = self.constants.force;
        let only_gravity = around.fields.only_gravity();
        let gravity = around.fields.gravity.as_vec3();
        let per_mass: Vec<f32> = params.mass.iter().map(|m| (1.0 / m) as f32).collect();
        let overdamped = params.dynamics == Dynamics::Overdamped;
        let moment = Moment { time: around.time, travel: self.travel };
        let Particles { x, y, z, velocity, acceleration, near_wall, fluid, id, .. } = &mut self.particles;
        let (x, y, z, fluid, id) = (&x[..], &y[..], &z[..], &fluid[..], &id[..]);
        // One part for each block, of nothing where there are no walls.
        let mut beside: Vec<&mut [Box<Beside>]> = self.beside.chunks_mut(BLOCK).collect();
        beside.resize_with(self.list.blocks.len(), Default::default);
        let blocks = (velocity.par_chunks_mut(BLOCK), acceleration.par_chunks_mut(BLOCK), beside);
        let extremes = blocks.into_par_iter().zip(&self.list.blocks).enumerate().map(
            |(block, ((velocity, acceleration, beside), rows))| {
                let first = block * BLOCK;
                let mut most = Extremes { fastest: usize::MAX, ..Extremes::default() };
                force::forces(&seen, rows, first, acceleration, &mut most.closest);
                for (k, (v, a)) in velocity.iter_mut().zip(acceleration).enumerate() {
                    let i = first + k;
                    let f = usize::from(fluid[i]);
                    let mut now = Vec3::from(*v);
                    let mut sum = Vec3::from(*a) * scale;
                    if let Some(b) = beside.get_mut(k).filter(|_| near_wall[i] != 0) {
                        let at = (DVec3::new(x[i], y[i], z[i]), now.as_dvec3());
                        sum += b.force(params, around.walls, at, moment, &mut most.closest).as_vec3();
                    }
                    let mut acc = sum * per_mass[f];
                    acc += if only_gravity {
                        gravity
                    } else {
                        let p = DVec3::new(x[i], y[i], z[i]);
                        around.fields.acceleration(p, now.as_dvec3()).as_vec3()
                    };
                    *a = acc.to_array();
                    now = if overdamped { acc * kick.per_drag(f) } else { kick.half(now, acc, f as u8) };
                    if let Some(heat) = &heat {
                        now += heat.push(f, id[i]);
                    }
                    *v = now.to_array();
                    let speed2 = now.length_squared();
                    if speed2 > most.speed2 || speed2.is_nan() || most.fastest == usize::MAX {
                        (most.speed2, most.fastest) = (speed2, i);
                    }
                }
                most
            },
        );
        let none = || Extremes { fastest: usize::MAX, ..Extremes::default() };
        self.extremes = extremes.reduce(none, Extremes::and);
        if self.extremes.fastest == usize::MAX {
            self.extremes.fastest = 0;
        }
    }

    /// Stops a state that must not go on.
    pub(super) fn guard(&self, time: f64) -> Result<(), Trouble> {
        let speed = f64::from(self.extremes.speed2).sqrt();
        let most = RUNAWAY * (self.params.expected_speed + 5.0 * self.params.pace());
        if self.particles.is_empty() || speed.is_finite() && speed <= most {
            return Ok(());
        }
        Err(self.trouble(self.extremes.fastest, time))
    }

    pub(super) fn trouble(&self, i: usize, time: f64) -> Trouble {
        let Particles { x, y, z, velocity, id, .. } = &self.particles;
        Trouble {
            term: "pair force",
            value: f64::from(Vec3::from(velocity[i]).length()),
            particle: id[i],
            position: [x[i], y[i], z[i]],
            time,
        }
    }
}

/// How far particles have moved since the list was made, in units of the support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moved {
    /// Greatest square of a way; no number if a particle is nowhere.
    pub farthest2: f32,
    /// Least and greatest way along each axis.
    least: [f32; 3],
    most: [f32; 3],
}

impl Moved {
    const NONE: Moved = Moved { farthest2: 0.0, least: [f32::INFINITY; 3], most: [f32::NEG_INFINITY; 3] };

    /// Of a block.
    fn of(now: &[Quad], listed: &[Quad]) -> Self {
        let mut m = Moved::NONE;
        for (a, b) in now.iter().zip(listed) {
            let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
            let d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            // Stays no number once it is.
            m.farthest2 = if d2 <= m.farthest2 || m.farthest2.is_nan() { m.farthest2 } else { d2 };
            for (k, d) in d.into_iter().enumerate() {
                m.least[k] = m.least[k].min(d);
                m.most[k] = m.most[k].max(d);
            }
        }
        m
    }

    fn and(self, o: Self) -> Self {
        let first = self.farthest2 > o.farthest2 || self.farthest2.is_nan();
        Moved {
            farthest2: if first { self.farthest2 } else { o.farthest2 },
            least: std::array::from_fn(|k| self.least[k].min(o.least[k])),
            most: std::array::from_fn(|k| self.most[k].max(o.most[k])),
        }
    }

    /// Way of the farthest.
    pub fn farthest(&self) -> f64 {
        f64::from(self.farthest2).sqrt()
    }

    /// Most by which two particles can have come nearer. Where some fall past others that rest, half of what the way of the
    /// farthest tells.
    pub fn apart(&self) -> f64 {
        let across: f64 = (0..3).map(|k| f64::from(self.most[k] - self.least[k]).max(0.0).powi(2)).sum();
        across.sqrt().min(2.0 * self.farthest())
    }
}
