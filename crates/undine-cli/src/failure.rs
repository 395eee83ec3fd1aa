//! Errors of the program and their exit codes: 1 failed, 2 wrong usage or wrong scene.

use std::fmt;
use std::process::ExitCode;

use anyhow::Error;
use undine::checkpoint::CheckpointError;
use undine::scene::SceneError;
use undine::world::WorldError;

/// Wrong usage that clap cannot know of.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The exit code of an error.
pub fn exit_code(error: &Error) -> ExitCode {
    let is_usage = error.chain().any(|cause| {
        cause.is::<Usage>()
            || cause.is::<SceneError>()
            || cause.is::<WorldError>()
            || matches!(cause.downcast_ref(), Some(CheckpointError::SceneMismatch { .. }))
    });
    ExitCode::from(if is_usage { 2 } else { 1 })
}

/// The message with its causes. Some errors of the library already tell their cause; none is told twice.
pub fn message(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let part = cause.to_string();
        if text.ends_with(&part) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += &part;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn wrong_usage_is_known_under_any_context() {
        let usage = Error::new(Usage("no".into())).context("while trying");
        assert_eq!(format!("{:?}", exit_code(&usage)), format!("{:?}", ExitCode::from(2)));
        assert_eq!(format!("{:?}", exit_code(&anyhow!("broken"))), format!("{:?}", ExitCode::from(1)));
        assert_eq!(message(&usage), "while trying: no");
    }

    #[test]
    fn a_cause_that_the_message_already_tells_is_not_told_twice() {
        let told = anyhow!("disk full").context("cannot write: disk full");
        assert_eq!(message(&told), "cannot write: disk full");
    }
}
