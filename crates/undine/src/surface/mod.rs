//! Surfaces: from the particles of a [`crate::frame::Frame`] to triangles.

/// Triangles with shared vertices; the arrays over vertices are parallel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Vertex positions, m.
    pub position: Vec<[f32; 3]>,
    /// Unit normals, pointing out of the fluid.
    pub normal: Vec<[f32; 3]>,
    /// Velocities, m/s (motion blur); empty when unknown.
    pub velocity: Vec<[f32; 3]>,
    /// Which fluid each vertex belongs to; empty when there is but one.
    pub fluid: Vec<u8>,
    /// Vertices of each triangle, anticlockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

mod adjacency;
pub(crate) mod candidates;
pub(crate) mod cloud;
mod counts;
mod droplets;
mod field;
mod filling;
mod gather;
mod interface;
mod iso;
mod march;
mod options;
mod pairs;
mod slivers;
mod smooth;
mod spacing;
mod stitch;
mod tables;
mod tessellate;
mod vector;
mod walk;

use rayon::prelude::*;

pub use interface::{Interface, fluids_present, interfaces};
pub use options::{Method, Options, SurfaceError};
pub use spacing::estimate_spacing;

use crate::frame::{FieldData, Frame};
use crate::models::Passes;
use cloud::Cloud;
use filling::Filling;
use march::Carried;

/// Builds the surface of a frame's particles; tells the time of each pass too.
pub fn build(frame: &Frame, options: &Options) -> Result<(Surface, Passes), SurfaceError> {
    let mut passes = Passes::default();
    let spacing = check(frame, options)?;
    let on_grid = options.method == Method::MarkerCount && several_fluids(frame).is_none();
    let counted = on_grid.then(|| passes.time("count", || counted(frame, options, spacing))).flatten();
    let surface = match counted {
        Some(counted) => of_counts(frame, options, spacing, counted, &mut passes)?,
        None => of_field(frame, options, spacing, &mut passes)?,
    };
    Ok((surface, passes))
}

/// The surface where a sum over particles has its iso value.
fn of_field(
    frame: &Frame,
    options: &Options,
    spacing: f64,
    passes: &mut Passes,
) -> Result<Surface, SurfaceError> {
    let cell = options.cell * spacing;
    // From here on lengths are in cells.
    let spacing = (1.0 / options.cell) as f32;
    let reach = iso::reach(options, spacing);
    let cloud = passes.time("sort", || Cloud::new(&frame.particles.position, cell))?;
    let (seeds, filling) = passes.time("find", || -> Result<_, SurfaceError> {
        // Every piece of surface passes near a particle; from there the walk finds the rest.
        let filling = Filling::new(&cloud, spacing);
        let blocks = candidates::in_reach(&cloud, 0.5 * spacing, &filling.surrounded)?;
        Ok((filling.seeds(&cloud, blocks), filling))
    })?;
    let field = passes.time("field", || {
        let source = iso::Source {
            cloud: &cloud,
            spacing,
            expansion: expansion(frame, options, &cloud),
            wanted: iso::wanted(&cloud, &seeds, reach),
            filling: &filling,
            options,
        };
        iso::field(&source)
    });
    let carried = passes.time("field", || carried(frame, &cloud));
    let pieces = passes.time("march", || walk::walk(&cloud, &field, &carried, &seeds))?;
    let mut surface = passes.time("stitch", || stitch::stitch(&pieces, cell))?;
    drop(pieces);
    refine(&mut surface, options, cell, passes)?;
    if options.droplets && !iso::shows_lone_particles(options.method) {
        passes.time("droplets", || {
            droplets::add_droplets(&mut surface, &cloud, &field, &carried, &seeds, spacing, cell)
        })?;
    }
    Ok(surface)
}

/// Counts the markers of one fluid on a grid, if that can be done.
fn counted(frame: &Frame, options: &Options, spacing: f64) -> Option<counts::Counted> {
    let cells = (1.0 / options.cell) as f32;
    counts::build(&counts::Wish {
        position: &frame.particles.position,
        velocity: frame.particles.vector("velocity"),
        cell: options.cell * spacing,
        spacing: cells,
        times: iso::marker_count::reach(cells, options.support),
        threshold: options.threshold.map_or(iso::marker_count::THRESHOLD, |t| t as f32),
    })
}

/// The surface from counts.
fn of_counts(
    frame: &Frame,
    options: &Options,
    spacing: f64,
    counted: counts::Counted,
    passes: &mut Passes,
) -> Result<Surface, SurfaceError> {
    let cell = options.cell * spacing;
    let mut surface = passes.time("stitch", || stitch::stitch(&counted.pieces, cell))?;
    refine(&mut surface, options, cell, passes)?;
    if options.droplets {
        let (position, velocity) = (&frame.particles.position, frame.particles.vector("velocity"));
        let balls = counted.outside.iter().map(|&i| droplets::Ball {
            center: position[i as usize],
            velocity: velocity.map(|v| v[i as usize]),
            fluid: None,
        });
        passes.time("droplets", || droplets::add_balls(&mut surface, balls, spacing))?;
    }
    Ok(surface)
}

/// Takes slivers and noise out of a surface and rounds it, as far as that is asked for.
fn refine(
    surface: &mut Surface,
    options: &Options,
    cell: f64,
    passes: &mut Passes,
) -> Result<(), SurfaceError> {
    if options.slivers > 0.0 {
        passes.time("slivers", || slivers::remove_slivers(surface, (options.slivers * cell) as f32));
    }
    if options.smoothing > 0 {
        passes.time("smooth", || smooth::smooth(surface, options.smoothing));
    }
    if options.tessellation > 0 {
        passes.time("tessellate", || tessellate::tessellate(surface, options.tessellation))?;
    }
    Ok(())
}

/// Checks all that can be wrong before the work; returns the spacing, m.
fn check(frame: &Frame, options: &Options) -> Result<f64, SurfaceError> {
    let spacing = options.spacing.unwrap_or(frame.spacing);
    let option = |name, value: f64, low: f64, high: f64, expected| {
        // Not `value < low`: NaN must fail too.
        if value >= low && value <= high {
            Ok(())
        } else {
            Err(SurfaceError::Option { name, value, expected })
        }
    };
    option("spacing", spacing, 1e-12, 1e12, "between 1e-12 and 1e12 m")?;
    option("cell", options.cell, 0.05, 10.0, "between 0.05 and 10 spacings")?;
    option("support", options.support.unwrap_or(2.0), 1.0, 5.0, "between 1 and 5 spacings")?;
    option("threshold", options.threshold.unwrap_or(0.5), 0.01, 0.99, "between 0.01 and 0.99")?;
    option("slivers", options.slivers, 0.0, 0.5, "between 0 and 0.5 cells")?;
    option("smoothing", f64::from(options.smoothing), 0.0, 1000.0, "at most 1000")?;
    option("tessellation", f64::from(options.tessellation), 0.0, 8.0, "at most 8")?;
    let particles = frame.particles.len();
    for f in &frame.particles.fields {
        if f.data.len() != particles {
            return Err(SurfaceError::Field { name: f.name, values: f.data.len(), particles });
        }
    }
    Ok(spacing)
}

/// ρ0/ρ of each particle, where both are known.
fn expansion(frame: &Frame, options: &Options, cloud: &Cloud) -> Option<Vec<f32>> {
    let density = frame.particles.scalar("density").filter(|_| !options.rest_density.is_empty())?;
    let fluid = fluids(frame);
    let rest = |i: usize| {
        let f = fluid.map_or(0, |f| usize::from(f[i]));
        options.rest_density.get(f).or(options.rest_density.last()).map_or(1.0, |&r| r as f32)
    };
    // A lone particle is some six times thinner than the fluid at rest.
    let ratio = |&i: &u32| {
        let ratio = rest(i as usize) / density[i as usize];
        if ratio > 0.0 { ratio.clamp(0.5, 8.0) } else { 1.0 }
    };
    Some(cloud.order.par_iter().with_min_len(4096).map(ratio).collect())
}

fn fluids(frame: &Frame) -> Option<&[u8]> {
    match frame.particles.field("fluid") {
        Some(FieldData::Byte(v)) => Some(v),
        _ => None,
    }
}

/// The fluids of particles where they are not all the same.
fn several_fluids(frame: &Frame) -> Option<&[u8]> {
    fluids(frame).filter(|f| f.iter().any(|other| *other != f[0]))
}

fn carried(frame: &Frame, cloud: &Cloud) -> Carried {
    let mut carried = Carried::default();
    if let Some(velocity) = frame.particles.vector("velocity") {
        let axis =
            |a: usize| cloud.order.par_iter().with_min_len(4096).map(move |&i| velocity[i as usize][a]);
        carried.velocity = [0, 1, 2].map(|a| axis(a).collect());
    }
    if let Some(fluid) = several_fluids(frame) {
        carried.fluid.extend(cloud.order.iter().map(|&i| fluid[i as usize]));
    }
    carried
}

#[cfg(test)]
mod tests;
