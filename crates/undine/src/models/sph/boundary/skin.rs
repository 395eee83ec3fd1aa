//! Mass-spring bodies in the fluid: where it feels them, and what it does to them.

use std::sync::atomic::Ordering;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::super::continuity::gradient_of;
use super::super::force::Forces;
use super::super::params::Params;
use super::super::work::{PRESSURE, VOLUME, Work};
use super::Constants;
use super::pairs::repulsion;
use super::set::{Origin, Owner, Set};
use crate::models::springs::Solids;
use crate::neighbors::{Candidates, Grid};
use crate::scene::{Slip, SolidKind, WallKind};
use crate::simd::Portable;
use crate::state::particles::Particles;

/// Boundary particles of all bodies. Fluid sticks to them.
pub fn origins(solids: &Solids, p: &Params) -> Vec<Origin> {
    if p.walls == WallKind::Layers {
        return Vec::new();
    }
    let bodies = solids.state().bodies.iter().enumerate();
    bodies
        .flat_map(|(index, body)| {
            // Nodes that fill a body each stand for their cell; a sheet of points, for as much as its layer needs.
            let fills = body.kind == SolidKind::Lattice;
            solids.skin(index, p.spacing).into_iter().map(move |point| Origin {
                owner: Owner::Skin(point),
                normal: DVec3::ZERO,
                depth: 0.0,
                slip: Slip::NoSlip,
                adhesion: 0.0,
                volume: (fills && point.weights[0] == 1.0).then(|| (body.spacing / p.spacing).powi(3)),
            })
        })
        .collect()
}

/// Forces on the nodes: for each boundary particle what it does to the fluid, the other way round. The same formulas as
/// in [`super::pairs`], with the same records.
pub fn react(
    set: &Set,
    (work, grid, particles): (&Work, &Grid, &Particles),
    forces: &Forces,
    constants: &Constants,
    out: &mut [DVec3],
) {
    out.fill(DVec3::ZERO);
    let Particles { fluid, velocity, .. } = particles;
    let on_points: Vec<(usize, DVec3)> = (0..set.len())
        .into_par_iter()
        .filter(|j| set.touched[*j].load(Ordering::Relaxed))
        .map_init(Candidates::default, |candidates, j| {
            let own = set.work.records[j];
            let p = grid.local([set.position[0][j], set.position[1][j], set.position[2][j]]);
            let mut sum = DVec3::ZERO;
            grid.candidates_beside::<Portable>(p, p, candidates);
            for (shift, chunks) in candidates.groups() {
                for i in chunks.iter().flat_map(|c| c.range()) {
                    let r = work.records[i];
                    let d = Vec3::from(p) + Vec3::from(shift) - Vec3::new(r[0], r[1], r[2]);
                    let r2 = d.length_squared();
                    if r2 >= 1.0 {
                        continue;
                    }
                    let f = &forces.fluids[fluid[i] as usize];
                    let g = gradient_of(1.0 - r2) * r[VOLUME].abs() * own[VOLUME].abs();
                    let dv = Vec3::new(r[4] - own[4], r[5] - own[5], r[6] - own[6]);
                    let radial = if constants.kind == WallKind::LennardJones {
                        repulsion(r2, constants) / f.per_mass * own[VOLUME].abs()
                    } else {
                        let closing = dv.dot(d).max(0.0);
                        g * ((r[PRESSURE] + own[PRESSURE]) * forces.pressure + 0.5 * f.damping * closing)
                    };
                    // The implicit step has drawn at the wall with the velocities it led to.
                    let late = Vec3::from(velocity[i]) - Vec3::from(set.velocity[j]);
                    sum += (d * radial + dv * (g * f.viscosity) + late * (g * f.thick)).as_dvec3();
                }
            }
            (j, sum)
        })
        .collect();
    for (j, force) in on_points {
        if let Owner::Skin(point) = &set.origins[set.order[j] as usize].owner {
            point.shares().for_each(|(node, w)| out[node] += force * w);
        }
    }
}
