//! All files of a run in the wanted formats, frame by frame: names, lists and scenes are kept here, so that a run
//! need only hand over frames.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use super::mesh::{Shot, parts};
use super::{
    Format, Pvd, Stage, UsdRun, mitsuba, pov, rad, tessellate, usda, write_mesh, write_particles,
    write_solids, write_surface,
};
use crate::atomic::{AtomicFile, Durability, OutputError};
use crate::frame::Frame;
use crate::run_folder::RunFolder;
use crate::surface::Surface;

/// Writes the frames of a run.
#[derive(Clone, Debug)]
pub struct RunExports {
    formats: Vec<Format>,
    stage: Stage,
    particles: Pvd,
    surfaces: Pvd,
    solids: Pvd,
    usd: UsdRun,
}

/// Formats of one mesh a file.
const MESHES: [Format; 3] = [Format::Ply, Format::Obj, Format::Vtp];

impl RunExports {
    /// Opens the exports of a run whose frames before `next` are there (0 for a new run), and writes what does not
    /// change with the frames: walls that stand still, and scenes that include frames.
    pub fn open(
        folder: &RunFolder,
        formats: &[Format],
        stage: Stage,
        next: u64,
    ) -> Result<Self, OutputError> {
        let has = |format: Format| formats.contains(&format);
        let list = |path: &dyn Fn(u64) -> PathBuf| {
            if has(Format::Vtp) { Pvd::from_files((0..next).map(path)) } else { Pvd::new() }
        };
        let vtp = Format::Vtp.extension();
        let exports = RunExports {
            formats: formats.to_vec(),
            particles: list(&|frame| folder.particles_path(frame, vtp)),
            surfaces: list(&|frame| folder.surface_path(frame, vtp)),
            solids: list(&|frame| folder.solids_path(frame, vtp)),
            usd: if has(Format::Usda) { UsdRun::from_folder(folder.dir(), next) } else { UsdRun::new() },
            stage,
        };
        exports.write_once(folder.dir())?;
        Ok(exports)
    }

    /// Whether any of the formats is of use only with a surface.
    pub fn want_surface(&self) -> bool {
        self.formats.iter().any(|format| !format.writes_particles())
    }

    /// What stands around the fluid.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Writes a frame in all formats and returns the paths of its files, so that the caller can make sure that they
    /// are on the disk. Lists and stages are written last: what they name is there.
    pub fn write(
        &mut self,
        folder: &RunFolder,
        frame: &Frame,
        surface: Option<&Surface>,
    ) -> Result<Vec<PathBuf>, OutputError> {
        let mut files = Files::default();
        let index = frame.index;
        for &format in self.formats.iter().filter(|format| format.writes_particles()) {
            let path = folder.particles_path(index, format.extension());
            files.write(path, |out| write_particles(format, frame, out))?;
        }
        if let Some(surface) = surface {
            self.write_surfaces(folder, &Shot { frame, surface, stage: &self.stage }, &mut files)?;
        }
        self.write_solids(folder, frame, &mut files)?;
        self.write_moving_walls(folder, frame, &mut files)?;
        self.write_lists(folder, frame, surface.is_some())?;
        Ok(files.0)
    }

    fn has(&self, format: Format) -> bool {
        self.formats.contains(&format)
    }

    fn meshes(&self) -> impl Iterator<Item = Format> {
        MESHES.into_iter().filter(|format| self.has(*format))
    }

    fn write_once(&self, dir: &Path) -> Result<(), OutputError> {
        let mut files = Files::default();
        let stage = &self.stage;
        if self.has(Format::Pov) {
            files.write(dir.join("scene.pov"), |out| pov::write_scene(stage, out))?;
        }
        if self.has(Format::Rad) {
            files.write(dir.join("scene.rad"), |out| rad::write_scene(stage, out))?;
            files.write(dir.join("scene.vf"), |out| rad::write_view(stage, out))?;
        }
        if self.has(Format::Mitsuba) {
            for (i, wall) in stage.walls.iter().enumerate() {
                let path = dir.join(mitsuba::wall_name(i));
                files
                    .write(path, |out| write_mesh(Format::Ply, "wall", &Frame::default(), &wall.mesh, out))?;
            }
        }
        let still = stage.walls.iter().filter(|wall| !wall.moves()).map(|wall| Cow::Borrowed(&wall.mesh));
        let still = tessellate::merge(still);
        for format in self.meshes().filter(|_| !still.triangles.is_empty()) {
            let path = dir.join(format!("walls.{}", format.extension()));
            files.write(path, |out| write_mesh(format, "walls", &Frame::default(), &still, out))?;
        }
        Ok(())
    }

    fn write_surfaces(
        &self,
        folder: &RunFolder,
        shot: &Shot<'_>,
        files: &mut Files,
    ) -> Result<(), OutputError> {
        let index = shot.frame.index;
        for &format in self.formats.iter().filter(|format| format.writes_surfaces()) {
            let path = folder.surface_path(index, format.extension());
            files.write(path, |out| write_surface(format, shot, out))?;
        }
        if self.has(Format::Mitsuba) {
            let parts = parts(shot.surface);
            for (fluid, part) in &parts {
                if parts.len() == 1 && self.has(Format::Ply) {
                    continue;
                }
                let path = folder.dir().join(mitsuba::part_name(index, *fluid, parts.len() > 1));
                files.write(path, |out| write_mesh(Format::Ply, "fluid", shot.frame, part, out))?;
            }
        }
        Ok(())
    }

    fn write_solids(&self, folder: &RunFolder, frame: &Frame, files: &mut Files) -> Result<(), OutputError> {
        if frame.solids.is_empty() || self.formats.is_empty() {
            return Ok(());
        }
        let index = frame.index;
        // Nodes, velocities and bodies: the one form that loses nothing.
        files.write(folder.solids_path(index, Format::Ply.extension()), |out| write_solids(frame, out))?;
        let all = tessellate::merge(frame.solids.iter().map(|body| Cow::Owned(tessellate::body(body))));
        for format in self.meshes().filter(|format| *format != Format::Ply) {
            let path = folder.solids_path(index, format.extension());
            files.write(path, |out| write_mesh(format, "solids", frame, &all, out))?;
        }
        if self.has(Format::Usda) {
            let path = folder.solids_path(index, Format::Usda.extension());
            files.write(path, |out| usda::write_solids(frame, out))?;
        }
        Ok(())
    }

    fn write_moving_walls(
        &self,
        folder: &RunFolder,
        frame: &Frame,
        files: &mut Files,
    ) -> Result<(), OutputError> {
        let moving = || self.stage.walls.iter().filter(|wall| wall.moves());
        if moving().next().is_none() || self.meshes().next().is_none() {
            return Ok(());
        }
        let all = tessellate::merge(moving().map(|wall| Cow::Owned(wall.mesh_at(frame.time))));
        for format in self.meshes() {
            let path = folder.walls_path(frame.index, format.extension());
            files.write(path, |out| write_mesh(format, "walls", frame, &all, out))?;
        }
        Ok(())
    }

    fn write_lists(
        &mut self,
        folder: &RunFolder,
        frame: &Frame,
        has_surface: bool,
    ) -> Result<(), OutputError> {
        if self.has(Format::Vtp) {
            let list = |pvd: &mut Pvd, what: &str| {
                pvd.push(frame.time, &format!("{what}_{:04}.vtp", frame.index));
                pvd.write(&folder.dir().join(format!("{what}.pvd")))
            };
            list(&mut self.particles, "particles")?;
            if has_surface {
                list(&mut self.surfaces, "surface")?;
            }
            if !frame.solids.is_empty() {
                list(&mut self.solids, "solids")?;
            }
        }
        if self.has(Format::Usda) {
            self.usd.push(frame, has_surface);
            self.usd.write(folder.dir(), &self.stage)?;
        }
        Ok(())
    }
}

/// The files of a frame.
#[derive(Default)]
struct Files(Vec<PathBuf>);

impl Files {
    fn write(
        &mut self,
        path: PathBuf,
        write: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        AtomicFile::write_with(&path, Durability::Process, write)?;
        self.0.push(path);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::balls;
    use super::super::tests::sample;
    use super::*;
    use crate::atomic::tests::Scratch;
    use crate::scene::{Scene, files::NoFiles};
    use std::collections::BTreeMap;
    use std::fs;

    fn stage() -> Stage {
        let text = r#"
            title = "Two \"fluids\""
            model = { spacing = 0.1 }
            domain = { min = [-2, 0, -1], max = [2, 2, 1] }
            [[fluid]]
            name = "water"
            shape = { box = { min = [0, 0, 0], max = [0.5, 0.5, 0.5] } }
            [[fluid]]
            name = "oil"
            shape = { box = { min = [0.5, 0, 0], max = [1, 0.5, 0.5] } }
            [[boundary]]
            name = "glass"
            shape = { cylinder = { base = [0, 0.1, 0], axis = [0, 1, 0], radius = 0.3, height = 0.5 } }
            inside = "hollow"
            open_top = true
            [[boundary]]
            name = "paddle"
            shape = { box = { min = [1, 0, 0], max = [1.2, 0.4, 0.2] } }
            motion = { rotate = { center = [1, 0, 0], axis = [0, 1, 0], speed = 2 } }
        "#;
        Stage::new(&Scene::parse_with(text, "a.toml", Path::new("."), &[], &NoFiles).unwrap().scene)
    }

    fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
        fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap()))
            .collect()
    }

    fn run(dir: &Path, formats: &[Format], from: u64, to: u64) {
        let folder = RunFolder::create(dir, from > 0).unwrap();
        let mut exports = RunExports::open(&folder, formats, stage(), from).unwrap();
        for index in from..to {
            let frame = Frame { index, time: index as f64 / 60.0, ..sample(20, true) };
            let mut surface = balls();
            surface.triangles.truncate(300 + 10 * index as usize);
            let files = exports.write(&folder, &frame, Some(&surface)).unwrap();
            assert!(files.iter().all(|path| path.exists()));
        }
    }

    #[test]
    fn a_resumed_run_has_the_same_files_as_an_unbroken_one() {
        let (whole, broken) = (Scratch::new("whole"), Scratch::new("broken"));
        run(&whole.0, &Format::ALL, 0, 4);
        // Killed after its third frame, gone on from the checkpoint after the second.
        run(&broken.0, &Format::ALL, 0, 3);
        run(&broken.0, &Format::ALL, 2, 4);
        let (whole, broken) = (contents(&whole.0), contents(&broken.0));
        assert_eq!(whole.keys().collect::<Vec<_>>(), broken.keys().collect::<Vec<_>>());
        for (name, bytes) in &whole {
            assert!(bytes == &broken[name], "{name}");
        }
        for name in [
            "surface_0003.ply",
            "surface_0003.fluid1.ply",
            "surface_0003.xml",
            "surface_0003.usda",
            "particles_0003.usda",
            "solids_0003.usda",
            "run.usda",
            "manifest.usda",
            "scene.pov",
            "scene.rad",
            "scene.vf",
            "walls.ply",
            "walls.0.ply",
            "walls_0002.obj",
            "surface.pvd",
            "solids.pvd",
        ] {
            assert!(whole.contains_key(name), "{name}");
        }
    }

    #[test]
    fn every_file_of_a_run_keeps_another_run_out() {
        let scratch = Scratch::new("names");
        run(&scratch.0, &Format::ALL, 0, 1);
        for name in scratch.names() {
            let other = Scratch::new("one");
            fs::write(other.0.join(&name), "x").unwrap();
            assert!(
                matches!(RunFolder::create(&other.0, false), Err(OutputError::NotEmpty { .. })),
                "{name}"
            );
        }
    }

    #[test]
    fn materials_that_frames_name_are_there_even_for_fluids_that_the_stage_does_not_know() {
        let scratch = Scratch::new("materials");
        let folder = RunFolder::create(&scratch.0, false).unwrap();
        let formats = [Format::Pov, Format::Rad];
        let mut exports = RunExports::open(&folder, &formats, Stage::default(), 0).unwrap();
        let mut surface = balls();
        surface.fluid.iter_mut().for_each(|fluid| *fluid += 7);
        exports.write(&folder, &Frame::default(), Some(&surface)).unwrap();
        let text = |name: &str| fs::read_to_string(scratch.0.join(name)).unwrap();
        assert_eq!(text("surface_0000.inc").matches("material { Fluid_0 }").count(), 2);
        assert_eq!(text("scene.pov").matches("#declare Fluid_").count(), 1);
        assert_eq!(text("surface_0000.rad").matches("\nfluid_0 polygon ").count(), surface.triangles.len());
        assert_eq!(text("scene.rad").matches("void dielectric fluid_").count(), 1);
    }

    #[test]
    fn no_format_writes_nothing() {
        let scratch = Scratch::new("none");
        run(&scratch.0, &[], 0, 2);
        assert!(scratch.names().is_empty());
    }
}
