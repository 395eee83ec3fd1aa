//! Half-kicks with friction (eq. 5), exact for a constant force and any step, and the thermostat.

use glam::Vec3;

use super::params::Params;

/// v → v e^(-γt) + a (1 - e^(-γt))/γ, by fluid.
pub struct Kick {
    /// e^(-γt) and (1 - e^(-γt))/γ.
    factors: Vec<[f32; 2]>,
    /// 1/γ, s.
    per_drag: Vec<f32>,
}

impl Kick {
    /// For a time t, s.
    pub fn new(params: &Params, t: f64) -> Self {
        let factor = |&gamma: &f64| {
            let kept = (-gamma * t).exp();
            let push = if gamma > 0.0 { -(-gamma * t).exp_m1() / gamma } else { t };
            [kept as f32, push as f32]
        };
        Kick {
            factors: params.drag.iter().map(factor).collect(),
            per_drag: params.drag.iter().map(|d| (1.0 / d.max(1e-30)) as f32).collect(),
        }
    }

    /// The factors, if they are the same for all fluids.
    pub fn uniform(&self) -> Option<[f32; 2]> {
        let first = *self.factors.first()?;
        self.factors.iter().all(|f| *f == first).then_some(first)
    }

    /// The velocity after it.
    #[inline(always)]
    pub fn half(&self, v: Vec3, a: Vec3, fluid: u8) -> Vec3 {
        let [kept, push] = self.factors[usize::from(fluid)];
        v * kept + a * push
    }

    /// 1/γ of a fluid, s.
    #[inline(always)]
    pub fn per_drag(&self, fluid: usize) -> f32 {
        self.per_drag[fluid]
    }

    /// What the thermostat adds in a step, if there is one: a random push of the strength that friction takes (Langevin).
    pub fn heat(&self, params: &Params, dt: f64, step: u64) -> Option<Heat> {
        if params.heat <= 0.0 || dt <= 0.0 {
            return None;
        }
        let strength =
            |(gamma, mass): (&f64, &f64)| (params.heat / mass * -(-2.0 * gamma * dt).exp_m1()).sqrt() as f32;
        let strength = params.drag.iter().zip(&params.mass).map(strength).collect();
        Some(Heat { strength, seed: mix(params.seed ^ mix(step)) })
    }
}

/// Random pushes of one step.
pub struct Heat {
    strength: Vec<f32>,
    seed: u64,
}

impl Heat {
    /// That of a particle, m/s: the same whatever the order.
    #[inline]
    pub fn push(&self, fluid: usize, id: u32) -> Vec3 {
        let a = mix(self.seed.wrapping_add(u64::from(id)));
        let b = mix(a);
        let [x, y] = normal(a);
        let [z, _] = normal(b);
        Vec3::new(x, y, z) * self.strength[fluid]
    }
}

/// splitmix64.
fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Two numbers of the normal distribution (Box & Muller 1958).
fn normal(bits: u64) -> [f32; 2] {
    let u = ((bits >> 32) as f32 + 1.0) / 4_294_967_808.0;
    let angle = (bits as u32) as f32 * (std::f32::consts::TAU / 4_294_967_296.0);
    let r = (-2.0 * u.ln()).sqrt();
    [r * angle.cos(), r * angle.sin()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dice_are_normal() {
        let n = 100_000u32;
        let draws: Vec<f64> = (0..n).flat_map(|i| normal(mix(u64::from(i)))).map(f64::from).collect();
        let mean = |power: i32| draws.iter().map(|x| x.powi(power)).sum::<f64>() / draws.len() as f64;
        assert!(mean(1).abs() < 0.01 && mean(3).abs() < 0.04, "{} {}", mean(1), mean(3));
        assert!((mean(2) - 1.0).abs() < 0.01 && (mean(4) - 3.0).abs() < 0.1, "{} {}", mean(2), mean(4));
    }
}
