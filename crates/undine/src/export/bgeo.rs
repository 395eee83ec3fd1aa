//! BGEO: Houdini's classic binary geometry, version 5, as partio writes it: big-endian, points only.
//!
//! ```text
//! "Bgeo" 'V' version points primitives point-groups primitive-groups
//!     point-attributes vertex-attributes primitive-attributes detail-attributes      (i32 each)
//! per point attribute: u16 name length, name, u16 components, i32 kind (0 float, 1 int, 5 vector), defaults
//! per point: x y z w, then its attributes, 4 bytes a component
//! 0x00 0xff
//! ```

use std::io::{self, Write};

use super::unfit;
use crate::frame::{FieldData, Frame};
use crate::plain::Records;

const FLOAT: i32 = 0;
const INT: i32 = 1;
const VECTOR: i32 = 5;

/// Writes particles with every field of the frame. Houdini's names are used for velocity (`v`) and normal (`N`).
/// Ids above 2³¹ come out negative: the format has no unsigned numbers.
pub(super) fn write(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    let particles = &frame.particles;
    let count = i32::try_from(particles.len())
        .map_err(|_| unfit(format!("{} particles are more than BGEO can count", particles.len())))?;

    let mut header = b"BgeoV".to_vec();
    let attributes = particles.fields.len() as i32;
    for number in [5, count, 0, 0, 0, attributes, 0, 0, 0] {
        header.extend(i32::to_be_bytes(number));
    }
    for field in &particles.fields {
        let name = match field.name {
            "velocity" => "v",
            "normal" => "N",
            name => name,
        };
        let (components, kind): (u16, i32) = match field.data {
            FieldData::Scalar(_) => (1, FLOAT),
            FieldData::Vector(_) => (3, VECTOR),
            FieldData::Int(_) | FieldData::Byte(_) => (1, INT),
        };
        header.extend((name.len() as u16).to_be_bytes());
        header.extend(name.as_bytes());
        header.extend(components.to_be_bytes());
        header.extend(kind.to_be_bytes());
        header.extend(std::iter::repeat_n(0u8, 4 * components as usize));
    }
    out.write_all(&header)?;

    let mut records = Records::new(out);
    for (i, position) in particles.position.iter().enumerate() {
        let record = records.next()?;
        put_vector(record, position);
        record.extend_from_slice(&1f32.to_be_bytes());
        for field in &particles.fields {
            match &field.data {
                FieldData::Scalar(v) => record.extend_from_slice(&v[i].to_be_bytes()),
                FieldData::Vector(v) => put_vector(record, &v[i]),
                FieldData::Int(v) => record.extend_from_slice(&v[i].to_be_bytes()),
                FieldData::Byte(v) => record.extend_from_slice(&u32::from(v[i]).to_be_bytes()),
            }
        }
    }
    records.next()?.extend_from_slice(&[0x00, 0xff]);
    records.finish()
}

#[inline]
fn put_vector(record: &mut Vec<u8>, [x, y, z]: &[f32; 3]) {
    record.extend_from_slice(&x.to_be_bytes());
    record.extend_from_slice(&y.to_be_bytes());
    record.extend_from_slice(&z.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_bytes_are_those_of_partio() {
        let mut bytes = Vec::new();
        write(&sample(2, true), &mut bytes).unwrap();
        let mut expected = b"BgeoV".to_vec();
        let int = |out: &mut Vec<u8>, value: i32| out.extend(value.to_be_bytes());
        for number in [5, 2, 0, 0, 0, 6, 0, 0, 0] {
            int(&mut expected, number);
        }
        for (name, components, kind) in
            [("v", 3u8, 5), ("density", 1, 0), ("pressure", 1, 0), ("fluid", 1, 1), ("id", 1, 1), ("N", 3, 5)]
        {
            expected.extend([0, name.len() as u8]);
            expected.extend(name.bytes());
            expected.extend([0, components]);
            int(&mut expected, kind);
            (0..components).for_each(|_| int(&mut expected, 0));
        }
        for i in 0..2 {
            let x = i as f32;
            let float = |out: &mut Vec<u8>, value: f32| out.extend(value.to_be_bytes());
            let vector = |out: &mut Vec<u8>, x: f32| [x, -x, x * 0.125].map(|x| float(out, x));
            vector(&mut expected, x + 0.5);
            float(&mut expected, 1.0);
            vector(&mut expected, x + 0.25);
            float(&mut expected, 1000.0 + 0.5 * x);
            float(&mut expected, -3.0 + 0.5 * x);
            int(&mut expected, i);
            int(&mut expected, (4_000_000_000u32 - i as u32) as i32);
            vector(&mut expected, x + 0.75);
        }
        expected.extend([0, 0xff]);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn no_particles_make_a_whole_file() {
        let mut bytes = Vec::new();
        write(&Frame::default(), &mut bytes).unwrap();
        assert_eq!(bytes.len(), 5 + 9 * 4 + 2);
        assert_eq!(bytes[bytes.len() - 2..], [0, 0xff]);
    }
}
