//! `undine surface`: anyone's particles become meshes.

mod files;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;
use undine::atomic::{AtomicFile, Durability};
use undine::export::{Format, Shot, Stage, write_surface};
use undine::frame::Frame;
use undine::import::read_particles;
use undine::scene::aabb::Aabb;
use undine::surface::{Method, Options, Surface, build, estimate_spacing};

use crate::args::MOST_THREADS;
use crate::failure::Usage;
use crate::progress::Count;
use crate::text::{Pairs, count, duration, print, print_json};
use files::Job;

/// Formats that stand alone in one file.
const FORMATS: [Format; 5] = [Format::Ply, Format::Obj, Format::Vtp, Format::Glb, Format::Usda];

/// `undine surface`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    undine surface water.ply -o water.obj                    the spacing is estimated\n  \
    undine surface frames_{}.ply -o mesh_{}.obj --spacing 0.02\n  \
    undine surface a.vtk b.xyz -o '{}_mesh.ply'              {} is the name without its ending\n\n\
    {} stands for the changing part of the names of a sequence, such as a number.")]
pub struct SurfaceArgs {
    /// Particles: PLY, VTP, VTU, VTK, BGEO, XYZ or NPY; {} in a name stands for a sequence
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Mesh to write: .ply, .obj, .vtp, .glb or .usda; with {} for a sequence
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: PathBuf,

    /// Spacing of the particles at rest, in the unit of the files [default: estimated from the first file]
    #[arg(long, value_name = "S")]
    pub spacing: Option<f64>,

    /// Cell edge, × spacing, 0.05 to 10. Raising it coarsens the surface and costs less
    #[arg(long, value_name = "C", default_value_t = 0.5)]
    pub cell: f64,

    /// Isofunction
    #[arg(long, value_name = "NAME", default_value = "anisotropic",
          value_parser = clap::builder::PossibleValuesParser::new(Method::NAMES))]
    pub method: String,

    /// The bare surface of the method: no smoothing, slivers kept, no droplets
    #[arg(long)]
    pub plain: bool,

    /// Number of threads, 1 to 1024; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    pub threads: Option<u16>,

    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub json: bool,

    /// No progress, no summary; only errors
    #[arg(long)]
    pub quiet: bool,
}

/// What was made, of one file or of all.
#[derive(Default)]
struct Made {
    particles: u64,
    vertices: u64,
    triangles: u64,
    /// Seconds by pass, of all threads.
    passes: Vec<(String, f64)>,
}

impl Made {
    fn add(mut self, other: Made) -> Made {
        self.particles += other.particles;
        self.vertices += other.vertices;
        self.triangles += other.triangles;
        for (name, seconds) in other.passes {
            self.pass(&name, seconds);
        }
        self
    }

    fn pass(&mut self, name: &str, seconds: f64) {
        match self.passes.iter_mut().find(|pass| pass.0 == name) {
            Some(pass) => pass.1 += seconds,
            None => self.passes.push((name.to_owned(), seconds)),
        }
    }
}

/// The object of `surface --json`.
#[derive(Serialize)]
struct Json<'a> {
    particles: u64,
    vertices: u64,
    triangles: u64,
    wall: f64,
    passes: Pairs<'a>,
}

/// `undine surface`.
pub fn surface(args: &SurfaceArgs) -> Result<()> {
    let begin = Instant::now();
    let format = format_of(&args.out)?;
    let jobs = files::jobs(&args.files, &args.out)?;
    check_folders(&jobs)?;
    crate::threads::set(args.threads)?;
    let options = options(args, &jobs)?;
    let progress = Count::new(args.quiet || jobs.len() < 2, "files", jobs.len() as u64);
    let made: Result<Vec<Made>> = jobs
        .par_iter()
        .with_max_len(1)
        .map(|job| {
            let made = convert(job, format, &options)?;
            progress.done(&job.output.display().to_string());
            Ok(made)
        })
        .collect();
    drop(progress);
    let made = made?.into_iter().fold(Made::default(), Made::add);
    tell(args, &jobs, &made, begin.elapsed().as_secs_f64())
}

fn format_of(out: &Path) -> Result<Format> {
    let ending = out.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    FORMATS.into_iter().find(|format| format.extension() == ending).ok_or_else(|| {
        let valid = FORMATS.map(|format| format!(".{}", format.extension())).join(", ");
        Usage(format!("{}: the ending of the mesh must be one of {valid}", out.display())).into()
    })
}

fn check_folders(jobs: &[Job]) -> Result<()> {
    for job in jobs {
        let folder = job.output.parent().filter(|f| !f.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|f| !f.is_dir()) {
            return Err(
                Usage(format!("{}: there is no folder {}", job.output.display(), folder.display())).into()
            );
        }
    }
    Ok(())
}

fn options(args: &SurfaceArgs, jobs: &[Job]) -> Result<Options> {
    let method = Method::from_name(&args.method).unwrap_or_default();
    let base = if args.plain { Options::plain(method) } else { Options { method, ..Options::default() } };
    if !(0.05..=10.0).contains(&args.cell) {
        return Err(Usage(format!("--cell {}: expected 0.05 to 10 spacings", args.cell)).into());
    }
    let spacing = match args.spacing {
        Some(spacing) if spacing > 0.0 && spacing.is_finite() => spacing,
        Some(spacing) => return Err(Usage(format!("--spacing {spacing}: expected a length above 0")).into()),
        None => estimate(args, jobs)?,
    };
    Ok(Options { spacing: Some(spacing), cell: args.cell, ..base })
}

/// The spacing of the first file that tells one, for all: else a sequence would flicker.
fn estimate(args: &SurfaceArgs, jobs: &[Job]) -> Result<f64> {
    for job in jobs {
        let particles = read_particles(&job.input)?;
        if let Some(spacing) = estimate_spacing(&particles.position) {
            let rounded = three_digits(spacing);
            if !args.quiet {
                eprintln!("spacing {rounded} estimated from {}; --spacing sets it", job.input.display());
            }
            return Ok(rounded);
        }
    }
    Err(Usage("the spacing cannot be estimated from these particles: give it with --spacing".into()).into())
}

/// Rounded so that what is said is what is used.
fn three_digits(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}

fn convert(job: &Job, format: Format, options: &Options) -> Result<Made> {
    let mut made = Made::default();
    let begin = Instant::now();
    let particles = read_particles(&job.input)?;
    made.pass("read", begin.elapsed().as_secs_f64());
    let spacing = options.spacing.unwrap_or(1.0);
    let frame = Frame { spacing, support: 2.0 * spacing, particles, ..Frame::default() };
    let (surface, passes) =
        build(&frame, options).with_context(|| format!("cannot surface {}", job.input.display()))?;
    passes.times().iter().for_each(|(name, seconds)| made.pass(name, *seconds));
    let begin = Instant::now();
    let stage = Stage::around(bounds(&surface));
    let shot = Shot { frame: &frame, surface: &surface, stage: &stage };
    AtomicFile::write_with(&job.output, Durability::Process, |out| write_surface(format, &shot, out))?;
    made.pass("write", begin.elapsed().as_secs_f64());
    made.particles = frame.particles.len() as u64;
    made.vertices = surface.position.len() as u64;
    made.triangles = surface.triangles.len() as u64;
    Ok(made)
}

fn bounds(surface: &Surface) -> Aabb {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for p in &surface.position {
        let p = DVec3::from(p.map(f64::from));
        (low, high) = (low.min(p), high.max(p));
    }
    if surface.position.is_empty() { Aabb::new(DVec3::ZERO, DVec3::ONE) } else { Aabb::new(low, high) }
}

fn tell(args: &SurfaceArgs, jobs: &[Job], made: &Made, wall: f64) -> Result<()> {
    let &Made { particles, vertices, triangles, ref passes } = made;
    if args.json {
        return print_json(&Json { particles, vertices, triangles, wall, passes: Pairs(passes) });
    }
    if args.quiet {
        return Ok(());
    }
    let what = match jobs {
        [job] => job.output.display().to_string(),
        _ => format!("{} files {}", jobs.len(), args.out.display()),
    };
    print(&format!(
        "{what}: {} particles, {} vertices, {} triangles in {}\n",
        count(particles),
        count(vertices),
        count(triangles),
        duration(wall)
    ))
}
