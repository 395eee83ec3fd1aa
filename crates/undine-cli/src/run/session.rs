//! A run in progress: a world and the files it fills.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use undine::atomic::{AtomicFile, Durability, OutputError};
use undine::checkpoint::{CheckpointReader, CheckpointWriter};
use undine::export::Format;
use undine::probe::Probes;
use undine::run_folder::{ProbesCsv, RunFolder, RunReport};
use undine::scene::events_to_toml;
use undine::world::World;

use super::kept::{History, Identity};
use super::outputs::{Outputs, Wanted};
use super::plan::{Plan, push_events};
use super::progress::{Mark, Progress};
use super::{folder, stop};
use crate::args::RunArgs;
use crate::picture::album::Album;
use crate::text::shell;

/// How the computing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At the last frame.
    Done,
    /// On request.
    Stopped,
}

/// A run in progress.
pub struct Session {
    args: RunArgs,
    folder: Arc<RunFolder>,
    world: World,
    identity: Identity,
    /// Of the parts before this one.
    history: History,
    begin: Instant,
    last: u64,
    probes: Probes,
    csv: ProbesCsv,
    outputs: Outputs,
    interval: Duration,
    saved: Instant,
    /// Frame of the checkpoint on disk, or on its way there.
    saved_frame: Option<u64>,
}

impl Session {
    /// Opens all outputs, new or to be continued.
    pub fn open(args: &RunArgs, plan: Plan, begin: Instant) -> Result<Session> {
        let Plan { loaded, events, last, interval, mut world } = plan;
        let folder = Arc::new(folder::open(args, &loaded.name)?);
        let checkpoint = if args.resume { find_checkpoint(&folder, args)? } else { None };
        let resumed = checkpoint.is_some();
        let mut history = History::default();
        let mut identity = Identity {
            name: loaded.name.clone(),
            text: loaded.text.clone(),
            events: events.clone().unwrap_or_default(),
            wanted: Wanted::new(args, None)?,
        };
        if let Some(mut from) = checkpoint {
            let resume = || format!("cannot resume {}", folder.dir().display());
            let kept = Identity::load(&mut from).with_context(resume)?;
            if kept.check_same(&loaded).with_context(resume)? && !args.quiet {
                eprintln!("going on with settings that differ from those of the first part");
            }
            if events.is_some_and(|events| events != kept.events) {
                bail!("cannot resume {}: it was run with other input (--events)", folder.dir().display());
            }
            identity.events = kept.events;
            identity.wanted = Wanted::new(args, Some(&kept.wanted))?;
            history = History::load(&mut from).with_context(resume)?;
            push_events(&mut world, &identity.events).with_context(resume)?;
            world.load(&mut from).with_context(resume)?;
        } else {
            push_events(&mut world, &identity.events)?;
        }
        write_text(&folder.scene_path(), &identity.text)?;
        let probes = Probes::new(world.scene());
        let rows = if resumed { world.clock().frame + 1 } else { 0 };
        let csv = if resumed {
            ProbesCsv::resume(folder.probes_path(), &probes.columns(), rows)?
        } else {
            ProbesCsv::create(folder.probes_path(), &probes.columns())?
        };
        let outputs = Outputs::open(&folder, &identity.wanted, world.scene(), rows)?;
        let saved_frame = resumed.then_some(world.clock().frame);
        let session = Session {
            args: args.clone(),
            folder,
            world,
            identity,
            history,
            begin,
            last,
            probes,
            csv,
            outputs,
            interval,
            saved: Instant::now(),
            saved_frame,
        };
        session.tell_opened(rows);
        Ok(session)
    }

    fn tell_opened(&self, rows: u64) {
        if self.args.quiet {
            return;
        }
        let dir = self.folder.dir().display();
        match rows {
            0 => eprintln!("writing to {dir}"),
            _ => eprintln!("going on from frame {} in {dir}", rows - 1),
        }
        for (missing, what) in self.outputs.missing(rows) {
            eprintln!("note: {missing} earlier frames are not there as {what}");
        }
        if self.csv.missing() > 0 {
            eprintln!("note: {} earlier rows of probes.csv are not there", self.csv.missing());
        }
    }

    /// Computes and writes frame after frame.
    pub fn compute(&mut self) -> Result<Ending> {
        let clock = *self.world.clock();
        if self.saved_frame.is_none() {
            self.write_frame()?;
            self.tell_first_picture();
            self.checkpoint()?;
        } else {
            // If it is killed now, it must not pass for the complete run that it goes on from.
            self.folder.write_report(&self.report(false))?;
        }
        let mut progress = Progress::new(self.args.quiet, clock.frame, self.last, clock.time);
        let mut ending = Ending::Done;
        while self.world.clock().frame < self.last {
            if stop::asked() {
                ending = Ending::Stopped;
                break;
            }
            let steps = self.advance()?;
            self.write_frame()?;
            if self.saved.elapsed() >= self.interval {
                self.checkpoint()?;
            }
            let clock = self.world.clock();
            let particles = self.world.len();
            progress.frame(&Mark { frame: clock.frame, particles, steps, time: clock.time });
        }
        drop(progress);
        if self.saved_frame != Some(self.world.clock().frame) {
            self.checkpoint()?;
        }
        self.outputs.finish_keeping()?;
        Ok(ending)
    }

    /// Steps to the next frame; returns how many steps it took.
    fn advance(&mut self) -> Result<u64> {
        let before = *self.world.clock();
        let Self { world, history, .. } = self;
        if let Err(trouble) = world.advance_frame_seeing(|world| history.step(world.clock().last_step)) {
            bail!(
                "{trouble}\nthe last good state, of frame {}, is kept; go on from it with smaller steps:\n  {}",
                self.saved_frame.unwrap_or(0),
                self.command(Some(&self.smaller_step()))
            );
        }
        Ok(self.world.clock().steps - before.steps)
    }

    fn write_frame(&mut self) -> Result<()> {
        let frame = Arc::new(self.world.frame());
        if self.saved_frame == frame.index.checked_sub(1) {
            // Frames without a checkpoint before them could not be gone on from.
            self.outputs.finish_keeping()?;
        }
        self.outputs.write(self.world.scene(), &frame)?;
        Ok(self.csv.append(frame.time, &self.probes.measure(&frame))?)
    }

    /// Writes the state that goes on after the frames so far; it takes its place once all of these are on the disk.
    fn checkpoint(&mut self) -> Result<()> {
        let mut out = CheckpointWriter::create(self.folder.checkpoint_path())?;
        let saved = self
            .identity
            .save(&mut out)
            .and_then(|()| self.history_so_far().save(&mut out))
            .and_then(|()| self.world.save(&mut out));
        saved.map_err(|error| out.error(error))?;
        // Only now: the last frames are written meanwhile.
        self.outputs.finish()?;
        self.csv.sync()?;
        self.outputs.keep(move || Ok(out.finish()?));
        self.saved = Instant::now();
        self.saved_frame = Some(self.world.clock().frame);
        Ok(())
    }

    fn history_so_far(&self) -> History {
        History {
            wall: self.history.wall + self.begin.elapsed().as_secs_f64(),
            passes: self.history.passes_with(&[self.world.passes(), self.outputs.passes()]),
            ..self.history
        }
    }

    /// Writes the report and the recorded input.
    pub fn close(&mut self, complete: bool) -> Result<RunReport> {
        let report = self.report(complete);
        if let Some(path) = &self.args.record {
            write_text(path, &events_to_toml(self.world.record()))?;
        }
        self.folder.write_report(&report)?;
        Ok(report)
    }

    fn tell_first_picture(&self) {
        let Some(pictures) = self.identity.wanted.pictures.filter(|_| !self.args.quiet) else { return };
        let first = self.folder.picture_path(0, "png");
        let often = match pictures.every {
            1 => "each frame".into(),
            n => format!("every {n} frames"),
        };
        eprintln!("the first picture is {}; one more follows {often}", first.display());
    }

    /// Film, contact sheet and plots of all pictures that are there; a line for people on each.
    pub fn album(&self) -> Result<Vec<String>> {
        let Some(wanted) = self.identity.wanted.pictures else { return Ok(Vec::new()) };
        let scene = self.world.scene();
        let picture =
            |frame: u64| (self.folder.picture_path(frame, "png"), frame as f64 / scene.time.frame_rate);
        let frames = (0..=self.world.clock().frame).step_by(wanted.every as usize);
        let pictures: Vec<_> = frames.map(picture).filter(|p| p.0.exists()).collect();
        let album = Album {
            dir: self.folder.dir(),
            title: if scene.title.is_empty() { &self.identity.name } else { &scene.title },
            pictures: &pictures,
            rate: scene.time.frame_rate / wanted.every as f64,
            probes: self.folder.probes_path(),
        };
        Ok(album.make(self.args.quiet)?.lines())
    }

    fn report(&self, complete: bool) -> RunReport {
        let (clock, scene) = (self.world.clock(), self.world.scene());
        let history = self.history_so_far();
        RunReport {
            scene: self.args.scene.scene.clone(),
            title: scene.title.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            out: self.folder.dir().display().to_string(),
            complete,
            seed: scene.model.seed,
            threads: rayon::current_num_threads(),
            spacing: scene.model.spacing,
            frames: clock.frame,
            steps: clock.steps,
            step_min: if history.step_min.is_finite() { history.step_min } else { 0.0 },
            step_max: history.step_max,
            particles: self.world.len() as u64,
            walls: self.world.wall_particles() as u64,
            simulated: clock.time,
            wall: history.wall,
            passes: history.passes,
        }
    }

    /// The setting that halves the step.
    fn smaller_step(&self) -> String {
        let scene = self.world.scene();
        match scene.time.step {
            Some(step) => format!("time.step={}", 0.5 * step),
            None => format!("model.cfl={}", 0.5 * scene.model.sph.cfl),
        }
    }

    /// The command line that goes on with this run.
    pub fn resume_command(&self) -> String {
        self.command(None)
    }

    fn command(&self, change: Option<&str>) -> String {
        let key = |set: &str| set.split('=').next().unwrap_or("").trim().to_owned();
        let kept = self.args.scene.set.iter().map(String::as_str);
        let sets = kept.filter(|set| change.is_none_or(|change| key(set) != key(change))).chain(change);
        let dir = self.folder.dir().display().to_string();
        let mut words = vec!["undine".into(), "run".into(), shell(&self.args.scene.scene)];
        words.extend(["-o".into(), shell(&dir), "--resume".into()]);
        words.extend(sets.flat_map(|set| ["--set".into(), shell(set)]));
        if let Some(frames) = self.args.frames {
            words.extend(["--frames".into(), frames.to_string()]);
        }
        words.join(" ")
    }
}

/// The checkpoint of a folder to be resumed. A run that was killed before its first checkpoint begins anew.
fn find_checkpoint(folder: &RunFolder, args: &RunArgs) -> Result<Option<CheckpointReader>> {
    let dir = folder.dir().display();
    if folder.checkpoint_path().exists() {
        let reader = CheckpointReader::open(folder.checkpoint_path());
        return Ok(Some(reader.with_context(|| format!("cannot resume {dir}"))?));
    }
    if Format::ALL.iter().any(|format| folder.particles_path(1, format.name()).exists()) {
        bail!("cannot resume {dir}: it holds frames but no checkpoint; choose another folder with -o");
    }
    if !args.quiet {
        eprintln!("{dir} holds no checkpoint: beginning anew");
    }
    Ok(None)
}

fn write_text(path: &Path, text: &str) -> Result<(), OutputError> {
    use std::io::Write;
    AtomicFile::write_with(path, Durability::Process, |out| out.write_all(text.as_bytes()))
}
