//! Evens out the starting fluid beside walls.
//!
//! A lattice cut by a round wall leaves gaps and crowds at it. Flow along such a wall is too fast: a pipe of 15 spacings'
//! radius carried 13 % too much, whatever the resolution. So before time starts, particles are moved as a constant
//! pressure would push them until they are even. (Down the gradient of the colour field, as in particle shifting, they merge in
//! pairs: its kernel has a flat top.) Free surfaces stay where they are.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::Sph;
use super::continuity::{Continuity, Rates, SURFACE};
use super::crowd::Shared;
use super::force::Forces;
use super::outlook::{Look, Scope};

use super::wall_kernels::WallAction;
use super::work::PRESSURE;
use crate::models::Around;
use crate::state::particles::BLOCK;

/// Rounds at most.
const ROUNDS: usize = 60;
/// Shift per Δ Σ V ∇W, in spacings; larger ones overshoot.
const SHIFT: f64 = 0.1;
/// Greatest shift in a round, in spacings.
const MOST: f64 = 0.15;
/// Even enough when no shift is larger, in spacings.
const EVEN: f64 = 0.01;
/// Below this relative density a particle with a large ∇c is at a surface; above it, it is crowded.
const FULL: f32 = 0.9;

impl Sph {
    /// Moves particles until they are even beside boundary particles.
    pub(super) fn pack(&mut self, around: &Around) {
        if self.boundary.is_empty() {
            return;
        }
        for _ in 0..ROUNDS {
            if self.even_out(around, SHIFT, MOST, true) < EVEN {
                break;
            }
        }
    }

    /// One round: shifts particles by `strength` per Δ Σ V ∇W, at most by `most`, all in spacings. Without `surfaces` none is
    /// looked for. The greatest shift, in spacings.
    pub(super) fn even_out(&mut self, around: &Around, strength: f64, most: f64, surfaces: bool) -> f64 {
        self.particles.sort(&mut self.grid, self.period.as_ref());
        self.stale = true;
        self.work.fill(&self.particles, &self.grid, true);
        self.boundary.pose(around);
        self.boundary.find(&self.particles, &self.work, true, Look::NOW);
        self.boundary.press();
        // The stress of surfaces, of the step before.
        self.work.surface.clear();
        self.work.records.iter_mut().for_each(|r| {
            r[PRESSURE] = 1.0;
            r[4..7].fill(0.0);
        });
        // Acceleration to Δ Σ V ∇W: of both sides' pressures a particle gets 2 V² Σ ∇W / m.
        let per = |fluid: u8| 0.5 * self.params.spacing * self.params.fluids[fluid as usize].density;
        let c = Continuity::new(&self.params, DVec3::ZERO, 0.0);
        let (work, grid, boundary, walls) = (&self.work, &self.grid, &self.boundary, &self.walls);
        let (spacing, period) = (self.params.spacing, self.period);
        let forces = Forces::bare(&self.params);
        let p = &mut self.particles;
        let fluid = &p.fluid[..];
        let blocks =
            (p.x.par_chunks_mut(BLOCK), p.y.par_chunks_mut(BLOCK), p.z.par_chunks_mut(BLOCK)).into_par_iter();
        let shifts = blocks.enumerate().map(|(block, (x, y, z))| {
            let first = block * BLOCK;
            let mut sums = Rates::default();
            if surfaces {
                let mut found = Shared::default();
                found.search_octets(work, grid, first, first + x.len());
                c.pairs(work, first, &mut sums, found.look(), None);
                boundary.rates(block, &mut sums, &mut [0; BLOCK][..x.len()], Scope::Survey);
            }
            let mut pushes = [[0.0; 3]; BLOCK];
            let pushes = &mut pushes[..x.len()];
            forces.pairs(work, grid, fluid, first, pushes, (None, None));
            boundary.forces(block, work, fluid, first, &forces, pushes);
            let mut act = WallAction::default();
            let mut greatest = 0.0f64;
            for k in 0..x.len() {
                let from = DVec3::new(x[k], y[k], z[k]);
                let (mut color, mut density) = c.neighborhood(&sums.get(k));
                let mut push = Vec3::from(pushes[k]).as_dvec3() * per(fluid[first + k]);
                if walls.is_near(around.walls, from) {
                    walls.action(around.walls, from, DVec3::ZERO, DVec3::ZERO, &mut act);
                    push += act.gradient * spacing;
                    let wall = walls.rate(around.walls, from, DVec3::ZERO);
                    color += wall.color;
                    density += wall.density;
                }
                if surfaces && color.length() > f64::from(SURFACE) && density < FULL {
                    continue;
                }
                let shift = (push * strength).clamp_length_max(most);
                let mut at_rest = DVec3::ZERO;
                let to = around.walls.collide(from, from + shift * spacing, &mut at_rest, 0.0, true);
                greatest = greatest.max(to.distance(from) / spacing);
                [x[k], y[k], z[k]] = crate::neighbors::wrap(to, period.as_ref()).to_array();
            }
            greatest
        });
        shifts.reduce(|| 0.0, f64::max)
    }
}
