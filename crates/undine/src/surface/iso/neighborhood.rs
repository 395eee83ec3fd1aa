//! The weighted mean and covariance of the neighbours of particles (Yu & Turk eq. 6-9).

use super::Source;
use crate::simd::{Eight, Lanes, Octets};
use crate::surface::cloud::round_fine;
use crate::surface::pairs::{PairSum, pair_sums_into, totals};

/// Radius of the neighbourhood, × spacing.
pub const RADIUS: f32 = 2.5;
/// Share of the way to the mean of its neighbours that a particle is moved, λ (Yu & Turk: 0.9 to 1).
const MOVE: f32 = 0.9;
/// Shortest way to the mean, × radius, on which a particle moves at all; longer ways are shorter by this. It keeps
/// the fluid from shrinking: beside a plane the mean lies up to a quarter of the radius away, which is no noise.
const STAY: f32 = 0.15;
/// Farthest that a particle is moved along an axis, × spacing.
pub const FARTHEST_MOVE: f32 = 1.0;

/// Weighted moments over the neighbours of eight particles, in units of the radius.
#[derive(Clone, Copy, Debug)]
pub struct Neighborhoods<L> {
    /// Σ w; a lone particle has 1.
    pub weight: L,
    /// The weighted mean of the neighbours' places, from the particle.
    pub mean: [L; 3],
    /// The weighted covariance around that mean: xx, yy, zz, xy, xz, yz.
    pub covariance: [L; 6],
}

impl<L: Eight> Neighborhoods<L> {
    /// How far the particles are moved towards the mean, in units of the radius.
    #[inline(always)]
    fn way(&self) -> [L; 3] {
        let [x, y, z] = self.mean;
        let length = x.mul_add(x, y.mul_add(y, z.mul(z))).sqrt();
        // The hair keeps 0/0 away.
        let part = length.sub(L::splat(STAY)).max(L::splat(0.0)).div(length.add(L::splat(1e-20)));
        let part = part.mul(L::splat(MOVE));
        [x.mul(part), y.mul(part), z.mul(part)]
    }
}

/// What particles get from their neighbourhoods besides a new place.
pub trait Form: Sync {
    /// The columns of eight particles.
    fn columns<L: Eight>(&self, around: &Neighborhoods<L>) -> [[f32; COLUMNS]; 8];
}

/// Most columns that a form has.
const COLUMNS: usize = 7;

/// No columns.
impl Form for () {
    #[inline(always)]
    fn columns<L: Eight>(&self, _: &Neighborhoods<L>) -> [[f32; COLUMNS]; 8] {
        [[0.0; COLUMNS]; 8]
    }
}

/// Moves the particles towards the mean of their neighbours and multiplies the first column by, and sets the others to
/// what `form` gives. Particles deep inside stay as they are. Returns the places, and how far they may stray from their blocks.
pub fn settle(source: &Source, form: &impl Form, columns: &mut [Vec<f32>]) -> ([Vec<f32>; 3], f32) {
    let cloud = source.cloud;
    let deep = source.filling.deep(cloud, &source.wanted);
    let (radius, most) = (RADIUS * source.spacing, FARTHEST_MOVE * source.spacing);
    let mut local = cloud.local.clone();
    let (count, used) = (cloud.len(), columns.len());
    let mut whole = Part::default();
    for (to, from) in whole.place.iter_mut().zip(&mut local) {
        *to = &mut from[..count];
    }
    for (to, from) in whole.column.iter_mut().zip(columns) {
        *to = from;
    }
    let parts = (0..cloud.keys.len()).map(|b| whole.take(cloud.range(b).len())).collect();
    let write = |part: Part, own: &[u32], results: &[Settled]| {
        let Part { mut place, mut column } = part;
        for (&k, (way, values)) in own.iter().zip(results) {
            let k = k as usize;
            for (x, way) in place.iter_mut().zip(way) {
                x[k] = round_fine(x[k] + (way * radius).clamp(-most, most));
            }
            if let Some((first, others)) = column[..used].split_first_mut() {
                first[k] *= values[0];
                for (x, value) in others.iter_mut().zip(&values[1..]) {
                    x[k] = *value;
                }
            }
        }
    };
    pair_sums_into(cloud, |_, k| !deep[k], radius, &[], &Moments(form), parts, write);
    (local, most)
}

/// What a block writes to.
#[derive(Default)]
struct Part<'a> {
    place: [&'a mut [f32]; 3],
    column: [&'a mut [f32]; COLUMNS],
}

impl<'a> Part<'a> {
    /// Cuts the values of the next `count` particles off.
    fn take(&mut self, count: usize) -> Part<'a> {
        let mut part = Part::default();
        let all = part.place.iter_mut().chain(&mut part.column);
        for (to, from) in all.zip(self.place.iter_mut().chain(&mut self.column)) {
            *to = from.split_off_mut(..count).unwrap_or_default();
        }
        part
    }
}

/// The way of a particle, in units of the radius, and its columns.
type Settled = ([f32; 3], [f32; COLUMNS]);

struct Moments<'a, F>(&'a F);

impl<F: Form> PairSum for Moments<'_, F> {
    type Sum<L: Octets> = [L; 10];
    type Output = Settled;
    #[inline(always)]
    fn zero<L: Octets>(&self) -> [L; 10] {
        [L::splat(0.0); 10]
    }
    // w = 1 - (r/R)³ (eq. 11)
    #[inline(always)]
    fn add<L: Octets>(&self, s: &mut [L; 10], d: [L; 3], r2: L, _: L) {
        let w = L::splat(1.0).sub(r2.mul(r2.sqrt())).max(L::splat(0.0));
        let (x, y, z) = (w.mul(d[0]), w.mul(d[1]), w.mul(d[2]));
        s[0] = s[0].add(w);
        s[1] = s[1].add(x);
        s[2] = s[2].add(y);
        s[3] = s[3].add(z);
        s[4] = x.mul_add(d[0], s[4]);
        s[5] = y.mul_add(d[1], s[5]);
        s[6] = z.mul_add(d[2], s[6]);
        s[7] = x.mul_add(d[1], s[7]);
        s[8] = x.mul_add(d[2], s[8]);
        s[9] = y.mul_add(d[2], s[9]);
    }
    #[inline(always)]
    fn finish<L: Octets>(&self, sums: &[[L; 10]; 8]) -> [Settled; 8] {
        let [weight, x, y, z, xx, yy, zz, xy, xz, yz] = totals(sums);
        let part = L::Eight::splat(1.0).div(weight);
        let (x, y, z) = (x.mul(part), y.mul(part), z.mul(part));
        let covariance = [
            xx.mul(part).sub(x.mul(x)),
            yy.mul(part).sub(y.mul(y)),
            zz.mul(part).sub(z.mul(z)),
            xy.mul(part).sub(x.mul(y)),
            xz.mul(part).sub(x.mul(z)),
            yz.mul(part).sub(y.mul(z)),
        ];
        let around = Neighborhoods { weight, mean: [x, y, z], covariance };
        let columns = self.0.columns(&around);
        let [x, y, z] = around.way();
        let (x, y, z) = (x.to_array(), y.to_array(), z.to_array());
        let mut out = [Settled::default(); 8];
        for (k, out) in out.iter_mut().enumerate() {
            *out = ([x[k], y[k], z[k]], columns[k]);
        }
        out
    }
}
