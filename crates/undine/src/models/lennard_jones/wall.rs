//! Walls: a particle is pushed off by its own mirror image, as two particles push each other, so that fluid rests half a
//! spacing off a wall of any shape. What is faster than that is held by push-out-and-reflect (`crate::walls`).
//!
//! Looking for the nearest point of a mesh takes longer than all pairs of a particle. So what was found is kept, as planes that
//! move with their walls, until the particle has moved by a little as seen from them: fluid in a bottle that is tilted goes
//! with it.

use glam::DVec3;

use super::force::{Closest, FRICTION_REACH};
use super::params::Params;
use crate::checkpoint::CheckpointError;
use crate::scene::Slip;
use crate::walls::{Contact, Walls};

/// Friction along a wall that fluid sticks to, × that across it.
const STICK: f64 = 4.0;

/// How far a particle moves, seen from the wall, before walls are looked for again, × σ.
const STALE: f64 = 0.08;

/// And how far the fastest wall moves, × σ: planes do not turn.
const LAG: f64 = 0.5;

/// How much farther than needed walls are looked for when a list is made, × σ: the farther, the longer it need not be done again.
const AHEAD: f64 = 1.0;

/// The same when its planes are stale between lists, × σ.
const MARGIN: f64 = 0.6;

/// How far a wall that turns gets off its straight way, × that way: half of the angle.
const TURN: f64 = 0.25;

/// Walls farther than this by their planes, × σ, are taken to be where the planes are.
const CLEAR: f64 = 0.1;

/// Walls that a particle feels at once, at most.
const MOST: usize = 4;

/// How far walls are felt, m.
pub fn reach(p: &Params) -> f64 {
    0.5 * (FRICTION_REACH * p.pair.sigma).min(p.pair.cutoff)
}

/// When and how far walls have moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Time, s.
    pub time: f64,
    /// Way of the fastest wall since the start, m.
    pub travel: f64,
}

/// The walls near a particle, as they were when it was last looked for them.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    place: DVec3,
    seen: Moment,
    /// How far was looked, m.
    looked: f64,
    contacts: Vec<Contact>,
}

impl Beside {
    /// Whether a wall may be nearer than `near` to a particle at `p`; looks for it where that is not known, a little farther
    /// than that.
    pub fn is_near(&mut self, params: &Params, walls: &Walls, p: DVec3, near: f64, now: Moment) -> bool {
        // Where a plane is near there is no need to know more: what a particle feels it looks for by itself.
        if self.to_planes(p, now) < near {
            return true;
        }
        if self.looked - self.moved(p, now) < near {
            self.look(walls, p, near + AHEAD * params.pair.sigma, now);
        }
        self.to_planes(p, now) < near
    }

    fn look(&mut self, walls: &Walls, place: DVec3, reach: f64, now: Moment) {
        (self.place, self.seen, self.looked) = (place, now, reach);
        let contacts = &mut self.contacts;
        contacts.clear();
        walls.contacts(place, reach, |c| contacts.push(*c));
        if contacts.len() > MOST {
            contacts.sort_by(|a, b| a.distance.total_cmp(&b.distance));
            self.looked = contacts[MOST].distance;
            contacts.truncate(MOST);
        }
    }

    /// How far at most the particle and the walls have come nearer since, m.
    fn moved(&self, p: DVec3, now: Moment) -> f64 {
        p.distance(self.place) + (now.travel - self.seen.travel)
    }

    /// Way of the particle since, seen from a wall, m.
    fn off(&self, c: &Contact, p: DVec3, now: Moment) -> DVec3 {
        p - self.place - c.velocity * (now.time - self.seen.time)
    }

    /// Whether the planes are no good any more, or a wall that is none of them may be nearer than `reach`.
    fn is_stale(&self, params: &Params, p: DVec3, reach: f64, now: Moment) -> bool {
        let sigma = params.pair.sigma;
        let lags = now.travel - self.seen.travel > LAG * sigma;
        let bad = |c: &Contact| {
            (lags || self.off(c, p, now).length() > STALE * sigma)
                && self.to_plane(c, p, now) < reach + CLEAR * sigma
        };
        self.looked - self.moved(p, now) < reach || self.contacts.iter().any(bad)
    }

    /// Least distance that the wall of a plane can have from `p`, m.
    fn to_plane(&self, c: &Contact, p: DVec3, now: Moment) -> f64 {
        c.distance - self.off(c, p, now).length() - TURN * (now.travel - self.seen.travel)
    }

    /// The same of all planes.
    fn to_planes(&self, p: DVec3, now: Moment) -> f64 {
        self.contacts.iter().map(|c| self.to_plane(c, p, now)).fold(f64::INFINITY, f64::min)
    }

    /// Whether a particle that is at `p` now cannot have entered a wall.
    #[inline]
    pub fn is_clear(&self, params: &Params, p: DVec3, now: Moment) -> bool {
        let sigma = params.pair.sigma;
        self.looked > self.moved(p, now)
            && self.to_planes(p, now) > CLEAR * sigma
            && now.travel - self.seen.travel <= LAG * sigma
    }

    /// Force of all walls on the particle, N.
    #[inline]
    pub fn force(
        &mut self,
        params: &Params,
        walls: &Walls,
        (p, v): (DVec3, DVec3),
        now: Moment,
        most: &mut Closest,
    ) -> DVec3 {
        let reach = reach(params);
        if self.is_stale(params, p, reach, now) {
            self.look(walls, p, reach + MARGIN * params.pair.sigma, now);
        }
        let mut sum = DVec3::ZERO;
        for c in &self.contacts {
            let distance = c.distance + c.normal.dot(self.off(c, p, now));
            if distance < reach {
                sum += one(params, &Contact { distance, ..*c }, v, most);
            }
        }
        sum
    }

    /// All of it, in numbers.
    pub fn numbers(&self, out: &mut Vec<f64>) {
        out.extend([self.seen.time, self.seen.travel, self.looked]);
        out.extend(self.place.to_array());
        out.push(self.contacts.len() as f64);
        for c in &self.contacts {
            out.push(c.distance);
            out.extend(c.normal.to_array());
            out.extend(c.velocity.to_array());
            out.push(f64::from(u8::from(c.slip == Slip::NoSlip)));
        }
    }

    /// What [`Beside::numbers`] wrote; `None` at the end.
    pub fn from_numbers(from: &mut impl Iterator<Item = f64>) -> Result<Option<Self>, CheckpointError> {
        let Some(time) = from.next() else { return Ok(None) };
        let damaged = || CheckpointError::Damaged { what: "walls beside particles".into() };
        let mut next = || from.next().filter(|v| v.is_finite()).ok_or_else(damaged);
        let seen = Moment { time, travel: next()? };
        let looked = next()?;
        let place = DVec3::new(next()?, next()?, next()?);
        let count = next()?;
        if !(0.0..=MOST as f64).contains(&count) {
            return Err(damaged());
        }
        let mut contacts = Vec::new();
        for _ in 0..count as usize {
            contacts.push(Contact {
                distance: next()?,
                normal: DVec3::new(next()?, next()?, next()?),
                velocity: DVec3::new(next()?, next()?, next()?),
                slip: if next()? == 1.0 { Slip::NoSlip } else { Slip::FreeSlip },
                sampled: false,
            });
        }
        Ok(Some(Beside { place, seen, looked, contacts }))
    }
}

fn one(params: &Params, c: &Contact, v: DVec3, most: &mut Closest) -> DVec3 {
    let pair = &params.pair;
    let r = (2.0 * c.distance).max(params.core * pair.sigma);
    let relative = v - c.velocity;
    let away = relative.dot(c.normal);
    let w = (1.0 - (0.5 * r / reach(params)).powi(2)).max(0.0).powi(2);
    let mut f = c.normal * (pair.force(r).max(0.0) - params.damping * w * away);
    if c.slip == Slip::NoSlip {
        f -= (relative - c.normal * away) * (STICK * params.damping * w);
    }
    let s = (pair.sigma / r) as f32;
    let rate = (-2.0 * away / r) as f32;
    *most = most.and(Closest { close: s * s, rate });
    f
}
