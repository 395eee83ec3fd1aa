//! Tests of the reader as a whole.

mod events;
mod made;
mod mutations;
mod overrides;
mod reading;
mod schemas;

use std::path::Path;

use glam::DVec3;

use super::files::{Files, Model, Placement};
use super::mesh::TriMesh;
use super::shape::Heightfield;
use super::{Loaded, Scene, SceneError};

/// A scene that uses every key but those of [`MADE`].
const FULL: &str = include_str!("full.toml");

/// The keys of shapes made by code; apart, since they take a while to make.
const MADE: &str = include_str!("made.toml");

/// The smallest scene.
const SMALL: &str = "[model]\nspacing = 0.1\n[[fluid]]\n";

/// Knows `rocks.obj`, a tetrahedron, and `hills.txt`.
struct FakeFiles;

impl Files for FakeFiles {
    fn mesh(&self, path: &Path, placement: &Placement) -> Result<TriMesh, String> {
        if !path.ends_with("rocks.obj") {
            return Err(format!("{} was not found", path.display()));
        }
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let mesh = TriMesh::new(corners.to_vec(), vec![[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]]);
        Ok(placement.apply(&mesh.unwrap()))
    }

    fn model(&self, _model: Model, placement: &Placement) -> TriMesh {
        placement.apply(&TriMesh::cuboid(DVec3::ZERO, DVec3::ONE))
    }

    fn heightfield(&self, path: &Path, origin: DVec3, size: [f64; 2]) -> Result<Heightfield, String> {
        if !path.ends_with("hills.txt") {
            return Err(format!("{} was not found", path.display()));
        }
        Ok(Heightfield::new(origin, size, [2, 2], vec![0.0, 0.1, 0.2, 0.3]).unwrap())
    }
}

fn parse(text: &str) -> Result<Loaded, SceneError> {
    parse_set(text, &[])
}

fn parse_set(text: &str, overrides: &[&str]) -> Result<Loaded, SceneError> {
    let overrides: Vec<_> = overrides.iter().map(|set| set.to_string()).collect();
    Scene::parse_with(text, "dam.toml", Path::new("/scenes"), &overrides, &FakeFiles)
}

fn read(text: &str) -> Scene {
    parse(text).unwrap_or_else(|error| panic!("{error}")).scene
}

/// The message of a scene that must be wrong.
fn message(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}
