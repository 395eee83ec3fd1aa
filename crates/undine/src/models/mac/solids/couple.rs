//! Pressure on bodies: what the liquid loses they gain.
//!
//! With the divergence D v of a ball's velocity v through the cells it cuts, the pressure's system A, which knows the ball as a wall
//! only, has the right side b - D v, and v obeys m v = m v* + ρV Dᵀp, v* being its velocity without the liquid. So p solves
//! (A + ρV/m D Dᵀ) p = b - D v*: three terms more for each ball, which the preconditioner of A need not know (Batty 2007). Dᵀ A⁻¹ D is the
//! added mass. Conjugate gradients over v, with a solve of A each, took more than twice as long.
//!
//! Lattices are in A: the share of a face that they fill moves by the gradient of the pressure over their density.

use glam::DVec3;

use super::{Immersed, Shape};
use crate::models::mac::cuts::Cuts;
use crate::models::mac::layout::Layout;
use crate::models::mac::liquid::Liquid;
use crate::models::mac::poisson::Rank;
use crate::models::mac::pressure::{Pressure, step_up, subtract_gradient};
use crate::models::mac::transfer::{Faces, between, stencil, weights};
use crate::state::springs::Springs;

/// A step of bodies in the liquid.
#[derive(Clone, Copy)]
pub struct Dip<'a> {
    /// How the grid lies.
    pub layout: &'a Layout,
    /// How walls alone cut it.
    pub bare: &'a Cuts,
    /// The liquid.
    pub liquid: &'a Liquid,
    /// The bodies.
    pub state: &'a Springs,
    /// What pulls at bodies, m/s².
    pub gravity: DVec3,
    /// The bodies' step, s.
    pub dt: f64,
}

impl Dip<'_> {
    /// A cell of the pressure's arrays, if it is in the domain.
    fn cell(&self, i: usize) -> Option<usize> {
        let (mut c, n) = (self.layout.cell(i), self.layout.n);
        for a in 0..3 {
            let size = n[a] as isize;
            if self.layout.periodic[a] {
                c[a] = c[a].rem_euclid(size);
            } else if !(0..size).contains(&c[a]) {
                return None;
            }
        }
        let [x, y, z] = c.map(|c| c as usize);
        Some(x + n[0] * (y + n[1] * z))
    }
}

impl Immersed {
    /// Makes liquid and bodies keep volumes together; leaves forces on the nodes. The pressure's system must be that of the liquid,
    /// with these lattices. `kicks` are the times for which the last pressure acted and this one acts, s.
    pub fn project(
        &mut self,
        dip: &Dip,
        cuts: &mut Cuts,
        pressure: &mut Pressure,
        u: &mut Faces,
        kicks: [f64; 2],
    ) {
        let Dip { layout, bare, liquid, state, gravity, dt } = *dip;
        let shares: Vec<f64> =
            (0..state.bodies.len()).map(|b| self.share_of_gravity(state, b, gravity)).collect();
        let mut shape = std::mem::take(&mut self.shape);
        // The liquid's velocities belong to the middle of steps, the bodies' to their ends.
        let (start, last) = (&self.before.0, self.before.1);
        let mut falling: Vec<DVec3> = if last > 0.0 {
            state.velocity.iter().zip(start).map(|(v, w)| 0.5 * (*v + *w)).collect()
        } else {
            state.velocity.clone()
        };
        for (body, share) in state.bodies.iter().zip(&shares) {
            for i in body.nodes.clone().filter(|i| !state.pinned[*i]) {
                falling[i] += gravity * (share * kicks[1]);
            }
        }
        shape.follow_lattices(self, layout, state, |node| falling[node]);
        let free: Vec<DVec3> = shape.balls.iter().map(|b| falling[b.node]).collect();
        let mut balls = free.clone();
        shape.set_speeds(layout, bare, &balls, cuts);
        pressure.guess(kicks);
        let mut p = std::mem::take(&mut pressure.p);
        let ranks = self.ranks(dip, &shape);
        pressure.solve_divergence((layout, cuts, liquid), u, kicks[1], &mut p, &ranks, false);
        let parted = part(&shape.balls, dip, cuts, &mut p);
        // Balls have what the pressure gives them, to the last digit.
        let settle = |balls: &mut [DVec3], p: &[f32]| {
            for ((ball, v), free) in shape.balls.iter().zip(balls).zip(&free) {
                if !state.pinned[ball.node] {
                    *v = *free + self.push(dip, &ball.faces, p) / state.mass[ball.node];
                }
            }
        };
        settle(&mut balls, &p);
        let speeds = |p: &[f32], balls: &[DVec3], cuts: &mut Cuts| {
            shape.set_speeds(layout, bare, balls, cuts);
            for f in &shape.filled {
                let (a, i) = (usize::from(f.face.0), f.face.1 as usize);
                let c = layout.cell(i).map(|c| c as usize);
                let gain = shape.mobility[a][i] * step_up(layout, liquid, p, a, c) / layout.h[a] as f32;
                cuts.speed[a][i] -= gain / (1.0 - cuts.open[a][i]).max(1e-6);
            }
        };
        speeds(&p, &balls, cuts);
        subtract_gradient(layout, cuts, liquid, &p, u);
        let mut more = vec![0.0; p.len()];
        if !parted && pressure.solve_divergence((layout, cuts, liquid), u, kicks[1], &mut more, &ranks, true)
        {
            subtract_gradient(layout, cuts, liquid, &more, u);
            p.iter_mut().zip(&more).for_each(|(p, more)| *p += more);
            settle(&mut balls, &p);
            speeds(&p, &balls, cuts);
        }
        self.forces.clear();
        self.forces.resize(state.len(), DVec3::ZERO);
        for ball in &shape.balls {
            let impulse = self.push(dip, &ball.faces, &p);
            self.forces[ball.node] += impulse / kicks[1];
        }
        let on_lattices = gather(self, &shape, dip, &p);
        for (to, impulse) in self.forces.iter_mut().zip(&on_lattices) {
            *to += *impulse / kicks[1];
        }
        for i in (0..state.len()).filter(|i| !state.pinned[*i]) {
            falling[i] += self.forces[i] * (kicks[1] / state.mass[i]);
        }
        shape.follow_lattices(self, layout, state, |i| falling[i]);
        shape.set_covered(layout, &balls, cuts);
        for (filling, body) in self.fillings.iter_mut().zip(&state.bodies) {
            filling.impulse = self.forces[body.nodes.clone()].iter().sum::<DVec3>() * dt;
        }
        self.middle = falling;
        self.before = (state.velocity.clone(), dt);
        pressure.p = p;
        self.shape = shape;
    }

    /// Impulse of the pressure on a ball, kg m/s.
    fn push(&self, dip: &Dip, faces: &[(u8, u32, f32)], p: &[f32]) -> DVec3 {
        let layout = dip.layout;
        let value = |i: usize| dip.cell(i).map_or(0.0, |c| f64::from(p[c]));
        let mut sum = DVec3::ZERO;
        for &(a, i, share) in faces {
            let (a, i) = (usize::from(a), i as usize);
            sum[a] += f64::from(share) * (value(i - layout.stride[a]) - value(i)) / layout.h[a];
        }
        sum * (self.reference * layout.volume())
    }

    /// What balls that are free add to the pressure's system: ρV/m D Dᵀ, one term for each of their velocity's components.
    fn ranks(&self, dip: &Dip, shape: &Shape) -> Vec<Rank> {
        let Dip { layout, state, .. } = *dip;
        let mut ranks = Vec::new();
        for ball in shape.balls.iter().filter(|b| !state.pinned[b.node]) {
            let weight = (self.reference * layout.volume() / state.mass[ball.node]) as f32;
            for a in 0..3 {
                let mut d = Vec::new();
                for &(axis, i, share) in ball.faces.iter().filter(|f| usize::from(f.0) == a) {
                    let (i, s) = (i as usize, layout.stride[usize::from(axis)]);
                    let flow = share * (1.0 / layout.h[a]) as f32;
                    for (cell, flow) in [(i, -flow), (i - s, flow)] {
                        d.extend(dip.cell(cell).map(|c| (c as u32, flow)));
                    }
                }
                ranks.push(Rank { d, weight });
            }
        }
        ranks
    }
}

/// Lets water part from balls that are not all under it: where it would have to be pulled along, air comes in. Says whether it does
/// anywhere.
fn part(balls: &[super::shape::Ball], dip: &Dip, cuts: &Cuts, p: &mut [f32]) -> bool {
    let (layout, wet) = (dip.layout, &dip.liquid.wet);
    let mut parted = false;
    for ball in balls {
        let sides = |f: &(u8, u32, f32)| {
            let (a, i) = (usize::from(f.0), f.1 as usize);
            [i, i - layout.stride[a]]
        };
        let open = |i: &usize| cuts.volume[*i] > 0.0 && dip.cell(*i).is_some();
        let emerged = ball.faces.iter().flat_map(sides).any(|i| open(&i) && !wet[i]);
        if !emerged {
            continue;
        }
        for c in ball.faces.iter().flat_map(sides).filter(open).filter_map(|i| dip.cell(i)) {
            if p[c] < 0.0 {
                p[c] = 0.0;
                parted = true;
            }
        }
    }
    parted
}

/// Impulses of the pressure on the nodes of lattices, kg m/s.
fn gather(immersed: &Immersed, shape: &Shape, dip: &Dip, p: &[f32]) -> Vec<DVec3> {
    let Dip { layout, liquid, state, .. } = *dip;
    if shape.inside.is_empty() {
        return Vec::new();
    }
    // Per volume of lattice at each cell, as the faces' velocities were made of the cells'.
    let mut pull = vec![DVec3::ZERO; layout.len()];
    for f in &shape.filled {
        let (a, i) = (usize::from(f.face.0), f.face.1 as usize);
        let c = layout.cell(i).map(|c| c as usize);
        let impulse = -f64::from(f.share * step_up(layout, liquid, p, a, c)) / layout.h[a];
        let impulse = impulse * immersed.reference * layout.volume();
        let (low, high) = (i - layout.stride[a], i);
        let volume = f64::from(shape.inside[low].volume + shape.inside[high].volume);
        for cell in [low, high] {
            pull[cell][a] += impulse / volume;
        }
    }
    hand_out(shape, layout, state, &pull)
}

/// Impulses on the nodes of lattices, kg m/s, of those per volume of lattice at each cell.
pub(super) fn hand_out(shape: &Shape, layout: &Layout, state: &Springs, pull: &[DVec3]) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; state.len()];
    for p in &shape.points {
        let s = stencil(&between(&p.at, layout.n), 3, layout.stride);
        for (i, w) in weights(s, layout.stride) {
            out[p.node as usize] += pull[i] * (f64::from(w) * p.share);
        }
    }
    out
}
