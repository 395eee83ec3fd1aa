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
pub mod skin;
#[cfg(test)]
mod tests;

use glam::DVec3;

use self::adhesion::Adhesion;
use self::set::{Origin, Owner, Set};
use super::continuity::Rates;
use super::crowd::Crowd;
use super::force::Forces;
use super::outlook::{Look, Scope};
use super::params::Params;
use super::work::{PRESSURE, Work};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::models::Around;
use crate::models::springs::Solids;
use crate::neighbors::{Grid, Period};
use crate::scene::aabb::Aabb;
use crate::scene::{Scene, WallKind};
use crate::state::particles::Particles;
use crate::walls::{Sample, SampleError, Walls};

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
    /// Of mass-spring bodies.
    skin: Option<Set>,
    /// Force on each node of the mass-spring bodies, N.
    reaction: Vec<DVec3>,
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
    /// The boundary particles of a scene; none where walls are `layers`. What fluid sees of them is searched as far as `reach` supports.
    pub fn new(scene: &Scene, params: &Params, reach: f64) -> Result<Self, SampleError> {
        let walls = Walls::new(scene);
        let period = crate::walls::period(scene);
        let kind = params.walls;
        let solids = Solids::new(scene);
        let (mut still, mut moving) = (Vec::new(), Vec::new());
        if kind != WallKind::Layers {
            still.extend(faces::origins(scene, params.spacing));
            for body in walls
                .samples_of(params.spacing, layers(params.h / params.spacing), &|w| walls.has_particles(w))?
            {
                let b = &scene.boundaries[body.wall];
                let once = window(&body.samples, body.moves.then_some(period.as_ref()).flatten());
                let origins = body.samples.iter().filter(|s| once.contains(s.position)).map(|s| Origin {
                    owner: Owner::Wall(body.wall as u32, s.position),
                    normal: s.normal,
                    depth: s.depth,
                    slip: b.slip,
                    adhesion: b.adhesion,
                    volume: None,
                });
                if body.moves { &mut moving } else { &mut still }.extend(origins);
            }
        }
        let set = |origins: Vec<Origin>, moves: bool| {
            let (around, lengths) = ((&walls, &solids), (params.h, params.spacing, reach));
            (!origins.is_empty()).then(|| Set::new(origins, lengths, moves, around, period.as_ref()))
        };
        Ok(Boundary {
            kind,
            still: set(still, false),
            moving: set(moving, true),
            skin: set(skin::origins(&solids, params), true),
            reaction: vec![DVec3::ZERO; solids.len()],
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn sets(&self) -> impl Iterator<Item = &Set> {
        self.still.iter().chain(&self.moving).chain(&self.skin)
    }

    fn sets_mut(&mut self) -> impl Iterator<Item = &mut Set> {
        self.still.iter_mut().chain(&mut self.moving).chain(&mut self.skin)
    }

    /// Whether a place (m) is near enough to boundary particles that fluid in it may come within their support before it drifts as far as
    /// it may at all.
    pub fn is_beside(&self, p: DVec3) -> bool {
        self.sets().any(|set| set.is_beside(p))
    }

    /// Whether nothing of it changes but by fluid as it is now.
    pub fn is_still(&self) -> bool {
        self.moving.is_none() && self.skin.is_none() && self.kind != WallKind::EvolvedDensity
    }

    /// Moves what moves; the farthest that any has come since it was sorted, m.
    pub fn follow(&mut self, around: &Around) -> f64 {
        self.sets_mut().map(|set| set.follow(around.walls, around.solids)).fold(0.0, f64::max)
    }

    /// Force on each node of the mass-spring bodies, N.
    pub fn reaction(&self) -> Option<&[DVec3]> {
        self.skin.as_ref().map(|_| &self.reaction[..])
    }

    /// Sums what the force pass did to the fluid around mass-spring bodies, as forces on their nodes.
    pub fn react(&mut self, work: &Work, grid: &Grid, particles: &Particles, forces: &Forces) {
        if let Some(set) = &self.skin {
            skin::react(set, (work, grid, particles), forces, &self.constants, &mut self.reaction);
        }
    }

    /// Moves what moves and sorts it anew: to be done before fluid looks where walls are, and before it searches for them.
    pub fn pose(&mut self, around: &Around) {
        for moving in self.moving.iter_mut().chain(&mut self.skin) {
            moving.pose(around.walls, around.solids, self.period.as_ref());
        }
    }

    /// Sums what the density pass wants of those that the fluid sees. Who sees whom is searched where neighbours are to be `fresh`,
    /// after [`Boundary::pose`]; else those found before serve on, and what moves was made to follow.
    pub fn find(&mut self, particles: &Particles, work: &Work, fresh: bool, look: Look) {
        let unit = self.constants.unit;
        let sticks = self.kind != WallKind::LennardJones;
        for set in self.sets_mut() {
            set.find(particles.position(), &work.records, unit, fresh, sticks, look);
        }
    }

    /// Adds what boundary particles add to the sums of a block of fluid; `near` says where a step may end in a wall.
    pub fn rates(&self, block: usize, out: &mut Rates, near: &mut [u8], scope: Scope) {
        near.fill(0);
        for set in self.sets() {
            let walls = &set.rates[block];
            for bunch in set.seen[block].bunches() {
                let range = bunch.first..bunch.first + bunch.count;
                pairs::add(&mut out.convergence[range.clone()], &walls.convergence[range.clone()]);
                if scope != Scope::Quick {
                    pairs::add(&mut out.sum[range.clone()], &walls.sum[range.clone()]);
                    for (color, wall) in out.color.iter_mut().zip(&walls.color) {
                        pairs::add(&mut color[range.clone()], &wall[range.clone()]);
                    }
                }
                near[range.clone()].iter_mut().zip(&walls.near[range]).for_each(|(near, wall)| *near |= wall);
            }
        }
    }

    /// Gives boundary particles the pressure, at least `least` Pa, and velocity that fluid sees of them in the force pass.
    pub fn answer(&mut self, work: &Work, grid: &Grid, fluid: &[u8], gravity: DVec3, dt: f64, least: f32) {
        let Boundary { still, moving, skin, constants, kind, .. } = self;
        for set in still.iter_mut().chain(moving).chain(skin) {
            extrapolate::extrapolate(set, constants, work, grid, fluid, gravity, dt as f32, least);
            if *kind == WallKind::EvolvedDensity {
                set.carry();
            }
        }
    }

    /// What holds a block of fluid in the implicit viscous step: Σ k (1 + s/d) v_b, and Σ k (1 + s/d), kg/s.
    pub fn hold(
        &self,
        block: usize,
        work: &Work,
        fluid: &[u8],
        first: usize,
        forces: &Forces,
        out: &mut [[f32; 4]],
        crowd: &mut Crowd,
    ) {
        for set in self.sets() {
            let own = (&work.records[first..], &fluid[first..]);
            pairs::hold(&set.seen[block], set, own, (forces, self.constants.unit), crowd, out);
        }
    }

    /// Gives every boundary particle a pressure of 1 Pa, for the packing of the starting fluid.
    pub fn press(&mut self) {
        for set in self.sets_mut() {
            set.busy.iter_mut().for_each(|b| *b = true);
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
        for set in self.sets().filter(|set| !set.seen[block].is_empty()) {
            let own = (&work.records[first..], &fluid[first..]);
            let seen = &set.seen[block];
            let rates = &set.rates[block];
            pairs::forces(seen, &set.work.records, own, (forces, &self.constants), out);
            // The packing of the starting fluid knows no surface.
            let tied =
                !work.surface.is_empty() && self.kind != WallKind::LennardJones && forces.has_tension();
            if tied && !set.is_skin {
                let sums = (rates, &set.stuck[block][..]);
                self.adhesion.apply(seen, sums, (own.0, own.1, &work.surface[first..]), forces, out);
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
            for set in self.sets_mut() {
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

/// The samples of a moving wall that is longer than the period it moves in would come back over themselves: those within
/// one period are all of them.
fn window(samples: &[Sample], period: Option<&Period>) -> Aabb {
    let mut window = Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
    if let Some(period) = period {
        let lowest = samples.iter().fold(DVec3::INFINITY, |low, s| low.min(s.position));
        for a in (0..3).filter(|a| period.axes[*a]) {
            let length = period.max[a] - period.min[a];
            window.max[a] = lowest[a] + length * (1.0 - 1e-9);
        }
    }
    window
}
