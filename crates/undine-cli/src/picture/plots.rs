//! Plots of the probes of a run.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use undine::atomic::{AtomicFile, Durability};
use undine::export::Plot;

/// A table of numbers: names of the columns, and rows.
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
}

/// Draws a plot for each probe of `probes.csv`, its values together; returns the files. None without probes.
pub fn make(from: &Path, dir: &Path, title: &str) -> Result<Vec<PathBuf>> {
    if !from.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(from).with_context(|| format!("cannot read {}", from.display()))?;
    let table = parse(&text).with_context(|| format!("cannot read {}", from.display()))?;
    let mut made = Vec::new();
    for (probe, columns) in probes(&table.names) {
        let mut plot = Plot::new(format!("{title}: {probe}"), "time / s", probe);
        for column in columns {
            let line: Vec<(f64, f64)> = table.rows.iter().map(|row| (row[0], row[column])).collect();
            let name = table.names[column].strip_prefix(probe).unwrap_or("").trim_start_matches('.');
            plot = plot.line(if name.is_empty() { probe } else { name }, &line);
        }
        let path = dir.join(format!("probe_{}.svg", file_name(probe)));
        let svg = plot.to_svg();
        AtomicFile::write_with(&path, Durability::Process, |out| out.write_all(svg.as_bytes()))?;
        made.push(path);
    }
    Ok(made)
}

/// The probes in their order, each with its columns: `energy.kinetic` is of the probe `energy`.
fn probes(names: &[String]) -> Vec<(&str, Vec<usize>)> {
    let mut probes: Vec<(&str, Vec<usize>)> = Vec::new();
    for (column, name) in names.iter().enumerate().skip(1) {
        let probe = name.split('.').next().unwrap_or(name);
        match probes.iter_mut().find(|p| p.0 == probe) {
            Some(p) => p.1.push(column),
            None => probes.push((probe, vec![column])),
        }
    }
    probes
}

fn parse(text: &str) -> Result<Table> {
    let mut lines = text.lines();
    let names = cells(lines.next().unwrap_or(""));
    let mut rows = Vec::new();
    for (number, line) in lines.enumerate() {
        // What was not measured is not a number.
        let row: Vec<f64> = cells(line).iter().map(|cell| cell.parse().unwrap_or(f64::NAN)).collect();
        if row.len() != names.len() {
            bail!("line {}: expected {} values, found {}", number + 2, names.len(), row.len());
        }
        rows.push(row);
    }
    Ok(Table { names, rows })
}

/// The cells of a line; those with commas are in quotes, quotes doubled.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("there is a first cell").push(c),
        }
    }
    cells
}

fn file_name(probe: &str) -> String {
    probe.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_with_its_quotes() {
        let table = parse("time,\"a,b.x\",a\n0,1,2\n0.5,NaN,3e-2\n").unwrap();
        assert_eq!(table.names, ["time", "a,b.x", "a"]);
        assert_eq!(table.rows[1][2], 0.03);
        assert!(table.rows[1][1].is_nan());
        assert_eq!(probes(&table.names), [("a,b", vec![1]), ("a", vec![2])]);
        assert!(parse("time,a\n1\n").is_err());
        assert_eq!(file_name("a,b/../c"), "a_b____c");
    }
}
