//! Markers that come and go.

use glam::{BVec3, DVec3, Vec3};
use rayon::prelude::*;

use super::Mac;
use super::tracers::condense;
use crate::models::Birth;
use crate::scene::Convection;
use crate::state::markers::{BLOCK, Markers};

/// A marker to be added.
struct Arrival {
    /// Place, cells.
    x: [f32; 3],
    /// Velocity, m/s.
    velocity: [f32; 3],
    /// Cells crossed, 1/s.
    rate: f64,
    fluid: u8,
}

impl Mac {
    /// The markers that a scene asked for.
    pub(super) fn asked_for(&self) -> &Markers {
        self.tracers.as_ref().map_or(&self.markers, |t| &t.markers)
    }

    /// Adds markers inside the domain; returns how many those are.
    pub(super) fn add(&mut self, births: &[Birth]) -> usize {
        if self.tracers.is_none() {
            return self.add_all(births);
        }
        let inside: Vec<Birth> = births.iter().filter_map(|b| self.held(b)).collect();
        if inside.is_empty() {
            return 0;
        }
        self.energy = None;
        let Some(tracers) = &mut self.tracers else { return 0 };
        let first = tracers.markers.is_empty();
        if first {
            tracers.markers.reserve_exact(inside.len());
        }
        for b in &inside {
            let x = self.layout.local(b.position).as_vec3().to_array();
            tracers.markers.push(x, [0.0; 3], b.fluid as u8);
        }
        // Later ones are put in order when they have moved: until then nobody asks.
        if first || !tracers.watch.is_on() {
            tracers.sort(&self.layout);
        }
        let ratio = tracers.ratio;
        let blocks = self.layout.h[0] / (ratio as f64 * self.spacing);
        for (b, weight) in condense(&self.layout, &inside, ratio, blocks.round().max(1.0)) {
            self.take(self.arrival(&b), weight);
        }
        self.stale = true;
        inside.len()
    }

    /// As [`Mac::add`], where every marker is one of the scene.
    fn add_all(&mut self, births: &[Birth]) -> usize {
        let before = self.markers.len();
        self.markers.reserve_exact(if before == 0 { births.len() } else { 0 });
        let inside = births.par_iter().with_min_len(BLOCK).filter_map(|b| Some(self.arrival(&self.held(b)?)));
        for arrival in inside.collect::<Vec<_>>() {
            self.take(arrival, 1.0);
        }
        let added = self.markers.len() - before;
        if added > 0 {
            self.energy = None;
            self.stale = true;
        }
        added
    }

    /// A marker as it lies in the domain, if it does.
    fn held(&self, b: &Birth) -> Option<Birth> {
        let layout = &self.layout;
        let mut x = layout.local(b.position);
        for a in 0..3 {
            if layout.periodic[a] {
                x[a] = x[a].rem_euclid(layout.n[a] as f64);
            }
        }
        let n = DVec3::from(layout.n.map(|n| n as f64));
        let inside = x.cmpge(DVec3::ZERO).all() && x.cmple(n).all();
        let position = layout.min + x * DVec3::from(layout.h);
        inside.then_some(Birth { position, ..*b })
    }

    /// What is taken of a birth in the domain.
    fn arrival(&self, b: &Birth) -> Arrival {
        let n = glam::Vec3::from(self.layout.n.map(|n| n as f32));
        Arrival {
            x: self.layout.local(b.position).as_vec3().clamp(glam::Vec3::ZERO, n).to_array(),
            velocity: b.velocity.as_vec3().to_array(),
            rate: (b.velocity / DVec3::from(self.layout.h)).abs().max_element(),
            fluid: b.fluid as u8,
        }
    }

    fn take(&mut self, arrival: Arrival, weight: f32) {
        let Arrival { x, velocity, rate, fluid } = arrival;
        self.markers.push_weighted(x, velocity, fluid, weight);
        if self.convection == Convection::SemiLagrangian {
            self.fresh.push_weighted(x, velocity, fluid, weight);
        }
        self.rate = self.rate.max(rate);
    }

    /// Whether a marker is nearer to a place than that, m.
    pub(super) fn is_occupied(&self, place: DVec3, distance: f64) -> bool {
        let layout = &self.layout;
        let x = layout.local(place);
        let reach = DVec3::splat(distance) / DVec3::from(layout.h);
        let (low, high) = ((x - reach).floor(), (x + reach).floor());
        let (markers, order) = match &self.tracers {
            Some(tracers) => tracers.watch.found(),
            None => (&self.markers.x[..], &self.order),
        };
        if order.start.is_empty() || !low.is_finite() || (high - low).max_element() > 64.0 {
            return false;
        }
        let (at, h) = (x.as_vec3(), DVec3::from(layout.h).as_vec3());
        let (n, nearest) = (Vec3::from(layout.n.map(|n| n as f32)), (distance * distance) as f32);
        let (periodic, wraps) = (BVec3::from_array(layout.periodic), layout.periodic.contains(&true));
        let is_near = |x: &[f32; 3]| {
            let mut d = Vec3::from(*x) - at;
            if wraps {
                let turns = (d / n).round();
                d -= Vec3::select(periodic, turns * n, Vec3::ZERO);
            }
            (d * h).length_squared() < nearest
        };
        if let Some(tracers) = self.tracers.as_ref().filter(|t| !t.watch.sees(low, high)) {
            return tracers.markers.x.par_iter().with_min_len(BLOCK).any(is_near);
        }
        let cell = |c: f64, a: usize| {
            let (c, n) = (c as i64, layout.n[a] as i64);
            if layout.periodic[a] { Some(c.rem_euclid(n)) } else { (0..n).contains(&c).then_some(c) }
        };
        let span = |a: usize| (low[a] as i64..=high[a] as i64).filter_map(move |c| cell(c as f64, a));
        span(2).any(|z| {
            span(1).any(|y| {
                span(0).any(|x| {
                    let c = x as usize + layout.n[0] * (y as usize + layout.n[1] * z as usize);
                    let range = order.start[c] as usize..order.start[c + 1] as usize;
                    order.order[range].iter().any(|i| is_near(&markers[*i as usize]))
                })
            })
        })
    }

    /// Deletes markers in a region; returns how many of those that the scene asked for.
    pub(super) fn delete(&mut self, region: &(dyn Fn(DVec3) -> bool + Sync)) -> usize {
        let layout = &self.layout;
        let go = |markers: &mut Markers| {
            let gone: Vec<bool> = markers.x.par_iter().map(|x| region(layout.world(*x))).collect();
            if gone.contains(&true) { markers.retain(|i| !gone[i]) } else { 0 }
        };
        let mut count = go(&mut self.markers);
        if count > 0 {
            self.energy = None;
            self.order.find(&self.markers.x, layout.n);
            self.stale = false;
        }
        if let Some(tracers) = &mut self.tracers {
            count = go(&mut tracers.markers);
            if count > 0 {
                tracers.sort(layout);
            }
        }
        count
    }

    /// Deletes markers that left through open sides.
    pub(super) fn delete_gone(&mut self) {
        keep_inside(&mut self.markers, self.layout.n);
    }
}

/// As [`keep_inside`], where the order of markers is of no account: the last ones take the places of those that go.
pub(super) fn drop_outside(markers: &mut Markers, n: [usize; 3]) {
    let is_outside = |x: &[f32; 3]| !(0..3).all(|a| x[a] >= 0.0 && x[a] <= n[a] as f32);
    let places = markers.x.par_iter().with_min_len(BLOCK).enumerate();
    let gone: Vec<usize> = places.filter(|(_, x)| is_outside(x)).map(|(i, _)| i).collect();
    gone.into_iter().rev().for_each(|i| markers.swap_remove(i));
}

/// Deletes markers outside the domain.
pub(super) fn keep_inside(markers: &mut Markers, n: [usize; 3]) {
    let inside = |x: &[f32; 3]| (0..3).all(|a| x[a] >= 0.0 && x[a] <= n[a] as f32);
    let inside: Vec<bool> = markers.x.par_iter().map(inside).collect();
    markers.retain(|i| inside[i]);
}
