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

/// Poly6 with a core: w³ + c w⁶ with w = 1 - r²/h², normalised.
///
/// Using one kernel for continuity and pressure makes the pressure force the gradient of an energy, so that fluid
/// comes to rest. Poly6 alone cannot be that kernel: its gradient falls off below 0.9 spacings and particles merge
/// in pairs. The core moves the maximum of the gradient inwards, still without roots or divisions, and it makes
/// packings alike (see [`Cored::CORE`]): fluid that has settled into a lattice must not answer as a solid.
#[derive(Clone, Copy, Debug)]
pub struct Cored(pub f64);

/// w², normalised: colour field and capillary stress. Its gradient grows up to 1.15 spacings (h = 2Δ), so that a surface
/// under tension does not tear into clumps; with the gradient of [`Cored`] it does.
#[derive(Clone, Copy, Debug)]
pub struct Wide(pub f64);

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
    /// Share c of the core. Two things decide it, both sums over the cubic, the body- and the face-centred lattice with
    /// h = 2Δ: the gradient of y, which scales the pressure and should be one number (here 1, .986, .965; with w³ alone
    /// 1, .900, .868); and the two shear moduli that a pressure p gives the lattice, which a fluid does not have (here
    /// within .08 p, with w³ alone up to .52 p). 3 is slightly better at both, but favours the cubic lattice, in which
    /// fluid starts: a sloshing tank swung 5.6 % too fast with it, 3.4 % with 2.
    pub const CORE: f64 = 2.0;
    /// Factor of w³ + c w⁶ for h = 1: 1 over ∫w³ = 64π/315 plus c ∫w⁶ = c 4096π/45045.
    pub const FACTOR: f64 = 1.0 / (64.0 * PI / 315.0 + Self::CORE * 4096.0 * PI / 45045.0);

    fn w_of(&self, r: f64) -> f64 {
        (1.0 - (r / self.0).powi(2)).max(0.0)
    }
}

impl Kernel for Cored {
    fn w(&self, r: f64) -> f64 {
        let w = self.w_of(r);
        Self::FACTOR / self.0.powi(3) * (w.powi(3) + Self::CORE * w.powi(6))
    }

    fn derivative(&self, r: f64) -> f64 {
        let w = self.w_of(r);
        -2.0 * Self::FACTOR / self.0.powi(5) * r * (3.0 * w.powi(2) + 6.0 * Self::CORE * w.powi(5))
    }

    fn laplacian(&self, r: f64) -> f64 {
        let (w, q) = (self.w_of(r), (r / self.0).powi(2));
        let first = -(3.0 * w.powi(2) + 6.0 * Self::CORE * w.powi(5));
        let second = 6.0 * w + 30.0 * Self::CORE * w.powi(4);
        Self::FACTOR / self.0.powi(5) * (4.0 * q * second + 6.0 * first)
    }

    fn support(&self) -> f64 {
        self.0
    }
}

impl Wide {
    /// Factor of w² for h = 1: 1 over ∫w² = 32π/105.
    pub const FACTOR: f64 = 105.0 / (32.0 * PI);
}

impl Kernel for Wide {
    fn w(&self, r: f64) -> f64 {
        let h = self.0;
        if r < h { Self::FACTOR / h.powi(3) * (1.0 - (r / h).powi(2)).powi(2) } else { 0.0 }
    }

    fn derivative(&self, r: f64) -> f64 {
        let h = self.0;
        if r < h { -4.0 * Self::FACTOR / h.powi(5) * r * (1.0 - (r / h).powi(2)) } else { 0.0 }
    }

    fn laplacian(&self, r: f64) -> f64 {
        let h = self.0;
        if r < h { -4.0 * Self::FACTOR / h.powi(5) * (3.0 - 5.0 * (r / h).powi(2)) } else { 0.0 }
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

    fn all(h: f64) -> [(&'static str, Box<dyn Kernel>); 5] {
        [
            ("poly6", Box::new(Poly6(h))),
            ("cored", Box::new(Cored(h))),
            ("wide", Box::new(Wide(h))),
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

    /// Gradient of y and the two shear moduli that pressure gives a lattice, in units of the pressure.
    fn packing(base: &[[f64; 3]]) -> [f64; 3] {
        let (h, kernel) = (2.0, Cored(2.0));
        // F = -W'/r, and its derivative by a difference.
        let f = |r: f64| -kernel.derivative(r) / r;
        let scale = (base.len() as f64).cbrt();
        let mut sums = [0.0; 3];
        let cells = || (-4..=4).map(f64::from);
        for b in base {
            for (x, y, z) in cells().flat_map(|x| cells().flat_map(move |y| cells().map(move |z| (x, y, z))))
            {
                let [x, y, z] = [x + b[0], y + b[1], z + b[2]].map(|v| v * scale);
                let r = (x * x + y * y + z * z).sqrt();
                if r > 0.0 && r < h {
                    let slope = (f(r + 1e-6) - f(r - 1e-6)) / 2e-6;
                    sums[0] += f(r) * y * y;
                    sums[1] -= slope * x * x * y * y / r;
                    sums[2] -= 0.5 * slope * x * x * (x * x - y * y) / r;
                }
            }
        }
        [sums[0], sums[1] / sums[0] - 1.0, sums[2] / sums[0] - 1.0]
    }

    #[test]
    fn settled_lattices_carry_hardly_any_shear_and_press_alike() {
        let cubic = packing(&[[0.0; 3]]);
        let body_centred = packing(&[[0.0; 3], [0.5; 3]]);
        let face_centred = packing(&[[0.0; 3], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]);
        for p in [cubic, body_centred, face_centred] {
            assert!((p[0] / cubic[0] - 1.0).abs() < 0.04, "{p:?}");
            assert!(p[1].abs() < 0.08 && p[2].abs() < 0.08, "{p:?}");
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
