//! Any bytes are a particle file or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undine::export::read_ply;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(points) = read_ply(&mut &bytes[..]) {
        let _ = (points.time(), points.frame());
        if let Some(particles) = points.to_particles() {
            assert_eq!(particles.position.len() as u64, points.count as u64);
        }
    }
});
