//! Even samples of the layers of any body: lattice points near a layer, projected onto it and relaxed.

use glam::{DVec3, I64Vec3};
use rayon::prelude::*;

use super::cells::Cells;
use super::field::Field;
use super::project::{Layer, Spot};
use super::thin_out::thin_out;
use super::{Region, Sample};

/// Below this number of samples of a layer their start is chosen among more candidates: the count of a coarse lattice
/// is then too rough a measure of the area.
const FEW: usize = 3000;
/// Candidates along an axis per spacing for few samples.
const FINE: f64 = 3.0;
/// Shifts the lattice against bodies that are aligned with it, × spacing, so that no plane of it is just as far from a
/// layer as the next.
const OFFSET: DVec3 = DVec3::new(0.0137, 0.0271, 0.0193);
/// Spots nearer than this push each other, × spacing.
const REACH: f64 = 1.7;
/// Way per push, × spacing.
const STEP: f64 = 0.55;
/// Longest way in one iteration, × spacing.
const FARTHEST: f64 = 0.2;
/// Iterations before and after the repair of holes and crowds; every second one lands on the layer.
const ITERATIONS: [usize; 2] = [10, 4];
/// Up to this number of samples of a layer there is time for twice as many.
const QUICK: usize = 50_000;
/// Spots nearer than this are too many, × spacing.
const CROWD: f64 = 0.72;
/// A candidate farther than this from all spots is in a hole, × spacing.
const HOLE: f64 = 0.78;
/// The same at the rim.
const RIM_HOLE: f64 = 0.66;
/// Width of the band of candidates for holes, × that of the band that starts.
const SPARE: f64 = 1.9;
/// Width of the frame around the wanted region whose spots stay and hold the others, and where it starts, × spacing.
const FRAME: [f64; 2] = [2.0, 4.0];

/// What is sampled.
pub(super) struct Relaxation<'a> {
    pub field: &'a Field,
    pub spacing: f64,
    pub region: &'a Region,
}

/// A place where a sample may be.
struct Candidate {
    spot: Spot,
    /// Whether it is one of those, one per spacing squared, that relaxation starts from; the others fill holes.
    starts: bool,
}

/// The lattice of candidates.
struct Lattice {
    origin: DVec3,
    pitch: DVec3,
    count: I64Vec3,
    /// Half the width of the band around a layer that has one point per cell of the surface, m.
    half: f64,
}

impl Relaxation<'_> {
    /// Samples of the first `layers` layers.
    pub fn sample(&self, layers: usize) -> Vec<Sample> {
        let layers = if self.field.is_sheet() { layers.min(1) } else { layers };
        if layers == 0 {
            return Vec::new();
        }
        let mut candidates = self.candidates(layers, 1.0, SPARE);
        let mut spots: Vec<Vec<Spot>> = candidates
            .iter()
            .map(|layer| layer.iter().filter(|c| c.starts).map(|c| c.spot).collect())
            .collect();
        if spots.iter().any(|layer| layer.len() < FEW) {
            let fine = self.candidates(layers, FINE, FINE);
            for ((spots, candidates), fine) in spots.iter_mut().zip(&mut candidates).zip(fine) {
                if spots.len() < FEW {
                    // Counted in a wide band: a narrow one on a ball holds a few percent more or fewer.
                    let wanted = (fine.len() as f64 / FINE.powi(3)).round() as usize;
                    let all = fine.iter().filter(|c| c.starts).map(|c| c.spot).collect();
                    // The smallest body still has a sample.
                    *spots = thin_out(all, wanted.max(1), self.spacing, |s| self.images(s));
                    *candidates = fine;
                }
            }
        }
        let sample = |s: &Spot| Sample { position: s.position, normal: s.normal, depth: s.depth };
        let mut samples = Vec::new();
        for (index, (spots, candidates)) in spots.into_iter().zip(candidates).enumerate() {
            samples.extend(self.relaxed(index, spots, &candidates).iter().map(sample));
        }
        samples
    }

    /// Lattice points near each layer, projected onto it: `fine`² per spacing squared in the band that starts, and
    /// those in a band `spare` times as wide.
    fn candidates(&self, layers: usize, fine: f64, spare: f64) -> Vec<Vec<Candidate>> {
        let Some(lattice) = self.lattice(layers, fine) else {
            return (0..layers).map(|_| Vec::new()).collect();
        };
        let spacing = self.spacing;
        let (outermost, innermost) = (spacing, layers as f64 * spacing);
        // Distances beyond a seam are not those of the body's image: large blocks are then not judged by them.
        let judged = if self.field.period().is_some() { 16 } else { i64::MAX };
        let mut size = (lattice.count.max_element() as u64).next_power_of_two() as i64;
        let mut blocks = vec![I64Vec3::ZERO];
        while size > 1 {
            size /= 2;
            let radius = 0.5 * (size - 1) as f64 * lattice.pitch.length();
            let may_hold = |at: &I64Vec3| {
                if !at.cmplt(lattice.count).all() {
                    return false;
                }
                if size > judged {
                    return true;
                }
                let middle = lattice.at(*at) + 0.5 * (size - 1) as f64 * lattice.pitch;
                let deepest = innermost + radius;
                self.field
                    .nearest(middle, (outermost + radius).max(deepest))
                    .is_some_and(|n| n.distance >= -deepest && n.distance <= outermost + radius)
            };
            blocks = blocks
                .par_iter()
                .flat_map_iter(|block| {
                    (0..8_i64)
                        .map(move |k| *block + size * I64Vec3::new(k & 1, k >> 1 & 1, k >> 2))
                        .filter(|at| may_hold(at))
                })
                .collect();
        }
        (0..layers)
            .map(|index| {
                let layer = Layer { field: self.field, spacing, index };
                blocks
                    .par_iter()
                    .filter_map(|at| {
                        let p = lattice.at(*at);
                        let n = self.field.nearest(p, layer.depth() + 2.0 * spacing)?;
                        let above = n.distance + layer.depth();
                        if !(-spare * lattice.half..=spacing).contains(&above) {
                            return None;
                        }
                        if self.field.rim.is_beyond(p) {
                            return None;
                        }
                        let spot = layer.project(p)?;
                        let way = spot.position.distance(p);
                        let starts = way <= lattice.half;
                        (way <= spare * lattice.half).then_some(Candidate { spot, starts })
                    })
                    .collect()
            })
            .collect()
    }

    fn lattice(&self, layers: usize, fine: f64) -> Option<Lattice> {
        let spacing = self.spacing;
        let body = self.field.bounds();
        let around = body.grow((layers + 1) as f64 * spacing);
        let frame = self.region.bounds().grow(FRAME[1] * spacing);
        let (mut min, mut max) = (around.min.max(frame.min), around.max.min(frame.max));
        let mut pitch = DVec3::splat(spacing / fine);
        let mut start = body.min + pitch * (DVec3::splat(0.5) + OFFSET);
        if let Some(d) = self.field.period() {
            for a in (0..3).filter(|a| d.axes[*a]) {
                (min[a], max[a]) = (d.min[a], d.max[a]);
                let length = max[a] - min[a];
                pitch[a] = length / (length / pitch[a]).round().max(1.0);
                start[a] = min[a] + 0.5 * pitch[a];
            }
        }
        if !(min.cmple(max).all() && (max - min).is_finite()) {
            return None;
        }
        let origin = start + ((min - start) / pitch).ceil() * pitch;
        // Half a pitch of slack: rounding must not take the last one of a period.
        let count = ((max - origin) / pitch + 0.5).floor().max(DVec3::ZERO).as_i64vec3();
        let half = 0.5 * pitch.element_product() * (fine / spacing).powi(2);
        count.cmpgt(I64Vec3::ZERO).all().then_some(Lattice { origin, pitch, count, half })
    }

    /// The images of a place that push others: across seams and beyond the rim.
    fn images(&self, spot: &Spot) -> Vec<DVec3> {
        let p = spot.position;
        let reach = REACH * self.spacing;
        let mut images = Vec::new();
        self.field.rim.mirror(p, spot.normal, reach, |q| images.push(q));
        if let Some(d) = self.field.period() {
            for a in (0..3).filter(|a| d.axes[*a]) {
                let length = d.max[a] - d.min[a];
                for k in 0..=images.len() {
                    let q = if k == 0 { p } else { images[k - 1] };
                    if q[a] - d.min[a] < reach {
                        images.push(q + length * DVec3::AXES[a]);
                    }
                    if d.max[a] - q[a] < reach {
                        images.push(q - length * DVec3::AXES[a]);
                    }
                }
            }
        }
        images
    }

    /// Cells over spots and images, and the spot that each point of them is or is the image of.
    fn cells(&self, spots: &[Spot]) -> (Cells, Vec<u32>) {
        let mut points: Vec<DVec3> = spots.iter().map(|s| s.position).collect();
        let mut owners: Vec<u32> = (0..spots.len() as u32).collect();
        let images: Vec<(u32, Vec<DVec3>)> = spots
            .par_iter()
            .enumerate()
            .map(|(i, s)| (i as u32, self.images(s)))
            .filter(|(_, images)| !images.is_empty())
            .collect();
        for (i, images) in images {
            owners.extend(images.iter().map(|_| i));
            points.extend(images);
        }
        (Cells::new(&points, REACH * self.spacing), owners)
    }

    /// Evens a layer out, removes what is too many and fills what is empty.
    fn relaxed(&self, index: usize, mut spots: Vec<Spot>, candidates: &[Candidate]) -> Vec<Spot> {
        let layer = Layer { field: self.field, spacing: self.spacing, index };
        for (round, iterations) in ITERATIONS.into_iter().enumerate() {
            if round > 0 {
                spots = self.filled(self.apart(&spots, CROWD * self.spacing), candidates);
            }
            let times = if spots.len() <= QUICK { 2 } else { 1 };
            for _ in 0..times * iterations / 2 {
                let flown = self.push(&spots);
                spots = self.land(&layer, &spots, &self.push(&flown));
            }
        }
        let land = |s: &Spot| {
            let s = if s.single { *s } else { layer.project(s.position).unwrap_or(*s) };
            Spot { position: self.field.wrap(s.position), ..s }
        };
        let spots: Vec<Spot> = spots.par_iter().map(land).collect();
        self.apart(&spots, CROWD * self.spacing)
    }

    /// Brings spots back onto the layer; those that have left it stay where they were before. This is not done after
    /// every push: a look at the body costs more than the push.
    fn land(&self, layer: &Layer, before: &[Spot], flown: &[Spot]) -> Vec<Spot> {
        before
            .par_iter()
            .zip(flown)
            .map(|(before, flown)| {
                if before.position == flown.position {
                    return *before;
                }
                let Some(spot) = layer.follow(flown.position, before) else { return *before };
                Spot { position: self.field.wrap(spot.position), ..spot }
            })
            .collect()
    }

    /// Every spot moves away from its neighbours along its tangent plane.
    fn push(&self, spots: &[Spot]) -> Vec<Spot> {
        let (cells, owners) = self.cells(spots);
        let reach = REACH * self.spacing;
        let mut free = self.region.bounds().grow(FRAME[0] * self.spacing);
        if let Some(d) = self.field.period() {
            for a in (0..3).filter(|a| d.axes[*a]) {
                (free.min[a], free.max[a]) = (f64::NEG_INFINITY, f64::INFINITY);
            }
        }
        spots
            .par_iter()
            .enumerate()
            .map(|(i, spot)| {
                if !free.contains(spot.position) {
                    return *spot;
                }
                let mut push = DVec3::ZERO;
                cells.around(spot.position, |q, j| {
                    let owner = owners[j] as usize;
                    let away = spot.position - q;
                    let r = away.length();
                    if j != i && r < reach && r > 0.0 && (owner == i || spot.shares_sheet(&spots[owner])) {
                        let w = 1.0 - r / reach;
                        push += away * (w * w / r);
                    }
                });
                push -= spot.normal * push.dot(spot.normal);
                let way = (push * (STEP * self.spacing)).clamp_length_max(FARTHEST * self.spacing);
                let to = self.field.rim.clamp(self.field.wrap(spot.position + way));
                Spot { position: to, ..*spot }
            })
            .collect()
    }

    /// Without the later of two spots nearer than `crowd` (m) to each other.
    fn apart(&self, spots: &[Spot], crowd: f64) -> Vec<Spot> {
        let (cells, owners) = self.cells(spots);
        let crowded: Vec<Vec<u32>> = spots
            .par_iter()
            .enumerate()
            .map(|(i, s)| {
                let mut earlier = Vec::new();
                cells.around(s.position, |q, j| {
                    let o = owners[j];
                    if (o as usize) < i
                        && s.position.distance(q) < crowd
                        && s.shares_sheet(&spots[o as usize])
                    {
                        earlier.push(o);
                    }
                });
                earlier
            })
            .collect();
        let mut kept = vec![true; spots.len()];
        for (i, earlier) in crowded.iter().enumerate() {
            kept[i] = !earlier.iter().any(|j| kept[*j as usize]);
        }
        spots.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(s, _)| *s).collect()
    }

    /// With candidates in the holes, the first of those that would crowd each other.
    fn filled(&self, mut spots: Vec<Spot>, candidates: &[Candidate]) -> Vec<Spot> {
        let (cells, owners) = self.cells(&spots);
        let (hole, rim_hole) = (HOLE * self.spacing, RIM_HOLE * self.spacing);
        let empty: Vec<Spot> = candidates
            .par_iter()
            .map(|c| c.spot)
            .filter(|c| {
                // At the rim there is nothing on one side.
                let hole =
                    if self.field.rim.is_near(c.position, 0.5 * self.spacing) { rim_hole } else { hole };
                let mut is_free = true;
                cells.around(c.position, |q, j| {
                    is_free &= c.position.distance(q) > hole || !c.shares_sheet(&spots[owners[j] as usize]);
                });
                is_free
            })
            .collect();
        spots.extend(self.apart(&empty, hole));
        spots
    }
}

impl Lattice {
    fn at(&self, index: I64Vec3) -> DVec3 {
        self.origin + index.as_dvec3() * self.pitch
    }
}
