//! Sums of markers with AVX2: where eight markers are is found at once, then each adds to four nodes of a component, momentum and mass of
//! each, at a time.
//!
//! Velocities and gradients are still in the order of before, so those of the next eight are asked for early: the wait for them was a
//! fifth of the pass.

use std::arch::x86_64::*;
use std::ops::Range;

use super::super::lattice::eight::{LANES, take_apart};
use super::{Block, LAYERS, Source};

/// Eight lanes: momentum and mass of the lower and the upper node along x, then the same one row on along y.
type Pairs = __m256;

/// Where eight markers are.
struct Places {
    /// Numbers, in the block, of the lowest nodes around each: of faces of each axis, and of centres.
    base: [[u32; LANES]; 4],
    /// How far each is on its way from the lower to the upper node along each axis, beside faces and beside centres.
    beside_faces: [[f32; LANES]; 3],
    beside_centres: [[f32; LANES]; 3],
}

/// The block's cells, by axis.
struct Bounds {
    low: [i32; 3],
    /// Last cell, and last node of centres.
    high_cell: [i32; 3],
    high_node: [i32; 3],
    stride: [i32; 3],
}

impl Bounds {
    #[target_feature(enable = "avx2,fma")]
    fn find(&self, x: &[[f32; 3]; LANES]) -> Places {
        let x = take_apart(x);
        let half = _mm256_set1_ps(0.5);
        let (mut sum, mut more) = (_mm256_setzero_si256(), [_mm256_setzero_si256(); 3]);
        let mut places = Places {
            base: [[0; LANES]; 4],
            beside_faces: [[0.0; LANES]; 3],
            beside_centres: [[0.0; LANES]; 3],
        };
        for a in 0..3 {
            let near = _mm256_add_ps(x[a], half);
            let low = _mm256_set1_epi32(self.low[a]);
            let cell = _mm256_max_epi32(_mm256_cvttps_epi32(x[a]), low);
            let cell = _mm256_min_epi32(cell, _mm256_set1_epi32(self.high_cell[a]));
            let node = _mm256_max_epi32(_mm256_cvttps_epi32(near), low);
            let node = _mm256_min_epi32(node, _mm256_set1_epi32(self.high_node[a]));
            // SAFETY: eight numbers each.
            unsafe {
                let faces = _mm256_sub_ps(x[a], _mm256_cvtepi32_ps(cell));
                _mm256_storeu_ps(places.beside_faces[a].as_mut_ptr(), faces);
                let centres = _mm256_sub_ps(near, _mm256_cvtepi32_ps(node));
                _mm256_storeu_ps(places.beside_centres[a].as_mut_ptr(), centres);
            }
            // Nodes of faces differ from those of centres along their own axis. They are padded, and layers count from the block's own.
            let stride = _mm256_set1_epi32(self.stride[a]);
            sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(_mm256_sub_epi32(node, low), stride));
            let padded = _mm256_add_epi32(cell, _mm256_set1_epi32(1));
            more[a] = _mm256_mullo_epi32(_mm256_sub_epi32(padded, node), stride);
        }
        let bases = [
            _mm256_add_epi32(sum, more[0]),
            _mm256_add_epi32(sum, more[1]),
            _mm256_add_epi32(sum, more[2]),
            sum,
        ];
        for (base, of) in places.base.iter_mut().zip(bases) {
            // SAFETY: eight numbers.
            unsafe { _mm256_storeu_si256(base.as_mut_ptr().cast(), of) };
        }
        places
    }
}

/// A marker between the nodes along one axis: from it to each of its eight lanes' nodes, and their weights.
#[derive(Clone, Copy)]
struct Along {
    to: Pairs,
    weight: Pairs,
}

impl Along {
    /// `upper` is 1 in lanes of upper nodes, else 0; `sign` 1 and -1; `f` how far it is on its way to the upper node.
    #[inline(always)]
    fn new(upper: Pairs, sign: Pairs, f: &f32) -> Self {
        // SAFETY: the caller has the features.
        unsafe {
            let f = _mm256_broadcast_ss(f);
            let lower = _mm256_sub_ps(_mm256_set1_ps(1.0), upper);
            Along { to: _mm256_sub_ps(upper, f), weight: _mm256_fmadd_ps(sign, f, lower) }
        }
    }
}

/// Adds the weights to the rows `at` and `at + row` of pairs.
///
/// # Safety
/// Two pairs must lie at both places, and the processor have AVX2 and FMA.
#[inline(always)]
unsafe fn add(nodes: *mut f32, row: usize, weight: Pairs, value: Pairs) {
    // SAFETY: the caller's promise.
    unsafe {
        let above = nodes.add(2 * row);
        let old = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(nodes)), _mm_loadu_ps(above));
        let new = _mm256_fmadd_ps(weight, value, old);
        _mm_storeu_ps(nodes, _mm256_castps256_ps128(new));
        _mm_storeu_ps(above, _mm256_extractf128_ps::<1>(new));
    }
}

/// Adds a marker's count to the four rows of two cells around it, of which `whole` has the weights along x and y.
///
/// # Safety
/// These must be there, and the processor have AVX2 and FMA.
#[inline(always)]
unsafe fn count(cells: *mut f32, [row, layer]: [usize; 2], whole: Pairs, z: &f32) {
    // SAFETY: the caller's promise.
    unsafe {
        // One of each pair: lower and upper along x, one row and the next.
        let (low, high) = (_mm256_castps256_ps128(whole), _mm256_extractf128_ps::<1>(whole));
        let whole = _mm_shuffle_ps::<0b10_00_10_00>(low, high);
        let upper = _mm_mul_ps(whole, _mm_broadcast_ss(z));
        for (at, weight) in [(cells, _mm_sub_ps(whole, upper)), (cells.add(layer), upper)] {
            let (low, high) = (at.cast::<__m128i>(), at.add(row).cast::<__m128i>());
            let old = _mm_castsi128_ps(_mm_unpacklo_epi64(_mm_loadl_epi64(low), _mm_loadl_epi64(high)));
            let new = _mm_castps_si128(_mm_add_ps(old, weight));
            _mm_storel_epi64(low, new);
            _mm_storel_epi64(high, _mm_unpackhi_epi64(new, new));
        }
    }
}

/// Adds a marker's momentum and mass: `v` is its velocity along the axis of the faces, `c` its derivatives, `whole` the mass by weights
/// along x and y, `z` how far it is on its way along z.
///
/// # Safety
/// The eight nodes from `nodes` on must be there, and the processor have AVX2 and FMA.
#[inline(always)]
unsafe fn add_momentum(
    nodes: *mut f32,
    [row, layer]: [usize; 2],
    (x, y, z): (Along, Along, &f32),
    (v, c): (&f32, [&f32; 3]),
    whole: Pairs,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let (z, cz) = (_mm256_broadcast_ss(z), _mm256_broadcast_ss(c[2]));
        let upper = _mm256_mul_ps(whole, z);
        let value = _mm256_fmadd_ps(_mm256_broadcast_ss(c[0]), x.to, _mm256_broadcast_ss(v));
        let value = _mm256_fmadd_ps(_mm256_broadcast_ss(c[1]), y.to, value);
        let value = _mm256_fnmadd_ps(cz, z, value);
        // Velocity and 1, so that times the weights they are momentum and mass.
        let one = _mm256_set1_ps(1.0);
        let below = _mm256_blend_ps::<0b1010_1010>(value, one);
        let above = _mm256_blend_ps::<0b1010_1010>(_mm256_add_ps(value, cz), one);
        add(nodes, row, _mm256_sub_ps(whole, upper), below);
        add(nodes.add(2 * layer), row, upper, above);
    }
}

/// As [`Block::sum`].
#[target_feature(enable = "avx2,fma")]
pub(super) fn sum(block: &mut Block, source: Source, range: Range<usize>, layers: Range<usize>) {
    let Source { layout, markers, order, density } = source;
    let [_, sy, sz] = layout.stride;
    let size = (LAYERS + 2) * sz;
    assert!(layers.len() <= LAYERS && block.cells.len() == size);
    assert!(block.faces.iter().all(|f| f.len() == size));
    let (x, order) = (&markers.x[range.clone()], &order.order[range.clone()]);
    let fluid = &markers.fluid[range.clone()];
    let weights = if markers.has_weight { &markers.weight[range] } else { &[][..] };
    let zero = [[0.0; 3]; 3];
    let faces = block.faces.each_mut().map(|f| f.as_mut_ptr().cast::<f32>());
    let cells = block.cells.as_mut_ptr();
    let n = layout.n.map(|n| n as i32);
    let (first, end) = (layers.start as i32, layers.end as i32);
    let bounds = Bounds {
        low: [0, 0, first],
        high_cell: [n[0] - 1, n[1] - 1, end - 1],
        high_node: [n[0], n[1], end],
        stride: [1, sy as i32, sz as i32],
    };
    let upper_x = _mm256_setr_ps(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0);
    let upper_y = _mm256_setr_ps(0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0);
    let (one, two) = (_mm256_set1_ps(1.0), _mm256_set1_ps(2.0));
    let (sign_x, sign_y) = (_mm256_fmsub_ps(two, upper_x, one), _mm256_fmsub_ps(two, upper_y, one));
    for (batch, x) in x.chunks(LANES).enumerate() {
        let places = match x.as_array() {
            Some(x) => bounds.find(x),
            // The last ones, filled up with any.
            None => bounds.find(&std::array::from_fn(|k| x[k.min(x.len() - 1)])),
        };
        let done = batch * LANES;
        for was in order.iter().skip(done + LANES).take(LANES) {
            let was = *was as usize;
            if let (Some(v), Some(c)) = (markers.velocity.get(was), markers.affine.get(was)) {
                let (v, c) = (v.as_ptr().cast::<i8>(), c.as_ptr().cast::<i8>());
                _mm_prefetch::<_MM_HINT_T0>(v);
                _mm_prefetch::<_MM_HINT_T0>(c);
                // They may lie across two lines.
                _mm_prefetch::<_MM_HINT_T0>(c.wrapping_add(32));
            }
        }
        for k in 0..x.len() {
            let was = order[done + k] as usize;
            let velocity = &markers.velocity[was];
            let affine = if markers.has_affine { &markers.affine[was] } else { &zero };
            let weight = weights.get(done + k).copied().unwrap_or(1.0);
            let mass = weight * density[usize::from(fluid[done + k])];
            let Places { base, beside_faces: [fx, fy, fz], beside_centres: [cx, cy, cz] } = &places;
            let (face_x, face_y) = (Along::new(upper_x, sign_x, &fx[k]), Along::new(upper_y, sign_y, &fy[k]));
            let (centre_x, centre_y) =
                (Along::new(upper_x, sign_x, &cx[k]), Along::new(upper_y, sign_y, &cy[k]));
            let mass = _mm256_set1_ps(mass);
            let centre = _mm256_mul_ps(centre_x.weight, centre_y.weight);
            let each = [
                (face_x, centre_y, &cz[k], _mm256_mul_ps(face_x.weight, centre_y.weight)),
                (centre_x, face_y, &cz[k], _mm256_mul_ps(centre_x.weight, face_y.weight)),
                (centre_x, centre_y, &fz[k], centre),
            ];
            // SAFETY: the processor has the features. Cells were held within the domain and the block's layers, nodes of centres up to
            // one more; with padding, and one node on along each axis, all are among the (LAYERS + 2) layers that the
            // arrays have.
            unsafe {
                for (a, (x, y, z, whole)) in each.into_iter().enumerate() {
                    let nodes = faces[a].add(2 * base[a][k] as usize);
                    let carried = (&velocity[a], [&affine[0][a], &affine[1][a], &affine[2][a]]);
                    add_momentum(nodes, [sy, sz], (x, y, z), carried, _mm256_mul_ps(whole, mass));
                }
                let whole = _mm256_mul_ps(centre, _mm256_set1_ps(weight));
                count(cells.add(base[3][k] as usize), [sy, sz], whole, &cz[k]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::lattice::wide::is_possible;
    use super::super::super::layout::Layout;
    use super::*;
    use crate::scene::Scene;
    use crate::state::markers::{Markers, Order};

    #[test]
    fn wide_sums_are_sums() {
        if !is_possible() {
            return;
        }
        let text = "domain = { min = [0, 0, 0], max = [1, 1.4, 1.8] }\nmodel = { kind = 'mac', spacing = 0.2 }\n[[fluid]]\n\
                    shape = { box = { min = [0, 0, 0], max = [1, 0.4, 0.8] } }\n";
        let scene = Scene::parse(text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        let layout = Layout::new(&scene).unwrap();
        let mut state = 7u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        for (has_affine, has_weight) in [(true, true), (false, false)] {
            let mut markers = Markers { has_affine, has_weight, ..Markers::default() };
            for k in 0..3000 {
                // Sides of cells and of the domain too.
                let mut x: [f32; 3] = std::array::from_fn(|a| layout.n[a] as f32 * random());
                if k % 10 == 0 {
                    x = x.map(|x| (2.0 * x).round() / 2.0);
                }
                let v = std::array::from_fn(|_| random() - 0.5);
                markers.push_weighted(x, v, (k % 2) as u8, 0.5 + random());
            }
            for c in markers.affine.iter_mut().flatten().flatten() {
                *c = random() - 0.5;
            }
            let mut order = Order::default();
            order.find(&markers.x, layout.n);
            order.apply(&mut markers);
            let source = Source { layout: &layout, markers: &markers, order: &order, density: &[1.0, 0.7] };
            let cells = layout.n[0] * layout.n[1];
            for from in (0..layout.n[2]).step_by(LAYERS) {
                let to = (from + LAYERS).min(layout.n[2]);
                let range = order.start[from * cells] as usize..order.start[to * cells] as usize;
                let (mut plain, mut wide) = (Block::default(), Block::default());
                plain.clear(&layout, &order, from..to, true);
                wide.clear(&layout, &order, from..to, true);
                plain.sum(source, range.clone(), from * layout.plane());
                // SAFETY: it is possible.
                unsafe { sum(&mut wide, source, range, from..to) };
                let near = |p: f32, w: f32| (p - w).abs() < 1e-4;
                assert!(plain.cells.iter().zip(&wide.cells).all(|(p, w)| near(*p, *w)));
                assert!(plain.cells.iter().sum::<f32>() > 1.0);
                for (plain, wide) in plain.faces.iter().zip(&wide.faces) {
                    let same = |(p, w): (&[f32; 2], &[f32; 2])| near(p[0], w[0]) && near(p[1], w[1]);
                    assert!(plain.iter().zip(wide).all(same));
                }
            }
        }
    }
}
