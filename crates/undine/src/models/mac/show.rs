//! What the model shows of itself.

mod nodes;

use glam::Vec4;
use rayon::prelude::*;

use super::Mac;
use super::convect::{load, store, wrapped};
use super::cuts::Cuts;
use super::extrapolate::pad;
#[cfg(target_arch = "x86_64")]
use super::lattice::wide::Wide;
use super::lattice::{Lattice, Plain, Read};
use super::layout::Layout;
use crate::frame::{Field, FieldData, Frame};
use crate::models::Around;
use crate::simd::widest;
use nodes::Nodes;

/// Markers that a thread sums at a time. A fixed number, so that sums are the same for any number of threads.
const CHUNK: usize = 8192;

impl Mac {
    /// Kinetic and potential energy of the markers, J.
    pub(super) fn energy(&self, around: &Around) -> f64 {
        let (m, g) = (&self.markers, around.fields.gravity);
        let each = |i: usize| {
            let v = glam::Vec3::from(m.velocity[i]);
            let specific = 0.5 * f64::from(v.length_squared()) - g.dot(self.layout.world(m.x[i]));
            f64::from(m.weight(i)) * self.fluids[usize::from(m.fluid[i])].density * specific
        };
        let chunks = (0..m.len().div_ceil(CHUNK)).into_par_iter();
        let sums = chunks.map(|c| (c * CHUNK..((c + 1) * CHUNK).min(m.len())).map(each).sum::<f64>());
        sums.collect::<Vec<_>>().iter().sum::<f64>() * self.apart.powi(3)
    }

    /// Markers with velocity, density, pressure, fluid and number.
    pub(super) fn show(&self, around: &Around) -> Frame {
        let layout = &self.layout;
        let mut frame = Frame {
            spacing: self.spacing,
            support: 2.0 * self.spacing,
            spent: self.spent,
            ..Frame::default()
        };
        let made;
        // Those of the last step are not kept with a checkpoint where bodies have moved since.
        let cuts = match &self.cuts {
            Some(cuts) if self.immersed.is_none() => cuts,
            _ => {
                made = Cuts::new(layout, around.walls);
                &made
            }
        };
        let moved = self.caught_up(cuts, around);
        let markers = moved.as_ref().unwrap_or(self.asked_for());
        // Half a step of acceleration takes velocities from the middle of the last step to its end.
        let mut gain = self.gain.clone();
        let share = if self.kick > 0.0 { (0.5 * self.last / self.kick) as f32 } else { 0.0 };
        let (at_cells, fullness) = {
            let gain = &mut gain;
            let spread = || {
                // As far as markers got in the step.
                self.fringe.fill(layout, gain, self.layers());
                pad(layout, cuts, gain);
            };
            rayon::join(spread, || rayon::join(|| self.pressure_field(cuts), || self.fullness())).1
        };
        // Those that follow are more than the points of a lattice; for others it would be larger than they are.
        let seen = if markers.only_follow {
            let (mut gained, mut flow) = (Lattice::default(), Lattice::default());
            gained.take_all(layout, &gain, Some(&at_cells));
            flow.take_all(layout, &self.u, None);
            let back = layout.h.map(|h| (self.last / h) as f32);
            Seen::Following(Following { layout, gained, flow, share, back })
        } else {
            Seen::Carrying(Nodes::new(layout, &gain, &at_cells), share)
        };
        let n = markers.len();
        let (mut position, mut velocity) = (vec![[0f32; 3]; n], vec![[0f32; 3]; n]);
        let (mut pressure, mut density) = (vec![0f32; n], vec![0f32; n]);
        let rest: Vec<f32> = self.fluids.iter().map(|f| f.density as f32).collect();
        let places = markers.x.par_chunks(CHUNK).zip(markers.fluid.par_chunks(CHUNK)).enumerate();
        let shown = position.par_chunks_mut(CHUNK).zip(velocity.par_chunks_mut(CHUNK));
        let values = pressure.par_chunks_mut(CHUNK).zip(density.par_chunks_mut(CHUNK));
        places.zip(shown).zip(values).for_each(
            |(((chunk, (x, fluid)), (position, velocity)), (pressure, density))| {
                match &seen {
                    Seen::Following(seen) => seen.look(x, velocity, pressure),
                    Seen::Carrying(nodes, share) => {
                        velocity.copy_from_slice(&markers.velocity[chunk * CHUNK..][..x.len()]);
                        nodes.look(x, *share, velocity, pressure);
                    }
                }
                place(layout, x, position);
                weigh(layout, (x, fluid), (&rest, &fullness), density);
            },
        );
        frame.particles.position = position;
        let mut add = |name, data| frame.particles.fields.push(Field { name, data });
        add("velocity", FieldData::Vector(velocity));
        add("density", FieldData::Scalar(density));
        add("pressure", FieldData::Scalar(pressure));
        add("fluid", FieldData::Byte(markers.fluid.clone()));
        add("id", FieldData::Int(markers.id.clone()));
        frame
    }

    /// How full each cell is; 1 at the surface, where less than full is no error.
    fn fullness(&self) -> Vec<f32> {
        let (layout, wet) = (&self.layout, &self.liquid.wet);
        let mut fullness = vec![1.0; layout.len()];
        if wet.is_empty() {
            return fullness;
        }
        let [nx, ny, nz] = layout.n;
        let plane = layout.plane();
        fullness.par_chunks_mut(plane).enumerate().skip(1).take(nz).for_each(|(z, fullness)| {
            for y in 0..ny {
                let first = layout.at([0, y, z - 1]);
                let row = |at: usize| &wet[at..at + nx];
                let here = row(first);
                if !here.contains(&true) {
                    continue;
                }
                let around = layout.stride.map(|s| [row(first - s), row(first + s)]);
                let (to, fill) = (&mut fullness[first - z * plane..][..nx], &self.liquid.fill[first..][..nx]);
                for x in 0..nx {
                    let is_inside = around.iter().fold(here[x], |all, [low, high]| all & low[x] & high[x]);
                    to[x] = if is_inside { fill[x] } else { 1.0 };
                }
            }
        });
        fullness
    }

    /// Pressure at cells, Pa; gone on into air to where it vanishes at the surface, and straight on into walls.
    fn pressure_field(&self, cuts: &Cuts) -> Vec<f32> {
        let (layout, liquid) = (&self.layout, &self.liquid);
        let mut field = vec![0.0; layout.len()];
        if self.kick == 0.0 || liquid.wet.is_empty() {
            return field;
        }
        let scale = (self.fluids[0].density / self.kick) as f32;
        let [nx, ny, nz] = layout.n;
        for z in 0..nz {
            for y in 0..ny {
                let row = nx * (y + ny * z);
                let first = layout.at([0, y, z]);
                for (to, p) in field[first..first + nx].iter_mut().zip(&self.pressure.p[row..row + nx]) {
                    *to = p * scale;
                }
            }
        }
        layout.wrap(&mut field);
        let known = field.clone();
        let (wet, last) = (&liquid.wet, layout.len());
        let near: [isize; 6] = {
            let [x, y, z] = layout.stride.map(|s| s as isize);
            [-x, x, -y, y, -z, z]
        };
        let is_wet = |i: isize| (0..last as isize).contains(&i) && wet[i as usize];
        field.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, field)| {
            if wet[i] {
                return;
            }
            // Most are far from the liquid.
            if !near.iter().any(|s| is_wet(i as isize + s)) {
                *field = 0.0;
                return;
            }
            let (mut sum, mut count) = (0.0, 0);
            for a in 0..3 {
                let s = layout.stride[a];
                for up in [false, true] {
                    let beside = if up { i + s } else { i.wrapping_sub(s) };
                    let next = if up { i + 2 * s } else { i.wrapping_sub(2 * s) };
                    if beside >= last || !wet[beside] {
                        continue;
                    }
                    let open = cuts.open[a][if up { i + s } else { i }];
                    count += 1;
                    sum += if open > 0.0 {
                        known[beside] * (1.0 - 1.0 / liquid.share(beside, i))
                    } else if next < last && wet[next] {
                        2.0 * known[beside] - known[next]
                    } else {
                        known[beside]
                    };
                }
            }
            *field = if count > 0 { sum / count as f32 } else { 0.0 };
        });
        layout.wrap(&mut field);
        field
    }
}

/// Where markers lie, m. Chooses the instruction set.
fn place(layout: &Layout, x: &[[f32; 3]], position: &mut [[f32; 3]]) {
    widest!(place_in(layout: &Layout, x: &[[f32; 3]], position: &mut [[f32; 3]]));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn place_in<L>(layout: &Layout, x: &[[f32; 3]], position: &mut [[f32; 3]]) {
    let (min, h) = (layout.min.to_array(), layout.h);
    for (position, x) in position.iter_mut().zip(x) {
        for a in 0..3 {
            position[a] = (min[a] + f64::from(x[a]) * h[a]) as f32;
        }
    }
}

/// Densities of markers of fluids: those at rest by how full their cells are. Chooses the instruction set.
fn weigh(layout: &Layout, of: (&[[f32; 3]], &[u8]), by: (&[f32], &[f32]), density: &mut [f32]) {
    widest!(weigh_in(layout: &Layout, of: (&[[f32; 3]], &[u8]), by: (&[f32], &[f32]), density: &mut [f32]));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn weigh_in<L>(
    layout: &Layout,
    (x, fluid): (&[[f32; 3]], &[u8]),
    (rest, fullness): (&[f32], &[f32]),
    density: &mut [f32],
) {
    let last = layout.n.map(|n| n as i32 - 1);
    for ((density, x), fluid) in density.iter_mut().zip(x).zip(fluid) {
        let mut cell = [0; 3];
        for a in 0..3 {
            cell[a] = (x[a] as i32).clamp(0, last[a]) as usize;
        }
        *density = rest[usize::from(*fluid)] * fullness[layout.at(cell)];
    }
}

/// What markers are shown by.
enum Seen<'a> {
    /// Those that only follow.
    Following(Following<'a>),
    /// Those that have velocities of their own: what the last step gained, and the share of it that they lack.
    Carrying(Nodes<'a>, f32),
}

/// What markers that only follow are shown by.
struct Following<'a> {
    layout: &'a Layout,
    /// What the last step gained, m/s, and the pressure, Pa.
    gained: Lattice,
    /// The flow, m/s.
    flow: Lattice,
    /// Share of the gain that velocities lack.
    share: f32,
    /// Cells that 1 m/s leads in the last step along each axis.
    back: [f32; 3],
}

impl Following<'_> {
    /// Finds velocities, m/s, at the end of the step, and pressures, Pa.
    fn look(&self, x: &[[f32; 3]], velocity: &mut [[f32; 3]], pressure: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if self.gained.is_wide() {
            // SAFETY: the processor has the features.
            return unsafe { self.look_wide(x, velocity, pressure) };
        }
        self.look_with::<Plain>(x, velocity, pressure);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn look_wide(&self, x: &[[f32; 3]], velocity: &mut [[f32; 3]], pressure: &mut [f32]) {
        self.look_with::<Wide>(x, velocity, pressure);
    }

    #[inline(always)]
    fn look_with<'a, R: Read<'a>>(&'a self, x: &[[f32; 3]], velocity: &mut [[f32; 3]], pressure: &mut [f32]) {
        let (gained, flow) = (R::new(&self.gained), R::new(&self.flow));
        for ((x, velocity), pressure) in x.iter().zip(velocity).zip(pressure) {
            let at = load(x);
            // That of the flow where the last step took it from.
            let v = flow.at(self.came_from(x, flow.at(at)));
            let gain = gained.at(at);
            *velocity = store(v + self.share * gain);
            *pressure = gain.w;
        }
    }

    #[inline(always)]
    fn came_from(&self, x: &[f32; 3], here: Vec4) -> Vec4 {
        let from = std::array::from_fn(|a| {
            let back = x[a] - here[a] * self.back[a];
            let n = self.layout.n[a] as f32;
            if self.layout.periodic[a] { wrapped(back, n) } else { back.clamp(0.0, n) }
        });
        load(&from)
    }
}
