//! Eigenvalues and eigenvectors of symmetric 3×3 matrices by Jacobi's rotations, eight matrices at once.

use crate::simd::Eight;

/// Rounds of three rotations; they converge quadratically.
const ROUNDS: usize = 4;

/// Eigenvalues and unit eigenvectors of [xx, yy, zz, xy, xz, yz].
#[inline(always)]
pub fn eigen<L: Eight>(m: [L; 6]) -> ([L; 3], [[L; 3]; 3]) {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let [mut xx, mut yy, mut zz, mut xy, mut xz, mut yz] = m;
    let (mut x, mut y, mut z) = ([one, zero, zero], [zero, one, zero], [zero, zero, one]);
    for _ in 0..ROUNDS {
        rotate(&mut xx, &mut yy, &mut xy, &mut xz, &mut yz, &mut x, &mut y);
        rotate(&mut xx, &mut zz, &mut xz, &mut xy, &mut yz, &mut x, &mut z);
        rotate(&mut yy, &mut zz, &mut yz, &mut xy, &mut xz, &mut y, &mut z);
    }
    ([xx, yy, zz], [x, y, z])
}

/// Turns axes p and q so that their entry pq vanishes; r is the third.
#[inline(always)]
fn rotate<L: Eight>(
    pp: &mut L,
    qq: &mut L,
    pq: &mut L,
    rp: &mut L,
    rq: &mut L,
    p: &mut [L; 3],
    q: &mut [L; 3],
) {
    // tan θ = 2pq / (d ± √(d² + 4pq²)), of the smaller angle; the hair keeps 0/0 away.
    let (twice, d) = (pq.add(*pq), qq.sub(*pp));
    let root = d.mul_add(d, twice.mul(twice)).sqrt().add(L::splat(1e-30));
    let t = twice.div(d.abs().add(root).copy_sign(d));
    let c = L::splat(1.0).div(t.mul_add(t, L::splat(1.0)).sqrt());
    let s = t.mul(c);
    let step = t.mul(*pq);
    *pp = pp.sub(step);
    *qq = qq.add(step);
    *pq = L::splat(0.0);
    (*rp, *rq) = (c.mul(*rp).sub(s.mul(*rq)), s.mul_add(*rp, c.mul(*rq)));
    for k in 0..3 {
        (p[k], q[k]) = (c.mul(p[k]).sub(s.mul(q[k])), s.mul_add(p[k], c.mul(q[k])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Lanes, Portable};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn axes_and_values_give_the_matrix_back(
            m in prop::array::uniform6(-2.0f32..2.0),
            zeros in 0u8..64,
        ) {
            let m: [f32; 6] = std::array::from_fn(|k| if zeros >> k & 1 == 1 { 0.0 } else { m[k] });
            let (values, axes) = eigen(m.map(Portable::splat));
            let values = values.map(|v| v.to_array()[3]);
            let axes = axes.map(|axis| axis.map(|x| x.to_array()[3]));
            let entry = |i: usize, j: usize| (0..3).map(|k| values[k] * axes[k][i] * axes[k][j]).sum::<f32>();
            let got = [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)];
            for k in 0..6 {
                prop_assert!((got[k] - m[k]).abs() < 1e-5, "{:?} {:?}", got, m);
            }
        }
    }
}
