//! Any bytes under any name are particles that hold together or an error.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use undine::import::read_particle_bytes;

const NAMES: [&str; 7] = ["a.ply", "a.vtp", "a.vtk", "a.bgeo", "a.xyz", "a.npy", "a"];

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    let name = NAMES[usize::from(first) % NAMES.len()];
    if let Ok(particles) = read_particle_bytes(Path::new(name), bytes) {
        assert!(particles.position.as_flattened().iter().all(|x| x.is_finite()));
        assert!(particles.fields.iter().all(|field| field.data.len() == particles.len()));
    }
});
