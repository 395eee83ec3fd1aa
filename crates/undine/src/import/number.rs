//! Number types of binary files.

/// A number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    /// Bytes of a number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The number at the start of `bytes`, which has its size at least. Whole numbers above 2⁵³ are rounded.
    #[inline]
    pub(super) fn decode(self, bytes: &[u8], big: bool) -> f64 {
        macro_rules! number {
            ($t:ty) => {{
                let mut raw = [0u8; size_of::<$t>()];
                raw.copy_from_slice(&bytes[..size_of::<$t>()]);
                (if big { <$t>::from_be_bytes(raw) } else { <$t>::from_le_bytes(raw) }) as f64
            }};
        }
        match self {
            Self::I8 => f64::from(bytes[0] as i8),
            Self::U8 => f64::from(bytes[0]),
            Self::I16 => number!(i16),
            Self::U16 => number!(u16),
            Self::I32 => number!(i32),
            Self::U32 => number!(u32),
            Self::I64 => number!(i64),
            Self::U64 => number!(u64),
            Self::F32 => number!(f32),
            Self::F64 => number!(f64),
        }
    }
}
