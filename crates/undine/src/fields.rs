//! Gravity, force fields and brushes: accelerations that depend on place, velocity and time.

use glam::DVec3;

use crate::scene::{BrushTrack, Force, Scene};

/// A brush held down now: it drags the fluid within its radius along with its own velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brush {
    /// Which one (several fingers).
    pub id: u32,
    /// Centre, m.
    pub position: DVec3,
    /// Velocity, m/s.
    pub velocity: DVec3,
    /// Radius of influence, m.
    pub radius: f64,
    /// How fast the fluid takes on the brush's velocity, 1/s.
    pub strength: f64,
}

/// A finger held on the fluid: it gathers what is within its radius into a drop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Which finger.
    pub id: u32,
    /// Where, m.
    pub position: DVec3,
    /// How far it is felt, m.
    pub radius: f64,
    /// Greatest acceleration towards it, m/s²; negative pushes away.
    pub strength: f64,
}

impl Touch {
    /// Acceleration at a place for fluid moving at `v`, m/s²: none in the middle, greatest a third of the radius off, fading
    /// towards the radius; with friction, so that what it gathers comes to rest.
    fn acceleration(&self, p: DVec3, v: DVec3) -> DVec3 {
        let d = p - self.position;
        let q = d.length() / self.radius;
        if q >= 1.0 {
            return DVec3::ZERO;
        }
        let fade = (1.0 - q) * (1.0 - q);
        // q(1-q)² is 4/27 at its highest, q = 1/3.
        let pull = d / self.radius * (-6.75 * fade * self.strength);
        let rate = 2.0 * (self.strength.max(0.0) / self.radius).sqrt();
        pull - v * (rate * fade)
    }
}

/// All accelerations from outside the fluid.
#[derive(Clone, Debug)]
pub struct Fields {
    /// Gravity, m/s².
    pub gravity: DVec3,
    /// The scene's force fields.
    pub forces: Vec<Force>,
    /// Brushes held down by events.
    pub held: Vec<Brush>,
    /// Fingers held down by events.
    pub touches: Vec<Touch>,
    /// Brushes of tracks at the present time.
    tracked: Vec<Brush>,
}

impl Fields {
    /// The fields of a scene at time 0.
    pub fn new(scene: &Scene) -> Self {
        let mut fields = Fields {
            gravity: scene.gravity,
            forces: scene.forces.clone(),
            held: Vec::new(),
            touches: Vec::new(),
            tracked: Vec::new(),
        };
        fields.set_time(0.0);
        fields
    }

    /// Moves tracked brushes to where they are at `time`, s.
    pub fn set_time(&mut self, time: f64) {
        self.tracked.clear();
        for force in &self.forces {
            if let Force::Brush(track) = force {
                self.tracked.extend(on_track(track, time));
            }
        }
    }

    /// Whether only gravity acts, so that the rest can be skipped.
    pub fn only_gravity(&self) -> bool {
        self.forces.iter().all(|f| matches!(f, Force::Brush(_)))
            && self.held.is_empty()
            && self.touches.is_empty()
            && self.tracked.is_empty()
    }

    /// Acceleration at a place for fluid moving at `v`, m/s².
    pub fn acceleration(&self, p: DVec3, v: DVec3) -> DVec3 {
        let mut a = self.gravity;
        for force in &self.forces {
            match force {
                Force::Uniform(f) => a += *f,
                Force::Swirl { center, axis, strength, radius } => {
                    let d = p - *center;
                    let out = d - *axis * d.dot(*axis);
                    let r = out.length();
                    if r > 0.0 {
                        // Constant beyond a tenth of the radius, falling to nothing at the axis, where the
                        // direction is undefined; fading outside the radius.
                        let core = if radius.is_finite() { 0.1 * radius } else { 0.0 };
                        let fade = if r > *radius { (radius / r).powi(2) } else { 1.0 };
                        a += axis.cross(out) / r.max(core) * (*strength * fade);
                    }
                }
                Force::Brush(_) => {}
            }
        }
        for b in self.held.iter().chain(&self.tracked) {
            let q = p.distance_squared(b.position) / (b.radius * b.radius);
            if q < 1.0 {
                a += (b.velocity - v) * (b.strength * (1.0 - q));
            }
        }
        for t in &self.touches {
            a += t.acceleration(p, v);
        }
        a
    }
}

fn on_track(track: &BrushTrack, time: f64) -> Option<Brush> {
    let leg = track.points.windows(2).position(|w| w[0].0 <= time && time < w[1].0)?;
    let (a, b) = (track.points[leg], track.points[leg + 1]);
    let velocity = (b.1 - a.1) / (b.0 - a.0);
    Some(Brush {
        id: u32::MAX,
        position: a.1 + velocity * (time - a.0),
        velocity,
        radius: track.radius,
        strength: track.strength,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_touch_pulls_from_all_sides_within_its_radius_and_most_a_third_off() {
        let touch = Touch { id: 0, position: DVec3::X, radius: 0.3, strength: 2.0 };
        let at = |d: DVec3| touch.acceleration(DVec3::X + d, DVec3::ZERO);
        for way in [DVec3::X, DVec3::NEG_Y, DVec3::Z] {
            assert!((at(way * 0.1) + way * 2.0).length() < 1e-12);
            assert!(at(way * 0.05).length() < 2.0 && at(way * 0.2).length() < 2.0);
            assert_eq!(at(way * 0.3), DVec3::ZERO);
        }
        assert!(touch.acceleration(DVec3::X, DVec3::Y).y < 0.0);
        let away = Touch { strength: -2.0, ..touch };
        assert_eq!(away.acceleration(DVec3::X * 1.1, DVec3::Y), -at(DVec3::X * 0.1));
    }

    #[test]
    fn a_tracked_brush_moves_along_its_legs_and_then_lifts() {
        let track = BrushTrack {
            points: vec![(1.0, DVec3::ZERO), (2.0, DVec3::X), (4.0, DVec3::X + DVec3::Y)],
            radius: 0.1,
            strength: 10.0,
        };
        assert!(on_track(&track, 0.5).is_none());
        assert_eq!(on_track(&track, 1.5).unwrap().position, DVec3::X * 0.5);
        assert_eq!(on_track(&track, 3.0).unwrap().velocity, DVec3::Y * 0.5);
        assert!(on_track(&track, 4.0).is_none());
    }
}
