//! Stretched particles: w (1 - rᵀMr)³, Yu & Turk's anisotropic kernel of the form of poly6.

use super::sample::{Kernel, pick};
use super::{Aligned, RAMP, VALUES, dispatch};
use crate::simd::{Eight, Lanes, Octets};
use crate::surface::cloud::{EDGE, POINTS};
use crate::surface::gather::Near;

/// What extents have more than the ellipsoid, cells: roundings must not cost a point.
const HAIR: f32 = 1e-3;
/// Particles between two looks at which rows have enough.
const BETWEEN_LOOKS: usize = 16;

dispatch!(measure, measure_lanes, (near: &mut Near));
dispatch!(widest fill_few, few_lanes, (near: &Near, enough: f32, out: &mut [f32; VALUES], picked: &[u32]));
dispatch!(widest fill_all, all_lanes, (near: &Near, enough: f32, out: &mut [f32; VALUES], picked: &[u32]));

/// Layers of points that a small particle meets at most: at cells of one spacing all of them are small.
const FEW: usize = 5;

/// Spreads the particles over the points of a block; `reach`: no extent is more, cells.
pub fn fill(near: &Near, reach: f32, enough: f32, out: &mut [f32; VALUES], picked: &mut Vec<u32>) {
    pick(near, [0.0; 3], [EDGE as f32; 3], picked);
    // Twice what `measure` gives holds no more points than that, wherever it lies.
    if 2.0 * (reach + HAIR) < FEW as f32 {
        fill_few(near, enough, out, picked);
    } else {
        fill_all(near, enough, out, picked);
    }
}

#[inline(always)]
fn few_lanes<L: Octets>(near: &Near, enough: f32, out: &mut [f32; VALUES], picked: &[u32]) {
    fill_lanes::<L, FEW>(near, enough, out, picked);
}

#[inline(always)]
fn all_lanes<L: Octets>(near: &Near, enough: f32, out: &mut [f32; VALUES], picked: &[u32]) {
    fill_lanes::<L, POINTS>(near, enough, out, picked);
}

/// Eight values of a column.
///
/// # Safety
/// The column must have eight values from `j` on.
#[inline(always)]
unsafe fn load<L: Eight>(near: &Near, column: usize, j: usize) -> L {
    // SAFETY: the caller's promise.
    unsafe { L::load(near.column[column].as_ptr().add(j)) }
}

/// Half the extents of rᵀMr = 1 along the axes, √(M⁻¹)xx and so on, and a hair more.
#[inline(always)]
fn measure_lanes<L: Eight>(near: &mut Near) {
    let (zero, half, hair) = (L::splat(0.0), L::splat(0.5), L::splat(HAIR));
    let full = near.x[0].len();
    near.extent.iter_mut().for_each(|e| e.resize(full, 0.0));
    assert!(near.column[..7].iter().all(|c| c.len() == full));
    for j in (0..full).step_by(8) {
        // SAFETY: all arrays are as long as `x`, a multiple of eight.
        unsafe {
            let (a, b, c) = (load::<L>(near, 1, j), load::<L>(near, 2, j), load::<L>(near, 3, j));
            let d = load::<L>(near, 4, j).mul(half);
            let e = load::<L>(near, 5, j).mul(half);
            let f = load::<L>(near, 6, j).mul(half);
            let (xx, yy, zz) = (b.mul(c).sub(f.mul(f)), a.mul(c).sub(e.mul(e)), a.mul(b).sub(d.mul(d)));
            let det = a.mul(xx).sub(d.mul(d.mul(c).sub(f.mul(e)))).add(e.mul(d.mul(f).sub(b.mul(e))));
            xx.div(det).max(zero).sqrt().add(hair).store(near.extent[0].as_mut_ptr().add(j));
            yy.div(det).max(zero).sqrt().add(hair).store(near.extent[1].as_mut_ptr().add(j));
            zz.div(det).max(zero).sqrt().add(hair).store(near.extent[2].as_mut_ptr().add(j));
        }
    }
}

/// Spreads one of the `picked` particles after the other over the rows of points that its ellipsoid meets; a row is eight lanes.
///
/// The 64 rows are the bits of a word. With first and last layer and row of each particle instead the loops change
/// their length from particle to particle, which is mispredicted. As many layers as the largest can meet are looked at,
/// two at once where there are sixteen lanes.
#[inline(always)]
fn fill_lanes<L: Octets, const LAYERS: usize>(
    near: &Near,
    enough: f32,
    out: &mut [f32; VALUES],
    picked: &[u32],
) {
    let layers = LAYERS.next_multiple_of(L::AT_ONCE);
    // SAFETY: eight floats.
    let (ramp, ramps) = unsafe { (L::Eight::load(RAMP.as_ptr()), L::load_eight(RAMP.as_ptr())) };
    let (one, zero) = (L::splat(1.0), L::splat(0.0));
    let (none, enough) = (L::Eight::splat(0.0), L::Eight::splat(enough));
    let mut scratch = Aligned(Scratch::default());
    let Scratch { cross, rest, layer } = &mut scratch.0;
    let particles = Ellipsoids::new(near);
    // Rows with a point that has not enough yet.
    let mut open = !0u64;
    for (k, &j) in picked.iter().enumerate() {
        if k % BETWEEN_LOOKS == BETWEEN_LOOKS - 1 {
            open = rows_below(out, enough, open);
        }
        // SAFETY: `pick` gives numbers of particles; room for eight.
        let (dx, dy, m, weight, first) = unsafe {
            let j = j as usize;
            let (x, y, z) =
                (near.x[0].get_unchecked(j), near.x[1].get_unchecked(j), near.x[2].get_unchecked(j));
            let (w, m) = particles.get(j);
            let dz = ramp.sub(L::Eight::splat(*z));
            dz.mul(L::Eight::splat(m[4])).store(layer[0].as_mut_ptr());
            dz.mul(L::Eight::splat(m[5])).store(layer[1].as_mut_ptr());
            dz.mul(dz).mul(L::Eight::splat(m[2])).store(layer[2].as_mut_ptr());
            // The first point above the lower end of the extent, as far up as leaves room for all layers. Picked particles
            // meet the block: a small number.
            let above = (*z - *near.extent[2].get_unchecked(j) + 1.0).max(0.0).to_int_unchecked::<i32>();
            let dx = ramp.sub(L::Eight::splat(*x));
            (dx, ramps.sub(L::splat(*y)), m, L::Eight::splat(w), (above as usize).min(POINTS - layers))
        };
        // 1 - q = 1 - Mxx dx² - dx (2Mxy dy + 2Mxz dz) - rest
        let square = dy.mul(dy).mul(L::splat(m[1]));
        let across = dy.mul(L::splat(m[3]));
        let quarter = L::splat(0.25 / m[0]);
        let mut rows = 0u64;
        for iz in (first..first + layers).step_by(L::AT_ONCE) {
            let crosses = across.add(two::<L>(&layer[0], iz));
            let rests = dy.mul_add(two::<L>(&layer[1], iz), square.add(two::<L>(&layer[2], iz)));
            // The greatest 1 - q along the row.
            let most = crosses.mul(crosses).mul_add(quarter, one.sub(rests));
            rows |= u64::from(zero.below(most)) << (8 * iz);
            // SAFETY: room for 64.
            unsafe {
                crosses.store(cross.as_mut_ptr().add(8 * iz));
                rests.store(rest.as_mut_ptr().add(8 * iz));
            }
        }
        rows &= open;
        let along = L::Eight::splat(1.0).sub(dx.mul(dx).mul(L::Eight::splat(m[0])));
        while rows != 0 {
            let row = rows.trailing_zeros() as usize;
            rows &= rows - 1;
            // SAFETY: a bit of 64; there are as many rows of eight points.
            unsafe {
                let c = L::Eight::splat(*cross.get_unchecked(row));
                let r = L::Eight::splat(*rest.get_unchecked(row));
                let t = along.sub(dx.mul_add(c, r)).max(none);
                let row = out.as_mut_ptr().add(row * 8);
                t.mul(t).mul_add(t.mul(weight), L::Eight::load(row)).store(row);
            }
        }
    }
}

/// What a layer has, and in the other lanes, where there are, the next layer.
#[inline(always)]
fn two<L: Octets>(of: &[f32; 9], iz: usize) -> L {
    L::halves(of[iz & 7], of[(iz & 7) + 1])
}

/// What the rows and layers of one particle have in common.
struct Scratch {
    /// 2Mxy dy + 2Mxz dz of each row.
    cross: [f32; 64],
    /// Myy dy² + 2Myz dy dz + Mzz dz² of each row.
    rest: [f32; 64],
    /// 2Mxz dz, 2Myz dz and Mzz dz² of each layer, and room for one more.
    layer: [[f32; 9]; 3],
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch { cross: [0.0; 64], rest: [0.0; 64], layer: [[0.0; 9]; 3] }
    }
}

/// Which of the rows `open` have a point below `enough`.
#[inline(always)]
fn rows_below<L: Eight>(values: &[f32; VALUES], enough: L, mut open: u64) -> u64 {
    let mut left = open;
    while left != 0 {
        let row = left.trailing_zeros() as usize;
        left &= left - 1;
        // SAFETY: there are 64 rows of eight points.
        let lacks = unsafe { L::load(values.as_ptr().add(row * 8)) }.below(enough) != 0;
        open &= !(u64::from(!lacks) << row);
    }
    open
}

/// The columns of the particles.
pub struct Ellipsoids<'a> {
    near: &'a Near,
}

impl<'a> Ellipsoids<'a> {
    /// Of the particles near a block.
    pub fn new(near: &'a Near) -> Self {
        assert!(near.column[..7].iter().all(|c| c.len() >= near.x[0].len()));
        Ellipsoids { near }
    }

    /// The weight and matrix of a particle: w, Mxx, Myy, Mzz, 2Mxy, 2Mxz, 2Myz.
    ///
    /// # Safety
    /// There must be a particle `j`.
    #[inline(always)]
    unsafe fn get(&self, j: usize) -> (f32, [f32; 6]) {
        let c = &self.near.column;
        // SAFETY: the lengths were checked when this was made.
        unsafe {
            let (xx, yy, zz) = (c[1].get_unchecked(j), c[2].get_unchecked(j), c[3].get_unchecked(j));
            let (xy, xz, yz) = (c[4].get_unchecked(j), c[5].get_unchecked(j), c[6].get_unchecked(j));
            (*c[0].get_unchecked(j), [*xx, *yy, *zz, *xy, *xz, *yz])
        }
    }
}

impl Kernel for Ellipsoids<'_> {
    // ∇ w t³ = -3 w t² ∇(rᵀMr)
    const GRADIENT: f32 = -3.0;

    #[inline(always)]
    unsafe fn part<L: Lanes>(&self, j: usize, [dx, dy, dz]: [L; 3]) -> (L, [L; 3]) {
        // SAFETY: the caller's promise.
        let (w, [xx, yy, zz, xy, xz, yz]) = unsafe { self.get(j) };
        let (w, xx, yy, zz) = (L::splat(w), L::splat(xx), L::splat(yy), L::splat(zz));
        let (xy, xz, yz) = (L::splat(xy), L::splat(xz), L::splat(yz));
        let two = L::splat(2.0);
        // ∇(rᵀMr) = 2Mr
        let mx = dx.mul(two).mul_add(xx, dy.mul_add(xy, dz.mul(xz)));
        let my = dy.mul(two).mul_add(yy, dx.mul_add(xy, dz.mul(yz)));
        let mz = dz.mul(two).mul_add(zz, dx.mul_add(xz, dy.mul(yz)));
        let q = dx.mul_add(mx, dy.mul_add(my, dz.mul(mz))).mul(L::splat(0.5));
        let t = L::splat(1.0).sub(q).max(L::splat(0.0));
        let wt2 = t.mul(t).mul(w);
        (wt2.mul(t), [wt2.mul(mx), wt2.mul(my), wt2.mul(mz)])
    }
}
