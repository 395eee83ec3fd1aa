//! The passes over boundary particles against the plain equations.

use glam::{DVec3, Vec3};

use super::super::Sph;
use super::super::continuity::{Continuity, Rates, WALLS};
use super::super::outlook::{Look, Scope};
use super::super::params::Params;
use super::super::work::{PRESSURE, VOLUME};
use super::pairs::NEAR;
use super::set::Set;
use crate::fields::Fields;
use crate::kernels::{Cored, Kernel, Poly6, Wide};
use crate::models::springs::Solids;
use crate::models::{Around, Birth, Passes, Solver};
use crate::scene::{Motion, Scene};
use crate::walls::Walls;

/// Disordered fluid that moves every which way around a ball and over a floor that slides, in a box that repeats along x
/// and z, or not; and a soft ball in it.
fn scene(walls: &str, repeats: bool) -> Scene {
    let text = format!(
        r#"
        gravity = [1, -9.81, 0.5]
        [domain]
        min = [0, 0, 0]
        max = [1, 2, 0.5]
        periodic = [{repeats}, false, {repeats}]
        [model]
        spacing = 0.05
        walls = "{walls}"
        viscous_step = "explicit"
        [[fluid]]
        viscosity = 2.0
        surface_tension = 0
        shape = {{ box = {{ min = [0, 0, 0], max = [1, 0.5, 0.5] }} }}
        [[fluid]]
        name = "oil"
        density = 600
        viscosity = 5.0
        surface_tension = 0
        shape = {{ box = {{ min = [0, 0.5, 0], max = [1, 1, 0.5] }} }}
        [[boundary]]
        slip = "no-slip"
        shape = {{ sphere = {{ center = [0.1, 0.4, 0.2], radius = 0.15 }} }}
        [[boundary]]
        slip = "no-slip"
        motion = {{ translate = {{ velocity = [0.7, 0, 0] }} }}
        shape = {{ box = {{ min = [0, -0.2, 0], max = [1, 0, 0.5] }} }}
        [[solid]]
        shape = {{ sphere = {{ center = [0.6, 0.5, 0.25], radius = 0.1 }} }}
        velocity = [0, -1, 0.4]
        "#
    );
    Scene::parse(&text, "test", std::path::Path::new("."), &[]).unwrap().scene
}

struct Lab {
    scene: Scene,
    walls: Walls,
    fields: Fields,
    solids: Solids,
    sph: Sph,
}

impl Lab {
    fn new(walls: &str) -> Self {
        Self::with(walls, true)
    }

    fn with(walls: &str, repeats: bool) -> Self {
        Self::of(scene(walls, repeats))
    }

    fn of(scene: Scene) -> Self {
        let mut lab = Lab {
            walls: Walls::new(&scene),
            fields: Fields::new(&scene),
            solids: Solids::new(&scene),
            sph: Sph::new(&scene).unwrap(),
            scene,
        };
        let births: Vec<Birth> = (0..20 * 20 * 10)
            .map(|i| {
                let wobble = |k: usize| ((i * 7919 + k * 104_729) % 1000) as f64 / 1000.0 - 0.5;
                let at = DVec3::new((i % 20) as f64, (i / 20 % 20) as f64, (i / 400) as f64);
                let position = (at + 0.5 + 0.6 * DVec3::new(wobble(1), wobble(2), wobble(3))) * 0.05;
                let velocity = 3.0 * DVec3::new(wobble(4), wobble(5), wobble(6));
                Birth { position, velocity, fluid: usize::from(position.y > 0.5) }
            })
            .collect();
        lab.sph.insert(&births);
        lab.around(|sph, around| sph.refresh(around, &mut Passes::default()));
        lab
    }

    fn around<R>(&mut self, f: impl FnOnce(&mut Sph, &Around) -> R) -> R {
        let around = Around { time: 0.0, walls: &self.walls, fields: &self.fields, solids: &self.solids };
        f(&mut self.sph, &around)
    }

    /// From boundary particle j to fluid particle i by the shortest way, m.
    fn way(&self, set: &Set, i: usize, j: usize) -> DVec3 {
        let p = &self.sph.particles;
        let mut d = DVec3::new(p.x[i], p.y[i], p.z[i])
            - DVec3::new(set.position[0][j], set.position[1][j], set.position[2][j]);
        let domain = self.scene.domain.as_ref().unwrap();
        for a in (0..3).filter(|a| domain.periodic[*a]) {
            let length = domain.max[a] - domain.min[a];
            d[a] -= (d[a] / length).round() * length;
        }
        d
    }

    fn sets(&self) -> Vec<&Set> {
        self.sph.boundary.sets().collect()
    }
}

fn velocity(record: &[f32; 8]) -> DVec3 {
    Vec3::new(record[4], record[5], record[6]).as_dvec3()
}

fn close(measured: DVec3, wanted: DVec3, scale: f64) -> bool {
    measured.distance(wanted) <= 2e-4 * scale
}

#[test]
fn rates_are_sums_over_all_boundary_particles() {
    let mut lab = Lab::new("particles");
    lab.around(|sph, around| {
        sph.boundary.pose(around);
        sph.boundary.find(&sph.particles, &sph.work, true, Look::NOW);
    });
    assert_eq!(lab.sets().len(), 3);
    rates_are_right(&lab);
}

#[test]
fn what_is_kept_of_walls_serves_as_what_is_searched() {
    let mut lab = Lab::with("particles", false);
    let (mut kept, mut surveyed) = (0, 0);
    for step in 1..=40 {
        lab.walls.pose(2e-4 * f64::from(step));
        let before = lab.sph.surveys;
        lab.around(|sph, around| sph.step(2e-4, around, &mut Passes::default())).unwrap();
        if lab.sets()[0].fresh {
            continue;
        }
        kept += 1;
        surveyed += usize::from(lab.sph.surveys > before);
        if kept % 3 == 0 {
            means_are_right(&lab);
            what_counts_is_seen(&lab);
            lab.around(|sph, _| sph.boundary.find(&sph.particles, &sph.work, false, Look::NOW));
            rates_are_right(&lab);
        }
    }
    assert!(kept > 5, "searched in all steps but {kept}");
    assert!(surveyed < kept, "surveyed in all of {kept} steps");
}

/// All boundary particles within the support are among those that forces are summed over, and are given pressures.
fn what_counts_is_seen(lab: &Lab) {
    for set in lab.sets() {
        for (i, j) in (0..lab.sph.len()).step_by(3).flat_map(|i| (0..set.len()).map(move |j| (i, j))) {
            if lab.way(set, i, j).length() < 0.999 * lab.sph.params.h {
                assert!(set.seen[i / 512].counts(i % 512, j), "{j} beside {i}");
                assert!(set.awake[j].load(std::sync::atomic::Ordering::Relaxed));
            }
        }
    }
}

/// In steps between surveys too.
#[test]
fn fluid_that_comes_near_a_wall_is_known_to_be() {
    let mut scene = scene("particles", false);
    // A flat floor at rest: beside a ball the plane through a sample tells of more than is near.
    scene.boundaries.remove(0);
    scene.boundaries[0].motion = Motion::default();
    scene.domain.as_mut().unwrap().min.y = -0.2;
    scene.solids.clear();
    let mut lab = Lab::of(scene);
    // Onto it, evenly, so that a survey serves for long.
    lab.sph.particles.velocity.fill([0.5, -5.0, 0.2]);
    lab.sph.stale = true;
    let near = 0.99 * f64::from(NEAR) * lab.sph.params.spacing;
    let (mut between, mut beside) = (0, 0);
    for step in 0..60 {
        let before = lab.sph.surveys;
        lab.around(|sph, around| sph.step(1e-4, around, &mut Passes::default())).unwrap();
        if lab.sph.surveys > before {
            continue;
        }
        between += 1;
        let p = &lab.sph.particles;
        for i in 0..lab.sph.len() {
            let at = DVec3::new(p.x[i], p.y[i], p.z[i]);
            let clearance = lab.walls.clearance(at, 2.0 * near);
            if (0.0..near).contains(&clearance) {
                assert!(p.near_wall[i] & !WALLS != 0, "step {step}: {i} at {at}, {clearance} m away");
                beside += 1;
            }
        }
    }
    assert!(between > 10 && beside > between, "{beside} beside the floor in {between} steps");
}

/// Without tension of the fluids nothing adheres, but the sums are there.
#[test]
fn adhesion_is_summed_over_all_boundary_particles() {
    let mut scene = scene("particles", true);
    (scene.boundaries[0].adhesion, scene.boundaries[1].adhesion) = (0.8, -0.5);
    let lab = Lab::of(scene);
    let h = lab.sph.params.h;
    let mut stuck = 0;
    for set in lab.sets() {
        assert_eq!(set.adhesion.is_empty(), set.is_skin);
        for i in (0..lab.sph.len()).step_by(3).filter(|_| !set.is_skin) {
            let (mut spread, mut hold) = (DVec3::ZERO, DVec3::ZERO);
            for j in 0..set.len() {
                let d = lab.way(set, i, j) / h;
                let (s2, volume) = (d.length_squared(), f64::from(set.work.records[j][VOLUME].abs()));
                if s2 < 1.0 {
                    let a = set.origins[set.order[j] as usize].adhesion;
                    spread += d * (a * volume * (1.0 - s2));
                    hold += d * (a.max(0.0).powi(6) * volume * (s2 - 0.25).max(0.0) * (1.0 - s2));
                }
            }
            let sums = set.stuck[i / 512].get(i % 512).copied().unwrap_or_default();
            let [fast_spread, fast_hold] = sums.both().map(|v| Vec3::from(v).as_dvec3());
            assert!(
                close(fast_spread, spread, 1.0) && close(fast_hold, hold, 1.0),
                "{sums:?} {spread} {hold}"
            );
            stuck += usize::from(spread != DVec3::ZERO);
        }
    }
    assert!(stuck > 50, "only {stuck} particles stick");
}

fn rates_are_right(lab: &Lab) {
    let p: &Params = &lab.sph.params;
    let c = Continuity::new(p, DVec3::ZERO, 0.0);
    let unit = p.spacing.powi(3);
    let mut touched = 0;
    for i in (0..lab.sph.len()).step_by(7) {
        let (block, first) = (i / 512, i / 512 * 512);
        let mut rates = Rates::default();
        let mut near = vec![0; 512.min(lab.sph.len() - first)];
        lab.sph.boundary.rates(block, &mut rates, &mut near, Scope::Survey);
        let rate = rates.get(i - first);
        let own = velocity(&lab.sph.work.records[i]);
        let (mut convergence, mut color, mut sum) = (0.0, DVec3::ZERO, 0.0);
        for set in lab.sets() {
            for j in 0..set.len() {
                let d = lab.way(set, i, j);
                let (r, volume) = (d.length(), f64::from(set.work.records[j][VOLUME].abs()) * unit);
                if r < p.h {
                    let closing = (glam::Vec3::from(set.velocity[j]).as_dvec3() - own).dot(d) / r;
                    convergence -= volume * Cored(p.h).derivative(r) * closing / p.lattice_gradient;
                    color += d / r * (volume * Wide(p.h).derivative(r) * p.h);
                    sum += volume * Cored(p.h).w(r) / p.lattice;
                }
            }
        }
        touched += usize::from(sum > 0.0);
        let (gradient, density) = c.neighborhood(&rate);
        let fast = f64::from(rate.convergence) * p.slope();
        assert!((fast - convergence).abs() < 2e-4 * (convergence.abs() + 10.0), "{fast} {convergence}");
        assert!(close(gradient, color, 1.0), "{gradient} {color}");
        assert!((f64::from(density) - sum).abs() < 2e-4, "{density} {sum}");
    }
    assert!(touched > 50, "only {touched} particles see a wall");
}

#[test]
fn pressure_and_velocity_go_on_behind_walls_as_the_means_say() {
    means_are_right(&Lab::new("particles"));
}

fn means_are_right(lab: &Lab) {
    let (p, particles) = (&lab.sph.params, &lab.sph.particles);
    let gravity = lab.fields.gravity;
    let mut seen = 0;
    for set in lab.sets() {
        for j in (0..set.len()).step_by(5) {
            let (mut weight, mut pressure, mut mean, mut before) = (0.0, 0.0, DVec3::ZERO, 0.0);
            let [x, y, z, depth] = set.face[j].map(f64::from);
            let normal = DVec3::new(x, y, z);
            for i in 0..particles.len() {
                let d = lab.way(set, i, j);
                let w = Poly6(p.h).w(d.length());
                let rho = p.fluids[particles.fluid[i] as usize].density;
                let r = &lab.sph.work.records[i];
                weight += w;
                pressure += w * (f64::from(r[PRESSURE]) - rho * gravity.dot(d));
                mean += velocity(r) * w;
                before += w * d.dot(normal);
            }
            if weight == 0.0 {
                continue;
            }
            seen += 1;
            let record = &set.work.records[j];
            let pressure = (pressure / weight).max(0.0);
            assert!((f64::from(record[PRESSURE]) - pressure).abs() < 1e-3 * (pressure + 1e3));
            let wall = glam::Vec3::from(set.velocity[j]).as_dvec3();
            let slope =
                (depth * p.h / ((before / weight).abs() - depth * p.h).max(0.25 * p.spacing)).min(2.0);
            let wanted = wall - slope * (mean / weight - wall);
            assert!(close(velocity(record), wanted, 10.0), "{} {wanted}", velocity(record));
        }
    }
    assert!(seen > 50, "only {seen} boundary particles see fluid");
}

#[test]
fn forces_are_those_of_the_equations_and_bodies_feel_them_back() {
    for kind in ["particles", "evolved-density", "lennard-jones"] {
        let mut lab = Lab::new(kind);
        // One step gives evolved densities something to push with.
        lab.around(|sph, around| sph.step(1e-5, around, &mut Passes::default())).unwrap();
        let (p, particles) = (&lab.sph.params, &lab.sph.particles);
        let unit = p.spacing.powi(3);
        let (mut on_skin, mut greatest) = (DVec3::ZERO, 0.0f64);
        for i in 0..particles.len() {
            let (block, first) = (i / 512, i / 512 * 512);
            let fluid = &p.fluids[particles.fluid[i] as usize];
            let own = &lab.sph.work.records[i];
            let mut wanted = DVec3::ZERO;
            for (k, set) in lab.sets().iter().enumerate() {
                let mut of_set = DVec3::ZERO;
                for j in 0..set.len() {
                    let d = lab.way(set, i, j);
                    let r = d.length();
                    if r >= p.h {
                        continue;
                    }
                    let other = &set.work.records[j];
                    let volumes = f64::from(own[VOLUME].abs()) * f64::from(other[VOLUME].abs()) * unit * unit;
                    let slope = Cored(p.h).derivative(r) / p.lattice_gradient;
                    let dv = velocity(other) - velocity(own);
                    of_set -= dv * (2.0 * fluid.viscosity * volumes * slope / r);
                    if kind == "lennard-jones" {
                        // Eq. 8 up to r0 = Δ, finite below half of it, weighted with the sample's volume.
                        let (r0, near) = (p.spacing, r.max(0.5 * p.spacing));
                        let u = (r0 / near).powi(6);
                        let push = (u * u - u).max(0.0) * p.expected_speed.powi(2) / (near * near);
                        of_set += d * (push * fluid.mass * f64::from(other[VOLUME].abs()));
                    } else {
                        let closing = (dv.dot(d) / r).max(0.0);
                        let impedance = 0.5 * p.alpha * fluid.density * fluid.sound() * (r / p.spacing);
                        let both =
                            f64::from(own[PRESSURE]) + f64::from(other[PRESSURE]) + impedance * closing;
                        of_set -= d / r * (both * volumes * slope);
                    }
                }
                if k == 2 {
                    on_skin -= of_set;
                }
                wanted += of_set / fluid.mass;
            }
            greatest = greatest.max(wanted.length());
            if i % 5 == 0 {
                let mut out = vec![[0.0; 3]; 512.min(particles.len() - first)];
                let sph = &lab.sph;
                sph.boundary.forces(block, &sph.work, &particles.fluid, first, &sph.forces, &mut out);
                let fast = Vec3::from(out[i - first]).as_dvec3();
                assert!(close(fast, wanted, wanted.length() + 10.0), "{kind} {i}: {fast} {wanted}");
            }
        }
        assert!(greatest > 100.0, "{kind}: nothing is pushed");
        let reaction: DVec3 = lab.sph.forces_on_solids().unwrap().iter().sum();
        assert!(close(reaction, on_skin, on_skin.length()), "{kind}: {reaction} {on_skin}");
        assert!(on_skin.length() > 0.0);
    }
}

#[test]
fn a_flat_wall_goes_on_where_the_lattice_of_the_fluid_ends() {
    let text = r#"
        domain = { min = [0, 0, 0], max = [1, 1, 1], periodic = [true, false, true], slip = "no-slip" }
        model = { spacing = 0.1 }
        [[fluid]]
        shape = { box = { min = [0, 0, 0], max = [1, 1, 1] } }
    "#;
    let scene = Scene::parse(text, "test", std::path::Path::new("."), &[]).unwrap().scene;
    let mut world = crate::world::World::new(scene).unwrap();
    assert_eq!(world.wall_particles(), 200);
    world.step().unwrap();
    let frame = world.frame();
    let density = frame.particles.scalar("density").unwrap();
    assert!(density.iter().all(|d| (d - 1000.0).abs() < 2.0), "{density:?}");
    // Packing has moved nothing.
    for x in &frame.particles.position {
        for c in x {
            assert!(((c / 0.1).fract() - 0.5).abs() < 0.01, "{x:?}");
        }
    }
}
