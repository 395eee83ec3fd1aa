//! `undine bench`: the papers' tables on this machine, beside the papers' own numbers.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use undine::checkpoint::{CheckpointReader, CheckpointWriter};
use undine::picture::{Look, Options, View, fluid_volume, render};
use undine::scene::{Preset, Scene, Volume, builtin};
use undine::surface;
use undine::world::World;

use crate::args::{BenchArgs, BenchTable};
use crate::text::{Align, Pairs, aligned, count, print, print_json};

/// Steps before the clock starts, so that the fluid moves; fewer where they take long.
const WARM_UP: u64 = 100;
const LEAST_WARM_UP: u64 = 10;
const LONG: Duration = Duration::from_secs(2);
/// Longest warm-up, for scenes that emitters fill.
const LONGEST_WARM_UP: Duration = Duration::from_secs(30);
/// The share of its particles that a scene must have before it is timed.
const FULL: f64 = 0.9;

/// Cell edge of the surfaces, × spacing.
const SURFACE_CELL: f64 = 0.5;

/// Size of Lee's pictures, pixels, and how often one is drawn for a time.
const LEE_SIZE: [usize; 2] = [730, 520];
const LEE_PICTURES: u32 = 3;

/// A row to be measured.
struct Case {
    name: &'static str,
    /// Particles of the paper's row.
    particles: u64,
    /// The paper's own time, ms.
    paper_ms: Option<f64>,
    /// The paper's own time of a surface, ms.
    paper_surface_ms: Option<f64>,
    /// Where the fluid of a scene starts that emitters would take minutes to fill: the name of a fluid and its shape. What
    /// lies in walls is left out.
    filled: Option<(&'static str, &'static str)>,
    /// Simulated time from which on it is worth timing, s.
    from: f64,
}

const fn case(name: &'static str, particles: u64, paper_ms: Option<f64>) -> Case {
    Case { name, particles, paper_ms, paper_surface_ms: None, filled: None, from: 0.0 }
}

const fn filled(
    name: &'static str,
    particles: u64,
    paper_ms: Option<f64>,
    fluid: &'static str,
    shape: &'static str,
) -> Case {
    Case { filled: Some((fluid, shape)), ..case(name, particles, paper_ms) }
}

/// Müller 2003, section 6: 20, 25 and 5 frames a second.
const MUELLER: [Case; 3] =
    [case("swirl", 2_200, Some(50.0)), case("splash", 1_300, Some(40.0)), case("pour", 3_000, Some(200.0))];

/// Horváth 2012, column SIM.
const HORVATH: [Case; 4] = [
    case("horvath-15k", 15_000, Some(4.0)),
    case("horvath-30k", 30_000, Some(9.0)),
    case("horvath-45k", 45_000, Some(18.0)),
    case("horvath-60k", 60_000, Some(24.0)),
];

/// Horváth 2012, MC + NI on the grid of 80³: marching cubes and interpolated normals.
const SURFACE: [Case; 4] = [
    case("horvath-15k", 15_000, Some(27.0)),
    case("horvath-30k", 30_000, Some(30.0)),
    case("horvath-45k", 45_000, Some(33.0)),
    case("horvath-60k", 60_000, Some(43.0)),
];

/// The row of Bayraktar's cylinders without any boundary particles: the same fluid in a tank of free-slip faces.
const BARE: &str = "cylinders-bare";
/// What it is compared with.
const WALLED: &str = "cylinders";

/// Bayraktar 2010, Figs. 4 to 9: 12 to 25 frames a second, each one step. He tells no numbers of particles for cloth and
/// dragons.
///
/// The fluid starts where its scene brings it: the river as a sheet along its bed, the lava as a tongue below the vent, the
/// water of the tap on the cloth, and that of the cylinders among them.
const BAYRAKTAR: [Case; 7] = [
    filled(
        "river",
        60_000,
        Some(1e3 / 12.0),
        "water",
        "{ cylinder = { base = [1.8, 0.103, 1], axis = [0.06, 1, 0], radius = 0.98, height = 0.072 } }",
    ),
    case("mixer", 50_000, Some(1e3 / 14.0)),
    filled(
        WALLED,
        48_000,
        Some(1e3 / 15.0),
        "fluid",
        "{ box = { min = [0.192, 0, 0], max = [0.832, 0.16, 0.32] } }",
    ),
    case(BARE, 48_000, None),
    filled(
        "lava",
        50_000,
        Some(1e3 / 25.0),
        "lava",
        "{ cylinder = { base = [0.9, 0.8, 1], axis = [0.35, 1, 0], radius = 0.6, height = 0.13 } }",
    ),
    filled(
        "cloth",
        0,
        Some(1e3 / 14.0),
        "water",
        "{ box = { min = [-0.2, 0.306, -0.2], max = [0.2, 0.356, 0.2] } }",
    ),
    case("dragons", 0, Some(1e3 / 12.0)),
];

/// Lee 2005, Figs. 2 and 3: 7 to 8 and 3 to 4 frames a second.
const LEE: [Case; 2] = [
    Case { from: 1.2, ..case("bottle-2000", 2_000, Some(1e3 / 7.5)) },
    Case { from: 1.5, ..case("bottle-10000", 10_000, Some(1e3 / 3.5)) },
];

/// Génevaux 2003, Table 1: 45.4, 23.2, 12 and 8 s a frame of ten steps, and 9.5, 4.1, 9 and 1.6 s for its surface. The jet of the
/// third has run for 0.4 s when it is timed.
const GENEVAUX: [Case; 4] = [
    genevaux("buoyancy", 4_676_065, 4540.0, 9500.0),
    genevaux("ricochet", 1_600_000, 2320.0, 4100.0),
    genevaux("jet-cube", 300_000, 1200.0, 9000.0),
    genevaux("u-tube", 250_000, 800.0, 1600.0),
];

const fn genevaux(name: &'static str, particles: u64, paper_ms: f64, surface_ms: f64) -> Case {
    Case { paper_surface_ms: Some(surface_ms), ..case(name, particles, Some(paper_ms)) }
}

/// How often a surface is built for a time.
const GENEVAUX_SURFACES: u32 = 3;

/// The paper's step, s.
const GENEVAUX_STEP: f64 = 1.0 / 240.0;

const SCALE: [Case; 4] = [
    case("dam-15k", 15_000, None),
    case("dam-60k", 60_000, None),
    case("dam-250k", 250_000, None),
    case("dam-1M", 1_000_000, None),
];

impl BenchTable {
    fn cases(self) -> &'static [Case] {
        match self {
            BenchTable::Mueller => &MUELLER,
            BenchTable::Horvath => &HORVATH,
            BenchTable::Surface => &SURFACE,
            BenchTable::Bayraktar => &BAYRAKTAR,
            BenchTable::Lee => &LEE,
            BenchTable::Genevaux => &GENEVAUX,
            BenchTable::Scale => &SCALE,
        }
    }

    fn title(self) -> &'static str {
        match self {
            BenchTable::Mueller => {
                "Müller 2003; the paper's time is of a frame with its drawing, on a 1.8 GHz Pentium IV"
            }
            BenchTable::Horvath => "Horváth 2012; the paper's time is column SIM, on a GeForce 540M",
            BenchTable::Surface => {
                "Horváth 2012, surfaces by `color-field`; the paper's time is MC + NI on its 80³ grid, on a GeForce 540M"
            }
            BenchTable::Bayraktar => {
                "Bayraktar 2010; the paper's time is of a frame of one step, on the two cores of an Athlon 64 X2"
            }
            BenchTable::Lee => {
                "Lee 2005; the paper's time is of a frame with its volume rendering, on a 2.4 GHz Pentium IV with a GeForce FX 5800"
            }
            BenchTable::Genevaux => {
                "Génevaux 2003, Table 1; the paper's time is of one of the ten steps of a frame, its surface by \
                 `marker-count` apart, on an Athlon XP 1800+"
            }
            BenchTable::Scale => "The dam break at four sizes",
        }
    }
}

/// A measured row.
#[derive(Serialize)]
struct Row {
    name: String,
    particles: u64,
    /// Boundary particles, in the table that is about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    walls: Option<u64>,
    threads: usize,
    steps: u64,
    /// Of the quickest round.
    ms_per_step: f64,
    /// Of the slowest round, where there are several: how busy the machine was. Not in JSON, whose keys are fixed.
    #[serde(skip)]
    slowest: Option<f64>,
    #[serde(serialize_with = "passes_as_object")]
    passes: Vec<(String, f64)>,
    paper_ms: Option<f64>,
    /// A surface and the paper's own time of one, ms, in the table that has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    surface_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper_surface_ms: Option<f64>,
    /// Wall time of a simulated second, s, in the table that is about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    /// A picture of the fluid as a volume, ms, in the same table.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture_ms: Option<f64>,
}

impl Row {
    /// Wall time of a step for each particle of fluid, ns.
    fn ns_per_particle(&self) -> f64 {
        1e6 * self.ms_per_step / self.particles.max(1) as f64
    }
}

fn passes_as_object<S: serde::Serializer>(
    passes: &[(String, f64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Pairs(passes).serialize(serializer)
}

#[derive(Default, Serialize)]
struct Report {
    rows: Vec<Row>,
}

/// `undine bench`.
pub fn bench(args: &BenchArgs) -> Result<()> {
    let all = [
        BenchTable::Mueller,
        BenchTable::Horvath,
        BenchTable::Surface,
        BenchTable::Bayraktar,
        BenchTable::Lee,
        BenchTable::Genevaux,
    ];
    let tables = args.table.as_ref().map_or(&all[..], std::slice::from_ref);
    let default = [rayon::current_num_threads()];
    let given: Vec<usize> = args.threads.iter().map(|n| usize::from(*n)).collect();
    let threads = if given.is_empty() { &default[..] } else { &given };
    let mut report = Report::default();
    for (number, table) in tables.iter().enumerate() {
        let mut rows = Vec::new();
        for case in table.cases() {
            for &threads in threads {
                eprintln!(
                    "timing {} on {threads} {}",
                    case.name,
                    if threads == 1 { "thread" } else { "threads" }
                );
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let pool = pool.with_context(|| format!("cannot start {threads} threads"))?;
                let row = pool.install(|| match table {
                    BenchTable::Surface => measure_surface(case, args.steps),
                    BenchTable::Lee => measure_lee(case, args),
                    BenchTable::Genevaux => measure_genevaux(case, args),
                    _ => measure(case, args),
                });
                let mut row = row.with_context(|| format!("the scene `{}`", case.name))?;
                row.walls = row.walls.filter(|_| *table == BenchTable::Bayraktar);
                rows.push(row);
            }
        }
        if !args.json {
            let gap = if number > 0 { "\n" } else { "" };
            print(&format!("{gap}{}\n{}", table.title(), for_people(&rows)))?;
        }
        report.rows.extend(rows);
    }
    if args.json { print_json(&report) } else { Ok(()) }
}

/// The built-in scene of a case, else the dam break at the spacing that gives as many particles; with its name.
fn load(case: &Case) -> Result<(String, Scene)> {
    if GENEVAUX.iter().any(|c| c.name == case.name) {
        let step = format!("time.step={GENEVAUX_STEP}");
        return Ok((case.name.into(), Scene::load(case.name, &[step])?.scene));
    }
    if builtin::find(case.name).is_some() {
        // A shape counts before what lies in walls is left out of it.
        let set = case.filled.map(|(fluid, shape)| {
            [format!("fluid.{fluid}.shape={shape}"), "model.max_particles=1000000".into()]
        });
        return Ok((case.name.into(), Scene::load(case.name, set.as_ref().map_or(&[], |s| &s[..]))?.scene));
    }
    if case.name == BARE {
        let mut scene =
            Scene::load(WALLED, &["domain={ min = [0, 0, 0], max = [1.04, 0.64, 0.32] }".into()])?.scene;
        scene.boundaries.clear();
        return Ok((case.name.into(), scene));
    }
    let water = Scene::load("dam-break", &[])?.scene;
    let volume: f64 = water.fluids.iter().filter_map(|f| f.shape.as_ref()).map(|shape| shape.volume()).sum();
    let spacing = (volume / case.particles as f64).cbrt();
    let scene = Scene::load("dam-break", &[format!("model.spacing={spacing}")])?.scene;
    // A row must not pass for a scene that it is not.
    let name =
        if case.name.starts_with("dam-") { case.name.into() } else { format!("{} (dam break)", case.name) };
    Ok((name, scene))
}

/// A scene that moves and has its particles, with its name.
fn warm(case: &Case) -> Result<(String, World)> {
    let (name, scene) = load(case)?;
    let mut world = World::new(scene)?;
    let wanted = (FULL * case.particles as f64) as usize;
    let begin = Instant::now();
    loop {
        let (steps, spent) = (world.clock().steps, begin.elapsed());
        let moves = steps >= WARM_UP || (steps >= LEAST_WARM_UP && spent > LONG);
        let moves = moves && world.clock().time >= case.from;
        if moves && (world.len() >= wanted || spent > LONGEST_WARM_UP) {
            break;
        }
        world.step()?;
    }
    Ok((name, world))
}

fn measure(case: &Case, args: &BenchArgs) -> Result<Row> {
    let (name, mut world) = warm(case)?;
    Ok(timed_steps(case, name, &mut world, args)?.0)
}

/// Times rounds of the same steps of a world. Of the quickest come the row and the simulated time, s: on a machine with other work to do
/// the others tell of that.
fn timed_steps(case: &Case, name: String, world: &mut World, args: &BenchArgs) -> Result<(Row, f64)> {
    let mut start = CheckpointWriter::in_memory();
    world.save(&mut start)?;
    let start = start.finish_bytes()?;
    let mut best: Option<(Row, f64)> = None;
    let mut slowest = 0f64;
    for _ in 0..args.rounds {
        // The same steps in each.
        world.load(&mut CheckpointReader::from_bytes(start.clone())?)?;
        world.step()?;
        world.clear_passes();
        let (begin, start) = (Instant::now(), world.clock().time);
        world.steps(args.steps)?;
        let seconds = begin.elapsed().as_secs_f64();
        let row = row(case, name.clone(), world, args.steps, seconds, world.passes().times());
        slowest = slowest.max(row.ms_per_step);
        if best.as_ref().is_none_or(|(best, _)| row.ms_per_step < best.ms_per_step) {
            best = Some((row, world.clock().time - start));
        }
    }
    let (mut row, simulated) = best.context("no round to time")?;
    row.slowest = (args.rounds > 1).then_some(slowest);
    Ok((row, simulated))
}

/// Steps, and a picture of the fluid as a volume, field and table included: the best of a few.
fn measure_lee(case: &Case, args: &BenchArgs) -> Result<Row> {
    let (name, mut world) = warm(case)?;
    let (mut row, simulated) = timed_steps(case, name, &mut world, args)?;
    row.per_second = Some(1e-3 * row.ms_per_step * args.steps as f64 / simulated);
    let (scene, frame) = (world.scene(), world.frame());
    let look = scene.volume.clone().unwrap_or_else(|| Volume::of_preset(Preset::LeeWater));
    let [width, height] = LEE_SIZE;
    let options = Options { width, height, look: Look::Volume, ..Options::default() };
    for _ in 0..LEE_PICTURES {
        let begin = Instant::now();
        let volumes = [fluid_volume(Some(scene), &frame, &look)?];
        std::hint::black_box(render(
            &View { scene: Some(scene), volumes: &volumes, ..View::new(&frame) },
            &options,
        ));
        let ms = 1e3 * begin.elapsed().as_secs_f64();
        row.picture_ms = Some(row.picture_ms.map_or(ms, |best: f64| best.min(ms)));
    }
    Ok(row)
}

/// Steps, and the bare surface from the paper's smoothed counts on a grid of the markers' spacing: the best of a few.
fn measure_genevaux(case: &Case, args: &BenchArgs) -> Result<Row> {
    let (name, mut world) = warm(case)?;
    let (mut row, _) = timed_steps(case, name, &mut world, args)?;
    let frame = world.frame();
    let own = surface::Options::of_scene(world.scene());
    let plain = surface::Options::plain(surface::Method::MarkerCount);
    let options = surface::Options { cell: own.cell, ..plain };
    for _ in 0..GENEVAUX_SURFACES {
        let begin = Instant::now();
        std::hint::black_box(surface::build(&frame, &options)?);
        let ms = 1e3 * begin.elapsed().as_secs_f64();
        row.surface_ms = Some(row.surface_ms.map_or(ms, |best: f64| best.min(ms)));
    }
    Ok(row)
}

/// A row of so many steps that took `seconds` in all.
fn row(case: &Case, name: String, world: &World, steps: u64, seconds: f64, passes: &[(&str, f64)]) -> Row {
    let ms = |seconds: f64| 1e3 * seconds / steps as f64;
    Row {
        name,
        particles: world.len() as u64,
        walls: Some(world.wall_particles() as u64),
        threads: rayon::current_num_threads(),
        steps,
        ms_per_step: ms(seconds),
        slowest: None,
        passes: passes.iter().map(|(name, s)| ((*name).to_owned(), ms(*s))).collect(),
        paper_ms: case.paper_ms,
        surface_ms: None,
        paper_surface_ms: case.paper_surface_ms,
        per_second: None,
        picture_ms: None,
    }
}

/// Times the bare surface of the moving fluid, from the solver's densities; the fluid steps on between surfaces,
/// untimed, so that no two are of the same frame.
fn measure_surface(case: &Case, steps: u64) -> Result<Row> {
    let (name, mut world) = warm(case)?;
    let own = surface::Options::of_scene(world.scene());
    let plain = surface::Options::plain(surface::Method::ColorField);
    let options = surface::Options { cell: SURFACE_CELL, rest_density: own.rest_density, ..plain };
    let mut passes: Vec<(&str, f64)> = Vec::new();
    let mut seconds = 0.0;
    for _ in 0..steps {
        world.step()?;
        let frame = world.frame();
        let begin = Instant::now();
        let (_, spent) = surface::build(&frame, &options)?;
        seconds += begin.elapsed().as_secs_f64();
        for (name, s) in spent.times() {
            match passes.iter_mut().find(|pass| pass.0 == *name) {
                Some(pass) => pass.1 += s,
                None => passes.push((name, *s)),
            }
        }
    }
    Ok(row(case, name, &world, steps, seconds, &passes))
}

fn for_people(rows: &[Row]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.passes) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let walls = rows.iter().any(|row| row.walls.is_some());
    let mut header = ["scene", "particles"].map(String::from).to_vec();
    header.extend(walls.then(|| "walls".into()));
    header.extend(["threads", "ms/step"].map(String::from));
    let rounds = rows.iter().any(|row| row.slowest.is_some());
    header.extend(rounds.then(|| "slowest round".into()));
    header.extend(names.iter().map(|name| format!("{name} ms")));
    header.extend(["ns/particle/step", "steps/s", "paper ms", "paper/ours"].map(String::from));
    let surfaces = rows.iter().any(|row| row.surface_ms.is_some());
    let surface_header = ["surface ms", "paper surface ms", "surface paper/ours"].map(String::from);
    header.extend(surface_header.into_iter().filter(|_| surfaces));
    let per_second = rows.iter().any(|row| row.per_second.is_some());
    header.extend(per_second.then(|| "s per simulated s".into()));
    let pictures = rows.iter().any(|row| row.picture_ms.is_some());
    header.extend(pictures.then(|| "volume picture ms".into()));
    let mut table = vec![header];
    for row in rows {
        let pass = |name: &&str| row.passes.iter().find(|p| p.0 == **name).map_or(0.0, |p| p.1);
        let mut cells = vec![row.name.clone(), count(row.particles)];
        cells.extend(walls.then(|| row.walls.map_or("-".into(), count)));
        cells.extend([row.threads.to_string(), format!("{:.3}", row.ms_per_step)]);
        cells.extend(rounds.then(|| row.slowest.map_or("-".into(), |ms| format!("{ms:.3}"))));
        cells.extend(names.iter().map(|name| format!("{:.3}", pass(name))));
        cells.push(format!("{:.0}", row.ns_per_particle()));
        cells.push(format!("{:.1}", 1e3 / row.ms_per_step));
        cells.push(row.paper_ms.map_or("-".into(), |ms| format!("{ms:.0}")));
        cells.push(row.paper_ms.map_or("-".into(), |ms| format!("{:.1}", ms / row.ms_per_step)));
        if let (Some(ms), Some(paper)) = (row.surface_ms, row.paper_surface_ms) {
            cells.extend([format!("{ms:.1}"), format!("{paper:.0}"), format!("{:.1}", paper / ms)]);
        }
        cells.extend(row.per_second.map(|s| format!("{s:.2}")));
        cells.extend(row.picture_ms.map(|ms| format!("{ms:.0}")));
        table.push(cells);
    }
    aligned(&[Align::Left], &table) + &cost_of_walls(rows)
}

/// What a step among boundary particles costs a particle of fluid, beside one without any.
fn cost_of_walls(rows: &[Row]) -> String {
    let mut text = String::new();
    for walled in rows.iter().filter(|row| row.name == WALLED) {
        let bare = rows.iter().find(|row| row.name == BARE && row.threads == walled.threads);
        if let Some(bare) = bare {
            let ratio = walled.ns_per_particle() / bare.ns_per_particle();
            text += &format!(
                "A particle of {WALLED} costs {ratio:.2} times one of {BARE} on {} threads\n",
                walled.threads
            );
        }
    }
    text
}
