//! The Lennard-Jones fluid of Lee, Hong & Shin 2005.
//!
//! | equation | here |
//! |---|---|
//! | 2 pair potential, 3 pair force | [`pair::Pair`]; over all pairs: [`force`] |
//! | 4 motion | [`LennardJones::step`], velocity Verlet |
//! | 5 friction | [`kick`], exact for any step |
//! | 6 balance without inertia | `dynamics = "overdamped"` |
//!
//! `docs/lennard-jones.md` tells what is added to the paper, and why.

pub mod force;
mod kick;
pub mod list;
pub mod naive;
pub mod pair;
pub mod params;
mod saved;
#[cfg(test)]
mod tests;
pub mod wall;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use self::force::{Closest, Constants, Quad, Seen};
use self::kick::Kick;
use self::list::{BLOCK, List};
use self::params::Params;
use self::wall::{Beside, Moment};
use super::{Around, Birth, Passes, Solver, StepLimit, Trouble};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::frame::{Field, FieldData, Frame};
use crate::neighbors::{Candidates, Grid, Period, is_neighbor, wrap};
use crate::scene::{Dynamics, Scene};
use crate::simd::Portable;
use crate::state::particles::Particles;

/// A particle faster than this many times the greatest expected speed (and five times √(ε/m)) is running away.
const RUNAWAY: f64 = 20.0;

/// A particle that moves by more than this in a step, in spacings, is held against all walls, near or not.
const HOP: f64 = 0.5;

/// A place so far away that it adds to no sum. Not by its coordinates, of which some image may be near.
const FAR: Quad = [0.0, 0.0, 0.0, 1e18];

/// Skins to choose from, × σ.
const SKINS: [f64; 6] = [0.15, 0.2, 0.3, 0.4, 0.55, 0.75];

/// What making a list costs, in sums over it.
const LIST_COST: f64 = 5.0;

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
    /// Way of the fastest wall since the start and, then, m.
    travel: f64,
    listed_travel: f64,
    /// Where the particles were then, m.
    reference: [Vec<f64>; 3],
    /// Places and velocities now, and a far one at the end.
    place: Vec<Quad>,
    velocity: Vec<Quad>,
    /// Places when the list was made.
    listed: Vec<Quad>,
    constants: Constants,
    extremes: Extremes,
    period: Option<Period>,
    /// Steps so far, for the thermostat's dice.
    steps: u64,
    /// How often the list was made.
    lists: u64,
}

impl LennardJones {
    /// An empty model for a scene.
    pub fn new(scene: &Scene) -> Self {
        let params = Params::new(scene);
        let skin = SKINS[2] * params.pair.sigma;
        let h = params.pair.cutoff + skin;
        LennardJones {
            particles: Particles::new(false),
            grid: Grid::new(h),
            list: List::default(),
            skin,
            stale: true,
            newborn: 0,
            beside: Vec::new(),
            travel: 0.0,
            listed_travel: 0.0,
            reference: Default::default(),
            place: Vec::new(),
            velocity: Vec::new(),
            listed: Vec::new(),
            constants: Constants::new(&params, h, [0.0; 3]),
            extremes: Extremes::default(),
            period: crate::walls::period(scene),
            steps: 0,
            lists: 0,
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

    /// How often a list of neighbours was made so far.
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
            force::measures(&seen, rows, block * BLOCK, out);
        });
        out
    }

    fn seen(&self) -> Seen<'_> {
        Seen { place: &self.place, velocity: &self.velocity, constants: &self.constants }
    }

    /// First half-kick, drift, collisions. Says how far any particle is from where it was listed (units of the support,
    /// squared); no number when one is nowhere.
    fn advance(&mut self, dt: f64, around: &Around) -> f32 {
        let kick = Kick::new(&self.params, 0.5 * dt);
        let overdamped = self.params.dynamics == Dynamics::Overdamped;
        // A wall that moves comes nearer by itself.
        let hop = (HOP * self.params.spacing / dt - around.walls.fastest()).max(0.0);
        let hop2 = (hop * hop) as f32;
        let has_walls = !around.walls.is_empty();
        let n = self.particles.len();
        let now = Moment { time: around.time, travel: self.travel };
        // What is kept of walls is by number, and numbers have changed where particles came or went.
        let fresh = !self.stale && self.beside.len() == n;
        let LennardJones { particles, grid, place, velocity: seen, listed, beside, .. } = self;
        let Particles { x, y, z, velocity, acceleration, near_wall, fluid, .. } = particles;
        let blocks = (
            x.par_chunks_mut(BLOCK),
            y.par_chunks_mut(BLOCK),
            z.par_chunks_mut(BLOCK),
            velocity.par_chunks_mut(BLOCK),
            acceleration.par_chunks(BLOCK),
            near_wall.par_chunks(BLOCK),
            fluid.par_chunks(BLOCK),
            place[..n].par_chunks_mut(BLOCK),
            seen[..n].par_chunks_mut(BLOCK),
            listed[..n].par_chunks(BLOCK),
        );
        let farthest = blocks.into_par_iter().enumerate().map(
            |(block, (x, y, z, velocity, acceleration, near_wall, fluid, place, seen, listed))| {
                for (k, v) in velocity.iter_mut().enumerate() {
                    let mut u = Vec3::from(*v);
                    if !overdamped {
                        u = kick.half(u, acceleration[k].into(), fluid[k]);
                    }
                    let from = DVec3::new(x[k], y[k], z[k]);
                    let mut fast = u.as_dvec3();
                    let mut p = from + fast * dt;
                    if has_walls {
                        let bodies = near_wall[k] != 0
                            && !(fresh && beside[block * BLOCK + k].is_clear(p, now))
                            || u.length_squared() > hop2;
                        let before = fast;
                        p = around.walls.collide(from, p, &mut fast, dt, bodies);
                        if fast != before {
                            u = fast.as_vec3();
                        }
                    }
                    *v = u.to_array();
                    [x[k], y[k], z[k]] = p.to_array();
                    seen[k] = [u.x, u.y, u.z, 0.0];
                }
                fill(grid, [x, y, z], place);
                farthest(place, listed)
            },
        );
        farthest.reduce(|| 0.0, |a, b| if a > b || a.is_nan() { a } else { b })
    }

    /// Makes the list of neighbours, and sorts for it.
    fn relist(&mut self, around: &Around, step: f64) {
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
            let mut kept = std::mem::take(&mut self.beside);
            kept.resize_with(self.particles.len(), Beside::default);
            let order = self.particles.order();
            self.beside.extend(order.iter().map(|&i| std::mem::take(&mut kept[i as usize])));
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
    fn lay(&mut self) {
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
        let cost = |skin: f64| (rc + skin).powi(3) * (1.0 + LIST_COST * (2.0 * way / skin).min(1.0));
        let mut best = (f64::INFINITY, SKINS[0] * sigma);
        for skin in SKINS.map(|s| s * sigma) {
            let skin = skin.min(widest);
            if cost(skin) < best.0 {
                best = (cost(skin), skin);
            }
        }
        self.set_skin(best.1);
    }

    fn set_skin(&mut self, skin: f64) {
        self.skin = skin;
        let h = self.params.pair.cutoff + skin;
        self.grid = Grid::new(h);
        let period = self
            .period
            .map_or([0.0; 3], |p| std::array::from_fn(|a| if p.axes[a] { p.max[a] - p.min[a] } else { 0.0 }));
        self.constants = Constants::new(&self.params, h, period);
    }

    /// All forces, and the second half-kick.
    fn forces(&mut self, around: &Around, dt: f64) {
        let kick = Kick::new(&self.params, 0.5 * dt);
        let heat = kick.heat(&self.params, dt, self.steps);
        let params = &self.params;
        let seen = Seen { place: &self.place, velocity: &self.velocity, constants: &self.constants };
        let scale = self.constants.force;
        let only_gravity = around.fields.only_gravity();
        let gravity = around.fields.gravity.as_vec3();
        let per_mass: Vec<f32> = params.mass.iter().map(|m| (1.0 / m) as f32).collect();
        let overdamped = params.dynamics == Dynamics::Overdamped;
        let moment = Moment { time: around.time, travel: self.travel };
        let Particles { x, y, z, velocity, acceleration, near_wall, fluid, id, .. } = &mut self.particles;
        let (x, y, z, fluid, id) = (&x[..], &y[..], &z[..], &fluid[..], &id[..]);
        // One part for each block, of nothing where there are no walls.
        let mut beside: Vec<&mut [Beside]> = self.beside.chunks_mut(BLOCK).collect();
        beside.resize_with(self.list.blocks.len(), Default::default);
        let blocks = (velocity.par_chunks_mut(BLOCK), acceleration.par_chunks_mut(BLOCK), beside);
        let extremes = blocks.into_par_iter().zip(&self.list.blocks).enumerate().map(
            |(block, ((velocity, acceleration, beside), rows))| {
                let first = block * BLOCK;
                let mut most = Extremes { fastest: usize::MAX, ..Extremes::default() };
                force::forces(&seen, rows, first, acceleration, &mut most.closest);
                for (k, (v, a)) in velocity.iter_mut().zip(acceleration).enumerate() {
                    let i = first + k;
                    let f = usize::from(fluid[i]);
                    let mut now = Vec3::from(*v);
                    let mut sum = Vec3::from(*a) * scale;
                    if let Some(b) = beside.get_mut(k).filter(|_| near_wall[i] != 0) {
                        let at = (DVec3::new(x[i], y[i], z[i]), now.as_dvec3());
                        sum += b.force(params, around.walls, at, moment, &mut most.closest).as_vec3();
                    }
                    let mut acc = sum * per_mass[f];
                    acc += if only_gravity {
                        gravity
                    } else {
                        let p = DVec3::new(x[i], y[i], z[i]);
                        around.fields.acceleration(p, now.as_dvec3()).as_vec3()
                    };
                    *a = acc.to_array();
                    now = if overdamped { acc * kick.per_drag(f) } else { kick.half(now, acc, f as u8) };
                    if let Some(heat) = &heat {
                        now += heat.push(f, id[i]);
                    }
                    *v = now.to_array();
                    let speed2 = now.length_squared();
                    if speed2 > most.speed2 || speed2.is_nan() || most.fastest == usize::MAX {
                        (most.speed2, most.fastest) = (speed2, i);
                    }
                }
                most
            },
        );
        let none = || Extremes { fastest: usize::MAX, ..Extremes::default() };
        self.extremes = extremes.reduce(none, Extremes::and);
        if self.extremes.fastest == usize::MAX {
            self.extremes.fastest = 0;
        }
    }

    /// Stops a state that must not go on.
    fn guard(&self, time: f64) -> Result<(), Trouble> {
        let speed = f64::from(self.extremes.speed2).sqrt();
        let most = RUNAWAY * (self.params.expected_speed + 5.0 * self.params.pace());
        if self.particles.is_empty() || speed.is_finite() && speed <= most {
            return Ok(());
        }
        Err(self.trouble(self.extremes.fastest, time))
    }

    fn trouble(&self, i: usize, time: f64) -> Trouble {
        let Particles { x, y, z, velocity, id, .. } = &self.particles;
        Trouble {
            term: "pair force",
            value: f64::from(Vec3::from(velocity[i]).length()),
            particle: id[i],
            position: [x[i], y[i], z[i]],
            time,
        }
    }
}

/// Local places of a block.
fn fill(grid: &Grid, position: [&[f64]; 3], place: &mut [Quad]) {
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
fn fill_all(grid: &Grid, [x, y, z]: [&[f64]; 3], place: &mut [Quad]) {
    let parts = (x.par_chunks(BLOCK), y.par_chunks(BLOCK), z.par_chunks(BLOCK));
    parts
        .into_par_iter()
        .zip(place.par_chunks_mut(BLOCK))
        .for_each(|((x, y, z), place)| fill(grid, [x, y, z], place));
}

/// Greatest squared distance of places, or no number if one has none.
fn farthest(a: &[Quad], b: &[Quad]) -> f32 {
    let mut most = 0.0;
    for (a, b) in a.iter().zip(b) {
        let (dx, dy, dz) = (a[0] - b[0], a[1] - b[1], a[2] - b[2]);
        let d2 = dx * dx + dy * dy + dz * dz;
        // Stays no number once it is.
        most = if d2 <= most || most.is_nan() { most } else { d2 };
    }
    most
}

impl Solver for LennardJones {
    /// The share of a period of the stiffest pair, of a pair's way to each other, and of the time friction takes.
    fn step_limit(&self) -> StepLimit {
        let p = &self.params;
        let close = f64::from(self.extremes.closest.close);
        let r = p.pair.sigma / close.max(1e-12).sqrt();
        let stiffness = p.pair.stiffness(r.min(p.pair.rest()).max(p.core * p.pair.sigma));
        let lightest = p.lightest();
        let (speed, d) = (f64::from(self.extremes.speed2).sqrt(), p.spacing);
        let pair = match p.dynamics {
            Dynamics::Inertia => PAIR / (2.0 * stiffness / lightest).sqrt(),
            Dynamics::Overdamped => {
                let zeta = p.drag.iter().zip(&p.mass).map(|(d, m)| d * m).fold(f64::INFINITY, f64::min);
                PAIR * PAIR * zeta / (2.0 * stiffness)
            }
        };
        let cfl = if p.damping > 0.0 {
            (APPROACH / f64::from(self.extremes.closest.rate).max(1e-30)).min(FLIGHT * d / speed.max(1e-30))
        } else {
            APPROACH * d / speed.max(1e-30)
        };
        let limits = [("pair", pair), ("cfl", cfl), ("viscous", VISCOUS * lightest / p.damping.max(1e-300))];
        let (name, step) = limits.into_iter().fold(limits[0], |a, b| if b.1 < a.1 { b } else { a });
        StepLimit { step: p.cfl * step, name }
    }

    fn step(&mut self, dt: f64, around: &Around, passes: &mut Passes) -> Result<(), Trouble> {
        if self.place.len() != self.particles.len() + 1 {
            self.stale = true;
            let n = self.particles.len();
            self.place.resize(n + 1, FAR);
            self.velocity.resize(n + 1, [0.0; 4]);
            self.listed.resize(n, [0.0; 4]);
        }
        self.travel += around.walls.fastest() * dt;
        let moved = passes.time("move", || self.advance(dt, around));
        if moved.is_nan() {
            let p = &self.particles;
            let lost = (0..p.len()).find(|&i| !(p.x[i] + p.y[i] + p.z[i]).is_finite());
            return Err(self.trouble(lost.unwrap_or(0), around.time));
        }
        let moved = f64::from(moved).sqrt() * (self.params.pair.cutoff + self.skin) * (1.0 + 1e-4);
        if self.stale || 2.0 * moved > self.skin || moved + self.travel - self.listed_travel > self.skin {
            passes.time("list", || self.relist(around, dt));
        }
        passes.time("force", || self.forces(around, dt));
        self.steps += 1;
        self.guard(around.time)
    }

    /// Moves apart what the start put too close together (beside walls, where fluids meet), which would fly off.
    fn settle(&mut self, around: &Around) {
        let sigma = self.params.pair.sigma;
        for _ in 0..SETTLING {
            self.relist(around, 0.0);
            let velocity = self.particles.velocity.clone();
            self.forces(around, 0.0);
            self.particles.velocity = velocity;
            if f64::from(self.extremes.closest.close) < (1.0 / TIGHT).powi(2) {
                break;
            }
            let weight = (self.params.lightest() / self.params.pair.stiffness(TIGHT * sigma)) as f32;
            let most = (0.03 * sigma) as f32;
            let p = &mut self.particles;
            for i in 0..p.len() {
                let push = Vec3::from(p.acceleration[i]) - around.fields.gravity.as_vec3();
                let way = (push * (0.3 * weight)).clamp_length_max(most).as_dvec3();
                let from = DVec3::new(p.x[i], p.y[i], p.z[i]);
                let mut rest = DVec3::ZERO;
                let to = around.walls.collide(from, from + way, &mut rest, 1.0, p.near_wall[i] != 0);
                [p.x[i], p.y[i], p.z[i]] = to.to_array();
            }
        }
        self.stale = true;
    }

    fn refresh(&mut self, around: &Around, passes: &mut Passes) {
        passes.time("list", || self.relist(around, 0.0));
        passes.time("force", || self.forces(around, 0.0));
    }

    fn insert(&mut self, births: &[Birth]) -> usize {
        if self.particles.is_empty() {
            self.particles.reserve_exact(births.len());
        }
        for b in births {
            let (position, velocity) = (b.position.to_array(), b.velocity.as_vec3().to_array());
            self.particles.push(position, velocity, [0.0; 3], b.fluid as u8);
        }
        self.newborn += births.len();
        self.stale |= !births.is_empty();
        births.len()
    }

    fn occupied(&self, place: DVec3, distance: f64) -> bool {
        let p = self.grid.local(place.to_array());
        // Nearer than this a pair pushes hard: what an emitter puts there is shot off.
        let distance = distance.max(ROOM * self.params.spacing);
        let reach = (distance / (self.params.pair.cutoff + self.skin)) as f32;
        let mut candidates = Candidates::default();
        // These reach the support of where particles were when listed; emitters ask for less than that and the skin.
        self.grid.candidates_anywhere::<Portable>(p, p, &mut candidates);
        candidates.groups().any(|(shift, chunks)| {
            chunks.iter().flat_map(|c| c.range()).any(|j| {
                let Some(q) = self.place.get(j) else { return false };
                is_neighbor(std::array::from_fn(|a| (p[a] + shift[a] - q[a]) / reach))
            })
        })
    }

    fn remove(&mut self, region: &(dyn Fn(DVec3) -> bool + Sync)) -> usize {
        let gone = self.particles.retain(|p| !region(p.into()));
        // Those that came before are as old as the list by now, mostly: pushing a few of them off walls does no harm.
        self.newborn = self.newborn.min(self.particles.len());
        self.stale |= gone > 0;
        gone
    }

    fn len(&self) -> usize {
        self.particles.len()
    }

    fn frame(&self, _around: &Around) -> Frame {
        let p = &self.particles;
        let n = p.len();
        let mut frame =
            Frame { spacing: self.params.spacing, support: self.params.pair.cutoff, ..Default::default() };
        let place =
            |i: usize| wrap(DVec3::new(p.x[i], p.y[i], p.z[i]), self.period.as_ref()).as_vec3().to_array();
        frame.particles.position = (0..n).into_par_iter().map(place).collect();
        let volume = self.params.spacing.powi(3) as f32;
        let pressure = self.measures().into_iter().map(|[_, virial]| virial / (3.0 * volume)).collect();
        let density = p.fluid.iter().map(|f| self.params.density[usize::from(*f)] as f32).collect();
        let mut add = |name, data| frame.particles.fields.push(Field { name, data });
        add("velocity", FieldData::Vector(p.velocity.clone()));
        add("density", FieldData::Scalar(density));
        add("pressure", FieldData::Scalar(pressure));
        add("fluid", FieldData::Byte(p.fluid.clone()));
        add("id", FieldData::Int(p.id.clone()));
        frame
    }

    /// Viscosity and surface tension of this fluid follow from its pairs: there is nothing to set.
    fn set_fluid(&mut self, _fluid: usize, _key: &str, _value: f64) -> bool {
        false
    }

    fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        saved::save(self, out)
    }

    fn load(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        saved::load(self, from)
    }
}

/// Step over the period of the stiffest pair / 2π. Verlet is stable up to 2, and waves in a lattice whose pairs all were as
/// stiff would have twice its frequency.
const PAIR: f64 = 0.8;
/// Share of their distance by which two particles may come nearer in a step.
const APPROACH: f64 = 0.1;
/// Share of a spacing that a particle may fly in a step.
const FLIGHT: f64 = 0.4;
/// Step over the time in which friction between two particles stops them.
const VISCOUS: f64 = 0.3;
/// Room that a new particle needs, × spacing.
const ROOM: f64 = 0.85;
/// Distance of new particles from walls, × spacing.
const OFF_WALL: f64 = 0.45;
/// Pairs nearer than this, × σ, are moved apart at the start.
const TIGHT: f64 = 0.9;
/// In so many moves at most.
const SETTLING: usize = 60;
