//! A velocity field at points half a cell apart, all components together.
//!
//! Between faces each component is interpolated along each axis on its own; its pieces end at faces and at middles of cells. In
//! an eighth of a cell all three are therefore single trilinear pieces, given by their values at its eight corners: reading
//! them there gives the same numbers as reading faces, from a third of the places and with one set of weights.

#[cfg(target_arch = "x86_64")]
pub(super) mod eight;
#[cfg(target_arch = "x86_64")]
pub(super) mod wide;

use std::ops::Range;

use glam::{Mat4, Vec4};
use rayon::prelude::*;

use super::layout::Layout;
use super::transfer::{Faces, floor};
use crate::simd::widest;

/// Points half a cell apart: number i along an axis of the grid lies i/2 cells from its lowest corner. A lattice may hold a part of
/// them, so that it stays small beside the grid and in the cache.
#[derive(Clone, Debug, Default)]
pub struct Lattice {
    /// Points along each axis.
    dims: [usize; 3],
    /// Number in the grid of the first point along each axis; below 0 only where space wraps around.
    first: [isize; 3],
    /// Components along the axes, and one number more for whoever fills it.
    nodes: Vec<Vec4>,
}

/// The two values a point lies between, by padded number: beside faces along their axis, and beside middles.
#[inline(always)]
pub(super) fn beside(i: usize, face: bool) -> [usize; 2] {
    match (face, i.is_multiple_of(2)) {
        (true, true) => [i / 2 + 1; 2],
        (true, false) => [i / 2 + 1, i / 2 + 2],
        (false, true) => [i / 2, i / 2 + 1],
        (false, false) => [i / 2 + 1; 2],
    }
}

impl Lattice {
    /// Takes over a field on faces, which are padded, for the points of these cells along x and those with these numbers along y
    /// and z, as far as there are such.
    pub fn take(&mut self, layout: &Layout, u: &Faces, x: Range<usize>, y: Range<isize>, z: Range<isize>) {
        let held = |range: Range<isize>, b: usize| {
            let all = if layout.periodic[b] { range.clone() } else { 0..2 * layout.n[b] as isize + 1 };
            range.start.max(all.start)..range.end.min(all.end)
        };
        let (y, z) = (held(y, 1), held(z, 2));
        assert!(!x.is_empty() && y.len() > 1 && z.len() > 1, "a lattice holds at least a cell");
        self.dims = [2 * x.len() + 1, y.len(), z.len()];
        self.first = [2 * x.start as isize, y.start, z.start];
        self.nodes.resize(self.dims.iter().product(), Vec4::ZERO);
        let number = |i: isize, b: usize| {
            i.rem_euclid(2 * layout.n[b] as isize + isize::from(!layout.periodic[b])) as usize
        };
        let mut spare = Spare::new(layout);
        let mut rows = self.nodes.chunks_exact_mut(self.dims[0]);
        for k in z {
            for (j, row) in y.clone().zip(&mut rows) {
                fill_row(layout, u, [x.start, number(j, 1), number(k, 2)], &mut spare, row);
            }
        }
    }

    /// Takes over a field on faces, which are padded, for all points of a grid; as their fourth component one of cells, if given.
    pub fn take_all(&mut self, layout: &Layout, u: &Faces, cells: Option<&[f32]>) {
        let [nx, ny, _] = layout.n.map(|n| 2 * n + 1);
        self.all(layout).par_chunks_mut(nx * ny).enumerate().for_each(|(k, plane)| {
            let mut spare = Spare::new(layout);
            for (j, row) in plane.chunks_exact_mut(nx).enumerate() {
                fill_row(layout, u, [0, j, k], &mut spare, row);
                if let Some(cells) = cells {
                    fill_fourth(layout, cells, j, k, &mut spare.0[0], row);
                }
            }
        });
    }

    /// Whether wide registers can read it: its points have numbers of 31 bits.
    pub fn is_wide(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.nodes.len() < i32::MAX as usize {
            return wide::is_possible();
        }
        false
    }

    /// All points of a grid, for values to be written: by rows along x, those along y first.
    pub fn all(&mut self, layout: &Layout) -> &mut [Vec4] {
        self.dims = layout.n.map(|n| 2 * n + 1);
        self.first = [0; 3];
        self.nodes.resize(self.dims.iter().product(), Vec4::ZERO);
        &mut self.nodes
    }

    /// The point with these numbers in the grid.
    #[inline(always)]
    pub fn point(&self, i: usize, j: isize, k: isize) -> Vec4 {
        let i = i - self.first[0] as usize;
        let (j, k) = ((j - self.first[1]) as usize, (k - self.first[2]) as usize);
        self.nodes[i + self.dims[0] * (j + self.dims[1] * k)]
    }

    /// The numbers of the first point.
    #[inline(always)]
    fn origin(&self) -> Vec4 {
        Vec4::new(self.first[0] as f32, self.first[1] as f32, self.first[2] as f32, 0.0)
    }
}

/// Room for a row of each component.
struct Spare([Vec<f32>; 3]);

impl Spare {
    fn new(layout: &Layout) -> Self {
        Spare(std::array::from_fn(|_| vec![0.0; layout.dims[0]]))
    }
}

/// Fills a row of points from that of a cell on, whose number along x is given, and those of the row along y and z.
fn fill_row(layout: &Layout, u: &Faces, at: [usize; 3], spare: &mut Spare, out: &mut [Vec4]) {
    widest!(fill_row_in(layout: &Layout, u: &Faces, at: [usize; 3], spare: &mut Spare, out: &mut [Vec4]));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn fill_row_in<L>(layout: &Layout, u: &Faces, at: [usize; 3], spare: &mut Spare, out: &mut [Vec4]) {
    let [_, sy, sz] = layout.stride;
    let [first, j, k] = at;
    let n = out.len() / 2;
    // One more to either side.
    let width = n + 2;
    for (a, mean) in spare.0.iter_mut().enumerate() {
        let mean = &mut mean[..width];
        let ([y0, y1], [z0, z1]) = (beside(j, a == 1), beside(k, a == 2));
        let row = |y: usize, z: usize| &u[a][first + y * sy + z * sz..][..width];
        if y0 == y1 && z0 == z1 {
            mean.copy_from_slice(row(y0, z0));
        } else if y0 == y1 || z0 == z1 {
            let (p, q) = (row(y0, z0), row(y1, z1));
            for ((m, p), q) in mean.iter_mut().zip(p).zip(q) {
                *m = 0.5 * (p + q);
            }
        } else {
            let (p, q, r, s) = (row(y0, z0), row(y1, z0), row(y0, z1), row(y1, z1));
            for (i, m) in mean.iter_mut().enumerate() {
                *m = 0.25 * ((p[i] + q[i]) + (r[i] + s[i]));
            }
        }
    }
    let [x, y, z] = spare.0.each_ref().map(|row| &row[..width]);
    // Points of even number lie on faces across x, the others in the middle of cells. Four cells at a time.
    let fours = n / 4;
    for (i, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate().take(fours) {
        let i = 4 * i;
        let of = |row: &[f32], i: usize| Vec4::from_slice(&row[i..i + 4]);
        let mean = |row: &[f32], i: usize| 0.5 * (of(row, i) + of(row, i + 1));
        let even = Mat4::from_cols(of(x, i + 1), mean(y, i), mean(z, i), Vec4::ZERO).transpose();
        let odd = Mat4::from_cols(mean(x, i + 1), of(y, i + 1), of(z, i + 1), Vec4::ZERO).transpose();
        *out = [
            even.x_axis,
            odd.x_axis,
            even.y_axis,
            odd.y_axis,
            even.z_axis,
            odd.z_axis,
            even.w_axis,
            odd.w_axis,
        ];
    }
    let on_face = |i: usize| Vec4::new(x[i + 1], 0.5 * (y[i] + y[i + 1]), 0.5 * (z[i] + z[i + 1]), 0.0);
    for i in 4 * fours..n {
        out[2 * i] = on_face(i);
        out[2 * i + 1] = Vec4::new(0.5 * (x[i + 1] + x[i + 2]), y[i + 1], z[i + 1], 0.0);
    }
    out[2 * n] = on_face(n);
}

/// A field of cells as the fourth component of a row of points.
fn fill_fourth(layout: &Layout, cells: &[f32], j: usize, k: usize, spare: &mut [f32], out: &mut [Vec4]) {
    let [_, sy, sz] = layout.stride;
    let width = layout.dims[0];
    let ([y0, y1], [z0, z1]) = (beside(j, false), beside(k, false));
    let row = |y: usize, z: usize| &cells[y * sy + z * sz..][..width];
    let (p, q, r, s) = (row(y0, z0), row(y1, z0), row(y0, z1), row(y1, z1));
    for (i, m) in spare[..width].iter_mut().enumerate() {
        *m = 0.25 * ((p[i] + q[i]) + (r[i] + s[i]));
    }
    for (i, out) in out.iter_mut().enumerate() {
        let [a, b] = beside(i, false);
        out.w = 0.5 * (spare[a] + spare[b]);
    }
}

/// Reads a lattice at places in cells; what lies outside is read at the nearest eighth of a cell.
pub trait Read<'a>: Copy {
    /// For a lattice.
    fn new(lattice: &'a Lattice) -> Self;
    /// The value at a place, whose fourth component is not looked at.
    fn at(&self, x: Vec4) -> Vec4;
    /// The value at a place, and its derivatives along each axis, per cell.
    fn with_gradient(&self, x: Vec4) -> (Vec4, [Vec4; 3]);
}

/// Reads lattices on any processor.
#[derive(Clone, Copy)]
pub struct Plain<'a>(&'a Lattice);

impl Plain<'_> {
    #[inline(always)]
    fn octant(&self, x: Vec4) -> ([Vec4; 8], [f32; 3]) {
        let dims = self.0.dims;
        let (sy, sz) = (dims[0], dims[0] * dims[1]);
        let (p, stride) = ((2.0 * x - self.0.origin()).to_array(), [1, sy, sz]);
        let (mut base, mut f) = (0, [0.0; 3]);
        for a in 0..3 {
            let i = floor(p[a]).clamp(0, dims[a] as i32 - 2);
            f[a] = (p[a] - i as f32).clamp(0.0, 1.0);
            base += i as usize * stride[a];
        }
        let row = |i: usize| {
            let pair = &self.0.nodes[i..i + 2];
            [pair[0], pair[1]]
        };
        let ([a, b], [c, d]) = (row(base), row(base + sy));
        let ([e, g], [h, i]) = (row(base + sz), row(base + sy + sz));
        ([a, b, c, d, e, g, h, i], f)
    }
}

impl<'a> Read<'a> for Plain<'a> {
    #[inline(always)]
    fn new(lattice: &'a Lattice) -> Self {
        Plain(lattice)
    }

    #[inline(always)]
    fn at(&self, x: Vec4) -> Vec4 {
        let ([a, b, c, d, e, f, g, h], [fx, fy, fz]) = self.octant(x);
        let mix = |a: Vec4, b: Vec4, t: f32| a + t * (b - a);
        let (p, q) = (mix(a, b, fx), mix(c, d, fx));
        let (r, s) = (mix(e, f, fx), mix(g, h, fx));
        mix(mix(p, q, fy), mix(r, s, fy), fz)
    }

    #[inline(always)]
    fn with_gradient(&self, x: Vec4) -> (Vec4, [Vec4; 3]) {
        let ([a, b, c, d, e, f, g, h], [fx, fy, fz]) = self.octant(x);
        let mix = |a: Vec4, b: Vec4, t: f32| a + t * (b - a);
        // Differences along z, then along y of what lies between.
        let (az, bz, cz, dz) = (e - a, f - b, g - c, h - d);
        let (a, b, c, d) = (a + fz * az, b + fz * bz, c + fz * cz, d + fz * dz);
        let (ay, by) = (c - a, d - b);
        let (p, q) = (a + fy * ay, b + fy * by);
        let along_y = mix(ay, by, fx);
        let along_z = mix(mix(az, bz, fx), mix(cz, dz, fx), fy);
        (p + fx * (q - p), [2.0 * (q - p), 2.0 * along_y, 2.0 * along_z])
    }
}

#[cfg(test)]
mod tests {
    use super::super::transfer::{center_value_at, velocity_and_gradient_at, velocity_at};
    use super::*;
    use crate::scene::Scene;

    fn layout(periodic: bool) -> Layout {
        let text = format!(
            "domain = {{ min = [0, 0, 0], max = [1, 0.8, 0.8], periodic = [false, {periodic}, {periodic}] }}\n\
             model = {{ kind = 'mac', spacing = 0.2 }}\n[[fluid]]\n\
             shape = {{ box = {{ min = [0, 0, 0], max = [1, 0.4, 0.8] }} }}\n"
        );
        let scene = Scene::parse(&text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        Layout::new(&scene).unwrap()
    }

    fn random(seed: u32) -> impl FnMut() -> f32 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        }
    }

    #[test]
    fn parts_of_a_lattice_agree_and_wrap_around() {
        let layout = layout(true);
        let mut random = random(5);
        let mut u: Faces = std::array::from_fn(|_| (0..layout.len()).map(|_| random() - 0.5).collect());
        u.iter_mut().for_each(|u| layout.wrap(u));
        let (mut whole, mut part) = (Lattice::default(), Lattice::default());
        whole.take(&layout, &u, 0..5, 0..9, 0..9);
        part.take(&layout, &u, 1..5, -4..2, 5..13);
        let read = Plain::new(&whole);
        for _ in 0..200 {
            let x = Vec4::new(1.0 + 4.0 * random(), -2.0 + 2.5 * random(), 2.5 + 3.5 * random(), 0.0);
            let wrapped = Vec4::new(x.x, x.y.rem_euclid(4.0), x.z.rem_euclid(4.0), 0.0);
            assert!(Plain::new(&part).at(x).abs_diff_eq(read.at(wrapped), 1e-5), "{x}");
        }
        assert_eq!(part.point(3, -4, 8), whole.point(3, 4, 0));
    }

    #[test]
    fn all_points_hold_faces_and_cells() {
        let layout = layout(false);
        let mut random = random(7);
        let u: Faces = std::array::from_fn(|_| (0..layout.len()).map(|_| random() - 0.5).collect());
        let cells: Vec<f32> = (0..layout.len()).map(|_| random() - 0.5).collect();
        let mut lattice = Lattice::default();
        lattice.take_all(&layout, &u, Some(&cells));
        for _ in 0..500 {
            let x: [f32; 3] = std::array::from_fn(|a| layout.n[a] as f32 * random());
            let at = Plain::new(&lattice).at(Vec4::new(x[0], x[1], x[2], 0.0));
            let v = velocity_at(&layout, &u, &x);
            assert!((0..3).all(|a| (at[a] - v[a]).abs() < 2e-6), "{x:?}");
            assert!((at.w - center_value_at(&layout, &cells, &x)).abs() < 2e-6, "{x:?}");
        }
    }

    fn reads_like_faces<R>(read: impl for<'a> Fn(&'a Lattice) -> R)
    where
        R: Fn(Vec4) -> (Vec4, Vec4, [Vec4; 3]),
    {
        let layout = layout(false);
        let mut random = random(1);
        let u: Faces = std::array::from_fn(|_| (0..layout.len()).map(|_| random() - 0.5).collect());
        let mut lattice = Lattice::default();
        lattice.take(&layout, &u, 0..5, -3..99, -3..99);
        let read = read(&lattice);
        let mut places: Vec<[f32; 3]> =
            (0..2000).map(|_| std::array::from_fn(|a| layout.n[a] as f32 * random())).collect();
        places.extend([[0.0; 3], layout.n.map(|n| n as f32), [1.0, 0.5, 1.5], [0.5, 2.0, 3.0]]);
        for x in places {
            let (at, value, gradient) = read(Vec4::new(x[0], x[1], x[2], f32::NAN));
            let (v, g) = velocity_and_gradient_at(&layout, &u, &x);
            assert_eq!(v, velocity_at(&layout, &u, &x));
            // Between pieces the derivative jumps: either side will do.
            let inside = x.iter().all(|x| ((2.0 * x).round() - 2.0 * x).abs() > 1e-4);
            for a in 0..3 {
                assert!((at[a] - v[a]).abs() < 2e-6 && (value[a] - v[a]).abs() < 2e-6, "{x:?}");
                for b in 0..3 {
                    assert!(!inside || (gradient[b][a] - g[a][b]).abs() < 1e-5, "{x:?}");
                }
            }
        }
        for x in [Vec4::splat(f32::NAN), Vec4::splat(1e30), Vec4::splat(-1e30)] {
            // Nothing but that it ends.
            read(x);
        }
    }

    #[test]
    fn a_lattice_reads_like_the_faces_it_was_made_from() {
        reads_like_faces(|lattice| {
            let lattice = lattice.clone();
            move |x| {
                let read = Plain::new(&lattice);
                let (value, gradient) = read.with_gradient(x);
                (read.at(x), value, gradient)
            }
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn wide_reading_is_reading() {
        if !wide::is_possible() {
            return;
        }
        #[target_feature(enable = "avx2,fma")]
        fn all(lattice: &Lattice, x: Vec4) -> (Vec4, Vec4, [Vec4; 3]) {
            let read = wide::Wide::new(lattice);
            let (value, gradient) = read.with_gradient(x);
            (read.at(x), value, gradient)
        }
        reads_like_faces(|lattice| {
            let lattice = lattice.clone();
            // SAFETY: it is possible.
            move |x| unsafe { all(&lattice, x) }
        });
    }
}
