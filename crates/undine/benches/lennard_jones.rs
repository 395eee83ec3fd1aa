//! The melt benchmark of LAMMPS (fcc, ρ* = 0.8442, T* = 1.44, r_c = 2.5σ, δt = 0.005), and LAMMPS itself beside it where `lmp` and
//! `mpirun` are installed: `cargo bench -p undine --bench lennard_jones -- [CELLS] [STEPS] [ROUNDS]`. CELLS³ cells of four
//! atoms; 20 give 32,000, 40 give 256,000. Rounds take turns, and the best of each counts.

mod common;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use glam::DVec3;
use undine::fields::Fields;
use undine::models::lennard_jones::LennardJones;
use undine::models::springs::Solids;
use undine::models::{Around, Birth, Passes, Solver};
use undine::scene::Scene;
use undine::walls::Walls;

const DENSITY: f64 = 0.8442;
const TEMPERATURE: f64 = 1.44;
const STEP: f64 = 0.005;

fn main() {
    let args = common::args();
    let cells: usize = common::argument(&args, 0, 20);
    let steps: usize = common::argument(&args, 1, 100);
    let rounds: usize = common::argument(&args, 2, 5);
    let threads = rayon::current_num_threads();
    let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
    let mut melt = Melt::new(cells);
    melt.run(steps);
    for _ in 0..rounds {
        melt.passes.clear();
        let lists = melt.model.lists();
        let begin = Instant::now();
        melt.run(steps);
        let seconds = begin.elapsed().as_secs_f64();
        if seconds < ours {
            ours = seconds;
            let per = |s: f64| s * 1e9 / (steps * melt.model.len()) as f64;
            let mut text = String::new();
            for (name, s) in melt.passes.times() {
                let _ = write!(text, "  {name} {:.1}", per(*s));
            }
            println!(
                "{:.1} ns a particle and step:{text}, {} lists",
                per(seconds),
                melt.model.lists() - lists
            );
        }
        theirs = theirs.min(lammps(cells, steps, threads).unwrap_or(f64::INFINITY));
    }
    let per = |seconds: f64| seconds * 1e9 / (steps * melt.model.len()) as f64;
    let n = melt.model.len();
    println!("{n} atoms, {steps} steps, {threads} threads: ours {:.1} ns a particle and step", per(ours));
    if theirs.is_finite() {
        println!(
            "LAMMPS on {threads} processes: {:.1} ns; ours takes {:.2} of its time",
            per(theirs),
            ours / theirs
        );
    } else {
        println!("LAMMPS (`lmp`, `mpirun`) is not there to compare with");
    }
}

struct Melt {
    model: LennardJones,
    walls: Walls,
    fields: Fields,
    solids: Solids,
    passes: Passes,
}

impl Melt {
    fn new(cells: usize) -> Self {
        let a = (4.0 / DENSITY).cbrt();
        let length = a * cells as f64;
        let text = format!(
            "gravity=[0,0,0]\n[domain]\nmin=[0,0,0]\nmax=[{length},{length},{length}]\nperiodic=[true,true,true]\n\
             [model]\nkind='lennard-jones'\nspacing=1\nsigma=1\nepsilon=1\ncutoff=2.5\nshifted='potential'\ndrag=0\ndamping=0\n\
             [[fluid]]\ndensity=1\n"
        );
        let scene = Scene::parse(&text, "melt.toml", Path::new("."), &[]).expect("the scene is right").scene;
        let mut model = LennardJones::new(&scene);
        let mut births = Vec::new();
        for i in 0..cells.pow(3) {
            let cell = DVec3::new((i % cells) as f64, (i / cells % cells) as f64, (i / cells / cells) as f64);
            for corner in [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]] {
                let k = births.len() as u64;
                let velocity = DVec3::new(dice(3 * k), dice(3 * k + 1), dice(3 * k + 2));
                births.push(Birth { position: (cell + DVec3::from(corner) + 0.1) * a, velocity, fluid: 0 });
            }
        }
        model.insert(&births);
        let mut melt = Melt {
            model,
            walls: Walls::new(&scene),
            fields: Fields::new(&scene),
            solids: Solids::new(&scene),
            passes: Passes::default(),
        };
        let Melt { model, walls, fields, solids, passes } = &mut melt;
        model.refresh(&Around { time: 0.0, walls, fields, solids }, passes);
        let hot = model.measure().kinetic * 2.0 / 3.0 / model.len() as f64;
        model.scale_velocities((TEMPERATURE / hot).sqrt());
        melt
    }

    fn run(&mut self, steps: usize) {
        let Melt { model, walls, fields, solids, passes } = self;
        rayon::scope(|_| {
            for _ in 0..steps {
                let around = Around { time: 0.0, walls, fields, solids };
                model.step(STEP, &around, passes).expect("a melt does not blow up");
            }
        });
    }
}

/// Between -½ and ½.
fn dice(k: u64) -> f64 {
    let z = (k + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

/// Seconds of LAMMPS' own clock for the same, after as many steps untimed.
fn lammps(cells: usize, steps: usize, processes: usize) -> Option<f64> {
    let input = format!(
        "units lj\natom_style atomic\nlattice fcc {DENSITY}\nregion box block 0 {cells} 0 {cells} 0 {cells}\n\
         create_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\nvelocity all create {TEMPERATURE} 87287 loop geom\n\
         pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\nneigh_modify delay 0 every 20 check no\n\
         fix 1 all nve\ntimestep {STEP}\nthermo {steps}\nrun {steps}\nrun {steps}\n"
    );
    let file = std::env::temp_dir().join(format!("undine-melt-{}.in", std::process::id()));
    std::fs::write(&file, input).ok()?;
    let out = Command::new("mpirun")
        .args([
            "--allow-run-as-root",
            "--oversubscribe",
            "-np",
            &processes.to_string(),
            "lmp",
            "-log",
            "none",
            "-in",
        ])
        .arg(&file)
        .env("OMP_NUM_THREADS", "1")
        .output();
    let _ = std::fs::remove_file(&file);
    let text = String::from_utf8_lossy(&out.ok()?.stdout).into_owned();
    let last = text.lines().rfind(|line| line.starts_with("Loop time of"))?;
    last.split_whitespace().nth(3)?.parse().ok()
}
