//! `--set model.spacing=0.01`: overrides, applied to the document before anything is checked.

use toml_edit::{DocumentMut, Item, Key, Value};

use super::build::default_name;
use super::error::nearest;
use super::node::{KeyPath, Step, clip};

/// What an override did: which key now has a value that is not in the file.
#[derive(Debug)]
pub struct Applied {
    /// The override as given.
    pub text: String,
    /// The key.
    pub path: KeyPath,
}

/// Why an override could not be applied.
#[derive(Debug, Default)]
pub struct SetFault {
    /// The key as far as it was found.
    pub path: KeyPath,
    /// What is wrong.
    pub message: String,
    /// What was expected.
    pub expected: Option<String>,
    /// The nearest name.
    pub suggestion: Option<String>,
}

/// Applies `key=value`. The value is TOML, or else taken as a word. List entries go by index or by name:
/// `fluid.0.viscosity`, `fluid.water.viscosity`.
pub fn apply(document: &mut DocumentMut, set: &str) -> Result<Applied, SetFault> {
    let expected = || Some("KEY=VALUE, such as model.spacing=0.01 or fluid.water.viscosity=0.1".into());
    let (key, value) = set.split_once('=').ok_or_else(|| SetFault {
        message: "there is no `=`".into(),
        expected: expected(),
        ..Default::default()
    })?;
    let names = split_key(key.trim());
    let Some((last, parents)) = names.split_last().filter(|_| names.len() <= 16) else {
        return Err(SetFault {
            message: "this is not a key".into(),
            expected: expected(),
            ..Default::default()
        });
    };
    let mut path = KeyPath::default();
    let mut item = document.as_item_mut();
    for name in parents {
        item = descend(item, name, &mut path)?;
    }
    let mut value = parse_value(value.trim());
    if let Some(table) = item.as_table_like_mut() {
        path = path.key(last);
        match table.get_mut(last).and_then(Item::as_value_mut) {
            Some(old) => replace(old, value),
            None => {
                table.insert(last, Item::Value(value));
            }
        }
    } else {
        let slot = element(item, last, &mut path)?;
        match slot.as_value_mut() {
            Some(old) => replace(old, value),
            None if value.is_inline_table() => {
                value.decor_mut().clear();
                // An entry `[[fluid]]` stays an entry of that form.
                *slot = match Item::Value(value).into_table() {
                    Ok(table) => Item::Table(table),
                    Err(item) => item,
                };
            }
            None => {
                let message = format!("`{path}` cannot be {}", clip(value.to_string().trim()));
                return Err(SetFault { path, message, expected: Some("a table".into()), suggestion: None });
            }
        }
    }
    Ok(Applied { text: set.into(), path })
}

/// Puts the new value where the old one was, with the spaces and comments around it.
fn replace(old: &mut Value, mut new: Value) {
    *new.decor_mut() = old.decor().clone();
    *old = new;
}

fn split_key(key: &str) -> Vec<String> {
    match Key::parse(key) {
        Ok(keys) => keys.iter().map(|key| key.get().to_string()).collect(),
        // Names may hold letters that TOML wants in quotes; here they need none.
        Err(_) => key.split('.').map(|part| part.trim().trim_matches(['"', '\'']).to_string()).collect(),
    }
}

fn parse_value(text: &str) -> Value {
    let mut value = text.parse::<Value>().unwrap_or_else(|_| Value::from(text));
    value.decor_mut().clear();
    value
}

fn descend<'a>(item: &'a mut Item, name: &str, path: &mut KeyPath) -> Result<&'a mut Item, SetFault> {
    if !item.is_table_like() {
        return element(item, name, path);
    }
    *path = path.key(name);
    let inline = item.is_inline_table();
    let missing = item.get(name).is_none();
    if let (true, Some(table)) = (missing, item.as_table_like_mut()) {
        // An inline table can only hold values.
        let new =
            if inline { Item::Value(Value::InlineTable(Default::default())) } else { toml_edit::table() };
        table.insert(name, new);
    }
    item.get_mut(name).ok_or_else(|| SetFault {
        path: path.clone(),
        message: format!("`{path}` cannot be set"),
        ..Default::default()
    })
}

/// An element of a list, by index or by the name of its table.
fn element<'a>(item: &'a mut Item, name: &str, path: &mut KeyPath) -> Result<&'a mut Item, SetFault> {
    let length = match item {
        Item::ArrayOfTables(tables) => tables.len(),
        Item::Value(Value::Array(array)) => array.len(),
        _ => {
            let message = format!("`{path}` is a {} and has no `{}`", item.type_name(), clip(name));
            return Err(SetFault { path: path.clone(), message, ..Default::default() });
        }
    };
    let kind = match path.0.last() {
        Some(Step::Key(key)) => key.clone(),
        _ => String::new(),
    };
    let names: Vec<String> = (0..length)
        .map(|i| match item.get(i).and_then(|entry| entry.get("name")).and_then(Item::as_str) {
            Some(name) => name.into(),
            None => default_name(&kind, i),
        })
        .collect();
    let index = name.parse().ok().or_else(|| names.iter().position(|known| known == name));
    let found = index.filter(|index| *index < length).and_then(|index| {
        *path = path.index(index);
        item.get_mut(index)
    });
    found.ok_or_else(|| SetFault {
        path: path.clone(),
        message: format!("there is no `{path}.{}`", clip(name)),
        expected: Some(match length {
            0 => "nothing: the list is empty".into(),
            _ => format!(
                "an index from 0 to {}, or one of: {}",
                length - 1,
                names[..length.min(20)].join(", ")
            ),
        }),
        suggestion: nearest(name, names.iter().map(|name| &name[..])).map(Into::into),
    })
}
