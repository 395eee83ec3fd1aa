//! Text for people: aligned tables, counts, sizes, durations; and stdout that may be a closed pipe.

use std::io::{self, Write};

use anyhow::{Context, Result};

/// Writes to stdout. A reader that went away (`undine schema | head`) is no failure.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to stdout"),
    }
}

/// Writes a JSON value to stdout, on several lines.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value).context("cannot write JSON")?;
    text.push('\n');
    print(&text)
}

/// Names and numbers as a JSON object that keeps their order.
pub struct Pairs<'a>(pub &'a [(String, f64)]);

impl serde::Serialize for Pairs<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, number)| (name, number)))
    }
}

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells as aligned lines; columns beyond `align` are numbers.
pub fn aligned(align: &[Align], rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[c] - cell.chars().count());
            if c > 0 {
                line += "  ";
            }
            match align.get(c).copied().unwrap_or(Align::Right) {
                Align::Left => line += &format!("{cell}{pad}"),
                Align::Right => line += &format!("{pad}{cell}"),
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A count with its thousands apart: 22,500.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in memory.
pub fn bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        _ if n < 1024.0 * 1024.0 => format!("{:.0} KiB", n / 1024.0),
        _ if n < 1024.0 * 1024.0 * 1024.0 => format!("{:.1} MiB", n / (1024.0 * 1024.0)),
        _ => format!("{:.2} GiB", n / (1024.0 * 1024.0 * 1024.0)),
    }
}

/// A duration, from seconds.
pub fn duration(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.2} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes} min {rest} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

/// A word of a command line as a POSIX shell takes it.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["ab".to_string(), "1".into()], vec!["c".into(), "234".into()]];
        assert_eq!(aligned(&[Align::Left], &rows), "ab    1\nc   234\n");
        assert_eq!(aligned(&[], &[]), "");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [count(7), count(1300), count(22_500), count(1_000_000)],
            ["7", "1,300", "22,500", "1,000,000"]
        );
        assert_eq!(bytes(512 * 1024), "512 KiB");
        assert_eq!(bytes(3 << 29), "1.50 GiB");
        assert_eq!(duration(0.5), "0.50 s");
        assert_eq!(duration(75.0), "1 min 15 s");
        assert_eq!(duration(7380.0), "2 h 3 min");
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell("model.spacing=0.01"), "model.spacing=0.01");
        assert_eq!(shell("it's [1]"), r"'it'\''s [1]'");
        assert_eq!(shell(""), "''");
    }
}
