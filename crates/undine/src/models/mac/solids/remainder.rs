//! Momentum of the markers beside bodies, to the last bit of it.
//!
//! The pressure knows how much liquid is beside a body from how the body cuts the faces, and its impulses on both are equal and
//! opposite. But velocities travel on markers, and the mass that markers leave on a face is not just that of its open share. What
//! markers really gain on faces beside a body, less what the pressure gave the liquid there, comes from the body, which gets the
//! opposite. So does what they gain or lose on faces inside it, where they take on the body's velocity across its surface.

use glam::DVec3;

use super::{Immersed, couple};
use crate::models::mac::cuts::Cuts;
use crate::models::mac::layout::Layout;
use crate::models::mac::liquid::Liquid;
use crate::models::mac::transfer::Faces;
use crate::state::springs::Springs;

/// Faces up to so far from a ball, cells, have hats that reach into it, but for the corners of those.
const BESIDE: f64 = 1.2;
/// Stands for lattices in place of a ball.
const LATTICE: u32 = u32::MAX;

/// How a step changed velocities.
#[derive(Clone, Copy)]
pub struct Gain<'a> {
    /// How the grid lies.
    pub layout: &'a Layout,
    /// How walls alone cut it.
    pub bare: &'a Cuts,
    /// How walls and bodies cut it.
    pub cuts: &'a Cuts,
    /// The liquid.
    pub liquid: &'a Liquid,
    /// The bodies.
    pub state: &'a Springs,
    /// What pulls at the liquid, m/s².
    pub gravity: DVec3,
    /// Velocities before forces and pressure, m/s.
    pub before: &'a Faces,
    /// Those after, complete.
    pub after: &'a Faces,
    /// Momentum and mass that markers left on faces.
    pub markers: &'a [Vec<[f32; 2]>; 3],
    /// Mass of a marker of the first fluid, kg.
    pub mass: f64,
    /// Share of the grid's velocity that markers take on; of the rest they take on the change.
    pub taken: f32,
}

impl Gain<'_> {
    /// Momentum, kg m/s, that markers gained on a face beyond what the liquid of its open share did. Where nothing gains speed it is
    /// nothing, so that what rests stays at rest, however markers lie. `kick` is the time that forces acted, s.
    fn remainder(&self, density: f64, a: usize, i: usize, kick: f64) -> f64 {
        let Gain { layout, cuts, liquid, .. } = *self;
        let [momentum, mass] = self.markers[a][i].map(|m| self.mass * f64::from(m));
        let after = f64::from(self.after[a][i]);
        let gain = after - f64::from(self.before[a][i]);
        if cuts.open[a][i] == 0.0 {
            let taken = f64::from(self.taken);
            return taken * (mass * after - momentum) + (1.0 - taken) * mass * gain;
        }
        let (low, high) = (i - layout.stride[a], i);
        let share = match (liquid.wet[low], liquid.wet[high]) {
            (true, true) => 1.0,
            (true, false) => liquid.share(low, high),
            (false, true) => liquid.share(high, low),
            // Spray, which falls.
            (false, false) => return mass * (gain - self.gravity[a] * kick),
        };
        let open = density * layout.volume() * f64::from(cuts.open[a][i] * share);
        (mass - open / f64::from(liquid.lightness[a][i])) * gain
    }

    /// Faces beside and inside bodies, and whose they are. Faces beside walls are left out: there it is the walls' as well.
    fn beside(&self, immersed: &Immersed) -> Vec<(u8, u32, u32)> {
        let Gain { layout, bare, state, .. } = *self;
        let free = |a: usize, i: usize| {
            let (cell, rows) = (layout.cell(i), layout.face_rows(a));
            (0..3).all(|b| (0..rows[b] as isize).contains(&cell[b]))
                && [i, i - layout.stride[a]].iter().all(|c| bare.hat[*c] > 0.999)
                && bare.open[a][i] > 0.0
        };
        let mut faces = Vec::new();
        for (k, ball) in immersed.shape.balls.iter().enumerate() {
            let radius = immersed.fillings[ball.body].swell * state.radius[ball.node];
            let (center, near) = (state.position[ball.node], radius + BESIDE * layout.longest());
            super::shape::each_corner(layout, center, near + layout.longest(), |i, _| {
                for a in 0..3 {
                    if layout.face_center(a, i).distance(center) < near && free(a, i) {
                        faces.push((a as u8, i as u32, k as u32));
                    }
                }
            });
        }
        let inside = &immersed.shape.inside;
        let near = |i: &usize| immersed.shape.near[i / layout.dims[0]];
        for i in (layout.stride[2]..inside.len()).filter(near) {
            for a in 0..3 {
                if inside[i].volume + inside[i - layout.stride[a]].volume > 0.0 && free(a, i) {
                    faces.push((a as u8, i as u32, LATTICE));
                }
            }
        }
        faces.sort_unstable();
        faces
    }
}

impl Immersed {
    /// Gives bodies what is left of the balance of momentum of the markers beside them, as forces of the step `dt`, s.
    pub fn return_remainder(&mut self, gain: &Gain, kick: f64, dt: f64) {
        let Gain { layout, state, .. } = *gain;
        let faces = gain.beside(self);
        let mut pull = vec![DVec3::ZERO; if self.shape.inside.is_empty() { 0 } else { layout.len() }];
        let mut impulses = vec![DVec3::ZERO; state.len()];
        for same in faces.chunk_by(|f, g| (f.0, f.1) == (g.0, g.1)) {
            let (a, i) = (usize::from(same[0].0), same[0].1 as usize);
            let rest = gain.remainder(self.reference, a, i, kick) / same.len() as f64;
            for (_, _, owner) in same {
                if let Some(ball) = self.shape.balls.get(*owner as usize) {
                    impulses[ball.node][a] -= rest;
                } else {
                    let cells = [i - layout.stride[a], i];
                    let volume: f32 = cells.iter().map(|c| self.shape.inside[*c].volume).sum();
                    cells.iter().for_each(|c| pull[*c][a] -= rest / f64::from(volume));
                }
            }
        }
        if !pull.is_empty() {
            let on_lattices = couple::hand_out(&self.shape, layout, state, &pull);
            impulses.iter_mut().zip(on_lattices).for_each(|(sum, impulse)| *sum += impulse);
        }
        for (force, impulse) in self.forces.iter_mut().zip(&impulses) {
            *force += *impulse / kick;
        }
        for (filling, body) in self.fillings.iter_mut().zip(&state.bodies) {
            filling.impulse += impulses[body.nodes.clone()].iter().sum::<DVec3>() * (dt / kick);
        }
    }
}
