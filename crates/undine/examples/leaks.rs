//! Runs scenes for 10⁶ particle-steps each and prints how many particles are beyond a wall; the greatest count after any step,
//! and where they are when it grows.
//!
//! `cargo run --release -p undine --example leaks -- [--steps PARTICLE_STEPS] [--set KEY=VALUE] SCENE...`
//! Without a scene, all built-in ones. Ends with 1 if anything leaked.

use std::process::ExitCode;

use undine::probe::Probes;
use undine::scene::builtin::BUILTIN;
use undine::scene::{Probe, ProbeKind, Scene};
use undine::world::World;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let (mut wanted, mut set, mut scenes) = (1_000_000, Vec::new(), Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--steps" => wanted = args.next().ok_or("--steps needs a number")?.parse()?,
            "--set" => set.push(args.next().ok_or("--set needs KEY=VALUE")?),
            _ => scenes.push(arg),
        }
    }
    if scenes.is_empty() {
        scenes.extend(BUILTIN.iter().map(|b| b.name.to_owned()));
    }
    let mut leaked = false;
    println!(
        "{:<14} {:>9} {:>9} {:>14} {:>9} {:>6}",
        "scene", "particles", "walls", "particle-steps", "time s", "leaks"
    );
    for name in scenes {
        let mut scene = Scene::load(&name, &set)?.scene;
        let (position, fluid, body) = (glam::DVec3::ZERO, None, None);
        scene.probes =
            vec![Probe { name: "leaks".into(), kind: ProbeKind::Leaks, axis: 0, position, fluid, body }];
        let probes = Probes::new(&scene);
        let mut world = World::new(scene)?;
        let (mut done, mut most) = (0, 0.0_f64);
        // A scene that starts empty must not step for ever.
        while done < wanted && world.clock().time < world.scene().time.duration {
            world.step()?;
            done += world.len() as u64;
            let frame = world.frame();
            let count = probes.measure(&frame)[0];
            if count > most {
                for p in frame.particles.position.iter().map(|p| glam::Vec3::from(*p).as_dvec3()) {
                    let depth = -world.walls().distance(p, 0.0);
                    if depth > 1e-3 * frame.spacing {
                        println!("{name}: {:.4} s, {p:.4} m, {depth:.1e} m deep", world.clock().time);
                    }
                }
            }
            most = most.max(count);
        }
        leaked |= most > 0.0;
        let (n, walls, time) = (world.len(), world.wall_particles(), world.clock().time);
        println!("{name:<14} {n:>9} {walls:>9} {done:>14} {time:>9.3} {most:>6}");
    }
    Ok(if leaked { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
