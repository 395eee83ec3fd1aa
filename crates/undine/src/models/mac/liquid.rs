//! Where the liquid is: how full cells are, how deep their centres lie under the surface, and what they weigh.

use rayon::prelude::*;

use super::cuts::Cuts;
use super::layout::Layout;
use super::rows;

/// Cells with less of their hat in the open than this hold no liquid of their own.
pub(super) const LEAST_OPEN: f32 = 0.02;

/// Cells that walls cut and that are fuller than this may be liquid that markers keep off from.
const THIN: f32 = 0.2;

/// The liquid as cells see it; padding filled.
#[derive(Clone, Debug, Default)]
pub struct Liquid {
    /// How full: markers over what an even filling has, by hat functions, walls left out.
    pub fill: Vec<f32>,
    /// How deep the centre lies under the surface, in cells, from -1 to 1.
    pub depth: Vec<f32>,
    /// Whether pressure is solved for.
    pub wet: Vec<bool>,
    /// Mean density relative to that of the first fluid and mean viscosity, Pa s, of each cell; empty for one fluid.
    pub mixture: Vec<[f32; 2]>,
    /// 1/density, relative to that of the first fluid, at each face.
    pub lightness: [Vec<f32>; 3],
}

/// Depth under a flat surface of which a hat function holds the share `fill`: ∫ of the hat is ½ + s - s|s|/2.
#[inline(always)]
pub(super) fn depth_of(fill: f32) -> f32 {
    let c = fill.clamp(0.0, 1.0);
    let is_deep = c >= 0.5;
    // One root for both, without a branch: loops over cells become vectors.
    let s = (if is_deep { 2.0 - 2.0 * c } else { 2.0 * c }).sqrt() - 1.0;
    if is_deep { -s } else { s }
}

impl Liquid {
    /// Whether there is no air in the open.
    pub fn is_closed(&self, layout: &Layout, cuts: &Cuts) -> bool {
        let [nx, ny, nz] = layout.n;
        (0..ny * nz).into_par_iter().with_min_len(64).all(|row| {
            let first = layout.at([0, row % ny, row / ny]);
            (first..first + nx).all(|i| self.wet[i] || cuts.volume[i] < 0.5)
        })
    }

    /// Finds the liquid from counts of markers at cells; `full` is how many a full cell has.
    pub fn find(&mut self, layout: &Layout, cuts: &Cuts, counts: &[f32], full: f32) {
        let n = layout.len();
        self.fill.resize(n, 0.0);
        self.depth.resize(n, -1.0);
        self.wet.resize(n, false);
        for lightness in &mut self.lightness {
            lightness.resize(n, 1.0);
        }
        let plane = layout.plane();
        let each = (
            self.fill.par_chunks_mut(plane),
            self.depth.par_chunks_mut(plane),
            self.wet.par_chunks_mut(plane),
        );
        each.into_par_iter().enumerate().for_each(|(z, (fill, depth, wet))| {
            let row = layout.dims[0];
            for y in 0..layout.dims[1] {
                let (at, own) = (z * plane + y * row, y * row..(y + 1) * row);
                let (fill, depth, wet) = (&mut fill[own.clone()], &mut depth[own.clone()], &mut wet[own]);
                let counts = &counts[at..at + row];
                if counts.iter().fold(0, |any, c| any | c.to_bits()) == 0 {
                    // No marker is near.
                    fill.fill(0.0);
                    depth.fill(-1.0);
                    wet.fill(false);
                    continue;
                }
                rows::fill(counts, full, [&cuts.hat[at..], &cuts.volume[at..]], [fill, depth], wet);
            }
        });
        self.dry_padding(layout);
        self.close_holes(layout, cuts);
        layout.wrap(&mut self.fill);
        layout.wrap(&mut self.depth);
        layout.wrap(&mut self.wet);
    }

    fn dry_padding(&mut self, layout: &Layout) {
        for a in (0..3).filter(|a| !layout.periodic[*a]) {
            for pad in [0, (layout.n[a] + 1) * layout.stride[a]] {
                layout.each_of_layer(a, |i| {
                    self.wet[pad + i] = false;
                    self.depth[pad + i] = -1.0;
                    self.fill[pad + i] = 0.0;
                });
            }
        }
        layout.wrap(&mut self.wet);
    }

    /// A cell with a few markers whose every way out leads into liquid is a thin spot of it, not air: it would pull the
    /// pressure around it to nothing. Markers keep off walls: of two such cells that a wall cuts neither is the other's air.
    fn close_holes(&mut self, layout: &Layout, cuts: &Cuts) {
        let [nx, ny, nz] = layout.n;
        let wet = &self.wet;
        let cut = |i: usize| cuts.volume[i] < 1.0;
        // Whether every way out of a cell leads into liquid, and one does.
        let is_hole = |i: usize| {
            (0..3).all(|a| {
                let s = layout.stride[a];
                let leads = |face: usize, cell: usize| {
                    let thin = cut(i) && cut(cell) && self.fill[i] > THIN;
                    cuts.open[a][face] == 0.0 || wet[cell] || thin
                };
                leads(i, i - s) && leads(i + s, i + s)
            }) && (0..3).any(|a| wet[i - layout.stride[a]] || wet[i + layout.stride[a]])
        };
        let holes: Vec<usize> = (0..nz)
            .into_par_iter()
            .flat_map_iter(|z| {
                let (mut holes, mut shut_off) = (Vec::new(), vec![false; nx]);
                for y in 0..ny {
                    let first = layout.at([0, y, z]);
                    let row = |at: usize| &wet[at..at + nx];
                    let [_, sy, sz] = layout.stride;
                    let near = [first, first - sy, first + sy, first - sz, first + sz];
                    if !near.into_iter().any(|at| row(at).contains(&true)) {
                        continue;
                    }
                    let sides = [1, sy].map(|s| [row(first - s), row(first + s)]);
                    let open =
                        [(0, 1), (1, sy)].map(|(a, s)| [&cuts.open[a][first..], &cuts.open[a][first + s..]]);
                    if rows::shut_off(row(first), sides, open, &cuts.volume[first..], &mut shut_off) {
                        holes.extend(
                            (0..nx).filter(|x| shut_off[*x] && is_hole(first + x)).map(|x| first + x),
                        );
                    }
                }
                holes
            })
            .collect();
        for i in holes {
            self.wet[i] = true;
            self.depth[i] = self.depth[i].max(0.0);
        }
    }

    /// Weighs cells and faces of several fluids: `sums` are those of markers' densities and viscosities, `counts` of markers.
    pub fn weigh(&mut self, layout: &Layout, sums: &[[f32; 2]], counts: &[f32]) {
        self.mixture.resize(layout.len(), [1.0; 2]);
        self.mixture.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, m)| {
            *m = if counts[i] > 1e-6 { sums[i].map(|s| s / counts[i]) } else { [1.0, 0.0] };
        });
        let mixture = &self.mixture;
        for (a, lightness) in self.lightness.iter_mut().enumerate() {
            let s = layout.stride[a];
            lightness.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, light)| {
                if i >= s {
                    let (p, q) = (counts[i - s], counts[i]);
                    let mass = p * mixture[i - s][0] + q * mixture[i][0];
                    *light = if mass > 1e-6 { (p + q) / mass } else { 1.0 };
                }
            });
        }
    }

    /// Share of the way from a wet cell to the air cell beside it at which the surface lies.
    #[inline(always)]
    pub fn share(&self, wet: usize, air: usize) -> f32 {
        let (s, t) = (self.depth[wet], self.depth[air].min(0.0));
        let theta = if s - t > 1e-6 { s / (s - t) } else { 0.5 };
        theta.clamp(0.01, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;
    use crate::walls::Walls;

    #[test]
    fn holes_are_those_found_cell_by_cell() {
        let text = "domain = { min = [0, 0, 0], max = [17, 9, 8], periodic = [false, false, true] }\n\
                    model = { kind = 'mac', spacing = 1 }\n[[fluid]]\nshape = { box = { min = [0, 0, 0], max = [1, 1, 1] } }\n\
                    [[boundary]]\nshape = { sphere = { center = [8.3, 4.2, 3.9], radius = 2.4 } }\n";
        let scene = Scene::parse(text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        let layout = Layout::new(&scene).unwrap();
        let cuts = Cuts::new(&layout, &Walls::new(&scene));
        let mut state = 5u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let mut liquid = Liquid {
            fill: (0..layout.len()).map(|_| random()).collect(),
            depth: vec![-1.0; layout.len()],
            wet: (0..layout.len()).map(|_| random() < 0.8).collect(),
            ..Liquid::default()
        };
        liquid.dry_padding(&layout);
        let before = liquid.clone();
        liquid.close_holes(&layout, &cuts);
        let (mut whole, mut cut) = (0, 0);
        for c in 0..17 * 9 * 8 {
            let i = layout.at([c % 17, c / 17 % 9, c / (17 * 9)]);
            let is_cut = |i: usize| cuts.volume[i] < 1.0;
            let mut is_shut = true;
            for (a, s) in layout.stride.into_iter().enumerate() {
                for (face, next) in [(i, i - s), (i + s, i + s)] {
                    let thin = is_cut(i) && is_cut(next) && before.fill[i] > THIN;
                    is_shut &= cuts.open[a][face] == 0.0 || before.wet[next] || thin;
                }
            }
            let beside = layout.stride.iter().any(|s| before.wet[i - s] || before.wet[i + s]);
            let is_hole = !before.wet[i] && cuts.volume[i] > 0.0 && is_shut && beside;
            assert_eq!(liquid.wet[i], before.wet[i] || is_hole, "{c}");
            (whole, cut) =
                (whole + usize::from(is_hole && !is_cut(i)), cut + usize::from(is_hole && is_cut(i)));
        }
        assert!(whole > 10 && cut > 1, "{whole} and {cut}");
    }

    #[test]
    fn depth_under_a_flat_surface_is_exact() {
        for k in -10..=10 {
            let s = k as f32 / 10.0;
            let fill = 0.5 + s - 0.5 * s * s.abs();
            assert!((depth_of(fill) - s).abs() < 2e-3, "{s}: {}", depth_of(fill));
        }
    }
}
