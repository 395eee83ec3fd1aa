//! Markers carried with AVX2, eight at a time.
//!
//! One by one each waits for its velocity, then for that half-way, some 120 cycles in a row, and the processor looks two markers ahead at
//! most. Eight side by side are found among the points of the lattices at once and do not wait for each other.

use std::arch::x86_64::*;

use glam::Vec4;

use super::super::lattice::eight::{Eight, LANES, put_together, take_apart, transpose, within};
use super::super::lattice::wide::Wide;
use super::{Carried, Fields, Flow, Moved, Order, Reach, load, store};
use crate::scene::Convection;

/// Moves the markers of a part: runs of those that bodies are far from eight at a time, the others singly.
#[target_feature(enable = "avx2,fma")]
pub(super) fn carry(
    flow: &Flow,
    fields: &Fields,
    mut carried: Carried,
    order: &Order,
    reach: Reach,
) -> Moved {
    let [nx, ny, _] = flow.layout.n;
    if flow.convection != Convection::Apic || flow.layout.periodic[0] {
        return flow.carry_with::<Wide>(fields, carried, order, reach);
    }
    let (mut cell, end) = (carried.rows.start * nx, carried.rows.end * nx);
    let mut moved = Moved::default();
    let needs_care = |c: usize| flow.needs_care([c % nx, c / nx % ny, c / (nx * ny)], reach);
    while cell < end {
        let (first, care) = (cell, needs_care(cell));
        let is_other = |c: &usize| needs_care(*c) != care;
        cell = if flow.cuts.has_bodies() { (first + 1..end).find(is_other).unwrap_or(end) } else { end };
        let count = (order.start[cell] - order.start[first]) as usize;
        let run = carried.split_off(count);
        moved = moved.and(if care {
            flow.carry_each::<Wide>(fields, run, true)
        } else {
            carry_run(flow, fields, run)
        });
    }
    moved
}

/// As [`Flow::carry_each`] without care, to the last bit.
#[target_feature(enable = "avx2,fma")]
fn carry_run(flow: &Flow, fields: &Fields, run: Carried) -> Moved {
    let (u, drift) = (Eight::new(&fields.u), Eight::new(&fields.drift));
    let [scale, per_h] = flow.scales();
    let half = (0.5 * scale).to_array().map(|s| _mm256_set1_ps(s));
    let whole = scale.to_array().map(|s| _mm256_set1_ps(s));
    let [low, high] = flow.free().map(|v| v.to_array());
    let sign = _mm256_set1_ps(-0.0);
    let mut fastest = [_mm256_setzero_ps(); 3];
    let mut moved = Moved::default();
    let Carried { rows, x, velocity, affine } = run;
    assert!(x.len() == velocity.len() && x.len() == affine.len());
    // Gradients are written with a number more than they have, which the next marker's take the place of: one is left for the rest.
    let batches = x.len().saturating_sub(1) / LANES;
    let (eights, velocities) = (x.as_chunks_mut::<LANES>().0, velocity.as_chunks_mut::<LANES>().0);
    for (b, (x, velocity)) in eights.iter_mut().zip(velocities).enumerate().take(batches) {
        let gradients = affine[b * LANES..][..LANES + 1].as_mut_ptr().cast::<f32>();
        let places = take_apart(x);
        let found = u.find(places);
        let mut values = [_mm_setzero_ps(); LANES];
        for (k, value) in values.iter_mut().enumerate() {
            let gradient;
            (*value, gradient) = u.with_half_gradient(&found, k);
            for (a, g) in gradient.into_iter().enumerate() {
                // SAFETY: those of eight markers lie there, and of one more behind them.
                unsafe { _mm_storeu_ps(gradients.add(9 * k + 3 * a), _mm_add_ps(g, g)) };
            }
        }
        let [vx, vy, vz, _] = transpose(&values);
        let here = [vx, vy, vz];
        put_together(here, velocity);
        let mut middle = places;
        for a in 0..3 {
            fastest[a] = _mm256_max_ps(fastest[a], _mm256_andnot_ps(sign, here[a]));
            // Second order: the velocity half-way.
            middle[a] = _mm256_add_ps(places[a], _mm256_mul_ps(half[a], here[a]));
        }
        let found = drift.find(middle);
        for (k, value) in values.iter_mut().enumerate() {
            *value = drift.at(&found, k);
        }
        let [vx, vy, vz, _] = transpose(&values);
        let mut to = [vx, vy, vz];
        for a in 0..3 {
            to[a] = _mm256_add_ps(places[a], _mm256_mul_ps(whole[a], to[a]));
        }
        let (bits, free) = within(&to, &low, &high);
        // Those that need care stay where they are for now.
        let mut next = places;
        for a in 0..3 {
            next[a] = _mm256_blendv_ps(places[a], to[a], free);
        }
        put_together(next, x);
        if bits != 0xff {
            for k in (0..LANES).filter(|k| bits >> k & 1 == 0) {
                let to = load(&x[k]) + scale * Vec4::from(values[k]);
                let (place, gone) = flow.kept(x[k], store(to), &mut velocity[k]);
                x[k] = place;
                moved.left |= gone;
                if !to.is_finite() {
                    moved.rate = f32::INFINITY;
                }
            }
        }
    }
    for (fastest, per_h) in fastest.into_iter().zip(per_h.to_array()) {
        let mut lanes = [0f32; LANES];
        // SAFETY: eight numbers.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), fastest) };
        moved.rate = lanes.into_iter().map(|v| v * per_h).fold(moved.rate, f32::max);
    }
    let done = batches * LANES;
    let (x, velocity, affine) = (&mut x[done..], &mut velocity[done..], &mut affine[done..]);
    moved.and(flow.carry_each::<Wide>(fields, Carried { rows, x, velocity, affine }, false))
}

#[cfg(test)]
mod tests {
    use super::super::super::cuts::Cuts;
    use super::super::super::lattice::wide::is_possible;
    use super::super::super::layout::Layout;
    use super::super::super::transfer::Faces;
    use super::*;
    use crate::scene::Scene;
    use crate::walls::Walls;

    #[target_feature(enable = "avx2,fma")]
    fn one_by_one(flow: &Flow, fields: &Fields, run: Carried) -> Moved {
        flow.carry_each::<Wide>(fields, run, false)
    }

    #[test]
    fn eight_at_a_time_are_carried_as_each_would_be() {
        if !is_possible() {
            return;
        }
        let text = "domain = { min = [0, 0, 0], max = [1, 0.8, 0.6], open = ['+y'] }\n\
                    model = { kind = 'mac', spacing = 0.1 }\n[[fluid]]\n\
                    shape = { box = { min = [0, 0, 0], max = [1, 0.4, 0.6] } }\n";
        let scene = Scene::parse(text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        let layout = Layout::new(&scene).unwrap();
        let mut state = 3u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let u: Faces = std::array::from_fn(|_| (0..layout.len()).map(|_| 4.0 * random() - 2.0).collect());
        let drift: Faces = std::array::from_fn(|_| (0..layout.len()).map(|_| 4.0 * random() - 2.0).collect());
        let walls = Walls::new(&scene);
        let cuts = Cuts::new(&layout, &walls);
        let flow = Flow {
            layout: &layout,
            cuts: &cuts,
            walls: &walls,
            u: &u,
            before: &u,
            drift: &drift,
            margin: 0.01,
            convection: Convection::Apic,
            dt: 0.05,
        };
        let mut fields = Fields::default();
        let [nx, ny, nz] = layout.n.map(|n| n as isize);
        fields.u.take(&layout, &u, 0..nx as usize, 0..2 * ny + 1, 0..2 * nz + 1);
        fields.drift.take(&layout, &drift, 0..nx as usize, 0..2 * ny + 1, 0..2 * nz + 1);
        // Also as many as eights are, and fewer than eight.
        for count in [1003, 1000, 1001, 8, 9, 5, 0] {
            let start: Vec<[f32; 3]> =
                (0..count).map(|_| std::array::from_fn(|a| layout.n[a] as f32 * random())).collect();
            let carry = |by: &dyn Fn(Carried) -> Moved| {
                let (mut x, mut velocity) = (start.clone(), vec![[f32::NAN; 3]; count]);
                let mut affine = vec![[[f32::NAN; 3]; 3]; count];
                let moved =
                    by(Carried { rows: 0..0, x: &mut x, velocity: &mut velocity, affine: &mut affine });
                (x, velocity, affine, moved.rate, moved.left)
            };
            // SAFETY: it is possible.
            let each = carry(&|run| unsafe { one_by_one(&flow, &fields, run) });
            // SAFETY: as above.
            let eight = carry(&|run| unsafe { carry_run(&flow, &fields, run) });
            assert_eq!(each, eight);
            assert!(count < 1000 || each.4, "some leave");
        }
    }
}
