//! Reading a checkpoint.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;

use super::{CRC, CheckpointError, HEADER, MAGIC, MAX_SECTIONS, VERSION, damaged, tag};
use crate::plain::{CHUNK, Plain};

trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

#[derive(Debug)]
struct Entry {
    name: String,
    start: u64,
    length: u64,
}

/// Reads a checkpoint: `section`, then its values in the order written.
pub struct CheckpointReader {
    path: PathBuf,
    source: BufReader<Box<dyn Source>>,
    sections: Vec<Entry>,
    /// Bytes of the current section not yet read.
    left: u64,
}

impl CheckpointReader {
    /// Opens a checkpoint and checks all of it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        let path = path.as_ref();
        let file =
            File::open(path).map_err(|source| CheckpointError::Io { path: path.to_owned(), source })?;
        Self::check(path.to_owned(), Box::new(file))
    }

    /// The same for a checkpoint in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, CheckpointError> {
        Self::check(PathBuf::new(), Box::new(Cursor::new(bytes)))
    }

    fn check(path: PathBuf, source: Box<dyn Source>) -> Result<Self, CheckpointError> {
        let source = BufReader::with_capacity(CHUNK, source);
        let mut reader = CheckpointReader { path, source, sections: Vec::new(), left: 0 };
        let length = reader.check_header()?;
        reader.check_sum(length)?;
        reader.index_sections(length)?;
        Ok(reader)
    }

    /// Checks magic, version and length; returns the length of the file.
    fn check_header(&mut self) -> Result<u64, CheckpointError> {
        let length = self.seek(SeekFrom::End(0))?;
        self.seek(SeekFrom::Start(0))?;
        let mut magic = [0; 8];
        let known = length.min(8) as usize;
        self.read(&mut magic[..known])?;
        if magic[..known] != MAGIC[..known] || known == 0 {
            return Err(CheckpointError::NotACheckpoint);
        }
        if length < HEADER + CRC {
            return Err(CheckpointError::Truncated);
        }
        let found = self.read_number::<u32>()?;
        if found != VERSION {
            return Err(CheckpointError::Version { found, supported: VERSION });
        }
        let noted = self.read_number::<u64>()?;
        match noted {
            _ if noted > length => Err(CheckpointError::Truncated),
            _ if noted < length => Err(damaged("there is something behind its end")),
            _ => Ok(length),
        }
    }

    fn check_sum(&mut self, length: u64) -> Result<(), CheckpointError> {
        self.seek(SeekFrom::Start(0))?;
        let mut crc = Hasher::new();
        let mut buffer = vec![0; CHUNK];
        let mut left = length - CRC;
        while left > 0 {
            let piece = &mut buffer[..left.min(CHUNK as u64) as usize];
            self.read(piece)?;
            crc.update(piece);
            left -= piece.len() as u64;
        }
        if self.read_number::<u32>()? != crc.finalize() {
            return Err(damaged("its checksum does not fit"));
        }
        Ok(())
    }

    fn index_sections(&mut self, length: u64) -> Result<(), CheckpointError> {
        let end = length - CRC;
        let mut at = HEADER;
        while at < end {
            self.seek(SeekFrom::Start(at))?;
            if end - at < 12 || self.sections.len() == MAX_SECTIONS {
                return Err(damaged("its list of sections does not fit"));
            }
            let name_length = u64::from(self.read_number::<u32>()?);
            if name_length > (end - at - 12).min(255) {
                return Err(damaged("the name of a section is too long"));
            }
            let mut name = vec![0; name_length as usize];
            self.read(&mut name)?;
            let name = String::from_utf8(name).map_err(|_| damaged("the name of a section is not text"))?;
            let length = self.read_number::<u64>()?;
            let start = at + 12 + name_length;
            if length > end - start {
                return Err(damaged(format!("section `{name}` is too long")));
            }
            self.sections.push(Entry { name, start, length });
            at = start + length;
        }
        Ok(())
    }

    /// Names of the sections, in the order written.
    pub fn sections(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().map(|s| s.name.as_str())
    }

    /// Goes to the begin of a section.
    pub fn section(&mut self, name: &str) -> Result<(), CheckpointError> {
        let entry = self.sections.iter().find(|s| s.name == name);
        let entry = entry.ok_or_else(|| CheckpointError::MissingSection { name: name.to_owned() })?;
        let (start, length) = (entry.start, entry.length);
        self.seek(SeekFrom::Start(start))?;
        self.left = length;
        Ok(())
    }

    /// Bytes of the section that are not read yet.
    pub fn remaining(&self) -> u64 {
        self.left
    }

    fn io(&self, source: io::Error) -> CheckpointError {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => CheckpointError::Truncated,
            _ => CheckpointError::Io { path: self.path.clone(), source },
        }
    }

    fn seek(&mut self, to: SeekFrom) -> Result<u64, CheckpointError> {
        self.source.seek(to).map_err(|error| self.io(error))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), CheckpointError> {
        self.source.read_exact(bytes).map_err(|error| self.io(error))
    }

    fn read_number<T: Plain>(&mut self) -> Result<T, CheckpointError> {
        let mut bytes = [0; 8];
        self.read(&mut bytes[..T::SIZE])?;
        Ok(T::load(&bytes[..T::SIZE]))
    }

    /// Asks for bytes of the section.
    fn take(&mut self, bytes: u64) -> Result<(), CheckpointError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| damaged("a section ends too early"))?;
        Ok(())
    }

    fn get_plain<T: Plain>(&mut self, tag: u8) -> Result<T, CheckpointError> {
        self.take(1 + T::SIZE as u64)?;
        if self.read_number::<u8>()? != tag {
            return Err(damaged("a value is of another type"));
        }
        self.read_number()
    }

    fn get_array<T: Plain>(&mut self, tag: u8) -> Result<Vec<T>, CheckpointError> {
        let count = self.get_plain::<u64>(tag::ARRAY | tag)?;
        let bytes = count.checked_mul(T::SIZE as u64).ok_or_else(|| damaged("an array is too long"))?;
        self.take(bytes)?;
        // From here on the count is at most the size of the file; memory may be short all the same.
        let count = usize::try_from(count).map_err(|_| damaged("an array is too long"))?;
        let mut values = Vec::new();
        values
            .try_reserve_exact(count)
            .map_err(|_| self.io(io::Error::new(io::ErrorKind::OutOfMemory, "not enough memory")))?;
        let per_chunk = CHUNK / T::SIZE;
        let mut buffer = vec![0; per_chunk.min(count) * T::SIZE];
        while values.len() < count {
            let piece = &mut buffer[..(count - values.len()).min(per_chunk) * T::SIZE];
            self.read(piece)?;
            values.extend(piece.chunks_exact(T::SIZE).map(T::load));
        }
        Ok(values)
    }

    /// Reads a truth value.
    pub fn get_bool(&mut self) -> Result<bool, CheckpointError> {
        match self.get_plain::<u8>(tag::BOOL)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged("a truth value is neither")),
        }
    }

    /// Reads a number.
    pub fn get_u32(&mut self) -> Result<u32, CheckpointError> {
        self.get_plain(tag::U32)
    }

    /// Reads a number.
    pub fn get_u64(&mut self) -> Result<u64, CheckpointError> {
        self.get_plain(tag::U64)
    }

    /// Reads a number.
    pub fn get_f64(&mut self) -> Result<f64, CheckpointError> {
        self.get_plain(tag::F64)
    }

    /// Reads text.
    pub fn get_str(&mut self) -> Result<String, CheckpointError> {
        String::from_utf8(self.get_array(tag::STR)?).map_err(|_| damaged("a text is not UTF-8"))
    }

    /// Reads bytes.
    pub fn get_bytes(&mut self) -> Result<Vec<u8>, CheckpointError> {
        self.get_array(tag::U8)
    }

    /// Reads an array.
    pub fn get_u8s(&mut self) -> Result<Vec<u8>, CheckpointError> {
        self.get_array(tag::U8)
    }

    /// Reads an array.
    pub fn get_u32s(&mut self) -> Result<Vec<u32>, CheckpointError> {
        self.get_array(tag::U32)
    }

    /// Reads an array.
    pub fn get_u64s(&mut self) -> Result<Vec<u64>, CheckpointError> {
        self.get_array(tag::U64)
    }

    /// Reads an array.
    pub fn get_f32s(&mut self) -> Result<Vec<f32>, CheckpointError> {
        self.get_array(tag::F32)
    }

    /// Reads an array.
    pub fn get_f64s(&mut self) -> Result<Vec<f64>, CheckpointError> {
        self.get_array(tag::F64)
    }

    /// Reads an array of vectors.
    pub fn get_f32x3s(&mut self) -> Result<Vec<[f32; 3]>, CheckpointError> {
        self.get_array(tag::F32X3)
    }

    /// Reads an array of vectors.
    pub fn get_f64x3s(&mut self) -> Result<Vec<[f64; 3]>, CheckpointError> {
        self.get_array(tag::F64X3)
    }
}
