//! Writers, one file per format. They see only a [`crate::frame::Frame`] and stream: a file of any size needs a
//! buffer of some 64 KiB.

mod bgeo;
mod ply;
mod pvd;
mod read_ply;
mod svg;
mod vtp;

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use crate::frame::{FieldData, Frame, Particles};

pub use ply::write_solids;
pub use pvd::Pvd;
pub use read_ply::{Column, PlyError, PlyPoints, Values, read_ply};
pub use svg::Plot;

/// A particle file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Stanford polygons, binary little-endian: Blender, MeshLab, CloudCompare, Python.
    Ply,
    /// VTK poly data, XML with raw appended arrays: ParaView, VisIt.
    Vtp,
    /// Classic Houdini geometry, as partio reads it: Houdini, Maya, Blender add-ons, splashsurf.
    Bgeo,
}

/// A format name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// No such format.
    #[error("unknown format `{name}`; valid names are {}", Format::names())]
    Unknown {
        /// As given.
        name: String,
    },
    /// A format that a later version has.
    #[error("format `{name}` is not built in this version; valid names are {}", Format::names())]
    NotBuilt {
        /// As given.
        name: String,
    },
}

impl Format {
    /// All formats of this version.
    pub const ALL: [Format; 3] = [Format::Ply, Format::Vtp, Format::Bgeo];

    /// Its name, which is also the extension of its files.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ply => "ply",
            Format::Vtp => "vtp",
            Format::Bgeo => "bgeo",
        }
    }

    /// Reads a list such as `ply,vtp`; `none` is the empty list. Repeated names count once.
    pub fn parse_list(list: &str) -> Result<Vec<Format>, FormatError> {
        let mut formats = Vec::new();
        if list.trim() == "none" {
            return Ok(formats);
        }
        for name in list.split(',') {
            let format = name.parse()?;
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
        Ok(formats)
    }

    fn names() -> String {
        Format::ALL.map(Format::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        let name = name.trim();
        if let Some(format) = Format::ALL.into_iter().find(|f| f.name().eq_ignore_ascii_case(name)) {
            return Ok(format);
        }
        let name = name.to_owned();
        match name.as_str() {
            "obj" | "usda" | "pov" => Err(FormatError::NotBuilt { name }),
            _ => Err(FormatError::Unknown { name }),
        }
    }
}

/// Writes the particles of a frame.
///
/// Fails with [`io::ErrorKind::InvalidInput`] when a field does not fit the particles, else with what `out` says.
pub fn write_particles(format: Format, frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    check_lengths(&frame.particles)?;
    match format {
        Format::Ply => ply::write(frame, out),
        Format::Vtp => vtp::write(frame, out),
        Format::Bgeo => bgeo::write(frame, out),
    }
}

fn check_lengths(particles: &Particles) -> io::Result<()> {
    for field in &particles.fields {
        if field.data.len() != particles.len() {
            return Err(unfit(format!(
                "field `{}` has {} values for {} particles",
                field.name,
                field.data.len(),
                particles.len()
            )));
        }
    }
    Ok(())
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
mod tests {
    use super::*;
    use crate::frame::{Body, Field};

    /// A frame whose every value is different.
    pub(super) fn sample(n: usize, normals: bool) -> Frame {
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
            particles: Particles { position: vector(0.5), fields },
            solids: vec![
                Body {
                    name: "sheet\nof cloth".into(),
                    nodes: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                    velocity: vec![[0.0, 0.0, 2.0]; 3],
                    triangles: vec![[0, 1, 2]],
                    radius: 0.0,
                },
                Body {
                    name: "ball".into(),
                    nodes: vec![[3.0, 2.0, 1.0]],
                    velocity: vec![[-1.0, 0.0, 0.0]],
                    triangles: vec![],
                    radius: 0.1,
                },
            ],
        }
    }

    #[test]
    fn format_names_are_read_and_wrong_ones_explained() {
        assert_eq!("ply".parse(), Ok(Format::Ply));
        assert_eq!(" VTP ".parse(), Ok(Format::Vtp));
        assert_eq!(Format::parse_list("ply, bgeo,ply"), Ok(vec![Format::Ply, Format::Bgeo]));
        assert_eq!(Format::parse_list("none"), Ok(vec![]));
        for later in ["obj", "usda", "pov"] {
            let error = later.parse::<Format>().unwrap_err().to_string();
            assert!(error.contains("not built in this version"), "{error}");
        }
        let error = Format::parse_list("ply,plyy").unwrap_err().to_string();
        assert_eq!(error, "unknown format `plyy`; valid names are ply, vtp, bgeo");
        assert!(Format::parse_list("").is_err());
    }

    #[test]
    fn a_field_of_the_wrong_length_or_kind_is_refused() {
        let mut short = sample(3, false);
        short.particles.fields[1].data = FieldData::Scalar(vec![1.0]);
        let mut kind = sample(3, false);
        kind.particles.fields[1].data = FieldData::Int(vec![1; 3]);
        for format in Format::ALL {
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

    #[test]
    fn every_format_streams_in_small_pieces() {
        let frame = sample(100_000, true);
        for format in Format::ALL {
            let mut gauge = Gauge(0, 0);
            write_particles(format, &frame, &mut gauge).unwrap();
            assert!(gauge.0 > 4_000_000 && gauge.1 < 70_000, "{format}: {} {}", gauge.0, gauge.1);
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
        for format in Format::ALL {
            let error = write_particles(format, &sample(10, true), &mut Full).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
