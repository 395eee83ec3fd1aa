//! PLY, binary little-endian: particles, and the nodes of solids.

use std::io::{self, Write};

use super::Known;
use super::mesh::{check_solids, signature};
use crate::frame::Frame;
use crate::plain::Records;

/// Writes particles: `x y z vx vy vz density pressure fluid id`, and `nx ny nz` where the frame has normals.
/// The columns are always there so that readers need no cases: what the model does not know is 0, an unknown id
/// is the place in the file.
pub(super) fn write(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    let particles = &frame.particles;
    let known = Known::of(particles)?;
    let mut header = start(frame);
    header += &format!("element vertex {}\n", particles.len());
    for name in ["x", "y", "z", "vx", "vy", "vz", "density", "pressure"] {
        header += &format!("property float {name}\n");
    }
    header += "property uchar fluid\nproperty uint id\n";
    if known.normal.is_some() {
        header += "property float nx\nproperty float ny\nproperty float nz\n";
    }
    header += "end_header\n";
    out.write_all(header.as_bytes())?;

    let mut records = Records::new(out);
    for (i, position) in particles.position.iter().enumerate() {
        let velocity = known.velocity.map_or([0.0; 3], |v| v[i]);
        let (density, pressure) = (known.density.map_or(0.0, |v| v[i]), known.pressure.map_or(0.0, |v| v[i]));
        // All at once: each piece on its own asks for room.
        let mut bytes = [0; 37];
        let numbers = position.iter().chain(&velocity).chain([&density, &pressure]);
        for (to, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
            *to = number.to_le_bytes();
        }
        bytes[32] = known.fluid.map_or(0, |v| v[i]);
        bytes[33..].copy_from_slice(&known.id.map_or(i as u32, |v| v[i]).to_le_bytes());
        let record = records.next()?;
        record.extend_from_slice(&bytes);
        if let Some(normal) = known.normal {
            put_vector(record, &normal[i]);
        }
    }
    records.finish()
}

/// Writes the nodes of the solids, `x y z vx vy vz body`, and their triangles as faces. The comments give each
/// body's number, radius (of a ball; 0 otherwise) and name.
pub fn write_solids(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    check_solids(frame)?;
    let mut header = start(frame);
    let (mut nodes, mut triangles) = (0usize, 0usize);
    for (number, body) in frame.solids.iter().enumerate() {
        nodes += body.nodes.len();
        triangles += body.triangles.len();
        // A header is ASCII by definition and its lines end with a line feed.
        let name: String =
            body.name.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '_' }).collect();
        header += &format!("comment body {number} radius {} name {name}\n", body.radius);
    }
    header += &format!("element vertex {nodes}\n");
    for name in ["x", "y", "z", "vx", "vy", "vz"] {
        header += &format!("property float {name}\n");
    }
    header += "property uint body\n";
    if triangles > 0 {
        header += &format!("element face {triangles}\nproperty list uchar uint vertex_indices\n");
    }
    header += "end_header\n";
    out.write_all(header.as_bytes())?;

    let mut records = Records::new(out);
    for (number, body) in frame.solids.iter().enumerate() {
        for (node, velocity) in body.nodes.iter().zip(&body.velocity) {
            let record = records.next()?;
            put_vector(record, node);
            put_vector(record, velocity);
            record.extend_from_slice(&(number as u32).to_le_bytes());
        }
    }
    let mut first = 0u32;
    for body in &frame.solids {
        for triangle in &body.triangles {
            let record = records.next()?;
            record.push(3);
            for node in triangle {
                record.extend_from_slice(&(first + node).to_le_bytes());
            }
        }
        first += body.nodes.len() as u32;
    }
    records.finish()
}

pub(super) fn start(frame: &Frame) -> String {
    format!("ply\nformat binary_little_endian 1.0\n{}", signature(frame, "comment"))
}

#[inline]
pub(super) fn put_vector(record: &mut Vec<u8>, vector: &[f32; 3]) {
    record.extend_from_slice(vector.map(f32::to_le_bytes).as_flattened());
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;
    use crate::frame::Particles;
    use crate::import::{Values, read_ply};

    #[test]
    fn the_bytes_are_those_of_the_contract() {
        let mut bytes = Vec::new();
        write(&sample(2, false), &mut bytes).unwrap();
        let header = format!(
            "ply\nformat binary_little_endian 1.0\ncomment undine {}\ncomment time 0.30000000000000004\n\
             comment frame 12\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
             property float vx\nproperty float vy\nproperty float vz\nproperty float density\n\
             property float pressure\nproperty uchar fluid\nproperty uint id\nend_header\n",
            env!("CARGO_PKG_VERSION")
        );
        let (head, body) = bytes.split_at(header.len());
        assert_eq!(std::str::from_utf8(head).unwrap(), header);
        assert_eq!(body.len(), 2 * 37);
        let mut second = Vec::new();
        for value in [1.5f32, -1.5, 0.1875, 1.25, -1.25, 0.15625, 1000.5, -2.5] {
            second.extend(value.to_le_bytes());
        }
        second.push(1);
        second.extend(3_999_999_999u32.to_le_bytes());
        assert_eq!(&body[37..], second);
    }

    #[test]
    fn particles_read_back_as_written() {
        for normals in [false, true] {
            for n in [0, 1, 5000] {
                let frame = sample(n, normals);
                let mut bytes = Vec::new();
                write(&frame, &mut bytes).unwrap();
                let read = read_ply(&mut bytes.as_slice()).unwrap();
                assert_eq!(read.to_particles().unwrap(), frame.particles);
                assert_eq!(read.time(), Some(frame.time));
                assert_eq!(read.frame(), Some(12));
            }
        }
    }

    #[test]
    fn a_bare_frame_gets_the_same_columns() {
        let particles = Particles { position: vec![[1.0, 2.0, 3.0]; 2], fields: vec![] };
        let frame = Frame { particles, ..Frame::default() };
        let mut bytes = Vec::new();
        write(&frame, &mut bytes).unwrap();
        let read = read_ply(&mut bytes.as_slice()).unwrap();
        assert_eq!(read.columns.len(), 10);
        assert_eq!(read.column("id").unwrap().values, Values::U32(vec![0, 1]));
        assert_eq!(read.column("density").unwrap().values, Values::F32(vec![0.0; 2]));
    }

    #[test]
    fn solids_carry_their_body_and_triangles() {
        let mut frame = sample(0, false);
        frame.solids.reverse();
        let mut bytes = Vec::new();
        write_solids(&frame, &mut bytes).unwrap();
        let read = read_ply(&mut bytes.as_slice()).unwrap();
        let names: Vec<&str> = read.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["x", "y", "z", "vx", "vy", "vz", "body"]);
        assert_eq!(read.column("body").unwrap().values, Values::U32(vec![0, 1, 1, 1]));
        assert!(read.comments.contains(&"body 0 radius 0.1 name ball".to_owned()), "{:?}", read.comments);
        assert!(read.comments.contains(&"body 1 radius 0 name sheet_of cloth".to_owned()));
        // The triangle's nodes follow the ball's one node.
        assert_eq!(bytes[bytes.len() - 13..], [3, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    }

    #[test]
    fn a_broken_solid_is_refused() {
        let mut frame = sample(0, false);
        frame.solids[0].triangles = vec![[0, 1, 3]];
        assert!(write_solids(&frame, &mut Vec::new()).is_err());
        frame.solids[0].velocity.clear();
        assert!(write_solids(&frame, &mut Vec::new()).is_err());
    }
}
