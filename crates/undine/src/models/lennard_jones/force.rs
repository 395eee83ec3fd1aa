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
fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0].mul(b[0])))
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
    let (sigma2, cutoff2, core2) = (L::splat(c.sigma2), L::splat(c.cutoff2), L::splat(c.core2));
    let sigma = L::splat(c.sigma2.sqrt());
    let (shift, half, one, zero) = (L::splat(c.shift), L::splat(0.5), L::splat(1.0), L::splat(0.0));
    let (damping, reach) = (L::splat(c.damping), L::splat(c.reach));
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
            let mut d = [p[0].sub(x), p[1].sub(y), p[2].sub(z)];
            if PERIODIC {
                d = [
                    image(d[0], period[0], per_period[0]),
                    image(d[1], period[1], per_period[1]),
                    image(d[2], period[2], per_period[2]),
                ];
            }
            let r2 = dot(d, d).add(far).max(core2);
            let (s, s2) = if L::QUICK_ROOT {
                let s = sigma.mul(r2.inverse_sqrt());
                (s, s.mul(s))
            } else {
                let s2 = sigma2.div(r2);
                (if SHIFTED { s2.sqrt() } else { zero }, s2)
            };
            let s6 = s2.mul(s2).mul(s2);
            // Eq. 3 without its factor 48ε/σ²: (σ/r)¹⁴ - ½(σ/r)⁸.
            let mut f = s6.mul(s2).mul(s6.sub(half));
            if SHIFTED {
                f = f.sub(shift.mul(s));
            }
            if DAMPED {
                let away = dot([v[0].sub(vx), v[1].sub(vy), v[2].sub(vz)], d).mul(s2);
                let w = one.sub(r2.mul(reach)).max(zero);
                f = f.sub(damping.mul(w).mul(w).mul(away));
                rate = rate.max(zero.sub(away));
            }
            let f = f.where_below(r2, cutoff2);
            for a in 0..3 {
                sum[a] = f.mul_add(d[a], sum[a]);
            }
            close = close.max(s2);
        }
        *out = [sum[0].sum(), sum[1].sum(), sum[2].sum()];
        begin = end;
    }
    let mut lanes = [[0.0f32; 16]; 2];
    // SAFETY: there are at most sixteen lanes.
    unsafe {
        close.store(lanes[0].as_mut_ptr());
        rate.store(lanes[1].as_mut_ptr());
    }
    let [close, rate] = &lanes;
    for (close, rate) in close.iter().zip(rate).take(L::N) {
        most.close = if *close > most.close { *close } else { most.close };
        let rate = rate * c.per_sigma2;
        most.rate = if rate > most.rate { rate } else { most.rate };
    }
}

/// Potential energy (J, half of each pair's) and virial Σ f·r (J, half of each pair's) of the particles of a block.
pub fn measures(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]) {
    widest!(measures_in(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]));
}

/// As [`measures`], for any lanes. Friction between particles is left out.
#[inline(always)]
pub fn measures_in<L: Lanes>(seen: &Seen, rows: &Rows, first: usize, out: &mut [[f32; 2]]) {
    let c = seen.constants;
    let (sigma2, cutoff2, core2) = (L::splat(c.sigma2), L::splat(c.cutoff2), L::splat(c.core2));
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
            let r2 = dot(d, d).add(far).max(core2);
            let s2 = sigma2.div(r2);
            let s6 = s2.mul(s2).mul(s2);
            let f = s6.mul(s2).mul(s6.sub(L::splat(0.5))).sub(L::splat(c.shift).mul(s2.sqrt()));
            virial = virial.add(f.mul(r2).where_below(r2, cutoff2));
            let pair = L::splat(4.0).mul(s6).mul(s6.sub(L::splat(1.0)));
            let u = pair.add(L::splat(c.energy_slope).mul_add(r2.sqrt(), L::splat(c.energy)));
            energy = energy.add(u.where_below(r2, cutoff2));
        }
        // 48ε/σ² f r² in joules: r² is in units of the support, and so is σ².
        *out = [0.5 * c.epsilon * energy.sum(), 0.5 * 48.0 * c.epsilon / c.sigma2 * virial.sum()];
        begin = end;
    }
}
