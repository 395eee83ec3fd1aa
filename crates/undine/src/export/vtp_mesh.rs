//! VTP surfaces: polygons with `Normals`, `velocity` and `fluid` at their points.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::vtp::{begin, put, put_numbers};
use crate::frame::Frame;
use crate::plain::{Plain, write_slice};
use crate::surface::Surface;

/// Writes a surface.
pub(super) fn write(frame: &Frame, surface: &Surface, out: &mut dyn Write) -> io::Result<()> {
    let (points, polys) = (surface.position.len() as u64, surface.triangles.len() as u64);
    // Half the room where the numbers allow; VTK reads either.
    let wide = 3 * polys > i32::MAX as u64 || points > i32::MAX as u64;
    let (index, index_size) = if wide { ("Int64", 8) } else { ("Int32", 4) };

    let mut offset = 0u64;
    let mut array = |xml: &mut String, kind: &str, name: &str, components: u32, bytes: u64| {
        let _ = writeln!(
            xml,
            r#"<DataArray type="{kind}" Name="{name}" NumberOfComponents="{components}" format="appended" offset="{offset}"/>"#
        );
        offset += 8 + bytes;
    };
    let mut xml = begin(frame);
    let _ = writeln!(
        xml,
        r#"<Piece NumberOfPoints="{points}" NumberOfVerts="0" NumberOfLines="0" NumberOfStrips="0" NumberOfPolys="{polys}">"#
    );
    xml += "<Points>\n";
    array(&mut xml, "Float32", "Points", 3, 12 * points);
    xml += "</Points>\n<Polys>\n";
    array(&mut xml, index, "connectivity", 1, 3 * polys * index_size);
    array(&mut xml, index, "offsets", 1, polys * index_size);
    xml += "</Polys>\n<PointData";
    if !surface.normal.is_empty() {
        xml += r#" Normals="Normals""#;
    }
    if !surface.velocity.is_empty() {
        xml += r#" Vectors="velocity""#;
    }
    xml += ">\n";
    if !surface.normal.is_empty() {
        array(&mut xml, "Float32", "Normals", 3, 12 * points);
    }
    if !surface.velocity.is_empty() {
        array(&mut xml, "Float32", "velocity", 3, 12 * points);
    }
    if !surface.fluid.is_empty() {
        array(&mut xml, "UInt8", "fluid", 1, points);
    }
    xml += "</PointData>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_";
    out.write_all(xml.as_bytes())?;

    put(out, &surface.position)?;
    out.write_all(&(3 * polys * index_size).to_le_bytes())?;
    if wide {
        put_corners(out, &surface.triangles, i64::from)?;
    } else {
        // The same bits: all corners are below 2³¹.
        write_slice(out, &surface.triangles)?;
    }
    out.write_all(&(polys * index_size).to_le_bytes())?;
    if wide {
        put_numbers::<i64>(out, 1, polys, |i| 3 * i as i64)?;
    } else {
        put_numbers::<i32>(out, 1, polys, |i| 3 * i as i32)?;
    }
    if !surface.normal.is_empty() {
        put(out, &surface.normal)?;
    }
    if !surface.velocity.is_empty() {
        put(out, &surface.velocity)?;
    }
    if !surface.fluid.is_empty() {
        put(out, &surface.fluid)?;
    }
    out.write_all(b"\n</AppendedData>\n</VTKFile>\n")
}

fn put_corners<T: Plain + Default>(
    out: &mut dyn Write,
    triangles: &[[u32; 3]],
    convert: fn(u32) -> T,
) -> io::Result<()> {
    let mut chunk = Vec::with_capacity(triangles.len().min(1024));
    for triangles in triangles.chunks(1024) {
        chunk.clear();
        chunk.extend(triangles.iter().map(|t| t.map(convert)));
        write_slice(out, &chunk)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::balls;
    use super::super::vtp::tests::{array, values};
    use super::*;

    #[test]
    fn each_array_is_where_its_tag_says() {
        let surface = balls();
        let mut file = Vec::new();
        write(&Frame { time: 0.25, ..Frame::default() }, &surface, &mut file).unwrap();
        assert_eq!(values::<[f32; 3]>(array(&file, "Points")), surface.position);
        assert_eq!(values::<[u32; 3]>(array(&file, "connectivity")), surface.triangles);
        let offsets = values::<i32>(array(&file, "offsets"));
        assert_eq!(offsets.len(), surface.triangles.len());
        assert!(offsets.iter().zip(1..).all(|(offset, k)| *offset == 3 * k));
        assert_eq!(values::<[f32; 3]>(array(&file, "Normals")), surface.normal);
        assert_eq!(values::<[f32; 3]>(array(&file, "velocity")), surface.velocity);
        assert_eq!(array(&file, "fluid"), surface.fluid);
        assert_eq!(super::super::vtp::read_time(&mut file.as_slice()), Some(0.25));
    }
}
