//! What is odd about a scene: fluid in walls, walls that leak, emitters that clash.

use glam::DVec3;
use undine::scene::aabb::Aabb;
use undine::scene::shape::Shape;
use undine::scene::{Boundary, Coupling, Emitter, Inside, ModelKind, Scene, Solid, SolidKind};
use undine::walls::Walls;
use undine::world::World;

use crate::text::count;

/// Emitters nearer to each other or to fluid than this, × spacing, get into each other's way.
const CLASH: f64 = 0.7;
/// Surface tension of water, N/m: the default.
const WATER: f64 = 0.072;

/// All warnings, as sentences.
pub fn all(world: &World) -> Vec<String> {
    let scene = world.scene();
    let mut warnings = start(world);
    let h = scene.model.support();
    warnings.extend(scene.boundaries.iter().filter_map(|wall| thin_wall(wall, h)));
    warnings.extend(short_periods(scene, h));
    warnings.extend(emitters(scene, world.walls()));
    warnings.extend(switches(scene));
    warnings.extend(ignored(scene));
    if let Some(step) = scene.time.step {
        let free = Scene { time: undine::scene::Time { step: None, ..scene.time.clone() }, ..scene.clone() };
        let limit = World::new(free).map(|world| world.step_limit());
        if let Some(limit) = limit.ok().filter(|limit| limit.step < step) {
            warnings.push(format!(
                "time.step = {step} s is over the stability limit `{}` of {:.3e} s: the run may blow up",
                limit.name, limit.step
            ));
        }
    }
    warnings
}

/// Fluid that was asked for where it cannot be.
fn start(world: &World) -> Vec<String> {
    let (report, scene) = (world.start_report(), world.scene());
    let mut warnings = Vec::new();
    if report.in_walls > 0 {
        warnings.push(format!(
            "{} particles of the starting fluid lie in walls or outside the domain and are left out",
            count(report.in_walls as u64)
        ));
    }
    if report.in_solids > 0 {
        warnings.push(format!(
            "{} particles of the starting fluid lie in solids and are left out",
            count(report.in_solids as u64)
        ));
    }
    if report.in_other_fluid > 0 {
        warnings.push(format!(
            "{} particles lie in an earlier fluid and are left out",
            count(report.in_other_fluid as u64)
        ));
    }
    if world.is_capped() && !scene.emitters.is_empty() {
        warnings.push("the start already reaches model.max_particles: emitters will not add any".into());
    }
    warnings
}

/// A wall thinner than the kernel support h lets fluid on its two sides feel each other.
fn thin_wall(wall: &Boundary, h: f64) -> Option<String> {
    let name = &wall.name;
    if let Shape::Mesh(_) = &wall.shape
        && !wall.shape.is_closed()
    {
        return Some(format!(
            "the mesh of the wall `{name}` is open: it is taken as a sheet without an inside, and fluid on its \
             two sides feels each other"
        ));
    }
    let thickness = match (wall.inside, &wall.shape) {
        (Inside::Hollow, _) => wall.thickness?,
        (_, Shape::Disc { .. }) => 0.0,
        (_, Shape::Heightfield(_)) => return None,
        (_, Shape::Cylinder { radius, height, .. }) => height.min(2.0 * radius),
        (_, shape) => shape.bounds().size().min_element(),
    };
    (thickness < h).then(|| {
        format!(
            "the wall `{name}` is {thickness:.4} m thick, less than the kernel support of {h:.4} m: fluid on its \
             two sides feels each other"
        )
    })
}

/// Axes that repeat after few supports: the fluid feels its own image.
fn short_periods(scene: &Scene, h: f64) -> Vec<String> {
    let Some(domain) = &scene.domain else { return Vec::new() };
    let axes = ["x", "y", "z"].into_iter().enumerate().filter(|(a, _)| domain.periodic[*a]);
    axes.filter_map(|(a, name)| {
        let length = domain.max[a] - domain.min[a];
        let cells = length / scene.model.spacing;
        if length < 4.0 * h {
            return Some(format!(
                "the periodic axis {name} is {length:.4} m long, under four kernel supports ({:.4} m): the fluid \
                 feels its own image",
                4.0 * h
            ));
        }
        // A lattice that does not close on itself starts with a seam.
        ((cells - cells.round()).abs() > 1e-3).then(|| {
            format!("the periodic axis {name} is {cells:.3} spacings long: a whole number of them has no seam")
        })
    })
    .collect()
}

/// Emitters in walls, outside the domain, in each other or in the starting fluid.
fn emitters(scene: &Scene, walls: &Walls) -> Vec<String> {
    let d = scene.model.particle_spacing();
    let places: Vec<Vec<DVec3>> = scene.emitters.iter().map(|e| e.shape.fill(d)).collect();
    let mut warnings = Vec::new();
    for (i, emitter) in scene.emitters.iter().enumerate() {
        let name = &emitter.name;
        let total = places[i].len();
        let mut tell = |n: usize, where_: &str| {
            if n > 0 {
                warnings.push(format!("{n} of the {total} places of the emitter `{name}` lie {where_}"));
            }
        };
        if total == 0 {
            warnings.push(format!("the emitter `{name}` is smaller than a particle: it emits nothing"));
            continue;
        }
        let outside =
            |p: &&DVec3| scene.domain.as_ref().is_some_and(|b| !Aabb::new(b.min, b.max).contains(**p));
        tell(places[i].iter().filter(outside).count(), "outside the domain");
        let in_wall = |p: &&DVec3| !outside(p) && walls.distance(**p, d) < 0.0;
        tell(places[i].iter().filter(in_wall).count(), "in a wall");
        let in_fluid =
            |p: &&DVec3| scene.fluids.iter().filter_map(|f| f.shape.as_ref()).any(|s| s.contains(**p));
        tell(places[i].iter().filter(in_fluid).count(), "in the starting fluid");
        for (j, other) in scene.emitters.iter().enumerate().skip(i + 1) {
            if share_time(emitter, other) && near(&places[i], &places[j], CLASH * d) {
                warnings.push(format!("the emitters `{name}` and `{}` overlap", other.name));
            }
        }
    }
    warnings
}

fn share_time(a: &Emitter, b: &Emitter) -> bool {
    a.start < b.stop && b.start < a.stop
}

/// Whether two sets of places come nearer than `distance`.
fn near(a: &[DVec3], b: &[DVec3], distance: f64) -> bool {
    let reach = Aabb::around(b.iter().copied()).grow(distance);
    a.iter()
        .filter(|p| reach.contains(**p))
        .any(|p| b.iter().any(|q| p.distance_squared(*q) < distance * distance))
}

/// What the model does not know of.
fn ignored(scene: &Scene) -> Vec<String> {
    let mut warnings = Vec::new();
    let kind = scene.model.kind;
    if kind == ModelKind::Mac {
        // Water's is the default: that it is missing needs no telling.
        for f in scene.fluids.iter().filter(|f| f.surface_tension > 0.0 && f.surface_tension != WATER) {
            warnings.push(format!(
                "the model `mac` has no surface tension: that of `{}`, {} N/m, has no effect",
                f.name, f.surface_tension
            ));
        }
        let cloth = |s: &&Solid| s.kind == SolidKind::Cloth;
        if scene.model.mac.coupling == Coupling::Pressure {
            for s in scene.solids.iter().filter(cloth) {
                warnings.push(format!(
                    "liquid passes through the cloth `{}`: only model.coupling = \"markers\" feels it",
                    s.name
                ));
            }
        }
    }
    if kind == ModelKind::LennardJones && !scene.solids.is_empty() {
        warnings.push("the model `lennard-jones` does not feel solids: they move by themselves".into());
    }
    warnings
}

/// Switches that nothing in the scene turns on.
fn switches(scene: &Scene) -> Vec<String> {
    use undine::scene::Action;
    let turned_on = |name: &str| {
        scene.events.iter().any(|e| matches!(&e.action, Action::Switch { name: n, on: true } if n == name))
    };
    let wanted = scene.emitters.iter().filter_map(|e| Some((e.name.as_str(), e.switch.as_deref()?)));
    wanted
        .filter(|(_, switch)| !turned_on(switch))
        .map(|(name, switch)| {
            format!("the emitter `{name}` waits for the switch `{switch}`, which no [[event]] turns on")
        })
        .collect()
}
