//! What the Lennard-Jones model derives from a scene.
//!
//! σ follows from the spacing and ε from the mass of a particle and the greatest expected speed v. The speed of sound
//! √(ε/m), the yield of lumps and the compression under the fluid's own weight then do not depend on the spacing.

use super::pair::Pair;
use crate::models::sph::params::expected_speed;
use crate::scene::{Dynamics, Scene, Shifted};

/// [`Params::core`] where ε is given by hand: no pair gets there, and nothing overflows if one does.
const HARD_CORE: f64 = 0.6;
/// Greatest and least [`Params::core`] else. One pair in a splash would hold up all others by its short step.
const SOFT_CORE: [f64; 2] = [0.95, 0.7];
/// Pressure that the core bears, × ρ v² with v the greatest expected speed: fluid as deep as the scene is high has a half.
const BORNE: f64 = 0.8;

/// All derived numbers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Spacing at rest Δ, m.
    pub spacing: f64,
    /// The pair.
    pub pair: Pair,
    /// Particle mass of each fluid, kg.
    pub mass: Vec<f64>,
    /// Rest density of each fluid, kg/m³.
    pub density: Vec<f64>,
    /// Pairs nearer than this, × σ, push as if they were so far apart, and less the nearer they are.
    pub core: f64,
    /// Rate ζ/m of friction of each fluid, 1/s (eq. 5).
    pub drag: Vec<f64>,
    /// Coefficient of friction between particles, kg/s.
    pub damping: f64,
    /// k_B T of the thermostat, J; 0 is none.
    pub heat: f64,
    /// With inertia or without.
    pub dynamics: Dynamics,
    /// Greatest expected speed, m/s.
    pub expected_speed: f64,
    /// Safety factor of the step limits.
    pub cfl: f64,
    /// Seed of the thermostat.
    pub seed: u64,
}

/// The softest core that fluid at rest does not fall into, × σ, for ε = `cohesion` × m v².
fn soft_core(cohesion: f64) -> f64 {
    let pair = Pair::new(1.0, 1.0, f64::INFINITY, Shifted::Potential);
    let mut core = SOFT_CORE[0];
    // The pressure of particles packed closest, that far apart, ε/σ³.
    while core > SOFT_CORE[1] && std::f64::consts::SQRT_2 * pair.force(core) < BORNE / cohesion * core * core
    {
        core -= 0.005;
    }
    core
}

impl Params {
    /// Derives all numbers from a checked scene.
    pub fn new(scene: &Scene) -> Self {
        let o = &scene.model.lennard_jones;
        let spacing = scene.model.spacing;
        let density: Vec<f64> = scene.fluids.iter().map(|f| f.density).collect();
        let first = density.first().copied().unwrap_or(1000.0);
        let volume = scene.model.sph.mass.map_or(spacing.powi(3), |m| m / first);
        let mass: Vec<f64> = density.iter().map(|d| d * volume).collect();
        let heaviest = mass.iter().copied().fold(0.0, f64::max);
        let lightest = mass.iter().copied().fold(f64::INFINITY, f64::min);
        let expected_speed = scene.model.sph.max_speed.unwrap_or_else(|| expected_speed(scene));
        let epsilon = o.epsilon.unwrap_or(o.cohesion * heaviest * expected_speed.powi(2));
        let pair = Pair::new(o.sigma, epsilon, o.cutoff, o.shifted);
        // Critical for two of the lightest at the bottom of the well.
        let critical = 2.0 * (pair.stiffness(pair.rest()) * 0.5 * lightest).sqrt();
        Params {
            spacing,
            drag: mass.iter().map(|m| o.friction.map_or(o.drag, |f| f / m)).collect(),
            // Without inertia a velocity is a force: friction that follows from it would feed on itself.
            damping: if o.dynamics == Dynamics::Overdamped { 0.0 } else { o.damping * critical },
            heat: o.temperature * epsilon,
            dynamics: o.dynamics,
            core: if o.epsilon.is_some() { HARD_CORE } else { soft_core(o.cohesion) },
            expected_speed,
            cfl: scene.model.sph.cfl,
            seed: scene.model.seed,
            pair,
            mass,
            density,
        }
    }

    /// Mass of the lightest particle, kg.
    pub fn lightest(&self) -> f64 {
        self.mass.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// √(ε/m), m/s: the speed of sound is a few times it.
    pub fn pace(&self) -> f64 {
        (self.pair.epsilon / self.lightest()).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_softer_the_pairs_the_harder_the_core_that_bears_the_weight() {
        let cores = [1.0, 0.01, 0.006, 0.001, 1e-6].map(soft_core);
        assert_eq!(cores[0], SOFT_CORE[0]);
        assert!(cores.windows(2).all(|c| c[1] <= c[0]) && cores[3] < 0.87, "{cores:?}");
        assert!(cores[4] >= SOFT_CORE[1] - 0.006, "{cores:?}");
    }
}
