//! Pressure on bodies: what the liquid loses they gain.
//!
//! With the divergence D v of a ball's velocity v through the cells it cuts, and the pressure p(v) that keeps volumes then, v obeys
//! m v = m v* + ρV Dᵀp(v), v* being its velocity without the liquid. Dᵀ A⁻¹ D is the added mass. These few equations are solved by
//! conjugate gradients, each iteration with one solve of the pressure's system A, which knows the ball as a wall only.
//!
//! Lattices are in A: the share of a face that they fill moves by the gradient of the pressure over their density.

use glam::DVec3;

use super::Immersed;
use crate::models::mac::cuts::Cuts;
use crate::models::mac::layout::Layout;
use crate::models::mac::liquid::Liquid;
use crate::models::mac::pressure::{Pressure, step_up, subtract_gradient};
use crate::models::mac::transfer::{Faces, between, stencil, weights};
use crate::scene::SolidKind;
use crate::state::springs::Springs;

/// What is left of a ball's balance of momentum, as a share of what acts on it.
const TOLERANCE: f64 = 2e-3;
/// Residual of the responses to balls.
const RESPONSE: f64 = 1e-3;
/// Most iterations for the velocities of balls.
const MOST: usize = 8;

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
        let middle = falling.clone();
        for (body, share) in state.bodies.iter().zip(&shares) {
            for i in body.nodes.clone().filter(|i| !state.pinned[*i]) {
                falling[i] += gravity * (share * kicks[1]);
            }
        }
        shape.follow_lattices(self, layout, state, |node| falling[node]);
        let free: Vec<DVec3> = shape.balls.iter().map(|b| falling[b.node]).collect();
        // A ball goes on as it did, for a first guess.
        let mut balls: Vec<DVec3> = (shape.balls.iter().zip(&free))
            .map(|(b, v)| {
                if last == 0.0 || state.pinned[b.node] {
                    return *v;
                }
                middle[b.node] + (state.velocity[b.node] - start[b.node]) * (kicks[1] / last)
            })
            .collect();
        shape.set_speeds(layout, bare, &balls, cuts);
        pressure.guess(kicks);
        let mut p = std::mem::take(&mut pressure.p);
        pressure.solve_divergence((layout, cuts, liquid), u, kicks[1], &mut p, false);
        self.shape = shape;
        self.balance(dip, pressure, (&free, kicks[1]), &mut balls, &mut p);
        let mut shape = std::mem::take(&mut self.shape);
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
        if !parted && pressure.solve_divergence((layout, cuts, liquid), u, kicks[1], &mut more, true) {
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

    /// Velocities of balls and the pressure that fit each other.
    fn balance(
        &self,
        dip: &Dip,
        pressure: &mut Pressure,
        (free, kick): (&[DVec3], f64),
        balls: &mut [DVec3],
        p: &mut [f32],
    ) {
        let Dip { layout, state, gravity, .. } = *dip;
        let all = &self.shape.balls;
        let mass = |k: usize| state.mass[all[k].node];
        let held = |k: usize| state.pinned[all[k].node];
        let scale = |k: usize| {
            let volume = mass(k) / self.fillings[all[k].body].density;
            1.0 / (mass(k) + 0.5 * self.reference * volume)
        };
        let mut r: Vec<DVec3> = (0..all.len())
            .map(|k| {
                if held(k) {
                    return DVec3::ZERO;
                }
                mass(k) * (free[k] - balls[k]) + self.push(dip, &all[k].faces, p)
            })
            .collect();
        let acts: f64 = (0..all.len()).map(|k| (mass(k) * gravity.length() * kick).powi(2)).sum::<f64>()
            + (0..all.len()).map(|k| (mass(k) * (free[k] - balls[k])).length_squared()).sum::<f64>();
        let goal = TOLERANCE * TOLERANCE * acts;
        let square = |r: &[DVec3]| r.iter().map(|r| r.length_squared()).sum::<f64>();
        let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
        let mut d = vec![DVec3::ZERO; all.len()];
        let (mut b, mut q) = (vec![0.0; p.len()], vec![0.0; p.len()]);
        let mut before = 0.0;
        for _ in 0..MOST {
            if square(&r) <= goal || square(&r) == 0.0 {
                break;
            }
            let z: Vec<DVec3> = r.iter().enumerate().map(|(k, r)| *r * scale(k)).collect();
            let rz = dot(&r, &z);
            let beta = if before > 0.0 { rz / before } else { 0.0 };
            before = rz;
            d.iter_mut().zip(&z).for_each(|(d, z)| *d = *z + *d * beta);
            b.fill(0.0);
            for (ball, d) in all.iter().zip(&d) {
                for &(a, i, share) in &ball.faces {
                    let (a, i) = (usize::from(a), i as usize);
                    let flow = share * (d[a] / layout.h[a]) as f32;
                    for (cell, flow) in [(i, -flow), (i - layout.stride[a], flow)] {
                        if let Some(c) = dip.cell(cell).filter(|c| pressure.system.diagonal[*c] > 0.0) {
                            b[c] += flow;
                        }
                    }
                }
            }
            pressure.respond(&b, &mut q, RESPONSE);
            let answer: Vec<DVec3> =
                (0..all.len())
                    .map(|k| {
                        if held(k) { DVec3::ZERO } else { mass(k) * d[k] + self.push(dip, &all[k].faces, &q) }
                    })
                    .collect();
            let alpha = rz / dot(&d, &answer);
            if !alpha.is_finite() {
                break;
            }
            for k in 0..all.len() {
                balls[k] += d[k] * alpha;
                r[k] -= answer[k] * alpha;
            }
            let a = alpha as f32;
            p.iter_mut().zip(&q).for_each(|(p, q)| *p -= a * q);
        }
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
fn gather(immersed: &Immersed, shape: &super::Shape, dip: &Dip, p: &[f32]) -> Vec<DVec3> {
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
    hand_out(immersed, layout, state, &pull)
}

/// Impulses on the nodes of lattices, kg m/s, of those per volume of lattice at each cell.
pub(super) fn hand_out(immersed: &Immersed, layout: &Layout, state: &Springs, pull: &[DVec3]) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; state.len()];
    for (b, body) in state.bodies.iter().enumerate() {
        if immersed.fillings[b].kind != SolidKind::Lattice {
            continue;
        }
        for node in body.nodes.clone() {
            let mut sum = DVec3::ZERO;
            immersed.each_point(state, &state.position, b, node, |at, volume| {
                let Some(x) = super::shape::place(layout, at) else { return };
                let s = stencil(&between(&x, layout.n), 3, layout.stride);
                for (i, w) in weights(s, layout.stride) {
                    sum += pull[i] * (f64::from(w) * volume / layout.volume());
                }
            });
            out[node] = sum;
        }
    }
    out
}
