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
const STEP: f64 = 0.35;
/// Longest way in one iteration, × spacing.
const FARTHEST: f64 = 0.2;
/// Iterations before and after the repair of holes and crowds.
const ITERATIONS: [usize; 2] = [16, 6];
/// Spots nearer than this are too many, × spacing.
const CROWD: f64 = 0.72;
/// A candidate farther than this from all spots is in a hole, × spacing.
const HOLE: f64 = 0.78;
/// Width of the frame around the wanted region whose spots stay and hold the others, and where it starts, × spacing.
const FRAME: [f64; 2] = [2.0, 4.0];

/// What is sampled.
pub(super) struct Relaxation<'a> {
    pub field: &'a Field,
    pub spacing: f64,
    pub region: &'a Region,
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
        let mut spots = self.candidates(layers, 1.0);
        if spots.iter().any(|layer| layer.len() < FEW) {
            let fine = self.candidates(layers, FINE);
            for (coarse, fine) in spots.iter_mut().zip(fine) {
                if coarse.len() < FEW {
                    let wanted = (fine.len() as f64 / (FINE * FINE)).round() as usize;
                    // The smallest body still has a sample.
                    *coarse = thin_out(fine, wanted.max(1), self.spacing, |s| self.images(s));
                }
            }
        }
        let sample = |s: &Spot| Sample { position: s.position, normal: s.normal, depth: s.depth };
        spots
            .into_iter()
            .enumerate()
            .flat_map(|(index, spots)| self.relaxed(index, spots).iter().map(sample).collect::<Vec<_>>())
            .collect()
    }

    /// Lattice points near each layer, projected onto it: `fine`² per spacing squared.
    fn candidates(&self, layers: usize, fine: f64) -> Vec<Vec<Spot>> {
        let Some(lattice) = self.lattice(layers, fine) else { return vec![Vec::new(); layers] };
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
                        if !(-0.5 * spacing..=spacing).contains(&above) {
                            return None;
                        }
                        layer.project(p).filter(|spot| spot.position.distance(p) <= lattice.half)
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
    fn images(&self, p: DVec3) -> Vec<DVec3> {
        let reach = REACH * self.spacing;
        let mut images = Vec::new();
        self.field.rim.mirror(p, reach, |q| images.push(q));
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
            .map(|(i, s)| (i as u32, self.images(s.position)))
            .filter(|(_, images)| !images.is_empty())
            .collect();
        for (i, images) in images {
            owners.extend(images.iter().map(|_| i));
            points.extend(images);
        }
        (Cells::new(&points, REACH * self.spacing), owners)
    }

    /// Evens a layer out, removes what is too many and fills what is empty.
    fn relaxed(&self, index: usize, mut spots: Vec<Spot>) -> Vec<Spot> {
        let layer = Layer { field: self.field, spacing: self.spacing, index };
        let start = spots.clone();
        for (round, iterations) in ITERATIONS.into_iter().enumerate() {
            if round > 0 {
                spots = self.repaired(spots, &start);
            }
            for _ in 0..iterations {
                spots = self.push(&layer, &spots);
            }
        }
        spots
            .par_iter()
            .filter_map(|s| layer.project(s.position))
            .map(|s| Spot { position: self.field.wrap(s.position), ..s })
            .collect()
    }

    /// One iteration: every spot moves away from its neighbours along the layer.
    fn push(&self, layer: &Layer, spots: &[Spot]) -> Vec<Spot> {
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
                let Some(mut next) = layer.follow(to, spot) else { return *spot };
                next.position = self.field.wrap(next.position);
                next
            })
            .collect()
    }

    /// Without the later of two crowded spots, and with candidates in the holes.
    fn repaired(&self, spots: Vec<Spot>, candidates: &[Spot]) -> Vec<Spot> {
        let (cells, owners) = self.cells(&spots);
        let crowd = CROWD * self.spacing;
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
        let mut spots: Vec<Spot> = spots.iter().zip(&kept).filter(|(_, k)| **k).map(|(s, _)| *s).collect();
        // Candidates in holes, the first of those that would crowd each other.
        let (cells, owners) = self.cells(&spots);
        let hole = HOLE * self.spacing;
        let empty: Vec<Spot> = candidates
            .par_iter()
            .filter(|c| {
                let mut is_free = true;
                cells.around(c.position, |q, j| {
                    is_free &= c.position.distance(q) > hole || !c.shares_sheet(&spots[owners[j] as usize]);
                });
                is_free
            })
            .copied()
            .collect();
        let old = spots.len();
        for c in empty {
            if spots[old..].iter().all(|s| s.position.distance(c.position) > hole || !c.shares_sheet(s)) {
                spots.push(c);
            }
        }
        spots
    }
}

impl Lattice {
    fn at(&self, index: I64Vec3) -> DVec3 {
        self.origin + index.as_dvec3() * self.pitch
    }
}
