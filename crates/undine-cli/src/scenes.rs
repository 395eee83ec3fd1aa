//! `undine scenes` and `undine schema`: what is built in, and what a scene file may say.

use anyhow::{Context, Result};
use serde::Serialize;
use undine::scene::builtin::BUILTIN;
use undine::scene::{ModelKind, Scene, schema as scene_schema};

use crate::args::JsonArgs;
use crate::text::{Align, aligned, count, print, print_json};

/// A row of the list.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    title: String,
    model: &'static str,
    /// Particles at the start, from the volumes of the fluids.
    particles: u64,
    /// Whether emitters add more.
    emits: bool,
    /// Simulated time, s.
    duration: f64,
}

#[derive(Serialize)]
struct List {
    scenes: Vec<Row>,
}

/// `undine scenes`.
pub fn scenes(args: &JsonArgs) -> Result<()> {
    let mut list = List { scenes: Vec::new() };
    for builtin in BUILTIN {
        let loaded = Scene::load(builtin.name, &[])
            .with_context(|| format!("the built-in scene `{}`", builtin.name))?;
        list.scenes.push(row(builtin.name, &loaded.scene));
    }
    if args.json {
        return print_json(&list);
    }
    let header = ["NAME", "MODEL", "PARTICLES", "DURATION", "TITLE"].map(String::from).to_vec();
    let mut rows = vec![header];
    rows.extend(list.scenes.iter().map(|row| {
        let more = if row.emits { "+" } else { "" };
        vec![
            row.name.into(),
            row.model.into(),
            count(row.particles) + more,
            format!("{} s", row.duration),
            row.title.clone(),
        ]
    }));
    print(&aligned(&[Align::Left, Align::Left, Align::Right, Align::Right, Align::Left], &rows))
}

fn row(name: &'static str, scene: &Scene) -> Row {
    let cell = scene.model.particle_spacing().powi(3);
    let volume: f64 = scene.fluids.iter().filter_map(|f| f.shape.as_ref()).map(|shape| shape.volume()).sum();
    Row {
        name,
        title: scene.title.clone(),
        model: model_name(scene.model.kind),
        particles: (volume / cell).round() as u64,
        emits: !scene.emitters.is_empty(),
        duration: scene.time.duration,
    }
}

/// The name of a model in scene files.
fn model_name(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Sph => "sph",
        ModelKind::Mac => "mac",
        ModelKind::LennardJones => "lennard-jones",
    }
}

/// `undine schema`.
pub fn schema() -> Result<()> {
    print_json(&scene_schema())
}
