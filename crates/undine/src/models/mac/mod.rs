//! Liquid on a staggered grid with markers, after Génevaux, Habibi & Dischler 2003.
//!
//! | part of the paper | here |
//! |---|---|
//! | 2.1 staggered grid | [`layout`] |
//! | 2.1 markers | [`crate::state::markers`], [`tracers`], [`liquid`] |
//! | 2.1 convection | [`convect`], [`transfer`] |
//! | 2.1 viscosity | [`viscosity`] |
//! | 2.1 projection | [`pressure`], [`poisson`] |
//! | 3 coupling with solids | [`solids`] |
//!
//! `docs/mac.md` tells what differs from the paper by default, and why.

// An axis numbers several arrays at once.
#![allow(clippy::needless_range_loop)]

mod beyond;
mod bodies;
mod collect;
pub mod convect;
pub mod cuts;
pub mod even;
pub mod extrapolate;
pub mod following;
mod forces;
pub mod fringe;
mod keep;
pub mod lattice;
pub mod layout;
pub mod liquid;
pub mod poisson;
mod population;
pub mod pressure;
mod report;
mod rows;
mod show;
pub mod solids;
#[cfg(test)]
mod tests;
pub mod tracers;
pub mod transfer;
pub mod viscosity;
mod watch;

use glam::DVec3;
use rayon::prelude::*;

use self::beyond::Air;
use self::convect::{Fields, Flow, Moved};
use self::cuts::Cuts;
use self::even::{Even, complete, transplant};
use self::extrapolate::Known;
use self::fringe::Fringe;
use self::layout::Layout;
use self::liquid::Liquid;
use self::pressure::Pressure;
use self::solids::Immersed;
use self::solids::elastic::Elastic;
use self::tracers::Tracers;
use self::transfer::{Deposit, Faces};
use self::viscosity::{Thick, Viscosity, due, explicit_limit};
use self::watch::Watch;
use super::spares::Spares;
use super::{Around, Birth, Passes, Solver, StepLimit, Trouble};
use crate::awake::with_one_awake;
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::frame::Frame;
use crate::scene::{Convection, Coupling, ProbeKind, Scene, ViscousStep};
use crate::state::markers::{Markers, Order};

/// Cells that the fastest marker crosses in a step. With 3 steps are three tenths fewer, but liquid is 3.8 to 4.5 % too full after a
/// violent collapse (`mac-volume`), and 1.9 to 5.8 % if markers are spread farther ([`even`]), with no order in it; with a third-order way of the markers
/// 2.0 to 3.7 %. With 2.5 it is 1.9 to 2.4 %, with 2 it is 1.6 to 1.9 %, with 4 it is 9 %.
const COURANT: f64 = 2.0;
/// The same where liquid fills all space: without a surface there is nothing to see but its vortices, and those are damped by a
/// share of the step (`docs/mac.md`).
const COURANT_CLOSED: f64 = 0.1;
/// Share of √(h/g): short waves, of which the grid holds those of two cells, must be followed.
const WAVES: f64 = 0.5;
/// Faces with less mass than this, in markers, have no velocity of their own.
const LEAST_MASS: f32 = 1e-5;
/// How near a marker's middle gets to a wall, × marker spacing; at the start it is half.
const MARGIN: f64 = 0.4;
/// Length of the trial step that finds the pressure at the start, s: any will do.
const TRIAL: f64 = 1e-3;

/// Why no grid can be laid over a scene.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MacError {
    /// There is no box.
    #[error("the model `mac` needs a `[domain]`: its grid is laid over that box")]
    NoDomain,
    /// Too many cells.
    #[error("the domain has {cells:.1e} cells; raise model.spacing or make the domain smaller")]
    TooLarge {
        /// How many there would be.
        cells: f64,
    },
}

/// What a fluid is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluidParams {
    /// Density, kg/m³.
    pub density: f64,
    /// Viscosity, Pa s.
    pub viscosity: f64,
}

/// The liquid on a grid.
pub struct Mac {
    layout: Layout,
    fluids: Vec<FluidParams>,
    convection: Convection,
    viscous_step: ViscousStep,
    cfl: f64,
    /// Spacing, m, of the markers that the scene asked for.
    spacing: f64,
    /// Spacing, m, of those that carry velocities, and how many a full cell has.
    apart: f64,
    full: f64,
    /// Markers that carry velocities: all, or some beside those that only follow.
    markers: Markers,
    order: Order,
    tracers: Option<Tracers>,
    /// Whether the next step ends at a frame.
    arrives: bool,
    /// Whether markers came or went since they were put in order.
    stale: bool,
    /// Velocities that came in since the last step and the grid has not seen (semi-Lagrangian).
    fresh: Markers,
    /// How walls and bodies cut the grid, and walls alone where there are bodies.
    cuts: Option<Cuts>,
    bare: Option<Cuts>,
    /// Bodies that share the pressure.
    immersed: Option<Immersed>,
    /// The paper's force on bodies, and what it was during the last step, N.
    elastic: Option<(Elastic, Vec<DVec3>)>,
    deposit: Deposit,
    liquid: Liquid,
    /// Velocities at faces, m/s: half a step before the markers' positions in time.
    u: Faces,
    /// As of before forces and pressure.
    before: Faces,
    /// Which of them are known, and which were by markers.
    known: Known,
    marked: Known,
    fringe: Fringe,
    air: Air,
    /// By how much the last step changed known velocities, m/s.
    gain: Faces,
    pressure: Pressure,
    viscosity: Viscosity,
    even: Even,
    spares: Spares<Fields>,
    mixed: Vec<[f32; 2]>,
    /// The last step, and the time its forces acted for, s.
    last: f64,
    kick: f64,
    /// Greatest speed, cells per second, and acceleration from outside, m/s².
    rate: f64,
    pull: f64,
    /// Whether liquid fills all space.
    is_closed: bool,
    /// Kinetic and potential energy that left the liquid in steps, J, if a probe asks for it.
    spent: Option<f64>,
    /// Energy, J, as of the end of the last step, and the gravity it was found with.
    energy: Option<(DVec3, f64)>,
}

impl Mac {
    /// An empty model for a scene.
    pub fn new(scene: &Scene) -> Result<Self, MacError> {
        let layout = Layout::new(scene)?;
        let n = layout.len();
        let spacing = scene.model.particle_spacing();
        let convection = scene.model.mac.convection;
        let elastic = scene.model.mac.coupling == Coupling::Markers && !scene.solids.is_empty();
        // The paper's force is one of every marker.
        let ratio = if elastic { 1 } else { tracers::ratio(scene.model.mac.markers) };
        let apart = ratio as f64 * spacing;
        let has_weight = ratio > 1;
        let zeros = || -> Faces { std::array::from_fn(|_| vec![0.0; n]) };
        Ok(Mac {
            fluids: scene
                .fluids
                .iter()
                .map(|f| FluidParams { density: f.density, viscosity: f.viscosity })
                .collect(),
            convection,
            viscous_step: scene.model.sph.viscous_step,
            cfl: scene.model.sph.cfl,
            spacing,
            apart,
            full: layout.volume() / apart.powi(3),
            markers: Markers { has_affine: convection == Convection::Apic, has_weight, ..Markers::default() },
            order: Order::default(),
            tracers: has_weight.then(|| {
                // Emitters ask what is where, and outflow takes what is there.
                let watch = Watch::new(scene, &layout);
                let may_wait = !watch.is_on() && scene.outflows.is_empty();
                Tracers::new(ratio, watch, may_wait)
            }),
            arrives: false,
            stale: true,
            fresh: Markers { has_weight, ..Markers::default() },
            cuts: None,
            bare: None,
            immersed: (scene.model.mac.coupling == Coupling::Pressure)
                .then(|| Immersed::new(scene, &layout))
                .filter(|i| !i.is_empty()),
            elastic: elastic.then(|| (Elastic::new(scene), Vec::new())),
            deposit: Deposit::default(),
            liquid: Liquid::default(),
            u: zeros(),
            before: zeros(),
            known: Known::default(),
            marked: Known::default(),
            fringe: Fringe::default(),
            air: Air::default(),
            gain: zeros(),
            pressure: Pressure::new(&layout),
            viscosity: Viscosity::default(),
            even: Even::default(),
            spares: Spares::default(),
            mixed: Vec::new(),
            last: 0.0,
            kick: 0.0,
            is_closed: false,
            rate: 0.0,
            pull: scene.gravity.length(),
            spent: scene.probes.iter().any(|p| p.kind == ProbeKind::Energy).then_some(0.0),
            energy: None,
            layout,
        })
    }

    /// How the grid lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The markers that carry velocities.
    pub fn markers(&self) -> &Markers {
        &self.markers
    }

    /// Velocities at faces, m/s, as of the last step.
    pub fn velocity(&self) -> &Faces {
        &self.u
    }

    /// Where the liquid was at the start of the last step.
    pub fn liquid(&self) -> &Liquid {
        &self.liquid
    }

    /// What the last pressure solve took.
    pub fn pressure_report(&self) -> poisson::Report {
        self.pressure.report
    }

    /// Iterations of the last solve that evened out the filling.
    pub fn even_iterations(&self) -> usize {
        self.even.iterations
    }

    /// Layers of air that need velocities: as far as the middle of a marker's way, and the nodes around it.
    fn layers(&self) -> usize {
        (0.5 * COURANT * self.cfl).ceil() as usize + 2
    }

    fn find_order(&mut self) {
        self.order.find(&self.markers.x, self.layout.n);
        self.stale = false;
    }

    fn sort(&mut self) {
        if self.stale {
            self.find_order();
        }
        self.order.apply(&mut self.markers);
        if self.convection != Convection::Apic {
            self.order.apply_to_velocity(&mut self.markers);
        }
    }

    /// Greatest kinematic viscosity, m²/s.
    fn thickest(&self) -> f64 {
        self.fluids.iter().map(|f| f.viscosity / f.density).fold(0.0, f64::max)
    }

    /// Viscosity during a step of `dt` that ends at `end`; `kick`: from the middle of the last step to that of this one.
    fn viscosity(&mut self, cuts: &Cuts, kick: f64, dt: f64, end: f64) {
        let thickest = self.thickest();
        if thickest == 0.0 {
            return;
        }
        let limit = explicit_limit(&self.layout, thickest);
        let dt = if self.viscous_step == ViscousStep::Auto { due(limit, kick, dt, end) } else { kick };
        if dt == 0.0 {
            return;
        }
        let Mac { layout, liquid, known, u, viscosity, fluids, .. } = self;
        let FluidParams { density, viscosity: mu } = fluids[0];
        let (nu, density) = ((mu / density) as f32, density as f32);
        let thick = Thick { layout, cuts, liquid, known, nu, density };
        let explicit = match self.viscous_step {
            ViscousStep::Auto => dt <= limit,
            ViscousStep::Explicit => true,
            ViscousStep::Implicit => false,
        };
        if explicit {
            viscosity.explicit(&thick, u, dt);
        } else {
            viscosity.implicit(&thick, u, dt);
        }
    }

    /// What moves markers that are `apart`, m, during `dt`, s.
    fn flow<'a>(&'a self, cuts: &'a Cuts, around: &'a Around, apart: f64, dt: f64, evened: bool) -> Flow<'a> {
        Flow {
            layout: &self.layout,
            cuts,
            walls: around.walls,
            u: &self.u,
            before: &self.before,
            drift: if evened { &self.even.shift } else { &self.u },
            margin: MARGIN * apart,
            convection: self.convection,
            dt,
        }
    }

    /// Finds the velocities that move markers, if they are others than those of the flow: it says whether. `evened` is whether
    /// displacements are to be added, if they are found already.
    fn find_drift(&mut self, cuts: &Cuts, evened: Option<bool>, dt: f64) -> bool {
        let layers = self.layers();
        let Mac { even, layout, liquid, fringe, pressure, immersed, u, .. } = self;
        let evened = evened.unwrap_or_else(|| {
            if immersed.as_ref().is_some_and(|i| i.shape.mobility().is_some()) {
                // Markers that make room do not move bodies.
                pressure.assemble(layout, cuts, liquid, None);
            }
            even.find(layout, cuts, liquid, |b, q, goal| pressure.answer(b, q, goal))
        });
        if evened {
            even.spread(layout, cuts, fringe, layers);
            even.add(layout, u, dt);
        }
        evened
    }

    fn carry(&mut self, cuts: &Cuts, around: &Around, dt: f64, evened: bool) -> Moved {
        let mut markers = std::mem::take(&mut self.markers);
        let moved =
            self.flow(cuts, around, self.apart, dt, evened).carry(&mut markers, &self.order, &self.spares);
        self.markers = markers;
        moved
    }

    fn guard(&self, moved: Moved, time: f64) -> Result<(), Trouble> {
        if moved.rate.is_finite() && moved.rate < 1e12 {
            return Ok(());
        }
        let Markers { x, velocity, id, .. } = &self.markers;
        let bad = |v: &[f32; 3]| !v.iter().all(|c| c.is_finite() && c.abs() < 1e12);
        let i = (0..x.len()).find(|i| bad(&velocity[*i])).unwrap_or(0);
        let value = f64::from(glam::Vec3::from(velocity[i]).length());
        let position = self.layout.world(x[i]).to_array();
        Err(Trouble { term: "velocity", particle: id[i], position, value, time })
    }
}

impl Solver for Mac {
    fn step_limit(&self) -> StepLimit {
        let h = self.layout.shortest();
        // Cells crossed at the speed of now and what the pull adds to it: r t + (a/h) t² = C.
        let solids = self.immersed.as_ref().map_or(0.0, |i| i.rate);
        let (r, a) = (self.rate.max(solids), self.pull / h);
        let courant = if self.is_closed { COURANT_CLOSED } else { COURANT } * self.cfl;
        let cfl = 2.0 * courant / (r + (r * r + 4.0 * a * courant).sqrt()).max(1e-30);
        let mut limit = StepLimit { step: cfl, name: "cfl" };
        let waves = WAVES * self.cfl * (1.0 / a.max(1e-30)).sqrt();
        if waves < limit.step {
            limit = StepLimit { step: waves, name: "force" };
        }
        if let Some((elastic, _)) = self.elastic.as_ref().filter(|e| e.0.limit * self.cfl < limit.step) {
            limit = StepLimit { step: elastic.limit * self.cfl, name: "coupling" };
        }
        if self.viscous_step == ViscousStep::Explicit {
            let viscous = explicit_limit(&self.layout, self.thickest());
            if viscous < limit.step {
                limit = StepLimit { step: viscous, name: "viscous" };
            }
        }
        limit
    }

    fn step(&mut self, dt: f64, around: &Around, passes: &mut Passes) -> Result<(), Trouble> {
        // From within a worker thread: each of the many short parallel loops would else wake one and wait for it.
        rayon::scope(|_| self.advance(dt, around, passes))
    }

    fn refresh(&mut self, around: &Around, passes: &mut Passes) {
        rayon::scope(|_| self.begin(around, passes));
    }

    fn insert(&mut self, births: &[Birth]) -> usize {
        self.add(births)
    }

    fn occupied(&self, place: DVec3, distance: f64) -> bool {
        self.is_occupied(place, distance)
    }

    fn remove(&mut self, region: &(dyn Fn(DVec3) -> bool + Sync)) -> usize {
        self.delete(region)
    }

    fn len(&self) -> usize {
        self.asked_for().len()
    }

    fn frame_ahead(&mut self) {
        self.arrives = true;
    }

    fn frame(&self, around: &Around) -> Frame {
        with_one_awake(|| self.show(around))
    }

    fn set_fluid(&mut self, fluid: usize, key: &str, value: f64) -> bool {
        match (self.fluids.get_mut(fluid), key) {
            (Some(f), "viscosity") => f.viscosity = value,
            _ => return false,
        }
        true
    }

    fn forces_on_solids(&self) -> Option<&[DVec3]> {
        match (&self.immersed, &self.elastic) {
            (Some(immersed), _) => Some(&immersed.forces),
            (None, Some((_, forces))) => Some(forces),
            _ => None,
        }
    }

    fn diagnostics(&self) -> Vec<(&'static str, f64)> {
        self.numbers()
    }

    fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        self.write(out)
    }

    fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        self.read(from)
    }
}

impl Mac {
    /// One step, as a list of passes.
    fn advance(&mut self, dt: f64, around: &Around, passes: &mut Passes) -> Result<(), Trouble> {
        // Leap-frog: velocities belong to the middle of steps, so that forces act from middle to middle.
        let kick = 0.5 * (self.last + dt);
        let gravity = around.fields.gravity;
        let energy = self.spent.map(|_| match self.energy.take() {
            Some((g, energy)) if g == gravity => energy,
            _ => self.energy(around),
        });
        // Markers are summed while bodies are looked at, which is work for one thread.
        let at_once = self.immersed.is_some();
        passes.time("walls", || {
            self.follow_walls(around, |mac| {
                if at_once {
                    mac.sort();
                    mac.sum_markers();
                }
            });
        });
        let Some(mut cuts) = self.cuts.take() else { return Ok(()) };
        if self.convection == Convection::SemiLagrangian {
            passes.time("convect", || self.trace_back(&cuts, around, kick));
        }
        if !at_once {
            passes.time("sort", || self.sort());
        }
        passes.time("markers to grid", || {
            if !at_once {
                self.sum_markers();
            }
            self.markers_to_grid(&cuts);
        });
        passes.time("forces", || self.forces(around, kick));
        if self.elastic.is_some() {
            passes.time("coupling", || self.interact(around, kick));
        }
        self.hold_sides();
        passes.time("viscosity", || self.viscosity(&cuts, kick, dt, around.time));
        let evened = passes.time("pressure", || self.project_and_look(&mut cuts, around, kick, dt));
        passes.time("extrapolate", || self.complete(&cuts));
        self.return_remainder(&cuts, around, kick, dt);
        let evened = passes.time("even", || self.find_drift(&cuts, evened, dt));
        let moved = passes.time("grid to markers", || {
            let moved = self.carry_and_look(&cuts, around, dt, evened);
            if self.fluids.len() == 1 && moved.rate.is_finite() {
                let Mac { layout, liquid, u, order, markers, full, .. } = self;
                transplant(layout, &cuts, liquid, u, order, markers, *full as usize);
            }
            moved
        });
        if moved.rate.is_finite() {
            passes.time("push out", || self.push_out(moved, dt));
            if self.tracers.is_some() {
                passes.time("follow", || self.follow(&cuts, around, dt, evened));
            }
        }
        if let Some(before) = energy {
            let after = self.energy(around);
            self.spent = self.spent.map(|spent| spent + before - after);
            self.energy = (!moved.left).then_some((gravity, after));
        }
        self.cuts = Some(cuts);
        self.arrives = false;
        self.last = dt;
        self.rate = moved.rate.into();
        self.guard(moved, around.time)?;
        passes.time("sort", || {
            if moved.left {
                self.delete_gone();
            }
            self.find_order();
        });
        Ok(())
    }

    /// Finds the pressure at the start by a trial step.
    fn begin(&mut self, around: &Around, passes: &mut Passes) {
        self.follow_walls(around, |_| {});
        let Some(mut cuts) = self.cuts.take() else { return };
        passes.time("sort", || self.sort());
        // Gradients and velocities follow: later they are read by a new order.
        if self.convection == Convection::Apic {
            self.order.apply_to_velocity(&mut self.markers);
            self.order.order.iter_mut().enumerate().for_each(|(i, o)| *o = i as u32);
        }
        passes.time("markers to grid", || {
            self.sum_markers();
            self.markers_to_grid(&cuts);
        });
        let start = self.u.clone();
        passes.time("pressure", || {
            self.forces(around, TRIAL);
            self.hold_sides();
            self.project(&mut cuts, around, TRIAL, TRIAL);
        });
        if let Some(immersed) = &mut self.immersed {
            immersed.forget();
        }
        self.u = start;
        if self.convection == Convection::SemiLagrangian {
            let layers = self.layers();
            self.fringe.find(&self.layout, &self.known, layers);
            complete(&self.layout, &cuts, &self.fringe, &mut self.u, layers);
        }
        self.cuts = Some(cuts);
        self.find_order();
    }

    /// The grid's velocities as they arrive with the flow (semi-Lagrangian).
    fn trace_back(&mut self, cuts: &Cuts, around: &Around, dt: f64) {
        let mut traced = std::mem::take(&mut self.before);
        self.flow(cuts, around, self.apart, dt, false).trace_back(&mut traced);
        self.before = std::mem::replace(&mut self.u, traced);
    }
}

/// Calls `work` with the axis, the number of the first face and the faces of each plane across z of a field.
fn each_plane<T: Send>(
    layout: &Layout,
    field: &mut [Vec<T>; 3],
    work: impl Fn(usize, usize, &mut [T]) + Sync,
) {
    let plane = layout.plane();
    field.par_iter_mut().enumerate().for_each(|(a, field)| {
        field.par_chunks_mut(plane).enumerate().for_each(|(z, part)| work(a, z * plane, part));
    });
}
