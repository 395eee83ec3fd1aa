//! A step: half-kick, drift, collisions, forces, half-kick.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::drift::{self, Drift, Moving, Second, drift, use_up};
use super::force::{self, Quad, Seen, record};
use super::kick::Kick;
use super::list::BLOCK;
use super::moved::{GROUP, moved};
use super::relist::fill;
use super::wall::{Beside, Felt, Moment, approach};
use super::{Extremes, LennardJones, clusters};
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
        // What moves all particles alike, if something does.
        let uniform = match self.params.dynamics {
            Dynamics::Overdamped => Some([1.0, 0.0]),
            Dynamics::Inertia => kick.uniform(),
        };
        // A wall that moves comes nearer by itself.
        let hop = (HOP * self.params.spacing / dt - around.walls.fastest()).max(0.0);
        let hop2 = (hop * hop) as f32;
        let has_walls = !around.walls.is_empty();
        let n = self.particles.len();
        let now = Moment { time: around.time, travel: self.travel };
        // What is kept of walls is by number, and numbers have changed where particles came or went.
        if self.stale || self.beside.len() != n {
            self.beside.clear();
            self.room.clear();
        }
        self.beside.resize_with(if has_walls { n } else { 0 }, Beside::default);
        self.room.resize(n, if has_walls { 0.0 } else { f32::INFINITY });
        let nearer = approach(around.walls.fastest() * dt);
        self.ways.resize(n.div_ceil(GROUP), Moved::NONE);
        self.far2.resize(n.div_ceil(BLOCK), 0.0);
        let patched = self.patched;
        let felt = Felt::new(&self.params);
        let LennardJones {
            particles, grid, place, record: records, listed, beside, room, ways, far2, ..
        } = self;
        let mut records: Vec<&mut [_]> = records.chunks_mut(BLOCK).collect();
        records.resize_with(n.div_ceil(BLOCK), Default::default);
        let Particles { x, y, z, velocity, acceleration, fluid, .. } = particles;
        let blocks = (
            x.par_chunks_mut(BLOCK),
            y.par_chunks_mut(BLOCK),
            z.par_chunks_mut(BLOCK),
            velocity.par_chunks_mut(BLOCK),
            acceleration.par_chunks(BLOCK),
            room.par_chunks_mut(BLOCK),
            fluid.par_chunks(BLOCK),
            place[..n].par_chunks_mut(BLOCK),
            records,
            listed[..n].par_chunks(BLOCK),
            ways.par_chunks_mut(BLOCK / GROUP),
            far2.par_iter_mut(),
        );
        blocks.into_par_iter().enumerate().for_each(
            |(block, (x, y, z, velocity, acceleration, room, fluid, place, records, listed, ways, far2))| {
                let mut speed2 = [0.0; BLOCK];
                let mut from = [[0.0; BLOCK]; 3];
                let count = x.len();
                for (from, x) in from.iter_mut().zip([&*x, &*y, &*z]) {
                    from[..count].copy_from_slice(x);
                }
                let all = uniform.unwrap_or([1.0, 0.0]);
                if uniform.is_none() {
                    for (k, v) in velocity.iter_mut().enumerate() {
                        *v = kick.half((*v).into(), acceleration[k].into(), fluid[k]).to_array();
                    }
                }
                let position = [&mut *x, &mut *y, &mut *z];
                drift(
                    &mut Moving { position, velocity, acceleration },
                    &Drift { kick: all, dt },
                    &mut speed2,
                );
                if has_walls {
                    let mut any = false;
                    use_up(room, &speed2, [dt as f32, nearer, felt.clear], &mut any);
                    any |= !(0..count)
                        .all(|k| speed2[k] <= hop2 && around.walls.is_within(DVec3::new(x[k], y[k], z[k])));
                    let held = if any { count } else { 0 };
                    for k in 0..held {
                        let p = DVec3::new(x[k], y[k], z[k]);
                        // What is no number is looked at, too.
                        let bodies = (room[k] <= felt.clear || room[k].is_nan())
                            && !beside[block * BLOCK + k].is_clear(&felt, p, now)
                            || speed2[k] > hop2;
                        if !bodies && around.walls.is_within(p) {
                            continue;
                        }
                        let mut fast = Vec3::from(velocity[k]).as_dvec3();
                        let before = fast;
                        let from = DVec3::new(from[0][k], from[1][k], from[2][k]);
                        let to = around.walls.collide(from, p, &mut fast, dt, bodies);
                        if (to, fast) != (p, before) {
                            [x[k], y[k], z[k]] = to.to_array();
                            velocity[k] = fast.as_vec3().to_array();
                            // It went another way.
                            room[k] = 0.0;
                        }
                    }
                }
                fill(grid, [x, y, z], place);
                for ((record_of, p), v) in records.iter_mut().zip(&*place).zip(&*velocity) {
                    *record_of = record(*p, *v);
                }
                if patched {
                    *far2 = longest2(place, listed);
                    return;
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
        let sums = if self.patched { clusters::forces } else { force::forces };
        let felt = Felt::new(params);
        let scale = self.constants.force;
        let only_gravity = around.fields.only_gravity();
        let gravity = around.fields.gravity.as_vec3();
        let per_mass: Vec<f32> = params.mass.iter().map(|m| (f64::from(scale) / m) as f32).collect();
        let overdamped = params.dynamics == Dynamics::Overdamped;
        let plain = only_gravity && !overdamped && heat.is_none() && params.mass.len() == 1;
        let second = kick.uniform().filter(|_| plain).map(|kick| Second {
            kick,
            scale: per_mass[0],
            gravity: gravity.to_array(),
        });
        let moment = Moment { time: around.time, travel: self.travel };
        let Particles { x, y, z, velocity, acceleration, fluid, id, .. } = &mut self.particles;
        let (x, y, z, fluid, id) = (&x[..], &y[..], &z[..], &fluid[..], &id[..]);
        // One part for each block, of nothing where there are no walls.
        let mut beside: Vec<&mut [Beside]> = self.beside.chunks_mut(BLOCK).collect();
        beside.resize_with(self.list.blocks.len(), Default::default);
        let room = self.room.par_chunks_mut(BLOCK);
        let blocks = (velocity.par_chunks_mut(BLOCK), acceleration.par_chunks_mut(BLOCK), beside, room);
        let extremes = blocks.into_par_iter().zip(&self.list.blocks).enumerate().map(
            |(block, ((velocity, acceleration, beside, room), rows))| {
                let first = block * BLOCK;
                let mut most = Extremes { fastest: usize::MAX, ..Extremes::default() };
                sums(&seen, rows, first, acceleration, &mut most.closest);
                // Walls, of the few that may feel any.
                for (k, b) in beside.iter_mut().enumerate() {
                    if room[k] >= felt.reach {
                        continue;
                    }
                    let i = first + k;
                    let p = DVec3::new(x[i], y[i], z[i]);
                    let v = Vec3::from(velocity[k]);
                    let push;
                    (push, room[k]) = b.force(around.walls, (p, v), &felt, moment, &mut most.closest);
                    acceleration[k] = (Vec3::from(acceleration[k]) + push / scale).to_array();
                }
                if let Some(second) = &second {
                    let mut speed2 = [0.0; BLOCK];
                    drift::kick(velocity, acceleration, second, &mut speed2);
                    for (k, speed2) in speed2.into_iter().enumerate().take(velocity.len()) {
                        if speed2 > most.speed2 || speed2.is_nan() || most.fastest == usize::MAX {
                            (most.speed2, most.fastest) = (speed2, first + k);
                        }
                    }
                    return most;
                }
                for (k, (v, a)) in velocity.iter_mut().zip(acceleration).enumerate() {
                    let i = first + k;
                    let f = usize::from(fluid[i]);
                    let mut now = Vec3::from(*v);
                    let mut acc = Vec3::from(*a) * per_mass[f];
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

/// Square of the longest of some ways, supports; no number where a particle is nowhere.
#[inline(always)]
fn longest2(now: &[Quad], listed: &[Quad]) -> f32 {
    let (mut most, mut lost) = (0.0, 0.0);
    for (a, b) in now.iter().zip(listed) {
        let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
        let d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        most = if d2 > most { d2 } else { most };
        lost += 0.0 * d2;
    }
    most + lost
}
