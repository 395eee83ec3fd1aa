//! Boundary particles that are sorted together: those of walls at rest, once; those of moving ones, with the fluid.

use std::sync::atomic::{AtomicBool, Ordering};

use glam::DVec3;
use rayon::prelude::*;

use super::super::continuity::sum_term;
use super::super::drift::FARTHEST;
use super::super::outlook::{Look, Scope};
use super::super::work::{PRESSURE, Record, VOLUME, Work};
use super::adhesion::Stuck;
use super::near::Near;
use super::pairs::{self, Rates, WallRates};
use super::seen::Seen;
use crate::kernels::lattice_sum;
use crate::models::springs::{SkinPoint, Solids};
use crate::neighbors::{Candidates, Grid, Period, wrap};
use crate::scene::Slip;
use crate::simd::Portable;
use crate::state::particles::BLOCK;
use crate::walls::{PointMotion, Walls};

/// Bounds of a boundary particle's volume, × Δ³: where samples crowd it is less than one, at the rim of a sheet the sum over
/// its neighbours would make it more than it is.
const VOLUMES: std::ops::RangeInclusive<f64> = 0.1..=1.2;

/// Cells of the grid of walls at rest, whose particles lie on surfaces in a large space, and of moving ones, whose cells
/// are counted anew with each search.
const STILL_CELLS: f64 = (1 << 24) as f64;
const MOVING_CELLS: f64 = (1 << 18) as f64;

/// What a boundary particle belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// A face of the domain, at this place, m.
    Face(DVec3),
    /// The wall of that number, at this place in its own frame, m.
    Wall(u32, DVec3),
    /// A mass-spring body.
    Skin(SkinPoint),
}

/// A boundary particle as it was sampled.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// What it belongs to.
    pub owner: Owner,
    /// Unit vector from the wall into the fluid.
    pub normal: DVec3,
    /// How far it lies behind the wall's surface, m.
    pub depth: f64,
    /// Tangential behaviour of its wall.
    pub slip: Slip,
    /// Stickiness of its wall.
    pub adhesion: f64,
    /// Its volume, × Δ³, where it is known; else as much as its layer needs.
    pub volume: Option<f64>,
}

impl Origin {
    /// Where it is, m, how it moves, and its normal.
    fn now(&self, walls: &Walls, solids: &Solids) -> (DVec3, PointMotion, DVec3) {
        match &self.owner {
            Owner::Face(place) => (*place, PointMotion::default(), self.normal),
            Owner::Wall(w, q) => {
                let w = *w as usize;
                (walls.to_world(w, *q), walls.motion_at(w, *q), walls.turned(w, self.normal))
            }
            Owner::Skin(point) => {
                let velocity = point.velocity(solids.state());
                let motion = PointMotion { velocity, acceleration: DVec3::ZERO };
                (point.position(solids.state()), motion, self.normal)
            }
        }
    }
}

/// Place (m), motion and normal of a boundary particle.
type Now = (DVec3, PointMotion, DVec3);

/// A set of boundary particles.
#[derive(Debug)]
pub struct Set {
    /// As they were sampled.
    pub origins: Vec<Origin>,
    /// Whether it is that of mass-spring bodies.
    pub is_skin: bool,
    /// Whether they move.
    pub moves: bool,
    /// By origin, × Δ³; negative where fluid slips.
    volume: Vec<f32>,
    /// Pressure by origin, Pa, where it is carried on from step to step.
    pub carried: Vec<f32>,
    /// Number of the origin of each sorted particle.
    pub order: Vec<u32>,
    key: Vec<u32>,
    h: f64,
    /// Cells of the sorted particles.
    pub grid: Grid,
    /// Where they are.
    pub near: Near,
    /// The same, as far as fluid may come from while neighbours are kept.
    beside: Near,
    /// Sorted, m, inside the period.
    pub position: [Vec<f64>; 3],
    /// Where they were when they were sorted, of those that move.
    sorted_at: [Vec<f64>; 3],
    /// Sorted; what fluid sees of them. The density pass sees the wall's own velocity, the force pass the one that
    /// goes on behind the wall.
    pub work: Work,
    /// Velocity of the wall, m/s.
    pub velocity: Vec<[f32; 3]>,
    /// Acceleration of the wall, m/s².
    pub acceleration: Vec<[f32; 3]>,
    /// Normal into the fluid, and depth in h.
    pub face: Vec<[f32; 4]>,
    /// Stickiness a, and a⁶ where it is positive; empty when nothing sticks.
    pub adhesion: Vec<[f32; 2]>,
    /// Who has fluid within what is searched.
    pub touched: Vec<AtomicBool>,
    /// Who has fluid within h, or soon.
    pub awake: Vec<AtomicBool>,
    /// By block: whether any may have a pressure that is not zero.
    pub busy: Vec<bool>,
    /// Whether neighbours were searched in this step; else those found before serve on.
    pub fresh: bool,
    /// By block of fluid: whom it sees.
    pub seen: Vec<Seen>,
    /// By block: which fluid it sees.
    pub wet: Vec<Seen>,
    /// By block of fluid: what it adds to the sums of those that see any.
    pub rates: Vec<WallRates>,
    /// The same for adhesion, where any sticks.
    pub stuck: Vec<Vec<Stuck>>,
}

impl Set {
    /// A set, with volumes from the samples' places as they are now. Neighbours are searched as far as `reach` supports.
    pub fn new(
        origins: Vec<Origin>,
        (h, spacing, reach): (f64, f64, f64),
        moves: bool,
        (walls, solids): (&Walls, &Solids),
        period: Option<&Period>,
    ) -> Self {
        let n = origins.len();
        let cells = if moves { MOVING_CELLS } else { STILL_CELLS };
        let mut set = Set {
            volume: vec![1.0; n],
            carried: Vec::new(),
            is_skin: origins.iter().any(|o| matches!(o.owner, Owner::Skin(_))),
            origins,
            moves,
            order: Vec::new(),
            key: Vec::new(),
            h,
            grid: Grid::for_others(h, cells).reaching(reach as f32),
            near: Near::default(),
            beside: Near::default(),
            position: Default::default(),
            sorted_at: Default::default(),
            work: Work::default(),
            velocity: Vec::new(),
            acceleration: Vec::new(),
            face: Vec::new(),
            adhesion: Vec::new(),
            touched: Vec::new(),
            awake: Vec::new(),
            busy: Vec::new(),
            fresh: true,
            seen: Vec::new(),
            wet: Vec::new(),
            rates: Vec::new(),
            stuck: Vec::new(),
        };
        set.pose(walls, solids, period);
        set.weigh(spacing);
        set.pose(walls, solids, period);
        set
    }

    /// Whether fluid at p, m, may come within the support of any while neighbours are kept.
    pub fn is_beside(&self, p: DVec3) -> bool {
        self.beside.is_near(p)
    }

    /// Number of boundary particles.
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// Where the particles are now, by origin.
    fn now(&self, walls: &Walls, solids: &Solids, period: Option<&Period>) -> Vec<Now> {
        let now = |o: &Origin| {
            let (place, motion, normal) = o.now(walls, solids);
            (wrap(place, period), motion, normal)
        };
        self.origins.par_iter().with_min_len(BLOCK).map(now).collect()
    }

    /// Puts the particles where their walls are, and sorts them.
    pub fn pose(&mut self, walls: &Walls, solids: &Solids, period: Option<&Period>) {
        let now = self.now(walls, solids, period);
        let unsorted: [Vec<f64>; 3] =
            std::array::from_fn(|a| now.par_iter().with_min_len(BLOCK).map(|n| n.0[a]).collect());
        let view = [&unsorted[0][..], &unsorted[1], &unsorted[2]];
        self.grid.fit(view, period);
        self.key.resize(now.len(), 0);
        self.order.resize(now.len(), 0);
        self.grid.sort(view, &mut self.key, &mut self.order);
        self.take(&now);
        let position = [&self.position[0][..], &self.position[1], &self.position[2]];
        let reach = f64::from(self.grid.reach());
        self.near.lay(position, self.h * reach, period);
        self.beside.lay(position, self.h * (reach + f64::from(FARTHEST)), period);
        if self.moves {
            self.sorted_at.clone_from(&self.position);
        }
        for flags in [&mut self.touched, &mut self.awake] {
            flags.resize_with(self.origins.len(), Default::default);
            flags.iter_mut().for_each(|t| *t.get_mut() = false);
        }
    }

    /// Puts the particles where their walls are, in the order they have; the farthest that any has come since they were sorted, m.
    /// Not for space that repeats.
    pub fn follow(&mut self, walls: &Walls, solids: &Solids) -> f64 {
        if !self.moves {
            return 0.0;
        }
        self.take(&self.now(walls, solids, None));
        let [x, y, z] = &self.position;
        let [from_x, from_y, from_z] = &self.sorted_at;
        let way2 =
            |k: usize| (x[k] - from_x[k]).powi(2) + (y[k] - from_y[k]).powi(2) + (z[k] - from_z[k]).powi(2);
        let ways = (0..x.len()).into_par_iter().with_min_len(BLOCK).map(way2);
        ways.reduce(|| 0.0, f64::max).sqrt()
    }

    /// Takes places and motions, by origin.
    fn take(&mut self, now: &[Now]) {
        for (a, sorted) in self.position.iter_mut().enumerate() {
            self.order.par_iter().with_min_len(BLOCK).map(|&k| now[k as usize].0[a]).collect_into_vec(sorted);
        }
        self.work.place(&self.grid, [&self.position[0], &self.position[1], &self.position[2]]);
        let sticks = self.origins.iter().any(|o| o.adhesion != 0.0);
        let n = self.origins.len();
        self.velocity.resize(n, [0.0; 3]);
        self.acceleration.resize(n, [0.0; 3]);
        self.face.resize(n, [0.0; 4]);
        self.adhesion.resize(if sticks { n } else { 0 }, [0.0; 2]);
        let (order, origins, carried, volume, h) =
            (&self.order, &self.origins, &self.carried, &self.volume, self.h);
        let arrays = (
            order.par_iter(),
            self.velocity.par_iter_mut(),
            self.acceleration.par_iter_mut(),
            self.face.par_iter_mut(),
            self.work.records[..n].par_iter_mut(),
        );
        arrays.into_par_iter().with_min_len(BLOCK).for_each(|(&k, velocity, acceleration, face, record)| {
            let k = k as usize;
            let (_, motion, normal) = &now[k];
            *velocity = motion.velocity.as_vec3().to_array();
            *acceleration = motion.acceleration.as_vec3().to_array();
            let n = normal.as_vec3();
            *face = [n.x, n.y, n.z, (origins[k].depth / h) as f32];
            record[4..7].copy_from_slice(velocity);
            record[VOLUME] = volume[k];
            record[PRESSURE] = carried.get(k).copied().unwrap_or(0.0);
        });
        for (sticky, &k) in self.adhesion.iter_mut().zip(&self.order) {
            let a = self.origins[k as usize].adhesion as f32;
            *sticky = [a, a.max(0.0).powi(6)];
        }
        // With what is carried on, any may have.
        self.busy.iter_mut().for_each(|b| *b = true);
    }

    /// Volumes after Akinci 2012: samples that crowd or thin out count so much less or more that a plane of them holds as
    /// much as the lattice layer it stands for.
    fn weigh(&mut self, spacing: f64) {
        let unit = spacing / self.h;
        let term = |s2: f64| sum_term(s2.min(1.0));
        let volumes: Vec<(u32, f32)> = (0..self.len())
            .into_par_iter()
            .map_init(Candidates::default, |candidates, j| {
                let p = self.work.at(j);
                let mut sum = 0.0;
                self.grid.candidates_beside::<Portable>(p, p, candidates);
                for (shift, chunks) in candidates.groups() {
                    for i in chunks.iter().flat_map(|c| c.range()) {
                        let q = self.work.at(i);
                        let d: [f64; 3] = std::array::from_fn(|a| f64::from(p[a] + shift[a] - q[a]));
                        sum += term(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
                    }
                }
                let k = self.order[j];
                let o = &self.origins[k as usize];
                // The layers there are, seen from that of this sample.
                let below = (o.depth / spacing).floor();
                let layers =
                    |y: f64| (y + below).round() >= 0.0 && (y + below).round() < self.layers(spacing);
                let plane =
                    lattice_sum(unit, 1.0, |d, r| if layers(d[1] / unit) { term(r * r) } else { 0.0 })
                        / unit.powi(3);
                let volume = o.volume.unwrap_or(plane / sum).clamp(*VOLUMES.start(), *VOLUMES.end()) as f32;
                (k, if o.slip == Slip::FreeSlip { -volume } else { volume })
            })
            .collect();
        for (k, v) in volumes {
            self.volume[k as usize] = v;
        }
    }

    fn layers(&self, spacing: f64) -> f64 {
        super::layers(self.h / spacing) as f64
    }

    /// Sums over the boundary particles that the fluid (sorted, m) sees, which are searched where neighbours are to be `fresh`; walls
    /// at rest forget what the last force pass saw of them. `unit` is Δ/h; adhesion counts where it `sticks`.
    pub fn find(
        &mut self,
        position: [&[f64]; 3],
        fluid: &[Record],
        unit: f32,
        fresh: bool,
        sticks: bool,
        look: Look,
    ) {
        let n = self.origins.len();
        // Walls that move do not go straight on.
        let scope = if self.moves { Scope::Survey } else { look.scope };
        let ahead = (2.0 * look.span / self.h) as f32;
        self.fresh = fresh;
        self.busy.resize(n.div_ceil(BLOCK), true);
        let (velocity, touched, awake) = (&self.velocity, &self.touched, &self.awake);
        let blocks = self.work.records.par_chunks_mut(BLOCK).zip(&self.busy).enumerate();
        // Those of a block that is not busy have not been touched.
        blocks.filter(|(_, (_, busy))| **busy).for_each(|(block, (records, _))| {
            for (k, r) in records.iter_mut().enumerate() {
                let j = block * BLOCK + k;
                if touched[j].load(Ordering::Relaxed) {
                    touched[j].store(!fresh, Ordering::Relaxed);
                    if scope == Scope::Survey {
                        awake[j].store(false, Ordering::Relaxed);
                    }
                    r[4..7].copy_from_slice(&velocity[j]);
                }
            }
        });
        let count = position[0].len();
        self.seen.resize_with(count.div_ceil(BLOCK), Seen::default);
        self.rates.resize_with(count.div_ceil(BLOCK), WallRates::default);
        self.stuck.resize_with(count.div_ceil(BLOCK), Vec::new);
        let Set { seen, rates, stuck, near, grid, work, touched, awake, face, adhesion, .. } = self;
        let adhesion = if sticks { &adhesion[..] } else { &[] };
        let touched = fresh.then_some(&touched[..]);
        // Few blocks are beside walls: one at a time, so that no thread gets them all.
        let blocks = (seen, rates, stuck).into_par_iter().enumerate().with_max_len(1);
        blocks.for_each(|(block, (seen, rates, stuck))| {
            let range = block * BLOCK..(block * BLOCK + BLOCK).min(count);
            let [x, y, z] = position.map(|a| &a[range.clone()]);
            let mut wanted = [false; BLOCK];
            let wanted = &mut wanted[..x.len()];
            if fresh {
                seen.clear();
                for (k, w) in wanted.iter_mut().enumerate() {
                    *w = near.is_near(DVec3::new(x[k], y[k], z[k]));
                }
                if !wanted.contains(&true) {
                    return;
                }
            } else if seen.is_empty() {
                return;
            }
            seen.place([x, y, z], grid);
            if fresh {
                seen.search_octets(wanted, grid, work);
            }
            rates.reset(x.len(), scope);
            stuck.clear();
            stuck.resize(if adhesion.is_empty() { 0 } else { x.len() }, Stuck::default());
            let (own, adhesion) = (&fluid[range], (adhesion, &mut stuck[..]));
            let mut sums = Rates { face, touched, awake, ahead, own, unit, out: rates, adhesion };
            pairs::rates(seen, &work.records, &mut sums, scope);
        });
    }

    /// Carries pressures on to the next step.
    pub fn carry(&mut self) {
        self.carried.resize(self.origins.len(), 0.0);
        for (&k, r) in self.order.iter().zip(&self.work.records) {
            self.carried[k as usize] = r[PRESSURE];
        }
    }

    /// Goes on from carried pressures.
    pub fn restore(&mut self, carried: Vec<f32>) {
        self.busy.iter_mut().for_each(|b| *b = true);
        for (&k, r) in self.order.iter().zip(&mut self.work.records) {
            r[PRESSURE] = carried[k as usize];
        }
        self.carried = carried;
    }
}
