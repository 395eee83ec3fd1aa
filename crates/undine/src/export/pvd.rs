//! PVD: ParaView's list of the files of a run with their times.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::{svg::escape, vtp};
use crate::atomic::{AtomicFile, Durability, OutputError};
use crate::plain::Shortest;

/// The list of `.vtp` files of a run. Written whole after each frame (a line a frame), so that ParaView can open a
/// run that is still going.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pvd {
    entries: Vec<(f64, String)>,
}

impl Pvd {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// The list of a run to be continued, from the files themselves: each tells its time in its head, so the list
    /// is right even when a kill came between a frame and its line. Files that are missing are left out.
    pub fn from_files<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Self {
        let mut pvd = Pvd::new();
        for path in files {
            let path = path.as_ref();
            let time = File::open(path).ok().and_then(|mut file| vtp::read_time(&mut file));
            if let (Some(time), Some(name)) = (time, path.file_name()) {
                pvd.push(time, &name.to_string_lossy());
            }
        }
        pvd
    }

    /// Adds a file, named relative to the list.
    pub fn push(&mut self, time: f64, file: &str) {
        self.entries.push((time, file.to_owned()));
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it lists nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the list.
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        AtomicFile::write_with(path, Durability::Process, |out| {
            out.write_all(b"<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>\n")?;
            for (time, file) in &self.entries {
                writeln!(
                    out,
                    r#"<DataSet timestep="{}" group="" part="0" file="{}"/>"#,
                    Shortest(*time),
                    escape(file)
                )?;
            }
            out.write_all(b"</Collection>\n</VTKFile>\n")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, tests::sample, write_particles};
    use super::*;
    use crate::atomic::tests::Scratch;
    use std::fs;

    #[test]
    fn a_list_rebuilt_from_the_files_is_the_same_to_the_byte() {
        let scratch = Scratch::new("pvd");
        let list = scratch.0.join("particles.pvd");
        let mut pvd = Pvd::new();
        let mut paths = Vec::new();
        for i in 0..5 {
            let mut frame = sample(2, false);
            frame.time = i as f64 / 60.0;
            let name = format!("particles_{i:04}.vtp");
            paths.push(scratch.0.join(&name));
            write_particles(Format::Vtp, &frame, &mut File::create(&paths[i]).unwrap()).unwrap();
            pvd.push(frame.time, &name);
            pvd.write(&list).unwrap();
        }
        let whole = fs::read_to_string(&list).unwrap();
        assert_eq!(whole.matches("<DataSet ").count(), 5);
        assert!(whole.contains(r#"<DataSet timestep="0.05" group="" part="0" file="particles_0003.vtp"/>"#));
        paths.push(scratch.0.join("particles_0005.vtp"));
        let again = Pvd::from_files(&paths);
        assert_eq!(again, pvd);
        again.write(&list).unwrap();
        assert_eq!(fs::read_to_string(&list).unwrap(), whole);
    }
}
