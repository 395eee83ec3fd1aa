//! Checkpoints of the Lennard-Jones model. A list of neighbours is made anew from where the particles were when it was made,
//! so that sums have the same order.

use super::wall::Beside;
use super::{Extremes, LennardJones};
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};

/// No run gets a particle so far, m.
const FARTHEST: f64 = 1e18;

pub(super) fn save(of: &LennardJones, out: &mut CheckpointWriter) -> std::io::Result<()> {
    let p = &of.particles;
    out.section("lennard-jones")?;
    out.put_u64(p.len() as u64)?;
    out.put_u32(p.next_id)?;
    for a in p.position() {
        out.put_f64s(a)?;
    }
    out.put_f32x3s(&p.velocity)?;
    out.put_f32x3s(&p.acceleration)?;
    out.put_u32s(&p.id)?;
    out.put_u8s(&p.fluid)?;
    out.put_u8s(&p.near_wall)?;
    out.put_bool(of.stale)?;
    for (listed, now) in of.reference.iter().zip(p.position()) {
        out.put_f64s(if of.stale { now } else { listed })?;
    }
    out.put_f64s(&[of.skin, of.travel, of.listed_travel])?;
    let mut numbers = Vec::new();
    of.beside.iter().for_each(|b| b.numbers(&mut numbers));
    out.put_f64s(&numbers)?;
    out.put_u64(of.steps)?;
    let e = &of.extremes;
    out.put_f32s(&[e.speed2, e.closest.close, e.closest.rate])
}

pub(super) fn load(of: &mut LennardJones, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
    let damaged = |what: &str| CheckpointError::Damaged { what: what.into() };
    from.section("lennard-jones")?;
    let n = from.get_u64()? as usize;
    let p = &mut of.particles;
    p.next_id = from.get_u32()?;
    let now = [from.get_f64s()?, from.get_f64s()?, from.get_f64s()?];
    p.velocity = from.get_f32x3s()?;
    p.acceleration = from.get_f32x3s()?;
    p.id = from.get_u32s()?;
    p.fluid = from.get_u8s()?;
    p.near_wall = from.get_u8s()?;
    p.density = vec![1.0; p.id.len()];
    let stale = from.get_bool()?;
    let listed = [from.get_f64s()?, from.get_f64s()?, from.get_f64s()?];
    let numbers = from.get_f64s()?;
    let [skin, travel, listed_travel] = numbers[..] else { return Err(damaged("the list of neighbours")) };
    let mut beside = Vec::new();
    let mut numbers = from.get_f64s()?.into_iter();
    while let Some(b) = Beside::from_numbers(&mut numbers)? {
        beside.push(Box::new(b));
    }
    let steps = from.get_u64()?;
    let extremes = from.get_f32s()?;
    let [speed2, close, rate] = extremes[..] else { return Err(damaged("step statistics")) };
    let places = now.iter().chain(&listed);
    let lengths = [p.velocity.len(), p.acceleration.len(), p.id.len(), p.fluid.len(), p.near_wall.len()];
    if !beside.is_empty() && beside.len() != n
        || lengths.iter().any(|l| *l != n)
        || places.clone().any(|a| a.len() != n)
    {
        return Err(damaged("particle arrays differ in length"));
    }
    if p.fluid.iter().any(|f| usize::from(*f) >= of.params.mass.len()) {
        return Err(damaged("a particle belongs to no fluid of the scene"));
    }
    if !places.flatten().all(|v| v.abs() < FARTHEST) {
        return Err(damaged("a particle is nowhere"));
    }
    let finite = |a: &[[f32; 3]]| a.as_flattened().iter().all(|v| v.is_finite());
    if !(finite(&p.velocity) && finite(&p.acceleration)) {
        return Err(damaged("a particle's motion is no number"));
    }
    let sigma = of.params.pair.sigma;
    // Pairs are listed by it, and their number grows with its cube.
    if !(skin > 0.0 && skin <= sigma) {
        return Err(damaged("the list of neighbours"));
    }
    of.set_skin(skin);
    let p = &mut of.particles;
    [p.x, p.y, p.z] = listed;
    p.lay(&mut of.grid, of.period.as_ref());
    of.lay();
    let p = &mut of.particles;
    [p.x, p.y, p.z] = now;
    super::relist::fill_all(&of.grid, of.particles.position(), &mut of.place[..n]);
    of.stale = stale;
    (of.travel, of.listed_travel, of.steps) = (travel, listed_travel, steps);
    of.beside = beside;
    let closest = super::Closest { close, rate };
    of.extremes = Extremes { speed2, fastest: 0, closest };
    Ok(())
}
