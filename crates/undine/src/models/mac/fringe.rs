//! Faces around those that have a velocity, layer by layer: where velocities are spread to.
//!
//! Which faces these are, and which of their neighbours they take the mean of, is found once and serves every field that is known at
//! the same faces.

use rayon::prelude::*;

use super::extrapolate::Known;
use super::layout::Layout;
use super::transfer::Faces;
use crate::simd::widest;

/// Faces of a block.
const BLOCK: usize = 8;

/// Faces side by side of which some are in a layer.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Number of the first.
    first: u32,
    /// Which of their neighbours are known before them: a bit for the lower and the upper one along each axis. None of those that are
    /// not in the layer.
    from: [u8; BLOCK],
}

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
                    blocks.extend(
                        some.map(|(k, from)| Block { first: (first + BLOCK * k) as u32, from: *from }),
                    );
                }
                ends.push(blocks.len());
                if blocks.len() == before {
                    break;
                }
                for b in &blocks[before..] {
                    let at = b.first as usize;
                    state[at..at + BLOCK]
                        .iter_mut()
                        .zip(b.from)
                        .for_each(|(s, from)| *s |= u8::from(from != 0));
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
    widest!(take_means_in(blocks: &[Block], stride: [usize; 3], u: &mut [f32]));
}

/// They look only at faces of earlier layers, so that none sees another of its own.
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn take_means_in<L>(blocks: &[Block], stride: [usize; 3], u: &mut [f32]) {
    for b in blocks {
        let first = b.first as usize;
        if first + stride[2] + BLOCK <= u.len() {
            let from = b.from.map(u32::from);
            let (mut sum, mut count) = ([0f32; BLOCK], [0u32; BLOCK]);
            for (k, s) in stride.into_iter().enumerate() {
                for (bit, at) in [(2 * k, first - s), (2 * k + 1, first + s)] {
                    let near = &u[at..at + BLOCK];
                    for i in 0..BLOCK {
                        let one = from[i] >> bit & 1;
                        // What is not known may be anything.
                        sum[i] += f32::from_bits(near[i].to_bits() & 0u32.wrapping_sub(one));
                        count[i] += one;
                    }
                }
            }
            let out = &mut u[first..first + BLOCK];
            for i in 0..BLOCK {
                let mean = sum[i] / count[i] as f32;
                out[i] = if count[i] > 0 { mean } else { out[i] };
            }
        } else {
            // The last plane, with nothing behind it.
            for (i, from) in b.from.into_iter().enumerate().filter(|(_, from)| *from != 0) {
                u[first + i] = mean(stride, u, first + i, from);
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

/// Mean of the known neighbours of face `i`.
fn mean(stride: [usize; 3], u: &[f32], i: usize, from: u8) -> f32 {
    let mut sum = 0.0;
    for (b, s) in stride.into_iter().enumerate() {
        if from >> (2 * b) & 1 != 0 {
            sum += u[i - s];
        }
        if from >> (2 * b) & 2 != 0 {
            sum += u[i + s];
        }
    }
    sum / from.count_ones() as f32
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
