//! When and how the list of neighbours is made anew.

use glam::DVec3;
use rayon::prelude::*;

use super::force::{Constants, Quad};
use super::list::BLOCK;
use super::wall::{self, Moment};
use super::{FAR, LennardJones};
use crate::models::Around;
use crate::neighbors::{Grid, wrap};
use crate::state::particles::Particles;

/// Skins to choose from, × σ.
const SKINS: [f64; 7] = [0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0];
/// The skin before anything has moved, × σ.
pub(super) const FIRST_SKIN: f64 = 0.3;

/// What making a list costs, in sums over it.
const LIST_COST: f64 = 4.0;

/// Ways of two particles away from each other, × that of the fastest: where some fall, others rest.
const APART: f64 = 1.2;

/// Cells that the grid may have however few the particles: drops that have rolled away must not squeeze space.
pub(super) const CELLS: f64 = (1 << 19) as f64;

/// Distance of new particles from walls, × spacing.
const OFF_WALL: f64 = 0.45;

impl LennardJones {
    /// Makes the list of neighbours, and sorts for it.
    pub(super) fn relist(&mut self, around: &Around, step: f64) {
        let period = self.period;
        self.push_newborn_off(around);
        if period.is_some() {
            let p = &mut self.particles;
            for i in 0..p.x.len() {
                let q = wrap(DVec3::new(p.x[i], p.y[i], p.z[i]), period.as_ref());
                [p.x[i], p.y[i], p.z[i]] = q.to_array();
            }
        }
        self.choose_skin(step);
        self.particles.sort(&mut self.grid, period.as_ref());
        // Particles came or went: all is to be looked for anew.
        if self.stale {
            self.beside.clear();
        }
        if !around.walls.is_empty() {
            let mut kept: Vec<_> = std::mem::take(&mut self.beside).into_iter().map(Some).collect();
            kept.resize_with(self.particles.len(), Default::default);
            let order = self.particles.order();
            self.beside.extend(order.iter().map(|&i| kept[i as usize].take().unwrap_or_default()));
        }
        self.lay();
        self.find_walls(around);
        self.listed_travel = self.travel;
        self.stale = false;
        self.lists += 1;
    }

    /// Emitters know nothing of walls: what they put nearer than half a spacing to one would be shot off.
    fn push_newborn_off(&mut self, around: &Around) {
        let p = &mut self.particles;
        let rest = OFF_WALL * self.params.spacing;
        for i in p.len().saturating_sub(self.newborn)..p.len() {
            let mut at = DVec3::new(p.x[i], p.y[i], p.z[i]);
            let mut push = DVec3::ZERO;
            around.walls.contacts(at, rest, |c| push += c.normal * (rest - c.distance));
            at += push;
            [p.x[i], p.y[i], p.z[i]] = at.to_array();
        }
        self.newborn = 0;
    }

    /// Finds the particles that may come to feel walls before the next list is made.
    fn find_walls(&mut self, around: &Around) {
        let (params, walls) = (&self.params, around.walls);
        let near = wall::reach(params) + self.skin;
        let now = Moment { time: around.time, travel: self.travel };
        let Particles { x, y, z, near_wall, .. } = &mut self.particles;
        if walls.is_empty() {
            return near_wall.fill(0);
        }
        let all = near_wall.par_iter_mut().zip(&mut self.beside).enumerate().with_min_len(BLOCK);
        all.for_each(|(i, (flag, beside))| {
            let p = DVec3::new(x[i], y[i], z[i]);
            *flag = u8::from(beside.is_near(params, walls, p, near, now));
        });
    }

    /// Lists the neighbours of sorted particles, over which the grid lies.
    pub(super) fn lay(&mut self) {
        let n = self.particles.len();
        self.list.find(&self.grid, self.particles.position());
        for (kept, now) in self.reference.iter_mut().zip(self.particles.position()) {
            kept.clear();
            kept.extend_from_slice(now);
        }
        self.listed.resize(n, [0.0; 4]);
        fill_all(&self.grid, self.particles.position(), &mut self.listed);
        self.place.clear();
        self.place.extend_from_slice(&self.listed);
        self.place.push(FAR);
        self.velocity.clear();
        self.velocity.extend(self.particles.velocity.iter().map(|v| [v[0], v[1], v[2], 0.0]));
        self.velocity.push([0.0; 4]);
    }

    /// The skin that costs least when all goes on as fast as now: a thick one lists more pairs, a thin one is soon used up.
    fn choose_skin(&mut self, step: f64) {
        let sigma = self.params.pair.sigma;
        let rc = self.params.pair.cutoff;
        let way = f64::from(self.extremes.speed2).sqrt() * step;
        let widest = self.period.map_or(f64::INFINITY, |p| {
            let lengths = (0..3).filter(|a| p.axes[*a]).map(|a| p.max[a] - p.min[a]);
            0.5 * lengths.fold(f64::INFINITY, f64::min) - rc
        });
        let cost = |skin: f64| (rc + skin).powi(3) * (1.0 + LIST_COST * (APART * way / skin).min(1.0));
        let mut best = (f64::INFINITY, SKINS[0] * sigma);
        for skin in SKINS.map(|s| s * sigma) {
            let skin = skin.min(widest);
            if cost(skin) < best.0 {
                best = (cost(skin), skin);
            }
        }
        self.set_skin(best.1);
    }

    pub(super) fn set_skin(&mut self, skin: f64) {
        self.skin = skin;
        let h = self.params.pair.cutoff + skin;
        self.grid = Grid::for_others(h, CELLS);
        let period = self
            .period
            .map_or([0.0; 3], |p| std::array::from_fn(|a| if p.axes[a] { p.max[a] - p.min[a] } else { 0.0 }));
        self.constants = Constants::new(&self.params, h, period);
    }
}

/// Local places of a block.
pub(super) fn fill(grid: &Grid, position: [&[f64]; 3], place: &mut [Quad]) {
    let mut local = [[0.0f32; BLOCK]; 3];
    let n = place.len();
    for a in 0..3 {
        grid.locals(a, position[a], &mut local[a][..n]);
    }
    for (k, place) in place.iter_mut().enumerate() {
        *place = [local[0][k], local[1][k], local[2][k], 0.0];
    }
}

/// Local places of all.
pub(super) fn fill_all(grid: &Grid, [x, y, z]: [&[f64]; 3], place: &mut [Quad]) {
    let parts = (x.par_chunks(BLOCK), y.par_chunks(BLOCK), z.par_chunks(BLOCK));
    parts
        .into_par_iter()
        .zip(place.par_chunks_mut(BLOCK))
        .for_each(|((x, y, z), place)| fill(grid, [x, y, z], place));
}
