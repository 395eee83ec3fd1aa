//! The loops over cells of the conjugate gradient and of the sweeps, eight at a time.

use std::ops::{Index, IndexMut};

use super::level::LANES;
use crate::simd::{Eight, Portable};

/// A vector over the cells of a level: the slots of either colour.
#[derive(Clone, Default)]
pub(super) struct Split(pub(super) [Vec<f32>; 2]);

impl Split {
    pub(super) fn new(len: usize) -> Self {
        Split([vec![0.0; len], vec![0.0; len]])
    }

    pub(super) fn both_mut(&mut self) -> [&mut [f32]; 2] {
        let [red, black] = &mut self.0;
        [red, black]
    }

    /// For threads that write to groups of their own.
    pub(super) fn out(&mut self) -> [Out; 2] {
        self.0.each_mut().map(|v| Out(v.as_mut_ptr()))
    }

    pub(super) fn fill(&mut self, value: f32) {
        self.0.iter_mut().for_each(|v| v.fill(value));
    }
}

impl Index<usize> for Split {
    type Output = Vec<f32>;
    #[inline(always)]
    fn index(&self, colour: usize) -> &Vec<f32> {
        &self.0[colour]
    }
}

impl IndexMut<usize> for Split {
    #[inline(always)]
    fn index_mut(&mut self, colour: usize) -> &mut Vec<f32> {
        &mut self.0[colour]
    }
}

/// The equations of one colour's cells.
#[derive(Clone, Copy)]
pub(super) struct Colour<'a> {
    /// Couplings of these cells, and of those of the other colour, to +x, +y, +z.
    pub(super) own: [&'a [f32]; 3],
    pub(super) other: [&'a [f32]; 3],
    pub(super) diagonal: &'a [f32],
    pub(super) inverse: &'a [f32],
    pub(super) stride: [usize; 2],
    pub(super) colour: usize,
    /// The coupling of the groups marked [`UNIFORM`], and 1 / their diagonal.
    pub(super) uniform: f32,
    uniform_inverse: f32,
}

impl<'a> Colour<'a> {
    pub(super) fn of(
        plus: &'a [Split; 3],
        diagonal: &'a Split,
        inverse: &'a Split,
        stride: [usize; 2],
        uniform: f32,
        c: usize,
    ) -> Self {
        Colour {
            own: [&plus[0][c], &plus[1][c], &plus[2][c]],
            other: [&plus[0][1 - c], &plus[1][1 - c], &plus[2][1 - c]],
            diagonal: &diagonal[c],
            inverse: &inverse[c],
            stride,
            colour: c,
            uniform,
            uniform_inverse: (6.0 * uniform).recip(),
        }
    }
}

/// Groups worked on by one task. Sums are taken task by task, so they do not depend on the number of threads.
pub(super) const TASK: usize = 128;
/// Levels with fewer groups are not worth waking other threads.
pub(super) const PARALLEL: usize = 1024;
/// Groups whose products are summed in single precision.
pub(super) const BLOCK: usize = 32;

/// Bit of a group's number: the parity (y + z) & 1 of its row.
pub(super) const ODD_ROW: u32 = 1;
/// Bit of a group's number: all its couplings are `Colour::uniform`, and it has no excess.
pub(super) const UNIFORM: u32 = 2;

/// Added to the count of unknowns of such a group.
pub(super) const UNIFORM_COUNT: u8 = 128;

/// Where a group begins.
#[inline(always)]
pub(super) fn at_of(group: u32) -> usize {
    (group & !(LANES as u32 - 1)) as usize
}

/// Runs a kernel over groups, in parallel if there are many, and sums what it returns in a fixed order.
pub(super) fn over(groups: &[u32], kernel: impl Fn(&[u32]) -> f64 + Sync + Send) -> f64 {
    let mut sum = 0.0;
    over_each(groups, kernel, |part| sum += part);
    sum
}

/// As [`over`], and gives what the kernel returns to `take`, in the order of groups.
pub(super) fn over_each<T: Copy + Default + Send>(
    groups: &[u32],
    kernel: impl Fn(&[u32]) -> T + Sync + Send,
    mut take: impl FnMut(T),
) {
    if groups.len() < PARALLEL {
        return groups.chunks(TASK).for_each(|part| take(kernel(part)));
    }
    let mut all = vec![T::default(); groups.len().div_ceil(TASK)];
    share(groups, &mut all, &kernel);
    all.into_iter().for_each(take);
}

/// Halves until one task is left. Rayon's own chunks cut into more, smaller pieces, each of which is looked for.
fn share<T: Send>(groups: &[u32], all: &mut [T], kernel: &(impl Fn(&[u32]) -> T + Sync)) {
    if let [one] = all {
        *one = kernel(groups);
    } else {
        let middle = all.len() / 2;
        let (lower, upper) = all.split_at_mut(middle);
        let (first, second) = groups.split_at(middle * TASK);
        rayon::join(|| share(first, lower, kernel), || share(second, upper, kernel));
    }
}

/// A vector that tasks write to at groups of their own.
#[derive(Clone, Copy)]
pub(super) struct Out(pub(super) *mut f32);

// SAFETY: no two tasks have the same group, see `over`.
unsafe impl Send for Out {}
// SAFETY: as above.
unsafe impl Sync for Out {}

impl Out {
    /// # Safety
    /// The group must lie in the vector and be the caller's own.
    #[inline(always)]
    pub(super) unsafe fn at(self, at: usize) -> *mut f32 {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(at) }
    }

    /// Sets eight slots.
    ///
    /// # Safety
    /// As [`Out::at`].
    #[inline(always)]
    pub(super) unsafe fn write(self, at: usize, values: &[f32; LANES]) {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(at).cast::<[f32; LANES]>().write_unaligned(*values) };
    }
}

/// Vectors in double precision that threads write to at groups of their own.
pub(super) struct Wide([*mut f64; 2]);

// SAFETY: no two threads have the same group.
unsafe impl Send for Wide {}
// SAFETY: as above.
unsafe impl Sync for Wide {}

impl Wide {
    pub(super) fn of([red, black]: &mut [Vec<f64>; 2]) -> Self {
        Wide([red.as_mut_ptr(), black.as_mut_ptr()])
    }

    /// # Safety
    /// The slot must lie in the vector and be the caller's own.
    pub(super) unsafe fn at(&self, colour: usize, at: usize) -> *mut f64 {
        // SAFETY: the caller's promise.
        unsafe { self.0[colour].add(at) }
    }
}

/// Calls `kernel::<L>(args)` with eight lanes of AVX2 or of portable Rust.
macro_rules! eight {
    ($kernel:ident($($arg:ident: $kind:ty),* $(,)?)) => {
        eight!($kernel($($arg: $kind),*) -> f64)
    };
    ($kernel:ident($($arg:ident: $kind:ty),* $(,)?) -> $result:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
            fn avx2($($arg: $kind),*) -> $result {
                $kernel::<crate::simd::Avx2>($($arg),*)
            }
            if crate::simd::level() >= crate::simd::Level::Avx2 {
                // SAFETY: this processor has the instruction set.
                unsafe { avx2($($arg),*) }
            } else {
                $kernel::<Portable>($($arg),*)
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        $kernel::<Portable>($($arg),*)
    }};
}

pub(super) use eight;

/// Eight lanes of a slice.
///
/// # Safety
/// They must be inside it.
#[inline(always)]
pub(super) unsafe fn load<L: Eight>(v: &[f32], at: usize) -> L {
    debug_assert!(at + LANES <= v.len());
    // SAFETY: the caller's promise.
    unsafe { L::load(v.as_ptr().add(at)) }
}

/// Sum of couplings times neighbours of the eight slots of a colour, and 1 / diagonal.
///
/// In the midst of a liquid all couplings are the same. Not to load them there is worth it: large grids do not fit the
/// caches.
///
/// # Safety
/// `group` must be one of the level that `k` and `x` (the other colour's values) belong to.
#[inline(always)]
pub(super) unsafe fn neighbours<L: Eight>(k: &Colour, x: &[f32], group: u32) -> (L, L) {
    let at = at_of(group);
    // x = 2h + odd: the other colour has x - 1 and x + 1 in its slots h + odd - 1 and h + odd.
    let odd = ((k.colour as u32 + group) & ODD_ROW) as usize;
    let [row, layer] = k.stride;
    // SAFETY: a level has a row before and after each row of cells, a layer before and after each layer, and slots
    // between rows.
    unsafe {
        let (before, after) = (at + odd - 1, at + odd);
        if group & UNIFORM != 0 {
            let along_x = load::<L>(x, after).add(load(x, before));
            let along_y = load::<L>(x, at + row).add(load(x, at - row));
            let along_z = load::<L>(x, at + layer).add(load(x, at - layer));
            let sum = along_x.add(along_y).add(along_z).mul(L::splat(k.uniform));
            return (sum, L::splat(k.uniform_inverse));
        }
        let mut sum = load::<L>(k.own[0], at).mul(load(x, after));
        sum = load::<L>(k.other[0], before).mul_add(load(x, before), sum);
        sum = load::<L>(k.own[1], at).mul_add(load(x, at + row), sum);
        sum = load::<L>(k.other[1], at - row).mul_add(load(x, at - row), sum);
        sum = load::<L>(k.own[2], at).mul_add(load(x, at + layer), sum);
        sum = load::<L>(k.other[2], at - layer).mul_add(load(x, at - layer), sum);
        (sum, load(k.inverse, at))
    }
}

/// The diagonal of eight cells.
///
/// # Safety
/// As [`neighbours`].
#[inline(always)]
pub(super) unsafe fn diagonal<L: Eight>(k: &Colour, group: u32) -> L {
    // SAFETY: the caller's promise.
    if group & UNIFORM != 0 { L::splat(6.0 * k.uniform) } else { unsafe { load(k.diagonal, at_of(group)) } }
}

/// A half sweep of Gauss-Seidel, x = (b + Σ coupling · neighbour) / diagonal in the cells of one colour, from the
/// other's `x`. Returns Σ b x of these cells.
pub(super) fn relax(groups: &[u32], k: &Colour, b: &[f32], from: &[f32], x: &mut [f32]) -> f64 {
    let x = Out(x.as_mut_ptr());
    over(groups, |part| eight!(relax_in(part: &[u32], k: &Colour, b: &[f32], from: &[f32], x: Out)))
}

#[inline(always)]
fn relax_in<L: Eight>(groups: &[u32], k: &Colour, b: &[f32], from: &[f32], x: Out) -> f64 {
    let mut total = 0.0;
    for block in groups.chunks(BLOCK) {
        let mut dot = L::splat(0.0);
        for &group in block {
            let at = at_of(group);
            // SAFETY: the group is one of the level's, and this task's own.
            unsafe {
                let b = load::<L>(b, at);
                let (sum, inverse) = neighbours::<L>(k, from, group);
                let new = sum.add(b).mul(inverse);
                dot = b.mul_add(new, dot);
                new.store(x.at(at));
            }
        }
        total += f64::from(dot.sum());
    }
    total
}

/// The half sweep from x = 0: x = b / diagonal in the cells of one colour.
pub(super) fn relax_from_zero(groups: &[u32], k: &Colour, b: &[f32], x: &mut [f32]) {
    let x = Out(x.as_mut_ptr());
    over(groups, |part| eight!(relax_from_zero_in(part: &[u32], k: &Colour, b: &[f32], x: Out)));
}

#[inline(always)]
fn relax_from_zero_in<L: Eight>(groups: &[u32], k: &Colour, b: &[f32], x: Out) -> f64 {
    for &group in groups {
        let at = at_of(group);
        // SAFETY: the group is one of the level's, and this task's own.
        unsafe { load::<L>(b, at).mul(load(k.inverse, at)).store(x.at(at)) };
    }
    0.0
}

/// The residual b - A x in double precision, rounded to `r` at the end, in the cells of one colour; returns Σ r².
pub(super) fn residual(
    groups: &[u32],
    k: &Colour,
    excess: &[f32],
    b: &[f32],
    [own, other]: [&[f64]; 2],
    r: &mut [f32],
) -> f64 {
    let r = Out(r.as_mut_ptr());
    over(
        groups,
        |part| eight!(residual_in(part: &[u32], k: &Colour, excess: &[f32], b: &[f32], own: &[f64], other: &[f64], r: Out)),
    )
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `eight!`, for its instructions
fn residual_in<L: Eight>(
    groups: &[u32],
    k: &Colour,
    excess: &[f32],
    b: &[f32],
    own: &[f64],
    other: &[f64],
    r: Out,
) -> f64 {
    let [row, layer] = k.stride;
    let mut total = [0.0; LANES];
    for &group in groups {
        let at = at_of(group);
        let odd = ((k.colour as u32 + group) & ODD_ROW) as usize;
        let (before, after) = (at + odd - 1, at + odd);
        let (mut sum, mut couplings) = ([0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            sum[l] = f64::from(b[at + l]);
        }
        for (coupling, from, there) in [
            (k.own[0], at, after),
            (k.other[0], before, before),
            (k.own[1], at, at + row),
            (k.other[1], at - row, at - row),
            (k.own[2], at, at + layer),
            (k.other[2], at - layer, at - layer),
        ] {
            let (coupling, x) = (&coupling[from..from + LANES], &other[there..there + LANES]);
            for l in 0..LANES {
                sum[l] += f64::from(coupling[l]) * x[l];
                couplings[l] += f64::from(coupling[l]);
            }
        }
        let (diagonal, x) = (&k.diagonal[at..at + LANES], &own[at..at + LANES]);
        for l in 0..LANES {
            // Without excess the row sum is 0, however the diagonal was rounded.
            let d = if excess[at + l] > 0.0 { f64::from(diagonal[l]) } else { couplings[l] };
            let value = if diagonal[l] > 0.0 { sum[l] - d * x[l] } else { 0.0 };
            total[l] += value * value;
            // SAFETY: the group is one of the level's, and this task's own.
            unsafe { *r.at(at + l) = value as f32 };
        }
    }
    total.iter().sum()
}

/// Σ v².
pub(super) fn square(groups: &[u32], v: &Split) -> f64 {
    let [red, black] = &v.0;
    over(groups, |part| square_in(part, red) + square_in(part, black))
}

fn square_in(groups: &[u32], v: &[f32]) -> f64 {
    let mut total = [0.0; LANES];
    for &group in groups {
        let at = at_of(group);
        for (total, v) in total.iter_mut().zip(&v[at..at + LANES]) {
            *total += f64::from(*v) * f64::from(*v);
        }
    }
    total.iter().sum()
}

/// v = 0.
pub(super) fn clear(groups: &[u32], v: &mut Split) {
    let out = v.out();
    over(groups, |part| {
        for &group in part {
            // SAFETY: the group is one of the level's, and this task's own.
            unsafe {
                out[0].write(at_of(group), &[0.0; LANES]);
                out[1].write(at_of(group), &[0.0; LANES]);
            }
        }
        0.0
    });
}

/// to = from.
pub(super) fn copy(groups: &[u32], from: &Split, to: &mut Split) {
    let out = to.out();
    over(groups, |part| {
        for &group in part {
            for c in 0..2 {
                let at = at_of(group);
                let mut values = [0.0; LANES];
                values.copy_from_slice(&from[c][at..at + LANES]);
                // SAFETY: the group is one of the level's, and this task's own.
                unsafe { out[c].write(at, &values) };
            }
        }
        0.0
    });
}

/// Σ u v.
pub(super) fn dot(groups: &[u32], u: &Split, v: &Split) -> f64 {
    let mut total = 0.0;
    for &group in groups {
        let at = at_of(group)..at_of(group) + LANES;
        for c in 0..2 {
            total += u[c][at.clone()]
                .iter()
                .zip(&v[c][at.clone()])
                .map(|(u, v)| f64::from(*u) * f64::from(*v))
                .sum::<f64>();
        }
    }
    total
}

/// sum = v + x, or x alone.
pub(super) fn add(groups: &[u32], v: Option<&[Vec<f64>; 2]>, x: &Split, sum: &mut [Vec<f64>; 2]) {
    let out = Wide::of(sum);
    over(groups, |part| {
        for &group in part {
            for c in 0..2 {
                let at = at_of(group);
                for (l, x) in x[c][at..at + LANES].iter().enumerate() {
                    let v = v.map_or(0.0, |v| v[c][at + l]);
                    // SAFETY: the group is one of the level's, and this task's own.
                    unsafe { *out.at(c, at + l) = v + f64::from(*x) };
                }
            }
        }
        0.0
    });
}

/// to += x, or x alone.
pub(super) fn sum(groups: &[u32], adds: bool, x: &Split, to: &mut Split) {
    let out = to.out();
    over(groups, |part| {
        for &group in part {
            for c in 0..2 {
                let at = at_of(group);
                for (l, x) in x[c][at..at + LANES].iter().enumerate() {
                    // SAFETY: the group is one of the level's, and this task's own.
                    unsafe {
                        let to = out[c].at(at + l);
                        *to = if adds { *to + x } else { *x };
                    }
                }
            }
        }
        0.0
    });
}
