//! When markers that only follow are moved.
//!
//! Nothing asks where they are between frames, but they are most of the markers. So the way that the flow would have taken them is
//! summed up over steps, and they go it at once: when it may be longer than `MOST`, and at a frame.

use rayon::prelude::*;

use super::Mac;
use super::convect::Flow;
use super::cuts::Cuts;
use super::population::keep_inside;
use super::tracers::{Sight, Tracers};
use super::transfer::Faces;
use crate::models::Around;
use crate::state::markers::Markers;

/// Farthest that they go at once unless a step does, cells. Within that the mean velocity of some steps is as good as each of theirs.
const MOST: f64 = 2.0;
/// Values of a field that a thread takes at a time.
const SOME: usize = 8192;

/// Steps that followers have not gone yet.
#[derive(Clone, Debug, Default)]
pub struct Owed {
    /// How long they took, s; 0 where there are none.
    pub time: f64,
    /// How far they lead at most along an axis, cells.
    pub way: f64,
    /// How far they lead at each face, m.
    pub path: Faces,
    /// Greatest count of markers that carry about each cell during these steps.
    pub cells: Vec<f32>,
}

impl Owed {
    /// Adds a step.
    fn add(&mut self, flow: &Flow, cells: &[f32], way: f64) {
        let dt = flow.dt as f32;
        let first = self.time == 0.0;
        for (path, u) in self.path.iter_mut().zip(flow.drift) {
            path.resize(u.len(), 0.0);
            path.par_chunks_mut(SOME).zip(u.par_chunks(SOME)).for_each(|(path, u)| {
                for (path, u) in path.iter_mut().zip(u) {
                    *path = if first { 0.0 } else { *path } + dt * u;
                }
            });
        }
        self.cells.resize(cells.len(), 0.0);
        self.cells.par_chunks_mut(SOME).zip(cells.par_chunks(SOME)).for_each(|(most, cells)| {
            for (most, c) in most.iter_mut().zip(cells) {
                *most = if first { *c } else { most.max(*c) };
            }
        });
        self.time += flow.dt;
        self.way += way;
    }

    /// The mean velocity of these steps, m/s, in place of their path.
    fn mean(&mut self) -> &Faces {
        let share = (1.0 / self.time) as f32;
        for path in &mut self.path {
            path.par_chunks_mut(SOME).for_each(|path| path.iter_mut().for_each(|p| *p *= share));
        }
        &self.path
    }

    fn clear(&mut self) {
        (self.time, self.way) = (0.0, 0.0);
    }
}

impl Mac {
    /// Takes a step of the markers that only follow, now or later.
    pub(super) fn follow(&mut self, cuts: &Cuts, around: &Around, dt: f64, evened: bool) {
        let Some(mut tracers) = self.tracers.take() else { return };
        let flow = self.flow(cuts, around, self.spacing, dt, evened);
        let solids = self.immersed.as_ref().map_or(0.0, |i| i.rate);
        let way = f64::from(flow.reach().most).max(dt * solids);
        // Walls that move must not pass over one that waits.
        let at_once = self.arrives || !tracers.may_wait || around.walls.moves();
        let owes = tracers.owed.time > 0.0;
        // The steps to come are taken to be as long.
        let last = at_once || tracers.owed.way + 2.0 * way > MOST;
        if owes || !last {
            tracers.owed.add(&flow, &self.deposit.cells, way);
        }
        if last {
            let left = if owes {
                self.catch_up(&mut tracers, &flow)
            } else {
                tracers.follow(&flow, self.sight(&self.deposit.cells))
            };
            tracers.rest(&self.layout, left);
        }
        self.tracers = Some(tracers);
    }

    /// The followers where they would be now, if some are not there yet.
    pub(super) fn caught_up(&self, cuts: &Cuts, around: &Around) -> Option<Markers> {
        let mut tracers = self.tracers.as_ref().filter(|t| t.owed.time > 0.0)?.clone();
        let flow = self.flow(cuts, around, self.spacing, self.last, false);
        if self.catch_up(&mut tracers, &flow) {
            keep_inside(&mut tracers.markers, self.layout.n);
        }
        Some(tracers.markers)
    }

    /// Moves followers by what they owe; says whether any left through an open side.
    fn catch_up(&self, tracers: &mut Tracers, flow: &Flow) -> bool {
        let mut owed = std::mem::take(&mut tracers.owed);
        let dt = owed.time;
        owed.mean();
        let left =
            tracers.follow(&Flow { u: &owed.path, drift: &owed.path, dt, ..*flow }, self.sight(&owed.cells));
        owed.clear();
        tracers.owed = owed;
        left
    }

    fn sight<'a>(&'a self, cells: &'a [f32]) -> Sight<'a> {
        Sight {
            carriers: &self.markers,
            cells,
            bodies: self.immersed.as_ref().map(|i| &i.shape),
            apart: (self.apart / self.layout.longest()) as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checkpoint::{CheckpointReader, CheckpointWriter};
    use crate::frame::FieldData;
    use crate::scene::Scene;
    use crate::world::World;

    /// A column that collapses past a floating ball in short steps; with an outflow, which is dry, nothing waits.
    fn world(waits: bool) -> World {
        let mut text = "gravity = [0, -9.81, 0]\ntime = { duration = 1, frame_rate = 20, max_step = 0.005 }\n\
             domain = { min = [0, 0, 0], max = [1, 1, 0.5] }\nmodel = { kind = 'mac', spacing = 0.0625, markers = 4 }\n\
             [[fluid]]\nshape = { box = { min = [0, 0, 0], max = [0.4, 0.75, 0.5] } }\n\
             [[solid]]\nkind = 'ball'\ndensity = 400\nshape = { sphere = { center = [0.2, 0.4, 0.25], radius = 0.1 } }\n"
            .to_owned();
        if !waits {
            text += "[[outflow]]\nshape = { box = { min = [0.9, 0.95, 0.4], max = [1, 1, 0.5] } }\n";
        }
        World::new(Scene::parse(&text, "t.toml", std::path::Path::new("."), &[]).unwrap().scene).unwrap()
    }

    /// Root of the mean squared distance of the same markers, and of all from their start, m.
    fn apart(a: &World, b: &World, start: &World) -> [f64; 2] {
        let places = |w: &World| {
            let frame = w.frame();
            let Some(FieldData::Int(id)) = frame.particles.field("id") else {
                panic!("markers have numbers")
            };
            let mut places: Vec<(u32, [f32; 3])> =
                id.iter().copied().zip(frame.particles.position.iter().copied()).collect();
            places.sort_unstable_by_key(|p| p.0);
            places.into_iter().map(|p| glam::Vec3::from(p.1)).collect::<Vec<_>>()
        };
        let [a, b, start] = [a, b, start].map(places);
        [&a, &start].map(|o| {
            let sum: f32 = o.iter().zip(&b).map(|(o, b)| o.distance_squared(*b)).sum();
            f64::from(sum / b.len() as f32).sqrt()
        })
    }

    #[test]
    fn followers_that_wait_arrive_where_those_that_do_not_are() {
        let (mut waits, mut not, start) = (world(true), world(false), world(true));
        for frame in 0..5 {
            waits.advance_frame().unwrap();
            not.advance_frame().unwrap();
            let [off, way] = apart(&waits, &not, &start);
            assert!(off < 0.03 * way, "frame {frame}: {off} of {way}");
        }
        // Between frames too.
        for step in 0..5 {
            waits.step().unwrap();
            not.step().unwrap();
            let [off, way] = apart(&waits, &not, &start);
            assert!(off < 0.03 * way, "step {step}: {off} of {way}");
        }
    }

    #[test]
    fn what_followers_owe_is_in_a_checkpoint() {
        let mut whole = world(true);
        whole.advance_frame().unwrap();
        for _ in 0..3 {
            whole.step().unwrap();
        }
        let mut out = CheckpointWriter::in_memory();
        whole.save(&mut out).unwrap();
        let mut resumed = world(true);
        resumed.load(&mut CheckpointReader::from_bytes(out.finish_bytes().unwrap()).unwrap()).unwrap();
        for w in [&mut whole, &mut resumed] {
            w.advance_frame().unwrap();
        }
        assert_eq!(whole.frame(), resumed.frame());
    }
}
