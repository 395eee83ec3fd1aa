//! Velocities beyond the liquid.

use super::cuts::Cuts;
use super::even::complete;
use super::extrapolate::Known;
use super::{LEAST_MASS, Mac, each_plane};
use crate::scene::Convection;

/// Layers of faces above the surface that gain what the liquid gains.
const ABOVE: usize = 2;

impl Mac {
    /// What the step gained, and velocities in air and walls.
    ///
    /// Markers just above the surface are not in free fall: they gain what the liquid beside them gains. In the air farther
    /// off they fly.
    pub(super) fn complete(&mut self, cuts: &Cuts) {
        let layers = self.layers();
        let Mac { layout, liquid, u, before, known, fringe, gain, deposit, convection, .. } = self;
        known.find(layout, cuts, |a, first, row| Known::beside(liquid, layout, a, first, row));
        each_plane(layout, gain, |a, at, gain| {
            for ((g, u), before) in gain.iter_mut().zip(&u[a][at..]).zip(&before[a][at..]) {
                *g = u - before;
            }
        });
        fringe.find(layout, known, ABOVE);
        fringe.fill(layout, gain, ABOVE);
        let (faces, cells) = (&deposit.faces, &deposit.cells);
        let carried = *convection != Convection::SemiLagrangian;
        // Beside markers.
        let holds = |a: usize, first: usize, row: &mut [bool]| {
            if carried {
                for (k, face) in row.iter_mut().zip(&faces[a][first..]) {
                    *k |= face[1] > LEAST_MASS;
                }
            } else {
                let (low, high) = (&cells[first - layout.stride[a]..], &cells[first..]);
                for ((k, low), high) in row.iter_mut().zip(low).zip(high) {
                    *k |= (*low > 0.0) | (*high > 0.0);
                }
            }
        };
        each_plane(layout, u, |a, at, u| {
            if at < layout.stride[a] {
                return;
            }
            let mut held = vec![false; u.len()];
            holds(a, at, &mut held);
            let (known, open) = (&known.0[a][at..], &cuts.open[a][at..]);
            let (before, gain) = (&before[a][at..], &gain[a][at..]);
            for i in 0..u.len() {
                if held[i] & !known[i] & (open[i] > 0.0) {
                    u[i] = before[i] + gain[i];
                }
            }
        });
        known.find(layout, cuts, |a, first, row| {
            Known::beside(liquid, layout, a, first, row);
            holds(a, first, row);
        });
        fringe.find(layout, known, layers);
        complete(layout, cuts, fringe, u, layers);
        if *convection == Convection::Flip {
            // Markers see the old and the new field at the same places.
            complete(layout, cuts, fringe, before, 2);
        }
    }
}
