//! What a caller may choose, and what can go wrong.

use crate::scene::Scene;
pub use crate::scene::SurfaceMethod as Method;

/// How a surface is built.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Isofunction.
    pub method: Method,
    /// Cell edge, × spacing. Raising it coarsens the surface and costs less.
    pub cell: f64,
    /// Particle spacing at rest, m; `None`: the frame's.
    pub spacing: Option<f64>,
    /// Reach of the kernels, × spacing; `None`: what suits the method. Raising it smooths and swells.
    pub support: Option<f64>,
    /// The value on the surface as a share of that deep inside; `None`: what suits the method. Raising it shrinks.
    pub threshold: Option<f64>,
    /// Rest density of each fluid, kg/m³. With these the densities of the frame are used, without them they are
    /// summed anew from the positions.
    pub rest_density: Vec<f64>,
    /// Shortest edge that is kept, × cell; 0 keeps all. Raising it removes more slivers and detail.
    pub slivers: f64,
    /// Times of smoothing. Raising it flattens ripples of a few cells.
    pub smoothing: u32,
    /// Times that every triangle is cut in four and rounded. Raising it costs four times the triangles each.
    pub tessellation: u32,
    /// Whether particles outside the surface are shown as balls.
    pub droplets: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { slivers: 0.25, smoothing: 3, droplets: true, ..Options::plain(Method::default()) }
    }
}

impl Options {
    /// What a scene's `[surface]` asks for. The frames of its run carry densities, which are reused.
    pub fn of_scene(scene: &Scene) -> Self {
        Options {
            method: scene.surface.method,
            cell: scene.surface.cell,
            rest_density: scene.fluids.iter().map(|fluid| fluid.density).collect(),
            ..Options::default()
        }
    }

    /// The bare surface of a method, as it comes from the marching cubes.
    pub fn plain(method: Method) -> Self {
        Options {
            method,
            cell: 0.5,
            spacing: None,
            support: None,
            threshold: None,
            rest_density: Vec::new(),
            slivers: 0.0,
            smoothing: 0,
            tessellation: 0,
            droplets: false,
        }
    }
}

/// Why no surface can be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SurfaceError {
    /// A position that is no number.
    #[error("particle {particle} has a position that is not finite")]
    NotFinite {
        /// Number of the particle, from 0.
        particle: usize,
    },
    /// A position too far out to number its cells.
    #[error("particle {particle} lies {distance:e} cells from the origin: too far to number them")]
    TooFar {
        /// Number of the particle, from 0.
        particle: usize,
        /// Greatest coordinate, in cells.
        distance: f64,
    },
    /// An option outside its range.
    #[error("the surface's {name} is {value}; it must be {expected}")]
    Option {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Range.
        expected: &'static str,
    },
    /// More memory than the limit.
    #[error("the surface needs more than {limit} blocks of cells: choose a larger cell")]
    TooLarge {
        /// The most there may be.
        limit: usize,
    },
    /// More vertices or triangles than 32 bits number.
    #[error("the surface has {count} vertices, more than can be numbered: choose a larger cell")]
    TooManyVertices {
        /// How many.
        count: usize,
    },
    /// A field of the frame that does not have one value a particle.
    #[error("the field `{name}` has {values} values for {particles} particles")]
    Field {
        /// Which.
        name: &'static str,
        /// Values.
        values: usize,
        /// Particles.
        particles: usize,
    },
}
