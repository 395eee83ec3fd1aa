//! Sums over pairs: forces (eq. 3 and friction between particles), and for measurements energy and virial.
//!
//! In units of the grid's support, in single precision. d, r and the cut-off have opposite signs and the same value seen from
//! either particle, so a pair's two forces cancel exactly.

use super::list::Rows;
use super::params::Params;
use crate::simd::{Lanes, widest};

/// A place (units of the support) and what is added to the square of every distance to it.
pub type Quad = [f32; 4];

/// The same, a velocity (m/s) and nothing: all that friction between particles reads, in one load that never crosses a line of
/// the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Record(pub [f32; 8]);

/// A record of a place and a velocity.
#[inline(always)]
pub fn record(p: Quad, v: [f32; 3]) -> Record {
    Record([p[0], p[1], p[2], p[3], v[0], v[1], v[2], 0.0])
}

/// Friction between particles reaches this far, × σ, if the cut-off does.
pub const FRICTION_REACH: f64 = 2.0;

/// Numbers of the loops, in units of the support h.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// σ².
    sigma2: f32,
    /// Square of the cut-off.
    cutoff2: f32,
    /// Square of the closest distance that counts.
    core2: f32,
    /// (σ/r_c)¹³ - ½(σ/r_c)⁷ where the force is shifted, else 0.
    shift: f32,
    /// Friction between particles, over 48ε h/σ², times σ^-2.
    damping: f32,
    /// Inverse square of how far that reaches.
    reach: f32,
    /// Length of the period along each axis, and its inverse; zeros where it does not repeat.
    period: [f32; 3],
    per_period: [f32; 3],
    /// 1/σ², over h in metres.
    per_sigma2: f32,
    /// What sums are to be multiplied by: 48ε h/σ², N.
    pub force: f32,
    /// ε, J.
    epsilon: f32,
    /// Shift of the potential, ε: what is added to 4(s¹² - s⁶) is `energy` + `energy_slope`·r.
    energy: f32,
    energy_slope: f32,
}

impl Constants {
    /// For a support `h` (m) and periods (m; 0 where space does not repeat).
    pub fn new(params: &Params, h: f64, period: [f64; 3]) -> Self {
        let Params { pair, damping, core, .. } = params;
        let sigma2 = (pair.sigma / h).powi(2);
        let force = 48.0 * pair.epsilon / pair.sigma.powi(2) * h;
        let reach = (FRICTION_REACH * pair.sigma).min(pair.cutoff) / h;
        Constants {
            sigma2: sigma2 as f32,
            cutoff2: (pair.cutoff / h).powi(2) as f32,
            core2: (core * pair.sigma / h).powi(2) as f32,
            shift: (pair.force_shift / (48.0 * pair.epsilon / pair.sigma)) as f32,
            damping: (damping / force / sigma2) as f32,
            reach: (1.0 / (reach * reach)) as f32,
            period: period.map(|l| (l / h) as f32),
            per_period: period.map(|l| if l > 0.0 { (h / l) as f32 } else { 0.0 }),
            per_sigma2: (1.0 / (sigma2 * h)) as f32,
            force: force as f32,
            epsilon: pair.epsilon as f32,
            energy: (-(pair.energy_shift + pair.cutoff * pair.force_shift) / pair.epsilon) as f32,
            energy_slope: (pair.force_shift * h / pair.epsilon) as f32,
        }
    }

    /// Half of sums of [`energies`], J.
    pub(super) fn halves(&self, energy: f32, virial: f32) -> [f32; 2] {
        // 48ε/σ² f r² in joules: r² is in units of the support, and so is σ².
        [0.5 * self.epsilon * energy, 0.5 * 48.0 * self.epsilon / self.sigma2 * virial]
    }

    /// Friction between particles, and whether the force is shifted.
    pub(super) fn kind(&self) -> (u8, bool) {
        // Farther than the cut-off it does not count, even if rounding has it end a little before.
        let ends_before = self.reach * self.cutoff2 > 1.0001;
        let friction = if self.damping == 0.0 { NONE } else { WHOLE + u8::from(ends_before) };
        (friction, self.shift != 0.0)
    }

    /// Whether space repeats along any axis.
    fn is_periodic(&self) -> bool {
        self.period.iter().any(|l| *l > 0.0)
    }
}

/// What the sums read.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// Places, units of the support, and one at the end that is far from all, whatever the period.
    pub place: &'a [Quad],
    /// Places and velocities, as many; none where there is no friction between particles.
    pub record: &'a [Record],
    /// Numbers of the loops.
    pub constants: &'a Constants,
}

/// The closest and the fastest of some pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Closest {
    /// Greatest (σ/r)².
    pub close: f32,
    /// Greatest rate of approach -ṙ/r, 1/s; only where there is friction between particles.
    pub rate: f32,
}

impl Closest {
    /// Of both.
    pub fn and(self, o: Self) -> Self {
        Closest { close: self.close.max(o.close), rate: self.rate.max(o.rate) }
    }
}

/// Sums of the forces on the particles of a block, over [`Constants::force`].
pub fn forces(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 3]], most: &mut Closest) {
    widest!(forces_in(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 3]], most: &mut Closest));
}

/// As [`forces`], for any lanes.
#[inline(always)]
pub fn forces_in<L: Lanes>(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 3]], most: &mut Closest) {
    let c = seen.constants;
    match (c.damping != 0.0, c.shift != 0.0, c.is_periodic()) {
        (false, false, false) => sums::<L, false, false, false>(seen, rows, first, out, most),
        (false, false, true) => sums::<L, false, false, true>(seen, rows, first, out, most),
        (false, true, false) => sums::<L, false, true, false>(seen, rows, first, out, most),
        (false, true, true) => sums::<L, false, true, true>(seen, rows, first, out, most),
        (true, false, false) => sums::<L, true, false, false>(seen, rows, first, out, most),
        (true, false, true) => sums::<L, true, false, true>(seen, rows, first, out, most),
        (true, true, false) => sums::<L, true, true, false>(seen, rows, first, out, most),
        (true, true, true) => sums::<L, true, true, true>(seen, rows, first, out, most),
    }
}

/// The nearest image of a difference along one axis. Adding and subtracting 1.5·2²³ rounds to whole numbers.
#[inline(always)]
fn image<L: Lanes>(d: L, period: L, per_period: L) -> L {
    let magic = L::splat(12_582_912.0);
    let turns = d.mul_add(per_period, magic).sub(magic);
    d.sub(turns.mul(period))
}

#[inline(always)]
fn splat3<L: Lanes>(v: &[f32]) -> [L; 3] {
    [L::splat(v[0]), L::splat(v[1]), L::splat(v[2])]
}

#[inline(always)]
pub(super) fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0].mul(b[0])))
}

/// Numbers of the loops in lanes.
#[derive(Clone, Copy)]
pub(super) struct Pairs<L> {
    sigma2: L,
    sigma: L,
    cutoff2: L,
    core2: L,
    less_shift: L,
    half: L,
    pub zero: L,
    /// √(damping), and less that over the square of its reach: √(damping w²) is the one and the other × r².
    root: L,
    root_slope: L,
}

/// No friction between particles; friction that reaches as far as the force; and friction that ends before.
pub(super) const NONE: u8 = 0;
pub(super) const WHOLE: u8 = 1;
pub(super) const SHORT: u8 = 2;

/// What some pairs do.
pub(super) struct Pushed<L> {
    /// Force over [`Constants::force`] and the distance: times the way to the other it is the push of that.
    pub force: L,
    /// (σ/r)².
    pub s2: L,
    /// Rate at which they part, over [`Constants::per_sigma2`]; 0 where there is no friction between particles.
    pub rate: L,
}

impl<L: Lanes> Pairs<L> {
    #[inline(always)]
    pub fn new(c: &Constants) -> Self {
        Pairs {
            sigma2: L::splat(c.sigma2),
            sigma: L::splat(c.sigma2.sqrt()),
            cutoff2: L::splat(c.cutoff2),
            core2: L::splat(c.core2),
            less_shift: L::splat(-c.shift),
            half: L::splat(0.5),
            zero: L::splat(0.0),
            root: L::splat(c.damping.sqrt()),
            root_slope: L::splat(-c.damping.sqrt() * c.reach),
        }
    }

    /// What pairs do whose square of the distance is `r2`, and which part: `parting` is the way times the velocity from the one to
    /// the other.
    #[inline(always)]
    pub fn push<const FRICTION: u8, const SHIFTED: bool>(&self, r2: L, parting: L) -> Pushed<L> {
        let r2 = r2.max(self.core2);
        let (s, s2) = if L::QUICK_ROOT {
            let s = self.sigma.mul(r2.inverse_sqrt());
            (s, s.mul(s))
        } else {
            let s2 = self.sigma2.div(r2);
            (if SHIFTED { s2.sqrt() } else { self.zero }, s2)
        };
        let s4 = s2.mul(s2);
        // Eq. 3 without its factor 48ε/σ²: (σ/r)¹⁴ - ½(σ/r)⁸.
        let mut force = s4.mul(s4).mul(s4.mul(s2).sub(self.half));
        if SHIFTED {
            force = self.less_shift.mul_add(s, force);
        }
        let mut rate = self.zero;
        if FRICTION != NONE {
            rate = parting.mul(s2);
            let mut w = self.root_slope.mul_add(r2, self.root);
            if FRICTION == SHORT {
                w = w.max(self.zero);
            }
            force = w.mul(w).neg_mul_add(rate, force);
        }
        Pushed { force: force.where_below(r2, self.cutoff2), s2, rate }
    }
}

impl Closest {
    /// Takes in the closest and the least rate of some lanes, as [`Pushed`] tells them.
    #[inline(always)]
    pub(super) fn take_in<L: Lanes>(&mut self, close: L, rate: L, c: &Constants) {
        let mut lanes = [[0.0f32; 16]; 2];
        // SAFETY: there are at most sixteen lanes.
        unsafe {
            close.store(lanes[0].as_mut_ptr());
            rate.store(lanes[1].as_mut_ptr());
        }
        let [close, rate] = &lanes;
        for (close, rate) in close.iter().zip(rate).take(L::N) {
            self.close = if *close > self.close { *close } else { self.close };
            let rate = -rate * c.per_sigma2;
            self.rate = if rate > self.rate { rate } else { self.rate };
        }
    }
}

#[inline(always)]
fn sums<L: Lanes, const DAMPED: bool, const SHIFTED: bool, const PERIODIC: bool>(
    seen: &Seen,
    rows: &Rows,
    first: usize,
    out: &mut [[f32; 3]],
    most: &mut Closest,
) {
    let c = seen.constants;
    let pairs = Pairs::<L>::new(c);
    let zero = pairs.zero;
    let (period, per_period) = (splat3::<L>(&c.period), splat3::<L>(&c.per_period));
    let (mut close, mut rate) = (zero, zero);
    let mut begin = 0;
    for (k, out) in out.iter_mut().enumerate() {
        let end = rows.end[k] as usize;
        let p = splat3::<L>(&seen.place[first + k]);
        let v = if DAMPED { splat3::<L>(&seen.record[first + k].0[4..]) } else { [zero; 3] };
        let mut sum = [zero; 3];
        for at in (begin..end).step_by(L::N) {
            // SAFETY: rows are made of full vectors of numbers of places, the far one included.
            let [x, y, z, far, vx, vy, vz, _] = unsafe {
                let index = rows.index.as_ptr().add(at);
                if DAMPED {
                    L::gather8(seen.record.as_ptr().cast(), index)
                } else {
                    let [x, y, z, far] = L::gather4(seen.place.as_ptr(), index);
                    [x, y, z, far, zero, zero, zero, zero]
                }
            };
            let mut d = [x.sub(p[0]), y.sub(p[1]), z.sub(p[2])];
            if PERIODIC {
                d = [
                    image(d[0], period[0], per_period[0]),
                    image(d[1], period[1], per_period[1]),
                    image(d[2], period[2], per_period[2]),
                ];
            }
            let parting = if DAMPED { dot(d, [vx.sub(v[0]), vy.sub(v[1]), vz.sub(v[2])]) } else { zero };
            let r2 = dot(d, d).add(far);
            let pushed = if DAMPED {
                pairs.push::<SHORT, SHIFTED>(r2, parting)
            } else {
                pairs.push::<NONE, SHIFTED>(r2, parting)
            };
            for a in 0..3 {
                sum[a] = pushed.force.neg_mul_add(d[a], sum[a]);
            }
            close = close.max(pushed.s2);
            rate = rate.min(pushed.rate);
        }
        *out = [sum[0].sum(), sum[1].sum(), sum[2].sum()];
        begin = end;
    }
    most.take_in(close, rate, c);
}

/// Potential energy (J, half of each pair's) and virial Σ f·r (J, half of each pair's) of the particles of a block.
pub fn measures(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]) {
    widest!(measures_in(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]));
}

/// As [`measures`], for any lanes. Friction between particles is left out.
#[inline(always)]
pub fn measures_in<L: Lanes>(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]) {
    let c = seen.constants;
    let (period, per_period) = (splat3::<L>(&c.period), splat3::<L>(&c.per_period));
    let mut begin = 0;
    for (k, out) in out.iter_mut().enumerate() {
        let end = rows.end[k] as usize;
        let p = splat3::<L>(&seen.place[first + k]);
        let (mut energy, mut virial) = (L::splat(0.0), L::splat(0.0));
        for at in (begin..end).step_by(L::N) {
            // SAFETY: as in `sums`.
            let [x, y, z, far] = unsafe { L::gather4(seen.place.as_ptr(), rows.index.as_ptr().add(at)) };
            let d = [
                image(p[0].sub(x), period[0], per_period[0]),
                image(p[1].sub(y), period[1], per_period[1]),
                image(p[2].sub(z), period[2], per_period[2]),
            ];
            let [u, f] = energies::<L>(c, dot(d, d).add(far));
            energy = energy.add(u);
            virial = virial.add(f);
        }
        *out = c.halves(energy.sum(), virial.sum());
        begin = end;
    }
}

/// Energies of pairs, ε, and f·r, 48ε/σ², by the squares of their distances.
#[inline(always)]
pub(super) fn energies<L: Lanes>(c: &Constants, r2: L) -> [L; 2] {
    let cutoff2 = L::splat(c.cutoff2);
    let r2 = r2.max(L::splat(c.core2));
    let s2 = L::splat(c.sigma2).div(r2);
    let s6 = s2.mul(s2).mul(s2);
    let f = s6.mul(s2).mul(s6.sub(L::splat(0.5))).sub(L::splat(c.shift).mul(s2.sqrt()));
    let pair = L::splat(4.0).mul(s6).mul(s6.sub(L::splat(1.0)));
    let u = pair.add(L::splat(c.energy_slope).mul_add(r2.sqrt(), L::splat(c.energy)));
    [u.where_below(r2, cutoff2), f.mul(r2).where_below(r2, cutoff2)]
}
