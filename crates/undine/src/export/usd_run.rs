//! The USD stage of a run.
//!
//! Each frame has layers of its own, and the stage `run.usda` strings them together with value clips. Why so: in
//! sublayers the strongest layer with any sample of an attribute hides the samples of the others, and one file for
//! the whole run could not be continued after a kill without being written anew, gigabytes of it. Value clips take
//! each sample from the layer of its frame; the stage itself is a few lines a frame and is replaced in one move
//! after each, so it opens while the run goes on. `manifest.usda` tells which attributes the layers have, so that
//! opening the stage opens no layer before its frame is shown.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use glam::DMat4;

use super::glb::looking;
use super::mesh::identifier;
use super::stage::{GLASS_IOR, Stage, WATER_IOR};
use super::{mesh::Joined, usda};
use crate::atomic::{AtomicFile, Durability, OutputError};
use crate::frame::Frame;
use crate::plain::Shortest;
use crate::surface::Surface;

/// Which frames of a run have which layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsdRun {
    /// Frames with `particles_*.usda`.
    particles: Vec<u64>,
    /// Frames with `surface_*.usda`.
    surfaces: Vec<u64>,
    /// Frames with `solids_*.usda`.
    solids: Vec<u64>,
    spacing: f64,
    /// Radius of each solid, 0 where it has triangles.
    bodies: Vec<f32>,
}

impl UsdRun {
    /// A stage without frames.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stage of a run to be continued: those of the frames before `end` whose layers are in the folder.
    pub fn from_folder(dir: &Path, end: u64) -> Self {
        let there = |what: &str| -> Vec<u64> {
            (0..end).filter(|frame| dir.join(format!("{what}_{frame:04}.usda")).exists()).collect()
        };
        UsdRun {
            particles: there("particles"),
            surfaces: there("surface"),
            solids: there("solids"),
            ..UsdRun::default()
        }
    }

    /// Adds a frame, whose layers have been written: particles and solids, and a surface if there is one.
    pub fn push(&mut self, frame: &Frame, has_surface: bool) {
        self.particles.push(frame.index);
        if has_surface {
            self.surfaces.push(frame.index);
        }
        if !frame.solids.is_empty() {
            self.solids.push(frame.index);
        }
        self.spacing = frame.spacing;
        self.bodies =
            frame.solids.iter().map(|b| if b.triangles.is_empty() { b.radius } else { 0.0 }).collect();
    }

    /// Writes `run.usda` and `manifest.usda`.
    pub fn write(&self, dir: &Path, stage: &Stage) -> Result<(), OutputError> {
        for (name, text) in [("manifest.usda", self.manifest(stage)), ("run.usda", self.stage(stage))] {
            AtomicFile::write_with(dir.join(name), Durability::Process, |out| {
                out.write_all(text.as_bytes())
            })?;
        }
        Ok(())
    }

    fn surface_attributes(stage: &Stage) -> impl Iterator<Item = &'static str> {
        usda::SURFACE.into_iter().chain((stage.fluids.len() > 1).then_some(usda::COLOR))
    }

    fn manifest(&self, stage: &Stage) -> String {
        let mut text = String::from("#usda 1.0\n\n");
        let mut prim = |kind: &str, name: &str, attributes: &mut dyn Iterator<Item = &'static str>| {
            let lines: String = attributes.map(|a| format!("    {a}\n")).collect();
            let _ = writeln!(text, "{kind} \"{name}\"\n{{\n{lines}}}\n");
        };
        prim("def Points", "Particles", &mut usda::PARTICLES.into_iter());
        prim("def Mesh", "Surface", &mut Self::surface_attributes(stage));
        let _ = writeln!(text, "def Scope \"Solids\"\n{{");
        for (i, radius) in self.bodies.iter().enumerate() {
            let (kind, attributes): (_, &[&str]) =
                if *radius > 0.0 { ("Sphere", &[usda::BALL]) } else { ("Mesh", &usda::BODY) };
            let lines: String = attributes.iter().map(|a| format!("    {a}\n")).collect();
            let _ = writeln!(text, "def {kind} \"Body_{i}\"\n{{\n{lines}}}");
        }
        text += "}\n";
        text
    }

    fn stage(&self, stage: &Stage) -> String {
        let frames = || self.particles.iter().chain(&self.surfaces).chain(&self.solids).copied();
        let (start, end) = (frames().min().unwrap_or(0), frames().max().unwrap_or(0));
        let rate = Shortest(stage.frame_rate);
        let mut text = format!(
            "#usda 1.0\n(\n    defaultPrim = \"Run\"\n    doc = \"{}\"\n    endTimeCode = {end}\n    \
             framesPerSecond = {rate}\n    metersPerUnit = 1\n    startTimeCode = {start}\n    \
             timeCodesPerSecond = {rate}\n    upAxis = \"Y\"\n)\n\ndef Xform \"Run\"\n{{\n",
            quoted(&stage.title)
        );
        if !self.surfaces.is_empty() {
            let _ = writeln!(
                text,
                "def Mesh \"Surface\" (\n    prepend apiSchemas = [\"MaterialBindingAPI\"]\n{})\n{{\n\
                 uniform token subdivisionScheme = \"none\"\nrel material:binding = </Run/Looks/Fluid>",
                clips("surface", "/Surface", &self.surfaces)
            );
            Self::surface_attributes(stage).for_each(|a| declare(&mut text, a));
            if stage.fluids.len() <= 1 {
                let color = stage.look(0).color.map(|c| c as f32);
                let _ = writeln!(text, "{} = [({})]", usda::COLOR, Joined(&color, ", "));
            }
            text += "}\n";
        }
        if !self.particles.is_empty() {
            let color = stage.look(0).color.map(|c| c as f32);
            // Where there is a surface, the particles are there for whoever asks, and not in the picture.
            let purpose = if self.surfaces.is_empty() { "default" } else { "guide" };
            let _ = writeln!(
                text,
                "def Points \"Particles\" (\n{})\n{{\nuniform token purpose = \"{purpose}\"\n\
                 float[] widths = [{}] (interpolation = \"constant\")\n{} = [({})]",
                clips("particles", "/Particles", &self.particles),
                Shortest(self.spacing),
                usda::COLOR,
                Joined(&color, ", ")
            );
            usda::PARTICLES.iter().for_each(|a| declare(&mut text, a));
            text += "}\n";
        }
        if !self.solids.is_empty() {
            let _ =
                writeln!(text, "def Scope \"Solids\" (\n{})\n{{", clips("solids", "/Solids", &self.solids));
            self.bodies.iter().enumerate().for_each(|(i, radius)| body(&mut text, i, *radius));
            text += "}\n";
        }
        self.walls(&mut text, stage, start..=end);
        surroundings(&mut text, stage);
        text += "}\n";
        text
    }

    fn walls(&self, text: &mut String, stage: &Stage, frames: std::ops::RangeInclusive<u64>) {
        *text += "def Scope \"Walls\"\n{\n";
        for (i, wall) in stage.walls.iter().enumerate() {
            let look = if wall.glass { "Glass" } else { "Wall" };
            let _ = writeln!(
                text,
                "def Mesh \"Wall_{i}_{}\" (\n    prepend apiSchemas = [\"MaterialBindingAPI\"]\n)\n{{\n\
                 rel material:binding = </Run/Looks/{look}>",
                identifier(&wall.name)
            );
            mesh(text, &wall.mesh);
            if wall.moves() {
                *text += "uniform token[] xformOpOrder = [\"xformOp:transform\"]\n\
                          matrix4d xformOp:transform.timeSamples = {\n";
                for frame in frames.clone() {
                    // A frame is at exactly its number divided by the frame rate.
                    let pose = wall.pose(frame as f64 / stage.frame_rate);
                    let _ = writeln!(text, "{frame}: {},", matrix(&DMat4::from(pose)));
                }
                *text += "}\n";
            }
            *text += "}\n";
        }
        if !stage.room.triangles.is_empty() {
            *text += "def Mesh \"Room\"\n{\nuniform token purpose = \"guide\"\n";
            mesh(text, &stage.room);
            *text += "}\n";
        }
        *text += "}\n";
    }
}

/// The clip metadata of a prim: the layer of a frame rules from that frame's time code on.
fn clips(what: &str, prim: &str, frames: &[u64]) -> String {
    let list = |item: &dyn Fn((usize, &u64)) -> String| {
        frames.iter().enumerate().map(item).collect::<Vec<_>>().join(", ")
    };
    format!(
        "    clips = {{\n        dictionary default = {{\n            double2[] active = [{}]\n            \
         asset[] assetPaths = [{}]\n            asset manifestAssetPath = @./manifest.usda@\n            \
         string primPath = \"{prim}\"\n            double2[] times = [{}]\n        }}\n    }}\n",
        list(&|(i, frame)| format!("({frame}, {i})")),
        list(&|(_, frame)| format!("@./{what}_{frame:04}.usda@")),
        list(&|(_, frame)| format!("({frame}, {frame})")),
    )
}

/// Says that an attribute exists and leaves its values to the clips: any value here would hide theirs.
fn declare(text: &mut String, attribute: &str) {
    let interpolation = match attribute {
        usda::COLOR | "normal3f[] normals" => " (interpolation = \"vertex\")",
        _ => "",
    };
    let _ = writeln!(text, "{attribute}{interpolation}");
}

fn body(text: &mut String, i: usize, radius: f32) {
    let binding = "prepend apiSchemas = [\"MaterialBindingAPI\"]";
    if radius > 0.0 {
        let _ = writeln!(
            text,
            "def Sphere \"Body_{i}\" (\n{binding}\n)\n{{\nrel material:binding = </Run/Looks/Solid>\ndouble radius = {radius}\n\
             uniform token[] xformOpOrder = [\"xformOp:translate\"]"
        );
        declare(text, usda::BALL);
    } else {
        let _ = writeln!(
            text,
            "def Mesh \"Body_{i}\" (\n{binding}\n)\n{{\nrel material:binding = </Run/Looks/Solid>\nuniform bool doubleSided = 1\n\
             uniform token subdivisionScheme = \"none\""
        );
        usda::BODY.iter().for_each(|a| declare(text, a));
    }
    *text += "}\n";
}

/// A mesh that stays as it is.
fn mesh(text: &mut String, mesh: &Surface) {
    let list = |vectors: &[[f32; 3]]| {
        vectors.iter().map(|v| format!("({})", Joined(v, ", "))).collect::<Vec<_>>().join(", ")
    };
    let corners: Vec<String> = mesh.triangles.as_flattened().iter().map(u32::to_string).collect();
    let _ = writeln!(
        text,
        "uniform bool doubleSided = 1\nuniform token subdivisionScheme = \"none\"\nint[] faceVertexCounts = [{}]\n\
         int[] faceVertexIndices = [{}]\npoint3f[] points = [{}]\nnormal3f[] normals = [{}] (interpolation = \"vertex\")",
        vec!["3"; mesh.triangles.len()].join(", "),
        corners.join(", "),
        list(&mesh.position),
        list(&mesh.normal)
    );
}

/// Looks, camera, lights and floor.
fn surroundings(text: &mut String, stage: &Stage) {
    *text += "def Scope \"Looks\"\n{\n";
    let [r, g, b] = stage.look(0).color.map(Shortest);
    let _ = writeln!(
        text,
        "def Material \"Fluid\"\n{{\ntoken outputs:surface.connect = </Run/Looks/Fluid/Shader.outputs:surface>\n\
         def Shader \"Color\"\n{{\nuniform token info:id = \"UsdPrimvarReader_float3\"\nstring inputs:varname = \"displayColor\"\n\
         float3 inputs:fallback = ({r}, {g}, {b})\nfloat3 outputs:result\n}}\n\
         def Shader \"Shader\"\n{{\nuniform token info:id = \"UsdPreviewSurface\"\n\
         color3f inputs:diffuseColor.connect = </Run/Looks/Fluid/Color.outputs:result>\nfloat inputs:ior = {WATER_IOR}\n\
         float inputs:metallic = 0\nfloat inputs:opacity = 0.35\nfloat inputs:roughness = 0.02\n\
         token outputs:surface\n}}\n}}"
    );
    for (name, color, opacity, roughness) in [
        ("Wall", "0.6, 0.6, 0.6", 1.0, 0.8),
        ("Glass", "1, 1, 1", 0.1, 0.0),
        ("Solid", "0.8, 0.3, 0.1", 1.0, 0.5),
    ] {
        let _ = writeln!(
            text,
            "def Material \"{name}\"\n{{\ntoken outputs:surface.connect = </Run/Looks/{name}/Shader.outputs:surface>\n\
             def Shader \"Shader\"\n{{\nuniform token info:id = \"UsdPreviewSurface\"\ncolor3f inputs:diffuseColor = ({color})\n\
             float inputs:ior = {GLASS_IOR}\nfloat inputs:opacity = {opacity}\nfloat inputs:roughness = {roughness}\n\
             token outputs:surface\n}}\n}}"
        );
    }
    *text += "}\n";
    let camera = &stage.camera;
    // Apertures in tenths of a unit, a 36 mm wide film of 16:9.
    let (width, height) = (36.0, 20.25);
    let focal = 0.5 * height / (0.5 * camera.fov).to_radians().tan();
    let near = 1e-3 * camera.position.distance(camera.target).max(1e-6);
    let _ = writeln!(
        text,
        "def Camera \"Camera\"\n{{\nfloat horizontalAperture = {width}\nfloat verticalAperture = {height}\n\
         float focalLength = {}\nfloat2 clippingRange = ({}, {})\n\
         matrix4d xformOp:transform = {}\nuniform token[] xformOpOrder = [\"xformOp:transform\"]\n}}",
        Shortest(focal),
        Shortest(near),
        Shortest(1e6 * near),
        matrix(&looking(camera.position, camera.target))
    );
    let centre = stage.bounds.center();
    let _ = writeln!(
        text,
        "def DistantLight \"Sun\"\n{{\nfloat inputs:intensity = 3\nfloat inputs:angle = 0.53\n\
         matrix4d xformOp:transform = {}\nuniform token[] xformOpOrder = [\"xformOp:transform\"]\n}}\n\
         def DomeLight \"Sky\"\n{{\ncolor3f inputs:color = (0.8, 0.9, 1)\nfloat inputs:intensity = 0.7\n}}",
        matrix(&looking(centre + stage.sun(), centre))
    );
    let size = stage.bounds.size().max_element().max(1e-6);
    let (reach, y) = (10.0 * size, Shortest(stage.floor - 1e-3 * size));
    let [x0, x1, z0, z1] =
        [centre.x - reach, centre.x + reach, centre.z - reach, centre.z + reach].map(Shortest);
    let _ = writeln!(
        text,
        "def Mesh \"Floor\" (\nprepend apiSchemas = [\"MaterialBindingAPI\"]\n)\n{{\nrel material:binding = </Run/Looks/Wall>\n\
         uniform token subdivisionScheme = \"none\"\nint[] faceVertexCounts = [4]\nint[] faceVertexIndices = [0, 1, 2, 3]\n\
         point3f[] points = [({x0}, {y}, {z1}), ({x1}, {y}, {z1}), ({x1}, {y}, {z0}), ({x0}, {y}, {z0})]\n}}"
    );
}

/// USD multiplies rows from the left: its rows are our columns.
fn matrix(m: &DMat4) -> String {
    let row = |k: usize| {
        let numbers = m.col(k).to_array().map(|x| Shortest(x).to_string());
        format!("({})", numbers.join(", "))
    };
    format!("( {}, {}, {}, {} )", row(0), row(1), row(2), row(3))
}

/// Text for between double quotes.
fn quoted(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .flat_map(|c| matches!(c, '"' | '\\').then_some('\\').into_iter().chain([c]))
        .collect()
}
