//! What pulls at the liquid, and what stands still whatever pulls.

use glam::DVec3;
use rayon::prelude::*;

use super::transfer::velocity_at;
use super::{Mac, each_plane, rows};
use crate::models::Around;
use crate::scene::Force;

impl Mac {
    /// Gravity, force fields and brushes during `dt`, s.
    pub(super) fn forces(&mut self, around: &Around, dt: f64) {
        let fields = around.fields;
        self.pull = fields.gravity.length();
        let Mac { layout, u, known, .. } = self;
        if fields.only_gravity() {
            each_plane(layout, u, |a, at, u| {
                let kick = (dt * fields.gravity[a]) as f32;
                if kick != 0.0 {
                    rows::kick(&known.0[a][at..], kick, u);
                }
            });
        } else {
            // A strong brush takes fluid along within a step; its pull must not overshoot.
            let strongest = fields.held.iter().map(|b| b.strength);
            let tracked = fields.forces.iter().map(|f| match f {
                Force::Brush(track) => track.strength,
                _ => 0.0,
            });
            let parts = (strongest.chain(tracked).fold(0.0, f64::max) * dt).ceil().clamp(1.0, 16.0);
            for _ in 0..parts as usize {
                let old = u.clone();
                let mut greatest = 0f64;
                for a in 0..3 {
                    let top = u[a].par_iter_mut().zip(&known.0[a]).enumerate().with_min_len(1024).map(
                        |(i, (u, k))| {
                            if !*k {
                                return 0.0;
                            }
                            let p = layout.face_center(a, i);
                            let v = velocity_at(layout, &old, &layout.local(p).as_vec3().to_array());
                            let pull = fields.acceleration(p, glam::Vec3::from(v).as_dvec3());
                            *u += (dt / parts * pull[a]) as f32;
                            pull.length_squared()
                        },
                    );
                    greatest = greatest.max(top.reduce(|| 0.0, f64::max));
                }
                self.pull = self.pull.max(greatest.sqrt());
            }
        }
    }

    /// Sides of the domain stand still whatever pulls at them.
    pub(super) fn hold_sides(&mut self) {
        let layout = &self.layout;
        for a in (0..3).filter(|a| !layout.periodic[*a]) {
            for (upper, at) in [(0, 1), (1, layout.n[a] + 1)] {
                if !layout.open[a][upper] {
                    layout.each_of_layer(a, |i| self.u[a][at * layout.stride[a] + i] = 0.0);
                }
            }
        }
    }
}

/// Gravity and uniform fields, m/s²: what pulls at bodies.
pub(super) fn steady(fields: &crate::fields::Fields) -> DVec3 {
    let uniform = fields.forces.iter().map(|f| match f {
        Force::Uniform(a) => *a,
        _ => DVec3::ZERO,
    });
    fields.gravity + uniform.sum::<DVec3>()
}
