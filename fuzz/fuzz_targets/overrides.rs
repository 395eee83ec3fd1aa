//! Any `--set` gives a scene or an error. One per line, on a scene that has one of everything.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let overrides: Vec<String> = text.lines().take(8).map(str::to_owned).collect();
    match undine_fuzz::parse(undine_fuzz::CHECKPOINT_SCENE, &overrides) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(loaded) => {
            let again = undine_fuzz::parse(&loaded.text, &[]).expect("the text as run is a scene");
            assert_eq!(again.scene, loaded.scene);
        }
    }
});
