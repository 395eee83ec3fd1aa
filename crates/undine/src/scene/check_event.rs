//! The one check of input, whether it comes from a scene file, a recording or, while running, from code: names and
//! ranges of the table of keys, and what the scene has that can be set.

use super::check::{Faults, check_table, describe, with_unit};
use super::error::EventError;
use super::keys::{EMITTER, EVENT, FLUID, SCENE, SWIRL, TRACK};
use super::node::{Data, Entry, KeyPath, Node};
use super::read::Reader;
use super::spec::{Key, Kind, Table};
use super::{Action, Event, Force, Scene};

/// A number of a scene that [`Action::Set`] can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settable {
    /// `gravity`.
    Gravity,
    /// `fluid.NAME.viscosity`, by the fluid's index.
    Viscosity(usize),
    /// `fluid.NAME.surface_tension`, by the fluid's index.
    SurfaceTension(usize),
    /// `emitter.NAME.speed`, by the emitter's index.
    EmitterSpeed(usize),
    /// `force.N.strength`, by the force's index; never a uniform one.
    ForceStrength(usize),
}

impl Scene {
    /// Whether input fits this scene: its numbers are in range and what it sets is there.
    pub fn check_event(&self, event: &Event) -> Result<(), EventError> {
        let node = event_node(event);
        let faults = Faults::default();
        check_table(&EVENT, &node, &KeyPath::default(), &faults);
        if let (true, Action::Set { key, value }) = (faults.is_empty(), &event.action) {
            check_set(&Reader::new(&EVENT, &node, &faults).table("set"), key, value, self);
        }
        match faults.into_parts().0.into_iter().next() {
            None => Ok(()),
            Some(fault) => Err(EventError {
                key: fault.path.to_string(),
                message: fault.message,
                expected: fault.expected,
                suggestion: fault.suggestion,
            }),
        }
    }

    /// What a key of [`Action::Set`] changes in this scene.
    pub fn settable(&self, key: &str) -> Option<Settable> {
        if key == "gravity" {
            return Some(Settable::Gravity);
        }
        let (kind, rest) = key.split_once('.')?;
        // A name may have dots of its own.
        let (name, what) = rest.rsplit_once('.')?;
        let fluid = || self.fluids.iter().position(|fluid| fluid.name == name);
        match (kind, what) {
            ("fluid", "viscosity") => fluid().map(Settable::Viscosity),
            ("fluid", "surface_tension") => fluid().map(Settable::SurfaceTension),
            ("emitter", "speed") => {
                self.emitters.iter().position(|emitter| emitter.name == name).map(Settable::EmitterSpeed)
            }
            ("force", "strength") => {
                let index = name.parse().ok().filter(|index: &usize| index.to_string() == name)?;
                let force = self.forces.get(index)?;
                (!matches!(force, Force::Uniform(_))).then_some(Settable::ForceStrength(index))
            }
            _ => None,
        }
    }

    /// The keys that [`Action::Set`] can change in this scene.
    pub fn settable_keys(&self) -> Vec<String> {
        let fluids = self.fluids.iter().flat_map(|fluid| {
            ["viscosity", "surface_tension"].map(|what| format!("fluid.{}.{what}", fluid.name))
        });
        let emitters = self.emitters.iter().map(|emitter| format!("emitter.{}.speed", emitter.name));
        let forces = self.forces.iter().enumerate();
        let forces = forces.filter(|(_, force)| !matches!(force, Force::Uniform(_)));
        let forces = forces.map(|(i, _)| format!("force.{i}.strength"));
        std::iter::once("gravity".into()).chain(fluids).chain(emitters).chain(forces).collect()
    }

    /// Where the table of keys describes a number that can be set.
    fn key_of(&self, settable: Settable) -> Option<&'static Key> {
        let (table, name): (&'static Table, _) = match settable {
            Settable::Gravity => (&SCENE, "gravity"),
            Settable::Viscosity(_) => (&FLUID, "viscosity"),
            Settable::SurfaceTension(_) => (&FLUID, "surface_tension"),
            Settable::EmitterSpeed(_) => (&EMITTER, "speed"),
            Settable::ForceStrength(index) => match self.forces.get(index) {
                Some(Force::Brush(_)) => (&TRACK, "strength"),
                _ => (&SWIRL, "strength"),
            },
        };
        table.key(name)
    }
}

/// Checks what an event sets: the key must be there and the value in that key's own range.
pub fn check_set(set: &Reader, name: &str, value: &[f64], scene: &Scene) {
    let Some(key) = scene.settable(name).and_then(|settable| scene.key_of(settable)) else {
        let known = scene.settable_keys();
        let known: Vec<_> = known.iter().map(|key| &key[..]).collect();
        return set.fail_name("key", "settable key", name, &known);
    };
    let fits = match &key.kind {
        Kind::Number(range) => value.len() == 1 && range.holds(value[0]),
        Kind::Vector(range) => value.len() == 3 && value.iter().all(|v| range.holds(*v)),
        _ => false,
    };
    if !fits {
        let expected = with_unit(describe(&key.kind), key.unit);
        set.fail("value", format!("`{name}` cannot be {value:?}"), expected);
    }
}

/// An event as the tree that its text would give.
fn event_node(event: &Event) -> Node {
    let integer = |value: u32| node(Data::Integer(value.into()));
    let numbers = |values: &[f64]| node(Data::List(values.iter().map(|v| node(Data::Float(*v))).collect()));
    let text = |text: &str| node(Data::Text(text.into()));
    let action = match &event.action {
        Action::Brush { id, position, velocity, radius, strength } => (
            "brush",
            table([
                ("id", integer(*id)),
                ("position", numbers(&position.to_array())),
                ("velocity", numbers(&velocity.to_array())),
                ("radius", node(Data::Float(*radius))),
                ("strength", node(Data::Float(*strength))),
            ]),
        ),
        Action::BrushUp { id } => ("brush_up", integer(*id)),
        Action::Touch { id, position, radius, strength } => (
            "touch",
            table([
                ("id", integer(*id)),
                ("position", numbers(&position.to_array())),
                ("radius", node(Data::Float(*radius))),
                ("strength", node(Data::Float(*strength))),
            ]),
        ),
        Action::TouchUp { id } => ("touch_up", integer(*id)),
        Action::Switch { name, on } => {
            ("switch", table([("name", text(name)), ("on", node(Data::Flag(*on)))]))
        }
        Action::Set { key, value } => ("set", table([("key", text(key)), ("value", numbers(value))])),
    };
    table([("time", node(Data::Float(event.time))), action])
}

fn table<const N: usize>(entries: [(&str, Node); N]) -> Node {
    let entry = |(name, node): (&str, Node)| Entry { name: name.into(), span: 0..0, node };
    node(Data::Table(entries.into_iter().map(entry).collect()))
}

fn node(data: Data) -> Node {
    Node { span: 0..0, data }
}
