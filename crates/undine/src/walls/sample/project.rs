//! From a place near a layer onto it.

use glam::DVec3;

use super::field::Field;

/// Cosine between the outward normals of two faces, below which they are the two sides of one plate.
const OPPOSED: f64 = -0.5;
/// The same for parallel ones.
const STRAIGHT: f64 = -0.9;
/// Distance to a layer that counts as none, × spacing.
const TOLERANCE: f64 = 1e-3;
/// Error of the distance after a slide, × spacing, up to which the surface was smooth there.
const SMOOTH: f64 = 0.05;
/// Steps towards an edge between two faces.
const EDGE_STEPS: usize = 24;
/// Longest of them, × spacing.
const EDGE_STEP: f64 = 0.2;
/// Steps towards a mid-surface.
const MIDDLE_STEPS: usize = 16;

/// A place on a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub position: DVec3,
    /// Into the fluid.
    pub normal: DVec3,
    pub depth: f64,
    /// On a sheet or a mid-surface, which has no other side.
    pub single: bool,
}

impl Spot {
    /// Whether two places are on the same sheet of a layer, rather than on two sides of a plate.
    pub fn shares_sheet(&self, other: &Spot) -> bool {
        self.single || other.single || self.normal.dot(other.normal) > OPPOSED
    }
}

/// One layer behind the surface of a body.
pub(super) struct Layer<'a> {
    pub field: &'a Field,
    pub spacing: f64,
    /// 0 is the first.
    pub index: usize,
}

impl Layer<'_> {
    /// Distance behind the surface, m.
    pub fn depth(&self) -> f64 {
        if self.field.is_sheet() { 0.0 } else { (self.index as f64 + 0.5) * self.spacing }
    }

    fn reach(&self) -> f64 {
        self.depth() + 2.0 * self.spacing
    }

    /// The place of the layer reached from `p`; `None` where the body is too thin for the layer.
    pub fn project(&self, p: DVec3) -> Option<Spot> {
        let spot = if self.field.is_sheet() { self.on_sheet(p) } else { self.behind(p) }?;
        (!self.field.rim.is_at(spot.position, 1e-6 * self.spacing)).then_some(spot)
    }

    /// As [`Layer::project`], for a spot that has moved a little along the layer: mostly with one look at the body.
    pub fn follow(&self, p: DVec3, from: &Spot) -> Option<Spot> {
        if from.single {
            return self.project(p);
        }
        let n = self.field.nearest(p, self.reach())?;
        let error = n.distance + self.depth();
        if error.abs() > SMOOTH * self.spacing || n.normal.dot(from.normal) < 0.9 {
            return self.project(p);
        }
        let position = p - n.normal * error;
        Some(Spot { position, normal: n.normal, depth: self.depth(), single: false })
    }

    fn on_sheet(&self, p: DVec3) -> Option<Spot> {
        let n = self.field.nearest(p, self.reach())?;
        Some(Spot { position: p - n.normal * n.distance, normal: upward(n.normal), depth: 0.0, single: true })
    }

    fn behind(&self, p: DVec3) -> Option<Spot> {
        let (depth, tolerance) = (self.depth(), TOLERANCE * self.spacing);
        let near = self.field.nearest(p, self.reach())?;
        let surface = p - near.normal * near.distance;
        // With more than a quarter spacing behind the layer there is room for the one of the other side.
        let probe = depth + 0.25 * self.spacing;
        let probed = surface - near.normal * probe;
        if self.field.rim.is_beyond(probed) {
            // Beside the ground, where distances tell nothing about it.
            let position = surface - near.normal * depth;
            return Some(Spot { position, normal: near.normal, depth, single: false });
        }
        let far = self.field.nearest(probed, self.reach())?;
        if far.distance <= tolerance - probe {
            let position = surface - near.normal * depth;
            return Some(Spot { position, normal: near.normal, depth, single: false });
        }
        // From outside only straight through a plate: what is beside its rim would crowd there.
        let opposed = if near.distance > 0.0 { STRAIGHT } else { OPPOSED };
        if near.normal.dot(far.normal) < opposed {
            return self.middle(surface, near.normal, probe - far.distance);
        }
        self.edge(p)
    }

    /// The mid-surface of a plate about `thickness` (m) thick, from a place of its surface.
    fn middle(&self, surface: DVec3, normal: DVec3, thickness: f64) -> Option<Spot> {
        let tolerance = TOLERANCE * self.spacing;
        let (mut low, mut high) = (0.0, thickness.min(2.0 * self.depth() + self.spacing));
        let mut t = 0.5 * high;
        // Whether t was computed from the far side, so that finding the near side there too ends the search.
        let mut aimed = true;
        let mut opposed = true;
        for _ in 0..MIDDLE_STEPS {
            let n = self.field.nearest(surface - normal * t, self.reach())?;
            if n.distance <= tolerance - t {
                low = t;
                if aimed {
                    break;
                }
                (t, aimed) = (0.5 * (low + high), false);
            } else {
                high = t;
                opposed = n.normal.dot(normal) < OPPOSED;
                let aim = 0.5 * (t - n.distance);
                aimed = aim > low && aim < high;
                t = if aimed { aim } else { 0.5 * (low + high) };
            }
            if high - low < tolerance {
                t = low;
                break;
            }
        }
        // At the rim of a plate the other side is its end. A layer deeper than the first exists only where the plate has
        // room for it.
        (opposed && (self.index == 0 || t >= self.depth() - 0.25 * self.spacing)).then_some(Spot {
            position: surface - normal * t,
            normal: upward(normal),
            depth: t,
            single: true,
        })
    }

    /// Where two faces meet the way leads from one to the other, nearer to the edge of the layer each time.
    fn edge(&self, p: DVec3) -> Option<Spot> {
        let mut p = p;
        let mut before: Option<DVec3> = None;
        let mut beside = None;
        for _ in 0..EDGE_STEPS {
            let n = self.field.nearest(p, self.reach())?;
            let error = n.distance + self.depth();
            if error.abs() < TOLERANCE * self.spacing {
                return Some(Spot { position: p, normal: n.normal, depth: -n.distance, single: false });
            }
            if before.is_some_and(|b| b.dot(n.normal) < OPPOSED) {
                // The way led from the rim of a plate to where it has two sides.
                if beside == Some(true) {
                    return None;
                }
                let thickness = 2.0 * self.spacing;
                return self.middle(p - n.normal * n.distance, n.normal, thickness);
            }
            before = Some(n.normal);
            beside = beside.or(Some(n.distance > 0.0));
            // Small steps, so as not to leave the rim of a plate behind.
            let farthest = EDGE_STEP * self.spacing;
            p -= n.normal * error.clamp(-farthest, farthest);
        }
        None
    }
}

/// Of two opposite directions always the same.
fn upward(n: DVec3) -> DVec3 {
    if n.dot(DVec3::new(0.36, 0.8, 0.48)) < 0.0 { -n } else { n }
}
