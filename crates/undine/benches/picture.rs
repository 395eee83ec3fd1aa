//! Times a picture of a dam break, as water, as particles and, with the making of each part, as a volume:
//! `cargo bench -p undine --bench picture -- [PARTICLES] [WIDTH] [HEIGHT] [REPEATS]`.

mod common;

use std::time::Instant;

use undine::models::Passes;
use undine::picture::{ColorBy, Look, Mark, Options, View, fluid_volume, render};
use undine::scene::{Preset, Volume};
use undine::surface;

fn main() {
    let args = common::args();
    let particles = common::argument(&args, 0, 30_000.0);
    let (width, height) = (common::argument(&args, 1, 640), common::argument(&args, 2, 360));
    let repeats = common::argument(&args, 3, 3);
    let mut world = common::dam_break(particles);
    while world.clock().time < 0.25 {
        world.advance_frame().expect("a dam break does not blow up");
    }
    let frame = world.frame();
    let (surface, _) = surface::build(&frame, &surface::Options::of_scene(world.scene())).expect("a surface");
    println!(
        "{} particles, {} triangles, {} × {} pixels, {} threads",
        frame.particles.len(),
        surface.triangles.len(),
        width,
        height,
        rayon::current_num_threads()
    );
    let view = View { scene: Some(world.scene()), surface: Some(&surface), ..View::new(&frame) };
    let balls = Look::Particles { mark: Mark::Balls, by: ColorBy::Speed };
    for (what, look) in [("water", Look::Water), ("particles", balls)] {
        let options = Options { width, height, look, ..Options::default() };
        let mut best = common::Best::default();
        for _ in 0..repeats {
            let begin = Instant::now();
            let image = render(&view, &options);
            best.round(1, begin.elapsed().as_secs_f64(), &Passes::default());
            std::hint::black_box(image);
        }
        println!("{what}: {:.1} ms", best.total() * 1e3);
    }
    for preset in Preset::ALL {
        let look = Volume::of_preset(preset);
        let options = Options { width, height, look: Look::Volume, ..Options::default() };
        let mut best = common::Best::default();
        for _ in 0..repeats {
            let mut passes = Passes::default();
            let field = passes.time("field", || undine::volume::build(&frame, &Default::default()));
            std::hint::black_box(field.expect("a field"));
            let begin = Instant::now();
            let volume = passes.time("volume", || fluid_volume(Some(world.scene()), &frame, &look));
            let volumes = [volume.expect("a volume")];
            let view = View { volumes: &volumes, surface: None, ..view };
            let image = passes.time("rays", || render(&view, &options));
            best.round(1, begin.elapsed().as_secs_f64(), &passes);
            std::hint::black_box(image);
        }
        println!("volume, {preset:?}: {:.1} ms (volume holds field and table)", best.total() * 1e3);
        best.print_passes();
    }
}
