//! From particles to meshes and pictures: `surface`, `render`, `run --export` of surfaces.

mod common;

use std::fs;
use std::path::Path;

use common::*;

/// A run of five frames in `out`.
fn run(scratch: &Scratch, more: &[&str]) {
    let args = ["run", "dam-break", "--set", COARSE, "--frames", "4", "--quiet", "-o", "out"];
    let args: Vec<&str> = args.iter().chain(more).copied().collect();
    let output = scratch.undine(&args);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
}

/// Width and height of a PNG, from its header.
fn png_size(path: &Path) -> [u32; 2] {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", path.display());
    [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
}

fn count(dir: &Path, begin: &str) -> usize {
    let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(begin)).count()
}

#[test]
fn a_surface_tells_its_counts_as_json_and_its_spacing_as_text() {
    let scratch = Scratch::new();
    run(&scratch, &[]);
    let args = ["surface", "out/particles_0002.ply", "-o", "mesh.obj", "--json"];
    let output = scratch.undine(&args);
    assert!(stderr(&output).contains("spacing 0.06"), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(keys(&report), ["particles", "passes", "triangles", "vertices", "wall"]);
    assert!(report["passes"]["march"].as_f64().unwrap() > 0.0);
    let mesh = fs::read_to_string(scratch.path("mesh.obj")).unwrap();
    let lines = |begin: &str| mesh.lines().filter(|line| line.starts_with(begin)).count() as u64;
    assert!(lines("v ") > 100);
    assert_eq!(
        (report["vertices"].as_u64(), report["triangles"].as_u64()),
        (Some(lines("v ")), Some(lines("f ")))
    );
    // Finer cells, more triangles; the same bytes on any number of threads.
    let fine = scratch.json(&[
        "surface",
        "out/particles_0002.ply",
        "-o",
        "fine.ply",
        "--cell",
        "0.25",
        "--spacing",
        "0.06",
        "--json",
        "--quiet",
        "--threads",
        "1",
    ]);
    assert!(fine["triangles"].as_u64() > report["triangles"].as_u64());
    scratch.json(&[
        "surface",
        "out/particles_0002.ply",
        "-o",
        "again.ply",
        "--cell",
        "0.25",
        "--spacing",
        "0.06",
        "--json",
        "--quiet",
        "--threads",
        "2",
    ]);
    assert!(fs::read(scratch.path("fine.ply")).unwrap() == fs::read(scratch.path("again.ply")).unwrap());
}

#[test]
fn a_sequence_of_particles_becomes_a_sequence_of_meshes() {
    let scratch = Scratch::new();
    run(&scratch, &["--export", "vtp,bgeo"]);
    for (from, to) in [("out/particles_{}.vtp", "a_{}.glb"), ("out/particles_{}.bgeo", "b_{}.vtp")] {
        let output =
            scratch.undine(&["surface", from, "-o", to, "--method", "color-field", "--spacing", "0.06"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains("5 files"), "{}", stdout(&output));
    }
    let names = |begin: &str| count(&scratch.0, begin);
    assert_eq!((names("a_000"), names("b_000")), (5, 5));
    assert!(fs::read(scratch.path("a_0004.glb")).unwrap().starts_with(b"glTF"));
}

#[test]
fn wrong_wishes_for_surfaces_and_pictures_exit_with_2_and_write_nothing() {
    let scratch = Scratch::new();
    fs::write(scratch.path("one.xyz"), "0 0 0\n").unwrap();
    fs::write(scratch.path("two.xyz"), "0 0 0\n").unwrap();
    let cases: [(&[&str], &str); 12] = [
        (&["surface", "none.ply", "-o", "a.ply"], "there is no file none.ply"),
        (&["surface", "p_{}.ply", "-o", "a_{}.ply"], "no file matches p_{}.ply"),
        (&["surface", "one.xyz", "-o", "a.stl"], ".ply, .obj, .vtp, .glb, .usda"),
        (&["surface", "one.xyz", "-o", "no/a.ply"], "there is no folder no"),
        (&["surface", "one.xyz", "two.xyz", "-o", "a.ply"], "put {} into its name"),
        (&["surface", "one.xyz", "-o", "a.ply", "--spacing", "0"], "--spacing"),
        (&["surface", "one.xyz", "-o", "a.ply", "--cell", "99"], "--cell"),
        (&["surface", "one.xyz", "-o", "a.ply", "--method", "nice"], "anisotropic"),
        (&["surface", "one.xyz", "-o", "a.ply"], "give it with --spacing"),
        (&["render", "nowhere"], "there is no folder nowhere"),
        (&["render", "."], "it holds no scene.toml"),
        (&["render", ".", "--look", "water", "--color", "speed"], "--look water has no --color"),
    ];
    for (args, expected) in cases {
        let output = scratch.undine(args);
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{args:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(expected), "{args:?}: {said}");
    }
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 2);
    fs::write(scratch.path("bad.ply"), "ply\nnot really").unwrap();
    let output = scratch.undine(&["surface", "bad.ply", "-o", "a.ply", "--spacing", "1"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("bad.ply"), "{}", stderr(&output));
    assert!(!scratch.path("a.ply").exists());
}

#[test]
fn a_format_of_surfaces_alone_implies_the_surface() {
    let scratch = Scratch::new();
    run(&scratch, &["--export", "obj,glb,pov"]);
    let out = scratch.path("out");
    assert_eq!((count(&out, "surface_"), count(&out, "particles_")), (15, 0));
    assert!(out.join("scene.pov").exists());
}

#[test]
fn a_run_with_pictures_ends_with_film_sheet_and_plots() {
    let scratch = Scratch::new();
    run(&scratch, &["--pictures", "--size", "96x54", "--every", "2"]);
    let out = scratch.path("out");
    assert_eq!((count(&out, "picture_"), count(&out, "surface_"), count(&out, "film.")), (3, 0, 1));
    assert_eq!(png_size(&out.join("picture_0004.png")), [96, 54]);
    assert!(png_size(&out.join("contact.png"))[0] > 480);
    for probe in ["front", "energy", "density-error"] {
        let svg = fs::read_to_string(out.join(format!("probe_{probe}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("<path"), "{probe}");
    }
}

#[test]
fn a_run_is_rendered_afterwards_to_the_same_pictures() {
    let scratch = Scratch::new();
    run(&scratch, &["--pictures", "--size", "96x54"]);
    let output = scratch
        .undine(&["render", "out", "-o", "later", "--size", "96x54", "--frames", "1..", "--every", "2"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let said = stdout(&output);
    for expected in ["2 pictures of 96x54", "later/contact.png", "later/film.", "later/probe_front.svg"] {
        assert!(said.contains(expected), "no {expected} in {said}");
    }
    assert_eq!(count(&scratch.path("later"), "picture_"), 2);
    for name in ["picture_0001.png", "picture_0003.png"] {
        let [a, b] = ["out", "later"].map(|dir| fs::read(scratch.path(dir).join(name)).unwrap());
        assert!(a == b, "{name} differs");
    }
    for more in
        [["--color", "speed"], ["--color", "pressure"], ["--look", "surface"], ["--look", "particles"]]
    {
        let args = ["render", "out", "-o", "other", "--size", "64x36", "--frames", "4"];
        let output = scratch.undine(&args.iter().chain(&more).copied().collect::<Vec<_>>());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let stale = scratch.path("told/.film.mp4.tmp-4194305-0.mp4");
    fs::create_dir(scratch.path("told")).unwrap();
    fs::write(&stale, "of a killed process").unwrap();
    let told = scratch.json(&["render", "out", "-o", "told", "--size", "64x36", "--every", "4", "--json"]);
    assert_eq!(keys(&told), ["contact", "film", "out", "pictures", "plots", "size", "wall"]);
    assert_eq!((told["size"][0].as_u64(), told["pictures"].as_array().unwrap().len()), (Some(64), 2));
    for file in ["contact", "film"].map(|k| &told[k]).into_iter().chain(told["plots"].as_array().unwrap()) {
        assert!(scratch.path(file.as_str().unwrap()).exists(), "{file}");
    }
    assert!(!stale.exists() || !cfg!(target_os = "linux"));
    let output = scratch.undine(&["render", "out", "--frames", "7.."]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("holds frames 0 to 4"), "{}", stderr(&output));
}

#[test]
fn a_scene_with_a_volume_is_drawn_as_one_and_other_looks_can_be_asked_for() {
    let scratch = Scratch::new();
    run(&scratch, &["--set", "volume.preset=milk", "--pictures", "--size", "64x48", "--every", "4"]);
    let picture = |dir: &str| fs::read(scratch.path(&format!("{dir}/picture_0004.png"))).unwrap();
    assert_eq!(png_size(&scratch.path("out/picture_0004.png")), [64, 48]);
    let render = |out: &str, more: &[&str]| {
        let args = ["render", "out", "--size", "64x48", "--frames", "4", "--quiet", "-o", out];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        let output = scratch.undine(&args);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
        picture(out)
    };
    assert!(picture("out") == render("milk", &[]), "the scene's own look");
    assert!(render("one", &["--volume", "fire", "--threads", "1"]) == render("two", &["--volume", "fire"]));
    assert!(render("water", &["--look", "water"]) != picture("out"));
    let wrong = scratch.undine(&["render", "out", "--look", "volume", "--color", "speed"]);
    assert_eq!(code(&wrong), 2);
}
