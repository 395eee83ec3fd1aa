//! Markers where emitters are, by cells: emitters ask at every step what is where, and to put all markers in order for that took
//! an eighth of the time of a jet.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::layout::Layout;
use crate::scene::Scene;
use crate::scene::aabb::Aabb;
use crate::state::markers::{BLOCK, Order};

/// Cells around emitters in which their next layers come to lie, unless a step is very long.
const AROUND: f64 = 4.0;

/// Markers in a box.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// The box, in cells; none where there are no emitters.
    within: Option<[Vec3; 2]>,
    x: Vec<[f32; 3]>,
    order: Order,
}

impl Watch {
    /// None found yet, around the emitters of a scene.
    pub fn new(scene: &Scene, layout: &Layout) -> Self {
        let bounds = scene.emitters.iter().map(|e| e.shape.bounds());
        let all = bounds.reduce(|a, b| Aabb { min: a.min.min(b.min), max: a.max.max(b.max) });
        let within = all.map(|b| {
            let (mut low, mut high) = (layout.local(b.min) - AROUND, layout.local(b.max) + AROUND);
            // What repeats may be seen from the other end.
            for a in (0..3).filter(|a| layout.periodic[*a]) {
                (low[a], high[a]) = (f64::NEG_INFINITY, f64::INFINITY);
            }
            [low.as_vec3(), high.as_vec3()]
        });
        Watch { within, ..Watch::default() }
    }

    /// Whether there are emitters.
    pub fn is_on(&self) -> bool {
        self.within.is_some()
    }

    /// Whether all within cells `low` to `high` would be among those found.
    pub fn sees(&self, low: DVec3, high: DVec3) -> bool {
        self.within
            .is_some_and(|[a, b]| low.as_vec3().cmpge(a).all() && (high + 1.0).as_vec3().cmple(b).all())
    }

    /// Finds those of the markers that are in the box, in their order.
    pub fn find(&mut self, x: &[[f32; 3]], n: [usize; 3]) {
        let Some([low, high]) = self.within else { return };
        let (low, high) = (low.to_array(), high.to_array());
        let is_in = |x: &&[f32; 3]| (0..3).all(|a| (x[a] >= low[a]) & (x[a] <= high[a]));
        self.x.clear();
        self.x.par_extend(x.par_iter().with_min_len(BLOCK).filter(is_in).copied());
        self.order.find(&self.x, n);
    }

    /// Their places, in cells, and their order.
    pub fn found(&self) -> (&[[f32; 3]], &Order) {
        (&self.x, &self.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Fields;
    use crate::models::mac::Mac;
    use crate::models::{Around, Birth, Passes, Solver};
    use crate::walls::Walls;

    #[test]
    fn what_emitters_are_told_is_what_all_markers_say() {
        let text = "gravity = [0, -9.81, 0]\ndomain = { min = [0, 0, 0], max = [1, 1, 0.5], open = ['+x'] }\n\
             model = { kind = 'mac', spacing = 0.05, markers = 4 }\n[[fluid]]\nname = 'water'\n\
             [[emitter]]\nfluid = 'water'\nspeed = 3\n\
             shape = { disc = { center = [0, 0.3, 0.25], normal = [1, 0, 0], radius = 0.1 } }\n";
        let scene = Scene::parse(text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene;
        let (walls, fields) = (Walls::new(&scene), Fields::new(&scene));
        let (solids, mut passes) = (Default::default(), Passes::default());
        let mut mac = Mac::new(&scene).unwrap();
        let mut state = 7u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 24)
        };
        let (mut near, mut count, mut left) = (0, 0, 0);
        for step in 0..30 {
            // A jet that comes in at random and leaves on the other side.
            let births: Vec<Birth> = (0..300)
                .map(|_| Birth {
                    position: DVec3::new(0.3 * random(), 0.2 + 0.2 * random(), 0.15 + 0.2 * random()),
                    velocity: DVec3::new(8.0, 0.0, 0.0),
                    fluid: 0,
                })
                .collect();
            count += mac.insert(&births);
            let around =
                Around { time: f64::from(step) * 0.01, walls: &walls, fields: &fields, solids: &solids };
            if step == 0 {
                mac.refresh(&around, &mut passes);
            }
            mac.step(0.01, &around, &mut passes).unwrap();
            left = count - mac.len();
            let all: Vec<DVec3> = mac.asked_for().x.iter().map(|x| mac.layout.world(*x)).collect();
            // Near the emitter and far from it.
            for _ in 0..60 {
                let place =
                    DVec3::new(random() * if random() < 0.5 { 0.2 } else { 1.0 }, random(), 0.5 * random());
                let distance = 0.02 * random();
                let gap = all.iter().map(|p| p.distance(place)).fold(f64::INFINITY, f64::min);
                if (gap - distance).abs() > 1e-6 {
                    assert_eq!(
                        mac.occupied(place, distance),
                        gap < distance,
                        "step {step}: {place} {distance} {gap}"
                    );
                    near += usize::from(gap < distance);
                }
            }
        }
        assert!(near > 20 && left > 100, "{near} near, {left} left");
    }
}
