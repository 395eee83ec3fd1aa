//! Force pass: pressure, viscosity, tension and outside forces give the acceleration, and the second half-kick
//! of the leap-frog follows at once.
//!
//! Neighbours are first gathered into a short packed list (only one candidate in four is within h), then taken
//! eight at a time: each is one 32-byte record, transposed while loading. Computing on whole candidate vectors
//! with masks instead took 1.5× as long.

use std::f64::consts::PI;

use glam::DVec3;
use rayon::prelude::*;

use super::density::{images, load, square_distance};
use super::params::{COHESION_ZERO, Params};
use super::wall_kernels::{WallAction, WallKernels};
use super::work::{PRESSURE, Record, VOLUME, Work};
use crate::models::Around;
use crate::neighbors::{BUNCH, Candidates, Grid};
use crate::scene::TensionKind;
use crate::simd::{Lanes, Portable};
use crate::state::particles::{BLOCK, Particles};

/// No tension term.
const NONE: u8 = 0;
/// Pair cohesion.
const COHESION: u8 = 1;
/// Müller's colour field.
const COLOR: u8 = 2;

/// Constants of the pass; see [`Forces::new`] for their formulas.
#[derive(Clone, Debug)]
pub struct Forces {
    tension: u8,
    /// Per fluid.
    fluids: Vec<FluidConstants>,
    /// ½ (Δ/h) of the artificial viscosity.
    half_ratio: f32,
    /// 45/π Δ⁶/h⁴: pressure force per (½(p_i+p_j))·V_i V_j·(1-s)² (volumes in Δ³), N/Pa.
    pressure: f32,
    /// 45/π Δ⁶/h⁵: viscous force per μ·V_i V_j·(1-s)·(v_j-v_i).
    viscosity: f32,
    /// 945/32π Δ³/h⁴ and /h⁵: gradient and Laplacian of the colour field.
    color_gradient: f32,
    color_laplacian: f32,
    /// Below this |n|·h a particle is not at the surface (eq. 23).
    color_threshold: f32,
    spacing3: f64,
}

#[derive(Clone, Copy, Debug)]
struct FluidConstants {
    per_mass: f32,
    viscosity: f32,
    /// α ρ c, the artificial impedance, Pa s/m.
    impedance: f32,
    /// Amplitude of the pair force, N.
    cohesion: f32,
    /// σ, N/m.
    tension: f32,
}

/// The greatest speed and acceleration of a step, squared, with the particle that has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extremes {
    /// Greatest |v|², m²/s²; not a number or infinite when the state is broken.
    pub speed2: f32,
    /// Greatest |a|², m²/s⁴.
    pub acceleration2: f32,
    /// Who has the greatest speed.
    pub fastest: usize,
}

impl Extremes {
    fn merge(self, o: Self) -> Self {
        // NaN must win, so "not smaller" rather than "greater".
        let first = !(o.speed2.is_nan() || o.speed2 > self.speed2);
        Extremes {
            speed2: if first { self.speed2 } else { o.speed2 },
            fastest: if first { self.fastest } else { o.fastest },
            acceleration2: if o.acceleration2 > self.acceleration2 {
                o.acceleration2
            } else {
                self.acceleration2
            },
        }
    }
}

impl Forces {
    /// Constants for these parameters.
    pub fn new(p: &Params, tension: TensionKind) -> Self {
        let (d, h) = (p.spacing, p.h);
        let any = p.fluids.iter().any(|f| f.tension > 0.0);
        Forces {
            tension: match tension {
                _ if !any => NONE,
                TensionKind::Cohesion => COHESION,
                TensionKind::ColorField => COLOR,
            },
            fluids: p
                .fluids
                .iter()
                .map(|f| FluidConstants {
                    per_mass: (1.0 / f.mass) as f32,
                    viscosity: f.viscosity as f32,
                    impedance: (p.alpha * f.density * f.sound()) as f32,
                    cohesion: p.cohesion(f.tension) as f32,
                    tension: f.tension as f32,
                })
                .collect(),
            half_ratio: (0.5 * d / h) as f32,
            pressure: (45.0 / PI * d.powi(6) / h.powi(4)) as f32,
            viscosity: (45.0 / PI * d.powi(6) / h.powi(5)) as f32,
            color_gradient: (945.0 / (32.0 * PI) * d.powi(3) / h.powi(4)) as f32,
            color_laplacian: (945.0 / (32.0 * PI) * d.powi(3) / h.powi(5)) as f32,
            color_threshold: 0.2 / h as f32,
            spacing3: d.powi(3),
        }
    }

    /// Computes all accelerations and kicks velocities by `half` a step, s.
    pub fn apply(
        &self,
        work: &Work,
        grid: &Grid,
        particles: &mut Particles,
        around: &Around,
        walls: &WallKernels,
        half: f32,
    ) -> Extremes {
        let Particles { x, y, z, velocity, acceleration, fluid, .. } = particles;
        let (x, y, z, fluid) = (&x[..], &y[..], &z[..], &fluid[..]);
        (velocity.par_chunks_mut(BLOCK), acceleration.par_chunks_mut(BLOCK))
            .into_par_iter()
            .enumerate()
            .map(|(block, (velocity, acceleration))| {
                let first = block * BLOCK;
                self.pairs(work, grid, fluid, first, acceleration);
                let only_gravity = around.fields.only_gravity();
                let mut most = Extremes { fastest: first, ..Default::default() };
                for (k, a) in acceleration.iter_mut().enumerate() {
                    let i = first + k;
                    let p = DVec3::new(x[i], y[i], z[i]);
                    let v = glam::Vec3::from(velocity[k]).as_dvec3();
                    if around.walls.is_near(p) {
                        let extra = self.wall(&work.records[i], fluid[i], &walls.action(around.walls, p, v));
                        *a = std::array::from_fn(|c| a[c] + extra[c]);
                    }
                    let g =
                        if only_gravity { around.fields.gravity } else { around.fields.acceleration(p, v) };
                    *a = [a[0] + g.x as f32, a[1] + g.y as f32, a[2] + g.z as f32];
                    let v = &mut velocity[k];
                    *v = std::array::from_fn(|c| v[c] + half * a[c]);
                    let square = |u: &[f32; 3]| u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
                    most = most.merge(Extremes { speed2: square(v), acceleration2: square(a), fastest: i });
                }
                most
            })
            .reduce(Extremes::default, Extremes::merge)
    }

    /// Acceleration that walls give to a particle.
    fn wall(&self, r: &Record, fluid: u8, act: &WallAction) -> [f32; 3] {
        let f = &self.fluids[fluid as usize];
        let volume = f64::from(r[VOLUME]) * self.spacing3;
        // The wall answers with the particle's own pressure (its layers are an extension of the fluid).
        let force = act.gradient * (volume * f64::from(r[PRESSURE].max(0.0)))
            + act.approach * (volume * f64::from(self.half_ratio * 2.0 * f.impedance))
            + act.drag * (volume * f64::from(f.viscosity))
            + act.cohesion * f64::from(f.cohesion);
        (force * f64::from(f.per_mass)).as_vec3().to_array()
    }

    /// Accelerations from neighbours of the particles from `first` on; chooses instruction set and variant.
    pub fn pairs(&self, work: &Work, grid: &Grid, fluid: &[u8], first: usize, out: &mut [[f32; 3]]) {
        #[cfg(target_arch = "x86_64")]
        if crate::simd::avx2_available() {
            // SAFETY: AVX2 and FMA are available.
            unsafe { self.pairs_avx2(work, grid, fluid, first, out) };
            return;
        }
        self.pairs_with::<Portable>(work, grid, fluid, first, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
    fn pairs_avx2(&self, work: &Work, grid: &Grid, fluid: &[u8], first: usize, out: &mut [[f32; 3]]) {
        self.pairs_with::<crate::simd::Avx2>(work, grid, fluid, first, out);
    }

    /// As [`Forces::pairs`], for given lanes.
    #[inline(always)]
    pub fn pairs_with<L: Lanes>(
        &self,
        work: &Work,
        grid: &Grid,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
    ) {
        match (self.fluids.len() > 1, self.tension) {
            (false, NONE) => self.pairs_in::<L, false, NONE>(work, grid, fluid, first, out),
            (false, COHESION) => self.pairs_in::<L, false, COHESION>(work, grid, fluid, first, out),
            (false, _) => self.pairs_in::<L, false, COLOR>(work, grid, fluid, first, out),
            (true, NONE) => self.pairs_in::<L, true, NONE>(work, grid, fluid, first, out),
            (true, COHESION) => self.pairs_in::<L, true, COHESION>(work, grid, fluid, first, out),
            (true, _) => self.pairs_in::<L, true, COLOR>(work, grid, fluid, first, out),
        }
    }

    #[inline(always)]
    fn pairs_in<L: Lanes, const MULTI: bool, const TENSION: u8>(
        &self,
        work: &Work,
        grid: &Grid,
        fluid: &[u8],
        first: usize,
        out: &mut [[f32; 3]],
    ) {
        let mut lists = [List::new(), List::new(), List::new(), List::new()];
        let mut candidates = Candidates::default();
        let (mut i, end) = (first, first + out.len());
        while i < end {
            let (n, points) = work.bunch(grid, i, end, &mut candidates);
            let mut sums = [
                Sums::<L>::new(self, fluid, work, i),
                Sums::<L>::new(self, fluid, work, i + 1.min(n - 1)),
                Sums::<L>::new(self, fluid, work, i + 2.min(n - 1)),
                Sums::<L>::new(self, fluid, work, i + 3.min(n - 1)),
            ];
            for (shift, chunks) in candidates.groups() {
                let q = images::<L>(&points, shift);
                for chunks in chunks.chunks(List::CHUNKS) {
                    for c in chunks {
                        // SAFETY: candidates are below n.
                        let at = unsafe { load::<L>(work, c.first) };
                        let keep = KEEP[c.count.min(8) as usize];
                        for b in 0..BUNCH {
                            let near = square_distance(q[b], at).below(L::splat(1.0)) & keep;
                            // SAFETY: a list has room for eight from each of so many chunks.
                            unsafe { lists[b].push::<L>(near, c.first) };
                        }
                    }
                    for b in 0..n {
                        sums[b].add::<MULTI, TENSION>(&mut lists[b], points[b], shift);
                    }
                }
            }
            for b in 0..n {
                out[i - first + b] = sums[b].acceleration::<TENSION>();
            }
            for list in &mut lists {
                list.len = 0;
            }
            i += n;
        }
    }
}

/// The first n of eight bits.
static KEEP: [u32; 9] = [0, 1, 3, 7, 15, 31, 63, 127, 255];

/// Packed neighbour numbers of one particle, worked off before it can overflow.
struct List {
    index: [u32; 8 * List::CHUNKS + 16],
    len: usize,
}

impl List {
    /// Chunks after which the list is worked off.
    const CHUNKS: usize = 64;

    fn new() -> Self {
        List { index: [0; 8 * List::CHUNKS + 16], len: 0 }
    }

    /// Adds `first` + each set bit of `near`.
    ///
    /// # Safety
    /// At most `CHUNKS` calls between two workings-off.
    #[inline(always)]
    unsafe fn push<L: Lanes>(&mut self, near: u32, first: u32) {
        debug_assert!(self.len + 8 <= self.index.len());
        // SAFETY: each call so far added at most eight.
        unsafe { L::store_set_bits(near, first, self.index.as_mut_ptr().add(self.len)) };
        self.len += near.count_ones() as usize;
    }
}

/// Running sums of one particle.
struct Sums<'a, L> {
    c: &'a Forces,
    own: FluidConstants,
    own_fluid: u8,
    fluid: &'a [u8],
    work: &'a Work,
    i: usize,
    record: Record,
    /// Force, N.
    force: [L; 3],
    /// Σ V ∇W_poly6 and Σ V ∇²W_poly6, without their factors.
    color: [L; 4],
    fillers: usize,
}

impl<'a, L: Lanes> Sums<'a, L> {
    #[inline(always)]
    fn new(c: &'a Forces, fluid: &'a [u8], work: &'a Work, i: usize) -> Self {
        let zero = L::splat(0.0);
        Sums {
            c,
            own: c.fluids[fluid[i] as usize],
            own_fluid: fluid[i],
            fluid,
            work,
            i,
            record: work.records[i],
            force: [zero; 3],
            color: [zero; 4],
            fillers: 0,
        }
    }

    /// Adds all listed neighbours and empties the list. The last vector is filled up with the particle itself,
    /// which adds nothing: all terms vanish with the distance, or beyond the support. Only the Laplacian of the
    /// colour field does not; `fillers` counts what to take off it again.
    ///
    /// Every product of the two particles' values is formed so that i and j get the exact same number: pair
    /// forces cancel to the last bit, and momentum is kept to the rounding of the sums.
    #[inline(always)]
    fn add<const MULTI: bool, const TENSION: u8>(&mut self, list: &mut List, p: [f32; 3], shift: [f32; 3]) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let c = self.c;
        let r = self.record;
        // SAFETY: the list keeps room for one more vector.
        unsafe {
            list.index.as_mut_ptr().add(list.len).cast::<[u32; 8]>().write_unaligned([self.i as u32; 8])
        };
        let q = [L::splat(p[0] + shift[0]), L::splat(p[1] + shift[1]), L::splat(p[2] + shift[2])];
        let (own_p, own_volume) = (L::splat(r[PRESSURE]), L::splat(r[VOLUME]));
        let own_v = [L::splat(r[4]), L::splat(r[5]), L::splat(r[6])];
        let half_pressure = L::splat(0.5 * c.pressure);
        let own = (
            L::splat(self.own.viscosity * c.viscosity),
            L::splat(self.own.impedance * c.half_ratio * c.pressure),
            L::splat(self.own.cohesion),
        );
        let mut at = 0;
        while at < list.len {
            // SAFETY: indices in the list are below n; the vector past the end is filled with i.
            let [x, y, z, p_j, vx, vy, vz, volume] =
                unsafe { L::gather8(self.work.records.as_ptr(), list.index.as_ptr().add(at)) };
            let d = [q[0].sub(x), q[1].sub(y), q[2].sub(z)];
            let r2 = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0].mul(d[0])));
            let dist = r2.sqrt();
            let inverse = one.div(dist.max(L::splat(1e-4)));
            let t = one.sub(dist).max(zero);
            let volumes = own_volume.mul(volume);
            let dv = [vx.sub(own_v[0]), vy.sub(own_v[1]), vz.sub(own_v[2])];
            // (v_j - v_i)·(x_i - x_j)/r: positive when they approach.
            let approach = dv[2].mul_add(d[2], dv[1].mul_add(d[1], dv[0].mul(d[0]))).mul(inverse).max(zero);
            let (mu, impedance, pull) = if MULTI { self.mixed(&list.index, at) } else { own };
            // Pressure, eq. 10 with the spiky kernel, as the mean of both pressures, plus Monaghan's 1992
            // artificial viscosity as a pressure α ρ c (Δ/r) v_approach.
            let mut radial =
                inverse.mul(approach).mul_add(impedance, p_j.add(own_p).mul(half_pressure)).mul(volumes);
            if TENSION == COHESION {
                // Pair force A (1-s)²(s-s0), pulling where s > s0.
                radial = pull.mul_add(L::splat(COHESION_ZERO as f32).sub(dist), radial);
            }
            let radial = radial.mul(t.mul(t)).mul(inverse);
            // Viscosity, eq. 14.
            let shear = volumes.mul(t).mul(mu);
            for a in 0..3 {
                self.force[a] = dv[a].mul_add(shear, d[a].mul_add(radial, self.force[a]));
            }
            if TENSION == COLOR {
                // ∇W_poly6 and ∇²W_poly6 (eq. 16, 17) without their factors.
                let w = one.sub(r2).max(zero);
                let g = volume.mul(w).mul(w);
                for a in 0..3 {
                    self.color[a] = d[a].mul_add(g, self.color[a]);
                }
                self.color[3] =
                    volume.mul(w).mul_add(L::splat(3.0).sub(r2.mul(L::splat(7.0))), self.color[3]);
            }
            at += 8;
        }
        if shift == [0.0; 3] {
            self.fillers += at - list.len;
        }
        list.len = 0;
    }

    /// Means over both fluids of viscosity, impedance and cohesion, with their factors. Different fluids do not cohere.
    #[inline(always)]
    fn mixed(&self, index: &[u32], at: usize) -> (L, L, L) {
        let (mut mu, mut impedance, mut pull) = ([0.0f32; 8], [0.0f32; 8], [0.0f32; 8]);
        for (k, &j) in index[at..at + 8].iter().enumerate() {
            let other = self.fluid[j as usize];
            let o = &self.c.fluids[other as usize];
            mu[k] = 0.5 * (self.own.viscosity + o.viscosity) * self.c.viscosity;
            impedance[k] = 0.5 * (self.own.impedance + o.impedance) * (self.c.half_ratio * self.c.pressure);
            pull[k] = if other == self.own_fluid { o.cohesion } else { 0.0 };
        }
        // SAFETY: three arrays of eight.
        unsafe { (L::load(mu.as_ptr()), L::load(impedance.as_ptr()), L::load(pull.as_ptr())) }
    }

    #[inline(always)]
    fn acceleration<const TENSION: u8>(&self) -> [f32; 3] {
        let mut f = [self.force[0].sum(), self.force[1].sum(), self.force[2].sum()];
        if TENSION == COLOR {
            // -σ ∇²c n/|n| V (eq. 19), where |n| says that this is a surface.
            let n = [self.color[0].sum(), self.color[1].sum(), self.color[2].sum()]
                .map(|v| -self.c.color_gradient * v);
            let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
            if length > self.c.color_threshold {
                let filled = 3.0 * self.fillers as f32 * self.record[VOLUME];
                let laplacian = -self.c.color_laplacian * (self.color[3].sum() - filled);
                let scale =
                    -self.own.tension * laplacian / length * self.record[VOLUME] * self.c.spacing3 as f32;
                f = std::array::from_fn(|a| n[a].mul_add(scale, f[a]));
            }
        }
        f.map(|v| v * self.own.per_mass)
    }
}
