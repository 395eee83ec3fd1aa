//! The loops over groups of sixteen nodes, in lanes of f32.
//!
//! Single precision serves: places are differences of neighbours taken with their remainders ([`System::look`]), so that a length is
//! right to 10⁻⁷ of itself; the solve ends long before its rounding shows, and momentum is put right after it.
//!
//! [`System::look`]: super::system::System::look

use super::rows::{GROUP, Others, Rows, Sixteen};
use crate::simd::{Lanes, widest};

/// Vectors of a group's nodes.
pub(super) type Three = [Sixteen; 3];
/// Symmetric blocks of a group's nodes: xx, yy, zz, xy, yz, zx.
pub(super) type Six = [Sixteen; 6];
/// Blocks (c_l - c_t) n̂n̂ᵀ + c_t I of the links of a slot, kg, as √(c_l - c_t) n̂ and c_t.
pub(super) type Blocks = [Sixteen; 4];

/// Vectors of all nodes as three arrays with margins ([`Rows::margin`]), for slots to read.
pub(super) type Wide = [Vec<f32>; 3];

/// Reads what a slot reaches.
trait Reach: Copy {
    /// One number for each lane, of the nodes that `slot` joins to those from `at` on, which is the lane `half` of the group.
    ///
    /// # Safety
    /// The slot must be one of the group of node `at`, and `from` as long as [`Rows::padded`].
    unsafe fn read<L: Lanes>(self, from: &[f32], slot: usize, at: usize, half: usize) -> L;
}

#[derive(Clone, Copy)]
struct Along<'a>(&'a [i32]);

impl Reach for Along<'_> {
    #[inline(always)]
    unsafe fn read<L: Lanes>(self, from: &[f32], slot: usize, at: usize, _: usize) -> L {
        // SAFETY: margins are as wide as the farthest offset, and whole groups lie between them.
        unsafe { L::load(from.as_ptr().offset(at as isize + *self.0.get_unchecked(slot) as isize)) }
    }
}

#[derive(Clone, Copy)]
struct Among<'a>(&'a [[u32; GROUP]]);

impl Reach for Among<'_> {
    #[inline(always)]
    unsafe fn read<L: Lanes>(self, from: &[f32], slot: usize, _: usize, half: usize) -> L {
        let mut out = [0.0; GROUP];
        for (k, out) in out.iter_mut().enumerate().take(L::N) {
            // SAFETY: numbers are those of nodes, or the first one's.
            *out =
                unsafe { *from.get_unchecked(*self.0.get_unchecked(slot).get_unchecked(half + k) as usize) };
        }
        // SAFETY: room for sixteen.
        unsafe { L::load(out.as_ptr()) }
    }
}

#[inline(always)]
fn get<L: Lanes>(of: &Sixteen, half: usize) -> L {
    assert!(half + L::N <= GROUP);
    // SAFETY: just asked.
    unsafe { L::load(of.0.as_ptr().add(half)) }
}

#[inline(always)]
fn put<L: Lanes>(v: L, to: &mut Sixteen, half: usize) {
    assert!(half + L::N <= GROUP);
    // SAFETY: just asked.
    unsafe { v.store(to.0.as_mut_ptr().add(half)) }
}

#[inline(always)]
fn get3<L: Lanes>(of: &[Sixteen; 3], half: usize) -> [L; 3] {
    [get(&of[0], half), get(&of[1], half), get(&of[2], half)]
}

#[inline(always)]
fn put3<L: Lanes>(v: [L; 3], to: &mut [Sixteen; 3], half: usize) {
    for c in 0..3 {
        put(v[c], &mut to[c], half);
    }
}

#[inline(always)]
fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul(b[2])))
}

#[inline(always)]
fn each<L: Lanes>(f: impl Fn(usize) -> L) -> [L; 3] {
    [f(0), f(1), f(2)]
}

/// What [`assemble`] reads of a body.
pub(super) struct Now<'a> {
    pub(super) rows: &'a Rows,
    /// Places as a sum of two, m, and velocities, m/s, against those of the body's first node.
    pub(super) place: &'a [Wide; 2],
    pub(super) velocity: &'a Wide,
    pub(super) mass: &'a [Sixteen],
    /// The step, s, and θ × it.
    pub(super) dt: f32,
    pub(super) t: f32,
    /// Most stiffness, N/m, and damping, N s/m.
    pub(super) most: [f32; 2],
}

/// What [`assemble`] writes of some groups: the impulses of springs on each node, N s; the blocks on the diagonal, kg; those of slots.
pub(super) struct Made<'a> {
    pub(super) impulse: &'a mut [Three],
    pub(super) diagonal: &'a mut [Six],
    pub(super) blocks: &'a mut [Blocks],
}

/// Génevaux 2.2, f = -k(|l|-l0) - z l̇, and its derivatives, for the links of groups from `first` on.
pub(super) fn assemble(now: &Now, first: usize, made: Made) {
    let (place, velocity) = (now.place, now.velocity);
    for wide in [&place[0], &place[1], velocity] {
        assert!(wide.iter().all(|w| w.len() == now.rows.padded()));
    }
    widest!(assemble_with(now: &Now, first: usize, made: Made))
}

#[inline(always)]
fn assemble_with<L: Lanes>(now: &Now, first: usize, made: Made) {
    match &now.rows.others {
        Others::Along(offsets) => assemble_reaching::<L, _>(now, Along(offsets), first, made),
        Others::Among(numbers) => assemble_reaching::<L, _>(now, Among(numbers), first, made),
    }
}

#[inline(always)]
fn assemble_reaching<L: Lanes, R: Reach>(now: &Now, reach: R, first: usize, made: Made) {
    let Now { rows, place: [coarse, fine], velocity, .. } = now;
    let (zero, tiny) = (L::splat(0.0), L::splat(f32::MIN_POSITIVE));
    let [most_k, most_z] = now.most.map(L::splat);
    let (dt, t) = (L::splat(now.dt), L::splat(now.t));
    let before = rows.slots(first).start;
    for (g, (impulse, diagonal)) in made.impulse.iter_mut().zip(made.diagonal).enumerate() {
        let group = first + g;
        for half in (0..GROUP).step_by(L::N) {
            let at = rows.margin + GROUP * group + half;
            // SAFETY: whole groups lie between the margins; the arrays are as long as that (`assemble`).
            let own = |of: &Wide| each(|c| unsafe { L::load(of[c].as_ptr().add(at)) });
            let (x, y, v) = (own(coarse), own(fine), own(velocity));
            let mass = get::<L>(&now.mass[group], half);
            let (mut sum, mut d, mut e) = ([zero; 3], [mass; 3], [zero; 3]);
            for slot in rows.slots(group) {
                // SAFETY: a slot of this group, and arrays as above.
                let other =
                    |of: &Wide| unsafe { each(|c| reach.read::<L>(of[c].as_slice(), slot, at, half)) };
                let (ox, oy, ov) = (other(coarse), other(fine), other(velocity));
                let l = each(|c| x[c].sub(ox[c]).add(y[c].sub(oy[c])));
                let u = each(|c| v[c].sub(ov[c]));
                let square = dot(l, l);
                let length = square.sqrt();
                let inverse = L::splat(1.0).div(length.max(tiny)).where_below(tiny, square);
                let n = each(|c| l[c].mul(inverse));
                let [rest, k, z] = &rows.springs[slot];
                let (k, z) = (get::<L>(k, half).min(most_k), get::<L>(z, half).min(most_z));
                let pull = k.mul(length.sub(get(rest, half)));
                // Pressed springs push aside, which the matrix must not show: it would not be positive any more.
                let side = t.mul(pull.mul(inverse).max(zero));
                let closing = dot(u, n);
                // dt (f - t K u), with f = -n (pull + z n·u) and K = k n̂n̂ᵀ + side/t (I - n̂n̂ᵀ).
                let along = pull.add(closing.mul(z.add(t.mul(k)).sub(side)));
                for c in 0..3 {
                    sum[c] = dt.neg_mul_add(n[c].mul(along).add(u[c].mul(side)), sum[c]);
                }
                let across = t.mul(side);
                let stiff = dt.mul_add(z, t.mul(t).mul(k)).sub(across).max(zero).sqrt();
                let s = each(|c| n[c].mul(stiff));
                for c in 0..3 {
                    d[c] = d[c].add(s[c].mul_add(s[c], across));
                    e[c] = s[c].mul_add(s[(c + 1) % 3], e[c]);
                }
                let blocks = &mut made.blocks[slot - before];
                for c in 0..3 {
                    put(s[c], &mut blocks[c], half);
                }
                put(across, &mut blocks[3], half);
            }
            put3(sum, impulse, half);
            for c in 0..3 {
                put(d[c], &mut diagonal[c], half);
                put(e[c], &mut diagonal[3 + c], half);
            }
        }
    }
}

/// The matrix of a body without its contacts.
pub(super) struct Matrix<'a> {
    pub(super) rows: &'a Rows,
    pub(super) mass: &'a [Sixteen],
    pub(super) blocks: &'a [Blocks],
}

/// q = A p for groups from `first` on; returns p·q of them.
pub(super) fn multiply(a: &Matrix, first: usize, p: &Wide, q: &mut [Three]) -> f64 {
    assert!(p.iter().all(|w| w.len() == a.rows.padded()));
    let mut sum = 0.0;
    multiply_widest(a, first, p, q, &mut sum);
    sum
}

fn multiply_widest(a: &Matrix, first: usize, p: &Wide, q: &mut [Three], sum: &mut f64) {
    widest!(multiply_with(a: &Matrix, first: usize, p: &Wide, q: &mut [Three], sum: &mut f64))
}

#[inline(always)]
fn multiply_with<L: Lanes>(a: &Matrix, first: usize, p: &Wide, q: &mut [Three], sum: &mut f64) {
    match &a.rows.others {
        Others::Along(offsets) => multiply_reaching::<L, _>(a, Along(offsets), first, p, q, sum),
        Others::Among(numbers) => multiply_reaching::<L, _>(a, Among(numbers), first, p, q, sum),
    }
}

#[inline(always)]
fn multiply_reaching<L: Lanes, R: Reach>(
    a: &Matrix,
    reach: R,
    first: usize,
    p: &Wide,
    q: &mut [Three],
    sum: &mut f64,
) {
    let mut product = L::splat(0.0);
    for (g, q) in q.iter_mut().enumerate() {
        let group = first + g;
        for half in (0..GROUP).step_by(L::N) {
            let at = a.rows.margin + GROUP * group + half;
            // SAFETY: whole groups lie between the margins; the arrays are as long as that (`multiply`).
            let own = each(|c| unsafe { L::load(p[c].as_ptr().add(at)) });
            let mass = get::<L>(&a.mass[group], half);
            // Two sums, or each addition would wait for the last.
            let (mut one, mut two) = (each(|c| mass.mul(own[c])), [L::splat(0.0); 3]);
            let slots = a.rows.slots(group);
            for (slot, block) in slots.clone().zip(&a.blocks[slots]) {
                // SAFETY: a slot of this group, and arrays as above.
                let d = each(|c| own[c].sub(unsafe { reach.read::<L>(&p[c], slot, at, half) }));
                let s = each(|c| get::<L>(&block[c], half));
                let (across, sd) = (get::<L>(&block[3], half), dot(s, d));
                for c in 0..3 {
                    one[c] = s[c].mul_add(sd, one[c]);
                    two[c] = across.mul_add(d[c], two[c]);
                }
            }
            let image = each(|c| one[c].add(two[c]));
            product = product.add(dot(own, image));
            put3(image, q, half);
        }
    }
    *sum += f64::from(product.sum());
}

/// x += α p, r -= α q, q = D⁻¹r for groups from `first` on; returns r·D⁻¹r of them.
pub(super) fn descend(
    (alpha, margin): (f32, usize),
    first: usize,
    p: &Wide,
    inverse: &[Six],
    [x, r, q]: [&mut [Three]; 3],
) -> f64 {
    let (mut sum, at) = (0.0, margin + GROUP * first);
    let p = [0, 1, 2].map(|c| &p[c][at..at + GROUP * x.len()]);
    descend_widest(alpha, p, inverse, x, r, q, &mut sum);
    sum
}

fn descend_widest(
    alpha: f32,
    p: [&[f32]; 3],
    inverse: &[Six],
    x: &mut [Three],
    r: &mut [Three],
    q: &mut [Three],
    sum: &mut f64,
) {
    widest!(descend_with(
        alpha: f32,
        p: [&[f32]; 3],
        inverse: &[Six],
        x: &mut [Three],
        r: &mut [Three],
        q: &mut [Three],
        sum: &mut f64,
    ))
}

#[inline(always)]
fn descend_with<L: Lanes>(
    alpha: f32,
    p: [&[f32]; 3],
    inverse: &[Six],
    x: &mut [Three],
    r: &mut [Three],
    q: &mut [Three],
    sum: &mut f64,
) {
    let (mut product, alpha) = (L::splat(0.0), L::splat(alpha));
    for (g, inverse) in inverse.iter().enumerate().take(x.len()) {
        for half in (0..GROUP).step_by(L::N) {
            let at = GROUP * g + half;
            let along = each(|c| {
                let p = &p[c][at..at + L::N];
                // SAFETY: as many as there are lanes.
                unsafe { L::load(p.as_ptr()) }
            });
            let (old, rest, image) = (get3::<L>(&x[g], half), get3::<L>(&r[g], half), get3::<L>(&q[g], half));
            let rest = each(|c| alpha.neg_mul_add(image[c], rest[c]));
            put3(each(|c| alpha.mul_add(along[c], old[c])), &mut x[g], half);
            let z = times(inverse, rest, half);
            product = product.add(dot(rest, z));
            put3(rest, &mut r[g], half);
            put3(z, &mut q[g], half);
        }
    }
    *sum += f64::from(product.sum());
}

/// A symmetric block times a vector.
#[inline(always)]
fn times<L: Lanes>(block: &Six, v: [L; 3], half: usize) -> [L; 3] {
    let [xx, yy, zz, xy, yz, zx] = [0, 1, 2, 3, 4, 5].map(|k| get::<L>(&block[k], half));
    [dot([xx, xy, zx], v), dot([xy, yy, yz], v), dot([zx, yz, zz], v)]
}

/// p = z + β p of some groups.
pub(super) fn turn(beta: f32, z: &[Three], p: [&mut [f32]; 3]) {
    widest!(turn_with(beta: f32, z: &[Three], p: [&mut [f32]; 3]))
}

#[inline(always)]
fn turn_with<L: Lanes>(beta: f32, z: &[Three], p: [&mut [f32]; 3]) {
    let beta = L::splat(beta);
    for (c, p) in p.into_iter().enumerate() {
        for (z, p) in z.iter().zip(p.chunks_exact_mut(GROUP)) {
            for half in (0..GROUP).step_by(L::N) {
                let p = &mut p[half..half + L::N];
                // SAFETY: as many as there are lanes.
                let old = unsafe { L::load(p.as_ptr()) };
                let new = beta.mul_add(old, get(&z[c], half));
                // SAFETY: as above.
                unsafe { new.store(p.as_mut_ptr()) };
            }
        }
    }
}

/// The inverses of blocks, 0 where `open` is: held nodes, and numbers beyond the last. In double precision, since a stiff sheet
/// has blocks that are nearly flat.
pub(super) fn invert(blocks: &[Six], open: &[Sixteen], inverse: &mut [Six]) {
    for ((block, open), inverse) in blocks.iter().zip(open).zip(inverse) {
        for k in 0..GROUP {
            let one = invert_one([0, 1, 2, 3, 4, 5].map(|c| f64::from(block[c].0[k])));
            for c in 0..6 {
                inverse[c].0[k] = if open.0[k] > 0.0 { one[c] as f32 } else { 0.0 };
            }
        }
    }
}

/// The inverse of a symmetric block.
#[inline(always)]
pub(super) fn invert_one([xx, yy, zz, xy, yz, zx]: [f64; 6]) -> [f64; 6] {
    let (a, b, c) = (yy * zz - yz * yz, yz * zx - xy * zz, xy * yz - yy * zx);
    let scale = 1.0 / (xx * a + xy * b + zx * c);
    [a, xx * zz - zx * zx, xx * yy - xy * xy, b, zx * xy - yz * xx, c].map(|v| v * scale)
}
