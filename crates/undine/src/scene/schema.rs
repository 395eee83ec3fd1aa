//! The table of keys as a JSON Schema, for editors, and as a reference page, for people.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::check::{describe, short};
use super::keys::SCENE;
use super::spec::{Fallback, Key, Kind, MAX_NAME, MAX_TEXT, Range, Table, WIDE};

/// JSON Schema (draft 2020-12) of the scene file.
pub fn schema() -> Value {
    let mut root = table_schema(&SCENE);
    let mut definitions = Map::new();
    define(&SCENE, &mut definitions);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Undine scene");
    root["$defs"] = Value::Object(definitions);
    root
}

/// Adds all tables below `table`, each once.
fn define(table: &'static Table, definitions: &mut Map<String, Value>) {
    for inner in inner_tables(table) {
        if !definitions.contains_key(inner.name) {
            definitions.insert(inner.name.into(), table_schema(inner));
            define(inner, definitions);
        }
    }
}

fn inner_tables(table: &'static Table) -> impl Iterator<Item = &'static Table> {
    table.keys.iter().filter_map(|key| match key.kind {
        Kind::Table(inner) | Kind::Tables(inner, _) => Some(inner),
        _ => None,
    })
}

fn table_schema(table: &'static Table) -> Value {
    let mut schema = json!({ "type": "object", "description": table.doc, "additionalProperties": false });
    let keys = table.keys.iter().map(|key| (key.name.to_string(), key_schema(key)));
    schema["properties"] = Value::Object(keys.collect());
    let required: Vec<_> = table.keys.iter().filter(|key| is_required(key)).map(|key| key.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    for group in table.groups {
        if group.required {
            schema["oneOf"] = group.keys.iter().map(|key| json!({ "required": [key] })).collect();
        } else {
            schema["not"] = json!({ "required": group.keys });
        }
    }
    schema
}

fn is_required(key: &Key) -> bool {
    matches!(key.fallback, Fallback::Required)
}

fn key_schema(key: &'static Key) -> Value {
    let list = |items: Value, min: usize, max: usize| json!({ "type": "array", "items": items, "minItems": min, "maxItems": max });
    let reference = |table: &Table| json!({ "$ref": format!("#/$defs/{}", table.name) });
    let mut schema = match &key.kind {
        Kind::Number(range) => number(range),
        Kind::Integer(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Text => json!({ "type": "string", "maxLength": MAX_TEXT }),
        Kind::Name => json!({ "type": "string", "minLength": 1, "maxLength": MAX_NAME }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Words(words) => list(json!({ "enum": words }), 0, words.len()),
        Kind::Vector(range) => list(number(range), 3, 3),
        Kind::Direction => list(number(&WIDE), 3, 3),
        Kind::Pair(range) => list(number(range), 2, 2),
        Kind::Switches => list(json!({ "type": "boolean" }), 3, 3),
        Kind::Numbers(range) => json!({ "anyOf": [number(range), list(number(range), 1, 3)] }),
        Kind::Rows(width, most) => {
            let row = list(number(&WIDE), width.unwrap_or(1), width.unwrap_or(*most));
            list(row, 1, *most)
        }
        Kind::Table(table) => reference(table),
        Kind::Tables(table, most) => list(reference(table), usize::from(is_required(key)), *most),
    };
    schema["description"] = json!(describe_key(key));
    match &key.fallback {
        Fallback::Required | Fallback::Absent(_) => {}
        Fallback::Number(value) if matches!(key.kind, Kind::Integer(..)) => {
            schema["default"] = json!(*value as u64);
        }
        Fallback::Number(value) => schema["default"] = json!(value),
        Fallback::Vector(value) => schema["default"] = json!(value),
        Fallback::Word(word) => schema["default"] = json!(word),
        Fallback::Flag(value) => schema["default"] = json!(value),
        Fallback::Flags(value) => schema["default"] = json!(value),
        Fallback::NoWords => schema["default"] = json!([]),
    }
    schema
}

fn number(range: &Range) -> Value {
    let least = if range.open { "exclusiveMinimum" } else { "minimum" };
    json!({ "type": "number", least: range.min, "maximum": range.max })
}

/// Unit, default, what it is and what raising it does, in one line.
fn describe_key(key: &Key) -> String {
    let unit = if key.unit.is_empty() { String::new() } else { format!(" Unit: {}.", key.unit) };
    let fallback = match fallback_text(key) {
        text if text.is_empty() => text,
        text if text == "required" => " Required.".into(),
        text => format!(" Default: {text}."),
    };
    format!("{}{unit}{fallback}", key.doc)
}

fn fallback_text(key: &Key) -> String {
    match &key.fallback {
        Fallback::Required => "required".into(),
        Fallback::Absent(meaning) => (*meaning).into(),
        Fallback::Number(value) => short(*value),
        Fallback::Vector(value) => format!("{:?}", value.map(|x| x as f32)).replace(".0", ""),
        Fallback::Word(word) => format!("\"{word}\""),
        Fallback::Flag(value) => value.to_string(),
        Fallback::Flags(value) => format!("{value:?}"),
        Fallback::NoWords => "[]".into(),
    }
}

/// The reference page of the scene file, in Markdown.
pub fn reference_markdown() -> String {
    let mut text = String::from(
        "# The scene file\n\n\
         A scene is a TOML file. y is up; lengths are in m, times in s, masses in kg. Unknown keys are errors. Numbers may be\n\
         written as `1` or `1.0`. `undine schema` prints the same as a JSON Schema for editors, and `--set model.spacing=0.01`\n\
         changes any key for one run; entries of a list go by index or by name: `--set fluid.water.viscosity=0.1`.\n\n\
         This page is written by the program from the table it checks scenes with\n\
         (`UNDINE_BLESS=1 cargo test -p undine reference`).\n",
    );
    let mut done = Vec::new();
    write_table(&SCENE, "The file", &mut text, &mut done);
    text
}

fn write_table(table: &'static Table, heading: &str, text: &mut String, done: &mut Vec<&'static str>) {
    done.push(table.name);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n## {heading}\n\n{}\n\n| key | value | unit | default | meaning |\n|---|---|---|---|---|\n",
        table.doc
    );
    for key in table.keys {
        let value = match &key.kind {
            Kind::Table(inner) => format!("[{0}](#{0})", inner.name),
            Kind::Tables(inner, most) => format!("at most {most} of [{0}](#{0})", inner.name),
            kind => describe(kind),
        };
        let _ = writeln!(
            text,
            "| `{}` | {value} | {} | {} | {} |",
            key.name,
            key.unit,
            fallback_text(key),
            key.doc
        );
    }
    for group in table.groups {
        let count = if group.required { "Exactly" } else { "At most" };
        let keys: Vec<_> = group.keys.iter().map(|key| format!("`{key}`")).collect();
        let _ = write!(text, "\n{count} one of {} is given.\n", keys.join(", "));
    }
    for inner in inner_tables(table) {
        if !done.contains(&inner.name) {
            write_table(inner, inner.name, text, done);
        }
    }
}
