//! Any text is a recording or an error; a recording survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undine::scene::{events_to_toml, parse_events};

fuzz_target!(|text: &str| {
    if let Ok(events) = parse_events(text, "events.toml", None) {
        let again = parse_events(&events_to_toml(&events), "again.toml", None);
        assert_eq!(again.expect("what was written is read"), events);
    }
});
