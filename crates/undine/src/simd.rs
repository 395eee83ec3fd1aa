//! Lanes of f32: eight with AVX2, eight in portable Rust, sixteen with AVX-512, chosen at run time.
//!
//! A hot loop is written once as a generic `#[inline(always)]` function over [`Lanes`] and entered through a
//! thin `#[target_feature]` wrapper. The portable twin serves other processors, wasm (where the compiler turns
//! it into simd128) and as the oracle of the tests.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use std::sync::OnceLock;

/// The most lanes there are.
pub const MOST_LANES: usize = 16;

/// [`Lanes::N`] f32 lanes. Where the methods speak of eight, it is that many.
pub trait Lanes: Copy {
    /// Number of lanes: 8, or 16 with AVX-512.
    const N: usize;
    /// All lanes the same.
    fn splat(v: f32) -> Self;
    /// Lanes from `p[0..8]`.
    ///
    /// # Safety
    /// Eight f32 must be readable at `p`.
    unsafe fn load(p: *const f32) -> Self;
    /// Lanes to `p[0..8]`.
    ///
    /// # Safety
    /// Eight f32 must be writable at `p`.
    unsafe fn store(self, p: *mut f32);
    /// Lane-wise sum.
    fn add(self, o: Self) -> Self;
    /// Lane-wise difference.
    fn sub(self, o: Self) -> Self;
    /// Lane-wise product.
    fn mul(self, o: Self) -> Self;
    /// `self * a + b`.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `b - self * a`.
    fn neg_mul_add(self, a: Self, b: Self) -> Self;
    /// Lane-wise quotient.
    fn div(self, o: Self) -> Self;
    /// Lane-wise square root.
    fn sqrt(self) -> Self;
    /// Whether [`Lanes::inverse_sqrt`] takes less time than a division.
    const QUICK_ROOT: bool = false;
    /// Lane-wise 1/√, to a unit or two in the last place.
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        Self::splat(1.0).div(self.sqrt())
    }
    /// Lane-wise maximum.
    fn max(self, o: Self) -> Self;
    /// Lane-wise minimum.
    fn min(self, o: Self) -> Self;
    /// Lane-wise magnitude.
    fn abs(self) -> Self;
    /// Bit k is set where lane k is negative.
    fn signs(self) -> u32;
    /// Bit k is set where lane k of `self` is below that of `o`.
    fn below(self, o: Self) -> u32;
    /// As [`Lanes::below`], of the first `n` lanes; the others' bits are not set.
    #[inline(always)]
    fn first_below(self, o: Self, n: u32) -> u32 {
        self.below(o) & ((1 << n) - 1)
    }
    /// The lanes of `self` where those of `a` are below those of `b`, else 0.
    fn where_below(self, a: Self, b: Self) -> Self;
    /// Sum of the lanes in a fixed order: halves are added until four are left, then (0+2)+(1+3).
    fn sum(self) -> f32;
    /// The [`Lanes::sum`] of each, to the last bit the same.
    #[inline(always)]
    fn sum4(of: [Self; 4]) -> [f32; 4] {
        [of[0].sum(), of[1].sum(), of[2].sum(), of[3].sum()]
    }
    /// The records at `index`, transposed: lane k of result c is component c of record `index[k]`.
    ///
    /// # Safety
    /// Eight indices must be readable at `index`, all in bounds of the records at `base`.
    unsafe fn gather8(base: *const [f32; 8], index: *const u32) -> [Self; 8];
    /// As `gather8`, for records of four.
    ///
    /// # Safety
    /// As [`Lanes::gather8`].
    unsafe fn gather4(base: *const [f32; 4], index: *const u32) -> [Self; 4];
    /// Writes `first` + the position of each set bit of the N-bit `mask` to `out`, packed to the front.
    ///
    /// # Safety
    /// Eight u32 must be writable at `out`, whatever the number of set bits.
    unsafe fn store_set_bits(mask: u32, first: u32, out: *mut u32);
}

/// Lanes for eight particles side by side: one for each, or, of sixteen, two. Then two neighbours of these particles are gone through
/// at once, each with its own eight lanes.
pub trait Octets: Lanes {
    /// Neighbours at once.
    const AT_ONCE: usize = Self::N / 8;
    /// Lanes from `p[0..8]`, the second eight as the first.
    ///
    /// # Safety
    /// Eight f32 must be readable at `p`.
    unsafe fn load_eight(p: *const f32) -> Self;
    /// The first eight lanes are `a`, the others, where there are, `b`.
    fn halves(a: f32, b: f32) -> Self;
    /// How columns of records are spread over lanes: to be had before a loop.
    type Spread: Copy;
    /// Two records side by side, or the first alone.
    type Records<'a>: Copy;
    /// How columns are spread.
    fn spread() -> Self::Spread;
    /// These records; the second counts if two are gone through at once.
    fn records<'a>(of: [&'a [f32; 8]; 2]) -> Self::Records<'a>;
    /// Column c of each record in its lanes.
    fn column(of: Self::Records<'_>, c: usize, spread: &Self::Spread) -> Self;
    /// What the lanes of each particle add up to, to `p[0..8]`.
    ///
    /// # Safety
    /// Eight f32 must be writable at `p`.
    unsafe fn store_eight(self, p: *mut f32);
    /// Eight lanes of the same instruction set, or the nearest that has them.
    type Eight: Eight;
    /// Lane k is the sum of the lanes of `of[k]`, in the order of [`Lanes::sum`].
    fn sums(of: [Self; 8]) -> Self::Eight;
    /// Writes the lanes of which the N-bit `mask` has the bit to `out`, packed to the front.
    ///
    /// # Safety
    /// As many f32 as there are lanes must be writable at `out`, whatever the number of set bits.
    unsafe fn store_packed(self, mask: u32, out: *mut f32);
}

/// More that eight lanes can do.
pub trait Eight: Octets<Eight = Self> {
    /// The lanes in memory.
    #[inline(always)]
    fn to_array(self) -> [f32; 8] {
        let mut out = [0.0; 8];
        // SAFETY: room for eight.
        unsafe { self.store(out.as_mut_ptr()) };
        out
    }
    /// The magnitudes of `self` with the signs of `o`.
    fn copy_sign(self, o: Self) -> Self;
    /// Lanes from the bytes `p[0..8]`.
    ///
    /// # Safety
    /// Eight bytes must be readable at `p`.
    unsafe fn load_bytes(p: *const u8) -> Self;
}

/// Eight lanes as an array.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Portable([f32; 8]);

impl Portable {
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Portable(std::array::from_fn(|k| f(self.0[k], o.0[k])))
    }
}

impl Lanes for Portable {
    const N: usize = 8;
    #[inline(always)]
    fn splat(v: f32) -> Self {
        Portable([v; 8])
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: the caller promises eight readable floats.
        Portable(unsafe { p.cast::<[f32; 8]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: the caller promises eight writable floats.
        unsafe { p.cast::<[f32; 8]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        self.zip(o, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        self.zip(o, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        self.zip(o, |a, b| a * b)
    }
    // Not f32::mul_add: without FMA in the instruction set that is a slow call into libm.
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        self.mul(a).add(b)
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self, b: Self) -> Self {
        b.sub(self.mul(a))
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        self.zip(o, |a, b| a / b)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Portable(self.0.map(f32::sqrt))
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        self.zip(o, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        self.zip(o, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Portable(self.0.map(f32::abs))
    }
    #[inline(always)]
    fn signs(self) -> u32 {
        (0..8).fold(0, |m, k| m | (u32::from(self.0[k].is_sign_negative()) << k))
    }
    #[inline(always)]
    fn below(self, o: Self) -> u32 {
        (0..8).fold(0, |m, k| m | (u32::from(self.0[k] < o.0[k]) << k))
    }
    #[inline(always)]
    fn where_below(self, a: Self, b: Self) -> Self {
        Portable(std::array::from_fn(|k| if a.0[k] < b.0[k] { self.0[k] } else { 0.0 }))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }
    #[inline(always)]
    unsafe fn gather8(base: *const [f32; 8], index: *const u32) -> [Self; 8] {
        // SAFETY: the caller promises eight indices, each in bounds.
        let rows: [[f32; 8]; 8] = std::array::from_fn(|k| unsafe { *base.add(*index.add(k) as usize) });
        std::array::from_fn(|c| Portable(std::array::from_fn(|k| rows[k][c])))
    }
    #[inline(always)]
    unsafe fn gather4(base: *const [f32; 4], index: *const u32) -> [Self; 4] {
        // SAFETY: the caller promises eight indices, each in bounds.
        let rows: [[f32; 4]; 8] = std::array::from_fn(|k| unsafe { *base.add(*index.add(k) as usize) });
        std::array::from_fn(|c| Portable(std::array::from_fn(|k| rows[k][c])))
    }
    #[inline(always)]
    unsafe fn store_set_bits(mask: u32, first: u32, out: *mut u32) {
        let packed: [u32; 8] = std::array::from_fn(|k| first + u32::from(SET_BITS[mask as usize & 255][k]));
        // SAFETY: the caller promises room for eight.
        unsafe { out.cast::<[u32; 8]>().write_unaligned(packed) };
    }
}

impl Eight for Portable {
    #[inline(always)]
    fn copy_sign(self, o: Self) -> Self {
        self.zip(o, f32::copysign)
    }
    #[inline(always)]
    unsafe fn load_bytes(p: *const u8) -> Self {
        // SAFETY: the caller's promise.
        Portable(unsafe { p.cast::<[u8; 8]>().read_unaligned() }.map(f32::from))
    }
}

impl Octets for Portable {
    #[inline(always)]
    unsafe fn load_eight(p: *const f32) -> Self {
        // SAFETY: passed on.
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
        // SAFETY: passed on.
        unsafe { self.store(p) }
    }
    type Eight = Self;
    #[inline(always)]
    fn sums(of: [Self; 8]) -> Self {
        Portable(of.map(Self::sum))
    }
    #[inline(always)]
    unsafe fn store_packed(self, mask: u32, out: *mut f32) {
        let packed: [f32; 8] = std::array::from_fn(|k| self.0[usize::from(SET_BITS[mask as usize & 255][k])]);
        // SAFETY: the caller promises room for eight.
        unsafe { out.cast::<[f32; 8]>().write_unaligned(packed) };
    }
}

#[cfg(target_arch = "x86_64")]
pub use self::{avx2::Avx2, avx512::Avx512};

/// Instruction sets there is a path for, from the plainest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// [`Portable`].
    Portable,
    /// [`Avx2`].
    Avx2,
    /// [`Avx512`].
    Avx512,
}

/// The best instruction set of this processor, or a plainer one asked for in the environment variable `UNDINE_SIMD`
/// (`portable`, `avx2`, `avx512`): results are the same to the last bit only between runs at one level.
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let best = match (avx512_available(), avx2_available()) {
            (true, _) => Level::Avx512,
            (_, true) => Level::Avx2,
            _ => Level::Portable,
        };
        match std::env::var("UNDINE_SIMD").as_deref() {
            Ok("portable") => Level::Portable,
            Ok("avx2") => best.min(Level::Avx2),
            _ => best,
        }
    })
}

/// Calls a generic function over lanes with the widest there are: `widest!(sums(x: &[f32], y: f32))` calls
/// `sums::<L>(x, y)`. The types are repeated because the call goes through a function for each instruction set.
macro_rules! widest {
    ($($path:ident)::+($($arg:ident: $kind:ty),* $(,)?)) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
            fn avx512($($arg: $kind),*) {
                $($path)::+::<$crate::simd::Avx512>($($arg),*)
            }
            #[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
            fn avx2($($arg: $kind),*) {
                $($path)::+::<$crate::simd::Avx2>($($arg),*)
            }
            match $crate::simd::level() {
                // SAFETY: this processor has the instruction set.
                $crate::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                $crate::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                $crate::simd::Level::Portable => {}
            }
        }
        $($path)::+::<$crate::simd::Portable>($($arg),*)
    }};
}
pub(crate) use widest;

/// As [`widest`], with eight lanes whatever the processor.
macro_rules! eight {
    ($($path:ident)::+($($arg:ident: $kind:ty),* $(,)?)) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
            fn avx2($($arg: $kind),*) {
                $($path)::+::<$crate::simd::Avx2>($($arg),*)
            }
            if $crate::simd::level() >= $crate::simd::Level::Avx2 {
                // SAFETY: this processor has the instruction set.
                return unsafe { avx2($($arg),*) };
            }
        }
        $($path)::+::<$crate::simd::Portable>($($arg),*)
    }};
}
pub(crate) use eight;

/// Makes the compiler read a local variable again where it is used next. In a loop with more fixed values than registers it would
/// keep some of them in registers and its sums in memory; so it reads the fixed ones with the instructions that use them.
#[inline(always)]
pub fn reread<T>(of: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: no instruction at all.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) of, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}

/// Asks for data into the second cache that will be needed in a while, such as what a loop over particles reads after one over pairs.
#[inline(always)]
pub fn prefetch<T>(data: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let (first, bytes) = (data.as_ptr().cast::<i8>(), size_of_val(data));
        for at in (0..bytes).step_by(64) {
            // SAFETY: a hint, and inside the slice.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(first.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

/// Whether the AVX-512 path may run on this processor.
pub fn avx512_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        avx2_available() && has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("avx512vl")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Whether the AVX2 path may run on this processor.
pub fn avx2_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        // The small ones came with or before AVX2; asked for all the same.
        has!("avx2") && has!("fma") && has!("popcnt") && has!("bmi1") && has!("bmi2") && has!("lzcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// For each 8-bit mask the positions of its set bits, packed to the front.
pub(crate) static SET_BITS: [[u8; 8]; 256] = {
    let mut table = [[0u8; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut n, mut bit) = (0, 0);
        while bit < 8 {
            if mask >> bit & 1 == 1 {
                table[mask][n] = bit as u8;
                n += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    table
};

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
