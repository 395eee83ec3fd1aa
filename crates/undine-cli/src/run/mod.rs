//! `undine run`: everything is checked, then outputs are opened, then it computes.

mod folder;
mod kept;
mod plan;
mod progress;
mod session;
mod stop;
mod summary;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::args::RunArgs;
use crate::failure::Usage;
use session::{Ending, Session};

/// Runs a scene as the command line asks.
pub fn run(args: &RunArgs) -> Result<()> {
    let begin = Instant::now();
    refuse_unbuilt(args)?;
    crate::threads::set(args.threads)?;
    let plan = plan::Plan::new(args)?;
    let mut session = Session::open(args, plan, begin)?;
    stop::listen()?;
    let ending = session.compute();
    let report = session.close(ending.as_ref().is_ok_and(|e| *e == Ending::Done));
    match ending? {
        Ending::Done => summary::print(args, &report?),
        Ending::Stopped => {
            let report = report?;
            bail!("stopped after frame {}; go on with:\n  {}", report.frames, session.resume_command())
        }
    }
}

fn refuse_unbuilt(args: &RunArgs) -> Result<()> {
    for (asked, option) in [(args.surface, "--surface"), (args.pictures, "--pictures")] {
        if asked {
            return Err(Usage(format!("{option} is not built in this version")).into());
        }
    }
    Ok(())
}
