//! Checkpoints of the Lennard-Jones model. A list of neighbours is made anew from where the particles were when it was made,
//! so that sums have the same order.

use super::wall::Beside;
use super::{Extremes, LennardJones};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::state::particles::FARTHEST;

pub(super) fn save(of: &LennardJones, out: &mut CheckpointWriter) -> std::io::Result<()> {
    out.section("lennard-jones")?;
    of.particles.save(out)?;
    out.put_bool(of.stale)?;
    for (listed, now) in of.reference.iter().zip(of.particles.position()) {
        out.put_f64s(if of.stale { now } else { listed })?;
    }
    out.put_f64s(&[of.skin, of.travel, of.listed_travel, of.wear])?;
    let mut numbers = Vec::new();
    let unknown = Beside::default();
    of.beside.iter().for_each(|b| b.as_deref().unwrap_or(&unknown).numbers(&mut numbers));
    out.put_f64s(&numbers)?;
    out.put_u64(of.steps)?;
    out.put_u64(of.since)?;
    let e = &of.extremes;
    out.put_f32s(&[e.speed2, e.closest.close, e.closest.rate])
}

pub(super) fn load(of: &mut LennardJones, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
    let damaged = |what: &str| CheckpointError::Damaged { what: what.into() };
    from.section("lennard-jones")?;
    of.particles.load(from, of.params.mass.len())?;
    let n = of.particles.len();
    let stale = from.get_bool()?;
    let listed = [from.get_f64s()?, from.get_f64s()?, from.get_f64s()?];
    let numbers = from.get_f64s()?;
    let [skin, travel, listed_travel, wear] = numbers[..] else {
        return Err(damaged("the list of neighbours"));
    };
    let mut beside = Vec::new();
    let mut numbers = from.get_f64s()?.into_iter();
    while let Some(b) = Beside::from_numbers(&mut numbers)? {
        beside.push(Some(Box::new(b)));
    }
    let (steps, since) = (from.get_u64()?, from.get_u64()?);
    let extremes = from.get_f32s()?;
    let [speed2, close, rate] = extremes[..] else { return Err(damaged("step statistics")) };
    if !beside.is_empty() && beside.len() != n || listed.iter().any(|a| a.len() != n) {
        return Err(damaged("particle arrays differ in length"));
    }
    if !listed.iter().flatten().all(|v| v.abs() < FARTHEST) {
        return Err(damaged("a particle is nowhere"));
    }
    let sigma = of.params.pair.sigma;
    // Pairs are listed by it, and their number grows with its cube.
    if !(skin > 0.0 && skin <= sigma) {
        return Err(damaged("the list of neighbours"));
    }
    of.set_skin(skin);
    let p = &mut of.particles;
    let [x, y, z] = listed;
    let now =
        [std::mem::replace(&mut p.x, x), std::mem::replace(&mut p.y, y), std::mem::replace(&mut p.z, z)];
    p.lay(&mut of.grid, of.period.as_ref());
    of.lay();
    let p = &mut of.particles;
    [p.x, p.y, p.z] = now;
    super::relist::fill_all(&of.grid, of.particles.position(), &mut of.place[..n]);
    of.stale = stale;
    (of.travel, of.listed_travel, of.steps) = (travel, listed_travel, steps);
    (of.wear, of.since) = (wear, since);
    of.beside = beside;
    let closest = super::Closest { close, rate };
    of.extremes = Extremes { speed2, fastest: 0, closest };
    Ok(())
}
