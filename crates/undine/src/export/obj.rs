//! OBJ: Wavefront text. Positions and normals, an object for each fluid. The format has no place for velocities.

use std::io::{self, Write};

use super::mesh::{Joined, identifier, parts, signature};
use crate::frame::Frame;
use crate::plain::Records;
use crate::surface::Surface;

/// Writes a surface; `name` names its fluids.
pub(super) fn write(
    frame: &Frame,
    surface: &Surface,
    name: &dyn Fn(u8) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut records = Records::new(out);
    records.next()?.extend_from_slice(signature(frame, "#").as_bytes());
    // Numbers of corners run through the whole file, from 1.
    let mut first = 1u64;
    for (fluid, part) in parts(surface) {
        writeln!(records.next()?, "o {}", identifier(&name(fluid)))?;
        for p in &part.position {
            writeln!(records.next()?, "v {}", Joined(p, " "))?;
        }
        for n in &part.normal {
            writeln!(records.next()?, "vn {}", Joined(n, " "))?;
        }
        for triangle in &part.triangles {
            let [a, b, c] = triangle.map(|corner| first + u64::from(corner));
            if part.normal.is_empty() {
                writeln!(records.next()?, "f {a} {b} {c}")?;
            } else {
                writeln!(records.next()?, "f {a}//{a} {b}//{b} {c}//{c}")?;
            }
        }
        first += part.position.len() as u64;
    }
    records.finish()
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::balls;
    use super::super::{Format, Shot, Stage, write_surface};
    use super::*;
    use crate::scene::mesh_io;
    use std::path::Path;

    #[test]
    fn our_own_reader_finds_two_closed_balls() {
        let (frame, stage) = (Frame::default(), Stage::default());
        for normals in [true, false] {
            let mut surface = balls();
            if !normals {
                surface.normal.clear();
            }
            let mut file = Vec::new();
            let shot = Shot { frame: &frame, surface: &surface, stage: &stage };
            write_surface(Format::Obj, &shot, &mut file).unwrap();
            let mesh = mesh_io::read(Path::new("a.obj"), &file).unwrap();
            assert_eq!(mesh.triangles.len(), surface.triangles.len());
            assert!(mesh.is_closed() && mesh.volume() > 0.9);
        }
        let mut file = Vec::new();
        let shot = Shot { frame: &frame, surface: &Surface::default(), stage: &stage };
        write_surface(Format::Obj, &shot, &mut file).unwrap();
        assert!(file.starts_with(b"# undine"));
    }
}
