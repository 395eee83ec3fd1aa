//! How far work over many files is: a bar on a terminal, else a line now and then; always on stderr.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::text::duration;

/// Wall time between lines when stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Counts pieces of work that are done, from any thread.
pub struct Count {
    bar: Option<ProgressBar>,
    what: &'static str,
    total: u64,
    done: AtomicU64,
    begin: Instant,
    told: Mutex<Instant>,
    lines: bool,
}

impl Count {
    /// Progress over `total` pieces called `what`.
    pub fn new(quiet: bool, what: &'static str, total: u64) -> Self {
        let terminal = stderr().is_terminal();
        let bar = (!quiet && terminal).then(|| {
            let bar = ProgressBar::new(total);
            let template = format!("{{bar:24}} {{pos}}/{{len}} {what}  {{msg}}  ETA {{eta}}");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let begin = Instant::now();
        let told = Mutex::new(begin);
        Count { bar, what, total, done: AtomicU64::new(0), begin, told, lines: !quiet && !terminal }
    }

    /// One more is done.
    pub fn done(&self, message: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.set_message(message.to_owned());
        } else if self.lines && done < self.total {
            let Ok(mut told) = self.told.try_lock() else { return };
            if told.elapsed() >= LINE_EVERY {
                *told = Instant::now();
                let left = self.begin.elapsed().as_secs_f64() / done as f64 * (self.total - done) as f64;
                eprintln!("{done}/{} {}  {message}  about {} left", self.total, self.what, duration(left));
            }
        }
    }

    /// A line for people that does not break the bar.
    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None if self.lines => eprintln!("{line}"),
            None => {}
        }
    }
}

/// Takes the bar away, so that messages have the terminal for themselves.
impl Drop for Count {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
