//! Particles sorted by block: cubes of [`EDGE`]³ cells, of which only those with particles exist.
//!
//! Coordinates are counted in cells from the lowest corner of the particle's own block and rounded to 2⁻¹⁶ of a
//! cell. Seen from another block whole cells are added, which is exact in f32, so that two blocks compute the very
//! same field, bit for bit, on the points they share: that is what makes the surface watertight.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rayon::prelude::*;

use super::options::SurfaceError;

/// Cells along the edge of a block; its points are one more, which is one vector.
pub const EDGE: usize = 7;
/// Points along the edge of a block.
pub const POINTS: usize = EDGE + 1;
/// Steps of a coordinate in a cell.
const FINE: f32 = 65536.0;
/// Particles beyond the last, which are nowhere.
pub const PAD: usize = crate::simd::MOST_LANES;
/// Far out of everyone's reach, and its square still finite.
pub const NOWHERE: f32 = 65536.0;
/// Farthest block from the origin that is numbered.
const FARTHEST: f64 = 1e9;

/// A block by its place, in blocks.
pub type Key = [i32; 3];

/// Mixes the three numbers of a key.
#[derive(Clone, Copy, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        // The table uses the top bits and the low ones: fold.
        self.0 ^ (self.0 >> 29)
    }
    // A key arrives as its twelve bytes.
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        words.iter().for_each(|w| self.write_u32(u32::from_ne_bytes(*w)));
        rest.iter().for_each(|b| self.write_u32(u32::from(*b)));
    }
    fn write_u32(&mut self, v: u32) {
        self.0 = (self.0.rotate_left(23) ^ u64::from(v)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_usize(&mut self, _: usize) {}
}

/// Numbers of blocks by key.
pub type KeyMap = HashMap<Key, u32, BuildHasherDefault<KeyHasher>>;

/// Keys in the order of the sort: z, then y, then x.
pub fn rank(key: &Key) -> (i32, i32, i32) {
    (key[2], key[1], key[0])
}

/// The particles, sorted.
#[derive(Clone, Debug, Default)]
pub struct Cloud {
    /// Coordinates from the block's corner, in cells; eight more at the end, far away, so that vectors may be loaded
    /// from anywhere.
    pub local: [Vec<f32>; 3],
    /// Number of each in the frame.
    pub order: Vec<u32>,
    /// The blocks that hold particles, by [`rank`].
    pub keys: Vec<Key>,
    /// First particle of each block, and the total.
    pub start: Vec<u32>,
    /// Numbers of the blocks.
    pub map: KeyMap,
}

/// Rounds a coordinate so that whole cells can be added exactly.
#[inline(always)]
pub fn round_fine(x: f32) -> f32 {
    // Adding and subtracting 1.5 × 2²³ steps rounds without a call into libm.
    const MAGIC: f32 = 12_582_912.0 / FINE;
    (x + MAGIC) - MAGIC
}

fn place(x: f32, per_block: f64) -> (i32, f32) {
    let x = f64::from(x) * per_block;
    // `floor` would be a call into libm on processors without SSE 4.1; the range was checked.
    let whole = x as i32;
    let block = whole - i32::from(f64::from(whole) > x);
    (block, round_fine(((x - f64::from(block)) * EDGE as f64) as f32))
}

/// Names the first particle that is too far out to be numbered.
fn far_out(position: &[[f32; 3]], cell: f64, per_block: f64) -> SurfaceError {
    let far = |p: &[f32; 3]| p.iter().any(|x| (f64::from(*x) * per_block).abs() > FARTHEST || x.is_nan());
    let particle = position.iter().position(far).unwrap_or_default();
    let p = position[particle];
    if p.iter().any(|x| !x.is_finite()) {
        return SurfaceError::NotFinite { particle };
    }
    let most = p.iter().fold(0.0, |m: f64, x| m.max(f64::from(x.abs())));
    SurfaceError::TooFar { particle, distance: most / cell }
}

impl Cloud {
    /// Sorts the particles at `position`.
    pub fn new(position: &[[f32; 3]], cell: f64) -> Result<Self, SurfaceError> {
        let per_block = 1.0 / (cell * EDGE as f64);
        let mut keys: Vec<Key> = vec![[0; 3]; position.len()];
        // Without a branch for each: the first particle that is too far is looked for only when there is one.
        let within = |(keys, position): (&mut [Key], &[[f32; 3]])| {
            keys.iter_mut().zip(position).fold(true, |within, (key, p)| {
                *key = p.map(|x| place(x, per_block).0);
                p.iter().fold(within, |within, x| within & ((f64::from(*x) * per_block).abs() <= FARTHEST))
            })
        };
        if !keys.par_chunks_mut(4096).zip(position.par_chunks(4096)).map(within).reduce(|| true, |a, b| a & b)
        {
            return Err(far_out(position, cell, per_block));
        }

        // Neighbours in the frame mostly share their block, so few keys are looked up.
        let mut cloud = Cloud::default();
        let mut block_of = vec![0u32; keys.len()];
        let mut counts: Vec<u32> = Vec::new();
        let mut last = (None, 0u32);
        for (key, block) in keys.iter().zip(&mut block_of) {
            if last.0 != Some(*key) {
                let new = cloud.keys.len() as u32;
                let number = *cloud.map.entry(*key).or_insert(new);
                if number == new {
                    cloud.keys.push(*key);
                    counts.push(0);
                }
                last = (Some(*key), number);
            }
            *block = last.1;
            counts[last.1 as usize] += 1;
        }
        drop(keys);
        let mut by_rank: Vec<u32> = (0..cloud.keys.len() as u32).collect();
        by_rank.sort_unstable_by_key(|&b| rank(&cloud.keys[b as usize]));
        cloud.keys = by_rank.iter().map(|&b| cloud.keys[b as usize]).collect();
        for (k, key) in cloud.keys.iter().enumerate() {
            cloud.map.insert(*key, k as u32);
        }
        let mut sum = 0;
        let mut cursor = vec![0; counts.len()];
        for &b in &by_rank {
            cloud.start.push(sum);
            cursor[b as usize] = sum;
            sum += counts[b as usize];
        }
        cloud.start.push(sum);
        cloud.order.resize(position.len(), 0);
        for (i, &b) in block_of.iter().enumerate() {
            let c = &mut cursor[b as usize];
            cloud.order[*c as usize] = i as u32;
            *c += 1;
        }
        let order = &cloud.order;
        let [x, y, z] = &mut cloud.local;
        for x in [&mut *x, &mut *y, &mut *z] {
            x.resize(order.len() + PAD, NOWHERE);
        }
        let parts = (x.par_chunks_mut(4096), y.par_chunks_mut(4096), z.par_chunks_mut(4096));
        parts.into_par_iter().zip(order.par_chunks(4096)).for_each(|((x, y, z), order)| {
            for (((x, y), z), &i) in x.iter_mut().zip(y).zip(z).zip(order) {
                [*x, *y, *z] = position[i as usize].map(|x| place(x, per_block).1);
            }
        });
        Ok(cloud)
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The particles of a block.
    pub fn range(&self, block: usize) -> std::ops::Range<usize> {
        self.start[block] as usize..self.start[block + 1] as usize
    }

    /// Cuts values of the particles into those of each block.
    pub fn parts<'a, T>(&self, mut values: &'a mut [T]) -> Vec<&'a mut [T]> {
        let mut parts = Vec::with_capacity(self.keys.len());
        for b in 0..self.keys.len() {
            let (part, rest) = std::mem::take(&mut values).split_at_mut(self.range(b).len());
            parts.push(part);
            values = rest;
        }
        parts
    }

    /// Lists the blocks up to `reach` cells around a block, in the order of the sort, and where they lie from it.
    pub fn around(&self, key: Key, reach: f32, out: &mut Vec<Around>) {
        let n = (reach / EDGE as f32).ceil() as i32;
        out.clear();
        for z in -n..=n {
            for y in -n..=n {
                // After one that is there, the next along x follows in the sort or is not there.
                let mut last: Option<u32> = None;
                for x in -n..=n {
                    let key = [key[0] + x, key[1] + y, key[2] + z];
                    last = match last {
                        Some(b) => (self.keys.get(b as usize + 1) == Some(&key)).then_some(b + 1),
                        None => self.map.get(&key).copied(),
                    };
                    out.extend(last.map(|block| Around { block, step: [x, y, z] }));
                }
            }
        }
    }
}

/// A block seen from another.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Its number.
    pub block: u32,
    /// Where it lies, in blocks.
    pub step: [i32; 3],
}

impl Around {
    /// Where it lies, in cells.
    #[inline]
    pub fn offset(&self) -> [f32; 3] {
        self.step.map(|s| (s * EDGE as i32) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_keep_their_places() {
        let p: Vec<[f32; 3]> = (0..500)
            .map(|i| [(i * 37 % 100) as f32 * 0.13 - 5.0, (i * 71 % 100) as f32 * 0.07, i as f32 * -0.01])
            .collect();
        let c = Cloud::new(&p, 0.11).unwrap();
        assert_eq!(c.len(), 500);
        for b in 0..c.keys.len() {
            assert_eq!(c.map[&c.keys[b]], b as u32);
            for k in c.range(b) {
                for (a, want) in p[c.order[k] as usize].iter().enumerate() {
                    let x = (f64::from(c.keys[b][a]) * 7.0 + f64::from(c.local[a][k])) * 0.11;
                    assert!((x - f64::from(*want)).abs() < 0.11 / 65536.0 + 1e-6);
                }
            }
        }
    }

    #[test]
    fn wild_positions_are_named() {
        let error = |x: f32| Cloud::new(&[[0.0; 3], [0.0, x, 0.0]], 0.01).unwrap_err();
        assert_eq!(error(f32::NAN), SurfaceError::NotFinite { particle: 1 });
        assert_eq!(error(f32::INFINITY), SurfaceError::NotFinite { particle: 1 });
        assert!(matches!(error(f32::MAX), SurfaceError::TooFar { particle: 1, .. }));
        assert!(Cloud::new(&[[0.0; 3], [1e6, -1e6, 1e6]], 0.01).is_ok());
    }
}
