//! Plain values as bytes: slices go to files in chunks, so that writing a large array needs no second copy of it.

use std::io::{self, Write};

/// Bytes moved at once: large enough that a system call is cheap beside it, small enough to stay in the cache.
pub(crate) const CHUNK: usize = 64 * 1024;

/// A value of fixed size with a little-endian form.
pub(crate) trait Plain: Copy {
    /// Bytes of one value.
    const SIZE: usize;
    /// Writes the value into `out`, which is `SIZE` long.
    fn store(self, out: &mut [u8]);
    /// Reads a value from `bytes`, which is `SIZE` long.
    fn load(bytes: &[u8]) -> Self;
}

macro_rules! plain_number {
    ($($t:ty),*) => {$(
        impl Plain for $t {
            const SIZE: usize = size_of::<$t>();
            #[inline]
            fn store(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn load(bytes: &[u8]) -> Self {
                let mut value = [0; size_of::<$t>()];
                value.copy_from_slice(bytes);
                <$t>::from_le_bytes(value)
            }
        }
    )*};
}
plain_number!(u8, u32, i32, u64, i64, f32, f64);

impl<T: Plain + Default> Plain for [T; 3] {
    const SIZE: usize = 3 * T::SIZE;
    #[inline]
    fn store(self, out: &mut [u8]) {
        for (value, place) in self.into_iter().zip(out.chunks_exact_mut(T::SIZE)) {
            value.store(place);
        }
    }
    #[inline]
    fn load(bytes: &[u8]) -> Self {
        let mut values = [T::default(); 3];
        for (value, place) in values.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
            *value = T::load(place);
        }
        values
    }
}

/// Writes a slice in little-endian form, through a small buffer.
pub(crate) fn write_slice<T: Plain>(out: &mut dyn Write, values: &[T]) -> io::Result<()> {
    let per_chunk = CHUNK / T::SIZE;
    let mut buffer = vec![0u8; per_chunk.min(values.len()) * T::SIZE];
    for chunk in values.chunks(per_chunk) {
        let bytes = &mut buffer[..chunk.len() * T::SIZE];
        for (value, place) in chunk.iter().zip(bytes.chunks_exact_mut(T::SIZE)) {
            value.store(place);
        }
        out.write_all(bytes)?;
    }
    Ok(())
}

/// Collects small records and hands them on in chunks.
pub(crate) struct Records<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
}

impl<'a> Records<'a> {
    /// A collector before `out`. Call [`Records::finish`] at the end.
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Records { out, buffer: Vec::with_capacity(CHUNK + 256) }
    }

    /// The buffer to append the next record to (a few hundred bytes at most).
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<&mut Vec<u8>> {
        if self.buffer.len() >= CHUNK {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(&mut self.buffer)
    }

    /// Hands on what is left.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.buffer)
    }
}

/// Numbers in their shortest form that reads back as the same number; very large and very small ones with an
/// exponent, so that a column never gets hundreds of digits wide.
pub(crate) struct Shortest(pub(crate) f64);

impl std::fmt::Display for Shortest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.0.abs();
        if size == 0.0 || !size.is_finite() || (1e-5..1e16).contains(&size) {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_printed_number_reads_back_as_itself_and_stays_short(bits: u64) {
            let x = f64::from_bits(bits);
            let text = Shortest(x).to_string();
            let back: f64 = text.parse().unwrap();
            prop_assert!(back.to_bits() == bits || x.is_nan() && back.is_nan());
            prop_assert!(text.len() <= 25, "{text}");
        }
    }

    #[test]
    fn a_slice_longer_than_a_chunk_arrives_whole() {
        let values: Vec<[f32; 3]> = (0..20_000).map(|i| [i as f32, -1.0, 0.5]).collect();
        let mut out = Vec::new();
        write_slice(&mut out, &values).unwrap();
        assert_eq!(out.len(), 12 * values.len());
        let back: Vec<[f32; 3]> = out.chunks_exact(12).map(Plain::load).collect();
        assert_eq!(back, values);
    }
}
