//! What the model shows of itself.

use rayon::prelude::*;

use super::Mac;
use super::convect::wrapped;
use super::cuts::Cuts;
use super::extrapolate::{pad, spread};
use super::transfer::{center_value_at, velocity_at};
use crate::frame::{Field, FieldData, Frame};
use crate::models::Around;

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
        let markers = moved.as_ref().unwrap_or(self.asked_for().0);
        // Half a step of acceleration takes velocities from the middle of the last step to its end.
        let mut gain = self.gain.clone();
        let share = if self.kick > 0.0 { (0.5 * self.last / self.kick) as f32 } else { 0.0 };
        if !self.known.0[0].is_empty() {
            spread(layout, &self.known, &mut gain, 4);
            pad(layout, cuts, &mut gain);
        }
        let velocity = (0..markers.len()).into_par_iter().map(|i| {
            let x = &markers.x[i];
            let v = if markers.only_follow { self.velocity_of(x) } else { markers.velocity[i] };
            let g = velocity_at(layout, &gain, x);
            std::array::from_fn(|a| v[a] + share * g[a])
        });
        let velocity: Vec<[f32; 3]> = velocity.collect();
        let pressure = self.pressure_field(cuts);
        let pressure = markers.x.par_iter().map(|x| center_value_at(layout, &pressure, x)).collect();
        let rest: Vec<f32> = self.fluids.iter().map(|f| f.density as f32).collect();
        let density =
            markers.x.par_iter().zip(&markers.fluid).map(|(x, f)| rest[usize::from(*f)] * self.crowding(x));
        let density = density.collect();
        frame.particles.position =
            markers.x.par_iter().map(|x| layout.world(*x).as_vec3().to_array()).collect();
        let mut add = |name, data| frame.particles.fields.push(Field { name, data });
        add("velocity", FieldData::Vector(velocity));
        add("density", FieldData::Scalar(density));
        add("pressure", FieldData::Scalar(pressure));
        add("fluid", FieldData::Byte(markers.fluid.clone()));
        add("id", FieldData::Int(markers.id.clone()));
        frame
    }

    /// Velocity of a marker that only follows, m/s: that of the flow where the last step took it from.
    fn velocity_of(&self, x: &[f32; 3]) -> [f32; 3] {
        let layout = &self.layout;
        let here = velocity_at(layout, &self.u, x);
        let from = std::array::from_fn(|a| {
            let back = x[a] - here[a] * (self.last / layout.h[a]) as f32;
            let n = layout.n[a] as f32;
            if layout.periodic[a] { wrapped(back, n) } else { back.clamp(0.0, n) }
        });
        velocity_at(layout, &self.u, &from)
    }

    /// How full the cell of a marker is; 1 at the surface, where less than full is no error.
    fn crowding(&self, x: &[f32; 3]) -> f32 {
        let layout = &self.layout;
        let cell = std::array::from_fn(|a| (x[a] as usize).min(layout.n[a] - 1));
        let i = layout.at(cell);
        let Some(fill) = self.liquid.fill.get(i) else { return 1.0 };
        let inside = self.liquid.wet[i]
            && layout.stride.iter().all(|s| self.liquid.wet[i - s] && self.liquid.wet[i + s]);
        if inside { *fill } else { 1.0 }
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
        field.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, field)| {
            if wet[i] {
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
