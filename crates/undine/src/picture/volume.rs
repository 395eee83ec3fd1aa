//! Media that glow and absorb without a surface.

mod fluid;
mod table;
#[cfg(test)]
mod tests;
mod transfer;

use glam::Vec3;

pub use fluid::{FluidVolume, fluid_volume};

use super::ray::Ray;
use super::sky::Sky;
use super::tree::Bounds;

/// What a stretch of a medium adds to the light along a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Share of the light behind that comes through.
    pub transmittance: Vec3,
    /// Light added on the way.
    pub emitted: Vec3,
}

impl Passage {
    /// Nothing on the way.
    pub const CLEAR: Self = Self { transmittance: Vec3::ONE, emitted: Vec3::ZERO };
}

/// A medium in a box.
pub trait Medium: Send + Sync {
    /// Where it is, in the coordinates of the scene, m.
    fn bounds(&self) -> Bounds;
    /// Light through it between the distances `near` and `far` (m) along a ray in the scene's coordinates. `jitter`
    /// (0..1) shifts the steps of implementations that march; `sky` is what lights those that are lit.
    fn passage(&self, ray: &Ray, near: f32, far: f32, jitter: f32, sky: &Sky) -> Passage;
    /// Share of light that comes through there, for shadows.
    fn transmittance(&self, ray: &Ray, near: f32, far: f32) -> Vec3;
}

/// Colour and density for each value of a field.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Field value of the first and the last entry.
    pub range: [f32; 2],
    /// Linear RGB and extinction (1/m), evenly over the range.
    pub table: Vec<[f32; 4]>,
}

impl Transfer {
    /// Colour and extinction at a field value; the ends of the table go on for ever.
    pub fn at(&self, value: f32) -> (Vec3, f32) {
        let Some(last) = self.table.len().checked_sub(1) else { return (Vec3::ZERO, 0.0) };
        let share = (value - self.range[0]) / (self.range[1] - self.range[0]);
        let x = if share.is_finite() { share.clamp(0.0, 1.0) * last as f32 } else { 0.0 };
        let i = (x as usize).min(last.saturating_sub(1));
        let (a, b) = (self.table[i], self.table[(i + 1).min(last)]);
        let f = x - i as f32;
        let mix = |k: usize| a[k] + f * (b[k] - a[k]);
        (Vec3::new(mix(0), mix(1), mix(2)), mix(3).max(0.0))
    }
}

/// A field on a regular grid, marched through.
#[derive(Clone, Debug)]
pub struct DensityGrid {
    /// Lowest sample, m.
    pub origin: Vec3,
    /// Distance of samples, m.
    pub cell: f32,
    /// Samples along x, y and z.
    pub samples: [usize; 3],
    /// Values, x fastest.
    pub values: Vec<f32>,
    /// From values to colour and extinction.
    pub transfer: Transfer,
}

impl DensityGrid {
    /// The field at a place, linear between samples; 0 outside.
    pub fn value(&self, p: Vec3) -> f32 {
        let q = (p - self.origin) / self.cell;
        let [nx, ny, nz] = self.samples;
        let top = Vec3::new(nx as f32, ny as f32, nz as f32) - 1.0;
        if !(q.cmpge(Vec3::ZERO).all() && q.cmple(top).all()) {
            return 0.0;
        }
        let at = |x: usize, y: usize, z: usize| {
            let i = (z.min(nz - 1) * ny + y.min(ny - 1)) * nx + x.min(nx - 1);
            self.values.get(i).copied().unwrap_or(0.0)
        };
        let (x, y, z) = (q.x as usize, q.y as usize, q.z as usize);
        let f = q - q.floor();
        let row = |y, z| at(x, y, z) + f.x * (at(x + 1, y, z) - at(x, y, z));
        let sheet = |z| row(y, z) + f.y * (row(y + 1, z) - row(y, z));
        sheet(z) + f.z * (sheet(z + 1) - sheet(z))
    }
}

impl Medium for DensityGrid {
    fn bounds(&self) -> Bounds {
        let [x, y, z] = self.samples.map(|n| n.saturating_sub(1) as f32);
        Bounds { min: self.origin, max: self.origin + self.cell * Vec3::new(x, y, z) }
    }

    fn transmittance(&self, ray: &Ray, near: f32, far: f32) -> Vec3 {
        self.passage(ray, near, far, 0.5, &Sky::even(Vec3::ONE)).transmittance
    }

    fn passage(&self, ray: &Ray, near: f32, far: f32, jitter: f32, _: &Sky) -> Passage {
        // Half a cell resolves what the linear field can show; the cap bounds the time for any grid.
        let wanted = (far - near) / (0.5 * self.cell);
        let steps = if wanted.is_finite() { wanted.ceil().clamp(1.0, 4096.0) } else { 1.0 };
        let step = (far - near) / steps;
        let (mut left, mut light) = (1.0, Vec3::ZERO);
        for i in 0..steps as usize {
            let (color, extinction) = self.transfer.at(self.value(ray.at(near + (i as f32 + jitter) * step)));
            let through = (-extinction * step).exp();
            light += color * (left * (1.0 - through));
            left *= through;
            if left < 0.002 {
                break;
            }
        }
        Passage { transmittance: Vec3::splat(left), emitted: light }
    }
}
