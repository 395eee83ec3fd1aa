//! Any text is a scene or an error that says something; a scene's own text gives the same scene again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match undine_fuzz::parse(text, &[]) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(loaded) => {
            let again = undine_fuzz::parse(&loaded.text, &[]).expect("the text as run is a scene");
            assert_eq!(again.scene, loaded.scene);
        }
    }
});
