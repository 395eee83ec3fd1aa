//! A level ground with a fine checker, and the light on it: sun (with the shadows and caustics of what stands on it)
//! and sky, each worked out once for the whole ground, so that the picture has no noise there.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::optics::{fresnel, pane, refract, transmittance};
use super::random::{Random, cone_direction, cosine_direction, r2};
use super::ray::Ray;
use super::sky::smoothstep;
use super::stage::{GLASS, Material, PANE_TINT, Stage};
use super::tone::linear;
use super::trace::Inside;
use super::tree::Bounds;
use crate::scene::Backdrop;

/// Share of sunlight that is not bent by water and glass.
const STRAIGHT: f32 = 0.2;

/// Share of light that white paper sends back.
const PAPER: f32 = 0.8;

/// The ground plane.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Its height, m.
    pub level: f32,
    /// Edge of a checker square, m.
    pub square: f32,
    /// Distance over which it fades into the horizon, m.
    pub fade: f32,
    /// Colours of the squares, linear.
    pub colors: [Vec3; 2],
    /// A picture on it, and the rectangle that it covers (lowest x and z, size), m.
    pub picture: Option<(Backdrop, Vec2, Vec2)>,
    /// Sunlight that arrives, as a share of the full sun.
    pub sun: Option<LightMap>,
    /// Skylight that arrives, as a share of the open sky.
    pub sky: Option<LightMap>,
}

/// Light over a rectangle of the ground; 1 beyond it.
#[derive(Clone, Debug)]
pub struct LightMap {
    min: Vec2,
    size: Vec2,
    cells: [usize; 2],
    light: Vec<Vec3>,
}

impl LightMap {
    fn new(min: Vec2, max: Vec2, finest: usize) -> Self {
        let size = (max - min).max(Vec2::splat(1e-20));
        let edge = size.max_element() / finest as f32;
        let count = |x: f32| ((x / edge).ceil() as usize).clamp(1, finest);
        let cells = [count(size.x), count(size.y)];
        Self { min, size, cells, light: vec![Vec3::ZERO; cells[0] * cells[1]] }
    }

    /// Middle of a cell moved by `offset` (-½..½ cells).
    fn place(&self, cell: usize, offset: Vec2) -> Vec2 {
        let (i, j) = (cell % self.cells[0], cell / self.cells[0]);
        let cells = Vec2::new(self.cells[0] as f32, self.cells[1] as f32);
        self.min + self.size * (Vec2::new(i as f32, j as f32) + 0.5 + offset) / cells
    }

    /// The four cells around a place with their shares; `None` outside.
    fn around(&self, p: Vec2) -> Option<[(usize, f32); 4]> {
        let q = (p - self.min) / self.size * Vec2::new(self.cells[0] as f32, self.cells[1] as f32) - 0.5;
        let inside = q.cmpge(Vec2::splat(-0.5)).all()
            && q.x <= self.cells[0] as f32 - 0.5
            && q.y <= self.cells[1] as f32 - 0.5;
        if !inside {
            return None;
        }
        let (fx, fy) = (q.x - q.x.floor(), q.y - q.y.floor());
        let at = |i: f32, j: f32| {
            let i = (q.x.floor() + i).clamp(0.0, self.cells[0] as f32 - 1.0) as usize;
            let j = (q.y.floor() + j).clamp(0.0, self.cells[1] as f32 - 1.0) as usize;
            j * self.cells[0] + i
        };
        Some([
            (at(0.0, 0.0), (1.0 - fx) * (1.0 - fy)),
            (at(1.0, 0.0), fx * (1.0 - fy)),
            (at(0.0, 1.0), (1.0 - fx) * fy),
            (at(1.0, 1.0), fx * fy),
        ])
    }

    /// Spreads each cell a little over its neighbours (¼ ½ ¼ both ways): photons are few.
    fn soften(&mut self) {
        let [nx, nz] = self.cells;
        let blur = |from: &[Vec3], stride: usize, along: &dyn Fn(usize) -> (usize, usize)| -> Vec<Vec3> {
            let one = |cell: usize| {
                let (i, n) = along(cell);
                let before = if i > 0 { from[cell - stride] } else { from[cell] };
                let after = if i + 1 < n { from[cell + stride] } else { from[cell] };
                0.25 * before + 0.5 * from[cell] + 0.25 * after
            };
            (0..from.len()).map(one).collect()
        };
        let across = blur(&self.light, 1, &|cell| (cell % nx, nx));
        self.light = blur(&across, nx, &|cell| (cell / nx, nz));
    }

    /// Light at a place of the ground.
    pub fn at(&self, p: Vec2) -> Vec3 {
        match self.around(p) {
            Some(four) => four.iter().map(|&(i, share)| share * self.light[i]).sum(),
            None => Vec3::ONE,
        }
    }
}

impl Ground {
    /// Albedo at a place seen with a footprint of `width` m; the squares blur before they alias.
    pub fn albedo(&self, p: Vec3, width: f32) -> Vec3 {
        if let Some((picture, min, size)) = &self.picture {
            let q = (Vec2::new(p.x, p.z) - *min) / *size;
            if q.cmpge(Vec2::ZERO).all() && q.cmple(Vec2::ONE).all() {
                let color = |c: [u8; 3]| Vec3::from(c.map(linear)) * PAPER;
                return picture.around(q.x, q.y).iter().map(|&(c, share)| share * color(c)).sum();
            }
        }
        let q = Vec2::new(p.x, p.z) / self.square;
        let w = (width / self.square).max(1e-4);
        // Box-filtered checker: the integral of a square wave over the footprint, along each axis.
        let wave = |x: f32| 2.0 * ((0.5 * x - (0.5 * x).floor()) - 0.5).abs();
        let along = |x: f32| ((wave(x - 0.5 * w) - wave(x + 0.5 * w)) / w).clamp(-1.0, 1.0);
        let checker = 0.5 - 0.5 * along(q.x) * along(q.y);
        // Beyond a few squares a footprint even the filter shimmers.
        let checker = checker + (0.5 - checker) * smoothstep(0.8, 3.0, w);
        self.colors[0].lerp(self.colors[1], checker)
    }
}

/// Works out the light on the ground of a finished stage: `finest` cells along the longer edge of the lit rectangle.
pub fn light_ground(stage: &mut Stage, finest: usize) {
    let Some(ground) = &stage.ground else { return };
    let volumes = stage.volumes.iter().map(|m| m.bounds()).filter(Bounds::is_sound);
    let volumes = volumes.map(|b| Bounds { min: b.min - stage.origin, max: b.max - stage.origin });
    // What a volume has lost far away casts no shadow that is seen: the rest of the stage tells how large it is.
    let around = stage.geometry.bounds();
    let around = if around.is_sound() { around } else { volumes.fold(around, Bounds::union) };
    if !around.is_sound() || around.max.y <= ground.level {
        return;
    }
    let level = ground.level;
    let finest = finest.clamp(8, 4096);
    let (sun, sky) =
        (sun_map(stage, around, level, finest), sky_map(stage, around, level, (finest / 6).max(8)));
    if let Some(ground) = &mut stage.ground {
        (ground.sun, ground.sky) = (sun, Some(sky));
    }
}

fn flat(p: Vec3) -> Vec2 {
    Vec2::new(p.x, p.z)
}

/// Photons from the sun, bent by water and glass, gathered where they land.
fn sun_map(stage: &Stage, around: Bounds, level: f32, finest: usize) -> Option<LightMap> {
    let sun = stage.sky.sun;
    if stage.sky.sunlight == Vec3::ZERO || sun.y < 0.05 {
        return None;
    }
    let height = (around.max.y - level).max(0.0);
    let shift = -flat(sun) / sun.y * height;
    let margin = 0.15 * around.size().max_element();
    let min = flat(around.min).min(flat(around.min) + shift) - margin;
    let max = flat(around.max).max(flat(around.max) + shift) + margin;
    let mut map = LightMap::new(min, max, finest);
    let far = 2.0 * (max - min).length() + 2.0 * height;
    // Four photons a cell on a regular lattice: those that meet nothing land evenly, without noise.
    let landed: Vec<Vec<(Vec2, Vec3)>> = (0..map.cells[1])
        .into_par_iter()
        .map(|row| {
            let mut landed = Vec::with_capacity(4 * map.cells[0]);
            for cell in row * map.cells[0]..(row + 1) * map.cells[0] {
                for k in 0..4 {
                    let offset = Vec2::new((k % 2) as f32, (k / 2) as f32) * 0.5 - 0.25;
                    let target = map.place(cell, offset);
                    let mut random = Random::new(cell as u64, 77 + k as u64);
                    let from = cone_direction(sun, stage.sky.sun_angle, r2(k, random.pair()));
                    let target = Vec3::new(target.x, level, target.y);
                    let ray = Ray { farthest: far, ..Ray::new(target + far * from, -from, 0.0) };
                    // A part goes straight: light that is scattered on its way keeps shadows from being black.
                    let straight = stage.visibility(&Ray::new(target, from, stage.epsilon));
                    landed.push((flat(target), 0.25 * STRAIGHT * straight));
                    let light = 0.25 * (1.0 - STRAIGHT);
                    landed.extend(photon(stage, ray, level).map(|(p, left)| (flat(p), light * left)));
                }
            }
            landed
        })
        .collect();
    for (p, light) in landed.into_iter().flatten() {
        for (i, share) in map.around(p).into_iter().flatten() {
            map.light[i] += share * light;
        }
    }
    map.soften();
    // The lattice covers only the map: its rim lacks the photons of its neighbours.
    let [nx, nz] = map.cells;
    for (cell, light) in map.light.iter_mut().enumerate() {
        let (i, j) = (cell % nx, cell / nx);
        if i < 2 || j < 2 || i + 2 >= nx || j + 2 >= nz {
            *light = Vec3::ONE;
        }
    }
    Some(map)
}

/// Follows sunlight to the ground: where it lands and what is left of it.
fn photon(stage: &Stage, mut ray: Ray, level: f32) -> Option<(Vec3, Vec3)> {
    let mut light = Vec3::ONE;
    let mut inside = Inside::default();
    for _ in 0..24 {
        let t = (level - ray.origin.y) / ray.direction.y;
        let to_ground = if t > ray.nearest { t } else { f32::INFINITY };
        let hit = stage.geometry.nearest(&Ray { farthest: to_ground, ..ray });
        let way = hit.map_or(to_ground, |h| h.t);
        light *= transmittance(inside.extinction(stage), way);
        light *= stage.through_volumes(&Ray { farthest: way, ..ray });
        let Some(hit) = hit else {
            return to_ground.is_finite().then(|| (ray.at(to_ground), light));
        };
        let (flat, smooth, _, material) = stage.geometry.surface(&ray, &hit);
        let entering = ray.direction.dot(flat) < 0.0;
        let n = if entering { smooth } else { -smooth };
        let n = if ray.direction.dot(n) < 0.0 {
            n
        } else if entering {
            flat
        } else {
            -flat
        };
        let cos = -ray.direction.dot(n);
        let direction = match stage.material(material) {
            Material::Matte { .. } | Material::Painted { .. } | Material::Skin { .. } => return None,
            Material::Pane => {
                light *= PANE_TINT * (1.0 - pane(cos, GLASS));
                ray.direction
            }
            border => {
                let before = inside.index(stage);
                inside = inside.across(border, entering);
                let eta = before / inside.index(stage);
                match refract(ray.direction, n, eta) {
                    Some(bent) => {
                        light *= 1.0 - fresnel(cos, eta);
                        bent
                    }
                    None => {
                        inside = inside.across(border, !entering);
                        super::optics::reflect(ray.direction, n)
                    }
                }
            }
        };
        if light.max_element() < 0.01 {
            return None;
        }
        ray = Ray::new(ray.at(hit.t), direction, stage.epsilon);
    }
    None
}

/// Open share of the sky, seen through water and glass.
fn sky_map(stage: &Stage, around: Bounds, level: f32, finest: usize) -> LightMap {
    let margin = 0.5 * around.size().max_element();
    let mut map = LightMap::new(flat(around.min) - margin, flat(around.max) + margin, finest);
    const RAYS: u32 = 48;
    let light: Vec<Vec3> = (0..map.light.len())
        .into_par_iter()
        .map(|cell| {
            let p = map.place(cell, Vec2::ZERO);
            let p = Vec3::new(p.x, level, p.y);
            // The rim joins the open ground outside.
            let q = (flat(p) - map.min) / map.size;
            let rim = q.min(1.0 - q).min_element();
            let shift = Random::new(cell as u64, 5).pair();
            let sum: Vec3 = (0..RAYS)
                .map(|i| {
                    let d = cosine_direction(Vec3::Y, r2(i, shift));
                    stage.visibility(&Ray::new(p, d, stage.epsilon))
                })
                .sum();
            Vec3::ONE.lerp(sum / RAYS as f32, smoothstep(0.0, 0.25, rim))
        })
        .collect();
    map.light = light;
    map
}
