//! Tessellation to a rounder surface (Horváth's last pass): curved PN triangles (Vlachos et al. 2001), each cut in four.

use rayon::prelude::*;

use super::Surface;
use super::adjacency::Adjacency;
use super::options::SurfaceError;
use super::vector::{V, add, dot, scale, sub, unit};

/// Cuts every triangle in four, `times` over.
pub fn tessellate(surface: &mut Surface, times: u32) -> Result<(), SurfaceError> {
    for _ in 0..times {
        let count = surface.position.len() + surface.triangles.len() * 3 / 2;
        if count > u32::MAX as usize {
            return Err(SurfaceError::TooManyVertices { count });
        }
        once(surface);
    }
    Ok(())
}

fn once(surface: &mut Surface) {
    let beside = Adjacency::neighbors(surface);
    let old = surface.position.len();
    // An edge belongs to its lower end; edges are numbered by end and place in its list.
    let mut first = Vec::with_capacity(old + 1);
    let mut edges: Vec<[u32; 2]> = Vec::with_capacity(surface.triangles.len() * 3 / 2);
    for v in 0..old {
        first.push(edges.len());
        edges.extend(beside.of(v).iter().filter(|&&u| u > v as u32).map(|&u| [v as u32, u]));
        let begin = first[v];
        edges[begin..].sort_unstable();
    }
    first.push(edges.len());
    let middle = |a: u32, b: u32| -> u32 {
        let (low, high) = (a.min(b), a.max(b));
        let own = &edges[first[low as usize]..first[low as usize + 1]];
        (old + first[low as usize] + own.partition_point(|e| e[1] < high)) as u32
    };
    surface.triangles = surface
        .triangles
        .par_iter()
        .with_min_len(1024)
        .flat_map_iter(|&[a, b, c]| {
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        })
        .collect();
    let curved: Vec<(V, V)> = edges.par_iter().map(|e| curve(surface, *e)).collect();
    surface.position.extend(curved.iter().map(|c| c.0));
    if !surface.normal.is_empty() {
        surface.normal.extend(curved.iter().map(|c| c.1));
    }
    if !surface.velocity.is_empty() {
        let half =
            |e: &[u32; 2]| scale(add(surface.velocity[e[0] as usize], surface.velocity[e[1] as usize]), 0.5);
        let more: Vec<V> = edges.iter().map(half).collect();
        surface.velocity.extend(more);
    }
    if !surface.fluid.is_empty() {
        let more: Vec<u8> = edges.iter().map(|e| surface.fluid[e[0] as usize]).collect();
        surface.fluid.extend(more);
    }
}

/// The middle of the cubic over an edge and the normal there (the quadratic form, §3.3).
fn curve(surface: &Surface, edge: [u32; 2]) -> (V, V) {
    let [p, q] = edge.map(|v| surface.position[v as usize]);
    let d = sub(q, p);
    let [Some(&n), Some(&m)] = edge.map(|v| surface.normal.get(v as usize)) else {
        return (add(p, scale(d, 0.5)), [0.0; 3]);
    };
    // b210 = (2p + q - ((q - p)·n) n)/3 and b120 likewise; the middle is (p + 3 b210 + 3 b120 + q)/8.
    let lift = sub(scale(m, dot(d, m)), scale(n, dot(d, n)));
    let point = add(add(p, scale(d, 0.5)), scale(lift, 0.125));
    let sum = add(n, m);
    let mirror = 2.0 * dot(d, sum) / dot(d, d).max(f32::MIN_POSITIVE);
    (point, unit(sub(sum, scale(d, mirror)), unit(sum, n)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::droplets::sphere;
    use crate::surface::tests::{area_and_volume, euler_number};

    #[test]
    fn a_coarse_sphere_becomes_rounder() {
        let mut s = sphere(1);
        let error = |s: &Surface| (area_and_volume(s).1 / (4.0 / 3.0 * std::f64::consts::PI) - 1.0).abs();
        let before = error(&s);
        let triangles = s.triangles.len();
        tessellate(&mut s, 2).unwrap();
        assert_eq!(s.triangles.len(), 16 * triangles);
        assert_eq!(euler_number(&s), 2);
        assert!(error(&s) < before / 4.0, "{before} {}", error(&s));
        for (p, n) in s.position.iter().zip(&s.normal) {
            assert!(dot(*p, *n) > 0.95 && (dot(*p, *p).sqrt() - 1.0).abs() < 0.05, "{p:?} {n:?}");
        }
    }
}
