//! Sums over pairs for clusters of eight particles, one for each lane, which share a row of neighbours ([`super::patches`]).
//!
//! Each lane is a particle of the cluster; the neighbours come one after the other, each the same in all lanes. A row holds more
//! than a lane needs, 50 to 70 instead of some 25, but nothing has to be gathered, transposed or summed over lanes. Over ten
//! seconds of `bottle-10000` on a Zen 3 the loop over gathered rows took 84 ns a particle and step, this one some 65.
//!
//! Tried and lost there: an estimate of 1/√ with a step of Newton's instead of a division and a root (7.4 ns a neighbour instead of
//! 6.3), and leaving out neighbours that no lane feels (a branch that is guessed wrongly too often). Clusters of four with two
//! neighbours at once took a tenth less in a loop of its own, with twice the rows; they were not built.
//!
//! Clusters have eight particles with AVX-512 too, and this loop goes without it: on a lattice the row of sixteen is 1.6 times as long
//! as that of eight, and a Xeon starts three instructions on eight lanes at once, two on sixteen. Over ten seconds of `bottle-10000`, two threads, taking
//! turns, all of `force` took 4.9 s so, and 5.8 s with sixteen.
//!
//! Tried and lost there, where this loop had 4.7 and 5.3 s of `force` in the same two runs:
//! - Rows pruned to the cut-off and a tenth of σ by the loop itself, and gone over until patches may have come nearer by that as seen
//!   from each other (the dual list of GROMACS), with a polynomial of third degree instead of the square root of the shift: 5.4 s in
//!   both. Where water is poured pruned rows lasted a step or two.
//! - The same with longer ways before a patch is listed anew (0.2 to 0.6 σ, for six steps): 5.9 s in the first; `list` and `sort`
//!   took 1.7 s instead of 2.4 s.

use super::force::{Closest, NONE, Pairs, SHORT, Seen, WHOLE, dot, energies};
use super::list::Rows;
use crate::simd::{Lanes, eight, reread};

/// Where lanes are that have no particle, supports: far from all, and its square is a number.
const NOWHERE: f32 = 1e18;
/// Particles of a cluster, one for each lane.
pub(super) const WIDTH: usize = 8;

/// What is added to the squares of distances between the particles of a cluster: a particle is no neighbour of its own. The
/// numbers for the k-th one against all are those from `WIDTH - k` on.
static OWN: [f32; 2 * WIDTH] = {
    let mut own = [0.0; 2 * WIDTH];
    // Beyond any cut-off, in supports, and yet no power of its inverse is too small for a number of full precision: those take
    // several times as long.
    own[WIDTH] = 1e4;
    own
};

/// Numbers in a row.
static EACH: [u32; WIDTH] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Sums of the forces on the particles of a patch, over [`super::force::Constants::force`].
pub(super) fn forces(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 3]], most: &mut Closest) {
    eight!(forces_in(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 3]], most: &mut Closest));
}

/// As [`forces`], for any lanes.
#[inline(always)]
pub(super) fn forces_in<L: Lanes>(
    seen: &Seen,
    rows: &Rows,
    first: usize,
    out: &mut [[f32; 3]],
    most: &mut Closest,
) {
    match seen.constants.kind() {
        (NONE, false) => sums::<L, NONE, false>(seen, rows, first, out, most),
        (NONE, true) => sums::<L, NONE, true>(seen, rows, first, out, most),
        (WHOLE, false) => sums::<L, WHOLE, false>(seen, rows, first, out, most),
        (WHOLE, true) => sums::<L, WHOLE, true>(seen, rows, first, out, most),
        (_, false) => sums::<L, SHORT, false>(seen, rows, first, out, most),
        (_, true) => sums::<L, SHORT, true>(seen, rows, first, out, most),
    }
}

/// Places (supports) and velocities (m/s; zeros without friction between particles) of a cluster.
#[inline(always)]
fn cluster<L: Lanes>(seen: &Seen, first: usize, count: usize, moves: bool) -> [L; 6] {
    if count == L::N && moves {
        let records = &seen.record[first..first + count];
        // SAFETY: there are as many records as lanes.
        let [x, y, z, _, vx, vy, vz, _] = unsafe { L::gather8(records.as_ptr().cast(), EACH.as_ptr()) };
        return [x, y, z, vx, vy, vz];
    }
    let mut lanes = [[NOWHERE; WIDTH]; 6];
    for a in 0..3 {
        for (k, place) in seen.place[first..first + count].iter().enumerate() {
            lanes[a][k] = place[a];
            lanes[3 + a][k] = if moves { seen.record[first + k].0[4 + a] } else { 0.0 };
        }
    }
    // Speeds of nothing must not count.
    for lane in &mut lanes[3..] {
        lane[count..].fill(0.0);
    }
    // SAFETY: there are eight lanes.
    unsafe {
        [
            L::load(lanes[0].as_ptr()),
            L::load(lanes[1].as_ptr()),
            L::load(lanes[2].as_ptr()),
            L::load(lanes[3].as_ptr()),
            L::load(lanes[4].as_ptr()),
            L::load(lanes[5].as_ptr()),
        ]
    }
}

/// What does not change while a cluster meets its neighbours.
struct Fixed<L> {
    pairs: Pairs<L>,
    /// Places, supports, and velocities, m/s.
    place: [L; 3],
    velocity: [L; 3],
}

/// What the neighbours of a cluster have done so far.
#[derive(Clone, Copy)]
struct Met<L> {
    sum: [L; 3],
    close: L,
    rate: L,
}

impl<L: Lanes> Met<L> {
    /// One neighbour, with all lanes; `own` is added to the squares of distances, if there is one.
    ///
    /// # Safety
    /// There must be a neighbour j.
    #[inline(always)]
    unsafe fn meet<const FRICTION: u8, const SHIFTED: bool>(
        &mut self,
        fixed: &Fixed<L>,
        seen: &Seen,
        j: usize,
        own: Option<L>,
    ) {
        reread(&raw const *fixed);
        let Fixed { pairs, place, velocity } = fixed;
        debug_assert!(j < seen.place.len());
        let way = |x: f32, y: f32, z: f32| {
            [L::splat(x).sub(place[0]), L::splat(y).sub(place[1]), L::splat(z).sub(place[2])]
        };
        let mut parting = pairs.zero;
        let d;
        if FRICTION != NONE {
            // SAFETY: the caller's promise.
            let [x, y, z, _, vx, vy, vz, _] = unsafe { seen.record.get_unchecked(j).0 };
            d = way(x, y, z);
            let v =
                [L::splat(vx).sub(velocity[0]), L::splat(vy).sub(velocity[1]), L::splat(vz).sub(velocity[2])];
            parting = dot(d, v);
        } else {
            // SAFETY: as above.
            let [x, y, z, _] = unsafe { *seen.place.get_unchecked(j) };
            d = way(x, y, z);
        }
        let mut r2 = dot(d, d);
        if let Some(own) = own {
            r2 = r2.add(own);
        }
        let pushed = pairs.push::<FRICTION, SHIFTED>(r2, parting);
        for (sum, d) in self.sum.iter_mut().zip(d) {
            *sum = pushed.force.neg_mul_add(d, *sum);
        }
        self.close = self.close.max(pushed.s2);
        self.rate = self.rate.min(pushed.rate);
    }
}

#[inline(always)]
fn sums<L: Lanes, const FRICTION: u8, const SHIFTED: bool>(
    seen: &Seen,
    rows: &Rows,
    first: usize,
    out: &mut [[f32; 3]],
    most: &mut Closest,
) {
    let pairs = Pairs::<L>::new(seen.constants);
    let zero = pairs.zero;
    let (mut close, mut rate) = (zero, zero);
    let mut begin = 0;
    for (k, out) in out.chunks_mut(L::N).enumerate() {
        let first = first + k * L::N;
        let end = rows.end[k] as usize;
        let [x, y, z, vx, vy, vz] = cluster::<L>(seen, first, out.len(), FRICTION != NONE);
        let fixed = Fixed { pairs, place: [x, y, z], velocity: [vx, vy, vz] };
        let mut met = Met { sum: [zero; 3], close, rate };
        for own in 0..out.len() {
            // SAFETY: there are as many numbers from there on as lanes at most; and these particles.
            unsafe {
                let far = L::load(OWN.as_ptr().add(WIDTH - own));
                met.meet::<FRICTION, SHIFTED>(&fixed, seen, first + own, Some(far));
            }
        }
        for j in &rows.index[begin..end] {
            // SAFETY: lists are made of particles, and made anew when their number changes.
            unsafe { met.meet::<FRICTION, SHIFTED>(&fixed, seen, *j as usize, None) };
        }
        begin = end;
        (close, rate) = (met.close, met.rate);
        let mut lanes = [[0.0f32; WIDTH]; 3];
        for (lanes, sum) in lanes.iter_mut().zip(met.sum) {
            // SAFETY: there are eight lanes.
            unsafe { sum.store(lanes.as_mut_ptr()) };
        }
        for (k, out) in out.iter_mut().enumerate() {
            *out = [lanes[0][k], lanes[1][k], lanes[2][k]];
        }
    }
    most.take_in(close, rate, seen.constants);
}

/// Potential energy (J, half of each pair's) and virial Σ f·r (J, half of each pair's) of the particles of a patch.
pub(super) fn measures(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]) {
    eight!(measures_in(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]));
}

/// As [`measures`], for any lanes. Friction between particles is left out.
#[inline(always)]
fn measures_in<L: Lanes>(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]) {
    let c = seen.constants;
    let mut begin = 0;
    for (k, out) in out.chunks_mut(L::N).enumerate() {
        let first = first + k * L::N;
        let end = rows.end[k] as usize;
        let [x, y, z, ..] = cluster::<L>(seen, first, out.len(), false);
        let mut sums = [L::splat(0.0); 2];
        let own = first..first + out.len();
        for j in own.clone().chain(rows.index[begin..end].iter().map(|j| *j as usize)) {
            let p = seen.place[j];
            let d = [x.sub(L::splat(p[0])), y.sub(L::splat(p[1])), z.sub(L::splat(p[2]))];
            let k = if own.contains(&j) { WIDTH - (j - first) } else { 0 };
            // SAFETY: there are as many numbers from there on as lanes at most.
            let own = unsafe { L::load(OWN.as_ptr().add(k)) };
            let [energy, virial] = energies::<L>(c, dot(d, d).add(own));
            sums = [sums[0].add(energy), sums[1].add(virial)];
        }
        begin = end;
        let mut lanes = [[0.0f32; WIDTH]; 2];
        for (lanes, sum) in lanes.iter_mut().zip(sums) {
            // SAFETY: there are eight lanes.
            unsafe { sum.store(lanes.as_mut_ptr()) };
        }
        for (k, out) in out.iter_mut().enumerate() {
            *out = c.halves(lanes[0][k], lanes[1][k]);
        }
    }
}
