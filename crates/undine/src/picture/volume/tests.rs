use glam::Vec3;

use super::*;
use crate::frame::{Frame, Particles};
use crate::picture::ray::Ray;
use crate::scene::{ControlPoint, Preset, Sampling, Volume, VolumeShading};
use crate::volume::{self, Options};

fn fog(extinction: f32) -> DensityGrid {
    DensityGrid {
        origin: Vec3::ZERO,
        cell: 0.1,
        samples: [11, 11, 11],
        values: vec![1.0; 11 * 11 * 11],
        transfer: Transfer { range: [0.0, 1.0], table: vec![[0.0; 4], [0.2, 0.4, 0.8, extinction]] },
    }
}

#[test]
fn even_fog_dims_by_beer_and_lambert_and_glows_with_what_it_takes() {
    let fog = fog(3.0);
    let ray = Ray::new(Vec3::new(-1.0, 0.5, 0.5), Vec3::X, 0.0);
    let (near, far) = fog.bounds().span(&ray).unwrap();
    let p = fog.passage(&ray, near, far, 0.5, &Sky::even(Vec3::ONE));
    let left = (-3f32).exp();
    assert!((p.transmittance.x - left).abs() < 1e-3);
    assert!((p.emitted - (1.0 - left) * Vec3::new(0.2, 0.4, 0.8)).length() < 1e-3);
}

#[test]
fn an_empty_table_or_broken_grid_is_clear() {
    let mut none = fog(1.0);
    none.transfer.table.clear();
    none.values.clear();
    let ray = Ray::new(Vec3::new(-1.0, 0.5, 0.5), Vec3::X, 0.0);
    assert_eq!(none.passage(&ray, 1.0, 2.0, 0.5, &Sky::even(Vec3::ONE)), Passage::CLEAR);
}

/// A block of n³ particles at rest from the origin on.
fn block(n: usize) -> Frame {
    let at = |i: usize| (i as f32 + 0.5) * 0.1;
    let position = (0..n * n * n).map(|i| [at(i % n), at(i / n % n), at(i / n / n)]).collect();
    Frame { spacing: 0.1, particles: Particles { position, ..Particles::default() }, ..Frame::default() }
}

fn flat(opacity: f64) -> Vec<ControlPoint> {
    let point = |value: f64, opacity: f64| ControlPoint { value, color: [0.2, 0.4, 0.8], opacity };
    vec![point(0.05, 0.0), point(0.10, opacity), point(0.9, opacity)]
}

fn look(points: Vec<ControlPoint>, sampling: Sampling) -> Volume {
    Volume { points, sampling, shading: VolumeShading::None, depth: Some(0.1), ..Volume::default() }
}

fn through(frame: &Frame, look: &Volume, ray: &Ray) -> Passage {
    let medium = FluidVolume::new(None, frame, look).unwrap();
    let Some((near, far)) = medium.bounds().span(ray) else { return Passage::CLEAR };
    medium.passage(ray, near, far, 0.5, &Sky::even(Vec3::ONE))
}

#[test]
fn a_clear_fluid_is_not_there_and_an_opaque_one_hides_all() {
    let ray = Ray::new(Vec3::new(-1.0, 0.43, 0.41), Vec3::X, 0.0);
    for sampling in Sampling::ALL {
        assert_eq!(through(&block(8), &look(flat(0.0), sampling), &ray), Passage::CLEAR);
        let dense = Volume { depth: Some(0.001), ..look(flat(1.0), sampling) };
        let p = through(&block(8), &dense, &ray);
        assert_eq!(p.transmittance, Vec3::ZERO);
        assert!((p.emitted - Vec3::new(0.2, 0.4, 0.8)).length() < 0.01, "{p:?}");
    }
}

#[test]
fn an_even_fluid_dims_by_beer_and_lambert_at_any_number_of_slices() {
    // Three tenths of the light on each depth of 0.1 m, through 0.8 m and a soft edge to either side.
    let ray = Ray::new(Vec3::new(-1.0, 0.43, 0.41), Vec3::X, 0.0);
    let fine = Volume { slices: Some(4000), ..look(flat(0.3), Sampling::Plain) };
    let expected = through(&block(8), &fine, &ray).transmittance.x;
    assert!((0.7f32.powi(9)..0.7f32.powi(8)).contains(&expected), "{expected}");
    for slices in [10, 30, 100] {
        let few = Volume { slices: Some(slices), ..look(flat(0.3), Sampling::PreIntegrated) };
        let p = through(&block(8), &few, &ray);
        assert!((p.transmittance.x - expected).abs() < 0.008, "{slices}: {p:?} {expected}");
    }
}

#[test]
fn shadows_are_as_dark_as_the_fluid_is_dense() {
    let ray = Ray::new(Vec3::new(-1.0, 0.43, 0.41), Vec3::X, 0.0);
    let medium = FluidVolume::new(None, &block(8), &look(flat(0.3), Sampling::PreIntegrated)).unwrap();
    let (near, far) = medium.bounds().span(&ray).unwrap();
    let seen = medium.passage(&ray, near, far, 0.5, &Sky::even(Vec3::ONE)).transmittance.x;
    let shadow = medium.transmittance(&ray, near, far).x;
    assert!((shadow - seen).abs() < 0.012, "{shadow} {seen}");
    assert_eq!(medium.transmittance(&Ray::new(Vec3::splat(5.0), Vec3::X, 0.0), 0.0, 9.0), Vec3::ONE);
}

#[test]
fn skipping_what_is_clear_changes_nothing() {
    // Lee's shell leaves the inside of the block out; a point that is hardly seen keeps all blocks in.
    let frame = block(20);
    let lee = look(Preset::LeeWater.points(), Sampling::PreIntegrated);
    let mut all = lee.clone();
    all.points.insert(0, ControlPoint { value: 0.001, color: [0.0; 3], opacity: 1e-9 });
    all.points.push(ControlPoint { value: 0.9, color: [0.0; 3], opacity: 1e-9 });
    let (skips, walks) =
        (FluidVolume::new(None, &frame, &lee).unwrap(), FluidVolume::new(None, &frame, &all).unwrap());
    assert!(skips.seen.len() < walks.seen.len(), "{} {}", skips.seen.len(), walks.seen.len());
    for i in 0..40 {
        let from = Vec3::new(-1.0, 0.05 * i as f32, 0.3 + 0.02 * i as f32);
        let ray = Ray::new(from, Vec3::new(1.0, 0.1, 0.2).normalize(), 0.0);
        let pass = |m: &FluidVolume| m.passage(&ray, 0.0, 10.0, 0.5, &Sky::even(Vec3::ONE));
        let (a, b) = (pass(&skips), pass(&walks));
        assert!((a.emitted - b.emitted).length() < 0.02, "{i}: {a:?} {b:?}");
        assert!((a.transmittance - b.transmittance).length() < 0.02, "{i}: {a:?} {b:?}");
    }
}

#[test]
fn a_lone_particle_far_away_is_seen_and_costs_nothing() {
    let mut frame = block(4);
    frame.particles.position.push([1e6, 0.0, 0.0]);
    let medium = FluidVolume::new(None, &frame, &look(flat(0.9), Sampling::PreIntegrated)).unwrap();
    assert!(medium.bounds().max.x > 9e5);
    let ray = Ray::new(Vec3::new(-1.0, 0.21, 0.22), Vec3::X, 0.0);
    let (near, far) = medium.bounds().span(&ray).unwrap();
    let begin = std::time::Instant::now();
    let p = medium.passage(&ray, near, far, 0.5, &Sky::even(Vec3::ONE));
    assert!(p.transmittance.x < 0.5);
    assert!(begin.elapsed().as_millis() < 50);
}

#[test]
fn lit_fluid_is_brighter_towards_the_sun_and_glossy_fluid_mirrors() {
    let field = || volume::build(&block(8), &Options::default()).unwrap();
    let make = |shading| {
        let transfer = Transfer::of_points(&flat(1.0), 0.05, 0.9);
        FluidVolume::with_transfer(field(), transfer, 0.05, Sampling::PreIntegrated, shading)
    };
    let sky = Sky::day(Vec3::new(-1.0, 0.3, 0.0));
    let seen = |medium: &FluidVolume, from: Vec3, d: Vec3| {
        medium.passage(&Ray::new(from, d, 0.0), 0.0, 10.0, 0.5, &sky).emitted.y
    };
    let matte = make(VolumeShading::Matte);
    let bright = seen(&matte, Vec3::new(-1.0, 0.4, 0.4), Vec3::X);
    let dark = seen(&matte, Vec3::new(2.0, 0.4, 0.4), Vec3::NEG_X);
    assert!(bright > 2.0 * dark && dark > 0.0, "{bright} {dark}");
    let skew = Vec3::new(1.0, 0.0, 3.0).normalize();
    let grazing = |m: &FluidVolume| seen(m, Vec3::new(-0.3, 0.4, -0.6), skew);
    assert!(grazing(&make(VolumeShading::Glossy)) > 0.0);
}
