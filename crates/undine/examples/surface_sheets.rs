//! What each method keeps of thin sheets: `cargo run --release --example surface_sheets -- [FILE.ply SPACING]`.
//!
//! Sheets of one and two layers of particles, 40 × 40 spacings, even and with each particle moved at random by up to
//! 0.2 spacings; and, with a file, the particles of a splash. Volumes are of the particles at rest, and areas of a sheet
//! as thick as its layers.
use std::io::BufReader;

use glam::DVec3;
use undine::export::read_ply;
use undine::frame::{Frame, Particles};
use undine::surface::{Method, Options, Surface, build};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let sheets: Vec<(usize, f64, Vec<[f32; 3]>)> =
        [(1, 0.0), (2, 0.0), (1, 0.2), (2, 0.2)].map(|(n, noise)| (n, noise, sheet(n, noise))).to_vec();
    println!("shares of the volume and of the area that are kept, and pieces");
    println!("method           1 layer          2 layers         1 layer, moved   2 layers, moved");
    for (name, method) in Method::ALL {
        let mut line = format!("{name:16}");
        for (layers, _, position) in &sheets {
            let surface = surface_of(position.clone(), 1.0, method, false);
            let (area, volume) = area_and_volume(&surface);
            let (edge, thickness) = (40.0, *layers as f64);
            let whole = 2.0 * edge * edge + 4.0 * edge * thickness;
            let volume = volume / (edge * edge * thickness);
            line += &format!(" {volume:4.2} {:4.2} {:5}", area / whole, pieces(&surface));
        }
        println!("{line}");
    }
    let (Some(file), Some(spacing)) = (args.get(1), args.get(2).and_then(|s| s.parse::<f64>().ok())) else {
        return;
    };
    let mut input = BufReader::new(std::fs::File::open(file).expect("a readable file"));
    let particles = read_ply(&mut input).expect("a PLY file").to_particles().expect("x, y and z");
    let thin = thin(&particles.position, spacing);
    println!("\n{file}: {} particles, {} of them in sheets and drops", particles.len(), thin.len());
    println!("method           volume  thin inside  pieces   volume with droplets");
    for (name, method) in Method::ALL {
        let surface = surface_of(particles.position.clone(), spacing, method, false);
        let whole = particles.len() as f64 * spacing.powi(3);
        let kept = inside(&surface, &thin);
        let droplets = area_and_volume(&surface_of(particles.position.clone(), spacing, method, true)).1;
        println!(
            "{name:16} {:6.3}  {kept:11.3}  {:6}   {:6.3}",
            area_and_volume(&surface).1 / whole,
            pieces(&surface),
            droplets / whole
        );
    }
}

fn surface_of(position: Vec<[f32; 3]>, spacing: f64, method: Method, droplets: bool) -> Surface {
    let particles = Particles { position, fields: Vec::new() };
    let frame = Frame { spacing, support: 2.0 * spacing, particles, ..Frame::default() };
    build(&frame, &Options { droplets, ..Options::plain(method) }).expect("a surface").0
}

/// `layers` of particles of spacing 1, moved by up to `noise` along each axis.
fn sheet(layers: usize, noise: f64) -> Vec<[f32; 3]> {
    let mut seed = 1u32;
    let mut random = || {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        noise as f32 * (f64::from(seed >> 8) / f64::from(1 << 23) - 1.0) as f32
    };
    let at = |i: usize| [i % 40, i / 1600, i / 40 % 40].map(|x| x as f32 + 0.5);
    (0..1600 * layers).map(|i| at(i).map(|x| x + random())).collect()
}

fn corners(surface: &Surface, t: &[u32; 3]) -> [DVec3; 3] {
    t.map(|v| DVec3::from(surface.position[v as usize].map(f64::from)))
}

fn area_and_volume(surface: &Surface) -> (f64, f64) {
    let (mut area, mut volume) = (0.0, 0.0);
    for t in &surface.triangles {
        let [a, b, c] = corners(surface, t);
        area += 0.5 * (b - a).cross(c - a).length();
        volume += a.dot(b.cross(c)) / 6.0;
    }
    (area, volume)
}

/// Closed parts of a surface.
fn pieces(surface: &Surface) -> usize {
    let mut root: Vec<u32> = (0..surface.position.len() as u32).collect();
    fn find(root: &mut [u32], mut v: u32) -> u32 {
        while root[v as usize] != v {
            root[v as usize] = root[root[v as usize] as usize];
            v = root[v as usize];
        }
        v
    }
    for t in &surface.triangles {
        for v in &t[1..] {
            let (a, b) = (find(&mut root, t[0]), find(&mut root, *v));
            root[a.max(b) as usize] = a.min(b);
        }
    }
    (0..root.len() as u32).filter(|&v| root[v as usize] == v).count()
}

/// Particles with fewer than half of the neighbours that they have at rest within two spacings (32).
fn thin(position: &[[f32; 3]], spacing: f64) -> Vec<DVec3> {
    let at = |p: &[f32; 3]| DVec3::from(p.map(f64::from));
    let cell = |p: DVec3| (p / (2.0 * spacing)).floor().as_ivec3();
    let mut cells: std::collections::HashMap<glam::IVec3, Vec<DVec3>> = std::collections::HashMap::new();
    position.iter().for_each(|p| cells.entry(cell(at(p))).or_default().push(at(p)));
    let count = |p: DVec3| {
        let around = (0..27).map(|k| cell(p) + glam::IVec3::new(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1));
        let near = around.filter_map(|c| cells.get(&c)).flatten();
        near.filter(|q| q.distance_squared(p) < 4.0 * spacing * spacing).count() - 1
    };
    position.iter().map(at).filter(|p| count(*p) < 16).collect()
}

/// Share of the points inside a closed surface: by the crossings of a ray along x, found by columns.
fn inside(surface: &Surface, points: &[DVec3]) -> f64 {
    let size = surface.triangles.first().map_or(1.0, |t| {
        let [a, b, _] = corners(surface, t);
        4.0 * (b - a).length().max(1e-9)
    });
    let column = |y: f64, z: f64| ((y / size).floor() as i64, (z / size).floor() as i64);
    let mut columns: std::collections::HashMap<(i64, i64), Vec<[DVec3; 3]>> =
        std::collections::HashMap::new();
    for t in &surface.triangles {
        let c = corners(surface, t);
        let (low, high) = (c[0].min(c[1]).min(c[2]), c[0].max(c[1]).max(c[2]));
        let (first, last) = (column(low.y, low.z), column(high.y, high.z));
        for y in first.0..=last.0 {
            for z in first.1..=last.1 {
                columns.entry((y, z)).or_default().push(c);
            }
        }
    }
    let within = |p: &&DVec3| {
        let mut winding = 0;
        for [a, b, c] in columns.get(&column(p.y, p.z)).into_iter().flatten() {
            let side = |a: &DVec3, b: &DVec3| (b.y - a.y) * (p.z - a.z) - (b.z - a.z) * (p.y - a.y);
            let (u, v, w) = (side(b, c), side(c, a), side(a, b));
            let sum = u + v + w;
            if sum != 0.0 && [u, v, w].iter().all(|s| s * sum > 0.0) {
                let x = (u * a.x + v * b.x + w * c.x) / sum;
                winding += if x > p.x { sum.signum() as i32 } else { 0 };
            }
        }
        winding != 0
    };
    points.iter().filter(within).count() as f64 / points.len().max(1) as f64
}
