//! Velocities where there is no liquid: into air by layers, into walls so that nothing flows through them.

use rayon::prelude::*;

use super::cuts::{Behind, Cuts};
use super::layout::Layout;
use super::liquid::Liquid;
use super::transfer::{Faces, velocity_at};

/// Which faces have a velocity of their own.
#[derive(Clone, Debug, Default)]
pub struct Known(pub [Vec<bool>; 3]);

impl Known {
    /// Faces at which `has` holds (of axis and number), and closed sides of the domain, which stand still.
    pub fn find(&mut self, layout: &Layout, cuts: &Cuts, has: impl Fn(usize, usize) -> bool + Sync) {
        for (a, known) in self.0.iter_mut().enumerate() {
            known.resize(layout.len(), false);
            let rows = layout.face_rows(a);
            known.par_chunks_mut(layout.plane()).enumerate().for_each(|(plane, known)| {
                known.fill(false);
                if plane == 0 || plane > rows[2] {
                    return;
                }
                for y in 0..rows[1] {
                    let first = layout.at([0, y, plane - 1]);
                    for i in first..first + rows[0] {
                        known[i - plane * layout.plane()] = cuts.open[a][i] > 0.0 && has(a, i);
                    }
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
        }
    }

    /// Open faces beside a wet cell.
    #[inline(always)]
    pub fn beside(liquid: &Liquid, layout: &Layout, a: usize, i: usize) -> bool {
        liquid.wet[i] || liquid.wet[i - layout.stride[a]]
    }
}

/// Spreads known values by `layers` layers: each unknown face beside known ones gets their mean.
pub fn spread(layout: &Layout, known: &Known, u: &mut Faces, layers: usize) {
    u.par_iter_mut().enumerate().for_each(|(a, u)| {
        let mut known = known.0[a].clone();
        for _ in 0..layers {
            let rows = layout.face_rows(a);
            let found: Vec<(usize, f32)> = {
                let (u, known) = (&*u, &known);
                (0..rows[1] * rows[2])
                    .into_par_iter()
                    .with_min_len(64)
                    .flat_map_iter(|row| {
                        let first = layout.at([0, row % rows[1], row / rows[1]]);
                        (first..first + rows[0]).filter(|i| !known[*i]).filter_map(|i| {
                            let (mut sum, mut count) = (0.0, 0);
                            for s in layout.stride {
                                for j in [i - s, i + s] {
                                    if known[j] {
                                        sum += u[j];
                                        count += 1;
                                    }
                                }
                            }
                            (count > 0).then(|| (i, sum / count as f32))
                        })
                    })
                    .collect()
            };
            if found.is_empty() {
                break;
            }
            for (i, v) in found {
                u[i] = v;
                known[i] = true;
            }
            layout.wrap(u);
            layout.wrap(&mut known);
        }
    });
}

/// Faces inside bodies: along walls that slip the wall's normal velocity and the fluid's tangential one, in walls that stick
/// the fluid's velocity mirrored at the surface, so that the wall's is met there.
pub fn cover(layout: &Layout, cuts: &Cuts, u: &mut Faces) {
    if !cuts.has_bodies() {
        return;
    }
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
    for (a, u) in u.iter_mut().enumerate() {
        for b in (0..3).filter(|b| !layout.periodic[*b]) {
            if a == b {
                continue;
            }
            let (s, n) = (layout.stride[b], layout.n[b]);
            for (pad, inside) in [(0, s), ((n + 1) * s, n * s)] {
                layout.each_of_layer(b, |i| {
                    let sticks = cuts.behind[a][pad + i] == Behind::NoSlip;
                    u[pad + i] = if sticks { -u[inside + i] } else { u[inside + i] };
                });
            }
        }
        layout.wrap(u);
    }
}
