//! What is made of all pictures of a run: a film, a contact sheet, and plots of its probes beside them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use undine::picture::contact_sheet;

use super::{film, plots, png_file};

/// Pictures on a contact sheet at most, their columns and width.
const ON_SHEET: usize = 12;
const COLUMNS: usize = 3;
const WIDTH: usize = 480;

/// The pictures of a run.
pub struct Album<'a> {
    /// Where the film, the sheet and the plots go.
    pub dir: &'a Path,
    /// Title of the scene.
    pub title: &'a str,
    /// Files of the pictures and their times, s, in order.
    pub pictures: &'a [(PathBuf, f64)],
    /// Pictures a second.
    pub rate: f64,
    /// The table of probes.
    pub probes: PathBuf,
}

/// What was made of the pictures.
#[derive(Default)]
pub struct Made {
    /// The contact sheet.
    pub sheet: Option<PathBuf>,
    /// The film; there is none of a single picture.
    pub film: Option<film::Made>,
    /// Plots of the probes.
    pub plots: Vec<PathBuf>,
}

impl Made {
    /// A line for people on each.
    pub fn lines(&self) -> Vec<String> {
        let sheet = self.sheet.iter().map(|path| format!("contact sheet  {}", path.display()));
        let film =
            self.film.iter().map(|film| format!("film           {} ({})", film.path.display(), film.how));
        let plots = self.plots.first().map(|first| {
            let more = match self.plots.len() - 1 {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            format!("plots          {}{more}", first.display())
        });
        sheet.chain(film).chain(plots).collect()
    }
}

impl Album<'_> {
    /// Makes them all.
    pub fn make(&self, quiet: bool) -> Result<Made> {
        let mut made = Made::default();
        if !self.pictures.is_empty() {
            let sheet = self.dir.join("contact.png");
            self.sheet(&sheet)?;
            made.sheet = Some(sheet);
        }
        if self.pictures.len() > 1 {
            let files: Vec<PathBuf> = self.pictures.iter().map(|p| p.0.clone()).collect();
            made.film = Some(film::make(self.dir, &files, self.rate, quiet)?);
        }
        made.plots = plots::make(&self.probes, self.dir, self.title)?;
        Ok(made)
    }

    fn sheet(&self, path: &Path) -> Result<()> {
        let count = self.pictures.len().min(ON_SHEET);
        let mut chosen = Vec::new();
        for k in 0..count {
            // Evenly from the first to the last.
            let i = if count > 1 { k * (self.pictures.len() - 1) / (count - 1) } else { 0 };
            let (file, time) = &self.pictures[i];
            chosen.push((png_file::read(file)?, format!("{time:.2} s")));
        }
        Ok(contact_sheet(&chosen, COLUMNS, WIDTH).save_png(path)?)
    }
}
