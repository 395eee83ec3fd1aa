//! Faces around those that have a velocity, layer by layer: where velocities are spread to.
//!
//! Which faces these are, and which of their neighbours they take the mean of, is found once and serves every field that is known at
//! the same faces.

use rayon::prelude::*;

use super::extrapolate::Known;
use super::layout::Layout;
use super::transfer::Faces;

/// A face of a layer and which of its neighbours are known before it: a bit for the lower and the upper one along each axis.
#[derive(Clone, Copy, Debug)]
struct Member {
    face: u32,
    from: u8,
}

/// Layers of faces around known ones.
#[derive(Clone, Debug, Default)]
pub struct Fringe {
    /// The members of all layers for each axis, and where layers end in them.
    members: [Vec<Member>; 3],
    ends: [Vec<usize>; 3],
    state: [Vec<u8>; 3],
}

/// What a face is: one of the domain without a value, one that has a value, one outside the domain without, and one that is in the
/// next layer.
const UNKNOWN: u8 = 0;
const KNOWN: u8 = 1;
const OUTSIDE: u8 = 2;
const LISTED: u8 = 3;

/// Planes that are searched at a time.
const PLANES: usize = 8;

impl Fringe {
    /// Finds up to `layers` layers.
    pub fn find(&mut self, layout: &Layout, known: &Known, layers: usize) {
        let Fringe { members, ends, state } = self;
        let each = members.par_iter_mut().zip(ends).zip(state).zip(&known.0).enumerate();
        each.for_each(|(a, (((members, ends), state), known))| {
            let rows = layout.face_rows(a);
            mark(layout, rows, known, state);
            members.clear();
            ends.clear();
            let mut edge = first_edge(layout, rows, state);
            for layer in 0..layers {
                let from = members.len();
                members.extend(edge.iter().map(|&face| {
                    let mut bits = 0;
                    for (b, s) in layout.stride.into_iter().enumerate() {
                        let i = face as usize;
                        bits |= u8::from(state[i - s] == KNOWN) << (2 * b);
                        bits |= u8::from(state.get(i + s) == Some(&KNOWN)) << (2 * b + 1);
                    }
                    Member { face, from: bits }
                }));
                ends.push(members.len());
                for m in &members[from..] {
                    state[m.face as usize] = KNOWN;
                }
                if edge.is_empty() || layer + 1 == layers {
                    break;
                }
                if layout.periodic != [false; 3] {
                    layout.wrap(state);
                    edge = first_edge(layout, rows, state);
                    continue;
                }
                // The next layer lies beside this one.
                edge.clear();
                for m in &members[from..] {
                    for s in layout.stride {
                        for j in [m.face as usize - s, m.face as usize + s] {
                            if state.get(j) == Some(&UNKNOWN) {
                                state[j] = LISTED;
                                edge.push(j as u32);
                            }
                        }
                    }
                }
            }
        });
    }

    /// Gives the faces of the first `layers` layers the mean of their known neighbours.
    pub fn fill(&self, layout: &Layout, u: &mut Faces, layers: usize) {
        u.par_iter_mut().zip(&self.members).zip(&self.ends).for_each(|((u, members), ends)| {
            let mut from = 0;
            let mut found = Vec::new();
            for &end in ends.iter().take(layers) {
                let layer = &members[from..end];
                found.clear();
                found.extend(layer.iter().map(|m| mean(layout, u, *m)));
                for (m, v) in layer.iter().zip(&found) {
                    u[m.face as usize] = *v;
                }
                layout.wrap(u);
                from = end;
            }
        });
    }
}

/// What each face is.
fn mark(layout: &Layout, rows: [usize; 3], known: &[bool], state: &mut Vec<u8>) {
    state.clear();
    state.extend(known.iter().map(|k| OUTSIDE - u8::from(*k)));
    for row in 0..rows[1] * rows[2] {
        let first = layout.at([0, row % rows[1], row / rows[1]]);
        for s in &mut state[first..first + rows[0]] {
            *s &= 1;
        }
    }
}

/// Unknown faces beside known ones.
fn first_edge(layout: &Layout, rows: [usize; 3], state: &[u8]) -> Vec<u32> {
    let planes: Vec<usize> = (0..rows[2]).step_by(PLANES).collect();
    let search = |&from: &usize| {
        let mut edge = Vec::new();
        let nothing = vec![UNKNOWN; rows[0]];
        let mut beside = vec![0; rows[0]];
        let [_, sy, sz] = layout.stride;
        for z in from..(from + PLANES).min(rows[2]) {
            for y in 0..rows[1] {
                let first = layout.at([0, y, z]);
                // Behind the last layer there is nothing.
                let of = |from: usize| state.get(from..from + rows[0]).unwrap_or(&nothing);
                let (here, left, right) = (of(first), of(first - 1), of(first + 1));
                let (below, above) = (of(first - sy), of(first + sy));
                let (before, behind) = (of(first - sz), of(first + sz));
                let mut any = 0;
                for i in 0..rows[0] {
                    let known = left[i] | right[i] | below[i] | above[i] | before[i] | behind[i];
                    beside[i] = known & KNOWN & u8::from(here[i] == UNKNOWN);
                    any |= beside[i];
                }
                if any != 0 {
                    edge.extend((0..rows[0]).filter(|i| beside[*i] != 0).map(|i| (first + i) as u32));
                }
            }
        }
        edge
    };
    planes.par_iter().flat_map_iter(search).collect()
}

/// Mean of the known neighbours.
#[inline(always)]
fn mean(layout: &Layout, u: &[f32], m: Member) -> f32 {
    let i = m.face as usize;
    let mut sum = 0.0;
    for (b, s) in layout.stride.into_iter().enumerate() {
        if m.from >> (2 * b) & 1 != 0 {
            sum += u[i - s];
        }
        if m.from >> (2 * b) & 2 != 0 {
            sum += u[i + s];
        }
    }
    sum / m.from.count_ones() as f32
}
