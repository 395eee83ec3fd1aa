//! The equations once more, term by term in plain f64: the oracle of the fast passes, and what names the term
//! to blame when a run blows up.

use glam::DVec3;

use super::params::{COHESION_ZERO, Params, STRESS_FACTOR};
use super::work::{VOLUME, Work};
use crate::kernels::{Cored, Kernel, Poly6, Spiky, Viscosity, Wide};
use crate::neighbors::{Candidates, Grid};
use crate::scene::{Kernels, TensionKind};
use crate::simd::Portable;
use crate::state::particles::Particles;

/// What a neighbour is to the equations.
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    /// x_i - x_j, m.
    pub d: DVec3,
    /// Its velocity, m/s.
    pub velocity: DVec3,
    /// Its pressure, Pa.
    pub pressure: f64,
    /// Its volume, m³.
    pub volume: f64,
    /// Its colour-field gradient times h, where it is at a surface.
    pub normal: DVec3,
    /// Its fluid.
    pub fluid: usize,
}

/// Accelerations of one particle by term, m/s².
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// Pressure, with artificial viscosity.
    pub pressure: DVec3,
    /// Viscosity.
    pub viscosity: DVec3,
    /// Surface tension.
    pub tension: DVec3,
}

impl Terms {
    /// Their sum.
    pub fn sum(&self) -> DVec3 {
        self.pressure + self.viscosity + self.tension
    }
}

/// The terms of a particle `own` among its neighbours (itself may be among them).
pub fn terms(p: &Params, tension: TensionKind, own: &Neighbor, neighbors: &[Neighbor]) -> Terms {
    let f = &p.fluids[own.fluid];
    let mut t = Terms::default();
    let (mut n, mut laplacian) = (DVec3::ZERO, 0.0);
    for j in neighbors {
        let r = j.d.length();
        n += j.d.normalize_or_zero() * (j.volume * Poly6(p.h).derivative(r));
        laplacian += j.volume * Poly6(p.h).laplacian(r);
        if r == 0.0 || r >= p.h {
            continue;
        }
        let (o, unit) = (&p.fluids[j.fluid], j.d / r);
        let volumes = own.volume * j.volume;
        let difference = j.velocity - own.velocity;
        let closing = difference.dot(unit).max(0.0);
        let impedance = 0.5 * p.alpha * (f.density * f.sound() + o.density * o.sound());
        let mu = 0.5 * (f.viscosity + o.viscosity);
        let (pressure, viscosity) = match p.kernels {
            Kernels::Mueller => {
                let mean = 0.5 * (own.pressure + j.pressure) + 0.5 * impedance * (p.spacing / r) * closing;
                (volumes * mean * Spiky(p.h).derivative(r), mu * volumes * Viscosity(p.h).laplacian(r))
            }
            Kernels::Conservative => {
                let slope = Cored(p.h).derivative(r);
                let both = own.pressure + j.pressure + impedance * (r / p.spacing) * closing;
                (
                    volumes * both * slope / p.lattice_gradient,
                    -2.0 * mu * volumes * slope / r / p.lattice_gradient,
                )
            }
        };
        t.pressure -= unit * (pressure / f.mass);
        t.viscosity += difference * (viscosity / f.mass);
        if tension == TensionKind::Stress && j.fluid == own.fluid {
            let pull = |n: DVec3| j.d / p.h * n.length() - n * n.dot(j.d / p.h) / n.length().max(1e-30);
            let factor = STRESS_FACTOR * f.tension * volumes * Wide(p.h).derivative(r) / r;
            t.tension += (pull(own.normal) + pull(j.normal)) * (factor / f.mass);
            let impedance = p.calm(f);
            let kernel = 4.0 * Wide::FACTOR / p.h.powi(4) * (1.0 - (r / p.h).powi(2)).powi(2);
            let damping = impedance * volumes * kernel / (p.spacing * p.h);
            let m = own.normal.length() + j.normal.length();
            t.tension += j.d * (difference.dot(j.d) * damping * m / f.mass);
            let s = r / p.h;
            let hold = p.cohesion(f.tension) * s * (1.0 - s * s).powi(2) * (s * s - COHESION_ZERO);
            t.tension -= unit * (hold / f.mass);
        }
    }
    if tension == TensionKind::ColorField && n.length() > 0.2 / p.h {
        t.tension = -n.normalize() * (f.tension * laplacian * own.volume / f.mass);
    }
    t
}

/// The term with the largest acceleration of particle i, and that acceleration; `None` if all are tame.
pub fn largest_term(
    p: &Params,
    tension: TensionKind,
    particles: &Particles,
    work: &Work,
    grid: &Grid,
    i: usize,
) -> Option<(&'static str, f64)> {
    let at = work.at(i);
    let neighbor = |j: usize, d: [f32; 3]| {
        let r = work.records[j];
        Neighbor {
            d: glam::Vec3::from(d).as_dvec3() * p.h,
            velocity: DVec3::new(r[4].into(), r[5].into(), r[6].into()),
            pressure: work.pressure(j).into(),
            volume: f64::from(r[VOLUME].abs()) * p.spacing.powi(3),
            normal: work.normal(j),
            fluid: particles.fluid[j].into(),
        }
    };
    let mut around = Vec::new();
    let mut candidates = Candidates::default();
    // Particles may have moved since they were sorted.
    grid.candidates_anywhere::<Portable>(at, at, &mut candidates);
    for (shift, chunks) in candidates.groups() {
        for j in chunks.iter().flat_map(|c| c.range()) {
            let q = work.at(j);
            around.push(neighbor(j, std::array::from_fn(|a| at[a] + shift[a] - q[a])));
        }
    }
    let t = terms(p, tension, &neighbor(i, [0.0; 3]), &around);
    [("pressure", t.pressure), ("viscosity", t.viscosity), ("surface tension", t.tension)]
        .map(|(name, a)| (name, a.length()))
        .into_iter()
        // A non-finite term is to blame before any large one.
        .max_by(|a, b| {
            (!a.1.is_finite(), a.1).partial_cmp(&(!b.1.is_finite(), b.1)).unwrap_or(std::cmp::Ordering::Equal)
        })
        .filter(|(_, a)| !a.is_finite() || *a >= p.sound().powi(2) / p.spacing)
}
