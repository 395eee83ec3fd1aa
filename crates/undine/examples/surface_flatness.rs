//! How flat the surface of a still pool is, by method: `cargo run --release --example surface_flatness -- FILE.ply SPACING
//! [MARGIN] [THRESHOLD] [SUPPORT]`. The file holds particles of a settled pool, y up; MARGIN spacings beside the walls are left out.
use std::io::BufReader;

use undine::export::read_ply;
use undine::frame::Frame;
use undine::surface::{Method, Options, Surface, build};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (Some(file), Some(spacing)) = (args.get(1), args.get(2).and_then(|s| s.parse::<f64>().ok())) else {
        eprintln!("surface_flatness FILE.ply SPACING [MARGIN]");
        std::process::exit(2);
    };
    let margin = args.get(3).map_or(4.0, |m| m.parse().expect("a number")) * spacing;
    let threshold = args.get(4).map(|t| t.parse().expect("a number"));
    let support = args.get(5).map(|t| t.parse().expect("a number"));
    let mut input = BufReader::new(std::fs::File::open(file).expect("a readable file"));
    let particles = read_ply(&mut input).expect("a PLY file").to_particles().expect("x, y and z");
    let (low, high) = bounds(&particles.position);
    let frame = Frame { spacing, support: 2.0 * spacing, particles, ..Frame::default() };
    println!("method            swelling     RMS height  RMS normal  ms");
    println!("                  / spacing    / spacing   degrees");
    for (name, method, smoothing) in
        Method::ALL.iter().map(|m| (m.0, m.1, 0)).chain(Method::ALL.iter().map(|m| (m.0, m.1, 3)))
    {
        let options = Options { threshold, support, smoothing, ..Options::plain(method) };
        let begin = std::time::Instant::now();
        let surface = build(&frame, &options).expect("a surface").0;
        let ms = begin.elapsed().as_secs_f64() * 1e3;
        let top = top(&surface, low, high, margin);
        let mean = top.iter().map(|t| t.0).sum::<f64>() / top.len() as f64;
        let rms = (top.iter().map(|t| (t.0 - mean).powi(2)).sum::<f64>() / top.len() as f64).sqrt();
        let normal = (top.iter().map(|t| t.1.powi(2)).sum::<f64>() / top.len() as f64).sqrt().to_degrees();
        // What the surface encloses beyond the particles' volume at rest, as a layer all over it.
        let (area, volume) = area_and_volume(&surface);
        let height = (volume - frame.particles.len() as f64 * spacing.powi(3)) / area / spacing;
        println!("{name:16} {smoothing} {height:11.3}  {:10.4}  {normal:10.3}  {ms:.1}", rms / spacing);
    }
}

fn bounds(position: &[[f32; 3]]) -> ([f32; 3], [f32; 3]) {
    position.iter().fold(([f32::MAX; 3], [f32::MIN; 3]), |(low, high), p| {
        (std::array::from_fn(|a| low[a].min(p[a])), std::array::from_fn(|a| high[a].max(p[a])))
    })
}

fn area_and_volume(surface: &Surface) -> (f64, f64) {
    let (mut area, mut volume) = (0.0, 0.0);
    for t in &surface.triangles {
        let [a, b, c] = t.map(|v| glam::DVec3::from(surface.position[v as usize].map(f64::from)));
        area += 0.5 * (b - a).cross(c - a).length();
        volume += a.dot(b.cross(c)) / 6.0;
    }
    (area, volume)
}

/// Heights, m, and angles of the normals to the vertical of the vertices on the upper side.
fn top(surface: &Surface, low: [f32; 3], high: [f32; 3], margin: f64) -> Vec<(f64, f64)> {
    let middle = 0.5 * (low[1] + high[1]);
    let inner = |p: &[f32; 3]| {
        p[1] > middle
            && [0, 2].iter().all(|&a| f64::from(p[a] - low[a]) > margin && f64::from(high[a] - p[a]) > margin)
    };
    surface
        .position
        .iter()
        .zip(&surface.normal)
        .filter(|(p, _)| inner(p))
        .map(|(p, n)| (f64::from(p[1]), f64::from(n[1]).clamp(-1.0, 1.0).acos()))
        .collect()
}
