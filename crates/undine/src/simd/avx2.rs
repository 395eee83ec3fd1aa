//! Eight lanes in an AVX2 register.

use std::arch::x86_64::*;

use super::{Eight, Lanes, Octets};

/// Eight lanes in an AVX2 register.
///
/// Its methods may only run after [`super::avx2_available`] said yes; they are inlined into functions with
/// `#[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]`, which the `sph` passes call behind that check.
#[derive(Clone, Copy)]
pub struct Avx2(pub(super) __m256);

// Functions, not closures, throughout: a closure would be compiled without the instruction set of its
// surroundings and every intrinsic in it become a call.

/// Four floats from `offset` on of the records `index[k]` (lower half) and `index[k+4]` (upper half), each
/// `stride` floats long.
///
/// # Safety
/// As [`Lanes::gather8`].
#[inline(always)]
unsafe fn pair(base: *const f32, stride: usize, index: *const u32, k: usize, offset: usize) -> __m256 {
    // SAFETY: the indices are in bounds, and `offset` + 4 ≤ `stride`.
    unsafe {
        let low = _mm_loadu_ps(base.add(*index.add(k) as usize * stride + offset));
        let high = _mm_loadu_ps(base.add(*index.add(k + 4) as usize * stride + offset));
        _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
    }
}

/// Four components of eight records, transposed.
///
/// # Safety
/// As [`Lanes::gather8`].
#[inline(always)]
unsafe fn four(base: *const f32, stride: usize, index: *const u32, offset: usize) -> [Avx2; 4] {
    // SAFETY: passed on.
    unsafe {
        let (a, b) = (pair(base, stride, index, 0, offset), pair(base, stride, index, 1, offset));
        let (c, d) = (pair(base, stride, index, 2, offset), pair(base, stride, index, 3, offset));
        let (ab0, ab1) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd0, cd1) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            Avx2(_mm256_shuffle_ps::<0x44>(ab0, cd0)),
            Avx2(_mm256_shuffle_ps::<0xEE>(ab0, cd0)),
            Avx2(_mm256_shuffle_ps::<0x44>(ab1, cd1)),
            Avx2(_mm256_shuffle_ps::<0xEE>(ab1, cd1)),
        ]
    }
}

/// Lower and upper half added: those of `a` in the lower half, those of `b` in the upper.
///
/// # Safety
/// AVX2 must be available.
#[inline(always)]
unsafe fn halves(a: Avx2, b: Avx2) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe {
        let low = _mm256_permute2f128_ps::<0x20>(a.0, b.0);
        _mm256_add_ps(low, _mm256_permute2f128_ps::<0x31>(a.0, b.0))
    }
}

// SAFETY (all blocks below): plain register arithmetic; the instruction set was checked at run time before
// the enclosing `target_feature` function was entered.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx2 {
    const N: usize = 8;
    #[inline(always)]
    fn splat(v: f32) -> Self {
        Avx2(unsafe { _mm256_set1_ps(v) })
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Avx2(unsafe { _mm256_loadu_ps(p) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        unsafe { _mm256_storeu_ps(p, self.0) }
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Avx2(unsafe { _mm256_add_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Avx2(unsafe { _mm256_sub_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Avx2(unsafe { _mm256_mul_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Avx2(unsafe { _mm256_fmadd_ps(self.0, a.0, b.0) })
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self, b: Self) -> Self {
        Avx2(unsafe { _mm256_fnmadd_ps(self.0, a.0, b.0) })
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        Avx2(unsafe { _mm256_div_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Avx2(unsafe { _mm256_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        Avx2(unsafe { _mm256_max_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        Avx2(unsafe { _mm256_min_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Avx2(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn signs(self) -> u32 {
        (unsafe { _mm256_movemask_ps(self.0) }) as u32
    }
    #[inline(always)]
    fn below(self, o: Self) -> u32 {
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, o.0)) as u32 }
    }
    #[inline(always)]
    fn where_below(self, a: Self, b: Self) -> Self {
        Avx2(unsafe { _mm256_and_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a.0, b.0), self.0) })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        unsafe {
            let q = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let d = _mm_add_ps(q, _mm_movehl_ps(q, q));
            _mm_cvtss_f32(_mm_add_ss(d, _mm_shuffle_ps::<1>(d, d)))
        }
    }
    #[inline(always)]
    fn sum4([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        unsafe {
            // The four sums of `sum`'s first step, of two each.
            let (ac, bd) = (halves(a, c), halves(b, d));
            let two = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(ac, bd), _mm256_shuffle_ps::<0xEE>(ac, bd));
            let one = _mm256_add_ps(two, _mm256_permute_ps::<0xB1>(two));
            // a and b in the lower half, c and d in the upper one.
            let (low, high) = (_mm256_castps256_ps128(one), _mm256_extractf128_ps::<1>(one));
            let mut out = [0.0; 4];
            _mm_storeu_ps(out.as_mut_ptr(), _mm_shuffle_ps::<0x88>(low, high));
            out
        }
    }
    // Halves are joined while loading (vinsertf128 from memory), which leaves 16 shuffles instead of the 24
    // of a transpose of eight full loads.
    #[inline(always)]
    unsafe fn gather8(base: *const [f32; 8], index: *const u32) -> [Self; 8] {
        unsafe {
            let [x, y, z, w] = four(base.cast(), 8, index, 0);
            let [a, b, c, d] = four(base.cast(), 8, index, 4);
            [x, y, z, w, a, b, c, d]
        }
    }
    #[inline(always)]
    unsafe fn gather4(base: *const [f32; 4], index: *const u32) -> [Self; 4] {
        unsafe { four(base.cast(), 4, index, 0) }
    }
    #[inline(always)]
    unsafe fn store_set_bits(mask: u32, first: u32, out: *mut u32) {
        unsafe {
            let bits = _mm_loadl_epi64(super::SET_BITS[mask as usize & 255].as_ptr().cast());
            let packed = _mm256_add_epi32(_mm256_cvtepu8_epi32(bits), _mm256_set1_epi32(first as i32));
            _mm256_storeu_si256(out.cast(), packed);
        }
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Eight for Avx2 {
    #[inline(always)]
    unsafe fn load_bytes(p: *const u8) -> Self {
        Avx2(unsafe { _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(p.cast()))) })
    }
    #[inline(always)]
    fn copy_sign(self, o: Self) -> Self {
        let sign = unsafe { _mm256_set1_ps(-0.0) };
        Avx2(unsafe { _mm256_or_ps(_mm256_andnot_ps(sign, self.0), _mm256_and_ps(sign, o.0)) })
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Octets for Avx2 {
    #[inline(always)]
    unsafe fn load_eight(p: *const f32) -> Self {
        unsafe { Self::load(p) }
    }
    #[inline(always)]
    fn halves(a: f32, _: f32) -> Self {
        Self::splat(a)
    }
    type Spread = ();
    type Records<'a> = &'a [f32; 8];
    #[inline(always)]
    fn spread() {}
    #[inline(always)]
    fn records([first, _]: [&[f32; 8]; 2]) -> &[f32; 8] {
        first
    }
    #[inline(always)]
    fn column(of: &[f32; 8], c: usize, (): &()) -> Self {
        Self::splat(of[c])
    }
    #[inline(always)]
    unsafe fn store_eight(self, p: *mut f32) {
        unsafe { self.store(p) }
    }
    type Eight = Self;
    #[inline(always)]
    fn sums(of: [Self; 8]) -> Self {
        unsafe {
            // The four sums of `sum`'s first step of `k` (lower half) and `k + 4` (upper half).
            let (a, b) = (halves(of[0], of[4]), halves(of[1], of[5]));
            let (c, d) = (halves(of[2], of[6]), halves(of[3], of[7]));
            let ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            let even = _mm256_shuffle_ps::<0x44>(ab, cd);
            Avx2(_mm256_add_ps(even, _mm256_shuffle_ps::<0xEE>(ab, cd)))
        }
    }
    #[inline(always)]
    unsafe fn store_packed(self, mask: u32, out: *mut f32) {
        unsafe {
            let bits = _mm_loadl_epi64(super::SET_BITS[mask as usize & 255].as_ptr().cast());
            _mm256_storeu_ps(out, _mm256_permutevar8x32_ps(self.0, _mm256_cvtepu8_epi32(bits)));
        }
    }
}
