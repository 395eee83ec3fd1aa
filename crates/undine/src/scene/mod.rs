//! The scene: plain checked data in SI units, y up. Nothing below it reads files.
//!
//! [`Scene::load`] reads a TOML file or a built-in scene; every key is described once in `keys.rs`, from which
//! the checks, the "did you mean" and the JSON Schema all follow.

pub mod aabb;
mod backdrop;
mod build;
mod build_event;
mod build_shape;
mod build_solid;
pub mod builtin;
pub(crate) mod bvh;
mod check;
mod check_event;
mod distance_grid;
pub mod error;
pub mod files;
pub mod fill;
pub mod heightfield;
#[rustfmt::skip] // a table reads better as one
mod keys;
mod lennard_jones;
mod load;
pub mod made;
pub mod mesh;
pub mod mesh_io;
mod mesh_make;
mod mesh_topology;
mod model;
mod node;
mod primitives;
mod read;
pub mod schema;
mod set;
pub mod shape;
mod spec;
mod surface_method;
#[cfg(test)]
mod tests;
pub(crate) mod triangle;
mod volume;

pub use backdrop::Backdrop;
pub use build_event::events_to_toml;
pub use check_event::Settable;
pub use error::{EventError, Problem, SceneError};
pub(crate) use lennard_jones::SIGMA;
pub use lennard_jones::{Dynamics, LennardJonesOptions, Shifted};
pub use load::{Loaded, load_events, parse_events};
pub use model::{
    Convection, Coupling, Integrator, Interaction, Kernels, MacOptions, Model, ModelKind, PressureKind,
    SphOptions, TensionKind, ViscousStep, WallKind,
};
pub use schema::{reference_markdown, schema};
pub use surface_method::SurfaceMethod;
pub use volume::{ControlPoint, Preset, Sampling, Volume, VolumeShading};

use glam::DVec3;
use shape::Shape;

/// A checked scene: what to simulate, for how long, and what to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Title shown in lists and pictures.
    pub title: String,
    /// Gravity, m/s².
    pub gravity: DVec3,
    /// Duration and frame rate.
    pub time: Time,
    /// Optional box of walls; `None` means open space.
    pub domain: Option<Domain>,
    /// Which model runs the scene, and its dials.
    pub model: Model,
    /// Fluids, in file order; a fluid's index is its id in the output.
    pub fluids: Vec<Fluid>,
    /// Static or moving walls.
    pub boundaries: Vec<Boundary>,
    /// Mass-spring bodies.
    pub solids: Vec<Solid>,
    /// Sources of fluid.
    pub emitters: Vec<Emitter>,
    /// Regions in which fluid is deleted.
    pub outflows: Vec<Outflow>,
    /// Force fields.
    pub forces: Vec<Force>,
    /// Measurements written to `probes.csv` at each frame.
    pub probes: Vec<Probe>,
    /// Timed input, sorted by time.
    pub events: Vec<Event>,
    /// How the surface is built.
    pub surface: Surface,
    /// How the fluid is drawn as a volume; `None`: pictures show its surface.
    pub volume: Option<Volume>,
    /// Where the picture is taken from; `None` frames the scene by itself.
    pub camera: Option<Camera>,
    /// A picture on the floor.
    pub backdrop: Option<Backdrop>,
}

/// How long the scene runs and how often it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Simulated time, s.
    pub duration: f64,
    /// Frames per simulated second, 1/s.
    pub frame_rate: f64,
    /// Upper bound of the step, s; the stability limits decide below it.
    pub max_step: Option<f64>,
    /// Fixed step by hand, s; the stability limits are then only reported.
    pub step: Option<f64>,
}

impl Time {
    /// Number of frames after frame 0. Frame `k` is at exactly `k / frame_rate`.
    pub fn frames(&self) -> u64 {
        (self.duration * self.frame_rate + 1e-9).floor() as u64
    }
}

/// A box of six walls; a periodic axis has no walls but wraps around.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Lowest corner, m.
    pub min: DVec3,
    /// Highest corner, m.
    pub max: DVec3,
    /// Axes that wrap around.
    pub periodic: [bool; 3],
    /// Axes and ends without a wall, as (axis, is the upper end).
    pub open: Vec<(usize, bool)>,
    /// How its walls treat tangential motion.
    pub slip: Slip,
}

/// A fluid and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Fluid {
    /// Name, unique among the fluids.
    pub name: String,
    /// Rest density ρ0, kg/m³.
    pub density: f64,
    /// Dynamic viscosity μ, Pa s.
    pub viscosity: f64,
    /// Surface tension σ, N/m.
    pub surface_tension: f64,
    /// Where it starts; `None` when it only comes from emitters.
    pub shape: Option<Shape>,
    /// Initial velocity, m/s.
    pub velocity: DVec3,
    /// Colour in pictures, linear RGB 0..1.
    pub color: Option<[f64; 3]>,
    /// Not seen through in pictures.
    pub opaque: bool,
    /// Light it gives off in pictures, linear RGB; then it is opaque.
    pub glow: Option<[f64; 3]>,
}

/// How a wall treats tangential motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Slip {
    /// The fluid sticks to the wall.
    NoSlip,
    /// The fluid slides along the wall.
    #[default]
    FreeSlip,
}

/// Which side of a wall's shape is solid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Inside {
    /// The shape is a solid body.
    #[default]
    Solid,
    /// The shape is the hollow of a container whose wall is `thickness` thick, outward from the shape.
    Hollow,
}

/// A static or moving wall.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    /// Name for reports.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Which side is solid.
    pub inside: Inside,
    /// Wall thickness of a hollow shape, m; default two kernel supports.
    pub thickness: Option<f64>,
    /// A hollow box, cylinder or disc-ended shape without its upper end (along +axis, or +y for a box): a glass.
    pub open_top: bool,
    /// Tangential behaviour.
    pub slip: Slip,
    /// Stickiness; used by boundary particles.
    pub adhesion: f64,
    /// How it moves.
    pub motion: Motion,
    /// Colour in pictures, linear RGB.
    pub color: Option<[f64; 3]>,
    /// Seen through in pictures.
    pub clear: bool,
}

/// Motion of a wall; both parts may be given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// Rotation about an axis.
    pub rotate: Option<Rotate>,
    /// Translation.
    pub translate: Option<Translate>,
}

/// Steady rotation about a fixed axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotate {
    /// A point of the axis, m.
    pub center: DVec3,
    /// Unit vector of the axis.
    pub axis: DVec3,
    /// Angular speed, rad/s.
    pub speed: f64,
    /// Largest angle, rad; the wall stops there. `None` turns for ever.
    pub angle: Option<f64>,
    /// When it starts, s.
    pub start: f64,
}

/// Steady or oscillating translation.
#[derive(Clone, Debug, PartialEq)]
pub struct Translate {
    /// Velocity, m/s (peak velocity when oscillating).
    pub velocity: DVec3,
    /// Oscillation frequency, Hz; 0 moves steadily.
    pub frequency: f64,
    /// When it starts, s.
    pub start: f64,
    /// When it stops, s.
    pub stop: f64,
}

/// A mass-spring body.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// Name for reports.
    pub name: String,
    /// What it is made of.
    pub kind: SolidKind,
    /// Its shape.
    pub shape: Shape,
    /// Density, kg/m³.
    pub density: f64,
    /// Distance of neighbouring nodes, m.
    pub spacing: f64,
    /// Thickness of a cloth, m.
    pub thickness: f64,
    /// Spring stiffness, N/m.
    pub stiffness: f64,
    /// Spring damping, N s/m.
    pub damping: f64,
    /// Share of stiffness and damping in the bend springs of a cloth.
    pub bend: f64,
    /// Coulomb's coefficient of friction.
    pub friction: f64,
    /// Nodes that are held.
    pub pinned: Vec<Pin>,
    /// Initial velocity, m/s.
    pub velocity: DVec3,
}

/// Which nodes of a solid are held.
#[derive(Clone, Debug, PartialEq)]
pub enum Pin {
    /// The corners of a cloth.
    Corners,
    /// The edges of a cloth.
    Edges,
    /// The outermost nodes along an axis, as (axis, is the upper end).
    Side(usize, bool),
    /// The nodes in a shape.
    Within(Shape),
}

/// How a solid's nodes are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolidKind {
    /// One node with a radius.
    Ball,
    /// A lattice of nodes filling the shape.
    Lattice,
    /// A sheet.
    Cloth,
}

/// A source of fluid: a disc streams along its normal; a volume keeps itself filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitter {
    /// Name for reports.
    pub name: String,
    /// Index of the fluid.
    pub fluid: usize,
    /// Where it emits.
    pub shape: Shape,
    /// Direction of a volume emitter (unit); a disc uses its normal.
    pub direction: DVec3,
    /// Speed of the emitted fluid, m/s; already derived from `rate` (m³/s) when that was given.
    pub speed: f64,
    /// When it starts, s.
    pub start: f64,
    /// When it stops, s.
    pub stop: f64,
    /// Emits only while this switch is on.
    pub switch: Option<String>,
}

/// A region in which fluid is deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct Outflow {
    /// The region.
    pub shape: Shape,
    /// Deletes only while this switch is on.
    pub switch: Option<String>,
}

/// A force field, as acceleration of the fluid.
#[derive(Clone, Debug, PartialEq)]
pub enum Force {
    /// The same acceleration everywhere, m/s².
    Uniform(DVec3),
    /// Acceleration around an axis.
    Swirl {
        /// A point of the axis, m.
        center: DVec3,
        /// Unit vector of the axis.
        axis: DVec3,
        /// Tangential acceleration, m/s².
        strength: f64,
        /// Distance beyond which it fades, m; infinite when not given.
        radius: f64,
    },
    /// A brush that follows a track.
    Brush(BrushTrack),
}

/// A brush moving along straight legs between timed points.
#[derive(Clone, Debug, PartialEq)]
pub struct BrushTrack {
    /// (time s, position m), times rising, at least two points.
    pub points: Vec<(f64, DVec3)>,
    /// Radius of influence, m.
    pub radius: f64,
    /// How fast the fluid takes on the brush's velocity, 1/s.
    pub strength: f64,
}

/// Something written to `probes.csv` at each frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Name of its column(s).
    pub name: String,
    /// What it measures.
    pub kind: ProbeKind,
    /// Axis for `front` and `flow` (0, 1, 2 = x, y, z).
    pub axis: usize,
    /// Place for `height`, `pressure`, `velocity`; position of the plane for `flow`, m.
    pub position: DVec3,
    /// Only this fluid.
    pub fluid: Option<usize>,
    /// Only this solid (`body`).
    pub body: Option<usize>,
}

/// What a probe measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Farthest slab along `axis` that is at least half filled, m.
    Front,
    /// Height of the fluid column over a place, m.
    Height,
    /// Pressure at a place, Pa.
    Pressure,
    /// Velocity at a place, m/s (three columns).
    Velocity,
    /// Volume flow through the plane across `axis` at `position`, m³/s.
    Flow,
    /// Position and velocity of a solid's centre.
    Body,
    /// Kinetic energy and potential energy in the gravity in force (zero at the origin), J.
    Energy,
    /// Momentum, kg m/s (three columns).
    Momentum,
    /// Mean and greatest |ρ-ρ0|/ρ0 inside the fluid.
    DensityError,
    /// Number of particles inside a wall or behind a closed face of the domain.
    Leaks,
}

/// Timed input. From the scene file, a recorded file, a mouse or a key: all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Takes effect at the first step that starts at or after this time, s.
    pub time: f64,
    /// What happens.
    pub action: Action,
}

/// What an event does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Puts the brush down or moves it.
    Brush {
        /// Which brush (several fingers).
        id: u32,
        /// Centre, m.
        position: DVec3,
        /// Velocity, m/s.
        velocity: DVec3,
        /// Radius of influence, m.
        radius: f64,
        /// How fast the fluid takes on the brush's velocity, 1/s.
        strength: f64,
    },
    /// Lifts a brush.
    BrushUp {
        /// Which brush.
        id: u32,
    },
    /// Puts a finger on the fluid, or moves it.
    Touch {
        /// Which finger.
        id: u32,
        /// Where, m.
        position: DVec3,
        /// How far it is felt, m.
        radius: f64,
        /// Greatest acceleration towards it, m/s²; negative pushes away.
        strength: f64,
    },
    /// Lifts a finger.
    TouchUp {
        /// Which finger.
        id: u32,
    },
    /// Turns a switch on or off.
    Switch {
        /// Name of the switch.
        name: String,
        /// On or off.
        on: bool,
    },
    /// Changes a number while running: `gravity` (3 values), `fluid.NAME.viscosity`,
    /// `fluid.NAME.surface_tension`, `emitter.NAME.speed`, `force.N.strength`.
    Set {
        /// Which parameter.
        key: String,
        /// Its new value(s).
        value: Vec<f64>,
    },
}

/// How the surface is built from a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Name of the isofunction.
    pub method: SurfaceMethod,
    /// Cell edge, × spacing.
    pub cell: f64,
}

/// A pinhole camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Where it stands, m.
    pub position: DVec3,
    /// What it looks at, m.
    pub target: DVec3,
    /// Vertical field of view, degrees.
    pub fov: f64,
}
