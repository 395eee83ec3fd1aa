//! What a finished run tells.

use anyhow::Result;
use serde::Serialize;
use undine::run_folder::RunReport;

use crate::args::RunArgs;
use crate::text::{Align, Pairs, aligned, count, duration, print as print_text, print_json};

/// The object of `run --json`.
#[derive(Serialize)]
struct Json<'a> {
    scene: &'a str,
    out: &'a str,
    frames: u64,
    steps: u64,
    particles: u64,
    walls: u64,
    simulated: f64,
    wall: f64,
    passes: Pairs<'a>,
    threads: usize,
}

/// Prints the summary for people or for programs; `album` tells of what was made of the pictures.
pub fn print(args: &RunArgs, report: &RunReport, album: &[String]) -> Result<()> {
    if args.json {
        return print_json(&Json {
            scene: &report.scene,
            out: &report.out,
            frames: report.frames,
            steps: report.steps,
            particles: report.particles,
            walls: report.walls,
            simulated: report.simulated,
            wall: report.wall,
            passes: Pairs(&report.passes),
            threads: report.threads,
        });
    }
    if args.quiet { Ok(()) } else { print_text(&for_people(report, album)) }
}

fn for_people(report: &RunReport, album: &[String]) -> String {
    let mut text = format!(
        "{}: {:.3} s simulated in {}, {} frames, {} steps of {:.3} to {:.3} ms, {} particles, {} threads\n\n",
        if report.title.is_empty() { &report.scene } else { &report.title },
        report.simulated,
        duration(report.wall),
        count(report.frames),
        count(report.steps),
        1e3 * report.step_min,
        1e3 * report.step_max,
        count(report.particles),
        report.threads,
    );
    let total: f64 = report.passes.iter().map(|pass| pass.1).sum();
    let steps = report.steps.max(1) as f64;
    let mut rows = vec![["pass", "time", "share", "ms a step"].map(String::from).to_vec()];
    for (name, seconds) in &report.passes {
        rows.push(vec![
            name.clone(),
            duration(*seconds),
            format!("{:.1} %", 100.0 * seconds / total.max(1e-12)),
            format!("{:.3}", 1e3 * seconds / steps),
        ]);
    }
    text += &aligned(&[Align::Left], &rows);
    text.push('\n');
    for line in album {
        text += line;
        text.push('\n');
    }
    text + &format!("The files are in {}\n", report.out)
}
