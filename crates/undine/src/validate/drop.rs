//! Surface tension: the pressure in drops, and a cube that becomes a sphere. Both without gravity.

use std::f64::consts::{PI, TAU};

use glam::DVec3;

use super::fit::proportion;
use super::{CaseError, Lab};
use crate::export::Plot;
use crate::frame::Frame;

/// Millimetres, as drops are.
const MM: f64 = 1e-3;
/// Tension of water, N/m.
const WATER: f64 = 0.072;

/// A drop as measured.
struct Drop {
    /// Radius of the sphere of its volume, m.
    radius: f64,
    /// Mean pressure within half the radius, over the last third of the run, Pa.
    pressure: f64,
}

/// Lets a drop of nominal radius come to rest. Its viscosity, that of a light oil, calms the start from the
/// lattice within the run; pressure at rest does not depend on it.
fn settle(lab: &mut Lab, radius: f64, sigma: f64, spacing: f64, share: f64) -> Result<Drop, CaseError> {
    // Some times of the capillary oscillation √(ρR³/σ): the surface is damped, and small drops settle slowly.
    let duration = 6.0 * (1000.0 * radius.powi(3) / sigma).sqrt();
    let scene = format!(
        r#"
        gravity = [0, 0, 0]
        time = {{ duration = {duration}, frame_rate = {rate} }}
        model = {{ spacing = {spacing} }}
        [[fluid]]
        density = 1000
        viscosity = 0.05
        surface_tension = {sigma}
        shape = {{ sphere = {{ center = [0, 0, 0], radius = {radius} }} }}
        "#,
        rate = 60.0 / duration,
    );
    let (mut sum, mut count, mut volume) = (0.0, 0, 0.0);
    lab.run(&scene, share, |m| {
        volume = m.frame.particles.len() as f64 * spacing.powi(3);
        if m.frame.index > 40 {
            sum += inner_pressure(m.frame, 0.5 * radius);
            count += 1;
        }
    })?;
    Ok(Drop { radius: (volume * 3.0 / (4.0 * PI)).cbrt(), pressure: sum / f64::from(count) })
}

/// Mean pressure of the particles within a distance of their common centre.
fn inner_pressure(frame: &Frame, within: f64) -> f64 {
    let positions = points(frame);
    let centre = positions.iter().sum::<DVec3>() / positions.len() as f64;
    let pressure = frame.particles.scalar("pressure").unwrap_or(&[]);
    let inside: Vec<f64> = positions
        .iter()
        .zip(pressure)
        .filter(|(x, _)| x.distance_squared(centre) < within * within)
        .map(|(_, p)| f64::from(*p))
        .collect();
    inside.iter().sum::<f64>() / inside.len() as f64
}

fn points(frame: &Frame) -> Vec<DVec3> {
    frame.particles.position.iter().map(|p| glam::Vec3::from(*p).as_dvec3()).collect()
}

pub(super) fn laplace(lab: &mut Lab) -> Result<(), CaseError> {
    // In spacings of 1 mm.
    let radii: &[f64] = lab.either(&[6.0, 8.0, 11.0, 16.0], &[4.0, 5.0, 7.0]);
    // For one radius, 8 mm.
    let tensions: &[f64] = lab.either(&[0.018, 0.036, 0.144], &[0.036, 0.144]);
    let middle = lab.either(8.0, 5.0);
    // Spacings over a factor of 2, mm.
    let spacings: &[f64] = lab.either(&[4.0 / 3.0, 2.0 / 3.0], &[1.25]);

    // Work is about R⁴·√R (volume, steps).
    let cost = |r: f64| r.powf(4.5);
    let total: f64 = radii.iter().map(|r| cost(*r)).sum::<f64>()
        + cost(middle) * tensions.len() as f64
        + spacings.iter().map(|d| cost(middle / d)).sum::<f64>();

    let mut sizes = Vec::new();
    let mut ratios = Vec::new();
    let mut reference = None;
    for &r in radii {
        let drop = settle(lab, r * MM, WATER, MM, cost(r) / total)?;
        ratios.push((r, drop.pressure * drop.radius / (2.0 * WATER)));
        sizes.push((1.0 / drop.radius, drop.pressure));
        if r == middle {
            reference = Some(drop);
        }
    }
    let (_, r2) = proportion(&sizes);
    lab.check("R² of p ∝ 1/R", r2, 1.0, 1.0 - r2, lab.either(0.02, 0.2));
    let mean = ratios.iter().map(|r| r.1).sum::<f64>() / ratios.len() as f64;
    let list: Vec<_> = ratios.iter().map(|(r, s)| format!("{s:.3} at {r}Δ")).collect();
    lab.check(
        format!("σ_eff/σ = pR/2σ: {}", list.join(", ")),
        mean,
        1.0,
        (mean - 1.0).abs(),
        lab.either(0.15, 0.3),
    );

    let mut over_tension = Vec::new();
    let mut spread = Vec::new();
    if let Some(drop) = reference {
        over_tension.push((WATER, drop.pressure));
        spread.push((1.0, drop.pressure * drop.radius / (2.0 * WATER)));
    }
    for &sigma in tensions {
        let drop = settle(lab, middle * MM, sigma, MM, cost(middle) / total)?;
        over_tension.push((sigma, drop.pressure));
    }
    let (_, r2) = proportion(&over_tension);
    lab.check("R² of p ∝ σ", r2, 1.0, 1.0 - r2, 0.02);

    for &d in spacings {
        let drop = settle(lab, middle * MM, WATER, d * MM, cost(middle / d) / total)?;
        spread.push((d, drop.pressure * drop.radius / (2.0 * WATER)));
    }
    let most = spread.iter().map(|s| s.1).fold(f64::MIN, f64::max);
    let least = spread.iter().map(|s| s.1).fold(f64::MAX, f64::min);
    let list: Vec<_> = spread.iter().map(|(d, s)| format!("{s:.3} at {d:.2} mm")).collect();
    let what = format!("σ_eff/σ, greatest over least for one drop: {}", list.join(", "));
    lab.check(what, most / least, 1.0, (most / least - 1.0).abs(), lab.either(0.15, 0.25));

    lab.plot(
        "drop-radius",
        Plot::new("Pressure in a drop over its curvature", "1/R / m⁻¹", "p / Pa")
            .line("2σ/R", &[(0.0, 0.0), (sizes[0].0, 2.0 * WATER * sizes[0].0)])
            .points("measured", &sizes),
    );
    lab.plot(
        "drop-tension",
        Plot::new("Pressure in a drop over its tension", "σ / N/m", "p / Pa")
            .line("2σ/R", &[(0.0, 0.0), (0.144, 2.0 * 0.144 / (middle * MM))])
            .points("measured", &over_tension),
    );
    Ok(())
}

pub(super) fn cube_to_sphere(lab: &mut Lab) -> Result<(), CaseError> {
    let layers = lab.either(16.0, 10.0);
    let edge = layers * MM;
    let half = 0.5 * edge;
    // With 0.3 Pa s the shape creeps to its end almost without swinging: Oh = μ/√(ρσR) = 0.36 for 10 mm. So ten times
    // of the capillary oscillation suffice.
    let duration = 10.0 * (1000.0 * (0.62 * edge).powi(3) / WATER).sqrt();
    let scene = format!(
        r#"
        gravity = [0, 0, 0]
        time = {{ duration = {duration}, frame_rate = {rate} }}
        model = {{ spacing = {MM} }}
        [[fluid]]
        density = 1000
        viscosity = 0.3
        surface_tension = {WATER}
        shape = {{ box = {{ min = [-{half}, -{half}, -{half}], max = [{half}, {half}, {half}] }} }}
        "#,
        rate = 100.0 / duration,
    );
    let mut shape = Vec::new();
    lab.run(&scene, 1.0, |m| shape.push((m.frame.time, Roundness::of(&points(m.frame), MM.powi(3)))))?;
    let end: Vec<Roundness> = shape.iter().rev().take(20).map(|s| s.1).collect();
    let mean = |f: &dyn Fn(&Roundness) -> f64| end.iter().map(f).sum::<f64>() / end.len() as f64;
    let radius = mean(&|r| r.gyration);
    lab.check_ratio(
        "radius √(5/3 <r²>) over the cube's edge",
        radius / edge,
        0.62035,
        lab.either(0.03, 0.05),
    );
    let sphericity = mean(&|r| r.sphericity());
    lab.check("sphericity: least over greatest radius in 25° cones", sphericity, 1.0, 1.0 - sphericity, 0.05);
    lab.plot(
        "cube-to-sphere",
        Plot::new("A cube becomes a sphere", "t / s", "radius / edge")
            .line("greatest", &shape.iter().map(|(t, r)| (*t, r.greatest / edge)).collect::<Vec<_>>())
            .line("least", &shape.iter().map(|(t, r)| (*t, r.least / edge)).collect::<Vec<_>>())
            .line("sphere", &[(0.0, 0.62035), (duration, 0.62035)]),
    );
    Ok(())
}

/// How round a cloud of particles is. The second moments of a cube are those of a sphere, so the shape is taken from
/// cones: the radius in a direction is that of a sphere with as much volume in the cone.
#[derive(Clone, Copy, Debug)]
struct Roundness {
    least: f64,
    greatest: f64,
    /// Radius of the ball with the same mean square distance from the centre, √(5/3 <r²>).
    gyration: f64,
}

impl Roundness {
    /// `volume` is that of one particle.
    fn of(points: &[DVec3], volume: f64) -> Self {
        let centre = points.iter().sum::<DVec3>() / points.len() as f64;
        let rays: Vec<(DVec3, f64)> =
            points.iter().map(|p| *p - centre).map(|p| (p.normalize_or_zero(), p.length())).collect();
        let cos = 25f64.to_radians().cos();
        let solid_angle = TAU * (1.0 - cos);
        let (mut least, mut greatest) = (f64::INFINITY, 0.0f64);
        for u in directions(200) {
            // A soft rim (of ±5°) keeps single particles from counting all or nothing.
            let share: f64 = rays
                .iter()
                .map(|(d, _)| {
                    ((u.dot(*d).clamp(-1.0, 1.0).acos() - 25f64.to_radians()) / 5f64.to_radians())
                        .clamp(-1.0, 1.0)
                })
                .map(|rim| 0.5 - 0.5 * rim)
                .sum();
            let radius = (3.0 * share * volume / solid_angle).cbrt();
            least = least.min(radius);
            greatest = greatest.max(radius);
        }
        let square = rays.iter().map(|r| r.1 * r.1).sum::<f64>() / rays.len() as f64;
        Roundness { least, greatest, gyration: (5.0 / 3.0 * square).sqrt() }
    }

    fn sphericity(&self) -> f64 {
        self.least / self.greatest
    }
}

/// Directions evenly over the sphere (Fibonacci's spiral).
fn directions(n: usize) -> impl Iterator<Item = DVec3> {
    let golden = PI * (3.0 - 5f64.sqrt());
    (0..n).map(move |i| {
        let y = 1.0 - 2.0 * (i as f64 + 0.5) / n as f64;
        let r = (1.0 - y * y).sqrt();
        let (sin, cos) = (golden * i as f64).sin_cos();
        DVec3::new(r * cos, y, r * sin)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(n: i32, inside: impl Fn(DVec3) -> bool) -> Vec<DVec3> {
        let axis = || (-n..n).map(|i| f64::from(i) + 0.5);
        let cells = axis().flat_map(|z| axis().flat_map(move |y| axis().map(move |x| DVec3::new(x, y, z))));
        cells.filter(|p| inside(*p)).collect()
    }

    #[test]
    fn a_ball_is_round_and_a_cube_or_an_egg_is_not() {
        let ball = Roundness::of(&fill(12, |p| p.length() < 10.0), 1.0);
        assert!(ball.sphericity() > 0.97, "{ball:?}");
        assert!((ball.gyration / 10.0 - 1.0).abs() < 0.01, "{ball:?}");
        let cube = Roundness::of(&fill(8, |_| true), 1.0);
        assert!(cube.sphericity() < 0.85, "{cube:?}");
        let egg = Roundness::of(
            &fill(14, |p| p.x.hypot(p.y) < 10.0 && (p / DVec3::new(10.0, 10.0, 12.0)).length() < 1.0),
            1.0,
        );
        assert!(egg.sphericity() < 0.92, "{egg:?}");
    }
}
