//! Which folder a run goes to.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use undine::atomic::OutputError;
use undine::run_folder::RunFolder;

use crate::args::RunArgs;

/// Folders `runs/NAME-2`, `-3`, … are tried up to this number.
const MOST_FOLDERS: u32 = 100_000;

/// Opens the folder asked for. Without `-o`, takes the first of `runs/NAME`, `runs/NAME-2`, … that holds no run;
/// says so if it is not the first.
pub fn open(args: &RunArgs, name: &str) -> Result<RunFolder> {
    let folder = match &args.out {
        Some(dir) => RunFolder::create(dir, args.resume)?,
        None if args.resume => RunFolder::create(default(name), true)?,
        None => first_free(args, name)?,
    };
    folder.check_writable()?;
    Ok(folder)
}

fn default(name: &str) -> PathBuf {
    Path::new("runs").join(if name.is_empty() { "scene" } else { name })
}

fn first_free(args: &RunArgs, name: &str) -> Result<RunFolder> {
    let wanted = default(name);
    for number in 1..MOST_FOLDERS {
        let mut dir = wanted.clone();
        if number > 1 {
            let mut file = dir.file_name().unwrap_or_default().to_os_string();
            file.push(format!("-{number}"));
            dir.set_file_name(file);
        }
        match RunFolder::create(&dir, false) {
            Err(OutputError::NotEmpty { .. } | OutputError::InUse { .. }) => {}
            result => {
                if number > 1 && !args.quiet {
                    eprintln!("{} holds another run: writing to {}", wanted.display(), dir.display());
                }
                return Ok(result?);
            }
        }
    }
    bail!("every folder {}-2, -3, … holds a run; choose one with -o", wanted.display())
}
