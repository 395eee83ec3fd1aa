//! Eigenvalues and eigenvectors of a symmetric 3×3 matrix by Jacobi's rotations.

/// Eigenvalues and unit eigenvectors of [xx, yy, zz, xy, xz, yz].
pub fn eigen(m: [f32; 6]) -> ([f32; 3], [[f32; 3]; 3]) {
    let mut a = [[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]];
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0f32]];
    let size = m.iter().fold(0.0f32, |s, x| s.max(x.abs()));
    // Converges quadratically; the rotations left out end it.
    for _ in 0..4 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q].abs() <= 1e-5 * size {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            let r = 3 - p - q;
            let (app, aqq, apq) = (a[p][p], a[q][q], a[p][q]);
            a[p][p] = app - t * apq;
            a[q][q] = aqq + t * apq;
            (a[p][q], a[q][p]) = (0.0, 0.0);
            let (arp, arq) = (a[r][p], a[r][q]);
            a[r][p] = c * arp - s * arq;
            a[r][q] = s * arp + c * arq;
            (a[p][r], a[q][r]) = (a[r][p], a[r][q]);
            // Rows of v are the axes.
            let (vp, vq) = (v[p], v[q]);
            v[p] = std::array::from_fn(|k| c * vp[k] - s * vq[k]);
            v[q] = std::array::from_fn(|k| s * vp[k] + c * vq[k]);
        }
    }
    ([a[0][0], a[1][1], a[2][2]], v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn axes_and_values_give_the_matrix_back(m in prop::array::uniform6(-2.0f32..2.0)) {
            let (values, axes) = eigen(m);
            let entry = |i: usize, j: usize| (0..3).map(|k| values[k] * axes[k][i] * axes[k][j]).sum::<f32>();
            let got = [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)];
            for k in 0..6 {
                prop_assert!((got[k] - m[k]).abs() < 1e-4, "{:?} {:?}", got, m);
            }
        }
    }
}
