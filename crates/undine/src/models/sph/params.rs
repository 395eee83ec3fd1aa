//! What the SPH model derives from a scene: support, masses, stiffness, force constants and step limits.
//!
//! Everything follows from spacing Δ, densities and a wanted compression, so that a scene keeps its behaviour
//! when Δ changes. Any of it can be given by hand in `[model]`.

use std::f64::consts::PI;

use crate::kernels::{Cored, Kernel, Poly6, lattice_sum};
use crate::models::StepLimit;
use crate::scene::{Action, Force, Integrator, Kernels, Scene, ViscousStep, WallKind};

/// One fluid in the solver's terms.
#[derive(Clone, Debug, PartialEq)]
pub struct FluidParams {
    /// Rest density ρ0, kg/m³.
    pub density: f64,
    /// Particle mass, kg.
    pub mass: f64,
    /// k of p = k(ρ-ρ0), m²/s².
    pub stiffness: f64,
    /// Dynamic viscosity μ, Pa s.
    pub viscosity: f64,
    /// Surface tension σ, N/m.
    pub tension: f64,
}

impl FluidParams {
    /// Speed of sound √k, m/s.
    pub fn sound(&self) -> f64 {
        self.stiffness.sqrt()
    }
}

/// All derived numbers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Spacing at rest Δ, m.
    pub spacing: f64,
    /// Kernel support h, m.
    pub h: f64,
    /// Which kernels.
    pub kernels: Kernels,
    /// What keeps fluid out of walls. The paper's kernels know layers only.
    pub walls: WallKind,
    /// Σ Δ³ W over the rest lattice. Densities are divided by it, so that the lattice at rest has ρ0.
    pub lattice: f64,
    /// The kernel's gradient of y, and Morris' Laplacian of y²/2, over the rest lattice (exactly 1 for fine
    /// sampling; they are the same sum). Pressure, continuity and viscosity are divided by it.
    pub lattice_gradient: f64,
    /// The fluids.
    pub fluids: Vec<FluidParams>,
    /// Greatest speed the stiffness was chosen for, m/s.
    pub expected_speed: f64,
    /// Artificial viscosity α.
    pub alpha: f64,
    /// Share of negative pressure kept.
    pub negative_pressure: f64,
    /// Safety factor of the step limits.
    pub cfl: f64,
    /// The scene's gravity, m/s².
    pub gravity: f64,
    /// How the viscous step is made.
    pub viscous_step: ViscousStep,
    /// Whether it is implicit; see [`Params::choose_viscous_step`].
    pub implicit: bool,
    /// How time is integrated.
    pub integrator: Integrator,
    /// Whether the fluid has no free surface; see `enclosed.rs`.
    pub enclosed: bool,
    /// Morris' Laplacian in the packing as it is, over that in the lattice at rest. Known of enclosed fluid only, else 1.
    pub thinning: f64,
}

/// Only the fluid's half of the smeared surface carries stress, so σ is taken this many times. Measured by
/// `undine validate drop`.
pub const STRESS_FACTOR: f64 = 2.9;

/// Zero of the cohesion polynomial A s(1-s²)²(s²-z): below √z particles push, above they pull. With this z its
/// virial over the rest lattice vanishes (over a gas it would at 5/11), so that it adds little to the pressure.
pub const COHESION_ZERO: f64 = 0.4569;
/// Amplitude of the cohesion, × σΔ. The stress acts along the surface only and lets single particles slip off it;
/// this holds them: with none, a few of a drop's 4096 flew off. With 3 the pressure in the drop crept up by a third.
/// Alone and strong enough to round a drop (100) it made the fluid a crystal.
const COHESION: f64 = 1.0;

/// Damping along the line between particles of a surface, × √(ρσ/Δ), the impedance of capillary waves as short as the
/// spacing. The stress is no exact gradient of an energy and feeds such waves: without damping, 215 of the 4128 particles
/// of a drop of water had left it after ⅔ s. With 5 none did, but at half the spacing some still flew off and the drop
/// grew hotter with time; with 12 it keeps all and a fifth of that heat. See [`Params::calm`].
const CALM: f64 = 12.0;

impl Params {
    /// Derives all numbers from a checked scene.
    pub fn new(scene: &Scene) -> Self {
        let o = &scene.model.sph;
        let h = o.smoothing * scene.model.spacing;
        let first = scene.fluids.first().map_or(1000.0, |f| f.density);
        // A mass given by hand is that of a particle at rest density, which then has another distance to its neighbours
        // than the one it was filled with.
        let spacing = o.mass.map_or(scene.model.spacing, |m| (m / first).cbrt());
        let (lattice, lattice_gradient) = match o.kernels {
            Kernels::Mueller => (lattice_sum(spacing, h, |_, r| Poly6(h).w(r)), 1.0),
            Kernels::Conservative => (
                lattice_sum(spacing, h, |_, r| Cored(h).w(r)),
                lattice_sum(spacing, h, |d, r| -Cored(h).derivative(r) / r.max(1e-9 * h) * d[1] * d[1]),
            ),
        };
        let expected_speed = o.max_speed.unwrap_or_else(|| expected_speed(scene));
        let heaviest = scene.fluids.iter().map(|f| f.density).fold(0.0, f64::max);
        // At the expected speed the stagnation pressure ½ρv² (and at the foot of a column of that head, ρgH)
        // is half the wanted compression: η = v²/c². All fluids share one bulk modulus K = ρc², so that a light
        // fluid below a heavy one is not squashed.
        let bulk = match o.stiffness {
            Some(k) => k * heaviest,
            None => heaviest * expected_speed.powi(2) / o.compression,
        };
        let fluids = scene
            .fluids
            .iter()
            .map(|f| FluidParams {
                density: f.density,
                mass: f.density * spacing.powi(3),
                stiffness: bulk / f.density,
                viscosity: f.viscosity,
                tension: f.surface_tension,
            })
            .collect();
        let mut params = Params {
            spacing,
            h,
            kernels: o.kernels,
            walls: match o.kernels {
                Kernels::Mueller => WallKind::Layers,
                Kernels::Conservative => o.walls,
            },
            lattice,
            lattice_gradient,
            fluids,
            expected_speed,
            alpha: o.artificial_viscosity,
            negative_pressure: o.negative_pressure,
            cfl: o.cfl,
            gravity: scene.gravity.length(),
            viscous_step: o.viscous_step,
            implicit: false,
            integrator: o.integrator,
            enclosed: false,
            thinning: 1.0,
        };
        params.choose_viscous_step();
        params
    }

    /// Implicit where it is asked for or, left to itself, where an explicit step would be less than half as long as all else
    /// allows: a solve costs about as much as a step.
    pub fn choose_viscous_step(&mut self) {
        // Layers and the paper's kernels know the explicit one only.
        let able = self.walls != WallKind::Layers && self.kernels == Kernels::Conservative;
        let wanted = match self.viscous_step {
            ViscousStep::Explicit => false,
            ViscousStep::Implicit => true,
            ViscousStep::Auto => {
                self.implicit = true;
                let free = self.step_limit(self.expected_speed, self.gravity).step / self.cfl;
                self.viscous_limit() < 0.5 * free
            }
        };
        self.implicit = able && wanted;
    }

    /// The largest step of the implicit viscous step, for the sake of time, not of stability: no velocity changes by more than
    /// a twentieth of the greatest (`speed`, m/s), as the last step changed them (`change`, m/s²); but never less than an
    /// explicit step.
    pub fn implicit_limit(&self, speed: f64, change: f64) -> f64 {
        if !self.implicit {
            return f64::INFINITY;
        }
        let speed = speed.max(1e-3 * self.expected_speed);
        let small = if change > 0.0 { 0.05 * speed / change } else { 0.0 };
        self.cfl * self.viscous_limit().max(small)
    }

    fn viscous_limit(&self) -> f64 {
        let limit = |f: &FluidParams| 0.1 * self.spacing.powi(2) * f.density / f.viscosity.max(1e-30);
        self.fluids.iter().map(limit).fold(f64::INFINITY, f64::min)
    }

    /// Share of negative pressure kept now.
    pub fn suction(&self) -> f64 {
        if self.enclosed { 1.0 } else { self.negative_pressure }
    }

    /// Δ³ 6f/h⁴ of the cored kernel, over its lattice sum: of Σ V g d, which is Σ V ∇W, 1/m.
    pub fn slope(&self) -> f64 {
        self.spacing.powi(3) * 6.0 * Cored::FACTOR / self.h.powi(4) / self.lattice_gradient
    }

    /// Amplitude of the cohesion between particles of a fluid with tension σ, N.
    pub fn cohesion(&self, sigma: f64) -> f64 {
        COHESION * sigma * self.spacing
    }

    /// Damping between particles of a fluid's surface, Pa s/m. Where gravity rules at the scale of the spacing (Bond
    /// number ρgΔ²/σ above 1) waves as short as that are no capillary waves, and it fades: it made a coarse jet of water
    /// flow like syrup.
    pub fn calm(&self, f: &FluidParams) -> f64 {
        let bond = f.density * self.gravity * self.spacing.powi(2) / f.tension.max(1e-30);
        CALM * (f.density * f.tension / self.spacing).sqrt() / (1.0 + bond)
    }

    /// Greatest speed of sound, m/s.
    pub fn sound(&self) -> f64 {
        self.fluids.iter().map(FluidParams::sound).fold(0.0, f64::max)
    }

    /// The largest stable step at the greatest speed v and acceleration a now.
    pub fn step_limit(&self, v: f64, a: f64) -> StepLimit {
        let d = self.spacing;
        let least = |f: &dyn Fn(&FluidParams) -> f64| self.fluids.iter().map(f).fold(f64::INFINITY, f64::min);
        let limits = [
            // Sound and matter may cross this share of a spacing in a step.
            ("cfl", COURANT * d / (self.sound() + v)),
            ("force", 0.25 * (d / a.max(1e-30)).sqrt()),
            // Bayraktar's eq. 16 with CFL = 0.4; its other half, h/v, is weaker than the first of these.
            (
                "force",
                match self.integrator {
                    Integrator::LeapFrog => f64::INFINITY,
                    Integrator::VelocityVerlet => {
                        COURANT * (self.h / a.max(1e-30)).sqrt().min(self.h / v.max(1e-30))
                    }
                },
            ),
            ("viscous", if self.implicit { f64::INFINITY } else { self.viscous_limit() }),
            (
                "tension",
                least(&|f| 0.25 * (f.density * d.powi(3) / (2.0 * PI * f.tension.max(1e-30))).sqrt()),
            ),
        ];
        let (name, step) = limits.into_iter().fold(limits[0], |a, b| if b.1 < a.1 { b } else { a });
        StepLimit { step: self.cfl * step, name }
    }
}

/// Courant number over the spacing.
const COURANT: f64 = 0.4;

/// Whether space repeats along a direction.
fn repeats_along(scene: &Scene, way: glam::DVec3) -> bool {
    scene.domain.as_ref().is_some_and(|d| (0..3).any(|a| d.periodic[a] && way[a].abs() > 0.9))
}

/// Square of the speed to expect of fluid that is driven along an axis that repeats: what viscosity allows, but at least so
/// much that the pressure around obstacles, ±½ρaL, keeps the wanted compression, and at most free fall. A stiffer fluid would be
/// a worse one: its lattice resists shear in proportion to its pressure, and flow through an array of cylinders was 12 %
/// too slow with free fall.
fn driven(scene: &Scene, a: f64, extent: f64) -> f64 {
    let thinnest = scene.fluids.iter().map(|f| f.viscosity / f.density).fold(f64::INFINITY, f64::min);
    let viscous = a * extent * extent / (8.0 * thinnest.max(1e-30));
    viscous.powi(2).max(0.5 * a * extent).min(2.0 * a * extent)
}

/// The greatest speed to expect: what a fall through the scene, the fluids' own motion, inflow, walls, brushes
/// and tension can bring about.
pub fn expected_speed(scene: &Scene) -> f64 {
    let g = scene.gravity.length();
    let up = if g > 0.0 { -scene.gravity / g } else { glam::DVec3::Y };
    // Extent along gravity from the highest source of fluid down to the lowest place it can reach.
    let (mut top, mut bottom, mut extent) = (f64::NEG_INFINITY, f64::INFINITY, scene.model.spacing);
    let mut reach = |b: crate::scene::aabb::Aabb, is_fluid: bool| {
        let (c, e) = ((b.min + b.max) * 0.5, (b.max - b.min) * 0.5);
        let half = (e * up.abs()).element_sum();
        if is_fluid {
            top = top.max(c.dot(up) + half);
            extent = extent.max(e.max_element() * 2.0);
        }
        bottom = bottom.min(c.dot(up) - half);
    };
    for shape in
        scene.fluids.iter().filter_map(|f| f.shape.as_ref()).chain(scene.emitters.iter().map(|e| &e.shape))
    {
        reach(shape.bounds(), true);
    }
    if let Some(d) = &scene.domain {
        reach(crate::scene::aabb::Aabb { min: d.min, max: d.max }, false);
        // Along an axis that repeats, nothing falls.
        if repeats_along(scene, up) {
            bottom = top - driven(scene, g, extent) / (2.0 * g);
        }
    } else {
        scene.boundaries.iter().for_each(|b| reach(b.shape.bounds(), false));
    }
    let drop = (top - bottom).max(0.0);
    let mut v2 = 2.0 * g * drop;
    for f in &scene.fluids {
        // Capillary motion at the scale of a few spacings.
        v2 += f.velocity.length_squared() + f.surface_tension / (f.density * scene.model.spacing);
    }
    v2 += scene.emitters.iter().map(|e| e.speed * e.speed).fold(0.0, f64::max);
    for b in &scene.boundaries {
        let turn = b.motion.rotate.as_ref().map_or(0.0, |r| {
            let bounds = b.shape.bounds();
            r.speed.abs() * bounds.min.distance(r.center).max(bounds.max.distance(r.center))
        });
        let slide = b.motion.translate.as_ref().map_or(0.0, |t| t.velocity.length());
        v2 = v2.max((turn + slide).powi(2));
    }
    for force in &scene.forces {
        v2 += match force {
            Force::Uniform(a) if repeats_along(scene, a.normalize_or_zero()) => {
                driven(scene, a.length(), extent)
            }
            Force::Uniform(a) => 2.0 * a.length() * extent,
            Force::Swirl { strength, .. } => strength.abs() * extent,
            Force::Brush(track) => track
                .points
                .windows(2)
                .map(|w| ((w[1].1 - w[0].1) / (w[1].0 - w[0].0)).length_squared())
                .fold(0.0, f64::max),
        };
    }
    for e in &scene.events {
        match &e.action {
            Action::Brush { velocity, .. } => v2 = v2.max(velocity.length_squared()),
            // Falling through its field, ∫ 27/4 q(1-q)² dq = 9/16 of strength × radius.
            Action::Touch { radius, strength, .. } => {
                v2 = v2.max(1.125 * strength.abs() * radius.min(extent));
            }
            _ => {}
        }
    }
    // If nothing drives it, crossing itself once in the scene's time is as fast as it can matter.
    if v2 > 0.0 { v2.sqrt() } else { extent / scene.time.duration }
}
