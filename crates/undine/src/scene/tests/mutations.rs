//! No text, however broken, makes the reader panic, hang or ask for much memory.

use proptest::prelude::*;

use super::*;
use crate::scene::parse_events;

const NUMBERS: [&str; 16] = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "-0.0",
    "1e308",
    "-1e308",
    "1e-308",
    "5e-324",
    "9223372036854775807",
    "-9223372036854775808",
    "1e999",
    "0x7fffffffffffffff",
    "99999999999999999999",
    "1e15",
];

/// Pieces of the text: words, numbers, punctuation, spaces.
fn tokens(text: &str) -> Vec<&str> {
    let class = |c: char| if c.is_alphanumeric() || "_.-".contains(c) { 0 } else { 1 + c as u32 };
    let mut tokens = Vec::new();
    let mut start = 0;
    let chars: Vec<_> = text.char_indices().collect();
    for pair in chars.windows(2) {
        if class(pair[0].1) != class(pair[1].1) {
            tokens.push(&text[start..pair[1].0]);
            start = pair[1].0;
        }
    }
    tokens.push(&text[start..]);
    tokens
}

fn survives(text: &str) {
    if let Err(error) = parse(text) {
        assert!(!error.to_string().is_empty());
        for problem in error.problems() {
            assert!(problem.place.is_some() || problem.message.contains("too deep"), "{problem}\n{text}");
        }
    }
    let _ = parse_events(text, "r.toml", None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn random_bytes_are_survived(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = FULL.as_bytes().to_vec();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn deleted_and_doubled_tokens_are_survived(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3u8), 1..6)) {
        let mut parts = tokens(FULL);
        for (at, other, what) in edits {
            let (at, other) = (at.index(parts.len()), other.index(parts.len()));
            match what {
                0 => drop(parts.remove(at)),
                1 => parts.insert(at, parts[other]),
                _ => parts.swap(at, other),
            }
        }
        survives(&parts.concat());
    }

    #[test]
    fn wild_numbers_are_survived(edits in prop::collection::vec((any::<prop::sample::Index>(), 0..NUMBERS.len()), 1..4)) {
        let mut parts = tokens(FULL);
        let places: Vec<_> = (0..parts.len()).filter(|i| parts[*i].parse::<f64>().is_ok()).collect();
        for (at, number) in edits {
            parts[places[at.index(places.len())]] = NUMBERS[number];
        }
        survives(&parts.concat());
    }

    #[test]
    fn any_text_is_survived(text in "\\PC*") {
        survives(&text);
    }
}

#[test]
fn each_number_may_be_any_number_of_the_wild_ones() {
    for text in [FULL, MADE] {
        each_number(text);
    }
}

fn each_number(text: &str) {
    let parts = tokens(text);
    for place in (0..parts.len()).filter(|i| parts[*i].parse::<f64>().is_ok()) {
        for number in NUMBERS {
            let mut parts = parts.clone();
            parts[place] = number;
            survives(&parts.concat());
        }
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for (open, close) in [("[", "]"), ("{a=", "}"), ("[{a=", "}]")] {
        for n in [70, 200, 100_000] {
            for head in ["title = ", "[model]\nspacing = ", "[[force]]\nbrush = "] {
                survives(&format!("{head}{}", open.repeat(n)));
                survives(&format!("{head}{}1{}", open.repeat(n), close.repeat(n)));
            }
        }
    }
    for n in [70, 200, 100_000] {
        survives(&format!("{}a = 1", "a.".repeat(n)));
        survives(&format!("[{}a]", "a.".repeat(n)));
        survives(&format!("[[{}a]]", "a.".repeat(n)));
        survives(&"[".repeat(n));
        let _ = parse_set(SMALL, &[&format!("{}a=1", "a.".repeat(n)), &format!("a={}", "[".repeat(n))]);
    }
}
