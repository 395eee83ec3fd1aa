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
use super::stage::Stage;
use super::tone::{finite, srgb, tone_map};
use super::trace::{Inside, Tracer};
use super::{Look, Options, View};

/// Samples brighter than this are dimmed to it: one mirrored sun must not outshine a pixel's other samples.
const BRIGHTEST: f32 = 16.0;
/// Spread of a pixel's samples (tone-mapped) below which they are enough.
const SPREAD: f32 = 0.012;
/// Cells of the map of sunlight along the longer edge of the lit ground, × the picture's width.
const LIGHT_CELLS: f32 = 0.6;

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
    light_ground(&mut stage, (LIGHT_CELLS * width as f32) as usize);
    shoot(&stage, &eye, options, &mut image);
    if let Some(scale) = scale.filter(|_| options.legend) {
        legend(&mut image, &scale);
    }
    image
}

/// The colour scale that a look needs.
fn scale(view: &View, options: &Options) -> Option<Scale> {
    let (by, values) = match options.look {
        Look::Water => return None,
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

fn shoot(stage: &Stage, eye: &Eye, options: &Options, image: &mut Image) {
    let width = image.width();
    let tracer = Tracer { stage, pixel: eye.pixel() };
    let most = options.samples.clamp(1, 4096);
    let exposure = if options.exposure.is_finite() { options.exposure.max(0.0) } else { 1.0 };
    // Rows differ much in cost; small strips keep all threads busy to the end.
    image.pixels_mut().par_chunks_mut(width).with_max_len(1).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.iter_mut().enumerate() {
            let light = pixel_light(&tracer, eye, x, y, most) * exposure;
            let noise = Random::new((y * width + x) as u64, 99).unit() - 0.5;
            *pixel = tone_map(light).to_array().map(|v| dithered(v, noise));
        }
    });
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
            let light = finite(tracer.radiance(eye.ray(at.x, at.y), Inside::default(), &mut random));
            let light = light * (BRIGHTEST / light.max_element().max(BRIGHTEST));
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
