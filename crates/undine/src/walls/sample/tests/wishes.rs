use std::path::Path;

use super::*;
use crate::scene::Scene;

fn walls(text: &str) -> Walls {
    let head = "[time]\nduration = 1\n[model]\nkind = \"sph\"\nspacing = 0.1\n[[fluid]]\n\
                shape = { box = { min = [0.1, 1.5, 0.1], max = [0.5, 1.9, 0.5] } }\n";
    let loaded = Scene::parse(&format!("{head}{text}"), "test.toml", Path::new("."), &[]).unwrap();
    Walls::new(&loaded.scene)
}

#[test]
fn nothing_is_sampled_behind_a_closed_face() {
    let walls = walls(
        "[domain]\nmin = [0, 0, 0]\nmax = [2, 2, 2]\n\
         [[boundary]]\nshape = { box = { min = [-1, -1, -1], max = [3, 0.45, 3] } }\n\
         [[boundary]]\nshape = { sphere = { center = [2, 1, 1], radius = 0.6 } }\n\
         motion = { translate = { velocity = [1, 0, 0] } }\n",
    );
    let samples = walls.samples(0.1, 2).unwrap();
    assert_eq!(samples.iter().map(|w| (w.wall, w.moves)).collect::<Vec<_>>(), [(0, false), (1, true)]);
    let floor = Aabb::new(DVec3::ZERO, DVec3::splat(2.0));
    assert!(samples[0].samples.iter().all(|s| floor.contains(s.position)));
    // Two layers of about 20 x 20.
    assert!((760..=840).contains(&samples[0].samples.len()), "{}", samples[0].samples.len());
    // A moving ball is whole.
    let right = samples[1].samples.iter().filter(|s| s.position.x > 2.0).count() as f64;
    assert!((right / samples[1].samples.len() as f64 - 0.5).abs() < 0.05);
    let count: usize = samples.iter().map(|w| w.samples.len()).sum();
    let estimate = walls.sample_count_estimate(0.1, 2);
    assert!(estimate > 0.9 * count as f64, "{estimate} for {count}");
}

#[test]
fn absurd_wishes_are_refused_before_memory_is_asked_for() {
    let walls = walls("[[boundary]]\nshape = { sphere = { center = [2, 1, 1], radius = 600 } }\n");
    assert!(matches!(walls.samples(1e-3, 2), Err(SampleError::TooMany { wall: 0, .. })));
    assert!(walls.sample_count_estimate(1e-3, 2) > 1e12);
    for spacing in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9] {
        assert!(matches!(walls.samples(spacing, 2), Err(SampleError::Spacing { wall: 0, .. })), "{spacing}");
    }
}
