//! USDA: Universal Scene Description as text. Here the layers of one frame, each with one prim whose values are
//! samples at the time code of the frame (its number); [`super::UsdRun`] strings them together.

use std::io::{self, Write};

use super::Known;
use super::mesh::{Joined, Short, Shot, check_solids, extent};
use crate::frame::Frame;
use crate::plain::{Records, Shortest};
use crate::surface::Surface;

/// The attributes of the particles that a layer gives, in the order of the layer.
pub(super) const PARTICLES: [&str; 8] = [
    "float3[] extent",
    "int64[] ids",
    "point3f[] points",
    "vector3f[] velocities",
    "float[] primvars:density",
    "float[] primvars:pressure",
    "int[] primvars:fluid",
    "normal3f[] normals",
];

/// The attributes of the surface that a layer gives.
pub(super) const SURFACE: [&str; 6] = [
    "float3[] extent",
    "int[] faceVertexCounts",
    "int[] faceVertexIndices",
    "point3f[] points",
    "normal3f[] normals",
    "vector3f[] velocities",
];
/// And, where there are several fluids, their colours.
pub(super) const COLOR: &str = "color3f[] primvars:displayColor";

/// The attributes of a solid with triangles that a layer gives.
pub(super) const BODY: [&str; 5] = [
    "float3[] extent",
    "int[] faceVertexCounts",
    "int[] faceVertexIndices",
    "point3f[] points",
    "vector3f[] velocities",
];
/// The attribute of a ball that a layer gives.
pub(super) const BALL: &str = "double3 xformOp:translate";

/// Writes the layer of the particles.
pub(super) fn write_particles(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    let particles = &frame.particles;
    let known = Known::of(particles)?;
    let mut layer = Layer::begin(out, frame, "Particles")?;
    layer.line("def Points \"Particles\"\n{")?;
    let width = Shortest(frame.spacing);
    layer.line(&format!("float[] widths = [{width}] (interpolation = \"constant\")"))?;
    let [bounds, ids, points, velocities, density, pressure, fluid, normals] = PARTICLES;
    layer.extent(bounds, &particles.position)?;
    if let Some(id) = known.id {
        layer.array(ids, id, |record, id| write!(record, "{id}"))?;
    }
    layer.vectors(points, &particles.position)?;
    if let Some(velocity) = known.velocity {
        layer.vectors(velocities, velocity)?;
    }
    for (name, values) in [(density, known.density), (pressure, known.pressure)] {
        if let Some(values) = values {
            layer.array(name, values, |record, x| write!(record, "{}", Short(*x)))?;
        }
    }
    if let Some(values) = known.fluid {
        layer.array(fluid, values, |record, x| write!(record, "{x}"))?;
    }
    if let Some(normal) = known.normal {
        layer.vectors(normals, normal)?;
    }
    layer.line("}")?;
    layer.records.finish()
}

/// Writes the layer of the surface.
pub(super) fn write_surface(shot: &Shot<'_>, out: &mut dyn Write) -> io::Result<()> {
    let surface = shot.surface;
    let mut layer = Layer::begin(out, shot.frame, "Surface")?;
    layer.line("def Mesh \"Surface\"\n{\nuniform token subdivisionScheme = \"none\"")?;
    let [.., normals, velocities] = SURFACE;
    layer.mesh(surface)?;
    if !surface.normal.is_empty() {
        layer.vectors(normals, &surface.normal)?;
    }
    if !surface.velocity.is_empty() {
        layer.vectors(velocities, &surface.velocity)?;
    }
    if shot.stage.fluids.len() > 1 {
        let colors: Vec<[f32; 3]> =
            (0..=u8::MAX).map(|fluid| shot.stage.look(fluid).color.map(|c| c as f32)).collect();
        layer.line("uniform token primvars:displayColor:interpolation = \"vertex\"")?;
        let fluid_of = |i: usize| surface.fluid.get(i).copied().unwrap_or(0);
        layer.counted(COLOR, surface.position.len(), |record, i| {
            write!(record, "({})", Joined(&colors[fluid_of(i) as usize], ", "))
        })?;
    }
    layer.line("}")?;
    layer.records.finish()
}

/// Writes the layer of the solids.
pub(super) fn write_solids(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    check_solids(frame)?;
    let mut layer = Layer::begin(out, frame, "Solids")?;
    layer.line("def Scope \"Solids\"\n{")?;
    for (i, body) in frame.solids.iter().enumerate() {
        if body.triangles.is_empty() {
            let centre = body.nodes.first().copied().unwrap_or_default();
            layer.line(&format!(
                "def Sphere \"Body_{i}\"\n{{\ndouble radius = {}\n\
                 uniform token[] xformOpOrder = [\"xformOp:translate\"]\n{BALL}.timeSamples = {{ {}: ({}) }}\n}}",
                Short(body.radius),
                frame.index,
                Joined(&centre, ", ")
            ))?;
        } else {
            layer.line(&format!("def Mesh \"Body_{i}\"\n{{\nuniform token subdivisionScheme = \"none\""))?;
            let mesh = Surface {
                position: body.nodes.clone(),
                triangles: body.triangles.clone(),
                ..Surface::default()
            };
            layer.mesh(&mesh)?;
            let [.., velocities] = BODY;
            layer.vectors(velocities, &body.velocity)?;
            layer.line("}")?;
        }
    }
    layer.line("}")?;
    layer.records.finish()
}

struct Layer<'a> {
    records: Records<'a>,
    frame: u64,
}

impl<'a> Layer<'a> {
    fn begin(out: &'a mut dyn Write, frame: &Frame, prim: &str) -> io::Result<Self> {
        let mut layer = Layer { records: Records::new(out), frame: frame.index };
        layer.line(&format!(
            "#usda 1.0\n(\n    defaultPrim = \"{prim}\"\n    doc = \"undine {} frame {} time {}\"\n    \
             endTimeCode = {2}\n    metersPerUnit = 1\n    startTimeCode = {2}\n    upAxis = \"Y\"\n)\n",
            env!("CARGO_PKG_VERSION"),
            frame.index,
            Shortest(frame.time),
        ))?;
        Ok(layer)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.records.next()?, "{text}")
    }

    /// The sample of an array attribute, given as `type name`.
    fn counted(
        &mut self,
        attribute: &str,
        count: usize,
        put: impl Fn(&mut Vec<u8>, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        write!(self.records.next()?, "{attribute}.timeSamples = {{ {}: [", self.frame)?;
        for i in 0..count {
            let record = self.records.next()?;
            if i > 0 {
                record.extend_from_slice(b", ");
            }
            put(record, i)?;
        }
        self.line("] }")
    }

    fn array<T>(
        &mut self,
        attribute: &str,
        values: &[T],
        put: impl Fn(&mut Vec<u8>, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.counted(attribute, values.len(), |record, i| put(record, &values[i]))
    }

    fn vectors(&mut self, attribute: &str, values: &[[f32; 3]]) -> io::Result<()> {
        self.array(attribute, values, |record, v| write!(record, "({})", Joined(v, ", ")))
    }

    fn extent(&mut self, attribute: &str, position: &[[f32; 3]]) -> io::Result<()> {
        if position.is_empty() {
            return Ok(());
        }
        let (low, high) = extent(position);
        self.vectors(attribute, &[low, high])
    }

    /// Extent, faces and points.
    fn mesh(&mut self, mesh: &Surface) -> io::Result<()> {
        let [bounds, counts, indices, points, ..] = SURFACE;
        self.extent(bounds, &mesh.position)?;
        self.counted(counts, mesh.triangles.len(), |record, _| write!(record, "3"))?;
        self.array(indices, mesh.triangles.as_flattened(), |record, corner| write!(record, "{corner}"))?;
        self.vectors(points, &mesh.position)
    }
}
