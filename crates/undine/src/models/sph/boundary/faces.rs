//! Boundary particles of the domain's faces.
//!
//! Faces along which fluid slips are planes, and tables over the distance serve them better ([`super::super::wall_kernels`]). Those
//! it sticks to are sampled: a lattice that goes on where that of the fluid ends.

use glam::DVec3;

use super::layers;
use super::set::Origin;
use crate::scene::{Scene, Slip};

/// The samples of a domain's no-slip faces.
pub fn origins(scene: &Scene, spacing: f64) -> Vec<Origin> {
    let Some(d) = scene.domain.as_ref().filter(|d| d.slip == Slip::NoSlip) else { return Vec::new() };
    let count = layers(scene.model.sph.smoothing) as i64;
    // Cells of the lattice inside, and how many more at either end of each axis.
    let size = d.max - d.min;
    let cells: [i64; 3] = std::array::from_fn(|a| ((size[a] / spacing).round() as i64).max(1));
    let more = |a: usize, upper: bool| {
        if d.periodic[a] || d.open.contains(&(a, upper)) { 0 } else { count }
    };
    let range = |a: usize| -more(a, false)..cells[a] + more(a, true);
    let mut out = Vec::new();
    for z in range(2) {
        for y in range(1) {
            let mut add = |x: i64| {
                let at = [x, y, z];
                // How deep behind the faces of each axis; nothing inside the domain.
                let behind: [i64; 3] =
                    std::array::from_fn(|a| if at[a] < 0 { at[a] } else { (at[a] - cells[a] + 1).max(0) });
                let Some(deepest) = behind.iter().map(|b| b.abs()).max().filter(|b| *b > 0) else { return };
                let place = DVec3::from_array(std::array::from_fn(|a| {
                    d.min[a] + (at[a] as f64 + 0.5) * size[a] / cells[a] as f64
                }));
                let normal = DVec3::from_array(behind.map(|b| -(b as f64))).normalize();
                let depth = (deepest as f64 - 0.5) * spacing;
                out.push(Origin { wall: None, place, normal, depth, slip: Slip::NoSlip, adhesion: 0.0 });
            };
            let inside = (0..cells[1]).contains(&y) && (0..cells[2]).contains(&z);
            if inside {
                (range(0).start..0).chain(cells[0]..range(0).end).for_each(&mut add);
            } else {
                range(0).for_each(&mut add);
            }
        }
    }
    out
}
