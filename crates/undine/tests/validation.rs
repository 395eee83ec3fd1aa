//! Every validation case, coarse. `undine validate` runs them in full.

use undine::validate::{cases, find, nearest_name, run};

fn validate(name: &str) {
    let case = find(name).unwrap_or_else(|| panic!("no case {name}"));
    let mut last = 0.0;
    let outcome = run(case, true, &mut |share| {
        assert!(share >= last && share <= 1.0, "progress goes from {last} to {share}");
        last = share;
    });
    assert!(!outcome.checks.is_empty(), "{name} measures nothing");
    let failed: Vec<String> = outcome
        .checks
        .iter()
        .filter(|c| !c.pass)
        .map(|c| {
            format!(
                "{}: {} instead of {}, error {} over {}",
                c.what, c.measured, c.reference, c.error, c.gate
            )
        })
        .collect();
    assert!(failed.is_empty(), "{name}:\n{}", failed.join("\n"));
    for (name, plot) in outcome.plots {
        assert!(plot.to_svg().contains("</svg>"), "{name}");
    }
}

#[test]
fn kernel_sums_over_the_lattice_are_exact() {
    validate("lattice");
}

#[test]
fn a_table_of_integrals_needs_fewer_slices_than_plain_sampling() {
    validate("volume-slices");
}

#[test]
fn a_column_collapses_as_martin_and_moyce_filmed_it() {
    validate("dam-break");
}

#[test]
fn a_column_collapses_as_koshizuka_and_oka_filmed_it() {
    validate("koshizuka");
}

#[test]
fn a_tank_comes_to_rest_with_hydrostatic_pressure() {
    validate("hydrostatic");
}

#[test]
fn the_pressure_in_a_drop_is_that_of_laplace() {
    validate("drop");
}

#[test]
fn a_cube_of_fluid_becomes_a_sphere() {
    validate("cube-to-sphere");
}

#[test]
fn a_tank_sloshes_with_the_period_of_its_first_mode() {
    validate("sloshing");
}

#[test]
fn momentum_and_symmetry_are_kept() {
    validate("conservation");
}

#[test]
fn the_papers_own_scheme_keeps_what_its_equations_promise() {
    validate("mueller");
}

#[test]
fn a_flow_between_plates_starts_as_its_series_says() {
    validate("poiseuille");
}

#[test]
fn a_plate_drags_fluid_along_as_its_series_says() {
    validate("couette");
}

#[test]
fn a_film_runs_down_an_incline_as_nusselt_says() {
    validate("film");
}

#[test]
fn a_pipe_carries_what_hagen_and_poiseuille_say() {
    validate("pipe");
}

#[test]
fn arrays_of_obstacles_obey_darcys_law() {
    validate("darcy");
}

#[test]
fn a_tank_of_plates_comes_to_rest_with_hydrostatic_pressure() {
    validate("hydrostatic-walls");
}

#[test]
fn two_fluids_settle_into_layers() {
    validate("layers");
}

#[test]
fn a_raft_floats_at_its_depth() {
    validate("floating");
}

#[test]
fn cases_have_names_of_their_own_and_slips_find_them() {
    for (i, case) in cases().iter().enumerate() {
        assert!(cases()[..i].iter().all(|c| c.name != case.name), "{}", case.name);
        assert!(!case.what.is_empty());
    }
    assert_eq!(nearest_name("dambreak"), Some("dam-break"));
    assert_eq!(nearest_name("hydrostatics"), Some("hydrostatic"));
}

#[test]
fn drops_meet_their_plate_at_the_angle_of_its_adhesion() {
    validate("contact-angle");
}

#[test]
fn a_pair_of_molecules_has_the_exact_forces() {
    validate("lj-pair");
}

#[test]
fn two_molecules_swing_with_their_exact_period() {
    validate("lj-dimer");
}

#[test]
fn the_energy_of_molecules_goes_off_with_the_fourth_power_of_the_step() {
    validate("lj-energy");
}

#[test]
fn friction_slows_molecules_exactly() {
    validate("lj-friction");
}

#[test]
fn the_liquid_of_molecules_has_the_published_energy_and_pressure() {
    validate("lj-liquid");
}

#[test]
fn molecules_keep_their_momentum() {
    validate("lj-momentum");
}

#[test]
fn a_column_of_cells_collapses_as_martin_and_moyce_filmed_it() {
    validate("mac-dam-break");
}

#[test]
fn a_column_of_cells_collapses_as_koshizuka_and_oka_filmed_it() {
    validate("mac-koshizuka");
}

#[test]
fn water_in_cells_stands_still_under_its_weight() {
    validate("mac-hydrostatic");
}

#[test]
fn water_in_cells_sloshes_at_the_right_period() {
    validate("mac-sloshing");
}

#[test]
fn vortices_in_cells_decay_by_viscosity_alone() {
    validate("mac-taylor-green");
}

#[test]
fn a_lid_drives_a_cavity_of_cells_as_ghia_computed() {
    validate("mac-cavity");
}

#[test]
fn water_swings_in_a_u_tube_at_the_right_period() {
    validate("mac-u-tube");
}

#[test]
fn water_in_cells_keeps_its_volume_through_a_collapse() {
    validate("mac-volume");
}

#[test]
fn bodies_float_in_cells_at_their_depth() {
    validate("mac-floating");
}

#[test]
fn bodies_of_the_waters_density_rest_in_cells() {
    validate("mac-rest");
}

#[test]
fn a_ball_rises_alike_on_finer_grids() {
    validate("mac-rising");
}

#[test]
fn a_body_thrown_into_cells_keeps_the_momentum() {
    validate("mac-momentum");
}

#[test]
fn a_heavy_cube_lifts_a_light_one() {
    validate("mac-two-cubes");
}
