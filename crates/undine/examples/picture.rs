//! Takes a picture of a particle file or a mesh: for trying looks.
//!
//! `cargo run --release --example picture -- FILE.ply -o picture.png [--scene SCENE] [--particles FILE.ply]
//! [--spacing 0.02] [--look water|speed|density|pressure|fluid|splats|skin] [--size 1280x720] [--samples 16] [--time S]
//! [--exposure 1] [--auto-camera]`

use std::path::Path;
use std::time::Instant;

use undine::export::read_ply;
use undine::frame::Frame;
use undine::picture::{ColorBy, Look, Mark, Options, View, render};
use undine::scene::Scene;
use undine::scene::mesh::TriMesh;
use undine::surface::Surface;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut frame = Frame { spacing: 0.02, ..Frame::default() };
    let (mut mesh, mut scene, mut out) = (None, None, "picture.png".to_string());
    let mut options = Options::default();
    let mut auto_camera = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "-o" => out = value()?,
            "--scene" => scene = Some(Scene::load(&value()?, &[])?.scene),
            "--spacing" => frame.spacing = value()?.parse()?,
            "--time" => frame.time = value()?.parse()?,
            "--samples" => options.samples = value()?.parse()?,
            "--exposure" => options.exposure = value()?.parse()?,
            "--auto-camera" => auto_camera = true,
            "--particles" => {
                let points = read_ply(&mut std::io::BufReader::new(std::fs::File::open(value()?)?))?;
                frame.time = points.time().unwrap_or(frame.time);
                frame.particles = points.to_particles().ok_or("no positions")?;
            }
            "--size" => {
                let text = value()?;
                let (w, h) = text.split_once('x').ok_or("size is WIDTHxHEIGHT")?;
                (options.width, options.height) = (w.parse()?, h.parse()?);
            }
            "--look" => {
                let balls = |by| Look::Particles { mark: Mark::Balls, by };
                options.look = match value()?.as_str() {
                    "speed" => balls(ColorBy::Speed),
                    "density" => balls(ColorBy::Density),
                    "pressure" => balls(ColorBy::Pressure),
                    "fluid" => balls(ColorBy::Fluid),
                    "splats" => Look::Particles { mark: Mark::Splats, by: ColorBy::Speed },
                    "skin" => Look::Surface(ColorBy::Speed),
                    _ => Look::Water,
                }
            }
            file => mesh = Some(TriMesh::load(Path::new(file))?),
        }
    }
    if let Some(scene) = &mut scene {
        scene.camera = scene.camera.take().filter(|_| !auto_camera);
        frame.spacing = scene.model.spacing;
    }
    let surface = mesh.map(|m: TriMesh| Surface {
        position: m.vertices.iter().map(|v| v.as_vec3().to_array()).collect(),
        triangles: m.triangles.clone(),
        ..Surface::default()
    });
    let view = View { scene: scene.as_ref(), surface: surface.as_ref(), ..View::new(&frame) };
    let start = Instant::now();
    let image = render(&view, &options);
    println!("{:.2} s", start.elapsed().as_secs_f64());
    image.save_png(Path::new(&out))?;
    Ok(())
}
