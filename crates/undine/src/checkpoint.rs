//! The container of a checkpoint: named sections of typed values, checked as a whole before any of it is used.
//!
//! ```text
//! "UNDINECP"  u32 version  u64 length of the file
//! per section: u32 name length, name, u64 length, values
//! u32 CRC-32 of everything before
//! ```
//!
//! All numbers are little-endian. Each value begins with a byte that tells its type, arrays go on with a u64 count;
//! so values read in another order than written are noticed. Both ways are streamed: a checkpoint costs no memory
//! beside the arrays themselves.

mod read;
mod write;

use std::io;
use std::path::PathBuf;

pub use read::CheckpointReader;
pub use write::CheckpointWriter;

/// The version written, and the newest that can be read.
pub const VERSION: u32 = 6;

const MAGIC: &[u8; 8] = b"UNDINECP";
/// Magic, version and length.
const HEADER: u64 = 8 + 4 + 8;
const CRC: u64 = 4;
/// More sections than any model has; keeps the index of a made-up file small.
const MAX_SECTIONS: usize = 4096;

mod tag {
    pub(super) const BOOL: u8 = 1;
    pub(super) const U32: u8 = 2;
    pub(super) const U64: u8 = 3;
    pub(super) const F64: u8 = 4;
    pub(super) const STR: u8 = 5;
    /// Added to the tag of an element.
    pub(super) const ARRAY: u8 = 0x40;
    pub(super) const U8: u8 = 6;
    pub(super) const F32: u8 = 7;
    pub(super) const F32X3: u8 = 8;
    pub(super) const F64X3: u8 = 9;
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The system could not read it.
    #[error("cannot read the checkpoint {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is some other file.
    #[error("not an Undine checkpoint")]
    NotACheckpoint,
    /// It was written by another version.
    #[error("the checkpoint has format {found}, this version reads format {supported}: it was written by {} version",
        if found > supported { "a newer" } else { "an older" })]
    Version {
        /// Its format version.
        found: u32,
        /// Ours.
        supported: u32,
    },
    /// Its bytes are not those that were written.
    #[error("the checkpoint is damaged: {what}")]
    Damaged {
        /// How this is known.
        what: String,
    },
    /// It is shorter than it was.
    #[error("the checkpoint is cut short")]
    Truncated,
    /// A section that is needed is not there.
    #[error("the checkpoint has no section `{name}`")]
    MissingSection {
        /// The section.
        name: String,
    },
    /// It is of another scene.
    #[error("the checkpoint belongs to another scene: {what}")]
    SceneMismatch {
        /// What differs.
        what: String,
    },
}

fn damaged(what: impl Into<String>) -> CheckpointError {
    CheckpointError::Damaged { what: what.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::tests::Scratch;
    use proptest::prelude::*;

    fn fill(writer: &mut CheckpointWriter) -> io::Result<()> {
        writer.section("clock")?;
        writer.put_u64(u64::MAX)?;
        writer.put_f64(0.1)?;
        writer.put_bool(true)?;
        writer.put_u32(7)?;
        writer.put_str("Dämmbruch")?;
        writer.section("empty")?;
        writer.section("particles")?;
        writer.put_f32x3s(&[[1.0, 2.0, f32::NAN]; 3])?;
        writer.put_f32s(&[0.5; 5])?;
        writer.put_f64s(&[])?;
        writer.put_u32s(&[1, 2, 3])?;
        writer.put_u64s(&[9])?;
        writer.put_u8s(&[1, 2])?;
        writer.put_bytes(b"abc")?;
        writer.put_f64x3s(&[[1.0, 2.0, 3.0]])
    }

    fn sample() -> Vec<u8> {
        let mut writer = CheckpointWriter::in_memory();
        fill(&mut writer).unwrap();
        writer.finish_bytes().unwrap()
    }

    fn check_sample(reader: &mut CheckpointReader) {
        assert_eq!(Vec::from_iter(reader.sections()), ["clock", "empty", "particles"]);
        reader.section("particles").unwrap();
        let vectors = reader.get_f32x3s().unwrap();
        assert!(vectors.len() == 3 && vectors[2][1] == 2.0 && vectors[2][2].is_nan());
        assert_eq!(reader.get_f32s().unwrap(), [0.5; 5]);
        assert!(reader.get_f64s().unwrap().is_empty());
        assert_eq!(reader.get_u32s().unwrap(), [1, 2, 3]);
        assert_eq!(reader.get_u64s().unwrap(), [9]);
        assert_eq!(reader.get_u8s().unwrap(), [1, 2]);
        assert_eq!(reader.get_bytes().unwrap(), b"abc");
        assert_eq!(reader.get_f64x3s().unwrap(), [[1.0, 2.0, 3.0]]);
        assert_eq!(reader.remaining(), 0);
        assert!(matches!(reader.get_u32(), Err(CheckpointError::Damaged { .. })));
        reader.section("clock").unwrap();
        assert_eq!(reader.get_u64().unwrap(), u64::MAX);
        assert_eq!(reader.get_f64().unwrap(), 0.1);
        assert!(reader.get_bool().unwrap());
        assert_eq!(reader.get_u32().unwrap(), 7);
        assert_eq!(reader.get_str().unwrap(), "Dämmbruch");
        assert!(matches!(reader.section("gone"), Err(CheckpointError::MissingSection { .. })));
    }

    #[test]
    fn what_was_written_is_read_from_a_file_and_from_memory() {
        let scratch = Scratch::new("checkpoint");
        let path = scratch.0.join("checkpoint");
        let mut writer = CheckpointWriter::create(&path).unwrap();
        fill(&mut writer).unwrap();
        writer.finish().unwrap();
        check_sample(&mut CheckpointReader::open(&path).unwrap());
        let bytes = sample();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(scratch.names(), ["checkpoint"]);
        let crc = crc32fast::hash(&bytes[..bytes.len() - 4]);
        assert_eq!(bytes[bytes.len() - 4..], crc.to_le_bytes());
        check_sample(&mut CheckpointReader::from_bytes(bytes).unwrap());
    }

    #[test]
    fn arrays_longer_than_a_chunk_survive() {
        let values: Vec<f64> = (0..100_000).map(|i| f64::from(i).sqrt()).collect();
        let mut writer = CheckpointWriter::in_memory();
        writer.section("a").unwrap();
        writer.put_f64s(&values).unwrap();
        let mut reader = CheckpointReader::from_bytes(writer.finish_bytes().unwrap()).unwrap();
        reader.section("a").unwrap();
        assert_eq!(reader.get_f64s().unwrap(), values);
    }

    #[test]
    fn an_unfinished_checkpoint_leaves_the_one_before() {
        let scratch = Scratch::new("unfinished");
        let path = scratch.0.join("checkpoint");
        std::fs::write(&path, sample()).unwrap();
        let mut writer = CheckpointWriter::create(&path).unwrap();
        writer.section("half").unwrap();
        drop(writer);
        check_sample(&mut CheckpointReader::open(&path).unwrap());
        assert_eq!(scratch.names(), ["checkpoint"]);
    }

    /// Makes the checksum fit again.
    fn reseal(bytes: &mut [u8]) {
        let end = bytes.len() - 4;
        let crc = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_le_bytes());
    }

    #[test]
    fn every_error_says_what_it_is() {
        let open = |bytes: &[u8]| CheckpointReader::from_bytes(bytes.to_vec()).err().unwrap().to_string();
        let good = sample();
        assert_eq!(open(b""), "not an Undine checkpoint");
        assert_eq!(open(b"UNDINE scene"), "not an Undine checkpoint");
        assert_eq!(open(&good[..10]), "the checkpoint is cut short");
        assert_eq!(open(&good[..good.len() - 1]), "the checkpoint is cut short");
        for (format, age) in [(VERSION as u8 + 1, "a newer"), (VERSION as u8 - 1, "an older")] {
            let mut other = good.clone();
            other[8] = format;
            reseal(&mut other);
            let reads = format!("this version reads format {VERSION}: it was written by {age} version");
            assert_eq!(open(&other), format!("the checkpoint has format {format}, {reads}"));
        }
        let missing = CheckpointReader::open("/nowhere/checkpoint").err().unwrap().to_string();
        assert!(missing.starts_with("cannot read the checkpoint /nowhere/checkpoint: "), "{missing}");
    }

    #[test]
    fn a_false_length_behind_a_true_checksum_costs_no_memory() {
        let mut bytes = sample();
        let at = bytes.windows(9).position(|w| w == b"particles").unwrap() + 9 + 8;
        assert_eq!(bytes[at], tag::ARRAY | tag::F32X3);
        for count in [u64::MAX, u64::MAX / 12, 1 << 40, 4] {
            bytes[at + 1..at + 9].copy_from_slice(&count.to_le_bytes());
            reseal(&mut bytes);
            let mut reader = CheckpointReader::from_bytes(bytes.clone()).unwrap();
            reader.section("particles").unwrap();
            // A count of 4 fits into the section, but what comes next is then of another type.
            let read = reader.get_f32x3s().and_then(|_| reader.get_f32s());
            assert!(matches!(read, Err(CheckpointError::Damaged { .. })));
        }
    }

    #[test]
    fn a_value_read_as_another_type_is_refused() {
        let mut reader = CheckpointReader::from_bytes(sample()).unwrap();
        reader.section("clock").unwrap();
        assert!(matches!(reader.get_f64(), Err(CheckpointError::Damaged { .. })));
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_refused() {
        let good = sample();
        for at in 0..good.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                assert!(CheckpointReader::from_bytes(bad).is_err(), "byte {at}");
            }
            assert!(CheckpointReader::from_bytes(good[..at].to_vec()).is_err(), "cut at {at}");
        }
        let mut longer = good;
        longer.push(0);
        assert!(CheckpointReader::from_bytes(longer).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_with_a_true_checksum_make_it_panic(
            at in 0usize..1000, bytes in proptest::collection::vec(any::<u8>(), 1..40),
        ) {
            let mut file = sample();
            let body = HEADER as usize..file.len() - 4;
            for (i, byte) in bytes.into_iter().enumerate() {
                let place = body.start + (at + i) % body.len();
                file[place] = byte;
            }
            reseal(&mut file);
            let Ok(mut reader) = CheckpointReader::from_bytes(file) else { return Ok(()) };
            let names: Vec<String> = reader.sections().map(str::to_owned).collect();
            for name in names {
                reader.section(&name).unwrap();
                for _ in 0..20 {
                    let _ = (reader.get_f32x3s(), reader.get_str(), reader.get_u32s(), reader.get_bool());
                }
            }
        }
    }
}
