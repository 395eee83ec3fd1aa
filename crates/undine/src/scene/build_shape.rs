//! Builds shapes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::build::check_corners;
use super::files::{Files, Placement};
use super::read::Reader;
use super::shape::{Heightfield, Shape};

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
        self.build(&entry.maybe_table("shape")?, entry.name(), allowed)
    }

    /// A shape of an `owner`, such as `boundary`; it must be one of the `allowed` kinds.
    pub fn build(&self, choice: &Reader, owner: &str, allowed: &[&str]) -> Option<Shape> {
        let kind = choice.which(&KINDS);
        if !allowed.contains(&kind) {
            let message = format!("`[[{owner}]]` cannot have the shape `{kind}`");
            choice.fail(kind, message, format!("one of: {}", allowed.join(", ")));
            return None;
        }
        let shape = choice.table(kind);
        if owner != "boundary" && kind != "disc" && kind != "heightfield" && shape.has("inside") {
            shape.fail("inside", format!("`[[{owner}]]` has no `inside`"), "it only in a `[[boundary]]`");
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
        let placement = Placement {
            scale: shape.number("scale"),
            rotate: shape.vector("rotate"),
            translate: shape.vector("translate"),
        };
        let mesh = self.files.mesh(&self.resolve(shape.text("file")), &placement);
        let mesh = mesh.and_then(|mesh| match mesh.triangles.len() {
            0 => Err("the mesh has no triangles within 1e12 m".into()),
            _ => Ok(mesh),
        });
        mesh.map(|mesh| Shape::Mesh(Arc::new(mesh)))
            .map_err(|reason| shape.fail("file", reason, "an OBJ, PLY or STL mesh"))
            .ok()
    }

    fn build_heightfield(&self, shape: &Reader) -> Option<Shape> {
        let (origin, size) = (shape.vector("origin"), shape.numbers("size"));
        let size = [size[0], size[1]];
        let (key, field) = if shape.has("file") {
            ("file", self.files.heightfield(&self.resolve(shape.text("file")), origin, size))
        } else {
            let rows = shape.rows("heights");
            let samples = [rows[0].len(), rows.len()];
            let field = if rows.iter().all(|row| row.len() == samples[0]) {
                Heightfield::new(origin, size, samples, rows.concat()).map_err(|error| error.to_string())
            } else {
                Err("the rows are of unequal length".into())
            };
            ("heights", field)
        };
        field
            .map(|field| Shape::Heightfield(Arc::new(field)))
            .map_err(|reason| {
                shape.fail(key, reason, "at least two rows of the same length, at least two heights each")
            })
            .ok()
    }
}
