//! Kernel sums over the cubic lattice, exact to five digits.

use super::{CaseError, Lab};
use crate::kernels::{Kernel, Poly6, Viscosity, half_space_sum, lattice_sum};

/// h/Δ and Σ Δ³ W_poly6.
const POLY6: [(f64, f64); 7] = [
    (1.5, 0.94942),
    (1.8, 0.98284),
    (2.0, 1.00978),
    (2.2, 1.01401),
    (2.5, 0.99543),
    (3.0, 1.00219),
    (4.0, 1.00000),
];
/// The same in the top layer of a half-space.
const TOP_LAYER: [(f64, f64); 3] = [(2.0, 0.8170), (2.5, 0.7423), (3.0, 0.7067)];
/// h/Δ and Müller's Laplacian (∇²W_viscosity) of y²/2, which is 1 in the continuum.
const LAPLACIAN: [(f64, f64); 7] =
    [(1.5, 1.0603), (1.8, 1.1013), (2.0, 0.9881), (2.2, 0.8862), (2.5, 1.0212), (3.0, 0.9559), (4.0, 1.0080)];

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let d = 0.01;
    let mut sums = |what: &str, table: &[(f64, f64)], gate: f64, sum: &dyn Fn(f64) -> f64| {
        for &(ratio, reference) in table {
            let measured = sum(ratio * d);
            lab.check(
                format!("{what}, h/Δ = {ratio}"),
                measured,
                reference,
                (measured - reference).abs(),
                gate,
            );
        }
    };
    // The gates are one unit of the last printed digit.
    sums("poly6 sum", &POLY6, 1e-5, &|h| lattice_sum(d, h, |_, r| Poly6(h).w(r)));
    sums("poly6 sum in the top layer", &TOP_LAYER, 1e-4, &|h| half_space_sum(d, h, 0, |_, r| Poly6(h).w(r)));
    sums("Laplacian of y²/2", &LAPLACIAN, 1e-4, &|h| {
        lattice_sum(d, h, |x, r| 0.5 * x[1] * x[1] * Viscosity(h).laplacian(r))
    });
    Ok(())
}
