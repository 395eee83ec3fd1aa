//! Dials of the `lennard-jones` model.

use super::build::chosen;
use super::check::short;
use super::read::Reader;

/// Dials of the `lennard-jones` model (Lee 2005).
#[derive(Clone, Debug, PartialEq)]
pub struct LennardJonesOptions {
    /// Depth ε of the pair well, × m v² with v the greatest expected speed.
    pub cohesion: f64,
    /// Depth ε of the pair well, J, by hand.
    pub epsilon: Option<f64>,
    /// Distance σ at which the pair potential is zero, m.
    pub sigma: f64,
    /// Cut-off, × σ.
    pub cutoff: f64,
    /// What falls to zero at the cut-off.
    pub shifted: Shifted,
    /// Rate ζ/m of friction, 1/s.
    pub drag: f64,
    /// Coefficient ζ of friction, kg/s, by hand.
    pub friction: Option<f64>,
    /// Friction between particles, as share of the critical one.
    pub damping: f64,
    /// Temperature of the thermostat, ε/k_B; 0 is none.
    pub temperature: f64,
    /// Whether particles have inertia.
    pub dynamics: Dynamics,
}

/// What falls to zero at the cut-off without a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shifted {
    /// Force and potential.
    Force,
    /// Only the potential: the force jumps.
    Potential,
}

impl Shifted {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 2] = ["force", "potential"];
    /// In the order of their words.
    pub const ALL: [Shifted; 2] = [Shifted::Force, Shifted::Potential];
}

/// Whether particles have inertia.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dynamics {
    /// They do: m dv/dt = F - ζ v.
    Inertia,
    /// Forces and friction balance: ζ v = F (Lee 2005, eq. 6).
    Overdamped,
}

impl Dynamics {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 2] = ["inertia", "overdamped"];
    /// In the order of their words.
    pub const ALL: [Dynamics; 2] = [Dynamics::Inertia, Dynamics::Overdamped];
}

/// Distance of zero potential over that of no force: 2^(-1/6).
pub(crate) const SIGMA: f64 = 0.890_898_718_140_339_3;

/// Reads the dials from `[model]`; `emits` is whether there are emitters.
pub fn build_lennard_jones(model: &Reader, spacing: f64, emits: bool) -> LennardJonesOptions {
    // Packed closest, with no force between neighbours, particles have σ³ each: as much as in the lattice they start on. But
    // a thin jet on that lattice would burst: its particles are to rest a spacing apart.
    let sigma = model.maybe_number("sigma").unwrap_or(if emits { SIGMA * spacing } else { spacing });
    if !(0.5..=2.0).contains(&(sigma / spacing)) {
        let message = format!("`sigma` is {} × spacing", short(sigma / spacing));
        model.fail("sigma", message, "0.5 to 2 × spacing");
    }
    let dynamics = chosen(model.text("dynamics"), &Dynamics::NAMES, &Dynamics::ALL);
    let (drag, friction) = (model.number("drag"), model.maybe_number("friction"));
    if dynamics == Dynamics::Overdamped && friction.map_or(drag, |f| f) <= 0.0 {
        model.fail(
            "dynamics",
            "without friction nothing balances the forces".into(),
            "`drag` or `friction` above 0",
        );
    }
    LennardJonesOptions {
        cohesion: model.number("cohesion"),
        epsilon: model.maybe_number("epsilon"),
        sigma,
        cutoff: model.number("cutoff"),
        shifted: chosen(model.text("shifted"), &Shifted::NAMES, &Shifted::ALL),
        drag,
        friction,
        damping: model.number("damping"),
        temperature: model.number("temperature"),
        dynamics,
    }
}
