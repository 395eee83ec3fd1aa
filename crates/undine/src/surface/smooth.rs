//! Smoothing that neither shrinks the fluid nor rounds its edges.
//!
//! Taubin's λ|μ (1995): a step towards the neighbours' mean, then a slightly longer one away from it, which passes
//! long waves and damps short ones. Neighbours count by how far they face the same way, so that a crest or the rim of
//! a sheet is not averaged with its far side. Normals are averaged with the same weights.

use rayon::prelude::*;

use super::Surface;
use super::adjacency::Adjacency;
use super::vector::{V, add, dot, scale, sub, unit};

/// Step towards the mean, λ.
const TOWARDS: f32 = 0.5;
/// Step away from it, μ: passes waves up to 1/λ + 1/μ ≈ 0.04 of the mesh's frequencies.
const AWAY: f32 = -0.51;

/// Smooths `times`.
pub fn smooth(surface: &mut Surface, times: u32) {
    if times == 0 || surface.normal.len() != surface.position.len() {
        return;
    }
    let beside = Adjacency::neighbors(surface);
    let weights = weights(surface, &beside);
    let mut next = surface.position.clone();
    for _ in 0..times {
        for step in [TOWARDS, AWAY] {
            let old = &surface.position;
            next.par_iter_mut().enumerate().with_min_len(1024).for_each(|(v, to)| {
                let mean = mean(old, v, &beside, &weights);
                *to = add(old[v], scale(sub(mean, old[v]), step));
            });
            std::mem::swap(&mut surface.position, &mut next);
        }
    }
    // Once for the normals, which come from the field and are smoother than the mesh.
    let old = &surface.normal;
    next.par_iter_mut().enumerate().with_min_len(1024).for_each(|(v, to)| {
        *to = unit(add(old[v], mean(old, v, &beside, &weights)), old[v]);
    });
    surface.normal = next;
}

/// Vertices that are weighted in one go.
const CHUNK: usize = 1024;

/// For each neighbour in the list its weight; those of a vertex sum to 1, or are all 0.
fn weights(surface: &Surface, beside: &Adjacency) -> Vec<f32> {
    let count = surface.position.len();
    let mut all = vec![0.0; beside.len()];
    let (mut parts, mut rest) = (Vec::new(), &mut all[..]);
    for first in (0..count).step_by(CHUNK) {
        let end = (first + CHUNK).min(count);
        let own = beside.first(end) - beside.first(first);
        parts.push((first..end, rest.split_off_mut(..own).unwrap_or_default()));
    }
    parts.into_par_iter().for_each(|(vertices, mut weights)| {
        for v in vertices {
            let Some(own) = weights.split_off_mut(..beside.of(v).len()) else { return };
            let mut sum = 0.0;
            for (w, &u) in own.iter_mut().zip(beside.of(v)) {
                let same = dot(surface.normal[v], surface.normal[u as usize]).max(0.0);
                *w = same * same;
                sum += same * same;
            }
            // A vertex that faces another way than most of its neighbours is a feature and stays.
            let whole = if sum > 0.25 * own.len() as f32 { 1.0 / sum } else { 0.0 };
            own.iter_mut().for_each(|w| *w *= whole);
        }
    });
    all
}

#[inline]
fn mean(value: &[V], v: usize, beside: &Adjacency, weights: &[f32]) -> V {
    let weights = &weights[beside.first(v)..];
    let (mut sum, mut total) = ([0.0; 3], 0.0);
    for (&u, &w) in beside.of(v).iter().zip(weights) {
        sum = add(sum, scale(sub(value[u as usize], value[v]), w));
        total += w;
    }
    if total > 0.0 { add(value[v], sum) } else { value[v] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::droplets::sphere;
    use crate::surface::tests::{area_and_volume, euler_number};

    #[test]
    fn noise_goes_and_the_volume_stays() {
        let mut s = sphere(4);
        let mut seed = 3u32;
        for p in &mut s.position {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            *p = scale(*p, 1.0 + 0.01 * ((seed >> 8) as f32 / 16777216.0 - 0.5));
        }
        let (_, volume) = area_and_volume(&s);
        let rough = |s: &Surface| {
            let radius: Vec<f64> = s.position.iter().map(|p| f64::from(dot(*p, *p).sqrt())).collect();
            let mean = radius.iter().sum::<f64>() / radius.len() as f64;
            radius.iter().map(|r| (r - mean).powi(2)).sum::<f64>()
        };
        let before = rough(&s);
        smooth(&mut s, 10);
        let (_, same) = area_and_volume(&s);
        assert!((same / volume - 1.0).abs() < 3e-3, "{volume} {same}");
        assert!(rough(&s) < 0.3 * before, "{before} {}", rough(&s));
        assert_eq!(euler_number(&s), 2);
    }
}
