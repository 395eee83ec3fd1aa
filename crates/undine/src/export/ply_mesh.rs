//! PLY surfaces: binary little-endian, `x y z`, then of `nx ny nz`, `vx vy vz` and `fluid` what is known.

use std::io::{self, Write};

use super::ply::{put_vector, start};
use crate::frame::Frame;
use crate::plain::Records;
use crate::surface::Surface;

/// Writes a surface.
pub(super) fn write(frame: &Frame, surface: &Surface, out: &mut dyn Write) -> io::Result<()> {
    let mut header = start(frame);
    header += &format!("element vertex {}\n", surface.position.len());
    let mut floats = |names: [&str; 3]| names.map(|n| header += &format!("property float {n}\n"));
    floats(["x", "y", "z"]);
    if !surface.normal.is_empty() {
        floats(["nx", "ny", "nz"]);
    }
    if !surface.velocity.is_empty() {
        floats(["vx", "vy", "vz"]);
    }
    if !surface.fluid.is_empty() {
        header += "property uchar fluid\n";
    }
    header += &format!("element face {}\n", surface.triangles.len());
    header += "property list uchar uint vertex_indices\nend_header\n";
    out.write_all(header.as_bytes())?;

    let mut records = Records::new(out);
    for (i, position) in surface.position.iter().enumerate() {
        let record = records.next()?;
        put_vector(record, position);
        for known in [&surface.normal, &surface.velocity] {
            if let Some(vector) = known.get(i) {
                put_vector(record, vector);
            }
        }
        record.extend(surface.fluid.get(i));
    }
    for triangle in &surface.triangles {
        let mut bytes = [3; 13];
        bytes[1..].copy_from_slice(triangle.map(u32::to_le_bytes).as_flattened());
        records.next()?.extend_from_slice(&bytes);
    }
    records.finish()
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::balls;
    use super::*;
    use crate::import::{Values, read_ply};
    use crate::scene::mesh_io;
    use std::path::Path;

    #[test]
    fn both_of_our_readers_find_what_was_written() {
        let surface = balls();
        let mut file = Vec::new();
        write(&Frame::default(), &surface, &mut file).unwrap();
        let points = read_ply(&mut file.as_slice()).unwrap();
        assert_eq!(points.count, surface.position.len());
        assert_eq!(points.column("fluid").unwrap().values, Values::U8(surface.fluid.clone()));
        let particles = points.to_particles().unwrap();
        assert_eq!(particles.position, surface.position);
        assert_eq!(particles.vector("velocity").unwrap(), surface.velocity);
        assert_eq!(particles.vector("normal").unwrap(), surface.normal);
        let mesh = mesh_io::read(Path::new("a.ply"), &file).unwrap();
        assert!(mesh.is_closed() && mesh.triangles.len() == surface.triangles.len());
    }

    #[test]
    fn what_is_not_known_takes_no_room() {
        let bare = Surface { normal: vec![], velocity: vec![], fluid: vec![], ..balls() };
        let mut file = Vec::new();
        write(&Frame::default(), &bare, &mut file).unwrap();
        let header = file.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
        assert_eq!(file.len() - header, 12 * bare.position.len() + 13 * bare.triangles.len());
    }
}
