//! Walls: a particle is pushed off by its own mirror image, as two particles push each other, so that fluid rests half a
//! spacing off a wall of any shape. What is faster than that is held by push-out-and-reflect (`crate::walls`).
//!
//! Looking for the nearest point of a mesh takes longer than all pairs of a particle. So what was found is kept, as planes that
//! move with their walls, until the particle has moved by a little as seen from them: fluid in a bottle that is tilted goes
//! with it.

use glam::{DVec3, Vec3};

use super::force::{Closest, FRICTION_REACH};
use super::params::Params;
use crate::checkpoint::CheckpointError;
use crate::scene::Slip;
use crate::walls::{Contact, Walls};

/// Friction along a wall that fluid sticks to, × that across it.
const STICK: f32 = 4.0;

/// How far a particle moves off the place its planes touch walls at, seen from there, before walls are looked for again, × σ.
const STALE: f32 = 0.05;

/// How far ahead of a particle that place is, × that. A plane touched where the particle has been pushes it on along a wall that
/// is hollow: water in a cup would turn faster and faster.
const LEAD: f32 = 0.9;

/// And how far the fastest wall moves, × σ: planes do not turn.
const LAG: f32 = 1.0;

/// How much farther than they are felt walls are looked for, × σ: the farther, the longer it need not be done again.
const MARGIN: f32 = 0.6;

/// The same where none was felt, × σ.
const AHEAD: f32 = 2.5;

/// How far a wall that turns gets off its straight way, × that way: half of the angle.
const TURN: f32 = 0.25;

/// Walls farther than this by their planes, × σ, are taken to be where the planes are.
const CLEAR: f32 = 0.1;

/// Walls that a particle feels at once, at most.
const MOST: usize = 4;

/// How far walls are felt, m.
pub fn reach(p: &Params) -> f64 {
    0.5 * (FRICTION_REACH * p.pair.sigma).min(p.pair.cutoff)
}

/// When and how far walls have moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Time, s.
    pub time: f64,
    /// Way of the fastest wall since the start, m.
    pub travel: f64,
}

/// A wall as a plane, in single precision: more than the distances of particles need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Plane {
    /// Signed distance, m.
    distance: f32,
    normal: Vec3,
    /// m/s.
    velocity: Vec3,
    sticks: bool,
}

impl Plane {
    fn new(c: &Contact) -> Self {
        Plane {
            distance: c.distance as f32,
            normal: c.normal.as_vec3(),
            velocity: c.velocity.as_vec3(),
            sticks: c.slip == Slip::NoSlip,
        }
    }
}

/// The walls near a particle, as they were when it was last looked for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    place: DVec3,
    seen: Moment,
    /// How far was looked, m, and how far the nearest wall was, or that.
    looked: f32,
    nearest: f32,
    count: u32,
    planes: [Plane; MOST],
}

/// Where a particle is, seen from where walls were looked for.
#[derive(Clone, Copy)]
struct Way {
    /// m.
    off: Vec3,
    /// Time since, s.
    time: f32,
    /// Way of the fastest wall since, m.
    travel: f32,
}

impl Way {
    /// How far at most the particle and the walls have come nearer, m.
    #[inline(always)]
    fn nearer(&self) -> f32 {
        self.off.length() + self.travel
    }

    /// Of the particle seen from a wall, m.
    #[inline(always)]
    fn along(&self, plane: &Plane) -> Vec3 {
        self.off - plane.velocity * self.time
    }

    /// Least distance that the wall of a plane can have, m.
    #[inline(always)]
    fn to(&self, plane: &Plane) -> f32 {
        plane.distance - self.along(plane).length() - TURN * self.travel
    }
}

impl Beside {
    #[inline(always)]
    fn way(&self, p: DVec3, now: Moment) -> Way {
        Way {
            off: (p - self.place).as_vec3(),
            time: (now.time - self.seen.time) as f32,
            travel: (now.travel - self.seen.travel) as f32,
        }
    }

    fn planes(&self) -> &[Plane] {
        &self.planes[..self.count as usize]
    }

    /// Whether no wall can be nearer than `reach`, m, by a quick look.
    #[inline(always)]
    fn is_far(&self, way: &Way, reach: f32) -> bool {
        self.nearest - way.nearer() - TURN * way.travel >= reach
    }

    fn look(&mut self, walls: &Walls, place: DVec3, reach: f32, now: Moment) {
        (self.place, self.seen, self.looked, self.count) = (place, now, reach, 0);
        walls.contacts(place, f64::from(reach), |c| {
            let plane = Plane::new(c);
            let count = self.count as usize;
            if count < MOST {
                self.planes[count] = plane;
                self.count += 1;
                return;
            }
            // The farthest goes, and beyond it nothing is known.
            let farther = |a: &Plane, b: &Plane| a.distance.total_cmp(&b.distance);
            let (k, most) =
                self.planes.iter().copied().enumerate().fold((0, plane), |far, (k, p)| {
                    if farther(&p, &far.1).is_gt() { (k + 1, p) } else { far }
                });
            if k > 0 {
                self.planes[k - 1] = plane;
            }
            self.looked = self.looked.min(most.distance);
        });
        self.nearest = self.planes().iter().map(|p| p.distance).fold(self.looked, f32::min);
    }

    /// Whether the planes are no good any more, or a wall that is none of them may be nearer than what is felt.
    #[inline(always)]
    fn is_stale(&self, felt: &Felt, way: &Way) -> bool {
        let lags = way.travel > LAG * felt.sigma;
        let stale2 = (STALE * felt.sigma) * (STALE * felt.sigma);
        let bad = |plane: &Plane| {
            (lags || way.along(plane).length_squared() > stale2)
                && way.to(plane) < felt.reach + CLEAR * felt.sigma
        };
        self.looked - way.nearer() < felt.reach || self.planes().iter().any(bad)
    }

    /// Whether a particle that is at `p` now cannot have entered a wall.
    #[inline]
    pub fn is_clear(&self, felt: &Felt, p: DVec3, now: Moment) -> bool {
        let way = self.way(p, now);
        if way.travel > LAG * felt.sigma {
            return false;
        }
        let clear = felt.clear;
        // Mostly the nearest wall is far enough even if it came at the speed of the fastest.
        self.is_far(&way, clear)
            || self.looked > way.nearer() && self.planes().iter().all(|plane| way.to(plane) > clear)
    }

    /// Force of all walls on the particle, N, and the least distance that any can have, m.
    #[inline]
    pub fn force(
        &mut self,
        walls: &Walls,
        (p, v): (DVec3, Vec3),
        felt: &Felt,
        now: Moment,
        most: &mut Closest,
    ) -> (Vec3, f32) {
        let mut way = self.way(p, now);
        if self.is_far(&way, felt.reach) {
            return (Vec3::ZERO, self.nearest - way.nearer() - TURN * way.travel);
        }
        if self.is_stale(felt, &way) {
            let along = v - self.planes().first().map_or(Vec3::ZERO, |plane| plane.velocity);
            let lead = along.normalize_or_zero() * (LEAD * STALE * felt.sigma);
            let feels = self.planes().iter().any(|plane| way.to(plane) < felt.reach);
            let farther = if feels { MARGIN } else { AHEAD };
            self.look(walls, p + lead.as_dvec3(), felt.reach + farther * felt.sigma, now);
            way = self.way(p, now);
        }
        let mut sum = Vec3::ZERO;
        let mut room = self.looked - way.nearer();
        for plane in self.planes() {
            let along = way.along(plane);
            room = room.min(plane.distance - along.length() - TURN * way.travel);
            let distance = plane.distance + plane.normal.dot(along);
            if distance < felt.reach {
                sum += felt.push(plane, distance, v, most);
            }
        }
        if way.travel > LAG * felt.sigma {
            room = self.nearest - way.nearer() - TURN * way.travel;
        }
        (sum, room)
    }

    /// All of it, in numbers.
    pub fn numbers(&self, out: &mut Vec<f64>) {
        out.extend([self.seen.time, self.seen.travel, f64::from(self.looked)]);
        out.extend(self.place.to_array());
        out.push(f64::from(self.count));
        for c in self.planes() {
            out.push(f64::from(c.distance));
            out.extend(c.normal.as_dvec3().to_array());
            out.extend(c.velocity.as_dvec3().to_array());
            out.push(f64::from(u8::from(c.sticks)));
        }
    }

    /// What [`Beside::numbers`] wrote; `None` at the end.
    pub fn from_numbers(from: &mut impl Iterator<Item = f64>) -> Result<Option<Self>, CheckpointError> {
        let Some(time) = from.next() else { return Ok(None) };
        let damaged = || CheckpointError::Damaged { what: "walls beside particles".into() };
        let mut next = || from.next().filter(|v| v.is_finite()).ok_or_else(damaged);
        let seen = Moment { time, travel: next()? };
        let looked = next()? as f32;
        let place = DVec3::new(next()?, next()?, next()?);
        let count = next()?;
        if !(0.0..=MOST as f64).contains(&count) {
            return Err(damaged());
        }
        let mut beside = Beside { place, seen, looked, count: count as u32, ..Beside::default() };
        for plane in &mut beside.planes[..count as usize] {
            *plane = Plane {
                distance: next()? as f32,
                normal: DVec3::new(next()?, next()?, next()?).as_vec3(),
                velocity: DVec3::new(next()?, next()?, next()?).as_vec3(),
                sticks: next()? == 1.0,
            };
        }
        beside.nearest = beside.planes().iter().map(|p| p.distance).fold(looked, f32::min);
        Ok(Some(beside))
    }
}

/// How much nearer a wall can come to a particle that stays where it is while the fastest wall moves by `travel`, m.
pub fn approach(travel: f64) -> f32 {
    (1.0 + TURN) * travel as f32
}

/// What walls do to particles, in numbers of single precision.
#[derive(Clone, Copy, Debug)]
pub struct Felt {
    sigma: f32,
    /// How far walls are felt, m.
    pub reach: f32,
    /// Nearer than this by what is known, m, a particle may have entered one.
    pub clear: f32,
    /// Closest distance of a particle and its image that counts, m.
    core: f32,
    /// 48ε/σ, N, and what is subtracted from the force, N.
    force: f32,
    shift: f32,
    /// Distance of a particle and its image from which on there is no force, m.
    cutoff: f32,
    /// kg/s.
    damping: f32,
}

impl Felt {
    /// For some parameters.
    pub fn new(params: &Params) -> Self {
        let pair = &params.pair;
        Felt {
            sigma: pair.sigma as f32,
            reach: reach(params) as f32,
            clear: CLEAR * pair.sigma as f32,
            core: (params.core * pair.sigma) as f32,
            force: (48.0 * pair.epsilon / pair.sigma) as f32,
            shift: pair.force_shift as f32,
            cutoff: pair.cutoff as f32,
            damping: params.damping as f32,
        }
    }

    /// Force of a wall at some distance, N: a push as that of [`super::pair::Pair::force`], and friction.
    #[inline(always)]
    fn push(&self, plane: &Plane, distance: f32, v: Vec3, most: &mut Closest) -> Vec3 {
        let r = (2.0 * distance).max(self.core);
        let relative = v - plane.velocity;
        let away = relative.dot(plane.normal);
        let share = 0.5 * r / self.reach;
        let w = (1.0 - share * share).max(0.0);
        let w = w * w;
        let s = self.sigma / r;
        let s2 = s * s;
        let s6 = s2 * s2 * s2;
        let pair = if r < self.cutoff { self.force * s * s6 * (s6 - 0.5) - self.shift } else { 0.0 };
        let mut f = plane.normal * (pair.max(0.0) - self.damping * w * away);
        if plane.sticks {
            f -= (relative - plane.normal * away) * (STICK * self.damping * w);
        }
        *most = most.and(Closest { close: s2, rate: -2.0 * away / r });
        f
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;
    use std::path::Path;

    fn cup() -> Scene {
        let text = r#"
            gravity = [0, -9.81, 0]
            model = { kind = "lennard-jones", spacing = 0.01 }
            [[fluid]]
            [[boundary]]
            shape = { cylinder = { base = [0, 0, 0], radius = 0.1, height = 0.2 } }
            inside = "hollow"
            thickness = 0.02
            open_top = true
        "#;
        Scene::parse(text, "cup.toml", Path::new("."), &[]).unwrap().scene
    }

    #[test]
    fn a_wall_pushes_as_a_particle_as_far_behind_it_would() {
        let scene = cup();
        let (params, walls) = (Params::new(&scene), Walls::new(&scene));
        let felt = Felt::new(&params);
        for distance in [0.004, 0.0047, 0.0052, 0.008] {
            let p = DVec3::new(0.1 - distance, 0.1, 0.0);
            let mut most = Closest::default();
            let (f, _) =
                Beside::default().force(&walls, (p, Vec3::ZERO), &felt, Moment::default(), &mut most);
            let r = (2.0 * distance).max(params.core * params.pair.sigma);
            let expected = params.pair.force(r).max(0.0);
            assert!(
                (f64::from(-f.x) - expected).abs() < 1e-3 * params.pair.force(0.0095),
                "{f} at {distance}"
            );
        }
    }

    /// A particle that slides along a hollow wall without friction keeps its speed: planes touched behind it would push it on.
    #[test]
    fn what_slides_along_a_hollow_wall_is_not_pushed_on() {
        let scene = cup();
        let (mut params, walls) = (Params::new(&scene), Walls::new(&scene));
        params.damping = 0.0;
        let felt = Felt::new(&params);
        let mass = params.mass[0] as f32;
        let (mut p, mut v) = (DVec3::new(0.0945, 0.1, 0.0), Vec3::new(0.0, 0.0, 0.5));
        let mut beside = Beside::default();
        let dt = 2e-4;
        for k in 0..10_000 {
            let now = Moment { time: f64::from(k) * dt, travel: 0.0 };
            let (f, _) = beside.force(&walls, (p, v), &felt, now, &mut Closest::default());
            v += f / mass * dt as f32;
            p += v.as_dvec3() * dt;
        }
        assert!((v.length() - 0.5).abs() < 0.01, "{} m/s after two seconds", v.length());
    }
}
