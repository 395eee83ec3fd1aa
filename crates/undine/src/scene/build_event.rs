//! Timed input: from a scene file or from a recording, and back to text without losing a bit.

use std::fmt::Write;

use glam::DVec3;

use super::check_event::check_set;
use super::read::Reader;
use super::{Action, Event, Scene};

/// Builds events, sorted by time; those of the same time stay in file order. Without a scene, what they set is
/// not checked.
pub fn build_events(entries: &[Reader], scene: Option<&Scene>) -> Vec<Event> {
    let mut events: Vec<_> = entries
        .iter()
        .map(|entry| Event { time: entry.number("time"), action: build_action(entry) })
        .collect();
    if let Some(scene) = scene {
        for (entry, event) in entries.iter().zip(&events) {
            if let Action::Set { key, value } = &event.action {
                check_set(&entry.table("set"), key, value, scene);
            }
        }
    }
    events.sort_by(|a, b| a.time.total_cmp(&b.time));
    events
}

fn build_action(entry: &Reader) -> Action {
    if let Some(brush) = entry.maybe_table("brush") {
        return Action::Brush {
            id: brush.integer("id") as u32,
            position: brush.vector("position"),
            velocity: brush.vector("velocity"),
            radius: brush.number("radius"),
            strength: brush.number("strength"),
        };
    }
    if let Some(touch) = entry.maybe_table("touch") {
        return Action::Touch {
            id: touch.integer("id") as u32,
            position: touch.vector("position"),
            radius: touch.number("radius"),
            strength: touch.number("strength"),
        };
    }
    if entry.has("touch_up") {
        return Action::TouchUp { id: entry.integer("touch_up") as u32 };
    }
    if let Some(press) = entry.maybe_table("switch") {
        return Action::Switch { name: press.text("name").into(), on: press.flag("on") };
    }
    if let Some(set) = entry.maybe_table("set") {
        return Action::Set { key: set.text("key").into(), value: set.numbers("value") };
    }
    Action::BrushUp { id: entry.integer("brush_up") as u32 }
}

/// Writes events as a file that [`parse_events`](super::parse_events) reads back exactly.
pub fn events_to_toml(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        // Writing to a string cannot fail. `{:?}` of an f64 is the shortest text that reads back as the same bits.
        let _ = match &event.action {
            Action::Brush { id, position, velocity, radius, strength } => writeln!(
                text,
                "[[event]]\ntime = {:?}\nbrush = {{ id = {id}, position = {}, velocity = {}, radius = {radius:?}, \
                 strength = {strength:?} }}\n",
                event.time,
                vector(*position),
                vector(*velocity),
            ),
            Action::BrushUp { id } => writeln!(text, "[[event]]\ntime = {:?}\nbrush_up = {id}\n", event.time),
            Action::Touch { id, position, radius, strength } => writeln!(
                text,
                "[[event]]\ntime = {:?}\ntouch = {{ id = {id}, position = {}, radius = {radius:?}, strength = {strength:?} }}\n",
                event.time,
                vector(*position),
            ),
            Action::TouchUp { id } => writeln!(text, "[[event]]\ntime = {:?}\ntouch_up = {id}\n", event.time),
            Action::Switch { name, on } => writeln!(
                text,
                "[[event]]\ntime = {:?}\nswitch = {{ name = {}, on = {on} }}\n",
                event.time,
                quoted(name)
            ),
            Action::Set { key, value } => writeln!(
                text,
                "[[event]]\ntime = {:?}\nset = {{ key = {}, value = {value:?} }}\n",
                event.time,
                quoted(key)
            ),
        };
    }
    text
}

fn vector(v: DVec3) -> String {
    format!("{:?}", v.to_array())
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
