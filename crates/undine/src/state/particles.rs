//! Particles as parallel arrays, kept sorted by cell.

use rayon::prelude::*;

use crate::neighbors::{Grid, Period};

/// Block of particles handed to a thread at a time: large enough to hide the hand-over, small enough to balance.
pub const BLOCK: usize = 512;

/// Particles of a fluid. All arrays are equally long; sorting moves them together.
#[derive(Clone, Debug, Default)]
pub struct Particles {
    /// Positions, m. f64, so that slow drift and far places stay exact; the solver works on local f32 copies.
    pub x: Vec<f64>,
    /// See `x`.
    pub y: Vec<f64>,
    /// See `x`.
    pub z: Vec<f64>,
    /// Velocities, m/s.
    pub velocity: Vec<[f32; 3]>,
    /// Accelerations of the last force pass, m/s². Dead by the time of sorting, which uses the array as a buffer, unless
    /// they are kept.
    pub acceleration: Vec<[f32; 3]>,
    /// Density relative to rest, ρ/ρ0.
    pub density: Vec<f32>,
    /// Stable number of each particle, in order of birth.
    pub id: Vec<u32>,
    /// Index of the fluid each belongs to.
    pub fluid: Vec<u8>,
    /// Whether a wall may be so close that the next step could end in it: 1, or 0 where the last step saw that there is
    /// none. In the order of the last sort, which does not move it.
    pub near_wall: Vec<u8>,
    /// Whether sorting moves accelerations too.
    keeps_acceleration: bool,
    /// Number the next particle gets.
    pub next_id: u32,
    scratch: Scratch,
}

/// Buffers kept between steps; one of each type serves all arrays in turn.
#[derive(Clone, Debug, Default)]
struct Scratch {
    key: Vec<u32>,
    order: Vec<u32>,
    wide: Vec<f64>,
    scalar: Vec<f32>,
    vector: Vec<[f32; 3]>,
    fluid: Vec<u8>,
}

impl Particles {
    /// None yet. `keeps_acceleration` says whether sorting moves accelerations too.
    pub fn new(keeps_acceleration: bool) -> Self {
        Particles { keeps_acceleration, ..Default::default() }
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// The three position arrays.
    pub fn position(&self) -> [&[f64]; 3] {
        [&self.x, &self.y, &self.z]
    }

    /// Makes room for exactly so many more, where growing by doubling would waste memory (at the start).
    pub fn reserve_exact(&mut self, more: usize) {
        for a in [&mut self.x, &mut self.y, &mut self.z] {
            a.reserve_exact(more);
        }
        self.velocity.reserve_exact(more);
        self.acceleration.reserve_exact(more);
        self.density.reserve_exact(more);
        self.id.reserve_exact(more);
        self.fluid.reserve_exact(more);
        self.near_wall.reserve_exact(more);
    }

    /// Adds a particle at the end.
    pub fn push(&mut self, position: [f64; 3], velocity: [f32; 3], acceleration: [f32; 3], fluid: u8) {
        self.x.push(position[0]);
        self.y.push(position[1]);
        self.z.push(position[2]);
        self.velocity.push(velocity);
        self.acceleration.push(acceleration);
        self.density.push(1.0);
        self.id.push(self.next_id);
        self.fluid.push(fluid);
        self.near_wall.push(1);
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// Keeps the particles for which `keep(position)` holds, in their order; returns how many went.
    pub fn retain(&mut self, keep: impl Fn([f64; 3]) -> bool) -> usize {
        let n = self.len();
        let mut kept = 0;
        for i in 0..n {
            if keep([self.x[i], self.y[i], self.z[i]]) {
                if kept != i {
                    self.x[kept] = self.x[i];
                    self.y[kept] = self.y[i];
                    self.z[kept] = self.z[i];
                    self.velocity[kept] = self.velocity[i];
                    self.acceleration[kept] = self.acceleration[i];
                    self.density[kept] = self.density[i];
                    self.id[kept] = self.id[i];
                    self.fluid[kept] = self.fluid[i];
                    self.near_wall[kept] = self.near_wall[i];
                }
                kept += 1;
            }
        }
        self.x.truncate(kept);
        self.y.truncate(kept);
        self.z.truncate(kept);
        self.velocity.truncate(kept);
        self.acceleration.truncate(kept);
        self.density.truncate(kept);
        self.id.truncate(kept);
        self.fluid.truncate(kept);
        self.near_wall.truncate(kept);
        n - kept
    }

    /// Lays `grid` over particles that are sorted already, and moves none.
    pub fn lay(&mut self, grid: &mut Grid, period: Option<&Period>) {
        let position = [&self.x[..], &self.y[..], &self.z[..]];
        grid.fit(position, period);
        grid.sort(position, &mut self.scratch.key, &mut self.scratch.order);
    }

    /// Where each particle was before the last sort: `order()[k]` is the one that came k-th.
    pub fn order(&self) -> &[u32] {
        &self.scratch.order
    }

    /// Lays `grid` over the particles and sorts them by its cells.
    ///
    /// Accelerations are lost, unless they are kept.
    pub fn sort(&mut self, grid: &mut Grid, period: Option<&Period>) {
        self.lay(grid, period);
        let s = &mut self.scratch;
        permute(&s.order, &mut self.x, &mut s.wide);
        permute(&s.order, &mut self.y, &mut s.wide);
        permute(&s.order, &mut self.z, &mut s.wide);
        if self.keeps_acceleration {
            permute(&s.order, &mut self.acceleration, &mut s.vector);
            permute(&s.order, &mut self.velocity, &mut s.vector);
        } else {
            permute(&s.order, &mut self.velocity, &mut self.acceleration);
        }
        permute(&s.order, &mut self.density, &mut s.scalar);
        permute(&s.order, &mut self.id, &mut s.key);
        permute(&s.order, &mut self.fluid, &mut s.fluid);
    }
}

fn permute<T: Copy + Default + Send + Sync>(order: &[u32], data: &mut Vec<T>, spare: &mut Vec<T>) {
    spare.resize(order.len(), T::default());
    spare.par_chunks_mut(8 * BLOCK).zip(order.par_chunks(8 * BLOCK)).for_each(|(out, from)| {
        for (o, &i) in out.iter_mut().zip(from) {
            *o = data[i as usize];
        }
    });
    std::mem::swap(data, spare);
}
