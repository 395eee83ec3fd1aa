//! Water in two dimensions: a slab six spacings deep that repeats in z, in a tank without a lid.

/// A block of water in the corner of a tank.
pub(super) struct Slab {
    /// Particle spacing, m.
    pub spacing: f64,
    /// Length and height of the tank, m.
    pub tank: [f64; 2],
    /// Length and height of the water, m.
    pub water: [f64; 2],
    /// Gravity along x and y, m/s².
    pub gravity: [f64; 2],
    /// Duration, s.
    pub duration: f64,
    /// Frames per second.
    pub frame_rate: f64,
    /// The scheme.
    pub kernels: &'static str,
}

/// The default scheme.
pub(super) const DEFAULT: &str = "conservative";
/// The grid with markers; the spacing is that of cells.
pub(super) const MAC: &str = "mac";

impl Slab {
    /// Extent in z, m.
    pub fn depth(&self) -> f64 {
        6.0 * self.spacing
    }

    /// The scene, with further tables (probes, events).
    pub fn scene(&self, more: &str) -> String {
        let Slab { spacing, tank: [length, top], water: [width, height], .. } = self;
        let Slab { gravity: [gx, gy], duration, frame_rate, kernels, .. } = self;
        let depth = self.depth();
        let model =
            if *kernels == MAC { "kind = \"mac\"".into() } else { format!("kernels = \"{kernels}\"") };
        format!(
            r#"
            gravity = [{gx}, {gy}, 0]
            time = {{ duration = {duration}, frame_rate = {frame_rate} }}
            domain = {{ min = [0, 0, 0], max = [{length}, {top}, {depth}], periodic = [false, false, true], open = ["+y"] }}
            model = {{ spacing = {spacing}, {model} }}
            [[fluid]]
            name = "water"
            density = 1000
            viscosity = 0.001
            surface_tension = 0.072
            shape = {{ box = {{ min = [0, 0, 0], max = [{width}, {height}, {depth}] }} }}
            {more}
            "#
        )
    }
}
