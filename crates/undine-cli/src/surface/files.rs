//! Which files are read and written: sequences with `{}`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::failure::Usage;

/// What stands for the changing part of the names of a sequence.
const HOLE: &str = "{}";

/// A file of particles and the mesh to be made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Particles.
    pub input: PathBuf,
    /// Mesh.
    pub output: PathBuf,
}

/// All jobs that the command line asks for. Every input is there, and no two outputs are the same.
pub fn jobs(inputs: &[PathBuf], output: &Path) -> Result<Vec<Job>> {
    let out = output.to_string_lossy();
    let mut jobs = Vec::new();
    for input in inputs {
        // A real file of that name is meant as it is.
        let found = if has_hole(input) && !input.exists() {
            sequence(input)?
        } else {
            let stem = input.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            vec![(input.clone(), stem)]
        };
        for (input, part) in found {
            check_readable(&input)?;
            jobs.push(Job { input, output: PathBuf::from(out.replacen(HOLE, &part, 1)) });
        }
    }
    if jobs.len() > 1 && !out.contains(HOLE) {
        let what = format!("{} files cannot all become {out}: put {{}} into its name", jobs.len());
        return Err(Usage(what).into());
    }
    let mut outputs: Vec<&Job> = jobs.iter().collect();
    outputs.sort_by_key(|job| &job.output);
    if let Some(two) = outputs.windows(2).find(|two| two[0].output == two[1].output) {
        let (a, b, to) = (two[0].input.display(), two[1].input.display(), two[0].output.display());
        return Err(Usage(format!("{a} and {b} would both become {to}")).into());
    }
    let read: HashSet<PathBuf> = jobs.iter().filter_map(|job| job.input.canonicalize().ok()).collect();
    for output in jobs.iter().map(|job| &job.output) {
        if output.canonicalize().is_ok_and(|output| read.contains(&output)) {
            return Err(Usage(format!("{} is to be read: it is not overwritten", output.display())).into());
        }
    }
    Ok(jobs)
}

fn has_hole(path: &Path) -> bool {
    path.to_string_lossy().contains(HOLE)
}

fn check_readable(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(Usage(format!(
            "{} is a folder: name its files, such as {}",
            path.display(),
            path.join("particles_{}.ply").display()
        ))
        .into());
    }
    if !path.exists() {
        return Err(Usage(format!("there is no file {}", path.display())).into());
    }
    Ok(())
}

/// The files that a pattern stands for, with what its `{}` is in each: by number where it is one, else by name.
fn sequence(pattern: &Path) -> Result<Vec<(PathBuf, String)>> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((before, after)) = name.split_once(HOLE) else {
        return Err(Usage(format!("{}: {{}} may stand in the name of a file only", pattern.display())).into());
    };
    let folder = pattern.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Usage(format!("{}: there is no folder {}", pattern.display(), folder.display())).into());
    }
    let read = || format!("cannot list {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(read)? {
        let file = entry.with_context(read)?.file_name();
        let Some(file) = file.to_str() else { continue };
        let part = file.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        // Hidden names are files being written.
        if let Some(part) = part.filter(|part| !part.is_empty() && !file.starts_with('.')) {
            found.push((pattern.with_file_name(file), part.to_owned()));
        }
    }
    if found.is_empty() {
        return Err(Usage(format!("no file matches {}", pattern.display())).into());
    }
    found.sort_by_cached_key(|(_, part)| (part.parse::<u64>().unwrap_or(u64::MAX), part.clone()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[&str]) -> Self {
            let dir = std::env::temp_dir().join(format!("undine-files-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            files.iter().for_each(|f| std::fs::write(dir.join(f), "").unwrap());
            Folder(dir)
        }

        fn jobs(&self, inputs: &[&str], output: &str) -> Result<Vec<(String, String)>> {
            let inputs: Vec<PathBuf> = inputs.iter().map(|i| self.0.join(i)).collect();
            let name = |p: PathBuf| p.file_name().unwrap().to_string_lossy().into_owned();
            let jobs = jobs(&inputs, &self.0.join(output))?;
            Ok(jobs.into_iter().map(|job| (name(job.input), name(job.output))).collect())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_sequence_goes_by_number() {
        let folder =
            Folder::new("sequence", &["p_10.ply", "p_9.ply", "p_100.ply", "q_1.ply", ".p_3.ply", "p_.ply"]);
        let pairs = folder.jobs(&["p_{}.ply"], "m_{}.obj").unwrap();
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        assert_eq!(pairs, [("p_9.ply", "m_9.obj"), ("p_10.ply", "m_10.obj"), ("p_100.ply", "m_100.obj")]);
    }

    #[test]
    fn files_by_name_lend_their_stem() {
        let folder = Folder::new("stems", &["a.ply", "b.xyz"]);
        let pairs = folder.jobs(&["a.ply", "b.xyz"], "{}_mesh.obj").unwrap();
        assert_eq!(pairs[1], ("b.xyz".into(), "b_mesh.obj".into()));
    }

    #[test]
    fn what_would_lose_a_file_is_refused() {
        let folder = Folder::new("lost", &["a.ply", "a.xyz"]);
        let error = |inputs: &[&str], output: &str| folder.jobs(inputs, output).unwrap_err().to_string();
        assert!(error(&["a.ply", "a.xyz"], "m.obj").contains("put {} into its name"));
        assert!(error(&["a.ply", "a.xyz"], "{}.obj").contains("would both become"));
        assert!(error(&["a.ply"], "a.ply").contains("not overwritten"));
        assert!(error(&["b.ply"], "m.obj").contains("there is no file"));
        assert!(error(&["b_{}.ply"], "m_{}.obj").contains("no file matches"));
        assert!(error(&["."], "m.obj").contains("is a folder"));
    }
}
