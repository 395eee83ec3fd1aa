//! Particles spread by the same profile along each axis: counts in boxes and their smoothing.

use super::sample::Kernel;
use super::{RAMP, VALUES, dispatch};
use crate::simd::{Eight, Lanes};
use crate::surface::gather::Near;

/// A symmetric, piecewise linear profile of the distance along one axis, u in cells: b(u) = Σ s max(0, e - |u|) over
/// (e, s), which needs no branches and no table.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile(Vec<(f32, f32)>);

impl Profile {
    /// From (e, s): what rises inwards from e on, by s a cell.
    pub fn new(rises: Vec<(f32, f32)>) -> Self {
        Profile(rises)
    }

    /// From its values at u = 0, 1, 2, …; zero beyond, linear between.
    pub fn of_knots(knots: &[f64]) -> Self {
        let at = |k: usize| knots.get(k).copied().unwrap_or(0.0);
        // The change of slope at each knot.
        Profile((1..=knots.len()).map(|k| (k as f32, (at(k - 1) - 2.0 * at(k) + at(k + 1)) as f32)).collect())
    }

    /// Where it has come down to zero, cells.
    pub fn reach(&self) -> f32 {
        self.0.iter().fold(0.0, |m, r| m.max(r.0))
    }

    /// b(u)
    pub fn value(&self, u: f32) -> f32 {
        self.0.iter().map(|(e, s)| s * (e - u.abs()).max(0.0)).sum()
    }

    /// b(u) in lanes.
    #[inline(always)]
    fn values<L: Lanes>(&self, u: L) -> L {
        let u = u.abs();
        let mut sum = L::splat(0.0);
        for &(e, s) in &self.0 {
            sum = L::splat(e).sub(u).max(L::splat(0.0)).mul_add(L::splat(s), sum);
        }
        sum
    }
}

/// The reach of the profile, and one cell more: gradients look that far.
pub fn measure(profile: &Profile, near: &mut Near) {
    let full = near.x[0].len();
    for extent in &mut near.extent {
        extent.clear();
        extent.resize(full, profile.reach() + 1.0);
    }
}

dispatch!(fill, fill_lanes, (profile: &Profile, near: &Near, out: &mut [f32; VALUES]));

#[inline(always)]
fn fill_lanes<L: Eight>(profile: &Profile, near: &Near, out: &mut [f32; VALUES]) {
    // SAFETY: eight floats.
    let ramp = unsafe { L::load(RAMP.as_ptr()) };
    let (mut by, mut bz) = ([0.0f32; 8], [0.0f32; 8]);
    for j in 0..near.len() {
        let bx = profile.values(ramp.sub(L::splat(near.x[0][j]))).mul(L::splat(near.column[0][j]));
        // SAFETY: room for eight.
        unsafe {
            profile.values(ramp.sub(L::splat(near.x[1][j]))).store(by.as_mut_ptr());
            profile.values(ramp.sub(L::splat(near.x[2][j]))).store(bz.as_mut_ptr());
        }
        for (layer, &bz) in out.as_chunks_mut::<64>().0.iter_mut().zip(&bz) {
            if bz == 0.0 {
                continue;
            }
            let along = bx.mul(L::splat(bz));
            for (row, &by) in layer.as_chunks_mut::<8>().0.iter_mut().zip(&by) {
                // SAFETY: a row is eight values.
                unsafe { along.mul_add(L::splat(by), L::load(row.as_ptr())).store(row.as_mut_ptr()) };
            }
        }
    }
}

/// The profile and column of the particles.
pub struct Products<'a> {
    profile: &'a Profile,
    w: &'a [f32],
}

impl<'a> Products<'a> {
    /// Of the particles near a block.
    pub fn new(profile: &'a Profile, near: &'a Near) -> Self {
        // Filled up as the places are, among which numbers are picked.
        Products { profile, w: &near.column[0][..near.x[0].len()] }
    }
}

impl Kernel for Products<'_> {
    // Halves the differences over two cells.
    const GRADIENT: f32 = 0.5;

    /// The gradient is the mean slope over a cell before and after.
    #[inline(always)]
    unsafe fn part<L: Lanes>(&self, j: usize, [dx, dy, dz]: [L; 3]) -> (L, [L; 3]) {
        // SAFETY: the caller's promise.
        let w = L::splat(unsafe { *self.w.get_unchecked(j) });
        let (b, one) = (self.profile, L::splat(1.0));
        let (x, y, z) = (b.values(dx), b.values(dy), b.values(dz));
        let gx = b.values(dx.add(one)).sub(b.values(dx.sub(one)));
        let gy = b.values(dy.add(one)).sub(b.values(dy.sub(one)));
        let gz = b.values(dz.add(one)).sub(b.values(dz.sub(one)));
        let (wx, yz) = (w.mul(x), y.mul(z));
        (wx.mul(yz), [w.mul(yz).mul(gx), wx.mul(z).mul(gy), wx.mul(y).mul(gz)])
    }
}
