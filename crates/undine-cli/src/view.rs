//! The viewer's place: until it is built, the default scene is run headless.

use anyhow::{Result, bail};

use crate::args::{RunArgs, SceneArgs, ViewArgs};
use crate::picture::Size;

/// The scene of `undine` without a command.
const DEFAULT_SCENE: &str = "dam-break";

/// `undine view`.
pub fn view(_args: &ViewArgs) -> Result<()> {
    bail!("the viewer is not built in this version; `undine run SCENE` computes frames")
}

/// `undine`: the default scene, headless. Small pictures of every 4th frame cost less than the water itself, and the
/// first of them is there within seconds.
pub fn without_display() -> Result<()> {
    eprintln!(
        "The viewer is not built in this version: running the scene `{DEFAULT_SCENE}` headless, with pictures."
    );
    eprintln!(
        "They come as it goes, the film at the end. `undine --help` shows what else there is; Ctrl-C stops."
    );
    crate::run::run(&RunArgs {
        scene: SceneArgs { scene: DEFAULT_SCENE.into(), set: Vec::new() },
        out: None,
        frames: None,
        threads: None,
        export: None,
        surface: false,
        pictures: true,
        size: Some(Size([640, 360])),
        every: Some(4),
        resume: false,
        json: false,
        quiet: false,
        events: None,
        record: None,
    })
}
