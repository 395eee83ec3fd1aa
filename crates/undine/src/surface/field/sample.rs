//! The field at many points at once.

use super::dispatch;
use crate::simd::{Lanes, MOST_LANES, Octets};
use crate::surface::gather::Near;

/// Points, by axis, in cells from the corner of the block.
pub type Points = [[f32; AT_ONCE]; 3];

/// Points at once: as many as the most lanes. Where there are fewer lanes they are taken in two parts.
pub const AT_ONCE: usize = MOST_LANES;

/// The field at the points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Samples {
    /// Its values.
    pub value: [f32; AT_ONCE],
    /// Its gradients by axis, per cell.
    pub gradient: [[f32; AT_ONCE]; 3],
    /// Σ value of each particle × velocity by axis, where asked for.
    pub velocity: [[f32; AT_ONCE]; 3],
}

/// What one particle adds. A trait and not a closure, which would be compiled without the instruction set.
pub trait Kernel {
    /// What the gradients of [`Kernel::part`] are to be multiplied with in the end.
    const GRADIENT: f32;

    /// The value and gradient of particle `j` at points `d` from it.
    ///
    /// # Safety
    /// There must be a particle `j`.
    unsafe fn part<L: Lanes>(&self, j: usize, d: [L; 3]) -> (L, [L; 3]);
}

dispatch!(widest samples, samples_lanes, <K: Kernel>(
    kernel: &K,
    near: &Near,
    velocity: &[Vec<f32>; 3],
    points: &Points,
    count: usize,
    picked: &mut Vec<u32>
) -> Samples);

/// Sums over the particles whose boxes meet that of the points; `picked` is scratch.
///
/// The lanes are points and not particles: vertices that follow each other lie close together, so that most
/// particles near the block are out of reach of all of them. To pick the others first, without a branch, costs less
/// than to add nothing.
#[inline(always)]
fn samples_lanes<L: Octets, K: Kernel>(
    kernel: &K,
    near: &Near,
    velocity: &[Vec<f32>; 3],
    points: &Points,
    count: usize,
    picked: &mut Vec<u32>,
) -> Samples {
    let mut out = Samples::default();
    for first in (0..count.min(AT_ONCE)).step_by(L::N) {
        part_lanes::<L, K>(kernel, near, velocity, points, first, picked, &mut out);
    }
    out
}

/// The field at the points from `first` on, as many as there are lanes.
#[inline(always)]
fn part_lanes<L: Octets, K: Kernel>(
    kernel: &K,
    near: &Near,
    velocity: &[Vec<f32>; 3],
    points: &Points,
    first: usize,
    picked: &mut Vec<u32>,
    out: &mut Samples,
) {
    assert!(first + L::N <= AT_ONCE);
    let (low, high) = bounds::<L>(points, first);
    pick_lanes::<L>(near, low, high, picked);
    // SAFETY: there are so many points.
    let p: [L; 3] = unsafe {
        [
            L::load(points[0].as_ptr().add(first)),
            L::load(points[1].as_ptr().add(first)),
            L::load(points[2].as_ptr().add(first)),
        ]
    };
    let zero = L::splat(0.0);
    let mut value = zero;
    let (mut gx, mut gy, mut gz) = (zero, zero, zero);
    let (mut vx, mut vy, mut vz) = (zero, zero, zero);
    let moves = velocity[0].len() == near.x[0].len();
    for &j in picked.iter() {
        let j = j as usize;
        // SAFETY: `pick` gives numbers of particles; all arrays are as long as `x`.
        unsafe {
            let dx = p[0].sub(L::splat(*near.x[0].get_unchecked(j)));
            let dy = p[1].sub(L::splat(*near.x[1].get_unchecked(j)));
            let dz = p[2].sub(L::splat(*near.x[2].get_unchecked(j)));
            let (part, g) = kernel.part(j, [dx, dy, dz]);
            value = value.add(part);
            gx = gx.add(g[0]);
            gy = gy.add(g[1]);
            gz = gz.add(g[2]);
            if moves {
                vx = part.mul_add(L::splat(*velocity[0].get_unchecked(j)), vx);
                vy = part.mul_add(L::splat(*velocity[1].get_unchecked(j)), vy);
                vz = part.mul_add(L::splat(*velocity[2].get_unchecked(j)), vz);
            }
        }
    }
    let scale = L::splat(K::GRADIENT);
    // SAFETY: there is room for as many points.
    unsafe {
        value.store(out.value.as_mut_ptr().add(first));
        gx.mul(scale).store(out.gradient[0].as_mut_ptr().add(first));
        gy.mul(scale).store(out.gradient[1].as_mut_ptr().add(first));
        gz.mul(scale).store(out.gradient[2].as_mut_ptr().add(first));
        vx.store(out.velocity[0].as_mut_ptr().add(first));
        vy.store(out.velocity[1].as_mut_ptr().add(first));
        vz.store(out.velocity[2].as_mut_ptr().add(first));
    }
}

/// The box around the points from `first` on, as many as there are lanes.
#[inline(always)]
fn bounds<L: Lanes>(points: &Points, first: usize) -> ([f32; 3], [f32; 3]) {
    let (mut low, mut high) = ([0.0; 3], [0.0; 3]);
    for a in 0..3 {
        let x = &points[a][first..first + L::N];
        (low[a], high[a]) = (x[0], x[0]);
        for &x in &x[1..] {
            low[a] = if x < low[a] { x } else { low[a] };
            high[a] = if x > high[a] { x } else { high[a] };
        }
    }
    (low, high)
}

dispatch!(widest pick, pick_lanes, (near: &Near, low: [f32; 3], high: [f32; 3], picked: &mut Vec<u32>));

/// Numbers of the particles whose boxes meet that from `low` to `high`.
#[inline(always)]
fn pick_lanes<L: Octets>(near: &Near, low: [f32; 3], high: [f32; 3], picked: &mut Vec<u32>) {
    let full = near.x[0].len();
    picked.clear();
    picked.reserve(full + L::N);
    assert!(near.extent.iter().chain(&near.x).all(|x| x.len() >= full));
    let mut count = 0;
    for j in (0..full).step_by(L::N) {
        // SAFETY: the lengths were just checked, `full` is a multiple of `MOST_LANES`; `picked` has room for all and a vector more.
        unsafe {
            let mut mask = !0;
            for a in 0..3 {
                let x = L::load(near.x[a].as_ptr().add(j));
                let e = L::load(near.extent[a].as_ptr().add(j));
                mask &= x.sub(e).below(L::splat(high[a])) & L::splat(low[a]).below(x.add(e));
            }
            L::store_set_bits(mask, j as u32, picked.as_mut_ptr().add(count));
            count += mask.count_ones() as usize;
        }
    }
    // SAFETY: so many were written.
    unsafe { picked.set_len(count) };
}
