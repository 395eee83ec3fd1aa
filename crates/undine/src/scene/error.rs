//! What is wrong with a scene, where, and what was meant.

use std::fmt;

use serde::Serialize;

use super::node::Span;

/// Most problems reported at once; the rest is only counted.
pub const MAX_PROBLEMS: usize = 10;

/// Why a scene could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum SceneError {
    /// The file could not be read.
    #[error("{file}: {reason}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// Neither a file nor a built-in scene.
    #[error(
        "there is no scene file or built-in scene `{name}`{}; `undine scenes` lists what is built in",
        nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in scene with the nearest name.
        nearest: Option<String>,
    },
    /// The text is wrong.
    #[error("{}", list(problems, *more))]
    Invalid {
        /// What is wrong, in file order; never empty.
        problems: Vec<Problem>,
        /// How many more there are.
        more: usize,
    },
}

impl SceneError {
    /// What is wrong with the text; empty for the other errors.
    pub fn problems(&self) -> &[Problem] {
        match self {
            SceneError::Invalid { problems, .. } => problems,
            _ => &[],
        }
    }
}

fn list(problems: &[Problem], more: usize) -> String {
    let mut text = problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n");
    if more > 0 {
        text += &format!("\n… and {more} more");
    }
    text
}

/// Why input was refused; nothing of it took effect.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[error("{message}{}", after(&hint(expected.as_deref(), suggestion.as_deref())))]
pub struct EventError {
    /// The key, as an event of a scene file has it: `brush.radius`.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What was expected.
    pub expected: Option<String>,
    /// The nearest valid name.
    pub suggestion: Option<String>,
}

/// What was expected and what was probably meant; may be empty.
fn hint(expected: Option<&str>, suggestion: Option<&str>) -> String {
    let expected = expected.map(|text| format!("expected {text}"));
    let suggestion = suggestion.map(|name| format!("did you mean `{name}`?"));
    expected.into_iter().chain(suggestion).collect::<Vec<_>>().join("; ")
}

fn after(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!("; {hint}") }
}

/// One wrong thing in a scene file or in an override.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// Where; none when it comes from an override.
    pub place: Option<Place>,
    /// The override (`model.spacing=0.01`) it comes from.
    #[serde(rename = "override")]
    pub set: Option<String>,
    /// Path of the key: `fluid[0].density`; empty for broken TOML.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What was expected.
    pub expected: Option<String>,
    /// The nearest valid name.
    pub suggestion: Option<String>,
}

/// A place in a text, for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// A part of that line, for display.
    pub excerpt: String,
    /// Characters of the excerpt before the place.
    pub offset: usize,
    /// Length of the place within the excerpt, characters, at least 1.
    pub length: usize,
}

impl Place {
    /// Turns a byte span of `text` into line and column.
    pub fn find(text: &str, span: &Span) -> Place {
        /// Characters of a long line shown before and after the place.
        const BEFORE: usize = 60;
        const SHOWN: usize = 110;
        let floor = |mut at: usize| {
            at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = floor(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let before = text[line_start..start].chars().count();
        let first = before.saturating_sub(BEFORE);
        let excerpt: String = text[line_start..line_end]
            .trim_end_matches('\r')
            .chars()
            .skip(first)
            .take(SHOWN)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let end = floor(span.end.clamp(start, line_end)).max(start);
        let offset = before - first;
        let room = excerpt.chars().count().saturating_sub(offset).max(1);
        Place {
            line: text[..start].matches('\n').count() + 1,
            column: before + 1,
            length: text[start..end].chars().count().clamp(1, room),
            offset,
            excerpt,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = hint(self.expected.as_deref(), self.suggestion.as_deref());
        match (&self.set, &self.place) {
            (Some(set), _) => write!(f, "--set {set}: {}", self.message)?,
            (None, None) => write!(f, "{}: {}", self.file, self.message)?,
            (None, Some(place)) => {
                writeln!(f, "{}:{}:{}: {}", self.file, place.line, place.column, self.message)?;
                let number = place.line.to_string();
                let gutter = " ".repeat(number.len());
                writeln!(f, "{gutter} |")?;
                writeln!(f, "{number} | {}", place.excerpt)?;
                let marks = " ".repeat(place.offset) + &"^".repeat(place.length);
                return write!(f, "{}", format!("{gutter} | {marks} {hint}").trim_end());
            }
        }
        f.write_str(&after(&hint))
    }
}

/// The candidate nearest to `name`, if it is near enough to be a slip.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.to_lowercase().chars().take(64).collect();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other: Vec<char> = candidate.to_lowercase().chars().take(64).collect();
            let slips = edit_distance(&wanted, &other);
            // A third of the letters may be wrong; `pos` for `position` counts as well.
            let begins = wanted.len() >= 3 && (other.starts_with(&wanted) || wanted.starts_with(&other));
            let near = slips <= wanted.len().max(other.len()).div_ceil(3) && slips < wanted.len();
            (near || begins).then_some((slips, candidate))
        })
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_a_slip_away_or_none() {
        let names = ["gravity", "time", "fluid", "position"];
        assert_eq!(nearest("gravty", names), Some("gravity"));
        assert_eq!(nearest("Fluids", names), Some("fluid"));
        assert_eq!(nearest("tmie", names), Some("time"));
        assert_eq!(nearest("pos", names), Some("position"));
        assert_eq!(nearest("zebra", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn places_count_characters_and_survive_any_span() {
        let text = "a = 1\nñandú = \"é\"\r\n";
        let place = Place::find(text, &(text.find('"').unwrap()..text.len()));
        assert_eq!((place.line, place.column, place.length), (2, 9, 3));
        assert_eq!(place.excerpt, "ñandú = \"é\"");
        for start in 0..text.len() + 3 {
            for end in 0..text.len() + 3 {
                Place::find(text, &(start..end));
            }
        }
    }

    #[test]
    fn long_lines_are_shown_in_part() {
        let text = "x".repeat(10_000);
        let place = Place::find(&text, &(5000..6000));
        assert_eq!((place.column, place.offset), (5001, 60));
        assert!(place.excerpt.len() <= 110 && place.offset + place.length <= 110);
    }
}
