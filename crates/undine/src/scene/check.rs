//! Checks a tree against the table of keys: names, types, ranges, what is missing, what excludes what.

use std::cell::RefCell;

use super::error::nearest;
use super::node::{Data, KeyPath, Node, Span, clip};
use super::spec::{Fallback, Group, Key, Kind, MAX_NAME, MAX_TEXT, Range, Table, WIDE};

/// Something wrong, before it is known which file or override it comes from.
#[derive(Debug, Default)]
pub struct Fault {
    /// The key.
    pub path: KeyPath,
    /// Its place in the text that was checked.
    pub span: Option<Span>,
    /// What is wrong.
    pub message: String,
    /// What was expected.
    pub expected: Option<String>,
    /// The nearest valid name.
    pub suggestion: Option<String>,
}

/// Collects faults. Only the first ones are kept: a file may hold millions.
#[derive(Debug, Default)]
pub struct Faults {
    kept: RefCell<Vec<Fault>>,
    more: RefCell<usize>,
}

impl Faults {
    /// Keeps the fault, or only counts it, in which case it is never made.
    pub fn add(&self, fault: impl FnOnce() -> Fault) {
        if self.kept.borrow().len() < 50 {
            let fault = fault();
            self.kept.borrow_mut().push(fault);
        } else {
            *self.more.borrow_mut() += 1;
        }
    }

    /// Nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.kept.borrow().is_empty()
    }

    /// What was kept, and how many more there were.
    pub fn into_parts(self) -> (Vec<Fault>, usize) {
        (self.kept.into_inner(), self.more.into_inner())
    }
}

/// Checks a table and everything below it.
pub fn check_table(table: &'static Table, node: &Node, path: &KeyPath, faults: &Faults) {
    let Data::Table(entries) = &node.data else {
        return wrong(node, path, "a table".into(), None, faults);
    };
    for entry in entries {
        match table.key(&entry.name) {
            Some(key) => check_value(key, &entry.node, &path.key(key.name), faults),
            None => faults.add(|| Fault {
                path: path.key(&entry.name),
                span: Some(entry.span.clone()),
                message: format!("unknown key `{}`{}", clip(&entry.name), within(path)),
                expected: Some(format!("one of: {}", table.names().collect::<Vec<_>>().join(", "))),
                suggestion: nearest(&entry.name, table.names()).map(Into::into),
            }),
        }
    }
    for key in table.keys {
        if matches!(key.fallback, Fallback::Required) && node.get(key.name).is_none() {
            faults.add(|| Fault {
                path: path.key(key.name),
                span: Some(node.span.clone()),
                message: format!("missing key `{}`{}", key.name, within(path)),
                expected: Some(with_unit(describe(&key.kind), key.unit)),
                suggestion: None,
            });
        }
    }
    let has_unknown = entries.iter().any(|entry| table.key(&entry.name).is_none());
    for group in table.groups {
        check_group(group, has_unknown, node, path, faults);
    }
}

fn check_group(group: &Group, has_unknown: bool, node: &Node, path: &KeyPath, faults: &Faults) {
    let given: Vec<_> = group.keys.iter().filter_map(|name| node.entry(name)).collect();
    let expected = || Some(format!("exactly one of: {}", group.keys.join(", ")));
    match given[..] {
        [first, second, ..] => faults.add(|| Fault {
            path: path.key(&second.name),
            span: Some(second.span.clone()),
            message: format!("`{}` and `{}` exclude each other{}", first.name, second.name, within(path)),
            expected: if group.required { expected() } else { None },
            suggestion: None,
        }),
        // An unknown key in its place says enough.
        [] if group.required && !has_unknown => faults.add(|| Fault {
            path: path.clone(),
            span: Some(node.span.clone()),
            message: format!("`{path}` is incomplete"),
            expected: expected(),
            suggestion: None,
        }),
        _ => {}
    }
}

fn check_value(key: &'static Key, node: &Node, path: &KeyPath, faults: &Faults) {
    let expected = || with_unit(describe(&key.kind), key.unit);
    let fail = |node: &Node, path: &KeyPath| wrong(node, path, expected(), None, faults);
    let numbers = |node: &Node, path: &KeyPath, range: &Range| {
        for (i, element) in node.list().iter().enumerate() {
            if !element.number().is_some_and(|value| range.holds(value)) {
                fail(element, &path.index(i));
            }
        }
    };
    match (&key.kind, &node.data) {
        (Kind::Number(range), _) => match node.number() {
            Some(value) if range.holds(value) => {}
            _ => fail(node, path),
        },
        (Kind::Integer(min, max), _) => {
            if !integer(node).is_some_and(|value| (*min..=*max).contains(&value)) {
                fail(node, path);
            }
        }
        (Kind::Switch, Data::Flag(_)) => {}
        (Kind::Text, Data::Text(text)) => {
            if text.chars().count() > MAX_TEXT || text.chars().any(char::is_control) {
                fail(node, path);
            }
        }
        (Kind::Name, Data::Text(text)) => {
            let bad = |c: char| c.is_control() || matches!(c, '"' | ',');
            if text.trim().is_empty() || text.chars().count() > MAX_NAME || text.contains(bad) {
                fail(node, path);
            }
        }
        (Kind::Choice(words), Data::Text(text)) => check_word(words, text, node, path, expected, faults),
        (Kind::Words(words), Data::List(nodes)) => {
            if nodes.len() > words.len() {
                fail(node, path);
            }
            for (i, node) in nodes.iter().take(words.len()).enumerate() {
                match &node.data {
                    Data::Text(text) => check_word(words, text, node, &path.index(i), expected, faults),
                    _ => fail(node, &path.index(i)),
                }
            }
        }
        (Kind::Vector(range), Data::List(nodes)) if nodes.len() == 3 => numbers(node, path, range),
        (Kind::Pair(range), Data::List(nodes)) if nodes.len() == 2 => numbers(node, path, range),
        (Kind::Direction, Data::List(nodes)) if nodes.len() == 3 => {
            numbers(node, path, &WIDE);
            let length: f64 = nodes.iter().filter_map(Node::number).map(|x| x * x).sum();
            // Shorter ones cannot be normalised well.
            if length < 1e-24 {
                fail(node, path);
            }
        }
        (Kind::Switches, Data::List(nodes)) if nodes.len() == 3 => {
            for (i, node) in nodes.iter().enumerate().filter(|(_, node)| !matches!(node.data, Data::Flag(_)))
            {
                fail(node, &path.index(i));
            }
        }
        (Kind::Numbers(range), Data::List(nodes)) if (1..=3).contains(&nodes.len()) => {
            numbers(node, path, range)
        }
        (Kind::Numbers(range), _) => match node.number() {
            Some(value) if range.holds(value) => {}
            _ => fail(node, path),
        },
        (Kind::Rows(width, most), Data::List(rows)) => {
            if rows.is_empty() || rows.iter().map(|row| row.list().len()).sum::<usize>() > *most {
                return fail(node, path);
            }
            for (i, row) in rows.iter().enumerate() {
                let right = !row.list().is_empty() && width.is_none_or(|width| width == row.list().len());
                if right { numbers(row, &path.index(i), &WIDE) } else { fail(row, &path.index(i)) }
            }
        }
        (Kind::Table(table), _) => check_table(table, node, path, faults),
        (Kind::Tables(table, most), Data::List(nodes)) => {
            if nodes.len() > *most || (nodes.is_empty() && matches!(key.fallback, Fallback::Required)) {
                return fail(node, path);
            }
            for (i, node) in nodes.iter().enumerate() {
                check_table(table, node, &path.index(i), faults);
            }
        }
        (Kind::Tables(..), Data::Table(_)) => faults.add(|| Fault {
            path: path.clone(),
            span: Some(node.span.clone()),
            message: format!("`{path}` is a single table"),
            expected: Some(format!("a list of tables: write `[[{}]]`", key.name)),
            suggestion: None,
        }),
        _ => fail(node, path),
    }
}

impl Range {
    /// The number is finite and within.
    pub fn holds(&self, value: f64) -> bool {
        value.is_finite() && value <= self.max && if self.open { value > self.min } else { value >= self.min }
    }
}

/// A whole number, also when written as `2e7`.
pub fn integer(node: &Node) -> Option<u64> {
    match node.data {
        Data::Integer(value) => u64::try_from(value).ok(),
        Data::Float(value) if value >= 0.0 && value < 2f64.powi(53) && value.fract() == 0.0 => {
            Some(value as u64)
        }
        _ => None,
    }
}

fn check_word(
    words: &'static [&'static str],
    text: &str,
    node: &Node,
    path: &KeyPath,
    expected: impl FnOnce() -> String,
    faults: &Faults,
) {
    if !words.contains(&text) {
        wrong(node, path, expected(), nearest(text, words.iter().copied()), faults);
    }
}

fn wrong(node: &Node, path: &KeyPath, expected: String, suggestion: Option<&str>, faults: &Faults) {
    faults.add(|| Fault {
        path: path.clone(),
        span: Some(node.span.clone()),
        message: format!("`{path}` cannot be {}", node.describe()),
        expected: Some(expected),
        suggestion: suggestion.map(Into::into),
    });
}

fn within(path: &KeyPath) -> String {
    if path.0.is_empty() { String::new() } else { format!(" in `{path}`") }
}

/// A description and its unit, if it has one.
pub fn with_unit(text: String, unit: &str) -> String {
    if unit.is_empty() { text } else { format!("{text} ({unit})") }
}

/// Type and range in words.
pub fn describe(kind: &Kind) -> String {
    match kind {
        Kind::Number(range) => format!("a number {range}"),
        Kind::Integer(min, max) => format!("a whole number from {min} to {max}"),
        Kind::Switch => "true or false".into(),
        Kind::Text => format!("text in one line, at most {MAX_TEXT} characters"),
        Kind::Name => format!("a name without commas and quotes, at most {MAX_NAME} characters"),
        Kind::Choice(words) => format!("one of: {}", quoted(words)),
        Kind::Words(words) => format!("a list of any of: {}", quoted(words)),
        Kind::Vector(range) => format!("[x, y, z], each {range}"),
        Kind::Direction => "[x, y, z], not all zero".into(),
        Kind::Pair(range) => format!("[x, z], each {range}"),
        Kind::Switches => "three of true or false".into(),
        Kind::Numbers(_) => "a number or a list of three".into(),
        Kind::Rows(Some(width), most) => format!("a list of lists of {width} numbers, at most {most} in all"),
        Kind::Rows(None, most) => format!("a list of lists of numbers, at most {most} in all"),
        Kind::Table(table) => format!("a table with keys {}", table.names().collect::<Vec<_>>().join(", ")),
        Kind::Tables(table, most) => format!("1 to {most} tables `[[{}]]`", table.name),
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (min, max) = (short(self.min), short(self.max));
        if self.open { write!(f, "above {min}, at most {max}") } else { write!(f, "from {min} to {max}") }
    }
}

/// A number without a tail of zeros: 1e7, not 10000000.
pub fn short(value: f64) -> String {
    if value.abs() >= 1e5 { format!("{value:e}") } else { format!("{value}") }
}
