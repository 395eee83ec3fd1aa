//! What markers are shown by where a lattice would have more points than there are markers: values of faces and cells side by
//! side, as they are numbered.

use glam::Vec4;
use rayon::prelude::*;

use crate::models::mac::convect::{load, store};
use crate::models::mac::layout::Layout;
use crate::models::mac::transfer::{Faces, floor};
use crate::simd::{Lanes, widest};

/// Values read at once: the four of a number and of the next three along x, which are one row in memory. Three numbers are used.
const ROW: usize = 16;

/// For each number the components at its lower faces and the value of its cell.
pub struct Nodes<'a> {
    layout: &'a Layout,
    nodes: Vec<[f32; 4]>,
}

/// What is subtracted, for each axis, from how far a place is in its cell: half a cell for values that lie in the middle there.
const OFF: [[f32; ROW]; 3] = {
    let mut off = [[0.5; ROW]; 3];
    let mut i = 0;
    while i < ROW {
        if i % 4 < 3 {
            off[i % 4][i] = 0.0;
        }
        i += 1;
    }
    off
};

/// The values of each of the three numbers along x that are used.
const ALONG_X: [[f32; ROW]; 3] = {
    let mut of = [[0.0; ROW]; 3];
    let mut i = 0;
    while i < 12 {
        of[i / 4][i] = 1.0;
        i += 1;
    }
    of
};

impl<'a> Nodes<'a> {
    /// Of a field on faces and one of cells, both padded.
    pub fn new(layout: &'a Layout, faces: &Faces, cells: &[f32]) -> Self {
        // One more, so that four can be read from each place.
        let mut nodes = vec![[0.0; 4]; layout.len() + 1];
        let plane = layout.plane();
        nodes[..layout.len()].par_chunks_mut(plane).enumerate().for_each(|(k, nodes)| {
            let [x, y, z] = faces.each_ref().map(|faces| &faces[k * plane..][..plane]);
            let cells = &cells[k * plane..][..plane];
            for (i, node) in nodes.iter_mut().enumerate() {
                *node = [x[i], y[i], z[i], cells[i]];
            }
        });
        Nodes { layout, nodes }
    }

    /// The components and the value of cells at a place in cells.
    ///
    /// Each is interpolated along each axis between two of the three numbers around the place: faces between that of the cell and the
    /// next, middles between those half a cell about. Three weights for each component let all of them be read together.
    #[inline(always)]
    fn at<L: Lanes>(&self, x: &[f32; 3]) -> Vec4 {
        let layout = self.layout;
        let mut first = 0;
        let mut t = [0.0; 3];
        for b in 0..3 {
            let c = floor(x[b]).clamp(0, layout.n[b] as i32 - 1);
            first += c as usize * layout.stride[b];
            t[b] = (x[b] - c as f32).clamp(0.0, 1.0);
        }
        let [sy, sz] = [layout.stride[1], layout.stride[2]];
        let rows = &self.nodes[first..=first + 2 * (sy + sz) + 3];
        let mut sums = [0f32; ROW];
        for part in (0..ROW).step_by(L::N) {
            // No closures here: those are not compiled for the lanes.
            let wx = weights::<L>(t[0], 0, part);
            let wy = weights::<L>(t[1], 1, part);
            let wz = weights::<L>(t[2], 2, part);
            let mut sum = L::splat(0.0);
            for k in 0..3 {
                for j in 0..3 {
                    // SAFETY: four numbers are among `rows` from each of these on, and the part ends with them.
                    let row = unsafe { L::load(rows.as_ptr().add(j * sy + k * sz).cast::<f32>().add(part)) };
                    sum = wy[j].mul(wz[k]).mul_add(row, sum);
                }
            }
            let mut along = L::splat(0.0);
            for (w, of) in wx.into_iter().zip(&ALONG_X) {
                // SAFETY: the part is one of a row.
                along = w.mul_add(unsafe { L::load(of.as_ptr().add(part)) }, along);
            }
            // SAFETY: as above.
            unsafe { sum.mul(along).store(sums.as_mut_ptr().add(part)) };
        }
        let sum = |i: usize| Vec4::from_slice(&sums[4 * i..]);
        sum(0) + sum(1) + sum(2)
    }

    /// Adds a share of what is at places to velocities, and gives the value of cells there. Chooses the instruction set.
    pub fn look(&self, x: &[[f32; 3]], share: f32, velocity: &mut [[f32; 3]], cells: &mut [f32]) {
        let nodes = self;
        widest!(look_in(nodes: &Nodes, x: &[[f32; 3]], share: f32, velocity: &mut [[f32; 3]], cells: &mut [f32]));
    }
}

/// Weights of three numbers along axis `b` for values from `part` of a row on, `t` of the way through the cell: of faces that is it,
/// of middles half a cell less, and what is below 0 goes to the number before.
#[inline(always)]
fn weights<L: Lanes>(t: f32, b: usize, part: usize) -> [L; 3] {
    // SAFETY: the part is one of a row.
    let off = unsafe { L::load(OFF[b].as_ptr().add(part)) };
    let (t, zero) = (L::splat(t).sub(off), L::splat(0.0));
    let (before, after) = (zero.sub(t).max(zero), t.max(zero));
    [before, L::splat(1.0).sub(before).sub(after), after]
}

#[inline(always)]
fn look_in<L: Lanes>(
    nodes: &Nodes,
    x: &[[f32; 3]],
    share: f32,
    velocity: &mut [[f32; 3]],
    cells: &mut [f32],
) {
    for ((x, velocity), cell) in x.iter().zip(velocity).zip(cells) {
        let gain = nodes.at::<L>(x);
        *velocity = store(load(velocity) + share * gain);
        *cell = gain.w;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mac::transfer::{center_value_at, velocity_at};
    use crate::scene::Scene;
    use crate::simd::Portable;

    #[test]
    fn all_together_are_as_one_by_one() {
        let text = "domain = { min = [0, 0, 0], max = [5, 3, 4] }\nmodel = { kind = 'mac', spacing = 1 }\n\
             [[fluid]]\nshape = { box = { min = [0, 0, 0], max = [1, 1, 1] } }\n";
        let scene = Scene::parse(text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        let layout = Layout::new(&scene).unwrap();
        let mut seed = 3u32;
        let mut random = || {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 8) as f32 / 16777216.0
        };
        let mut field = || -> Vec<f32> { (0..layout.len()).map(|_| random() - 0.5).collect() };
        let (faces, cells): (Faces, _) = ([field(), field(), field()], field());
        let nodes = Nodes::new(&layout, &faces, &cells);
        let mut places: Vec<[f32; 3]> = (0..500).map(|_| layout.n.map(|n| n as f32 * random())).collect();
        places.extend([[0.0; 3], [5.0, 3.0, 4.0], [0.5, 1.0, 3.5], [5.0, 1.5, 2.0]]);
        for x in places {
            let (at, v) = (nodes.at::<Portable>(&x), velocity_at(&layout, &faces, &x));
            for a in 0..3 {
                assert!((at[a] - v[a]).abs() < 2e-6, "{x:?}: {at} {v:?}");
            }
            assert!((at.w - center_value_at(&layout, &cells, &x)).abs() < 2e-6, "{x:?}");
            let (mut velocity, mut cell) = ([[1.0, 2.0, 3.0]], [0.0]);
            nodes.look(&[x], 0.5, &mut velocity, &mut cell);
            assert!((0..3).all(|a| (velocity[0][a] - (a as f32 + 1.0) - 0.5 * v[a]).abs() < 2e-6), "{x:?}");
            assert!((cell[0] - at.w).abs() < 1e-6);
        }
    }
}
