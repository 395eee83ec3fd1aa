//! From a scene, a frame and a surface to a stage: what is drawn, of what, and where.

use glam::{DVec3, Vec2, Vec3};

use super::cling::cling;
use super::color::{self, Scale};
use super::geometry::{Disc, Geometry, Sphere};
use super::ground::Ground;
use super::mesher::Mesher;
use super::optics::absorption;
use super::pose::Pose;
use super::sky::Sky;
use super::stage::{Material, OIL, Stage, Tint, WATER};
use super::{Look, Mark, View};
use crate::scene::aabb::Aabb;
use crate::scene::shape::Shape;
use crate::scene::{Domain, Inside, Scene};
use crate::surface::{fluids_present, interfaces};

/// Material numbers; the interfaces between fluids follow [`FLUID`].
const STONE: u16 = 0;
const TERRAIN: u16 = 1;
const BODY: u16 = 2;
const GLASS: u16 = 3;
const PANE: u16 = 4;
const EDGE: u16 = 5;
const PAINT: u16 = 6;
const COLORED: u16 = 7;
const FLUID: u16 = 8;

/// Most fluids that are told apart.
const MOST_FLUIDS: usize = 33;
/// Density of a fluid that bends light like water, kg/m³: that of salt water, milk or ink too.
const WATERY: std::ops::Range<f64> = 970.0..1150.0;

/// Colours of fluids that name none, linear.
const PALETTE: [[f64; 3]; 4] = [[0.05, 0.3, 0.5], [0.8, 0.45, 0.05], [0.5, 0.06, 0.12], [0.1, 0.5, 0.12]];

/// The box that a picture shows, m: the same for every frame of a run where the scene tells it.
pub fn extent(view: &View) -> Aabb {
    let mut b = Aabb::EMPTY;
    if let Some(scene) = view.scene {
        if let Some(d) = &scene.domain {
            b = b.union(Aabb::new(d.min, d.max));
        }
        for wall in &scene.boundaries {
            let grow =
                if wall.inside == Inside::Hollow { side(wall.thickness, &wall.shape, scene) } else { 0.0 };
            b = b.union(wall.shape.bounds().grow(grow));
        }
        for fluid in &scene.fluids {
            b = fluid.shape.iter().fold(b, |b, s| b.union(s.bounds()));
        }
        b = scene.emitters.iter().fold(b, |b, e| b.union(e.shape.bounds()));
        b = scene.solids.iter().fold(b, |b, s| b.union(s.shape.bounds()));
    }
    let sound = |b: &Aabb| b.min.is_finite() && b.max.is_finite() && !b.is_empty();
    if !sound(&b) {
        let points = view.surface.iter().flat_map(|s| &s.position).chain(&view.frame.particles.position);
        let points = points.map(|p| DVec3::from_array(p.map(f64::from)));
        b = Aabb::around(points.filter(|p| p.is_finite()));
        for body in &view.frame.solids {
            let nodes = body.nodes.iter().map(|p| DVec3::from_array(p.map(f64::from)));
            b = b.union(Aabb::around(nodes.filter(|p| p.is_finite())).grow(f64::from(body.radius.max(0.0))));
        }
        for medium in view.volumes {
            let m = medium.bounds();
            b = b.union(Aabb::new(m.min.as_dvec3(), m.max.as_dvec3()));
        }
    }
    if sound(&b) { b } else { Aabb::new(DVec3::splat(-0.5), DVec3::splat(0.5)) }
}

/// Sets the stage under a sky.
pub fn compose(view: &View, look: &Look, scale: Option<&Scale>, sky: Sky) -> Stage {
    let extent = extent(view);
    let origin = extent.center();
    let length = extent.size().max_element().max(1e-6);
    let level = ground_level(view, extent);
    let mut mesher = Mesher { origin, ..Mesher::default() };
    let mut discs = Vec::new();
    if let Some(scene) = view.scene {
        if let Some(domain) = &scene.domain {
            tank(&mut mesher, domain, extent);
        }
        walls(&mut mesher, scene, view.frame.time, level, length);
    }
    bodies(&mut mesher, view);
    let mut fluids = fluids_present(view.frame);
    fluids.truncate(MOST_FLUIDS);
    if fluids.is_empty() {
        fluids = view.surface.iter().flat_map(|s| s.fluid.first().copied()).chain([0]).take(1).collect();
    }
    match look {
        Look::Water => water(&mut mesher, view, &fluids),
        Look::Surface(_) => painted_surface(&mut mesher, view, scale),
        Look::Volume => {}
        Look::Particles { mark, .. } => particles(&mut mesher, &mut discs, view, *mark, scale),
    }
    let depth = tint_depth(view, extent) as f32;
    let tints = fluids.iter().map(|&i| tint(view, usize::from(i), depth)).collect();
    let square = nice(length / 30.0) as f32;
    let ground = Ground {
        // A hair below what stands on it, or the two would flicker through each other.
        level: (level - origin.y - 4e-4 * length) as f32,
        square,
        fade: (4.0 * length) as f32,
        colors: [Vec3::new(0.54, 0.53, 0.505), Vec3::new(0.40, 0.40, 0.405)],
        picture: view.scene.and_then(|scene| {
            let (picture, domain) = (scene.backdrop.clone()?, scene.domain.as_ref()?);
            let (min, size) = ((domain.min - origin).as_vec3(), (domain.max - domain.min).as_vec3());
            Some((picture, Vec2::new(min.x, min.z), Vec2::new(size.x, size.z)))
        }),
        sun: None,
        sky: None,
    };
    Stage {
        geometry: Geometry::new(mesher.triangles, mesher.spheres, discs),
        materials: materials(view, &fluids),
        tints,
        glass: absorption(Vec3::new(0.86, 0.945, 0.92), (0.25 * length) as f32),
        ground: Some(ground),
        sky,
        volumes: view.volumes.to_vec(),
        origin: origin.as_vec3(),
        epsilon: (1e-5 * length) as f32,
    }
}

fn materials(view: &View, fluids: &[u8]) -> Vec<Material> {
    let matte = |r: f32, g: f32, b: f32, coat: f32| Material::Matte { albedo: Vec3::new(r, g, b), coat };
    let mut all = vec![
        matte(0.85, 0.20, 0.05, 0.6), // STONE: warm, so that it stands out of blue water
        matte(0.50, 0.43, 0.33, 0.0), // TERRAIN
        matte(0.80, 0.62, 0.12, 1.0), // BODY
        Material::Glass,
        Material::Pane,
        matte(0.62, 0.70, 0.70, 1.0), // EDGE
        Material::Painted { coat: 0.6 },
        Material::Painted { coat: 0.1 }, // COLORED: walls of a colour of their own, most of them stone
    ];
    all.push(Material::Fluid);
    all.extend((1..fluids.len()).map(|rank| Material::Interface(rank as u8)));
    // After them, the skins of fluids that are not seen through.
    all.extend(
        fluids.iter().map(|i| Material::Skin { albedo: fluid_color(view, usize::from(*i)), coat: 0.4 }),
    );
    all
}

/// 1, 2 or 5 times a power of ten, near `x`.
fn nice(x: f64) -> f64 {
    let power = 10f64.powf(x.max(1e-30).log10().floor());
    let m = x / power;
    power
        * if m < 1.41 {
            1.0
        } else if m < 3.16 {
            2.0
        } else if m < 7.07 {
            5.0
        } else {
            10.0
        }
}

fn ground_level(view: &View, extent: Aabb) -> f64 {
    let Some(scene) = view.scene else { return extent.min.y };
    let mut level = extent.min.y;
    for wall in scene.boundaries.iter().filter(|w| w.inside == Inside::Hollow) {
        level = level.min(wall.shape.bounds().min.y - bottom(wall.thickness, &wall.shape, scene));
    }
    match &scene.domain {
        // What is deeper than the domain's floor is outside the scene.
        Some(d) if !d.open.contains(&(1, false)) && !d.periodic[1] => d.min.y,
        _ => level,
    }
}

/// Drawn thickness of a container's sides: the model wants thick walls, the eye thin ones.
fn side(thickness: Option<f64>, shape: &Shape, scene: &Scene) -> f64 {
    let s = shape.bounds().size();
    bottom(thickness, shape, scene).min(0.045 * s.x.max(s.z))
}

fn bottom(thickness: Option<f64>, shape: &Shape, scene: &Scene) -> f64 {
    let t = thickness.unwrap_or(2.0 * scene.model.support());
    t.min(0.25 * shape.bounds().size().max_element())
}

/// The domain's sides as panes, with edges; its floor is the ground and its lid is left out.
fn tank(mesher: &mut Mesher, d: &Domain, extent: Aabb) {
    let wall = |axis: usize, upper: bool| !d.periodic[axis] && !d.open.contains(&(axis, upper));
    let (lo, hi) = (d.min, d.max);
    let p = DVec3::new;
    if wall(0, false) {
        mesher
            .quad([p(lo.x, lo.y, lo.z), p(lo.x, lo.y, hi.z), p(lo.x, hi.y, hi.z), p(lo.x, hi.y, lo.z)], PANE);
    }
    if wall(0, true) {
        mesher
            .quad([p(hi.x, lo.y, lo.z), p(hi.x, hi.y, lo.z), p(hi.x, hi.y, hi.z), p(hi.x, lo.y, hi.z)], PANE);
    }
    if wall(2, false) {
        mesher
            .quad([p(lo.x, lo.y, lo.z), p(lo.x, hi.y, lo.z), p(hi.x, hi.y, lo.z), p(hi.x, lo.y, lo.z)], PANE);
    }
    if wall(2, true) {
        mesher
            .quad([p(lo.x, lo.y, hi.z), p(hi.x, lo.y, hi.z), p(hi.x, hi.y, hi.z), p(lo.x, hi.y, hi.z)], PANE);
    }
    // Edges as thin rods just outside.
    let w = 0.0022 * extent.size().max_element();
    let mut rod = |a: DVec3, b: DVec3| {
        mesher.cuboid(&Pose::REST, a.min(b) - w, a.max(b) + w, false, true, EDGE);
    };
    for (i, x) in [lo.x - w, hi.x + w].into_iter().enumerate() {
        for (j, z) in [lo.z - w, hi.z + w].into_iter().enumerate() {
            if wall(0, i == 1) || wall(2, j == 1) {
                rod(p(x, lo.y, z), p(x, hi.y, z));
            }
        }
        if wall(0, i == 1) {
            rod(p(x, hi.y, lo.z - w), p(x, hi.y, hi.z + w));
        }
    }
    for (j, z) in [lo.z - w, hi.z + w].into_iter().enumerate() {
        if wall(2, j == 1) {
            rod(p(lo.x - w, hi.y, z), p(hi.x + w, hi.y, z));
        }
    }
}

fn walls(mesher: &mut Mesher, scene: &Scene, time: f64, level: f64, length: f64) {
    for wall in &scene.boundaries {
        let pose = Pose::new(&wall.motion, time);
        let hollow = wall.inside == Inside::Hollow;
        match (&wall.shape, hollow) {
            (Shape::Mesh(_), true) => mesher.solid(&pose, &wall.shape, PANE),
            (shape, true) => {
                let (side, bottom) =
                    (side(wall.thickness, shape, scene), bottom(wall.thickness, shape, scene));
                // What stands on the ground touches it: through a film of air its bottom would be a mirror, and show
                // bands of its own lower edge in the water.
                let stands = (shape.bounds().min.y - bottom - level).abs() < 1e-3 * length;
                let sunk = if stands { 2e-3 * length } else { 0.0 };
                mesher.container(&pose, shape, side, bottom, sunk, wall.open_top, GLASS);
            }
            (shape, false) if wall.clear => mesher.solid(&pose, shape, PANE),
            (shape, false) if wall.color.is_some() => {
                let (corners, balls) = (mesher.triangles.paint.len(), mesher.spheres.len());
                mesher.solid(&pose, shape, COLORED);
                let paint = Vec3::from_array(wall.color.unwrap_or_default().map(|c| c as f32));
                mesher.triangles.paint[corners..].fill(paint);
                mesher.spheres[balls..].iter_mut().for_each(|ball| ball.paint = paint);
            }
            (Shape::Heightfield(_), false) => mesher.solid(&pose, &wall.shape, TERRAIN),
            (shape, false) => mesher.solid(&pose, shape, STONE),
        }
    }
}

fn bodies(mesher: &mut Mesher, view: &View) {
    for body in &view.frame.solids {
        let at = |p: &[f32; 3]| DVec3::from_array(p.map(f64::from));
        if body.triangles.is_empty() {
            body.nodes.iter().for_each(|p| mesher.ball(at(p), f64::from(body.radius), BODY));
            continue;
        }
        let first = mesher.triangles.position.len() as u32;
        let count = body.nodes.len() as u32;
        let sound = |t: &&[u32; 3]| t.iter().all(|i| *i < count);
        let mut normal = vec![DVec3::ZERO; body.nodes.len()];
        for t in body.triangles.iter().filter(sound) {
            let [a, b, c] = t.map(|i| at(&body.nodes[i as usize]));
            let n = (b - a).cross(c - a);
            t.iter().for_each(|&i| normal[i as usize] += n);
        }
        for (p, n) in body.nodes.iter().zip(&normal) {
            mesher.corner(at(p), n.normalize_or_zero());
        }
        for t in body.triangles.iter().filter(sound) {
            mesher.triangle(t.map(|i| first + i), BODY);
        }
    }
}

/// The surface of all fluids as a border, laid against the walls, and the borders between them: clear, or the skin of a fluid
/// that is not seen through.
fn water(mesher: &mut Mesher, view: &View, fluids: &[u8]) {
    let Some(surface) = view.surface else { return };
    let (position, normal) = cling(surface, view);
    let rank_of = |fluid: u8| fluids.iter().position(|f| *f == fluid).unwrap_or(0);
    let skin = |rank: usize| FLUID + (fluids.len() + rank) as u16;
    let opaque: Vec<bool> = fluids.iter().map(|f| is_opaque(view, usize::from(*f))).collect();
    let any = |rank: usize| opaque.get(rank).copied().unwrap_or(false);
    let first = mesher.triangles.position.len();
    border(mesher, position.into_iter().zip(normal), &surface.triangles, |t| {
        let rank = surface.fluid.get(t[0] as usize).map_or(0, |f| rank_of(*f));
        if any(rank) { skin(rank) } else { FLUID }
    });
    if opaque.contains(&true) {
        for (i, paint) in mesher.triangles.paint[first..].iter_mut().enumerate() {
            let fluid = surface.fluid.get(i).copied().unwrap_or(fluids[0]);
            *paint = glow(view, usize::from(fluid), surface.velocity.get(i));
        }
    }
    // Particles of which no border can be made have no surface either, or another one: then one fluid is drawn.
    let borders = interfaces(view.frame, &crate::surface::Options::default()).unwrap_or_default();
    for inner in borders {
        let Some(rank) = fluids.iter().position(|f| *f == inner.fluid) else { continue };
        let corners = inner.surface.position.iter().zip(&inner.surface.normal);
        let at = |v: &[f32; 3]| DVec3::from_array(v.map(f64::from));
        let corners = corners.map(|(p, n)| (at(p), at(n)));
        // Of what lies on its two sides, that which is not seen through.
        let behind = [rank, rank.saturating_sub(1)].into_iter().find(|r| any(*r));
        let first = mesher.triangles.position.len();
        border(mesher, corners, &inner.surface.triangles, |_| behind.map_or(FLUID + rank as u16, skin));
        if let Some(behind) = behind {
            let light = glow(view, usize::from(fluids[behind]), None);
            mesher.triangles.paint[first..].fill(light);
        }
    }
}

fn is_opaque(view: &View, fluid: usize) -> bool {
    view.scene.and_then(|s| s.fluids.get(fluid)).is_some_and(|f| f.opaque || f.glow.is_some())
}

/// Light that a fluid gives off where it has this velocity, m/s. What emitters pour comes hot and gets a skin where it
/// comes to rest: darker, and the redder the darker.
fn glow(view: &View, fluid: usize, velocity: Option<&[f32; 3]>) -> Vec3 {
    let Some((scene, own)) = view.scene.and_then(|s| Some((s, s.fluids.get(fluid)?))) else {
        return Vec3::ZERO;
    };
    let Some(glow) = own.glow else { return Vec3::ZERO };
    let glow = Vec3::from_array(glow.map(|c| c as f32));
    let poured = scene.emitters.iter().filter(|e| e.fluid == fluid).map(|e| e.speed).fold(0.0, f64::max);
    let heat = match velocity {
        Some(v) if poured > 0.0 => {
            let speed = Vec3::from_array(*v).length();
            SKIN_HEAT + (1.0 - SKIN_HEAT) * speed / (speed + poured as f32)
        }
        _ => 1.0,
    };
    glow * Vec3::new(heat, heat.powf(1.7), heat.powf(2.5))
}

/// Share of its glow that a fluid keeps at rest.
const SKIN_HEAT: f32 = 0.05;

fn border(
    mesher: &mut Mesher,
    corners: impl Iterator<Item = (DVec3, DVec3)>,
    triangles: &[[u32; 3]],
    material: impl Fn(&[u32; 3]) -> u16,
) {
    let first = mesher.triangles.position.len() as u32;
    for (p, n) in corners {
        mesher.corner(p, n);
    }
    let count = mesher.triangles.position.len() as u32 - first;
    for t in triangles.iter().filter(|t| t.iter().all(|i| *i < count)) {
        mesher.triangle(t.map(|i| first + i), material(t));
    }
}

/// The surface as an opaque skin in the colours of a field.
fn painted_surface(mesher: &mut Mesher, view: &View, scale: Option<&Scale>) {
    let Some(surface) = view.surface else { return };
    let first = mesher.triangles.position.len();
    let (position, normal) = cling(surface, view);
    for (i, (p, n)) in position.into_iter().zip(normal).enumerate() {
        mesher.corner(p, n);
        let paint = match scale {
            Some(scale) => scale.color(color::surface_value(surface, scale.by, i)),
            None => fluid_color(view, surface.fluid.get(i).copied().unwrap_or(0) as usize),
        };
        mesher.triangles.paint[first + i] = paint;
    }
    let count = surface.position.len() as u32;
    for t in surface.triangles.iter().filter(|t| t.iter().all(|i| *i < count)) {
        mesher.triangle(t.map(|i| first as u32 + i), PAINT);
    }
}

fn particles(mesher: &mut Mesher, discs: &mut Vec<Disc>, view: &View, mark: Mark, scale: Option<&Scale>) {
    let particles = &view.frame.particles;
    let spacing = view.frame.spacing;
    let radius = (0.5 * if spacing > 0.0 { spacing } else { 0.01 }) as f32;
    let normals = particles.vector("normal");
    let values = scale.and_then(|s| color::values(particles, s.by));
    let fluids = particles.field("fluid");
    for (i, p) in particles.position.iter().enumerate() {
        let center = (DVec3::from_array(p.map(f64::from)) - mesher.origin).as_vec3();
        let paint = match (scale, &values) {
            (Some(scale), Some(values)) => scale.color(values[i]),
            _ => fluid_color(view, color::fluid_of(fluids, i)),
        };
        // Only particles at the surface have a normal that means something.
        let normal = normals.and_then(|n| n.get(i)).and_then(|n| Vec3::from_array(*n).try_normalize());
        match (mark, normal) {
            (Mark::Splats, Some(normal)) => {
                discs.push(Disc { center, normal, radius: 1.5 * radius, paint, material: PAINT });
            }
            _ => mesher.spheres.push(Sphere { center, radius, paint, material: PAINT }),
        }
    }
}

/// A fluid's colour, linear.
pub fn fluid_color(view: &View, fluid: usize) -> Vec3 {
    let own = view.scene.and_then(|s| s.fluids.get(fluid)).and_then(|f| f.color);
    Vec3::from_array(own.unwrap_or(PALETTE[fluid % PALETTE.len()]).map(|c| c as f32))
}

/// The depth at which light through a fluid has taken its colour, m: tied to the size of the scene, since a glass
/// of real water has no colour at all.
fn tint_depth(view: &View, extent: Aabb) -> f64 {
    let volume: f64 = view
        .scene
        .map_or(0.0, |s| s.fluids.iter().filter_map(|f| f.shape.as_ref()).map(|s| s.volume()).sum());
    let size = extent.size();
    let fluid = if volume > 0.0 { volume.cbrt() } else { size.min_element().max(0.2 * size.max_element()) };
    fluid.min(size.max_element()).max(1e-9)
}

fn tint(view: &View, fluid: usize, depth: f32) -> Tint {
    let color = fluid_color(view, fluid);
    let absorption = absorption(color, 1.1 * depth);
    let density = view.scene.and_then(|s| s.fluids.get(fluid)).map_or(1000.0, |f| f.density);
    let index = if WATERY.contains(&density) { WATER } else { OIL };
    // Scattered light has taken the colour on its way in and out.
    Tint { absorption, scattering: 0.45 / depth, glow: color.map(|c| c.max(0.0).powf(0.7)), index }
}
