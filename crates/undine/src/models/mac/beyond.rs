//! Velocities beyond the liquid.

use super::cuts::Cuts;
use super::even::complete;
use super::extrapolate::Known;
use super::fringe::Fringe;
use super::layout::Layout;
use super::liquid::Liquid;
use super::transfer::Deposit;
use super::{LEAST_MASS, Mac, each_plane};
use crate::scene::Convection;

/// Layers of faces above the surface that gain what the liquid gains.
const ABOVE: usize = 2;

/// Faces that have no velocity of the liquid, by what they take it from. It follows from where the liquid and markers are, and not from
/// velocities.
#[derive(Clone, Debug, Default)]
pub(super) struct Air {
    /// Faces beside liquid.
    beside: Known,
    /// Those just above.
    above: Fringe,
}

/// What tells which faces are beside markers.
pub(super) struct Near<'a> {
    pub(super) deposit: &'a Deposit,
    /// Whether markers carry velocities.
    pub(super) carried: bool,
}

impl Near<'_> {
    /// Adds those of a row of faces, of which the first is given.
    #[inline(always)]
    fn hold(&self, layout: &Layout, a: usize, first: usize, row: &mut [bool]) {
        if self.carried {
            for (k, face) in row.iter_mut().zip(&self.deposit.faces[a][first..]) {
                *k |= face[1] > LEAST_MASS;
            }
        } else {
            let cells = &self.deposit.cells;
            let (low, high) = (&cells[first - layout.stride[a]..], &cells[first..]);
            for ((k, low), high) in row.iter_mut().zip(low).zip(high) {
                *k |= (*low > 0.0) | (*high > 0.0);
            }
        }
    }
}

impl Air {
    /// Finds the faces beside liquid and above it, and those beside liquid or markers and `layers` around these.
    pub(super) fn find(
        &mut self,
        (layout, cuts, liquid): (&Layout, &Cuts, &Liquid),
        near: &Near,
        known: &mut Known,
        fringe: &mut Fringe,
        layers: usize,
    ) {
        self.beside.find(layout, cuts, |a, first, row| Known::beside(liquid, layout, a, first, row));
        self.above.find(layout, &self.beside, ABOVE);
        known.find(layout, cuts, |a, first, row| {
            Known::beside(liquid, layout, a, first, row);
            near.hold(layout, a, first, row);
        });
        fringe.find(layout, known, layers);
    }
}

impl Mac {
    /// What the step gained, and velocities in air and walls.
    ///
    /// Markers just above the surface are not in free fall: they gain what the liquid beside them gains. In the air farther
    /// off they fly.
    pub(super) fn complete(&mut self, cuts: &Cuts) {
        let layers = self.layers();
        let Mac { layout, u, before, air, fringe, gain, deposit, convection, .. } = self;
        each_plane(layout, gain, |a, at, gain| {
            for ((g, u), before) in gain.iter_mut().zip(&u[a][at..]).zip(&before[a][at..]) {
                *g = u - before;
            }
        });
        air.above.fill(layout, gain, ABOVE);
        let near = Near { deposit, carried: *convection != Convection::SemiLagrangian };
        each_plane(layout, u, |a, at, u| {
            if at < layout.stride[a] {
                return;
            }
            let mut held = vec![false; u.len()];
            near.hold(layout, a, at, &mut held);
            let (beside, open) = (&air.beside.0[a][at..], &cuts.open[a][at..]);
            let (before, gain) = (&before[a][at..], &gain[a][at..]);
            for i in 0..u.len() {
                if held[i] & !beside[i] & (open[i] > 0.0) {
                    u[i] = before[i] + gain[i];
                }
            }
        });
        complete(layout, cuts, fringe, u, layers);
        if *convection == Convection::Flip {
            // Markers see the old and the new field at the same places.
            complete(layout, cuts, fringe, before, 2);
        }
    }
}
