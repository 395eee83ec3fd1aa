//! What the grid learns from markers.

use rayon::prelude::*;

use super::cuts::Cuts;
use super::extrapolate::{Known, pad};
use super::fringe::Fringe;
use super::layout::Layout;
use super::transfer::{Deposit, Faces, sum_property};
use super::{LEAST_MASS, Mac, each_plane, rows};
use crate::scene::Convection;
use crate::state::markers::{Markers, Order};

impl Mac {
    /// Densities of fluids, relative to that of the first.
    fn relative_densities(&self) -> Vec<f32> {
        let first = self.fluids[0].density;
        self.fluids.iter().map(|f| (f.density / first) as f32).collect()
    }

    /// Sums markers, which are in order.
    pub(super) fn sum_markers(&mut self) {
        let carried = self.convection != Convection::SemiLagrangian;
        let density = self.relative_densities();
        let Mac { layout, markers, order, deposit, .. } = self;
        if self.convection == Convection::Flip {
            // Velocities are in order already.
            order.order.par_iter_mut().enumerate().for_each(|(i, o)| *o = i as u32);
        }
        deposit.sum(layout, markers, order, &density, carried);
    }

    /// Finds the liquid and, where markers carry velocities, the grid's, from the sums of markers.
    pub(super) fn markers_to_grid(&mut self, cuts: &Cuts) {
        let carried = self.convection != Convection::SemiLagrangian;
        let density = self.relative_densities();
        let Mac { layout, markers, order, deposit, liquid, .. } = self;
        let full = self.full as f32;
        let (known, fringe, u) = (&mut self.known, &mut self.fringe, &mut self.u);
        // Where the liquid is, and how it flows: each has loops that are short, or for one axis at a time.
        let (is_closed, ()) = rayon::join(
            || {
                liquid.find(layout, cuts, &deposit.cells, full);
                liquid.is_closed(layout, cuts)
            },
            || {
                if carried {
                    take_velocities(layout, cuts, &deposit.faces, known, fringe, u);
                }
            },
        );
        self.is_closed = is_closed;
        if let (Some(immersed), Some(bare)) = (&self.immersed, &self.bare) {
            immersed.wet_inside(layout, bare, cuts, liquid);
        }
        if self.fluids.len() > 1 {
            let of: Vec<[f32; 2]> =
                self.fluids.iter().zip(&density).map(|(f, d)| [*d, f.viscosity as f32]).collect();
            sum_property(layout, markers, order, &of, &mut self.mixed);
            liquid.weigh(layout, &self.mixed, &deposit.cells);
        }
        if !carried {
            self.take_fresh(cuts, &density);
            let (layout, cells) = (&self.layout, &self.deposit.cells);
            self.known.find(layout, cuts, |a, first, row| {
                let (low, high) = (&cells[first - layout.stride[a]..], &cells[first..]);
                for ((k, low), high) in row.iter_mut().zip(low).zip(high) {
                    *k = (*low > 0.0) | (*high > 0.0);
                }
            });
        }
        let of_markers = self.marked.0.iter_mut().zip(&self.known.0);
        of_markers.for_each(|(marked, known)| marked.clone_from(known));
        pad(&self.layout, cuts, &mut self.u);
        self.before.par_iter_mut().zip(&self.u).for_each(|(before, u)| before.clone_from(u));
    }

    /// Velocities of new markers, which the grid does not know yet (semi-Lagrangian).
    fn take_fresh(&mut self, cuts: &Cuts, density: &[f32]) {
        if self.fresh.is_empty() {
            return;
        }
        let mut order = Order::default();
        order.find(&self.fresh.x, self.layout.n);
        order.apply(&mut self.fresh);
        let mut deposit = Deposit::default();
        deposit.sum(&self.layout, &self.fresh, &order, density, true);
        for a in 0..3 {
            let (u, faces) = (&mut self.u[a], &deposit.faces[a]);
            let (full, known) = (self.full as f32, &self.known.0);
            u.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, u)| {
                let [momentum, mass] = faces[i];
                if mass > LEAST_MASS && cuts.open[a][i] > 0.0 {
                    // As far as the new ones fill the face's surroundings; where nothing was, all.
                    let share =
                        if known[a].get(i) == Some(&true) { (2.0 * mass / full).min(1.0) } else { 1.0 };
                    *u += share * (momentum / mass - *u);
                }
            });
        }
        self.fresh = Markers { has_weight: self.fresh.has_weight, ..Markers::default() };
    }
}

/// Velocities of the faces that markers reached, and of those around them.
fn take_velocities(
    layout: &Layout,
    cuts: &Cuts,
    faces: &[Vec<[f32; 2]>; 3],
    known: &mut Known,
    fringe: &mut Fringe,
    u: &mut Faces,
) {
    known.find(layout, cuts, |a, first, row| rows::heavy(&faces[a][first..], LEAST_MASS, row));
    let known = &*known;
    each_plane(layout, u, |a, at, u| {
        // Closed sides of the domain are known too.
        rows::velocities(&faces[a][at..], &known.0[a][at..], &cuts.open[a][at..], LEAST_MASS, u);
    });
    // Faces of wet cells that no marker reached.
    fringe.find(layout, known, 2);
    fringe.fill(layout, u, 2);
}
