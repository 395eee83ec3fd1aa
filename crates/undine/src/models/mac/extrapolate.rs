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
        let rows = layout.face_rows(a);
        let mut known = known.0[a].clone();
        let mut edge = edge(layout, rows, &known);
        // Faces of the domain; of padding only what wraps around has values here.
        let mut own = vec![false; known.len()];
        for row in 0..rows[1] * rows[2] {
            let first = layout.at([0, row % rows[1], row / rows[1]]);
            own[first..first + rows[0]].fill(true);
        }
        for layer in 0..layers {
            let found: Vec<f32> = edge.iter().map(|&i| mean_beside(layout, &known, u, i as usize)).collect();
            for (&i, v) in edge.iter().zip(found) {
                u[i as usize] = v;
                known[i as usize] = true;
            }
            if edge.is_empty() || layer + 1 == layers {
                break;
            }
            if layout.periodic != [false; 3] {
                layout.wrap(u);
                layout.wrap(&mut known);
                edge = self::edge(layout, rows, &known);
                continue;
            }
            // The next layer lies beside this one.
            let last = std::mem::take(&mut edge);
            for i in last {
                for s in layout.stride {
                    for j in [i as usize - s, i as usize + s] {
                        if own.get(j) == Some(&true) && !known[j] {
                            own[j] = false;
                            edge.push(j as u32);
                        }
                    }
                }
            }
        }
        layout.wrap(u);
    });
}

/// Unknown faces beside known ones.
fn edge(layout: &Layout, rows: [usize; 3], known: &[bool]) -> Vec<u32> {
    let mut edge = Vec::new();
    let nothing = vec![false; rows[0]];
    let mut beside = nothing.clone();
    let [_, sy, sz] = layout.stride;
    for row in 0..rows[1] * rows[2] {
        let first = layout.at([0, row % rows[1], row / rows[1]]);
        // Behind the last layer there is nothing.
        let of = |from: usize| known.get(from..from + rows[0]).unwrap_or(&nothing);
        let (here, left, right) = (of(first), of(first - 1), of(first + 1));
        let (below, above, before, behind) = (of(first - sy), of(first + sy), of(first - sz), of(first + sz));
        let mut any = false;
        for (i, beside) in beside.iter_mut().enumerate() {
            let known = left[i] | right[i] | below[i] | above[i] | before[i] | behind[i];
            *beside = known & !here[i];
            any |= *beside;
        }
        if any {
            edge.extend((0..rows[0]).filter(|i| beside[*i]).map(|i| (first + i) as u32));
        }
    }
    edge
}

/// Mean of the known faces beside a face.
#[inline(always)]
fn mean_beside(layout: &Layout, known: &[bool], u: &[f32], i: usize) -> f32 {
    let (mut sum, mut count) = (0.0, 0);
    for s in layout.stride {
        for j in [i - s, i + s] {
            if known.get(j) == Some(&true) {
                sum += u[j];
                count += 1;
            }
        }
    }
    sum / count as f32
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
