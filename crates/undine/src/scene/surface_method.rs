//! The isofunctions by name. `surface/` builds them.

/// The isofunctions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SurfaceMethod {
    /// Müller's colour field: Σ V W.
    ColorField,
    /// Bayraktar's φ, eq. 11, without surface values.
    Phi,
    /// Bayraktar's φ with surface values, eq. 12-14.
    SurfaceValue,
    /// Génevaux's smoothed marker counts.
    MarkerCount,
    /// Lee's volume fraction, eq. 7.
    VolumeFraction,
    /// The colour field of particles moved to the weighted mean of their neighbours.
    Smoothed,
    /// Yu & Turk: moved particles with kernels stretched along the surface.
    #[default]
    Anisotropic,
}

impl SurfaceMethod {
    /// All of them with their names in scene files and on the command line.
    pub const ALL: [(&'static str, SurfaceMethod); 7] = [
        ("color-field", SurfaceMethod::ColorField),
        ("phi", SurfaceMethod::Phi),
        ("surface-value", SurfaceMethod::SurfaceValue),
        ("marker-count", SurfaceMethod::MarkerCount),
        ("volume-fraction", SurfaceMethod::VolumeFraction),
        ("smoothed", SurfaceMethod::Smoothed),
        ("anisotropic", SurfaceMethod::Anisotropic),
    ];

    /// Their names.
    pub const NAMES: [&'static str; 7] = {
        let mut names = [""; 7];
        let mut i = 0;
        while i < names.len() {
            names[i] = Self::ALL[i].0;
            i += 1;
        }
        names
    };

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|m| m.1 == self).map_or("", |m| m.0)
    }

    /// The method of that name.
    pub fn from_name(name: &str) -> Option<SurfaceMethod> {
        Self::ALL.iter().find(|m| m.0 == name).map(|m| m.1)
    }
}
