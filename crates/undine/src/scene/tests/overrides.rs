//! Overrides, the text as run, and recordings.

use proptest::prelude::*;

use super::*;
use crate::scene::shape::Shape;
use crate::scene::*;

#[test]
fn overrides_reach_keys_by_index_by_name_and_through_shapes() {
    let sets = [
        "model.spacing=0.06",
        "fluid.0.viscosity=0.1",
        "fluid.oil.viscosity=0.2",
        "fluid.fluid-3.viscosity=0.3",
        "gravity=[0,0,0]",
        "gravity.2=1",
        "fluid.water.shape.box.max=[0.5,0.5,0.5]",
        "surface.method=volume-fraction",
        "title=A new = title",
    ];
    let scene = parse_set(FULL, &sets).unwrap_or_else(|error| panic!("{error}")).scene;
    assert_eq!(scene.model.spacing, 0.06);
    assert_eq!(scene.fluids.iter().map(|fluid| fluid.viscosity).collect::<Vec<_>>(), [0.1, 0.2, 0.3]);
    assert_eq!(scene.gravity, DVec3::Z);
    assert_eq!(scene.title, "A new = title");
    assert_eq!(scene.surface.method, SurfaceMethod::VolumeFraction);
    assert!(matches!(scene.fluids[0].shape, Some(Shape::Box { max, .. }) if max == DVec3::splat(0.5)));
}

#[test]
fn overrides_make_tables_that_the_file_lacks() {
    let scene =
        parse_set(SMALL, &["time.duration=1", "domain.min=[0,0,0]", "domain.max=[1,1,1]"]).unwrap().scene;
    assert_eq!((scene.time.duration, scene.domain.unwrap().max), (1.0, DVec3::ONE));
}

#[test]
fn the_text_as_run_gives_the_same_scene_from_any_folder() {
    let sets =
        ["model.spacing=0.06", "time.duration=1", "fluid.oil.shape.mesh.scale=3", "fluid.0.color=[1,0,0]"];
    for overrides in [&[][..], &sets] {
        let loaded = parse_set(FULL, overrides).unwrap();
        assert!(
            loaded.text.contains("\"/scenes/rocks.obj\"") && loaded.text.contains("\"/scenes/hills.txt\"")
        );
        let again = Scene::parse_with(&loaded.text, "x", Path::new("/elsewhere"), &[], &FakeFiles).unwrap();
        assert_eq!(again.scene, loaded.scene);
        assert_eq!(again.text, loaded.text);
    }
}

#[test]
fn a_wrong_override_is_named_and_the_file_keeps_its_lines() {
    let error = |sets: &[&str]| parse_set(SMALL, sets).unwrap_err().to_string();
    assert_eq!(
        error(&["model.spacng=1"]).split("; expected").next(),
        Some("--set model.spacng=1: unknown key `spacng` in `model`")
    );
    assert!(error(&["model.spacng=1"]).ends_with("did you mean `spacing`?"));
    assert!(error(&["model.spacing=-1"]).starts_with("--set model.spacing=-1: `model.spacing` cannot be -1"));
    assert!(
        error(&["fluid.watr.density=1"]).contains("there is no `fluid.watr`; expected an index from 0 to 0")
    );
    assert!(error(&["fluid.7.density=1"]).contains("there is no `fluid.7`"));
    assert!(error(&["model.spacing.x=1"]).contains("has no `x`"));
    assert!(error(&["spacing"]).contains("there is no `=`"));
    assert!(error(&["=3"]).contains("--set =3"));
    assert!(error(&["domain.slip=no-slip"]).contains("--set domain.slip=no-slip: missing key `min`"));
    // The override puts a table in front; the mistake in the file is still found where the file has it.
    let text = parse_set("a = 1\n[model]\nspacing = 0.1\n\n[[fluid]]\nwet = true\n", &["time.duration=1"]);
    let text = text.unwrap_err().to_string();
    assert!(text.contains("dam.toml:1:1: unknown key `a`") && text.contains("dam.toml:6:1"), "{text}");
}

fn any_event() -> impl Strategy<Value = Event> {
    let place = prop::array::uniform3(-1e7..1e7f64).prop_map(DVec3::from);
    let speed = prop::array::uniform3(-1e5..1e5f64).prop_map(DVec3::from);
    let tiny = prop_oneof![Just(f64::MIN_POSITIVE), Just(5e-324), Just(0.1 + 0.2), 1e-9..1e6f64];
    let action = prop_oneof![
        (any::<u32>(), place.clone(), speed, tiny.clone(), tiny.clone()).prop_map(
            |(id, position, velocity, radius, strength)| {
                Action::Brush { id, position, velocity, radius, strength }
            }
        ),
        (any::<u32>(), place, tiny, -1e5..1e5f64).prop_map(|(id, position, radius, strength)| {
            Action::Touch { id, position, radius, strength }
        }),
        any::<u32>().prop_map(|id| Action::TouchUp { id }),
        any::<u32>().prop_map(|id| Action::BrushUp { id }),
        ("[^\\p{Cc},\"]{0,20}[a-zé]", any::<bool>()).prop_map(|(name, on)| Action::Switch { name, on }),
        ("\\PC{0,20}", prop::collection::vec(-1e15..1e15f64, 1..=3))
            .prop_map(|(key, value)| Action::Set { key, value }),
    ];
    (0.0..1e9f64, action).prop_map(|(time, action)| Event { time, action })
}

proptest! {
    #[test]
    fn recordings_come_back_bit_for_bit(mut events in prop::collection::vec(any_event(), 0..20)) {
        events.sort_by(|a, b| a.time.total_cmp(&b.time));
        let text = events_to_toml(&events);
        let back = parse_events(&text, "recording.toml", None).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&format!("{back:?}"), &format!("{events:?}")); // tells -0.0 from 0.0
        prop_assert_eq!(back, events);
    }

    #[test]
    fn any_override_gives_a_scene_or_an_error(key in "\\PC{0,12}", value in "\\PC{0,12}", dotted in "(fluid|model|boundary|force|gravity|0|1|shape|box|motion|\\.){0,8}") {
        let _ = parse_set(FULL, &[&format!("{key}={value}")]);
        let _ = parse_set(FULL, &[&format!("{dotted}={value}")]);
        for value in ["1", "{}", "[]", "[{}]", "[[1]]", "''"] {
            if let Ok(loaded) = parse_set(FULL, &[&format!("{dotted}={value}")]) {
                let again = parse(&loaded.text).map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert_eq!(again.scene, loaded.scene);
            }
        }
    }
}

#[test]
fn a_recording_holds_events_only_and_is_checked_against_a_scene() {
    let error = parse_events("title = 'x'", "r.toml", None).unwrap_err().to_string();
    assert!(error.contains("unknown key `title`") && error.contains("one of: event"), "{error}");
    let set = "[[event]]\ntime = 0\nset = { key = 'fluid.mud.viscosity', value = 1 }\n";
    assert!(parse_events(set, "r.toml", None).is_ok());
    assert!(parse_events(set, "r.toml", Some(&read(SMALL))).is_err());
}
