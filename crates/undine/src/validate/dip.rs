//! Mass-spring bodies in the liquid of the grid: how deep they float, how they rise, what they exchange.

use glam::DVec3;

use super::{CaseError, Lab};
use crate::export::Plot;
use crate::frame::Frame;

const G: f64 = 9.81;
const DENSITY: f64 = 1000.0;

/// A tank of water, 1 m long and wide.
fn tank(h: f64, water: f64, duration: f64, rate: f64, dials: &str, solids: &str) -> String {
    format!(
        r#"
        gravity = [0, -{G}, 0]
        time = {{ duration = {duration}, frame_rate = {rate} }}
        domain = {{ min = [0, 0, 0], max = [1, 1, 1] }}
        model = {{ kind = "mac", spacing = {h}{dials} }}
        [[fluid]]
        density = {DENSITY}
        viscosity = 0.001
        shape = {{ box = {{ min = [0, 0, 0], max = [1, {water}, 1] }} }}
        {solids}
        "#
    )
}

/// Centre and velocity of a body.
fn body(frame: &Frame, body: usize) -> (DVec3, DVec3) {
    let Some(b) = frame.solids.get(body) else { return (DVec3::NAN, DVec3::NAN) };
    let mean = |all: &[[f32; 3]]| {
        all.iter().map(|v| glam::Vec3::from(*v).as_dvec3()).sum::<DVec3>() / all.len() as f64
    };
    (mean(&b.nodes), mean(&b.velocity))
}

/// Level of the water aside of a body: twice the mean height of the markers there.
fn level(frame: &Frame, center: DVec3, away: f64) -> f64 {
    let aside = |p: &&[f32; 3]| {
        let d = glam::Vec3::from(**p).as_dvec3() - center;
        d.x.hypot(d.z) > away
    };
    let heights: Vec<f64> = frame.particles.position.iter().filter(aside).map(|p| f64::from(p[1])).collect();
    2.0 * heights.iter().sum::<f64>() / heights.len() as f64
}

/// h/R of a floating sphere: the root of (h/R)²(3 - h/R)/4 = s.
fn immersed(s: f64) -> f64 {
    let (mut low, mut high) = (0.0, 2.0);
    for _ in 0..60 {
        let h: f64 = 0.5 * (low + high);
        if h * h * (3.0 - h) / 4.0 < s { low = h } else { high = h }
    }
    low
}

/// Balls of five densities, and a raft.
pub(super) fn floating(lab: &mut Lab) -> Result<(), CaseError> {
    const R: f64 = 0.2;
    let h = lab.either(0.04, 0.0625);
    let duration = lab.either(4.0, 2.5);
    let ratios: &[f64] = if lab.quick { &[0.25, 0.75] } else { &[0.1, 0.25, 0.5, 0.75, 0.9] };
    let share = 1.0 / (ratios.len() + 1) as f64;
    let mut plot = Plot::new("Balls float", "t / s", "depth / radius");
    let last = |depths: &[(f64, f64)]| {
        let end: Vec<f64> = depths.iter().filter(|d| d.0 > 0.5 * duration).map(|d| d.1).collect();
        end.iter().sum::<f64>() / end.len() as f64
    };
    for &s in ratios {
        let depth = R * immersed(s);
        // A cell above where it belongs, so that it has to find its depth.
        let y = 0.5 + R - depth + h;
        let solid = format!(
            "[[solid]]\nkind = \"ball\"\ndensity = {}\nshape = {{ sphere = {{ center = [0.5, {y}, 0.5], radius = {R} }} }}",
            s * DENSITY
        );
        let mut depths = Vec::new();
        lab.run(&tank(h, 0.5, duration, 25.0, "", &solid), share, |m| {
            let (x, _) = body(m.frame, 0);
            depths.push((m.frame.time, level(m.frame, x, R + 1.5 * h) - x.y + R));
        })?;
        let mean = last(&depths);
        lab.check(
            format!("depth of a ball of density ratio {s}, m; error in cells"),
            mean,
            depth,
            (mean - depth).abs() / h,
            0.5,
        );
        let shares: Vec<_> = depths.iter().map(|(t, y)| (*t, y / R)).collect();
        plot = plot
            .line(format!("s = {s}"), &shares)
            .line(format!("{s}"), &[(0.0, depth / R), (duration, depth / R)]);
    }
    let solid = format!(
        "[[solid]]\nkind = \"lattice\"\ndensity = {}\nspacing = 0.04\nstiffness = 20000\ndamping = 20\n\
         shape = {{ box = {{ min = [0.3, {}, 0.3], max = [0.7, {}, 0.7] }} }}",
        0.5 * DENSITY,
        0.4 + h,
        0.6 + h
    );
    let mut depths = Vec::new();
    lab.run(&tank(h, 0.5, duration, 25.0, "", &solid), share, |m| {
        let (x, _) = body(m.frame, 0);
        depths.push((m.frame.time, level(m.frame, x, 0.3 + 1.5 * h) - x.y + 0.1));
    })?;
    let mean = last(&depths);
    lab.check(
        "depth of a raft of half the density, m; error in cells",
        mean,
        0.1,
        (mean - 0.1).abs() / h,
        0.5,
    );
    lab.plot(lab.name(), plot);
    Ok(())
}

/// A ball and a lattice of the water's density, in the water.
pub(super) fn rest(lab: &mut Lab) -> Result<(), CaseError> {
    let h = lab.either(0.04, 0.0625);
    for kind in ["ball", "lattice"] {
        let solid = format!(
            "[[solid]]\nkind = \"{kind}\"\ndensity = {DENSITY}\nspacing = 0.04\nstiffness = 20000\ndamping = 20\n\
             shape = {{ sphere = {{ center = [0.52, 0.41, 0.5], radius = 0.16 }} }}"
        );
        let (mut start, mut off) = (None, 0f64);
        lab.run(&tank(h, 0.8, 1.0, 25.0, "", &solid), 0.5, |m| {
            let (x, _) = body(m.frame, 0);
            off = off.max(x.distance(*start.get_or_insert(x)));
        })?;
        let gate = lab.either(0.5, 0.75);
        lab.check(format!("way of a {kind} in 1 s, m; error in cells"), off, 0.0, off / h, gate);
    }
    Ok(())
}

/// Time at which a ball has risen from 0.25 m to 0.6 m, by interpolation, and its acceleration during the first 20 ms.
fn rise(lab: &mut Lab, h: f64, dials: &str) -> Result<[f64; 2], CaseError> {
    let solid = "[[solid]]\nkind = \"ball\"\ndensity = 400\nshape = { sphere = { center = [0.5, 0.25, 0.5], radius = 0.15 } }";
    let (mut before, mut time, mut start) = ((0.0, 0.25), f64::NAN, f64::NAN);
    lab.run(&tank(h, 0.8, 0.9, 100.0, dials, solid), 0.25, |m| {
        let (x, v) = body(m.frame, 0);
        if time.is_nan() && x.y >= 0.6 {
            time = before.0 + (m.frame.time - before.0) * (0.6 - before.1) / (x.y - before.1);
        }
        if m.frame.time < 0.021 {
            start = v.y / m.frame.time;
        }
        before = (m.frame.time, x.y);
    })?;
    Ok([time, start])
}

pub(super) fn rising(lab: &mut Lab) -> Result<(), CaseError> {
    let h = lab.either(0.04, 0.0625);
    let [coarse, _] = rise(lab, h, "")?;
    let [fine, start] = rise(lab, h / lab.either(2.0, 1.6), "")?;
    let free = (DENSITY - 400.0) * G / (400.0 + 0.5 * DENSITY);
    lab.check_ratio(
        "acceleration at the start, m/s² (half the displaced water goes along)",
        start,
        free,
        0.15,
    );
    lab.check_ratio("time to rise 0.35 m on the finer grid, s", fine, coarse, 0.05);
    let dials = |n: u32| format!(", markers = 3, coupling = \"markers\", interaction_subset = {n}");
    let [all, _] = rise(lab, h, &dials(1))?;
    let [few, _] = rise(lab, h, &dials(8))?;
    lab.check_ratio("time by the force of one marker in eight, s", few, all, 0.05);
    Ok(())
}

/// A body flies into a block of water that floats in a box without gravity.
pub(super) fn momentum(lab: &mut Lab) -> Result<(), CaseError> {
    let h = lab.either(0.04, 0.05);
    for kind in ["ball", "lattice"] {
        let scene = format!(
            r#"
            gravity = [0, 0, 0]
            time = {{ duration = 0.25, frame_rate = 100 }}
            domain = {{ min = [0, 0, 0], max = [1.6, 1, 1] }}
            model = {{ kind = "mac", spacing = {h} }}
            [[fluid]]
            density = {DENSITY}
            viscosity = 0
            shape = {{ box = {{ min = [0.7, 0.25, 0.25], max = [1.1, 0.75, 0.75] }} }}
            [[solid]]
            name = "body"
            kind = "{kind}"
            density = 700
            spacing = 0.04
            stiffness = 20000
            damping = 20
            velocity = [2, 0, 0]
            shape = {{ sphere = {{ center = [0.5, 0.5, 0.5], radius = 0.15 }} }}
            [[probe]]
            name = "fluid"
            kind = "momentum"
            [[probe]]
            name = "solid"
            kind = "momentum"
            body = "body"
            "#
        );
        let mut sums = Vec::new();
        lab.run(&scene, 0.5, |m| {
            let [x, y, z, a, b, c] = m.probes[..] else { return };
            sums.push((DVec3::new(x, y, z), DVec3::new(a, b, c)));
        })?;
        let (first, last) = (sums[0], sums[sums.len() - 1]);
        let total = first.0 + first.1;
        let off = (last.0 + last.1 - total).length() / total.length();
        let gate = lab.either(0.01, 0.04);
        lab.check(format!("momentum with a {kind}, kg m/s"), (last.0 + last.1).x, total.x, off, gate);
        let given = last.1.x / first.1.x;
        lab.check(format!("share that the {kind} keeps"), given, 0.0, given, 0.8);
    }
    Ok(())
}

/// The built-in scene `u-tube`: the light cube falls first and pushes, then the heavy one lifts it.
pub(super) fn two_cubes(lab: &mut Lab) -> Result<(), CaseError> {
    let text = crate::scene::builtin::find("u-tube").map_or("", |s| s.text);
    let text = text.replace("markers = 6", lab.either("markers = 3", "markers = 2"));
    let (mut light, mut heavy) = (Vec::new(), Vec::new());
    lab.run(&text, 1.0, |m| {
        light.push((m.frame.time, body(m.frame, 0).0.y));
        heavy.push((m.frame.time, body(m.frame, 1).0.y));
    })?;
    let lowest = light.iter().copied().fold((0.0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
    let after = light.iter().filter(|p| p.0 > lowest.0).map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    let lift = after - lowest.1;
    lab.check(
        "how far the light cube is lifted, edges; at least a half",
        lift / 0.12,
        0.5,
        0.06 / lift.max(1e-9),
        1.0,
    );
    let sunk = heavy[0].1 - heavy[heavy.len() - 1].1;
    lab.check(
        "how far the heavy cube sinks, edges; at least two",
        sunk / 0.12,
        2.0,
        0.24 / sunk.max(1e-9),
        1.0,
    );
    lab.plot(
        lab.name(),
        Plot::new("Two cubes in a U-tube", "t / s", "y / m").line("light", &light).line("heavy", &heavy),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spheres_float_as_deep_as_the_references_say() {
        for (s, h) in [(0.1, 0.3916), (0.25, 0.6527), (0.5, 1.0), (0.75, 1.3473), (0.9, 1.6084)] {
            assert!((immersed(s) - h).abs() < 1e-4);
        }
    }
}
