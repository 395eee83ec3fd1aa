//! The table of all keys of a scene file: the only place where a key's type, range, unit and default are written.
//! The checks (`check.rs`), the defaults (`read.rs`), the JSON Schema and the reference page (`schema.rs`) follow
//! from it.

use super::spec::Fallback::{self, Absent, Flag, Flags, NoWords, Number as Num, Required, Vector as Vec3, Word};
use super::spec::Kind::{self, Choice, Direction, Integer, Name, Number, Numbers, Pair, Rows, Text, Vector, Words};
use super::spec::{Group, Key, MAX_HEIGHTS, Range, SMOOTHING, Table};

mod shapes;

use shapes::SHAPE;

const fn range(min: f64, max: f64) -> Range {
    Range { min, max, open: false }
}
const fn above(min: f64, max: f64) -> Range {
    Range { min, max, open: true }
}

/// Coordinates, m: f64 still resolves nanometres there.
const PLACE: Range = range(-1e7, 1e7);
const LENGTH: Range = above(0.0, 1e7);
const SPEED: Range = range(-1e5, 1e5);
const SHARE: Range = range(0.0, 1.0);
const CLOCK: Range = range(0.0, 1e9);
const POSITIVE: Range = above(0.0, 1e15);
const NOT_NEGATIVE: Range = range(0.0, 1e15);
const ANY: Range = range(-1e15, 1e15);

const ZERO: Fallback = Vec3([0.0; 3]);
const UP: Fallback = Vec3([0.0, 1.0, 0.0]);
/// For keys of a required group: the group says that one is missing.
const OTHER: Fallback = Absent("");
const SLIPS: &[&str] = &["no-slip", "free-slip"];
const SIDES: &[&str] = &["solid", "hollow"];

const fn key(name: &'static str, kind: Kind, fallback: Fallback, unit: &'static str, doc: &'static str) -> Key {
    Key { name, kind, fallback, unit, doc }
}

/// The whole file.
pub static SCENE: Table = Table {
    name: "scene",
    doc: "A scene of Undine. y is up; lengths m, time s, mass kg. Unknown keys are errors.",
    keys: &[
        key("title", Text, Word(""), "", "Title shown in lists and pictures."),
        key("gravity", Vector(SPEED), Vec3([0.0, -9.81, 0.0]), "m/s²",
            "Acceleration of everything that is free to move."),
        key("time", Kind::Table(&TIME), Absent("4 s at 60 frames per second"), "", "Duration and frame rate."),
        key("domain", Kind::Table(&DOMAIN), Absent("open space"), "", "A box of walls."),
        key("model", Kind::Table(&MODEL), Required, "", "Which model runs the scene, and its dials."),
        key("fluid", Kind::Tables(&FLUID, 200), Required, "", "Fluids and where they start."),
        key("boundary", Kind::Tables(&BOUNDARY, 10_000), Absent("none"), "", "Static or moving walls."),
        key("solid", Kind::Tables(&SOLID, 10_000), Absent("none"), "", "Mass-spring bodies."),
        key("emitter", Kind::Tables(&EMITTER, 10_000), Absent("none"), "", "Sources of fluid."),
        key("outflow", Kind::Tables(&OUTFLOW, 10_000), Absent("none"), "",
            "Regions in which fluid is deleted."),
        key("force", Kind::Tables(&FORCE, 1000), Absent("none"), "", "Force fields."),
        key("probe", Kind::Tables(&PROBE, 1000), Absent("none"), "",
            "Measurements, written to `probes.csv` each frame."),
        key("event", Kind::Tables(&EVENT, 1_000_000), Absent("none"), "", "Timed input."),
        key("surface", Kind::Table(&SURFACE), Absent("anisotropic at half the spacing, of markers on a grid at their spacing"), "",
            "How the surface is built."),
        key("volume", Kind::Table(&VOLUME), Absent("pictures show the surface"), "",
            "Draws the fluid as a volume instead of a surface, and how. See `docs/volumes.md`."),
        key("camera", Kind::Table(&CAMERA), Absent("frames the scene by itself"), "",
            "Where the picture is taken from."),
        key("backdrop", Kind::Table(&BACKDROP), Absent("a checkered ground"), "",
            "A picture on the floor of the domain, seen through the fluid."),
    ],
    groups: &[],
};

/// A recording: nothing but events.
pub static RECORDING: Table = Table {
    name: "recording",
    doc: "A recorded session: timed input and nothing else.",
    keys: &[key("event", Kind::Tables(&EVENT, 1_000_000), Absent("none"), "", "Timed input.")],
    groups: &[],
};

static TIME: Table = Table {
    name: "time",
    doc: "How long the scene runs and how often it is written. There are at most 10 million frames.",
    keys: &[
        key("duration", Number(range(0.0, 1e6)), Num(4.0), "s", "Simulated time. Raising it adds frames."),
        key("frame_rate", Number(above(0.0, 1e6)), Num(60.0), "1/s",
            "Frames per simulated second. Raising it writes more."),
        key("max_step", Number(above(0.0, 1e6)), Absent("stability limits alone"), "s",
            "Upper bound of the step; the stability limits decide below it. Raising it has no effect beyond them."),
        key("step", Number(above(0.0, 1e6)), Absent("from the stability limits"), "s",
            "Fixed step by hand; the stability limits are then only reported. Raising it runs faster until it explodes."),
    ],
    groups: &[],
};

static DOMAIN: Table = Table {
    name: "domain",
    doc: "A box of six walls; a periodic axis has no walls but wraps around.",
    keys: &[
        key("min", Vector(PLACE), Required, "m", "Lowest corner."),
        key("max", Vector(PLACE), Required, "m", "Highest corner."),
        key("periodic", Kind::Switches, Flags([false; 3]), "",
            "Axes that wrap around; such an axis is 2 to 10,000 kernel supports long."),
        key("open", Words(&["-x", "+x", "-y", "+y", "-z", "+z"]), NoWords, "", "Sides without a wall."),
        key("slip", Choice(SLIPS), Word("free-slip"), "",
            "Whether fluid sticks to the walls or slides along them."),
    ],
    groups: &[],
};

static MODEL: Table = Table {
    name: "model",
    doc: "The numerical model and its dials; all but `spacing` follow from the scene when not given.",
    keys: &[
        key("kind", Choice(&["sph", "mac", "lennard-jones"]), Word("sph"), "", "Which model."),
        key("spacing", Number(range(1e-12, 1e5)), Required, "m",
            "Particle (sph, lennard-jones) or cell (mac) spacing at rest. Halving it costs about 16 times the time."),
        key("max_particles", Integer(1, 1_000_000_000), Num(2e7), "",
            "Largest number of particles; emitters stop there. Raising it allows more memory."),
        key("seed", Integer(0, i64::MAX as u64), Num(0.0), "", "Seed of everything random."),
        key("jitter", Number(range(0.0, 0.5)), Num(0.0), "× spacing",
            "Random offset of the initial lattice. Raising it breaks symmetry sooner."),
        key("smoothing", Number(SMOOTHING), Num(2.0), "× spacing",
            "Support radius h of the kernels. Raising it smooths and costs about its cube."),
        key("h", Number(LENGTH), Absent("smoothing × spacing"), "m",
            "Support radius by hand, instead of `smoothing`."),
        key("compression", Number(above(0.0, 0.5)), Num(0.01), "",
            "Wanted density error at the greatest expected speed or depth. Raising it allows larger steps and softer fluid."),
        key("stiffness", Number(POSITIVE), Absent("from compression"), "m²/s²",
            "Stiffness k of p = k(ρ-ρ0), by hand. Raising it shortens the steps and stiffens the fluid."),
        key("mass", Number(POSITIVE), Absent("density × spacing³"), "kg",
            "Mass of a particle of the first fluid, by hand; others in the ratio of their densities. Raising it spreads the fluid."),
        key("max_speed", Number(above(0.0, 1e5)), Absent("from gravity, depth, fluids and emitters"), "m/s",
            "Greatest expected speed, by hand. Raising it stiffens the fluid."),
        key("negative_pressure", Number(SHARE), Num(0.0), "",
            "Share of negative pressure that is kept. Raising it makes free surfaces clump; 1 is Müller's eq. 12 as printed."),
        key("artificial_viscosity", Number(range(0.0, 10.0)), Num(0.05), "",
            "Monaghan's α. Raising it calms noise and thickens the fluid."),
        key("cfl", Number(above(0.0, 10.0)), Num(1.0), "",
            "Safety factor of the step limits. Above 1 is likely to explode."),
        key("kernels", Choice(&["conservative", "mueller"]), Word("conservative"), "",
            "One kernel for density and pressure, so that energy is kept, or the paper's poly6, spiky and viscosity kernels."),
        key("tension", Choice(&["stress", "color-field"]), Word("stress"), "",
            "How surface tension is computed: as a stress along the surface, which conserves momentum, or by the paper's colour field."),
        key("pressure", Choice(&["state-equation"]), Word("state-equation"), "", "How pressure is computed."),
        key("restitution", Number(SHARE), Num(0.0), "",
            "Share of the normal speed kept when a particle bounces off a wall. Raising it bounces."),
        key("viscous_step", Choice(&super::ViscousStep::NAMES), Word("auto"), "",
            "Whether viscosity acts with the other forces, which shortens the steps of thick fluids, or after them by solving for all velocities; `auto` takes the faster."),
        key("integrator", Choice(&super::Integrator::NAMES), Word("leap-frog"), "",
            "Leap-frog in its kick-drift-kick form, or velocity Verlet, in which forces see the velocities of the end of the step and Bayraktar's two limits hold besides."),
        key("markers", Integer(1, 8), Num(2.0), "per cell edge",
            "Markers along each edge of a full cell (mac), so that 2 is eight a cell. Raising it costs about its cube."),
        key("convection", Choice(&super::Convection::NAMES), Word("apic"), "",
            "How velocities travel (mac): on markers with their gradients, on markers as changes only (`flip`), or on the grid by tracing back (`semi-lagrangian`, the paper's), which thickens the fluid."),
        key("coupling", Choice(&super::Coupling::NAMES), Word("pressure"), "",
            "How mass-spring bodies and the liquid act on each other (mac): through one pressure for both, or by the paper's force between markers and nodes (`markers`)."),
        key("interaction_radius", Number(LENGTH), Absent("radius of a ball; model.spacing of cloth; 0.87 × spacing of lattices"), "m",
            "Distance R up to which markers and nodes, or triangles of cloth, act on each other (mac, `coupling = \"markers\"`). Raising it thickens bodies."),
        key("interaction_length", Number(range(0.0, 2.0)), Num(1.0), "× R",
            "Distance at which that force vanishes. Below 1 it pulls at markers farther off."),
        key("interaction_stiffness", Number(POSITIVE), Absent("holds off the pressure of the liquid's depth, or of the body's start speed"), "N/m⁴",
            "Stiffness of that force per volume of liquid. Raising it keeps liquid out of bodies better and shortens the steps."),
        key("interaction_damping", Number(NOT_NEGATIVE), Absent("a fifth of the critical one"), "N s/m⁴",
            "Damping of that force per volume of liquid. Raising it makes bodies drag liquid along."),
        key("interaction_subset", Integer(1, 1_000_000), Num(1.0), "",
            "One marker of so many of each cell, but at least twenty, takes part in that force and stands for the others. Raising it is faster and rougher."),
        key("walls", Choice(&super::WallKind::NAMES), Word("particles"), "",
            "What keeps fluid out of walls. `particles`: boundary particles, with the fluid's pressure gone on behind them, on walls that it sticks to (no-slip, or adhesion), smooth layers on those it slips along. `evolved-density` and `lennard-jones`: boundary particles on all bodies, with a density of their own or repelling by distance. `layers`: no particles. With `kernels = \"mueller\"` always `layers`."),
        key("cohesion", Number(range(1e-6, 1e3)), Num(0.01), "",
            "lennard-jones: depth ε of the pair well, × m v² with v the greatest expected speed. Raising it makes the fluid stiffer and lumpier and shortens the steps."),
        key("epsilon", Number(POSITIVE), Absent("from cohesion"), "J",
            "lennard-jones: depth ε of the pair well, by hand."),
        key("sigma", Number(LENGTH), Absent("the spacing; with emitters spacing / 2^(1/6)"), "m",
            "lennard-jones: distance σ at which the pair potential is zero, by hand; from half to twice the spacing. Raising it spreads the fluid."),
        key("cutoff", Number(range(1.13, 10.0)), Num(2.5), "× σ",
            "lennard-jones: distance beyond which particles do not feel each other. Raising it costs about its cube."),
        key("shifted", Choice(&super::Shifted::NAMES), Word("force"), "",
            "lennard-jones: what falls to zero at the cut-off without a jump, the force or only the potential."),
        key("drag", Number(range(0.0, 1e9)), Num(0.1), "1/s",
            "lennard-jones: rate ζ/m at which friction stops a particle. Raising it slows the fluid as if under water."),
        key("friction", Number(NOT_NEGATIVE), OTHER, "kg/s",
            "lennard-jones: coefficient ζ of friction, by hand, instead of `drag`."),
        key("damping", Number(range(0.0, 10.0)), Num(0.3), "",
            "lennard-jones: friction between particles along the line that joins them, as share of the critical one. Raising it splashes less; 0 keeps energy, and the fluid boils where it falls deep. Without inertia there is none."),
        key("temperature", Number(range(0.0, 1e6)), Num(0.0), "ε/k_B",
            "lennard-jones: temperature that a thermostat holds at the rate of friction. Raising it melts lumps; from about 1.1 on the fluid boils."),
        key("dynamics", Choice(&super::Dynamics::NAMES), Word("inertia"), "",
            "lennard-jones: with inertia, or Lee's balance of forces and friction (eq. 6), in which nothing flies on by itself."),
    ],
    groups: &[
        Group { keys: &["smoothing", "h"], required: false },
        Group { keys: &["cohesion", "epsilon"], required: false },
        Group { keys: &["drag", "friction"], required: false },
    ],
};

/// A fluid.
pub static FLUID: Table = Table {
    name: "fluid",
    doc: "A fluid and where it starts. Unnamed fluids are called `fluid`, `fluid-2`, …",
    keys: &[
        key("name", Name, Absent("fluid, fluid-2, …"), "", "Name, unique among the fluids."),
        key("density", Number(above(0.0, 1e6)), Num(1000.0), "kg/m³",
            "Rest density ρ0. Raising it makes the fluid sink in others."),
        key("viscosity", Number(range(0.0, 1e6)), Num(0.001), "Pa s",
            "Dynamic viscosity μ. Raising it thickens the fluid and may shorten the steps."),
        key("surface_tension", Number(range(0.0, 1e4)), Num(0.072), "N/m",
            "Surface tension σ. Raising it rounds the fluid and may shorten the steps."),
        key("shape", Kind::Table(&SHAPE), Absent("comes from emitters only"), "",
            "Where it starts: box, sphere, cylinder or mesh."),
        key("velocity", Vector(SPEED), ZERO, "m/s", "Initial velocity."),
        key("color", Vector(SHARE), Absent("chosen by index"), "", "Colour in pictures, linear RGB."),
        key("opaque", Kind::Switch, Flag(false), "",
            "Not seen through in pictures: paint, milk, mud."),
        key("glow", Vector(range(0.0, 100.0)), Absent("does not glow"), "",
            "Light it gives off in pictures, linear RGB, 1 as bright as white paper in the sun: lava. It is then opaque. Of a fluid that emitters pour, what has come to rest has a dark skin. Raising it makes it brighter."),
    ],
    groups: &[],
};

static BOUNDARY: Table = Table {
    name: "boundary",
    doc: "A static or moving wall.",
    keys: &[
        key("name", Name, Absent("boundary, boundary-2, …"), "", "Name for reports."),
        key("shape", Kind::Table(&SHAPE), Required, "",
            "Its shape: box, sphere, cylinder, mesh or heightfield."),
        key("inside", Choice(SIDES), Absent("solid"), "",
            "Whether the shape is a solid body or the hollow of a container."),
        key("thickness", Number(LENGTH), Absent("two kernel supports"), "m",
            "Wall thickness of a hollow shape, outward. Raising it makes leaks less likely."),
        key("open_top", Kind::Switch, Flag(false), "",
            "A hollow box (+y) or cylinder (+axis) without its upper end: a glass."),
        key("slip", Choice(SLIPS), Word("free-slip"), "",
            "Whether fluid sticks to the wall or slides along it."),
        key("adhesion", Number(range(-1.0, 1.0)), Num(0.0), "",
            "Stickiness, the cosine of the contact angle: 0 is neutral (90°), 1 is wetted by every liquid. Acts with the fluid's surface tension, in `walls = \"lennard-jones\"` with its pressure. Raising it wets the wall."),
        key("motion", Kind::Table(&MOTION), Absent("at rest"), "", "How it moves; both parts may be given."),
        key("repeat", Kind::Table(&REPEAT), Absent("only once"), "", "Copies of it in rows; named `NAME-2`, and so on."),
        key("color", Vector(SHARE), Absent("by its shape"), "", "Colour in pictures, linear RGB."),
        key("clear", Kind::Switch, Flag(false), "",
            "Seen through in pictures. Hollow shapes are of glass anyway."),
    ],
    groups: &[],
};

static REPEAT: Table = Table {
    name: "repeat",
    doc: "Copies of a wall along up to three directions: number i of a row is moved by i × its step. At most 1000 in all.",
    keys: &[
        key("rows", Rows(Some(4), 12), Required, ", m",
            "Up to three of `[count, x, y, z]`: how many, and the step from one to the next. Raising counts adds walls."),
    ],
    groups: &[],
};

static MOTION: Table = Table {
    name: "motion",
    doc: "Motion of a wall.",
    keys: &[
        key("rotate", Kind::Table(&ROTATE), Absent("does not turn"), "", "Rotation about an axis."),
        key("translate", Kind::Table(&TRANSLATE), Absent("does not move"), "", "Translation."),
    ],
    groups: &[],
};

static ROTATE: Table = Table {
    name: "rotate",
    doc: "Steady rotation about a fixed axis.",
    keys: &[
        key("center", Vector(PLACE), Required, "m", "A point of the axis."),
        key("axis", Direction, Required, "",
            "Direction of the axis; turns counter-clockwise seen from its tip."),
        key("speed", Number(range(-1e5, 1e5)), Required, "rad/s",
            "Angular speed. Raising it shortens the steps."),
        key("angle", Number(above(0.0, 1e9)), Absent("turns for ever"), "rad",
            "Largest angle; the wall stops there."),
        key("start", Number(CLOCK), Num(0.0), "s", "When it starts."),
    ],
    groups: &[],
};

static TRANSLATE: Table = Table {
    name: "translate",
    doc: "Steady or oscillating translation.",
    keys: &[
        key("velocity", Vector(SPEED), Required, "m/s", "Velocity; the peak when oscillating."),
        key("frequency", Number(range(0.0, 1e5)), Num(0.0), "Hz",
            "Oscillation; 0 moves steadily. Raising it shortens the way."),
        key("start", Number(CLOCK), Num(0.0), "s", "When it starts."),
        key("stop", Number(CLOCK), Absent("never"), "s", "When it stops."),
    ],
    groups: &[],
};

static SOLID: Table = Table {
    name: "solid",
    doc: "A mass-spring body. See `docs/solids.md`.",
    keys: &[
        key("name", Name, Absent("solid, solid-2, …"), "", "Name for reports and probes."),
        key("kind", Choice(&["ball", "lattice", "cloth"]), Absent("ball for a sphere, else lattice"), "",
            "How its nodes are joined: one node with a radius, nodes that fill the shape, or a sheet."),
        key("shape", Kind::Table(&SHAPE), Required, "",
            "Its shape: box, sphere, cylinder or closed mesh. A cloth is a box (flat across its thinnest side), a disc or a mesh (its corners are the nodes)."),
        key("density", Number(above(0.0, 1e6)), Num(1000.0), "kg/m³",
            "Density. Raising it makes the body sink."),
        key("spacing", Number(range(1e-12, 1e5)), Absent("model.spacing"), "m",
            "Distance of neighbouring nodes; the weave of a cloth. Raising it costs less and lets fluid through a cloth."),
        key("thickness", Number(LENGTH), Absent("the box's thinnest side, else 1 mm"), "m",
            "Thickness of a cloth: its mass per area is density × thickness. Raising it makes the cloth heavier."),
        key("stiffness", Number(NOT_NEGATIVE), Num(2000.0), "N/m",
            "Stiffness k of each spring. Raising it hardens the body."),
        key("damping", Number(NOT_NEGATIVE), Num(5.0), "N s/m",
            "Damping z of each spring. Raising it stops wobbling sooner."),
        key("bend", Number(SHARE), Num(0.05), "",
            "Share of stiffness and damping in the springs of a cloth over two nodes. Raising it makes the cloth stiffer against folds."),
        key("friction", Number(range(0.0, 100.0)), Num(0.3), "",
            "Coulomb's coefficient of friction against walls and other bodies; of two bodies, the mean. Raising it stops sliding."),
        key("pinned", Words(&["corners", "edges", "-x", "+x", "-y", "+y", "-z", "+z"]), NoWords, "",
            "Nodes that are held: the corners or the edges of a cloth, or the outermost nodes along an axis."),
        key("pinned_in", Kind::Tables(&SHAPE, 100), Absent("none"), "",
            "Boxes, spheres and cylinders; the nodes within are held."),
        key("velocity", Vector(SPEED), ZERO, "m/s", "Initial velocity of the nodes that are not held."),
    ],
    groups: &[],
};

/// An emitter.
pub static EMITTER: Table = Table {
    name: "emitter",
    doc: "A source of fluid: a disc streams along its normal; a volume keeps itself filled.",
    keys: &[
        key("name", Name, Absent("emitter, emitter-2, …"), "", "Name for events and reports."),
        key("fluid", Name, Absent("the first fluid"), "", "Name of the fluid."),
        key("shape", Kind::Table(&SHAPE), Required, "", "Where it emits: disc, box, sphere, cylinder or mesh."),
        key("direction", Direction, Absent("[0, -1, 0]"), "",
            "Direction of a volume's stream; a disc uses its normal."),
        key("speed", Number(range(0.0, 1e5)), OTHER, "m/s",
            "Speed of the emitted fluid. Raising it emits more."),
        key("rate", Number(range(0.0, 1e9)), OTHER, "m³/s", "Volume flow of a disc, instead of `speed`."),
        key("start", Number(CLOCK), Num(0.0), "s", "When it starts."),
        key("stop", Number(CLOCK), Absent("never"), "s", "When it stops."),
        key("switch", Name, Absent("always on"), "", "Emits only while this switch is on."),
    ],
    groups: &[Group { keys: &["speed", "rate"], required: true }],
};

static OUTFLOW: Table = Table {
    name: "outflow",
    doc: "A region in which fluid is deleted.",
    keys: &[
        key("shape", Kind::Table(&SHAPE), Required, "", "The region: box, sphere, cylinder or mesh."),
        key("switch", Name, Absent("always on"), "", "Deletes only while this switch is on."),
    ],
    groups: &[],
};

static FORCE: Table = Table {
    name: "force",
    doc: "A force field, as acceleration of the fluid.",
    keys: &[
        key("uniform", Vector(SPEED), OTHER, "m/s²", "The same acceleration everywhere."),
        key("swirl", Kind::Table(&SWIRL), OTHER, "", "Acceleration around an axis."),
        key("brush", Kind::Table(&TRACK), OTHER, "", "A brush that follows a track."),
    ],
    groups: &[Group { keys: &["uniform", "swirl", "brush"], required: true }],
};

/// A swirl.
pub static SWIRL: Table = Table {
    name: "swirl",
    doc: "Acceleration around an axis.",
    keys: &[
        key("center", Vector(PLACE), Required, "m", "A point of the axis."),
        key("axis", Direction, UP, "", "Direction of the axis."),
        key("strength", Number(SPEED), Required, "m/s²", "Tangential acceleration. Raising it swirls faster."),
        key("radius", Number(LENGTH), Absent("does not fade"), "m", "Distance beyond which it fades."),
    ],
    groups: &[],
};

/// A brush on a track.
pub static TRACK: Table = Table {
    name: "track",
    doc: "A brush moving along straight legs between timed points.",
    keys: &[
        key("track", Rows(Some(4), 400_000), Required, "s, m",
            "Points `[time, x, y, z]`, at least two, times rising."),
        key("radius", Number(LENGTH), Required, "m", "Radius of influence."),
        key("strength", Number(NOT_NEGATIVE), Num(10.0), "1/s",
            "How fast the fluid takes on the brush's velocity. Raising it drags harder."),
    ],
    groups: &[],
};

static PROBE: Table = Table {
    name: "probe",
    doc: "A measurement, written to `probes.csv` each frame.",
    keys: &[
        key("name", Name, Absent("its kind"), "", "Name of its column(s), unique."),
        key("kind",
            Choice(&["front", "height", "pressure", "velocity", "flow", "body", "energy", "momentum", "density-error", "leaks"]),
            Required, "",
            "What it measures. `energy` is kinetic and potential, the latter in the gravity in force and zero at the origin, and what all fluids have `given` to solids since the start; with mac also what they have `lost` besides (to viscosity, splashes and the grid; what moving walls and force fields put in counts against it). `leaks` counts the particles inside a wall or behind a closed face of the domain; open meshes and discs have no inside."),
        key("axis", Choice(&["x", "y", "z"]), Word("x"), "", "Axis of `front` and `flow`."),
        key("position", Vector(PLACE), Absent("required by height, pressure, velocity and flow"), "m",
            "Place; `height` ignores y, `flow` uses only the coordinate along `axis`."),
        key("fluid", Name, Absent("all fluids"), "", "Only this fluid."),
        key("body", Name, Absent("required by body"), "",
            "Name of the solid. With it, `energy` and `momentum` are those of the solid, not of the fluid; `energy` has then also what its springs store (`elastic`) and the work that the fluid has done on it since the start (`received`)."),
    ],
    groups: &[],
};

/// Timed input.
pub static EVENT: Table = Table {
    name: "event",
    doc: "Timed input; takes effect at the first step that starts at or after its time.",
    keys: &[
        key("time", Number(CLOCK), Required, "s", "When."),
        key("brush", Kind::Table(&BRUSH), OTHER, "", "Puts a brush down or moves it."),
        key("brush_up", Integer(0, u32::MAX as u64), OTHER, "", "Lifts the brush of this id."),
        key("touch", Kind::Table(&TOUCH), OTHER, "", "Puts a finger on the fluid or moves it: it gathers a drop there."),
        key("touch_up", Integer(0, u32::MAX as u64), OTHER, "", "Lifts the finger of this id."),
        key("switch", Kind::Table(&PRESS), OTHER, "", "Turns a switch on or off."),
        key("set", Kind::Table(&SET), OTHER, "", "Changes a number while running."),
    ],
    groups: &[Group { keys: &["brush", "brush_up", "touch", "touch_up", "switch", "set"], required: true }],
};

static BRUSH: Table = Table {
    name: "brush",
    doc: "A brush that drags the fluid with it.",
    keys: &[
        key("id", Integer(0, u32::MAX as u64), Num(0.0), "", "Which brush (several fingers)."),
        key("position", Vector(PLACE), Required, "m", "Centre."),
        key("velocity", Vector(SPEED), ZERO, "m/s", "Velocity."),
        key("radius", Number(LENGTH), Required, "m", "Radius of influence."),
        key("strength", Number(NOT_NEGATIVE), Num(10.0), "1/s",
            "How fast the fluid takes on the brush's velocity. Raising it drags harder."),
    ],
    groups: &[],
};

static TOUCH: Table = Table {
    name: "touch",
    doc: "A finger held on the fluid, which gathers what is within its radius into a drop.",
    keys: &[
        key("id", Integer(0, u32::MAX as u64), Num(0.0), "", "Which finger."),
        key("position", Vector(PLACE), Required, "m", "Where."),
        key("radius", Number(LENGTH), Required, "m", "How far it is felt. Raising it gathers more."),
        key("strength", Number(SPEED), Num(20.0), "m/s²",
            "Greatest acceleration towards it, a third of the radius off. Raising it gathers faster; negative pushes away."),
    ],
    groups: &[],
};

static PRESS: Table = Table {
    name: "press",
    doc: "A switch turned on or off.",
    keys: &[
        key("name", Name, Required, "", "Name of the switch."),
        key("on", Kind::Switch, Flag(true), "", "On or off."),
    ],
    groups: &[],
};

static SET: Table = Table {
    name: "set",
    doc: "A number changed while running.",
    keys: &[
        key("key", Text, Required, "",
            "`gravity`, `fluid.NAME.viscosity`, `fluid.NAME.surface_tension`, `emitter.NAME.speed` or `force.N.strength` (N from 0)."),
        key("value", Numbers(ANY), Required, "",
            "Its new value, in the key's unit: a number, or three for `gravity`."),
    ],
    groups: &[],
};

static SURFACE: Table = Table {
    name: "surface",
    doc: "How the surface is built from a frame.",
    keys: &[
        key("method", Choice(&super::SurfaceMethod::NAMES), Word("anisotropic"), "",
            "Isofunction. `anisotropic` looks best; `color-field` is the fastest. See `docs/surfaces.md`."),
        key("cell", Number(range(0.05, 10.0)), Absent("0.5, with `mac` 1"), "× spacing",
            "Cell edge. Raising it coarsens the surface and costs less."),
    ],
    groups: &[],
};

static VOLUME: Table = Table {
    name: "volume",
    doc: "How pictures show the fluid as a volume: the share of each cell that particles fill, coloured by a transfer function.",
    keys: &[
        key("preset", Choice(&super::Preset::NAMES), Word("lee-water"), "",
            "The look that all else follows where it is not given."),
        key("points", Rows(Some(5), 5000), Absent("those of the preset"), "",
            "The transfer function: points `[fraction, r, g, b, opacity]`, at least two, fractions rising, colours linear RGB (of looks that glow, as light: they may exceed 1), opacity 0 to 1 of the way of one `depth`. All are linear between points; below the first the opacity falls to 0 at the fraction 0, above the last it stays. Fluid at rest has a fraction of 0.52."),
        key("cell", Number(range(0.1, 10.0)), Num(0.5), "× spacing",
            "Cell edge. Raising it coarsens the volume and costs less."),
        key("radius", Number(range(0.05, 5.0)), Num(0.5), "× spacing",
            "Radius of a particle. Raising it raises all fractions, by its cube."),
        key("spread", Number(range(0.25, 4.0)), Absent("that of the preset: 0.8 of `lee-water`, 0.9 of `milk`, 1 of `x-ray`, 1.2 of `fire`"), "× spacing",
            "Width of the kernel that spreads a particle. Raising it evens the fluid out and thins lone drops."),
        key("slices", Integer(2, 1_000_000), Absent("two for three cells"), "",
            "Slices along the scene's longest edge. Raising it sharpens the picture and costs time."),
        key("depth", Number(LENGTH), Absent("one spacing; of `fire` and `x-ray` a fifth of the scene's longest edge"), "m",
            "Way on which light meets the opacity of the points. Raising it clears the fluid."),
        key("shading", Choice(&super::VolumeShading::NAMES), Absent("that of the preset"), "",
            "How the fluid takes light: it glows, or is lit like a matte or a glossy surface where the fraction changes."),
        key("sampling", Choice(&super::Sampling::NAMES), Word("pre-integrated"), "",
            "How colour is gathered along a ray: from a table of the integral between two values, or at one value a slice, which needs many more slices."),
        key("backdrop", Choice(&["day", "night"]), Absent("that of the preset"), "", "What is behind and around the fluid."),
    ],
    groups: &[],
};

static CAMERA: Table = Table {
    name: "camera",
    doc: "A pinhole camera, y up.",
    keys: &[
        key("position", Vector(PLACE), Required, "m", "Where it stands."),
        key("target", Vector(PLACE), Required, "m", "What it looks at."),
        key("fov", Number(range(1.0, 170.0)), Num(40.0), "°", "Vertical field of view. Raising it shows more."),
    ],
    groups: &[],
};

static BACKDROP: Table = Table {
    name: "backdrop",
    doc: "A picture that covers the floor of the domain, its upper edge at the far end (-z).",
    keys: &[
        key("file", Text, OTHER, "", "A PNG file, relative to the scene file's folder."),
        key("make", Choice(&["face"]), OTHER, "", "A picture of the program: a face."),
    ],
    groups: &[Group { keys: &["file", "make"], required: true }],
};
