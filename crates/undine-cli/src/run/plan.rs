//! What a run will do, all checked before anything is written.

use std::time::Duration;

use anyhow::{Context, Result};
use undine::scene::{Event, EventError, Loaded, Scene, load_events};
use undine::world::World;

use super::outputs::Wanted;
use crate::args::RunArgs;
use crate::failure::Usage;

/// Wall time between checkpoints when `UNDINE_CHECKPOINT_SECONDS` does not say otherwise, s.
const CHECKPOINT_SECONDS: f64 = 20.0;

/// The checked wishes of the command line.
pub struct Plan {
    /// The scene as run.
    pub loaded: Loaded,
    /// Input played back, if any was given.
    pub events: Option<Vec<Event>>,
    /// The last frame.
    pub last: u64,
    /// Least wall time between checkpoints.
    pub interval: Duration,
    /// The world at time 0.
    pub world: World,
}

impl Plan {
    /// Checks the scene, the recorded input and the settings.
    pub fn new(args: &RunArgs) -> Result<Plan> {
        let loaded = Scene::load(&args.scene.scene, &args.scene.set)?;
        let events = match &args.events {
            Some(path) => Some(load_events(path, Some(&loaded.scene))?),
            None => None,
        };
        if let Some(path) = &args.record {
            let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
            if path.is_dir() || folder.is_some_and(|f| !f.is_dir()) {
                return Err(Usage(format!(
                    "--record {}: it is a folder, or its folder does not exist",
                    path.display()
                ))
                .into());
            }
        }
        // Again when the run that is continued is known: what it wrote goes on.
        Wanted::new(args, None)?;
        let world = World::new(loaded.scene.clone())
            .with_context(|| format!("the scene `{}` cannot be run", args.scene.scene))?;
        Ok(Plan {
            events,
            last: args.frames.unwrap_or_else(|| loaded.scene.time.frames()),
            interval: checkpoint_interval()?,
            world,
            loaded,
        })
    }
}

fn checkpoint_interval() -> Result<Duration> {
    let Ok(text) = std::env::var("UNDINE_CHECKPOINT_SECONDS") else {
        return Ok(Duration::from_secs_f64(CHECKPOINT_SECONDS));
    };
    let seconds = text.trim().parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds
        .ok_or_else(|| Usage(format!("UNDINE_CHECKPOINT_SECONDS={text} is not a number of seconds")).into())
}

/// Adds played back input to a world. A recording tells all input that took effect, the scene's own events too:
/// those are in the world already and not added twice.
pub fn push_events(world: &mut World, events: &[Event]) -> Result<(), EventError> {
    // An event takes effect at the first step that starts at or after its time, and no step is longer than a frame.
    let frame = 1.0 / world.scene().time.frame_rate;
    let mut own = world.scene().events.clone();
    for event in events {
        let same = |o: &Event| o.action == event.action && (o.time..=o.time + frame).contains(&event.time);
        match own.iter().position(same) {
            Some(i) => drop(own.remove(i)),
            None => world.push_event(event.clone())?,
        }
    }
    Ok(())
}
