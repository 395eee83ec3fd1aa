//! Velocities where there is no liquid: into air by layers, into walls so that nothing flows through them.

use rayon::prelude::*;

use super::cuts::Cuts;
use super::layout::Layout;
use super::liquid::Liquid;
use super::rows;
use super::transfer::{Faces, velocity_at};

/// Which faces have a velocity of their own.
#[derive(Clone, Debug, Default)]
pub struct Known(pub [Vec<bool>; 3]);

impl Known {
    /// Faces that `has` tells of, given their axis, the number of the first of a row and a place for each of the row; and closed sides
    /// of the domain, which stand still.
    pub fn find(&mut self, layout: &Layout, cuts: &Cuts, has: impl Fn(usize, usize, &mut [bool]) + Sync) {
        self.0.par_iter_mut().enumerate().for_each(|(a, known)| {
            known.resize(layout.len(), false);
            let size = layout.face_rows(a);
            known.par_chunks_mut(layout.plane()).enumerate().for_each(|(plane, known)| {
                known.fill(false);
                if plane == 0 || plane > size[2] {
                    return;
                }
                for y in 0..size[1] {
                    let first = layout.at([0, y, plane - 1]);
                    let row = &mut known[first - plane * layout.plane()..][..size[0]];
                    has(a, first, row);
                    rows::keep_open(&cuts.open[a][first..], row);
                }
            });
            if !layout.periodic[a] {
                for (upper, at) in [(0, 1), (1, layout.n[a] + 1)] {
                    if !layout.open[a][upper] {
                        layout.each_of_layer(a, |i| known[at * layout.stride[a] + i] = true);
                    }
                }
            }
            layout.wrap(known);
        });
    }

    /// Of a row of faces those beside a wet cell.
    #[inline(always)]
    pub fn beside(liquid: &Liquid, layout: &Layout, a: usize, first: usize, row: &mut [bool]) {
        rows::either(&liquid.wet[first - layout.stride[a]..], &liquid.wet[first..], row);
    }
}

/// Faces inside bodies: along walls that slip the wall's normal velocity and the fluid's tangential one, in walls that stick
/// the fluid's velocity mirrored at the surface, so that the wall's is met there.
pub fn cover(layout: &Layout, cuts: &Cuts, u: &mut Faces) {
    let values: [Vec<f32>; 3] = std::array::from_fn(|a| {
        cuts.covered[a]
            .par_iter()
            .map(|c| {
                let i = c.face as usize;
                // A face that lies in the surface: its normal is its axis, which the wall does not tell surely there.
                if c.depth.abs() < 0.01 * layout.h[a] as f32 {
                    return c.velocity[a];
                }
                let mut v: [f32; 3] = {
                    let x = layout.local(layout.face_center(a, i)).as_vec3().to_array();
                    velocity_at(layout, u, &x)
                };
                v[a] = u[a][i];
                if c.no_slip {
                    let mirrored = (c.depth / (0.5 * layout.h[a] as f32)).clamp(0.0, 1.0);
                    return c.velocity[a] + mirrored * (c.velocity[a] - v[a]);
                }
                let into: f32 = (0..3).map(|b| (v[b] - c.velocity[b]) * c.normal[b]).sum();
                v[a] - into * c.normal[a]
            })
            .collect()
    });
    for a in 0..3 {
        for (c, v) in cuts.covered[a].iter().zip(&values[a]) {
            u[a][c.face as usize] = *v;
        }
    }
}

/// Fills the padding: what wraps around, and beyond walls and open sides.
pub fn pad(layout: &Layout, cuts: &Cuts, u: &mut Faces) {
    u.par_iter_mut().enumerate().for_each(|(a, u)| {
        for b in (0..3).filter(|b| !layout.periodic[*b]) {
            if a == b {
                continue;
            }
            let (s, n) = (layout.stride[b], layout.n[b]);
            for (pad, inside) in [(0, s), ((n + 1) * s, n * s)] {
                layout.each_run_of_layer(b, |run| {
                    let to = pad + run.start..pad + run.end;
                    u.copy_within(inside + run.start..inside + run.end, to.start);
                    rows::mirror(&cuts.behind[a][to.clone()], &mut u[to]);
                });
            }
        }
        layout.wrap(u);
    });
}
