//! Lattices read with AVX2 for eight places: where these are among the points is found for all at once, what lies between the
//! eight points around each for each on its own.
//!
//! Everything is the same to the last bit as [`super::wide::Wide`] reads it.

use std::arch::x86_64::*;

use super::Lattice;
use super::wide::Octant;

/// Places at once.
pub(in crate::models::mac) const LANES: usize = 8;

/// A lattice for who reads it eight places at a time; to be used only inside functions with the features `avx2` and `fma`.
pub(in crate::models::mac) struct Eight<'a> {
    lattice: &'a Lattice,
    /// Number of the first point along each axis.
    origin: [f32; 3],
    /// Just less than the number of the last point along each axis.
    high: [f32; 3],
    /// Points from one to the next along each axis.
    stride: [usize; 3],
}

/// Where eight places are: the number of the lowest point around each, and shares of the way to the next along each axis.
pub(in crate::models::mac) struct Places {
    first: [u32; LANES],
    share: [[f32; LANES]; 3],
}

impl<'a> Eight<'a> {
    /// For a lattice, whose points have numbers of 31 bits ([`Lattice::is_wide`]).
    pub fn new(lattice: &'a Lattice) -> Self {
        let [x, y, z] = lattice.dims;
        assert!(lattice.nodes.len() >= x * y * z && lattice.dims.iter().all(|n| *n > 1));
        Eight {
            lattice,
            origin: lattice.first.map(|f| f as f32),
            high: lattice.dims.map(|n| ((n - 1) as f32).next_down()),
            stride: [1, x, x * y],
        }
    }

    /// Finds eight places, given in cells by axis.
    #[inline(always)]
    pub fn find(&self, places: [__m256; 3]) -> Places {
        let mut found = Places { first: [0; LANES], share: [[0.0; LANES]; 3] };
        // SAFETY: the caller has the features.
        unsafe {
            let mut first = _mm256_setzero_si256();
            for a in 0..3 {
                let p = _mm256_sub_ps(_mm256_add_ps(places[a], places[a]), _mm256_set1_ps(self.origin[a]));
                // Of what is no number `max` takes the 0.
                let p = _mm256_max_ps(p, _mm256_setzero_ps());
                let p = _mm256_min_ps(p, _mm256_set1_ps(self.high[a]));
                let i = _mm256_cvttps_epi32(p);
                let share = _mm256_sub_ps(p, _mm256_cvtepi32_ps(i));
                _mm256_storeu_ps(found.share[a].as_mut_ptr(), share);
                let along = _mm256_mullo_epi32(i, _mm256_set1_epi32(self.stride[a] as i32));
                first = _mm256_add_epi32(first, along);
            }
            _mm256_storeu_si256(found.first.as_mut_ptr().cast(), first);
        }
        found
    }

    #[inline(always)]
    fn octant(&self, places: &Places, k: usize) -> Octant {
        let [_, row, layer] = self.stride.map(|s| 4 * s);
        let [x, y, z] = &places.share;
        // SAFETY: the caller has the features. The number of the first point was held within 0 and that of the last but one along
        // each axis, so that all eight points are the lattice's.
        unsafe {
            let first = self.lattice.nodes.as_ptr().add(places.first[k] as usize).cast::<f32>();
            Octant {
                rows: [
                    _mm256_loadu_ps(first),
                    _mm256_loadu_ps(first.add(row)),
                    _mm256_loadu_ps(first.add(layer)),
                    _mm256_loadu_ps(first.add(layer + row)),
                ],
                x: _mm_broadcast_ss(&x[k]),
                y: _mm256_broadcast_ss(&y[k]),
                z: _mm256_broadcast_ss(&z[k]),
            }
        }
    }

    /// The value at place k.
    #[inline(always)]
    pub fn at(&self, places: &Places, k: usize) -> __m128 {
        self.octant(places, k).value()
    }

    /// The value at place k, and half of its derivatives along each axis, per cell.
    #[inline(always)]
    pub fn with_half_gradient(&self, places: &Places, k: usize) -> (__m128, [__m128; 3]) {
        self.octant(places, k).with_half_gradient()
    }
}

/// x, y and z of eight records of three numbers.
#[inline(always)]
pub(in crate::models::mac) fn take_apart(records: &[[f32; 3]; LANES]) -> [__m256; 3] {
    let p = records.as_ptr().cast::<f32>();
    // SAFETY: the caller has the features, and 24 numbers lie there.
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
#[inline(always)]
pub(in crate::models::mac) fn put_together([x, y, z]: [__m256; 3], records: &mut [[f32; 3]; LANES]) {
    let p = records.as_mut_ptr().cast::<f32>();
    // SAFETY: the caller has the features, and there is room for 24 numbers.
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
pub(in crate::models::mac) fn transpose(of: &[__m128; LANES]) -> [__m256; 4] {
    // SAFETY: the caller has the features.
    unsafe {
        let pair = |k: usize| _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(of[k]), of[k + 4]);
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

/// Bits of the lanes in which all three are neither below `low` nor above `high`, and all ones in those lanes.
#[inline(always)]
pub(in crate::models::mac) fn within(to: &[__m256], low: &[f32], high: &[f32]) -> (i32, __m256) {
    // SAFETY: the caller has the features.
    unsafe {
        let mut free = _mm256_cmp_ps::<_CMP_EQ_OQ>(_mm256_setzero_ps(), _mm256_setzero_ps());
        for (to, (low, high)) in to.iter().zip(low.iter().zip(high)) {
            let above = _mm256_cmp_ps::<_CMP_GE_OQ>(*to, _mm256_set1_ps(*low));
            let below = _mm256_cmp_ps::<_CMP_LE_OQ>(*to, _mm256_set1_ps(*high));
            free = _mm256_and_ps(free, _mm256_and_ps(above, below));
        }
        (_mm256_movemask_ps(free), free)
    }
}
