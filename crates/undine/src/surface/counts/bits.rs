//! A set of points of a grid, numbered without gaps.

/// Points as bits, and how many are before each word.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
    before: Vec<u32>,
}

impl Bits {
    /// None of `len` points.
    pub fn new(len: usize) -> Self {
        // A word more, for rows that begin in the last.
        Bits { words: vec![0; len / 64 + 2], before: Vec::new() }
    }

    /// Adds the points `at` + k of which `row` has bit k.
    #[inline(always)]
    pub fn add_row(&mut self, at: usize, row: u64) {
        let (word, shift) = (at / 64, at % 64);
        self.words[word] |= row << shift;
        if shift > 0 {
            self.words[word + 1] |= row >> (64 - shift);
        }
    }

    /// The points from `at` on as bits, the first as the lowest.
    #[inline(always)]
    pub fn row(&self, at: usize) -> u64 {
        let (word, shift) = (at / 64, at % 64);
        let low = self.words[word] >> shift;
        if shift > 0 { low | self.words[word + 1] << (64 - shift) } else { low }
    }

    /// Whether a point is among them.
    #[inline(always)]
    pub fn has(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    /// Numbers them; returns how many there are.
    pub fn number(&mut self) -> usize {
        let mut sum = 0;
        self.before.clear();
        self.before.extend(self.words.iter().map(|w| {
            let before = sum;
            sum += w.count_ones();
            before
        }));
        sum as usize
    }

    /// How many are before a point: its own number, if it is among them.
    #[inline(always)]
    pub fn number_of(&self, at: usize) -> usize {
        let below = self.words[at / 64] & ((1 << (at % 64)) - 1);
        (self.before[at / 64] + below.count_ones()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_and_numbered() {
        let rows = [(3usize, 0b1011u64), (60, 0b1_1111), (128, 1), (190, 0b11), (199, 1)];
        let mut bits = Bits::new(200);
        let mut plain = [false; 200];
        for (at, row) in rows {
            bits.add_row(at, row);
            (0..64).filter(|k| row >> k & 1 == 1).for_each(|k| plain[at + k] = true);
        }
        assert_eq!(bits.number(), plain.iter().filter(|p| **p).count());
        for at in 0..200 {
            assert_eq!(bits.has(at), plain[at]);
            assert_eq!(bits.number_of(at), plain[..at].iter().filter(|p| **p).count());
            let row = (0..64.min(200 - at)).fold(0, |row, k| row | u64::from(plain[at + k]) << k);
            assert_eq!(bits.row(at), row, "{at}");
        }
    }
}
