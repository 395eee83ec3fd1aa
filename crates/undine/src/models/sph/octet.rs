//! Eight particles side by side, one in each lane, and their neighbours one after the other.
//!
//! The particles of an octet have most of their neighbours in common. Each neighbour of any is read once, one number for all lanes, and
//! every lane takes of it what is within its support. Nothing is gathered or transposed and no lane is added to another. (Before,
//! four particles shared neighbours that were gathered into columns, eight in the lanes: a step at 60k particles took 7.2 ms instead of
//! 6.4, with AVX2 on two threads.)
//!
//! On Zen 3 a neighbour takes some 15 cycles in the density pass and 19 in the force pass, at nearly three instructions a cycle, whatever
//! they are: fewer of them is what counts. So fixed values are read by the instructions that use them ([`crate::simd::reread`]). Tried and
//! lost, in a small model of these loops: two neighbours a turn; the distances of all first; finding a neighbour one turn before it is used
//! (it gained while sums were in memory); the shear apart from the rest of the force; four particles with two neighbours at once, which
//! have a quarter fewer to go through but need ten shuffles for each two (forces a tenth faster, densities as fast, twice the lists).
//! Bits instead of lists of what is near took as long to read as they saved.
//!
//! One pass for densities and forces was built and left out. The force answered to a density predicted from the last two rates, which
//! was then corrected: 65 instructions a neighbour instead of 49 and 57, but over all that were found, a fifth more than count. Bare fluid
//! took 0.77 to 0.85 of the time, `river` 0.89, `lava` 0.85 to 1.05, `mixer` 1.28; sound was stable up to ω δt of 0.56 instead of 1, where a step
//! needs 0.43, and `pour` at twice its spacing threw drops over its rim.
//!
//! In the sixteen lanes of AVX-512 the particles are twice, and two neighbours are gone through at once ([`Together`]). On a Xeon that has
//! three ports for vectors of eight lanes and two for those of sixteen this gains little inside the fluid, because joining the values of
//! two neighbours is an instruction in five: 48,000 particles of `cylinders-bare` take 1.71 ms instead of 1.82 for forces and 1.69 instead of
//! 1.82 for densities, on two threads. It gains more at surfaces, where eight lanes have too few registers: `lava`, a third of whose octets
//! are at one, takes 2.0 ms instead of 2.9 for forces, with what was gained at walls. Sixteen particles with one neighbour at once would
//! go through 127 of a lattice where eight have 84: by the count of instructions, not tried, no gain.
//!
//! Both records are loaded side by side and each column is spread from there by one shuffle ([`Records`]). Joined number by number they took
//! two loads and a shuffle a column, and fixed values in registers left a sum in memory: `lava` takes 0.87 of that time on Zen 4, densities
//! 0.89 and forces 0.86. There sixteen lanes take as long as eight with 32 registers (4.5 ms both before this). Asking for the
//! records of the next octet ahead of time lost: densities took 1.9 ms instead of 1.4.

use super::crowd::{MOST, Near};
use super::work::{PRESSURE, Record, VOLUME};
use crate::simd::Octets;

/// Particles of an octet.
pub const OCTET: usize = 8;

/// All that the passes need of eight particles.
#[derive(Clone, Copy)]
pub struct Octet<L> {
    /// Places, units of h.
    pub at: [L; 3],
    /// Pressures, Pa.
    pub pressure: L,
    /// Velocities, m/s.
    pub velocity: [L; 3],
    /// Volumes, × Δ³, negative at surfaces.
    pub volume: L,
}

impl<L: Octets> Octet<L> {
    /// The records of up to eight particles, the last of them repeated.
    #[inline(always)]
    pub fn new(records: &[Record]) -> Self {
        assert!(L::N == OCTET * L::AT_ONCE && !records.is_empty());
        let last = records.len() as u32 - 1;
        let index: [u32; 2 * OCTET] = std::array::from_fn(|k| ((k % OCTET) as u32).min(last));
        // SAFETY: all are below the number of records.
        let columns = unsafe { L::gather8(records.as_ptr(), index.as_ptr()) };
        Octet {
            at: [columns[0], columns[1], columns[2]],
            pressure: columns[PRESSURE],
            velocity: [columns[4], columns[5], columns[6]],
            volume: columns[VOLUME],
        }
    }

    /// Velocity of neighbours against that of the particles, m/s.
    #[inline(always)]
    pub fn against(&self, r: Records<L>) -> [L; 3] {
        let [x, y, z] = self.velocity;
        [r.lanes(4).sub(x), r.lanes(5).sub(y), r.lanes(6).sub(z)]
    }

    /// The places seen from a periodic image.
    #[inline(always)]
    pub fn image(&self, shift: [f32; 3]) -> [L; 3] {
        let [x, y, z] = self.at;
        [x.add(L::splat(shift[0])), y.add(L::splat(shift[1])), z.add(L::splat(shift[2]))]
    }
}

/// What is looked at together: something of each of as many neighbours as have lanes of their own.
#[derive(Clone, Copy)]
pub struct Together<'a, T>([&'a T; 2]);

impl<'a, T> Together<'a, T> {
    /// That of the neighbours from number k of the list on; `none` after the last.
    ///
    /// # Safety
    /// k must be below the number of neighbours, and all must be numbers of what is in `of`.
    #[inline(always)]
    pub unsafe fn of<L: Octets>(of: &'a [T], neighbors: &[u32], k: usize, none: &'a T) -> Self {
        debug_assert!(neighbors[k..].iter().all(|j| (*j as usize) < of.len()));
        // SAFETY: the caller's promise.
        let first = unsafe { of.get_unchecked(*neighbors.get_unchecked(k) as usize) };
        let second = match neighbors.get(k + 1) {
            // SAFETY: as above.
            Some(j) if L::AT_ONCE == 2 => unsafe { of.get_unchecked(*j as usize) },
            _ => none,
        };
        Together([first, second])
    }
}

impl<const N: usize> Together<'_, [f32; N]> {
    /// Component c of each in its lanes.
    #[inline(always)]
    pub fn lanes<L: Octets>(self, c: usize) -> L {
        L::halves(self.0[0][c], self.0[1][c])
    }
}

/// The records of as many neighbours as have lanes of their own.
#[derive(Clone, Copy)]
pub struct Records<'a, L: Octets> {
    each: Together<'a, Record>,
    columns: L::Records<'a>,
    spread: L::Spread,
}

impl<'a, L: Octets> Records<'a, L> {
    /// Those of the neighbours from number k of the list on.
    ///
    /// # Safety
    /// k must be below the number of neighbours, and there must be such records.
    #[inline(always)]
    pub unsafe fn of(records: &'a [Record], neighbors: &[u32], k: usize, spread: L::Spread) -> Self {
        // SAFETY: the caller's promise.
        let each = unsafe { Together::of::<L>(records, neighbors, k, &NOBODY) };
        Records { each, columns: L::records(each.0), spread }
    }

    /// Component c of each in its lanes.
    #[inline(always)]
    pub fn lanes(self, c: usize) -> L {
        L::column(self.columns, c, &self.spread)
    }

    /// Each of them.
    #[inline(always)]
    pub fn each(self) -> impl Iterator<Item = &'a Record> {
        self.each.0.into_iter().take(L::AT_ONCE)
    }
}

/// The record of no particle, far from all.
static NOBODY: Record = [1e9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];

/// A neighbour of an octet, or several.
#[derive(Clone, Copy)]
pub struct Neighbor<'a, L: Octets> {
    /// Its record.
    pub record: Records<'a, L>,
    /// From the particles to it, units of h. (The other way, their places would have to be in registers.)
    pub d: [L; 3],
    /// 1 - s², or 0 beyond the support.
    pub w: L,
    /// 1 - s².
    pub within: L,
}

impl<'a, L: Octets> Neighbor<'a, L> {
    /// Those of the records from number k of the list on, seen from `q`, by way of 1 in all lanes.
    ///
    /// # Safety
    /// k must be below the number of neighbours, and there must be such records.
    #[inline(always)]
    pub unsafe fn find(
        (records, neighbors): (&'a [Record], &[u32]),
        k: usize,
        q: &[L; 3],
        one: L,
        spread: L::Spread,
    ) -> Self {
        // SAFETY: the caller's promise.
        let record = unsafe { Records::<L>::of(records, neighbors, k, spread) };
        let d = [record.lanes(0).sub(q[0]), record.lanes(1).sub(q[1]), record.lanes(2).sub(q[2])];
        let w = d[2].neg_mul_add(d[2], d[1].neg_mul_add(d[1], d[0].neg_mul_add(d[0], one)));
        Neighbor { record, d, w: w.max(L::splat(0.0)), within: w }
    }
}

/// Writes bits for each neighbour: of the particles beyond whose support it is and stays, if `opening` stays what it is, the
/// velocity against theirs times the way to it, m/s. `within` is 1 - s²; `ahead` the time, × 2/h, and `beyond` how much less than 0 it is to
/// be then.
#[inline(always)]
pub fn mark_far<L: Octets>(within: L, opening: L, (ahead, beyond): (L, L), far: &mut [u8]) {
    // s² falls by no more than at first: |d + v t|² ≥ d² + 2 t v·d.
    let within = opening.min(L::splat(0.0)).neg_mul_add(ahead, within);
    let bits = within.below(beyond);
    for (half, far) in far.iter_mut().enumerate() {
        *far = (bits >> (OCTET * half)) as u8;
    }
}

/// The numbers of the neighbours in a batch.
pub struct Numbers {
    index: [u32; MOST + 16],
    len: usize,
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers { index: [0; MOST + 16], len: 0 }
    }
}

impl Numbers {
    /// Takes batch k of what was found with as many lanes.
    #[inline(always)]
    pub fn take<L: Octets>(&mut self, found: Near, k: usize) {
        self.len = found.numbers::<L>(k, &mut self.index);
    }

    /// The neighbours.
    #[inline(always)]
    pub fn all(&self) -> &[u32] {
        &self.index[..self.len]
    }
}

/// The neighbours of a block of particles as a survey sees them, for the passes until the next: of those found, all that are
/// within the support of any particle of the octet or may come there, about two thirds.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    index: Vec<u32>,
    /// One past the last of each batch.
    end: Vec<u32>,
}

impl Exact {
    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.index.clear();
        self.end.clear();
    }

    /// Gives the memory back.
    pub fn shed(&mut self) {
        *self = Exact::default();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.end.is_empty()
    }

    /// Takes a batch: of these numbers those that are not beyond the support of all particles, see [`mark_far`].
    #[inline(always)]
    pub fn take<L: Octets>(&mut self, numbers: &Numbers, far: &[u8; MOST + 16]) {
        let count = numbers.len;
        if self.index.capacity() - self.index.len() < count + L::N {
            self.index.reserve(count + L::N);
        }
        let mut len = self.index.len();
        let (eights, _) = far.as_chunks::<8>();
        for (k, eights) in eights.chunks(L::AT_ONCE).enumerate().take(count.div_ceil(L::N)) {
            let left = count - L::N * k;
            let all = eights.iter().rev().fold(0, |mask, eight| mask << 8 | u32::from(packed(eight)));
            let mask = all & if left < L::N { (1 << left) - 1 } else { u32::MAX };
            // SAFETY: there are more entries than numbers, and there is room for a vector more.
            unsafe {
                let numbers = L::load(numbers.index.as_ptr().add(L::N * k).cast());
                numbers.store_packed(mask, self.index.as_mut_ptr().add(len).cast());
            }
            len += mask.count_ones() as usize;
        }
        // SAFETY: so many were written.
        unsafe { self.index.set_len(len) };
        self.end.push(len as u32);
    }

    /// Batch k.
    #[inline(always)]
    pub fn batch(&self, k: usize) -> &[u32] {
        let from = if k == 0 { 0 } else { self.end[k - 1] as usize };
        &self.index[from..self.end[k] as usize]
    }
}

/// Bit k says whether any bit of byte k is not set.
#[inline(always)]
fn packed(bytes: &[u8; 8]) -> u8 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let open = !u64::from_le_bytes(*bytes);
    // In the highest bit of each byte whether it has any; they do not carry into the next.
    let any = (((open & LOW) + LOW) | open) & !LOW;
    // Each comes to lie at its place in the highest byte.
    ((any >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// What the lanes of each particle add up to, in memory.
#[inline(always)]
pub fn lanes<L: Octets, const N: usize>(of: [L; N]) -> [[f32; OCTET]; N] {
    let mut out = [[0.0; OCTET]; N];
    for (of, out) in of.into_iter().zip(&mut out) {
        // SAFETY: as many as there are.
        unsafe { of.store_eight(out.as_mut_ptr()) };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_near_is_kept(batches in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..MOST), 1..5)) {
            are_kept::<Portable>(&batches);
            #[cfg(target_arch = "x86_64")]
            if crate::simd::avx512_available() {
                #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
                fn avx512(batches: &[Vec<bool>]) {
                    are_kept::<crate::simd::Avx512>(batches);
                }
                // SAFETY: AVX-512 is available.
                unsafe { avx512(&batches) };
            }
        }
    }

    #[inline(always)]
    fn are_kept<L: Octets>(batches: &[Vec<bool>]) {
        let mut exact = Exact::default();
        let mut kept = Vec::new();
        for batch in batches {
            let mut numbers = Numbers { len: batch.len(), ..Default::default() };
            let mut far = [0; MOST + 16];
            for (k, is_near) in batch.iter().enumerate() {
                // Whoever it is near to.
                (numbers.index[k], far[k]) = (10 * k as u32, if *is_near { !(1 << (k % 8)) } else { 255 });
            }
            exact.take::<L>(&numbers, &far);
            kept.push((0..batch.len()).filter(|k| batch[*k]).map(|k| 10 * k as u32).collect::<Vec<_>>());
        }
        for (k, kept) in kept.iter().enumerate() {
            assert_eq!(exact.batch(k), &kept[..]);
        }
    }
}
