//! Reads values out of a checked tree; what is not given falls back to the table of keys.

use glam::DVec3;

use super::check::{Fault, Faults, integer};
use super::error::nearest;
use super::node::{Data, KeyPath, Node};
use super::spec::{Fallback, Kind, Table};

/// A checked table of the file. Its methods rely on `check_table` having found nothing wrong.
#[derive(Clone)]
pub struct Reader<'a> {
    table: &'static Table,
    /// None for an optional table that is not given: all its keys fall back.
    node: Option<&'a Node>,
    path: KeyPath,
    faults: &'a Faults,
}

impl<'a> Reader<'a> {
    /// Reads the whole file.
    pub fn new(table: &'static Table, node: &'a Node, faults: &'a Faults) -> Self {
        Reader { table, node: Some(node), path: KeyPath::default(), faults }
    }

    fn get(&self, key: &str) -> Option<&'a Node> {
        self.node?.get(key)
    }

    fn fallback(&self, key: &str) -> &'static Fallback {
        &self.table.key(key).expect("only keys of the table are read").fallback
    }

    /// The key is given.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// A number, if given.
    pub fn maybe_number(&self, key: &str) -> Option<f64> {
        self.get(key)?.number()
    }

    /// A number.
    pub fn number(&self, key: &str) -> f64 {
        self.maybe_number(key).unwrap_or_else(|| match self.fallback(key) {
            Fallback::Number(value) => *value,
            _ => unreachable!("`{key}` is required or was read as if it had a default"),
        })
    }

    /// A whole number.
    pub fn integer(&self, key: &str) -> u64 {
        self.get(key).and_then(integer).unwrap_or_else(|| self.number(key) as u64)
    }

    /// Three numbers, if given.
    pub fn maybe_vector(&self, key: &str) -> Option<DVec3> {
        match self.numbers(key)[..] {
            [x, y, z] => Some(DVec3::new(x, y, z)),
            _ => None,
        }
    }

    /// Three numbers.
    pub fn vector(&self, key: &str) -> DVec3 {
        self.maybe_vector(key).unwrap_or_else(|| match self.fallback(key) {
            Fallback::Vector(value) => DVec3::from(*value),
            _ => unreachable!("`{key}` is required or was read as if it had a default"),
        })
    }

    /// A unit vector, if given.
    pub fn maybe_direction(&self, key: &str) -> Option<DVec3> {
        self.maybe_vector(key).and_then(DVec3::try_normalize)
    }

    /// A unit vector.
    pub fn direction(&self, key: &str) -> DVec3 {
        self.vector(key).normalize_or(DVec3::Y)
    }

    /// All numbers of a list; a single number counts as a list.
    pub fn numbers(&self, key: &str) -> Vec<f64> {
        let Some(node) = self.get(key) else { return Vec::new() };
        match node.number() {
            Some(value) => vec![value],
            None => node.list().iter().filter_map(Node::number).collect(),
        }
    }

    /// Rows of numbers.
    pub fn rows(&self, key: &str) -> Vec<Vec<f64>> {
        let rows = self.get(key).map_or(&[][..], Node::list);
        rows.iter().map(|row| row.list().iter().filter_map(Node::number).collect()).collect()
    }

    /// Text or a word, if given.
    pub fn maybe_text(&self, key: &str) -> Option<&'a str> {
        match &self.get(key)?.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Text or a word.
    pub fn text(&self, key: &str) -> &'a str {
        self.maybe_text(key).unwrap_or_else(|| match self.fallback(key) {
            Fallback::Word(word) => word,
            _ => unreachable!("`{key}` is required or was read as if it had a default"),
        })
    }

    /// A list of words.
    pub fn words(&self, key: &str) -> Vec<&'a str> {
        let nodes = self.get(key).map_or(&[][..], Node::list);
        nodes
            .iter()
            .filter_map(|node| if let Data::Text(text) = &node.data { Some(&text[..]) } else { None })
            .collect()
    }

    /// A flag.
    pub fn flag(&self, key: &str) -> bool {
        match (self.get(key).map(|node| &node.data), self.fallback(key)) {
            (Some(Data::Flag(value)), _) | (None, Fallback::Flag(value)) => *value,
            _ => false,
        }
    }

    /// Three flags.
    pub fn flags(&self, key: &str) -> [bool; 3] {
        let nodes = self.get(key).map_or(&[][..], Node::list);
        std::array::from_fn(|i| matches!(nodes.get(i), Some(Node { data: Data::Flag(true), .. })))
    }

    /// A table, if given.
    pub fn maybe_table(&self, key: &str) -> Option<Reader<'a>> {
        self.get(key).map(|_| self.table(key))
    }

    /// A table; with all keys falling back when not given.
    pub fn table(&self, key: &str) -> Reader<'a> {
        match self.table.key(key).map(|key| &key.kind) {
            Some(Kind::Table(table)) => {
                Reader { table, node: self.get(key), path: self.path.key(key), faults: self.faults }
            }
            _ => unreachable!("`{key}` was read as if it were a table"),
        }
    }

    /// A list of tables.
    pub fn tables(&self, key: &str) -> Vec<Reader<'a>> {
        let Some(Kind::Tables(table, _)) = self.table.key(key).map(|key| &key.kind) else {
            unreachable!("`{key}` was read as if it were a list of tables")
        };
        let nodes = self.get(key).map_or(&[][..], Node::list).iter().enumerate();
        let path = self.path.key(key);
        nodes
            .map(|(i, node)| Reader { table, node: Some(node), path: path.index(i), faults: self.faults })
            .collect()
    }

    /// The one key of `keys` that is given.
    pub fn which(&self, keys: &[&'static str]) -> &'static str {
        keys.iter().copied().find(|key| self.has(key)).unwrap_or_default()
    }

    /// The name of this kind of table.
    pub fn name(&self) -> &'static str {
        self.table.name
    }

    /// Reports that a key's value makes no sense, though its type is right.
    pub fn fail(&self, key: &str, message: String, expected: impl Into<String>) {
        self.report(key, message, Some(expected.into()), None);
    }

    /// Reports a name that is not among the known ones.
    pub fn fail_name(&self, key: &str, what: &str, name: &str, known: &[&str]) {
        let expected = if known.is_empty() {
            format!("a {what}, but the scene has none")
        } else {
            format!("one of: {}", known[..known.len().min(20)].join(", "))
        };
        let suggestion = nearest(name, known.iter().copied()).map(Into::into);
        self.report(key, format!("there is no {what} `{name}`"), Some(expected), suggestion);
    }

    fn report(&self, key: &str, message: String, expected: Option<String>, suggestion: Option<String>) {
        self.faults.add(|| {
            let own = self.node.map(|node| node.span.clone());
            let span = self.get(key).map(|node| node.span.clone()).or(own);
            Fault { path: self.path.key(key), span, message, expected, suggestion }
        });
    }
}
