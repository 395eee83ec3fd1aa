//! What markers are shown by where a lattice would have more points than there are markers: values of faces and cells side by
//! side, as they are numbered.

use glam::Vec4;
use rayon::prelude::*;

use crate::models::mac::convect::{load, store};
use crate::models::mac::layout::Layout;
use crate::models::mac::transfer::{Faces, floor};
use crate::simd::widest;

/// For each number the components at its lower faces and the value of its cell.
pub struct Nodes<'a> {
    layout: &'a Layout,
    nodes: Vec<[f32; 4]>,
    /// Half a cell along the axes for components that lie in the middle of cells there.
    off: [Vec4; 3],
}

impl<'a> Nodes<'a> {
    /// Of a field on faces and one of cells, both padded.
    pub fn new(layout: &'a Layout, faces: &Faces, cells: &[f32]) -> Self {
        let mut nodes = vec![[0.0; 4]; layout.len()];
        let plane = layout.plane();
        nodes.par_chunks_mut(plane).enumerate().for_each(|(k, nodes)| {
            let [x, y, z] = faces.each_ref().map(|faces| &faces[k * plane..][..plane]);
            let cells = &cells[k * plane..][..plane];
            for (i, node) in nodes.iter_mut().enumerate() {
                *node = [x[i], y[i], z[i], cells[i]];
            }
        });
        let off = [0, 1, 2].map(|b| Vec4::from(std::array::from_fn(|a| if a == b { 0.0 } else { 0.5 })));
        Nodes { layout, nodes, off }
    }

    /// The components and the value of cells at a place in cells.
    ///
    /// Each is interpolated along each axis between two of the three numbers around the place: faces between that of the cell and the
    /// next, middles between those half a cell about. Three weights for each component let all of them be read together.
    #[inline(always)]
    fn at(&self, x: &[f32; 3]) -> Vec4 {
        let layout = self.layout;
        let mut first = 0;
        let mut weights = [[Vec4::ZERO; 3]; 3];
        for b in 0..3 {
            let c = floor(x[b]).clamp(0, layout.n[b] as i32 - 1);
            first += c as usize * layout.stride[b];
            // Of faces t, from 0 to 1; of middles t - 1/2, where what is below 0 goes to the number before.
            let t = Vec4::splat((x[b] - c as f32).clamp(0.0, 1.0)) - self.off[b];
            let (before, after) = ((-t).max(Vec4::ZERO), t.max(Vec4::ZERO));
            weights[b] = [before, Vec4::ONE - before - after, after];
        }
        let [sy, sz] = [layout.stride[1], layout.stride[2]];
        let [wx, wy, wz] = weights;
        // Those of three numbers along x side by side, which are one row in memory.
        let mut sums = [0f32; 12];
        for (k, wz) in wz.into_iter().enumerate() {
            for (j, wy) in wy.into_iter().enumerate() {
                let row = self.nodes[first + j * sy + k * sz..][..3].as_flattened();
                let w = (wy * wz).to_array();
                for i in 0..12 {
                    sums[i] += w[i % 4] * row[i];
                }
            }
        }
        let sum = |i: usize| Vec4::from_slice(&sums[4 * i..]);
        wx[0] * sum(0) + wx[1] * sum(1) + wx[2] * sum(2)
    }

    /// Adds a share of what is at places to velocities, and gives the value of cells there. Chooses the instruction set.
    pub fn look(&self, x: &[[f32; 3]], share: f32, velocity: &mut [[f32; 3]], cells: &mut [f32]) {
        let nodes = self;
        widest!(look_in(nodes: &Nodes, x: &[[f32; 3]], share: f32, velocity: &mut [[f32; 3]], cells: &mut [f32]));
    }
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn look_in<L>(nodes: &Nodes, x: &[[f32; 3]], share: f32, velocity: &mut [[f32; 3]], cells: &mut [f32]) {
    for ((x, velocity), cell) in x.iter().zip(velocity).zip(cells) {
        let gain = nodes.at(x);
        *velocity = store(load(velocity) + share * gain);
        *cell = gain.w;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mac::transfer::{center_value_at, velocity_at};
    use crate::scene::Scene;

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
            let (at, v) = (nodes.at(&x), velocity_at(&layout, &faces, &x));
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
