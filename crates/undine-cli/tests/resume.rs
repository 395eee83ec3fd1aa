//! Nothing is lost: killed, stopped and damaged runs; any number of threads.

mod common;

use std::fs;
use std::process::Command;

use common::*;

/// Frames enough that a run is still going when it is killed, and few enough to wait for.
const RUN: [&str; 9] = ["run", "dam-break", "--set", COARSE, "--frames", "20", "--export", "ply,vtp", "-o"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn a_killed_run_resumes_to_the_same_files_as_an_unbroken_one() {
    let scratch = Scratch::new();
    assert_eq!(code(&scratch.undine(&with(&["whole"]))), 0);

    let mut child = scratch.start(&with(&["killed"]));
    wait_for(&scratch.path("killed/particles_0002.ply"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!scratch.path("killed/run.json").exists(), "the run was too quick to be killed");
    // What a kill may leave behind: a frame beyond the checkpoint, half a row, a temporary file.
    fs::write(scratch.path("killed/.particles_0005.ply.tmp-1-1"), "half").unwrap();
    let mut rows = fs::read_to_string(scratch.path("killed/probes.csv")).unwrap();
    rows += "0.9,1";
    fs::write(scratch.path("killed/probes.csv"), rows).unwrap();

    let output = scratch.undine(&with(&["killed", "--resume"]));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("going on from frame"), "{}", stderr(&output));
    assert_same_results(&scratch.path("whole"), &scratch.path("killed"));
}

#[test]
fn surfaces_and_pictures_resume_to_the_same_files_on_any_number_of_threads() {
    let scratch = Scratch::new();
    let run = ["run", "dam-break", "--set", COARSE, "--frames", "6", "-o"];
    let wanted =
        ["--surface", "--pictures", "--size", "64x36", "--every", "2", "--export", "ply,obj,vtp,usda,pov"];
    let all = |more: &[&'static str]| run.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>();
    let first = |more: &[&'static str]| {
        let mut args = all(more);
        args.extend(wanted);
        args
    };
    assert_eq!(code(&scratch.undine(&first(&["whole", "--threads", "1"]))), 0);
    for name in
        ["surface_0006.obj", "surface.pvd", "run.usda", "scene.pov", "picture_0004.png", "contact.png"]
    {
        assert!(scratch.path("whole").join(name).exists(), "{name}");
    }
    assert!(!scratch.path("whole/picture_0003.png").exists());

    let mut child = scratch.start(&first(&["killed", "--threads", "2"]));
    wait_for(&scratch.path("killed/surface_0002.ply"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!scratch.path("killed/run.json").exists(), "the run was too quick to be killed");
    // What is written is remembered.
    let output = scratch.undine(&all(&["killed", "--resume"]));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_same_results(&scratch.path("whole"), &scratch.path("killed"));
}

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    let scratch = Scratch::new();
    for threads in ["1", "2"] {
        assert_eq!(code(&scratch.undine(&with(&[threads, "--threads", threads]))), 0);
    }
    assert_same_results(&scratch.path("1"), &scratch.path("2"));
}

#[test]
fn a_finished_run_goes_on_to_a_later_frame() {
    let scratch = Scratch::new();
    assert_eq!(code(&scratch.undine(&with(&["whole"]))), 0);
    let short = ["run", "dam-break", "--set", COARSE, "--frames", "2", "--export", "ply,vtp", "-o", "part"];
    assert_eq!(code(&scratch.undine(&short)), 0);
    // Formats are remembered.
    let more = ["run", "dam-break", "--set", COARSE, "--frames", "20", "-o", "part", "--resume", "--json"];
    let report = scratch.json(&more);
    assert_eq!(report["frames"], 20);
    assert_same_results(&scratch.path("whole"), &scratch.path("part"));
    // There is nothing left to do, and that is no failure.
    assert_eq!(scratch.json(&more)["frames"], 20);
    assert_same_results(&scratch.path("whole"), &scratch.path("part"));
}

#[test]
fn emitters_switches_moving_walls_and_outflow_resume_to_the_same_files() {
    let scratch = Scratch::new();
    let scene = r#"
        [time]
        duration = 0.2
        [domain]
        min = [0, 0, 0]
        max = [1, 1, 0.6]
        periodic = [false, false, true]
        [model]
        spacing = 0.05
        jitter = 0.1
        [[fluid]]
        name = "water"
        shape = { box = { min = [0, 0, 0], max = [0.4, 0.3, 0.6] } }
        [[boundary]]
        shape = { box = { min = [0.5, 0, 0.2], max = [0.7, 0.2, 0.4] } }
        motion = { rotate = { center = [0.6, 0.1, 0.3], axis = [0, 1, 0], speed = 6 } }
        [[emitter]]
        name = "tap"
        fluid = "water"
        shape = { disc = { center = [0.8, 0.8, 0.3], normal = [0, -1, 0], radius = 0.12 } }
        speed = 2
        switch = "on"
        [[outflow]]
        shape = { box = { min = [0, 0, 0], max = [0.1, 0.1, 0.6] } }
        [[event]]
        time = 0.03
        switch = { name = "on", on = true }
        [[event]]
        time = 0.12
        set = { key = "emitter.tap.speed", value = [1.0] }
        [[probe]]
        kind = "momentum"
    "#;
    fs::write(scratch.path("scene.toml"), scene).unwrap();
    let run = |out: &str, frames: &str, resume: bool| {
        let mut args = vec!["run", "scene.toml", "--quiet", "-o", out, "--frames", frames];
        args.extend(resume.then_some("--resume"));
        let output = scratch.undine(&args);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    };
    run("whole", "12", false);
    // Stops before, between and after the events.
    for (i, frames) in ["1", "3", "5", "8", "12"].into_iter().enumerate() {
        run("parts", frames, i > 0);
    }
    assert_same_results(&scratch.path("whole"), &scratch.path("parts"));
}

#[test]
fn solids_resume_to_the_same_files_on_any_number_of_threads() {
    let scratch = Scratch::new();
    let scene = r#"
        [domain]
        min = [-1, 0, -1]
        max = [1, 2, 1]
        [model]
        spacing = 0.1
        [[fluid]]
        shape = { box = { min = [0.4, 0, 0.4], max = [0.9, 0.3, 0.9] } }
        [[solid]]
        name = "ball"
        shape = { sphere = { center = [0, 0.3, 0], radius = 0.25 } }
        [[solid]]
        shape = { box = { min = [-0.9, 0.1, -0.9], max = [-0.4, 0.6, -0.4] } }
        velocity = [1, 0, 1]
        [[solid]]
        kind = "cloth"
        spacing = 0.05
        stiffness = 100
        damping = 0.5
        shape = { box = { min = [-0.5, 0.6, -0.5], max = [0.5, 0.601, 0.5] } }
        [[probe]]
        kind = "body"
        body = "ball"
    "#;
    fs::write(scratch.path("scene.toml"), scene).unwrap();
    let run = |out: &str, frames: &str, threads: &str, resume: bool| {
        let mut args =
            vec!["run", "scene.toml", "--quiet", "-o", out, "--frames", frames, "--threads", threads];
        args.extend(if resume { vec!["--resume"] } else { vec!["--export", "ply,vtp,usda"] });
        let output = scratch.undine(&args);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    };
    run("whole", "12", "1", false);
    for (i, frames) in ["1", "5", "12"].into_iter().enumerate() {
        run("parts", frames, "2", i > 0);
    }
    for name in ["solids_0012.ply", "solids_0012.vtp", "solids.pvd"] {
        assert!(scratch.path("whole").join(name).exists(), "{name}");
    }
    assert_same_results(&scratch.path("whole"), &scratch.path("parts"));
    // What was written can be drawn.
    let output = scratch.undine(&["render", "whole", "--quiet", "--size", "64x36", "--every", "6"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn ctrl_c_finishes_the_frame_and_says_how_to_resume() {
    let scratch = Scratch::new();
    assert_eq!(code(&scratch.undine(&with(&["whole"]))), 0);
    let child = scratch.start(&with(&["stopped"]));
    wait_for(&scratch.path("stopped/particles_0001.ply"));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let said = stderr(&output);
    let resume = format!("undine run dam-break -o stopped --resume --set {COARSE} --frames 20");
    assert!(said.contains("error: stopped after frame") && said.contains(&resume), "{said}");
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(scratch.path("stopped/run.json")).unwrap()).unwrap();
    assert_eq!(report["complete"], false);

    let words: Vec<&str> = resume.split(' ').skip(1).collect();
    assert_eq!(code(&scratch.undine(&words)), 0);
    assert_same_results(&scratch.path("whole"), &scratch.path("stopped"));
}

#[test]
fn a_damaged_or_foreign_checkpoint_is_refused_and_nothing_is_touched() {
    let scratch = Scratch::new();
    let run = ["run", "dam-break", "--set", COARSE, "--frames", "1", "-o", "out"];
    assert_eq!(code(&scratch.undine(&run)), 0);
    let before = results(&scratch.path("out"));
    let checkpoint = scratch.path("out/checkpoint");
    let good = fs::read(&checkpoint).unwrap();
    let resume: Vec<&str> = run.iter().copied().chain(["--resume"]).collect();

    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let mut newer = good.clone();
    newer[8] = 99;
    let damaged: [(&[u8], &str); 4] = [
        (&flipped, "damaged"),
        (&good[..good.len() / 2], "cut short"),
        (&newer, "version"),
        (b"no", "not an"),
    ];
    for (bytes, expected) in damaged {
        fs::write(&checkpoint, bytes).unwrap();
        let output = scratch.undine(&resume);
        assert_eq!(code(&output), 1);
        let said = stderr(&output);
        assert!(said.starts_with("error: cannot resume out: ") && said.contains(expected), "{said}");
    }
    fs::write(&checkpoint, &good).unwrap();
    let other = ["run", "dam-break", "--set", "model.spacing=0.05", "--frames", "1", "-o", "out", "--resume"];
    let output = scratch.undine(&other);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("another scene") && stderr(&output).contains("model"),
        "{}",
        stderr(&output)
    );
    let output = scratch.undine(&["run", "drop", "--frames", "1", "-o", "out", "--resume"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(results(&scratch.path("out")) == before);
}

#[test]
fn a_run_that_blows_up_keeps_its_checkpoint_and_goes_on_with_smaller_steps() {
    let scratch = Scratch::new();
    let run = ["run", "dam-break", "--set", COARSE, "--frames", "30", "-o", "out", "--set", "time.step=0.02"];
    let output = scratch.undine(&run);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("blew up at t = ") && said.contains("--resume"), "{said}");
    assert!(said.contains("--set time.step=0.01") && !said.contains("time.step=0.02"), "{said}");
    assert!(scratch.path("out/checkpoint").exists() && scratch.path("out/run.json").exists());
    let go_on = ["run", "dam-break", "--set", COARSE, "--frames", "2", "-o", "out", "--resume"];
    let output = scratch.undine(&go_on);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("settings that differ"));
}

#[test]
fn recorded_input_plays_back_to_the_same_files() {
    let scratch = Scratch::new();
    let brush = "[[event]]\ntime = 0.01\nbrush = { position = [0.3, 0.3, 0.25], velocity = [1, 0, 0], radius = 0.2 }\n\
                 [[event]]\ntime = 0.02\nset = { key = \"gravity\", value = [0, -5, 0] }\n";
    fs::write(scratch.path("input.toml"), brush).unwrap();
    let run = |out: &str, events: &str, record: &str| {
        let mut args = vec!["run", "dam-break", "--set", COARSE, "--frames", "3", "--quiet", "-o", out];
        args.extend(["--events", events, "--record", record]);
        let output = scratch.undine(&args);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
        assert_eq!(stdout(&output), "");
    };
    run("a", "input.toml", "a.toml");
    run("b", "a.toml", "b.toml");
    assert_same_results(&scratch.path("a"), &scratch.path("b"));
    let [a, b] = ["a.toml", "b.toml"].map(|name| fs::read_to_string(scratch.path(name)).unwrap());
    assert_eq!(a, b);
    assert_eq!(a.matches("[[event]]").count(), 2);

    let output = scratch.undine(&["run", "dam-break", "--set", COARSE, "--frames", "3", "-o", "plain"]);
    assert_eq!(code(&output), 0);
    assert!(results(&scratch.path("plain")) != results(&scratch.path("a")));
}
