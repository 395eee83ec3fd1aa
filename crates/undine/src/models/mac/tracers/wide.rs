//! Followers moved with AVX2, eight at a time.
//!
//! Where they are among the points of the lattice, and whether they need care, is found for eight at once; what lies between the
//! eight points around it for each on its own. (Beside one by one the pass took 26 to 28 ms instead of 38 in `buoyancy`, part of which is
//! that fewer need care.)

use std::arch::x86_64::*;

use glam::Vec4;

use super::super::convect::Flow;
use super::super::lattice::Lattice;
use super::super::lattice::wide::Wide;
use super::{Sight, careful, move_with};

const LANES: usize = 8;

/// x, y and z of eight places of three numbers.
///
/// # Safety
/// 24 numbers must lie at `p`, and the processor have AVX2.
#[inline(always)]
unsafe fn take_apart(p: *const f32) -> [__m256; 3] {
    // SAFETY: the caller's promise.
    unsafe {
        let pair = |low: usize| {
            let half = _mm256_castps128_ps256(_mm_loadu_ps(p.add(low)));
            _mm256_insertf128_ps::<1>(half, _mm_loadu_ps(p.add(low + 12)))
        };
        let (a, b, c) = (pair(0), pair(4), pair(8));
        let xy = _mm256_shuffle_ps::<0b10_01_11_10>(b, c);
        let yz = _mm256_shuffle_ps::<0b01_00_10_01>(a, b);
        [
            _mm256_shuffle_ps::<0b10_00_11_00>(a, xy),
            _mm256_shuffle_ps::<0b11_01_10_00>(yz, xy),
            _mm256_shuffle_ps::<0b11_00_11_01>(yz, c),
        ]
    }
}

/// The reverse of [`take_apart`].
///
/// # Safety
/// There must be room for 24 numbers at `p`, and the processor have AVX2.
#[inline(always)]
unsafe fn put_together([x, y, z]: [__m256; 3], p: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe {
        let xy = _mm256_shuffle_ps::<0b10_00_10_00>(x, y);
        let yz = _mm256_shuffle_ps::<0b11_01_11_01>(y, z);
        let zx = _mm256_shuffle_ps::<0b11_01_10_00>(z, x);
        let a = _mm256_shuffle_ps::<0b10_00_10_00>(xy, zx);
        let b = _mm256_shuffle_ps::<0b11_01_10_00>(yz, xy);
        let c = _mm256_shuffle_ps::<0b11_01_11_01>(zx, yz);
        for (at, v) in [(0, a), (4, b), (8, c)] {
            _mm_storeu_ps(p.add(at), _mm256_castps256_ps128(v));
            _mm_storeu_ps(p.add(at + 12), _mm256_extractf128_ps::<1>(v));
        }
    }
}

/// Component k of eight records of four, for each k.
#[inline(always)]
fn transpose(of: &[[f32; 4]; LANES]) -> [__m256; 4] {
    // SAFETY: the caller has the features, and records are whole.
    unsafe {
        let pair = |k: usize| {
            let half = _mm256_castps128_ps256(_mm_loadu_ps(of[k].as_ptr()));
            _mm256_insertf128_ps::<1>(half, _mm_loadu_ps(of[k + 4].as_ptr()))
        };
        let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (high_ab, high_cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
            _mm256_shuffle_ps::<0b01_00_01_00>(high_ab, high_cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(high_ab, high_cd),
        ]
    }
}

/// As [`move_with`], to the last bit.
#[target_feature(enable = "avx2,fma")]
pub(super) fn move_all(flow: &Flow, sight: Sight, shift: &Lattice, x: &mut [[f32; 3]], id: &[u32]) -> bool {
    let [low, high] = flow.free().map(|v| v.to_array());
    let lattice = shift.wide_parts();
    let mut left = false;
    let (mut at, mut f) = ([0u32; LANES], [[0f32; LANES]; 3]);
    let mut moves = [[0f32; 4]; LANES];
    let (eights, rest) = x.as_chunks_mut::<LANES>();
    for (batch, id) in eights.iter_mut().zip(id.chunks(LANES)) {
        // SAFETY: the processor has the features; `batch` is 24 numbers. The number of the first point is held within 0 and that of the
        // last but one along each axis (of what is no number `max` takes the 0), so that all eight points are the lattice's.
        let (places, to) = unsafe {
            let places = take_apart(batch.as_ptr().cast());
            let mut first = _mm256_setzero_si256();
            for a in 0..3 {
                let p = _mm256_sub_ps(_mm256_add_ps(places[a], places[a]), _mm256_set1_ps(lattice.origin[a]));
                let p = _mm256_max_ps(p, _mm256_setzero_ps());
                let p = _mm256_min_ps(p, _mm256_set1_ps(lattice.high[a]));
                let i = _mm256_cvttps_epi32(p);
                let share = _mm256_sub_ps(p, _mm256_cvtepi32_ps(i));
                _mm256_storeu_ps(f[a].as_mut_ptr(), share);
                let along = _mm256_mullo_epi32(i, _mm256_set1_epi32(lattice.stride[a] as i32));
                first = _mm256_add_epi32(first, along);
            }
            _mm256_storeu_si256(at.as_mut_ptr().cast(), first);
            for k in 0..LANES {
                let first = lattice.nodes.as_ptr().add(at[k] as usize).cast::<f32>();
                let [_, row, layer] = lattice.stride.map(|s| 4 * s);
                let (a, b) = (_mm256_loadu_ps(first), _mm256_loadu_ps(first.add(row)));
                let (c, d) = (_mm256_loadu_ps(first.add(layer)), _mm256_loadu_ps(first.add(layer + row)));
                let (y, z) = (_mm256_broadcast_ss(&f[1][k]), _mm256_broadcast_ss(&f[2][k]));
                let low = _mm256_fmadd_ps(z, _mm256_sub_ps(c, a), a);
                let high = _mm256_fmadd_ps(z, _mm256_sub_ps(d, b), b);
                let pair = _mm256_fmadd_ps(y, _mm256_sub_ps(high, low), low);
                let (low, high) = (_mm256_castps256_ps128(pair), _mm256_extractf128_ps::<1>(pair));
                let moved = _mm_fmadd_ps(_mm_broadcast_ss(&f[0][k]), _mm_sub_ps(high, low), low);
                _mm_storeu_ps(moves[k].as_mut_ptr(), moved);
            }
            let [dx, dy, dz, w] = transpose(&moves);
            let to =
                [_mm256_add_ps(places[0], dx), _mm256_add_ps(places[1], dy), _mm256_add_ps(places[2], dz), w];
            (places, to)
        };
        let mut free = _mm256_cmp_ps::<_CMP_GE_OQ>(to[3], _mm256_setzero_ps());
        for a in 0..3 {
            let above = _mm256_cmp_ps::<_CMP_GE_OQ>(to[a], _mm256_set1_ps(low[a]));
            let below = _mm256_cmp_ps::<_CMP_LE_OQ>(to[a], _mm256_set1_ps(high[a]));
            free = _mm256_and_ps(free, _mm256_and_ps(above, below));
        }
        let bits = _mm256_movemask_ps(free);
        // Those that need care stay where they are for now.
        let next = [0, 1, 2].map(|a| _mm256_blendv_ps(places[a], to[a], free));
        // SAFETY: as above.
        unsafe { put_together(next, batch.as_mut_ptr().cast()) };
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
