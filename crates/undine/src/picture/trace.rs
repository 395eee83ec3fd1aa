//! From a ray to the light that comes along it.

use glam::{Vec2, Vec3};

use super::optics::{fresnel, pane, reflect, refract, transmittance};
use super::random::{Random, cone_direction, cosine_direction};
use super::ray::{Hit, Ray};
use super::stage::{GLASS, Material, PANE_TINT, Stage, Tint};

/// Bounces after which a path takes the sky's mean light.
const DEPTH: u32 = 14;
/// Unseen borders after which it does, too.
const UNSEEN: u32 = 64;
/// Bounces at which both the mirrored and the bent ray are followed; later one is drawn.
const SPLITS: u32 = 4;
/// Rays that count less than this are answered without looking for hits.
const FAINT: f32 = 0.03;
/// The same for what panes mirror: there are many of them, and they are there to be looked through.
const FAINT_PANE: f32 = 0.12;

/// The media a point is in. Glass displaces fluids, so a fluid may reach a little into its wall without a gap of
/// air between (nested dielectrics by priority, Schmidt & Budge 2002). Fluids displace one another by rank and are only
/// where the border of all of them is around.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inside {
    /// How often glass was entered and not left.
    glass: u8,
    /// The same of the border of all fluids.
    fluid: u8,
    /// Bit k: whether the point is inside the interface of rank k + 1.
    interfaces: u32,
}

impl Inside {
    fn tint<'a>(&self, stage: &'a Stage) -> Option<&'a Tint> {
        let rank = (u32::BITS - self.interfaces.leading_zeros()) as u8;
        (self.glass == 0 && self.fluid > 0).then(|| stage.tint(rank))
    }

    /// Index of refraction here.
    pub fn index(&self, stage: &Stage) -> f32 {
        if self.glass > 0 { GLASS } else { self.tint(stage).map_or(1.0, |t| t.index) }
    }

    /// What dims light here, 1/m.
    pub fn extinction(&self, stage: &Stage) -> Vec3 {
        if self.glass > 0 { stage.glass } else { self.tint(stage).map_or(Vec3::ZERO, |t| t.absorption) }
    }

    /// The media on the other side of a border. Leaving what was never entered (a leak between triangles) is no harm.
    #[must_use]
    pub fn across(mut self, border: Material, entering: bool) -> Self {
        let step = |n: u8| if entering { n.saturating_add(1) } else { n.saturating_sub(1) };
        match border {
            Material::Glass => self.glass = step(self.glass),
            Material::Fluid => self.fluid = step(self.fluid),
            Material::Interface(rank) => {
                let bit = 1 << ((rank.max(1) - 1) % 32);
                self.interfaces = if entering { self.interfaces | bit } else { self.interfaces & !bit };
            }
            _ => {}
        }
        self
    }

    /// The same, having left nothing that was not entered: a back face proves that its inside is here.
    fn proven(mut self, border: Material, entering: bool) -> Self {
        match border {
            Material::Glass if !entering => self.glass = self.glass.max(1),
            Material::Fluid if !entering => self.fluid = self.fluid.max(1),
            Material::Interface(_) => self = self.across(border, !entering),
            _ => {}
        }
        self
    }
}

/// A ray on its way, with what its past means for it.
#[derive(Clone, Copy)]
struct Path {
    ray: Ray,
    inside: Inside,
    /// Share of the pixel that hangs on it.
    weight: f32,
    /// Bounces so far.
    depth: u32,
    /// Borders so far that were none, within a medium of higher rank or outside of all.
    unseen: u32,
    /// Way so far, m: the width of its footprint.
    travel: f32,
    /// Whether the sun's disc may be seen along it.
    sees_sun: bool,
}

/// A tracer of one pixel sample.
pub struct Tracer<'a> {
    /// What there is.
    pub stage: &'a Stage,
    /// Angle of a pixel, rad.
    pub pixel: f32,
    /// Whether what panes faintly mirror is the even sky, without clouds.
    pub plain: bool,
}

impl Tracer<'_> {
    /// Light along a ray from the camera.
    pub fn radiance(&self, ray: Ray, inside: Inside, random: &mut Random) -> Vec3 {
        self.follow(
            Path { ray, inside, weight: 1.0, depth: 0, unseen: 0, travel: 0.0, sees_sun: true },
            random,
        )
    }

    fn follow(&self, mut path: Path, random: &mut Random) -> Vec3 {
        let stage = self.stage;
        let to_ground = self.to_ground(&path.ray);
        let hit = stage.geometry.nearest(&Ray { farthest: to_ground, ..path.ray });
        let way = hit.map_or(to_ground, |h| h.t);
        path.travel += if way.is_finite() { way } else { 0.0 };
        let (seen, glow) = self.media(&path, way, random);
        // Most of the water stops all light: what is behind it need not be known.
        if seen == Vec3::ZERO {
            return self.through(&path, way, glow);
        }
        path.weight *= seen.max_element().min(1.0);
        let behind = match hit {
            Some(hit) => self.shade(&path, &hit, random),
            None if to_ground.is_finite() => self.ground(&path, to_ground),
            None if path.sees_sun => stage.sky.radiance_with_sun(path.ray.direction),
            None => stage.sky.radiance(path.ray.direction),
        };
        self.through(&path, way, behind * seen + glow)
    }

    fn to_ground(&self, ray: &Ray) -> f32 {
        let t = self.stage.ground.as_ref().map_or(-1.0, |g| (g.level - ray.origin.y) / ray.direction.y);
        if t > ray.nearest { t } else { f32::INFINITY }
    }

    /// Share of light that comes through all volumes on the next `way` m, and what they add.
    fn media(&self, path: &Path, way: f32, random: &mut Random) -> (Vec3, Vec3) {
        let stage = self.stage;
        let (mut seen, mut glow) = (Vec3::ONE, Vec3::ZERO);
        for medium in &stage.volumes {
            let there = Ray { origin: path.ray.origin + stage.origin, farthest: way, ..path.ray };
            if let Some((near, far)) = medium.bounds().span(&there) {
                let p = medium.passage(&there, near, far, random.unit(), &stage.sky);
                (seen, glow) = (seen * p.transmittance, glow * p.transmittance + p.emitted);
            }
        }
        (seen, glow)
    }

    /// What is left of `light` after `way` m in a fluid or glass, and what that adds.
    fn through(&self, path: &Path, way: f32, light: Vec3) -> Vec3 {
        let stage = self.stage;
        let Some(tint) = path.inside.tint(stage) else {
            return light * transmittance(path.inside.extinction(stage), way.min(1e9));
        };
        // A ray that never leaves its fluid has slipped through a crack: nothing is known of the way.
        let way = if way.is_finite() { way } else { 0.0 };
        let through = transmittance(tint.absorption + tint.scattering, way);
        let scattered = tint.scattering / (tint.absorption + tint.scattering).max(Vec3::splat(1e-20));
        light * through + (1.0 - through) * scattered * tint.glow * stage.sky.ambient()
    }

    fn ground(&self, path: &Path, t: f32) -> Vec3 {
        let stage = self.stage;
        let Some(ground) = &stage.ground else { return Vec3::ZERO };
        let (p, d) = (path.ray.at(t), path.ray.direction);
        let albedo = ground.albedo(p, path.travel * self.pixel / d.y.abs().max(1e-3).sqrt());
        let at = Vec2::new(p.x, p.z);
        let sun = ground.sun.as_ref().map_or(Vec3::ONE, |m| m.at(at));
        let sky = ground.sky.as_ref().map_or(Vec3::ONE, |m| m.at(at));
        let direct = stage.sky.sunlight * (stage.sky.sun.y.max(0.0) / std::f32::consts::PI);
        let light = albedo * (direct * sun + stage.sky.ambient() * sky);
        let far = 1.0 - (-(at.length() / ground.fade).powi(2)).exp();
        light.lerp(stage.sky.horizon(d), far)
    }

    fn shade(&self, path: &Path, hit: &Hit, random: &mut Random) -> Vec3 {
        let stage = self.stage;
        if path.depth >= DEPTH || path.unseen >= UNSEEN {
            return stage.sky.ambient();
        }
        let d = path.ray.direction;
        let (flat, smooth, paint, material) = stage.geometry.surface(&path.ray, hit);
        let entering = d.dot(flat) < 0.0;
        let (flat, smooth) = if entering { (flat, smooth) } else { (-flat, -smooth) };
        let n = if d.dot(smooth) < -1e-3 { smooth } else { flat };
        let p = path.ray.at(hit.t);
        let border = stage.material(material);
        match border {
            Material::Matte { albedo, coat } => self.matte(path, p, flat, n, albedo, coat, random),
            Material::Painted { coat } => self.matte(path, p, flat, n, paint, coat, random),
            Material::Skin { albedo, coat } => paint + self.matte(path, p, flat, n, albedo, coat, random),
            Material::Pane => {
                let share = pane(-d.dot(flat), GLASS);
                let straight = |path: &Path| Path { ray: Ray::new(p, d, stage.epsilon), ..*path };
                self.branch(
                    path,
                    share,
                    mirror(d, flat, flat),
                    p,
                    path.inside,
                    straight,
                    (PANE_TINT, FAINT_PANE),
                    random,
                )
            }
            Material::Fluid | Material::Interface(_) | Material::Glass => {
                let here = path.inside.proven(border, entering);
                let there = here.across(border, entering);
                let eta = here.index(stage) / there.index(stage);
                if (eta - 1.0).abs() < 1e-4 {
                    // Within a medium of higher rank, or between media that bend light alike, the border is not seen.
                    let ray = Ray::new(p, d, stage.epsilon);
                    return self
                        .follow(Path { ray, inside: there, unseen: path.unseen + 1, ..*path }, random);
                }
                let bent = refract(d, n, eta);
                let share = if bent.is_some() { fresnel(-d.dot(n), eta) } else { 1.0 };
                // Bent away from the surface's other side by a smooth normal: along it instead.
                let bent = bent.unwrap_or(d);
                let bent = if bent.dot(flat) > -1e-4 {
                    (bent - (bent.dot(flat) + 1e-3) * flat).normalize_or(d)
                } else {
                    bent
                };
                let go = |path: &Path| Path { ray: Ray::new(p, bent, stage.epsilon), inside: there, ..*path };
                self.branch(path, share, mirror(d, n, flat), p, here, go, (Vec3::ONE, FAINT), random)
            }
        }
    }

    /// Follows the mirrored and the passing ray, or one of them.
    fn branch(
        &self,
        path: &Path,
        share: f32,
        mirrored: Vec3,
        p: Vec3,
        here: Inside,
        pass: impl Fn(&Path) -> Path,
        (tint, faint): (Vec3, f32),
        random: &mut Random,
    ) -> Vec3 {
        let next = Path { depth: path.depth + 1, ..*path };
        let back = Path { ray: Ray::new(p, mirrored, self.stage.epsilon), inside: here, ..next };
        if share >= 1.0 {
            return self.follow(back, random);
        }
        if path.depth < SPLITS {
            let mut light = Vec3::ZERO;
            let weight = path.weight * share;
            if weight > faint {
                light += share * self.follow(Path { weight, ..back }, random);
            } else if share > 0.0 {
                light += share * self.glimpse(&back);
            }
            let weight = path.weight * (1.0 - share);
            return light + (1.0 - share) * tint * self.follow(Path { weight, ..pass(&next) }, random);
        }
        if random.unit() < share {
            self.follow(back, random)
        } else {
            tint * self.follow(pass(&next), random)
        }
    }

    /// The light along a ray that hardly counts.
    fn glimpse(&self, path: &Path) -> Vec3 {
        let sky = &self.stage.sky;
        let d = path.ray.direction;
        if path.inside.index(self.stage) > 1.0 || d.y < 0.0 {
            sky.ambient()
        } else if self.plain {
            sky.diffuse(d)
        } else {
            sky.radiance_with_sun(d)
        }
    }

    fn matte(
        &self,
        path: &Path,
        p: Vec3,
        flat: Vec3,
        n: Vec3,
        albedo: Vec3,
        coat: f32,
        random: &mut Random,
    ) -> Vec3 {
        let stage = self.stage;
        let sky = &stage.sky;
        let mut light = Vec3::ZERO;
        if sky.sunlight != Vec3::ZERO {
            // With one ray a pixel the width of the sun would be grain.
            let to_sun =
                if self.plain { sky.sun } else { cone_direction(sky.sun, sky.sun_angle, random.pair()) };
            let cos = to_sun.dot(n);
            if cos > 0.0 && to_sun.dot(flat) > 0.0 {
                let seen = stage.visibility(&Ray::new(p, to_sun, stage.epsilon));
                light += sky.sunlight * seen * (cos / std::f32::consts::PI);
            }
        }
        // What hides the sky is lit too: about as brightly as this surface, by less light.
        let blocked = |seen: Vec3| (1.0 - seen) * albedo * (0.35 * sky.ambient());
        // And so would be the parts of the sky.
        let d = if self.plain { n } else { cosine_direction(n, random.pair()) };
        let ray = Ray::new(p, d, stage.epsilon);
        light += stage.given_off(&Ray { farthest: self.to_ground(&ray), ..ray });
        light += if self.to_ground(&ray).is_finite() {
            // Light off the ground, less the nearer it lies.
            let seen = stage.visibility(&Ray { farthest: self.to_ground(&ray), ..ray });
            blocked(seen) + seen * self.ground(&Path { ray, travel: 1e3, ..*path }, self.to_ground(&ray))
        } else {
            let seen = stage.visibility(&ray);
            blocked(seen) + seen * sky.diffuse(d)
        };
        light *= albedo;
        if coat > 0.0 {
            let share = coat * fresnel(-path.ray.direction.dot(n), 1.0 / GLASS);
            let back = Path {
                ray: Ray::new(p, mirror(path.ray.direction, n, flat), stage.epsilon),
                weight: path.weight * share,
                depth: path.depth + 1,
                ..*path
            };
            let seen = if back.weight > FAINT { self.follow(back, random) } else { self.glimpse(&back) };
            light = light * (1.0 - share) + share * seen;
        }
        light
    }
}

/// Mirror direction at the smooth normal, kept on the surface's side.
fn mirror(d: Vec3, n: Vec3, flat: Vec3) -> Vec3 {
    let r = reflect(d, n);
    let under = r.dot(flat);
    if under > 1e-3 { r } else { (r + (2e-3 - under) * flat).normalize_or(flat) }
}
