//! Hills, slopes and river valleys.

use glam::DVec3;

use super::noise::{mix, octaves, smooth_step};
use crate::scene::mesh_io::{MeshError, MeshFault};
use crate::scene::shape::Heightfield;

/// Most samples of a made terrain: its tree is built when the scene is read.
const MOST: f64 = 4e6;
/// Share of the relief that is left on the bed of a valley: stones, not hills.
const BED_RELIEF: f64 = 0.2;

/// A terrain that falls along x, with hills on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terrain {
    /// Which of all such terrains.
    pub seed: u64,
    /// Height of the hills from the deepest hollow possible to the highest top, m.
    pub relief: f64,
    /// Width of the widest hills, m.
    pub scale: f64,
    /// Number of sizes of hills, each half as wide and high as the one before.
    pub octaves: u32,
    /// Fall along x, m per m.
    pub slope: f64,
    /// Distance of the samples, m; at least two fit along each side.
    pub cell: f64,
    /// A valley along x.
    pub valley: Option<Valley>,
}

/// A valley along x with a flat bed, winding about its middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Valley {
    /// Height of its banks above the bed, m.
    pub depth: f64,
    /// Width of the bed, m.
    pub width: f64,
    /// Width of each bank, m.
    pub bank: f64,
    /// How far it winds to either side at most, m.
    pub meander: f64,
    /// Length of a bend, m.
    pub bend: f64,
}

impl Terrain {
    /// The heightfield over a rectangle. At its far end in x, where it is lowest, no height is below `origin.y`.
    pub fn heightfield(&self, origin: DVec3, size: [f64; 2]) -> Result<Heightfield, MeshError> {
        let counts = size.map(|length| (length / self.cell).ceil().max(1.0) + 1.0);
        let count = counts[0] * counts[1];
        if count.is_nan() || count > MOST {
            let fault = MeshFault::TooMany { count: count as u64, limit: MOST as u64 };
            return Err(fault.into());
        }
        let samples = counts.map(|n| n as usize);
        let along = |i: usize, axis: usize| size[axis] * i as f64 / (samples[axis] - 1) as f64;
        let heights = (0..samples[1])
            .flat_map(|j| (0..samples[0]).map(move |i| (i, j)))
            .map(|(i, j)| self.height(along(i, 0), along(j, 1), size))
            .collect();
        Heightfield::new(origin, size, samples, heights)
    }

    /// Height at a place of the rectangle, both from its corner, m.
    fn height(&self, x: f64, z: f64, size: [f64; 2]) -> f64 {
        let hills = octaves(self.seed, DVec3::new(x, 0.0, z) / self.scale, self.octaves);
        let hills = self.relief * (0.5 + 0.5 * hills);
        let fall = if self.slope >= 0.0 { size[0] - x } else { -x };
        let level = self.slope * fall;
        let Some(valley) = &self.valley else { return level + hills };
        // A second noise for the bends: the hills do not follow the river.
        let bend = octaves(mix(self.seed ^ 0x5eed), DVec3::new(x / valley.bend, 0.5, 0.5), 1);
        let aside = (z - 0.5 * size[1] - valley.meander * bend).abs();
        let bed = 0.5 * valley.width;
        let bank = smooth_step(bed, bed + valley.bank, aside);
        level + hills * (BED_RELIEF + (1.0 - BED_RELIEF) * bank) + valley.depth * bank
    }
}
