//! The stage: geometry, materials, media, ground and sky, ready for rays.

use std::ops::ControlFlow;
use std::sync::Arc;

use glam::Vec3;

use super::geometry::Geometry;
use super::ground::Ground;
use super::optics::{fresnel, pane, transmittance};
use super::ray::Ray;
use super::sky::Sky;
use super::trace::Inside;
use super::volume::Medium;

/// Index of refraction of water.
pub const WATER: f32 = 1.333;
/// Index of refraction of other liquids: oils, syrups and glycerine have 1.4 to 1.5.
pub const OIL: f32 = 1.46;
/// Index of refraction of glass.
pub const GLASS: f32 = 1.5;

/// How a surface answers light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Material {
    /// Scatters evenly, under a clear coat.
    Matte {
        /// Share of light scattered, linear.
        albedo: Vec3,
        /// Strength of the coat's mirror, 0..1.
        coat: f32,
    },
    /// Matte in the colour of the primitive.
    Painted {
        /// Strength of the coat's mirror, 0..1.
        coat: f32,
    },
    /// Matte, under a clear coat, and gives off the colour of the primitive as light.
    Skin {
        /// Share of light scattered, linear.
        albedo: Vec3,
        /// Strength of the coat's mirror, 0..1.
        coat: f32,
    },
    /// Border of all fluids together.
    Fluid,
    /// Border, within the fluids, around the one of this rank (1: the second) and all of higher rank.
    Interface(u8),
    /// Border of solid glass.
    Glass,
    /// A sheet of glass without thickness.
    Pane,
}

/// A fluid as a clear, tinted medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tint {
    /// Absorption, 1/m.
    pub absorption: Vec3,
    /// Scattering, 1/m.
    pub scattering: f32,
    /// Colour of the scattered light.
    pub glow: Vec3,
    /// Index of refraction.
    pub index: f32,
}

impl Tint {
    /// Glass in its own thickness.
    pub const CLEAR: Self = Self { absorption: Vec3::ZERO, scattering: 0.0, glow: Vec3::ZERO, index: WATER };
}

/// Everything a ray can meet.
pub struct Stage {
    /// Surfaces.
    pub geometry: Geometry,
    /// Materials, by the index that primitives carry.
    pub materials: Vec<Material>,
    /// Fluids by rank.
    pub tints: Vec<Tint>,
    /// Absorption of glass, 1/m.
    pub glass: Vec3,
    /// The level ground, if any.
    pub ground: Option<Ground>,
    /// Light from afar.
    pub sky: Sky,
    /// Media without surfaces.
    pub volumes: Vec<Arc<dyn Medium>>,
    /// Where the stage's origin lies in the scene, m.
    pub origin: Vec3,
    /// Length below which two surfaces are one, m.
    pub epsilon: f32,
}

/// Share of light that a pane lets through for its colour alone.
pub const PANE_TINT: Vec3 = Vec3::new(0.975, 0.992, 0.988);

impl Stage {
    /// The fluid of that rank.
    #[inline]
    pub fn tint(&self, rank: u8) -> &Tint {
        self.tints.get(rank as usize).or(self.tints.first()).unwrap_or(&Tint::CLEAR)
    }

    /// The material of that number.
    #[inline]
    pub fn material(&self, index: u16) -> Material {
        let gray = Material::Matte { albedo: Vec3::splat(0.5), coat: 0.0 };
        self.materials.get(index as usize).copied().unwrap_or(gray)
    }

    /// The light that what is met first along `ray` gives off by itself.
    pub fn given_off(&self, ray: &Ray) -> Vec3 {
        if !self.materials.iter().any(|m| matches!(m, Material::Skin { .. })) {
            return Vec3::ZERO;
        }
        let hit = self.geometry.nearest(ray).map(|hit| self.geometry.surface(ray, &hit));
        match hit {
            Some((_, _, paint, index)) if matches!(self.material(index), Material::Skin { .. }) => paint,
            _ => Vec3::ZERO,
        }
    }

    /// Share of light that arrives along `ray` (up to its end) from afar. Fluids and glass dim and tint it but do not
    /// bend it; so shadows of water are never black.
    pub fn visibility(&self, ray: &Ray) -> Vec3 {
        let mut share = Vec3::ONE;
        // Ways through the media as sums of exits less entries: hits may come in any order.
        let mut glass_way = 0.0;
        let mut fluid_way = 0.0;
        // Several fluids: what each way leads through is only known when all borders are in order.
        let mut borders: Vec<(f32, Material, bool)> = Vec::new();
        let mut blocked = false;
        self.geometry.each(&mut ray.clone(), |hit, ray| {
            let material = self.material(self.geometry.material(&hit));
            match material {
                Material::Matte { .. } | Material::Painted { .. } | Material::Skin { .. } => {
                    blocked = true;
                    return ControlFlow::Break(());
                }
                Material::Fluid | Material::Interface(_) => {
                    let (flat, smooth, ..) = self.geometry.surface(ray, &hit);
                    let leaving = ray.direction.dot(flat) > 0.0;
                    if material == Material::Fluid {
                        share *= 1.0 - fresnel(ray.direction.dot(smooth).abs(), 1.0 / WATER);
                        fluid_way += if leaving { hit.t } else { -hit.t };
                    }
                    if self.tints.len() > 1 {
                        borders.push((hit.t, material, !leaving));
                    }
                }
                Material::Glass => {
                    let (flat, ..) = self.geometry.surface(ray, &hit);
                    let cos = ray.direction.dot(flat);
                    share *= 1.0 - fresnel(cos.abs(), 1.0 / GLASS);
                    glass_way += if cos > 0.0 { hit.t } else { -hit.t };
                }
                Material::Pane => {
                    let (flat, ..) = self.geometry.surface(ray, &hit);
                    share *= PANE_TINT * (1.0 - pane(ray.direction.dot(flat).abs(), GLASS));
                }
            }
            if share.max_element() < 1e-3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if blocked {
            return Vec3::ZERO;
        }
        share *= if borders.is_empty() {
            transmittance(self.tint(0).absorption, fluid_way)
        } else {
            self.through_fluids(borders)
        };
        share * self.through_volumes(ray) * transmittance(self.glass, glass_way)
    }

    /// What the media without surfaces leave of light along a ray, up to its end.
    pub fn through_volumes(&self, ray: &Ray) -> Vec3 {
        let there = Ray { origin: ray.origin + self.origin, ..*ray };
        let through = |medium: &Arc<dyn Medium>| {
            let span = medium.bounds().span(&there);
            span.map_or(Vec3::ONE, |(near, far)| medium.transmittance(&there, near, far))
        };
        self.volumes.iter().map(through).product()
    }

    /// What is left of light after borders of fluids: where they are, which, and whether they are entered.
    fn through_fluids(&self, mut borders: Vec<(f32, Material, bool)>) -> Vec3 {
        borders.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Back from the far end, which is outside, to what the start is in.
        let back =
            |inside: Inside, &(_, border, entering): &(f32, Material, bool)| inside.across(border, !entering);
        let mut inside = borders.iter().rev().fold(Inside::default(), back);
        let (mut share, mut from) = (Vec3::ONE, 0.0);
        for (t, border, entering) in borders {
            share *= transmittance(inside.extinction(self), t - from);
            (inside, from) = (inside.across(border, entering), t);
        }
        share
    }
}
