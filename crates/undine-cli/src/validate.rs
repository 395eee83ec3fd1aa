//! `undine validate`: measured against references.

use std::path::{Path, PathBuf};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use undine::validate::{self as cases, Case, Check, Outcome};

use crate::failure::Usage;
use crate::text::{print, print_json};

/// Measures the models against references, with errors and plots.
#[derive(clap::Args, Debug)]
pub struct ValidateArgs {
    /// Only this case (all when not given)
    pub case: Option<String>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
    /// Coarse and short, with looser gates: what the tests run
    #[arg(long)]
    pub quick: bool,
    /// Write plots as SVG into this folder
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Runs the command. Exit code 1 when a check fails, 2 when there is no such case.
pub fn validate(args: &ValidateArgs) -> anyhow::Result<()> {
    let cases: Vec<&Case> = match &args.case {
        None => cases::cases().iter().collect(),
        Some(name) => match cases::find(name) {
            Some(case) => vec![case],
            None => {
                return Err(Usage(unknown(name)).into());
            }
        },
    };
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    }
    let mut checks: Vec<Check> = Vec::new();
    if !args.json {
        print(&header())?;
    }
    for case in cases {
        let outcome = watch(case, args);
        if let Some(dir) = &args.out {
            write_plots(dir, &outcome)?;
        }
        if !args.json {
            for check in &outcome.checks {
                print(&row(check))?;
            }
        }
        checks.extend(outcome.checks);
    }
    let failed = checks.iter().filter(|c| !c.pass).count();
    if args.json {
        print_json(&json!({ "cases": checks.iter().map(to_json).collect::<Vec<_>>() }))?;
    } else {
        print(&format!("{} of {} checks pass\n", checks.len() - failed, checks.len()))?;
    }
    anyhow::ensure!(failed == 0, "{failed} of {} checks fail", checks.len());
    Ok(())
}

/// Runs one case with a progress bar on stderr (which hides itself when that is no terminal).
fn watch(case: &Case, args: &ValidateArgs) -> Outcome {
    let bar = if args.json { ProgressBar::hidden() } else { ProgressBar::new(1000) };
    if let Ok(style) = ProgressStyle::with_template("{msg:16} {bar:40} {percent:>3}% {elapsed} (left {eta})")
    {
        bar.set_style(style);
    }
    bar.set_message(case.name);
    let outcome = cases::run(case, args.quick, &mut |share| bar.set_position((1000.0 * share) as u64));
    bar.finish_and_clear();
    outcome
}

fn write_plots(dir: &Path, outcome: &Outcome) -> anyhow::Result<()> {
    for (name, plot) in &outcome.plots {
        let path = dir.join(format!("{name}.svg"));
        std::fs::write(&path, plot.to_svg()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = cases::cases().iter().map(|c| c.name).collect();
    match cases::nearest_name(name) {
        Some(near) => format!("there is no case `{name}`; did you mean `{near}`?"),
        None => format!("there is no case `{name}`; there are {}", names.join(", ")),
    }
}

fn header() -> String {
    format!(
        "{:<15} {:<5} {:>10} {:>10} {:>9} {:>8} {:<4}  {}\n",
        "case", "model", "measured", "reference", "error", "gate", "pass", "what"
    )
}

fn row(c: &Check) -> String {
    format!(
        "{:<15} {:<5} {:>10} {:>10} {:>9} {:>8} {:<4}  {}\n",
        c.case,
        c.model,
        number(c.measured),
        number(c.reference),
        number(c.error),
        number(c.gate),
        if c.pass { "yes" } else { "NO" },
        c.what
    )
}

/// Five significant digits, with a power of ten where that is shorter.
fn number(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 || !v.is_finite() {
        format!("{v}")
    } else if !(1e-3..1e6).contains(&size) {
        format!("{v:.2e}")
    } else {
        let digits = (4 - size.log10().floor() as i32).clamp(0, 5) as usize;
        format!("{v:.digits$}")
    }
}

fn to_json(c: &Check) -> serde_json::Value {
    json!({
        "case": c.case,
        "model": c.model,
        "what": c.what,
        "measured": c.measured,
        "reference": c.reference,
        "error": c.error,
        "gate": c.gate,
        "pass": c.pass,
    })
}
