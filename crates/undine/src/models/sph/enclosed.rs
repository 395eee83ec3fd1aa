//! Fluid that fills a closed space: between plates, in a pipe, around the grains of a filter. It has no free surface.
//!
//! Sheared for long, its particles get disordered. Disordered fluid has a higher summed density at the same volume, so it
//! comes under pressure, and a disordered packing under pressure resists shear: flow through an array of cylinders fell from
//! 1.06 of the published one to 0.98 or 0.92, the more the stiffer the fluid. Where no surface can be torn, four things
//! cure this, as is usual in confined flow (Adami, Hu & Adams 2013):
//! - particles are shifted towards an even packing in every step, as in the packing of the starting fluid;
//! - the mean density is that of the places of the particles, so that pressure stays around zero;
//! - pressure may be negative: shifted particles do not clump;
//! - viscosity is divided by what Morris' Laplacian is in the packing as it is, about 0.97 of that of the cubic lattice.

use rayon::prelude::*;

use super::Sph;
use super::continuity::{Totals, gradient_of, sum_term};
use super::force::Forces;
use super::work::VOLUME;
use crate::kernels::lattice_sum;
use crate::models::{Around, Passes};
use crate::neighbors::Candidates;
use crate::scene::WallKind;
use crate::simd::Portable;

/// Shift per Δ Σ V ∇W in a step, in spacings. At a Reynolds number of 1 and with positive pressure, flow through cylinders was
/// 0.991 of the published one with 0.1, 1.000 with 0.2, 1.002 with 0.4.
const SHIFT: f64 = 0.2;
/// Greatest shift, × the way of the fastest particle in the step.
const MOST: f64 = 0.1;
/// How fast the mean density goes to that of the particles' places, × c/Δ.
const LEVEL: f64 = 0.05;
/// Particles whose packing is measured in a step.
const SAMPLE: usize = 1024;
/// Relative density by fluid alone above which a particle has no wall or surface around it.
const INSIDE: f64 = 0.95;
/// With a larger share of its particles at a surface, fluid is not enclosed. In disorder a few seem to be at one.
const AT_SURFACE: f64 = 0.005;

impl Sph {
    /// Decides from the packed starting fluid whether it is enclosed.
    pub(super) fn enclose(&mut self, around: &Around) {
        if self.params.walls != WallKind::Particles || self.boundary.is_empty() || self.particles.is_empty() {
            return;
        }
        self.sort_and_sum(0.0, around, &mut Passes::default());
        self.params.enclosed = self.has_no_surface();
    }

    fn has_no_surface(&self) -> bool {
        self.totals().at_surface <= (AT_SURFACE * self.particles.len() as f64) as usize
    }

    fn totals(&self) -> Totals {
        self.work.totals.iter().fold(Totals::default(), Totals::and)
    }

    /// It has a surface from now on: something came or went.
    pub(super) fn open(&mut self) {
        if self.params.enclosed {
            self.params.enclosed = false;
            self.params.thinning = 1.0;
            self.forces = Forces::new(&self.params, self.tension);
        }
    }

    /// Moves particles towards an even packing. What does not flow is not moved.
    pub(super) fn shift(&mut self, dt: f64, around: &Around) {
        let way = f64::from(self.extremes.speed2).sqrt() * dt / self.params.spacing;
        self.even_out(around, SHIFT, MOST * way, false);
    }

    /// Brings the mean density to that of the places of the particles, and viscosity to their packing. Densities of the
    /// step must be known.
    pub(super) fn level(&mut self, dt: f64) {
        if !self.has_no_surface() {
            return self.open();
        }
        let Totals { density, sum, .. } = self.totals();
        let share = (LEVEL * dt * self.params.sound() / self.params.spacing).min(1.0);
        let off = ((sum - density) / self.particles.len() as f64 * share) as f32;
        self.particles.density.iter_mut().for_each(|d| *d += off);
        self.work.compression.iter_mut().for_each(|c| *c += off);
        self.params.thinning = self.thinning();
        self.forces = Forces::new(&self.params, self.tension);
    }

    /// Morris' Laplacian of r²/6 in the packing inside the fluid, over that of the cubic lattice at rest.
    fn thinning(&self) -> f64 {
        let (work, grid) = (&self.work, &self.grid);
        let unit = self.params.spacing / self.params.h;
        let lattice = |f: &dyn Fn(f64) -> f64| lattice_sum(1.0, 1.0 / unit, |_, r| f((r * unit).powi(2)));
        let full = lattice(&sum_term);
        let spread = lattice(&|s2| f64::from(gradient_of((1.0 - s2) as f32)) * s2);
        let stride = work.len().div_ceil(SAMPLE).max(1);
        let measured: Vec<Option<f64>> = (0..work.len().div_ceil(stride))
            .into_par_iter()
            .with_min_len(64)
            .map_init(Candidates::default, |candidates, k| {
                let i = k * stride;
                let p = work.at(i);
                grid.candidates_anywhere::<Portable>(p, p, candidates);
                let (mut sum, mut laplacian) = (0.0, 0.0);
                for (shift, chunks) in candidates.groups() {
                    for j in chunks.iter().flat_map(|c| c.range()) {
                        let q = work.at(j);
                        let r2: f32 = (0..3).map(|a| (p[a] + shift[a] - q[a]).powi(2)).sum();
                        if r2 < 1.0 {
                            sum += sum_term(f64::from(r2));
                            laplacian +=
                                f64::from(work.records[j][VOLUME].abs() * gradient_of(1.0 - r2) * r2);
                        }
                    }
                }
                let own = f64::from(work.records[i][VOLUME].abs());
                (sum > INSIDE * full).then_some(own * laplacian / spread)
            })
            .collect();
        let inside = measured.iter().flatten();
        let count = inside.clone().count();
        // Between walls that are so near, nothing is known of the packing.
        if count == 0 { 1.0 } else { (inside.sum::<f64>() / count as f64).clamp(0.8, 1.2) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use glam::DVec3;

    use super::*;
    use crate::checkpoint::{CheckpointReader, CheckpointWriter};
    use crate::fields::Fields;
    use crate::models::springs::Solids;
    use crate::models::{Birth, Solver};
    use crate::scene::Scene;
    use crate::walls::Walls;
    use crate::world::World;

    /// Fluid between plates 10 spacings apart, `deep` of them filled, pulled along.
    fn between_plates(deep: usize) -> String {
        format!(
            r#"
            gravity = [0.05, 0, 0]
            time = {{ duration = 0.1, frame_rate = 100 }}
            domain = {{ min = [0, -3e-4, 0], max = [5e-4, 1.3e-3, 5e-4], periodic = [true, false, true] }}
            model = {{ spacing = 1e-4 }}
            [[fluid]]
            viscosity = 1e-3
            surface_tension = 0
            shape = {{ box = {{ min = [0, 0, 0], max = [5e-4, {}e-4, 5e-4] }} }}
            [[boundary]]
            slip = "no-slip"
            shape = {{ box = {{ min = [0, -3e-4, 0], max = [5e-4, 0, 5e-4] }} }}
            [[boundary]]
            slip = "no-slip"
            shape = {{ box = {{ min = [0, 1e-3, 0], max = [5e-4, 1.3e-3, 5e-4] }} }}
            "#,
            deep
        )
    }

    fn settled(deep: usize) -> Sph {
        let scene = Scene::parse(&between_plates(deep), "test", Path::new("."), &[]).unwrap().scene;
        let (walls, fields, solids) = (Walls::new(&scene), Fields::new(&scene), Solids::new(&scene));
        let mut sph = Sph::new(&scene).unwrap();
        let births: Vec<Birth> = (0..25 * deep)
            .map(|i| {
                let at = DVec3::new((i % 5) as f64, (i / 25) as f64, (i / 5 % 5) as f64);
                Birth { position: (at + 0.5) * 1e-4, velocity: DVec3::ZERO, fluid: 0 }
            })
            .collect();
        sph.insert(&births);
        let around = Around { time: 0.0, walls: &walls, fields: &fields, solids: &solids };
        sph.settle(&around);
        sph.refresh(&around, &mut Passes::default());
        sph
    }

    #[test]
    fn fluid_that_fills_a_channel_is_enclosed_and_a_film_is_not() {
        assert!(settled(10).params.enclosed);
        assert!(!settled(6).params.enclosed);
    }

    #[test]
    fn the_lattice_at_rest_is_as_thick_as_it_should_be() {
        let thinning = settled(10).params.thinning;
        assert!((thinning - 1.0).abs() < 1e-3, "{thinning}");
    }

    #[test]
    fn enclosed_fluid_has_a_surface_when_some_of_it_is_gone() {
        let mut sph = settled(10);
        sph.params.thinning = 0.9;
        assert_eq!(sph.remove(&|_| false), 0);
        assert!(sph.params.enclosed);
        sph.remove(&|p| p.y > 9e-4);
        assert!(!sph.params.enclosed && sph.params.thinning == 1.0);
        assert_eq!(sph.forces.least, 0.0);
    }

    #[test]
    fn enclosed_flow_goes_on_the_same_from_a_checkpoint_and_on_one_thread() {
        let run = |threads: usize, stop: bool| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let scene = || Scene::parse(&between_plates(10), "test", Path::new("."), &[]).unwrap().scene;
                let mut world = World::new(scene()).unwrap();
                for step in 0..40 {
                    if stop && step == 25 {
                        let mut out = CheckpointWriter::in_memory();
                        world.save(&mut out).unwrap();
                        let mut from = CheckpointReader::from_bytes(out.finish_bytes().unwrap()).unwrap();
                        world = World::new(scene()).unwrap();
                        world.load(&mut from).unwrap();
                    }
                    world.step().unwrap();
                }
                let frame = world.frame();
                (frame.particles.position.clone(), frame.particles.vector("velocity").unwrap().to_vec())
            })
        };
        let unbroken = run(2, false);
        assert!(unbroken.1.iter().any(|v| v[0] > 0.0));
        assert_eq!(unbroken, run(1, false));
        assert_eq!(unbroken, run(2, true));
    }
}
