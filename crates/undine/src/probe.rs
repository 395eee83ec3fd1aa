//! Probes: measurements of a [`Frame`], written to `probes.csv` each frame.
//!
//! They see nothing but a frame and the scene, so they work for every model. A particle has the volume Δ³ and
//! the mass ρ0 Δ³ of its fluid.

mod leaks;
mod place;
mod total;

use glam::DVec3;

use self::place::Column;
use crate::frame::{FieldData, Frame};
use crate::scene::aabb::Aabb;
use crate::scene::{Domain, ModelKind, Probe, ProbeKind, Scene};
use crate::walls::Walls;

/// The probes of a scene.
#[derive(Clone, Debug)]
pub struct Probes {
    scene: Surroundings,
    probes: Vec<Instrument>,
}

/// What probes need to know of the scene.
#[derive(Clone, Debug)]
struct Surroundings {
    spacing: f64,
    /// At the start; a frame tells if it has changed.
    gravity: DVec3,
    domain: Option<Domain>,
    /// Rest density and particle mass of each fluid.
    fluids: Vec<(f64, f64)>,
    /// Where a `leaks` probe looks at them.
    walls: Option<Walls>,
    /// Whether frames tell how much energy left the fluid.
    books: bool,
}

/// A probe and what can be worked out once.
#[derive(Clone, Debug)]
struct Instrument {
    probe: Probe,
    /// Where the fluid it looks at starts; empty when that comes from emitters only.
    start: Aabb,
    /// The column of a `height` probe.
    column: Option<Column>,
}

/// Names after the dot, for probes with several values.
fn parts(probe: &Probe, scene: &Surroundings) -> &'static [&'static str] {
    match probe.kind {
        ProbeKind::Front | ProbeKind::Height | ProbeKind::Pressure | ProbeKind::Flow | ProbeKind::Leaks => {
            &[]
        }
        ProbeKind::Velocity | ProbeKind::Momentum => &["x", "y", "z"],
        ProbeKind::Body => &["x", "y", "z", "vx", "vy", "vz"],
        ProbeKind::Energy if probe.body.is_some() => &["kinetic", "potential", "elastic", "received"],
        ProbeKind::Energy if scene.books => &["kinetic", "potential", "given", "lost"],
        ProbeKind::Energy => &["kinetic", "potential", "given"],
        ProbeKind::DensityError => &["mean", "max"],
    }
}

impl Probes {
    /// The probes of a scene.
    pub fn new(scene: &Scene) -> Self {
        let spacing = scene.model.particle_spacing();
        let first = scene.fluids.first().map_or(1.0, |f| f.density);
        let mass = |density: f64| match scene.model.sph.mass {
            Some(m) => m * density / first,
            None => density * spacing.powi(3),
        };
        let surroundings = Surroundings {
            spacing,
            gravity: scene.gravity,
            domain: scene.domain.clone(),
            fluids: scene.fluids.iter().map(|f| (f.density, mass(f.density))).collect(),
            walls: scene.probes.iter().any(|p| p.kind == ProbeKind::Leaks).then(|| Walls::new(scene)),
            books: scene.model.kind == ModelKind::Mac,
        };
        let probes = scene
            .probes
            .iter()
            .map(|probe| Instrument {
                start: starting_box(scene, probe.fluid),
                column: (probe.kind == ProbeKind::Height)
                    .then(|| Column::new(probe.position, scene.model.spacing, scene.domain.as_ref())),
                probe: probe.clone(),
            })
            .collect();
        Probes { scene: surroundings, probes }
    }

    /// Column names: `name` for one value, `name.part` for several.
    pub fn columns(&self) -> Vec<String> {
        let mut columns = Vec::new();
        for Instrument { probe, .. } in &self.probes {
            match parts(probe, &self.scene) {
                [] => columns.push(probe.name.clone()),
                parts => columns.extend(parts.iter().map(|part| format!("{}.{part}", probe.name))),
            }
        }
        columns
    }

    /// One value for each column; not a number where there is nothing to measure.
    pub fn measure(&self, frame: &Frame) -> Vec<f64> {
        let mut values = Vec::new();
        for i in &self.probes {
            let seen = Seen::new(frame, &self.scene, i.probe.fluid);
            match i.probe.kind {
                ProbeKind::Front => values.push(place::front(&seen, i.probe.axis, &i.start)),
                ProbeKind::Height => values.push(i.column.as_ref().map_or(f64::NAN, |c| c.height(&seen))),
                ProbeKind::Pressure => values.push(place::pressure(&seen, i.probe.position)),
                ProbeKind::Velocity => values.extend(place::velocity(&seen, i.probe.position)),
                ProbeKind::Flow => values.push(place::flow(&seen, i.probe.axis, i.probe.position)),
                ProbeKind::Body => values.extend(total::body(frame, i.probe.body)),
                ProbeKind::Energy => values.extend(match i.probe.body {
                    Some(body) => total::body_energy(&seen, body).to_vec(),
                    None => {
                        let mut all = total::energy(&seen).to_vec();
                        all.truncate(if self.scene.books { 4 } else { 3 });
                        all
                    }
                }),
                ProbeKind::Momentum => values.extend(match i.probe.body {
                    Some(body) => total::body_momentum(frame, body),
                    None => total::momentum(&seen),
                }),
                ProbeKind::DensityError => values.extend(total::density_error(&seen)),
                ProbeKind::Leaks => values.push(leaks::leaks(&seen)),
            }
        }
        values
    }

    /// Whether the scene has no probes.
    pub fn is_empty(&self) -> bool {
        self.probes.is_empty()
    }
}

/// The box in which a fluid (or any) starts, as far as it lies in the domain.
fn starting_box(scene: &Scene, fluid: Option<usize>) -> Aabb {
    let mut start = Aabb::EMPTY;
    for (i, f) in scene.fluids.iter().enumerate() {
        if let Some(shape) = f.shape.as_ref().filter(|_| fluid.is_none_or(|only| only == i)) {
            start = start.union(shape.bounds());
        }
    }
    match &scene.domain {
        Some(d) => Aabb { min: start.min.max(d.min), max: start.max.min(d.max) },
        None => start,
    }
}

/// The particles that a probe looks at.
struct Seen<'a> {
    frame: &'a Frame,
    scene: &'a Surroundings,
    fluid: Option<&'a [u8]>,
    only: Option<usize>,
}

impl<'a> Seen<'a> {
    fn new(frame: &'a Frame, scene: &'a Surroundings, only: Option<usize>) -> Self {
        let fluid = match frame.particles.field("fluid") {
            Some(FieldData::Byte(v)) => Some(&v[..]),
            _ => None,
        };
        Seen { frame, scene, fluid, only }
    }

    fn fluid(&self, i: usize) -> usize {
        self.fluid.and_then(|f| f.get(i)).map_or(0, |f| usize::from(*f))
    }

    /// Rest density, kg/m³.
    fn density(&self, i: usize) -> f64 {
        self.scene.fluids.get(self.fluid(i)).map_or(f64::NAN, |f| f.0)
    }

    /// Mass, kg.
    fn mass(&self, i: usize) -> f64 {
        self.scene.fluids.get(self.fluid(i)).map_or(f64::NAN, |f| f.1)
    }

    /// Gravity in force, m/s².
    fn gravity(&self) -> DVec3 {
        self.frame.gravity.map_or(self.scene.gravity, DVec3::from)
    }

    /// Volume at rest, m³.
    fn volume(&self, i: usize) -> f64 {
        self.mass(i) / self.density(i)
    }

    /// The particles and where they are.
    fn particles(&self) -> impl Iterator<Item = (usize, DVec3)> + '_ {
        self.frame
            .particles
            .position
            .iter()
            .enumerate()
            .filter(|(i, _)| self.only.is_none_or(|only| self.fluid(*i) == only))
            .map(|(i, p)| (i, glam::Vec3::from(*p).as_dvec3()))
    }

    /// Velocities, m/s; empty when the frame has none.
    fn velocity(&self) -> &'a [[f32; 3]] {
        self.frame.particles.vector("velocity").unwrap_or(&[])
    }
}

/// The shortest way from `a` to `b` along an axis, through the repeating side if that is nearer.
fn apart(domain: Option<&Domain>, axis: usize, a: f64, b: f64) -> f64 {
    let d = b - a;
    match domain {
        Some(domain) if domain.periodic[axis] => {
            let length = domain.max[axis] - domain.min[axis];
            d - (d / length).round() * length
        }
        _ => d,
    }
}

#[cfg(test)]
mod tests;
