//! The number types and encodings of PLY, for the readers of meshes and of particles.

/// A number type of PLY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Number {
    /// The type of that name; each has an old and a new one.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"char" | b"int8" => Self::I8,
            b"uchar" | b"uint8" => Self::U8,
            b"short" | b"int16" => Self::I16,
            b"ushort" | b"uint16" => Self::U16,
            b"int" | b"int32" => Self::I32,
            b"uint" | b"uint32" => Self::U32,
            b"float" | b"float32" => Self::F32,
            b"double" | b"float64" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of a number.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The number whose little-endian bytes come first in `b`. All types fit f64 exactly.
    pub(crate) fn decode(self, b: [u8; 8]) -> f64 {
        let [b0, b1, b2, b3, ..] = b;
        match self {
            Self::I8 => f64::from(b0 as i8),
            Self::U8 => f64::from(b0),
            Self::I16 => f64::from(i16::from_le_bytes([b0, b1])),
            Self::U16 => f64::from(u16::from_le_bytes([b0, b1])),
            Self::I32 => f64::from(i32::from_le_bytes([b0, b1, b2, b3])),
            Self::U32 => f64::from(u32::from_le_bytes([b0, b1, b2, b3])),
            Self::F32 => f64::from(f32::from_le_bytes([b0, b1, b2, b3])),
            Self::F64 => f64::from_le_bytes(b),
        }
    }
}

/// How the numbers of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Text,
    Little,
    Big,
}

impl Encoding {
    /// The encoding of that name.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"ascii" => Self::Text,
            b"binary_little_endian" => Self::Little,
            b"binary_big_endian" => Self::Big,
            _ => return None,
        })
    }
}
