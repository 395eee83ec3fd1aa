//! Round particles: w (1 - k r²)³, the form of Müller's poly6 kernel and of Bayraktar's φ.

use super::{Sample, VALUES, dispatch, span};
use crate::simd::Lanes;
use crate::surface::gather::Near;

/// 0 to 7: the x of the points of a row.
const RAMP: [f32; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

dispatch!(fill, fill_lanes, (near: &Near, out: &mut [f32; VALUES]));
dispatch!(at, at_lanes, (near: &Near, velocity: &[Vec<f32>; 3], p: [f32; 3]) -> Sample);

/// Spreads one particle after the other over the rows it reaches; a row is one vector.
///
/// Profiled: with (y - y_j)² worked out row by row the scalar part took as long as the vectors, so the squares of all
/// eight rows are made at once. Leaving out the rows in the corners of the square around the circle lost: 39 instead
/// of 31 ms for 60k particles, because the number of rows then changes from layer to layer and is mispredicted.
#[inline(always)]
fn fill_lanes<L: Lanes>(near: &Near, out: &mut [f32; VALUES]) {
    // SAFETY: eight floats.
    let ramp = unsafe { L::load(RAMP.as_ptr()) };
    let (one, zero) = (L::splat(1.0), L::splat(0.0));
    let n = near.len();
    let [x, y, z] = [&near.x[0][..n], &near.x[1][..n], &near.x[2][..n]];
    let (w, k) = (&near.column[0][..n], &near.column[1][..n]);
    let mut known = (f32::NAN, 0.0);
    let (mut square_y, mut square_z) = ([0.0f32; 8], [0.0f32; 8]);
    for j in 0..n {
        // Most fields have but one k: a square root and a quotient less.
        if k[j] != known.0 {
            known = (k[j], (1.0 / k[j]).sqrt());
        }
        let reach = known.1;
        let scale = L::splat(k[j]);
        let (dx, dy, dz) = (ramp.sub(L::splat(x[j])), ramp.sub(L::splat(y[j])), ramp.sub(L::splat(z[j])));
        let along = one.sub(dx.mul(dx).mul(scale));
        // SAFETY: room for eight.
        unsafe {
            dy.mul(dy).mul(scale).store(square_y.as_mut_ptr());
            dz.mul(dz).mul(scale).store(square_z.as_mut_ptr());
        }
        let weight = L::splat(w[j]);
        let (z0, z1) = span(z[j], reach);
        let (y0, y1) = span(y[j], reach);
        for (iz, &kz) in square_z.iter().enumerate().take(z1).skip(z0) {
            let along = along.sub(L::splat(kz));
            // SAFETY: `span` stays within the eight rows of eight points of each axis.
            unsafe {
                let mut row = out.as_mut_ptr().add((iz * 8 + y0) * 8);
                for ky in square_y.get_unchecked(y0..y1.max(y0)) {
                    let t = along.sub(L::splat(*ky)).max(zero);
                    t.mul(t).mul_add(t.mul(weight), L::load(row)).store(row);
                    row = row.add(8);
                }
            }
        }
    }
}

/// No branches: to step over eight particles out of reach, or over blocks of them, is mispredicted so often that it
/// takes longer. Without, marching takes 21 ms for 60k particles.
#[inline(always)]
fn at_lanes<L: Lanes>(near: &Near, velocity: &[Vec<f32>; 3], p: [f32; 3]) -> Sample {
    let (one, zero) = (L::splat(1.0), L::splat(0.0));
    let p = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
    let mut value = zero;
    let (mut gx, mut gy, mut gz) = (zero, zero, zero);
    let (mut vx, mut vy, mut vz) = (zero, zero, zero);
    let moves = velocity[0].len() == near.x[0].len();
    for j in (0..near.x[0].len()).step_by(8) {
        // SAFETY: all arrays are as long as `x`, a multiple of eight (`Near::collect`).
        unsafe {
            let dx = p[0].sub(L::load(near.x[0].as_ptr().add(j)));
            let dy = p[1].sub(L::load(near.x[1].as_ptr().add(j)));
            let dz = p[2].sub(L::load(near.x[2].as_ptr().add(j)));
            let k = L::load(near.column[1].as_ptr().add(j));
            let t = one.sub(dz.mul_add(dz, dy.mul_add(dy, dx.mul(dx))).mul(k)).max(zero);
            let wt2 = t.mul(t).mul(L::load(near.column[0].as_ptr().add(j)));
            let part = wt2.mul(t);
            value = value.add(part);
            // d/dx w t³ = -6 k w t² dx; the -6 waits for the end.
            let slope = wt2.mul(k);
            gx = slope.mul_add(dx, gx);
            gy = slope.mul_add(dy, gy);
            gz = slope.mul_add(dz, gz);
            if moves {
                vx = part.mul_add(L::load(velocity[0].as_ptr().add(j)), vx);
                vy = part.mul_add(L::load(velocity[1].as_ptr().add(j)), vy);
                vz = part.mul_add(L::load(velocity[2].as_ptr().add(j)), vz);
            }
        }
    }
    Sample {
        value: value.sum(),
        gradient: [-6.0 * gx.sum(), -6.0 * gy.sum(), -6.0 * gz.sum()],
        velocity: [vx.sum(), vy.sum(), vz.sum()],
    }
}
