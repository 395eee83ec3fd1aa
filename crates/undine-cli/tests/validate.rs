//! `undine validate`: JSON, plots, exit codes.

mod common;

use common::*;

#[test]
fn validate_prints_one_json_object_with_every_check() {
    let scratch = Scratch::new();
    let report = scratch.json(&["validate", "lattice", "--json"]);
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 17);
    for check in cases {
        assert_eq!((&check["case"], &check["model"]), (&"lattice".into(), &"sph".into()));
        assert_eq!(check["pass"], true);
        for number in ["measured", "reference", "error", "gate"] {
            assert!(check[number].is_f64(), "{number}: {check}");
        }
    }
}

#[test]
fn validate_prints_a_table_and_writes_plots() {
    let scratch = Scratch::new();
    let output = scratch.undine(&["validate", "koshizuka", "--quick", "-o", "plots/here"]);
    assert!(stdout(&output).lines().count() >= 3, "{}", stdout(&output));
    let svg = std::fs::read_to_string(scratch.path("plots/here/koshizuka-front.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("Koshizuka"));
}

#[test]
fn an_unknown_case_is_wrong_usage_and_the_nearest_name_is_given() {
    let output = Scratch::new().undine(&["validate", "dambreak"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("dam-break"), "{}", stderr(&output));
    assert!(stdout(&output).is_empty());
}
