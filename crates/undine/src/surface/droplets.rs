//! Droplets: particles that the field leaves outside its surface are shown as balls.

use rayon::prelude::*;

use super::Surface;
use super::cloud::{Cloud, EDGE, Key};
use super::field::{AT_ONCE, Field, Points};
use super::gather::Near;
use super::march::Carried;
use super::options::SurfaceError;
use super::tessellate::tessellate;
use super::vector::{add, dot, scale, unit};

/// Radius of the ball of one particle's volume, × spacing: (3/4π)^⅓.
const RADIUS: f64 = 0.620_350_490_9;
/// Rounds of cutting an octahedron in four: 66 vertices.
const ROUNDS: u32 = 2;

/// Adds a ball for every particle of the blocks `open` that is outside the surface; `spacing` in cells, `cell` in m.
pub fn add_droplets(
    surface: &mut Surface,
    cloud: &Cloud,
    field: &Field,
    carried: &Carried,
    open: &[Key],
    spacing: f32,
    cell: f64,
) -> Result<(), SurfaceError> {
    let outside: Vec<(usize, [f32; 3])> = open
        .par_iter()
        .with_min_len(16)
        .map_init(Near::default, |near, key| match cloud.map.get(key) {
            Some(&b) => outside_in(cloud, field, b as usize, near, cell),
            None => Vec::new(),
        })
        .flatten_iter()
        .collect();
    let balls = outside.into_iter().map(|(k, center)| {
        let of = |values: &[Vec<f32>; 3]| [values[0][k], values[1][k], values[2][k]];
        let velocity = (!carried.velocity[0].is_empty()).then(|| of(&carried.velocity));
        Ball { center, velocity, fluid: carried.fluid.get(k).copied() }
    });
    add_balls(surface, balls, f64::from(spacing) * cell)
}

/// A particle that is shown as a ball: its place, m, and what it has of velocity, m/s, and fluid.
#[derive(Clone, Copy, Debug)]
pub struct Ball {
    pub center: [f32; 3],
    pub velocity: Option<[f32; 3]>,
    pub fluid: Option<u8>,
}

/// Adds balls of the volume of one particle, `spacing` (m) apart at rest.
pub fn add_balls(
    surface: &mut Surface,
    balls: impl ExactSizeIterator<Item = Ball>,
    spacing: f64,
) -> Result<(), SurfaceError> {
    let ball = sphere(ROUNDS);
    let count = surface.position.len() + balls.len() * ball.position.len();
    if count > u32::MAX as usize {
        return Err(SurfaceError::TooManyVertices { count });
    }
    let radius = (RADIUS * spacing) as f32;
    for Ball { center, velocity, fluid } in balls {
        let first = surface.position.len() as u32;
        surface.position.extend(ball.position.iter().map(|p| add(center, scale(*p, radius))));
        surface.normal.extend_from_slice(&ball.normal);
        surface.triangles.extend(ball.triangles.iter().map(|t| t.map(|v| v + first)));
        surface
            .velocity
            .extend(velocity.into_iter().flat_map(|v| std::iter::repeat_n(v, ball.position.len())));
        surface.fluid.extend(fluid.into_iter().flat_map(|f| std::iter::repeat_n(f, ball.position.len())));
    }
    Ok(())
}

/// The particles of a block outside the surface, and where they are, m.
fn outside_in(
    cloud: &Cloud,
    field: &Field,
    block: usize,
    near: &mut Near,
    cell: f64,
) -> Vec<(usize, [f32; 3])> {
    let key = cloud.keys[block];
    field.collect(cloud, key, near);
    let place = |k: usize| {
        let along = |a: usize| f64::from(key[a]) * EDGE as f64 + f64::from(cloud.local[a][k]);
        (k, std::array::from_fn(|a| (along(a) * cell) as f32))
    };
    let mut picked = Vec::new();
    let mut outside = Vec::new();
    let particles: Vec<usize> = cloud.range(block).collect();
    for some in particles.chunks(AT_ONCE) {
        // The last one again, to fill up the lanes.
        let points: Points =
            std::array::from_fn(|a| std::array::from_fn(|n| field.local[a][some[n.min(some.len() - 1)]]));
        let value = field.at(near, &Default::default(), &points, some.len(), &mut picked).value;
        outside.extend(some.iter().zip(value).filter(|v| v.1 < field.iso).map(|v| place(*v.0)));
    }
    outside
}

/// A unit sphere from an octahedron whose triangles are cut in four so many times.
pub fn sphere(rounds: u32) -> Surface {
    let position = vec![
        [1.0, 0.0, 0.0],
        [-1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, -1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0],
    ];
    let triangles =
        vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    let mut s = Surface { normal: position.clone(), position, triangles, ..Surface::default() };
    for _ in 0..rounds {
        // A few dozen vertices are never too many.
        let _ = tessellate(&mut s, 1);
        s.position.iter_mut().for_each(|p| *p = unit(*p, [1.0, 0.0, 0.0]));
        s.normal.clone_from(&s.position);
    }
    debug_assert!(s.position.iter().all(|p| (dot(*p, *p) - 1.0).abs() < 1e-5));
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::tests::{area_and_volume, euler_number, frame};
    use crate::surface::{Method, Options, build};

    #[test]
    fn a_sphere_is_closed_and_faces_outwards() {
        let s = sphere(3);
        assert_eq!(euler_number(&s), 2);
        let (_, volume) = area_and_volume(&s);
        assert!((volume / (4.0 / 3.0 * std::f64::consts::PI) - 1.0).abs() < 0.03, "{volume}");
    }

    #[test]
    fn a_lone_particle_becomes_a_ball_of_its_volume() {
        for method in [Method::Phi, Method::SurfaceValue, Method::MarkerCount, Method::VolumeFraction] {
            let options = Options { droplets: true, ..Options::plain(method) };
            let s = build(&frame(vec![[3.0, -4.0, 5.0]]), &options).unwrap().0;
            assert_eq!(euler_number(&s), 2, "{method:?}");
            let volume = area_and_volume(&s).1;
            assert!((volume - 1.0).abs() < 0.1, "{method:?}: {volume}");
        }
    }
}
