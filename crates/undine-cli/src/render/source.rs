//! The frames of a run, read back from its folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use undine::frame::{Body, Frame};
use undine::import::{read_particles, read_ply};
use undine::models::springs::Solids;
use undine::picture::{ColorBy, Look, Scale};
use undine::scene::{Loaded, Scene};

use crate::failure::Usage;

/// Formats of particles that can be read, the most complete first.
const READABLE: [&str; 3] = ["ply", "vtp", "bgeo"];

/// A run folder with frames.
pub struct Source {
    loaded: Loaded,
    files: BTreeMap<u64, PathBuf>,
    /// The solids at the start: a file of their nodes tells the rest.
    solids: Vec<Body>,
}

impl Source {
    /// Finds the scene and the frames.
    pub fn open(dir: &Path) -> Result<Self> {
        if !dir.is_dir() {
            return Err(Usage(format!("there is no folder {}", dir.display())).into());
        }
        let scene = dir.join("scene.toml");
        if !scene.exists() {
            let what = format!("{} is not a run: it holds no scene.toml", dir.display());
            return Err(Usage(what).into());
        }
        // With its folder in front: a name alone could be that of a built-in scene.
        let loaded = Scene::load(&scene.to_string_lossy(), &[])?;
        let mut files: BTreeMap<u64, PathBuf> = BTreeMap::new();
        for entry in std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
            let path = entry?.path();
            let Some(number) = number(&path) else { continue };
            let better = |old: &PathBuf| rank(&path) < rank(old);
            if files.get(&number).is_none_or(better) {
                files.insert(number, path);
            }
        }
        if files.is_empty() {
            let what = format!(
                "{} holds no particles (particles_0000.ply, .vtp or .bgeo); run it with --export ply",
                dir.display()
            );
            return Err(Usage(what).into());
        }
        let solids = Solids::new(&loaded.scene).frame();
        Ok(Source { loaded, files, solids })
    }

    /// The scene as run.
    pub fn scene(&self) -> &Scene {
        &self.loaded.scene
    }

    /// Its title or, without one, a word for it.
    pub fn title(&self) -> &str {
        if self.scene().title.is_empty() { "run" } else { &self.scene().title }
    }

    /// The numbers of the frames.
    pub fn frames(&self) -> impl Iterator<Item = u64> {
        self.files.keys().copied()
    }

    /// The first and the last frame.
    pub fn span(&self) -> (u64, u64) {
        let end = |key: Option<(&u64, &PathBuf)>| key.map_or(0, |k| *k.0);
        (end(self.files.first_key_value()), end(self.files.last_key_value()))
    }

    /// Reads a frame.
    pub fn read(&self, number: u64) -> Result<Frame> {
        let path = self.files.get(&number).with_context(|| format!("there is no frame {number}"))?;
        let scene = self.scene();
        let spacing = scene.model.particle_spacing();
        Ok(Frame {
            index: number,
            time: number as f64 / scene.time.frame_rate,
            spacing,
            support: scene.model.support(),
            gravity: None,
            spent: None,
            particles: read_particles(path)?,
            solids: self.read_solids(&path.with_file_name(format!("solids_{number:04}.ply")))?,
        })
    }

    /// The solids of a frame; none if they were not written.
    fn read_solids(&self, path: &Path) -> Result<Vec<Body>> {
        if self.solids.is_empty() || !path.exists() {
            return Ok(Vec::new());
        }
        let context = || format!("cannot read {}", path.display());
        let file = std::fs::File::open(path).with_context(context)?;
        let points = read_ply(&mut std::io::BufReader::new(file)).with_context(context)?;
        let nodes = points.to_particles().with_context(context)?;
        let velocity = nodes.vector("velocity").unwrap_or_default();
        let mut solids = self.solids.clone();
        let expected: usize = solids.iter().map(|body| body.nodes.len()).sum();
        if nodes.len() != expected || velocity.len() != expected {
            let what = format!("{} has other nodes than the solids of scene.toml", path.display());
            return Err(Usage(what).into());
        }
        let mut first = 0;
        for body in &mut solids {
            let range = first..first + body.nodes.len();
            first = range.end;
            body.nodes.copy_from_slice(&nodes.position[range.clone()]);
            body.velocity.copy_from_slice(&velocity[range]);
        }
        Ok(solids)
    }

    /// The values of the first and last colour, from some of the frames: a film whose colours change their meaning
    /// from frame to frame tells nothing. `None` for looks without a scale.
    pub fn range(&self, frames: &[u64], look: Look, most: usize) -> Result<Option<[f32; 2]>> {
        let (Look::Particles { by, .. } | Look::Surface(by)) = look else { return Ok(None) };
        let step = frames.len().div_ceil(most).max(1);
        let mut values = Vec::new();
        for &number in frames.iter().step_by(step).chain(frames.last()) {
            let frame = self.read(number)?;
            match by {
                ColorBy::Speed => {
                    let speed = |v: &[f32; 3]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
                    values.extend(frame.particles.vector("velocity").unwrap_or_default().iter().map(speed));
                }
                ColorBy::Density | ColorBy::Pressure => {
                    values.extend(frame.particles.scalar(by.name()).unwrap_or_default());
                }
                ColorBy::Fluid => return Ok(None),
            }
        }
        if values.is_empty() {
            let what = format!("the particles have no {}", by.name());
            return Err(Usage(what).into());
        }
        Ok(Some(Scale::new(by, None, values).range))
    }
}

/// The number of a readable particle file of a run.
fn number(path: &Path) -> Option<u64> {
    let (stem, extension) = path.file_name()?.to_str()?.split_once('.')?;
    let digits = stem.strip_prefix("particles_")?;
    let plain = digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit());
    if plain && READABLE.contains(&extension) { digits.parse().ok() } else { None }
}

fn rank(path: &Path) -> usize {
    READABLE.iter().position(|e| path.extension().is_some_and(|x| x == *e)).unwrap_or(READABLE.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_particle_files_of_a_run_are_numbered() {
        let of = |name: &str| number(Path::new(name));
        assert_eq!(of("runs/particles_0012.ply"), Some(12));
        assert_eq!(of("particles_12345.bgeo"), Some(12345));
        for other in
            ["particles_12.ply", "particles_0012.usda", ".particles_0012.ply.tmp-1-1", "surface_0001.ply"]
        {
            assert_eq!(of(other), None, "{other}");
        }
        assert!(rank(Path::new("a.ply")) < rank(Path::new("a.bgeo")));
    }
}
