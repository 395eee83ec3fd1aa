//! Light at the border of two clear media and on its way through one.

use glam::Vec3;

/// Share of unpolarised light that a smooth border reflects (Fresnel). `cos_in` is the cosine of the angle of
/// incidence, `eta` = n_in / n_out. 1 under total internal reflection.
#[inline]
pub fn fresnel(cos_in: f32, eta: f32) -> f32 {
    let cos_in = cos_in.clamp(0.0, 1.0);
    let sin2_out = eta * eta * (1.0 - cos_in * cos_in);
    if sin2_out >= 1.0 {
        return 1.0;
    }
    let cos_out = (1.0 - sin2_out).sqrt();
    let perpendicular = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    let parallel = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    0.5 * (perpendicular * perpendicular + parallel * parallel)
}

/// What a thin pane reflects in all, after the bounces between its two faces: 2R/(1+R).
#[inline]
pub fn pane(cos_in: f32, index: f32) -> f32 {
    let r = fresnel(cos_in, 1.0 / index);
    2.0 * r / (1.0 + r)
}

/// Mirror direction of `d` at a surface of unit normal `n`.
#[inline]
pub fn reflect(d: Vec3, n: Vec3) -> Vec3 {
    d - 2.0 * d.dot(n) * n
}

/// Direction after a border (Snell); `n` points against `d`. `None` under total internal reflection.
#[inline]
pub fn refract(d: Vec3, n: Vec3, eta: f32) -> Option<Vec3> {
    let cos_in = -d.dot(n);
    let k = 1.0 - eta * eta * (1.0 - cos_in * cos_in);
    (k > 0.0).then(|| (eta * d + (eta * cos_in - k.sqrt()) * n).normalize_or(d))
}

/// Share of light left after `distance` m (Beer-Lambert); `absorption` in 1/m for each colour.
#[inline]
pub fn transmittance(absorption: Vec3, distance: f32) -> Vec3 {
    (-absorption * distance.max(0.0)).map(f32::exp)
}

/// Absorption (1/m) that leaves the share `color` after `depth` m.
pub fn absorption(color: Vec3, depth: f32) -> Vec3 {
    let depth = if depth > 0.0 && depth.is_finite() { depth } else { 1.0 };
    color.map(|c| -(if c.is_finite() { c.clamp(0.002, 1.0) } else { 1.0 }).ln() / depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reflected_and_refracted_power_add_up_to_one(cos in 0.01f32..1.0, eta in 0.4f32..2.5) {
            // Transmitted power from its own amplitudes, so that the sum is a test and not a definition.
            let sin2 = eta * eta * (1.0 - cos * cos);
            prop_assume!(sin2 < 0.999);
            let out = (1.0 - sin2).sqrt();
            let (s, p) = (2.0 * eta * cos / (eta * cos + out), 2.0 * eta * cos / (cos + eta * out));
            let transmitted = 0.5 * (s * s + p * p) * out / (eta * cos);
            prop_assert!((fresnel(cos, eta) + transmitted - 1.0).abs() < 1e-4);
        }

        #[test]
        fn refraction_obeys_snell_and_is_reversible(x in -0.99f32..0.99, eta in 0.5f32..2.0) {
            let d = Vec3::new(x, -(1.0 - x * x).sqrt(), 0.0);
            if let Some(t) = refract(d, Vec3::Y, eta) {
                prop_assert!((t.x - eta * d.x).abs() < 1e-5);
                if let Some(back) = refract(-t, -Vec3::Y, 1.0 / eta) {
                    prop_assert!((back + d).length() < 2e-3);
                }
                prop_assert!((fresnel(-d.y, eta) - fresnel(-t.y, 1.0 / eta)).abs() < 2e-3);
            } else {
                prop_assert_eq!(fresnel(-d.y, eta), 1.0);
            }
        }
    }

    #[test]
    fn head_on_water_reflects_two_percent() {
        let r = fresnel(1.0, 1.0 / 1.333);
        assert!((r - (0.333f32 / 2.333).powi(2)).abs() < 1e-6);
    }

    #[test]
    fn at_brewsters_angle_only_one_polarisation_is_reflected() {
        let n = 1.5f32;
        let cos = 1.0 / (1.0 + n * n).sqrt(); // tan θ = n
        let out = n * cos;
        let perpendicular = (cos - n * out) / (cos + n * out);
        assert!((fresnel(cos, 1.0 / n) - 0.5 * perpendicular * perpendicular).abs() < 1e-6);
    }

    #[test]
    fn light_is_totally_reflected_beyond_the_critical_angle() {
        let cos_critical = (1.0f32 - (1.0 / 1.333f32).powi(2)).sqrt();
        assert_eq!(fresnel(cos_critical - 0.01, 1.333), 1.0);
        assert!(fresnel(cos_critical + 0.01, 1.333) < 0.9);
    }

    #[test]
    fn two_half_depths_absorb_as_one_whole() {
        let a = absorption(Vec3::new(0.1, 0.5, 0.9), 2.0);
        let once = transmittance(a, 2.0);
        let twice = transmittance(a, 1.0) * transmittance(a, 1.0);
        assert!((once - twice).length() < 1e-6);
        assert!((once - Vec3::new(0.1, 0.5, 0.9)).length() < 1e-6);
    }
}
