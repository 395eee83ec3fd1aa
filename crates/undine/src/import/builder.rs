//! From named arrays of any file to particles.

use std::path::Path;

use super::ImportError;
use crate::frame::{Field, FieldData, Particles};

/// A field that particles have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Velocity,
    Density,
    Pressure,
    Fluid,
    Id,
    Normal,
}

impl Known {
    /// The field that an array of that name and so many numbers a particle is meant to be, by the names in use in
    /// ParaView, Houdini, SPlisHSPlasH, DualSPHysics, PySPH and here.
    pub(super) fn of(name: &str, components: usize) -> Option<Known> {
        let known = match name.to_ascii_lowercase().as_str() {
            "velocity" | "velocities" | "vel" | "v" => Known::Velocity,
            "density" | "densities" | "rho" | "rhop" => Known::Density,
            "pressure" | "pressures" | "press" => Known::Pressure,
            "fluid" | "fluid_id" | "phase" | "phase_id" => Known::Fluid,
            "id" | "ids" | "idp" | "particle_id" | "particleid" => Known::Id,
            "normal" | "normals" | "n" => Known::Normal,
            _ => return None,
        };
        (known.components() == components).then_some(known)
    }

    fn components(self) -> usize {
        if matches!(self, Known::Velocity | Known::Normal) { 3 } else { 1 }
    }

    fn name(self) -> &'static str {
        match self {
            Known::Velocity => "velocity",
            Known::Density => "density",
            Known::Pressure => "pressure",
            Known::Fluid => "fluid",
            Known::Id => "id",
            Known::Normal => "normal",
        }
    }
}

/// Collects the arrays of particles. The first of several arrays for one field counts.
#[derive(Debug, Default)]
pub(super) struct Builder {
    particles: Particles,
}

impl Builder {
    /// Appends positions; `at` gives number `i` of the flat array of `3 × count`.
    pub(super) fn positions(&mut self, count: usize, at: impl Fn(usize) -> f64) {
        let vector = |i| std::array::from_fn(|k| at(3 * i + k) as f32);
        self.particles.position.extend((0..count).map(vector));
    }

    /// Number of particles so far.
    pub(super) fn len(&self) -> usize {
        self.particles.len()
    }

    /// Adds a field of `count` particles. Numbers of other kinds are converted, saturating.
    pub(super) fn field(&mut self, known: Known, count: usize, at: impl Fn(usize) -> f64) {
        if self.particles.field(known.name()).is_some() {
            return;
        }
        let vector = |i| std::array::from_fn(|k| at(3 * i + k) as f32);
        let data = match known {
            Known::Velocity | Known::Normal => FieldData::Vector((0..count).map(vector).collect()),
            Known::Density | Known::Pressure => FieldData::Scalar((0..count).map(|i| at(i) as f32).collect()),
            Known::Fluid => FieldData::Byte((0..count).map(|i| at(i) as u8).collect()),
            // A negative id is one above 2³¹ of a format without unsigned numbers.
            Known::Id => FieldData::Int((0..count).map(|i| whole(at(i))).collect()),
        };
        self.particles.fields.push(Field { name: known.name(), data });
    }

    /// Appends the particles of another piece of the same file; fields that are not in both are dropped.
    pub(super) fn append(&mut self, other: Builder) {
        if self.particles.is_empty() {
            *self = other;
            return;
        }
        if other.particles.is_empty() {
            return;
        }
        self.particles.position.extend(&other.particles.position);
        self.particles.fields.retain_mut(|field| {
            match (&mut field.data, other.particles.field(field.name)) {
                (FieldData::Scalar(a), Some(FieldData::Scalar(b))) => {
                    a.extend(b);
                    true
                }
                (FieldData::Vector(a), Some(FieldData::Vector(b))) => {
                    a.extend(b);
                    true
                }
                (FieldData::Int(a), Some(FieldData::Int(b))) => {
                    a.extend(b);
                    true
                }
                (FieldData::Byte(a), Some(FieldData::Byte(b))) => {
                    a.extend(b);
                    true
                }
                _ => false,
            }
        });
    }

    /// The particles.
    pub(super) fn finish(self, path: &Path) -> Result<Particles, ImportError> {
        checked(path, self.particles)
    }
}

fn whole(x: f64) -> u32 {
    if x < 0.0 { x as i32 as u32 } else { x as u32 }
}

/// Particles that hold together: finite positions, fields of their number, no field with other than finite numbers.
pub(super) fn checked(path: &Path, mut particles: Particles) -> Result<Particles, ImportError> {
    if let Some(particle) = particles.position.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
        return Err(ImportError::NotFinite { path: path.to_owned(), particle });
    }
    let count = particles.len();
    particles.fields.retain(|field| {
        let finite = match &field.data {
            FieldData::Scalar(v) => v.iter().all(|x| x.is_finite()),
            FieldData::Vector(v) => v.as_flattened().iter().all(|x| x.is_finite()),
            FieldData::Int(_) | FieldData::Byte(_) => true,
        };
        finite && field.data.len() == count
    });
    Ok(particles)
}
