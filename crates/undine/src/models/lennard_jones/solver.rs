//! The model as the world sees it.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::force::Record;
use super::{FAR, LennardJones, saved};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::frame::{Field, FieldData, Frame};
use crate::models::{Around, Birth, Passes, Solver, StepLimit, Trouble};
use crate::neighbors::{Candidates, is_neighbor, wrap};
use crate::scene::Dynamics;
use crate::simd::Portable;

/// Step over the period of the stiffest pair / 2π. Verlet is stable up to 2, and waves in a lattice whose pairs all were as
/// stiff would have twice its frequency.
const PAIR: f64 = 0.8;
/// The same with friction between particles, which takes what that adds to the energy. The closest pair is much stiffer than
/// those around it.
const DAMPED_PAIR: f64 = 1.6;
/// Share of their distance by which two particles may come nearer in a step.
const APPROACH: f64 = 0.1;
/// The same with friction between particles.
const DAMPED_APPROACH: f64 = 0.5;
/// Share of a spacing that a particle may fly in a step.
const FLIGHT: f64 = 0.4;
/// Step over the time in which friction between two particles stops them.
const VISCOUS: f64 = 0.3;
/// Room that a new particle needs, × spacing.
const ROOM: f64 = 0.85;
/// Pairs nearer than this, × σ, are moved apart at the start.
const TIGHT: f64 = 0.9;
/// In so many moves at most.
const SETTLING: usize = 60;

impl Solver for LennardJones {
    /// The share of a period of the stiffest pair, of a pair's way to each other, and of the time friction takes.
    fn step_limit(&self) -> StepLimit {
        let p = &self.params;
        let close = f64::from(self.extremes.closest.close);
        let r = p.pair.sigma / close.max(1e-12).sqrt();
        let stiffness = p.pair.stiffness(r.min(p.pair.rest()).max(p.core * p.pair.sigma));
        let lightest = p.lightest();
        let (speed, d) = (f64::from(self.extremes.speed2).sqrt(), p.spacing);
        let (share, approach) =
            if p.damping > 0.0 { (DAMPED_PAIR, DAMPED_APPROACH) } else { (PAIR, APPROACH) };
        let pair = match p.dynamics {
            Dynamics::Inertia => share / (2.0 * stiffness / lightest).sqrt(),
            Dynamics::Overdamped => {
                let zeta = p.drag.iter().zip(&p.mass).map(|(d, m)| d * m).fold(f64::INFINITY, f64::min);
                PAIR * PAIR * zeta / (2.0 * stiffness)
            }
        };
        let cfl = if p.damping > 0.0 {
            (approach / f64::from(self.extremes.closest.rate).max(1e-30)).min(FLIGHT * d / speed.max(1e-30))
        } else {
            APPROACH * d / speed.max(1e-30)
        };
        let limits = [("pair", pair), ("cfl", cfl), ("viscous", VISCOUS * lightest / p.damping.max(1e-300))];
        let (name, step) = limits.into_iter().fold(limits[0], |a, b| if b.1 < a.1 { b } else { a });
        StepLimit { step: p.cfl * step, name }
    }

    fn step(&mut self, dt: f64, around: &Around, passes: &mut Passes) -> Result<(), Trouble> {
        if self.place.len() != self.particles.len() + 1 {
            self.stale = true;
            let n = self.particles.len();
            self.place.resize(n + 1, FAR);
            self.record.resize(if self.params.damping > 0.0 { n + 1 } else { 0 }, Record::default());
            self.listed.resize(n, [0.0; 4]);
        }
        self.travel += around.walls.fastest() * dt;
        let needed = passes.time("move", || {
            self.advance(dt, around);
            if self.patched { self.far2.iter().sum() } else { self.groups.needed(&self.ways) }
        });
        if needed.is_nan() {
            let p = &self.particles;
            let lost = (0..p.len()).find(|&i| !(p.x[i] + p.y[i] + p.z[i]).is_finite());
            return Err(self.trouble(lost.unwrap_or(0), around.time));
        }
        self.since += 1;
        if self.stale {
            self.relist(dt, around, passes);
        } else if self.patched {
            self.keep_patches(dt, around, passes);
        } else if self.groups.is_used_up(needed) {
            self.wear = f64::from(needed) * (self.params.pair.cutoff + self.skin) / self.since as f64;
            self.relist(dt, around, passes);
        }
        passes.time("force", || self.forces(around, dt));
        self.steps += 1;
        self.guard(around.time)
    }

    /// Moves apart what the start put too close together (beside walls, where fluids meet), which would fly off.
    fn settle(&mut self, around: &Around) {
        let sigma = self.params.pair.sigma;
        for _ in 0..SETTLING {
            self.relist(0.0, around, &mut Passes::default());
            let velocity = self.particles.velocity.clone();
            self.forces(around, 0.0);
            self.particles.velocity = velocity;
            if f64::from(self.extremes.closest.close) < (1.0 / TIGHT).powi(2) {
                break;
            }
            let weight = (self.params.lightest() / self.params.pair.stiffness(TIGHT * sigma)) as f32;
            let most = (0.03 * sigma) as f32;
            let p = &mut self.particles;
            for i in 0..p.len() {
                let push = Vec3::from(p.acceleration[i]) - around.fields.gravity.as_vec3();
                let way = (push * (0.3 * weight)).clamp_length_max(most).as_dvec3();
                let from = DVec3::new(p.x[i], p.y[i], p.z[i]);
                let mut rest = DVec3::ZERO;
                let to = around.walls.collide(from, from + way, &mut rest, 1.0, true);
                [p.x[i], p.y[i], p.z[i]] = to.to_array();
            }
        }
        self.stale = true;
    }

    fn refresh(&mut self, around: &Around, passes: &mut Passes) {
        self.relist(0.0, around, passes);
        passes.time("force", || self.forces(around, 0.0));
    }

    fn insert(&mut self, births: &[Birth]) -> usize {
        if self.particles.is_empty() {
            self.particles.reserve_exact(births.len());
        }
        for b in births {
            let (position, velocity) = (b.position.to_array(), b.velocity.as_vec3().to_array());
            self.particles.push(position, velocity, [0.0; 3], b.fluid as u8);
        }
        self.newborn += births.len();
        self.stale |= !births.is_empty();
        births.len()
    }

    fn occupied(&self, place: DVec3, distance: f64) -> bool {
        let p = self.grid.local(place.to_array());
        // Nearer than this a pair pushes hard: what an emitter puts there is shot off.
        let distance = distance.max(ROOM * self.params.spacing);
        let reach = (distance / (self.params.pair.cutoff + self.skin)) as f32;
        if self.patched {
            let now = &self.place[..self.place.len().saturating_sub(1)];
            return self.patches.is_near(p, reach, now);
        }
        let mut candidates = Candidates::default();
        // These reach the support of where particles were when listed; emitters ask for less than that and the skin.
        self.grid.candidates_anywhere::<Portable>(p, p, &mut candidates);
        candidates.groups().any(|(shift, chunks)| {
            chunks.iter().flat_map(|c| c.range()).any(|j| {
                let Some(q) = self.place.get(j) else { return false };
                is_neighbor(std::array::from_fn(|a| (p[a] + shift[a] - q[a]) / reach))
            })
        })
    }

    fn remove(&mut self, region: &(dyn Fn(DVec3) -> bool + Sync)) -> usize {
        let gone = self.particles.retain(|p| !region(p.into()));
        // Those that came before are as old as the list by now, mostly: pushing a few of them off walls does no harm.
        self.newborn = self.newborn.min(self.particles.len());
        self.stale |= gone > 0;
        gone
    }

    fn len(&self) -> usize {
        self.particles.len()
    }

    fn frame(&self, _around: &Around) -> Frame {
        let p = &self.particles;
        let n = p.len();
        let mut frame =
            Frame { spacing: self.params.spacing, support: self.params.pair.cutoff, ..Default::default() };
        let place =
            |i: usize| wrap(DVec3::new(p.x[i], p.y[i], p.z[i]), self.period.as_ref()).as_vec3().to_array();
        frame.particles.position = (0..n).into_par_iter().map(place).collect();
        let volume = self.params.spacing.powi(3) as f32;
        let pressure = self.measures().into_iter().map(|[_, virial]| virial / (3.0 * volume)).collect();
        let density = p.fluid.iter().map(|f| self.params.density[usize::from(*f)] as f32).collect();
        let mut add = |name, data| frame.particles.fields.push(Field { name, data });
        add("velocity", FieldData::Vector(p.velocity.clone()));
        add("density", FieldData::Scalar(density));
        add("pressure", FieldData::Scalar(pressure));
        add("fluid", FieldData::Byte(p.fluid.clone()));
        add("id", FieldData::Int(p.id.clone()));
        frame
    }

    /// Viscosity and surface tension of this fluid follow from its pairs: there is nothing to set.
    fn set_fluid(&mut self, _fluid: usize, _key: &str, _value: f64) -> bool {
        false
    }

    fn diagnostics(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("lists", self.lists as f64),
            ("patches", self.renewed as f64),
            ("skin", self.skin / self.params.pair.sigma),
        ]
    }

    fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        saved::save(self, out)
    }

    fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        saved::load(self, from)
    }
}
