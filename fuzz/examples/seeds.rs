//! Writes the seeds of all targets to `corpus/`, and a dictionary of the scene file's words to `scene.dict` there.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use undine::checkpoint::CheckpointWriter;
use undine::export::{Format, write_particles};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let corpus = here.join("corpus");
    let add = |target: &str, name: &str, bytes: &[u8]| -> std::io::Result<()> {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), bytes)
    };

    for path in scenes(&here)? {
        let text = fs::read_to_string(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        add("scene", &name, text.as_bytes())?;
        add("scene_run", &name, coarse(&text).as_bytes())?;
    }
    for target in ["scene", "scene_run"] {
        add(target, "checkpoint-scene", undine_fuzz::CHECKPOINT_SCENE.as_bytes())?;
        add(target, "walls", WALLS.as_bytes())?;
    }
    for (i, line) in OVERRIDES.lines().enumerate() {
        add("overrides", &format!("{i}"), line.as_bytes())?;
    }
    add("overrides", "all", OVERRIDES.as_bytes())?;
    add("events", "all", EVENTS.as_bytes())?;
    for (i, (ending, text)) in MESHES.iter().enumerate() {
        add("mesh", &format!("{i}"), format!("{ending}{text}").as_bytes())?;
    }
    let mut stl = vec![b'2'];
    stl.extend([0; 80]);
    stl.extend(1u32.to_le_bytes());
    for number in [0f32, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0] {
        stl.extend(number.to_le_bytes());
    }
    stl.extend([0; 2]);
    add("mesh", "stl", &stl)?;
    add("heightfield", "rows", b"0 1 2\n3, 4, 5\n# note\n6;7;8\n")?;
    add(
        "heightfield",
        "esri",
        b"ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n1 2\n-9999 4\n",
    )?;

    let mut world = undine_fuzz::checkpoint_world();
    for name in ["start", "later"] {
        let mut writer = CheckpointWriter::in_memory();
        world.save(&mut writer)?;
        add("checkpoint", name, &writer.finish_bytes()?)?;
        let mut ply = Vec::new();
        write_particles(Format::Ply, &world.frame(), &mut ply)?;
        add("ply", name, &ply)?;
        for (number, format) in [(0u8, Format::Ply), (1, Format::Vtp), (3, Format::Bgeo)] {
            let mut file = vec![number];
            write_particles(format, &world.frame(), &mut file)?;
            add("particles", &format!("{name}-{format}"), &file)?;
        }
        world.advance_frame()?;
    }
    add("ply", "text", b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty double z\nproperty list uchar int l\nend_header\n1 2 3 1 4\n")?;
    add("particles", "vtk", b"\x02# vtk DataFile Version 3.0\n\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n1 2 3\nPOINT_DATA 1\nSCALARS rho float\nLOOKUP_TABLE default\n9\n")?;
    add("particles", "xyz", b"\x041 2 3\n4 5 6\n")?;
    fs::write(corpus.join("scene.dict"), dictionary())?;
    Ok(())
}

/// The scene files of the repository, and the one of the tests with every key.
fn scenes(here: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths = vec![here.join("../crates/undine/src/scene/tests/full.toml")];
    for entry in fs::read_dir(here.join("../scenes"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// The scene with so few particles that it is run.
fn coarse(text: &str) -> String {
    for spacing in ["0.02", "0.05", "0.1", "0.2", "0.5"] {
        let Ok(loaded) = undine_fuzz::parse(text, &[format!("model.spacing={spacing}")]) else { continue };
        let shapes = loaded.scene.fluids.iter().filter_map(|fluid| fluid.shape.as_ref());
        let count: f64 = shapes.map(|shape| shape.fill_count_estimate(loaded.scene.model.spacing)).sum();
        if count <= undine_fuzz::MAX_PARTICLES as f64 {
            return loaded.text;
        }
    }
    text.into()
}

/// Every word between quotes of the JSON Schema.
fn dictionary() -> String {
    let schema = undine::scene::schema().to_string();
    let is_word = |word: &&str| {
        (1..30).contains(&word.len()) && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    let words: BTreeSet<&str> = schema.split('"').filter(is_word).collect();
    let marks = ["[[", "]]", " = ", " = { ", " }", "[0, 0, 0]", "1e-9", "1e9", "inf", "true", "false"];
    words.into_iter().chain(marks).map(|word| format!("\"{word}\"\n")).collect()
}

const WALLS: &str = r#"
model = { spacing = 0.1, kernels = "mueller", jitter = 0.1, restitution = 0.5 }
[[fluid]]
shape = { sphere = { center = [0, 0.5, 0], radius = 0.2 } }
[[boundary]]
shape = { cylinder = { base = [0, 0, 0], radius = 0.5, height = 1 } }
inside = "hollow"
open_top = true
motion = { rotate = { center = [0, 0, 0], axis = [0, 0, 1], speed = 1 } }
[[boundary]]
shape = { heightfield = { size = [1, 1], heights = [[0, 0.1], [0, 0.2]] } }
slip = "no-slip"
[[boundary]]
shape = { box = { min = [0, 0, 0], max = [1, 0.1, 1] } }
motion = { translate = { velocity = [1, 0, 0], frequency = 2 } }
[[outflow]]
shape = { box = { min = [0, 0, 0], max = [1, 0.2, 1] } }
[[emitter]]
shape = { sphere = { center = [0, 0.5, 0], radius = 0.2 } }
speed = 1
[[force]]
brush = { track = [[0, 0, 0.5, 0], [1, 1, 0.1, 0]], radius = 0.3 }
[[force]]
uniform = [1, 0, 0]
"#;

const OVERRIDES: &str = r#"model.spacing=0.2
fluid.water.viscosity=0.1
fluid.0.shape={ sphere = { center = [0, 0, 0], radius = 1 } }
fluid.1={ name = "x" }
emitter.emitter.speed = 3
domain.periodic.2=false
event.2.set.value=[1]
title='a "b"'
gravity=[0, 0, 0]
"#;

const EVENTS: &str = r#"
[[event]]
time = 0.25
brush = { id = 3, position = [1, 0.1, 0], velocity = [0, 0, 1], radius = 0.2, strength = 50 }
[[event]]
time = 0.5
brush_up = 3
[[event]]
time = 0.75
switch = { name = "left-1", on = false }
[[event]]
time = 1
set = { key = "gravity", value = [0, 9.81, 0] }
"#;

const MESHES: [(&str, &str); 4] = [
    ("0", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1/1 2/2/2 4//3\nf 1 4 3\nf -3 -2 -1\n"),
    (
        "1",
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
         element face 4\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n\
         3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n",
    ),
    (
        "2",
        "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n",
    ),
    ("3", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n"),
];
