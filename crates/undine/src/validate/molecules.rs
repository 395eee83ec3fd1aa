//! The Lennard-Jones model against exact values of a pair and published values of the liquid, in reduced units: σ = ε = m = 1.

use std::path::Path;

use glam::DVec3;

use super::{CaseError, Lab, conservation};
use crate::export::Plot;
use crate::fields::Fields;
use crate::models::lennard_jones::LennardJones;
use crate::models::lennard_jones::naive::Law;
use crate::models::lennard_jones::pair::Pair;
use crate::models::springs::Solids;
use crate::models::{Around, Birth, Passes, Solver};
use crate::scene::{Scene, Shifted};
use crate::walls::Walls;

/// A model in a scene of its own, stepped by hand.
struct Bath {
    model: LennardJones,
    walls: Walls,
    fields: Fields,
    solids: Solids,
    passes: Passes,
}

impl Bath {
    /// In a box of that length that repeats, or in open space where it is 0.
    fn new(length: f64, keys: &str, births: &[Birth]) -> Result<Self, CaseError> {
        let domain = if length > 0.0 {
            format!(
                "domain = {{ min = [0, 0, 0], max = [{length}, {length}, {length}], periodic = [true, true, true] }}"
            )
        } else {
            String::new()
        };
        let text = format!(
            "gravity = [0, 0, 0]\n{domain}\n[model]\nkind = \"lennard-jones\"\nspacing = 1\nsigma = 1\nepsilon = 1\n\
             damping = 0\n{keys}\n[[fluid]]\ndensity = 1\n"
        );
        let scene = Scene::parse(&text, "bath", Path::new("."), &[])?.scene;
        let mut bath = Bath {
            model: LennardJones::new(&scene),
            walls: Walls::new(&scene),
            fields: Fields::new(&scene),
            solids: Solids::new(&scene),
            passes: Passes::default(),
        };
        bath.model.insert(births);
        let Bath { model, walls, fields, solids, passes } = &mut bath;
        model.refresh(&Around { time: 0.0, walls, fields, solids }, passes);
        Ok(bath)
    }

    fn step(&mut self, dt: f64) -> Result<(), CaseError> {
        let Bath { model, walls, fields, solids, passes } = self;
        Ok(model.step(dt, &Around { time: 0.0, walls, fields, solids }, passes)?)
    }

    /// Kinetic temperature.
    fn temperature(&self) -> f64 {
        self.model.measure().kinetic * 2.0 / 3.0 / self.model.len() as f64
    }

    /// Energy of a particle.
    fn energy(&self) -> f64 {
        let m = self.model.measure();
        (m.kinetic + m.potential) / self.model.len() as f64
    }

    fn places(&self) -> Vec<DVec3> {
        let [x, y, z] = self.model.particles().position();
        (0..x.len()).map(|i| DVec3::new(x[i], y[i], z[i])).collect()
    }

    /// As births for another bath.
    fn births(&self) -> Vec<Birth> {
        let velocity = self.model.particles().velocity.iter().map(|v| glam::Vec3::from(*v).as_dvec3());
        let born = |(position, velocity)| Birth { position, velocity, fluid: 0 };
        self.places().into_iter().zip(velocity).map(born).collect()
    }
}

/// 4 × cells³ particles on a face-centred lattice of a density, with random velocities and no momentum.
fn crystal(cells: usize, density: f64) -> (f64, Vec<Birth>) {
    let a = (4.0 / density).cbrt();
    let mut births = Vec::new();
    for i in 0..cells.pow(3) {
        let cell = DVec3::new((i % cells) as f64, (i / cells % cells) as f64, (i / cells / cells) as f64);
        for corner in [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]] {
            let k = births.len();
            let dice = |c: usize| ((k * 3 + c) as f64 * 0.754_877_666_246_692_8 + 0.1).fract() - 0.5;
            births.push(Birth {
                position: (cell + DVec3::from(corner) + 0.25) * a,
                velocity: DVec3::new(dice(0), dice(1), dice(2)) * 3.0,
                fluid: 0,
            });
        }
    }
    let mean = births.iter().map(|b| b.velocity).sum::<DVec3>() / births.len() as f64;
    births.iter_mut().for_each(|b| b.velocity -= mean);
    (a * cells as f64, births)
}

/// Places of no force and of the strongest pull, and the potential, with the forces of the fast path.
pub(super) fn pair(lab: &mut Lab) -> Result<(), CaseError> {
    let keys = "shifted = \"potential\"\ndrag = 0";
    let still = |x: f64| Birth { position: DVec3::X * x, velocity: DVec3::ZERO, fluid: 0 };
    let force = |r: f64| -> Result<f64, CaseError> {
        let bath = Bath::new(0.0, keys, &[still(0.0), still(r)])?;
        let p = bath.model.particles();
        // The force on the right one, by its place.
        let right = usize::from(p.x[1] > p.x[0]);
        Ok(f64::from(p.acceleration[right][0]))
    };
    let (mut low, mut high) = (1.0, 1.2);
    while high - low > 1e-8 {
        let middle = 0.5 * (low + high);
        if force(middle)? > 0.0 { low = middle } else { high = middle }
    }
    lab.check_ratio("distance of no force, σ", low, 1.122_462, 1e-5);
    let (mut best, mut pull) = (0.0, 0.0);
    for k in 0..2000 {
        let r = 1.2 + 5e-5 * f64::from(k);
        let f = force(r)?;
        if f < pull {
            (best, pull) = (r, f);
        }
    }
    lab.check_ratio("strongest pull, ε/σ", -pull, 2.396_429, 1e-5);
    lab.check_ratio("where it is, σ", best, 1.244_455, 1e-3);
    let whole =
        Pair { cutoff: f64::INFINITY, energy_shift: 0.0, ..Pair::new(1.0, 1.0, 2.5, Shifted::Potential) };
    lab.check_ratio("depth of the well, ε", -whole.potential(low), 1.0, 1e-6);
    lab.check_ratio("potential at 2.5σ, ε", whole.potential(2.5), -0.016_316_9, 1e-5);
    // What the fast path measures is less than that by the shift at the cut-off.
    let bath = Bath::new(0.0, keys, &[still(0.0), still(low)])?;
    lab.check_ratio("depth of the cut well, ε", -bath.model.measure().potential, 1.0 - 0.016_316_9, 1e-5);
    Ok(())
}

/// Small swings of two particles about their distance of rest.
pub(super) fn dimer(lab: &mut Lab) -> Result<(), CaseError> {
    let rest = 2f64.powf(1.0 / 6.0);
    let born = |x: f64| Birth { position: DVec3::X * x, velocity: DVec3::ZERO, fluid: 0 };
    let mut bath = Bath::new(0.0, "shifted = \"potential\"\ndrag = 0", &[born(0.0), born(rest + 2e-3)])?;
    let (dt, mut before, mut crossings) = (0.002, 1.0, Vec::new());
    for k in 0..6000 {
        bath.step(dt)?;
        let p = bath.places();
        let now = p[0].distance(p[1]) - rest;
        if before < 0.0 && now >= 0.0 {
            crossings.push((f64::from(k) + before / (before - now)) * dt);
        }
        before = now;
    }
    let period = match crossings[..] {
        [first, .., last] => (last - first) / (crossings.len() - 1) as f64,
        _ => f64::NAN,
    };
    lab.check_ratio("period, σ√(m/ε)", period, 0.587_720, 1e-3);
    Ok(())
}

/// The error of the energy without friction or thermostat falls with the fourth power of the step (Allen & Tildesley 2017).
pub(super) fn energy(lab: &mut Lab) -> Result<(), CaseError> {
    let (length, births) = crystal(4, 0.75);
    let keys = "shifted = \"potential\"\ndrag = 0";
    let mut bath = Bath::new(length, keys, &births)?;
    for k in 0..5000 {
        bath.step(0.004)?;
        if k < 4000 && k % 10 == 0 {
            let factor = (1.0 / bath.temperature()).sqrt();
            bath.model.scale_velocities(factor);
        }
    }
    let start = bath.births();
    let reference = [(0.016, 4.33e-6), (0.008, 1.84e-7), (0.004, 1.31e-8)];
    let mut measured = Vec::new();
    for (dt, expected) in reference {
        let mut bath = Bath::new(length, keys, &start)?;
        // About the mean of each block: over long times the jump of the force at the cut-off lets the energy wander off.
        let (steps, blocks) = ((16.0 / dt) as usize, lab.either(10, 2));
        let mut square = 0.0;
        for _ in 0..blocks {
            let (mut sum, mut sum2) = (0.0, 0.0);
            let first = bath.energy();
            for _ in 0..steps {
                bath.step(dt)?;
                let off = bath.energy() - first;
                (sum, sum2) = (sum + off, sum2 + off * off);
            }
            let n = steps as f64;
            square += (sum2 / n - (sum / n) * (sum / n)) / f64::from(blocks);
        }
        measured.push((dt, square));
        // Published with two or three digits; runs of this length scatter by a few tens of per cent.
        lab.check_ratio(format!("mean-square energy at δt = {dt}, ε²"), square, expected, 0.5);
    }
    let order = (measured[0].1 / measured[2].1).ln() / 4f64.ln();
    lab.check("order of its fall", order, 4.0, (order - 4.0).abs(), 0.5);
    lab.plot(
        "lj-energy",
        Plot::new("Error of the energy", "lg δt", "lg mean square / ε²")
            .line("measured", &measured.iter().map(|p| (p.0.log10(), p.1.log10())).collect::<Vec<_>>())
            .points("Allen & Tildesley 2017", &reference.map(|p: (f64, f64)| (p.0.log10(), p.1.log10()))),
    );
    Ok(())
}

/// Friction (eq. 5): a lone particle that falls, and one that is stopped.
pub(super) fn friction(lab: &mut Lab) -> Result<(), CaseError> {
    let scene = |drag: f64, speed: f64, fall: f64, duration: f64| {
        format!(
            r#"
            gravity = [0, {fall}, 0]
            time = {{ duration = {duration}, frame_rate = 100 }}
            model = {{ kind = "lennard-jones", spacing = 0.01, drag = {drag} }}
            [[fluid]]
            shape = {{ box = {{ min = [0, 0, 0], max = [0.01, 0.01, 0.01] }} }}
            velocity = [{speed}, 0, 0]
            "#
        )
    };
    let mut last = glam::Vec3::ZERO;
    lab.run(&scene(4.0, 0.0, -9.81, 3.0), 0.5, |m| last = velocity(m.frame))?;
    lab.check_ratio("final speed mg/ζ, m/s", f64::from(-last.y), 9.81 / 4.0, 0.01);
    let mut worst = 0.0f64;
    lab.run(&scene(4.0, 1.0, 0.0, 1.0), 0.5, |m| {
        let off = f64::from(velocity(m.frame).x) / (-4.0 * m.frame.time).exp() - 1.0;
        worst = if off.abs() <= worst { worst } else { off.abs() };
    })?;
    lab.check("decay exp(-ζt/m) of the speed, worst ratio less 1", worst, 0.0, worst, 0.01);
    Ok(())
}

fn velocity(frame: &crate::frame::Frame) -> glam::Vec3 {
    frame.particles.vector("velocity").and_then(|v| v.first()).map_or(glam::Vec3::NAN, |v| (*v).into())
}

/// Energy and pressure of the liquid at T* = 0.85 against the Monte Carlo results of NIST
/// (<https://mmlapps.nist.gov/srs/LJ_PURE/mc.htm>: cut at 3σ, with long-range corrections).
pub(super) fn liquid(lab: &mut Lab) -> Result<(), CaseError> {
    let (temperature, rc) = (0.85, 3.0f64);
    let points = [(0.776, -5.5121, 6.7714e-3), (0.82, -5.7947, 0.55355), (0.86, -6.0305, 1.2660)];
    let whole = Pair { energy_shift: 0.0, ..Pair::new(1.0, 1.0, rc, Shifted::Potential) };
    for (density, energy, pressure) in points.into_iter().take(lab.either(3, 1)) {
        let (length, births) = crystal(5, density);
        let keys = format!("shifted = \"potential\"\ncutoff = {rc}\ndrag = 0.5\ntemperature = {temperature}");
        let mut bath = Bath::new(length, &keys, &births)?;
        let n = births.len() as f64;
        // Molten first, or it stays a crystal.
        let factor = (3.0 / bath.temperature()).sqrt();
        bath.model.scale_velocities(factor);
        let (rest, steps) = lab.either((10_000, 60_000), (6_000, 12_000));
        let (mut u, mut p, mut count) = (0.0, 0.0, 0.0);
        for k in 0..rest + steps {
            bath.step(0.004)?;
            if k >= rest && k % 20 == 0 {
                let period =
                    crate::neighbors::Period { min: DVec3::ZERO, max: DVec3::splat(length), axes: [true; 3] };
                let law = Law { pair: &whole, damping: 0.0, core: 0.0, period: Some(&period) };
                let (potential, virial) = law.measure(&bath.places());
                u += potential / n;
                p += density * temperature + virial / (3.0 * length.powi(3));
                count += 1.0;
            }
        }
        let pi = std::f64::consts::PI;
        let (far3, far9) = (rc.powi(-3), rc.powi(-9));
        let u = u / count + 8.0 / 3.0 * pi * density * (far9 / 3.0 - far3);
        let p = p / count + 16.0 / 3.0 * pi * density * density * (2.0 / 3.0 * far9 - far3);
        lab.check_ratio(
            format!("energy of a particle at ρ* = {density}, ε"),
            u,
            energy,
            lab.either(0.005, 0.01),
        );
        // The pressure of a liquid is a small difference of large sums: its error in ε/σ³, not as a share.
        let gate = lab.either(0.05, 0.12);
        lab.check(format!("pressure at ρ* = {density}, ε/σ³"), p, pressure, (p - pressure).abs(), gate);
    }
    Ok(())
}

/// Momentum of a drop alone and of two that collide.
pub(super) fn momentum(lab: &mut Lab) -> Result<(), CaseError> {
    let model = "gravity = [0, 0, 0]\nprobe = [{ kind = \"momentum\" }]\n\
                 model = { kind = \"lennard-jones\", spacing = 0.001, drag = 0 }\n";
    let alone = format!(
        r#"{model}
        time = {{ duration = {}, frame_rate = 200 }}
        [[fluid]]
        shape = {{ box = {{ min = [0, 0, 0], max = [0.012, 0.01, 0.008] }} }}
        velocity = [0.3, 0.2, -0.1]
        "#,
        lab.either(0.2, 0.1)
    );
    let alone = conservation::drift(lab, &alone, 0.5)?;
    let colliding = format!(
        r#"{model}
        time = {{ duration = {}, frame_rate = 400 }}
        [[fluid]]
        name = "water"
        shape = {{ sphere = {{ center = [-0.007, 0, 0], radius = 0.006 }} }}
        velocity = [0.5, 0, 0]
        [[fluid]]
        name = "oil"
        density = 800
        shape = {{ sphere = {{ center = [0.006, 0.002, 0], radius = 0.005 }} }}
        velocity = [-0.5, 0.1, 0]
        "#,
        lab.either(0.1, 0.05)
    );
    let colliding = conservation::drift(lab, &colliding, 0.5)?;
    conservation::check_drift(lab, "isolated drop", &alone);
    conservation::check_drift(lab, "two colliding drops", &colliding);
    Ok(())
}
