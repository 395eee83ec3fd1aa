//! The contract of the command line: JSON, exit codes, messages.

mod common;

use std::fs;
use std::io::Read;
use std::process::Command;

use common::*;
use serde_json::Value;

const RUN: [&str; 6] = ["run", "dam-break", "--set", COARSE, "--frames", "2"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn run_prints_one_json_object_and_fills_its_folder() {
    let scratch = Scratch::new();
    let report = scratch.json(&with(&["-o", "out", "--threads", "1", "--json", "--export", "ply,vtp,bgeo"]));
    assert_eq!(
        keys(&report),
        ["frames", "out", "particles", "passes", "scene", "simulated", "steps", "threads", "wall", "walls"]
    );
    assert_eq!((&report["scene"], &report["out"]), (&"dam-break".into(), &"out".into()));
    assert_eq!((&report["frames"], &report["threads"]), (&2.into(), &1.into()));
    assert!(report["particles"].as_u64().unwrap() > 500 && report["steps"].as_u64().unwrap() >= 2);
    assert!((report["simulated"].as_f64().unwrap() - 2.0 / 60.0).abs() < 1e-12);
    assert!(report["passes"].as_object().unwrap().values().all(Value::is_f64));
    for frame in 0..=2 {
        for format in ["ply", "vtp", "bgeo"] {
            assert!(scratch.path(&format!("out/particles_{frame:04}.{format}")).exists());
        }
    }
    for name in ["run.json", "scene.toml", "probes.csv", "checkpoint", "particles.pvd"] {
        assert!(scratch.path("out").join(name).exists(), "{name}");
    }
    let probes = fs::read_to_string(scratch.path("out/probes.csv")).unwrap();
    assert!(probes.starts_with("time") && probes.lines().count() == 4, "{probes}");
    let run: Value = serde_json::from_slice(&fs::read(scratch.path("out/run.json")).unwrap()).unwrap();
    assert_eq!(run["complete"], true);
    // The scene as run gives the same run, from its file.
    let again = scratch.json(&["run", "out/scene.toml", "--frames", "2", "-o", "again", "--json"]);
    assert_eq!(again["particles"], report["particles"]);
    let frame = |dir: &str| fs::read(scratch.path(dir).join("particles_0002.ply")).unwrap();
    assert!(frame("out") == frame("again"));
}

#[test]
fn a_run_is_never_overwritten() {
    let scratch = Scratch::new();
    assert_eq!(code(&scratch.undine(&with(&["--quiet"]))), 0);
    let before = results(&scratch.path("runs/dam-break"));
    let output = scratch.undine(&with(&[]));
    assert_eq!(code(&output), 0);
    assert!(stderr(&output).contains("runs/dam-break-2"), "{}", stderr(&output));
    assert!(stdout(&output).contains("The files are in runs/dam-break-2"), "{}", stdout(&output));
    assert!(results(&scratch.path("runs/dam-break")) == before);
    let output = scratch.undine(&with(&["-o", "runs/dam-break"]));
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("already holds a run"), "{}", stderr(&output));
}

#[test]
fn check_tells_what_a_model_ignores() {
    let scratch = Scratch::new();
    let warnings = |model: &str, rest: &str| {
        let scene = format!(
            r#"
            domain = {{ min = [0, 0, 0], max = [1, 1, 1] }}
            model = {{ {model}, spacing = 0.1 }}
            [[fluid]]
            name = "mercury"
            shape = {{ box = {{ min = [0, 0, 0], max = [0.5, 0.5, 1] }} }}
            {rest}
            "#
        );
        std::fs::write(scratch.path("ignored.toml"), scene).unwrap();
        let report = scratch.json(&["check", "ignored.toml", "--json"]);
        report["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(warnings("kind = \"mac\"", "surface_tension = 0.5")[0].contains("no surface tension"));
    assert!(warnings("kind = \"mac\"", "surface_tension = 0").is_empty());
    let cloth = "[[solid]]\nname = \"sail\"\nkind = \"cloth\"\nspacing = 0.1\n\
                 shape = { box = { min = [0.6, 0.5, 0.2], max = [0.9, 0.51, 0.8] } }";
    assert!(warnings("kind = \"mac\"", cloth)[0].contains("the cloth `sail`"));
    assert!(warnings("kind = \"mac\", coupling = \"markers\"", cloth).is_empty());
    assert!(warnings("kind = \"lennard-jones\"", cloth)[0].contains("does not feel solids"));
}

#[test]
fn check_tells_counts_step_and_warnings() {
    let scratch = Scratch::new();
    let report = scratch.json(&["check", "dam-break", "--set", COARSE, "--json"]);
    assert_eq!(
        keys(&report),
        ["bytes", "particles", "seconds", "step", "step_limit", "steps_per_frame", "walls", "warnings"]
    );
    assert_eq!(report["warnings"], Value::Array(Vec::new()));
    assert!(report["seconds"].as_f64().unwrap() > 0.0 && report["bytes"].as_u64().unwrap() > 1000);

    let scene = r#"
        [domain]
        min = [0, 0, 0]
        max = [1, 1, 1]
        [model]
        spacing = 0.05
        [[fluid]]
        name = "water"
        shape = { box = { min = [0, 0, 0], max = [1, 0.5, 1] } }
        [[fluid]]
        name = "oil"
        shape = { box = { min = [0, 0.4, 0], max = [1, 0.6, 1] } }
        [[boundary]]
        name = "plate"
        shape = { box = { min = [0.5, 0, 0], max = [0.52, 0.7, 1] } }
        [[emitter]]
        name = "tap"
        fluid = "water"
        shape = { disc = { center = [0.2, 0.3, 0.5], normal = [0, -1, 0], radius = 0.1 } }
        speed = 1
        [[emitter]]
        name = "other"
        fluid = "oil"
        shape = { disc = { center = [0.2, 0.31, 0.5], normal = [0, 1, 0], radius = 0.1 } }
        speed = 1
        [[emitter]]
        name = "out"
        fluid = "oil"
        shape = { disc = { center = [2, 0.8, 0.5], normal = [0, -1, 0], radius = 0.1 } }
        speed = 1
        switch = "left"
    "#;
    fs::write(scratch.path("odd.toml"), scene).unwrap();
    let output = scratch.undine(&["check", "odd.toml"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    for expected in [
        "lie in an earlier fluid and are left out",
        "lie in walls or outside the domain and are left out",
        "the wall `plate` is 0.0200 m thick",
        "places of the emitter `tap` lie in the starting fluid",
        "the emitters `tap` and `other` overlap",
        "places of the emitter `out` lie outside the domain",
        "waits for the switch `left`",
        "ruled by `cfl`",
        "  oil",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
}

#[test]
fn check_counts_what_emitters_will_add_within_their_times_switches_and_the_cap() {
    let scratch = Scratch::new();
    let scene = r#"
        [time]
        duration = 1
        [model]
        spacing = 0.05
        [[fluid]]
        shape = { box = { min = [0, 0, 0], max = [0.5, 0.5, 0.5] } }
        [[emitter]]
        shape = { disc = { center = [2, 2, 0], normal = [0, -1, 0], radius = 0.2 } }
        speed = 1
        switch = "on"
        [[event]]
        time = 0.5
        switch = { name = "on" }
    "#;
    fs::write(scratch.path("tap.toml"), scene).unwrap();
    let particles = |set: &str| {
        let report = scratch.json(&["check", "tap.toml", "--json", "--set", set]);
        assert_eq!(report["particles"], 1000);
        report["bytes"].as_u64().unwrap() / 190
    };
    // Half a second at 1 m/s are 10 layers, and the first comes at once.
    let half = particles("time.duration=1") - 1000;
    assert!(half > 0 && half % 11 == 0, "{half}");
    assert_eq!(particles("time.duration=1.5") - 1000, half / 11 * 21);
    assert_eq!(particles("emitter.0.stop=0.75") - 1000, half / 11 * 6);
    assert_eq!(particles("emitter.0.start=2"), 1000);
    assert_eq!(particles("event.0.switch.on=false"), 1000);
    assert_eq!(particles("model.max_particles=1100"), 1100);
    let text = stdout(&scratch.undine(&["check", "tap.toml"]));
    assert!(text.contains(&format!("up to {half}")), "{text}");
}

#[test]
fn scenes_schema_and_bench_speak_json() {
    let scratch = Scratch::new();
    let list = scratch.json(&["scenes", "--json"]);
    let names: Vec<&str> =
        list["scenes"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"dam-break"), "{names:?}");
    assert!(stdout(&scratch.undine(&["scenes"])).contains("Dam break"));
    let schema = scratch.json(&["schema"]);
    assert!(schema["properties"]["model"].is_object());
    let bench = scratch.json(&["bench", "mueller", "--json", "--steps", "2", "--threads", "1,2"]);
    let rows = bench["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        assert_eq!(keys(row), ["ms_per_step", "name", "paper_ms", "particles", "passes", "steps", "threads"]);
        assert!(row["ms_per_step"].as_f64().unwrap() > 0.0);
        assert!(row["passes"].as_object().unwrap().len() >= 3);
    }
    assert_eq!((&rows[0]["paper_ms"], &rows[1]["threads"]), (&50.0.into(), &2.into()));
    let bench = scratch.json(&["bench", "surface", "--json", "--steps", "1"]);
    let rows = bench["rows"].as_array().unwrap();
    assert_eq!(
        rows.iter().map(|row| row["paper_ms"].as_f64().unwrap()).collect::<Vec<_>>(),
        [27.0, 30.0, 33.0, 43.0]
    );
    assert!(rows.iter().all(|row| row["passes"]["march"].as_f64().unwrap() > 0.0));
}

#[test]
fn wrong_usage_and_wrong_scenes_exit_with_2() {
    let scratch = Scratch::new();
    fs::write(scratch.path("bad.toml"), "[model]\nspacing = 0.1\nspaicng = 2\n").unwrap();
    let mesh =
        "[model]\nspacing = 0.1\n[[fluid]]\nname = \"w\"\nshape = { mesh = { file = \"none.obj\" } }\n";
    fs::write(scratch.path("mesh.toml"), mesh).unwrap();
    let cases: [(&[&str], &str); 16] = [
        (&["fly"], "unrecognized subcommand"),
        (&["run"], "SCENE"),
        (&["run", "dam-brake"], "did you mean `dam-break`?"),
        (&["run", "nowhere.toml"], "there is no scene file"),
        (&["run", "bad.toml"], "bad.toml:3:1"),
        (&["check", "bad.toml"], "did you mean `spacing`?"),
        (&["run", "mesh.toml"], "none.obj"),
        (&["run", "dam-break", "--set", "model.spacing=-1"], "--set model.spacing=-1"),
        (&["run", "dam-break", "--threads", "0"], "--threads"),
        (&["run", "dam-break", "--threads", "1025"], "--threads"),
        (&["run", "dam-break", "--export", "plx"], "unknown format"),
        (&["run", "dam-break", "--surface", "--export", "bgeo"], "holds no surfaces"),
        (&["run", "dam-break", "--pictures", "--size", "big"], "WIDTHxHEIGHT"),
        (&["run", "dam-break", "--every", "2"], "--pictures"),
        (&["run", "dam-break", "--events", "none.toml"], "none.toml"),
        (&["bench", "nothing"], "mueller"),
    ];
    for (args, expected) in cases {
        let output = scratch.undine(args);
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{args:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(expected), "{args:?}: {said}");
        assert_eq!(stdout(&output), "", "{args:?}");
    }
    assert!(!scratch.path("runs").exists(), "nothing is written before all is checked");
}

#[test]
fn an_output_folder_that_cannot_be_is_a_failure() {
    let scratch = Scratch::new();
    fs::write(scratch.path("file"), "in the way").unwrap();
    for out in ["file", "file/deeper"] {
        let output = scratch.undine(&with(&["-o", out]));
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains("is not a folder"), "{}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(scratch.path("file")).unwrap(), "in the way");
}

#[test]
fn a_view_is_not_built_yet() {
    let output = Scratch::new().undine(&["view", "dam-break"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("not built in this version"));
}

#[test]
fn without_a_command_the_default_scene_is_run_headless_and_says_so() {
    let scratch = Scratch::new();
    let mut child = scratch.start(&[]);
    wait_for(&scratch.path("runs/dam-break/checkpoint"));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    for expected in ["running the scene `dam-break` headless", "writing to runs/dam-break", "--resume"] {
        assert!(said.contains(expected), "{said}");
    }
    assert!(said.contains("the first picture is runs/dam-break/picture_0000.png"), "{said}");
    for name in ["particles_0000.ply", "picture_0000.png", "contact.png"] {
        assert!(scratch.path("runs/dam-break").join(name).exists(), "{name}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let scratch = Scratch::new();
    let mut child = scratch.start(&["schema"]);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn help_shows_examples_and_units() {
    let output = Scratch::new().undine(&["run", "--help"]);
    let text = stdout(&output);
    for expected in ["Examples:", "--resume", "UNDINE_CHECKPOINT_SECONDS", "Pa s", "--export <LIST>"] {
        assert!(text.contains(expected), "{text}");
    }
}
