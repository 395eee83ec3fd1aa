//! The spacing of particles of which nothing else is known.

use rayon::prelude::*;

/// Particles that are asked for their neighbours. Each looks at all others: exact, without a guess of the scale, and
/// less work than the surface itself.
const ASKED: usize = 200;
/// Neighbours that a particle counts; on a cubic lattice the last of them is two spacings away.
const NEIGHBORS: usize = 32;
/// Share of the particles asked that may lie deeper in the fluid than the one that is believed. Those at the surface
/// have fewer neighbours and would tell a larger spacing.
const DEPTH: f64 = 0.25;

/// Estimates the spacing at rest, m, from how closely the particles lie. `None` for fewer than two particles, or
/// where they lie on each other.
pub fn estimate_spacing(position: &[[f32; 3]]) -> Option<f64> {
    let count = NEIGHBORS.min(position.len().checked_sub(1)?);
    if count == 0 {
        return None;
    }
    let asked = ASKED.min(position.len());
    let mut reach: Vec<f64> = (0..asked)
        .into_par_iter()
        .map(|k| reach(position, pick(k, position.len()), count))
        .filter(|r| r.is_finite() && *r > 0.0)
        .collect();
    reach.sort_by(f64::total_cmp);
    let r = *reach.get((DEPTH * reach.len() as f64) as usize)?;
    // A ball of that radius holds the particle, its neighbours but the last, and half of that.
    let volume = 4.0 / 3.0 * std::f64::consts::PI * r.powi(3);
    let spacing = (volume / (count as f64 + 0.5)).cbrt();
    (spacing > 0.0 && spacing.is_finite()).then_some(spacing)
}

/// The `k`th particle to ask of `n`: spread evenly, but not at even strides, which on a lattice would pick one face.
fn pick(k: usize, n: usize) -> usize {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    ((((k as f64 + 0.5) * GOLDEN).fract() * n as f64) as usize).min(n - 1)
}

/// Distance of the particle `of` to its `count`th neighbour, m.
fn reach(position: &[[f32; 3]], of: usize, count: usize) -> f64 {
    let here = position[of].map(f64::from);
    // The nearest so far, the farthest of them last.
    let mut nearest = vec![f64::INFINITY; count];
    for (j, there) in position.iter().enumerate() {
        let d: f64 = (0..3).map(|a| (f64::from(there[a]) - here[a]).powi(2)).sum();
        if d < nearest[count - 1] && j != of {
            let place = nearest.partition_point(|n| *n <= d);
            nearest[place..].rotate_right(1);
            nearest[place] = d;
        }
    }
    nearest[count - 1].sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice(n: [usize; 3], spacing: f32, jitter: f32) -> Vec<[f32; 3]> {
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        let mut points = Vec::new();
        for x in 0..n[0] {
            for y in 0..n[1] {
                for z in 0..n[2] {
                    points.push([x, y, z].map(|i| spacing * (i as f32 + jitter * random())));
                }
            }
        }
        points
    }

    #[test]
    fn a_block_of_fluid_tells_its_spacing() {
        for (n, spacing, jitter) in
            [([20, 20, 20], 0.02, 0.0), ([30, 10, 12], 5.0, 0.5), ([40, 6, 40], 1e-5, 1.0)]
        {
            let found = estimate_spacing(&lattice(n, spacing, jitter)).unwrap();
            let ratio = found / f64::from(spacing);
            assert!((0.9..1.1).contains(&ratio), "{n:?}: {ratio}");
        }
    }

    #[test]
    fn drops_far_away_do_not_change_it() {
        let mut points = lattice([20, 20, 20], 0.02, 0.2);
        let before = estimate_spacing(&points).unwrap();
        points.extend((0..50).map(|i| [1e5 + i as f32, 0.0, -1e4]));
        assert!((estimate_spacing(&points).unwrap() / before - 1.0).abs() < 0.05);
    }

    #[test]
    fn what_has_no_spacing_tells_none() {
        assert_eq!(estimate_spacing(&[]), None);
        assert_eq!(estimate_spacing(&[[1.0; 3]]), None);
        assert_eq!(estimate_spacing(&[[1.0; 3]; 100]), None);
        let two = estimate_spacing(&[[0.0; 3], [1.0, 0.0, 0.0]]).unwrap();
        assert!((1.0..2.0).contains(&two));
    }
}
