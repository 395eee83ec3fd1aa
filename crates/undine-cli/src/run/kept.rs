//! What a checkpoint keeps of a run beside its world: the scene, the input, what is written and the times so far.

use std::path::Path;

use anyhow::{Context, Result};
use undine::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use undine::models::Passes;
use undine::scene::{Event, Loaded, Scene, events_to_toml, parse_events};

use super::outputs::Wanted;

/// The scene and the input of a run.
pub struct Identity {
    /// Name of the scene.
    pub name: String,
    /// Its text as run.
    pub text: String,
    /// Input played back.
    pub events: Vec<Event>,
    /// What is written of each frame.
    pub wanted: Wanted,
}

/// Times of a run so far, over all its parts.
#[derive(Clone, Debug)]
pub struct History {
    /// Wall time, s.
    pub wall: f64,
    /// Smallest step, s.
    pub step_min: f64,
    /// Largest step, s.
    pub step_max: f64,
    /// Seconds by pass.
    pub passes: Vec<(String, f64)>,
}

impl Default for History {
    fn default() -> Self {
        History { wall: 0.0, step_min: f64::INFINITY, step_max: 0.0, passes: Vec::new() }
    }
}

impl History {
    /// Notes a step, s.
    pub fn step(&mut self, step: f64) {
        self.step_min = self.step_min.min(step);
        self.step_max = self.step_max.max(step);
    }

    /// Its passes and those of later parts together.
    pub fn passes_with(&self, later: &[&Passes]) -> Vec<(String, f64)> {
        let mut passes = self.passes.clone();
        for (name, seconds) in later.iter().flat_map(|passes| passes.times()) {
            match passes.iter_mut().find(|pass| pass.0 == *name) {
                Some(pass) => pass.1 += seconds,
                None => passes.push(((*name).to_owned(), *seconds)),
            }
        }
        passes
    }

    /// Writes it in the section `history`.
    pub fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        out.section("history")?;
        out.put_f64s(&[self.wall, self.step_min, self.step_max])?;
        out.put_u64(self.passes.len() as u64)?;
        for (name, seconds) in &self.passes {
            out.put_str(name)?;
            out.put_f64(*seconds)?;
        }
        Ok(())
    }

    /// Reads what [`History::save`] wrote.
    pub fn load(from: &mut CheckpointReader) -> Result<Self, CheckpointError> {
        from.section("history")?;
        let times = from.get_f64s()?;
        let [wall, step_min, step_max] = times[..] else {
            return Err(CheckpointError::Damaged { what: "the times of the run".into() });
        };
        let mut passes = Vec::new();
        for _ in 0..from.get_u64()? {
            passes.push((from.get_str()?, from.get_f64()?));
        }
        Ok(History { wall, step_min, step_max, passes })
    }
}

impl Identity {
    /// Writes it in the section `scene`.
    pub fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        out.section("scene")?;
        out.put_str(&self.name)?;
        out.put_str(&self.text)?;
        out.put_str(&events_to_toml(&self.events))?;
        out.put_str(&self.wanted.to_text())
    }

    /// Reads what [`Identity::save`] wrote.
    pub fn load(from: &mut CheckpointReader) -> Result<Self, CheckpointError> {
        let damaged = |what: &str| CheckpointError::Damaged { what: what.into() };
        from.section("scene")?;
        let (name, text) = (from.get_str()?, from.get_str()?);
        let events = parse_events(&from.get_str()?, "checkpoint", None).map_err(|_| damaged("the input"))?;
        let wanted = from.get_str()?.parse().map_err(|()| damaged("the formats"))?;
        Ok(Identity { name, text, events, wanted })
    }

    /// Refuses to continue the run of another scene. Dials that only steer how the same scene is computed (the
    /// step and the stiffness) may change, so that a run that blew up can go on with smaller steps; returns
    /// whether one did.
    pub fn check_same(&self, ours: &Loaded) -> Result<bool> {
        if self.text == ours.text {
            return Ok(false);
        }
        let kept = Scene::parse(&self.text, "checkpoint.toml", Path::new("."), &[]);
        let kept = kept.context("the scene kept in the checkpoint cannot be read any more")?.scene;
        let differing = differences(&kept, &ours.scene);
        if differing.is_empty() {
            return Ok(kept != ours.scene);
        }
        let what = format!(
            "`{}`, which differs in {}; use the scene.toml and --set of that run",
            self.name,
            differing.join(", ")
        );
        Err(CheckpointError::SceneMismatch { what }.into())
    }
}

/// The parts in which two scenes differ, dials aside.
fn differences(a: &Scene, b: &Scene) -> Vec<&'static str> {
    let without_dials = |scene: &Scene| {
        let mut model = scene.model.clone();
        model.max_particles = 0;
        let o = &mut model.sph;
        (o.cfl, o.compression, o.artificial_viscosity) = (1.0, 1.0, 0.0);
        (o.stiffness, o.max_speed) = (None, None);
        model
    };
    [
        ("gravity", a.gravity == b.gravity),
        ("time.frame_rate", a.time.frame_rate == b.time.frame_rate),
        ("domain", a.domain == b.domain),
        ("model", without_dials(a) == without_dials(b)),
        ("fluid", a.fluids == b.fluids),
        ("boundary", a.boundaries == b.boundaries),
        ("solid", a.solids == b.solids),
        ("emitter", a.emitters == b.emitters),
        ("outflow", a.outflows == b.outflows),
        ("force", a.forces == b.forces),
        ("probe", a.probes == b.probes),
        ("event", a.events == b.events),
    ]
    .into_iter()
    .filter_map(|(name, same)| (!same).then_some(name))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dam(set: &[&str]) -> Loaded {
        Scene::load("dam-break", &set.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn identity(loaded: &Loaded) -> Identity {
        Identity {
            name: loaded.name.clone(),
            text: loaded.text.clone(),
            events: Vec::new(),
            wanted: "none".parse().unwrap(),
        }
    }

    #[test]
    fn dials_may_change_and_the_scene_may_not() {
        let kept = identity(&dam(&[]));
        assert!(!kept.check_same(&dam(&[])).unwrap());
        assert!(kept.check_same(&dam(&["model.cfl=0.5"])).unwrap());
        assert!(kept.check_same(&dam(&["time.duration=8"])).unwrap());
        for other in
            ["model.spacing=0.03", "gravity=[0,-1,0]", "fluid.water.density=900", "time.frame_rate=30"]
        {
            let error = kept.check_same(&dam(&[other])).unwrap_err().to_string();
            assert!(error.contains("another scene"), "{other}: {error}");
        }
    }

    #[test]
    fn a_history_reads_back() {
        let mut history = History { wall: 2.5, passes: vec![("sort".into(), 1.0)], ..History::default() };
        history.step(0.25);
        let mut out = CheckpointWriter::in_memory();
        history.save(&mut out).unwrap();
        identity(&dam(&[])).save(&mut out).unwrap();
        let mut from = CheckpointReader::from_bytes(out.finish_bytes().unwrap()).unwrap();
        assert_eq!(Identity::load(&mut from).unwrap().name, "dam-break");
        let read = History::load(&mut from).unwrap();
        assert_eq!((read.wall, read.step_min, read.step_max), (2.5, 0.25, 0.25));
        assert_eq!(read.passes, history.passes);
    }
}
