//! The narrow waist: what a model shows of itself. Surfaces, pictures and exports see only this, so a new model
//! gets all of them for nothing and a new exporter serves every model.

/// One moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Frame number.
    pub index: u64,
    /// Simulated time, s.
    pub time: f64,
    /// Particle spacing at rest, m (for drawing and surfaces).
    pub spacing: f64,
    /// Kernel support or influence radius, m.
    pub support: f64,
    /// Gravity in force, m/s²; events may change it. `None` where it is not known, as of particles read from a file.
    pub gravity: Option<[f64; 3]>,
    /// Kinetic and potential energy that left the fluid during its motion, J: given to bodies or lost. `None` where it is not booked.
    pub spent: Option<f64>,
    /// The fluid.
    pub particles: Particles,
    /// Mass-spring bodies.
    pub solids: Vec<Body>,
}

/// Particles as parallel arrays with named fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles {
    /// Positions, m.
    pub position: Vec<[f32; 3]>,
    /// Further fields, each as long as `position`: `velocity`, `density`, `pressure`, `fluid`, `id`, `normal`.
    pub fields: Vec<Field>,
}

/// A named array.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name, as in the particle files.
    pub name: &'static str,
    /// Values.
    pub data: FieldData,
}

/// The values of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldData {
    /// One number a particle.
    Scalar(Vec<f32>),
    /// One vector a particle.
    Vector(Vec<[f32; 3]>),
    /// One whole number a particle (`id`).
    Int(Vec<u32>),
    /// One small whole number a particle (`fluid`).
    Byte(Vec<u8>),
}

impl FieldData {
    /// Number of particles it covers.
    pub fn len(&self) -> usize {
        match self {
            FieldData::Scalar(v) => v.len(),
            FieldData::Vector(v) => v.len(),
            FieldData::Int(v) => v.len(),
            FieldData::Byte(v) => v.len(),
        }
    }

    /// Whether it covers no particle.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Particles {
    /// Number of particles.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&FieldData> {
        self.fields.iter().find(|f| f.name == name).map(|f| &f.data)
    }

    /// The scalar field of that name.
    pub fn scalar(&self, name: &str) -> Option<&[f32]> {
        match self.field(name) {
            Some(FieldData::Scalar(v)) => Some(v),
            _ => None,
        }
    }

    /// The vector field of that name.
    pub fn vector(&self, name: &str) -> Option<&[[f32; 3]]> {
        match self.field(name) {
            Some(FieldData::Vector(v)) => Some(v),
            _ => None,
        }
    }
}

/// A mass-spring body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Node positions, m.
    pub nodes: Vec<[f32; 3]>,
    /// Node velocities, m/s.
    pub velocity: Vec<[f32; 3]>,
    /// Node masses, kg; empty where they are not known, as of solids read from a file.
    pub mass: Vec<f32>,
    /// Surface triangles over the nodes; empty for a ball.
    pub triangles: Vec<[u32; 3]>,
    /// Radius of a one-node ball, m.
    pub radius: f32,
    /// Energy stored in its springs, J.
    pub elastic: f64,
    /// Work that the fluid has done on it since the start, J.
    pub work: f64,
}
