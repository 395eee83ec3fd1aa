//! First half-kick, drift and collisions: leap-frog in its kick-drift-kick form.
//!
//! In plain loops over parallel arrays, which become vectors; the few that may touch a wall are looked at one by one.

use glam::{DVec3, Vec3A};
use rayon::prelude::*;

use super::continuity::WALLS;
use super::drift::Run;
use super::{HOP, Sph};
use crate::models::Around;
use crate::neighbors::{Moved, Period, wrap};
use crate::simd::{Lanes, widest};
use crate::state::particles::{BLOCK, Particles};
use crate::walls::Walls;

/// How far away walls are looked for that particles need not be held against again until they can have got there, in spacings. Some
/// thirty steps of a river.
const SIGHT: f64 = 0.5;

/// What a step does with every particle.
struct Step<'a> {
    /// s.
    dt: f64,
    walls: &'a Walls,
    period: Option<&'a Period>,
    /// Slower ones that are not beside a body cannot end in one, m²/s².
    hop2: f32,
    /// How far walls come towards them at most, m.
    approach: f32,
    /// How far away walls are looked for, m.
    sight: f64,
}

/// A block of particles.
struct Block<'a> {
    /// m.
    at: [&'a mut [f64]; 3],
    velocity: &'a mut [[f32; 3]],
    acceleration: &'a [[f32; 3]],
    near_wall: &'a [u8],
    /// No body is nearer than this, m; 0 where that is not known.
    clear: &'a mut [f32],
    /// Those that lay in one cell, by one past the number of the last of them; and their ways.
    runs: (&'a [Run], &'a mut [Moved]),
    /// Number of its first particle.
    first: usize,
}

/// What became of particles.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    /// Whether any is nowhere.
    lost: bool,
    /// How far walls moved any from where it would have gone, m at most.
    jump: f64,
    /// And by how much they changed its velocity, m/s at most.
    knock: f64,
}

impl Met {
    /// Both together.
    fn and(self, o: Self) -> Self {
        Met { lost: self.lost || o.lost, jump: self.jump.max(o.jump), knock: self.knock.max(o.knock) }
    }
}

impl Sph {
    /// Kicks, moves and stops particles at walls. Says whether all are still somewhere.
    pub(super) fn advance(&mut self, dt: f64, around: &Around) -> bool {
        // Only while particles are those that were searched.
        let same = self.keeps && !self.stale;
        if !same || self.cleared != self.searches {
            self.clear.clear();
            self.clear.resize(self.particles.len(), 0.0);
            self.cleared = self.searches;
        }
        let mut drift = if same { self.drift.blocks() } else { Vec::new() };
        drift.resize_with(self.particles.len().div_ceil(BLOCK), Default::default);
        let Particles { x, y, z, velocity, acceleration, near_wall, .. } = &mut self.particles;
        // A wall that moves comes nearer by itself.
        let fastest = around.walls.fastest();
        let hop = HOP * self.params.spacing / dt - fastest;
        let step = Step {
            dt,
            walls: around.walls,
            period: self.period.as_ref(),
            hop2: hop.max(0.0).powi(2) as f32,
            approach: (fastest * dt) as f32,
            sight: SIGHT * self.params.spacing,
        };
        let blocks = (
            x.par_chunks_mut(BLOCK),
            y.par_chunks_mut(BLOCK),
            z.par_chunks_mut(BLOCK),
            velocity.par_chunks_mut(BLOCK),
            acceleration.par_chunks(BLOCK),
            near_wall.par_chunks(BLOCK),
            self.clear.par_chunks_mut(BLOCK),
            drift,
        );
        let advance = |(block, (x, y, z, velocity, acceleration, near_wall, clear, runs))| {
            let (at, first): ([&mut [f64]; 3], _) = ([x, y, z], block * BLOCK);
            let mut block = Block { at, velocity, acceleration, near_wall, clear, runs, first };
            let mut met = Met::default();
            step.advance(&mut block, &mut met);
            met
        };
        let blocks = blocks.into_par_iter().enumerate().with_max_len(2);
        let met = blocks.map(advance).reduce(Met::default, Met::and);
        let change = 0.5 * (self.dt + dt) * f64::from(self.extremes.acceleration2).sqrt();
        self.outlook.pass(dt, change, (met.jump, met.knock));
        self.dt = dt;
        !met.lost
    }
}

impl Step<'_> {
    /// Advances a block. Chooses the instruction set.
    fn advance(&self, block: &mut Block, met: &mut Met) {
        let step = self;
        widest!(Step::advance_in(step: &Step, block: &mut Block, met: &mut Met));
    }

    #[inline(always)]
    fn advance_in<L: Lanes>(&self, block: &mut Block, met: &mut Met) {
        let n = block.velocity.len();
        let half = (0.5 * self.dt) as f32;
        let kicks = block.velocity.as_flattened_mut().iter_mut().zip(block.acceleration.as_flattened());
        kicks.for_each(|(v, a)| *v += half * a);
        let mut to = [[0.0; BLOCK]; 3];
        for (a, to) in to.iter_mut().enumerate() {
            for ((to, v), from) in to.iter_mut().zip(&*block.velocity).zip(&*block.at[a]) {
                *to = from + f64::from(v[a]) * self.dt;
            }
        }
        self.collide(block, &mut to, met);
        self.note::<L>(block, &to);
        if let Some(period) = self.period {
            let [x, y, z] = &mut to;
            for ((x, y), z) in x[..n].iter_mut().zip(y).zip(z) {
                [*x, *y, *z] = wrap(DVec3::new(*x, *y, *z), Some(period)).to_array();
            }
        }
        for (at, to) in block.at.iter_mut().zip(&to) {
            at.copy_from_slice(&to[..n]);
            met.lost |= !to[..n].iter().fold(true, |all, v| all & (v * 0.0 == 0.0));
        }
    }

    /// Stops those that would end in a wall.
    #[inline(always)]
    fn collide(&self, block: &mut Block, to: &mut [[f64; BLOCK]; 3], met: &mut Met) {
        const FACE: u8 = 1;
        const BODY: u8 = 2;
        let n = block.velocity.len();
        let mut may_touch = [0u8; BLOCK];
        let inside = self.walls.inside();
        for (a, to) in to.iter().enumerate() {
            let (min, max) = (inside.min[a], inside.max[a]);
            for (touch, to) in may_touch[..n].iter_mut().zip(to) {
                *touch |= u8::from(!(*to >= min && *to <= max)) * FACE;
            }
        }
        if self.walls.has_bodies() {
            let dt = self.dt as f32 * (1.0 + 1e-5);
            let seen = block.velocity.iter().zip(block.near_wall).zip(&mut *block.clear);
            for (touch, ((v, near), clear)) in may_touch.iter_mut().zip(seen) {
                let speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
                let beside = near & !WALLS != 0 || speed2 > self.hop2;
                // What is not beside one is not looked at, and loses count.
                *clear = if beside { *clear - speed2.sqrt() * dt - self.approach } else { 0.0 };
                // What is no number is looked at.
                *touch |= u8::from(beside & (*clear <= 0.0 || clear.is_nan())) * BODY;
            }
        }
        for (k, touch) in may_touch[..n].iter().enumerate().filter(|(_, touch)| **touch != 0) {
            let from = DVec3::new(block.at[0][k], block.at[1][k], block.at[2][k]);
            let before = glam::Vec3::from(block.velocity[k]).as_dvec3();
            let mut v = before;
            let end = DVec3::new(to[0][k], to[1][k], to[2][k]);
            let p = self.walls.collide(from, end, &mut v, self.dt, touch & BODY != 0);
            (0..3).for_each(|a| to[a][k] = p[a]);
            met.jump = met.jump.max(p.distance(end));
            met.knock = met.knock.max(v.distance(before));
            if touch & BODY != 0 {
                block.clear[k] = (0.999 * self.walls.clearance(p, self.sight)) as f32;
            }
            if v != before {
                block.velocity[k] = v.as_vec3().to_array();
            }
        }
    }

    /// Notes how far the particles of each run have moved.
    #[inline(always)]
    fn note<L: Lanes>(&self, block: &mut Block, to: &[[f64; BLOCK]; 3]) {
        let (runs, noted) = &mut block.runs;
        if runs.is_empty() {
            return;
        }
        let mut ways = [[0.0f32; BLOCK + 16]; 3];
        for (a, ways) in ways.iter_mut().enumerate() {
            for ((way, to), from) in ways.iter_mut().zip(&to[a]).zip(&*block.at[a]) {
                *way = (to - from) as f32;
            }
        }
        let mut from = 0;
        for (run, noted) in runs.iter().zip(noted.iter_mut()) {
            let end = run.end as usize - block.first;
            let (mut least, mut most) = (Vec3A::ZERO, Vec3A::ZERO);
            for a in 0..3 {
                (least[a], most[a]) = extent::<L>(&ways[a], from, end);
            }
            *noted = noted.then(Moved::between(least, most));
            from = end;
        }
    }
}

/// Least and greatest of the values from `from` to before `end`, of which there is at least one.
#[inline(always)]
fn extent<L: Lanes>(values: &[f32; BLOCK + 16], from: usize, end: usize) -> (f32, f32) {
    assert!(from < end && end <= BLOCK && L::N <= 16);
    // Whole vectors, the last one so far back that it ends with the last value.
    let (mut least, mut most) = (values[end - 1], values[end - 1]);
    if end - from >= L::N {
        // SAFETY: below the end by a vector.
        let load = |k: usize| unsafe { L::load(values.as_ptr().add(k.min(end - L::N))) };
        let (mut low, mut high) = (load(from), load(from));
        let mut k = from + L::N;
        while k < end {
            (low, high) = (low.min(load(k)), high.max(load(k)));
            k += L::N;
        }
        let mut lanes = [[0.0; 16]; 2];
        // SAFETY: room for all lanes.
        unsafe {
            low.store(lanes[0].as_mut_ptr());
            high.store(lanes[1].as_mut_ptr());
        }
        for (low, high) in lanes[0].iter().zip(&lanes[1]).take(L::N) {
            (least, most) = (least.min(*low), most.max(*high));
        }
    } else {
        for v in &values[from..end] {
            (least, most) = (least.min(*v), most.max(*v));
        }
    }
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;

    #[test]
    fn the_extent_of_values_is_that_of_all_of_them() {
        let mut values = [0.0; BLOCK + 16];
        for (k, v) in values.iter_mut().enumerate() {
            *v = ((k * 7919) % 1009) as f32 - 500.0;
        }
        for (from, end) in [(0, 1), (3, 10), (3, 11), (5, 14), (0, BLOCK), (500, BLOCK), (17, 90)] {
            let of = &values[from..end];
            let naive = (
                of.iter().copied().fold(f32::INFINITY, f32::min),
                of.iter().copied().fold(f32::NEG_INFINITY, f32::max),
            );
            assert_eq!(extent::<Portable>(&values, from, end), naive, "{from} {end}");
        }
    }
}
