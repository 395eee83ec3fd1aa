//! Smoothing kernels of Müller 2003, eq. 20-22, with support radius h, in plain f64.
//!
//! The hot loops of [`crate::models::sph`] use the same polynomials in units of h; these are the readable twins
//! that tests, tables and set-up code use.

use std::f64::consts::PI;

/// A radial kernel with support h: W(r), its derivative and its Laplacian.
pub trait Kernel {
    /// W(r), 1/m³.
    fn w(&self, r: f64) -> f64;
    /// dW/dr, 1/m⁴. The gradient is this times the unit vector away from the centre.
    fn derivative(&self, r: f64) -> f64;
    /// ∇²W, 1/m⁵.
    fn laplacian(&self, r: f64) -> f64;
    /// Support radius h, m.
    fn support(&self) -> f64;
}

/// W_poly6 (eq. 20): density and colour field; r appears only squared.
#[derive(Clone, Copy, Debug)]
pub struct Poly6(pub f64);

/// Poly6 with a core: w³ + c w⁸ with w = 1 - r²/h², normalised.
///
/// Using one kernel for continuity and pressure makes the pressure force the gradient of an energy, so that fluid
/// comes to rest. Poly6 alone cannot be that kernel: its gradient falls off below 0.9 spacings and particles merge
/// in pairs. The core moves the maximum of the gradient to 0.29 h, still without roots or divisions.
#[derive(Clone, Copy, Debug)]
pub struct Cored(pub f64);

/// W_spiky (eq. 21): pressure; its gradient does not vanish at the centre.
#[derive(Clone, Copy, Debug)]
pub struct Spiky(pub f64);

/// W_viscosity (eq. 22): viscosity; its Laplacian is nowhere negative.
#[derive(Clone, Copy, Debug)]
pub struct Viscosity(pub f64);

impl Kernel for Poly6 {
    fn w(&self, r: f64) -> f64 {
        let h = self.0;
        if r < h { 315.0 / (64.0 * PI * h.powi(9)) * (h * h - r * r).powi(3) } else { 0.0 }
    }

    fn derivative(&self, r: f64) -> f64 {
        let h = self.0;
        if r < h { -945.0 / (32.0 * PI * h.powi(9)) * r * (h * h - r * r).powi(2) } else { 0.0 }
    }

    fn laplacian(&self, r: f64) -> f64 {
        let h = self.0;
        let (h2, r2) = (h * h, r * r);
        if r < h { -945.0 / (32.0 * PI * h.powi(9)) * (h2 - r2) * (3.0 * h2 - 7.0 * r2) } else { 0.0 }
    }

    fn support(&self) -> f64 {
        self.0
    }
}

impl Cored {
    /// Share c of the core w⁸. With 0.2 particles line up and a sloshing tank swings 26 % too fast, with 2 5 %.
    pub const CORE: f64 = 1.0;
    /// Factor of w³ + c w⁸ for h = 1: 1 over ∫w³ = 64π/315 plus c ∫w⁸ = c 131072π/2078505.
    pub const FACTOR: f64 = 1.0 / (64.0 * PI / 315.0 + Self::CORE * 131_072.0 * PI / 2_078_505.0);

    fn w_of(&self, r: f64) -> f64 {
        (1.0 - (r / self.0).powi(2)).max(0.0)
    }
}

impl Kernel for Cored {
    fn w(&self, r: f64) -> f64 {
        let w = self.w_of(r);
        Self::FACTOR / self.0.powi(3) * (w.powi(3) + Self::CORE * w.powi(8))
    }

    fn derivative(&self, r: f64) -> f64 {
        let w = self.w_of(r);
        -2.0 * Self::FACTOR / self.0.powi(5) * r * (3.0 * w.powi(2) + 8.0 * Self::CORE * w.powi(7))
    }

    fn laplacian(&self, r: f64) -> f64 {
        let (w, q) = (self.w_of(r), (r / self.0).powi(2));
        let first = -(3.0 * w.powi(2) + 8.0 * Self::CORE * w.powi(7));
        let second = 6.0 * w + 56.0 * Self::CORE * w.powi(6);
        Self::FACTOR / self.0.powi(5) * (4.0 * q * second + 6.0 * first)
    }

    fn support(&self) -> f64 {
        self.0
    }
}

impl Kernel for Spiky {
    fn w(&self, r: f64) -> f64 {
        let h = self.0;
        if r < h { 15.0 / (PI * h.powi(6)) * (h - r).powi(3) } else { 0.0 }
    }

    fn derivative(&self, r: f64) -> f64 {
        let h = self.0;
        if r < h { -45.0 / (PI * h.powi(6)) * (h - r).powi(2) } else { 0.0 }
    }

    /// Diverges as 1/r; at the centre the value just beside it is given, to stay finite.
    fn laplacian(&self, r: f64) -> f64 {
        let h = self.0;
        let r = r.max(1e-6 * h);
        if r < h { -90.0 / (PI * h.powi(6)) * (h - r) * (h - 2.0 * r) / r } else { 0.0 }
    }

    fn support(&self) -> f64 {
        self.0
    }
}

impl Kernel for Viscosity {
    /// Diverges as 1/r; at the centre the value just beside it is given, to stay finite.
    fn w(&self, r: f64) -> f64 {
        let h = self.0;
        let r = r.max(1e-6 * h);
        let q = r / h;
        if r < h { 15.0 / (2.0 * PI * h.powi(3)) * (-0.5 * q.powi(3) + q * q + 0.5 / q - 1.0) } else { 0.0 }
    }

    fn derivative(&self, r: f64) -> f64 {
        let h = self.0;
        let r = r.max(1e-6 * h);
        let q = r / h;
        if r < h { 15.0 / (2.0 * PI * h.powi(4)) * (-1.5 * q * q + 2.0 * q - 0.5 / (q * q)) } else { 0.0 }
    }

    fn laplacian(&self, r: f64) -> f64 {
        let h = self.0;
        if r < h { 45.0 / (PI * h.powi(6)) * (h - r) } else { 0.0 }
    }

    fn support(&self) -> f64 {
        self.0
    }
}

/// Σ Δ³ f(|r|) over the cubic lattice of spacing Δ around one of its points, that point included.
pub fn lattice_sum(spacing: f64, support: f64, f: impl Fn([f64; 3], f64) -> f64) -> f64 {
    half_space_sum(spacing, support, i32::MAX, f)
}

/// As [`lattice_sum`], with only the layers y ≤ `top` filled (`top` = 0: the point lies in the top layer).
pub fn half_space_sum(spacing: f64, support: f64, top: i32, f: impl Fn([f64; 3], f64) -> f64) -> f64 {
    let n = (support / spacing).ceil() as i32;
    let mut sum = 0.0;
    for z in -n..=n {
        for y in -n..=n.min(top) {
            for x in -n..=n {
                let d = [x as f64 * spacing, y as f64 * spacing, z as f64 * spacing];
                let r = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                if r < support {
                    sum += spacing.powi(3) * f(d, r);
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(h: f64) -> [(&'static str, Box<dyn Kernel>); 4] {
        [
            ("poly6", Box::new(Poly6(h))),
            ("cored", Box::new(Cored(h))),
            ("spiky", Box::new(Spiky(h))),
            ("viscosity", Box::new(Viscosity(h))),
        ]
    }

    #[test]
    fn every_kernel_integrates_to_one() {
        for h in [0.01, 1.0, 3.0] {
            for (name, k) in all(h) {
                let n = 20_000;
                let dr = h / n as f64;
                let integral: f64 =
                    (0..n).map(|i| (i as f64 + 0.5) * dr).map(|r| 4.0 * PI * r * r * k.w(r) * dr).sum();
                assert!((integral - 1.0).abs() < 1e-5, "{name} h={h}: {integral}");
            }
        }
    }

    #[test]
    fn every_kernel_vanishes_at_its_support_and_beyond() {
        for (name, k) in all(0.5) {
            for r in [0.5, 0.6, 10.0] {
                assert_eq!(k.w(r), 0.0, "{name}");
                assert_eq!(k.derivative(r), 0.0, "{name}");
                assert_eq!(k.laplacian(r), 0.0, "{name}");
            }
            assert!(k.w(0.5 * (1.0 - 1e-9)).abs() < 1e-6, "{name} is continuous at h");
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        for (name, k) in all(0.7) {
            for i in 4..20 {
                let r = 0.7 * i as f64 / 20.0;
                let e = 1e-5;
                let d = (k.w(r + e) - k.w(r - e)) / (2.0 * e);
                assert!((k.derivative(r) - d).abs() <= 1e-5 * (1.0 + d.abs()), "{name} r={r}");
                // ∇²W = W'' + 2W'/r
                let d2 = (k.derivative(r + e) - k.derivative(r - e)) / (2.0 * e) + 2.0 * k.derivative(r) / r;
                assert!((k.laplacian(r) - d2).abs() <= 1e-4 * (1.0 + d2.abs()), "{name} r={r}");
            }
        }
    }

    #[test]
    fn every_kernel_is_finite_at_the_centre() {
        for (name, k) in all(0.1) {
            assert!(k.w(0.0).is_finite() && k.derivative(0.0).is_finite(), "{name}");
            assert!(k.laplacian(0.0).is_finite(), "{name}");
        }
    }

    #[test]
    fn lattice_sums_match_the_references() {
        for (ratio, want) in
            [(1.5, 0.94942), (1.8, 0.98284), (2.0, 1.00978), (2.2, 1.01401), (2.5, 0.99543), (3.0, 1.00219)]
        {
            let k = Poly6(ratio);
            let s = lattice_sum(1.0, ratio, |_, r| k.w(r));
            assert!((s - want).abs() < 6e-6, "h/Δ = {ratio}: {s}");
        }
        for (ratio, want) in [(2.0, 0.8170), (2.5, 0.7423), (3.0, 0.7067)] {
            let k = Poly6(ratio);
            let s = half_space_sum(1.0, ratio, 0, |_, r| k.w(r));
            assert!((s - want).abs() < 6e-5, "top layer h/Δ = {ratio}: {s}");
        }
    }
}
