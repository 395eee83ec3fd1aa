//! The world: a scene in motion. It owns the solver, walls, solids, fields, emitters, switches and the clock.

use std::collections::BTreeMap;

use glam::DVec3;
use rayon::prelude::*;

use crate::awake::with_one_awake;
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::emitter::Source;
use crate::fields::{Brush, Fields, Touch};
use crate::frame::Frame;
use crate::models::lennard_jones::LennardJones;
use crate::models::mac::{Mac, MacError};
use crate::models::sph::Sph;
use crate::models::springs::Solids;
use crate::models::{Around, Birth, Passes, Solver, StepLimit, Trouble};
use crate::scene::{Action, Event, EventError, Force, ModelKind, Scene, Settable, Solid};
use crate::walls::{SampleError, Walls};

/// Fluid nearer to a wall than this at the start, × spacing, is left out. Beside boundary particles it is packed evenly, and
/// what is in front of the wall stays.
const START_GAP: f64 = 0.25;

/// Why a scene cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// The scene needs a part that this version does not have.
    #[error("{0} is not built in this version")]
    NotBuilt(&'static str),
    /// More particles than allowed.
    #[error(
        "the scene starts with {found} particles, over model.max_particles = {allowed}; raise it or model.spacing"
    )]
    TooMany {
        /// How many there would be.
        found: usize,
        /// How many there may be.
        allowed: usize,
    },
    /// Walls that cannot have boundary particles.
    #[error("{0}; raise model.spacing, or take model.walls = \"layers\", which needs none")]
    Walls(#[from] SampleError),
    /// A scene over which no grid can be laid.
    #[error("{0}")]
    Grid(#[from] MacError),
    /// Nothing that moves, and nothing that would make some fluid.
    #[error(
        "the scene holds no fluid: no particle fits at this spacing, and there is no emitter and no solid"
    )]
    Empty,
}

/// What happened to fluid that was asked for where it cannot be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartReport {
    /// Particles left out because they lay in a wall or outside the domain.
    pub in_walls: usize,
    /// Particles left out because a mass-spring body was there.
    pub in_solids: usize,
    /// Particles left out because an earlier fluid was there.
    pub in_other_fluid: usize,
}

/// Simulated time. Frame k is at exactly k / frame_rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Time, s.
    pub time: f64,
    /// The last frame reached.
    pub frame: u64,
    /// Steps so far.
    pub steps: u64,
    /// The last step taken, s.
    pub last_step: f64,
}

/// A scene in motion.
pub struct World {
    scene: Scene,
    solver: Box<dyn Solver>,
    walls: Walls,
    solids: Solids,
    fields: Fields,
    sources: Vec<Source>,
    switches: BTreeMap<String, bool>,
    /// Events to come, by time, then in order of arrival.
    pending: Vec<Event>,
    next_event: usize,
    /// Every event that took effect, with the time it did.
    record: Vec<Event>,
    clock: Clock,
    passes: Passes,
    start: StartReport,
    births: Vec<Birth>,
}

impl World {
    /// Sets a scene up at time 0.
    pub fn new(scene: Scene) -> Result<Self, WorldError> {
        let solver: Box<dyn Solver> = match scene.model.kind {
            ModelKind::Sph => Box::new(Sph::new(&scene)?),
            ModelKind::Mac => Box::new(Mac::new(&scene)?),
            ModelKind::LennardJones => Box::new(LennardJones::new(&scene)),
        };
        Self::with_solver(scene, solver)
    }

    /// Sets a scene up with a solver of one's own.
    pub fn with_solver(scene: Scene, solver: Box<dyn Solver>) -> Result<Self, WorldError> {
        let walls = Walls::new(&scene);
        let (births, start) = starting_fluid(&scene, &walls);
        if births.len() > scene.model.max_particles {
            return Err(WorldError::TooMany { found: births.len(), allowed: scene.model.max_particles });
        }
        let solids = Solids::new(&scene);
        if births.is_empty() && scene.emitters.is_empty() && solids.is_empty() {
            return Err(WorldError::Empty);
        }
        let mut world = World {
            fields: Fields::new(&scene),
            sources: Source::all(&scene),
            switches: BTreeMap::new(),
            pending: scene.events.clone(),
            next_event: 0,
            record: Vec::new(),
            clock: Clock::default(),
            passes: Passes::default(),
            births: Vec::new(),
            start,
            solver,
            walls,
            solids,
            scene,
        };
        world.solver.insert(&births);
        // As large as the particles themselves, and the first forces are about to ask for their arrays.
        drop(births);
        let World { solver, walls, fields, solids, passes, .. } = &mut world;
        let around = Around { time: 0.0, walls, fields, solids };
        solver.settle(&around);
        solver.refresh(&around, passes);
        Ok(world)
    }

    /// One step towards the next frame.
    pub fn step(&mut self) -> Result<(), Trouble> {
        self.steps(1)
    }

    /// So many steps, across frames if need be, or up to the first that fails. Quicker than as many calls of [`World::step`]: threads
    /// do not go to sleep in between.
    pub fn steps(&mut self, count: u64) -> Result<(), Trouble> {
        with_one_awake(|| (0..count).try_for_each(|_| self.one_step()))
    }

    fn one_step(&mut self) -> Result<(), Trouble> {
        self.take_events();
        self.delete_outflow();
        self.emit();
        let (dt, arrives) = self.next_step()?;
        let end = if arrives { self.frame_time(self.clock.frame + 1) } else { self.clock.time + dt };
        self.walls.pose(end);
        self.fields.set_time(end);
        let World { solver, walls, fields, solids, passes, .. } = self;
        if arrives {
            solver.frame_ahead();
        }
        solver.step(dt, &Around { time: end, walls, fields, solids }, passes)?;
        if let Some(forces) = solver.forces_on_solids() {
            solids.add_forces(forces);
        }
        solids.step(dt, end, walls, fields, passes)?;
        self.pass_time(dt, end, arrives);
        Ok(())
    }

    /// Steps until the next frame is reached.
    pub fn advance_frame(&mut self) -> Result<(), Trouble> {
        self.advance_frame_seeing(|_| ())
    }

    /// As [`World::advance_frame`], with a look at each step.
    pub fn advance_frame_seeing(&mut self, mut see: impl FnMut(&Self) + Send) -> Result<(), Trouble> {
        let frame = self.clock.frame;
        with_one_awake(|| {
            while self.clock.frame == frame {
                self.one_step()?;
                see(self);
            }
            Ok(())
        })
    }

    /// Input that takes effect at the next step; from a mouse, a finger, a key or a wire. It is checked as events of
    /// a file are; what is refused changes nothing.
    pub fn input(&mut self, action: Action) -> Result<(), EventError> {
        self.push_event(Event { time: self.clock.time, action })
    }

    /// An event that takes effect at the first step that starts at or after its time; checked as those of a file.
    pub fn push_event(&mut self, event: Event) -> Result<(), EventError> {
        self.scene.check_event(&event)?;
        let at = self.pending[self.next_event..].partition_point(|e| e.time <= event.time);
        self.pending.insert(self.next_event + at, event);
        Ok(())
    }

    /// Every event that took effect so far, with the time it did: play it back for the same result.
    pub fn record(&self) -> &[Event] {
        &self.record
    }

    /// The largest step now, and the limit that rules it.
    pub fn step_limit(&self) -> StepLimit {
        let mut limit = self.solver.step_limit();
        if let Some(solid) = self.solids.step_limit().filter(|s| s.step < limit.step) {
            limit = solid;
        }
        if let Some(step) = self.scene.time.step {
            return StepLimit { step, name: "step" };
        }
        if let Some(step) = self.scene.time.max_step.filter(|m| *m < limit.step) {
            limit = StepLimit { step, name: "max_step" };
        }
        limit
    }

    /// What the world looks like now.
    pub fn frame(&self) -> Frame {
        let World { walls, fields, solids, .. } = self;
        let around = Around { time: self.clock.time, walls, fields, solids };
        Frame {
            index: self.clock.frame,
            time: self.clock.time,
            gravity: Some(self.fields.gravity.to_array()),
            solids: self.solids.frame(),
            ..self.solver.frame(&around)
        }
    }

    /// The scene.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Time spent in each pass so far.
    pub fn passes(&self) -> &Passes {
        &self.passes
    }

    /// Forgets the time spent so far.
    pub fn clear_passes(&mut self) {
        self.passes.clear();
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.solver.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.solver.is_empty()
    }

    /// Number of boundary particles on walls and mass-spring bodies.
    pub fn wall_particles(&self) -> usize {
        self.solver.walls()
    }

    /// Named numbers about the solver's last step: iterations, errors.
    pub fn diagnostics(&self) -> Vec<(&'static str, f64)> {
        self.solver.diagnostics()
    }

    /// The walls as posed now.
    pub fn walls(&self) -> &Walls {
        &self.walls
    }

    /// The mass-spring bodies.
    pub fn solids(&self) -> &Solids {
        &self.solids
    }

    /// What was left out at the start.
    pub fn start_report(&self) -> StartReport {
        self.start
    }

    /// Whether the cap on the number of particles holds emitters back.
    pub fn is_capped(&self) -> bool {
        self.solver.len() >= self.scene.model.max_particles
    }

    fn frame_time(&self, frame: u64) -> f64 {
        frame as f64 / self.scene.time.frame_rate
    }

    /// The step to take and whether it arrives at the next frame: equal parts of what is left.
    fn next_step(&self) -> Result<(f64, bool), Trouble> {
        let left = self.frame_time(self.clock.frame + 1) - self.clock.time;
        let limit = self.step_limit();
        let parts = (left / limit.step - 1e-9).ceil().max(1.0);
        // A billion steps a frame is no simulation any more.
        if parts.is_nan() || parts >= 1e9 {
            return Err(Trouble {
                term: "time step",
                particle: 0,
                position: [0.0; 3],
                value: limit.step,
                time: self.clock.time,
            });
        }
        Ok((left / parts, parts == 1.0))
    }

    fn pass_time(&mut self, dt: f64, end: f64, arrives: bool) {
        for s in &mut self.sources {
            let on = is_on(&self.switches, s.switch());
            s.pass(self.clock.time, dt, on);
        }
        self.clock.time = end;
        self.clock.steps += 1;
        self.clock.last_step = dt;
        self.clock.frame += u64::from(arrives);
    }

    fn take_events(&mut self) {
        while let Some(e) = self.pending.get(self.next_event).filter(|e| e.time <= self.clock.time) {
            let event = Event { time: self.clock.time, action: e.action.clone() };
            self.next_event += 1;
            self.apply(&event.action);
            self.record.push(event);
        }
    }

    fn apply(&mut self, action: &Action) {
        match action {
            Action::Brush { id, position, velocity, radius, strength } => {
                self.fields.held.retain(|b| b.id != *id);
                let brush = Brush {
                    id: *id,
                    position: *position,
                    velocity: *velocity,
                    radius: *radius,
                    strength: *strength,
                };
                self.fields.held.push(brush);
            }
            Action::BrushUp { id } => self.fields.held.retain(|b| b.id != *id),
            Action::Touch { id, position, radius, strength } => {
                self.fields.touches.retain(|t| t.id != *id);
                self.fields.touches.push(Touch {
                    id: *id,
                    position: *position,
                    radius: *radius,
                    strength: *strength,
                });
            }
            Action::TouchUp { id } => self.fields.touches.retain(|t| t.id != *id),
            Action::Switch { name, on } => {
                self.switches.insert(name.clone(), *on);
            }
            Action::Set { key, value } => self.set(key, value),
        }
    }

    /// A parameter change; keys were checked with the event, and an unknown one changes nothing.
    fn set(&mut self, key: &str, value: &[f64]) {
        match (self.scene.settable(key), value) {
            (Some(Settable::Gravity), [x, y, z]) => self.fields.gravity = DVec3::new(*x, *y, *z),
            (Some(Settable::Viscosity(fluid)), [v]) => {
                self.solver.set_fluid(fluid, "viscosity", *v);
            }
            (Some(Settable::SurfaceTension(fluid)), [v]) => {
                self.solver.set_fluid(fluid, "surface_tension", *v);
            }
            (Some(Settable::EmitterSpeed(emitter)), [v]) => {
                if let Some(source) = self.sources.get_mut(emitter) {
                    source.set_speed(*v);
                }
            }
            (Some(Settable::ForceStrength(force)), [v]) => match self.fields.forces.get_mut(force) {
                Some(Force::Swirl { strength, .. }) => *strength = *v,
                Some(Force::Brush(track)) => track.strength = *v,
                _ => {}
            },
            _ => {}
        }
    }

    fn delete_outflow(&mut self) {
        let World { scene, solver, switches, passes, .. } = self;
        if scene.outflows.is_empty() {
            return;
        }
        let open: Vec<_> = scene
            .outflows
            .iter()
            .filter(|o| is_on(switches, o.switch.as_deref()))
            .map(|o| (&o.shape, o.shape.bounds()))
            .collect();
        if !open.is_empty() {
            passes.time("outflow", || {
                solver.remove(&|p| open.iter().any(|(shape, bounds)| bounds.contains(p) && shape.contains(p)))
            });
        }
    }

    fn emit(&mut self) {
        let World { sources, solver, switches, clock, births, scene, passes, .. } = self;
        if sources.is_empty() {
            return;
        }
        passes.time("emit", || {
            births.clear();
            let room = scene.model.max_particles.saturating_sub(solver.len());
            for s in sources.iter_mut() {
                let on = is_on(switches, s.switch());
                s.emit(clock.time, on, &**solver, births, room);
            }
            solver.insert(births);
        });
    }

    /// Writes all that the next step depends on. What goes on from it is the same to the last bit if it was written at a frame.
    pub fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        out.section("world")?;
        out.put_f64(self.clock.time)?;
        out.put_u64(self.clock.frame)?;
        out.put_u64(self.clock.steps)?;
        out.put_f64(self.clock.last_step)?;
        for s in &self.sources {
            out.put_f64s(&s.state())?;
        }
        // The rest follows from the events that took effect.
        out.put_str(&crate::scene::events_to_toml(&self.record))?;
        if !self.solids.is_empty() {
            self.solids.save(out)?;
        }
        self.solver.save(out)
    }

    /// Goes on from what [`World::save`] wrote for the same scene.
    pub fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        let damaged = |what: &str| CheckpointError::Damaged { what: what.into() };
        from.section("world")?;
        let mut clock = Clock { time: from.get_f64()?, frame: from.get_u64()?, ..Clock::default() };
        clock.steps = from.get_u64()?;
        clock.last_step = from.get_f64()?;
        // Else the way to the next frame would be endless or backwards.
        let fits = clock.frame < 1 << 53
            && (self.frame_time(clock.frame)..self.frame_time(clock.frame + 1)).contains(&clock.time);
        if !fits || clock.steps > 1 << 60 {
            return Err(damaged("the clock"));
        }
        let mut states = Vec::new();
        for _ in &self.sources {
            let state = from.get_f64s()?;
            states.push(<[f64; 2]>::try_from(state).map_err(|_| damaged("an emitter"))?);
        }
        let text = from.get_str()?;
        let record = crate::scene::parse_events(&text, "checkpoint", Some(&self.scene))
            .map_err(|_| damaged("the events"))?;
        for e in &record {
            self.apply(&e.action);
        }
        for (s, state) in self.sources.iter_mut().zip(states) {
            s.restore(state);
        }
        self.next_event = self.pending.partition_point(|e| {
            // Events that took effect were those at or before the start of the last step.
            e.time <= record.last().map_or(-1.0, |r| r.time)
        });
        self.record = record;
        self.clock = clock;
        self.walls.pose(clock.time);
        self.fields.set_time(clock.time);
        if !self.solids.is_empty() {
            self.solids.load(from)?;
        }
        self.solver.load(from)
    }
}

fn is_on(switches: &BTreeMap<String, bool>, name: Option<&str>) -> bool {
    name.is_none_or(|n| switches.get(n).copied().unwrap_or(false))
}

/// Places that keep one thread busy long enough.
const FEW_PLACES: usize = 4096;

/// What becomes of a place where fluid could start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Born,
    InWall,
    InSolid,
    InOtherFluid,
}

/// Fills the fluids' shapes, leaving out what lies in walls or in an earlier fluid.
fn starting_fluid(scene: &Scene, walls: &Walls) -> (Vec<Birth>, StartReport) {
    let d = scene.model.particle_spacing();
    // A lattice cut by a wall where it stands holds the right volume on average; SPH wants room for half a particle.
    let gap = if scene.model.kind == ModelKind::Mac { 0.0 } else { START_GAP * d };
    let mut births: Vec<Birth> = Vec::new();
    let mut report = StartReport::default();
    for (fluid, f) in scene.fluids.iter().enumerate() {
        let Some(shape) = &f.shape else { continue };
        let fate = |&p: &DVec3| {
            let outside = scene.domain.as_ref().is_some_and(|b| p.cmplt(b.min).any() || p.cmpgt(b.max).any());
            let mut in_wall = false;
            walls.contacts(p, d, |c| in_wall |= c.distance < if c.sampled { 0.0 } else { gap });
            if outside || in_wall {
                Fate::InWall
            } else if scene.solids.iter().any(|s| is_in_solid(s, p, if gap == 0.0 { 0.0 } else { d })) {
                Fate::InSolid
            } else if scene.fluids[..fluid].iter().filter_map(|o| o.shape.as_ref()).any(|o| o.contains(p)) {
                Fate::InOtherFluid
            } else {
                Fate::Born
            }
        };
        let mut places = shape.fill(d);
        let fates: Vec<Fate> = places.par_iter().with_min_len(FEW_PLACES).map(fate).collect();
        let count = |fate: Fate| fates.iter().filter(|f| **f == fate).count();
        let born = count(Fate::Born);
        if born < places.len() {
            report.in_walls += count(Fate::InWall);
            report.in_solids += count(Fate::InSolid);
            report.in_other_fluid += count(Fate::InOtherFluid);
            let mut fates = fates.iter();
            places.retain(|_| fates.next() == Some(&Fate::Born));
        }
        let (first, reach) = (births.len(), scene.model.jitter * d);
        let birth = |(n, &p): (usize, &DVec3)| {
            let position = if reach > 0.0 { p + jitter(scene.model.seed, first + n) * reach } else { p };
            Birth { position, velocity: f.velocity, fluid }
        };
        births.reserve_exact(born);
        births.par_extend(places.par_iter().with_min_len(FEW_PLACES).enumerate().map(birth));
    }
    (births, report)
}

/// Whether fluid at a place would start in a mass-spring body or nearer than half a spacing to it.
fn is_in_solid(solid: &Solid, p: DVec3, spacing: f64) -> bool {
    solid.shape.nearest_within(p, 0.5 * spacing).is_some()
}

/// A repeatable random vector in (-½, ½)³ (splitmix64).
fn jitter(seed: u64, index: usize) -> DVec3 {
    let mut state = seed.wrapping_add((index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    DVec3::new(next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_steps_are_as_many_single_ones() {
        let text = "domain = { min = [0, 0, 0], max = [1, 1, 1] }\nmodel = { kind = 'mac', spacing = 0.1 }\n\
                    time = { frame_rate = 50 }\n[[fluid]]\nshape = { box = { min = [0, 0, 0], max = [0.5, 0.8, 1] } }\n";
        let scene = Scene::parse(text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        let mut single = World::new(scene.clone()).unwrap();
        let mut many = World::new(scene).unwrap();
        many.steps(0).unwrap();
        assert_eq!(many.clock().steps, 0);
        (0..5).for_each(|_| single.step().unwrap());
        many.steps(5).unwrap();
        assert_eq!(many.clock().steps, 5);
        assert_eq!((many.clock().frame, many.clock().time), (single.clock().frame, single.clock().time));
        assert!(many.clock().frame > 0, "they go across frames");
        assert_eq!(many.frame().particles.position, single.frame().particles.position);
    }
}
