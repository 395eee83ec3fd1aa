//! Checkpoints of the grid and its markers.

use glam::DVec3;

use super::Mac;
use super::following::Owed;
use super::transfer::Faces;
use crate::checkpoint::{CheckpointError, CheckpointReader, CheckpointWriter};
use crate::scene::Convection;
use crate::state::markers::Markers;

fn damaged(what: &str) -> CheckpointError {
    CheckpointError::Damaged { what: what.into() }
}

fn put_markers(out: &mut CheckpointWriter, m: &Markers) -> std::io::Result<()> {
    out.put_u32(m.next_id)?;
    out.put_f32x3s(&m.x)?;
    out.put_f32x3s(&m.velocity)?;
    out.put_f32s(m.affine.as_flattened().as_flattened())?;
    out.put_f32s(&m.weight)?;
    out.put_u32s(&m.id)?;
    out.put_u8s(&m.fluid)
}

fn put_owed(out: &mut CheckpointWriter, owed: &Owed) -> std::io::Result<()> {
    out.put_f64s(&[owed.time, owed.way])?;
    // At frames there is nothing.
    if owed.time > 0.0 {
        for path in &owed.path {
            out.put_f32s(path)?;
        }
        out.put_f32s(&owed.cells)?;
    }
    Ok(())
}

fn get_owed(from: &mut CheckpointReader, cells: usize) -> Result<Owed, CheckpointError> {
    let times = from.get_f64s()?;
    let wrong = || damaged("what followers have yet to go");
    let [time, way] = times[..] else { return Err(wrong()) };
    if ![time, way].iter().all(|v| v.is_finite() && *v >= 0.0) {
        return Err(wrong());
    }
    let mut owed = Owed { time, way, ..Owed::default() };
    if time > 0.0 {
        for path in &mut owed.path {
            *path = from.get_f32s()?;
        }
        owed.cells = from.get_f32s()?;
        let mut fields = owed.path.iter().chain([&owed.cells]);
        if !fields.all(|f| f.len() == cells && f.iter().all(|v| v.is_finite())) {
            return Err(wrong());
        }
    }
    Ok(owed)
}

/// Markers of `fluids` fluids in a grid of `n` cells.
fn get_markers(
    from: &mut CheckpointReader,
    m: &mut Markers,
    fluids: usize,
    n: [f32; 3],
) -> Result<(), CheckpointError> {
    m.next_id = from.get_u32()?;
    m.x = from.get_f32x3s()?;
    m.velocity = from.get_f32x3s()?;
    let affine = from.get_f32s()?;
    m.affine = affine.as_chunks::<3>().0.as_chunks::<3>().0.to_vec();
    m.weight = from.get_f32s()?;
    m.id = from.get_u32s()?;
    m.fluid = from.get_u8s()?;
    let count = m.x.len();
    let some = |has: bool| if has { count } else { 0 };
    let lengths = [m.velocity.len(), affine.len(), m.weight.len(), m.id.len(), m.fluid.len()];
    if lengths != [some(!m.only_follow), 9 * some(m.has_affine), some(m.has_weight), count, count] {
        return Err(damaged("marker arrays differ in length"));
    }
    if m.fluid.iter().any(|f| usize::from(*f) >= fluids) {
        return Err(damaged("a marker belongs to no fluid of the scene"));
    }
    if !m.x.iter().all(|x| (0..3).all(|a| x[a] >= 0.0 && x[a] <= n[a])) {
        return Err(damaged("a marker is outside the domain"));
    }
    let finite = |v: &[f32]| v.iter().all(|v| v.is_finite());
    if !finite(m.velocity.as_flattened())
        || !finite(&affine)
        || !m.weight.iter().all(|w| *w > 0.0 && w.is_finite())
    {
        return Err(damaged("a marker's motion is no number"));
    }
    Ok(())
}

impl Mac {
    /// Writes all that the next step and the next look depend on.
    pub(super) fn write(&self, out: &mut CheckpointWriter) -> std::io::Result<()> {
        out.section("mac")?;
        put_markers(out, &self.markers)?;
        if let Some(tracers) = &self.tracers {
            put_markers(out, &tracers.markers)?;
            out.put_u32(tracers.age)?;
            put_owed(out, &tracers.owed)?;
        }
        out.put_f64s(&[self.last, self.kick, self.rate, self.pull, f64::from(u8::from(self.is_closed))])?;
        for f in &self.fluids {
            out.put_f64(f.viscosity)?;
        }
        out.put_f32s(&self.pressure.p)?;
        out.put_f32s(&self.liquid.fill)?;
        out.put_f32s(&self.liquid.depth)?;
        out.put_u8s(&self.liquid.wet.iter().map(|w| u8::from(*w)).collect::<Vec<u8>>())?;
        for a in 0..3 {
            out.put_f32s(&self.gain[a])?;
            out.put_u8s(&self.known.0[a].iter().map(|k| u8::from(*k)).collect::<Vec<u8>>())?;
        }
        if self.keeps_flow() {
            for u in &self.u {
                out.put_f32s(u)?;
            }
        }
        if let Some(spent) = self.spent {
            out.put_f64(spent)?;
        }
        if let Some(immersed) = &self.immersed {
            out.put_f64x3s(&immersed.before.0.iter().map(|v| v.to_array()).collect::<Vec<_>>())?;
            out.put_f64(immersed.before.1)?;
            out.put_f64x3s(&immersed.fillings.iter().map(|f| f.impulse.to_array()).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Whether the next step or look needs the velocities of the last.
    fn keeps_flow(&self) -> bool {
        self.convection == Convection::SemiLagrangian || self.tracers.is_some()
    }

    /// Reads what [`Mac::write`] wrote.
    pub(super) fn read(&mut self, from: &mut CheckpointReader) -> Result<(), CheckpointError> {
        from.section("mac")?;
        let cells = self.layout.len();
        let n = self.layout.n.map(|n| n as f32);
        get_markers(from, &mut self.markers, self.fluids.len(), n)?;
        if let Some(tracers) = &mut self.tracers {
            get_markers(from, &mut tracers.markers, self.fluids.len(), n)?;
            let age = from.get_u32()?;
            tracers.look_around(&self.layout);
            tracers.age = age;
            tracers.owed = get_owed(from, cells)?;
        }
        let finite = |v: &[f32]| v.iter().all(|v| v.is_finite());
        let times = from.get_f64s()?;
        let [last, kick, rate, pull, closed] = times[..] else { return Err(damaged("step statistics")) };
        if ![last, kick, rate, pull].iter().all(|v| v.is_finite() && *v >= 0.0) {
            return Err(damaged("step statistics"));
        }
        (self.last, self.kick, self.rate, self.pull) = (last, kick, rate, pull);
        self.is_closed = closed != 0.0;
        for f in &mut self.fluids {
            f.viscosity = from.get_f64()?;
        }
        let field = |from: &mut CheckpointReader, length: usize| {
            let values = from.get_f32s()?;
            let right = values.len() == length && finite(&values);
            if right { Ok(values) } else { Err(damaged("a field of the grid")) }
        };
        let flags = |from: &mut CheckpointReader| {
            let values = from.get_u8s()?;
            if values.len() != cells {
                return Err(damaged("a field of the grid"));
            }
            Ok(values.iter().map(|v| *v != 0).collect::<Vec<bool>>())
        };
        self.pressure.p = field(from, self.layout.n.iter().product())?;
        self.liquid.fill = field(from, cells)?;
        self.liquid.depth = field(from, cells)?;
        self.liquid.wet = flags(from)?;
        for a in 0..3 {
            self.gain[a] = field(from, cells)?;
            self.known.0[a] = flags(from)?;
        }
        let layers = self.layers();
        self.fringe.find(&self.layout, &self.known, layers);
        if self.keeps_flow() {
            let mut u: Faces = Faces::default();
            for u in &mut u {
                *u = field(from, cells)?;
            }
            self.u = u;
        }
        if let Some(spent) = &mut self.spent {
            *spent = from.get_f64()?;
        }
        if let Some(immersed) = &mut self.immersed {
            let vectors = |from: &mut CheckpointReader, length: usize| {
                let plain = from.get_f64x3s()?;
                let right = plain.len() == length && plain.as_flattened().iter().all(|v| v.is_finite());
                if right { Ok(plain) } else { Err(damaged("what moves bodies")) }
            };
            let nodes = immersed.before.0.len();
            let velocity = vectors(from, nodes)?.into_iter().map(DVec3::from_array).collect();
            immersed.before = (velocity, from.get_f64()?);
            if !(immersed.before.1 >= 0.0 && immersed.before.1.is_finite()) {
                return Err(damaged("what moves bodies"));
            }
            let impulses = vectors(from, immersed.fillings.len())?;
            for (f, impulse) in immersed.fillings.iter_mut().zip(impulses) {
                f.impulse = DVec3::from_array(impulse);
            }
        }
        self.find_order();
        Ok(())
    }
}
