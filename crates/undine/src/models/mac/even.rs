//! Keeps the liquid's volume: markers are spread where they crowd and drawn together where they thin out, by displacements that
//! solve the pressure's own system (Kugelstadt 2019), and markers of crowded cells are put into cells that run dry.
//!
//! Velocities know nothing of it, so that it neither heats nor damps the flow. No marker is made or lost.

use rayon::prelude::*;

use super::cuts::Cuts;
use super::each_plane;
use super::extrapolate::{cover, pad};
use super::fringe::Fringe;
use super::layout::Layout;
use super::liquid::Liquid;
use super::poisson::{Goal, Report};
use super::pressure::subtract_gradient;
use super::rows;
use super::transfer::{Faces, velocity_and_gradient_at};
use crate::state::markers::{Markers, Order};

/// Errors of the filling that are left alone: markers at rest stay at rest.
const SLACK: f32 = 0.005;
/// Farthest that markers are spread in a step, cells.
const NUDGE: f32 = 0.2;
/// Greatest error that is believed.
const MOST: f32 = 0.5;

/// When displacements will do.
const ROUGH: Goal = Goal { tolerance: 0.05, peak: f64::INFINITY, most: 10 };

/// Displacements and what they are computed from.
#[derive(Clone, Debug, Default)]
pub struct Even {
    wanted: Vec<f32>,
    q: Vec<f32>,
    /// Displacements at faces, m, spread and padded; then velocities, m/s ([`Even::add`]).
    pub shift: Faces,
    /// Iterations of the last solve.
    pub iterations: usize,
}

impl Even {
    /// Finds displacements of faces beside liquid; says whether there is anything to displace. `answer` solves the system of this
    /// liquid's pressure: a rough answer will do, since what is left is corrected in later steps.
    pub fn find(
        &mut self,
        layout: &Layout,
        cuts: &Cuts,
        liquid: &Liquid,
        answer: impl FnOnce(&[f32], &mut [f32], Goal) -> Report,
    ) -> bool {
        let [nx, ny, nz] = layout.n;
        self.wanted.resize(nx * ny * nz, 0.0);
        let greatest = self.wanted.par_chunks_mut(nx * ny).enumerate().map(|(z, wanted)| {
            let mut greatest = 0;
            for (y, row) in wanted.chunks_exact_mut(nx).enumerate() {
                let first = layout.at([0, y, z]);
                row.fill(0.0);
                if liquid.wet[first..first + nx].contains(&true) {
                    let (fill, wet) = (&liquid.fill[first..][..nx], &liquid.wet[first..][..nx]);
                    if rows::surplus(fill, wet, SLACK, MOST, row) {
                        for x in (0..nx).filter(|x| wet[*x] & (fill[*x] - 1.0 < -SLACK)) {
                            row[x] = shortage(layout, cuts, liquid, first + x);
                        }
                    }
                    greatest = greatest.max(rows::greatest_wet(wet, row));
                }
            }
            greatest
        });
        let greatest = greatest.reduce(|| 0, u32::max);
        self.iterations = 0;
        if greatest == 0 {
            return false;
        }
        self.q.clear();
        self.q.resize(nx * ny * nz, 0.0);
        let report = answer(&self.wanted, &mut self.q, ROUGH);
        self.iterations = report.iterations;
        self.shift.par_iter_mut().for_each(|shift| {
            shift.clear();
            shift.resize(layout.len(), 0.0);
        });
        subtract_gradient(layout, cuts, liquid, &self.q, &mut self.shift);
        true
    }

    /// Spreads displacements into air.
    pub fn spread(&mut self, layout: &Layout, cuts: &Cuts, fringe: &Fringe, layers: usize) {
        fringe.fill(layout, &mut self.shift, layers);
        still(cuts, &mut self.shift);
        pad(layout, cuts, &mut self.shift);
    }

    /// Makes of displacements the velocities that move markers during `dt`, s: `u` and what evens them out.
    pub fn add(&mut self, layout: &Layout, u: &Faces, dt: f64) {
        each_plane(layout, &mut self.shift, |a, at, shift| {
            let (most, rate) = (NUDGE * layout.h[a] as f32, (1.0 / dt) as f32);
            rows::drift(&u[a][at..at + shift.len()], most, rate, shift);
        });
    }
}

/// Share by which a wet cell that is less than full should grow: less than 0, and only inside. At the surface it is the surface.
fn shortage(layout: &Layout, cuts: &Cuts, liquid: &Liquid, i: usize) -> f32 {
    let is_inside = (0..3).all(|a| {
        let s = layout.stride[a];
        (liquid.wet[i - s] || cuts.open[a][i] == 0.0) && (liquid.wet[i + s] || cuts.open[a][i + s] == 0.0)
    });
    if is_inside { (liquid.fill[i] - 1.0 + SLACK).max(-MOST) } else { 0.0 }
}

/// Walls do not move by displacements.
fn still(cuts: &Cuts, shift: &mut Faces) {
    for (covered, shift) in cuts.covered.iter().zip(shift) {
        for c in covered {
            shift[c.face as usize] = 0.0;
        }
    }
}

/// Moves markers of crowded cells into cells inside the liquid that have run dry, with the velocity there. `each` is how many a
/// full cell has. Markers must be in order; those moved are out of it after.
pub fn transplant(
    layout: &Layout,
    cuts: &Cuts,
    liquid: &Liquid,
    u: &Faces,
    order: &Order,
    markers: &mut Markers,
    each: usize,
) -> usize {
    let [nx, ny, nz] = layout.n;
    let count = |c: usize| (order.start[c + 1] - order.start[c]) as usize;
    let dry: Vec<usize> = (0..ny * nz)
        .into_par_iter()
        .with_min_len(64)
        .flat_map_iter(|row| {
            let first = layout.at([0, row % ny, row / ny]);
            // Cut cells hold less anyway.
            let is_dry = move |x: &usize| {
                let i = first + x;
                liquid.wet[i]
                    && count(row * nx + x) * 4 < each
                    && cuts.volume[i] >= 1.0
                    && layout.stride.iter().all(|s| liquid.wet[i - s] && liquid.wet[i + s])
            };
            let cells = if liquid.wet[first..first + nx].contains(&true) { 0..nx } else { 0..0 };
            cells.filter(is_dry).map(move |x| row * nx + x)
        })
        .collect();
    if dry.is_empty() {
        return 0;
    }
    let crowded: Vec<usize> =
        (0..nx * ny * nz).into_par_iter().with_min_len(4096).filter(|&c| count(c) > 2 * each).collect();
    let mut moved = 0;
    let mut from = crowded.iter().flat_map(|&c| {
        let surplus = count(c) - 2 * each;
        // The last ones of the cell.
        (0..surplus).map(move |k| order.start[c + 1] as usize - 1 - k)
    });
    'all: for c in dry {
        for k in 0..(each / 2).max(1) - count(c).min((each / 2).max(1)) {
            let Some(i) = from.next() else { break 'all };
            // Where, follows from the marker's number.
            let cell = [c % nx, c / nx % ny, c / (nx * ny)];
            let mut state = markers.id[i].wrapping_mul(0x9E37_79B9) ^ (k as u32).wrapping_mul(0x85EB_CA6B);
            let x: [f32; 3] = std::array::from_fn(|a| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                cell[a] as f32 + 0.1 + 0.8 * (state >> 8) as f32 / (1 << 24) as f32
            });
            let (velocity, gradient) = velocity_and_gradient_at(layout, u, &x);
            markers.x[i] = x;
            markers.velocity[i] = velocity;
            if markers.has_affine {
                markers.affine[i] = std::array::from_fn(|b| std::array::from_fn(|a| gradient[a][b]));
            }
            moved += 1;
        }
    }
    moved
}

/// Fills air and walls of a velocity field that is known at some faces and wanted in so many layers around them.
pub fn complete(layout: &Layout, cuts: &Cuts, fringe: &Fringe, u: &mut Faces, layers: usize) {
    fringe.fill(layout, u, layers);
    pad(layout, cuts, u);
    if cuts.has_bodies() {
        cover(layout, cuts, u);
        pad(layout, cuts, u);
    }
}
