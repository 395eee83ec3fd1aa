//! How the fluid is drawn as a volume: cells, and the transfer function from fractions to colour and opacity.

use super::read::Reader;

/// A look of volumes, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// Lee 2005, table 1: a blue, glossy shell.
    #[default]
    LeeWater,
    /// White and opaque.
    Milk,
    /// Glows: red and thin outside, yellow inside.
    Fire,
    /// Glows with the thickness of the fluid, before darkness.
    XRay,
}

impl Preset {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 4] = ["lee-water", "milk", "fire", "x-ray"];
    /// In the order of their words.
    pub const ALL: [Preset; 4] = [Preset::LeeWater, Preset::Milk, Preset::Fire, Preset::XRay];

    /// The preset of that name.
    pub fn from_name(name: &str) -> Option<Preset> {
        Self::NAMES.iter().position(|n| *n == name).map(|i| Self::ALL[i])
    }

    /// Its transfer function.
    pub fn points(self) -> Vec<ControlPoint> {
        let point = |value, color, opacity| ControlPoint { value, color, opacity };
        // Lee's colours are the bytes of a screen.
        let bytes = |value, rgb: [u8; 3], opacity| {
            let linear = |b: u8| {
                let y = f64::from(b) / 255.0;
                if y <= 0.040_45 { y / 12.92 } else { ((y + 0.055) / 1.055).powf(2.4) }
            };
            point(value, rgb.map(linear), opacity)
        };
        match self {
            Preset::LeeWater => vec![
                bytes(0.21, [0, 0, 255], 0.0),
                bytes(0.23, [36, 65, 91], 1.0),
                bytes(0.28, [154, 208, 228], 1.0),
                bytes(0.30, [0, 0, 160], 0.0),
            ],
            Preset::Milk => vec![
                point(0.06, [0.90, 0.89, 0.86], 0.0),
                point(0.20, [0.90, 0.89, 0.86], 0.95),
                point(0.30, [0.93, 0.91, 0.86], 1.0),
            ],
            Preset::Fire => vec![
                point(0.01, [0.6, 0.03, 0.0], 0.0),
                point(0.12, [2.2, 0.35, 0.02], 0.35),
                point(0.35, [3.2, 0.90, 0.08], 0.55),
                point(0.55, [3.6, 1.60, 0.25], 0.75),
            ],
            Preset::XRay => vec![point(0.02, [0.70, 0.90, 1.15], 0.0), point(0.50, [0.85, 0.98, 1.15], 0.75)],
        }
    }

    /// How its surface takes light.
    pub fn shading(self) -> VolumeShading {
        match self {
            Preset::LeeWater => VolumeShading::Glossy,
            Preset::Milk => VolumeShading::Matte,
            Preset::Fire | Preset::XRay => VolumeShading::None,
        }
    }

    /// Width of the kernel that spreads a particle, × spacing. A shell shows every bump and lone drops only above its
    /// lowest value; looks that fade slowly bear more.
    pub fn spread(self) -> f64 {
        match self {
            Preset::LeeWater => 0.8,
            Preset::Milk => 0.9,
            Preset::Fire => 1.2,
            Preset::XRay => 1.0,
        }
    }

    /// Whether it is drawn before darkness.
    pub fn night(self) -> bool {
        matches!(self, Preset::Fire | Preset::XRay)
    }

    /// Length over which its opacities count, as a share of the scene's longest edge; `None`: one spacing. Looks that
    /// show a skin keep it at any spacing, looks that show thickness keep that.
    pub fn depth(self) -> Option<f64> {
        match self {
            Preset::LeeWater | Preset::Milk => None,
            Preset::Fire | Preset::XRay => Some(0.2),
        }
    }
}

/// Colour and opacity at a fraction; between two of them all are linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlPoint {
    /// The fraction.
    pub value: f64,
    /// Linear RGB; as light where nothing is shaded, so that it may exceed 1.
    pub color: [f64; 3],
    /// Share of light stopped on the way of one depth, 0..1.
    pub opacity: f64,
}

/// How the gradient of a volume takes light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumeShading {
    /// Not at all: it glows.
    None,
    /// Like a rough surface.
    Matte,
    /// Like a wet one, with highlights.
    #[default]
    Glossy,
}

impl VolumeShading {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 3] = ["none", "matte", "glossy"];
    /// In the order of their words.
    pub const ALL: [VolumeShading; 3] = [VolumeShading::None, VolumeShading::Matte, VolumeShading::Glossy];
}

/// How colour is gathered along a ray.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// From a table of the integral between any two values (Engel 2001).
    #[default]
    PreIntegrated,
    /// At one value a slice.
    Plain,
}

impl Sampling {
    /// Their words in a scene file.
    pub const NAMES: [&'static str; 2] = ["pre-integrated", "plain"];
    /// In the order of their words.
    pub const ALL: [Sampling; 2] = [Sampling::PreIntegrated, Sampling::Plain];
}

/// How the fluid is drawn as a volume.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// The look that all else follows where it is not given.
    pub preset: Preset,
    /// The transfer function, values rising; at least two points.
    pub points: Vec<ControlPoint>,
    /// Cell edge, × spacing.
    pub cell: f64,
    /// Radius of a particle, × spacing.
    pub radius: f64,
    /// Width of the kernel that spreads a particle, × spacing.
    pub spread: f64,
    /// Slices along the scene's longest edge; `None`: two for three cells.
    pub slices: Option<u64>,
    /// Length over which opacities count, m; `None`: what suits the preset.
    pub depth: Option<f64>,
    /// How its surface takes light.
    pub shading: VolumeShading,
    /// How colour is gathered.
    pub sampling: Sampling,
    /// Whether it is drawn before darkness.
    pub night: bool,
}

impl Default for Volume {
    fn default() -> Self {
        Self::of_preset(Preset::default())
    }
}

impl Volume {
    /// A look with nothing changed.
    pub fn of_preset(preset: Preset) -> Self {
        Self {
            preset,
            points: preset.points(),
            cell: 0.5,
            radius: 0.5,
            spread: preset.spread(),
            slices: None,
            depth: None,
            shading: preset.shading(),
            sampling: Sampling::default(),
            night: preset.night(),
        }
    }
}

pub(super) fn build_volume(volume: &Reader) -> Volume {
    let of = |word: &str, names: &[&str]| names.iter().position(|n| *n == word).unwrap_or(0);
    let preset = Preset::from_name(volume.text("preset")).unwrap_or_default();
    Volume {
        preset,
        points: if volume.has("points") { build_points(volume) } else { preset.points() },
        cell: volume.number("cell"),
        radius: volume.number("radius"),
        spread: volume.maybe_number("spread").unwrap_or(preset.spread()),
        slices: volume.has("slices").then(|| volume.integer("slices")),
        depth: volume.maybe_number("depth"),
        shading: volume
            .maybe_text("shading")
            .map_or(preset.shading(), |word| VolumeShading::ALL[of(word, &VolumeShading::NAMES)]),
        sampling: Sampling::ALL[of(volume.text("sampling"), &Sampling::NAMES)],
        night: volume.maybe_text("backdrop").map_or(preset.night(), |word| word == "night"),
    }
}

fn build_points(volume: &Reader) -> Vec<ControlPoint> {
    let rows = volume.rows("points");
    let fail = |message: String, expected: &str| volume.fail("points", message, expected);
    let point =
        |row: &Vec<f64>| ControlPoint { value: row[0], color: [row[1], row[2], row[3]], opacity: row[4] };
    let points: Vec<ControlPoint> = rows.iter().filter(|row| row.len() == 5).map(point).collect();
    if points.len() < 2 {
        fail("one point is no function".into(), "at least two points [value, r, g, b, opacity]");
    }
    for (i, p) in points.iter().enumerate() {
        let [r, g, b] = p.color;
        if !(0.0..=100.0).contains(&p.value) {
            fail(format!("the value of point {} is {}", i + 1, p.value), "a fraction, 0 to 100");
        } else if !(0.0..=1.0).contains(&p.opacity) {
            fail(format!("the opacity of point {} is {}", i + 1, p.opacity), "0 (clear) to 1 (opaque)");
        } else if [r, g, b].iter().any(|c| !(0.0..=100.0).contains(c)) {
            let what = format!("the colour of point {} is [{r}, {g}, {b}]", i + 1);
            fail(what, "linear RGB, each 0 to 100; bytes of a screen are not linear");
        }
    }
    for (i, pair) in points.windows(2).enumerate() {
        if pair[1].value <= pair[0].value {
            let what = format!(
                "point {} has the value {}, point {} before it {}",
                i + 2,
                pair[1].value,
                i + 1,
                pair[0].value
            );
            fail(what, "values rising from point to point");
        }
    }
    if points.first().is_some_and(|p| p.value == 0.0 && p.opacity > 0.0) {
        fail("empty space is not clear".into(), "opacity 0 at the value 0");
    }
    points
}
