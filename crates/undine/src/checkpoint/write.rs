//! Writing a checkpoint.

use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crc32fast::Hasher;

use super::{CRC, HEADER, MAGIC, VERSION, tag};
use crate::atomic::{AtomicFile, Durability, OutputError};
use crate::plain::{Plain, write_slice};

#[derive(Debug)]
enum Target {
    File(AtomicFile),
    Memory(Cursor<Vec<u8>>),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::File(file) => file.write(bytes),
            Target::Memory(memory) => memory.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Target {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Target::File(file) => file.seek(to),
            Target::Memory(memory) => memory.seek(to),
        }
    }
}

/// The section being written.
#[derive(Debug)]
struct OpenSection {
    name: String,
    /// Where its length goes.
    length_at: u64,
    length: u64,
    crc: Hasher,
}

/// Writes a checkpoint: `section`, its values, the next `section`, …, `finish`.
#[derive(Debug)]
pub struct CheckpointWriter {
    target: Target,
    /// Over the closed sections. Lengths are known only at the end of a section, so checksums are kept apart and
    /// combined.
    crc: Hasher,
    length: u64,
    open: Option<OpenSection>,
}

impl CheckpointWriter {
    /// Begins a checkpoint that will replace the one at `path` when finished.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(&[0; HEADER as usize]).map_err(|error| file.error(error))?;
        Ok(Self::new(Target::File(file)))
    }

    /// Begins a checkpoint in memory.
    pub fn in_memory() -> Self {
        let mut memory = Cursor::new(vec![0; HEADER as usize]);
        memory.set_position(HEADER);
        Self::new(Target::Memory(memory))
    }

    fn new(target: Target) -> Self {
        CheckpointWriter { target, crc: Hasher::new(), length: HEADER, open: None }
    }

    /// Ends the section before and begins one. Names are unique and at most 255 bytes long.
    pub fn section(&mut self, name: &str) -> io::Result<()> {
        self.close_section()?;
        if name.len() > 255 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of a section is too long"));
        }
        self.target.write_all(&(name.len() as u32).to_le_bytes())?;
        self.target.write_all(name.as_bytes())?;
        self.target.write_all(&[0; 8])?;
        let length_at = self.length + 4 + name.len() as u64;
        self.length = length_at + 8;
        self.open = Some(OpenSection { name: name.to_owned(), length_at, length: 0, crc: Hasher::new() });
        Ok(())
    }

    fn close_section(&mut self) -> io::Result<()> {
        let Some(section) = self.open.take() else {
            return Ok(());
        };
        let length = section.length.to_le_bytes();
        self.target.seek(SeekFrom::Start(section.length_at))?;
        self.target.write_all(&length)?;
        self.target.seek(SeekFrom::Start(self.length))?;
        self.crc.update(&(section.name.len() as u32).to_le_bytes());
        self.crc.update(section.name.as_bytes());
        self.crc.update(&length);
        self.crc.combine(&section.crc);
        Ok(())
    }

    /// Closes the last section, writes the header and the checksum.
    fn seal(&mut self) -> io::Result<()> {
        self.close_section()?;
        let mut header = Vec::with_capacity(HEADER as usize);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend((self.length + CRC).to_le_bytes());
        let mut crc = Hasher::new();
        crc.update(&header);
        crc.combine(&self.crc);
        self.target.seek(SeekFrom::Start(0))?;
        self.target.write_all(&header)?;
        self.target.seek(SeekFrom::Start(self.length))?;
        self.target.write_all(&crc.finalize().to_le_bytes())
    }

    /// Puts the checkpoint in its place, on the disk, over the one before.
    pub fn finish(mut self) -> Result<(), OutputError> {
        let sealed = self.seal();
        match self.target {
            Target::File(file) => {
                sealed.map_err(|error| file.error(error))?;
                file.commit(Durability::PowerCut)
            }
            Target::Memory(_) => Ok(()),
        }
    }

    /// The bytes of a checkpoint in memory; of one in a file, nothing, and the file is dropped.
    pub fn finish_bytes(mut self) -> io::Result<Vec<u8>> {
        self.seal()?;
        match self.target {
            Target::File(_) => Ok(Vec::new()),
            Target::Memory(memory) => Ok(memory.into_inner()),
        }
    }

    /// An [`io::Error`] of one of the `put` functions as one about this file.
    pub fn error(&self, source: io::Error) -> OutputError {
        match &self.target {
            Target::File(file) => file.error(source),
            Target::Memory(_) => OutputError::Other { path: PathBuf::new(), source },
        }
    }

    fn put_plain<T: Plain>(&mut self, tag: u8, value: T) -> io::Result<()> {
        let mut bytes = [0; 9];
        bytes[0] = tag;
        value.store(&mut bytes[1..=T::SIZE]);
        Body(self).write_all(&bytes[..=T::SIZE])
    }

    fn put_array<T: Plain>(&mut self, tag: u8, values: &[T]) -> io::Result<()> {
        self.put_plain(tag::ARRAY | tag, values.len() as u64)?;
        write_slice(&mut Body(self), values)
    }

    /// Writes a truth value.
    pub fn put_bool(&mut self, value: bool) -> io::Result<()> {
        self.put_plain(tag::BOOL, u8::from(value))
    }

    /// Writes a number.
    pub fn put_u32(&mut self, value: u32) -> io::Result<()> {
        self.put_plain(tag::U32, value)
    }

    /// Writes a number.
    pub fn put_u64(&mut self, value: u64) -> io::Result<()> {
        self.put_plain(tag::U64, value)
    }

    /// Writes a number.
    pub fn put_f64(&mut self, value: f64) -> io::Result<()> {
        self.put_plain(tag::F64, value)
    }

    /// Writes text.
    pub fn put_str(&mut self, text: &str) -> io::Result<()> {
        self.put_array(tag::STR, text.as_bytes())
    }

    /// Writes bytes.
    pub fn put_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put_array(tag::U8, bytes)
    }

    /// Writes an array.
    pub fn put_u8s(&mut self, values: &[u8]) -> io::Result<()> {
        self.put_array(tag::U8, values)
    }

    /// Writes an array.
    pub fn put_u32s(&mut self, values: &[u32]) -> io::Result<()> {
        self.put_array(tag::U32, values)
    }

    /// Writes an array.
    pub fn put_u64s(&mut self, values: &[u64]) -> io::Result<()> {
        self.put_array(tag::U64, values)
    }

    /// Writes an array.
    pub fn put_f32s(&mut self, values: &[f32]) -> io::Result<()> {
        self.put_array(tag::F32, values)
    }

    /// Writes an array.
    pub fn put_f64s(&mut self, values: &[f64]) -> io::Result<()> {
        self.put_array(tag::F64, values)
    }

    /// Writes an array of vectors.
    pub fn put_f32x3s(&mut self, values: &[[f32; 3]]) -> io::Result<()> {
        self.put_array(tag::F32X3, values)
    }

    /// Writes an array of vectors.
    pub fn put_f64x3s(&mut self, values: &[[f64; 3]]) -> io::Result<()> {
        self.put_array(tag::F64X3, values)
    }
}

/// The open section as a place for bytes.
struct Body<'a>(&'a mut CheckpointWriter);

impl Write for Body<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let writer = &mut *self.0;
        let Some(section) = &mut writer.open else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a value before any section"));
        };
        let written = writer.target.write(bytes)?;
        section.crc.update(&bytes[..written]);
        section.length += written as u64;
        writer.length += written as u64;
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
