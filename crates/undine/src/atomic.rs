//! Files that are either whole or absent: written under a temporary name beside their place, then renamed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::plain::CHUNK;

/// What can go wrong with files that a run writes.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// No room left.
    #[error("cannot write {}: the disk is full", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The file system does not take changes.
    #[error("cannot write {}: the file system is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// No right to write there.
    #[error("cannot write {}: permission denied", path.display())]
    NotAllowed {
        /// The file.
        path: PathBuf,
    },
    /// A part of the path that should be a folder is a file.
    #[error("cannot write {}: it, or a part of its path, is not a folder", path.display())]
    NotAFolder {
        /// The file or folder.
        path: PathBuf,
    },
    /// There is a folder where the file should go.
    #[error("cannot write {}: there is a folder of that name", path.display())]
    IsAFolder {
        /// The file.
        path: PathBuf,
    },
    /// A folder on the way does not exist.
    #[error("cannot write {}: its folder does not exist", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// The folder holds another run.
    #[error("{} already holds a run ({found}); continue it with --resume or choose another folder with -o", dir.display())]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
        /// A file of that run.
        found: String,
    },
    /// Another process writes into the folder now.
    #[error("{} is in use by another run", dir.display())]
    InUse {
        /// The folder.
        dir: PathBuf,
    },
    /// A file that should be continued is not what it should be.
    #[error("cannot continue {}: {what}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Anything else.
    #[error("cannot write {}: {source}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl OutputError {
    /// Puts the system's error about `path` into plain words.
    pub fn new(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => OutputError::DiskFull { path },
            io::ErrorKind::ReadOnlyFilesystem => OutputError::ReadOnly { path },
            io::ErrorKind::PermissionDenied => OutputError::NotAllowed { path },
            io::ErrorKind::NotADirectory => OutputError::NotAFolder { path },
            io::ErrorKind::IsADirectory => OutputError::IsAFolder { path },
            io::ErrorKind::NotFound => OutputError::NoFolder { path },
            _ => OutputError::Other { path, source },
        }
    }
}

/// What a committed file outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process; enough for frames, which can be computed again.
    Process,
    /// A power cut too: waits for the disk (milliseconds to seconds).
    PowerCut,
}

/// A file under a temporary name. [`AtomicFile::commit`] puts it in its place; dropped before, it vanishes and
/// what was in its place stays. Writes are buffered.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: PathBuf,
    writer: BufWriter<File>,
    committed: bool,
}

/// Tells temporary files of one process apart.
static COUNTER: AtomicU64 = AtomicU64::new(0);

impl AtomicFile {
    /// Opens a temporary file in the folder of `path`.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        let path = path.into();
        let Some(name) = path.file_name() else {
            return Err(OutputError::IsAFolder { path });
        };
        loop {
            let temporary = path.with_file_name(temporary_name(name));
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => {
                    let writer = BufWriter::with_capacity(CHUNK, file);
                    return Ok(AtomicFile { path, temporary, writer, committed: false });
                }
                // Left by a killed process that had our id: take the next number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(OutputError::new(path, error)),
            }
        }
    }

    /// Writes a whole file: opens, lets `write` fill it, commits.
    pub fn write_with(
        path: impl Into<PathBuf>,
        durability: Durability,
        write: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let mut file = AtomicFile::create(path)?;
        write(&mut file).map_err(|error| file.error(error))?;
        file.commit(durability)
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The system's error, as one about this file.
    pub fn error(&self, source: io::Error) -> OutputError {
        OutputError::new(&self.path, source)
    }

    /// Puts the file in its place, over what was there.
    pub fn commit(mut self, durability: Durability) -> Result<(), OutputError> {
        self.try_commit(durability).map_err(|error| self.error(error))
    }

    fn try_commit(&mut self, durability: Durability) -> io::Result<()> {
        self.writer.flush()?;
        if durability == Durability::PowerCut {
            self.writer.get_ref().sync_all()?;
        }
        fs::rename(&self.temporary, &self.path)?;
        self.committed = true;
        if durability == Durability::PowerCut {
            sync_folder_of(&self.path);
        }
        Ok(())
    }
}

/// Makes a rename outlive a power cut. Some systems cannot open or sync a folder; the file itself is safe on the
/// disk under one of its two names then, so there is nothing to report.
fn sync_folder_of(path: &Path) {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.writer.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing can be done here about a failure; the next run in this folder tidies up.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A new temporary name for a file.
pub(crate) fn temporary_name(name: &OsStr) -> OsString {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".tmp-{}-{number}", std::process::id()));
    temporary
}

/// The name a temporary file stands for, if `name` is that of a temporary file of ours.
pub(crate) fn meant_name(name: &str) -> Option<&str> {
    temporary_parts(name).map(|parts| parts.0)
}

/// The name a temporary file stands for, and the process that wrote it. Other programs that write for us choose the
/// format by the ending, so that it may follow once more: `.film.mp4.tmp-12-3.mp4`.
fn temporary_parts(name: &str) -> Option<(&str, u32)> {
    let (meant, tail) = name.strip_prefix('.')?.rsplit_once(".tmp-")?;
    let (process, number) = tail.split_once('-')?;
    let number = match number.split_once('.') {
        Some((number, ending)) if meant.rsplit_once('.')?.1 == ending => number,
        Some(_) => return None,
        None => number,
    };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if digits(process) && digits(number) { Some((meant, process.parse().ok()?)) } else { None }
}

/// Removes the temporary files in `dir` that processes left behind which were killed. Where the system does not tell
/// which processes live, nothing is removed; a failure leaves them for the next time.
pub fn tidy(dir: &Path) {
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return;
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((_, process)) = name.to_str().and_then(temporary_parts) else { continue };
        if !processes.join(process.to_string()).exists() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A folder for one test, gone when dropped.
    pub(crate) struct Scratch(pub(crate) PathBuf);

    impl Scratch {
        pub(crate) fn new(name: &str) -> Scratch {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let dir =
                std::env::temp_dir().join(format!("undine-test-{}-{number}-{name}", std::process::id()));
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }

        pub(crate) fn names(&self) -> Vec<String> {
            let mut names: Vec<String> = fs::read_dir(&self.0)
                .unwrap()
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn nothing_is_in_place_before_the_commit_and_all_of_it_after() {
        for durability in [Durability::Process, Durability::PowerCut] {
            let scratch = Scratch::new("commit");
            let path = scratch.0.join("frame.ply");
            let mut file = AtomicFile::create(&path).unwrap();
            file.write_all(&[7; 200_000]).unwrap();
            assert!(!path.exists());
            file.commit(durability).unwrap();
            assert_eq!(fs::read(&path).unwrap(), [7; 200_000]);
            assert_eq!(scratch.names(), ["frame.ply"]);
        }
    }

    #[test]
    fn a_dropped_file_leaves_the_old_one_and_no_litter() {
        let scratch = Scratch::new("drop");
        let path = scratch.0.join("a");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(scratch.names().len(), 2);
        drop(file);
        assert_eq!(scratch.names(), ["a"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn a_failed_writer_leaves_the_old_file_and_names_it() {
        let scratch = Scratch::new("fail");
        let path = scratch.0.join("a");
        fs::write(&path, "old").unwrap();
        let error = AtomicFile::write_with(&path, Durability::Process, |file| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        })
        .unwrap_err();
        assert!(matches!(error, OutputError::DiskFull { .. }));
        assert_eq!(error.to_string(), format!("cannot write {}: the disk is full", path.display()));
        assert_eq!(scratch.names(), ["a"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn errors_are_in_plain_words() {
        let scratch = Scratch::new("words");
        let file = scratch.0.join("file");
        fs::write(&file, "x").unwrap();
        assert!(matches!(AtomicFile::create(file.join("a")), Err(OutputError::NotAFolder { .. })));
        assert!(matches!(AtomicFile::create(scratch.0.join("no/a")), Err(OutputError::NoFolder { .. })));
        assert!(matches!(AtomicFile::create("/"), Err(OutputError::IsAFolder { .. })));
        let folder = scratch.0.join("folder");
        fs::create_dir(&folder).unwrap();
        let error = AtomicFile::create(&folder).unwrap().commit(Durability::Process).unwrap_err();
        assert!(matches!(error, OutputError::IsAFolder { .. }), "{error}");
        assert_eq!(scratch.names(), ["file", "folder"]);
    }

    #[test]
    fn only_names_that_we_make_count_as_temporary() {
        assert_eq!(meant_name(".particles_0001.ply.tmp-12-3"), Some("particles_0001.ply"));
        assert_eq!(meant_name(".film.mp4.tmp-12-3.mp4"), Some("film.mp4"));
        for other in [
            ".a.tmp-",
            ".a.tmp-12",
            "a.tmp-1-2",
            ".a.tmp-1-x",
            ".a.tmp-1-2-",
            ".a",
            "",
            ".film.mp4.tmp-1-2.png",
        ] {
            assert_eq!(meant_name(other), None, "{other}");
        }
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_what_is_being_written_stays() {
        let scratch = Scratch::new("tidy");
        // Beyond the greatest number of a process that Linux gives.
        let dead = [".film.mp4.tmp-4194305-0.mp4", ".picture_0001.png.tmp-4194305-7"];
        let living = format!(".film.png.tmp-{}-0", std::process::id());
        for name in dead.iter().copied().chain([living.as_str(), "notes.tmp-4194305-0", "film.mp4"]) {
            fs::write(scratch.0.join(name), "x").unwrap();
        }
        tidy(&scratch.0);
        tidy(&scratch.0.join("no such folder"));
        let expected = [living.as_str(), "film.mp4", "notes.tmp-4194305-0"];
        if cfg!(target_os = "linux") {
            assert_eq!(scratch.names(), expected);
        }
    }
}
