//! Builds the [`Scene`] from a checked file, and checks what no table of keys can: whether things fit together.

use std::collections::HashSet;
use std::f64::consts::PI;

use glam::DVec3;

use super::backdrop::build_backdrop;
use super::build_event::build_events;
use super::build_shape::ShapeBuilder;
use super::build_solid::build_solids;
use super::check::short;
use super::lennard_jones::build_lennard_jones;
use super::read::Reader;
use super::shape::Shape;
use super::spec::{MAX_FRAMES, SMOOTHING};
use super::*;

/// Builds the scene. Faults are reported through the reader; the scene is then of no use.
pub fn build_scene(file: &Reader, shapes: &ShapeBuilder) -> Scene {
    let model = build_model(&file.table("model"), !file.tables("emitter").is_empty());
    let mut budget =
        Budget { spacing: model.particle_spacing(), most: model.max_particles as f64, used: 0.0 };
    // What emitters make comes later, but the places where they make it are listed at the start.
    let mut layers = Budget { ..budget };
    let fluids = build_fluids(&file.tables("fluid"), shapes, &mut budget);
    let solids = build_solids(&file.tables("solid"), shapes, &mut budget);
    let mut scene = Scene {
        title: file.text("title").into(),
        gravity: file.vector("gravity"),
        time: build_time(&file.table("time")),
        domain: file.maybe_table("domain").map(|domain| build_domain(&domain, &model)),
        boundaries: build_boundaries(&file.tables("boundary"), shapes),
        emitters: build_emitters(&file.tables("emitter"), shapes, &fluids, &mut layers),
        outflows: file.tables("outflow").iter().filter_map(|entry| build_outflow(entry, shapes)).collect(),
        forces: file.tables("force").iter().map(build_force).collect(),
        probes: build_probes(&file.tables("probe"), &fluids, &solids),
        events: Vec::new(),
        surface: build_surface(&file.table("surface"), model.kind),
        volume: file.maybe_table("volume").map(|volume| volume::build_volume(&volume)),
        camera: file.maybe_table("camera").map(|camera| build_camera(&camera)),
        backdrop: None,
        model,
        fluids,
        solids,
    };
    check_mass(&file.table("model"), &scene);
    check_grid(&file.table("model"), &scene);
    scene.backdrop = file.maybe_table("backdrop").and_then(|backdrop| {
        let floor = scene.domain.as_ref().is_some_and(|d| !d.periodic[1] && !d.open.contains(&(1, false)));
        build_backdrop(&backdrop, floor, shapes)
    });
    scene.events = build_events(&file.tables("event"), Some(&scene));
    scene
}

fn build_time(time: &Reader) -> Time {
    let (duration, frame_rate) = (time.number("duration"), time.number("frame_rate"));
    if duration * frame_rate > MAX_FRAMES {
        let message =
            format!("{} s at {} frames per second are too many frames", short(duration), short(frame_rate));
        time.fail("duration", message, format!("at most {} frames", short(MAX_FRAMES)));
    }
    Time { duration, frame_rate, max_step: time.maybe_number("max_step"), step: time.maybe_number("step") }
}

fn build_model(model: &Reader, emits: bool) -> Model {
    let spacing = model.number("spacing");
    let smoothing = match model.maybe_number("h") {
        None => model.number("smoothing"),
        Some(h) => h / spacing,
    };
    if !SMOOTHING.holds(smoothing) {
        let message = format!("`h` is {} × spacing", short(smoothing));
        model.fail("h", message, format!("{} to {} × spacing", SMOOTHING.min, SMOOTHING.max));
    }
    Model {
        kind: match model.text("kind") {
            "mac" => ModelKind::Mac,
            "lennard-jones" => ModelKind::LennardJones,
            _ => ModelKind::Sph,
        },
        spacing,
        max_particles: model.integer("max_particles") as usize,
        seed: model.integer("seed"),
        jitter: model.number("jitter"),
        sph: SphOptions {
            smoothing,
            compression: model.number("compression"),
            stiffness: model.maybe_number("stiffness"),
            mass: model.maybe_number("mass"),
            max_speed: model.maybe_number("max_speed"),
            negative_pressure: model.number("negative_pressure"),
            artificial_viscosity: model.number("artificial_viscosity"),
            cfl: model.number("cfl"),
            kernels: match model.text("kernels") {
                "mueller" => Kernels::Mueller,
                _ => Kernels::Conservative,
            },
            tension: match model.text("tension") {
                "color-field" => TensionKind::ColorField,
                _ => TensionKind::Stress,
            },
            pressure: PressureKind::StateEquation,
            restitution: model.number("restitution"),
            walls: chosen(model.text("walls"), &WallKind::NAMES, &WallKind::ALL),
            viscous_step: chosen(model.text("viscous_step"), &ViscousStep::NAMES, &ViscousStep::ALL),
            integrator: chosen(model.text("integrator"), &Integrator::NAMES, &Integrator::ALL),
        },
        lennard_jones: build_lennard_jones(model, spacing, emits),
        mac: MacOptions {
            markers: model.integer("markers") as usize,
            convection: chosen(model.text("convection"), &Convection::NAMES, &Convection::ALL),
            coupling: chosen(model.text("coupling"), &Coupling::NAMES, &Coupling::ALL),
            interaction: Interaction {
                radius: model.maybe_number("interaction_radius"),
                length: model.number("interaction_length"),
                stiffness: model.maybe_number("interaction_stiffness"),
                damping: model.maybe_number("interaction_damping"),
                subset: model.integer("interaction_subset") as usize,
            },
        },
    }
}

/// What a word of a choice stands for; the first where the check has found fault with it.
pub fn chosen<T: Copy>(word: &str, names: &[&str], all: &[T]) -> T {
    all[names.iter().position(|n| *n == word).unwrap_or(0)]
}

/// A mass by hand sets the distance of particles at rest density, which the support must still fit.
fn check_mass(model: &Reader, scene: &Scene) {
    let (Some(mass), Some(fluid)) = (scene.model.sph.mass, scene.fluids.first()) else { return };
    let at_rest = (mass / fluid.density).cbrt();
    let smoothing = scene.model.sph.smoothing * scene.model.spacing / at_rest;
    if !SMOOTHING.holds(smoothing) {
        let message = format!("at this mass the support is {} × the distance at rest", short(smoothing));
        let expected = format!(
            "{} to {}; density × spacing³ is {:.3e} kg",
            SMOOTHING.min,
            SMOOTHING.max,
            fluid.density * scene.model.spacing.powi(3)
        );
        model.fail("mass", message, expected);
    }
}

/// Most cells of a grid: indices stay within 32 bits, memory within some ten gigabytes.
const MOST_CELLS: f64 = 2e8;

/// A grid needs a box to be laid over.
fn check_grid(model: &Reader, scene: &Scene) {
    if scene.model.kind != ModelKind::Mac {
        return;
    }
    let Some(domain) = &scene.domain else {
        let message = "the model `mac` needs a `[domain]`: its grid is laid over that box".into();
        return model.fail("kind", message, "a `[domain]` with `min` and `max`");
    };
    let cells = (domain.max - domain.min) / scene.model.spacing;
    let count: f64 = cells.to_array().iter().map(|c| c.max(1.0)).product();
    let fits = count <= MOST_CELLS; // not so for NaN
    if !fits {
        let message = format!("the domain has about {count:.1e} cells of this spacing");
        model.fail("spacing", message, format!("at most {} cells", short(MOST_CELLS)));
    }
}

/// Longest periodic axis, in kernel supports: single precision still resolves a thousandth of a support there.
const LONGEST_PERIOD: f64 = 10_000.0;

fn build_domain(domain: &Reader, model: &Model) -> Domain {
    let (min, max) = (domain.vector("min"), domain.vector("max"));
    check_corners(domain, min, max);
    let periodic = domain.flags("periodic");
    let open: Vec<_> = domain.words("open").into_iter().filter_map(parse_side).collect();
    // Lists of neighbours reach a little farther than the cut-off.
    let support = model.support() * if model.kind == ModelKind::LennardJones { 1.06 } else { 1.0 };
    // On a shorter axis a particle would see another one twice.
    let (shortest, longest) = (2.0 * support, LONGEST_PERIOD * support);
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate().filter(|(axis, _)| periodic[*axis]) {
        let length = max[axis] - min[axis];
        if !(shortest..=longest).contains(&length) {
            let message = format!("the periodic axis {name} is {} m long", short(length));
            let expected =
                format!("two to {LONGEST_PERIOD} kernel supports: {shortest:.3e} to {longest:.3e} m");
            domain.fail("periodic", message, expected);
        }
        if open.iter().any(|side| side.0 == axis) {
            domain.fail(
                "open",
                format!("the axis {name} is periodic"),
                "sides of axes that do not wrap around",
            );
        }
    }
    Domain { min, max, periodic, open, slip: build_slip(domain) }
}

pub fn parse_side(word: &str) -> Option<(usize, bool)> {
    let axis = "xyz".find(word.get(1..)?)?;
    Some((axis, word.starts_with('+')))
}

/// Corners of a box must differ along each axis.
pub fn check_corners(entry: &Reader, min: DVec3, max: DVec3) {
    if min.cmpge(max).any() {
        entry.fail("max", format!("`max` {max} is not above `min` {min}"), "max > min along each axis");
    }
}

fn build_slip(entry: &Reader) -> Slip {
    if entry.text("slip") == "no-slip" { Slip::NoSlip } else { Slip::FreeSlip }
}

/// The given name of each entry, or the kind and a number; they must differ.
pub fn build_names(entries: &[Reader]) -> Vec<String> {
    let mut taken = HashSet::new();
    let name = |(i, entry): (usize, &Reader)| {
        let name = match (entry.maybe_text("name"), entry.name()) {
            (Some(name), _) => name.into(),
            (None, "probe") => entry.text("kind").into(),
            (None, kind) => default_name(kind, i),
        };
        if !taken.insert(name.clone()) {
            let message = format!("the name `{name}` is taken");
            entry.fail("name", message, format!("a name of its own for each {}", entry.name()));
        }
        name
    };
    entries.iter().enumerate().map(name).collect()
}

/// Name of an unnamed entry: `fluid`, `fluid-2`, …
pub fn default_name(kind: &str, index: usize) -> String {
    if index == 0 { kind.into() } else { format!("{kind}-{}", index + 1) }
}

/// How many particles (or nodes, or places of emitters) the scene may still start with.
pub struct Budget {
    /// Spacing of the model, m.
    pub spacing: f64,
    most: f64,
    used: f64,
}

impl Budget {
    fn spend(&mut self, entry: &Reader, shape: &Shape) {
        self.spend_at(entry, shape, self.spacing);
    }

    /// For a lattice of another spacing.
    pub fn spend_at(&mut self, entry: &Reader, shape: &Shape, spacing: f64) {
        if matches!(shape, Shape::Mesh(_)) && !shape.is_closed() {
            let message = "this mesh is not closed: it has no inside to fill".into();
            entry.fail("shape", message, "a mesh whose every edge is shared by two triangles");
        }
        self.spend_count(entry, shape.fill_count_estimate(spacing));
    }

    /// For so many points.
    pub fn spend_count(&mut self, entry: &Reader, count: f64) {
        self.used += count;
        let fits = self.used <= self.most; // not so for NaN
        if !fits {
            let message = format!("about {:.1e} particles are too many", self.used);
            let spacing = self.spacing * (self.used / self.most).cbrt();
            let advice =
                format!("at most `model.max_particles` = {}, or a spacing of {spacing:.1e} m", self.most);
            entry.fail("shape", message, advice);
        }
    }
}

fn build_fluids(entries: &[Reader], shapes: &ShapeBuilder, budget: &mut Budget) -> Vec<Fluid> {
    let names = build_names(entries);
    let build = |(entry, name): (&Reader, String)| {
        let shape = shapes.maybe_build(entry, &["box", "sphere", "cylinder", "mesh"]);
        if let Some(shape) = &shape {
            budget.spend(entry, shape);
        }
        Fluid {
            name,
            density: entry.number("density"),
            viscosity: entry.number("viscosity"),
            surface_tension: entry.number("surface_tension"),
            shape,
            velocity: entry.vector("velocity"),
            color: entry.maybe_vector("color").map(Into::into),
            opaque: entry.flag("opaque"),
            glow: entry.maybe_vector("glow").map(Into::into),
        }
    };
    entries.iter().zip(names).map(build).collect()
}

fn build_boundaries(entries: &[Reader], shapes: &ShapeBuilder) -> Vec<Boundary> {
    let names = build_names(entries);
    let mut walls: Vec<Boundary> = Vec::new();
    for (entry, name) in entries.iter().zip(names) {
        let allowed = ["box", "sphere", "cylinder", "mesh", "heightfield"];
        let shape = shapes.build_on(&entry.table("shape"), entry.name(), &allowed, &walls);
        let Some(shape) = shape else { continue };
        let inside = build_inside(entry);
        if inside == Inside::Hollow && matches!(shape, Shape::Heightfield(_)) {
            entry.fail("inside", "a heightfield cannot be hollow".into(), "\"solid\": it is solid below");
        }
        let open_top = entry.flag("open_top");
        let has_top = inside == Inside::Hollow && matches!(shape, Shape::Box { .. } | Shape::Cylinder { .. });
        if open_top && !has_top {
            entry.fail("open_top", "this shape has no top to open".into(), "a hollow box or cylinder");
        }
        let wall = Boundary {
            name,
            shape,
            inside,
            thickness: entry.maybe_number("thickness"),
            open_top,
            slip: build_slip(entry),
            adhesion: entry.number("adhesion"),
            motion: entry.maybe_table("motion").map(|motion| build_motion(&motion)).unwrap_or_default(),
            color: entry.maybe_vector("color").map(Into::into),
            clear: entry.flag("clear"),
        };
        let copies = entry.maybe_table("repeat").map(|repeat| build_repeat(&repeat)).unwrap_or_default();
        let first = walls.len();
        walls.push(wall);
        for (i, offset) in copies.into_iter().enumerate() {
            let original = &walls[first];
            let name = default_name(&original.name, i + 1);
            walls.push(Boundary { name, shape: original.shape.moved(offset), ..original.clone() });
        }
    }
    walls
}

/// Most copies of a wall.
const MOST_COPIES: f64 = 1000.0;

/// Offsets of all copies but the first, which stays where it is.
fn build_repeat(repeat: &Reader) -> Vec<DVec3> {
    let rows = repeat.rows("rows");
    let count: f64 = rows.iter().map(|row| row[0]).product();
    let whole = rows.iter().all(|row| row[0] >= 1.0 && row[0].fract() == 0.0);
    if rows.len() > 3 || !whole || count > MOST_COPIES {
        let expected = "up to three rows [count, x, y, z], whole counts from 1, at most 1000 in all";
        repeat.fail("rows", "this cannot be repeated".into(), expected);
        return Vec::new();
    }
    let mut offsets = vec![DVec3::ZERO];
    for row in rows {
        let step = DVec3::new(row[1], row[2], row[3]);
        offsets =
            (0..row[0] as usize).flat_map(|i| offsets.iter().map(move |o| *o + i as f64 * step)).collect();
    }
    offsets.split_off(1)
}

/// `inside` may stand in the boundary or in its shape's own table.
fn build_inside(entry: &Reader) -> Inside {
    let shape = entry.table("shape");
    let kind = shape.which(&["box", "sphere", "cylinder", "mesh"]);
    let with_shape = if kind.is_empty() { None } else { shape.table(kind).maybe_text("inside") };
    let word = match (entry.maybe_text("inside"), with_shape) {
        (Some(own), Some(other)) if own != other => {
            let message = format!("`inside` is both \"{own}\" and, with the shape, \"{other}\"");
            entry.fail("inside", message, "one of them");
            own
        }
        (own, other) => own.or(other).unwrap_or("solid"),
    };
    if word == "hollow" { Inside::Hollow } else { Inside::Solid }
}

fn build_motion(motion: &Reader) -> Motion {
    Motion {
        rotate: motion.maybe_table("rotate").map(|rotate| Rotate {
            center: rotate.vector("center"),
            axis: rotate.direction("axis"),
            speed: rotate.number("speed"),
            angle: rotate.maybe_number("angle"),
            start: rotate.number("start"),
        }),
        translate: motion.maybe_table("translate").map(|translate| {
            let (start, stop) = build_interval(&translate);
            Translate {
                velocity: translate.vector("velocity"),
                frequency: translate.number("frequency"),
                start,
                stop,
            }
        }),
    }
}

fn build_interval(entry: &Reader) -> (f64, f64) {
    let (start, stop) = (entry.number("start"), entry.maybe_number("stop").unwrap_or(f64::INFINITY));
    if stop < start {
        entry.fail("stop", format!("`stop` = {stop} is before `start` = {start}"), "start ≤ stop");
    }
    (start, stop)
}

/// Index of the fluid or solid that `key` names.
fn find_name(entry: &Reader, key: &str, what: &str, names: &[&str]) -> Option<usize> {
    let name = entry.maybe_text(key)?;
    let index = names.iter().position(|known| *known == name);
    if index.is_none() {
        entry.fail_name(key, what, name, names);
    }
    index
}

fn build_emitters(
    entries: &[Reader],
    shapes: &ShapeBuilder,
    fluids: &[Fluid],
    budget: &mut Budget,
) -> Vec<Emitter> {
    let names = build_names(entries);
    let fluid_names: Vec<_> = fluids.iter().map(|fluid| &fluid.name[..]).collect();
    let build = |(entry, name): (&Reader, String)| {
        let shape = shapes.maybe_build(entry, &["disc", "box", "sphere", "cylinder", "mesh"])?;
        budget.spend(entry, &shape);
        let direction = match (&shape, entry.maybe_direction("direction")) {
            (Shape::Disc { .. }, Some(_)) => {
                entry.fail("direction", "a disc streams along its normal".into(), "no `direction`");
                return None;
            }
            (Shape::Disc { normal, .. }, None) => *normal,
            (_, direction) => direction.unwrap_or(DVec3::NEG_Y),
        };
        let speed = match (&shape, entry.maybe_number("rate")) {
            (_, None) => entry.number("speed"),
            (Shape::Disc { radius, .. }, Some(rate)) => rate / (PI * radius * radius),
            (_, Some(_)) => {
                entry.fail("rate", "only a disc has a rate".into(), "`speed` instead");
                return None;
            }
        };
        if speed > 1e5 || speed.is_nan() {
            entry.fail("rate", format!("this rate is a speed of {speed:.1e} m/s"), "at most 1e5 m/s");
        }
        let (start, stop) = build_interval(entry);
        let fluid = find_name(entry, "fluid", "fluid", &fluid_names).unwrap_or(0);
        let switch = entry.maybe_text("switch").map(Into::into);
        Some(Emitter { name, fluid, shape, direction, speed, start, stop, switch })
    };
    entries.iter().zip(names).filter_map(build).collect()
}

fn build_outflow(entry: &Reader, shapes: &ShapeBuilder) -> Option<Outflow> {
    let shape = shapes.maybe_build(entry, &["box", "sphere", "cylinder", "mesh"])?;
    Some(Outflow { shape, switch: entry.maybe_text("switch").map(Into::into) })
}

fn build_force(entry: &Reader) -> Force {
    if let Some(swirl) = entry.maybe_table("swirl") {
        return Force::Swirl {
            center: swirl.vector("center"),
            axis: swirl.direction("axis"),
            strength: swirl.number("strength"),
            radius: swirl.maybe_number("radius").unwrap_or(f64::INFINITY),
        };
    }
    let Some(brush) = entry.maybe_table("brush") else {
        return Force::Uniform(entry.vector("uniform"));
    };
    let rows = brush.rows("track").into_iter();
    let points: Vec<_> = rows.map(|row| (row[0], DVec3::new(row[1], row[2], row[3]))).collect();
    if points.len() < 2 || points.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
        brush.fail(
            "track",
            "this is not a track".into(),
            "at least two points [time, x, y, z], times rising",
        );
    }
    Force::Brush(BrushTrack { points, radius: brush.number("radius"), strength: brush.number("strength") })
}

fn build_probes(entries: &[Reader], fluids: &[Fluid], solids: &[Solid]) -> Vec<Probe> {
    let names = build_names(entries);
    let fluid_names: Vec<_> = fluids.iter().map(|fluid| &fluid.name[..]).collect();
    let solid_names: Vec<_> = solids.iter().map(|solid| &solid.name[..]).collect();
    let build = |(entry, name): (&Reader, String)| {
        let word = entry.text("kind");
        let kind = match word {
            "front" => ProbeKind::Front,
            "height" => ProbeKind::Height,
            "pressure" => ProbeKind::Pressure,
            "velocity" => ProbeKind::Velocity,
            "flow" => ProbeKind::Flow,
            "body" => ProbeKind::Body,
            "energy" => ProbeKind::Energy,
            "momentum" => ProbeKind::Momentum,
            "leaks" => ProbeKind::Leaks,
            _ => ProbeKind::DensityError,
        };
        let required = match kind {
            ProbeKind::Height | ProbeKind::Pressure | ProbeKind::Velocity | ProbeKind::Flow => "position",
            ProbeKind::Body => "body",
            _ => "kind",
        };
        if !entry.has(required) {
            entry.fail(
                required,
                format!("missing key `{required}` for the kind `{word}`"),
                format!("a `{required}`"),
            );
        }
        Probe {
            name,
            kind,
            axis: "xyz".find(entry.text("axis")).unwrap_or(0),
            position: entry.maybe_vector("position").unwrap_or_default(),
            fluid: find_name(entry, "fluid", "fluid", &fluid_names),
            body: find_name(entry, "body", "solid", &solid_names),
        }
    };
    entries.iter().zip(names).map(build).collect()
}

fn build_surface(surface: &Reader, model: ModelKind) -> Surface {
    let method = SurfaceMethod::from_name(surface.text("method")).unwrap_or_default();
    // Markers show what the grid knows, and that is no finer than they lie.
    let usual = if model == ModelKind::Mac { 1.0 } else { 0.5 };
    Surface { method, cell: surface.maybe_number("cell").unwrap_or(usual) }
}

fn build_camera(camera: &Reader) -> Camera {
    let (position, target) = (camera.vector("position"), camera.vector("target"));
    if position.distance(target) < 1e-9 {
        camera.fail("target", "the camera looks at itself".into(), "a `target` away from `position`");
    }
    Camera { position, target, fov: camera.number("fov") }
}
