//! Builds shapes, and estimates how many particles they hold before any memory is asked for.

use std::f64::consts::PI;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::DVec3;

use super::build::check_corners;
use super::files::{Files, Placement};
use super::mesh::TriMesh;
use super::read::Reader;
use super::shape::{Heightfield, Shape};
use super::spec::MAX_HEIGHTS;

const KINDS: [&str; 6] = ["box", "sphere", "cylinder", "disc", "mesh", "heightfield"];

/// Builds shapes, with the folder and the door to its files.
pub struct ShapeBuilder<'a> {
    /// Folder that file names are relative to.
    pub base_dir: &'a Path,
    /// Reads the files.
    pub files: &'a dyn Files,
}

impl ShapeBuilder<'_> {
    /// Where a file named in the scene is.
    pub fn resolve(&self, file: &str) -> PathBuf {
        let joined = self.base_dir.join(file);
        std::path::absolute(&joined).unwrap_or(joined)
    }

    /// The shape of an entry, if it has one; it must be one of the `allowed` kinds.
    pub fn maybe_build(&self, entry: &Reader, allowed: &[&str]) -> Option<Shape> {
        let choice = entry.maybe_table("shape")?;
        let kind = choice.which(&KINDS);
        if !allowed.contains(&kind) {
            let message = format!("`[[{}]]` cannot have the shape `{kind}`", entry.name());
            choice.fail(kind, message, format!("one of: {}", allowed.join(", ")));
            return None;
        }
        let shape = choice.table(kind);
        if entry.name() != "boundary" && kind != "disc" && kind != "heightfield" && shape.has("inside") {
            shape.fail(
                "inside",
                format!("`[[{}]]` has no `inside`", entry.name()),
                "it only in a `[[boundary]]`",
            );
        }
        match kind {
            "box" => {
                let (min, max) = (shape.vector("min"), shape.vector("max"));
                check_corners(&shape, min, max);
                Some(Shape::Box { min, max })
            }
            "sphere" => {
                Some(Shape::Sphere { center: shape.vector("center"), radius: shape.number("radius") })
            }
            "cylinder" => {
                let (axis, height) = (shape.direction("axis"), shape.number("height"));
                let middle = shape.maybe_vector("center").map(|center| center - 0.5 * height * axis);
                let base = middle.unwrap_or_else(|| shape.vector("base"));
                Some(Shape::Cylinder { base, axis, radius: shape.number("radius"), height })
            }
            "disc" => Some(Shape::Disc {
                center: shape.vector("center"),
                normal: shape.direction("normal"),
                radius: shape.number("radius"),
            }),
            "mesh" => self.build_mesh(&shape),
            _ => self.build_heightfield(&shape),
        }
    }

    fn build_mesh(&self, shape: &Reader) -> Option<Shape> {
        let placement =
            Placement::new(shape.number("scale"), shape.vector("rotate"), shape.vector("translate"));
        let path = self.resolve(shape.text("file"));
        match self.files.mesh(&path, &placement) {
            Ok(mesh) => Some(Shape::Mesh(Arc::new(mesh))),
            Err(reason) => {
                shape.fail("file", reason, format!("a mesh file at {}", path.display()));
                None
            }
        }
    }

    fn build_heightfield(&self, shape: &Reader) -> Option<Shape> {
        let (origin, size) = (shape.vector("origin"), shape.numbers("size"));
        let size = [size[0], size[1]];
        let field = if shape.has("file") {
            let path = self.resolve(shape.text("file"));
            self.files
                .heightfield(&path, origin, size)
                .map_err(|reason| shape.fail("file", reason, format!("a height file at {}", path.display())))
                .ok()?
        } else {
            let rows = shape.rows("heights");
            let samples = [rows[0].len(), rows.len()];
            if samples.contains(&1) || rows.iter().any(|row| row.len() != samples[0]) {
                let message = "the rows are of unequal length or too few".into();
                shape.fail(
                    "heights",
                    message,
                    "at least two rows of the same length, at least two heights each",
                );
                return None;
            }
            Heightfield { origin, size, samples, heights: rows.concat() }
        };
        if field.heights.len() > MAX_HEIGHTS {
            shape.fail("file", "there are too many heights".into(), format!("at most {MAX_HEIGHTS}"));
            return None;
        }
        Some(Shape::Heightfield(Arc::new(field)))
    }
}

/// About how many particles fill a shape, and how many lattice points have to be tested for that.
pub fn particles_in(shape: &Shape, spacing: f64) -> (f64, f64) {
    let lattice = |extent: DVec3| (extent / spacing).max(DVec3::ONE).element_product();
    let cell = spacing * spacing * spacing;
    match shape {
        Shape::Box { min, max } => (lattice(*max - *min), 0.0),
        Shape::Sphere { radius, .. } => (4.0 / 3.0 * PI * (radius / spacing).powi(3), 0.0),
        Shape::Cylinder { base, axis, radius, height } => {
            let (low, high) = (base.min(*base + *height * *axis), base.max(*base + *height * *axis));
            let bounds = high - low + DVec3::splat(2.0 * radius);
            (PI * radius * radius * height / cell, lattice(bounds))
        }
        Shape::Mesh(mesh) => {
            let bound = |pick: fn(DVec3, DVec3) -> DVec3| mesh.vertices.iter().copied().reduce(pick);
            let (low, high) = (bound(DVec3::min).unwrap_or_default(), bound(DVec3::max).unwrap_or_default());
            (volume(mesh).min(lattice(high - low) * cell) / cell, lattice(high - low))
        }
        Shape::Disc { .. } | Shape::Heightfield(_) => (0.0, 0.0),
    }
}

/// Volume of a closed mesh: the sum of signed tetrahedra over its triangles.
fn volume(mesh: &TriMesh) -> f64 {
    let corner = |i: u32| mesh.vertices.get(i as usize).copied().unwrap_or_default();
    let tetrahedron = |t: &[u32; 3]| corner(t[0]).dot(corner(t[1]).cross(corner(t[2]))) / 6.0;
    mesh.triangles.iter().map(tetrahedron).sum::<f64>().abs()
}
