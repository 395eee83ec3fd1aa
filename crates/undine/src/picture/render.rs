//! All pixels of a picture.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::camera::{Eye, framing};
use super::color::{self, ColorBy, Scale};
use super::compose::{compose, extent};
use super::ground::light_ground;
use super::image::Image;
use super::legend::legend;
use super::random::Random;
use super::sky::{Dome, Sky};
use super::tone::{finite, srgb, tone_map};
use super::trace::{Inside, Tracer};
use super::{Look, Options, View};

/// Samples brighter than this are dimmed to it: one mirrored sun must not outshine a pixel's other samples.
const BRIGHTEST: f32 = 16.0;
/// Spread of a pixel's samples (tone-mapped) below which they are enough.
const SPREAD: f32 = 0.012;
/// Cells of the map of sunlight along the longer edge of the lit ground, × the picture's width.
const LIGHT_CELLS: f32 = 0.6;
/// The same for volumes, whose shadows are soft and which are to be drawn fast.
const VOLUME_LIGHT_CELLS: f32 = 0.12;
/// Difference of neighbouring pixels (tone-mapped) that is an edge.
const STEP: f32 = 0.14;
/// Difference of the four pixels around one (tone-mapped) up to which it is their mean.
const ALIKE: f32 = 0.04;
/// Most rays of a pixel at an edge.
const EDGE_SAMPLES: u32 = 4;
/// Where rays of a pixel at an edge go after the first, in pixels from its middle.
const AROUND: [[f32; 2]; 3] = [[0.07, -0.36], [0.28, 0.26], [-0.35, 0.1]];

/// Takes a picture.
pub fn render(view: &View, options: &Options) -> Image {
    let mut image = Image::new(options.width, options.height, [0; 3]);
    let (width, height) = (image.width(), image.height());
    let aspect = width as f64 / height as f64;
    let camera = options.camera.clone().or_else(|| view.scene.and_then(|s| s.camera.clone()));
    let camera = camera.filter(|c| c.position.is_finite() && c.target.is_finite() && c.fov.is_finite());
    let camera = camera.unwrap_or_else(|| framing(extent(view), aspect));
    let scale = scale(view, options);
    let origin = extent(view).center();
    let eye = Eye::new(&camera, origin, width, height);
    let sky = match options.sky {
        Dome::Day => Sky::day(sun(eye.forward())),
        Dome::Even(radiance) => Sky::even(radiance),
    };
    let mut stage = compose(view, &options.look, scale.as_ref(), sky);
    let fast = options.look == Look::Volume;
    let cells = if fast { VOLUME_LIGHT_CELLS } else { LIGHT_CELLS };
    light_ground(&mut stage, (cells * width as f32) as usize);
    let mut tracer = Tracer { stage: &stage, pixel: eye.pixel(), plain: fast };
    if fast {
        // With one ray a pixel the checker must be blurred more.
        tracer.pixel *= 2.0;
        shoot_edges(&tracer, &eye, options, &mut image);
    } else {
        shoot(&tracer, &eye, options, &mut image);
    }
    if let Some(scale) = scale.filter(|_| options.legend) {
        legend(&mut image, &scale);
    }
    image
}

/// The colour scale that a look needs.
fn scale(view: &View, options: &Options) -> Option<Scale> {
    let (by, values) = match options.look {
        Look::Water | Look::Volume => return None,
        Look::Particles { by, .. } => (by, color::values(&view.frame.particles, by)?),
        Look::Surface(by) => {
            let surface = view.surface?;
            (by, (0..surface.position.len()).map(|i| color::surface_value(surface, by, i)).collect())
        }
    };
    (by != ColorBy::Fluid).then(|| Scale::new(by, options.range, values))
}

/// Before the camera, to its left and rather high: light comes through the water towards the eye, and shadows fall
/// towards it.
fn sun(forward: Vec3) -> Vec3 {
    let flat = Vec3::new(forward.x, 0.0, forward.z).normalize_or(Vec3::NEG_Z);
    let left = Vec3::Y.cross(flat);
    (0.35 * flat + 0.85 * left + 0.9 * Vec3::Y).normalize_or(Vec3::Y)
}

fn shoot(tracer: &Tracer, eye: &Eye, options: &Options, image: &mut Image) {
    let most = options.samples.clamp(1, 4096);
    let exposure = exposure(options);
    paint(image, |x, y| pixel_light(tracer, eye, x, y, most) * exposure);
}

/// One ray through the middle of every other pixel, one more for those between where these differ at all, and more where neighbours differ
/// much: a volume is smooth, and what is not are the edges of walls.
fn shoot_edges(tracer: &Tracer, eye: &Eye, options: &Options, image: &mut Image) {
    let (width, height) = (image.width(), image.height());
    let exposure = exposure(options);
    let middle = |x: usize, y: usize| {
        let mut random = Random::of_pixel((y as u64) << 32 | x as u64, 0);
        sample(tracer, eye, Vec2::new(x as f32 + 0.5, y as f32 + 0.5), &mut random)
    };
    let seen = |light: &Vec3| tone_map(*light * exposure);
    // Every other pixel, as the black squares of a chessboard.
    let mut black = vec![Vec3::ZERO; width * height];
    black.par_chunks_mut(width).with_max_len(1).enumerate().for_each(|(y, row)| {
        for x in (y % 2..width).step_by(2) {
            row[x] = middle(x, y);
        }
    });
    let shown: Vec<Vec3> = black.par_iter().map(seen).collect();
    // The white ones between them: their mean where they agree.
    let mut first = black.clone();
    first.par_chunks_mut(width).with_max_len(1).enumerate().for_each(|(y, row)| {
        for x in ((y + 1) % 2..width).step_by(2) {
            let at = y * width + x;
            let inside = x > 0 && x + 1 < width && y > 0 && y + 1 < height;
            let mean = inside.then(|| [at - 1, at + 1, at - width, at + width]).filter(|around| {
                let around = around.map(|i| shown[i]);
                let low = around.iter().copied().fold(Vec3::INFINITY, Vec3::min);
                let high = around.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
                (high - low).max_element() < ALIKE
            });
            row[x] = match mean {
                Some(around) => 0.25 * around.iter().map(|i| black[*i]).sum::<Vec3>(),
                None => middle(x, y),
            };
        }
    });
    let seen: Vec<Vec3> = first.par_iter().map(seen).collect();
    let most = options.samples.clamp(1, EDGE_SAMPLES);
    paint(image, |x, y| {
        let at = y * width + x;
        let differs = |other: usize| (seen[other] - seen[at]).abs().max_element() > STEP;
        let edge = (x > 0 && differs(at - 1))
            || (x + 1 < width && differs(at + 1))
            || (y > 0 && differs(at - width))
            || (y + 1 < height && differs(at + width));
        let more = if edge { most - 1 } else { 0 };
        let mut sum = first[at];
        for (k, [dx, dy]) in (1..=more).zip(AROUND) {
            let mut random = Random::of_pixel((y as u64) << 32 | x as u64, k);
            let at = Vec2::new(x as f32 + 0.5 + dx, y as f32 + 0.5 + dy);
            sum += sample(tracer, eye, at, &mut random);
        }
        sum * (exposure / (more + 1) as f32)
    });
}

fn exposure(options: &Options) -> f32 {
    if options.exposure.is_finite() { options.exposure.max(0.0) } else { 1.0 }
}

/// Fills the picture with light.
fn paint(image: &mut Image, light: impl Fn(usize, usize) -> Vec3 + Sync) {
    let width = image.width();
    // Rows differ much in cost; small strips keep all threads busy to the end.
    image.pixels_mut().par_chunks_mut(width).with_max_len(1).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.iter_mut().enumerate() {
            let noise = Random::new((y * width + x) as u64, 99).unit() - 0.5;
            *pixel = tone_map(light(x, y)).to_array().map(|v| dithered(v, noise));
        }
    });
}

/// Light through a point of the picture, in pixels.
fn sample(tracer: &Tracer, eye: &Eye, at: Vec2, random: &mut Random) -> Vec3 {
    let light = finite(tracer.radiance(eye.ray(at.x, at.y), Inside::default(), random));
    light * (BRIGHTEST / light.max_element().max(BRIGHTEST))
}

/// A byte with a little noise, so that the smooth sky has no bands.
fn dithered(v: f32, noise: f32) -> u8 {
    srgb((v + noise * (0.0008 + 0.006 * v)).clamp(0.0, 1.0))
}

/// Mean light of a pixel: a quarter of the samples, and more where they differ.
fn pixel_light(tracer: &Tracer, eye: &Eye, x: usize, y: usize, most: u32) -> Vec3 {
    let seed = (y as u64) << 32 | x as u64;
    let (mut sum, mut shown, mut squares) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
    let batch = most.div_ceil(4).max(most.min(4));
    let mut count = 0;
    while count < most {
        for _ in 0..batch.min(most - count) {
            let mut random = Random::of_pixel(seed, count);
            let at = random.pair();
            // A tent as wide as two pixels: rays near the middle of the pixel are more likely.
            let tent = |u: f32| if u < 0.5 { (2.0 * u).sqrt() - 1.0 } else { 1.0 - (2.0 - 2.0 * u).sqrt() };
            let at = Vec2::new(x as f32 + 0.5 + 0.75 * tent(at.x), y as f32 + 0.5 + 0.75 * tent(at.y));
            let light = sample(tracer, eye, at, &mut random);
            let seen = tone_map(light);
            sum += light;
            shown += seen;
            squares += seen * seen;
            count += 1;
        }
        let n = count as f32;
        let spread = ((squares / n - (shown / n) * (shown / n)).max(Vec3::ZERO) / n).map(f32::sqrt);
        if spread.max_element() < SPREAD {
            break;
        }
    }
    sum / count as f32
}
