//! `undine run`: everything is checked, then outputs are opened, then it computes.

mod folder;
mod kept;
mod outputs;
mod plan;
mod progress;
mod session;
mod stop;
mod summary;
mod worker;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::args::RunArgs;
use session::{Ending, Session};

/// Runs a scene as the command line asks.
pub fn run(args: &RunArgs) -> Result<()> {
    let begin = Instant::now();
    crate::threads::set(args.threads)?;
    let plan = plan::Plan::new(args)?;
    let mut session = Session::open(args, plan, begin)?;
    stop::listen()?;
    let ending = session.compute();
    let report = session.close(ending.as_ref().is_ok_and(|e| *e == Ending::Done));
    let ending = ending?;
    let report = report?;
    let album = session.album().unwrap_or_else(|error| {
        // The run itself is whole; `undine render` can try again.
        vec![format!("no film or contact sheet: {}", crate::failure::message(&error))]
    });
    if ending == Ending::Done {
        return summary::print(args, &report, &album);
    }
    if !args.quiet {
        album.iter().for_each(|line| eprintln!("{line}"));
    }
    bail!("stopped after frame {}; go on with:\n  {}", report.frames, session.resume_command())
}
