//! The list of neighbours by patches, for particles that are few enough and space that does not repeat.

use glam::Vec3;

use super::force::record;
use super::patches::PATCH;
use super::relist::fill_all;
use super::{FAR, LennardJones, MANY, order};
use crate::models::{Around, Passes};

/// Least and greatest way of a particle before its patch is listed anew, × σ.
const WAYS: [f64; 2] = [0.1, 0.5];
/// Steps that a list shall serve, if that needs no longer way.
const LASTS: f64 = 3.0;
/// Steps after which particles are sorted again if patches have been listed anew so often since, on the whole: those of a patch, and
/// of its clusters, do not stay together.
const SORTED: u64 = 8;
const MIXED: u64 = 3;
/// Share of its way from which on a patch is listed anew when another is: so that parts of the list wear out together.
const SYNC: f32 = 0.2;

impl LennardJones {
    /// Whether as many particles as there are now are listed by patches.
    pub(super) fn goes_by_patches(&self) -> bool {
        self.period.is_none() && self.particles.len() <= MANY
    }

    /// Support of the places, m.
    fn support(&self) -> f64 {
        self.params.pair.cutoff + self.skin
    }

    /// Puts particles that are near each other together.
    pub(super) fn sort_patches(&mut self) {
        let sigma = self.params.pair.sigma;
        self.set_skin(2.0 * WAYS[0] * sigma);
        let n = self.particles.len();
        self.grid.fit(self.particles.position(), None);
        self.place.resize(n + 1, FAR);
        fill_all(&self.grid, self.particles.position(), &mut self.place[..n]);
        let mut order = Vec::new();
        order::order(&self.place[..n], &mut order);
        self.particles.put_in_order(&order);
        for (kept, now) in self.laid.iter_mut().zip(self.particles.position()) {
            kept.clear();
            kept.extend_from_slice(now);
        }
    }

    /// Lists the neighbours of sorted particles; `halves` by patch, supports.
    pub(super) fn lay_patches(&mut self, halves: Vec<f32>) {
        let n = self.particles.len();
        self.place.resize(n + 1, FAR);
        self.place[n] = FAR;
        fill_all(&self.grid, self.particles.position(), &mut self.place[..n]);
        self.listed.clear();
        self.listed.extend_from_slice(&self.place[..n]);
        for (kept, now) in self.reference.iter_mut().zip(self.particles.position()) {
            kept.clear();
            kept.extend_from_slice(now);
        }
        self.record.clear();
        if self.params.damping > 0.0 {
            let moving = self.place.iter().zip(&self.particles.velocity);
            self.record.extend(moving.map(|(p, v)| record(*p, *v)));
            self.record.push(record(FAR, [0.0; 3]));
        }
        let cutoff = (self.params.pair.cutoff / self.support()) as f32;
        self.patches.lay(&self.listed, cutoff, halves);
        self.patches.list_all(n, &mut self.list.blocks);
        (self.since, self.mixed) = (0, 0);
    }

    /// How far particles of each patch may go, supports, for steps of dt.
    pub(super) fn halves(&self, dt: f64) -> Vec<f32> {
        let ways = Ways::new(self, dt);
        self.particles.velocity.chunks(PATCH).map(|v| ways.half(v)).collect()
    }

    /// Longest way that particles of a patch may go, supports.
    pub(super) fn greatest_half(&self) -> f32 {
        (WAYS[1] * self.params.pair.sigma / self.support()) as f32
    }

    /// Makes the list good for where the particles are now: nothing, or parts of it, or all.
    pub(super) fn keep_patches(&mut self, dt: f64, around: &Around, passes: &mut Passes) {
        let mut worn = std::mem::take(&mut self.worn);
        self.patches.worn(&self.far2, SYNC, &mut worn);
        let mixed = self.mixed >= MIXED * self.particles.len().div_ceil(PATCH) as u64;
        if !worn.is_empty() && self.since >= SORTED && mixed {
            self.relist(dt, around, passes);
        } else if !worn.is_empty() {
            passes.time("list", || self.renew(&worn, dt));
        }
        self.worn = worn;
    }

    fn renew(&mut self, worn: &[u32], dt: f64) {
        let n = self.particles.len();
        let ways = Ways::new(self, dt);
        for &patch in worn {
            let of = patch as usize * PATCH..n.min((patch as usize + 1) * PATCH);
            self.listed[of.clone()].copy_from_slice(&self.place[of.clone()]);
            for (kept, now) in self.reference.iter_mut().zip(self.particles.position()) {
                kept[of.clone()].copy_from_slice(&now[of.clone()]);
            }
        }
        let velocity = &self.particles.velocity;
        let half = |patch: usize| ways.half(&velocity[patch * PATCH..n.min((patch + 1) * PATCH)]);
        self.patches.renew(worn, &self.place[..n], half);
        let listed = self.patches.list_renewed(n, &mut self.list.blocks) as u64;
        self.renewed += listed;
        self.mixed += listed;
    }
}

/// The ways that particles may go, supports.
struct Ways {
    range: [f32; 2],
    /// Time that a list shall serve, s, over the support, m.
    time: f32,
}

impl Ways {
    fn new(of: &LennardJones, dt: f64) -> Self {
        let h = of.support();
        Ways { range: WAYS.map(|w| (w * of.params.pair.sigma / h) as f32), time: (LASTS * dt / h) as f32 }
    }

    fn half(&self, velocity: &[[f32; 3]]) -> f32 {
        let fastest = velocity.iter().map(|v| Vec3::from(*v).length_squared()).fold(0.0, f32::max);
        (fastest.sqrt() * self.time).clamp(self.range[0], self.range[1])
    }
}
