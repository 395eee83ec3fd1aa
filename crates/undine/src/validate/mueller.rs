//! The paper's own scheme, `kernels = "mueller"`: what it can be held to.
//!
//! It is no scheme for water at rest (see `docs/sph.md`), and its colour-field tension conserves no momentum; so it is
//! asked for what its equations promise: a lattice has the rest density, forces between pairs cancel, and a column
//! collapses like water.

use super::collapse::{CONSERVATIVE, Scheme, martin_moyce_with};
use super::conservation::{check_drift, drift};
use super::{CaseError, Lab};

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    lattice_at_rest(lab)?;
    let alone = r#"
        gravity = [0, 0, 0]
        time = { duration = DURATION, frame_rate = 200 }
        model = { spacing = 0.001, kernels = "mueller" }
        probe = [{ kind = "momentum" }]
        [[fluid]]
        viscosity = 0.01
        surface_tension = 0
        shape = { box = { min = [0, 0, 0], max = [0.012, 0.01, 0.008] } }
        velocity = [0.3, 0.2, -0.1]
        [[fluid]]
        name = "against it"
        density = 800
        viscosity = 0.01
        surface_tension = 0
        shape = { box = { min = [0.014, 0.003, 0.002], max = [0.02, 0.009, 0.008] } }
        velocity = [-0.3, 0, 0]
        "#;
    let curve = drift(lab, &alone.replace("DURATION", lab.either("0.2", "0.1")), 0.1)?;
    check_drift(lab, "two colliding blocks without tension", &curve);
    // Twice the gates of the default scheme. Density and pressure belong to different kernels here, which puts noise
    // into the flow that the default scheme was made to be rid of; but it must still be the same flow. One that does
    // not fall at all is off by half its way, and a front as fast as that of shallow water without friction, Z = 1 + 2T,
    // by more than that.
    let (front, height) = (CONSERVATIVE.front, CONSERVATIVE.height);
    let scheme = Scheme {
        kernels: "mueller",
        front: (2.0 * front.0, 2.0 * front.1),
        height: (2.0 * height.0, 2.0 * height.1),
        plots: "mueller-dam-break",
        share: 0.8,
        ..CONSERVATIVE
    };
    martin_moyce_with(lab, &scheme)
}

/// A lattice that repeats in all directions, without gravity: the summed density is ρ0, and stays so.
fn lattice_at_rest(lab: &mut Lab) -> Result<(), CaseError> {
    let scene = r#"
        gravity = [0, 0, 0]
        time = { duration = 0.1, frame_rate = 100 }
        domain = { min = [0, 0, 0], max = [0.5, 0.5, 0.5], periodic = [true, true, true] }
        model = { spacing = 0.05, kernels = "mueller", max_speed = 1 }
        [[fluid]]
        shape = { box = { min = [0, 0, 0], max = [0.5, 0.5, 0.5] } }
        "#;
    let mut worst = 0.0f64;
    lab.run(scene, 0.1, |m| {
        let density = m.frame.particles.scalar("density").unwrap_or(&[]).iter();
        worst = density.map(|d| (f64::from(*d) / 1000.0 - 1.0).abs()).fold(worst, f64::max);
    })?;
    // Rounding of a sum of about thirty terms in f32.
    lab.check("lattice at rest: greatest |ρ/ρ0 - 1|", worst, 0.0, worst, 1e-5);
    Ok(())
}
