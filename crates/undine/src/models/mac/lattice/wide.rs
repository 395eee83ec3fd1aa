//! Lattices read with AVX2: two points at a time.

use std::arch::x86_64::*;

use glam::Vec4;

use super::{Lattice, Read};

/// Whether this processor has the features.
pub fn is_possible() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

/// Reads a lattice; to be used only inside functions with the features `avx2` and `fma`.
#[derive(Clone, Copy)]
pub(in crate::models::mac) struct Wide<'a> {
    lattice: &'a Lattice,
    origin: __m128,
    /// Just less than the number of the last point along each axis.
    high: __m128,
    stride: __m128i,
}

/// The eight points around a place, two along x in each, and how it lies between them.
pub(super) struct Octant {
    pub rows: [__m256; 4],
    pub x: __m128,
    pub y: __m256,
    pub z: __m256,
}

impl Octant {
    /// The value at the place.
    #[inline(always)]
    pub fn value(&self) -> __m128 {
        let [a, b, c, d] = self.rows;
        along_x(mix(mix(a, c, self.z), mix(b, d, self.z), self.y), self.x).0
    }

    /// The value at the place, and half of its derivatives along each axis, per cell.
    #[inline(always)]
    pub fn with_half_gradient(&self) -> (__m128, [__m128; 3]) {
        let Octant { rows: [a, b, c, d], x, y, z } = *self;
        // SAFETY: the caller has the features.
        unsafe {
            let (az, bz) = (_mm256_sub_ps(c, a), _mm256_sub_ps(d, b));
            let (low, high) = (_mm256_fmadd_ps(z, az, a), _mm256_fmadd_ps(z, bz, b));
            let (along_y, along_z) = (_mm256_sub_ps(high, low), mix(az, bz, y));
            let (value, dx) = along_x(_mm256_fmadd_ps(y, along_y, low), x);
            (value, [dx, along_x(along_y, x).0, along_x(along_z, x).0])
        }
    }
}

impl Wide<'_> {
    #[inline(always)]
    fn octant(&self, x: Vec4) -> Octant {
        let [nx, ny, _] = self.lattice.dims;
        // SAFETY: the caller has the features. The number of the first point is held within 0 and that of the last but one
        // along each axis, also for what is no number (`min` and `max` then take their second argument), so that all eight
        // are points of the lattice.
        unsafe {
            let p = _mm_sub_ps(_mm_add_ps(x.into(), x.into()), self.origin);
            let p = _mm_min_ps(_mm_max_ps(p, _mm_setzero_ps()), self.high);
            let i = _mm_cvttps_epi32(p);
            let f = _mm_sub_ps(p, _mm_cvtepi32_ps(i));
            let n = _mm_mullo_epi32(i, self.stride);
            let n = _mm_add_epi32(n, _mm_shuffle_epi32::<0b01_00_11_10>(n));
            let n = _mm_add_epi32(n, _mm_shuffle_epi32::<0b10_11_00_01>(n));
            let first = self.lattice.nodes.as_ptr().add(_mm_cvtsi128_si32(n) as u32 as usize).cast::<f32>();
            let (y, z) = (4 * nx, 4 * nx * ny);
            Octant {
                rows: [
                    _mm256_loadu_ps(first),
                    _mm256_loadu_ps(first.add(y)),
                    _mm256_loadu_ps(first.add(z)),
                    _mm256_loadu_ps(first.add(z + y)),
                ],
                x: _mm_broadcastss_ps(f),
                y: _mm256_broadcastss_ps(_mm_movehdup_ps(f)),
                z: _mm256_broadcastss_ps(_mm_movehl_ps(f, f)),
            }
        }
    }
}

/// a + t (b - a).
#[inline(always)]
fn mix(a: __m256, b: __m256, t: __m256) -> __m256 {
    // SAFETY: the caller has the features.
    unsafe { _mm256_fmadd_ps(t, _mm256_sub_ps(b, a), a) }
}

/// Between the two points of a row, and their difference.
#[inline(always)]
fn along_x(row: __m256, t: __m128) -> (__m128, __m128) {
    // SAFETY: the caller has the features.
    unsafe {
        let (low, high) = (_mm256_castps256_ps128(row), _mm256_extractf128_ps::<1>(row));
        let difference = _mm_sub_ps(high, low);
        (_mm_fmadd_ps(t, difference, low), difference)
    }
}

impl<'a> Read<'a> for Wide<'a> {
    #[inline(always)]
    fn new(lattice: &'a Lattice) -> Self {
        let [x, y, z] = lattice.dims;
        let high = |n: usize| ((n - 1) as f32).next_down();
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            Wide {
                lattice,
                origin: lattice.origin().into(),
                high: _mm_setr_ps(high(x), high(y), high(z), 0.0),
                stride: _mm_setr_epi32(1, x as i32, (x * y) as i32, 0),
            }
        }
    }

    #[inline(always)]
    fn at(&self, x: Vec4) -> Vec4 {
        self.octant(x).value().into()
    }

    #[inline(always)]
    fn with_gradient(&self, x: Vec4) -> (Vec4, [Vec4; 3]) {
        let (value, [dx, dy, dz]) = self.octant(x).with_half_gradient();
        (value.into(), [2.0 * Vec4::from(dx), 2.0 * Vec4::from(dy), 2.0 * Vec4::from(dz)])
    }
}
