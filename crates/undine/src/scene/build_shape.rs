//! Builds shapes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{DVec2, DVec3};

use super::Boundary;
use super::build::check_corners;
use super::files::{Files, Model, Placement};
use super::made::{Pile, Rock, Terrain, Valley, lathe};
use super::mesh::TriMesh;
use super::mesh_io::MeshError;
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
        self.build_on(choice, owner, allowed, &[])
    }

    /// The same for a shape that may rest on one of the walls before it.
    pub fn build_on(
        &self,
        choice: &Reader,
        owner: &str,
        allowed: &[&str],
        before: &[Boundary],
    ) -> Option<Shape> {
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
            "mesh" => self.build_mesh(&shape, before),
            _ => self.build_heightfield(&shape),
        }
    }

    fn build_mesh(&self, shape: &Reader, before: &[Boundary]) -> Option<Shape> {
        let placement = Placement {
            scale: shape.number("scale"),
            rotate: shape.vector("rotate"),
            translate: shape.vector("translate"),
        };
        let kind = shape.which(&["file", "make", "rock", "rocks", "lathe"]);
        let mesh = match kind {
            "file" => self.files.mesh(&self.resolve(shape.text("file")), &placement),
            "make" => Ok(self.files.model(Model::Dragon, &placement)),
            "rock" => Ok(placement.apply(&build_rock(&shape.table("rock")))),
            "rocks" => build_rocks(&shape.table("rocks"), before).map(|mesh| placement.apply(&mesh)),
            _ => build_lathe(&shape.table("lathe")).map(|mesh| placement.apply(&mesh)),
        };
        let mesh = mesh.and_then(|mesh| match mesh.triangles.len() {
            0 => Err("the mesh has no triangles within 1e12 m".into()),
            _ => Ok(mesh),
        });
        let expected = match kind {
            "rocks" => "a box with room for rocks, on a boundary above with a heightfield",
            "lathe" => "three or more points [radius, y] that enclose an area, no radius below 0",
            _ => "an OBJ, PLY or STL mesh",
        };
        mesh.map(|mesh| Shape::Mesh(Arc::new(mesh))).map_err(|reason| shape.fail(kind, reason, expected)).ok()
    }

    fn build_heightfield(&self, shape: &Reader) -> Option<Shape> {
        let (origin, size) = (shape.vector("origin"), shape.numbers("size"));
        let size = [size[0], size[1]];
        let (key, field) = if shape.has("file") {
            ("file", self.files.heightfield(&self.resolve(shape.text("file")), origin, size))
        } else if let Some(terrain) = shape.maybe_table("terrain") {
            ("terrain", build_terrain(&terrain, origin, size).map_err(|error| error.to_string()))
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
                let expected = match key {
                    "terrain" => "fewer samples: a greater `cell` or `scale`",
                    _ => "at least two rows of the same length, at least two heights each",
                };
                shape.fail(key, reason, expected);
            })
            .ok()
    }
}

/// Subdivisions of a single rock.
const DETAIL: u32 = 3;

fn build_rock(rock: &Reader) -> TriMesh {
    let (center, radius) = (rock.vector("center"), rock.number("radius"));
    Rock::new(center, radius, rock.integer("seed"), rock.number("roughness")).mesh(DETAIL)
}

fn build_rocks(rocks: &Reader, before: &[Boundary]) -> Result<TriMesh, String> {
    let (min, max) = (rocks.vector("min"), rocks.vector("max"));
    check_corners(rocks, min, max);
    let largest = rocks.number("radius");
    let smallest = rocks.maybe_number("smallest").unwrap_or(largest);
    if smallest > largest {
        return Err(format!("the smallest rocks, {smallest} m, are larger than the largest, {largest} m"));
    }
    let pile = Pile {
        min,
        max,
        radius: [smallest, largest],
        count: rocks.integer("count") as usize,
        seed: rocks.integer("seed"),
        roughness: rocks.number("roughness"),
    };
    let ground = match rocks.maybe_text("ground") {
        None => None,
        Some(name) => match before.iter().find(|wall| wall.name == name).map(|wall| &wall.shape) {
            Some(Shape::Heightfield(field)) => Some(field),
            Some(_) => return Err(format!("the boundary `{name}` is no heightfield")),
            None => return Err(format!("there is no boundary `{name}` above this one")),
        },
    };
    pile.mesh(ground.map(|field| &**field)).ok_or_else(|| "no rock finds room in its box".into())
}

fn build_lathe(table: &Reader) -> Result<TriMesh, String> {
    let outline: Vec<DVec2> = table.rows("outline").iter().map(|p| DVec2::new(p[0], p[1])).collect();
    let sides = table.integer("sides") as u32;
    lathe(&outline, sides).ok_or_else(|| "this outline cannot be turned".into())
}

fn build_terrain(terrain: &Reader, origin: DVec3, size: [f64; 2]) -> Result<Heightfield, MeshError> {
    let scale = terrain.number("scale");
    let valley = terrain.maybe_table("valley").map(|valley| Valley {
        depth: valley.number("depth"),
        width: valley.number("width"),
        bank: valley.number("bank"),
        meander: valley.number("meander"),
        bend: valley.maybe_number("bend").unwrap_or(0.5 * size[0]),
    });
    let terrain = Terrain {
        seed: terrain.integer("seed"),
        relief: terrain.number("relief"),
        scale,
        octaves: terrain.integer("octaves") as u32,
        slope: terrain.number("slope"),
        cell: terrain.maybe_number("cell").unwrap_or(scale / 24.0),
        valley,
    };
    terrain.heightfield(origin, size)
}
