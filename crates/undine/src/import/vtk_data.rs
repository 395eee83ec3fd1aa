//! The arrays of VTK's XML files: text, base64 in place, or appended raw or as base64; packed with zlib or not.
//!
//! Unpacked: the number of bytes, then the bytes. Packed: the number of blocks, the size of a block, the size of the
//! last block (0 for a full one), the packed size of each; then the blocks. In base64 the head of a packed array is
//! encoded for itself, so padding may come in the middle.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;

use super::number::Number;

/// What is wrong with an array.
pub(super) struct Fault {
    pub(super) expected: String,
    pub(super) found: String,
}

fn fault(expected: impl Into<String>, found: impl Into<String>) -> Fault {
    Fault { expected: expected.into(), found: found.into() }
}

/// How the binary arrays of a file are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) big: bool,
    /// Type of the numbers in heads: U32 or U64.
    pub(super) head: Number,
    pub(super) packed: bool,
}

/// Where the bytes of an array are, from their first on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    Raw(&'a [u8]),
    Base64(&'a [u8]),
}

impl<'a> Place<'a> {
    /// More bytes than this are not there.
    fn len(self) -> usize {
        match self {
            Place::Raw(bytes) | Place::Base64(bytes) => bytes.len(),
        }
    }

    /// At most `limit` bytes from the first on.
    fn bytes(self, limit: usize) -> Cow<'a, [u8]> {
        match self {
            Place::Raw(bytes) => Cow::Borrowed(&bytes[..bytes.len().min(limit)]),
            Place::Base64(text) => Cow::Owned(decode_base64(text, limit)),
        }
    }
}

/// The `length` bytes of an array.
pub(super) fn read<'a>(place: Place<'a>, style: Style, length: usize) -> Result<Cow<'a, [u8]>, Fault> {
    if style.packed { unpack(place, style, length) } else { plain(place, style, length) }
}

fn head(bytes: &[u8], style: Style, k: usize) -> Result<usize, Fault> {
    let size = style.head.size();
    let number =
        bytes.get(k * size..(k + 1) * size).ok_or_else(|| fault("the head of an array", "the end"))?;
    Ok(style.head.decode(number, style.big) as usize)
}

fn plain<'a>(place: Place<'a>, style: Style, length: usize) -> Result<Cow<'a, [u8]>, Fault> {
    let size = style.head.size();
    let told = head(&place.bytes(size), style, 0)?;
    if told != length {
        return Err(fault(format!("an array of {length} bytes"), told.to_string()));
    }
    let bytes = place.bytes(size.saturating_add(length));
    if bytes.len() < size + length {
        return Err(fault(format!("{length} bytes"), format!("{} bytes", bytes.len().saturating_sub(size))));
    }
    Ok(match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[size..]),
        Cow::Owned(mut bytes) => {
            bytes.drain(..size);
            Cow::Owned(bytes)
        }
    })
}

fn unpack<'a>(place: Place<'a>, style: Style, length: usize) -> Result<Cow<'a, [u8]>, Fault> {
    let size = style.head.size();
    let start = place.bytes(3 * size);
    let (blocks, block, last) = (head(&start, style, 0)?, head(&start, style, 1)?, head(&start, style, 2)?);
    if blocks == 0 {
        return if length == 0 {
            Ok(Cow::Borrowed(&[]))
        } else {
            Err(fault(format!("{length} bytes"), "none"))
        };
    }
    let heads = blocks.checked_add(3).and_then(|n| n.checked_mul(size)).filter(|n| *n <= place.len());
    let Some(mut at) = heads else {
        return Err(fault("a number of blocks that the file can hold", blocks.to_string()));
    };
    // No more is decoded than belongs to this array: others may follow it, gigabytes of them.
    let start = place.bytes(at);
    let mut end = at;
    for k in 0..blocks {
        end = end.saturating_add(head(&start, style, 3 + k)?);
    }
    let all = place.bytes(end);
    let mut out = Vec::new();
    for k in 0..blocks {
        let packed = head(&all, style, 3 + k)?;
        let Some(bytes) = at.checked_add(packed).and_then(|end| all.get(at..end)) else {
            return Err(fault(format!("{packed} bytes of a packed block"), "the end"));
        };
        at += packed;
        let wanted = if k + 1 == blocks && last != 0 { last } else { block };
        // Never more than the array is long: memory grows with what comes out, not with what is told.
        let limit = wanted.min(length - out.len());
        let before = out.len();
        let unpacked = ZlibDecoder::new(bytes).take(limit as u64 + 1).read_to_end(&mut out);
        unpacked.map_err(|error| fault("zlib data", error.to_string()))?;
        if out.len() - before != wanted || out.len() > length {
            return Err(fault(
                format!("a block of {wanted} bytes within {length}"),
                (out.len() - before).to_string(),
            ));
        }
    }
    if out.len() != length {
        return Err(fault(format!("{length} bytes"), out.len().to_string()));
    }
    Ok(Cow::Owned(out))
}

/// Decodes base64 up to `limit` bytes or the first byte that belongs to none; white space is passed over, and behind
/// padding a new run may begin.
pub(super) fn decode_base64(text: &[u8], limit: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity((text.len() / 4 * 3).min(limit));
    let (mut group, mut digits, mut padding) = (0u32, 0, 0);
    for &byte in text {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                0
            }
            _ if byte.is_ascii_whitespace() => continue,
            _ => break,
        };
        group = group << 6 | u32::from(digit);
        digits += 1;
        if digits == 4 {
            let [_, bytes @ ..] = group.to_be_bytes();
            out.extend_from_slice(&bytes[..3 - padding.min(3)]);
            (group, digits, padding) = (0, 0, 0);
            if out.len() >= limit {
                break;
            }
        }
    }
    out.truncate(limit);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_over_padding_and_spaces_up_to_the_limit() {
        assert_eq!(decode_base64(b"Zm9v\n YmFy", 99), b"foobar");
        assert_eq!(decode_base64(b"Zg==Zm8=Zm9v", 99), b"ffofoo");
        assert_eq!(decode_base64(b"Zm9vYmFy", 4), b"foob");
        assert_eq!(decode_base64(b"Zm9v<x", 99), b"foo");
        assert_eq!(decode_base64(b"====", 99), b"");
        assert_eq!(decode_base64(b"Zm9", 99), b"");
    }
}
