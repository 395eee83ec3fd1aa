//! Reads the vertices of any PLY file (text, or binary of either byte order) as named columns: our own particle
//! files and those of others.
//!
//! Nothing in a header is believed before the bytes are there: columns grow as rows arrive, so a header that
//! promises 10¹⁸ vertices costs nothing.

mod header;

use std::io::{self, BufRead};

use crate::frame::{Field, FieldData, Particles};
use crate::plain::CHUNK;
use crate::ply_number::{Encoding, Number};
use header::{Element, read_header};

/// Why a PLY file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PlyError {
    /// The system could not read it.
    #[error("cannot read the file: {0}")]
    Io(#[from] io::Error),
    /// It does not begin like a PLY file.
    #[error("not a PLY file")]
    NotPly,
    /// A line of the header is wrong.
    #[error("line {line} of the PLY header: {what}")]
    Header {
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// It has no vertices with `x`, `y` and `z`.
    #[error("the PLY file has no vertices with x, y and z")]
    NoVertices,
    /// It ends before its last vertex.
    #[error("the PLY file ends in row {row} of element `{element}`")]
    Truncated {
        /// Element.
        element: String,
        /// Row, from 0.
        row: u64,
    },
    /// A word in a text file is not a number of the promised kind.
    #[error("row {row} of element `{element}` of the PLY file has `{word}` where a number should be")]
    NotANumber {
        /// Element.
        element: String,
        /// Row, from 0.
        row: u64,
        /// What is there.
        word: String,
    },
}

/// The values of a column, in the file's own precision.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// `float`
    F32(Vec<f32>),
    /// `double`
    F64(Vec<f64>),
    /// `uchar`
    U8(Vec<u8>),
    /// `uint`
    U32(Vec<u32>),
    /// `char`, `short`, `ushort` and `int`
    I32(Vec<i32>),
}

impl Values {
    fn of(kind: Number) -> Values {
        match kind {
            Number::F32 => Values::F32(Vec::new()),
            Number::F64 => Values::F64(Vec::new()),
            Number::U8 => Values::U8(Vec::new()),
            Number::U32 => Values::U32(Vec::new()),
            Number::I8 | Number::I16 | Number::U16 | Number::I32 => Values::I32(Vec::new()),
        }
    }

    /// One value as a float; 0 beyond the end.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Values::F32(v) => v.get(i).map_or(0.0, |&x| f64::from(x)),
            Values::F64(v) => v.get(i).copied().unwrap_or(0.0),
            Values::U8(v) => v.get(i).map_or(0.0, |&x| f64::from(x)),
            Values::U32(v) => v.get(i).map_or(0.0, |&x| f64::from(x)),
            Values::I32(v) => v.get(i).map_or(0.0, |&x| f64::from(x)),
        }
    }
}

/// A property of the vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in the file.
    pub name: String,
    /// A value a vertex.
    pub values: Values,
}

/// The vertices of a PLY file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlyPoints {
    /// Comments of the header.
    pub comments: Vec<String>,
    /// Number of vertices.
    pub count: usize,
    /// Properties that are one number a vertex, in the order of the file; lists are left out.
    pub columns: Vec<Column>,
}

impl PlyPoints {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// The simulated time that an Undine file notes, s.
    pub fn time(&self) -> Option<f64> {
        self.comments.iter().find_map(|c| c.strip_prefix("time ")?.trim().parse().ok())
    }

    /// The frame number that an Undine file notes.
    pub fn frame(&self) -> Option<u64> {
        self.comments.iter().find_map(|c| c.strip_prefix("frame ")?.trim().parse().ok())
    }

    /// As particles: positions, and those of the fields `velocity`, `density`, `pressure`, `fluid`, `id` and
    /// `normal` that the file has. Numbers of other kinds are converted, saturating. `None` without x, y and z.
    pub fn to_particles(&self) -> Option<Particles> {
        let vector = |names: [&str; 3]| -> Option<Vec<[f32; 3]>> {
            let [x, y, z] = names.map(|n| self.column(n).map(|c| &c.values));
            let (x, y, z) = (x?, y?, z?);
            Some((0..self.count).map(|i| [x.get(i) as f32, y.get(i) as f32, z.get(i) as f32]).collect())
        };
        let column = |name: &str| self.column(name).map(|c| &c.values);
        let scalar = |name: &str| column(name).map(|v| (0..self.count).map(|i| v.get(i) as f32).collect());
        let mut fields = Vec::new();
        let mut add = |name, data: Option<FieldData>| {
            if let Some(data) = data {
                fields.push(Field { name, data });
            }
        };
        add("velocity", vector(["vx", "vy", "vz"]).map(FieldData::Vector));
        add("density", scalar("density").map(FieldData::Scalar));
        add("pressure", scalar("pressure").map(FieldData::Scalar));
        let fluid = column("fluid").map(|v| (0..self.count).map(|i| v.get(i) as u8).collect());
        add("fluid", fluid.map(FieldData::Byte));
        let id = column("id").map(|v| (0..self.count).map(|i| v.get(i) as u32).collect());
        add("id", id.map(FieldData::Int));
        add("normal", vector(["nx", "ny", "nz"]).map(FieldData::Vector));
        Some(Particles { position: vector(["x", "y", "z"])?, fields })
    }
}

/// Reads the vertices of a PLY file.
pub fn read_ply(input: &mut dyn BufRead) -> Result<PlyPoints, PlyError> {
    let header = read_header(input)?;
    for element in &header.elements {
        let wanted = element.name == "vertex";
        if wanted && !["x", "y", "z"].iter().all(|n| element.properties.iter().any(|p| p.name == *n)) {
            return Err(PlyError::NoVertices);
        }
        let mut columns: Vec<Option<Column>> = element
            .properties
            .iter()
            .map(|p| {
                (wanted && p.length.is_none())
                    .then(|| Column { name: p.name.clone(), values: Values::of(p.kind) })
            })
            .collect();
        // An element without properties has rows without bytes: nothing to step over.
        if !element.properties.is_empty() {
            let fixed = element.properties.iter().all(|p| p.length.is_none());
            match header.encoding {
                Encoding::Text => read_text(input, element, &mut columns)?,
                Encoding::Little if fixed => read_rows::<false>(input, element, &mut columns)?,
                Encoding::Big if fixed => read_rows::<true>(input, element, &mut columns)?,
                Encoding::Little => read_lists::<false>(input, element, &mut columns)?,
                Encoding::Big => read_lists::<true>(input, element, &mut columns)?,
            }
        }
        if wanted {
            let columns: Vec<Column> = columns.into_iter().flatten().collect();
            return Ok(PlyPoints { comments: header.comments, count: element.count as usize, columns });
        }
    }
    Err(PlyError::NoVertices)
}

/// Fills `buffer` from the input, or tells how much came before its end.
fn fill(input: &mut dyn BufRead, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Rows of fixed size, many at once.
fn read_rows<const BIG: bool>(
    input: &mut dyn BufRead,
    element: &Element,
    columns: &mut [Option<Column>],
) -> Result<(), PlyError> {
    let size: usize = element.properties.iter().map(|p| p.kind.size()).sum();
    let per_chunk = (CHUNK / size).max(1);
    let mut buffer = vec![0u8; per_chunk * size];
    let mut done = 0u64;
    while done < element.count {
        let rows = (element.count - done).min(per_chunk as u64) as usize;
        let bytes = &mut buffer[..rows * size];
        let filled = fill(input, bytes)?;
        if filled < bytes.len() {
            return Err(truncated(element, done + (filled / size) as u64));
        }
        let mut offset = 0;
        for (property, column) in element.properties.iter().zip(columns.iter_mut()) {
            if let Some(column) = column {
                for row in bytes.chunks_exact(size) {
                    push::<BIG>(
                        &mut column.values,
                        property.kind,
                        &row[offset..offset + property.kind.size()],
                    );
                }
            }
            offset += property.kind.size();
        }
        done += rows as u64;
    }
    Ok(())
}

/// Rows with lists, one at a time; the lists are stepped over.
fn read_lists<const BIG: bool>(
    input: &mut dyn BufRead,
    element: &Element,
    columns: &mut [Option<Column>],
) -> Result<(), PlyError> {
    let mut bytes = [0u8; 8];
    for row in 0..element.count {
        for (property, column) in element.properties.iter().zip(columns.iter_mut()) {
            let first = &mut bytes[..property.length.unwrap_or(property.kind).size()];
            if fill(input, first)? < first.len() {
                return Err(truncated(element, row));
            }
            if let Some(column) = column {
                push::<BIG>(&mut column.values, property.kind, first);
            }
            if let Some(length) = property.length {
                let mut value = Values::of(length);
                push::<BIG>(&mut value, length, first);
                // A negative length comes out as 0.
                let skip = value.get(0) as u64 * property.kind.size() as u64;
                let skipped = io::copy(&mut io::Read::take(&mut *input, skip), &mut io::sink())?;
                if skipped < skip {
                    return Err(truncated(element, row));
                }
            }
        }
    }
    Ok(())
}

/// Rows as lines of words.
fn read_text(
    input: &mut dyn BufRead,
    element: &Element,
    columns: &mut [Option<Column>],
) -> Result<(), PlyError> {
    let mut words = Words { input };
    for row in 0..element.count {
        for (property, column) in element.properties.iter().zip(columns.iter_mut()) {
            let word = words.next()?.ok_or_else(|| truncated(element, row))?;
            let value: f64 = word.parse().map_err(|_| PlyError::NotANumber {
                element: element.name.clone(),
                row,
                word: word.clone(),
            })?;
            if property.length.is_some() {
                for _ in 0..value as u64 {
                    words.next()?.ok_or_else(|| truncated(element, row))?;
                }
            }
            match column.as_mut().map(|c| &mut c.values) {
                Some(Values::F32(v)) => v.push(value as f32),
                Some(Values::F64(v)) => v.push(value),
                Some(Values::U8(v)) => v.push(value as u8),
                Some(Values::U32(v)) => v.push(value as u32),
                Some(Values::I32(v)) => v.push(value as i32),
                None => {}
            }
        }
    }
    Ok(())
}

struct Words<'a> {
    input: &'a mut dyn BufRead,
}

impl Words<'_> {
    /// The next word, cut at 64 bytes (longer ones are no numbers); `None` at the end of the file.
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut word = String::new();
        loop {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                return Ok((!word.is_empty()).then_some(word));
            }
            let mut used = 0;
            let mut ended = false;
            for &byte in available {
                used += 1;
                if !byte.is_ascii_whitespace() {
                    word.push(char::from(byte));
                    if word.len() < 64 {
                        continue;
                    }
                }
                ended = !word.is_empty();
                if ended {
                    break;
                }
            }
            self.input.consume(used);
            if ended {
                return Ok(Some(word));
            }
        }
    }
}

fn truncated(element: &Element, row: u64) -> PlyError {
    PlyError::Truncated { element: element.name.clone(), row }
}

/// Appends one number of `kind`; `bytes` has its size.
#[inline]
fn push<const BIG: bool>(values: &mut Values, kind: Number, bytes: &[u8]) {
    macro_rules! number {
        ($t:ty) => {{
            let mut raw = [0u8; size_of::<$t>()];
            raw.copy_from_slice(bytes);
            if BIG { <$t>::from_be_bytes(raw) } else { <$t>::from_le_bytes(raw) }
        }};
    }
    match values {
        Values::F32(v) => v.push(number!(f32)),
        Values::F64(v) => v.push(number!(f64)),
        Values::U8(v) => v.push(bytes[0]),
        Values::U32(v) => v.push(number!(u32)),
        Values::I32(v) => v.push(match kind {
            Number::I8 => i32::from(bytes[0] as i8),
            Number::I16 => i32::from(number!(i16)),
            Number::U16 => i32::from(number!(u16)),
            _ => number!(i32),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{Format, tests::sample, write_particles};
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<PlyPoints, PlyError> {
        read_ply(&mut &bytes[..])
    }

    fn ours(n: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_particles(Format::Ply, &sample(n, true), &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn text_files_with_lists_and_other_elements_are_read() {
        let text = "ply\r\nformat ascii 1.0\r\ncomment by hand\r\nelement group 2\r\nproperty list uchar int m\r\n\
                    element vertex 2\r\nproperty double x\nproperty list uchar float w\nproperty float y\n\
                    property short z\nproperty uint id\nelement face 1\nproperty list uchar int v\nend_header\n\
                    3 1 2 3\n0\n0.5 1 9 1.5 -2 4000000000\n1.5 0 nan 3 7\n";
        let points = read(text.as_bytes()).unwrap();
        assert_eq!(points.count, 2);
        assert_eq!(points.comments, ["by hand"]);
        assert_eq!(points.column("x").unwrap().values, Values::F64(vec![0.5, 1.5]));
        assert_eq!(points.column("z").unwrap().values, Values::I32(vec![-2, 3]));
        assert_eq!(points.column("id").unwrap().values, Values::U32(vec![4_000_000_000, 7]));
        assert!(points.column("w").is_none());
        assert!(points.to_particles().unwrap().position[1][1].is_nan());
    }

    #[test]
    fn big_endian_files_with_lists_before_the_vertices_are_read() {
        let mut file = b"ply\nformat binary_big_endian 1.0\nelement e 1\nproperty list ushort double l\n\
            element vertex 1\nproperty float x\nproperty float y\nproperty float z\nproperty char c\nend_header\n"
            .to_vec();
        file.extend([0, 1, 9, 9, 9, 9, 9, 9, 9, 9]);
        for x in [1f32, 2.0, 3.0] {
            file.extend(x.to_be_bytes());
        }
        file.push(0xff);
        let points = read(&file).unwrap();
        assert_eq!(points.to_particles().unwrap().position, [[1.0, 2.0, 3.0]]);
        assert_eq!(points.column("c").unwrap().values, Values::I32(vec![-1]));
    }

    #[test]
    fn a_huge_count_costs_nothing() {
        for element in ["vertex", "other"] {
            let text = format!(
                "ply\nformat binary_little_endian 1.0\nelement nothing 18446744073709551615\n\
                 element {element} 1152921504606846976\nproperty float x\nproperty float y\nproperty float z\n\
                 end_header\nabc"
            );
            assert!(matches!(read(text.as_bytes()), Err(PlyError::Truncated { row: 0, .. })));
        }
    }

    #[test]
    fn wrong_headers_are_explained() {
        let cases = [
            ("plx\n", "not a PLY file"),
            ("ply\nformat ascii 1.0\n", "line 3 of the PLY header: the file ends"),
            ("ply\nproperty float x\n", "line 2 of the PLY header: a property before any element"),
            ("ply\nelement vertex -1\n", "line 2 of the PLY header: the count is not a whole number"),
            ("ply\nelement a 1\nproperty real x\n", "line 3 of the PLY header: unknown type"),
            ("ply\nformat ascii 1.0\nend_header\n", "the PLY file has no vertices with x, y and z"),
        ];
        for (text, message) in cases {
            assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn every_truncation_of_our_file_is_an_error() {
        let file = ours(3);
        for length in 0..file.len() {
            assert!(read(&file[..length]).is_err(), "{length}");
        }
        assert!(read(&file).is_ok());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let mut file = b"ply\n".to_vec();
            file.extend(bytes);
            let _ = read(&file);
        }

        #[test]
        fn no_change_of_our_file_makes_it_panic(at in 0usize..500, byte: u8, length in 0usize..500) {
            let mut file = ours(3);
            let last = file.len() - 1;
            file[at.min(last)] = byte;
            file.truncate(length.max(at + 1));
            let _ = read(&file);
        }

        #[test]
        fn no_header_makes_it_panic(
            words in proptest::collection::vec(
                prop_oneof![
                    Just("element vertex 3"), Just("element a 2"), Just("property float x"),
                    Just("property double y"), Just("property char z"), Just("property list int ushort l"),
                    Just("property list uchar float k"), Just("property int w"), Just("comment"),
                ],
                0..12,
            ),
            format in prop_oneof![Just("ascii"), Just("binary_little_endian"), Just("binary_big_endian")],
            body in proptest::collection::vec(prop_oneof![any::<u8>(), 0x20u8..0x3a, Just(0u8)], 0..200),
        ) {
            let mut file = format!("ply\nformat {format} 1.0\n{}\nend_header\n", words.join("\n")).into_bytes();
            file.extend(body);
            if let Ok(points) = read(&file) {
                let _ = points.to_particles();
            }
        }
    }
}
