//! The loops of a step of the conjugate gradient.
//!
//! It is written so that all sums of a step are known before its vectors change (Chronopoulos and Gear 1989): with z = M r,
//! w = A z and q = A p = w + β q no product with p is taken, and p, q, x and r change in one pass. The usual form goes four times
//! over its vectors, this twice. And A z is known in the cells that the cycle relaxed last: there it is r.

use super::kernels::{
    BLOCK, Colour, ODD_ROW, Out, Split, UNIFORM, at_of, diagonal, eight, load, neighbours, over, over_each,
};
use crate::simd::{Eight, Portable};

/// w = A z in the cells of one colour; returns Σ z w of them.
pub(super) fn apply(groups: &[u32], k: &Colour, [own, other]: [&[f32]; 2], w: &mut [f32]) -> f64 {
    let w = Out(w.as_mut_ptr());
    over(groups, |part| eight!(apply_in(part: &[u32], k: &Colour, own: &[f32], other: &[f32], w: Out)))
}

#[inline(always)]
fn apply_in<L: Eight>(groups: &[u32], k: &Colour, own: &[f32], other: &[f32], w: Out) -> f64 {
    let mut total = 0.0;
    for block in groups.chunks(BLOCK) {
        let mut dot = L::splat(0.0);
        for &group in block {
            let at = at_of(group);
            // SAFETY: the group is one of the level's, and this task's own.
            unsafe {
                let z = load::<L>(own, at);
                // By way of 1 / diagonal, so that it is 0 where there is no unknown (a ghost may have couplings).
                let (sum, inverse) = neighbours::<L>(k, other, group);
                let product = z.sub(sum.mul(inverse)).mul(diagonal(k, group));
                dot = z.mul_add(product, dot);
                product.store(w.at(at));
            }
        }
        total += f64::from(dot.sum());
    }
    total
}

/// How far to go, and how much of what was is kept.
#[derive(Clone, Copy)]
pub(super) struct Stride {
    pub(super) alpha: f32,
    pub(super) beta: f32,
    /// What x is multiplied with before: 0 in the first step.
    pub(super) keep: f32,
}

/// Σ r² and the greatest |r|.
#[derive(Clone, Copy, Default)]
pub(super) struct Left {
    pub(super) square: f64,
    pub(super) peak: f32,
}

impl Left {
    /// Both together.
    pub(super) fn and(&mut self, part: Left) {
        self.square += part.square;
        self.peak = self.peak.max(part.peak);
    }
}

/// The vectors of the conjugate gradient, of one colour.
#[derive(Clone, Copy)]
struct Vectors {
    z: Out,
    p: Out,
    q: Out,
    x: Out,
    r: Out,
}

/// p = z + β p, q = w + β q, x = keep x + α p, r -= α q, and then z = r / diagonal in the first colour's cells, which the next cycle
/// begins with. Where `w` is not given, it is r.
pub(super) fn advance(
    groups: &[u32],
    k: [&Colour; 2],
    stride: Stride,
    w: [Option<&[f32]>; 2],
    [z, p, q, x, r]: [&mut Split; 5],
) -> Left {
    let (z, p, q, x, r) = (z.out(), p.out(), q.out(), x.out(), r.out());
    let mut left = Left::default();
    let kernel = |part: &[u32]| {
        let mut left = Left::default();
        for c in 0..2 {
            let v = Vectors { z: z[c], p: p[c], q: q[c], x: x[c], r: r[c] };
            let (k, w) = (k[c], w[c]);
            left.and(eight!(advance_in(part: &[u32], k: &Colour, stride: Stride, w: Option<&[f32]>, v: Vectors) -> Left));
        }
        left
    };
    over_each(groups, kernel, |part| left.and(part));
    left
}

#[inline(always)]
fn advance_in<L: Eight>(groups: &[u32], k: &Colour, stride: Stride, w: Option<&[f32]>, v: Vectors) -> Left {
    let (beta, keep) = (L::splat(stride.beta), L::splat(stride.keep));
    let (plus, minus) = (L::splat(stride.alpha), L::splat(-stride.alpha));
    let (mut square, mut peak) = (0.0, L::splat(0.0));
    for block in groups.chunks(BLOCK) {
        let mut dot = L::splat(0.0);
        for &group in block {
            let at = at_of(group);
            // SAFETY: the group is one of the level's, and this task's own.
            unsafe {
                let r = L::load(v.r.at(at));
                let w = match w {
                    Some(w) => load(w, at),
                    None => r,
                };
                let p = beta.mul_add(L::load(v.p.at(at)), L::load(v.z.at(at)));
                let q = beta.mul_add(L::load(v.q.at(at)), w);
                p.store(v.p.at(at));
                q.store(v.q.at(at));
                plus.mul_add(p, keep.mul(L::load(v.x.at(at)))).store(v.x.at(at));
                let r = minus.mul_add(q, r);
                r.store(v.r.at(at));
                dot = r.mul_add(r, dot);
                peak = peak.max(r.abs());
                if k.colour == 0 {
                    r.mul(load(k.inverse, at)).store(v.z.at(at));
                }
            }
        }
        square += f64::from(dot.sum());
    }
    Left { square, peak: peak.to_array().into_iter().fold(0.0, f32::max) }
}

/// r = b - A x by differences of x, in the cells of one colour: rounded by parts of what x differs by between neighbours, not of x
/// itself, which is far greater where a liquid is deep.
pub(super) fn lack(
    groups: &[u32],
    k: &Colour,
    excess: &[f32],
    b: &[f32],
    [own, other]: [&[f32]; 2],
    r: &mut [f32],
) -> Left {
    let r = Out(r.as_mut_ptr());
    let mut left = Left::default();
    over_each(
        groups,
        |part| eight!(lack_in(part: &[u32], k: &Colour, excess: &[f32], b: &[f32], own: &[f32], other: &[f32], r: Out) -> Left),
        |part| left.and(part),
    );
    left
}

#[inline(always)]
fn lack_in<L: Eight>(
    groups: &[u32],
    k: &Colour,
    excess: &[f32],
    b: &[f32],
    own: &[f32],
    other: &[f32],
    r: Out,
) -> Left {
    let [row, layer] = k.stride;
    let (zero, mut square, mut peak) = (L::splat(0.0), 0.0, L::splat(0.0));
    for block in groups.chunks(BLOCK) {
        let mut dot = L::splat(0.0);
        for &group in block {
            let at = at_of(group);
            let odd = ((k.colour as u32 + group) & ODD_ROW) as usize;
            let (before, after) = (at + odd - 1, at + odd);
            // SAFETY: as in `neighbours`, and the group is this task's own.
            unsafe {
                let x = load::<L>(own, at);
                let to = |there: usize| x.sub(load(other, there));
                let left = if group & UNIFORM != 0 {
                    let sum = to(after).add(to(before));
                    let sum = sum.add(to(at + row).add(to(at - row)));
                    let sum = sum.add(to(at + layer).add(to(at - layer)));
                    L::splat(k.uniform).neg_mul_add(sum, load(b, at))
                } else {
                    let mut sum = load::<L>(excess, at).mul(x);
                    sum = load::<L>(k.own[0], at).mul_add(to(after), sum);
                    sum = load::<L>(k.other[0], before).mul_add(to(before), sum);
                    sum = load::<L>(k.own[1], at).mul_add(to(at + row), sum);
                    sum = load::<L>(k.other[1], at - row).mul_add(to(at - row), sum);
                    sum = load::<L>(k.own[2], at).mul_add(to(at + layer), sum);
                    sum = load::<L>(k.other[2], at - layer).mul_add(to(at - layer), sum);
                    load::<L>(b, at).sub(sum).where_below(zero, load(k.inverse, at))
                };
                left.store(r.at(at));
                dot = left.mul_add(left, dot);
                peak = peak.max(left.abs());
            }
        }
        square += f64::from(dot.sum());
    }
    Left { square, peak: peak.to_array().into_iter().fold(0.0, f32::max) }
}
