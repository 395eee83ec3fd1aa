//! The command line: every option with its unit.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use undine::export::{Format, FormatError};

use crate::picture::Size;

/// Threads that may be asked for; more is a slip of the finger.
pub const MOST_THREADS: u16 = 1024;

/// Undine: a scene file becomes moving water.
#[derive(Debug, Parser)]
#[command(
    name = "undine",
    version,
    about = "Fluid simulation: a scene file becomes moving water",
    after_help = "SCENE is a TOML file or the name of a built-in scene (`undine scenes`).\n\
                  Without a command, the default scene `dam-break` is run and drawn.\n\
                  Exit code: 0 done, 1 failed or stopped, 2 wrong usage or wrong scene."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Live window (not built in this version)
    View(ViewArgs),
    /// Compute frames, probes and checkpoints of a scene
    Run(RunArgs),
    /// Pre-flight: counts, memory, step, overlaps, thin walls, time estimate
    Check(CheckArgs),
    /// Particles to mesh, for anyone's particles
    Surface(crate::surface::SurfaceArgs),
    /// Pictures and film of a run
    Render(crate::render::RenderArgs),
    /// List the built-in scenes
    Scenes(JsonArgs),
    /// Print the JSON Schema of the scene file
    Schema,
    /// Time the papers' tables on this machine, beside the papers' own numbers
    Bench(BenchArgs),
    /// Measure the models against references, with errors and plots
    Validate(crate::validate::ValidateArgs),
}

/// `undine view`.
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Scene file or built-in name
    pub scene: Option<String>,
}

/// `--json` alone.
#[derive(Debug, Args)]
pub struct JsonArgs {
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// A scene and its overrides.
#[derive(Clone, Debug, Args)]
pub struct SceneArgs {
    /// Scene file or built-in name (`undine scenes`)
    pub scene: String,

    /// Override a key of the scene, in the units of the scene file (m, s, kg); may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `undine run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    undine run dam-break                                   frames to runs/dam-break\n  \
    undine run dam-break -o out --export ply,vtp           for Blender and for ParaView\n  \
    undine run dam-break --surface --pictures --size 640x360 --every 4   meshes, and pictures of every 4th frame\n  \
    undine run dam-break --export usda,pov --surface       for Houdini, Blender and POV-Ray\n  \
    undine run dam-break --set model.spacing=0.01          finer: half the spacing\n  \
    undine run my.toml --set fluid.water.viscosity=0.1     another viscosity, Pa s\n  \
    undine run my.toml -o out --resume --frames 600        go on, up to frame 600\n\n\
    A run folder holds scene.toml (as run), particles_0000.ply …, surface_0000.ply …, picture_0000.png …, probes.csv,\n\
    checkpoint and run.json.\n\
    Ctrl-C finishes the frame, writes a checkpoint and says how to resume; a second Ctrl-C ends at once.\n\
    A checkpoint is written about every 20 s; UNDINE_CHECKPOINT_SECONDS changes that (0: each frame).")]
pub struct RunArgs {
    /// The scene
    #[command(flatten)]
    pub scene: SceneArgs,

    /// Folder for the frames [default: runs/NAME, or runs/NAME-2 … if that holds another run]
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Last frame to compute, counted from frame 0, the start [default: duration × frame_rate of the scene]
    #[arg(long, value_name = "N")]
    pub frames: Option<u64>,

    /// Number of threads, 1 to 1024; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    pub threads: Option<u16>,

    /// Formats: a list of ply, obj, vtp, bgeo, usda, glb, pov, rad, mitsuba; or none. Those that hold surfaces only
    /// (obj, glb, pov, rad, mitsuba) imply --surface [default: ply]
    #[arg(long, value_name = "LIST")]
    pub export: Option<Formats>,

    /// Write the surface of each frame, in all formats that hold surfaces
    #[arg(long)]
    pub surface: bool,

    /// Draw pictures; at the end a film, a contact sheet and plots of the probes
    #[arg(long)]
    pub pictures: bool,

    /// Size of the pictures, pixels [default: 1280x720]
    #[arg(long, value_name = "WxH", requires = "pictures")]
    pub size: Option<Size>,

    /// Draw a picture of every Nth frame only [default: 1]
    #[arg(long, value_name = "N", requires = "pictures", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub every: Option<u64>,

    /// Continue the run in the folder from its checkpoint
    #[arg(long)]
    pub resume: bool,

    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub json: bool,

    /// No progress, no summary; only errors
    #[arg(long)]
    pub quiet: bool,

    /// Play back recorded input: a TOML file of `[[event]]` entries (times in s), as --record writes
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,

    /// Write the input that took effect, with the times it did, to a file for --events
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// `undine check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The scene
    #[command(flatten)]
    pub scene: SceneArgs,

    /// Number of threads that the time estimate is for, 1 to 1024 [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    pub threads: Option<u16>,

    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// `undine bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Which table [default: mueller, horvath, surface, bayraktar, lee and genevaux]
    pub table: Option<BenchTable>,

    /// Steps (or surfaces) to time, after a warm-up
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub steps: u64,

    /// How often the same steps are timed; the quickest round is shown, and how long the slowest took
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub rounds: u64,

    /// Numbers of threads, 1 to 1024; a list such as 1,2 gives a row for each [default: all cores]
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    pub threads: Vec<u16>,

    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// The tables of `undine bench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchTable {
    /// Müller 2003, section 6: swirl, splash, pour
    Mueller,
    /// Horváth 2012, column SIM: 15 to 60 thousand particles
    Horvath,
    /// Horváth 2012, columns MC and NI: the surfaces of these particles
    Surface,
    /// Bayraktar 2010: scenes of boundary particles, and one of them without
    Bayraktar,
    /// Lee 2005: water from a bottle to a cup, while it pours
    Lee,
    /// Génevaux 2003, Table 1: liquid on a grid with mass-spring solids, and its surfaces
    Genevaux,
    /// A dam break of 15 thousand to 1 million particles
    Scale,
}

/// The value of `--export`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formats(pub Vec<Format>);

impl FromStr for Formats {
    type Err = FormatError;

    fn from_str(list: &str) -> Result<Self, FormatError> {
        Format::parse_list(list).map(Formats)
    }
}

impl Formats {
    /// As it would be given on the command line.
    pub fn to_list(&self) -> String {
        if self.0.is_empty() {
            return "none".into();
        }
        self.0.iter().map(|format| format.name()).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_list_of_formats_reads_back() {
        for list in ["none", "ply", "vtp,bgeo", "ply,obj,vtp,bgeo,usda,pov"] {
            assert_eq!(list.parse::<Formats>().unwrap().to_list(), list);
        }
        assert!("pny".parse::<Formats>().is_err());
    }
}
