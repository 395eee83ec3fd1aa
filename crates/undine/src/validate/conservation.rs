//! What must not change: momentum and symmetry.

use std::collections::HashMap;

use glam::DVec3;

use super::{CaseError, Lab};
use crate::export::Plot;
use crate::frame::{FieldData, Frame};

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let alone = r#"
        gravity = [0, 0, 0]
        time = { duration = DURATION, frame_rate = 200 }
        model = { spacing = 0.001 }
        probe = [{ kind = "momentum" }]
        [[fluid]]
        viscosity = 0.01
        surface_tension = 0.072
        shape = { box = { min = [0, 0, 0], max = [0.012, 0.01, 0.008] } }
        velocity = [0.3, 0.2, -0.1]
        "#;
    let alone = drift(lab, &alone.replace("DURATION", lab.either("0.2", "0.1")), 0.3)?;
    let colliding = r#"
        gravity = [0, 0, 0]
        time = { duration = DURATION, frame_rate = 400 }
        model = { spacing = 0.001 }
        probe = [{ kind = "momentum" }]
        [[fluid]]
        name = "water"
        viscosity = 0.01
        surface_tension = 0.072
        shape = { sphere = { center = [-0.007, 0, 0], radius = 0.006 } }
        velocity = [0.5, 0, 0]
        [[fluid]]
        name = "oil"
        density = 800
        viscosity = 0.05
        surface_tension = 0.03
        shape = { sphere = { center = [0.006, 0.002, 0], radius = 0.005 } }
        velocity = [-0.5, 0.1, 0]
        "#;
    let colliding = drift(lab, &colliding.replace("DURATION", lab.either("0.1", "0.05")), 0.3)?;
    for (what, curve) in [("isolated drop", &alone), ("two colliding drops", &colliding)] {
        check_drift(lab, what, curve);
    }
    lab.plot(
        "conservation-momentum",
        Plot::new("Drift of momentum", "t / s", "|ΔΣp| over Σm|v|")
            .line("isolated drop", &alone)
            .line("two colliding drops", &colliding),
    );
    symmetry(lab)
}

/// The greatest drift against the gate, which is that of rounding to f32 over thousands of steps.
pub(super) fn check_drift(lab: &mut Lab, what: &str, curve: &[(f64, f64)]) {
    // A value that is not a number must not be lost on the way to the greatest.
    let most = curve.iter().map(|p| p.1).fold(0.0, |a: f64, b| if b <= a { a } else { b });
    lab.check(format!("{what}: |ΔΣp| over Σm|v|"), most, 0.0, most, 1e-5);
}

/// |Σp - Σp(0)| over Σm|v| at the start, over time.
pub(super) fn drift(lab: &mut Lab, scene: &str, share: f64) -> Result<Vec<(f64, f64)>, CaseError> {
    let mut curve = Vec::new();
    let mut start = None;
    lab.run(scene, share, |m| {
        let momentum = DVec3::new(m.probes[0], m.probes[1], m.probes[2]);
        let (first, scale) = *start.get_or_insert_with(|| (momentum, throughput(m.frame)));
        curve.push((m.frame.time, (momentum - first).length() / scale));
    })?;
    Ok(curve)
}

/// Σm|v| of the colliding drops' fluids (1000 and 800 kg/m³).
fn throughput(frame: &Frame) -> f64 {
    let velocity = frame.particles.vector("velocity").unwrap_or(&[]);
    let speeds = velocity.iter().map(|v| f64::from(glam::Vec3::from(*v).length()));
    let density = |i: usize| match frame.particles.field("fluid") {
        Some(FieldData::Byte(f)) if f[i] == 1 => 800.0,
        _ => 1000.0,
    };
    speeds.enumerate().map(|(i, v)| v * density(i)).sum::<f64>() * frame.spacing.powi(3)
}

/// A drop falls on a floor; everything is symmetric under x → -x and quarter turns about y, and the particles must
/// stay so: each with its image, until rounding errors have had time to grow.
fn symmetry(lab: &mut Lab) -> Result<(), CaseError> {
    let d = 0.01;
    let scene = format!(
        r#"
        time = {{ duration = 0.08, frame_rate = 100 }}
        domain = {{ min = [-0.2, 0, -0.2], max = [0.2, 0.2, 0.2], open = ["+y"] }}
        model = {{ spacing = {d} }}
        [[fluid]]
        shape = {{ sphere = {{ center = [0, 0.07, 0], radius = 0.06 }} }}
        velocity = [0, -1, 0]
        "#
    );
    let mut start = None;
    let mut end = HashMap::new();
    lab.run(&scene, 0.4, |m| {
        end = by_id(m.frame);
        if start.is_none() {
            start = Some(end.clone());
        }
    })?;
    let start = start.unwrap_or_default();
    let mirror = |p: DVec3| DVec3::new(-p.x, p.y, p.z);
    let turn = |p: DVec3| DVec3::new(p.z, p.y, -p.x);
    for (what, image) in [("mirror", &mirror as &dyn Fn(DVec3) -> DVec3), ("quarter-turn", &turn)] {
        let worst = asymmetry(&start, &end, d, image);
        lab.check(format!("{what} images apart after an impact, × spacing"), worst, 0.0, worst, 1e-2);
    }
    Ok(())
}

fn by_id(frame: &Frame) -> HashMap<u32, DVec3> {
    let Some(FieldData::Int(id)) = frame.particles.field("id") else { return HashMap::new() };
    let places = frame.particles.position.iter().map(|p| glam::Vec3::from(*p).as_dvec3());
    id.iter().copied().zip(places).collect()
}

/// The greatest distance between the image of a particle and the particle that started at its image, × spacing.
fn asymmetry(
    start: &HashMap<u32, DVec3>,
    end: &HashMap<u32, DVec3>,
    spacing: f64,
    image: &dyn Fn(DVec3) -> DVec3,
) -> f64 {
    let key = |p: DVec3| (p / (0.1 * spacing)).round().as_i64vec3().to_array();
    let places: HashMap<[i64; 3], u32> = start.iter().map(|(id, p)| (key(*p), *id)).collect();
    let apart = |(id, p): (&u32, &DVec3)| -> Option<f64> {
        let partner = places.get(&key(image(*p)))?;
        Some((image(*end.get(id)?) - *end.get(partner)?).length() / spacing)
    };
    let mut worst = 0.0f64;
    for at in start.iter() {
        // A particle without a partner is as asymmetric as can be.
        let a = apart(at).unwrap_or(f64::NAN);
        worst = if a <= worst { worst } else { a };
    }
    worst
}
