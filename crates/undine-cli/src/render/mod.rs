//! `undine render`: pictures and a film of a run that is there.

mod source;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde::Serialize;
use undine::atomic::tidy;
use undine::picture::{ColorBy, Look, Mark};
use undine::scene::{Preset, Scene};
use undine::surface::{Options, build};

use crate::args::MOST_THREADS;
use crate::failure::Usage;
use crate::picture::album::Album;
use crate::picture::{Painter, Size};
use crate::progress::Count;
use crate::text::{duration, print, print_json};
use source::Source;

/// Frames that are looked at for the range of the colours.
const RANGE_FRAMES: usize = 8;

/// `undine render`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    undine render runs/dam-break                              water, 1280x720, each frame\n  \
    undine render runs/dam-break --color speed --every 4      balls in the colours of their speed\n  \
    undine render runs/dam-break --volume fire                glowing, as a volume\n  \
    undine render runs/dam-break --frames 30..90 -o closeup --size 1920x1080\n\n\
    Writes picture_0000.png …, a film (film.mp4 through ffmpeg where it is found, else film.png, an animated PNG),\n\
    contact.png, and probe_NAME.svg for each probe of the run.")]
pub struct RenderArgs {
    /// Folder of a run that has particles as ply, vtp or bgeo
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,

    /// Folder for the pictures [default: that of the run]
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Size of the pictures, pixels
    #[arg(long, value_name = "WxH", default_value_t = Size::default())]
    pub size: Size,

    /// How the fluid is drawn [default: volume where the scene has that table, else water; with --color, particles]
    #[arg(long)]
    pub look: Option<LookName>,

    /// Draw the fluid as a volume with this look, whatever the table `volume` of the scene says
    #[arg(long, value_name = "PRESET", value_parser = clap::builder::PossibleValuesParser::new(Preset::NAMES),
          conflicts_with_all = ["look", "color"])]
    pub volume: Option<String>,

    /// What colours stand for; with the looks particles and surface (speed or fluid)
    #[arg(long)]
    pub color: Option<ColorName>,

    /// First and last frame: 30..90, 30.. or ..90 [default: all]
    #[arg(long, value_name = "A..B")]
    pub frames: Option<Span>,

    /// Draw every Nth of these frames only
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub every: u64,

    /// Number of threads, 1 to 1024; the pictures do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    pub threads: Option<u16>,

    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub json: bool,

    /// No progress, no summary; only errors
    #[arg(long)]
    pub quiet: bool,
}

/// The object of `render --json`.
#[derive(Serialize)]
struct Json {
    out: PathBuf,
    pictures: Vec<PathBuf>,
    size: [usize; 2],
    film: Option<PathBuf>,
    contact: Option<PathBuf>,
    plots: Vec<PathBuf>,
    wall: f64,
}

/// The value of `--look`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LookName {
    /// The surface as clear water
    Water,
    /// The surface as an opaque skin
    Surface,
    /// Balls
    Particles,
    /// Pre-integrated volume, as the table `volume` of the scene says
    Volume,
}

/// The value of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorName {
    /// Speed, m/s
    Speed,
    /// Density, kg/m³
    Density,
    /// Pressure, Pa
    Pressure,
    /// The colour of the fluid
    Fluid,
}

impl ColorName {
    fn by(self) -> ColorBy {
        match self {
            ColorName::Speed => ColorBy::Speed,
            ColorName::Density => ColorBy::Density,
            ColorName::Pressure => ColorBy::Pressure,
            ColorName::Fluid => ColorBy::Fluid,
        }
    }
}

/// The value of `--frames`: first and last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(u64, u64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str, open| if part.is_empty() { Ok(open) } else { part.parse() };
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        match (number(first, 0), number(last.trim_start_matches('='), u64::MAX)) {
            (Ok(first), Ok(last)) if first <= last && !text.is_empty() => Ok(Span(first, last)),
            _ => Err("expected the first and the last frame, such as 30..90, 30.. or ..90".into()),
        }
    }
}

/// `undine render`.
pub fn render(args: &RenderArgs) -> Result<()> {
    // What is wrong in any scene is told before one is read.
    look(args, false)?;
    let begin = Instant::now();
    let source = Source::open(&args.dir)?;
    let look = look(args, source.scene().volume.is_some())?;
    let Span(first, last) = args.frames.unwrap_or(Span(0, u64::MAX));
    let inside = source.frames().filter(|n| (first..=last).contains(n));
    let frames: Vec<u64> = inside.step_by(args.every as usize).collect();
    if frames.is_empty() {
        let (low, high) = source.span();
        return Err(Usage(format!("--frames: {} holds frames {low} to {high}", args.dir.display())).into());
    }
    crate::threads::set(args.threads)?;
    let out = args.out.as_ref().unwrap_or(&args.dir);
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    tidy(out);
    let painter = Painter {
        size: args.size,
        look,
        range: source.range(&frames, look, RANGE_FRAMES)?,
        preset: args.volume.as_deref().and_then(Preset::from_name),
    };
    let pictures = draw(args, &source, &painter, &frames, out)?;
    let album = Album {
        dir: out,
        title: source.title(),
        pictures: &pictures,
        rate: source.scene().time.frame_rate / args.every as f64,
        probes: args.dir.join("probes.csv"),
    };
    let made = album.make(args.quiet)?;
    let wall = begin.elapsed().as_secs_f64();
    if args.json {
        return print_json(&Json {
            out: out.clone(),
            pictures: pictures.into_iter().map(|p| p.0).collect(),
            size: args.size.0,
            film: made.film.map(|film| film.path),
            contact: made.sheet,
            plots: made.plots,
            wall,
        });
    }
    if args.quiet {
        return Ok(());
    }
    let mut text = format!("{} pictures of {} in {}\n", pictures.len(), args.size, duration(wall));
    made.lines().iter().for_each(|line| text += &format!("{line}\n"));
    print(&format!("{text}The files are in {}\n", out.display()))
}

/// How the fluid is drawn; `as_volume` where the scene asks for that.
fn look(args: &RenderArgs, as_volume: bool) -> Result<Look> {
    let by = args.color.map(ColorName::by);
    let usual = match by {
        Some(_) => LookName::Particles,
        None if args.volume.is_none() && !as_volume => LookName::Water,
        None => LookName::Volume,
    };
    let look = args.look.unwrap_or(usual);
    match (look, by) {
        (LookName::Water, None) => Ok(Look::Water),
        (LookName::Volume, None) => Ok(Look::Volume),
        (LookName::Water, Some(_)) => {
            Err(Usage("--look water has no --color; take surface or particles".into()).into())
        }
        (LookName::Volume, Some(_)) => {
            Err(Usage("--look volume has no --color; take surface or particles".into()).into())
        }
        (LookName::Surface, Some(ColorBy::Density | ColorBy::Pressure)) => {
            let what = "--look surface knows the colours speed and fluid; take --look particles";
            Err(Usage(what.into()).into())
        }
        (LookName::Surface, by) => Ok(Look::Surface(by.unwrap_or(ColorBy::Fluid))),
        (LookName::Particles, by) => {
            Ok(Look::Particles { mark: Mark::Balls, by: by.unwrap_or(ColorBy::Speed) })
        }
    }
}

fn draw(
    args: &RenderArgs,
    source: &Source,
    painter: &Painter,
    frames: &[u64],
    out: &std::path::Path,
) -> Result<Vec<(PathBuf, f64)>> {
    let scene: &Scene = source.scene();
    let options = Options::of_scene(scene);
    let progress = Count::new(args.quiet, "pictures", frames.len() as u64);
    let mut pictures = Vec::new();
    for &number in frames {
        let frame = source.read(number)?;
        let surface = match painter.needs_surface() {
            true => Some(build(&frame, &options).with_context(|| format!("no surface of frame {number}"))?.0),
            false => None,
        };
        let path = out.join(format!("picture_{number:04}.png"));
        painter.draw(scene, &frame, surface.as_ref())?.save_png(&path)?;
        if pictures.is_empty() {
            progress.say(&format!("the first picture is {}", path.display()));
        }
        progress.done(&format!("t = {:.2} s", frame.time));
        pictures.push((path, frame.time));
    }
    Ok(pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_frames_reads() {
        let span = |text: &str| text.parse::<Span>();
        assert_eq!(span("3..9"), Ok(Span(3, 9)));
        assert_eq!(span("3.."), Ok(Span(3, u64::MAX)));
        assert_eq!(span("..9"), Ok(Span(0, 9)));
        assert_eq!(span("7"), Ok(Span(7, 7)));
        for wrong in ["", "9..3", "a..b", "1..2..3", "-1..2"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }
}
