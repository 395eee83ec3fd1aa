//! The names of formats.

use std::fmt;
use std::str::FromStr;

/// A file format. Some hold particles, some surfaces, some both: [`Format::writes_particles`],
/// [`Format::writes_surfaces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Stanford polygons, binary little-endian: Blender, MeshLab, CloudCompare, Python.
    Ply,
    /// Wavefront text: everything that reads meshes.
    Obj,
    /// VTK poly data, XML with raw appended arrays: ParaView, VisIt.
    Vtp,
    /// Classic Houdini geometry, as partio reads it: Houdini, Maya, Blender add-ons, splashsurf.
    Bgeo,
    /// Universal Scene Description as text, one stage for the whole run: Houdini, Blender, Omniverse, Maya.
    Usda,
    /// Binary glTF 2.0, one file a frame with walls and camera: web pages, Windows, Blender, Godot.
    Glb,
    /// POV-Ray: an include file a frame and a scene that renders the run.
    Pov,
    /// Radiance: polygons of a frame and a scene around them.
    Rad,
    /// Mitsuba 3: a scene a frame, with the surface as PLY beside it.
    Mitsuba,
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
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 9] = [
        Format::Ply,
        Format::Obj,
        Format::Vtp,
        Format::Bgeo,
        Format::Usda,
        Format::Glb,
        Format::Pov,
        Format::Rad,
        Format::Mitsuba,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ply => "ply",
            Format::Obj => "obj",
            Format::Vtp => "vtp",
            Format::Bgeo => "bgeo",
            Format::Usda => "usda",
            Format::Glb => "glb",
            Format::Pov => "pov",
            Format::Rad => "rad",
            Format::Mitsuba => "mitsuba",
        }
    }

    /// The extension of its numbered files.
    pub fn extension(self) -> &'static str {
        match self {
            // The numbered files are parts; the whole scene includes them.
            Format::Pov => "inc",
            Format::Mitsuba => "xml",
            other => other.name(),
        }
    }

    /// Whether it holds particles.
    pub fn writes_particles(self) -> bool {
        matches!(self, Format::Ply | Format::Vtp | Format::Bgeo | Format::Usda)
    }

    /// Whether it holds surfaces.
    pub fn writes_surfaces(self) -> bool {
        self != Format::Bgeo
    }

    /// Whether a file stands for a whole scene of a frame (surface, solids, walls, camera), not for one mesh.
    pub fn holds_scenes(self) -> bool {
        matches!(self, Format::Glb | Format::Pov | Format::Rad | Format::Mitsuba)
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
        Format::ALL
            .into_iter()
            .find(|f| f.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| FormatError::Unknown { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_names_are_read_and_wrong_ones_explained() {
        assert_eq!("ply".parse(), Ok(Format::Ply));
        assert_eq!(" VTP ".parse(), Ok(Format::Vtp));
        assert_eq!(Format::parse_list("ply, bgeo,ply"), Ok(vec![Format::Ply, Format::Bgeo]));
        assert_eq!(Format::parse_list("ply,obj,vtp,bgeo,usda,pov").map(|f| f.len()), Ok(6));
        assert_eq!(Format::parse_list("none"), Ok(vec![]));
        let error = Format::parse_list("ply,plyy").unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown format `plyy`; valid names are ply, obj, vtp, bgeo, usda, glb, pov, rad, mitsuba"
        );
        assert!(Format::parse_list("").is_err());
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(format.writes_particles() || format.writes_surfaces());
        }
    }
}
