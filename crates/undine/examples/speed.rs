//! Times the passes of a dam break: `cargo run --release --example speed -- 60000 50`.
use undine::scene::Scene;
use undine::world::World;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: f64 = args.get(1).map_or(60000.0, |a| a.parse().unwrap());
    let steps: usize = args.get(2).map_or(50, |a| a.parse().unwrap());
    let d = (1.0 * 1.0 * 0.5 / n).cbrt();
    let text = format!("gravity=[0,-9.81,0]\n[time]\nduration=4\n[domain]\nmin=[0,0,0]\nmax=[2.5,2,0.5]\n[model]\nspacing={d}\n[[fluid]]\nshape={{box={{min=[0,0,0],max=[1,1,0.5]}}}}\n");
    let scene = Scene::parse(&text, "x.toml", std::path::Path::new("."), &[]).unwrap().scene;
    let mut w = World::new(scene).unwrap();
    for _ in 0..20 { w.step().unwrap(); }
    // The machine may be busy: the best of many short windows is the least disturbed.
    let mut best: Vec<(String, f64)> = Vec::new();
    let mut total = f64::MAX;
    for _ in 0..steps / 3 {
        w.clear_passes();
        let t = std::time::Instant::now();
        for _ in 0..3 { w.step().unwrap(); }
        total = total.min(t.elapsed().as_secs_f64() / 3.0);
        for (k, (name, s)) in w.passes().times().iter().enumerate() {
            if best.len() <= k { best.push((name.to_string(), f64::MAX)); }
            best[k].1 = best[k].1.min(s / 3.0);
        }
    }
    println!("{} particles, {} threads: {:.3} ms/step, {:.1} ns/particle, dt {:.2e} {}", w.len(), rayon::current_num_threads(), total * 1e3, total * 1e9 / w.len() as f64, w.clock().last_step, w.step_limit().name);
    for (name, s) in best { println!("  {name:10} {:.3} ms", s * 1e3); }
}
