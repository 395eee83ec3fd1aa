//! Volumes: from the particles of a [`crate::frame::Frame`] to the share of space that they fill (Lee 2005, eq. 7).
//!
//! Lee counts the n particles in a cell of edge d: n · 4/3 π r³ / d³. A particle that passes from one cell to the next
//! then makes both jump, and the picture flickers. Here its volume is spread by a smooth kernel, and each cell gets
//! exactly the part that lies in it: the sum over all cells is the volume of all particles, wherever they are.

mod kernel;
#[cfg(test)]
mod tests;

use glam::Vec3;
use rayon::prelude::*;

use crate::frame::Frame;
use crate::picture::Bounds;
use crate::surface::SurfaceError;
use crate::surface::candidates::in_reach;
use crate::surface::cloud::{Cloud, EDGE, Key, KeyMap, POINTS};
use kernel::{shares, support};

/// Values of a block: one for each of its points.
const BLOCK: usize = POINTS * POINTS * POINTS;
/// Most blocks: their values take 1 GiB.
const MOST_BLOCKS: usize = 1 << 19;

/// How a volume is built.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Cell edge d, × spacing. Raising it coarsens the volume and costs less.
    pub cell: f64,
    /// Radius r of a particle, × spacing. Raising it raises all fractions, by its cube.
    pub radius: f64,
    /// Width of the kernel that spreads a particle, × spacing. Raising it evens the fluid out and thins lone drops.
    pub spread: f64,
    /// Particle spacing at rest, m; `None`: the frame's.
    pub spacing: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { cell: 0.5, radius: 0.5, spread: 0.85, spacing: None }
    }
}

impl Options {
    /// The fraction deep inside a fluid whose particles have their distance at rest.
    pub fn at_rest(&self) -> f64 {
        4.0 / 3.0 * std::f64::consts::PI * self.radius.powi(3)
    }
}

/// Why no volume can be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VolumeError {
    /// Particles that cannot be sorted.
    #[error("{0}")]
    Particles(SurfaceError),
    /// An option outside its range.
    #[error("the volume's {name} is {value}; it must be {expected}")]
    Option {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Range.
        expected: &'static str,
    },
    /// More memory than the limit.
    #[error("the volume needs more than {limit} blocks of 7³ cells: choose a larger cell")]
    TooLarge {
        /// The most there may be.
        limit: usize,
    },
}

/// The share of space that is filled, on the middles of cells, in blocks of which only those near particles exist.
#[derive(Clone, Debug, Default)]
pub struct Fraction {
    /// Cell edge, m.
    cell: f32,
    /// The blocks, in order.
    keys: Vec<Key>,
    /// Their numbers.
    map: KeyMap,
    /// The values of each block, x fastest. Blocks side by side share the points between them.
    values: Vec<[f32; BLOCK]>,
    /// The least and the greatest of each.
    ranges: Vec<[f32; 2]>,
}

/// Builds the volume of a frame's particles.
pub fn build(frame: &Frame, options: &Options) -> Result<Fraction, VolumeError> {
    let spacing = check(frame, options)?;
    let cell = options.cell * spacing;
    // From here on lengths are in cells.
    let width = (options.spread / options.cell) as f32;
    let radius = options.radius / options.cell;
    let volume = (4.0 / 3.0 * std::f64::consts::PI * radius.powi(3)) as f32;
    let reach = support(width);
    let cloud = Cloud::new(&frame.particles.position, cell).map_err(VolumeError::Particles)?;
    let alone = vec![false; cloud.keys.len()];
    let too_large = VolumeError::TooLarge { limit: MOST_BLOCKS };
    let keys = in_reach(&cloud, reach, &alone).map_err(|_| too_large.clone())?;
    if keys.len() > MOST_BLOCKS {
        return Err(too_large);
    }
    let map = keys.iter().enumerate().map(|(i, key)| (*key, i as u32)).collect();
    let mut values = vec![[0.0; BLOCK]; keys.len()];
    let each = values.par_iter_mut().zip(&keys);
    let ranges = each.map(|(block, key)| fill(block, *key, &cloud, width, volume)).collect();
    Ok(Fraction { cell: cell as f32, keys, map, values, ranges })
}

fn check(frame: &Frame, options: &Options) -> Result<f64, VolumeError> {
    let spacing = options.spacing.unwrap_or(frame.spacing);
    let option = |name, value: f64, low: f64, high: f64, expected| {
        // Not `value < low`: NaN must fail too.
        if value >= low && value <= high {
            Ok(())
        } else {
            Err(VolumeError::Option { name, value, expected })
        }
    };
    option("spacing", spacing, 1e-12, 1e12, "between 1e-12 and 1e12 m")?;
    option("cell", options.cell, 0.1, 10.0, "between 0.1 and 10 spacings")?;
    option("radius", options.radius, 0.05, 5.0, "between 0.05 and 5 spacings")?;
    option("spread", options.spread, 0.25, 4.0, "between 0.25 and 4 spacings")?;
    Ok(spacing)
}

/// Sums the particles in reach of a block, in the order of the cloud: blocks that share points find the same values.
fn fill(block: &mut [f32; BLOCK], key: Key, cloud: &Cloud, width: f32, volume: f32) -> [f32; 2] {
    let reach = support(width);
    let mut around = Vec::new();
    cloud.around(key, reach, &mut around);
    let near = |x: f32| x > -reach && x < EDGE as f32 + reach;
    for b in around {
        let offset = b.offset();
        for i in cloud.range(b.block as usize) {
            let [x, y, z] = [0, 1, 2].map(|a| cloud.local[a][i] + offset[a]);
            if near(x) && near(y) && near(z) {
                let (along, up, deep) = (shares(x, width), shares(y, width), shares(z, width));
                add(block, &along.map(|s| s * volume), &up, &deep);
            }
        }
    }
    let fold = |r: [f32; 2], v: &f32| [r[0].min(*v), r[1].max(*v)];
    block.iter().fold([f32::INFINITY, f32::NEG_INFINITY], fold)
}

#[inline]
fn add(block: &mut [f32; BLOCK], x: &[f32; POINTS], y: &[f32; POINTS], z: &[f32; POINTS]) {
    for (sheet, z) in block.as_chunks_mut::<{ POINTS * POINTS }>().0.iter_mut().zip(z) {
        if *z == 0.0 {
            continue;
        }
        for (row, y) in sheet.as_chunks_mut::<POINTS>().0.iter_mut().zip(y) {
            let share = y * z;
            if share > 0.0 {
                row.iter_mut().zip(x).for_each(|(v, x)| *v += share * x);
            }
        }
    }
}

impl Fraction {
    /// Cell edge, m.
    pub fn cell(&self) -> f32 {
        self.cell
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.keys.len()
    }

    /// Where a block is, m, and its least and greatest value.
    pub fn block(&self, number: usize) -> (Bounds, [f32; 2]) {
        let edge = EDGE as f64 * f64::from(self.cell);
        let [x, y, z] = self.keys[number].map(|k| f64::from(k) * edge);
        let min = Vec3::new(x as f32, y as f32, z as f32);
        (Bounds { min, max: min + edge as f32 }, self.ranges[number])
    }

    /// The filled volume, m³: that of all particles.
    pub fn volume(&self) -> f64 {
        let inner = |i: usize| i < EDGE;
        let sum = |block: &[f32; BLOCK]| -> f64 {
            // The last point of a block is the first of the next.
            let own =
                |i: &usize| inner(i % POINTS) && inner(i / POINTS % POINTS) && inner(i / POINTS / POINTS);
            (0..BLOCK).filter(own).map(|i| f64::from(block[i])).sum()
        };
        self.values.iter().map(sum).sum::<f64>() * f64::from(self.cell).powi(3)
    }

    /// The fraction at a place, linear between the middles of cells; 0 far from all particles.
    pub fn at(&self, p: Vec3) -> f32 {
        self.finder().at(p)
    }

    /// For many places, one near the other.
    pub fn finder(&self) -> Finder<'_> {
        Finder { field: self, per_cell: 1.0 / self.cell, corner: Vec3::NAN, block: None }
    }
}

/// Whole cells of a place in a block, 0 to 6; on a border between two cells either of them.
#[inline(always)]
fn whole(local: Vec3) -> ([usize; 3], Vec3) {
    // Adding 1.5 × 2²³ rounds to whole numbers and leaves them in the lowest bits: a third of the time of casts, which
    // must tell numbers beyond all bounds.
    const MAGIC: f32 = 12_582_912.0;
    let rounded = (local - 0.5) + MAGIC;
    (rounded.to_array().map(|x| (x.to_bits() & 7) as usize), rounded - MAGIC)
}

/// Looks values up, and remembers in which block the last one was.
#[derive(Clone, Debug)]
pub struct Finder<'a> {
    field: &'a Fraction,
    per_cell: f32,
    /// Lowest corner of the block, in cells.
    corner: Vec3,
    block: Option<&'a [f32; BLOCK]>,
}

impl Finder<'_> {
    /// The fraction at a place.
    #[inline]
    pub fn at(&mut self, p: Vec3) -> f32 {
        let cells = p * self.per_cell;
        let mut local = cells - self.corner;
        // Not so for NaN, which the first corner is.
        let same = local.cmpge(Vec3::ZERO).all() && local.cmple(Vec3::splat(EDGE as f32)).all();
        if !same {
            self.enter(cells);
            local = cells - self.corner;
        }
        let Some(values) = self.block else { return 0.0 };
        let local = local.clamp(Vec3::ZERO, Vec3::splat(EDGE as f32 - 1e-3));
        let ([x, y, z], whole) = whole(local);
        let f = local - whole;
        let first = (z * POINTS + y) * POINTS + x;
        let v: &[f32] = &values[first..first + POINTS * POINTS + POINTS + 2];
        let row = |i: usize| v[i] + f.x * (v[i + 1] - v[i]);
        let sheet = |i: usize| row(i) + f.y * (row(i + POINTS) - row(i));
        let (near, far) = (sheet(0), sheet(POINTS * POINTS));
        near + f.z * (far - near)
    }

    #[inline(never)]
    fn enter(&mut self, cells: Vec3) {
        let key = (cells * (1.0 / EDGE as f32)).floor();
        let known = key.abs().max_element() < 1e9; // not so for NaN
        self.corner = key * EDGE as f32;
        let number =
            if known { self.field.map.get(&[key.x as i32, key.y as i32, key.z as i32]) } else { None };
        self.block = number.map(|&i| &self.field.values[i as usize]);
    }

    /// How fast the fraction grows along each axis, per m: differences over a cell to either side.
    pub fn gradient(&mut self, p: Vec3) -> Vec3 {
        let h = self.field.cell;
        let mut along = |d: Vec3| self.at(p + h * d) - self.at(p - h * d);
        Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)) * (0.5 / h)
    }
}
