//! Smoothed particle hydrodynamics after Müller, Charypar & Gross 2003.
//!
//! | equation | here |
//! |---|---|
//! | 3, 20 density | [`density`]; along the flow: [`continuity`] |
//! | 10, 21 pressure force; 14, 22 viscosity | [`force`] |
//! | 12 state equation | [`pressure`] |
//! | 15-19 surface tension by colour field | [`force`], `tension = "color-field"` |
//! | 23, 24 surface particles, normals | [`normals`] |
//! | 3.4 collisions | [`crate::walls`], [`wall_kernels`] |
//! | 3.6 leap-frog | [`Sph::step`], kick-drift-kick |
//!
//! `docs/sph.md` tells what differs from the paper by default, and why.

mod advance;
pub mod boundary;
pub mod continuity;
pub mod crowd;
pub mod density;
mod drift;
mod enclosed;
pub mod force;
pub mod implicit;
pub mod naive;
pub mod normals;
pub mod octet;
mod outlook;
mod packing;
pub mod params;
pub mod pressure;
#[cfg(test)]
mod tests;
pub mod wall_kernels;
pub mod work;

use glam::DVec3;
use rayon::prelude::*;

use self::boundary::Boundary;
use self::continuity::Continuity;
use self::drift::Drift;
use self::force::{Extremes, Forces};
use self::implicit::Implicit;
use self::outlook::{Outlook, Scope};
use self::params::Params;
use self::pressure::{PressureStep, StateEquation};
use self::wall_kernels::WallKernels;
use self::work::{MANY, Work};
use super::{Around, Birth, Passes, Solver, StepLimit, Trouble};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::frame::{Field, FieldData, Frame};
use crate::neighbors::{Candidates, Grid, Period, is_neighbor};
use crate::scene::{Integrator, Kernels, PressureKind, Scene, TensionKind};
use crate::simd::Portable;
use crate::state::particles::{BLOCK, Particles};
use crate::walls::SampleError;

/// A particle faster than this many speeds of sound is running away.
const RUNAWAY: f64 = 10.0;

/// A particle that moves by more than this in a step, in spacings, is held against all walls, near or not.
const HOP: f64 = 0.15;

/// How much farther than the support neighbours are searched, × h: they serve until two can have come nearer by that, and what is
/// beyond the support adds nothing.
const SKIN: f64 = 0.15;

/// Steps after which fluid in outflows is deleted: it goes less than two spacings in these.
const PATIENCE: u32 = 8;

/// The SPH model.
pub struct Sph {
    params: Params,
    tension: TensionKind,
    pressure: Box<dyn PressureStep>,
    particles: Particles,
    grid: Grid,
    work: Work,
    walls: WallKernels,
    boundary: Boundary,
    implicit: Implicit,
    forces: Forces,
    extremes: Extremes,
    period: Option<Period>,
    /// Whether neighbours found serve for more than a step.
    keeps: bool,
    drift: Drift,
    /// Of the last survey of neighbours.
    outlook: Outlook,
    /// Time in which densities were not pulled towards their sums, s.
    unpulled: f64,
    /// The last step, s.
    dt: f64,
    /// Steps since fluid in outflows was deleted.
    waits: u32,
    /// How often neighbours were searched, and how often those found were surveyed.
    searches: u64,
    surveys: u64,
    /// No body is nearer to each particle than this, m, 0 where that is not known; and the search for neighbours since which it holds.
    clear: Vec<f32>,
    cleared: u64,
    /// Neighbours are to be searched at the next step, however little has moved.
    stale: bool,
    /// The next step ends at a frame.
    arrives: bool,
    /// The next step begins at a frame.
    begins: bool,
    /// All comes from a checkpoint, but not the neighbours that the step before it found.
    resumes: bool,
}

impl Sph {
    /// An empty model for a scene.
    pub fn new(scene: &Scene) -> Result<Self, SampleError> {
        let params = Params::new(scene);
        // The stress needs the normals of the continuity pass; the paper's kernels go with its colour field.
        let tension = match params.kernels {
            Kernels::Mueller => TensionKind::ColorField,
            Kernels::Conservative => scene.model.sph.tension,
        };
        let period = crate::walls::period(scene);
        // Across a border that repeats, particles jump to the other side.
        let keeps = period.is_none() && params.kernels == Kernels::Conservative;
        let reach = if keeps { 1.0 + SKIN } else { 1.0 };
        let boundary = Boundary::new(scene, &params, reach)?;
        let grid = if boundary.is_empty() { Grid::new(params.h) } else { Grid::for_others(params.h, 0.0) };
        Ok(Sph {
            pressure: match scene.model.sph.pressure {
                PressureKind::StateEquation => Box::new(StateEquation),
            },
            particles: Particles::new(params.integrator == Integrator::VelocityVerlet),
            grid: grid.reaching(reach as f32),
            work: Work::default(),
            walls: WallKernels::new(&params),
            boundary,
            implicit: Implicit::default(),
            forces: Forces::new(&params, tension),
            extremes: Extremes::default(),
            period,
            keeps,
            drift: Drift::default(),
            outlook: Outlook::default(),
            unpulled: 0.0,
            dt: 0.0,
            waits: 0,
            searches: 0,
            surveys: 0,
            clear: Vec::new(),
            cleared: 0,
            stale: true,
            arrives: false,
            begins: false,
            resumes: false,
            params,
            tension,
        })
    }

    /// The derived parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The particles, sorted by cell as of the last search for neighbours.
    pub fn particles(&self) -> &Particles {
        &self.particles
    }

    /// Whether neighbours found before may not be all of now. Moves the walls.
    fn has_drifted(&mut self, around: &Around) -> bool {
        let walls = self.boundary.follow(around) / self.params.h;
        self.drift.is_used_up(self.params.h, SKIN as f32, walls as f32)
    }

    /// Sorts, where neighbours are to be searched anew, then densities and pressures.
    fn sort_and_sum(&mut self, dt: f64, around: &Around, passes: &mut Passes) {
        // At a frame particles are in order and neighbours are searched: they are not saved, but found again where a run is resumed.
        let drifted = self.stale || self.arrives || !self.keeps;
        let fresh = drifted || passes.time("sort", || self.has_drifted(around));
        let arrives = std::mem::take(&mut self.arrives);
        self.stale = arrives && !self.serves_on();
        let begins = std::mem::replace(&mut self.begins, arrives);
        passes.time("sort", || {
            if fresh {
                if !self.resumes {
                    // Neighbours found before are in the way of the buffers, and these in the way of those to be found.
                    self.shed();
                    self.particles.sort(&mut self.grid, self.period.as_ref());
                    self.shed();
                }
                self.searches += 1;
                // Before fluid is told whether it is beside walls: where they were before is not saved.
                self.boundary.pose(around);
            }
            self.work.fill(&self.particles, &self.grid, fresh);
            if fresh && self.keeps {
                let Particles { x, y, z, .. } = &self.particles;
                let boundary = &self.boundary;
                let reach = self.grid.reach();
                self.drift.lay(&self.work, reach, |i| boundary.is_beside(DVec3::new(x[i], y[i], z[i])));
            }
            if self.params.integrator == Integrator::VelocityVerlet {
                // Eq. 15 with forces that depend on velocities: they see those of the end of the step, as far as they are known.
                let half = (0.5 * dt) as f32;
                for (r, a) in self.work.records.iter_mut().zip(&self.particles.acceleration) {
                    (0..3).for_each(|c| r[4 + c] += half * a[c]);
                }
            }
        });
        // Nor are surveys saved.
        let look = Outlook::look(self.scope(fresh || begins), dt);
        if look.scope == Scope::Survey {
            self.surveys += 1;
            self.outlook = Outlook::new(look, self.ahead(dt));
        }
        passes.time("walls", || self.boundary.find(&self.particles, &self.work, fresh, look));
        passes.time("density", || match self.params.kernels {
            Kernels::Mueller => {
                density::density(
                    &mut self.work,
                    &self.grid,
                    &self.particles,
                    around,
                    &self.walls,
                    &self.params,
                );
            }
            Kernels::Conservative => {
                let since = self.unpulled + dt;
                let c = Continuity::within(&self.params, around.fields.gravity, dt, look, since);
                self.unpulled = if look.is_quick() { since } else { 0.0 };
                let walls = (&self.walls, &self.boundary);
                let grid = fresh.then_some(&self.grid);
                c.apply(&mut self.work, grid, &mut self.particles, around, walls);
            }
        });
        if self.params.enclosed {
            passes.time("shift", || self.level(dt));
        }
        passes.time("pressure", || {
            let Work { records, compression, .. } = &mut self.work;
            self.pressure.solve(&self.params, &self.particles.fluid, compression, records);
        });
        passes.time("walls", || {
            let gravity = around.fields.gravity;
            let least = self.forces.least;
            self.boundary.answer(&self.work, &self.grid, &self.particles.fluid, gravity, dt, least);
        });
    }

    /// Whether neighbours found in a step that ends at a frame serve after it: whether a resumed run can find the same before its
    /// first step, without its walls as they were. Of many particles they are in the way of the frame.
    fn serves_on(&self) -> bool {
        let still = self.boundary.is_still() && !self.params.enclosed;
        self.keeps && still && self.particles.len() < MANY
    }

    /// Finds neighbours anew that were found before the checkpoint that all else comes from.
    fn find_again(&mut self, around: &Around, passes: &mut Passes) {
        let kept = (self.particles.density.clone(), self.particles.near_wall.clone());
        let arrives = std::mem::replace(&mut self.arrives, true);
        self.sort_and_sum(0.0, around, passes);
        (self.particles.density, self.particles.near_wall) = kept;
        (self.arrives, self.resumes) = (arrives, false);
    }

    /// How much of the densities is to be summed; where neighbours are `new`, all.
    fn scope(&self, new: bool) -> Scope {
        // Where particles are moved by more than their velocities, these tell too little.
        let moved = self.params.enclosed || self.params.implicit;
        if new || moved || !self.outlook.serves(self.params.h) {
            Scope::Survey
        } else if self.forces.has_tension() {
            Scope::All
        } else {
            Scope::Quick
        }
    }

    /// How far velocities that forces see are ahead of those that particles moved with, m/s at most.
    fn ahead(&self, dt: f64) -> f64 {
        match self.params.integrator {
            Integrator::LeapFrog => 0.0,
            Integrator::VelocityVerlet => 0.5 * dt * f64::from(self.extremes.acceleration2).sqrt(),
        }
    }

    fn forces(&mut self, around: &Around, half: f32) {
        self.extremes = self.forces.apply(
            &self.work,
            &self.grid,
            &mut self.particles,
            around,
            (&self.walls, &self.boundary),
            half,
        );
    }

    /// Gives back the memory of neighbours and of sorting, of many particles.
    fn shed(&mut self) {
        if self.particles.len() >= MANY {
            self.work.shed();
            self.particles.shed();
        }
    }

    /// The same at a frame, which needs as much: the next step searches anyway.
    fn make_room(&mut self) {
        if self.stale {
            self.shed();
        }
    }

    /// The particle that is nowhere and must not be sorted: the forces of the first step come from a scene, those of
    /// a resumed one from a file, and neither went through [`Sph::guard`].
    fn lost(&self, time: f64) -> Trouble {
        let Particles { x, y, z, velocity, id, .. } = &self.particles;
        let i = (0..x.len()).find(|&i| !(x[i] + y[i] + z[i]).is_finite()).unwrap_or(0);
        let value = f64::from(glam::Vec3::from(velocity[i]).length());
        Trouble { term: "velocity", value, particle: id[i], position: [x[i], y[i], z[i]], time }
    }

    /// Stops a state that must not go on and names the term to blame.
    fn guard(&self, time: f64) -> Result<(), Trouble> {
        let speed = f64::from(self.extremes.speed2).sqrt();
        if speed.is_finite() && speed <= RUNAWAY * self.params.sound() || self.particles.is_empty() {
            return Ok(());
        }
        let i = self.extremes.fastest;
        let (term, value) =
            naive::largest_term(&self.params, self.tension, &self.particles, &self.work, &self.grid, i)
                .unwrap_or(("velocity", speed));
        Err(Trouble {
            term,
            value,
            particle: self.particles.id[i],
            position: [self.particles.x[i], self.particles.y[i], self.particles.z[i]],
            time,
        })
    }
}

impl Solver for Sph {
    fn step_limit(&self) -> StepLimit {
        let e = &self.extremes;
        let speed = f64::from(e.speed2).sqrt();
        let limit = self.params.step_limit(speed, f64::from(e.acceleration2).sqrt());
        let viscous = self.params.implicit_limit(speed, self.implicit.change.into());
        if viscous < limit.step { StepLimit { step: viscous, name: "viscous" } } else { limit }
    }

    fn step(&mut self, dt: f64, around: &Around, passes: &mut Passes) -> Result<(), Trouble> {
        if self.resumes && !self.stale {
            self.find_again(around, passes);
        }
        self.resumes = false;
        if !passes.time("move", || self.advance(dt, around)) {
            return Err(self.lost(around.time));
        }
        if self.params.enclosed {
            passes.time("shift", || self.shift(dt, around));
        }
        self.sort_and_sum(dt, around, passes);
        passes.time("force", || self.forces(around, (0.5 * dt) as f32));
        if self.params.implicit {
            passes.time("viscosity", || {
                let Sph { implicit, forces, work, boundary, particles, .. } = self;
                implicit.apply(dt, forces, work, boundary, particles);
            });
        }
        passes.time("walls", || {
            self.boundary.react(&self.work, &self.grid, &self.particles, &self.forces);
        });
        self.make_room();
        self.guard(around.time)
    }

    fn settle(&mut self, around: &Around) {
        self.pack(around);
        self.enclose(around);
    }

    fn refresh(&mut self, around: &Around, passes: &mut Passes) {
        // As where a run is resumed.
        self.arrives = true;
        self.sort_and_sum(0.0, around, passes);
        passes.time("force", || self.forces(around, 0.0));
        self.make_room();
    }

    fn insert(&mut self, births: &[Birth]) -> usize {
        if !births.is_empty() {
            self.open();
        }
        if self.particles.is_empty() {
            self.particles.reserve_exact(births.len());
        }
        for b in births {
            self.particles.push(
                b.position.to_array(),
                b.velocity.as_vec3().to_array(),
                [0.0; 3],
                b.fluid as u8,
            );
        }
        self.stale |= !births.is_empty();
        births.len()
    }

    fn occupied(&self, place: DVec3, distance: f64) -> bool {
        let p = self.grid.local(place.to_array());
        let reach = (distance / self.params.h) as f32;
        let mut candidates = Candidates::default();
        // These reach h; emitters ask for less.
        self.grid.candidates_anywhere::<Portable>(p, p, &mut candidates);
        candidates.groups().any(|(shift, chunks)| {
            chunks.iter().flat_map(|c| c.range()).any(|j| {
                let q = self.work.at(j);
                is_neighbor(std::array::from_fn(|a| (p[a] + shift[a] - q[a]) / reach))
            })
        })
    }

    fn remove(&mut self, region: &(dyn Fn(DVec3) -> bool + Sync)) -> usize {
        // Neighbours are searched anew when some are gone: where fluid leaves all the time, not after each step.
        self.waits += 1;
        if self.keeps && !self.stale && !self.begins && self.waits < PATIENCE {
            return 0;
        }
        self.waits = 0;
        let Particles { x, y, z, .. } = &self.particles;
        let leaves = |i: usize| region(DVec3::new(x[i], y[i], z[i]));
        if !(0..x.len()).into_par_iter().with_min_len(BLOCK).any(leaves) {
            return 0;
        }
        let gone = self.particles.retain(|p| !region(p.into()));
        self.stale = true;
        self.open();
        gone
    }

    fn len(&self) -> usize {
        self.particles.len()
    }

    fn frame(&self, _around: &Around) -> Frame {
        let p = &self.particles;
        let n = p.len();
        let rest: Vec<f32> = self.params.fluids.iter().map(|f| f.density as f32).collect();
        let each =
            |f: &(dyn Fn(usize) -> f32 + Sync)| -> Vec<f32> { (0..n).into_par_iter().map(f).collect() };
        let mut frame = Frame { spacing: self.params.spacing, support: self.params.h, ..Default::default() };
        frame.particles.position =
            (0..n).into_par_iter().map(|i| [p.x[i] as f32, p.y[i] as f32, p.z[i] as f32]).collect();
        let mut add = |name, data| frame.particles.fields.push(Field { name, data });
        add("velocity", FieldData::Vector(p.velocity.clone()));
        add(
            "density",
            FieldData::Scalar(each(&|i| rest[p.fluid[i] as usize] * self.work.relative_density(i))),
        );
        add("pressure", FieldData::Scalar(each(&|i| self.work.pressure(i))));
        add("fluid", FieldData::Byte(p.fluid.clone()));
        add("id", FieldData::Int(p.id.clone()));
        add("normal", FieldData::Vector(normals::normals(&self.work, &self.grid, &self.params)));
        frame
    }

    fn diagnostics(&self) -> Vec<(&'static str, f64)> {
        vec![("searches", self.searches as f64), ("surveys", self.surveys as f64)]
    }

    fn set_fluid(&mut self, fluid: usize, key: &str, value: f64) -> bool {
        let Some(f) = self.params.fluids.get_mut(fluid) else { return false };
        match key {
            "viscosity" => {
                f.viscosity = value;
                self.params.choose_viscous_step();
            }
            "surface_tension" => f.tension = value,
            _ => return false,
        }
        self.forces = Forces::new(&self.params, self.tension);
        true
    }

    fn forces_on_solids(&self) -> Option<&[DVec3]> {
        self.boundary.reaction()
    }

    fn walls(&self) -> usize {
        self.boundary.len()
    }

    fn frame_ahead(&mut self) {
        self.arrives = true;
    }

    fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        out.section("sph")?;
        self.particles.save(out)?;
        let enclosed = f32::from(u8::from(self.params.enclosed));
        out.put_f32s(&[self.extremes.speed2, self.extremes.acceleration2, self.implicit.change, enclosed])?;
        for f in &self.params.fluids {
            out.put_f64s(&[f.viscosity, f.tension])?;
        }
        self.boundary.save(out)
    }

    fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        let damaged = |what: &str| CheckpointError::Damaged { what: what.into() };
        from.section("sph")?;
        self.particles.load(from, self.params.fluids.len())?;
        let extremes = from.get_f32s()?;
        let [speed2, acceleration2, change, enclosed] = extremes[..] else {
            return Err(damaged("step statistics"));
        };
        for f in &mut self.params.fluids {
            let values = from.get_f64s()?;
            let [viscosity, tension] = values[..] else { return Err(damaged("fluid parameters")) };
            (f.viscosity, f.tension) = (viscosity, tension);
        }
        self.params.choose_viscous_step();
        self.implicit.change = change;
        self.params.enclosed = enclosed != 0.0;
        self.boundary.load(from)?;
        self.forces = Forces::new(&self.params, self.tension);
        // The grid and working copy as the last step left them: what was saved at a frame is sorted.
        self.particles.sort_all(&mut self.grid, self.period.as_ref());
        self.resumes = self.serves_on();
        (self.stale, self.begins) = (!self.resumes, true);
        self.unpulled = 0.0;
        self.work.fill(&self.particles, &self.grid, true);
        self.extremes = Extremes { speed2, acceleration2, fastest: 0 };
        Ok(())
    }
}
