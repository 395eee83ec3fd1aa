//! The numerical model of a scene and its dials.

use super::LennardJonesOptions;

/// The numerical model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// Smoothed particle hydrodynamics (Müller 2003).
    Sph,
    /// Staggered grid with markers (Génevaux 2003).
    Mac,
    /// Pair-force molecules (Lee 2005).
    LennardJones,
}

/// The model and its dials. All but `kind` and `spacing` follow from the scene when not given.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Which model.
    pub kind: ModelKind,
    /// Particle (sph, lennard-jones) or cell (mac) spacing at rest, m.
    pub spacing: f64,
    /// Largest number of particles; emitters stop there.
    pub max_particles: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Random offset of the initial lattice, × spacing. Raising it breaks symmetry sooner.
    pub jitter: f64,
    /// Dials of the `sph` model; `cfl`, `restitution` and `viscous_step` serve the others too.
    pub sph: SphOptions,
    /// Dials of the `lennard-jones` model.
    pub lennard_jones: LennardJonesOptions,
    /// Dials of the `mac` model.
    pub mac: MacOptions,
}

impl Model {
    /// How far particles feel each other, m.
    pub fn support(&self) -> f64 {
        match self.kind {
            ModelKind::Sph | ModelKind::Mac => self.sph.smoothing * self.spacing,
            ModelKind::LennardJones => self.lennard_jones.cutoff * self.lennard_jones.sigma,
        }
    }

    /// Distance of neighbouring particles or markers at rest, m.
    pub fn particle_spacing(&self) -> f64 {
        match self.kind {
            ModelKind::Mac => self.spacing / self.mac.markers as f64,
            ModelKind::Sph | ModelKind::LennardJones => self.spacing,
        }
    }
}

/// Dials of the `mac` model.
#[derive(Clone, Debug, PartialEq)]
pub struct MacOptions {
    /// Markers along each edge of a full cell.
    pub markers: usize,
    /// How velocities travel.
    pub convection: Convection,
    /// How mass-spring bodies and the liquid act on each other.
    pub coupling: Coupling,
    /// The force of `Coupling::Markers`.
    pub interaction: Interaction,
}

/// How mass-spring bodies and the liquid of the `mac` model act on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// One pressure for both.
    Pressure,
    /// A visco-elastic force between markers and nodes (Génevaux 2003).
    Markers,
}

impl Coupling {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 2] = ["pressure", "markers"];
    /// In the order of their words.
    pub const ALL: [Coupling; 2] = [Coupling::Pressure, Coupling::Markers];
}

/// The force between markers and nodes; what is not given follows from the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interaction {
    /// Distance R up to which it acts, m.
    pub radius: Option<f64>,
    /// Rest length d_int, × R.
    pub length: f64,
    /// k_int per volume of liquid, N/m⁴.
    pub stiffness: Option<f64>,
    /// z_int per volume of liquid, N s/m⁴.
    pub damping: Option<f64>,
    /// One marker of so many is used.
    pub subset: usize,
}

/// How velocities travel in the `mac` model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convection {
    /// Markers carry velocity and its gradient (Jiang 2015).
    Apic,
    /// Markers carry velocity and take on the changes of the grid's (Brackbill 1988, Zhu & Bridson 2005).
    Flip,
    /// The grid's velocities are traced back (Stam 1999, Génevaux 2003); markers only mark.
    SemiLagrangian,
}

impl Convection {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 3] = ["apic", "flip", "semi-lagrangian"];
    /// In the order of their words.
    pub const ALL: [Convection; 3] = [Convection::Apic, Convection::Flip, Convection::SemiLagrangian];
}

/// Dials of the `sph` model.
#[derive(Clone, Debug, PartialEq)]
pub struct SphOptions {
    /// Support radius h of the kernels, × spacing. Raising it smooths and costs ~cubed.
    pub smoothing: f64,
    /// Wanted density error at the greatest expected speed or depth. Raising it allows larger steps, softer fluid.
    pub compression: f64,
    /// Stiffness k of p = k(ρ-ρ0), m²/s² (the square of the speed of sound), by hand.
    pub stiffness: Option<f64>,
    /// Mass of a particle of the first fluid, kg, by hand (others in the ratio of their densities).
    pub mass: Option<f64>,
    /// Greatest expected speed, m/s, by hand; it sets the stiffness when `stiffness` is not given.
    pub max_speed: Option<f64>,
    /// Share of negative pressure that is kept, 0 (none: no clumping) to 1 (Müller's eq. 12 as printed).
    pub negative_pressure: f64,
    /// Artificial viscosity α (Monaghan 1992), dimensionless. Raising it calms noise and thickens the fluid.
    pub artificial_viscosity: f64,
    /// Safety factor of the step limits; above 1 is likely to explode.
    pub cfl: f64,
    /// Which kernels the density and the forces use.
    pub kernels: Kernels,
    /// How surface tension is computed.
    pub tension: TensionKind,
    /// How pressure is computed.
    pub pressure: PressureKind,
    /// Share of the normal speed that is kept when a particle bounces off a wall.
    pub restitution: f64,
    /// What keeps fluid out of walls and slows it along them.
    pub walls: WallKind,
    /// How the viscous step is made.
    pub viscous_step: ViscousStep,
    /// How time is integrated.
    pub integrator: Integrator,
}

/// How the viscous step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViscousStep {
    /// Implicit where that allows much longer steps.
    Auto,
    /// With all other forces; the step falls with the viscosity.
    Explicit,
    /// After them, by solving for all velocities at once; the step does not depend on the viscosity.
    Implicit,
}

impl ViscousStep {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 3] = ["auto", "explicit", "implicit"];
    /// In the order of their words.
    pub const ALL: [ViscousStep; 3] = [ViscousStep::Auto, ViscousStep::Explicit, ViscousStep::Implicit];
}

/// How time is integrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrator {
    /// Kick, drift, kick (Müller 2003, 3.6): forces see velocities at half the step.
    LeapFrog,
    /// Velocity Verlet (Bayraktar 2010, eq. 15): the same, but forces see velocities taken on to the end of the step.
    VelocityVerlet,
}

impl Integrator {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 2] = ["leap-frog", "velocity-verlet"];
    /// In the order of their words.
    pub const ALL: [Integrator; 2] = [Integrator::LeapFrog, Integrator::VelocityVerlet];
}

/// What keeps fluid out of walls and slows it along them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallKind {
    /// Boundary particles behind the surface, with the fluid's pressure and velocity gone on behind it (Adami 2012).
    Particles,
    /// Boundary particles with a density of their own that the fluid compresses (Bayraktar 2010).
    EvolvedDensity,
    /// Boundary particles that repel by distance (Bayraktar 2010, eq. 8).
    LennardJones,
    /// No particles: the wall counts as layers of fluid at rest, as deep as the surface is near.
    Layers,
}

impl WallKind {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 4] = ["particles", "evolved-density", "lennard-jones", "layers"];
    /// In the order of their words.
    pub const ALL: [WallKind; 4] =
        [WallKind::Particles, WallKind::EvolvedDensity, WallKind::LennardJones, WallKind::Layers];
}

/// Which kernels the density and the forces use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// One kernel, poly6 with a core, for density and pressure, so that the pressure force is the gradient of an energy:
    /// fluid at rest stays at rest. Viscosity after Morris 1997.
    Conservative,
    /// Müller's three kernels (eq. 20-22). Density and pressure force belong to different kernels, which feeds
    /// energy into the fluid and wants more viscosity.
    Mueller,
}

/// How surface tension is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensionKind {
    /// Capillary stress σ(I - nn)δ (Hu & Adams 2006): conserves momentum, σ holds when spacing changes.
    Stress,
    /// Müller's colour field (eq. 15-19).
    ColorField,
}

/// How pressure is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PressureKind {
    /// p = k(ρ-ρ0) (Müller eq. 12).
    StateEquation,
}
