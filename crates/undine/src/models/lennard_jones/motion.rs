//! A step: half-kick, drift, collisions, forces, half-kick.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::force::{self, Quad, Seen, record};
use super::kick::Kick;
use super::list::BLOCK;
use super::moved::{GROUP, moved};
use super::relist::fill;
use super::wall::{self, Beside, Felt, Moment};
use super::{Extremes, LennardJones, UNKNOWN};
use crate::models::{Around, Trouble};
use crate::neighbors::Moved;
use crate::scene::Dynamics;
use crate::state::particles::Particles;

/// A particle faster than this many times the greatest expected speed (and five times √(ε/m)) is running away.
const RUNAWAY: f64 = 20.0;

/// A particle that moves by more than this in a step, in spacings, is held against all walls, near or not.
const HOP: f64 = 0.5;

impl LennardJones {
    /// First half-kick, drift, collisions; and how far particles are from where they were listed.
    pub(super) fn advance(&mut self, dt: f64, around: &Around) {
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
        self.ways.resize(n.div_ceil(GROUP), Moved::NONE);
        let felt = Felt::new(&self.params);
        let LennardJones { particles, grid, place, record: records, listed, beside, ways, .. } = self;
        let mut records: Vec<&mut [_]> = records.chunks_mut(BLOCK).collect();
        records.resize_with(n.div_ceil(BLOCK), Default::default);
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
            records,
            listed[..n].par_chunks(BLOCK),
            ways.par_chunks_mut(BLOCK / GROUP),
        );
        blocks.into_par_iter().enumerate().for_each(
            |(block, (x, y, z, velocity, acceleration, near_wall, fluid, place, records, listed, ways))| {
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
                            && !(fresh && is_clear(&beside[block * BLOCK + k], &felt, p, now))
                            || u.length_squared() > hop2;
                        let before = fast;
                        p = around.walls.collide(from, p, &mut fast, dt, bodies);
                        if fast != before {
                            u = fast.as_vec3();
                        }
                    }
                    *v = u.to_array();
                    [x[k], y[k], z[k]] = p.to_array();
                }
                fill(grid, [x, y, z], place);
                for ((record_of, p), v) in records.iter_mut().zip(&*place).zip(&*velocity) {
                    *record_of = record(*p, *v);
                }
                for ((way, now), listed) in ways.iter_mut().zip(place.chunks(GROUP)).zip(listed.chunks(GROUP))
                {
                    *way = moved(now, listed);
                }
            },
        );
    }

    /// All forces, and the second half-kick.
    pub(super) fn forces(&mut self, around: &Around, dt: f64) {
        let kick = Kick::new(&self.params, 0.5 * dt);
        let heat = kick.heat(&self.params, dt, self.steps);
        let params = &self.params;
        let seen = Seen { place: &self.place, record: &self.record, constants: &self.constants };
        let listed = &self.listed;
        // What has moved by more since walls were looked for beside it is looked at again.
        let felt = Felt::new(params);
        let margin = wall::margin(params);
        let way =
            (0.5 * margin - (self.travel - self.listed_travel)).max(0.0) / (params.pair.cutoff + self.skin);
        let way2 = (way * way) as f32;

        let scale = self.constants.force;
        let only_gravity = around.fields.only_gravity();
        let gravity = around.fields.gravity.as_vec3();
        let per_mass: Vec<f32> = params.mass.iter().map(|m| (1.0 / m) as f32).collect();
        let overdamped = params.dynamics == Dynamics::Overdamped;
        let moment = Moment { time: around.time, travel: self.travel };
        let Particles { x, y, z, velocity, acceleration, near_wall, fluid, id, .. } = &mut self.particles;
        let (x, y, z, fluid, id) = (&x[..], &y[..], &z[..], &fluid[..], &id[..]);
        // One part for each block, of nothing where there are no walls.
        let mut beside: Vec<&mut [Option<Box<Beside>>]> = self.beside.chunks_mut(BLOCK).collect();
        beside.resize_with(self.list.blocks.len(), Default::default);
        let near_wall = near_wall.par_chunks_mut(BLOCK);
        let blocks = (velocity.par_chunks_mut(BLOCK), acceleration.par_chunks_mut(BLOCK), beside, near_wall);
        let extremes = blocks.into_par_iter().zip(&self.list.blocks).enumerate().map(
            |(block, ((velocity, acceleration, beside, near_wall), rows))| {
                let first = block * BLOCK;
                let mut most = Extremes { fastest: usize::MAX, ..Extremes::default() };
                force::forces(&seen, rows, first, acceleration, &mut most.closest);
                for (k, (v, a)) in velocity.iter_mut().zip(acceleration).enumerate() {
                    let i = first + k;
                    let f = usize::from(fluid[i]);
                    let mut now = Vec3::from(*v);
                    let mut sum = Vec3::from(*a) * scale;
                    if let Some(b) = beside.get_mut(k) {
                        let p = DVec3::new(x[i], y[i], z[i]);
                        let flag = &mut near_wall[k];
                        if *flag == UNKNOWN || *flag == 0 && way2 < square_way(&seen.place[i], &listed[i]) {
                            let b = b.get_or_insert_default();
                            *flag = u8::from(b.is_near(around.walls, p, &felt, moment));
                        }
                        if *flag != 0 {
                            let b = b.get_or_insert_default();
                            sum += b.force(around.walls, (p, now), &felt, moment, &mut most.closest);
                        }
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

/// Square of the way between two places, in supports.
#[inline(always)]
fn square_way(a: &Quad, b: &Quad) -> f32 {
    (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum()
}

/// Whether what is known of walls says that a particle at `p` has entered none.
#[inline(always)]
fn is_clear(beside: &Option<Box<Beside>>, felt: &Felt, p: DVec3, now: Moment) -> bool {
    beside.as_ref().is_some_and(|b| b.is_clear(felt, p, now))
}
