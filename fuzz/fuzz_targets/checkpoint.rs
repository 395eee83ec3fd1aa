//! Any bytes are a checkpoint that a world goes on from, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undine::checkpoint::CheckpointReader;

fuzz_target!(|bytes: &[u8]| {
    let _ = CheckpointReader::from_bytes(bytes.to_vec());
    let mut sealed = bytes.to_vec();
    undine_fuzz::seal(&mut sealed);
    let Ok(mut reader) = CheckpointReader::from_bytes(sealed) else { return };
    let mut world = undine_fuzz::checkpoint_world();
    if world.load(&mut reader).is_ok() {
        undine_fuzz::run(&mut world, 2);
    }
});
