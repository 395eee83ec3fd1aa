//! Boundary particles: even samples of a wall's body in layers behind its surface.
//!
//! Fluid at rest sits half a spacing Δ in front of a wall. The layers go on with its lattice: the first lies Δ/2 behind
//! the surface, the next 3Δ/2, each with one sample per Δ². A body of thickness t has room for round(t/Δ) layers; where
//! that number is odd the innermost one lies on the mid-surface, and a plate thinner than 1.5 Δ is one sheet.
//!
//! Boxes become lattices ([`lattice`]). For all other bodies, points of a cubic lattice of pitch Δ that are nearer than
//! Δ/2 to a layer are projected onto it: they are one per Δ² on any surface, so that only local unevenness is left
//! for [`relax`] to remove.

mod cells;
mod field;
mod lattice;
mod project;
mod relax;
mod rim;
#[cfg(test)]
mod tests;
mod thin_out;

use std::f64::consts::PI;

use glam::DVec3;

use self::field::Field;
use self::relax::Relaxation;
use super::{Body, Wall, Walls};
use crate::neighbors::Period;
use crate::scene::aabb::Aabb;
use crate::scene::shape::Shape;

/// Most samples of all walls together.
const MAX_SAMPLES: f64 = 1e7;
/// A spacing below this share of a coordinate drowns in rounding.
const FINEST: f64 = 1e-9;

/// One boundary particle, in the frame of its body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Where, m.
    pub position: DVec3,
    /// Unit vector from the wall into the fluid. Of the two sides of a sheet or a mid-surface it is either.
    pub normal: DVec3,
    /// Distance behind the surface, m; 0 on a sheet.
    pub depth: f64,
}

/// The samples of one `[[boundary]]`.
#[derive(Clone, Debug)]
pub struct WallSamples {
    /// Index among the scene's boundaries.
    pub wall: usize,
    /// Whether the wall moves; its samples are then the whole body in its own frame.
    pub moves: bool,
    /// The samples.
    pub samples: Vec<Sample>,
}

/// Why walls cannot be sampled.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// More than memory is meant for.
    #[error("boundary {wall} would take about {count:.1e} boundary particles; the limit is {limit:.0e}")]
    TooMany {
        /// Index among the scene's boundaries.
        wall: usize,
        /// About how many.
        count: f64,
        /// The limit.
        limit: f64,
    },
    /// A spacing that is not a positive number, or too fine for the place of a wall.
    #[error("a spacing of {spacing} m cannot be resolved at boundary {wall}")]
    Spacing {
        /// Index among the scene's boundaries.
        wall: usize,
        /// The spacing, m.
        spacing: f64,
    },
}

/// Where samples are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Nothing is wanted outside.
    pub within: Aabb,
    /// Axes along which space repeats. Samples are in `[min, max)` of them.
    pub period: Option<Period>,
}

impl Region {
    fn contains(&self, p: DVec3) -> bool {
        let in_period = |d: &Period| (0..3).all(|a| !d.axes[a] || (d.min[a] <= p[a] && p[a] < d.max[a]));
        self.within.contains(p) && self.period.as_ref().is_none_or(in_period)
    }

    /// The box outside which nothing is wanted.
    fn bounds(&self) -> Aabb {
        let mut b = self.within;
        if let Some(d) = &self.period {
            for a in (0..3).filter(|a| d.axes[*a]) {
                b.min[a] = b.min[a].max(d.min[a]);
                b.max[a] = b.max[a].min(d.max[a]);
            }
        }
        b
    }
}

impl Body {
    /// Samples of `layers` layers of pitch `spacing` (m).
    pub(crate) fn sample(&self, spacing: f64, layers: usize, region: &Region) -> Vec<Sample> {
        let mut samples = match self {
            _ if layers == 0 => Vec::new(),
            Body::Solid(Shape::Box { min, max }) => {
                lattice::solid_box(Aabb::new(*min, *max), spacing, layers, region)
            }
            Body::Shell { shape: Shape::Box { min, max }, thickness } => {
                let hollow = Aabb::new(*min, *max);
                let mut inner = lattice::hollow_box(hollow, *thickness, spacing, layers, region);
                let outside = layers.min(layers_across(*thickness, spacing) / 2);
                let field = Field::grown(&Shape::Box { min: *min, max: *max }, *thickness, spacing, region);
                inner.extend(Relaxation { field: &field, spacing, region }.sample(outside));
                // Sharp edges inside, round ones outside: in the corners they may meet.
                lattice::without_doubles(inner, spacing)
            }
            Body::Cup { inner: Shape::Box { min, max }, outer: Shape::Box { min: low, max: high } } => {
                let (hollow, outer) = (Aabb::new(*min, *max), Aabb::new(*low, *high));
                lattice::cup_box(self, hollow, outer, spacing, layers, region)
            }
            _ => {
                let field = Field::new(self, spacing, layers, region);
                Relaxation { field: &field, spacing, region }.sample(layers)
            }
        };
        samples.retain(|s| region.contains(s.position));
        samples
    }

    /// About how many samples there are, rather too many.
    fn sample_count(&self, spacing: f64, layers: usize, region: &Region) -> f64 {
        let bounds = region.bounds().grow((layers + 4) as f64 * spacing);
        let area = match self {
            Body::Solid(shape) => area_within(shape, 0.0, &bounds),
            Body::Sheet(shape) => return area_within(shape, 0.0, &bounds) / (spacing * spacing),
            Body::Shell { shape, thickness } => {
                area_within(shape, 0.0, &bounds) + area_within(shape, *thickness, &bounds)
            }
            Body::Cup { outer, .. } => 2.0 * area_within(outer, 0.0, &bounds),
        };
        area / (spacing * spacing) * layers as f64
    }
}

/// Layers of samples that a wall of this thickness has room for.
fn layers_across(thickness: f64, spacing: f64) -> usize {
    (thickness / spacing + 0.5).floor().max(1.0) as usize
}

/// Upper bound of the area of a shape, grown by `by`, within a box, m².
fn area_within(shape: &Shape, by: f64, within: &Aabb) -> f64 {
    let reach = within.grow(by);
    if !shape.bounds().overlaps(&reach) {
        return 0.0;
    }
    let surface = |s: DVec3| 2.0 * (s.x * s.y + s.y * s.z + s.z * s.x);
    // What a box cuts out of a convex surface is no larger than the surface of the box.
    let most = surface(within.size());
    // Of a triangle, whatever its size, no more than its plane has in the box.
    let triangles = |list: &mut dyn Iterator<Item = [DVec3; 3]>| {
        list.filter(|t| Aabb::around(*t).overlaps(&reach))
            .map(|[a, b, c]| (0.5 * (b - a).cross(c - a).length()).min(0.5 * most))
            .sum::<f64>()
    };
    match shape {
        Shape::Box { min, max } => surface(*max - *min + 2.0 * by).min(most),
        Shape::Sphere { radius, .. } => (4.0 * PI * (radius + by).powi(2)).min(most),
        Shape::Cylinder { radius, height, .. } => {
            (2.0 * PI * (radius + by) * (height + radius + 3.0 * by)).min(most)
        }
        // A grown disc has two sides.
        Shape::Disc { radius, .. } if by > 0.0 => (2.0 * PI * (radius + by) * (radius + 3.0 * by)).min(most),
        Shape::Disc { radius, .. } => (PI * radius * radius).min(most),
        Shape::Mesh(mesh) => {
            let sides = if by > 0.0 && !mesh.is_closed() { 2.0 } else { 1.0 };
            sides * triangles(&mut (0..mesh.triangles.len()).map(|t| mesh.corners(t)))
        }
        Shape::Heightfield(field) => {
            let cells = (field.samples[0] - 1) * (field.samples[1] - 1);
            triangles(&mut (0..cells).flat_map(|c| field.cell_triangles(c)))
        }
    }
}

impl Wall {
    /// Where samples of this wall are wanted.
    fn region(&self, walls: &Walls) -> Region {
        let everywhere = Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
        match &walls.domain {
            Some(d) if !self.moves() => {
                let mut within = Aabb::new(d.min, d.max).grow(self.h);
                for &(a, upper) in &walls.faces {
                    if upper {
                        within.max[a] = d.max[a];
                    } else {
                        within.min[a] = d.min[a];
                    }
                }
                let period =
                    d.periodic.contains(&true).then_some(Period { min: d.min, max: d.max, axes: d.periodic });
                Region { within, period }
            }
            _ => Region { within: everywhere, period: None },
        }
    }
}

impl Walls {
    /// Boundary particles of every `[[boundary]]`: `layers` layers of pitch `spacing` (m). The faces of the domain get
    /// none, and there are none behind a closed face. Static walls are cut at the domain (grown by the kernel
    /// support where it is open); along periodic axes samples are in `[min, max)` and even across the seam.
    pub fn samples(&self, spacing: f64, layers: usize) -> Result<Vec<WallSamples>, SampleError> {
        self.samples_of(spacing, layers, &|_| true)
    }

    /// As [`Walls::samples`], of the walls whose numbers are `wanted`.
    pub fn samples_of(
        &self,
        spacing: f64,
        layers: usize,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<WallSamples>, SampleError> {
        let walls = || self.walls.iter().enumerate().filter(|(index, _)| wanted(*index));
        let mut total = 0.0;
        for (index, wall) in walls() {
            let region = wall.region(self);
            let bounds = wall.body.bounds();
            let far = bounds.min.abs().max(bounds.max.abs()).max_element();
            if !(spacing > FINEST * far && spacing.is_finite()) {
                return Err(SampleError::Spacing { wall: index, spacing });
            }
            total += wall.body.sample_count(spacing, layers, &region);
            if total.is_nan() || total > MAX_SAMPLES {
                return Err(SampleError::TooMany { wall: index, count: total, limit: MAX_SAMPLES });
            }
        }
        Ok(walls()
            .map(|(index, wall)| WallSamples {
                wall: index,
                moves: wall.moves(),
                samples: wall.body.sample(spacing, layers, &wall.region(self)),
            })
            .collect())
    }

    /// About how many samples [`Walls::samples`] gives, rather too many, without making them.
    pub fn sample_count_estimate(&self, spacing: f64, layers: usize) -> f64 {
        self.walls.iter().map(|w| w.body.sample_count(spacing, layers, &w.region(self))).sum()
    }
}
