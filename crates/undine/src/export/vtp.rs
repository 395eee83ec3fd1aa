//! VTP: VTK poly data in XML, the arrays raw behind it (little-endian, each after its length as u64).

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use crate::frame::{FieldData, Frame};
use crate::plain::{CHUNK, Plain, Shortest, write_slice};

/// Writes particles as points with a vertex each (filters that select cells need them), every field of the frame
/// as a point array; normals are named `Normals`, as VTK's own filters name them.
pub(super) fn write(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    let particles = &frame.particles;
    let count = particles.len() as u64;
    // Half the room where the numbers allow; VTK reads either.
    let wide = count > i32::MAX as u64;
    let (index_type, index_size) = if wide { ("Int64", 8) } else { ("Int32", 4) };

    let mut offset = 0u64;
    let mut array = |xml: &mut String, kind: &str, name: &str, components: u32, size: u64| {
        let _ = writeln!(
            xml,
            r#"<DataArray type="{kind}" Name="{}" NumberOfComponents="{components}" format="appended" offset="{offset}"/>"#,
            super::svg::escape(name)
        );
        offset += 8 + count * size;
    };
    let mut xml = begin(frame);
    let _ = writeln!(
        xml,
        r#"<Piece NumberOfPoints="{count}" NumberOfVerts="{count}" NumberOfLines="0" NumberOfStrips="0" NumberOfPolys="0">"#
    );
    xml += "<Points>\n";
    array(&mut xml, "Float32", "Points", 3, 12);
    xml += "</Points>\n<Verts>\n";
    array(&mut xml, index_type, "connectivity", 1, index_size);
    array(&mut xml, index_type, "offsets", 1, index_size);
    xml += "</Verts>\n<PointData";
    for (role, field, name) in [
        ("Scalars", "density", "density"),
        ("Vectors", "velocity", "velocity"),
        ("Normals", "normal", "Normals"),
    ] {
        if particles.field(field).is_some() {
            let _ = write!(xml, r#" {role}="{name}""#);
        }
    }
    xml += ">\n";
    for field in &particles.fields {
        let name = if field.name == "normal" { "Normals" } else { field.name };
        match &field.data {
            FieldData::Scalar(_) => array(&mut xml, "Float32", name, 1, 4),
            FieldData::Vector(_) => array(&mut xml, "Float32", name, 3, 12),
            FieldData::Int(_) => array(&mut xml, "UInt32", name, 1, 4),
            FieldData::Byte(_) => array(&mut xml, "UInt8", name, 1, 1),
        }
    }
    xml += "</PointData>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_";
    out.write_all(xml.as_bytes())?;

    put(out, &particles.position)?;
    for first in [0, 1] {
        out.write_all(&(count * index_size).to_le_bytes())?;
        if wide {
            put_numbers::<i64>(out, first, count, |i| i as i64)?;
        } else {
            put_numbers::<i32>(out, first, count, |i| i as i32)?;
        }
    }
    for field in &particles.fields {
        match &field.data {
            FieldData::Scalar(v) => put(out, v)?,
            FieldData::Vector(v) => put(out, v)?,
            FieldData::Int(v) => put(out, v)?,
            FieldData::Byte(v) => put(out, v)?,
        }
    }
    out.write_all(b"\n</AppendedData>\n</VTKFile>\n")
}

/// The head of a file, up to its one piece.
pub(super) fn begin(frame: &Frame) -> String {
    let mut xml = String::from("<?xml version=\"1.0\"?>\n");
    xml += "<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n";
    let _ = writeln!(xml, "<!-- undine {} frame {} -->", env!("CARGO_PKG_VERSION"), frame.index);
    xml += "<PolyData>\n<FieldData>\n";
    let _ = writeln!(
        xml,
        r#"<DataArray type="Float64" Name="TimeValue" NumberOfTuples="1" format="ascii">{}</DataArray>"#,
        Shortest(frame.time)
    );
    xml += "</FieldData>\n";
    xml
}

/// An array after its length in bytes.
pub(super) fn put<T: Plain>(out: &mut dyn Write, values: &[T]) -> io::Result<()> {
    out.write_all(&((values.len() * T::SIZE) as u64).to_le_bytes())?;
    write_slice(out, values)
}

/// The numbers `first .. first + count`, never all at once in memory.
pub(super) fn put_numbers<T: Plain>(
    out: &mut dyn Write,
    first: u64,
    count: u64,
    number: fn(u64) -> T,
) -> io::Result<()> {
    let step = CHUNK / T::SIZE;
    let mut chunk = Vec::with_capacity(step.min(count as usize));
    for start in (first..first + count).step_by(step) {
        chunk.clear();
        chunk.extend((start..(start + step as u64).min(first + count)).map(number));
        write_slice(out, &chunk)?;
    }
    Ok(())
}

/// The time of a file written by [`write`], from its head.
pub(super) fn read_time(file: &mut dyn Read) -> Option<f64> {
    let mut head = Vec::new();
    file.take(4096).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let (_, after) = head.split_once(r#"Name="TimeValue""#)?;
    let (_, value) = after.split_once('>')?;
    value.split_once('<')?.0.trim().parse().ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::sample;
    use super::*;

    /// The offset in an array's tag and the bytes found there.
    pub(crate) fn array<'a>(file: &'a [u8], name: &str) -> &'a [u8] {
        let split = file.windows(2).position(|w| w == b"\n_").unwrap() + 2;
        let xml = std::str::from_utf8(&file[..split]).unwrap();
        let tag = xml.lines().find(|l| l.contains(&format!("Name=\"{name}\""))).unwrap();
        let offset: usize =
            tag.split_once("offset=\"").unwrap().1.split_once('"').unwrap().0.parse().unwrap();
        let data = &file[split + offset..];
        let length = u64::load(&data[..8]) as usize;
        &data[8..8 + length]
    }

    pub(crate) fn values<T: Plain>(bytes: &[u8]) -> Vec<T> {
        bytes.chunks_exact(T::SIZE).map(T::load).collect()
    }

    #[test]
    fn each_array_is_where_its_tag_says() {
        for n in [0, 3, 40_000] {
            let frame = sample(n, true);
            let mut file = Vec::new();
            write(&frame, &mut file).unwrap();
            assert_eq!(values::<[f32; 3]>(array(&file, "Points")), frame.particles.position);
            assert_eq!(values::<i32>(array(&file, "connectivity")), Vec::from_iter(0..n as i32));
            assert_eq!(values::<i32>(array(&file, "offsets")), Vec::from_iter(1..=n as i32));
            assert_eq!(values::<f32>(array(&file, "density")), frame.particles.scalar("density").unwrap());
            assert_eq!(
                values::<[f32; 3]>(array(&file, "velocity")),
                frame.particles.vector("velocity").unwrap()
            );
            assert_eq!(
                values::<[f32; 3]>(array(&file, "Normals")),
                frame.particles.vector("normal").unwrap()
            );
            assert_eq!(&FieldData::Int(values(array(&file, "id"))), frame.particles.field("id").unwrap());
            assert_eq!(
                &FieldData::Byte(values(array(&file, "fluid"))),
                frame.particles.field("fluid").unwrap()
            );
            assert!(file.ends_with(b"\n</AppendedData>\n</VTKFile>\n"));
            assert_eq!(read_time(&mut file.as_slice()), Some(frame.time));
        }
    }

    #[test]
    fn the_time_of_anything_else_is_unknown() {
        assert_eq!(read_time(&mut &b"\xff\xfe<VTKFile>"[..]), None);
        assert_eq!(read_time(&mut &b"Name=\"TimeValue\">soon<"[..]), None);
    }
}
