use std::path::Path;

use super::*;
use crate::frame::{Body, Field};

/// A scene of water and oil in a 1 m box, 0.1 m spacing, with the given probes.
fn scene(probes: &str) -> Scene {
    let text = format!(
        r#"
        model = {{ spacing = 0.1 }}
        domain = {{ min = [0, 0, 0], max = [4, 2, 1] }}
        {probes}
        [[fluid]]
        name = "water"
        shape = {{ box = {{ min = [0, 0, 0], max = [1, 1, 1] }} }}
        [[fluid]]
        name = "oil"
        density = 800
        "#
    );
    Scene::parse(&text, "test", Path::new("."), &[]).unwrap().scene
}

/// A frame of a lattice of 0.1 m between two corners, with velocity, pressure and density by place.
fn lattice(min: [f64; 3], max: [f64; 3], state: impl Fn(DVec3) -> (DVec3, f64, f64)) -> Frame {
    let mut frame = Frame { spacing: 0.1, support: 0.2, ..Default::default() };
    let n: [usize; 3] = std::array::from_fn(|a| ((max[a] - min[a]) / 0.1).round() as usize);
    let (mut velocity, mut pressure, mut density) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n[0] * n[1] * n[2] {
        let at = [i % n[0], i / n[0] % n[1], i / n[0] / n[1]];
        let p = DVec3::from_array(std::array::from_fn(|a| min[a] + (at[a] as f64 + 0.5) * 0.1));
        let (v, pr, de) = state(p);
        frame.particles.position.push(p.as_vec3().to_array());
        velocity.push(v.as_vec3().to_array());
        pressure.push(pr as f32);
        density.push(de as f32);
    }
    let count = velocity.len();
    frame.particles.fields = vec![
        Field { name: "velocity", data: FieldData::Vector(velocity) },
        Field { name: "pressure", data: FieldData::Scalar(pressure) },
        Field { name: "density", data: FieldData::Scalar(density) },
        Field { name: "fluid", data: FieldData::Byte(vec![0; count]) },
        Field { name: "normal", data: FieldData::Vector(vec![[0.0; 3]; count]) },
    ];
    frame
}

fn at_rest(_: DVec3) -> (DVec3, f64, f64) {
    (DVec3::ZERO, 0.0, 1000.0)
}

fn add(frame: &mut Frame, p: [f32; 3], fluid: u8) {
    frame.particles.position.push(p);
    for f in &mut frame.particles.fields {
        match &mut f.data {
            FieldData::Scalar(v) => v.push(1000.0),
            FieldData::Vector(v) => v.push([0.0; 3]),
            FieldData::Byte(v) => v.push(fluid),
            FieldData::Int(v) => v.push(0),
        }
    }
}

fn measure(probes: &str, frame: &Frame) -> Vec<f64> {
    Probes::new(&scene(probes)).measure(frame)
}

fn near(value: f64, want: f64, tolerance: f64) {
    assert!((value - want).abs() <= tolerance, "{value} instead of {want}");
}

#[test]
fn columns_are_named_after_the_probe_and_its_parts() {
    let kinds = r#"probe = [
        { kind = "front" }, { name = "v", kind = "velocity", position = [0, 0, 0] }, { kind = "energy" },
        { kind = "momentum" }, { name = "rho", kind = "density-error" } ]"#;
    let probes = Probes::new(&scene(kinds));
    let names = "front v.x v.y v.z energy.kinetic energy.potential energy.given momentum.x momentum.y momentum.z rho.mean rho.max";
    assert_eq!(probes.columns().join(" "), names);
    assert_eq!(probes.measure(&Frame::default()).len(), probes.columns().len());
}

#[test]
fn the_front_of_a_box_is_its_face_whatever_its_depth() {
    for depth in [0.1, 0.3, 1.0] {
        let frame = lattice([0.0; 3], [1.7, depth, 1.0], at_rest);
        near(measure(r#"probe = [{ kind = "front" }]"#, &frame)[0], 1.7, 1e-6);
    }
}

#[test]
fn the_front_ignores_spray_and_counts_rows_at_least_half_filled() {
    let mut frame = lattice([0.0; 3], [1.0, 0.5, 1.0], at_rest);
    for (k, z) in [0.05, 0.25, 0.55, 0.95].into_iter().enumerate() {
        add(&mut frame, [1.5 + 0.02 * k as f32, 0.05, z], 0);
    }
    near(measure(r#"probe = [{ kind = "front" }]"#, &frame)[0], 1.0, 1e-6);
    add(&mut frame, [1.5, 0.05, 0.75], 0);
    near(measure(r#"probe = [{ kind = "front" }]"#, &frame)[0], 1.55, 1e-6);
    add(&mut frame, [3.0, 0.05, 0.75], 0);
    near(measure(r#"probe = [{ kind = "front" }]"#, &frame)[0], 1.55, 1e-6);
}

#[test]
fn the_height_is_that_of_the_surface_also_beside_a_wall_and_under_spray() {
    let mut frame = lattice([0.0; 3], [1.5, 0.8, 1.0], at_rest);
    add(&mut frame, [0.6, 1.5, 0.5], 0);
    for (x, z) in [(0.6, 0.5), (0.63, 0.47), (0.0, 0.5), (0.0, 0.0), (0.1, 0.92)] {
        let probe = format!("probe = [{{ kind = \"height\", position = [{x}, 0, {z}] }}]");
        near(measure(&probe, &frame)[0], 0.8, 0.008);
    }
    near(measure(r#"probe = [{ kind = "height", position = [3, 0, 0.5] }]"#, &frame)[0], 0.0, 0.0);
}

#[test]
fn pressure_and_velocity_are_interpolated_and_not_a_number_in_the_air() {
    let frame = lattice([0.0; 3], [1.0; 3], |p| (DVec3::new(2.0, p.x, 0.0), 100.0 + 10.0 * p.y, 1000.0));
    let probes = r#"probe = [{ kind = "pressure", position = [0.5, 0.4, 0.5] },
        { kind = "velocity", position = [0.5, 0.5, 0.5] }, { name = "air", kind = "pressure", position = [2, 1, 0.5] }]"#;
    let values = measure(probes, &frame);
    near(values[0], 104.0, 1e-3);
    near(values[1], 2.0, 1e-5);
    near(values[2], 0.5, 1e-5);
    assert!(values[4].is_nan());
}

#[test]
fn flow_is_speed_times_cross_section_wherever_the_plane_lies() {
    let frame = lattice([0.0; 3], [1.5, 0.5, 1.0], |_| (DVec3::new(3.0, 0.0, 0.0), 0.0, 1000.0));
    for x in [0.5, 0.53, 0.75] {
        let probe = format!("probe = [{{ kind = \"flow\", position = [{x}, 0, 0] }}]");
        near(measure(&probe, &frame)[0], 3.0 * 0.5, 1e-5);
    }
    near(measure(r#"probe = [{ kind = "flow", axis = "y", position = [0, 0.2, 0] }]"#, &frame)[0], 0.0, 0.0);
}

#[test]
fn energy_and_momentum_are_sums_over_the_mass_of_the_chosen_fluid() {
    let mut frame = lattice([0.0; 3], [1.0; 3], |_| (DVec3::new(1.0, 2.0, 0.0), 0.0, 1000.0));
    add(&mut frame, [0.5, 1.5, 0.5], 1);
    let values = measure(r#"probe = [{ kind = "energy", fluid = "water" }, { kind = "momentum" }]"#, &frame);
    near(values[0], 2500.0, 0.01);
    near(values[1], 1000.0 * 9.81 * 0.5, 0.01);
    assert_eq!(values[2], 0.0, "there are no solids");
    near(values[3], 1000.0, 0.01);
    near(values[4], 2000.0, 0.01);
    let oil = measure(r#"probe = [{ kind = "energy", fluid = "oil" }]"#, &frame);
    near(oil[1], 0.8 * 9.81 * 1.5, 1e-3);
}

#[test]
fn potential_energy_is_that_of_the_gravity_in_force() {
    let mut frame = lattice([0.0; 3], [1.0; 3], at_rest);
    let probe = r#"probe = [{ kind = "energy" }]"#;
    near(measure(probe, &frame)[1], 1000.0 * 9.81 * 0.5, 0.01);
    frame.gravity = Some([2.0, -5.0, 0.0]);
    near(measure(probe, &frame)[1], 1000.0 * (5.0 - 2.0) * 0.5, 0.01);
    frame.gravity = Some([0.0; 3]);
    assert_eq!(measure(probe, &frame)[1], 0.0);
}

#[test]
fn density_error_looks_only_inside() {
    let mut frame =
        lattice([0.0; 3], [1.0; 3], |p| (DVec3::ZERO, 0.0, if p.y > 0.5 { 990.0 } else { 1000.0 }));
    let values = measure(r#"probe = [{ kind = "density-error" }]"#, &frame);
    near(values[0], 0.005, 1e-6);
    near(values[1], 0.01, 1e-6);
    if let FieldData::Vector(normal) = &mut frame.particles.fields[4].data {
        for (n, p) in normal.iter_mut().zip(&frame.particles.position) {
            *n = if p[1] > 0.5 { [0.0, 1.0, 0.0] } else { [0.0; 3] };
        }
    }
    assert_eq!(measure(r#"probe = [{ kind = "density-error" }]"#, &frame), [0.0, 0.0]);
}

#[test]
fn a_body_is_the_mean_of_its_nodes_and_not_a_number_without_one() {
    let mut frame = Frame::default();
    let probes = r#"solid = [{ name = "ball", shape = { sphere = { center = [2, 1, 0.5], radius = 0.2 } } }]
        probe = [{ kind = "body", body = "ball" }]"#;
    assert!(measure(probes, &frame).iter().all(|v| v.is_nan()));
    frame.solids.push(Body {
        nodes: vec![[1.0, 0.0, 0.0], [3.0, 1.0, 0.0]],
        velocity: vec![[0.0, 1.0, 0.0], [0.0, 3.0, 0.0]],
        ..Default::default()
    });
    assert_eq!(measure(probes, &frame), [2.0, 0.5, 0.0, 0.0, 2.0, 0.0]);
}

/// How many of these places count as leaked, in a scene of a ball, a vessel and a plate that falls at 1 m/s.
fn leaked(places: &[[f32; 3]], time: f64) -> f64 {
    let walls = r#"probe = [{ kind = "leaks" }]
        boundary = [
            { shape = { sphere = { center = [1, 1, 0.5], radius = 0.2 } } },
            { shape = { box = { min = [2, 0.5, 0.2], max = [2.6, 1, 0.8] } }, inside = "hollow", thickness = 0.05, open_top = true },
            { shape = { box = { min = [3, 1.5, 0], max = [4, 1.6, 1] } },
              motion = { translate = { velocity = [0, -1, 0] } } } ]"#;
    let mut frame = lattice([0.0; 3], [0.0; 3], at_rest);
    frame.time = time;
    places.iter().for_each(|p| add(&mut frame, *p, 0));
    measure(walls, &frame)[0]
}

#[test]
fn what_is_in_a_wall_or_behind_a_face_has_leaked() {
    let inside = [
        [1.0, 1.0, 0.5],   // the ball
        [1.0, 1.198, 0.5], // just under its surface
        [2.3, 0.48, 0.5],  // the bottom of the vessel
        [2.63, 0.7, 0.5],  // its side
        [-0.01, 1.0, 0.5], // behind faces
        [1.0, 2.001, 0.5],
        [f32::NAN, 1.0, 0.5],
    ];
    for p in inside {
        assert_eq!(leaked(&[p], 0.0), 1.0, "{p:?}");
    }
    assert_eq!(leaked(&inside, 0.0), inside.len() as f64);
}

#[test]
fn what_rests_on_a_wall_has_not_leaked() {
    let held = [
        [1.0, 1.2, 0.5],
        [1.0, 1.19995, 0.5], // within rounding
        [2.3, 0.5, 0.5],
        [2.3, 0.7, 0.5], // in the vessel
        [2.3, 1.2, 0.5], // and over it
        [0.0, 0.0, 0.0],
        [4.0, 1.0, 0.5],
    ];
    assert_eq!(leaked(&held, 0.0), 0.0);
}

#[test]
fn a_wall_leaks_where_it_is_at_the_time_of_the_frame() {
    let (first, later) = ([3.5, 1.55, 0.5], [3.5, 0.85, 0.5]);
    assert_eq!([leaked(&[first], 0.0), leaked(&[later], 0.0)], [1.0, 0.0]);
    assert_eq!([leaked(&[first], 0.7), leaked(&[later], 0.7)], [0.0, 1.0]);
}
