//! The Lennard-Jones fluid of Lee, Hong & Shin 2005.
//!
//! | equation | here |
//! |---|---|
//! | 2 pair potential, 3 pair force | [`pair::Pair`]; over all pairs: [`force`] |
//! | 4 motion | `LennardJones::step`, velocity Verlet |
//! | 5 friction | `kick`, exact for any step |
//! | 6 balance without inertia | `dynamics = "overdamped"` |
//!
//! `docs/lennard-jones.md` tells what is added to the paper, and why.

mod clusters;
mod drift;
pub mod force;
mod kick;
pub mod list;
mod motion;
mod moved;
pub mod naive;
mod order;
pub mod pair;
pub mod params;
mod patches;
mod relist;
mod renew;
mod saved;
mod solver;
#[cfg(test)]
mod tests;
pub mod wall;

use glam::Vec3;
use rayon::prelude::*;

use self::force::{Closest, Constants, Quad, Record, Seen};
use self::list::{BLOCK, List};
use self::moved::Groups;
use self::params::Params;
use self::patches::Patches;
use self::wall::Beside;
use crate::neighbors::{Grid, Moved, Period};
use crate::scene::Scene;
use crate::state::particles::Particles;

/// A place so far away that it adds to no sum. Not by its coordinates, of which some image may be near.
const FAR: Quad = [0.0, 0.0, 0.0, 1e18];

/// Particles from which on a step is so long that waking threads for it does not count, and nor does sorting at each list.
const MANY: usize = 1 << 16;

/// The fastest and the closest now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extremes {
    /// Greatest speed, squared, m²/s².
    pub speed2: f32,
    /// Number of the fastest particle.
    pub fastest: usize,
    /// Of all pairs.
    pub closest: Closest,
}

impl Extremes {
    fn and(self, o: Self) -> Self {
        // On a tie the lower number, whatever the order. What is no number wins.
        let first = self.speed2 > o.speed2
            || self.speed2.is_nan()
            || self.speed2 == o.speed2 && self.fastest < o.fastest;
        let (speed2, fastest) = if first { (self.speed2, self.fastest) } else { (o.speed2, o.fastest) };
        Extremes { speed2, fastest, closest: self.closest.and(o.closest) }
    }
}

/// Sums over all particles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Kinetic energy, J.
    pub kinetic: f64,
    /// Energy of all pairs, J.
    pub potential: f64,
    /// Σ f·r over all pairs, J.
    pub virial: f64,
}

/// The Lennard-Jones model.
pub struct LennardJones {
    params: Params,
    particles: Particles,
    grid: Grid,
    list: List,
    /// Skin of the list, m.
    skin: f64,
    /// Particles came or went since the list was made.
    stale: bool,
    /// Particles that came since, the last ones.
    newborn: usize,
    /// What each particle knows of walls; none where there are none.
    beside: Vec<Beside>,
    sorted_beside: Vec<Beside>,
    /// Least distance that any wall can have from each particle, m.
    room: Vec<f32>,
    sorted_room: Vec<f32>,
    /// Way of the fastest wall since the start, m.
    travel: f64,
    /// Where the particles were when listed, m.
    reference: [Vec<f64>; 3],
    /// Places now, and a far one at the end.
    place: Vec<Quad>,
    /// The same with velocities, where there is friction between particles; else none.
    record: Vec<Record>,
    /// Places when the list was made.
    listed: Vec<Quad>,
    /// How far particles have moved since, by the smallest groups, and which are near each other.
    ways: Vec<Moved>,
    groups: Groups,
    /// The list by patches, where `patched`; and of each patch the square of the longest way since, supports.
    patches: Patches,
    patched: bool,
    far2: Vec<f32>,
    worn: Vec<u32>,
    /// Where the particles were when sorted, m, and patches listed anew since.
    laid: [Vec<f64>; 3],
    mixed: u64,
    /// The skin that a step used up of late, m, and steps since the list was made.
    wear: f64,
    since: u64,
    constants: Constants,
    extremes: Extremes,
    period: Option<Period>,
    /// Steps so far, for the thermostat's dice.
    steps: u64,
    /// How often the whole list was made, and how many patches were listed between.
    lists: u64,
    renewed: u64,
}

impl LennardJones {
    /// An empty model for a scene.
    pub fn new(scene: &Scene) -> Self {
        let params = Params::new(scene);
        let skin = relist::FIRST_SKIN * params.pair.sigma;
        let h = params.pair.cutoff + skin;
        LennardJones {
            particles: Particles::new(false),
            grid: Grid::frugal(h),
            list: List::default(),
            skin,
            stale: true,
            newborn: 0,
            beside: Vec::new(),
            sorted_beside: Vec::new(),
            travel: 0.0,
            room: Vec::new(),
            sorted_room: Vec::new(),
            reference: Default::default(),
            place: Vec::new(),
            record: Vec::new(),
            listed: Vec::new(),
            ways: Vec::new(),
            groups: Groups::default(),
            patches: Patches::default(),
            patched: false,
            far2: Vec::new(),
            worn: Vec::new(),
            laid: Default::default(),
            mixed: 0,
            wear: 0.0,
            since: 0,
            constants: Constants::new(&params, h, [0.0; 3]),
            extremes: Extremes::default(),
            period: crate::walls::period(scene),
            steps: 0,
            lists: 0,
            renewed: 0,
            params,
        }
    }

    /// The derived parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The particles, sorted by cell as of the last list.
    pub fn particles(&self) -> &Particles {
        &self.particles
    }

    /// How often the whole list of neighbours was made so far.
    pub fn lists(&self) -> u64 {
        self.lists
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Energies and virial now. Friction, walls and fields are left out.
    pub fn measure(&self) -> Measured {
        let mut sum = Measured::default();
        for [energy, virial] in self.measures() {
            sum.potential += f64::from(energy);
            sum.virial += f64::from(virial);
        }
        for (v, fluid) in self.particles.velocity.iter().zip(&self.particles.fluid) {
            let v2 = Vec3::from(*v).as_dvec3().length_squared();
            sum.kinetic += 0.5 * self.params.mass[usize::from(*fluid)] * v2;
        }
        sum
    }

    /// Multiplies all velocities.
    pub fn scale_velocities(&mut self, factor: f64) {
        for v in &mut self.particles.velocity {
            *v = (Vec3::from(*v) * factor as f32).to_array();
        }
    }

    /// Half of each pair's energy and virial, J, by particle.
    fn measures(&self) -> Vec<[f32; 2]> {
        let mut out = vec![[0.0; 2]; self.particles.len()];
        if self.stale {
            return out;
        }
        let seen = self.seen();
        out.par_chunks_mut(BLOCK).zip(&self.list.blocks).enumerate().for_each(|(block, (out, rows))| {
            let measures = if self.patched { clusters::measures } else { force::measures };
            measures(&seen, rows, block * BLOCK, out);
        });
        out
    }

    fn seen(&self) -> Seen<'_> {
        Seen { place: &self.place, record: &self.record, constants: &self.constants }
    }
}
