//! The film of a run.

use std::path::{Path, PathBuf};

use anyhow::Result;
use undine::picture::film::{Film, FilmError, ffmpeg_found};

use super::png_file;
use crate::progress::Count;

/// Widest animated PNG, and most pictures a second of it: its frames do not compress like those of a video.
const MOST_WIDTH: usize = 480;
const MOST_RATE: f64 = 20.0;

/// A film that was made.
pub struct Made {
    /// The file.
    pub path: PathBuf,
    /// How, for people.
    pub how: &'static str,
}

/// Makes a film of pictures that are there, `rate` a second: MP4 where ffmpeg is found, else a smaller animated PNG.
pub fn make(dir: &Path, pictures: &[PathBuf], rate: f64, quiet: bool) -> Result<Made> {
    let mut how = "an animated PNG, since no ffmpeg is found; browsers play it";
    if ffmpeg_found() {
        let path = dir.join("film.mp4");
        match shoot(&path, pictures, rate, usize::MAX, quiet) {
            Ok(()) => return Ok(Made { path, how: "through ffmpeg" }),
            // Some builds of it know no MP4.
            Err(error) if error.is::<FilmError>() => how = "an animated PNG, since ffmpeg failed",
            Err(error) => return Err(error),
        }
    }
    let path = dir.join("film.png");
    let step = (rate / MOST_RATE).ceil().max(1.0) as usize;
    let chosen: Vec<PathBuf> = pictures.iter().step_by(step).cloned().collect();
    shoot(&path, &chosen, rate / step as f64, MOST_WIDTH, quiet)?;
    Ok(Made { path, how })
}

fn shoot(path: &Path, pictures: &[PathBuf], rate: f64, most_width: usize, quiet: bool) -> Result<()> {
    let progress = Count::new(quiet, "pictures of the film", pictures.len() as u64);
    let mut film: Option<Film> = None;
    for picture in pictures {
        let mut image = png_file::read(picture)?;
        if image.width() > most_width {
            image = image.resized(most_width, (image.height() * most_width / image.width()).max(1));
        }
        let size = [image.width(), image.height()];
        let film = match &mut film {
            Some(film) => film,
            None => film.insert(Film::create(path, size, rate, pictures.len())?),
        };
        film.push(&image)?;
        progress.done("");
    }
    if let Some(film) = film {
        film.finish()?;
    }
    Ok(())
}
