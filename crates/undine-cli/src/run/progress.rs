//! How far a run is: a bar on a terminal, else a line now and then; always on stderr.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::text::{count, duration};

/// Wall time between lines when stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// What a frame tells of itself.
pub struct Mark {
    /// Its number.
    pub frame: u64,
    /// Particles.
    pub particles: usize,
    /// Steps it took.
    pub steps: u64,
    /// Simulated time, s.
    pub time: f64,
}

/// The progress of a run.
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    first: u64,
    last: u64,
    begin: Instant,
    begin_time: f64,
    told: Instant,
}

impl Progress {
    /// Progress from frame `first`, at `time` s, to frame `last`.
    pub fn new(quiet: bool, first: u64, last: u64, time: f64) -> Self {
        let is_terminal = stderr().is_terminal();
        let now = Instant::now();
        let bar = (!quiet && is_terminal).then(|| bar(first, last));
        Progress { bar, lines: !quiet && !is_terminal, first, last, begin: now, begin_time: time, told: now }
    }

    /// A frame is done.
    pub fn frame(&mut self, mark: &Mark) {
        if let Some(bar) = &self.bar {
            bar.set_position(mark.frame);
            bar.set_message(self.message(mark));
        } else if self.lines && self.told.elapsed() >= LINE_EVERY {
            self.told = Instant::now();
            let done = mark.frame.saturating_sub(self.first).max(1) as f64;
            let left =
                self.begin.elapsed().as_secs_f64() / done * self.last.saturating_sub(mark.frame) as f64;
            let message = self.message(mark);
            eprintln!("frame {}/{}  {message}  about {} left", mark.frame, self.last, duration(left));
        }
    }

    fn message(&self, mark: &Mark) -> String {
        let wall = self.begin.elapsed().as_secs_f64().max(1e-9);
        format!(
            "{} particles, {} steps a frame, {:.2} s simulated, {:.3} s a second",
            count(mark.particles as u64),
            mark.steps,
            mark.time,
            (mark.time - self.begin_time) / wall
        )
    }
}

/// Takes the bar away, so that messages have the terminal for themselves.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(first: u64, last: u64) -> ProgressBar {
    let bar = ProgressBar::new(last);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} frame {pos}/{len}  {msg}  ETA {eta}") {
        bar.set_style(style);
    }
    bar.set_position(first);
    bar.reset_eta();
    // The clock of the bar goes on while a long frame is computed.
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
