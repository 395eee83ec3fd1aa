//! Reads particle files of any kind and writes them as PLY, for `tools/check_exports.py` to compare:
//! `cargo run --release -p undine --example particles_to_ply -- FILE PLY [FILE PLY ...]`

use std::path::Path;

use undine::atomic::{AtomicFile, Durability};
use undine::export::{Format, write_particles};
use undine::frame::Frame;
use undine::import::read_particles;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for pair in arguments.chunks(2) {
        let [from, to] = pair else { return Err("files come in pairs".into()) };
        let frame = Frame { particles: read_particles(Path::new(from))?, ..Frame::default() };
        AtomicFile::write_with(to, Durability::Process, |out| write_particles(Format::Ply, &frame, out))?;
    }
    Ok(())
}
