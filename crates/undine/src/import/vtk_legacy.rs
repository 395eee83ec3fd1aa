//! VTK's legacy files, text or binary (big-endian): the points with their data.

use std::path::Path;

use super::ImportError;
use super::builder::{Builder, Known};
use super::cursor::Cursor;
use super::number::Number;
use crate::frame::Particles;

/// Numbers of a section.
enum Array<'a> {
    Text(Vec<f64>),
    Binary(&'a [u8], Number),
}

impl Array<'_> {
    fn at(&self, i: usize) -> f64 {
        match self {
            Array::Text(values) => values[i],
            Array::Binary(bytes, number) => number.decode(&bytes[i * number.size()..], true),
        }
    }
}

struct File<'a> {
    cursor: Cursor<'a>,
    binary: bool,
    builder: Builder,
    points: Option<usize>,
    /// Number of tuples of the data at hand, and whether it is of points.
    data: (usize, bool),
}

/// Reads the points.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Particles, ImportError> {
    let mut cursor = Cursor::new(path, bytes);
    let first = cursor.line();
    if !first.starts_with(b"# vtk DataFile Version") {
        return Err(Cursor::new(path, bytes).wrong("\"# vtk DataFile Version\"", Some(first)));
    }
    cursor.line(); // the title
    let word = cursor.word();
    let binary = match word {
        Some(b"ASCII") => false,
        Some(b"BINARY") => true,
        _ => return Err(cursor.wrong("\"ASCII\" or \"BINARY\"", word)),
    };
    cursor.binary = binary;
    let mut file = File { cursor, binary, builder: Builder::default(), points: None, data: (0, false) };
    while let Some(word) = file.cursor.word() {
        file.section(word)?;
    }
    if file.points.is_none() {
        return Err(file.cursor.wrong("\"POINTS\"", None));
    }
    file.builder.finish(path)
}

impl<'a> File<'a> {
    fn section(&mut self, keyword: &[u8]) -> Result<(), ImportError> {
        match keyword.to_ascii_uppercase().as_slice() {
            b"DATASET" => {
                let word = self.cursor.word();
                if !matches!(word, Some(b"POLYDATA" | b"UNSTRUCTURED_GRID")) {
                    return Err(self.cursor.wrong("\"POLYDATA\" or \"UNSTRUCTURED_GRID\"", word));
                }
            }
            b"POINTS" => {
                if self.points.is_some() {
                    return Err(self.cursor.wrong("one section of points", Some(keyword)));
                }
                let count = self.cursor.whole("a number of points")?;
                let kind = self.cursor.text("a number type")?;
                let array = self.array(count, 3, kind)?;
                self.builder.positions(count, |i| array.at(i));
                self.points = Some(count);
            }
            b"VERTICES" | b"LINES" | b"POLYGONS" | b"TRIANGLE_STRIPS" | b"CELLS" => self.cells()?,
            b"CELL_TYPES" => {
                let count = self.cursor.whole("a number of cells")?;
                self.array(count, 1, "int")?;
            }
            b"POINT_DATA" => {
                let count = self.cursor.whole("a number of points")?;
                if self.points != Some(count) {
                    let found = count.to_string();
                    return Err(self.cursor.wrong("data for each point", Some(found.as_bytes())));
                }
                self.data = (count, true);
            }
            b"CELL_DATA" => self.data = (self.cursor.whole("a number of cells")?, false),
            b"SCALARS" => {
                let name = self.cursor.text("a name")?;
                let kind = self.cursor.text("a number type")?;
                let rest = std::str::from_utf8(self.cursor.line()).unwrap_or("");
                let components = if rest.is_empty() { Some(1) } else { rest.parse().ok() };
                let Some(components) = components.filter(|n| (1..=4).contains(n)) else {
                    return Err(self.cursor.wrong("1 to 4 components", Some(rest.as_bytes())));
                };
                if self.cursor.peek() == Some(b"LOOKUP_TABLE") {
                    self.cursor.word();
                    self.cursor.text("a name")?;
                }
                self.field(name, components, kind, self.data.0)?;
            }
            b"VECTORS" | b"NORMALS" | b"TENSORS" => {
                let components = if keyword.eq_ignore_ascii_case(b"TENSORS") { 9 } else { 3 };
                let name = self.cursor.text("a name")?;
                let kind = self.cursor.text("a number type")?;
                // The section says what it is, whatever the name.
                let name = if keyword.eq_ignore_ascii_case(b"NORMALS") { "normal" } else { name };
                self.field(name, components, kind, self.data.0)?;
            }
            b"TEXTURE_COORDINATES" => {
                self.cursor.text("a name")?;
                let components = self.cursor.whole("a number of components")?;
                let kind = self.cursor.text("a number type")?;
                self.array(self.data.0, components, kind)?;
            }
            b"COLOR_SCALARS" => {
                self.cursor.text("a name")?;
                let components = self.cursor.whole("a number of components")?;
                self.array(self.data.0, components, "unsigned_char")?;
            }
            b"LOOKUP_TABLE" => {
                self.cursor.text("a name")?;
                let count = self.cursor.whole("a number of colours")?;
                self.array(count, 4, "unsigned_char")?;
            }
            b"FIELD" => self.fields()?,
            b"METADATA" => {
                self.cursor.line();
                while self.cursor.remaining() > 0 && !self.cursor.line().is_empty() {}
            }
            _ => {
                return Err(self
                    .cursor
                    .wrong("a section such as \"POINTS\" or \"POINT_DATA\"", Some(keyword)));
            }
        }
        Ok(())
    }

    fn fields(&mut self) -> Result<(), ImportError> {
        self.cursor.text("a name")?;
        for _ in 0..self.cursor.whole("a number of arrays")? {
            // Behind an array there may be notes on it.
            if self.cursor.peek() == Some(b"METADATA") {
                self.cursor.word();
                self.section(b"METADATA")?;
            }
            let name = self.cursor.text("the name of an array")?;
            let components = self.cursor.whole("a number of components")?;
            let tuples = self.cursor.whole("a number of tuples")?;
            let kind = self.cursor.text("a number type")?;
            self.field(name, components, kind, tuples)?;
        }
        Ok(())
    }

    fn field(&mut self, name: &str, components: usize, kind: &str, tuples: usize) -> Result<(), ImportError> {
        let array = self.array(tuples, components, kind)?;
        let (count, of_points) = self.data;
        if let Some(known) = Known::of(name, components).filter(|_| of_points && count == tuples) {
            self.builder.field(known, count, |i| array.at(i));
        }
        Ok(())
    }

    /// Passes over cells, of the old layout or that of version 5.
    fn cells(&mut self) -> Result<(), ImportError> {
        let count = self.cursor.whole("a number of cells")?;
        let size = self.cursor.whole("a size")?;
        if self.cursor.peek() != Some(b"OFFSETS") {
            self.array(size, 1, "int")?;
            return Ok(());
        }
        self.cursor.word();
        let kind = self.cursor.text("a number type")?;
        self.array(count, 1, kind)?;
        let word = self.cursor.word();
        if word != Some(b"CONNECTIVITY") {
            return Err(self.cursor.wrong("\"CONNECTIVITY\"", word));
        }
        let kind = self.cursor.text("a number type")?;
        self.array(size, 1, kind)?;
        Ok(())
    }

    fn array(&mut self, count: usize, components: usize, kind: &str) -> Result<Array<'a>, ImportError> {
        let number = match kind.to_ascii_lowercase().as_str() {
            "char" | "signed_char" | "vtktypeint8" => Number::I8,
            "unsigned_char" | "vtktypeuint8" => Number::U8,
            "short" | "vtktypeint16" => Number::I16,
            "unsigned_short" | "vtktypeuint16" => Number::U16,
            "int" | "vtktypeint32" => Number::I32,
            "unsigned_int" | "vtktypeuint32" => Number::U32,
            "long" | "vtktypeint64" | "vtkidtype" => Number::I64,
            "unsigned_long" | "vtktypeuint64" => Number::U64,
            "float" | "vtktypefloat32" => Number::F32,
            "double" | "vtktypefloat64" => Number::F64,
            _ => return Err(self.cursor.wrong("a number type such as float", Some(kind.as_bytes()))),
        };
        let Some(numbers) = count.checked_mul(components) else {
            return Err(self.cursor.wrong("an array that the file can hold", None));
        };
        if self.binary {
            self.cursor.line();
            return Ok(Array::Binary(self.cursor.take(numbers, number.size(), "an array")?, number));
        }
        // A number takes a digit and a space, the last no space.
        if numbers > self.cursor.remaining() / 2 + 1 {
            let found = numbers.to_string();
            return Err(self.cursor.wrong("a count that the file can hold", Some(found.as_bytes())));
        }
        (0..numbers).map(|_| self.cursor.number("a number")).collect::<Result<_, _>>().map(Array::Text)
    }
}
