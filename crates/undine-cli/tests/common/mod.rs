//! Help for tests that run the program.
#![allow(dead_code)] // each test file uses a part

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The dam break with 800 particles and one frame in a few milliseconds.
pub const COARSE: &str = "model.spacing=0.06";

/// A folder that vanishes with its test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("undine-cli-{}-{number}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// `undine`, in this folder, with no display.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_undine"));
        command.args(args).current_dir(&self.0).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        command.env_remove("UNDINE_CHECKPOINT_SECONDS").stdin(Stdio::null());
        command
    }

    pub fn undine(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs it, which must go well; stdout as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.undine(args);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Starts it with a checkpoint at each frame.
    pub fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.env("UNDINE_CHECKPOINT_SECONDS", "0").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Waits until a file is there.
pub fn wait_for(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} does not come", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// All files of a run but those that tell times, by name.
pub fn results(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
        .filter(|(name, _)| name != "run.json" && name != "checkpoint")
        .map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Fails with the name of the first file that differs.
pub fn assert_same_results(a: &Path, b: &Path) {
    let (a, b) = (results(a), results(b));
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&a), names(&b));
    for (a, b) in a.iter().zip(&b) {
        assert!(a.1 == b.1, "{} differs", a.0);
    }
}

/// The keys of an object, sorted.
pub fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}
