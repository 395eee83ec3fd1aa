//! Ctrl-C: the first one asks the run to stop after the frame, the second one ends it.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Begins to listen to Ctrl-C and the system's wish to end the program.
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
        eprintln!("\nstopping after this frame; Ctrl-C again ends at once");
    })
    .context("cannot listen to Ctrl-C")
}

/// Whether the run should stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
