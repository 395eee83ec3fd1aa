//! Boundary particles (Bayraktar 2010, 3.2): walls as layers of particles that the fluid sees in its sums.
//!
//! A wall's first layer lies half a spacing behind its surface, so that it goes on where the lattice of fluid at rest ends.
//! Each counts with its volume after Akinci 2012. What keeps fluid out is chosen by `model.walls`:
//! - `particles` (default): pressure and velocity of the fluid go on behind the wall (Adami 2012), [`extrapolate`];
//! - `evolved-density`: each boundary particle has a density that the fluid around it compresses, and the pressure of it;
//! - `lennard-jones`: repulsion by distance (eq. 8), and stickiness by pressure (eq. 10).
//!
//! Viscous drag (eq. 6) is that of the velocity behind the wall, which for no slip is such that the profile meets the
//! wall's velocity at its surface (eq. 9 normalised, then mirrored as in Morris 1997).

pub mod adhesion;
pub mod extrapolate;
pub mod faces;
pub mod near;
pub mod pairs;
pub mod seen;
pub mod set;

use glam::DVec3;

use self::adhesion::Adhesion;
use self::set::{Origin, Set};
use super::continuity::Rate;
use super::force::Forces;
use super::params::Params;
use super::work::{PRESSURE, Work};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::neighbors::{Grid, Period};
use crate::scene::{Scene, WallKind};
use crate::state::particles::Particles;
use crate::walls::{SampleError, Walls};

/// Layers of boundary particles for a support of so many spacings. The deepest that fluid at rest can see; one more would
/// be seen only by what is about to enter the wall, and faintly.
pub fn layers(smoothing: f64) -> usize {
    (smoothing - 0.2).floor().max(1.0) as usize
}

/// All boundary particles of a scene.
#[derive(Debug)]
pub struct Boundary {
    kind: WallKind,
    /// Of walls at rest.
    still: Option<Set>,
    /// Of moving walls.
    moving: Option<Set>,
    period: Option<Period>,
    adhesion: Adhesion,
    constants: Constants,
}

/// Constants of the passes over boundary particles.
#[derive(Clone, Debug)]
pub struct Constants {
    /// Which way of keeping fluid out.
    pub kind: WallKind,
    /// h, m.
    pub h: f32,
    /// Δ/h.
    pub unit: f32,
    /// Rest densities by fluid, kg/m³.
    pub density: Vec<f32>,
    /// D of eq. 8, m²/s²: the square of the speed it must stop.
    pub repulsion: f32,
    /// Bulk modulus, Pa.
    pub bulk: f32,
    /// Δ³ 6f/h⁴: of Σ V g (v_j-v_i)·d.
    pub rate: f32,
}

impl Boundary {
    /// The boundary particles of a scene; none where walls are `layers`.
    pub fn new(scene: &Scene, params: &Params) -> Result<Self, SampleError> {
        let walls = Walls::new(scene);
        let period = crate::walls::period(scene);
        let kind = params.walls;
        let (mut still, mut moving) = (Vec::new(), Vec::new());
        if kind != WallKind::Layers {
            still.extend(faces::origins(scene, params.spacing));
            for body in walls.samples(params.spacing, layers(params.h / params.spacing))? {
                let b = &scene.boundaries[body.wall];
                let origins = body.samples.iter().map(|s| Origin {
                    wall: Some(body.wall as u32),
                    place: s.position,
                    normal: s.normal,
                    depth: s.depth,
                    slip: b.slip,
                    adhesion: b.adhesion,
                });
                if body.moves { &mut moving } else { &mut still }.extend(origins);
            }
        }
        let set = |origins: Vec<Origin>| {
            (!origins.is_empty())
                .then(|| Set::new(origins, params.h, params.spacing, &walls, period.as_ref()))
        };
        Ok(Boundary {
            kind,
            still: set(still),
            moving: set(moving),
            period,
            adhesion: Adhesion::new(params),
            constants: Constants {
                kind,
                h: params.h as f32,
                unit: (params.spacing / params.h) as f32,
                density: params.fluids.iter().map(|f| f.density as f32).collect(),
                repulsion: params.expected_speed.powi(2) as f32,
                bulk: params.fluids.iter().map(|f| f.stiffness * f.density).fold(0.0, f64::max) as f32,
                rate: params.slope() as f32,
            },
        })
    }

    /// Number of boundary particles.
    pub fn len(&self) -> usize {
        self.sets().map(Set::len).sum()
    }

    fn sets(&self) -> impl Iterator<Item = &Set> {
        self.still.iter().chain(&self.moving)
    }

    /// Moves what moves, and finds who of the fluid sees whom.
    pub fn find(&mut self, walls: &Walls, particles: &Particles) {
        if let Some(moving) = &mut self.moving {
            moving.pose(walls, self.period.as_ref());
        }
        for set in self.still.iter_mut().chain(&mut self.moving) {
            set.find(particles.position());
        }
    }

    /// Adds what boundary particles add to the sums of a block of fluid, its first particle being `first`.
    pub fn rates(&self, block: usize, work: &Work, first: usize, out: &mut [Rate]) {
        for set in self.sets() {
            pairs::rates(&set.seen[block], set, &work.records[first..], out);
        }
    }

    /// Gives boundary particles the pressure and velocity that fluid sees of them in the force pass.
    pub fn answer(&mut self, work: &Work, grid: &Grid, fluid: &[u8], gravity: DVec3, dt: f64) {
        for set in self.still.iter_mut().chain(&mut self.moving) {
            extrapolate::extrapolate(set, &self.constants, work, grid, fluid, gravity, dt as f32);
            if self.kind == WallKind::EvolvedDensity {
                set.carry();
            }
        }
    }

    /// Gives every boundary particle a pressure of 1 Pa, for the packing of the starting fluid.
    pub fn press(&mut self) {
        for set in self.still.iter_mut().chain(&mut self.moving) {
            set.work.records.iter_mut().for_each(|r| r[PRESSURE] = 1.0);
        }
    }

    /// Adds what boundary particles add to the accelerations of a block of fluid.
    pub fn forces(
        &self,
        block: usize,
        work: &Work,
        fluid: &[u8],
        first: usize,
        forces: &Forces,
        out: &mut [[f32; 3]],
    ) {
        for set in self.sets() {
            let own = (&work.records[first..], &fluid[first..]);
            pairs::forces(&set.seen[block], set, own, forces, &self.constants, out);
            if !set.adhesion.is_empty() && self.kind != WallKind::LennardJones {
                self.adhesion.apply(&set.seen[block], set, own, &work.surface[first..], forces, out);
            }
        }
    }

    /// Writes what the next step depends on.
    pub fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        if self.kind == WallKind::EvolvedDensity {
            for set in self.sets() {
                out.put_f32s(&set.carried)?;
            }
        }
        Ok(())
    }

    /// Reads what [`Boundary::save`] wrote.
    pub fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        if self.kind == WallKind::EvolvedDensity {
            for set in self.still.iter_mut().chain(&mut self.moving) {
                let carried = from.get_f32s()?;
                if carried.len() != set.len() || carried.iter().any(|p| !p.is_finite()) {
                    return Err(CheckpointError::Damaged { what: "pressures of boundary particles".into() });
                }
                set.restore(carried);
            }
        }
        Ok(())
    }
}
