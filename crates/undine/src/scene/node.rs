//! The parsed text as a small tree with places: inline and headed tables look the same here, and so do
//! `[[entries]]` and lists of inline tables.

use std::fmt;
use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

/// Place in the text, bytes.
pub type Span = Range<usize>;

/// A value and where it stands.
#[derive(Debug)]
pub struct Node {
    /// Place of the value; of the header for a headed table.
    pub span: Span,
    /// The value.
    pub data: Data,
}

/// A value of the file.
#[derive(Debug)]
pub enum Data {
    /// Text.
    Text(String),
    /// Whole number.
    Integer(i64),
    /// Other number.
    Float(f64),
    /// Flag.
    Flag(bool),
    /// Date or time, which no key wants.
    Date,
    /// List.
    List(Vec<Node>),
    /// Table, in file order.
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Debug)]
pub struct Entry {
    /// Name of the key.
    pub name: String,
    /// Place of the key.
    pub span: Span,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// The tree of a parsed document. The parser bounds its depth.
    pub fn from_document<S: AsRef<str>>(document: &Document<S>) -> Node {
        Node { span: 0..0, data: Data::Table(entries(document.as_table())) }
    }

    /// The value of a table's key.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|entry| &entry.node)
    }

    /// The key of a table, with its place.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        match &self.data {
            Data::Table(entries) => entries.iter().find(|entry| entry.name == name),
            _ => None,
        }
    }

    /// The elements of a list.
    pub fn list(&self) -> &[Node] {
        match &self.data {
            Data::List(nodes) => nodes,
            _ => &[],
        }
    }

    /// The number, whole or not.
    pub fn number(&self) -> Option<f64> {
        match self.data {
            Data::Integer(value) => Some(value as f64),
            Data::Float(value) => Some(value),
            _ => None,
        }
    }

    /// What it is, for messages.
    pub fn describe(&self) -> String {
        match &self.data {
            Data::Text(text) => format!("the text {}", clip(&format!("{text:?}"))),
            Data::Integer(value) => format!("{value}"),
            Data::Float(value) => format!("{value}"),
            Data::Flag(value) => format!("{value}"),
            Data::Date => "a date".into(),
            Data::List(nodes) if nodes.is_empty() => "an empty list".into(),
            Data::List(nodes) => format!("a list of {}", nodes.len()),
            Data::Table(_) => "a table".into(),
        }
    }

    /// Where the place of `path`'s key (or list element) is, if the tree has it.
    pub fn locate(&self, path: &KeyPath) -> Option<Span> {
        let mut node = self;
        let mut span = None;
        for step in &path.0 {
            match step {
                Step::Key(name) => {
                    let entry = node.entry(name)?;
                    (node, span) = (&entry.node, Some(entry.span.clone()));
                }
                Step::Index(index) => {
                    node = node.list().get(*index)?;
                    span = Some(node.span.clone());
                }
            }
        }
        span
    }
}

/// At most 60 characters of a text.
pub fn clip(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

fn entries(table: &dyn TableLike) -> Vec<Entry> {
    table
        .iter()
        .filter_map(|(name, item)| {
            let span = table.key(name).and_then(toml_edit::Key::span).unwrap_or_default();
            Some(Entry { name: name.into(), node: from_item(item, &span)?, span })
        })
        .collect()
}

fn from_item(item: &Item, key: &Span) -> Option<Node> {
    let span = item.span().unwrap_or_else(|| key.clone());
    let data = match item {
        Item::None => return None,
        Item::Value(value) => return Some(from_value(value, key)),
        Item::Table(table) => Data::Table(entries(table)),
        Item::ArrayOfTables(tables) => Data::List(
            tables
                .iter()
                .map(|table| Node {
                    span: table.span().unwrap_or_else(|| key.clone()),
                    data: Data::Table(entries(table)),
                })
                .collect(),
        ),
    };
    Some(Node { span, data })
}

fn from_value(value: &Value, key: &Span) -> Node {
    let span = value.span().unwrap_or_else(|| key.clone());
    let data = match value {
        Value::String(text) => Data::Text(text.value().clone()),
        Value::Integer(number) => Data::Integer(*number.value()),
        Value::Float(number) => Data::Float(*number.value()),
        Value::Boolean(flag) => Data::Flag(*flag.value()),
        Value::Datetime(_) => Data::Date,
        Value::Array(array) => Data::List(array.iter().map(|value| from_value(value, &span)).collect()),
        Value::InlineTable(table) => Data::Table(entries(table)),
    };
    Node { span, data }
}

/// Path of a key: `fluid[0].density`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(pub Vec<Step>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a table.
    Key(String),
    /// Into a list.
    Index(usize),
}

impl KeyPath {
    /// This path and one more key.
    pub fn key(&self, name: &str) -> KeyPath {
        self.with(Step::Key(name.into()))
    }

    /// This path and one more index.
    pub fn index(&self, index: usize) -> KeyPath {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> KeyPath {
        let mut steps = self.0.clone();
        steps.push(step);
        KeyPath(steps)
    }

    /// This path without its last step.
    pub fn parent(&self) -> KeyPath {
        KeyPath(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// `self` is `other` or lies below it.
    pub fn is_within(&self, other: &KeyPath) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(name) if i == 0 => write!(f, "{name}")?,
                Step::Key(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
