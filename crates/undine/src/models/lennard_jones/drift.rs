//! The plain part of a step, block by block in vectors: kicks and drift of particles that no wall, field or dice are asked for.

use super::list::BLOCK;
use crate::simd::{Lanes, widest};

/// A half-kick and a drift: v → v·kept + a·push, x → x + v dt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drift {
    /// See [`super::kick::Kick`].
    pub kick: [f32; 2],
    pub dt: f64,
}

/// Particles of a block, m, m/s and m/s².
pub(super) struct Moving<'a> {
    pub position: [&'a mut [f64]; 3],
    pub velocity: &'a mut [[f32; 3]],
    pub acceleration: &'a [[f32; 3]],
}

/// Moves a block on; `speed2` gets the squares of the speeds.
pub(super) fn drift(of: &mut Moving, by: &Drift, speed2: &mut [f32; BLOCK]) {
    widest!(drift_in(of: &mut Moving, by: &Drift, speed2: &mut [f32; BLOCK]));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters, reason = "it stands for the instruction set")]
fn drift_in<L: Lanes>(of: &mut Moving, by: &Drift, speed2: &mut [f32; BLOCK]) {
    let [kept, push] = by.kick;
    for (v, a) in of.velocity.as_flattened_mut().iter_mut().zip(of.acceleration.as_flattened()) {
        *v = *v * kept + *a * push;
    }
    for (speed2, v) in speed2.iter_mut().zip(&*of.velocity) {
        *speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    }
    for (axis, x) in of.position.iter_mut().enumerate() {
        for (x, v) in x.iter_mut().zip(&*of.velocity) {
            *x += f64::from(v[axis]) * by.dt;
        }
    }
}

/// What is left of the least distances to walls after a drift, m, and whether one is not above `clear` (or no number).
pub(super) fn use_up(room: &mut [f32], speed2: &[f32; BLOCK], [dt, nearer, clear]: [f32; 3], any: &mut bool) {
    let by = [dt, nearer, clear];
    widest!(use_up_in(room: &mut [f32], speed2: &[f32; BLOCK], by: [f32; 3], any: &mut bool));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters, reason = "it stands for the instruction set")]
fn use_up_in<L: Lanes>(room: &mut [f32], speed2: &[f32; BLOCK], by: [f32; 3], any: &mut bool) {
    let [dt, nearer, clear] = by;
    let mut near = 0u32;
    for (room, speed2) in room.iter_mut().zip(speed2) {
        *room -= speed2.sqrt() * dt + nearer;
        near |= u32::from(*room <= clear || room.is_nan());
    }
    *any = near != 0;
}

/// Sums of forces to accelerations, and the second half-kick; `speed2` gets the squares of the speeds.
pub(super) fn kick(
    velocity: &mut [[f32; 3]],
    acceleration: &mut [[f32; 3]],
    by: &Second,
    speed2: &mut [f32; BLOCK],
) {
    widest!(kick_in(velocity: &mut [[f32; 3]], acceleration: &mut [[f32; 3]], by: &Second, speed2: &mut [f32; BLOCK]));
}

/// a → a·scale + gravity, v → v·kept + a·push.
#[derive(Clone, Copy, Debug)]
pub(super) struct Second {
    pub kick: [f32; 2],
    pub scale: f32,
    /// m/s².
    pub gravity: [f32; 3],
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters, reason = "it stands for the instruction set")]
fn kick_in<L: Lanes>(
    velocity: &mut [[f32; 3]],
    acceleration: &mut [[f32; 3]],
    by: &Second,
    speed2: &mut [f32; BLOCK],
) {
    let [kept, push] = by.kick;
    for a in acceleration.iter_mut() {
        for (a, g) in a.iter_mut().zip(by.gravity) {
            *a = *a * by.scale + g;
        }
    }
    for (v, a) in velocity.as_flattened_mut().iter_mut().zip(acceleration.as_flattened()) {
        *v = *v * kept + *a * push;
    }
    for (speed2, v) in speed2.iter_mut().zip(&*velocity) {
        *speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Points = Vec<[f32; 3]>;

    proptest! {
        #[test]
        fn blocks_move_as_particles_one_by_one(
            velocity in prop::collection::vec([-2.0..2.0f32, -2.0..2.0f32, -2.0..2.0f32], 1..=BLOCK),
            force in prop::collection::vec([-9.0..9.0f32, -9.0..9.0f32, -9.0..9.0f32], BLOCK),
            kept in 0.5..1.0f32,
            dt in 0.0..0.1f64,
        ) {
            let n = velocity.len();
            let force: Points = force[..n].to_vec();
            let kick_by = [kept, dt as f32];
            let by = Second { kick: kick_by, scale: 0.3, gravity: [1.0, -9.81, 2.0] };
            let (mut v, mut a, mut speed2) = (velocity.clone(), force.clone(), [0.0; BLOCK]);
            kick(&mut v, &mut a, &by, &mut speed2);
            for k in 0..n {
                for c in 0..3 {
                    prop_assert_eq!(a[k][c], force[k][c] * 0.3 + by.gravity[c]);
                    prop_assert_eq!(v[k][c], velocity[k][c] * kept + a[k][c] * dt as f32);
                }
                prop_assert!((speed2[k] - glam::Vec3::from(v[k]).length_squared()).abs() <= 1e-6 * speed2[k]);
            }
            let mut places = [vec![0.5; n], vec![-1.0; n], vec![2.0; n]];
            let mut on = v.clone();
            let [x, y, z] = &mut places;
            let mut of = Moving { position: [x, y, z], velocity: &mut on, acceleration: &a };
            drift(&mut of, &Drift { kick: kick_by, dt }, &mut speed2);
            let mut room = vec![0.05; n];
            let mut any = false;
            use_up(&mut room, &speed2, [dt as f32, 0.001, 0.01], &mut any);
            for k in 0..n {
                let half: [f32; 3] = std::array::from_fn(|c| v[k][c] * kept + a[k][c] * dt as f32);
                prop_assert_eq!(on[k], half);
                for (c, from) in [0.5, -1.0, 2.0].into_iter().enumerate() {
                    prop_assert_eq!(places[c][k], from + f64::from(half[c]) * dt);
                }
                let way = glam::Vec3::from(half).length() * dt as f32 + 0.001;
                prop_assert!((room[k] - (0.05 - way)).abs() < 1e-5);
            }
            prop_assert_eq!(any, room.iter().any(|r| *r <= 0.01));
        }
    }
}
