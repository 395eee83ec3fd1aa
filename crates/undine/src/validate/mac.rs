//! Cases of the grid with markers alone: vortices that decay, a driven cavity, a U-tube, and the volume of what splashes.

use std::f64::consts::{PI, TAU};
use std::path::Path;

use glam::DVec3;

use super::fit::Oscillation;
use super::{CaseError, Lab};
use crate::export::Plot;
use crate::fields::Fields;
use crate::frame::Frame;
use crate::models::mac::Mac;
use crate::models::springs::Solids;
use crate::models::{Around, Birth, Passes, Solver};
use crate::scene::Scene;
use crate::walls::Walls;
use crate::world::WorldError;

const G: f64 = 9.81;

/// Mean square of the velocity, m²/s².
fn mean_square(frame: &Frame) -> f64 {
    let velocity = frame.particles.vector("velocity").unwrap_or(&[]);
    let sum: f64 = velocity.iter().map(|v| glam::Vec3::from(*v).as_dvec3().length_squared()).sum();
    sum / velocity.len() as f64
}

/// u = sin(2πx) cos(2πy), v = -cos(2πx) sin(2πy) in a box of 1 m that repeats, ν = 0.01 m²/s: decays as exp(-8π²νt).
pub(super) fn taylor_green(lab: &mut Lab) -> Result<(), CaseError> {
    let nu = 0.01;
    let across = lab.either(64.0, 24.0);
    let (h, deep) = (1.0 / across, 4.0 / across);
    let text = format!(
        r#"
        gravity = [0, 0, 0]
        time = {{ duration = 2, frame_rate = 10 }}
        domain = {{ min = [0, 0, 0], max = [1, 1, {deep}], periodic = [true, true, true] }}
        model = {{ kind = "mac", spacing = {h} }}
        [[fluid]]
        density = 1000
        viscosity = {}
        shape = {{ box = {{ min = [0, 0, 0], max = [1, 1, {deep}] }} }}
        "#,
        1000.0 * nu
    );
    let scene = Scene::parse(&text, lab.name(), Path::new("."), &[])?.scene;
    let mut mac = Mac::new(&scene).map_err(WorldError::from)?;
    let (walls, fields, solids) = (Walls::new(&scene), Fields::new(&scene), Solids::new(&scene));
    let around = |time| Around { time, walls: &walls, fields: &fields, solids: &solids };
    let places = scene.fluids[0].shape.iter().flat_map(|s| s.fill(scene.model.particle_spacing()));
    let births: Vec<Birth> = places
        .map(|position| {
            let (x, y) = (TAU * position.x, TAU * position.y);
            let velocity = DVec3::new(x.sin() * y.cos(), -x.cos() * y.sin(), 0.0);
            Birth { position, velocity, fluid: 0 }
        })
        .collect();
    mac.insert(&births);
    let mut passes = Passes::default();
    mac.refresh(&around(0.0), &mut passes);
    let start = mean_square(&mac.frame(&around(0.0)));
    let mut curve = vec![(0.0, 1.0)];
    for k in 1..=20 {
        let (from, to) = (0.1 * f64::from(k - 1), 0.1 * f64::from(k));
        let mut time = from;
        while time < to - 1e-9 {
            let parts = ((to - time) / mac.step_limit().step - 1e-9).ceil().max(1.0);
            let dt = (to - time) / parts;
            time += dt;
            mac.step(dt, &around(time), &mut passes)?;
        }
        curve.push((to, (mean_square(&mac.frame(&around(to))) / start).sqrt()));
        lab.advance(0.05);
    }
    for (at, reference) in [(1.0, 0.45404), (2.0, 0.20615)] {
        let measured = super::fit::at(&curve, at);
        lab.check_ratio(
            format!("root of the kinetic energy left after {at} s"),
            measured,
            reference,
            lab.either(0.03, 0.12),
        );
    }
    let exact: Vec<_> =
        (0..=40).map(|k| 0.05 * f64::from(k)).map(|t| (t, (-8.0 * PI * PI * nu * t).exp())).collect();
    lab.plot(
        lab.name(),
        Plot::new("Taylor and Green's vortices, Re 100", "t / s", "u/u₀")
            .line("exact", &exact)
            .points("measured", &curve),
    );
    Ok(())
}

/// Ghia, Ghia & Shin 1982, Re 100: u over the height at x = ½, v over the length at y = ½.
const GHIA_U: [(f64, f64); 11] = [
    (0.9766, 0.84123),
    (0.9531, 0.68717),
    (0.8516, 0.23151),
    (0.7344, 0.00332),
    (0.6172, -0.13641),
    (0.5, -0.20581),
    (0.4531, -0.21090),
    (0.2813, -0.15662),
    (0.1719, -0.10150),
    (0.1016, -0.06434),
    (0.0547, -0.03717),
];
const GHIA_V: [(f64, f64); 10] = [
    (0.9688, -0.05906),
    (0.9453, -0.10313),
    (0.9063, -0.16914),
    (0.8594, -0.22445),
    (0.8047, -0.24533),
    (0.5, 0.05454),
    (0.2344, 0.17527),
    (0.1563, 0.16077),
    (0.0938, 0.12317),
    (0.0625, 0.09233),
];

/// The profiles along both midlines at Ghia's places, averaged over the last second.
fn cavity_profiles(lab: &mut Lab, across: f64, share: f64) -> Result<[Vec<(f64, f64)>; 2], CaseError> {
    let (h, duration) = (1.0 / across, lab.either(15.0, 8.0));
    let (deep, top, over) = (4.0 * h, 1.0 + 2.0 * h, 1.0 + 6.0 * h);
    let places: Vec<[f64; 2]> =
        GHIA_U.iter().map(|p| [0.5, p.0]).chain(GHIA_V.iter().map(|p| [p.0, 0.5])).collect();
    let probes: String = places
        .iter()
        .enumerate()
        .flat_map(|(k, [x, y])| (0..4).map(move |z| (k, *x, *y, z)))
        .map(|(k, x, y, z)| {
            let z = (f64::from(z) + 0.5) * h;
            format!("[[probe]]\nname = \"{k}-{z}\"\nkind = \"velocity\"\nposition = [{x}, {y}, {z}]\n")
        })
        .collect();
    let scene = format!(
        r#"
        gravity = [0, 0, 0]
        time = {{ duration = {duration}, frame_rate = 10 }}
        domain = {{ min = [0, 0, 0], max = [1, {top}, {deep}], periodic = [false, false, true], slip = "no-slip" }}
        model = {{ kind = "mac", spacing = {h} }}
        [[fluid]]
        density = 1000
        viscosity = 10
        shape = {{ box = {{ min = [0, 0, 0], max = [1, 1, {deep}] }} }}
        [[boundary]]
        name = "lid"
        slip = "no-slip"
        shape = {{ box = {{ min = [-40, 1, -1], max = [3, {over}, 2] }} }}
        motion = {{ translate = {{ velocity = [1, 0, 0] }} }}
        {probes}
        "#
    );
    let mut sums = vec![DVec3::ZERO; places.len()];
    let mut count = 0.0;
    lab.run(&scene, share, |m| {
        if m.frame.time > duration - 1.0 {
            count += 4.0;
            for (k, v) in m.probes.chunks(3).enumerate() {
                sums[k / 4] += DVec3::new(v[0], v[1], v[2]);
            }
        }
    })?;
    let (u, v) = sums.split_at(GHIA_U.len());
    Ok([
        GHIA_U.iter().zip(u).map(|(p, s)| (p.0, s.x / count)).collect(),
        GHIA_V.iter().zip(v).map(|(p, s)| (p.0, s.y / count)).collect(),
    ])
}

/// √Σ(u - u_ref)² / √Σu_ref² over both midlines.
fn cavity_error(profiles: &[Vec<(f64, f64)>; 2]) -> f64 {
    let references = GHIA_U.iter().chain(&GHIA_V);
    let (mut off, mut all) = (0.0, 0.0);
    for (measured, reference) in profiles.iter().flatten().zip(references) {
        off += (measured.1 - reference.1).powi(2);
        all += reference.1.powi(2);
    }
    (off / all).sqrt()
}

pub(super) fn cavity(lab: &mut Lab) -> Result<(), CaseError> {
    let (fine, coarse) = (lab.either(64.0, 32.0), lab.either(32.0, 16.0));
    let rough = cavity_error(&cavity_profiles(lab, coarse, 0.2)?);
    let profiles = cavity_profiles(lab, fine, 0.8)?;
    let error = cavity_error(&profiles);
    lab.check(
        format!("profiles at {fine}², L2 over that of Ghia's"),
        error,
        0.0,
        error,
        lab.either(0.08, 0.15),
    );
    lab.check(format!("error at {fine}² over that at {coarse}²"), error / rough, 0.0, error / rough, 1.0);
    let [u, v] = &profiles;
    lab.plot(
        lab.name(),
        Plot::new("Driven cavity, Re 100", "y (of u), x (of v) / m", "u, v / m/s")
            .points("u, Ghia 1982", &GHIA_U)
            .line("u", u)
            .points("v, Ghia 1982", &GHIA_V)
            .line("v", v),
    );
    Ok(())
}

/// A column of water 1 m long swings in a tube bent to a U: T = 2π√(L/2g). Gravity leans for a while to start it.
pub(super) fn u_tube(lab: &mut Lab) -> Result<(), CaseError> {
    const LENGTH: f64 = 1.0;
    const LEAN: f64 = 0.1;
    const RELEASE: f64 = 0.35;
    let reference = TAU * (LENGTH / (2.0 * G)).sqrt();
    let duration = RELEASE + lab.either(3.0, 2.0) * reference;
    // Width of the tube, and distance of its legs' middles.
    let (wide, apart) = (0.06, 0.3);
    let h = wide / lab.either(6.0, 4.0);
    let (deep, right) = (4.0 * h, apart + wide);
    let level = 0.5 * (LENGTH - apart) + 0.5 * wide;
    let scene = format!(
        r#"
        gravity = [{}, -{G}, 0]
        time = {{ duration = {duration}, frame_rate = 60 }}
        domain = {{ min = [0, 0, 0], max = [{right}, 0.54, {deep}], periodic = [false, false, true] }}
        model = {{ kind = "mac", spacing = {h} }}
        [[fluid]]
        shape = {{ box = {{ min = [0, 0, 0], max = [{right}, {level}, {deep}] }} }}
        [[boundary]]
        shape = {{ box = {{ min = [{wide}, {wide}, -1], max = [{apart}, 2, 1] }} }}
        [[event]]
        time = {RELEASE}
        set = {{ key = "gravity", value = [0, -{G}, 0] }}
        "#,
        LEAN * G
    );
    let mut centre = Vec::new();
    lab.run(&scene, 1.0, |m| {
        let x = &m.frame.particles.position;
        let mean = x.iter().map(|p| f64::from(p[0])).sum::<f64>() / x.len() as f64;
        centre.push((m.frame.time, mean - 0.5 * right));
    })?;
    let free: Vec<_> = centre.iter().copied().filter(|p| p.0 >= RELEASE).collect();
    let fit = Oscillation::fit(&free, reference);
    lab.check_ratio(
        format!("period, s (damped by {:.2}/s, R² {:.3})", fit.damping, fit.r2),
        fit.period,
        reference,
        0.05,
    );
    lab.plot(
        lab.name(),
        Plot::new("U-tube: horizontal centre of mass", "t / s", "x / m")
            .line("measured", &centre)
            .line("fitted", &free.iter().map(|p| (p.0, fit.at(p.0))).collect::<Vec<_>>()),
    );
    Ok(())
}

/// A column collapses in a short tank, splashes up the far wall and over a block. How full cells inside the liquid are tells the
/// volume that its markers fill.
pub(super) fn volume(lab: &mut Lab) -> Result<(), CaseError> {
    let h = 1.0 / lab.either(40.0, 20.0);
    let scene = format!(
        r#"
        time = {{ duration = 6, frame_rate = 20 }}
        domain = {{ min = [0, 0, 0], max = [1, 1.2, 0.4] }}
        model = {{ kind = "mac", spacing = {h} }}
        [[fluid]]
        density = 1000
        shape = {{ box = {{ min = [0, 0, 0], max = [0.4, 0.8, 0.4] }} }}
        [[boundary]]
        shape = {{ box = {{ min = [0.6, 0, 0.15], max = [0.7, 0.1, 0.25] }} }}
        "#
    );
    let mut fills = Vec::new();
    lab.run(&scene, 1.0, |m| {
        let density = m.frame.particles.scalar("density").unwrap_or(&[]);
        // At the surface the density is that at rest, to the last digit.
        let inside = density.iter().filter(|d| **d != 1000.0).map(|d| f64::from(*d) / 1000.0);
        let (sum, count) = inside.fold((0.0, 0.0), |(s, n), d| (s + d, n + 1.0));
        if count > 0.0 {
            fills.push((m.frame.time, sum / count));
        }
    })?;
    let worst = fills
        .iter()
        .map(|f| f.1)
        .fold(1.0, |w: f64, f| if (f - 1.0).abs() > (w - 1.0).abs() { f } else { w });
    lab.check_ratio("how full the liquid is inside, at its worst", worst, 1.0, lab.either(0.02, 0.08));
    lab.plot(
        lab.name(),
        Plot::new("Violent collapse: how full the liquid is", "t / s", "filling").line("measured", &fills),
    );
    Ok(())
}
