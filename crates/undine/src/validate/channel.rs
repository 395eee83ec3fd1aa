//! Plane flows between walls: Poiseuille, Couette, and a film on an incline.
//!
//! All repeat along x and z and are a few spacings wide there, so that only y counts. Every flow is run twice: with
//! walls that are bodies (`[[boundary]]`) and with the faces of the domain.

use std::f64::consts::PI;

use super::profile::{mean_velocity, profile, relative_l2};
use super::{CaseError, Lab};
use crate::export::Plot;

/// Density of the fluid, kg/m³.
const DENSITY: f64 = 1000.0;

/// What a wall at rest is made of.
#[derive(Clone, Copy, PartialEq)]
enum Walls {
    Bodies,
    Faces,
}

impl Walls {
    const ALL: [Walls; 2] = [Walls::Bodies, Walls::Faces];

    fn name(self) -> &'static str {
        match self {
            Walls::Bodies => "bodies",
            Walls::Faces => "faces",
        }
    }
}

/// What bounds the fluid above.
#[derive(Clone, Copy)]
enum Top {
    /// A wall at rest.
    Wall,
    /// A plate that moves along x at this speed, m/s.
    Plate(f64),
    /// Air.
    Air,
}

/// A layer of fluid on a wall at y = 0.
struct Layer {
    /// Its thickness, m.
    gap: f64,
    /// Number of particles across it.
    across: f64,
    /// Acceleration along x and y, m/s².
    gravity: [f64; 2],
    /// Kinematic viscosity ν, m²/s.
    viscosity: f64,
    /// N/m.
    tension: f64,
    top: Top,
    duration: f64,
    frame_rate: f64,
}

impl Layer {
    fn scene(&self, walls: Walls) -> String {
        let Layer { gap, gravity: [gx, gy], tension, duration, frame_rate, .. } = self;
        let d = gap / self.across;
        let mu = self.viscosity * DENSITY;
        let wide = 6.0 * d;
        // Walls thicker than the kernel reaches, and longer than the domain so that they end nowhere in it.
        let (thick, margin) = (4.0 * d, 8.0 * d);
        let plate = |y0: f64, speed: f64| {
            let end = wide + margin;
            let motion = if speed == 0.0 {
                String::new()
            } else {
                format!("motion = {{ translate = {{ velocity = [{speed}, 0, 0] }} }}")
            };
            format!(
                "[[boundary]]\nslip = \"no-slip\"\n{motion}\nshape = {{ box = {{ min = [-{margin}, {y0}, -{margin}], max = [{end}, {}, {end}] }} }}\n",
                y0 + thick
            )
        };
        let (mut bodies, mut open) = (String::new(), Vec::new());
        let (mut low, mut high) = (0.0, *gap);
        if walls == Walls::Bodies {
            bodies += &plate(-thick, 0.0);
            open.push("-y");
            low = -thick;
        }
        match self.top {
            Top::Air => {
                open.push("+y");
                high = 1.4 * gap;
            }
            Top::Wall if walls == Walls::Faces => {}
            Top::Wall | Top::Plate(_) => {
                bodies += &plate(*gap, if let Top::Plate(v) = self.top { v } else { 0.0 });
                open.push("+y");
                high = gap + thick;
            }
        }
        format!(
            r#"
            gravity = [{gx}, {gy}, 0]
            time = {{ duration = {duration}, frame_rate = {frame_rate} }}
            domain = {{ min = [0, {low}, 0], max = [{wide}, {high}, {wide}], periodic = [true, false, true], open = {open:?}, slip = "no-slip" }}
            model = {{ spacing = {d} }}
            [[fluid]]
            density = {DENSITY}
            viscosity = {mu}
            surface_tension = {tension}
            shape = {{ box = {{ min = [0, 0, 0], max = [{wide}, {gap}, {wide}] }} }}
            {bodies}
            "#
        )
    }
}

/// Gap of Morris, Fox & Zhu 1997, m.
const L: f64 = 1e-3;
/// Their viscosity, m²/s.
const NU: f64 = 1e-6;
/// Their force, m/s².
const F: f64 = 1e-4;
/// Their plate's speed, and the greatest speed of the Poiseuille flow, m/s.
const V0: f64 = 1.25e-5;
/// Their times, s, but the last, which stands for the steady state: the slowest mode has fallen to e^-9.8.
const TIMES: [f64; 5] = [0.0225, 0.045, 0.1125, 0.225, 0.99];
/// All of [`TIMES`] are frames.
const FRAME_RATE: f64 = 1.0 / 0.0225;

/// Start-up of plane Poiseuille flow (Morris, Fox & Zhu 1997, eq. 23 there), by separation of variables.
fn poiseuille_speed(y: f64, t: f64) -> f64 {
    let modes = (0..200).map(|n| f64::from(2 * n + 1)).map(|k| {
        4.0 * F * L * L / (NU * PI.powi(3) * k.powi(3))
            * (k * PI * y / L).sin()
            * (-k * k * PI * PI * NU * t / (L * L)).exp()
    });
    F / (2.0 * NU) * y * (L - y) - modes.sum::<f64>()
}

/// Start-up of plane Couette flow (Morris, Fox & Zhu 1997).
fn couette_speed(y: f64, t: f64) -> f64 {
    let modes = (1..200).map(|n| (f64::from(n), if n % 2 == 0 { 1.0 } else { -1.0 })).map(|(n, sign)| {
        2.0 * V0 / (n * PI) * sign * (n * PI * y / L).sin() * (-NU * n * n * PI * PI * t / (L * L)).exp()
    });
    V0 * y / L + modes.sum::<f64>()
}

pub(super) fn poiseuille(lab: &mut Lab) -> Result<(), CaseError> {
    start_up(lab, "poiseuille", "Poiseuille flow", F, Top::Wall, poiseuille_speed)
}

pub(super) fn couette(lab: &mut Lab) -> Result<(), CaseError> {
    start_up(lab, "couette", "Couette flow", 0.0, Top::Plate(V0), couette_speed)
}

fn start_up(
    lab: &mut Lab,
    name: &str,
    title: &str,
    force: f64,
    top: Top,
    exact: fn(f64, f64) -> f64,
) -> Result<(), CaseError> {
    let across = lab.either(50.0, 20.0);
    let gate = lab.either(0.02, 0.03);
    let layer = Layer {
        gap: L,
        across,
        gravity: [force, 0.0],
        viscosity: NU,
        // There is no surface.
        tension: 0.0,
        top,
        duration: TIMES[4],
        frame_rate: FRAME_RATE,
    };
    for walls in Walls::ALL {
        let mut profiles = Vec::new();
        lab.run(&layer.scene(walls), 0.5, |m| {
            if TIMES.iter().any(|t| (m.frame.time - t).abs() < 1e-6) {
                profiles.push((m.frame.time, profile(m.frame, 1, 0, [0.0, L], across as usize)));
            }
        })?;
        let mut plot = Plot::new(format!("{title}, walls are {}", walls.name()), "y / mm", "u / (µm/s)");
        for (t, rows) in &profiles {
            let error = relative_l2(rows, |y| exact(y, *t));
            lab.check(format!("u(y) at {t:.4} s, L2, {}", walls.name()), error, 0.0, error, gate);
            let scaled: Vec<_> = rows.iter().map(|(y, u)| (y * 1e3, u * 1e6)).collect();
            let curve: Vec<_> =
                (0..=100).map(|k| L * f64::from(k) / 100.0).map(|y| (y * 1e3, exact(y, *t) * 1e6)).collect();
            plot = plot.line(format!("series, {t:.4} s"), &curve).points(format!("{t:.4} s"), &scaled);
        }
        lab.plot(format!("{name}-{}", walls.name()), plot);
    }
    Ok(())
}

/// Thickness of the film, m.
const FILM: f64 = 0.05;
/// Its viscosity, m²/s.
const FILM_NU: f64 = 0.01;
/// Of the incline, degrees.
const SLOPE: f64 = 10.0;
const G: f64 = 9.81;

/// Nusselt's film: u = g sinθ/ν (hy - y²/2).
pub(super) fn film(lab: &mut Lab) -> Result<(), CaseError> {
    let across = lab.either(25.0, 12.0);
    let gate = lab.either(0.03, 0.05);
    let (sin, cos) = SLOPE.to_radians().sin_cos();
    let exact = |y: f64| G * sin / FILM_NU * (FILM * y - 0.5 * y * y);
    let (surface, mean) = (exact(FILM), 2.0 / 3.0 * exact(FILM));
    let layer = Layer {
        gap: FILM,
        across,
        gravity: [G * sin, -G * cos],
        viscosity: FILM_NU,
        tension: 0.072,
        top: Top::Air,
        // The slowest mode, ν(π/2h)², has fallen to e^-7.9.
        duration: 0.8,
        frame_rate: 50.0,
    };
    let mut plot = Plot::new("Film on an incline of 10°", "y / m", "u / (m/s)");
    let curve: Vec<_> = (0..=50).map(|k| FILM * f64::from(k) / 50.0).map(|y| (y, exact(y))).collect();
    plot = plot.line("Nusselt", &curve);
    for walls in Walls::ALL {
        let (mut speeds, mut rows) = (Vec::new(), Vec::new());
        lab.run(&layer.scene(walls), 0.5, |m| {
            if m.frame.time >= 0.7 {
                rows = profile(m.frame, 1, 0, [0.0, FILM], across as usize);
                // The slope vanishes at the surface: half a spacing below it u is right to (Δ/2h)².
                speeds.push((rows.last().map_or(f64::NAN, |r| r.1), mean_velocity(m.frame, 0)));
            }
        })?;
        let n = speeds.len() as f64;
        let (top, all) = speeds.iter().fold((0.0, 0.0), |s, v| (s.0 + v.0 / n, s.1 + v.1 / n));
        lab.check_ratio(format!("speed of the surface, m/s, {}", walls.name()), top, surface, gate);
        lab.check_ratio(format!("mean speed, m/s, {}", walls.name()), all, mean, gate);
        plot = plot.points(format!("walls are {}", walls.name()), &rows);
    }
    lab.plot("film", plot);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_start_at_rest_and_end_at_the_steady_profiles() {
        for y in [0.1, 0.3, 0.5, 0.9].map(|s| s * L) {
            assert!(poiseuille_speed(y, 0.0).abs() < 1e-6 * V0, "{y}");
            // The sine series of a jump converges slowly.
            assert!(couette_speed(y, 1e-4).abs() < 1e-3 * V0, "{y}");
            assert!((poiseuille_speed(y, 2.0) - F / (2.0 * NU) * y * (L - y)).abs() < 1e-6 * V0);
            assert!((couette_speed(y, 2.0) - V0 * y / L).abs() < 1e-6 * V0);
        }
        assert!((poiseuille_speed(0.5 * L, 2.0) / V0 - 1.0).abs() < 1e-6);
    }
}
