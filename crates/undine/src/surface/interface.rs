//! The borders between fluids that lie in one another.
//!
//! The surface of a frame is that of all its fluids together. Where one ends and the next begins inside is told by a
//! sum over particles that count +1 on one side and -1 on the other: it is zero where there is as much of one as of the
//! other, wherever the cells and triangles of the outer surface lie. Outside the fluid it keeps its sign as far as its
//! kernels reach, so that the border goes on a little beyond the surface and no gap is left between the two.

use rayon::prelude::*;

use super::cloud::Cloud;
use super::field::{Field, Shape};
use super::filling::Filling;
use super::march::Carried;
use super::options::{Options, SurfaceError};
use super::pairs::{PairSum, pair_sums, totals};
use super::{Surface, candidates, check, fluids, smooth, stitch, walk};
use crate::frame::Frame;
use crate::simd::{Eight, Octets};

/// Radius over which the sides of particles are averaged, × spacing: single particles that strayed among the others
/// would dent the border.
const RADIUS: f32 = 2.5;
/// Support of the kernels, × spacing: wider than those of the surface, beyond which the border must reach.
const SUPPORT: f32 = 3.0;
/// The sum on the border, as a share of that deep inside. Above zero, so that the border closes where there are no
/// particles; borders of different fluids differ by it, so that they never coincide.
const THRESHOLD: f32 = 0.01;
/// Times of smoothing.
const SMOOTHING: u32 = 3;

/// The border around a fluid and all of higher number.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Number of the fluid.
    pub fluid: u8,
    /// Closed; it goes on beyond the fluid's own surface where that is free, and only its part inside is seen.
    pub surface: Surface,
}

/// The fluids of a frame by number, without those that have no particles.
pub fn fluids_present(frame: &Frame) -> Vec<u8> {
    let mut present = [false; 256];
    fluids(frame).unwrap_or_default().iter().for_each(|&f| present[usize::from(f)] = true);
    (0..=255u8).filter(|&f| present[usize::from(f)]).collect()
}

/// The borders between the fluids of a frame, one for each but the first, by number: a place inside the surface
/// belongs to the last fluid whose border is around it, else to the first.
pub fn interfaces(frame: &Frame, options: &Options) -> Result<Vec<Interface>, SurfaceError> {
    let spacing = check(frame, options)?;
    let (present, Some(fluid)) = (fluids_present(frame), fluids(frame)) else { return Ok(Vec::new()) };
    if present.len() < 2 {
        return Ok(Vec::new());
    }
    let cell = options.cell * spacing;
    // From here on lengths are in cells.
    let spacing = (1.0 / options.cell) as f32;
    let cloud = Cloud::new(&frame.particles.position, cell)?;
    let seeds = candidates::in_reach(&cloud, 0.5 * spacing, &Filling::new(&cloud, spacing).surrounded)?;
    let border = |(rank, &number): (usize, &u8)| {
        let side = |&i: &u32| if fluid[i as usize] >= number { 1.0 } else { -1.0 };
        let side = averaged(&cloud, cloud.order.iter().map(side).collect(), spacing);
        let field = field(&cloud, side, spacing, rank);
        let pieces = walk::walk(&cloud, &field, &Carried::default(), &seeds)?;
        let mut surface = stitch::stitch(&pieces, cell)?;
        smooth::smooth(&mut surface, SMOOTHING);
        Ok(Interface { fluid: number, surface })
    };
    present.iter().enumerate().skip(1).map(border).collect()
}

fn field(cloud: &Cloud, side: Vec<f32>, spacing: f32, rank: usize) -> Field {
    let h = SUPPORT * spacing;
    // Σ (1 - r²/h²)³ over a lattice of this spacing is 1 with this weight.
    let weight = 315.0 / (64.0 * std::f32::consts::PI) / SUPPORT.powi(3);
    Field {
        local: cloud.local.clone(),
        columns: vec![side.into_iter().map(|s| weight * s).collect(), vec![1.0 / (h * h); cloud.len()]],
        shape: Shape::Ball,
        iso: THRESHOLD * rank as f32,
        reach: h,
        stray: 0.0,
        signed: true,
    }
}

/// The sides of particles averaged over their neighbours.
fn averaged(cloud: &Cloud, side: Vec<f32>, spacing: f32) -> Vec<f32> {
    let all = vec![true; cloud.keys.len()];
    let sums = pair_sums(cloud, &all, RADIUS * spacing, &[side], &Sides);
    sums.into_par_iter().map(|[side, all]| if all > 0.0 { side / all } else { 0.0 }).collect()
}

/// Σ (1 - r²)³ s and Σ (1 - r²)³.
struct Sides;

impl PairSum for Sides {
    type Sum<L: Octets> = [L; 2];
    type Output = [f32; 2];
    #[inline(always)]
    fn zero<L: Octets>(&self) -> [L; 2] {
        [L::splat(0.0); 2]
    }
    #[inline(always)]
    fn add<L: Octets>(&self, sum: &mut [L; 2], _: [L; 3], r2: L, side: L) {
        let t = L::splat(1.0).sub(r2).max(L::splat(0.0));
        let w = t.mul(t).mul(t);
        sum[0] = w.mul_add(side, sum[0]);
        sum[1] = sum[1].add(w);
    }
    #[inline(always)]
    fn finish<L: Octets>(&self, sums: &[[L; 2]; 8]) -> [[f32; 2]; 8] {
        let [side, all] = totals(sums).map(L::Eight::to_array);
        std::array::from_fn(|k| [side[k], all[k]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{self, FieldData, Particles};
    use crate::surface::tests::{area_and_volume, euler_number};

    /// 20³ particles of spacing 0.1, with the fluid that each place has.
    fn block(fluid: impl Fn([f32; 3]) -> u8) -> Frame {
        let at = |i: usize| [i % 20, i / 20 % 20, i / 400].map(|c| 0.1 * (c as f32 + 0.5));
        let position: Vec<[f32; 3]> = (0..8000).map(at).collect();
        let data = FieldData::Byte(position.iter().map(|p| fluid(*p)).collect());
        let fields = vec![frame::Field { name: "fluid", data }];
        Frame { spacing: 0.1, particles: Particles { position, fields }, ..Frame::default() }
    }

    #[test]
    fn the_border_of_two_layers_is_flat_and_reaches_beyond_the_fluid() {
        let frame = block(|p| u8::from(p[1] > 1.0));
        let borders = interfaces(&frame, &Options::default()).unwrap();
        assert_eq!(borders.len(), 1);
        let Interface { fluid, surface } = &borders[0];
        assert_eq!((*fluid, euler_number(surface)), (1, 2));
        let inner = |p: &&[f32; 3]| p[1] < 1.5 && [p[0], p[2]].iter().all(|x| (0.0..2.0).contains(x));
        let border: Vec<f32> = surface.position.iter().filter(inner).map(|p| p[1]).collect();
        assert!(border.len() > 1000);
        // At the rim the threshold counts for more.
        let worst = border.iter().fold(0.0f32, |worst, y| worst.max((y - 1.0).abs()));
        assert!(worst < 0.01, "{worst}");
        let beyond = |p: &[f32; 3]| p[0] < -0.11 && p[1] < 1.1;
        assert!(surface.position.iter().any(beyond));
    }

    #[test]
    fn a_ball_of_one_fluid_in_another_keeps_nearly_its_volume() {
        let r2 = |p: [f32; 3]| p.iter().map(|x| (x - 1.0).powi(2)).sum::<f32>();
        let frame = block(|p| 3 * u8::from(r2(p) < 0.49));
        let count = fluids(&frame).unwrap().iter().filter(|f| **f == 3).count();
        let borders = interfaces(&frame, &Options::default()).unwrap();
        assert_eq!((borders.len(), borders[0].fluid, euler_number(&borders[0].surface)), (1, 3, 2));
        let volume = area_and_volume(&borders[0].surface).1;
        let expected = 1e-3 * count as f64;
        // Averages cut what is curved: of this ball of 7 spacings a quarter of a spacing.
        assert!((volume / expected - 1.0).abs() < 0.11, "{volume} {expected}");
    }

    #[test]
    fn a_fluid_between_two_others_is_between_their_borders() {
        let frame = block(|p| (p[1] > 0.7) as u8 + (p[1] > 1.3) as u8);
        let borders = interfaces(&frame, &Options::default()).unwrap();
        let low = |s: &Surface| {
            let inner = |p: &&[f32; 3]| [p[0], p[2]].iter().all(|x| (0.5..1.5).contains(x));
            s.position.iter().filter(inner).map(|p| p[1]).fold(f32::MAX, f32::min)
        };
        let lows: Vec<f32> = borders.iter().map(|b| low(&b.surface)).collect();
        assert!((lows[0] - 0.7).abs() < 0.01 && (lows[1] - 1.3).abs() < 0.01, "{lows:?}");
    }

    #[test]
    fn one_fluid_alone_has_no_borders() {
        assert_eq!(interfaces(&block(|_| 2), &Options::default()), Ok(Vec::new()));
        assert_eq!(
            interfaces(&Frame { spacing: 1.0, ..Frame::default() }, &Options::default()),
            Ok(Vec::new())
        );
        assert_eq!(fluids_present(&block(|p| if p[0] > 1.0 { 7 } else { 2 })), [2, 7]);
    }
}
