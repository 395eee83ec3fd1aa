//! For how long the neighbours that count stay those that count.
//!
//! A survey of all neighbours found tells which of them are within the support or come there within the next few steps,
//! if all go on as they go. Others are passed by in these steps. For none to be missed, the survey reaches a little
//! beyond the support, and is made anew when any particle may have strayed by half of that from its straight way: what
//! has been accelerated, and what has met a wall.

/// Steps for which a survey looks ahead, and as much more as these may grow.
const STEPS: f64 = 6.2;
/// How far beyond the support it reaches, in supports.
const SPARE: f64 = 0.02;
/// Rounding, in supports.
const SLACK: f64 = 1e-3;
/// How far a particle may stray from its straight way before the next survey, and a wall beside it, in supports.
pub const STRAY: f32 = SPARE as f32;
/// 1 - s² at the end of its reach.
pub const BEYOND: f32 = -(SPARE * (2.0 + SPARE)) as f32;

/// What a pass over pairs is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All sums over all neighbours found; and to say which of them may come to count soon.
    Survey,
    /// All sums over those.
    All,
    /// Only what density follows within the step, over the same: how much fluid there is around, and which way, changes slowly.
    Quick,
}

/// How a step goes through pairs.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// What it does.
    pub scope: Scope,
    /// For how long a survey looks ahead, s.
    pub span: f64,
}

impl Look {
    /// A survey of now.
    pub const NOW: Look = Look { scope: Scope::Survey, span: 0.0 };

    /// Whether slow sums are left as they are.
    pub fn is_quick(self) -> bool {
        self.scope == Scope::Quick
    }
}

/// What is left of a survey.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outlook {
    /// For how long it still serves, s.
    left: f64,
    /// The most by which any velocity can have changed since, m/s.
    change: f64,
    /// The farthest that any particle can be from its straight way, m.
    astray: f64,
}

impl Outlook {
    /// A look of this scope in a step of `dt`, s.
    pub fn look(scope: Scope, dt: f64) -> Look {
        Look { scope, span: STEPS * dt }
    }

    /// Of a survey with velocities that are `change`, m/s, at most from those that particles moved with.
    pub fn new(look: Look, change: f64) -> Self {
        Outlook { left: look.span, change, astray: 0.0 }
    }

    /// A step of `dt`, s, with velocities that have changed by up to `change`, m/s; walls moved particles by up to `jump`, m, and changed velocities by up to `knock`, m/s.
    pub fn pass(&mut self, dt: f64, change: f64, (jump, knock): (f64, f64)) {
        self.left -= dt;
        self.change += change;
        self.astray += dt * self.change + jump;
        self.change += knock;
    }

    /// Whether it still serves, of particles with support `h`, m.
    pub fn serves(&self, h: f64) -> bool {
        self.left >= 0.0 && self.astray <= 0.5 * (SPARE - SLACK) * h
    }
}
