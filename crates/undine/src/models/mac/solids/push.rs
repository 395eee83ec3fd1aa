//! Markers out of bodies.

use glam::Vec3;
use rayon::prelude::*;

use super::Immersed;
use super::shape::Shape;
use crate::models::mac::layout::Layout;
use crate::state::markers::{Markers, Order};
use crate::state::springs::Springs;

/// Markers end this far outside, cells: not on the surface itself, where rounding would put them inside again.
const HAIR: f32 = 1e-3;

impl Immersed {
    /// Puts markers that are in bodies, which will have moved on by `dt`, s, to their surface. Markers are in the order of the start
    /// of the step. `travel` is how far they may have gone since, cells.
    pub fn push_out(&mut self, layout: &Layout, order: &Order, markers: &mut Markers, travel: f32) {
        let near = (travel * layout.longest() as f32)
            .min((super::shape::REACH - 0.5) as f32 * layout.longest() as f32);
        let [nx, ny, nz] = layout.n;
        // The shape is still that of the start of the step.
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for row in 0..ny * nz {
            let first = layout.at([0, row % ny, row / ny]);
            for (x, corner) in self.shape.corners[first..first + nx].iter().enumerate() {
                if *corner > near + 1.8 * layout.longest() as f32 {
                    continue;
                }
                let c = row * nx + x;
                let (from, to) = (order.start[c] as usize, order.start[c + 1] as usize);
                match spans.last_mut() {
                    Some(last) if last.1 == from => last.1 = to,
                    _ if from < to => spans.push((from, to)),
                    _ => {}
                }
            }
        }
        self.shape.take_distances(&mut self.ahead);
        let shape = &self.shape;
        let mut parts = Vec::new();
        let (mut rest, mut done) = (&mut markers.x[..], 0);
        for (from, to) in spans {
            let (_, after) = rest.split_at_mut(from - done);
            let (part, after) = after.split_at_mut(to - from);
            parts.extend(part.chunks_mut(1024));
            (rest, done) = (after, to);
        }
        parts.into_par_iter().for_each(|part| {
            for x in part {
                shape.push_out(layout, x);
            }
        });
    }

    /// Finds where bodies will be after `dt`, s.
    pub fn look_ahead(&mut self, layout: &Layout, state: &Springs, dt: f64) {
        let position: Vec<_> = state.position.iter().zip(&self.middle).map(|(x, v)| *x + *v * dt).collect();
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.find_corners(self, layout, state, &position);
        self.ahead = ahead;
    }
}

impl Shape {
    /// Puts a marker that is in a body to its surface.
    #[inline(always)]
    pub fn push_out(&self, layout: &Layout, x: &mut [f32; 3]) {
        let h = glam::DVec3::from(layout.h).as_vec3();
        let n = Vec3::from(layout.n.map(|n| n as f32));
        // Twice, since distances are not exact where bodies have edges.
        for _ in 0..2 {
            if !(0..3).all(|a| x[a] >= 0.0 && x[a] <= n[a]) || !self.is_inside(layout, x) {
                return;
            }
            let (distance, normal) = self.distance(layout, x);
            let out = normal * (HAIR * h - Vec3::splat(distance)) / h;
            *x = (Vec3::from(*x) + out).clamp(Vec3::ZERO, n).to_array();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mac::tests::scene;

    #[test]
    fn a_place_is_inside_where_its_distance_is_negative() {
        let text = "domain = { min = [0, 0, 0], max = [0.5, 0.4, 0.3] }\nmodel = { kind = 'mac', spacing = 0.1 }\n[[fluid]]\n";
        let layout = Layout::new(&scene(text)).unwrap();
        // Numbers in (-½, ½) that look random.
        let wobble = |i: usize| ((i * 7919) % 1000) as f32 / 1000.0 - 0.5;
        let mut shape = Shape::default();
        shape.corners = (0..layout.len()).map(wobble).collect();
        let mut inside = 0;
        for k in 0..1000 {
            // Sides of cells and of the domain among them.
            let x: [f32; 3] = std::array::from_fn(|a| {
                let share = if k % 5 == a { (k % 2) as f32 } else { 0.5 + wobble(3 * k + a) };
                share * layout.n[a] as f32
            });
            assert_eq!(shape.is_inside(&layout, &x), shape.distance(&layout, &x).0 < 0.0, "{x:?}");
            inside += usize::from(shape.is_inside(&layout, &x));
        }
        assert!((300..700).contains(&inside), "{inside}");
    }
}
