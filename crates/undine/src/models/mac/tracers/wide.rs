//! Followers moved with AVX2, eight at a time.
//!
//! Where they are among the points of the lattice, and whether they need care, is found for eight at once; what lies between the
//! eight points around it for each on its own. (Beside one by one the pass took 26 to 28 ms instead of 38 in `buoyancy`, part of which is
//! that fewer need care.)

use std::arch::x86_64::*;

use glam::Vec4;

use super::super::convect::Flow;
use super::super::lattice::Lattice;
use super::super::lattice::eight::{Eight, LANES, put_together, take_apart, transpose, within};
use super::super::lattice::wide::Wide;
use super::{Sight, careful, move_with};

/// As [`move_with`], to the last bit.
#[target_feature(enable = "avx2,fma")]
pub(super) fn move_all(flow: &Flow, sight: Sight, shift: &Lattice, x: &mut [[f32; 3]], id: &[u32]) -> bool {
    let [mut low, high] = flow.free().map(|v| v.to_array());
    // Those whose fourth component is below that need care.
    low[3] = 0.0;
    let lattice = Eight::new(shift);
    let mut left = false;
    let (eights, rest) = x.as_chunks_mut::<LANES>();
    for (batch, id) in eights.iter_mut().zip(id.chunks(LANES)) {
        let places = take_apart(batch);
        let found = lattice.find(places);
        let mut moves = [_mm_setzero_ps(); LANES];
        for (k, m) in moves.iter_mut().enumerate() {
            *m = lattice.at(&found, k);
        }
        let [dx, dy, dz, w] = transpose(&moves);
        let to =
            [_mm256_add_ps(places[0], dx), _mm256_add_ps(places[1], dy), _mm256_add_ps(places[2], dz), w];
        let (bits, free) = within(&to, &low, &high);
        // Those that need care stay where they are for now.
        let next = [0, 1, 2].map(|a| _mm256_blendv_ps(places[a], to[a], free));
        put_together(next, batch);
        if bits != 0xff {
            for k in (0..LANES).filter(|k| bits >> k & 1 == 0) {
                let to = Vec4::from(moves[k]) + Vec4::new(batch[k][0], batch[k][1], batch[k][2], 0.0);
                left |= careful(flow, sight, &mut batch[k], to, id[k]);
            }
        }
    }
    let done = id.len() - rest.len();
    left | move_with::<Wide>(flow, sight, shift, rest, &id[done..])
}

#[cfg(test)]
mod tests {
    use super::super::super::cuts::Cuts;
    use super::super::super::lattice::wide::is_possible;
    use super::super::super::layout::Layout;
    use super::super::super::transfer::Faces;
    use super::*;
    use crate::scene::{Convection, Scene};
    use crate::state::markers::Markers;
    use crate::walls::Walls;

    #[test]
    fn eight_at_a_time_go_where_each_would() {
        if !is_possible() {
            return;
        }
        let text = "domain = { min = [0, 0, 0], max = [1, 0.8, 0.6] }\nmodel = { kind = 'mac', spacing = 0.1 }\n[[fluid]]\n\
                    shape = { box = { min = [0, 0, 0], max = [1, 0.4, 0.6] } }\n";
        let scene = Scene::parse(text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        let layout = Layout::new(&scene).unwrap();
        let mut state = 3u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let u: Faces = std::array::from_fn(|_| (0..layout.len()).map(|_| random() - 0.5).collect());
        let walls = Walls::new(&scene);
        let cuts = Cuts::new(&layout, &walls);
        let flow = Flow {
            layout: &layout,
            cuts: &cuts,
            walls: &walls,
            u: &u,
            before: &u,
            drift: &u,
            margin: 0.01,
            convection: Convection::Apic,
            dt: 0.1,
        };
        let carriers = Markers::default();
        let cells = vec![1.0; layout.len()];
        let sight = Sight { carriers: &carriers, cells: &cells, bodies: None, apart: 0.5 };
        let mut shift = Lattice::default();
        for (i, point) in shift.all(&layout).iter_mut().enumerate() {
            // Some need care.
            let care = if i % 17 == 0 { -1.0 } else { 0.5 };
            *point = Vec4::new(random() - 0.5, random() - 0.5, random() - 0.5, care);
        }
        // Not a multiple of eight.
        let start: Vec<[f32; 3]> =
            (0..1003).map(|_| std::array::from_fn(|a| layout.n[a] as f32 * random())).collect();
        let id: Vec<u32> = (0..1003).collect();
        let (mut each, mut eight) = (start.clone(), start.clone());
        // SAFETY: it is possible.
        unsafe {
            one_by_one(&flow, sight, &shift, &mut each, &id);
            move_all(&flow, sight, &shift, &mut eight, &id);
        }
        assert_eq!(each, eight);
        assert!(start.iter().zip(&each).filter(|(a, b)| a != b).count() > 900);
    }

    #[target_feature(enable = "avx2,fma")]
    fn one_by_one(flow: &Flow, sight: Sight, shift: &Lattice, x: &mut [[f32; 3]], id: &[u32]) {
        move_with::<Wide>(flow, sight, shift, x, id);
    }
}
