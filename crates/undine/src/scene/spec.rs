//! What the table of keys (`keys.rs`) is made of.

/// A table of the file: its keys and which of them exclude each other.
#[derive(Debug)]
pub struct Table {
    /// Name in the reference and in the schema's `$defs`.
    pub name: &'static str,
    /// What it is for, one sentence.
    pub doc: &'static str,
    /// Its keys, in the order of the reference.
    pub keys: &'static [Key],
    /// Keys that exclude each other.
    pub groups: &'static [Group],
}

/// Keys of which at most one, or exactly one, must be given.
#[derive(Debug)]
pub struct Group {
    /// The keys.
    pub keys: &'static [&'static str],
    /// One of them must be given.
    pub required: bool,
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Name in the file.
    pub name: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// What happens when it is not given.
    pub fallback: Fallback,
    /// Unit, or empty.
    pub unit: &'static str,
    /// What it is, and what raising it does.
    pub doc: &'static str,
}

/// Type and range of a key.
#[derive(Debug)]
pub enum Kind {
    /// A finite number.
    Number(Range),
    /// A whole number between two bounds.
    Integer(u64, u64),
    /// `true` or `false`.
    Switch,
    /// Free text, one line.
    Text,
    /// Text that names something: no quotes, commas or control characters.
    Name,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// Three numbers.
    Vector(Range),
    /// Three numbers, not all zero; only the direction counts.
    Direction,
    /// Two numbers.
    Pair(Range),
    /// Three of `true` or `false`.
    Switches,
    /// A number or a list of up to three.
    Numbers(Range),
    /// A list of lists of numbers; the width of each when fixed, and the largest number of numbers in all.
    Rows(Option<usize>, usize),
    /// A table.
    Table(&'static Table),
    /// A list of tables, at most this many.
    Tables(&'static Table, usize),
}

/// Range of a number.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Lower bound.
    pub min: f64,
    /// Upper bound, included.
    pub max: f64,
    /// The lower bound itself is too low.
    pub open: bool,
}

/// What happens when a key is not given.
#[derive(Debug)]
pub enum Fallback {
    /// It must be given.
    Required,
    /// Nothing is set; the words say what that means.
    Absent(&'static str),
    /// A number.
    Number(f64),
    /// Three numbers.
    Vector([f64; 3]),
    /// A word.
    Word(&'static str),
    /// A flag.
    Flag(bool),
    /// Three flags.
    Flags([bool; 3]),
    /// An empty list.
    NoWords,
}

impl Table {
    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}

/// Longest text, characters.
pub const MAX_TEXT: usize = 1000;
/// Longest name, characters.
pub const MAX_NAME: usize = 100;
/// Most frames of a run.
pub const MAX_FRAMES: f64 = 1e7;
/// Most samples of a heightfield.
pub const MAX_HEIGHTS: usize = 1 << 24;
/// Largest scene or event file, bytes.
pub const MAX_FILE: u64 = 64 << 20;
/// Components of a direction, numbers of a track or a heightfield: their squares stay finite.
pub const WIDE: Range = Range { min: -1e9, max: 1e9, open: false };
/// Smallest and largest support radius, × spacing: below, too few neighbours; above, pairs without end.
pub const SMOOTHING: Range = Range { min: 1.2, max: 6.0, open: false };
