//! Stretched particles: w (1 - rᵀMr)³, Yu & Turk's anisotropic kernel of the form of poly6.

use super::{Sample, VALUES, dispatch, span};
use crate::simd::Lanes;
use crate::surface::gather::Near;

/// 0 to 7: the x of the points of a row.
const RAMP: [f32; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

dispatch!(fill, fill_lanes, (near: &Near, out: &mut [f32; VALUES]));
dispatch!(at, at_lanes, (near: &Near, velocity: &[Vec<f32>; 3], p: [f32; 3]) -> Sample);

/// Half the extent of rᵀMr = 1 along y and z: √(M⁻¹)yy and √(M⁻¹)zz.
#[inline(always)]
fn extent(m: [f32; 6]) -> (f32, f32) {
    let [a, b, c, d, e, f] = [m[0], m[1], m[2], 0.5 * m[3], 0.5 * m[4], 0.5 * m[5]];
    let det = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e);
    (((a * c - e * e) / det).max(0.0).sqrt() + 1e-3, ((a * b - d * d) / det).max(0.0).sqrt() + 1e-3)
}

#[inline(always)]
fn fill_lanes<L: Lanes>(near: &Near, out: &mut [f32; VALUES]) {
    // SAFETY: eight floats.
    let ramp = unsafe { L::load(RAMP.as_ptr()) };
    let (one, zero) = (L::splat(1.0), L::splat(0.0));
    let (mut cross, mut rest) = ([0.0f32; 8], [0.0f32; 8]);
    for j in 0..near.len() {
        let (x, y, z) = (near.x[0][j], near.x[1][j], near.x[2][j]);
        let mut m = [0.0; 6];
        for (c, m) in m.iter_mut().enumerate() {
            *m = near.column[1 + c][j];
        }
        let (reach_y, reach_z) = extent(m);
        let dx = ramp.sub(L::splat(x));
        // 1 - q = 1 - Mxx dx² - dx (2Mxy dy + 2Mxz dz) - rest
        let along = one.sub(dx.mul(dx).mul(L::splat(m[0])));
        let weight = L::splat(near.column[0][j]);
        let (z0, z1) = span(z, reach_z);
        let (y0, y1) = span(y, reach_y);
        let dy = ramp.sub(L::splat(y));
        let square = dy.mul(dy).mul(L::splat(m[1]));
        for iz in z0..z1 {
            let dz = iz as f32 - z;
            // Both parts for all eight rows at once, as in `ball`.
            let crosses = dy.mul_add(L::splat(m[3]), L::splat(m[4] * dz));
            let rests = dy.mul_add(L::splat(m[5] * dz), square).add(L::splat(m[2] * dz * dz));
            // SAFETY: room for eight; `span` stays within the eight rows of eight points of each axis.
            unsafe {
                crosses.store(cross.as_mut_ptr());
                rests.store(rest.as_mut_ptr());
                let mut row = out.as_mut_ptr().add((iz * 8 + y0) * 8);
                for iy in y0..y1 {
                    let (c, r) = (L::splat(*cross.get_unchecked(iy)), L::splat(*rest.get_unchecked(iy)));
                    let t = along.sub(dx.mul_add(c, r)).max(zero);
                    t.mul(t).mul_add(t.mul(weight), L::load(row)).store(row);
                    row = row.add(8);
                }
            }
        }
    }
}

/// Eight values of a column.
///
/// # Safety
/// The column must have eight values from `j` on.
#[inline(always)]
unsafe fn load<L: Lanes>(near: &Near, column: usize, j: usize) -> L {
    // SAFETY: the caller's promise.
    unsafe { L::load(near.column[column].as_ptr().add(j)) }
}

#[inline(always)]
fn at_lanes<L: Lanes>(near: &Near, velocity: &[Vec<f32>; 3], p: [f32; 3]) -> Sample {
    let (one, two, zero) = (L::splat(1.0), L::splat(2.0), L::splat(0.0));
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
            let (xx, yy, zz) = (load(near, 1, j), load::<L>(near, 2, j), load::<L>(near, 3, j));
            let (xy, xz, yz) = (load(near, 4, j), load::<L>(near, 5, j), load::<L>(near, 6, j));
            // ∇(rᵀMr) = 2Mr
            let mx = dx.mul(two).mul_add(xx, dy.mul_add(xy, dz.mul(xz)));
            let my = dy.mul(two).mul_add(yy, dx.mul_add(xy, dz.mul(yz)));
            let mz = dz.mul(two).mul_add(zz, dx.mul_add(xz, dy.mul(yz)));
            let q = dx.mul_add(mx, dy.mul_add(my, dz.mul(mz))).mul(L::splat(0.5));
            let t = one.sub(q).max(zero);
            let wt2 = t.mul(t).mul(L::load(near.column[0].as_ptr().add(j)));
            let part = wt2.mul(t);
            value = value.add(part);
            gx = wt2.mul_add(mx, gx);
            gy = wt2.mul_add(my, gy);
            gz = wt2.mul_add(mz, gz);
            if moves {
                vx = part.mul_add(L::load(velocity[0].as_ptr().add(j)), vx);
                vy = part.mul_add(L::load(velocity[1].as_ptr().add(j)), vy);
                vz = part.mul_add(L::load(velocity[2].as_ptr().add(j)), vz);
            }
        }
    }
    Sample {
        value: value.sum(),
        gradient: [-3.0 * gx.sum(), -3.0 * gy.sum(), -3.0 * gz.sum()],
        velocity: [vx.sum(), vy.sum(), vz.sum()],
    }
}
