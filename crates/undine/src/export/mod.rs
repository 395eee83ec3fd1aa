//! Writers, one file per format. They see only a [`crate::frame::Frame`] and stream: a file of any size needs a
//! buffer of some 64 KiB.

mod bgeo;
mod format;
mod glb;
mod mesh;
mod mitsuba;
mod obj;
mod ply;
mod ply_mesh;
mod pov;
mod pvd;
mod rad;
mod run;
mod stage;
mod svg;
mod tessellate;
mod usd_run;
mod usda;
mod vtp;
mod vtp_mesh;

use std::io::{self, Write};

use crate::frame::{FieldData, Frame, Particles};
use crate::surface::Surface;

pub use crate::import::{Column, PlyError, PlyPoints, Values, read_ply};
pub use format::{Format, FormatError};
pub use mesh::Shot;
pub use ply::write_solids;
pub use pvd::Pvd;
pub use run::RunExports;
pub use stage::{Look, Stage, StageWall};
pub use svg::Plot;
pub use usd_run::UsdRun;

/// Writes the particles of a frame. As USDA it is the layer of one frame, see [`UsdRun`].
///
/// Fails with [`io::ErrorKind::InvalidInput`] when a field does not fit the particles, a number is not finite or the
/// format holds no particles, else with what `out` says.
pub fn write_particles(format: Format, frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    check_particles(&frame.particles)?;
    match format {
        Format::Ply => ply::write(frame, out),
        Format::Vtp => vtp::write(frame, out),
        Format::Bgeo => bgeo::write(frame, out),
        Format::Usda => usda::write_particles(frame, out),
        Format::Obj | Format::Glb | Format::Pov | Format::Rad | Format::Mitsuba => {
            Err(unfit(format!("format `{format}` holds no particles")))
        }
    }
}

/// Writes the surface of a frame, and in the formats of whole scenes ([`Format::holds_scenes`]) what is around it.
/// Those but GLB refer to further files; [`RunExports`] writes them all.
///
/// Fails with [`io::ErrorKind::InvalidInput`] when the arrays do not fit each other, a number is not finite or the
/// format holds no surfaces, else with what `out` says.
pub fn write_surface(format: Format, shot: &Shot<'_>, out: &mut dyn Write) -> io::Result<()> {
    mesh::check(shot.surface)?;
    if format.holds_scenes() {
        mesh::check_solids(shot.frame)?;
    }
    match format {
        Format::Ply => ply_mesh::write(shot.frame, shot.surface, out),
        Format::Obj => obj::write(shot.frame, shot.surface, &|fluid| shot.stage.look(fluid).name, out),
        Format::Vtp => vtp_mesh::write(shot.frame, shot.surface, out),
        Format::Usda => usda::write_surface(shot, out),
        Format::Glb => glb::write(shot, out),
        Format::Pov => pov::write_frame(shot, out),
        Format::Rad => rad::write_frame(shot, out),
        Format::Mitsuba => mitsuba::write(shot, out),
        Format::Bgeo => Err(unfit(format!("format `{format}` holds no surfaces"))),
    }
}

/// Writes one mesh, such as walls or solids, as PLY, OBJ or VTP. `name` is its name in formats that have one.
pub fn write_mesh(
    format: Format,
    name: &str,
    frame: &Frame,
    mesh: &Surface,
    out: &mut dyn Write,
) -> io::Result<()> {
    mesh::check(mesh)?;
    match format {
        Format::Ply => ply_mesh::write(frame, mesh, out),
        Format::Obj => obj::write(frame, mesh, &|_| name.to_owned(), out),
        Format::Vtp => vtp_mesh::write(frame, mesh, out),
        _ => Err(unfit(format!("format `{format}` does not hold a mesh alone"))),
    }
}

fn check_particles(particles: &Particles) -> io::Result<()> {
    for field in &particles.fields {
        if field.data.len() != particles.len() {
            return Err(unfit(format!(
                "field `{}` has {} values for {} particles",
                field.name,
                field.data.len(),
                particles.len()
            )));
        }
        let finite = match &field.data {
            FieldData::Scalar(v) => are_finite(v),
            FieldData::Vector(v) => are_finite(v.as_flattened()),
            FieldData::Int(_) | FieldData::Byte(_) => true,
        };
        if !finite {
            return Err(unfit(format!("field `{}` has a number that is not finite", field.name)));
        }
    }
    if !are_finite(particles.position.as_flattened()) {
        let i = particles.position.iter().position(|p| !p.iter().all(|x| x.is_finite())).unwrap_or(0);
        return Err(unfit(format!("the position of particle {i} is not finite")));
    }
    Ok(())
}

/// Whether all numbers are finite. Without a way out in the middle the compiler looks at several at once.
fn are_finite(numbers: &[f32]) -> bool {
    !numbers.iter().fold(false, |any, x| any | !x.is_finite())
}

fn unfit(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// The fields that every particle file knows, each absent or as long as the positions.
struct Known<'a> {
    velocity: Option<&'a [[f32; 3]]>,
    density: Option<&'a [f32]>,
    pressure: Option<&'a [f32]>,
    fluid: Option<&'a [u8]>,
    id: Option<&'a [u32]>,
    normal: Option<&'a [[f32; 3]]>,
}

impl<'a> Known<'a> {
    fn of(particles: &'a Particles) -> io::Result<Known<'a>> {
        macro_rules! field {
            ($name:literal, $kind:ident) => {
                match particles.field($name) {
                    None => None,
                    Some(FieldData::$kind(values)) => Some(values.as_slice()),
                    Some(_) => return Err(unfit(format!("field `{}` is not of its usual kind", $name))),
                }
            };
        }
        Ok(Known {
            velocity: field!("velocity", Vector),
            density: field!("density", Scalar),
            pressure: field!("pressure", Scalar),
            fluid: field!("fluid", Byte),
            id: field!("id", Int),
            normal: field!("normal", Vector),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::mesh::tests::balls;
    use super::*;
    use crate::frame::{Body, Field};

    /// A frame whose every value is different.
    pub(crate) fn sample(n: usize, normals: bool) -> Frame {
        let vector = |offset: f32| -> Vec<[f32; 3]> {
            (0..n).map(|i| i as f32 + offset).map(|x| [x, -x, x * 0.125]).collect()
        };
        let scalar = |offset: f32| (0..n).map(|i| i as f32 * 0.5 + offset).collect();
        let mut fields = vec![
            Field { name: "velocity", data: FieldData::Vector(vector(0.25)) },
            Field { name: "density", data: FieldData::Scalar(scalar(1000.0)) },
            Field { name: "pressure", data: FieldData::Scalar(scalar(-3.0)) },
            Field { name: "fluid", data: FieldData::Byte((0..n).map(|i| i as u8).collect()) },
            Field { name: "id", data: FieldData::Int((0..n).map(|i| 4_000_000_000 - i as u32).collect()) },
        ];
        if normals {
            fields.push(Field { name: "normal", data: FieldData::Vector(vector(0.75)) });
        }
        Frame {
            index: 12,
            time: 0.1 + 0.2,
            spacing: 0.02,
            support: 0.04,
            gravity: None,
            spent: None,
            particles: Particles { position: vector(0.5), fields },
            solids: vec![
                Body {
                    name: "sheet\nof cloth".into(),
                    nodes: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                    velocity: vec![[0.0, 0.0, 2.0]; 3],
                    triangles: vec![[0, 1, 2]],
                    ..Body::default()
                },
                Body {
                    name: "ball".into(),
                    nodes: vec![[3.0, 2.0, 1.0]],
                    velocity: vec![[-1.0, 0.0, 0.0]],
                    radius: 0.1,
                    ..Body::default()
                },
            ],
        }
    }

    #[test]
    fn a_field_of_the_wrong_length_or_kind_is_refused() {
        let mut short = sample(3, false);
        short.particles.fields[1].data = FieldData::Scalar(vec![1.0]);
        let mut kind = sample(3, false);
        kind.particles.fields[1].data = FieldData::Int(vec![1; 3]);
        for format in particle_formats() {
            let error = write_particles(format, &short, &mut Vec::new()).unwrap_err();
            assert_eq!(error.to_string(), "field `density` has 1 values for 3 particles");
        }
        assert!(write_particles(Format::Ply, &kind, &mut Vec::new()).is_err());
    }

    /// Counts what arrives and remembers the largest piece.
    struct Gauge(usize, usize);

    impl Write for Gauge {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            self.1 = self.1.max(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn particle_formats() -> impl Iterator<Item = Format> {
        Format::ALL.into_iter().filter(|format| format.writes_particles())
    }

    fn surface_formats() -> impl Iterator<Item = Format> {
        Format::ALL.into_iter().filter(|format| format.writes_surfaces())
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused_by_every_format() {
        let mut frame = sample(3, false);
        frame.particles.position[1][2] = f32::NAN;
        for format in particle_formats() {
            let error = write_particles(format, &frame, &mut Vec::new()).unwrap_err();
            assert_eq!(error.to_string(), "the position of particle 1 is not finite");
        }
        let (stage, mut surface) = (Stage::default(), balls());
        surface.normal[5][0] = f32::NEG_INFINITY;
        let shot = Shot { frame: &frame, surface: &surface, stage: &stage };
        for format in surface_formats() {
            let error = write_surface(format, &shot, &mut Vec::new()).unwrap_err();
            assert_eq!(error.to_string(), "the normal of vertex 5 is not finite");
        }
    }

    #[test]
    fn a_format_refuses_what_it_cannot_hold() {
        let (frame, stage, surface) = (sample(3, false), Stage::default(), balls());
        let shot = Shot { frame: &frame, surface: &surface, stage: &stage };
        for format in Format::ALL {
            let particles = write_particles(format, &frame, &mut Vec::new()).is_ok();
            assert_eq!(particles, format.writes_particles(), "{format}");
            let surfaces = write_surface(format, &shot, &mut Vec::new()).is_ok();
            assert_eq!(surfaces, format.writes_surfaces(), "{format}");
        }
    }

    #[test]
    fn every_format_streams_in_small_pieces() {
        let frame = sample(100_000, true);
        for format in particle_formats() {
            let mut gauge = Gauge(0, 0);
            write_particles(format, &frame, &mut gauge).unwrap();
            assert!(gauge.0 > 4_000_000 && gauge.1 < 70_000, "{format}: {} {}", gauge.0, gauge.1);
        }
        let (stage, mut surface) = (Stage::default(), balls());
        // Many times the same triangles, all of one fluid.
        surface.fluid.clear();
        let triangles = surface.triangles.clone();
        (0..100).for_each(|_| surface.triangles.extend(&triangles));
        let shot = Shot { frame: &Frame::default(), surface: &surface, stage: &stage };
        for format in surface_formats().filter(|format| *format != Format::Mitsuba) {
            let mut gauge = Gauge(0, 0);
            write_surface(format, &shot, &mut gauge).unwrap();
            assert!(gauge.0 > 700_000 && gauge.1 < 70_000, "{format}: {} {}", gauge.0, gauge.1);
        }
    }

    #[test]
    fn a_full_disk_is_reported_by_every_format() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (frame, stage, surface) = (sample(10, true), Stage::default(), balls());
        for format in particle_formats() {
            let error = write_particles(format, &frame, &mut Full).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        for format in surface_formats() {
            let shot = Shot { frame: &frame, surface: &surface, stage: &stage };
            let error = write_surface(format, &shot, &mut Full).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
