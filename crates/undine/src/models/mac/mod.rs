//! Liquid on a staggered grid with markers, after Génevaux, Habibi & Dischler 2003.
//!
//! | part of the paper | here |
//! |---|---|
//! | 2.1 staggered grid | [`layout`] |
//! | 2.1 markers | [`crate::state::markers`], [`liquid`] |
//! | 2.1 convection | [`convect`], [`transfer`] |
//! | 2.1 viscosity | [`viscosity`] |
//! | 2.1 projection | [`pressure`], [`poisson`] |
//! | 3 coupling with solids | [`solids`] |
//!
//! `docs/mac.md` tells what differs from the paper by default, and why.

// An axis numbers several arrays at once.
#![allow(clippy::needless_range_loop)]

pub mod convect;
pub mod cuts;
pub mod even;
pub mod extrapolate;
mod keep;
pub mod layout;
pub mod liquid;
pub mod poisson;
pub mod pressure;
mod show;
pub mod solids;
#[cfg(test)]
mod tests;
pub mod transfer;
pub mod viscosity;

use glam::DVec3;
use rayon::prelude::*;

use self::convect::{Flow, Moved};
use self::cuts::Cuts;
use self::even::{Even, complete, transplant};
use self::extrapolate::{Known, pad, spread};
use self::layout::Layout;
use self::liquid::Liquid;
use self::pressure::Pressure;
use self::solids::Immersed;
use self::solids::couple::Dip;
use self::solids::elastic::{self, Elastic, Field};
use self::solids::remainder::Gain;
use self::transfer::{Deposit, Faces, sum_property, velocity_at};
use self::viscosity::{Thick, Viscosity, explicit_limit};
use super::{Around, Birth, Passes, Solver, StepLimit, Trouble};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::frame::Frame;
use crate::scene::{Convection, Coupling, Force, ProbeKind, Scene, ViscousStep};
use crate::state::markers::{Markers, Order};

/// Cells that the fastest marker crosses in a step.
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
/// Layers of faces above the surface that gain what the liquid gains.
const ABOVE: usize = 2;
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
    /// Marker spacing, m, and how many a full cell has.
    spacing: f64,
    full: f64,
    markers: Markers,
    order: Order,
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
    known: Known,
    /// By how much the last step changed known velocities, m/s.
    gain: Faces,
    pressure: Pressure,
    viscosity: Viscosity,
    even: Even,
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
}

impl Mac {
    /// An empty model for a scene.
    pub fn new(scene: &Scene) -> Result<Self, MacError> {
        let layout = Layout::new(scene)?;
        let n = layout.len();
        let spacing = scene.model.particle_spacing();
        let convection = scene.model.mac.convection;
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
            full: layout.volume() / spacing.powi(3),
            markers: Markers { has_affine: convection == Convection::Apic, ..Markers::default() },
            order: Order::default(),
            stale: true,
            fresh: Markers::default(),
            cuts: None,
            bare: None,
            immersed: (scene.model.mac.coupling == Coupling::Pressure)
                .then(|| Immersed::new(scene, &layout))
                .filter(|i| !i.is_empty()),
            elastic: (scene.model.mac.coupling == Coupling::Markers && !scene.solids.is_empty())
                .then(|| (Elastic::new(scene), Vec::new())),
            deposit: Deposit::default(),
            liquid: Liquid::default(),
            u: zeros(),
            before: zeros(),
            known: Known::default(),
            gain: zeros(),
            pressure: Pressure::new(&layout),
            viscosity: Viscosity::default(),
            even: Even::default(),
            mixed: Vec::new(),
            last: 0.0,
            kick: 0.0,
            is_closed: false,
            rate: 0.0,
            pull: scene.gravity.length(),
            spent: scene.probes.iter().any(|p| p.kind == ProbeKind::Energy).then_some(0.0),
            layout,
        })
    }

    /// How the grid lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The markers.
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

    /// Greatest |∇·u| of any wet cell after the last step, 1/s.
    pub fn greatest_divergence(&self) -> f64 {
        let Some(cuts) = &self.cuts else { return 0.0 };
        let mut out = vec![0.0; self.layout.n.iter().product()];
        pressure::divergence(&self.layout, cuts, &self.liquid, &self.u, &mut out)
    }

    /// Volume under the liquid's surface at the start of the last step, m³; spray is not counted.
    pub fn volume(&self) -> f64 {
        let Some(cuts) = &self.cuts else { return 0.0 };
        let (layout, liquid) = (&self.layout, &self.liquid);
        let [nx, ny, nz] = layout.n;
        let row = |r: usize| {
            let first = layout.at([0, r % ny, r / ny]);
            let inside = |i: usize| {
                layout.stride.iter().enumerate().all(|(a, s)| {
                    (liquid.wet[i - s] || cuts.open[a][i] == 0.0)
                        && (liquid.wet[i + s] || cuts.open[a][i + s] == 0.0)
                })
            };
            let share = |i: usize| {
                let part =
                    if liquid.wet[i] && inside(i) { 1.0 } else { (liquid.depth[i] + 0.5).clamp(0.0, 1.0) };
                f64::from(cuts.volume[i] * part)
            };
            (first..first + nx).map(share).sum::<f64>()
        };
        (0..ny * nz).map(row).sum::<f64>() * layout.volume()
    }

    /// Layers of air that need velocities: as far as markers get in a step, and the nodes around them.
    fn layers(&self) -> usize {
        (COURANT * self.cfl).ceil() as usize + 2
    }

    fn follow_walls(&mut self, around: &Around) {
        let walls = if self.immersed.is_some() { &mut self.bare } else { &mut self.cuts };
        match walls {
            Some(cuts) => cuts.follow(&self.layout, around.walls),
            none => *none = Some(Cuts::new(&self.layout, around.walls)),
        }
        if let (Some(immersed), Some(bare)) = (&mut self.immersed, &self.bare) {
            self.cuts = Some(immersed.follow(&self.layout, bare, around.solids));
        }
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

    /// Sums markers, finds the liquid and, where markers carry velocities, the grid's.
    fn markers_to_grid(&mut self, cuts: &Cuts) {
        let carried = self.convection != Convection::SemiLagrangian;
        let first = self.fluids[0].density;
        let density: Vec<f32> = self.fluids.iter().map(|f| (f.density / first) as f32).collect();
        let Mac { layout, markers, order, deposit, liquid, .. } = self;
        if self.convection == Convection::Flip {
            // Velocities are in order already.
            order.order.par_iter_mut().enumerate().for_each(|(i, o)| *o = i as u32);
        }
        deposit.sum(layout, markers, order, &density, carried);
        liquid.find(layout, cuts, &deposit.cells, self.full as f32);
        self.is_closed = liquid.is_closed(layout, cuts);
        if let (Some(immersed), Some(bare)) = (&self.immersed, &self.bare) {
            immersed.wet_inside(layout, bare, cuts, liquid);
        }
        if self.fluids.len() > 1 {
            let of: Vec<[f32; 2]> =
                self.fluids.iter().zip(&density).map(|(f, d)| [*d, f.viscosity as f32]).collect();
            sum_property(layout, markers, order, &of, &mut self.mixed);
            liquid.weigh(layout, &self.mixed, &deposit.cells);
        }
        if carried {
            let faces = &deposit.faces;
            self.known.find(layout, cuts, |a, i| faces[a][i][1] > LEAST_MASS);
            let known = &self.known;
            for a in 0..3 {
                self.u[a].par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, u)| {
                    let [momentum, mass] = faces[a][i];
                    *u = if known.0[a][i] && mass > LEAST_MASS && cuts.open[a][i] > 0.0 {
                        momentum / mass
                    } else {
                        0.0
                    };
                });
            }
        } else {
            self.take_fresh(cuts, &density);
            let (layout, cells) = (&self.layout, &self.deposit.cells);
            self.known.find(layout, cuts, |a, i| cells[i] > 0.0 || cells[i - layout.stride[a]] > 0.0);
        }
        // Faces of wet cells that no marker reached.
        if carried {
            spread(&self.layout, &self.known, &mut self.u, 2);
        }
        pad(&self.layout, cuts, &mut self.u);
        for (before, u) in self.before.iter_mut().zip(&self.u) {
            before.clone_from(u);
        }
    }

    /// Velocities of new markers, which the grid does not know yet (semi-Lagrangian).
    fn take_fresh(&mut self, cuts: &Cuts, density: &[f32]) {
        if self.fresh.is_empty() {
            return;
        }
        let mut order = Order::default();
        order.find(&self.fresh.x, self.layout.n);
        order.apply(&mut self.fresh);
        let mut deposit = Deposit::default();
        deposit.sum(&self.layout, &self.fresh, &order, density, true);
        for a in 0..3 {
            let (u, faces) = (&mut self.u[a], &deposit.faces[a]);
            let (full, known) = (self.full as f32, &self.known.0);
            u.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, u)| {
                let [momentum, mass] = faces[i];
                if mass > LEAST_MASS && cuts.open[a][i] > 0.0 {
                    // As far as the new ones fill the face's surroundings; where nothing was, all.
                    let share =
                        if known[a].get(i) == Some(&true) { (2.0 * mass / full).min(1.0) } else { 1.0 };
                    *u += share * (momentum / mass - *u);
                }
            });
        }
        self.fresh = Markers::default();
    }

    /// Gravity, force fields and brushes during `dt`, s.
    fn forces(&mut self, around: &Around, dt: f64) {
        let fields = around.fields;
        self.pull = fields.gravity.length();
        let Mac { layout, u, known, .. } = self;
        if fields.only_gravity() {
            for a in 0..3 {
                let kick = (dt * fields.gravity[a]) as f32;
                u[a].par_iter_mut().zip(&known.0[a]).with_min_len(4096).for_each(|(u, k)| {
                    if *k {
                        *u += kick;
                    }
                });
            }
        } else {
            // A strong brush takes fluid along within a step; its pull must not overshoot.
            let strongest = fields.held.iter().map(|b| b.strength);
            let tracked = fields.forces.iter().map(|f| match f {
                Force::Brush(track) => track.strength,
                _ => 0.0,
            });
            let parts = (strongest.chain(tracked).fold(0.0, f64::max) * dt).ceil().clamp(1.0, 16.0);
            for _ in 0..parts as usize {
                let old = u.clone();
                let mut greatest = 0f64;
                for a in 0..3 {
                    let top = u[a].par_iter_mut().zip(&known.0[a]).enumerate().with_min_len(1024).map(
                        |(i, (u, k))| {
                            if !*k {
                                return 0.0;
                            }
                            let p = layout.face_center(a, i);
                            let v = velocity_at(layout, &old, &layout.local(p).as_vec3().to_array());
                            let pull = fields.acceleration(p, glam::Vec3::from(v).as_dvec3());
                            *u += (dt / parts * pull[a]) as f32;
                            pull.length_squared()
                        },
                    );
                    greatest = greatest.max(top.reduce(|| 0.0, f64::max));
                }
                self.pull = self.pull.max(greatest.sqrt());
            }
        }
    }

    /// Sides of the domain stand still whatever pulls at them.
    fn hold_sides(&mut self) {
        let layout = &self.layout;
        for a in (0..3).filter(|a| !layout.periodic[*a]) {
            for (upper, at) in [(0, 1), (1, layout.n[a] + 1)] {
                if !layout.open[a][upper] {
                    layout.each_of_layer(a, |i| self.u[a][at * layout.stride[a] + i] = 0.0);
                }
            }
        }
    }

    /// Greatest kinematic viscosity, m²/s.
    fn thickest(&self) -> f64 {
        self.fluids.iter().map(|f| f.viscosity / f.density).fold(0.0, f64::max)
    }

    fn viscosity(&mut self, cuts: &Cuts, dt: f64) {
        let thickest = self.thickest();
        if thickest == 0.0 {
            return;
        }
        let Mac { layout, liquid, known, u, viscosity, fluids, .. } = self;
        let FluidParams { density, viscosity: mu } = fluids[0];
        let (nu, density) = ((mu / density) as f32, density as f32);
        let thick = Thick { layout, cuts, liquid, known, nu, density };
        let explicit = match self.viscous_step {
            ViscousStep::Auto => dt <= explicit_limit(layout, thickest),
            ViscousStep::Explicit => true,
            ViscousStep::Implicit => false,
        };
        if explicit {
            viscosity.explicit(&thick, u, dt);
        } else {
            viscosity.implicit(&thick, u, dt);
        }
    }

    /// Makes the velocities keep volume. `dt` is the step of the bodies, s.
    fn project(&mut self, cuts: &mut Cuts, around: &Around, kick: f64, dt: f64) {
        let Mac { layout, liquid, u, pressure, immersed, bare, .. } = self;
        match (immersed, bare) {
            (Some(immersed), Some(bare)) => {
                let state = around.solids.state();
                let gravity = steady(around.fields);
                let dip = Dip { layout, bare, liquid, state, gravity, dt };
                pressure.assemble(layout, cuts, liquid, immersed.shape.mobility());
                immersed.project(&dip, cuts, pressure, u, [self.kick, kick]);
            }
            _ => {
                pressure.assemble(layout, cuts, liquid, None);
                pressure.project(layout, cuts, liquid, u, [self.kick, kick]);
            }
        }
        self.kick = kick;
    }

    /// The paper's force between markers and nodes.
    fn interact(&mut self, around: &Around, kick: f64) {
        let Mac { layout, markers, order, u, deposit, liquid, elastic, convection, .. } = self;
        let Some((elastic, forces)) = elastic else { return };
        let volume = self.spacing.powi(3);
        let (density, cell) = (self.fluids[0].density, layout.volume());
        let carried = *convection != Convection::SemiLagrangian;
        let mass = |a: usize, i: usize| {
            let held = if carried {
                f64::from(deposit.faces[a][i][1]) * volume
            } else {
                f64::from(0.5 * (liquid.fill[i] + liquid.fill[i - layout.stride[a]])) * cell
            };
            density * held.max(0.05 * cell)
        };
        let field = Field { layout, state: around.solids.state(), markers, order, u, volume };
        let on_cells;
        (*forces, on_cells) = elastic.act(&field);
        elastic::push(layout, &on_cells, mass, kick, u);
    }

    /// What the step gained, and velocities in air and walls.
    ///
    /// Markers just above the surface are not in free fall: they gain what the liquid beside them gains. In the air farther
    /// off they fly.
    fn complete(&mut self, cuts: &Cuts) {
        let layers = self.layers();
        let Mac { layout, liquid, u, before, known, gain, deposit, convection, .. } = self;
        known.find(layout, cuts, |a, i| Known::beside(liquid, layout, a, i));
        for a in 0..3 {
            gain[a]
                .par_iter_mut()
                .enumerate()
                .with_min_len(4096)
                .for_each(|(i, g)| *g = u[a][i] - before[a][i]);
        }
        spread(layout, known, gain, ABOVE);
        let (faces, cells) = (&deposit.faces, &deposit.cells);
        let carried = *convection != Convection::SemiLagrangian;
        let holds = |a: usize, i: usize| {
            if carried {
                faces[a][i][1] > LEAST_MASS
            } else {
                cells[i] > 0.0 || cells[i - layout.stride[a]] > 0.0
            }
        };
        for a in 0..3 {
            let s = layout.stride[a];
            let each = u[a].par_iter_mut().enumerate().skip(s).with_min_len(4096);
            each.for_each(|(i, u)| {
                if !known.0[a][i] && cuts.open[a][i] > 0.0 && holds(a, i) {
                    *u = before[a][i] + gain[a][i];
                }
            });
        }
        known.find(layout, cuts, |a, i| Known::beside(liquid, layout, a, i) || holds(a, i));
        complete(layout, cuts, known, u, layers);
        if *convection == Convection::Flip {
            // Markers see the old and the new field at the same places.
            complete(layout, cuts, known, before, 2);
        }
    }

    fn carry(&mut self, cuts: &Cuts, around: &Around, dt: f64, evened: bool) -> Moved {
        let flow = Flow {
            layout: &self.layout,
            cuts,
            walls: around.walls,
            u: &self.u,
            before: &self.before,
            drift: if evened { &self.even.shift } else { &self.u },
            margin: MARGIN * self.spacing,
            convection: self.convection,
            dt,
        };
        flow.carry(&mut self.markers)
    }

    /// Deletes markers that left through open sides.
    fn delete_gone(&mut self) {
        let (n, x) = (self.layout.n.map(|n| n as f32), self.markers.x.clone());
        self.markers.retain(|i| (0..3).all(|a| x[i][a] >= 0.0 && x[i][a] <= n[a]));
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
        // Leap-frog: velocities belong to the middle of steps, so that forces act from middle to middle.
        let kick = 0.5 * (self.last + dt);
        let energy = self.spent.map(|_| self.energy(around));
        passes.time("walls", || self.follow_walls(around));
        let Some(mut cuts) = self.cuts.take() else { return Ok(()) };
        if self.convection == Convection::SemiLagrangian {
            passes.time("convect", || self.trace_back(&cuts, around, kick));
        }
        passes.time("sort", || self.sort());
        passes.time("markers to grid", || self.markers_to_grid(&cuts));
        passes.time("forces", || self.forces(around, kick));
        if self.elastic.is_some() {
            passes.time("coupling", || self.interact(around, kick));
        }
        self.hold_sides();
        passes.time("viscosity", || self.viscosity(&cuts, kick));
        passes.time("pressure", || self.project(&mut cuts, around, kick, dt));
        passes.time("extrapolate", || self.complete(&cuts));
        self.return_remainder(&cuts, around, kick, dt);
        let evened = passes.time("even", || {
            let layers = self.layers();
            let Mac { even, layout, liquid, known, pressure, immersed, .. } = self;
            if immersed.as_ref().is_some_and(|i| i.shape.mobility().is_some()) {
                // Markers that make room do not move bodies.
                pressure.assemble(layout, &cuts, liquid, None);
            }
            let evened = even.find(layout, &cuts, liquid, known, pressure, layers);
            if evened {
                even.add(layout, &self.u, dt);
            }
            evened
        });
        let moved = passes.time("grid to markers", || {
            let moved = self.carry(&cuts, around, dt, evened);
            if self.fluids.len() == 1 && moved.rate.is_finite() {
                let Mac { layout, liquid, u, order, markers, full, .. } = self;
                transplant(layout, &cuts, liquid, u, order, markers, *full as usize);
            }
            moved
        });
        if moved.rate.is_finite() {
            passes.time("push out", || self.push_out(around, moved, dt));
        }
        if let Some(before) = energy {
            self.spent = self.spent.map(|spent| spent + before - self.energy(around));
        }
        self.cuts = Some(cuts);
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

    fn refresh(&mut self, around: &Around, passes: &mut Passes) {
        self.follow_walls(around);
        let Some(mut cuts) = self.cuts.take() else { return };
        passes.time("sort", || self.sort());
        // Gradients and velocities follow: later they are read by a new order.
        if self.convection == Convection::Apic {
            self.order.apply_to_velocity(&mut self.markers);
            self.order.order.iter_mut().enumerate().for_each(|(i, o)| *o = i as u32);
        }
        passes.time("markers to grid", || self.markers_to_grid(&cuts));
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
            complete(&self.layout, &cuts, &self.known, &mut self.u, layers);
        }
        self.cuts = Some(cuts);
        self.find_order();
    }

    fn insert(&mut self, births: &[Birth]) -> usize {
        if self.markers.is_empty() {
            self.markers.reserve_exact(births.len());
        }
        let before = self.markers.len();
        for b in births {
            let mut x = self.layout.local(b.position);
            for a in 0..3 {
                if self.layout.periodic[a] {
                    x[a] = x[a].rem_euclid(self.layout.n[a] as f64);
                }
            }
            let n = DVec3::from(self.layout.n.map(|n| n as f64));
            if !(x.cmpge(DVec3::ZERO).all() && x.cmple(n).all()) {
                continue;
            }
            let (x, velocity) = (x.as_vec3().to_array(), b.velocity.as_vec3().to_array());
            self.markers.push(x, velocity, b.fluid as u8);
            if self.convection == Convection::SemiLagrangian {
                self.fresh.push(x, velocity, b.fluid as u8);
            }
            let rate = (b.velocity / DVec3::from(self.layout.h)).abs().max_element();
            self.rate = self.rate.max(rate);
        }
        self.stale = true;
        self.markers.len() - before
    }

    fn occupied(&self, place: DVec3, distance: f64) -> bool {
        let layout = &self.layout;
        let x = layout.local(place);
        let reach = DVec3::splat(distance) / DVec3::from(layout.h);
        let (low, high) = ((x - reach).floor(), (x + reach).floor());
        if self.order.start.is_empty() || !low.is_finite() || (high - low).max_element() > 64.0 {
            return false;
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
                    let range = self.order.start[c] as usize..self.order.start[c + 1] as usize;
                    self.order.order[range].iter().any(|i| {
                        let mut d = layout.world(self.markers.x[*i as usize]) - place;
                        for a in (0..3).filter(|a| layout.periodic[*a]) {
                            let length = layout.h[a] * layout.n[a] as f64;
                            d[a] -= (d[a] / length).round() * length;
                        }
                        d.length_squared() < distance * distance
                    })
                })
            })
        })
    }

    fn remove(&mut self, region: &(dyn Fn(DVec3) -> bool + Sync)) -> usize {
        let layout = &self.layout;
        let gone: Vec<bool> = self.markers.x.par_iter().map(|x| region(layout.world(*x))).collect();
        if !gone.contains(&true) {
            return 0;
        }
        let count = self.markers.retain(|i| !gone[i]);
        self.find_order();
        count
    }

    fn len(&self) -> usize {
        self.markers.len()
    }

    fn frame(&self, around: &Around) -> Frame {
        self.show(around)
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
        vec![
            ("pressure iterations", self.pressure.report.iterations as f64),
            ("pressure residual", self.pressure.report.residual),
            ("viscosity iterations", self.viscosity.iterations as f64),
            ("even iterations", self.even.iterations as f64),
            ("divergence × step", self.greatest_divergence() * self.kick),
            ("volume", self.volume()),
        ]
    }

    fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        self.write(out)
    }

    fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        self.read(from)
    }
}

/// Gravity and uniform fields, m/s²: what pulls at bodies.
fn steady(fields: &crate::fields::Fields) -> DVec3 {
    let uniform = fields.forces.iter().map(|f| match f {
        Force::Uniform(a) => *a,
        _ => DVec3::ZERO,
    });
    fields.gravity + uniform.sum::<DVec3>()
}

impl Mac {
    /// What markers beside bodies did not take on of the pressure's impulse, or took on besides, is the bodies'.
    fn return_remainder(&mut self, cuts: &Cuts, around: &Around, kick: f64, dt: f64) {
        let Mac { layout, liquid, u, before, immersed, bare, deposit, convection, .. } = self;
        let (Some(immersed), Some(bare)) = (immersed, bare) else { return };
        // There velocities are the grid's, not the markers'.
        if *convection == Convection::SemiLagrangian {
            return;
        }
        let gain = Gain {
            layout,
            bare,
            cuts,
            liquid,
            state: around.solids.state(),
            gravity: steady(around.fields),
            before,
            after: u,
            markers: &deposit.faces,
            mass: self.fluids[0].density * self.spacing.powi(3),
            taken: if *convection == Convection::Flip { convect::PIC } else { 1.0 },
        };
        immersed.return_remainder(&gain, kick, dt);
    }

    /// Holds markers out of bodies.
    fn push_out(&mut self, around: &Around, moved: Moved, dt: f64) {
        let Mac { layout, markers, order, immersed, .. } = self;
        if let Some(immersed) = immersed {
            let travel = moved.rate * dt as f32 + 1.0 + (immersed.rate * dt) as f32;
            immersed.push_out(layout, around.solids.state(), dt, order, markers, travel);
        }
    }

    /// The grid's velocities as they arrive with the flow (semi-Lagrangian).
    fn trace_back(&mut self, cuts: &Cuts, around: &Around, dt: f64) {
        let flow = Flow {
            layout: &self.layout,
            cuts,
            walls: around.walls,
            u: &self.u,
            before: &self.u,
            drift: &self.u,
            margin: MARGIN * self.spacing,
            convection: self.convection,
            dt,
        };
        flow.trace_back(&mut self.before);
        std::mem::swap(&mut self.u, &mut self.before);
    }
}
