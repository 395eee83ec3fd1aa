//! Builds mass-spring bodies.

use super::build::{Budget, build_names, parse_side};
use super::build_shape::ShapeBuilder;
use super::check::short;
use super::read::Reader;
use super::shape::Shape;
use super::{Pin, Solid, SolidKind};

/// Thickness of a cloth that is not made from a box, m.
const THIN: f64 = 1e-3;

/// All `[[solid]]`.
pub fn build_solids(entries: &[Reader], shapes: &ShapeBuilder, budget: &mut Budget) -> Vec<Solid> {
    let names = build_names(entries);
    entries.iter().zip(names).filter_map(|(entry, name)| build_solid(entry, name, shapes, budget)).collect()
}

fn build_solid(entry: &Reader, name: String, shapes: &ShapeBuilder, budget: &mut Budget) -> Option<Solid> {
    let allowed: &[&str] = match entry.maybe_text("kind") {
        Some("cloth") => &["box", "disc", "mesh"],
        _ => &["box", "sphere", "cylinder", "mesh"],
    };
    let shape = shapes.maybe_build(entry, allowed)?;
    let kind = match (entry.maybe_text("kind"), &shape) {
        (Some("ball"), _) | (None, Shape::Sphere { .. }) => SolidKind::Ball,
        (Some("cloth"), _) => SolidKind::Cloth,
        _ => SolidKind::Lattice,
    };
    if kind == SolidKind::Ball && !matches!(shape, Shape::Sphere { .. }) {
        entry.fail("kind", "a ball needs a sphere".into(), "`shape = { sphere = … }`, or another kind");
    }
    let spacing = entry.maybe_number("spacing").unwrap_or(budget.spacing);
    match kind {
        SolidKind::Ball => {}
        SolidKind::Lattice => budget.spend_at(entry, &shape, spacing),
        SolidKind::Cloth => budget.spend_count(entry, cloth_count(entry, &shape, spacing)),
    }
    let thickness = match &shape {
        Shape::Box { min, max } => (*max - *min).min_element(),
        _ => THIN,
    };
    Some(Solid {
        name,
        kind,
        density: entry.number("density"),
        spacing,
        thickness: entry.maybe_number("thickness").unwrap_or(thickness),
        stiffness: entry.number("stiffness"),
        damping: entry.number("damping"),
        bend: entry.number("bend"),
        friction: entry.number("friction"),
        pinned: build_pins(entry, kind, &shape, shapes),
        velocity: entry.vector("velocity"),
        shape,
    })
}

/// About how many nodes a cloth has. A weave wider than the cloth is an error.
fn cloth_count(entry: &Reader, shape: &Shape, spacing: f64) -> f64 {
    let (count, width) = match shape {
        Shape::Box { min, max } => {
            let mut sides = (*max - *min).to_array();
            sides.sort_by(f64::total_cmp);
            let nodes = |length: f64| (length / spacing).round() + 1.0;
            (nodes(sides[1]) * nodes(sides[2]), sides[1])
        }
        Shape::Mesh(mesh) => return mesh.vertices.len() as f64,
        _ => (shape.fill_count_estimate(spacing), shape.bounds().size().max_element()),
    };
    if width < spacing {
        let message = format!("this cloth is narrower than its weave of {} m", short(spacing));
        entry.fail("shape", message, "a wider shape or a smaller `spacing`");
    }
    count
}

fn build_pins(entry: &Reader, kind: SolidKind, shape: &Shape, shapes: &ShapeBuilder) -> Vec<Pin> {
    let mut pins = Vec::new();
    for word in entry.words("pinned") {
        let pin = match word {
            "corners" => Pin::Corners,
            "edges" => Pin::Edges,
            side => match parse_side(side) {
                Some((axis, upper)) => Pin::Side(axis, upper),
                None => continue,
            },
        };
        if matches!(pin, Pin::Corners | Pin::Edges) && kind != SolidKind::Cloth {
            let message = format!("only a cloth has {word} to pin");
            entry.fail("pinned", message, "sides such as \"-y\", or `pinned_in`");
        }
        if pin == Pin::Corners && kind == SolidKind::Cloth && !matches!(shape, Shape::Box { .. }) {
            let message = "only a cloth made of a box has corners".into();
            entry.fail("pinned", message, "\"edges\", sides such as \"-y\", or `pinned_in`");
        }
        pins.push(pin);
    }
    let within = entry.tables("pinned_in");
    pins.extend(
        within
            .iter()
            .filter_map(|s| shapes.build(s, "solid", &["box", "sphere", "cylinder"]))
            .map(Pin::Within),
    );
    pins
}
