//! Velocities beyond the liquid.

use super::cuts::Cuts;
use super::even::complete;
use super::extrapolate::Known;
use super::fringe::Fringe;
use super::layout::Layout;
use super::liquid::Liquid;
use super::{Mac, each_plane, rows};
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

impl Air {
    /// Finds the faces beside liquid and above it, and those beside liquid or `marked` and `layers` around these.
    pub(super) fn find(
        &mut self,
        (layout, cuts, liquid): (&Layout, &Cuts, &Liquid),
        marked: &Known,
        known: &mut Known,
        fringe: &mut Fringe,
        layers: usize,
    ) {
        self.beside.find(layout, cuts, |a, first, row| Known::beside(liquid, layout, a, first, row));
        self.above.find(layout, &self.beside, ABOVE);
        // Both leave out closed faces and have the sides of the domain.
        let beside = &self.beside;
        each_plane(layout, &mut known.0, |a, at, known| {
            rows::either(&beside.0[a][at..], &marked.0[a][at..], known);
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
        let Mac { layout, u, before, air, fringe, gain, marked, convection, .. } = self;
        each_plane(layout, gain, |a, at, gain| rows::gains(&u[a][at..], &before[a][at..], gain));
        air.above.fill(layout, gain, ABOVE);
        each_plane(layout, u, |a, at, u| {
            let (marked, beside) = (&marked.0[a][at..], &air.beside.0[a][at..]);
            rows::fly(marked, beside, &cuts.open[a][at..], [&before[a][at..], &gain[a][at..]], u);
        });
        complete(layout, cuts, fringe, u, layers);
        if *convection == Convection::Flip {
            // Markers see the old and the new field at the same places.
            complete(layout, cuts, fringe, before, 2);
        }
    }
}
