use std::path::Path;

use super::*;

/// The walls of a scene with the given `[[boundary]]` entries, spacing 0.1 m.
fn walls(boundaries: &str) -> Walls {
    let text = format!(
        r#"
        model = {{ spacing = 0.1 }}
        boundary = [{boundaries}]
        [[fluid]]
        name = "water"
        shape = {{ box = {{ min = [5, 5, 5], max = [6, 6, 6] }} }}
        "#
    );
    Walls::new(&Scene::parse(&text, "test", Path::new("."), &[]).unwrap().scene)
}

/// Where a particle ends that moved so, and its velocity then.
fn moved(walls: &Walls, from: [f64; 3], to: [f64; 3]) -> (DVec3, DVec3) {
    let (from, to, dt) = (DVec3::from(from), DVec3::from(to), 0.01);
    let mut velocity = (to - from) / dt;
    let end = walls.collide(from, to, &mut velocity, dt, true);
    (end, velocity)
}

#[test]
fn a_particle_leaves_a_thin_plate_on_the_side_it_came_from() {
    let plate = walls("{ shape = { box = { min = [-1, -0.005, -1], max = [1, 0.005, 1] } } }");
    // Less than half through, more, and all through.
    for y in [0.001, -0.003, -0.006, -0.04] {
        let (p, v) = moved(&plate, [0.0, 0.02, 0.0], [0.01, y, 0.0]);
        assert!((p - DVec3::new(0.01, 0.005, 0.0)).length() < 1e-12 && v.y >= 0.0, "{y}: {p} {v}");
        let (p, v) = moved(&plate, [0.0, -0.02, 0.0], [0.01, -y, 0.0]);
        assert!((p - DVec3::new(0.01, -0.005, 0.0)).length() < 1e-12 && v.y <= 0.0, "{y}: {p} {v}");
    }
}

#[test]
fn what_rests_on_a_thin_wall_may_leave_it() {
    let plate = walls("{ shape = { box = { min = [-1, -0.005, -1], max = [1, 0.005, 1] } } }");
    let to = [0.0, 0.06, 0.0];
    assert_eq!(moved(&plate, [0.0, 0.005, 0.0], to).0, DVec3::from(to));
    let along = [0.05, 0.005, 0.0];
    assert!((moved(&plate, [0.0, 0.005, 0.0], along).0 - DVec3::from(along)).length() < 1e-12);
}

#[test]
fn shells_and_cups_thinner_than_a_step_hold() {
    let shape =
        "shape = { box = { min = [-1, -1, -1], max = [1, 1, 1] } }, inside = \"hollow\", thickness = 0.005";
    for open in ["", ", open_top = true"] {
        let vessel = walls(&format!("{{ {shape} {open} }}"));
        for x in [1.002, 1.004, 1.02, 1.09] {
            let (p, v) = moved(&vessel, [0.98, 0.0, 0.0], [x, 0.0, 0.0]);
            assert!((p.x - 1.0).abs() < 1e-12 && v.x <= 0.0, "{x}{open}: {p} {v}");
        }
        for x in [1.004, 1.001, 0.99, 0.93] {
            let (p, v) = moved(&vessel, [1.02, 0.0, 0.0], [x, 0.0, 0.0]);
            assert!((p.x - 1.005).abs() < 1e-12 && v.x >= 0.0, "{x}{open}: {p} {v}");
        }
    }
    // Over the rim there is a way out.
    let cup = walls(&format!("{{ {shape}, open_top = true }}"));
    assert_eq!(moved(&cup, [0.98, 1.02, 0.0], [1.06, 1.02, 0.0]).0, DVec3::new(1.06, 1.02, 0.0));
}

#[test]
fn nothing_gets_out_of_round_vessels_however_far_it_would_go() {
    let ball = "shape = { sphere = { center = [0, 0, 0], radius = 0.42 } }";
    let tube =
        "shape = { cylinder = { base = [0, -0.42, 0], axis = [0, 1, 0], radius = 0.42, height = 0.84 } }";
    let mut state = 5u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24) - 0.5
    };
    for (shape, thickness) in
        [(ball, 0.2), (ball, 0.01), (ball, 1e-6), (tube, 0.2), (tube, 0.01), (tube, 1e-6)]
    {
        let vessel = walls(&format!("{{ {shape}, inside = \"hollow\", thickness = {thickness} }}"));
        let depth = |p: DVec3| {
            let round = if shape == ball { p.length() } else { p.x.hypot(p.z).max(p.y.abs()) };
            round - 0.42
        };
        for _ in 0..3000 {
            let from = DVec3::new(random(), random(), random()) * 0.84;
            // Short ways and long ones.
            let way = DVec3::new(random(), random(), random()) * 2f64.powf(8.0 * random());
            if depth(from) < 0.0 {
                let (end, _) = moved(&vessel, from.to_array(), (from + way).to_array());
                assert!(depth(end) < 1e-6, "{shape} {thickness}: {from} by {way} to {end}");
                // What meets no wall is where it would be.
                assert!(depth(from + way) > 0.0 || end == from + way, "{shape}: {from} by {way} to {end}");
            }
        }
    }
}

#[test]
fn a_thin_wall_that_overtakes_a_particle_takes_it_along() {
    let mut plate = walls(
        "{ shape = { box = { min = [0, -1, -1], max = [0.01, 1, 1] } }, motion = { translate = { velocity = [8, 0, 0] } } }",
    );
    // In 0.01 s it moves by eight times its thickness.
    for time in [0.01, 0.02] {
        plate.pose(time);
        let front = 0.01 + 8.0 * time;
        let from = front - 0.08 + 0.001;
        let (p, v) = moved(&plate, [from, 0.0, 0.0], [from, 0.0, 0.0]);
        assert!((p.x - front).abs() < 1e-12 && v.x >= 8.0 - 1e-9, "{p} {v}");
    }
    assert!((plate.fastest() - 8.0).abs() < 1e-12);
}

#[test]
fn a_place_is_beyond_a_wall_only_deeper_than_the_slack() {
    let ball = walls("{ shape = { sphere = { center = [0, 0, 0], radius = 1 } } }");
    assert!(
        ball.is_beyond(DVec3::new(0.98, 0.0, 0.0), 0.01)
            && !ball.is_beyond(DVec3::new(0.995, 0.0, 0.0), 0.01)
    );
}
