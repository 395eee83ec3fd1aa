//! Sixteen lanes in an AVX-512 register.

use std::arch::x86_64::*;

use super::{Avx2, Lanes, Octets};

/// Sixteen lanes in an AVX-512 register.
///
/// Its methods may only run after [`super::avx512_available`] said yes; see [`super::Avx2`].
#[derive(Clone, Copy)]
pub struct Avx512(__m512);

/// Record k of a list of indices. The index is read on its own, which `volatile` enforces: the compiler would compute
/// sixteen addresses in a vector and take them out again, at more than the price of the transposition.
///
/// # Safety
/// As [`Lanes::gather8`].
#[inline(always)]
unsafe fn record<const M: usize>(base: *const [f32; M], index: *const u32, k: usize) -> *const f32 {
    // SAFETY: see above.
    unsafe { base.add(index.add(k).read_volatile() as usize).cast() }
}

/// Records k and k+4, one after the other.
///
/// # Safety
/// As [`Lanes::gather8`].
#[inline(always)]
unsafe fn halves(base: *const [f32; 8], index: *const u32, k: usize) -> __m512 {
    // SAFETY: passed on.
    unsafe {
        let low = _mm512_castps256_ps512(_mm256_loadu_ps(record(base, index, k)));
        _mm512_insertf32x8::<1>(low, _mm256_loadu_ps(record(base, index, k + 4)))
    }
}

/// Records k, k+4, k+8 and k+12, one after the other.
///
/// # Safety
/// As [`Lanes::gather4`].
#[inline(always)]
unsafe fn quarters(base: *const [f32; 4], index: *const u32, k: usize) -> __m512 {
    // SAFETY: passed on.
    unsafe {
        let v = _mm512_castps128_ps512(_mm_loadu_ps(record(base, index, k)));
        let v = _mm512_insertf32x4::<1>(v, _mm_loadu_ps(record(base, index, k + 4)));
        let v = _mm512_insertf32x4::<2>(v, _mm_loadu_ps(record(base, index, k + 8)));
        _mm512_insertf32x4::<3>(v, _mm_loadu_ps(record(base, index, k + 12)))
    }
}

/// Transposes each quarter: the matrices of four by four whose rows lie in the same quarter of the four.
#[inline(always)]
fn transpose([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
    // SAFETY: plain register arithmetic.
    unsafe {
        let (ab0, ab1) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let (cd0, cd1) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        [
            _mm512_shuffle_ps::<0x44>(ab0, cd0),
            _mm512_shuffle_ps::<0xEE>(ab0, cd0),
            _mm512_shuffle_ps::<0x44>(ab1, cd1),
            _mm512_shuffle_ps::<0xEE>(ab1, cd1),
        ]
    }
}

// SAFETY (all blocks below): plain register arithmetic; the instruction set was checked at run time before
// the enclosing `target_feature` function was entered.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx512 {
    const N: usize = 16;
    #[inline(always)]
    fn splat(v: f32) -> Self {
        Avx512(unsafe { _mm512_set1_ps(v) })
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Avx512(unsafe { _mm512_loadu_ps(p) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        unsafe { _mm512_storeu_ps(p, self.0) }
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Avx512(unsafe { _mm512_add_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Avx512(unsafe { _mm512_sub_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Avx512(unsafe { _mm512_mul_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Avx512(unsafe { _mm512_fmadd_ps(self.0, a.0, b.0) })
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self, b: Self) -> Self {
        Avx512(unsafe { _mm512_fnmadd_ps(self.0, a.0, b.0) })
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        Avx512(unsafe { _mm512_div_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Avx512(unsafe { _mm512_sqrt_ps(self.0) })
    }
    const QUICK_ROOT: bool = true;
    // An estimate of 14 bits and one step of Newton's.
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        let y = Avx512(unsafe { _mm512_rsqrt14_ps(self.0) });
        let half = self.mul(Self::splat(-0.5)).mul(y);
        y.mul(half.mul_add(y, Self::splat(1.5)))
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        Avx512(unsafe { _mm512_max_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        Avx512(unsafe { _mm512_min_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Avx512(unsafe { _mm512_abs_ps(self.0) })
    }
    #[inline(always)]
    fn signs(self) -> u32 {
        (unsafe { _mm512_movepi32_mask(_mm512_castps_si512(self.0)) }).into()
    }
    #[inline(always)]
    fn below(self, o: Self) -> u32 {
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, o.0).into() }
    }
    #[inline(always)]
    fn first_below(self, o: Self, n: u32) -> u32 {
        unsafe { _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(((1u32 << n) - 1) as u16, self.0, o.0).into() }
    }
    #[inline(always)]
    fn where_below(self, a: Self, b: Self) -> Self {
        Avx512(unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a.0, b.0), self.0) })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        unsafe {
            let half = _mm256_add_ps(_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0));
            let q = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps::<1>(half));
            let d = _mm_add_ps(q, _mm_movehl_ps(q, q));
            _mm_cvtss_f32(_mm_add_ss(d, _mm_shuffle_ps::<1>(d, d)))
        }
    }
    // Ten shuffles, where four sums one by one take sixteen.
    #[inline(always)]
    fn sum4([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        unsafe {
            let (a, b, c, d) = (a.0, b.0, c.0, d.0);
            let ab = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xEE>(a, b));
            let cd = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(c, d), _mm512_shuffle_f32x4::<0xEE>(c, d));
            // A quarter for each.
            let q = _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(ab, cd), _mm512_shuffle_f32x4::<0xDD>(ab, cd));
            let q = _mm512_add_ps(q, _mm512_permute_ps::<0x4E>(q));
            let q = _mm512_add_ps(q, _mm512_permute_ps::<0xB1>(q));
            let mut out = [0.0; 4];
            _mm_storeu_ps(out.as_mut_ptr(), _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, q)));
            out
        }
    }
    // Whole records are loaded and their halves sorted last: 24 shuffles and 8 joins while loading, where joining
    // quarters while loading takes 16 and 24.
    #[inline(always)]
    unsafe fn gather8(base: *const [f32; 8], index: *const u32) -> [Self; 8] {
        unsafe {
            let [a0, a1, a2, a3] = transpose([
                halves(base, index, 0),
                halves(base, index, 1),
                halves(base, index, 2),
                halves(base, index, 3),
            ]);
            let [b0, b1, b2, b3] = transpose([
                halves(base, index, 8),
                halves(base, index, 9),
                halves(base, index, 10),
                halves(base, index, 11),
            ]);
            [
                Avx512(_mm512_shuffle_f32x4::<0x88>(a0, b0)),
                Avx512(_mm512_shuffle_f32x4::<0x88>(a1, b1)),
                Avx512(_mm512_shuffle_f32x4::<0x88>(a2, b2)),
                Avx512(_mm512_shuffle_f32x4::<0x88>(a3, b3)),
                Avx512(_mm512_shuffle_f32x4::<0xDD>(a0, b0)),
                Avx512(_mm512_shuffle_f32x4::<0xDD>(a1, b1)),
                Avx512(_mm512_shuffle_f32x4::<0xDD>(a2, b2)),
                Avx512(_mm512_shuffle_f32x4::<0xDD>(a3, b3)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn gather4(base: *const [f32; 4], index: *const u32) -> [Self; 4] {
        unsafe {
            let [x, y, z, w] = transpose([
                quarters(base, index, 0),
                quarters(base, index, 1),
                quarters(base, index, 2),
                quarters(base, index, 3),
            ]);
            [Avx512(x), Avx512(y), Avx512(z), Avx512(w)]
        }
    }
    // To a register and from there to memory: the form that packs straight into memory is slow on some processors.
    #[inline(always)]
    unsafe fn store_set_bits(mask: u32, first: u32, out: *mut u32) {
        unsafe {
            let numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            let all = _mm512_add_epi32(numbers, _mm512_set1_epi32(first as i32));
            _mm512_storeu_si512(out.cast(), _mm512_maskz_compress_epi32(mask as u16, all));
        }
    }
}

impl Avx512 {
    /// The lower and the upper eight lanes added.
    #[inline(always)]
    fn half(self) -> Avx2 {
        // SAFETY: plain register arithmetic.
        unsafe {
            let (low, high) = (_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0));
            Avx2(_mm256_add_ps(low, high))
        }
    }
}

/// For each column of two records, where it is in each of them.
static COLUMNS: Columns = Columns(columns());

#[repr(align(64))]
struct Columns([[u32; 16]; 8]);

const fn columns() -> [[u32; 16]; 8] {
    let mut of = [[0; 16]; 8];
    let mut at = 0;
    while at < 8 * 16 {
        let (c, lane) = (at / 16, at % 16);
        of[c][lane] = (c + lane / 8 * 8) as u32;
        at += 1;
    }
    of
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Octets for Avx512 {
    #[inline(always)]
    unsafe fn load_eight(p: *const f32) -> Self {
        Avx512(unsafe { _mm512_broadcast_f32x8(_mm256_loadu_ps(p)) })
    }
    #[inline(always)]
    fn halves(a: f32, b: f32) -> Self {
        Avx512(unsafe { _mm512_mask_blend_ps(0xFF00, _mm512_set1_ps(a), _mm512_set1_ps(b)) })
    }
    type Spread = [__m512i; 8];
    type Records<'a> = Self;
    // Where they come from is hidden from the compiler: it would make two shuffles of what it knows, where one does.
    #[inline(always)]
    fn spread() -> [__m512i; 8] {
        let at = std::hint::black_box(&COLUMNS.0);
        unsafe { at.as_ptr().cast::<[__m512i; 8]>().read() }
    }
    #[inline(always)]
    fn records([first, second]: [&[f32; 8]; 2]) -> Self {
        unsafe {
            let (first, second) = (_mm256_loadu_ps(first.as_ptr()), _mm256_loadu_ps(second.as_ptr()));
            Avx512(_mm512_insertf32x8::<1>(_mm512_castps256_ps512(first), second))
        }
    }
    #[inline(always)]
    fn column(of: Self, c: usize, spread: &[__m512i; 8]) -> Self {
        Avx512(unsafe { _mm512_permutexvar_ps(spread[c], of.0) })
    }
    #[inline(always)]
    unsafe fn store_eight(self, p: *mut f32) {
        unsafe { self.half().store(p) }
    }
    type Eight = Avx2;
    // The halves of each are added first, as `sum` does.
    #[inline(always)]
    fn sums(of: [Self; 8]) -> Avx2 {
        let [a, b, c, d, e, f, g, h] = of;
        Avx2::sums([a.half(), b.half(), c.half(), d.half(), e.half(), f.half(), g.half(), h.half()])
    }
    #[inline(always)]
    unsafe fn store_packed(self, mask: u32, out: *mut f32) {
        unsafe { _mm512_storeu_ps(out, _mm512_maskz_compress_ps(mask as u16, self.0)) }
    }
}
