//! How a particle is spread: by the quadratic B-spline along each axis, which is smooth, nearly round, and even over
//! a lattice.

use crate::surface::cloud::POINTS;

/// How far from a particle the cell of a point may get a part of it: half the kernel and half a cell; lengths in cells.
pub fn support(width: f32) -> f32 {
    1.5 * width + 0.5
}

/// Integral of the quadratic B-spline up to `u` widths.
#[inline]
fn integral(u: f32) -> f32 {
    // The tails as cubes, the middle as what they leave: no branches.
    let u = u.clamp(-1.5, 1.5);
    let (low, high) = ((1.5 - u.abs()).powi(3) / 6.0, 0.5 + u * (0.75 - u * u / 3.0));
    let tail = if u < 0.0 { low } else { 1.0 - low };
    if u.abs() < 0.5 { high } else { tail }
}

/// The parts of a particle at `x` that lie in the cells around the points 0, 1, … 7; lengths in cells.
#[inline]
pub fn shares(x: f32, width: f32) -> [f32; POINTS] {
    let inverse = 1.0 / width;
    let edges: [f32; POINTS + 1] = std::array::from_fn(|i| integral(((i as f32 - 0.5) - x) * inverse));
    std::array::from_fn(|i| (edges[i + 1] - edges[i]).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_make_a_whole_wherever_the_particle_is() {
        for i in 0..100 {
            let x = 2.9 + 0.01 * i as f32;
            for width in [0.3, 0.75, 1.0, 1.5] {
                let sum: f32 = shares(x, width).iter().sum();
                assert!((sum - 1.0).abs() < 1e-5, "{x} {width}: {sum}");
            }
        }
    }

    #[test]
    fn the_kernel_is_its_integrals_slope_and_even_over_a_lattice() {
        for i in -160..160 {
            let u = 0.01 * i as f32;
            let slope = (integral(u + 0.02) - integral(u - 0.02)) / 0.04;
            let a = u.abs();
            let b_spline = if a < 0.5 { 0.75 - a * a } else { 0.5 * (1.5 - a.min(1.5)).powi(2) };
            assert!((slope - b_spline).abs() < 2e-3, "{u}: {slope} {b_spline}");
            let lattice: f32 = (-3..=3).map(|k| shares(u + 4.0 + k as f32, 1.0)[4]).sum();
            assert!((lattice - 1.0).abs() < 1e-5);
        }
    }
}
