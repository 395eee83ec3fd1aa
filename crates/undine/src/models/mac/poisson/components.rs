//! Connected components that nothing holds: their pressure is known only up to a constant.

use super::System;
use super::kernels::Split;
use super::level::Level;
use super::setup;

/// Sweeps after which cells that no free surface was seen from are taken for suspects.
const SWEEPS: usize = 6;

/// The cells of the components without excess.
#[derive(Default)]
pub(super) struct Singular {
    /// Colour and slot of their cells, component by component.
    cells: Vec<(u8, u32)>,
    /// Where each component ends in `cells`.
    ends: Vec<usize>,
    /// By cell of the box: 0 no unknown, 1 not yet known to be held, 2 held, 3 in a singular component.
    mark: Vec<u8>,
    stack: Vec<u32>,
}

impl Singular {
    /// Finds them; the finest level has its excess.
    /// `seen` is for scratch.
    pub(super) fn find(&mut self, system: &System, level: &Level, seen: &mut Split) {
        self.cells.clear();
        self.ends.clear();
        // In most liquids the free surface is seen straight up or sideways: a few sweeps back and forth show that all is held.
        setup::start_spreading(&level.groups, &level.excess, seen);
        for sweep in 0..SWEEPS {
            level.wrap_vector(seen);
            let loose = setup::spread(&level.groups, [&level.colour(0), &level.colour(1)], sweep, seen);
            if loose == 0 {
                return;
            }
        }
        let [nx, ny, nz] = level.size;
        self.mark.clear();
        self.mark.resize(nx * ny * nz, 0);
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    let (c, at) = level.slot(x, y, z);
                    if level.inverse[c][at] > 0.0 {
                        self.mark[(z * ny + y) * nx + x] = 1 + u8::from(seen[c][at] > 0.0);
                    }
                }
            }
        }
        for start in 0..self.mark.len() {
            if self.mark[start] == 1 {
                self.flood(system, level, start);
            }
        }
    }

    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Collects the component of a cell, and keeps it if nothing holds it.
    fn flood(&mut self, system: &System, level: &Level, start: usize) {
        let [nx, ny, _] = level.size;
        let begin = self.cells.len();
        let mut held = false;
        self.mark[start] = 3;
        self.stack.push(start as u32);
        while let Some(i) = self.stack.pop() {
            let i = i as usize;
            let (c, at) = level.slot(i % nx, i / nx % ny, i / (nx * ny));
            self.cells.push((c as u8, at as u32));
            for j in neighbours(system, i).into_iter().flatten() {
                match self.mark[j] {
                    1 => {
                        self.mark[j] = 3;
                        self.stack.push(j as u32);
                    }
                    2 => held = true,
                    _ => {}
                }
            }
        }
        if held {
            self.cells.truncate(begin);
        } else {
            self.ends.push(self.cells.len());
        }
    }

    /// As [`Singular::project`], of a vector that is 0 in most cells: (colour, slot, value), a slot any number of times.
    pub(super) fn project_sparse(&self, v: &mut Vec<(u8, u32, f32)>) {
        let mut begin = 0;
        for &end in &self.ends {
            let mut cells = self.cells[begin..end].to_vec();
            begin = end;
            cells.sort_unstable();
            let inside = |c: u8, at: u32| cells.binary_search(&(c, at)).is_ok();
            let sum: f64 = v.iter().filter(|v| inside(v.0, v.1)).map(|v| f64::from(v.2)).sum();
            let mean = (sum / cells.len() as f64) as f32;
            if mean.abs() > 1e-7 * v.iter().map(|v| v.2.abs()).fold(0.0, f32::max) {
                v.extend(cells.iter().map(|&(c, at)| (c, at, -mean)));
            }
        }
    }

    /// Takes the mean of each component off its values.
    pub(super) fn project<T: Copy + Into<f64>>(&self, v: [&mut [T]; 2], round: impl Fn(f64) -> T) {
        let mut begin = 0;
        for &end in &self.ends {
            let cells = &self.cells[begin..end];
            let sum: f64 = cells.iter().map(|&(c, at)| v[c as usize][at as usize].into()).sum();
            let mean = sum / cells.len() as f64;
            for &(c, at) in cells {
                let value = &mut v[c as usize][at as usize];
                *value = round((*value).into() - mean);
            }
            begin = end;
        }
    }
}

/// The cells that a cell's equation couples it with.
fn neighbours(system: &System, i: usize) -> [Option<usize>; 6] {
    let [nx, ny, nz] = system.size;
    let at = [i % nx, i / nx % ny, i / (nx * ny)];
    let (size, stride) = ([nx, ny, nz], [1, nx, nx * ny]);
    std::array::from_fn(|k| {
        let (axis, up) = (k / 2, k % 2 == 1);
        let wrap = system.periodic[axis].then_some(());
        let there = match (up, at[axis]) {
            (true, x) if x + 1 < size[axis] => Some(i + stride[axis]),
            (true, x) => wrap.map(|()| i - x * stride[axis]),
            (false, 0) => wrap.map(|()| i + (size[axis] - 1) * stride[axis]),
            (false, _) => Some(i - stride[axis]),
        }?;
        let lower = if up { i } else { there };
        (system.plus[axis][lower] > 0.0).then_some(there)
    })
}
