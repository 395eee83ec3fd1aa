//! `undine check`: what a scene will cost and what is odd about it, before hours are spent.

mod trial;
mod warnings;

use anyhow::{Context, Result};
use serde::Serialize;
use undine::models::StepLimit;
use undine::scene::{Loaded, Scene};
use undine::world::World;

use crate::args::CheckArgs;
use crate::text::{Align, aligned, bytes, count, duration, print, print_json};

/// Memory of a particle with all that the solver keeps for it, bytes.
const BYTES_PER_PARTICLE: u64 = 190;

/// Memory of a boundary particle with all that the solver keeps for it, bytes. Measured: 373 (`mixer`) to 477 (`lava`).
const BYTES_PER_WALL: u64 = 450;

/// Memory of a node of a solid with its share of 13 springs, bytes.
const BYTES_PER_NODE: u64 = 1500;

/// The object of `check --json`.
#[derive(Serialize)]
struct Report {
    /// At the start.
    particles: u64,
    /// Added by emitters until the end, at most; within `bytes` and `seconds`.
    #[serde(skip)]
    emitted: u64,
    /// Nodes of mass-spring bodies.
    #[serde(skip)]
    nodes: u64,
    walls: u64,
    /// Estimate, with what emitters will add.
    bytes: u64,
    /// First step, s.
    step: f64,
    step_limit: &'static str,
    steps_per_frame: u64,
    /// Estimate of the wall time of the whole run, s.
    seconds: f64,
    warnings: Vec<String>,
}

/// `undine check`.
pub fn check(args: &CheckArgs) -> Result<()> {
    crate::threads::set(args.threads)?;
    let loaded = Scene::load(&args.scene.scene, &args.scene.set)?;
    let world = World::new(loaded.scene.clone())
        .with_context(|| format!("the scene `{}` cannot be run", args.scene.scene))?;
    let mut warnings = warnings::all(&world);
    let limit = world.step_limit();
    let per_fluid = per_fluid(&world);
    let walls = world.wall_particles() as u64;
    let particles = world.len() as u64;
    let nodes = world.solids().len() as u64;
    let forecast = undine::emitter::forecast(&loaded.scene, world.len());
    let emitted = forecast.added.ceil() as u64;

    let frame = 1.0 / loaded.scene.time.frame_rate;
    let steps_per_frame = (frame / limit.step - 1e-9).ceil().max(1.0);
    let steps = steps_per_frame * loaded.scene.time.frames() as f64;
    let trial = trial::run(world);
    if let Some(trouble) = &trial.trouble {
        warnings.push(format!("the first steps already fail: {trouble}"));
    }
    let seconds = steps * trial.seconds_per_step(forecast.mean + nodes as f64);
    let report = Report {
        particles,
        emitted,
        nodes,
        walls,
        bytes: BYTES_PER_PARTICLE * (particles + emitted) + BYTES_PER_WALL * walls + BYTES_PER_NODE * nodes,
        step: limit.step,
        step_limit: limit.name,
        steps_per_frame: steps_per_frame as u64,
        seconds,
        warnings,
    };
    if args.json { print_json(&report) } else { print(&for_people(&report, &loaded, &per_fluid, limit)) }
}

/// Particles of each fluid.
fn per_fluid(world: &World) -> Vec<u64> {
    let mut counts = vec![0; world.scene().fluids.len()];
    if let Some(undine::frame::FieldData::Byte(fluids)) = world.frame().particles.field("fluid") {
        for &fluid in fluids {
            if let Some(n) = counts.get_mut(usize::from(fluid)) {
                *n += 1;
            }
        }
    }
    counts
}

fn for_people(report: &Report, loaded: &Loaded, per_fluid: &[u64], limit: StepLimit) -> String {
    let scene = &loaded.scene;
    let mut rows = Vec::new();
    let mut row = |what: &str, value: String| rows.push(vec![what.to_owned(), value]);
    row("scene", if scene.title.is_empty() { loaded.name.clone() } else { scene.title.clone() });
    row("particles", count(report.particles));
    if scene.fluids.len() > 1 {
        for (fluid, n) in scene.fluids.iter().zip(per_fluid) {
            row(&format!("  {}", fluid.name), count(*n));
        }
    }
    if report.emitted > 0 {
        row("  emitted", format!("up to {}", count(report.emitted)));
    }
    if !scene.solids.is_empty() {
        row("solids", format!("{}, of {} nodes", scene.solids.len(), count(report.nodes)));
    }
    row("walls", format!("{} boundary particles", count(report.walls)));
    row("memory", format!("about {}", bytes(report.bytes)));
    row(
        "first step",
        format!("{:.4} ms, {} steps a frame", 1e3 * report.step, count(report.steps_per_frame)),
    );
    row("", why(limit.name).into());
    let frames = scene.time.frames();
    row("run", format!("{} frames, {} s simulated", count(frames), scene.time.duration));
    row("time", format!("about {} on {} threads", duration(report.seconds), rayon::current_num_threads()));
    let mut text = aligned(&[Align::Left, Align::Left], &rows);
    for warning in &report.warnings {
        text += &format!("warning: {warning}\n");
    }
    text
}

/// Why a limit rules, and what would change it.
fn why(limit: &str) -> &'static str {
    match limit {
        "cfl" => {
            "ruled by `cfl`: sound and the fastest particle may cross only a part of a spacing in a step; \
             a larger `model.compression` or `model.spacing` allows longer steps"
        }
        "force" => {
            "ruled by `force`: the greatest acceleration may move a particle only a part of a spacing in a step"
        }
        "viscous" => {
            "ruled by `viscous`: friction may not reach beyond a spacing in a step; \
             thick fluids at a small spacing need short steps"
        }
        "tension" => "ruled by `tension`: the shortest capillary wave may not cross a spacing in a step",
        "solid" => {
            "ruled by `solid`: a node of a solid may not pass another one or a wall unseen; \
             a wider `spacing` of the solids allows longer steps"
        }
        "max_step" => "ruled by `time.max_step` of the scene",
        "step" => "fixed by `time.step` of the scene; the stability limits are not looked at",
        _ => "ruled by the model's stability limit",
    }
}
