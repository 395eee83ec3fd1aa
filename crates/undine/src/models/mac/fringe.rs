//! Faces around those that have a velocity, layer by layer: where velocities are spread to.
//!
//! Which faces these are, and which of their neighbours they take the mean of, is found once and serves every field that is known at
//! the same faces.

use rayon::prelude::*;

use super::extrapolate::Known;
use super::layout::Layout;
use super::transfer::Faces;
use crate::simd::{Eight, eight, widest};

/// Faces of a block.
const BLOCK: usize = 8;

/// Faces side by side of which some are in a layer.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Number of the first.
    first: u32,
    /// For the lower and the upper neighbour along each axis, a bit for each face of which it is known before. None of those that are
    /// not in the layer.
    from: [u8; 6],
    /// How many neighbours of each face that are.
    count: [u8; BLOCK],
}

impl Block {
    /// `from` has for each face a bit for each of its neighbours.
    fn new(first: usize, from: [u8; BLOCK]) -> Self {
        let [a, b, c, d, e, f, ..] = turned(from);
        Block { first: first as u32, from: [a, b, c, d, e, f], count: ones(from) }
    }
}

/// How many bits are set in each byte.
fn ones(bytes: [u8; 8]) -> [u8; 8] {
    const PAIRS: u64 = 0x5555_5555_5555_5555;
    const FOURS: u64 = 0x3333_3333_3333_3333;
    let x = u64::from_le_bytes(bytes);
    let x = x - (x >> 1 & PAIRS);
    let x = (x & FOURS) + (x >> 2 & FOURS);
    ((x + (x >> 4)) & 0x0F0F_0F0F_0F0F_0F0F).to_le_bytes()
}

/// Bit i of byte k becomes bit k of byte i: blocks of one, two and four bits a side change places across the diagonal.
fn turned(bytes: [u8; 8]) -> [u8; 8] {
    let mut x = u64::from_le_bytes(bytes);
    for (shift, part) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let both = (x ^ x >> shift) & part;
        x ^= both ^ both << shift;
    }
    x.to_le_bytes()
}

/// Lane i of entry k is below 0 if bit i of k is set.
static SIGNS: [[f32; BLOCK]; 256] = {
    let mut signs = [[1.0; BLOCK]; 256];
    let mut k = 0;
    while k < 256 * BLOCK {
        if (k / BLOCK) >> (k % BLOCK) & 1 == 1 {
            signs[k / BLOCK][k % BLOCK] = -1.0;
        }
        k += 1;
    }
    signs
};

/// Layers of faces around known ones.
#[derive(Clone, Debug, Default)]
pub struct Fringe {
    /// The blocks of all layers for each axis, and where layers end in them.
    blocks: [Vec<Block>; 3],
    ends: [Vec<usize>; 3],
    state: [Vec<u8>; 3],
}

/// What a face is: one of the domain without a value, one that has a value, and one outside the domain without.
const UNKNOWN: u8 = 0;
const KNOWN: u8 = 1;
const OUTSIDE: u8 = 2;

impl Fringe {
    /// Finds up to `layers` layers.
    pub fn find(&mut self, layout: &Layout, known: &Known, layers: usize) {
        let Fringe { blocks, ends, state } = self;
        let each = blocks.par_iter_mut().zip(ends).zip(state).zip(&known.0).enumerate();
        each.for_each(|(a, (((blocks, ends), state), known))| {
            let rows = layout.face_rows(a);
            mark(layout, rows, known, state);
            blocks.clear();
            ends.clear();
            // Of the last block of a plane some are in the next.
            let mut from = vec![0; layout.plane().next_multiple_of(BLOCK)];
            for _ in 0..layers {
                let before = blocks.len();
                for plane in 1..=rows[2] {
                    let first = plane * layout.plane();
                    look_around(state, first, layout.stride, &mut from[..layout.plane()]);
                    let some = from.as_chunks::<BLOCK>().0.iter().enumerate();
                    let some = some.filter(|(_, from)| u64::from_le_bytes(**from) != 0);
                    blocks.extend(some.map(|(k, from)| Block::new(first + BLOCK * k, *from)));
                }
                ends.push(blocks.len());
                if blocks.len() == before {
                    break;
                }
                for b in &blocks[before..] {
                    let at = b.first as usize;
                    state[at..at + BLOCK]
                        .iter_mut()
                        .zip(b.count)
                        .for_each(|(s, count)| *s |= u8::from(count != 0));
                }
                layout.wrap(state);
            }
        });
    }

    /// Gives the faces of the first `layers` layers the mean of their known neighbours.
    pub fn fill(&self, layout: &Layout, u: &mut Faces, layers: usize) {
        u.par_iter_mut().zip(&self.blocks).zip(&self.ends).for_each(|((u, blocks), ends)| {
            let mut from = 0;
            for &end in ends.iter().take(layers) {
                take_means(&blocks[from..end], layout.stride, u);
                layout.wrap(u);
                from = end;
            }
        });
    }
}

/// Which neighbours are known of the faces of a plane, from number `first` on, that are not; 0 for all others. Chooses the instruction
/// set. (A row would be too short for vectors of bytes. Following a list of edges from layer to layer took five times as long.)
fn look_around(state: &[u8], first: usize, stride: [usize; 3], from: &mut [u8]) {
    widest!(look_around_in(state: &[u8], first: usize, stride: [usize; 3], from: &mut [u8]));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn look_around_in<L>(state: &[u8], first: usize, stride: [usize; 3], from: &mut [u8]) {
    let n = from.len();
    let of = |at: usize| &state[at..at + n];
    let [sx, sy, sz] = stride;
    let (here, left, right) = (of(first), of(first - sx), of(first + sx));
    let (below, above) = (of(first - sy), of(first + sy));
    let (before, behind) = (of(first - sz), of(first + sz));
    for i in 0..n {
        let x = left[i] & KNOWN | (right[i] & KNOWN) << 1;
        let y = (below[i] & KNOWN) << 2 | (above[i] & KNOWN) << 3;
        let z = (before[i] & KNOWN) << 4 | (behind[i] & KNOWN) << 5;
        from[i] = if here[i] == UNKNOWN { x | y | z } else { 0 };
    }
}

/// Gives the faces of some blocks, of one layer, the mean of their known neighbours. Chooses the instruction set.
fn take_means(blocks: &[Block], stride: [usize; 3], u: &mut [f32]) {
    eight!(take_means_in(blocks: &[Block], stride: [usize; 3], u: &mut [f32]));
}

/// They look only at faces of earlier layers, so that none sees another of its own. (Left to the compiler, these loops took twice as
/// long.)
#[inline(always)]
fn take_means_in<L: Eight>(blocks: &[Block], stride: [usize; 3], u: &mut [f32]) {
    let (zero, half) = (L::splat(0.0), L::splat(0.5));
    for b in blocks {
        let first = b.first as usize;
        assert!(first >= stride[2]);
        if first + stride[2] + BLOCK <= u.len() {
            let mut sum = zero;
            for (k, s) in stride.into_iter().enumerate() {
                for (from, at) in [(b.from[2 * k], first - s), (b.from[2 * k + 1], first + s)] {
                    // SAFETY: the longest stride is that of planes, and eight faces are behind that one and before.
                    let near = unsafe { L::load(u.as_ptr().add(at)) };
                    // SAFETY: eight of them.
                    let signs = unsafe { L::load(SIGNS[usize::from(from)].as_ptr()) };
                    // What is not known may be anything.
                    sum = sum.add(near.where_below(signs, zero));
                }
            }
            // SAFETY: eight of each.
            unsafe {
                let count = L::load_bytes(b.count.as_ptr());
                let out = u.as_mut_ptr().add(first);
                let old = L::load(out).where_below(count, half);
                old.add(sum.div(count).where_below(half, count)).store(out);
            }
        } else {
            // The last plane, with nothing behind it.
            for (i, _) in b.count.into_iter().enumerate().filter(|(_, count)| *count != 0) {
                u[first + i] = mean(stride, u, first + i, b.from.map(|from| from >> i & 1 != 0));
            }
        }
    }
}

/// What each face is.
fn mark(layout: &Layout, rows: [usize; 3], known: &[bool], state: &mut Vec<u8>) {
    state.clear();
    state.extend(known.iter().map(|k| OUTSIDE - u8::from(*k)));
    // Nothing lies around the last plane.
    state.resize(layout.len() + 2 * layout.plane(), OUTSIDE);
    for row in 0..rows[1] * rows[2] {
        let first = layout.at([0, row % rows[1], row / rows[1]]);
        for s in &mut state[first..first + rows[0]] {
            *s &= 1;
        }
    }
}

/// Mean of the neighbours of face `i` that are `known`, by their place among the lower and the upper one along each axis.
fn mean(stride: [usize; 3], u: &[f32], i: usize, known: [bool; 6]) -> f32 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (b, s) in stride.into_iter().enumerate() {
        if known[2 * b] {
            sum += u[i - s];
            count += 1.0;
        }
        if known[2 * b + 1] {
            sum += u[i + s];
            count += 1.0;
        }
    }
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;
    use proptest::prelude::*;

    fn layout(n: [usize; 3], periodic: [bool; 3]) -> Layout {
        let text = format!(
            "domain = {{ min = [0, 0, 0], max = {n:?}, periodic = {periodic:?} }}\nmodel = {{ kind = 'mac', spacing = 1 }}\n\
             [[fluid]]\nshape = {{ box = {{ min = [0, 0, 0], max = [1, 1, 1] }} }}\n"
        );
        Layout::new(&Scene::parse(&text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene).unwrap()
    }

    /// Layer by layer, face by face.
    fn plain(layout: &Layout, a: usize, known: &[bool], u: &mut [f32], layers: usize) {
        let (mut known, rows) = (known.to_vec(), layout.face_rows(a));
        for _ in 0..layers {
            let mut found = Vec::new();
            for row in 0..rows[1] * rows[2] {
                let first = layout.at([0, row % rows[1], row / rows[1]]);
                for i in (first..first + rows[0]).filter(|i| !known[*i]) {
                    let near = layout.stride.iter().flat_map(|s| [i - s, i + s]);
                    let near: Vec<f32> =
                        near.filter(|j| known.get(*j) == Some(&true)).map(|j| u[j]).collect();
                    if !near.is_empty() {
                        found.push((i, near.iter().sum::<f32>() / near.len() as f32));
                    }
                }
            }
            for (i, mean) in found {
                (u[i], known[i]) = (mean, true);
            }
            layout.wrap(u);
            layout.wrap(&mut known);
        }
    }

    proptest! {
        #[test]
        fn bits_are_turned_and_counted(bytes in any::<[u8; 8]>()) {
            let turned = turned(bytes);
            for (i, k) in (0..64).map(|n| (n % 8, n / 8)) {
                prop_assert_eq!(turned[i] >> k & 1, bytes[k] >> i & 1);
            }
            prop_assert_eq!(ones(bytes), bytes.map(|b| b.count_ones() as u8));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn faces_in_air_have_the_mean_of_those_known_before_them(
            n in prop::array::uniform3(4usize..9),
            periodic in prop::array::uniform3(any::<bool>()),
            seed in any::<u32>(),
            one_of in 2u32..40,
            layers in 1usize..5,
        ) {
            let layout = layout(n, periodic);
            let mut state = seed;
            let mut random = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 8
            };
            let mut known = Known(std::array::from_fn(|_| vec![false; layout.len()]));
            let mut u: Faces = std::array::from_fn(|_| vec![f32::NAN; layout.len()]);
            for a in 0..3 {
                let rows = layout.face_rows(a);
                for c in 0..rows[0] * rows[1] * rows[2] {
                    let i = layout.at([c % rows[0], c / rows[0] % rows[1], c / (rows[0] * rows[1])]);
                    if random() % one_of == 0 {
                        (known.0[a][i], u[a][i]) = (true, random() as f32 / 1e6);
                    }
                }
                layout.wrap(&mut known.0[a]);
                layout.wrap(&mut u[a]);
            }
            let mut fringe = Fringe::default();
            fringe.find(&layout, &known, layers);
            let mut filled = u.clone();
            fringe.fill(&layout, &mut filled, layers);
            for a in 0..3 {
                plain(&layout, a, &known.0[a], &mut u[a], layers);
                for (plain, fast) in u[a].iter().zip(&filled[a]) {
                    prop_assert_eq!(plain.to_bits(), fast.to_bits());
                }
            }
        }
    }
}
