//! Particles as parallel arrays, kept sorted by cell.

use bytemuck::Pod;
use rayon::prelude::*;

use super::pages::Pages;
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::neighbors::{Grid, Period};

/// No run gets a particle so far, m.
pub const FARTHEST: f64 = 1e18;

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

/// Buffers of sorting; one of each type serves all arrays in turn.
#[derive(Clone, Debug, Default)]
struct Scratch {
    key: Pages<u32>,
    order: Pages<u32>,
    wide: Pages<f64>,
    scalar: Pages<f32>,
    vector: Vec<[f32; 3]>,
    fluid: Pages<u8>,
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

    /// As [`Particles::sort`], with accelerations; leaves particles that are in order alone.
    pub fn sort_all(&mut self, grid: &mut Grid, period: Option<&Period>) {
        self.lay(grid, period);
        if self.scratch.order.is_sorted() {
            return;
        }
        let keeps = std::mem::replace(&mut self.keeps_acceleration, true);
        self.sort(grid, period);
        self.keeps_acceleration = keeps;
        // Not known any more.
        self.near_wall.fill(1);
    }

    /// Lays `grid` over particles that are sorted already, and moves none.
    pub fn lay(&mut self, grid: &mut Grid, period: Option<&Period>) {
        let position = [&self.x[..], &self.y[..], &self.z[..]];
        grid.fit(position, period);
        self.scratch.key.resize(self.id.len());
        self.scratch.order.resize(self.id.len());
        grid.sort(position, &mut self.scratch.key, &mut self.scratch.order);
    }

    /// Writes all arrays.
    pub fn save(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        out.put_u64(self.len() as u64)?;
        out.put_u32(self.next_id)?;
        for a in self.position() {
            out.put_f64s(a)?;
        }
        out.put_f32x3s(&self.velocity)?;
        out.put_f32x3s(&self.acceleration)?;
        out.put_f32s(&self.density)?;
        out.put_u32s(&self.id)?;
        out.put_u8s(&self.fluid)?;
        out.put_u8s(&self.near_wall)
    }

    /// Reads what [`Particles::save`] wrote, for a scene of so many fluids.
    pub fn load(&mut self, from: &mut CheckpointReader, fluids: usize) -> Result<(), CheckpointError> {
        let damaged = |what: &str| CheckpointError::Damaged { what: what.into() };
        let n = from.get_u64()? as usize;
        self.next_id = from.get_u32()?;
        self.x = from.get_f64s()?;
        self.y = from.get_f64s()?;
        self.z = from.get_f64s()?;
        self.velocity = from.get_f32x3s()?;
        self.acceleration = from.get_f32x3s()?;
        self.density = from.get_f32s()?;
        self.id = from.get_u32s()?;
        self.fluid = from.get_u8s()?;
        self.near_wall = from.get_u8s()?;
        let places = self.position().map(<[f64]>::len);
        let motion = [self.velocity.len(), self.acceleration.len(), self.density.len()];
        let rest = [self.id.len(), self.fluid.len(), self.near_wall.len()];
        if [places, motion, rest].as_flattened().iter().any(|l| *l != n) {
            return Err(damaged("particle arrays differ in length"));
        }
        if self.fluid.iter().any(|f| usize::from(*f) >= fluids) {
            return Err(damaged("a particle belongs to no fluid of the scene"));
        }
        if !self.position().into_iter().flatten().all(|v| v.abs() < FARTHEST) {
            return Err(damaged("a particle is nowhere"));
        }
        let finite = |a: &[[f32; 3]]| a.as_flattened().iter().all(|v| v.is_finite());
        if !(finite(&self.velocity) && finite(&self.acceleration)) {
            return Err(damaged("a particle's motion is no number"));
        }
        Ok(())
    }

    /// Gives back the buffers of sorting; [`Particles::order`] is lost.
    pub fn shed(&mut self) {
        self.scratch = Scratch::default();
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
        self.move_all();
    }

    /// Puts the particles in an order: `order[k]` is the one that comes k-th. Accelerations as in [`Particles::sort`].
    pub(crate) fn put_in_order(&mut self, order: &[u32]) {
        self.scratch.order.resize(order.len());
        self.scratch.order.copy_from_slice(order);
        self.move_all();
    }

    fn move_all(&mut self) {
        let Particles { x, y, z, velocity, acceleration, density, id, fluid, scratch, .. } = self;
        let Scratch { key, order, wide, scalar, vector, fluid: bytes } = scratch;
        let (order, keeps) = (&order[..], self.keeps_acceleration);
        // Both at once: of few particles each array alone is not worth waking a thread for.
        rayon::join(
            || [x, y, z].into_iter().for_each(|x| permute(order, x, wide)),
            || {
                // These have an array to swap with, and not only room.
                if keeps {
                    swap(order, acceleration, vector);
                    swap(order, velocity, vector);
                } else {
                    swap(order, velocity, acceleration);
                }
                permute(order, density, scalar);
                permute(order, id, key);
                permute(order, fluid, bytes);
            },
        );
    }
}

/// Particles below which an array is put in order by one thread.
const FEW: usize = 1 << 15;

fn permute<T: Pod + Send + Sync>(order: &[u32], data: &mut [T], spare: &mut Pages<T>) {
    spare.resize(order.len());
    put(order, data, spare);
    data.copy_from_slice(spare);
}

fn swap<T: Copy + Default + Send + Sync>(order: &[u32], data: &mut Vec<T>, spare: &mut Vec<T>) {
    spare.resize(order.len(), T::default());
    put(order, data, spare);
    std::mem::swap(data, spare);
}

/// Puts data in order.
fn put<T: Copy + Send + Sync>(order: &[u32], data: &[T], out: &mut [T]) {
    let part = if order.len() < FEW { FEW } else { 8 * BLOCK };
    out.par_chunks_mut(part).zip(order.par_chunks(part)).for_each(|(out, from)| {
        for (o, &i) in out.iter_mut().zip(from) {
            *o = data[i as usize];
        }
    });
}
