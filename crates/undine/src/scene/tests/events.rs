//! The check of single events, for input that no file holds.

use proptest::prelude::*;

use super::*;
use crate::scene::{Action, Event, Settable, events_to_toml, parse_events};

const SCENE: &str = r#"
[model]
spacing = 0.1
[[fluid]]
name = "salt.water"
[[emitter]]
name = "tap"
shape = { disc = { center = [0, 1, 0], normal = [0, -1, 0], radius = 0.3 } }
speed = 1
[[force]]
uniform = [1, 0, 0]
[[force]]
swirl = { center = [0, 0, 0], strength = 1 }
[[force]]
brush = { track = [[0, 0, 0, 0], [1, 1, 0, 0]], radius = 0.1 }
"#;

fn set(key: &str, value: &[f64]) -> Event {
    Event { time: 0.0, action: Action::Set { key: key.into(), value: value.to_vec() } }
}

fn refusal(event: &Event) -> String {
    read(SCENE).check_event(event).expect_err("it must be refused").to_string()
}

#[test]
fn a_value_is_held_to_the_range_of_its_own_key() {
    let scene = read(SCENE);
    for (key, value) in [
        ("gravity", &[0.0, -1e5, 3.0][..]),
        ("fluid.salt.water.viscosity", &[1e6]),
        ("fluid.salt.water.surface_tension", &[0.0]),
        ("emitter.tap.speed", &[0.0]),
        ("force.1.strength", &[-1e5]),
        ("force.2.strength", &[0.0]),
    ] {
        assert_eq!(scene.check_event(&set(key, value)), Ok(()), "{key}");
        assert!(scene.settable_keys().iter().any(|known| known == key));
        let far = vec![1e15 + 1.0; value.len()];
        assert!(scene.check_event(&set(key, &far)).is_err(), "{key}");
        assert!(scene.check_event(&set(key, &[value, &[1.0]].concat())).is_err(), "{key}");
        assert!(scene.check_event(&set(key, &vec![f64::NAN; value.len()])).is_err(), "{key}");
    }
    assert_eq!(
        refusal(&set("gravity", &[0.0, 1e6, 0.0])),
        "`gravity` cannot be [0.0, 1000000.0, 0.0]; expected [x, y, z], each from -1e5 to 1e5 (m/s²)"
    );
    assert!(refusal(&set("force.2.strength", &[-1.0])).contains("expected a number from 0 to 1e15 (1/s)"));
}

#[test]
fn an_unknown_key_is_told_with_the_nearest_one() {
    let told = refusal(&set("emitter.tap.sped", &[1.0]));
    assert!(
        told.starts_with("there is no settable key `emitter.tap.sped`; expected one of: gravity"),
        "{told}"
    );
    assert!(told.ends_with("did you mean `emitter.tap.speed`?"), "{told}");
    // A uniform force has no strength, and an index is written in one way only.
    for key in ["force.0.strength", "force.3.strength", "force.01.strength", "force.+1.strength", "", "."] {
        assert!(read(SCENE).check_event(&set(key, &[1.0])).is_err(), "{key}");
    }
    assert_eq!(read(SCENE).settable("force.1.strength"), Some(Settable::ForceStrength(1)));
}

/// Any number, also those that no key takes.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => -10.0..10.0f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, 1e5, 1e7, -1e7, 1e9, 1.1e9, 1e15, 2e15])
    ]
}

fn any_action() -> impl Strategy<Value = Action> {
    let vector = || prop::array::uniform3(number()).prop_map(DVec3::from);
    let name = prop_oneof!["[a-z ,\"\\n]{0,4}", Just("x".repeat(100)), Just("x".repeat(101))];
    let keys: Vec<_> = read(SCENE).settable_keys().into_iter().chain(["force.0.strength".into()]).collect();
    prop_oneof![
        (any::<u32>(), vector(), vector(), number(), number()).prop_map(
            |(id, position, velocity, radius, strength)| {
                Action::Brush { id, position, velocity, radius, strength }
            }
        ),
        any::<u32>().prop_map(|id| Action::BrushUp { id }),
        (any::<u32>(), vector(), number(), number()).prop_map(|(id, position, radius, strength)| {
            Action::Touch { id, position, radius, strength }
        }),
        any::<u32>().prop_map(|id| Action::TouchUp { id }),
        (name, any::<bool>()).prop_map(|(name, on)| Action::Switch { name, on }),
        (prop::sample::select(keys), prop::collection::vec(number(), 0..=4))
            .prop_map(|(key, value)| Action::Set { key, value }),
    ]
}

proptest! {
    #[test]
    fn an_event_is_taken_live_exactly_when_a_recording_of_it_is(time in number(), action in any_action()) {
        let scene = read(SCENE);
        let event = Event { time, action };
        let recorded = parse_events(&events_to_toml(std::slice::from_ref(&event)), "r.toml", Some(&scene));
        prop_assert_eq!(scene.check_event(&event).is_ok(), recorded.is_ok(), "{:?} {:?}", event, recorded);
    }
}
