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
    out.put_f64s(&[of.skin, of.travel, of.wear])?;
    out.put_f32s(&of.room)?;
    let patched = of.patched && !of.stale;
    for laid in &of.laid {
        out.put_f64s(if patched { laid } else { &[] })?;
    }
    out.put_f32s(if patched { of.patches.halves() } else { &[] })?;
    let mut numbers = Vec::new();
    of.beside.iter().for_each(|b| b.numbers(&mut numbers));
    out.put_f64s(&numbers)?;
    out.put_u64(of.steps)?;
    out.put_u64(of.since)?;
    out.put_u64(of.mixed)?;
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
    let [skin, travel, wear] = numbers[..] else {
        return Err(damaged("the list of neighbours"));
    };
    let room = from.get_f32s()?;
    let laid = [from.get_f64s()?, from.get_f64s()?, from.get_f64s()?];
    let halves = from.get_f32s()?;
    let mut beside = Vec::new();
    let mut numbers = from.get_f64s()?.into_iter();
    while let Some(b) = Beside::from_numbers(&mut numbers)? {
        beside.push(b);
    }
    let (steps, since, mixed) = (from.get_u64()?, from.get_u64()?, from.get_u64()?);
    let extremes = from.get_f32s()?;
    let [speed2, close, rate] = extremes[..] else { return Err(damaged("step statistics")) };
    if !beside.is_empty() && (beside.len() != n || room.len() != n) || listed.iter().any(|a| a.len() != n) {
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
    of.patched = of.goes_by_patches();
    let p = &mut of.particles;
    if of.patched && !stale {
        if laid.iter().any(|a| a.len() != n || !a.iter().all(|v| v.abs() < FARTHEST)) {
            return Err(damaged("where particles were sorted"));
        }
        of.grid.fit([&laid[0], &laid[1], &laid[2]], None);
        of.laid = laid;
    } else if of.patched {
        of.grid.fit([&listed[0], &listed[1], &listed[2]], None);
    }
    let [x, y, z] = listed;
    let now =
        [std::mem::replace(&mut p.x, x), std::mem::replace(&mut p.y, y), std::mem::replace(&mut p.z, z)];
    if of.patched {
        // Pairs are listed by these, too.
        let most = of.greatest_half();
        if !halves.iter().all(|h| (0.0..=most).contains(h)) {
            return Err(damaged("the list of neighbours"));
        }
        of.lay_patches(halves);
    } else {
        p.lay(&mut of.grid, of.period.as_ref());
        of.lay();
    }
    let p = &mut of.particles;
    [p.x, p.y, p.z] = now;
    super::relist::fill_all(&of.grid, of.particles.position(), &mut of.place[..n]);
    of.stale = stale;
    (of.travel, of.steps) = (travel, steps);
    (of.wear, of.since, of.mixed) = (wear, since, mixed);
    (of.beside, of.room) = (beside, room);
    let closest = super::Closest { close, rate };
    of.extremes = Extremes { speed2, fastest: 0, closest };
    Ok(())
}
