//! Sums of markers with AVX2: four nodes of a component, momentum and mass of each, at a time.

use std::arch::x86_64::*;
use std::ops::Range;

use super::{Block, LAYERS, Source};

/// Eight lanes: momentum and mass of the lower and the upper node along x, then the same one row on along y.
type Pairs = __m256;

/// What is the same for all markers.
struct Constants {
    one: Pairs,
    /// 1 in lanes of the upper nodes along x and along y.
    x: Pairs,
    y: Pairs,
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

/// Adds a marker's count to the four rows of two cells around it.
///
/// # Safety
/// These must be there, and the processor have AVX2 and FMA.
#[inline(always)]
unsafe fn count(cells: *mut f32, [row, layer]: [usize; 2], f: __m128, weight: f32) {
    // SAFETY: the caller's promise.
    unsafe {
        let one = _mm_set1_ps(1.0);
        let (x, y) = (_mm_broadcastss_ps(f), _mm_broadcastss_ps(_mm_movehdup_ps(f)));
        let z = _mm_broadcastss_ps(_mm_movehl_ps(f, f));
        // Lower and upper along x, one row and the next.
        let x = _mm_blend_ps::<0b1010>(_mm_sub_ps(one, x), x);
        let y = _mm_blend_ps::<0b1100>(_mm_sub_ps(one, y), y);
        let whole = _mm_mul_ps(_mm_mul_ps(x, y), _mm_set1_ps(weight));
        let upper = _mm_mul_ps(whole, z);
        for (at, weight) in [(cells, _mm_sub_ps(whole, upper)), (cells.add(layer), upper)] {
            let (low, high) = (at.cast::<__m128i>(), at.add(row).cast::<__m128i>());
            let old = _mm_castsi128_ps(_mm_unpacklo_epi64(_mm_loadl_epi64(low), _mm_loadl_epi64(high)));
            let new = _mm_castps_si128(_mm_add_ps(old, weight));
            _mm_storel_epi64(low, new);
            _mm_storel_epi64(high, _mm_unpackhi_epi64(new, new));
        }
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
    let strides = _mm_setr_epi32(1, sy as i32, sz as i32, 0);
    let low = _mm_setr_epi32(0, 0, first, 0);
    let (high_cell, high_near) =
        (_mm_setr_epi32(n[0] - 1, n[1] - 1, end - 1, 0), _mm_setr_epi32(n[0], n[1], end, 0));
    let constants = Constants {
        one: _mm256_set1_ps(1.0),
        x: _mm256_setr_ps(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0),
        y: _mm256_setr_ps(0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0),
    };
    for (k, (x, was)) in x.iter().zip(order).enumerate() {
        let was = *was as usize;
        let velocity = &markers.velocity[was];
        let affine = if markers.has_affine { &markers.affine[was] } else { &zero };
        let weight = weights.get(k).copied().unwrap_or(1.0);
        let mass = weight * density[usize::from(fluid[k])];
        let x = _mm_setr_ps(x[0], x[1], x[2], 0.0);
        let near = _mm_add_ps(x, _mm_setr_ps(0.5, 0.5, 0.5, 0.0));
        let cell = _mm_min_epi32(_mm_max_epi32(_mm_cvttps_epi32(x), low), high_cell);
        let node = _mm_min_epi32(_mm_max_epi32(_mm_cvttps_epi32(near), low), high_near);
        let beside_faces = _mm_sub_ps(x, _mm_cvtepi32_ps(cell));
        let beside_centres = _mm_sub_ps(near, _mm_cvtepi32_ps(node));
        // Numbers of the lowest nodes: of centres, and of the faces of each axis, which differ along it. Those are padded, and
        // layers count from the block's own.
        let cell = _mm_add_epi32(cell, _mm_setr_epi32(1, 1, 1, 0));
        let along = _mm_mullo_epi32(_mm_sub_epi32(node, low), strides);
        let more = _mm_mullo_epi32(_mm_sub_epi32(cell, node), strides);
        let sum = _mm_add_epi32(along, _mm_shuffle_epi32::<0b01_00_11_10>(along));
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
        let bases = _mm_add_epi32(sum, more);
        let centre = _mm_cvtsi128_si32(sum) as usize;
        let base = [
            _mm_extract_epi32::<0>(bases) as usize,
            _mm_extract_epi32::<1>(bases) as usize,
            _mm_extract_epi32::<2>(bases) as usize,
        ];
        let f = [
            _mm_blend_ps::<0b001>(beside_centres, beside_faces),
            _mm_blend_ps::<0b010>(beside_centres, beside_faces),
            _mm_blend_ps::<0b100>(beside_centres, beside_faces),
        ];
        for a in 0..3 {
            let along = [affine[0][a], affine[1][a], affine[2][a]];
            // SAFETY: the processor has the features. Cells were held within the domain and the block's layers, nodes of centres up to
            // one more; with padding, and one node on along each axis, all are among the (LAYERS + 2) layers that the
            // arrays have.
            unsafe {
                add_momentum(&constants, faces[a].add(2 * base[a]), [sy, sz], f[a], velocity[a], along, mass);
            }
        }
        // SAFETY: as above.
        unsafe { count(cells.add(centre), [sy, sz], beside_centres, weight) };
    }
}

/// Adds a marker's momentum and mass: `v` is its velocity along the axis of the faces, `c` its derivatives, `f` how it lies
/// between the nodes.
///
/// # Safety
/// The eight nodes from `nodes` on must be there, and the processor have AVX2 and FMA.
#[inline(always)]
unsafe fn add_momentum(
    constants: &Constants,
    nodes: *mut f32,
    [row, layer]: [usize; 2],
    f: __m128,
    v: f32,
    c: [f32; 3],
    mass: f32,
) {
    let Constants { one, x, y } = *constants;
    // SAFETY: the caller's promise.
    unsafe {
        let fx = _mm256_broadcastss_ps(f);
        let fy = _mm256_broadcastss_ps(_mm_movehdup_ps(f));
        let fz = _mm256_broadcastss_ps(_mm_movehl_ps(f, f));
        let (dx, dy) = (_mm256_sub_ps(x, fx), _mm256_sub_ps(y, fy));
        let sign = _mm256_set1_ps(-0.0);
        let wx = _mm256_sub_ps(one, _mm256_andnot_ps(sign, dx));
        let wy = _mm256_sub_ps(one, _mm256_andnot_ps(sign, dy));
        let whole = _mm256_mul_ps(_mm256_mul_ps(wx, wy), _mm256_set1_ps(mass));
        let upper = _mm256_mul_ps(whole, fz);
        let cz = _mm256_set1_ps(c[2]);
        let value = _mm256_fmadd_ps(_mm256_set1_ps(c[0]), dx, _mm256_set1_ps(v));
        let value = _mm256_fmadd_ps(_mm256_set1_ps(c[1]), dy, value);
        let value = _mm256_fnmadd_ps(cz, fz, value);
        // Velocity and 1, so that times the weights they are momentum and mass.
        let below = _mm256_blend_ps::<0b1010_1010>(value, one);
        let above = _mm256_blend_ps::<0b1010_1010>(_mm256_add_ps(value, cz), one);
        add(nodes, row, _mm256_sub_ps(whole, upper), below);
        add(nodes.add(2 * layer), row, upper, above);
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
