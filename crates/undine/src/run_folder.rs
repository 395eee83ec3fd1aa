//! The folder of a run: names of its files, its table of probes and its report.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::atomic::{AtomicFile, Durability, OutputError, meant_name};
use crate::plain::Shortest;

/// Files of which a run has one.
#[rustfmt::skip]
const SINGLE: [&str; 15] = [
    "run.json", "scene.toml", "probes.csv", "checkpoint", "particles.pvd", "surface.pvd", "solids.pvd",
    "run.usda", "manifest.usda", "scene.pov", "scene.rad", "scene.vf", "film.mp4", "film.png", "contact.png",
];
/// Begins of the names of numbered files.
const NUMBERED: [&str; 5] = ["particles", "surface", "picture", "solids", "walls"];

/// The folder of a run. While it lives, no other process gets the same folder (where the system knows locks).
#[derive(Debug)]
pub struct RunFolder {
    dir: PathBuf,
    /// The folder itself, locked. Released by the system however the process ends.
    _lock: Option<File>,
}

impl RunFolder {
    /// Makes or opens the folder. One that holds a run is refused unless `resume`: nothing is ever overwritten
    /// that a user may want. Files that are not of a run stay untouched. Temporary files of a killed run are
    /// removed.
    pub fn create(dir: impl Into<PathBuf>, resume: bool) -> Result<Self, OutputError> {
        let dir = dir.into();
        match fs::create_dir_all(&dir) {
            // Said of a file in place of the folder; the cause is clearer than "exists".
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(OutputError::NotAFolder { path: dir });
            }
            result => result.map_err(|error| OutputError::new(&dir, error))?,
        }
        let lock = lock(&dir)?;
        let mut stale = Vec::new();
        for entry in fs::read_dir(&dir).map_err(|error| OutputError::new(&dir, error))? {
            let name = entry.map_err(|error| OutputError::new(&dir, error))?.file_name();
            let Some(name) = name.to_str() else { continue };
            if is_output(name) && !resume {
                return Err(OutputError::NotEmpty { dir, found: name.to_owned() });
            }
            if meant_name(name).is_some_and(is_output) {
                stale.push(dir.join(name));
            }
        }
        for path in stale {
            fs::remove_file(&path).map_err(|error| OutputError::new(path, error))?;
        }
        Ok(RunFolder { dir, _lock: lock })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Fails now, not after an hour of computing, when the folder does not take files.
    pub fn check_writable(&self) -> Result<(), OutputError> {
        let mut probe = AtomicFile::create(self.dir.join("checkpoint"))?;
        let written = probe.write_all(b"undine").and_then(|()| probe.flush());
        written.map_err(|error| OutputError::new(&self.dir, error))
    }

    /// Particles of a frame.
    pub fn particles_path(&self, frame: u64, extension: &str) -> PathBuf {
        self.numbered("particles", frame, extension)
    }

    /// Surface mesh of a frame.
    pub fn surface_path(&self, frame: u64, extension: &str) -> PathBuf {
        self.numbered("surface", frame, extension)
    }

    /// Picture of a frame.
    pub fn picture_path(&self, frame: u64, extension: &str) -> PathBuf {
        self.numbered("picture", frame, extension)
    }

    /// Nodes of the solids of a frame.
    pub fn solids_path(&self, frame: u64, extension: &str) -> PathBuf {
        self.numbered("solids", frame, extension)
    }

    /// Moving walls of a frame.
    pub fn walls_path(&self, frame: u64, extension: &str) -> PathBuf {
        self.numbered("walls", frame, extension)
    }

    fn numbered(&self, what: &str, frame: u64, extension: &str) -> PathBuf {
        self.dir.join(format!("{what}_{frame:04}.{extension}"))
    }

    /// The scene as run.
    pub fn scene_path(&self) -> PathBuf {
        self.dir.join("scene.toml")
    }

    /// The report.
    pub fn report_path(&self) -> PathBuf {
        self.dir.join("run.json")
    }

    /// The table of probes.
    pub fn probes_path(&self) -> PathBuf {
        self.dir.join("probes.csv")
    }

    /// The checkpoint.
    pub fn checkpoint_path(&self) -> PathBuf {
        self.dir.join("checkpoint")
    }

    /// ParaView's list of the particle files.
    pub fn pvd_path(&self) -> PathBuf {
        self.dir.join("particles.pvd")
    }

    /// Writes the report.
    pub fn write_report(&self, report: &RunReport) -> Result<(), OutputError> {
        AtomicFile::write_with(self.report_path(), Durability::Process, |out| {
            out.write_all(report.to_json()?.as_bytes())?;
            out.write_all(b"\n")
        })
    }

    /// The report of the run so far; `None` if there is none that can be read.
    pub fn read_report(&self) -> Option<RunReport> {
        // A report has a few kilobytes; whatever is longer is not one.
        let mut text = String::new();
        File::open(self.report_path()).ok()?.take(1 << 20).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// Locks the folder. Systems and file systems without such locks go on without.
fn lock(dir: &Path) -> Result<Option<File>, OutputError> {
    let Ok(folder) = File::open(dir) else {
        return Ok(None);
    };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(fs::TryLockError::WouldBlock) => Err(OutputError::InUse { dir: dir.to_owned() }),
        Err(fs::TryLockError::Error(_)) => Ok(None),
    }
}

/// Whether a run writes a file of that name.
fn is_output(name: &str) -> bool {
    // `walls.ply` and the like: walls that stand still.
    SINGLE.contains(&name)
        || name.starts_with("walls.")
        || NUMBERED.iter().any(|what| {
            name.strip_prefix(what).and_then(|rest| rest.strip_prefix('_')).is_some_and(|rest| {
                let number = rest.split('.').next().unwrap_or("");
                number.len() >= 4 && number.bytes().all(|b| b.is_ascii_digit())
            })
        })
}

/// `probes.csv`: `time` and a column per probe value, a row a frame. A row goes to the file at once.
#[derive(Debug)]
pub struct ProbesCsv {
    path: PathBuf,
    file: File,
    columns: usize,
    missing: u64,
}

impl ProbesCsv {
    /// Begins a table with the columns `time` and `names`.
    pub fn create(path: impl Into<PathBuf>, names: &[impl AsRef<str>]) -> Result<Self, OutputError> {
        Self::rewrite(path.into(), names, None, 0)
    }

    /// Continues a table: keeps its first `rows` rows (those of the frames up to the checkpoint) and drops what a
    /// killed run wrote after, so that the table comes out as that of an unbroken run.
    ///
    /// A table that is gone begins anew, see [`ProbesCsv::missing`]; one with other columns is refused.
    pub fn resume(
        path: impl Into<PathBuf>,
        names: &[impl AsRef<str>],
        rows: u64,
    ) -> Result<Self, OutputError> {
        let path = path.into();
        match File::open(&path) {
            Ok(old) => Self::rewrite(path, names, Some(old), rows),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::rewrite(path, names, None, rows),
            Err(error) => Err(OutputError::new(path, error)),
        }
    }

    fn rewrite(
        path: PathBuf,
        names: &[impl AsRef<str>],
        old: Option<File>,
        rows: u64,
    ) -> Result<Self, OutputError> {
        let mut header = String::from("time");
        for name in names {
            header.push(',');
            header.push_str(&quote(name.as_ref()));
        }
        header.push('\n');

        let mut out = AtomicFile::create(&path)?;
        let mut missing = rows;
        let mut same = true;
        let copied = out.write_all(header.as_bytes()).and_then(|()| {
            let Some(old) = old else { return Ok(()) };
            let mut old = BufReader::new(old);
            let mut line = Vec::new();
            // Line by line, and no more of a line than the widest row: a table may be long, and may be anything.
            let longest = header.len().max(40 * (names.len() + 1)) as u64 + 1;
            let mut next = |line: &mut Vec<u8>| {
                line.clear();
                old.by_ref().take(longest).read_until(b'\n', line)
            };
            next(&mut line)?;
            same = line == header.as_bytes();
            while same && missing > 0 {
                next(&mut line)?;
                // The last line of a killed run may be half a row.
                if line.last() != Some(&b'\n') {
                    break;
                }
                out.write_all(&line)?;
                missing -= 1;
            }
            Ok(())
        });
        copied.map_err(|error| out.error(error))?;
        if !same {
            return Err(OutputError::Unfit { path, what: "its columns are not those of this scene".into() });
        }
        out.commit(Durability::Process)?;
        let opened = fs::OpenOptions::new().append(true).open(&path);
        let file = opened.map_err(|error| OutputError::new(&path, error))?;
        Ok(ProbesCsv { path, file, columns: names.len(), missing })
    }

    /// Rows that a resumed table should have had and did not (after a power cut, or when someone removed it).
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Appends the row of a frame; numbers in the shortest form that reads back as the same number.
    pub fn append(&mut self, time: f64, values: &[f64]) -> Result<(), OutputError> {
        if values.len() != self.columns {
            let what = format!("{} values for {} columns", values.len(), self.columns);
            return Err(OutputError::Unfit { path: self.path.clone(), what });
        }
        let mut row = Shortest(time).to_string();
        for &value in values {
            row.push(',');
            row += &Shortest(value).to_string();
        }
        row.push('\n');
        self.file.write_all(row.as_bytes()).map_err(|error| OutputError::new(&self.path, error))
    }

    /// Waits until the rows are on the disk. Call it before a checkpoint that relies on them.
    pub fn sync(&self) -> Result<(), OutputError> {
        self.file.sync_data().map_err(|error| OutputError::new(&self.path, error))
    }
}

/// A name as a CSV cell on one line.
fn quote(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name }
}

/// What `run.json` and `run --json` tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunReport {
    /// Scene, as named on the command line.
    pub scene: String,
    /// Its title.
    pub title: String,
    /// Version of Undine.
    pub version: String,
    /// The run's folder.
    pub out: String,
    /// Whether it came to its end; `false` while it runs or when it was stopped.
    pub complete: bool,
    /// Seed of what is random.
    pub seed: u64,
    /// Threads used.
    pub threads: usize,
    /// Particle or cell spacing, m.
    pub spacing: f64,
    /// Frames written.
    pub frames: u64,
    /// Steps computed.
    pub steps: u64,
    /// Smallest step, s.
    pub step_min: f64,
    /// Largest step, s.
    pub step_max: f64,
    /// Particles at the end.
    pub particles: u64,
    /// Walls: faces of the domain and bodies.
    pub walls: u64,
    /// Simulated time, s.
    pub simulated: f64,
    /// Wall clock time, s; of a resumed run, all its parts.
    pub wall: f64,
    /// Seconds spent in each pass, in the order of the passes.
    #[serde(serialize_with = "write_passes", deserialize_with = "read_passes")]
    pub passes: Vec<(String, f64)>,
}

impl RunReport {
    /// As a JSON object on several lines.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

fn write_passes<S: Serializer>(passes: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(passes.len()))?;
    for (name, seconds) in passes {
        map.serialize_entry(name, seconds)?;
    }
    map.end()
}

fn read_passes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, f64)>, D::Error> {
    struct Passes;
    impl<'de> Visitor<'de> for Passes {
        type Value = Vec<(String, f64)>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("seconds by pass")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut passes = Vec::new();
            while let Some(pass) = map.next_entry()? {
                passes.push(pass);
            }
            Ok(passes)
        }
    }
    deserializer.deserialize_map(Passes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::tests::Scratch;

    #[test]
    fn files_are_named_as_promised() {
        let scratch = Scratch::new("names");
        let folder = RunFolder::create(scratch.0.join("a/b"), false).unwrap();
        let name = |path: PathBuf| path.strip_prefix(folder.dir()).unwrap().to_str().unwrap().to_owned();
        assert_eq!(name(folder.particles_path(0, "ply")), "particles_0000.ply");
        assert_eq!(name(folder.particles_path(12345, "vtp")), "particles_12345.vtp");
        assert_eq!(name(folder.surface_path(7, "obj")), "surface_0007.obj");
        assert_eq!(name(folder.picture_path(10, "png")), "picture_0010.png");
        assert_eq!(name(folder.solids_path(1, "ply")), "solids_0001.ply");
        for path in [
            folder.scene_path(),
            folder.report_path(),
            folder.probes_path(),
            folder.checkpoint_path(),
            folder.pvd_path(),
            folder.particles_path(3, "bgeo"),
            folder.solids_path(123456, "ply"),
        ] {
            assert!(is_output(&name(path)));
        }
        assert!(!is_output("particles_12.ply") && !is_output("notes.txt") && !is_output("picture_00a0.png"));
    }

    #[test]
    fn a_folder_with_a_run_is_only_opened_to_resume_it() {
        for old in ["run.json", "particles_0003.ply", "scene.toml", "checkpoint"] {
            let scratch = Scratch::new("not-empty");
            fs::write(scratch.0.join(old), "dear").unwrap();
            let error = RunFolder::create(&scratch.0, false).unwrap_err();
            assert!(matches!(&error, OutputError::NotEmpty { found, .. } if found == old), "{error}");
            assert!(error.to_string().contains("--resume"));
            RunFolder::create(&scratch.0, true).unwrap();
            assert_eq!(fs::read_to_string(scratch.0.join(old)).unwrap(), "dear");
        }
    }

    #[test]
    fn only_our_own_stale_files_are_removed() {
        let scratch = Scratch::new("stale");
        let keep = [".hidden", ".thesis.doc.tmp-1-2", "notes.txt", "run.json"];
        for name in keep.iter().chain(&[".particles_0001.ply.tmp-99-0", ".checkpoint.tmp-1-7"]) {
            fs::write(scratch.0.join(name), "x").unwrap();
        }
        RunFolder::create(&scratch.0, true).unwrap();
        assert_eq!(scratch.names(), keep);
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_named() {
        let scratch = Scratch::new("file");
        let file = scratch.0.join("file");
        fs::write(&file, "x").unwrap();
        for path in [file.clone(), file.join("run")] {
            let error = RunFolder::create(&path, false).unwrap_err();
            assert!(matches!(error, OutputError::NotAFolder { .. }), "{error}");
        }
    }

    #[test]
    fn a_folder_in_use_is_refused_until_it_is_free() {
        let scratch = Scratch::new("lock");
        let first = RunFolder::create(&scratch.0, false).unwrap();
        if first._lock.is_none() {
            return; // no locks on this system
        }
        assert!(matches!(RunFolder::create(&scratch.0, true), Err(OutputError::InUse { .. })));
        drop(first);
        RunFolder::create(&scratch.0, true).unwrap();
    }

    #[test]
    fn a_writable_folder_stays_empty_and_a_read_only_one_is_an_error() {
        let scratch = Scratch::new("read-only");
        let folder = RunFolder::create(&scratch.0, false).unwrap();
        folder.check_writable().unwrap();
        assert!(scratch.names().is_empty());
        let mut rights = fs::metadata(&scratch.0).unwrap().permissions();
        let writable = rights.clone();
        rights.set_readonly(true);
        fs::set_permissions(&scratch.0, rights).unwrap();
        // The administrator may write anyway, and Windows knows no read-only folders.
        let locked = File::create(scratch.0.join("x")).is_err();
        let result = folder.check_writable();
        fs::set_permissions(&scratch.0, writable).unwrap();
        if locked {
            assert!(matches!(result, Err(OutputError::NotAllowed { .. })), "{result:?}");
        }
    }

    #[test]
    fn a_folder_that_vanished_is_an_error() {
        let scratch = Scratch::new("vanished");
        let folder = RunFolder::create(scratch.0.join("run"), false).unwrap();
        fs::remove_dir(folder.dir()).unwrap();
        assert!(folder.check_writable().is_err());
    }

    #[test]
    fn a_resumed_table_ends_as_that_of_an_unbroken_run() {
        let scratch = Scratch::new("probes");
        let path = scratch.0.join("probes.csv");
        let names = ["front", "force, \"x\""];
        let row = |table: &mut ProbesCsv, i: u32| {
            table.append(f64::from(i) / 60.0, &[f64::from(i).sqrt(), 1e-9 * f64::from(i)]).unwrap();
        };
        let mut whole = ProbesCsv::create(&path, &names).unwrap();
        (0..10).for_each(|i| row(&mut whole, i));
        let expected = fs::read_to_string(&path).unwrap();
        assert!(
            expected.starts_with("time,front,\"force, \"\"x\"\"\"\n0,0,0\n0.016666666666666666,1,1e-9\n")
        );

        let mut killed = ProbesCsv::create(&path, &names).unwrap();
        (0..7).for_each(|i| row(&mut killed, i));
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"0.1,2.44").unwrap();
        let mut resumed = ProbesCsv::resume(&path, &names, 4).unwrap();
        assert_eq!(resumed.missing(), 0);
        (4..10).for_each(|i| row(&mut resumed, i));
        resumed.sync().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    }

    #[test]
    fn lost_rows_are_counted_and_other_columns_refused() {
        let scratch = Scratch::new("lost");
        let path = scratch.0.join("probes.csv");
        assert_eq!(ProbesCsv::resume(&path, &["a"], 3).unwrap().missing(), 3);
        fs::write(&path, "time,a\n0,1\n1,").unwrap();
        assert_eq!(ProbesCsv::resume(&path, &["a"], 3).unwrap().missing(), 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), "time,a\n0,1\n");
        for other in ["time,b\n", "", "\u{0}", &"x".repeat(100_000)] {
            fs::write(&path, other).unwrap();
            assert!(matches!(ProbesCsv::resume(&path, &["a"], 3), Err(OutputError::Unfit { .. })));
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        let mut table = ProbesCsv::create(&path, &["a"]).unwrap();
        assert!(table.append(0.0, &[1.0, 2.0]).is_err());
    }

    #[test]
    fn the_report_reads_back_with_its_passes_in_order() {
        let scratch = Scratch::new("report");
        let folder = RunFolder::create(&scratch.0, false).unwrap();
        assert_eq!(folder.read_report(), None);
        let report = RunReport {
            scene: "dam-break".into(),
            frames: 3,
            wall: 0.5,
            passes: vec![("sort".into(), 0.25), ("density".into(), 0.125), ("forces".into(), 0.1)],
            ..RunReport::default()
        };
        folder.write_report(&report).unwrap();
        assert_eq!(folder.read_report().unwrap(), report);
        let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        for key in [
            "scene",
            "out",
            "frames",
            "steps",
            "particles",
            "walls",
            "simulated",
            "wall",
            "passes",
            "threads",
        ] {
            assert!(json.get(key).is_some(), "{key}");
        }
        assert_eq!(json["passes"]["density"], 0.125);
        fs::write(folder.report_path(), "{\"frames\": 7, \"later\": 1}").unwrap();
        assert_eq!(folder.read_report().unwrap().frames, 7);
        fs::write(folder.report_path(), "{").unwrap();
        assert_eq!(folder.read_report(), None);
    }
}
