//! A mass-spring body that floats.
//!
//! A raft, because a cube of half the density of water does not float upright: a block stays level when its base is
//! longer than √(6s(1-s)) of its height, 1.22 at s = ½, and this one's is twice its height. Its depth is s times its
//! height, as that of a cube held upright.

use super::{CaseError, Lab};
use crate::export::Plot;
use crate::frame::Frame;

const G: f64 = 9.81;
/// Height of the raft, m; its base is twice as long and wide.
const HEIGHT: f64 = 0.1;
/// Edge of the tank and depth of the water before the raft is in it, m.
const TANK: [f64; 2] = [0.4, 0.2];
const DENSITY: f64 = 1000.0;

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let across = lab.either(6.0, 4.0);
    let duration = lab.either(3.0, 1.8);
    let ratios: &[f64] = if lab.quick { &[0.5] } else { &[0.25, 0.5, 0.75] };
    let d = HEIGHT / across;
    let mut plot = Plot::new("A raft floats", "t / s", "depth / height");
    for &s in ratios {
        let mut depths = Vec::new();
        lab.run(&scene(s, d, duration), 1.0 / ratios.len() as f64, |m| {
            depths.push((m.frame.time, depth(m.frame, d)));
        })?;
        let last: Vec<f64> = depths.iter().filter(|t| t.0 > 0.6 * duration).map(|t| t.1).collect();
        let mean = last.iter().sum::<f64>() / last.len() as f64;
        let off = (mean - s * HEIGHT).abs() / d;
        lab.check(
            format!("depth of a raft of density ratio {s}, m; error in spacings"),
            mean,
            s * HEIGHT,
            off,
            0.5,
        );
        let shares: Vec<_> = depths.iter().map(|(t, y)| (*t, y / HEIGHT)).collect();
        plot = plot.line(format!("s = {s}"), &shares).line(format!("{s}"), &[(0.0, s), (duration, s)]);
    }
    lab.plot("floating", plot);
    Ok(())
}

/// The raft starts level, with its lower face on the water.
fn scene(s: f64, d: f64, duration: f64) -> String {
    let [edge, water] = TANK;
    let (mid, top) = (0.5 * edge, water + 3.0 * HEIGHT);
    let (low, high) = (mid - HEIGHT, mid + HEIGHT);
    let (bottom, lid) = (water + 0.5 * d, water + 0.5 * d + HEIGHT);
    format!(
        r#"
        gravity = [0, -{G}, 0]
        time = {{ duration = {duration}, frame_rate = 50 }}
        domain = {{ min = [0, 0, 0], max = [{edge}, {top}, {edge}], open = ["+y"] }}
        model = {{ spacing = {d} }}
        [[fluid]]
        name = "water"
        density = {DENSITY}
        viscosity = 0.001
        surface_tension = 0.072
        shape = {{ box = {{ min = [0, 0, 0], max = [{edge}, {water}, {edge}] }} }}
        [[solid]]
        name = "raft"
        kind = "lattice"
        density = {}
        shape = {{ box = {{ min = [{low}, {bottom}, {low}], max = [{high}, {lid}, {high}] }} }}
        "#,
        s * DENSITY
    )
}

/// From the raft's lower face up to the water, m. The face is half its height below its centre of mass; the water's
/// level is twice the mean height of the particles that are not below the raft.
fn depth(frame: &Frame, d: f64) -> f64 {
    let Some(raft) = frame.solids.first() else { return f64::NAN };
    let n = raft.nodes.len() as f64;
    let mean = |a: usize| raft.nodes.iter().map(|x| f64::from(x[a])).sum::<f64>() / n;
    let (x, y, z) = (mean(0), mean(1), mean(2));
    let aside = |p: &[f32; 3]| {
        let away = (f64::from(p[0]) - x).abs().max((f64::from(p[2]) - z).abs());
        away > HEIGHT + 1.5 * d
    };
    let heights: Vec<f64> =
        frame.particles.position.iter().filter(|p| aside(p)).map(|p| f64::from(p[1])).collect();
    let level = 2.0 * heights.iter().sum::<f64>() / heights.len() as f64;
    level - (y - 0.5 * HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Body, Particles};

    #[test]
    fn the_depth_is_that_of_the_lower_face_below_the_water() {
        let raft = Body { nodes: vec![[0.1, 0.15, 0.2], [0.3, 0.25, 0.2]], ..Body::default() };
        let column = |x: f32| (0..20).map(move |k| [x, 0.01 * (k as f32 + 0.5), 0.2]);
        // Water below the raft does not count.
        let position = column(0.02).chain(column(0.38)).chain([[0.2, 0.01, 0.2]]).collect();
        let frame = Frame {
            particles: Particles { position, fields: Vec::new() },
            solids: vec![raft],
            ..Frame::default()
        };
        // Water up to 0.2 m, the raft from 0.15 to 0.25 m.
        assert!((depth(&frame, 0.01) - 0.05).abs() < 1e-6);
        assert!(depth(&Frame::default(), 0.01).is_nan());
    }
}
