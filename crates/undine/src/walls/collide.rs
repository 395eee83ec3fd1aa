//! What would end in a wall or beyond it is held on the side it came from.

use glam::DVec3;

use super::body::Body;
use super::{Contact, Wall, Walls};
use crate::scene::Slip;
use crate::scene::shape::Shape;

/// Turns of pushing out of walls, at most.
const CORNER: usize = 8;

impl Wall {
    /// Where a particle ends that would move from `from` to `p`, and the wall it meets: on the side it came from, where a step is so
    /// long that the nearest one may be another.
    #[inline]
    fn entered(&self, from: DVec3, p: DVec3, dt: f64) -> Option<(DVec3, Contact)> {
        let inside = self.contact(p, 0.0).map(|c| (p - c.normal * c.distance, c));
        let start = if self.moves() { from + self.velocity_at(self.image(from)) * dt } else { from };
        // Half its thickness deep, the other side is as near.
        let far = if inside.is_some() { 0.5 * self.thickness } else { self.thickness };
        if p.distance_squared(start) <= far * far {
            return inside;
        }
        self.came_through(start, p, inside)
    }

    #[cold]
    fn came_through(
        &self,
        start: DVec3,
        p: DVec3,
        inside: Option<(DVec3, Contact)>,
    ) -> Option<(DVec3, Contact)> {
        let Some(before) = self.contact(start, start.distance(p) + self.h) else { return inside };
        // What a moving wall has overtaken is before it.
        let start = start - before.normal * before.distance.min(0.0);
        let way = self.free_way(start, inside.map_or(p, |i| i.0));
        if way.is_none() {
            return inside;
        }
        // Before the plane of the surface that it left, if it gets there.
        let distance = before.distance.max(0.0) + (p - start).dot(before.normal);
        let slid = p - before.normal * distance;
        if distance < 0.0 && !self.holds(slid) && self.free_way(start, slid).is_none() {
            return Some((slid, Contact { distance, ..before }));
        }
        // Else no farther than to where the straight way ends.
        way.map(|end| (end, self.contact(end, self.h).unwrap_or(before)))
    }

    /// Whether a place is in the wall, by more than roundings are.
    fn holds(&self, p: DVec3) -> bool {
        self.contact(p, 0.0).is_some_and(|c| c.distance < -1e-6 * self.h)
    }

    /// Whether the way from `a` to `b` meets its surface.
    fn is_crossed(&self, a: DVec3, b: DVec3) -> bool {
        // Both by the same number of periods.
        let moved = self.image(a) - a;
        self.body.is_crossed(self.to_body(a + moved), self.to_body(b + moved))
    }

    /// The last place of the way from `start` to `end` before it enters the wall, if it does.
    fn free_way(&self, start: DVec3, end: DVec3) -> Option<DVec3> {
        let length = start.distance(end);
        let at = |t: f64| start + (end - start) * (t / length);
        // As far at once as the wall is away; along it in steps that it is thicker than, or not very many of them.
        let thick = 0.25 * self.thickness;
        let least = thick.max(0.01 * self.h);
        let mut free = 0.0;
        while free < length {
            let c = self.contact(at(free), length - free)?;
            let mut next = (free + c.distance.max(least)).min(length);
            // A step longer than the wall is thick may lead to beyond it.
            let (leaps, from) = (thick < least && c.distance < least, at(free));
            let ends = |t: f64| self.holds(at(t)) || (leaps && self.is_crossed(from, at(t)));
            if ends(next) {
                for _ in 0..30 {
                    let middle = 0.5 * (free + next);
                    if ends(middle) { next = middle } else { free = middle }
                }
                return Some(at(free));
            }
            free = next;
        }
        None
    }
}

impl Walls {
    /// Müller's collision (3.4): a particle that moved from `from` to `to` is pushed out of what it entered and
    /// its normal velocity is reflected. Returns the place it ends at. Without `bodies` only the domain's faces count.
    #[inline]
    pub fn collide(&self, from: DVec3, to: DVec3, velocity: &mut DVec3, dt: f64, bodies: bool) -> DVec3 {
        if !bodies || self.walls.is_empty() {
            return self.push_inside(to, velocity);
        }
        let mut p = to;
        for wall in self.walls.iter().filter(|_| self.sheets) {
            if let Body::Sheet(shape) = &wall.body {
                p = self.hold(wall, shape, from, p, velocity, dt);
            }
        }
        // What is pushed out of one wall may enter another: in a corner it takes a few turns.
        for _ in 0..CORNER {
            let before = p;
            p = self.push_out(from, p, velocity, dt);
            if p == before {
                break;
            }
        }
        p
    }

    #[inline]
    fn push_out(&self, from: DVec3, mut p: DVec3, velocity: &mut DVec3, dt: f64) -> DVec3 {
        // What is pushed out of one into another is looked at in the next turn.
        for wall in self.boxes.touched(from, p).map(|w| &self.walls[w]) {
            if matches!(wall.body, Body::Sheet(_)) {
                continue;
            }
            if let Some((place, c)) = wall.entered(from, p, dt) {
                p = place;
                *velocity = self.reflect(*velocity, c.normal, c.velocity, c.slip);
            }
        }
        // Last, because nothing may leave the domain.
        self.push_inside(p, velocity)
    }

    /// Whether no face of the domain holds what is at `p`.
    #[inline]
    pub fn is_within(&self, p: DVec3) -> bool {
        self.domain.is_none() || self.inside.contains(p)
    }

    /// Into the faces of the domain.
    #[inline]
    fn push_inside(&self, mut p: DVec3, velocity: &mut DVec3) -> DVec3 {
        if let Some(d) = self.domain.as_ref().filter(|_| !self.inside.contains(p)) {
            for &(a, upper) in &self.faces {
                let end = if upper { d.max[a] } else { d.min[a] };
                if (upper && p[a] > end) || (!upper && p[a] < end) {
                    let mut normal = DVec3::ZERO;
                    normal[a] = if upper { -1.0 } else { 1.0 };
                    p[a] = end;
                    *velocity = self.reflect(*velocity, normal, DVec3::ZERO, d.slip);
                }
            }
        }
        p
    }

    /// A sheet has no inside: what would cross it stops a hair before it.
    fn hold(
        &self,
        wall: &Wall,
        shape: &Shape,
        from: DVec3,
        to: DVec3,
        velocity: &mut DVec3,
        dt: f64,
    ) -> DVec3 {
        // Both by the same number of periods.
        let moved = wall.image(from) - from;
        let (from, to_image) = (from + moved, to + moved);
        let drag = wall.velocity_at(from) * dt;
        let (a, b) = (wall.to_body(from + drag), wall.to_body(to_image));
        let Some(hit) = shape.crossing(a, b) else { return to };
        let normal = wall.turn * hit.normal;
        *velocity = self.reflect(*velocity, normal, wall.velocity_at(to_image), wall.slip);
        wall.to_world(a + (b - a) * hit.t) + normal * (1e-3 * (b - a).length() + 1e-9) - moved
    }

    fn reflect(&self, v: DVec3, normal: DVec3, wall: DVec3, slip: Slip) -> DVec3 {
        let relative = v - wall;
        let along = relative.dot(normal);
        if along >= 0.0 {
            return v;
        }
        let tangential = match slip {
            Slip::FreeSlip => relative - normal * along,
            Slip::NoSlip => DVec3::ZERO,
        };
        wall + tangential - normal * (self.restitution * along)
    }
}
