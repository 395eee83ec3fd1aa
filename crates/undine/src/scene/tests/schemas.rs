//! The schema says the same as the reader.

use serde_json::{Value, json};
use toml_edit::{Document, Item, TableLike};

use super::*;
use crate::scene::builtin::BUILTIN;
use crate::scene::{reference_markdown, schema};

/// A validator of those keywords that the schema uses.
fn valid(value: &Value, schema: &Value, root: &Value) -> bool {
    let fields = schema.as_object().unwrap();
    fields.iter().all(|(keyword, rule)| match &keyword[..] {
        "$ref" => {
            let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
            valid(value, &root["$defs"][name], root)
        }
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|x| x.fract() == 0.0),
            other => panic!("{other}"),
        },
        "properties" => value.as_object().is_none_or(|object| {
            object.iter().all(|(key, value)| rule.get(key).is_none_or(|rule| valid(value, rule, root)))
        }),
        "additionalProperties" => value
            .as_object()
            .is_none_or(|object| object.keys().all(|key| fields["properties"].get(key).is_some())),
        "required" => value.as_object().is_none_or(|object| {
            rule.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
        }),
        "oneOf" => rule.as_array().unwrap().iter().filter(|rule| valid(value, rule, root)).count() == 1,
        "anyOf" => rule.as_array().unwrap().iter().any(|rule| valid(value, rule, root)),
        "not" => !valid(value, rule, root),
        "enum" => rule.as_array().unwrap().contains(value),
        "items" => value.as_array().is_none_or(|list| list.iter().all(|value| valid(value, rule, root))),
        "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= rule.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= rule.as_u64().unwrap()),
        "minLength" => {
            value.as_str().is_none_or(|text| text.chars().count() as u64 >= rule.as_u64().unwrap())
        }
        "maxLength" => {
            value.as_str().is_none_or(|text| text.chars().count() as u64 <= rule.as_u64().unwrap())
        }
        "minimum" => value.as_f64().is_none_or(|x| x >= rule.as_f64().unwrap()),
        "exclusiveMinimum" => value.as_f64().is_none_or(|x| x > rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|x| x <= rule.as_f64().unwrap()),
        "$schema" | "$defs" | "title" | "description" | "default" => true,
        other => panic!("the validator does not know `{other}`"),
    })
}

fn table_to_json(table: &dyn TableLike) -> Value {
    table
        .iter()
        .map(|(key, item)| (key.to_string(), item_to_json(item)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn item_to_json(item: &Item) -> Value {
    match item {
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_to_json(table)).collect(),
        Item::Value(toml_edit::Value::Array(list)) => {
            list.iter().map(|value| item_to_json(&Item::Value(value.clone()))).collect()
        }
        Item::Value(toml_edit::Value::String(text)) => json!(text.value()),
        Item::Value(toml_edit::Value::Integer(number)) => json!(number.value()),
        Item::Value(toml_edit::Value::Float(number)) => json!(number.value()),
        Item::Value(toml_edit::Value::Boolean(flag)) => json!(flag.value()),
        item => table_to_json(item.as_table_like().unwrap()),
    }
}

fn to_json(text: &str) -> Value {
    table_to_json(Document::parse(text).unwrap().as_table())
}

fn to_toml(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let entries: Vec<_> =
                object.iter().map(|(key, value)| format!("{key} = {}", to_toml(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(to_toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn file(value: &Value) -> String {
    value.as_object().unwrap().iter().map(|(key, value)| format!("{key} = {}\n", to_toml(value))).collect()
}

/// Pointers to all values, and to all tables.
fn pointers(value: &Value, at: String, values: &mut Vec<String>, tables: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            tables.push(at.clone());
            for (key, value) in object {
                values.push(format!("{at}/{key}"));
                pointers(value, format!("{at}/{key}"), values, tables);
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                values.push(format!("{at}/{i}"));
                pointers(value, format!("{at}/{i}"), values, tables);
            }
        }
        _ => {}
    }
}

#[test]
fn every_built_in_scene_satisfies_the_schema() {
    let schema = schema();
    for scene in BUILTIN {
        assert!(valid(&to_json(scene.text), &schema, &schema), "{}", scene.name);
    }
    assert!(valid(&to_json(FULL), &schema, &schema));
    assert!(valid(&to_json(MADE), &schema, &schema));
    assert_eq!(parse(&file(&to_json(FULL))).unwrap().scene, read(FULL), "JSON and back is the same scene");
}

#[test]
fn unknown_keys_and_wrong_types_are_refused_by_reader_and_schema_alike() {
    let schema = schema();
    let full = to_json(FULL);
    let (mut values, mut tables) = (Vec::new(), Vec::new());
    pointers(&full, String::new(), &mut values, &mut tables);
    assert!(values.len() > 200 && tables.len() > 40);
    for table in tables {
        let mut wrong = full.clone();
        wrong.pointer_mut(&table).unwrap()["zebra"] = json!(1);
        assert!(!valid(&wrong, &schema, &schema), "schema takes zebra in {table}");
        assert!(parse(&file(&wrong)).is_err(), "reader takes zebra in {table}");
    }
    let others = [
        json!("zebra"),
        json!(-1e300),
        json!([]),
        json!({}),
        json!(true),
        json!([[["x"]]]),
        json!(0.5),
        json!(3),
    ];
    for value in values {
        for other in &others {
            let mut changed = full.clone();
            *changed.pointer_mut(&value).unwrap() = other.clone();
            let by_schema = valid(&changed, &schema, &schema);
            let by_reader = structurally_right(&file(&changed));
            assert_eq!(by_schema, by_reader, "{value} = {other}");
        }
    }
}

/// The reader's checks against the table of keys, without those of sense.
fn structurally_right(text: &str) -> bool {
    let document = Document::parse(text).unwrap();
    let faults = crate::scene::check::Faults::default();
    let tree = crate::scene::node::Node::from_document(&document);
    crate::scene::check::check_table(&crate::scene::keys::SCENE, &tree, &Default::default(), &faults);
    faults.is_empty()
}

#[test]
fn every_key_is_documented_and_the_full_scene_uses_it() {
    fn walk(table: &'static crate::scene::spec::Table, seen: &mut Vec<&'static str>) {
        if seen.contains(&table.name) {
            return;
        }
        seen.push(table.name);
        for key in table.keys {
            assert!(key.doc.ends_with('.'), "{}.{}", table.name, key.name);
            let word = |c: char| !(c.is_alphanumeric() || c == '_');
            let used = [FULL, MADE].iter().any(|text| text.split(word).any(|part| part == key.name))
                || ["smoothing", "center", "cohesion", "drag"].contains(&key.name);
            assert!(used, "full.toml does not use {}.{}", table.name, key.name);
            if let crate::scene::spec::Kind::Table(inner) | crate::scene::spec::Kind::Tables(inner, _) =
                key.kind
            {
                walk(inner, seen);
            }
        }
    }
    walk(&crate::scene::keys::SCENE, &mut Vec::new());
}

#[test]
fn the_reference_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scene-file.md");
    if std::env::var_os("UNDINE_BLESS").is_some() {
        std::fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
        std::fs::write(path, reference_markdown()).unwrap();
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == reference_markdown(), "run: UNDINE_BLESS=1 cargo test -p undine reference");
}
