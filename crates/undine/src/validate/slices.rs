//! Pre-integrated volume rendering against plain sampling (Engel 2001), over the number of slices.

use glam::Vec3;
use rayon::prelude::*;

use super::{CaseError, Lab};
use crate::export::Plot;
use crate::frame::{Frame, Particles};
use crate::picture::{FluidVolume, Medium, Ray, Sky, Transfer};
use crate::scene::{ControlPoint, Sampling, VolumeShading};
use crate::volume::{self, Fraction};

/// Slices of the reference, which is sampled plainly.
const REFERENCE: u32 = 1024;
/// Slices of another reference: that of 1024 slices still has an error of its own.
const FINE: u32 = 8192;
/// Spacing of the particles, m.
const SPACING: f32 = 0.04;

/// Some ten thousand particles, somewhat in disorder, with waves on top.
fn pool() -> Frame {
    let mut position = Vec::new();
    let wobble = |i: usize, k: f32| 0.15 * ((i as f32 * k).sin() * 43_758.547).fract();
    for i in 0..30 * 20 * 28 {
        let cell = Vec3::new((i % 30) as f32, (i / 30 % 20) as f32, (i / 600) as f32);
        let top = 12.0 + 4.0 * (0.35 * cell.x).sin() * (0.3 * cell.z).cos();
        if cell.y < top {
            let p = cell + Vec3::new(wobble(i, 12.9), wobble(i, 78.2), wobble(i, 37.7));
            position.push((SPACING * p).to_array());
        }
    }
    let particles = Particles { position, ..Particles::default() };
    Frame { spacing: f64::from(SPACING), particles, ..Frame::default() }
}

/// Three thin shells, each a fiftieth to a hundredth of the range thick, in three colours.
fn shells() -> Vec<ControlPoint> {
    let mut points = Vec::new();
    for (value, width, color) in
        [(0.12, 0.004, [1.0, 0.2, 0.1]), (0.26, 0.005, [0.1, 0.9, 0.3]), (0.42, 0.006, [0.2, 0.3, 1.0])]
    {
        let point = |value, opacity| ControlPoint { value, color, opacity };
        points.extend([point(value - width, 0.0), point(value, 0.9), point(value + width, 0.0)]);
    }
    points
}

/// Light of each pixel before white.
fn picture(field: &Fraction, slices: u32, sampling: Sampling, size: usize) -> Vec<Vec3> {
    let transfer = Transfer::of_points(&shells(), 0.25 * f64::from(SPACING), 0.65);
    // The field from corner to corner is cut into so many slices.
    let blocks = (0..field.blocks()).map(|i| field.block(i).0);
    let around = blocks.reduce(|a, b| a.union(b)).map_or(Vec3::ONE, |b| b.size());
    let step = around.length() / slices as f32;
    let medium = FluidVolume::with_transfer(field.clone(), transfer, step, sampling, VolumeShading::None);
    let eye = Vec3::new(2.4, 1.5, 2.6);
    let forward = (Vec3::new(0.6, 0.25, 0.55) - eye).normalize();
    let right = forward.cross(Vec3::Y).normalize();
    let up = right.cross(forward);
    let sky = Sky::even(Vec3::ONE);
    let light = |i: usize| {
        let at = |k: usize| 0.7 * ((k as f32 + 0.5) / size as f32 - 0.5);
        let ray = Ray::new(eye, (forward + at(i % size) * right - at(i / size) * up).normalize(), 0.0);
        let Some((near, far)) = medium.bounds().span(&ray) else { return Vec3::ONE };
        let p = medium.passage(&ray, near, far, 0.5, &sky);
        p.emitted + p.transmittance
    };
    (0..size * size).into_par_iter().map(light).collect()
}

/// Root mean square over pixels and colours.
fn rms(a: &[Vec3], b: &[Vec3]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| f64::from((*a - *b).length_squared())).sum();
    (sum / (3 * a.len()) as f64).sqrt()
}

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let size = lab.either(300, 64);
    let Ok(field) = volume::build(&pool(), &volume::Options::default()) else {
        lab.check("a volume is built", f64::NAN, 0.0, f64::NAN, 0.0);
        return Ok(());
    };
    let mut plots = Plot::new("Error of a volume's picture over its slices", "slices", "RMS error");
    for against in [REFERENCE, FINE] {
        let reference = picture(&field, against, Sampling::Plain, size);
        let errors = |sampling: Sampling, counts: &[u32]| -> Vec<(u32, f64)> {
            counts.iter().map(|n| (*n, rms(&picture(&field, *n, sampling, size), &reference))).collect()
        };
        let plain = errors(Sampling::Plain, &[64, 128, 256, 512]);
        let pre = errors(Sampling::PreIntegrated, &[16, 32, 64, 128, 256]);
        for (name, list) in [("plain", &plain), ("pre-integrated", &pre)] {
            for pair in list.windows(2) {
                let what =
                    format!("RMS of {name}, {} slices over half as many; against {against}", pair[1].0);
                lab.check(what, pair[1].1, pair[0].1, pair[1].1 / pair[0].1, 1.0);
            }
        }
        let what = format!("RMS of pre-integrated, 64 slices over plain, 256; against {against}");
        lab.check(what, pre[2].1, plain[2].1, pre[2].1 / plain[2].1, 1.0);
        for (name, list) in [("pre-integrated", &pre), ("plain", &plain)] {
            let points: Vec<_> = list.iter().map(|(n, e)| (f64::from(*n), *e)).collect();
            plots = plots.line(format!("{name}, against {against}"), &points);
        }
    }
    lab.plot("volume-slices", plots);
    Ok(())
}
