//! Validation: scenes with known answers, run and measured. One parameter set per model serves all its cases: a
//! case chooses geometry, spacing, physical properties and duration, never a model's dials.
//!
//! `undine validate` runs them in full; tests run them `quick` (coarser, with stated looser gates).

mod channel;
mod collapse;
mod conservation;
mod darcy;
mod dip;
mod drop;
mod fit;
mod floating;
mod lab;
mod lattice;
mod layers;
mod mac;
mod molecules;
mod mueller;
mod pipe;
mod profile;
mod slab;
mod slices;
mod slosh;
mod snug;
mod tank;
mod wetting;

use crate::export::Plot;
use crate::scene::SceneError;
use crate::scene::error::nearest;
use crate::world::WorldError;

pub use lab::Lab;

/// A scene (or a few) with a known answer.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// The model it runs.
    pub model: &'static str,
    /// What it measures against what.
    pub what: &'static str,
    run: fn(&mut Lab) -> Result<(), CaseError>,
}

/// One number against its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Name of the case.
    pub case: &'static str,
    /// The model.
    pub model: &'static str,
    /// What was measured.
    pub what: String,
    /// The measured value.
    pub measured: f64,
    /// The value it should have.
    pub reference: f64,
    /// How far it is off; the unit is that of the gate (often a share of the reference).
    pub error: f64,
    /// The greatest error that passes.
    pub gate: f64,
    /// Whether it passes. An error that is not a number does not.
    pub pass: bool,
}

/// What a case yields.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The numbers.
    pub checks: Vec<Check>,
    /// Plots and their file names, without extension.
    pub plots: Vec<(String, Plot)>,
}

impl Outcome {
    /// Whether every check passes.
    pub fn passes(&self) -> bool {
        self.checks.iter().all(|c| c.pass)
    }
}

/// Why a case could not be measured to its end.
#[derive(Debug, thiserror::Error)]
enum CaseError {
    #[error("{0}")]
    Scene(#[from] SceneError),
    #[error("{0}")]
    World(#[from] WorldError),
    #[error("{0}")]
    Trouble(#[from] crate::models::Trouble),
}

/// All cases of all models.
pub fn cases() -> &'static [Case] {
    static CASES: &[Case] = &[
        Case {
            name: "lattice",
            model: "sph",
            what: "kernel sums over the cubic lattice against exact values",
            run: lattice::run,
        },
        Case {
            name: "dam-break",
            model: "sph",
            what: "front and height of a collapsing column (Martin & Moyce 1952)",
            run: collapse::martin_moyce,
        },
        Case {
            name: "koshizuka",
            model: "sph",
            what: "front of a collapsing column (Koshizuka & Oka 1996)",
            run: collapse::koshizuka_oka,
        },
        Case {
            name: "hydrostatic",
            model: "sph",
            what: "pressure ρg(H-y) and rest in a tank 0.5 m deep",
            run: tank::run,
        },
        Case {
            name: "drop",
            model: "sph",
            what: "pressure 2σ/R in drops of several sizes, tensions and spacings",
            run: drop::laplace,
        },
        Case {
            name: "cube-to-sphere",
            model: "sph",
            what: "a cube of fluid pulls itself into a sphere",
            run: drop::cube_to_sphere,
        },
        Case {
            name: "sloshing",
            model: "sph",
            what: "period of the first mode in a tank 1 m long, 0.5 m deep",
            run: slosh::run,
        },
        Case {
            name: "conservation",
            model: "sph",
            what: "momentum of isolated and colliding drops; mirror and quarter-turn symmetry",
            run: conservation::run,
        },
        Case {
            name: "mueller",
            model: "sph",
            what: "the paper's kernels: rest of the lattice, momentum, a collapsing column (Martin & Moyce 1952)",
            run: mueller::run,
        },
        Case {
            name: "poiseuille",
            model: "sph",
            what: "start-up of a flow between two plates (Morris 1997)",
            run: channel::poiseuille,
        },
        Case {
            name: "couette",
            model: "sph",
            what: "start-up of a flow dragged by a plate (Morris 1997)",
            run: channel::couette,
        },
        Case {
            name: "film",
            model: "sph",
            what: "a viscous film on an incline (Nusselt)",
            run: channel::film,
        },
        Case {
            name: "pipe",
            model: "sph",
            what: "flow rate through a round pipe (Hagen, Poiseuille)",
            run: pipe::run,
        },
        Case {
            name: "darcy",
            model: "sph",
            what: "permeability of arrays of cylinders and spheres (Sangani & Acrivos, Zick & Homsy 1982)",
            run: darcy::run,
        },
        Case {
            name: "hydrostatic-walls",
            model: "sph",
            what: "pressure ρg(H-y) and rest in a tank of plates",
            run: tank::of_plates,
        },
        Case {
            name: "layers",
            model: "sph",
            what: "two fluids turn over and settle into layers",
            run: layers::run,
        },
        Case {
            name: "floating",
            model: "sph",
            what: "depth at which a mass-spring raft floats",
            run: floating::run,
        },
        Case {
            name: "contact-angle",
            model: "sph",
            what: "contact angle of drops on plates of several adhesions",
            run: wetting::run,
        },
        Case {
            name: "volume-slices",
            model: "volume",
            what: "pictures of a volume: a pre-integrated table against plain sampling (Engel 2001)",
            run: slices::run,
        },
        Case {
            name: "lj-pair",
            model: "lennard-jones",
            what: "force and potential of a pair against exact values",
            run: molecules::pair,
        },
        Case {
            name: "lj-dimer",
            model: "lennard-jones",
            what: "period of two particles about their distance of rest",
            run: molecules::dimer,
        },
        Case {
            name: "lj-energy",
            model: "lennard-jones",
            what: "error of the energy without friction against its fourth-order fall (Allen & Tildesley 2017)",
            run: molecules::energy,
        },
        Case {
            name: "lj-friction",
            model: "lennard-jones",
            what: "final speed and decay under friction",
            run: molecules::friction,
        },
        Case {
            name: "lj-liquid",
            model: "lennard-jones",
            what: "energy and pressure of the liquid (NIST, Lennard-Jones benchmarks)",
            run: molecules::liquid,
        },
        Case {
            name: "lj-momentum",
            model: "lennard-jones",
            what: "momentum of isolated and colliding drops",
            run: molecules::momentum,
        },
        Case {
            name: "mac-dam-break",
            model: "mac",
            what: "front and height of a collapsing column (Martin & Moyce 1952)",
            run: collapse::martin_moyce,
        },
        Case {
            name: "mac-koshizuka",
            model: "mac",
            what: "front of a collapsing column (Koshizuka & Oka 1996)",
            run: collapse::koshizuka_oka,
        },
        Case {
            name: "mac-hydrostatic",
            model: "mac",
            what: "pressure ρg(H-y), rest and kept volumes in a tank 0.5 m deep",
            run: tank::run,
        },
        Case {
            name: "mac-sloshing",
            model: "mac",
            what: "period of the first mode in a tank 1 m long, 0.5 m deep",
            run: slosh::run,
        },
        Case {
            name: "mac-taylor-green",
            model: "mac",
            what: "decay of Taylor and Green's vortices at Re 100",
            run: mac::taylor_green,
        },
        Case {
            name: "mac-cavity",
            model: "mac",
            what: "flow in a box under a moving lid at Re 100 (Ghia 1982)",
            run: mac::cavity,
        },
        Case {
            name: "mac-u-tube",
            model: "mac",
            what: "period of water swinging in a U-tube",
            run: mac::u_tube,
        },
        Case {
            name: "mac-volume",
            model: "mac",
            what: "volume of water through a violent collapse",
            run: mac::volume,
        },
        Case {
            name: "mac-floating",
            model: "mac",
            what: "depths at which balls and a mass-spring raft float",
            run: dip::floating,
        },
        Case {
            name: "mac-rest",
            model: "mac",
            what: "bodies of the water's density stay where they are",
            run: dip::rest,
        },
        Case {
            name: "mac-rising",
            model: "mac",
            what: "a ball rises alike on finer grids, with fewer markers in its force; start with its added mass",
            run: dip::rising,
        },
        Case {
            name: "mac-momentum",
            model: "mac",
            what: "momentum of a body thrown into free water",
            run: dip::momentum,
        },
        Case {
            name: "mac-two-cubes",
            model: "mac",
            what: "the heavier cube in a U-tube lifts the lighter one",
            run: dip::two_cubes,
        },
    ];
    CASES
}

/// The case of that name.
pub fn find(name: &str) -> Option<&'static Case> {
    cases().iter().find(|c| c.name == name)
}

/// The name of a case most like the given one.
pub fn nearest_name(name: &str) -> Option<&'static str> {
    nearest(name, cases().iter().map(|c| c.name))
}

/// Runs a case. `progress` hears the share of the work done, 0 to 1. A run that breaks down is a failed check.
pub fn run(case: &Case, quick: bool, progress: &mut dyn FnMut(f64)) -> Outcome {
    let mut lab = Lab::new(case, quick, progress);
    if let Err(error) = (case.run)(&mut lab) {
        lab.check(format!("runs to its end: {error}"), f64::NAN, 0.0, f64::NAN, 0.0);
    }
    lab.into_outcome()
}
