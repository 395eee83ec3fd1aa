//! Where mass-spring bodies take part in a step.

use super::Mac;
use super::convect::{self, Moved};
use super::cuts::Cuts;
use super::forces::steady;
use super::layout::Layout;
use super::solids::Immersed;
use super::solids::couple::Dip;
use super::solids::elastic::{self, Field};
use super::solids::remainder::Gain;
use crate::models::Around;
use crate::scene::Convection;

/// How the grid is cut by walls, and by bodies in it.
pub(super) struct Place<'a> {
    pub(super) layout: &'a Layout,
    pub(super) immersed: &'a mut Option<Immersed>,
    /// By both, and by walls alone where there are bodies.
    pub(super) cuts: &'a mut Option<Cuts>,
    pub(super) bare: &'a mut Option<Cuts>,
}

impl Place<'_> {
    /// Follows walls and bodies.
    pub(super) fn follow(self, around: &Around) {
        let Place { layout, immersed, cuts, bare } = self;
        let walls = if immersed.is_some() { &mut *bare } else { &mut *cuts };
        match walls {
            Some(cuts) => cuts.follow(layout, around.walls),
            none => *none = Some(Cuts::new(layout, around.walls)),
        }
        if let (Some(immersed), Some(bare)) = (immersed, bare) {
            let old = cuts.take().unwrap_or_else(|| bare.clone());
            *cuts = Some(immersed.follow(layout, bare, around.solids, old));
        }
    }
}

impl Mac {
    /// Follows walls and bodies, and does something else `meanwhile`: of bodies, most of that is work for one thread.
    pub(super) fn follow_walls(&mut self, around: &Around, meanwhile: impl FnOnce(&mut Mac) + Send) {
        let layout = self.layout.clone();
        let (mut immersed, mut cuts, mut bare) = (self.immersed.take(), self.cuts.take(), self.bare.take());
        let place = Place { layout: &layout, immersed: &mut immersed, cuts: &mut cuts, bare: &mut bare };
        rayon::join(|| place.follow(around), || meanwhile(self));
        (self.immersed, self.cuts, self.bare) = (immersed, cuts, bare);
    }

    /// Gives markers their velocities and moves them, and finds where bodies will be meanwhile.
    pub(super) fn carry_and_look(&mut self, cuts: &Cuts, around: &Around, dt: f64, evened: bool) -> Moved {
        let Some(mut immersed) = self.immersed.take() else { return self.carry(cuts, around, dt, evened) };
        let layout = self.layout.clone();
        let (moved, ()) = rayon::join(
            || self.carry(cuts, around, dt, evened),
            || immersed.look_ahead(&layout, around.solids.state(), dt),
        );
        self.immersed = Some(immersed);
        moved
    }

    /// Makes the velocities keep volume. `dt` is the step of the bodies, s.
    pub(super) fn project(&mut self, cuts: &mut Cuts, around: &Around, kick: f64, dt: f64) {
        let Mac { layout, liquid, u, pressure, immersed, bare, .. } = self;
        match (immersed, bare) {
            (Some(immersed), Some(bare)) => {
                let state = around.solids.state();
                let gravity = steady(around.fields);
                let dip = Dip { layout, bare, liquid, state, gravity, dt };
                pressure.assemble(layout, cuts, liquid, immersed.shape.mobility());
                immersed.project(&dip, cuts, pressure, u, [self.kick, kick]);
            }
            _ => {
                pressure.assemble(layout, cuts, liquid, None);
                pressure.project(layout, cuts, liquid, u, [self.kick, kick]);
            }
        }
        self.kick = kick;
    }

    /// The same, and finds which faces are in air. Where no body changes what walls leave open, that and what evens out the filling is
    /// found meanwhile, on another thread; then says whether there is anything to even out.
    pub(super) fn project_and_look(
        &mut self,
        cuts: &mut Cuts,
        around: &Around,
        kick: f64,
        dt: f64,
    ) -> Option<bool> {
        let layers = self.layers();
        let is_alone = self.immersed.is_none();
        if !is_alone {
            self.project(cuts, around, kick, dt);
        }
        let Mac { layout, liquid, u, pressure, marked, air, known, fringe, even, .. } = self;
        let place = (&*layout, &*cuts, &*liquid);
        if !is_alone {
            air.find(place, marked, known, fringe, layers);
            return None;
        }
        pressure.assemble(layout, cuts, liquid, None);
        let times = [std::mem::replace(&mut self.kick, kick), kick];
        Some(pressure.project_while(place, u, times, |solver| {
            air.find(place, marked, known, fringe, layers);
            even.find(layout, place.1, liquid, |b, q, goal| solver.answer(b, q, goal))
        }))
    }

    /// The paper's force between markers and nodes.
    pub(super) fn interact(&mut self, around: &Around, kick: f64) {
        let Mac { layout, markers, order, u, deposit, liquid, elastic, convection, .. } = self;
        let Some((elastic, forces)) = elastic else { return };
        let volume = self.spacing.powi(3);
        let (density, cell) = (self.fluids[0].density, layout.volume());
        let carried = *convection != Convection::SemiLagrangian;
        let mass = |a: usize, i: usize| {
            let held = if carried {
                f64::from(deposit.faces[a][i][1]) * volume
            } else {
                f64::from(0.5 * (liquid.fill[i] + liquid.fill[i - layout.stride[a]])) * cell
            };
            density * held.max(0.05 * cell)
        };
        let field = Field { layout, state: around.solids.state(), markers, order, u, volume };
        let on_cells;
        (*forces, on_cells) = elastic.act(&field);
        elastic::push(layout, &on_cells, mass, kick, u);
    }

    /// What markers beside bodies did not take on of the pressure's impulse, or took on besides, is the bodies'.
    pub(super) fn return_remainder(&mut self, cuts: &Cuts, around: &Around, kick: f64, dt: f64) {
        let Mac { layout, liquid, u, before, immersed, bare, deposit, convection, .. } = self;
        let (Some(immersed), Some(bare)) = (immersed, bare) else { return };
        // There velocities are the grid's, not the markers'.
        if *convection == Convection::SemiLagrangian {
            return;
        }
        let gain = Gain {
            layout,
            bare,
            cuts,
            liquid,
            state: around.solids.state(),
            gravity: steady(around.fields),
            before,
            after: u,
            markers: &deposit.faces,
            mass: self.fluids[0].density * self.apart.powi(3),
            taken: if *convection == Convection::Flip { convect::PIC } else { 1.0 },
        };
        immersed.return_remainder(&gain, kick, dt);
    }

    /// Holds markers out of bodies.
    pub(super) fn push_out(&mut self, moved: Moved, dt: f64) {
        let Mac { layout, markers, order, immersed, .. } = self;
        if let Some(immersed) = immersed {
            let travel = moved.rate * dt as f32 + 1.0 + (immersed.rate * dt) as f32;
            immersed.push_out(layout, order, markers, travel);
        }
    }
}
