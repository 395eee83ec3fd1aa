//! A fluid as a volume: rays march through its fraction, slice by slice, and skip what is clear.

use std::sync::Arc;

use glam::{Vec3, Vec4};

use super::table::Table;
use super::{Medium, Passage, Transfer};
use crate::frame::Frame;
use crate::picture::View;
use crate::picture::compose::extent;
use crate::picture::optics::{fresnel, reflect};
use crate::picture::ray::Ray;
use crate::picture::sky::Sky;
use crate::picture::stage::WATER;
use crate::picture::tree::{Bounds, EMPTY, Tree};
use crate::scene::{Sampling, Scene, Volume, VolumeShading};
use crate::volume::{self, Finder, Fraction, VolumeError};

/// Rays end where less than this share of light comes through.
const FAINT: f32 = 0.004;
/// Slices that stop less light than this are not shaded.
const UNSEEN: f32 = 0.002;
/// Thickness of a slice, in cells, where the scene does not tell.
const STEP: f64 = 1.5;
/// Most slices of a ray.
const MOST: usize = 1 << 16;

/// The fraction that particles fill, with a transfer function.
pub struct FluidVolume {
    field: Fraction,
    transfer: Transfer,
    table: Table,
    sampling: Sampling,
    shading: VolumeShading,
    /// Blocks in which something is to be seen.
    tree: Tree,
    pub(super) seen: Vec<Bounds>,
    bounds: Bounds,
}

impl FluidVolume {
    /// The particles of a frame as `look` wants them; the scene tells how large the whole is.
    pub fn new(scene: Option<&Scene>, frame: &Frame, look: &Volume) -> Result<Self, VolumeError> {
        let options = volume::Options {
            cell: look.cell,
            radius: look.radius,
            spread: look.spread,
            spacing: (frame.spacing <= 0.0).then_some(0.01),
        };
        let field = volume::build(frame, &options)?;
        let spacing = f64::from(field.cell()) / look.cell;
        let longest = extent(&View { scene, ..View::new(frame) }).size().max_element().max(spacing);
        let depth = look.depth.or(look.preset.depth().map(|share| share * longest)).unwrap_or(spacing);
        let step = look.slices.map_or(STEP * f64::from(field.cell()), |n| longest / n.max(1) as f64);
        // A step of a millionth of the scene has no meaning in single precision.
        let step = step.max(1e-6 * longest);
        // Fluid is compressed by some percent at most; above, the function goes on as it is there.
        let last = look.points.last().map_or(0.0, |p| p.value);
        let top = (1.3 * options.at_rest()).max(last).max(1e-6);
        let transfer = Transfer::of_points(&look.points, depth, top);
        Ok(Self::with_transfer(field, transfer, step as f32, look.sampling, look.shading))
    }

    /// A field and a transfer function that starts at 0, in slices of `step` m.
    pub fn with_transfer(
        field: Fraction,
        transfer: Transfer,
        step: f32,
        sampling: Sampling,
        shading: VolumeShading,
    ) -> Self {
        let table = Table::new(&transfer, step);
        let blocks = (0..field.blocks()).map(|i| field.block(i));
        let seen: Vec<Bounds> =
            blocks.filter(|(_, [low, high])| !table.is_clear(*low, *high)).map(|(b, _)| b).collect();
        let bounds = seen.iter().fold(Bounds::EMPTY, |a, b| a.union(*b));
        Self { tree: Tree::new(&seen), field, transfer, table, sampling, shading, seen, bounds }
    }

    /// Where a ray is in blocks with something to be seen, in order.
    fn spans(&self, ray: &Ray, near: f32, far: f32) -> Vec<(f32, f32)> {
        let mut ray = Ray { nearest: near, farthest: far, ..*ray };
        let mut spans = Vec::with_capacity(24);
        self.tree.walk(&mut ray, |packet, ray| {
            for i in self.tree.packets()[packet].iter().filter(|i| **i != EMPTY) {
                spans.extend(self.seen[*i as usize].span(ray));
            }
            std::ops::ControlFlow::Continue(())
        });
        spans.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        spans
    }

    /// Calls `visit` with the ends of each slice in which something may be seen, near ones first, until it breaks.
    fn slices(
        &self,
        ray: &Ray,
        (near, far): (f32, f32),
        step: f32,
        mut visit: impl FnMut(f32, f32) -> std::ops::ControlFlow<()>,
    ) {
        // Slices lie at whole steps from the eye, so that neighbouring rays are cut alike.
        let mut next = f32::NEG_INFINITY;
        let mut count = 0;
        for (a, b) in self.spans(ray, near, far) {
            let mut slice = (a / step).floor().max(next);
            while slice * step < b && count < MOST {
                let (from, to) = ((slice * step).max(near), ((slice + 1.0) * step).min(far));
                slice += 1.0;
                count += 1;
                if to > from && visit(from, to).is_break() {
                    return;
                }
            }
            next = slice;
        }
    }

    /// What light from the sky makes of a colour at `p`, seen along `d`; and what the surface mirrors.
    fn lit(&self, finder: &mut Finder, p: Vec3, d: Vec3, sky: &Sky) -> (Vec3, Vec3) {
        if self.shading == VolumeShading::None {
            return (Vec3::ONE, Vec3::ZERO);
        }
        let Some(out) = (-finder.gradient(p)).try_normalize() else { return (sky.ambient(), Vec3::ZERO) };
        let facing = out.dot(sky.sun);
        // From above, less from below: light off the ground.
        let around = sky.ambient() * (0.8 + 0.2 * out.y);
        // Light that goes into the fluid comes out of its shaded side too.
        let wrap = if self.shading == VolumeShading::Matte { 0.35 } else { 0.1 };
        let sun = sky.sunlight * (((facing + wrap) / (1.0 + wrap)).max(0.0) / std::f32::consts::PI);
        if self.shading == VolumeShading::Matte {
            return (around + sun, Vec3::ZERO);
        }
        // The far side of a shell mirrors as well, towards the inside.
        let n = if out.dot(d) > 0.0 { -out } else { out };
        let mirrored = reflect(d, n);
        let share = fresnel(-d.dot(n), 1.0 / WATER);
        let near_sun = mirrored.dot(sky.sun).max(0.0).powi(160);
        let seen = if mirrored.y > 0.0 { sky.diffuse(mirrored) } else { 0.6 * sky.ambient() };
        (around + sun, share * seen + 0.5 * near_sun * sky.sunlight)
    }
}

impl Medium for FluidVolume {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn passage(&self, ray: &Ray, near: f32, far: f32, _: f32, sky: &Sky) -> Passage {
        let mut finder = self.field.finder();
        let (mut left, mut light) = (1f32, Vec3::ZERO);
        let mut last = (f32::NAN, 0.0);
        self.slices(ray, (near, far), self.table.thickness, |from, to| {
            let slice = match self.sampling {
                Sampling::PreIntegrated => {
                    let front = if last.0 == from { last.1 } else { finder.at(ray.at(from)) };
                    let back = finder.at(ray.at(to));
                    last = (to, back);
                    if self.table.passes(front, back) {
                        return std::ops::ControlFlow::Continue(());
                    }
                    let whole = self.table.slice(front, back);
                    partly(whole, (to - from) / self.table.thickness)
                }
                Sampling::Plain => {
                    let (color, extinction) = self.transfer.at(finder.at(ray.at(0.5 * (from + to))));
                    let through = (-extinction * (to - from)).exp();
                    (color * (1.0 - through)).extend(through)
                }
            };
            if slice.w < 1.0 {
                let mut added = slice.truncate();
                if self.shading != VolumeShading::None && left * (1.0 - slice.w) > UNSEEN {
                    let p = ray.at(0.5 * (from + to));
                    let (lit, mirrored) = self.lit(&mut finder, p, ray.direction, sky);
                    added = added * lit + (1.0 - slice.w) * mirrored;
                }
                light += left * added;
                left *= slice.w;
            }
            if left < FAINT { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        });
        if left < FAINT {
            left = 0.0;
        }
        Passage { transmittance: Vec3::splat(left), emitted: light }
    }

    fn transmittance(&self, ray: &Ray, near: f32, far: f32) -> Vec3 {
        let mut finder = self.field.finder();
        let mut depth = 0.0;
        let mut last = (f32::NAN, 0.0);
        // Shadows are soft: coarser slices do.
        self.slices(ray, (near, far), 2.0 * self.field.cell(), |from, to| {
            let front = if last.0 == from { last.1 } else { finder.at(ray.at(from)) };
            let back = finder.at(ray.at(to));
            last = (to, back);
            if self.table.passes(front, back) {
                return std::ops::ControlFlow::Continue(());
            }
            depth += self.table.extinction(front, back) * (to - from);
            if depth > 6.0 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        });
        Vec3::splat((-depth).exp())
    }
}

/// A share of a slice: the extinction of the whole on less of a way.
#[inline]
fn partly(whole: Vec4, share: f32) -> Vec4 {
    if share > 0.9999 || whole.w >= 1.0 {
        return whole;
    }
    let through = whole.w.max(1e-30).powf(share);
    (whole.truncate() * ((1.0 - through) / (1.0 - whole.w))).extend(through)
}

/// The volume of a frame as a medium for [`super::super::View`], as the scene's `[volume]` wants it or, without one, as
/// Lee's water.
pub fn fluid_volume(
    scene: Option<&Scene>,
    frame: &Frame,
    look: &Volume,
) -> Result<Arc<dyn Medium>, VolumeError> {
    Ok(Arc::new(FluidVolume::new(scene, frame, look)?))
}
