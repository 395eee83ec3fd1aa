//! The scenes that are built into the program.

/// A scene file of the `scenes/` folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name: the file's, without `.toml`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! builtin {
    ($($name:literal)*) => {
        /// All built-in scenes, sorted by name.
        pub static BUILTIN: &[Builtin] = &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../../../scenes/", $name, ".toml")),
        }),*];
    };
}

builtin! {
    "adhesion"
    "ball-splash"
    "bottle-10000"
    "bottle-2000"
    "buoyancy"
    "cloth"
    "cylinders"
    "dam-break"
    "dam-obstacle"
    "dragons"
    "drop"
    "fountain"
    "horvath-15k"
    "horvath-30k"
    "horvath-45k"
    "horvath-60k"
    "jet-cube"
    "lava"
    "mixer"
    "portrait"
    "pour"
    "ricochet"
    "river"
    "shadow-dance"
    "splash"
    "swirl"
    "two-fluids"
    "u-tube"
}

/// The built-in scene of this name; `dam-break.toml` is as good as `dam-break`.
pub fn find(name: &str) -> Option<&'static Builtin> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    BUILTIN.iter().find(|scene| scene.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[test]
    fn every_file_of_the_scenes_folder_is_built_in_and_sorted() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        files.sort();
        assert_eq!(files, BUILTIN.iter().map(|scene| scene.name).collect::<Vec<_>>());
    }

    #[test]
    fn every_built_in_scene_is_valid_and_has_a_title() {
        for builtin in BUILTIN {
            let loaded = Scene::load(builtin.name, &[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(!loaded.scene.title.is_empty(), "{}", builtin.name);
            assert_eq!(loaded.name, builtin.name);
        }
    }
}
