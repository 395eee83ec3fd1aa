//! From a file, a built-in name or a text to a checked [`Scene`].

use std::io::Read;
use std::path::{Path, PathBuf};

use toml_edit::{Document, DocumentMut, Item, TableLike, TomlError, Value};

use super::build::build_scene;
use super::build_event::build_events;
use super::build_shape::ShapeBuilder;
use super::builtin;
use super::check::{Fault, Faults, check_table};
use super::error::{MAX_PROBLEMS, Place, Problem, SceneError, nearest};
use super::files::{Disk, Files};
use super::keys::{RECORDING, SCENE};
use super::node::Node;
use super::read::Reader;
use super::set::{self, Applied};
use super::spec::MAX_FILE;
use super::{Event, Scene};

/// A scene and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The checked scene.
    pub scene: Scene,
    /// The TOML text as run: overrides applied, file names absolute, so that it gives the same scene from any
    /// folder.
    pub text: String,
    /// Name of the scene: the file's, without folder and extension, or the built-in name.
    pub name: String,
    /// Folder that file names in the scene are relative to.
    pub base_dir: PathBuf,
}

impl Scene {
    /// Loads a scene file or a built-in scene and applies overrides (`model.spacing=0.01`).
    pub fn load(path_or_name: &str, overrides: &[String]) -> Result<Loaded, SceneError> {
        let path = Path::new(path_or_name);
        let is_path = path.extension().is_some() || path.components().count() > 1;
        let found = builtin::find(path_or_name).filter(|_| !is_path || !path.exists());
        if let Some(scene) = found {
            let file = format!("{}.toml", scene.name);
            return Scene::parse(scene.text, &file, Path::new("."), overrides);
        }
        if !path.exists() {
            let near = nearest(path_or_name, builtin::BUILTIN.iter().map(|scene| scene.name));
            return Err(SceneError::Unknown { name: path_or_name.into(), nearest: near.map(Into::into) });
        }
        let text = read_text(path)?;
        let base_dir = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Scene::parse(&text, path_or_name, base_dir.unwrap_or(Path::new(".")), overrides)
    }

    /// Parses a scene text. `file_name` is for messages and the scene's name; mesh files are looked for in
    /// `base_dir`.
    pub fn parse(
        text: &str,
        file_name: &str,
        base_dir: &Path,
        overrides: &[String],
    ) -> Result<Loaded, SceneError> {
        Scene::parse_with(text, file_name, base_dir, overrides, &Disk)
    }

    /// As [`Scene::parse`], with another source of mesh files.
    pub fn parse_with(
        text: &str,
        file_name: &str,
        base_dir: &Path,
        overrides: &[String],
        files: &dyn Files,
    ) -> Result<Loaded, SceneError> {
        let original = parse_document(text, file_name)?;
        let original = Node::from_document(&original);
        let (run, applied) = apply_overrides(text, file_name, overrides)?;
        let tree = parse_document(&run, file_name)?;
        let tree = Node::from_document(&tree);

        let faults = Faults::default();
        check_table(&SCENE, &tree, &Default::default(), &faults);
        let shapes = ShapeBuilder { base_dir, files };
        let scene = if faults.is_empty() {
            Some(build_scene(&Reader::new(&SCENE, &tree, &faults), &shapes))
        } else {
            None
        };
        let origin = Origin { file: file_name, text, tree: &original, applied: &applied };
        match scene.filter(|_| faults.is_empty()) {
            None => Err(origin.error(faults)),
            Some(scene) => Ok(Loaded {
                scene,
                text: with_absolute_files(&run, &shapes),
                name: Path::new(file_name).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                base_dir: base_dir.into(),
            }),
        }
    }
}

/// Parses a recording: a file of nothing but `[[event]]` entries. With a scene, what they set must exist there.
pub fn parse_events(text: &str, file_name: &str, scene: Option<&Scene>) -> Result<Vec<Event>, SceneError> {
    let document = parse_document(text, file_name)?;
    let tree = Node::from_document(&document);
    let faults = Faults::default();
    check_table(&RECORDING, &tree, &Default::default(), &faults);
    let mut events = Vec::new();
    if faults.is_empty() {
        events = build_events(&Reader::new(&RECORDING, &tree, &faults).tables("event"), scene);
    }
    let origin = Origin { file: file_name, text, tree: &tree, applied: &[] };
    if faults.is_empty() { Ok(events) } else { Err(origin.error(faults)) }
}

/// Loads a recording from a file.
pub fn load_events(path: &Path, scene: Option<&Scene>) -> Result<Vec<Event>, SceneError> {
    parse_events(&read_text(path)?, &path.to_string_lossy(), scene)
}

/// Reads a text file, not more than [`MAX_FILE`] of it even if it never ends.
fn read_text(path: &Path) -> Result<String, SceneError> {
    let fail = |reason: String| SceneError::Read { file: path.to_string_lossy().into_owned(), reason };
    if path.is_dir() {
        return Err(fail("this is a folder, not a scene file".into()));
    }
    let file = std::fs::File::open(path).map_err(|error| fail(format!("cannot be opened: {error}")))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| fail(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(fail(format!("is larger than {} MiB", MAX_FILE >> 20)));
    }
    String::from_utf8(bytes)
        .map_err(|error| fail(format!("is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())))
}

fn parse_document<'t>(text: &'t str, file: &str) -> Result<Document<&'t str>, SceneError> {
    if text.len() as u64 > MAX_FILE {
        let reason = format!("is larger than {} MiB", MAX_FILE >> 20);
        return Err(SceneError::Read { file: file.into(), reason });
    }
    Document::parse(text).map_err(|error| toml_error(&error, text, file))
}

fn toml_error(error: &TomlError, text: &str, file: &str) -> SceneError {
    // The parser's message may go on in further lines: what it expected.
    let mut lines = error.message().lines();
    let message = match lines.next() {
        Some("recursion limit") => "the nesting is too deep".to_string(),
        line => line.unwrap_or("this is not TOML").to_string(),
    };
    let expected = lines.next().map(|line| line.trim_start_matches("expected ").to_string());
    let place = error.span().map(|span| Place::find(text, &span));
    let problem = Problem { file: file.into(), place, message, expected, ..Default::default() };
    SceneError::Invalid { problems: vec![problem], more: 0 }
}

fn apply_overrides(
    text: &str,
    file: &str,
    overrides: &[String],
) -> Result<(String, Vec<Applied>), SceneError> {
    if overrides.is_empty() {
        return Ok((text.into(), Vec::new()));
    }
    let mut document: DocumentMut = text.parse().map_err(|error| toml_error(&error, text, file))?;
    let mut applied = Vec::new();
    let mut problems = Vec::new();
    for set in overrides {
        match set::apply(&mut document, set) {
            Ok(done) => applied.push(done),
            Err(fault) => problems.push(Problem {
                file: file.into(),
                place: None,
                set: Some(set.clone()),
                key: fault.path.to_string(),
                message: fault.message,
                expected: fault.expected,
                suggestion: fault.suggestion,
            }),
        }
    }
    if problems.is_empty() {
        Ok((document.to_string(), applied))
    } else {
        Err(SceneError::Invalid { problems, more: 0 })
    }
}

/// Where the checked text came from: the file's own text, and overrides on top.
struct Origin<'a> {
    file: &'a str,
    text: &'a str,
    tree: &'a Node,
    applied: &'a [Applied],
}

impl Origin<'_> {
    fn error(&self, faults: Faults) -> SceneError {
        let (faults, more) = faults.into_parts();
        let mut problems: Vec<_> = faults.into_iter().map(|fault| self.problem(fault)).collect();
        // Those of overrides first, then in file order.
        problems.sort_by_key(|problem| problem.place.as_ref().map(|place| (place.line, place.column)));
        let more = more + problems.len().saturating_sub(MAX_PROBLEMS);
        problems.truncate(MAX_PROBLEMS);
        SceneError::Invalid { problems, more }
    }

    fn problem(&self, fault: Fault) -> Problem {
        let path = &fault.path;
        let mut set = self.applied.iter().rev().find(|applied| path.is_within(&applied.path));
        // Overrides move the text: the place is looked up again in the file that people see.
        let span = if self.applied.is_empty() {
            fault.span
        } else {
            self.tree.locate(path).or_else(|| self.tree.locate(&path.parent()))
        };
        if span.is_none() && set.is_none() {
            set = self.applied.iter().rev().find(|applied| applied.path.0.first() == path.0.first());
        }
        let place = span.filter(|_| set.is_none()).map(|span| Place::find(self.text, &span));
        Problem {
            file: self.file.into(),
            place,
            set: set.map(|applied| applied.text.clone()),
            key: path.to_string(),
            message: fault.message,
            expected: fault.expected,
            suggestion: fault.suggestion,
        }
    }
}

/// The text with the file names of all shapes made absolute.
fn with_absolute_files(text: &str, shapes: &ShapeBuilder) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.into() };
    let mut changed = false;
    for kind in ["fluid", "boundary", "solid", "emitter", "outflow"] {
        let Some(entries) = document.get_mut(kind) else { continue };
        let mut index = 0;
        while let Some(entry) = entries.get_mut(index) {
            index += 1;
            let Some(shape) = entry.get_mut("shape").and_then(Item::as_table_like_mut) else { continue };
            changed |= make_absolute(shape, shapes);
        }
    }
    if changed { document.to_string() } else { text.into() }
}

fn make_absolute(shape: &mut dyn TableLike, shapes: &ShapeBuilder) -> bool {
    let mut changed = false;
    for kind in ["mesh", "heightfield"] {
        let file = shape.get_mut(kind).and_then(|shape| shape.get_mut("file")).and_then(Item::as_value_mut);
        let Some(value) = file else { continue };
        if let Some(name) = value.as_str() {
            let mut absolute = Value::from(shapes.resolve(name).to_string_lossy().into_owned());
            *absolute.decor_mut() = value.decor().clone();
            *value = absolute;
            changed = true;
        }
    }
    changed
}
