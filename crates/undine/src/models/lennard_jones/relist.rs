//! When and how the list of neighbours is made anew.

use glam::DVec3;
use rayon::prelude::*;

use super::force::{Constants, Quad, record};
use super::list::BLOCK;
use super::wall::Beside;
use super::{FAR, LennardJones};
use crate::models::{Around, Passes};
use crate::neighbors::{Grid, wrap};

/// Skins to choose from, × σ.
const SKINS: [f64; 7] = [0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0];
/// The skin before anything has moved, × σ.
pub(super) const FIRST_SKIN: f64 = 0.3;

/// What making a list costs, in sums over it, and what it costs whatever its length, in sums over the pairs of σ³ around each
/// particle.
const LIST_COST: f64 = 2.0;
const SORT_COST: f64 = 8.0;

/// Particles whose walls are put in order by a thread at a time.
const SOME: usize = 1024;

/// Distance of new particles from walls, × spacing.
const OFF_WALL: f64 = 0.45;

impl LennardJones {
    /// Makes the list of neighbours, and sorts for it.
    pub(super) fn relist(&mut self, dt: f64, around: &Around, passes: &mut Passes) {
        self.patched = self.goes_by_patches();
        passes.time("sort", || self.sort(around));
        passes.time("list", || {
            if self.patched {
                self.lay_patches(self.halves(dt));
            } else {
                self.lay();
            }
        });
        self.stale = false;
        self.lists += 1;
    }

    /// Puts the particles in the order of the cells of a grid for a new skin.
    fn sort(&mut self, around: &Around) {
        let period = self.period;
        self.push_newborn_off(around);
        if period.is_some() {
            let p = &mut self.particles;
            for i in 0..p.x.len() {
                let q = wrap(DVec3::new(p.x[i], p.y[i], p.z[i]), period.as_ref());
                [p.x[i], p.y[i], p.z[i]] = q.to_array();
            }
        }
        if self.patched {
            self.sort_patches();
        } else {
            self.choose_skin();
            self.particles.sort(&mut self.grid, period.as_ref());
        }
        if around.walls.is_empty() {
            self.beside.clear();
            self.room.clear();
            self.room.resize(self.particles.len(), f32::INFINITY);
            return;
        }
        // Where particles came or went all is to be looked for anew.
        let kept = if self.stale { 0 } else { self.beside.len().min(self.room.len()) };
        let room = self.particles.order().iter().map(|&i| match self.room.get(i as usize) {
            Some(room) if kept > 0 => *room,
            _ => 0.0,
        });
        self.sorted_room.clear();
        self.sorted_room.extend(room);
        std::mem::swap(&mut self.room, &mut self.sorted_room);
        let (order, beside) = (self.particles.order(), &self.beside);
        self.sorted_beside.resize_with(order.len(), Beside::default);
        self.sorted_beside.par_iter_mut().zip(order).with_min_len(SOME).for_each(|(to, &i)| {
            match beside.get(i as usize) {
                Some(from) if kept > 0 => to.clone_from(from),
                _ => *to = Beside::default(),
            }
        });
        std::mem::swap(&mut self.beside, &mut self.sorted_beside);
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

    /// Lists the neighbours of sorted particles, over which the grid lies.
    pub(super) fn lay(&mut self) {
        let period = self.period.is_some();
        let LennardJones { particles, grid, list, listed, place, record: records, reference, groups, .. } =
            self;
        let share = self.skin / (self.params.pair.cutoff + self.skin);
        list.place(grid, particles.position());
        listed.clear();
        listed.extend(list.places());
        let copies = || {
            for (kept, now) in reference.iter_mut().zip(particles.position()) {
                kept.clear();
                kept.extend_from_slice(now);
            }
            place.clear();
            place.extend_from_slice(listed);
            place.push(FAR);
            records.clear();
            if self.params.damping > 0.0 {
                records.extend(place.iter().zip(&particles.velocity).map(|(p, v)| record(*p, *v)));
                records.push(record(FAR, [0.0; 3]));
            }
            groups.lay(listed, share, period);
        };
        rayon::join(|| list.find_placed(grid), copies);
        self.since = 0;
    }

    /// The skin that costs least when all goes on as fast as of late: a thick one lists more pairs, a thin one is soon used up.
    fn choose_skin(&mut self) {
        let sigma = self.params.pair.sigma;
        let rc = self.params.pair.cutoff;
        let widest = self.period.map_or(f64::INFINITY, |p| {
            let lengths = (0..3).filter(|a| p.axes[*a]).map(|a| p.max[a] - p.min[a]);
            0.5 * lengths.fold(f64::INFINITY, f64::min) - rc
        });
        let lists = |skin: f64| (1.0 / (0.5 + skin / self.wear.max(1e-30))).min(1.0);
        let volume = |skin: f64| ((rc + skin) / sigma).powi(3);
        let cost = |skin: f64| volume(skin) * (1.0 + LIST_COST * lists(skin)) + SORT_COST * lists(skin);
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
        self.grid = Grid::frugal(h);
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
