//! Colour by a field: what is shown, over which range, in which colours.

use glam::Vec3;

use super::tone::linear;
use crate::frame::{FieldData, Particles};
use crate::surface::Surface;

/// What colours stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorBy {
    /// Speed, m/s.
    Speed,
    /// Density, kg/m³.
    Density,
    /// Pressure, Pa.
    Pressure,
    /// The fluid's own colour.
    Fluid,
}

impl ColorBy {
    /// Name for the legend.
    pub fn name(self) -> &'static str {
        match self {
            ColorBy::Speed => "speed",
            ColorBy::Density => "density",
            ColorBy::Pressure => "pressure",
            ColorBy::Fluid => "fluid",
        }
    }

    /// Unit for the legend.
    pub fn unit(self) -> &'static str {
        match self {
            ColorBy::Speed => "m/s",
            ColorBy::Density => "kg/m³",
            ColorBy::Pressure => "Pa",
            ColorBy::Fluid => "",
        }
    }
}

/// A field's values for all particles; `None` when the frame does not have it, or for [`ColorBy::Fluid`].
pub fn values(particles: &Particles, by: ColorBy) -> Option<Vec<f32>> {
    let values: Vec<f32> = match by {
        ColorBy::Speed => particles.vector("velocity")?.iter().map(speed).collect(),
        ColorBy::Density => particles.scalar("density")?.to_vec(),
        ColorBy::Pressure => particles.scalar("pressure")?.to_vec(),
        ColorBy::Fluid => return None,
    };
    (values.len() == particles.len()).then_some(values)
}

/// A field at a corner of a surface, which knows only its velocity.
pub fn surface_value(surface: &Surface, by: ColorBy, corner: usize) -> f32 {
    if by == ColorBy::Speed { surface.velocity.get(corner).map_or(0.0, speed) } else { 0.0 }
}

/// Which fluid a particle is of.
pub fn fluid_of(field: Option<&FieldData>, i: usize) -> usize {
    match field {
        Some(FieldData::Byte(v)) => v.get(i).map_or(0, |f| usize::from(*f)),
        _ => 0,
    }
}

fn speed(v: &[f32; 3]) -> f32 {
    Vec3::from_array(*v).length()
}

/// Values to colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// What the values are.
    pub by: ColorBy,
    /// Values of the first and last colour.
    pub range: [f32; 2],
}

impl Scale {
    /// A scale over `range`; without one over all but the outermost percent of the values.
    pub fn new(by: ColorBy, range: Option<[f32; 2]>, mut values: Vec<f32>) -> Self {
        let sound = |r: &[f32; 2]| r[0].is_finite() && r[1].is_finite() && r[0] < r[1];
        if let Some(range) = range.filter(sound) {
            return Self { by, range };
        }
        values.retain(|v| v.is_finite());
        if values.is_empty() {
            return Self { by, range: [0.0, 1.0] };
        }
        values.sort_unstable_by(f32::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
        let low = if by == ColorBy::Density { at(0.01) } else { at(0.01).min(0.0) };
        let high = at(0.99);
        let room = 1e-3 * (1.0 + low.abs());
        Self { by, range: if high > low + room { [low, high] } else { [low - room, low + room] } }
    }

    /// The colour of a value, linear; grey for what is not a number.
    pub fn color(&self, value: f32) -> Vec3 {
        let share = (value - self.range[0]) / (self.range[1] - self.range[0]);
        if share.is_nan() { Vec3::splat(0.4) } else { Vec3::from_array(map(share).map(linear)) }
    }
}

/// Evenly spaced stops of viridis (van der Walt & Smith 2015), sRGB: even steps of the value are even steps to the
/// eye, in grey and to the colour-blind too.
const VIRIDIS: [[u8; 3]; 17] = [
    [68, 1, 84],
    [72, 24, 106],
    [71, 45, 123],
    [66, 64, 134],
    [59, 82, 139],
    [51, 99, 141],
    [44, 114, 142],
    [38, 130, 142],
    [33, 145, 140],
    [31, 160, 136],
    [40, 174, 128],
    [63, 188, 115],
    [94, 201, 98],
    [132, 212, 75],
    [173, 220, 48],
    [216, 226, 25],
    [253, 231, 37],
];

/// The colour map at 0..1, sRGB.
pub fn map(share: f32) -> [u8; 3] {
    let last = VIRIDIS.len() - 1;
    let x = share.clamp(0.0, 1.0) * last as f32;
    let i = (x as usize).min(last - 1);
    let f = x - i as f32;
    std::array::from_fn(|k| {
        let (a, b) = (VIRIDIS[i][k] as f32, VIRIDIS[i + 1][k] as f32);
        (a + f * (b - a) + 0.5) as u8
    })
}
