//! What a run writes of each frame: particles, surface, picture.
//!
//! The files of a frame are written, and its surface is built, while the next two are computed: at most two frames wait. With one the
//! run stood still where the steps of a surface that one thread does met the end of a frame (2.31 -> 2.22 s for 25 of a dam break).
//! Another thread makes sure that they are on the disk: it took 175 ms for 25 frames of 4.7 MB when a checkpoint did so.

use std::fs::File;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use undine::atomic::OutputError;
use undine::export::{Format, RunExports, Stage};
use undine::frame::Frame;
use undine::models::Passes;
use undine::run_folder::RunFolder;
use undine::scene::Scene;
use undine::surface::{self, Options, Surface};

use crate::args::{Formats, RunArgs};
use crate::failure::Usage;
use crate::picture::{Painter, Size};

use super::worker::Worker;

/// What is to be written of each frame. A checkpoint keeps it as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Formats of particles, surfaces, solids and walls.
    pub formats: Formats,
    /// Whether surfaces are written.
    pub surface: bool,
    /// The pictures.
    pub pictures: Option<Pictures>,
}

/// Which pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pictures {
    /// Width and height.
    pub size: Size,
    /// Of every how many frames one is drawn.
    pub every: u64,
}

impl Wanted {
    /// What the command line asks for; what it leaves open is as in the run that is continued, else the default.
    pub fn new(args: &RunArgs, kept: Option<&Wanted>) -> Result<Self> {
        let kept_formats = kept.map_or(Formats(vec![Format::Ply]), |k| k.formats.clone());
        let formats = args.export.clone().unwrap_or(kept_formats);
        let kept_pictures = kept.and_then(|k| k.pictures);
        let pictures = if args.pictures {
            let before = kept_pictures.unwrap_or(Pictures { size: Size::default(), every: 1 });
            let (size, every) = (args.size.unwrap_or(before.size), args.every.unwrap_or(before.every));
            Some(Pictures { size, every })
        } else {
            kept_pictures
        };
        // A format that holds surfaces and nothing else is of no use without one.
        let implied = formats.0.iter().any(|format| !format.writes_particles());
        let surface = args.surface || implied || kept.is_some_and(|k| k.surface);
        if args.surface && !formats.0.iter().any(|format| format.writes_surfaces()) {
            let what = format!("--surface with --export {}: that holds no surfaces", formats.to_list());
            return Err(Usage(what).into());
        }
        Ok(Wanted { formats, surface, pictures })
    }

    /// As text.
    pub fn to_text(&self) -> String {
        let mut text = self.formats.to_list();
        if self.surface {
            text += " surface";
        }
        if let Some(Pictures { size, every }) = &self.pictures {
            text += &format!(" pictures={size}/{every}");
        }
        text
    }
}

impl FromStr for Wanted {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split(' ');
        let formats = words.next().ok_or(())?.parse().map_err(|_| ())?;
        let mut wanted = Wanted { formats, surface: false, pictures: None };
        for word in words {
            match word.split_once('=') {
                None if word == "surface" => wanted.surface = true,
                Some(("pictures", value)) => {
                    let (size, every) = value.split_once('/').ok_or(())?;
                    let every = every.parse().ok().filter(|n| *n > 0).ok_or(())?;
                    wanted.pictures = Some(Pictures { size: size.parse().map_err(|_| ())?, every });
                }
                _ => return Err(()),
            }
        }
        Ok(wanted)
    }
}

/// The files of a run in progress.
pub struct Outputs {
    wanted: Wanted,
    folder: Arc<RunFolder>,
    exports: Arc<Mutex<RunExports>>,
    surface: Arc<Options>,
    passes: Passes,
    /// What was done while the run went on, since it was last asked.
    aside: Arc<Mutex<Passes>>,
    writer: Worker,
    /// Makes files outlive a power cut, in the order they were written.
    keeper: Arc<Worker>,
}

impl Outputs {
    /// Opens them; the frames before `next` are there.
    pub fn open(folder: &Arc<RunFolder>, wanted: &Wanted, scene: &Scene, next: u64) -> Result<Self> {
        let exports = RunExports::open(folder, &wanted.formats.0, Stage::new(scene), next)?;
        Ok(Outputs {
            wanted: wanted.clone(),
            folder: folder.clone(),
            exports: Arc::new(Mutex::new(exports)),
            surface: Arc::new(Options::of_scene(scene)),
            passes: Passes::default(),
            aside: Arc::default(),
            writer: Worker::new("writer")?,
            keeper: Arc::new(Worker::new("keeper")?),
        })
    }

    /// Seconds that the run spent on them; while files are written it goes on. And those that surfaces took, meanwhile or not.
    pub fn passes(&self) -> &Passes {
        &self.passes
    }

    /// Writes a frame, the files of which may follow later.
    pub fn write(&mut self, scene: &Scene, frame: &Arc<Frame>) -> Result<()> {
        let pictures = self.wanted.pictures.filter(|p| frame.index.is_multiple_of(p.every));
        let painter = pictures.map(|p| Painter::of_scene(scene, p.size));
        let (exports, folder, shown) = (self.exports.clone(), self.folder.clone(), frame.clone());
        let Some(painter) = painter else {
            let (aside, options) = (self.aside.clone(), self.wanted.surface.then(|| self.surface.clone()));
            return self.later(move || {
                let mut passes = Passes::default();
                let surface = options.map(|options| build(&shown, &options, &mut passes)).transpose()?;
                let mut aside = aside.lock().unwrap_or_else(PoisonError::into_inner);
                passes.times().iter().for_each(|(name, seconds)| aside.add(name, *seconds));
                drop(aside);
                let mut exports = exports.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(exports.write(&folder, &shown, surface.as_ref())?)
            });
        };
        // A picture needs its surface now.
        let surface = if self.wanted.surface || painter.needs_surface() {
            Some(Arc::new(build(frame, &self.surface, &mut self.passes)?))
        } else {
            None
        };
        let written = surface.clone().filter(|_| self.wanted.surface);
        self.later(move || {
            let mut exports = exports.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(exports.write(&folder, &shown, written.as_deref())?)
        })?;
        let image = self.passes.time("pictures", || painter.draw(scene, frame, surface.as_deref()))?;
        let path = self.folder.picture_path(frame.index, "png");
        self.later(move || {
            image.save_png(&path)?;
            Ok(vec![path])
        })
    }

    /// Writes files when those before are written, and then makes them outlive a power cut.
    fn later(&mut self, write: impl FnOnce() -> Result<Vec<PathBuf>> + Send + 'static) -> Result<()> {
        let keeper = self.keeper.clone();
        self.finish_all_but(1)?;
        self.writer.give(move || {
            write()?.into_iter().for_each(|path| keeper.give(move || sync(path)));
            Ok(())
        });
        Ok(())
    }

    /// Does `task` when all files so far would outlive a power cut. To be called with nothing left to be written.
    pub fn keep(&mut self, task: impl FnOnce() -> Result<()> + Send + 'static) {
        self.keeper.give(task);
    }

    /// Waits until all files are written.
    pub fn finish(&mut self) -> Result<()> {
        self.finish_all_but(0)
    }

    /// Waits until the files of no more than `left` tasks are to be written.
    fn finish_all_but(&mut self, left: usize) -> Result<()> {
        let done = self.passes.time("files", || self.writer.wait_for_all_but(left));
        let aside = std::mem::take(&mut *self.aside.lock().unwrap_or_else(PoisonError::into_inner));
        aside.times().iter().for_each(|(name, seconds)| self.passes.add(name, *seconds));
        done
    }

    /// Waits until they, and what is to be done after, would outlive a power cut.
    pub fn finish_keeping(&mut self) -> Result<()> {
        self.passes.time("files", || self.keeper.wait())
    }

    /// The frames before `next` that should have files and have none, for each kind of file.
    pub fn missing(&self, next: u64) -> Vec<(u64, String)> {
        let folder = &self.folder;
        let count = |step: u64, path: &dyn Fn(u64) -> PathBuf| {
            (0..next).step_by(step as usize).filter(|frame| !path(*frame).exists()).count() as u64
        };
        let mut missing = Vec::new();
        for format in &self.wanted.formats.0 {
            let extension = format.extension();
            if format.writes_particles() {
                let path = |frame| folder.particles_path(frame, extension);
                missing.push((count(1, &path), format!("{format} particles")));
            }
            if format.writes_surfaces() && self.wanted.surface {
                let path = |frame| folder.surface_path(frame, extension);
                missing.push((count(1, &path), format!("{format} surfaces")));
            }
        }
        if let Some(p) = self.wanted.pictures {
            missing.push((count(p.every, &|frame| folder.picture_path(frame, "png")), "pictures".into()));
        }
        missing.retain(|(count, _)| *count > 0);
        missing
    }
}

/// Builds the surface of a frame. From within a worker thread: no more threads are at work than were asked for.
fn build(frame: &Frame, options: &Options, passes: &mut Passes) -> Result<Surface> {
    let built = passes.time("surface", || rayon::scope(|_| surface::build(frame, options)));
    Ok(built.with_context(|| format!("no surface of frame {}", frame.index))?.0)
}

fn sync(path: PathBuf) -> Result<()> {
    let synced = File::open(&path).and_then(|file| file.sync_all());
    Ok(synced.map_err(|error| OutputError::new(path, error))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_reads_back() {
        for text in
            ["none", "ply,obj surface", "ply pictures=640x360/4", "usda,glb surface pictures=1280x720/1"]
        {
            assert_eq!(text.parse::<Wanted>().unwrap().to_text(), text);
        }
        for wrong in ["", "plx", "ply surfaces", "ply pictures=640x360", "ply pictures=640x360/0"] {
            assert!(wrong.parse::<Wanted>().is_err(), "{wrong}");
        }
    }
}
