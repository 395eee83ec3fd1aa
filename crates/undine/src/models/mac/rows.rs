//! Loops over rows of cells or faces along x, without branches and with AVX-512 or AVX2 where there is: as plain loops for any
//! processor of the kind they would be four lanes wide, with masks put together by hand.

use super::cuts::Behind;
use super::liquid::{LEAST_OPEN, depth_of};

/// Calls a function, compiled for AVX-512 or AVX2 if the processor has it. Sums and products are the same to the last bit.
macro_rules! wide {
    ($kernel:ident($($arg:ident: $kind:ty),* $(,)?) $(-> $result:ty)?) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2")]
            fn avx512($($arg: $kind),*) $(-> $result)? {
                $kernel($($arg),*)
            }
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $kind),*) $(-> $result)? {
                $kernel($($arg),*)
            }
            match crate::simd::level() {
                // SAFETY: this processor has the instruction set.
                crate::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                crate::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                crate::simd::Level::Portable => {}
            }
        }
        $kernel($($arg),*)
    }};
}

/// Faces of a row: how open they are, and 1/density.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) open: &'a [f32],
    pub(super) light: &'a [f32],
    /// What lattices add to the product of the two, if there are any.
    pub(super) own: Option<&'a [f32]>,
}

/// Couplings of cells over faces to others, which are kept where `both` are wet and added to the diagonal.
pub(super) fn couple(
    both: [&[bool]; 2],
    sides: Sides,
    inverse: f32,
    coupling: &mut [f32],
    diagonal: &mut [f32],
) {
    wide!(couple_in(both: [&[bool]; 2], sides: Sides, inverse: f32, coupling: &mut [f32], diagonal: &mut [f32]))
}

#[inline(always)]
fn couple_in(
    [here, there]: [&[bool]; 2],
    Sides { open, light, own }: Sides,
    inverse: f32,
    coupling: &mut [f32],
    diagonal: &mut [f32],
) {
    let n = coupling.len();
    let (here, there, diagonal) = (&here[..n], &there[..n], &mut diagonal[..n]);
    let (open, light) = (&open[..n], &light[..n]);
    match own {
        None => {
            for x in 0..n {
                let k = open[x] * light[x] * inverse;
                coupling[x] = if here[x] & there[x] { k } else { 0.0 };
                diagonal[x] += coupling[x];
            }
        }
        Some(own) => {
            let own = &own[..n];
            for x in 0..n {
                let k = (open[x] * light[x] + own[x]) * inverse;
                coupling[x] = if here[x] & there[x] { k } else { 0.0 };
                diagonal[x] += coupling[x];
            }
        }
    }
}

/// Adds to cells what leaves them by two rows of faces, by their open shares, × `inverse`.
pub(super) fn leave(open: [&[f32]; 2], u: [&[f32]; 2], inverse: f32, out: &mut [f32]) {
    wide!(leave_in(open: [&[f32]; 2], u: [&[f32]; 2], inverse: f32, out: &mut [f32]))
}

#[inline(always)]
fn leave_in([open, next_open]: [&[f32]; 2], [u, next_u]: [&[f32]; 2], inverse: f32, out: &mut [f32]) {
    let n = out.len();
    let (open, next_open, u, next_u) = (&open[..n], &next_open[..n], &u[..n], &next_u[..n]);
    for x in 0..n {
        out[x] += (next_open[x] * next_u[x] - open[x] * u[x]) * inverse;
    }
}

/// Sets what is not wet to 0; the greatest magnitude of the rest, as bits. So they have the same order, and what is no number comes
/// last.
pub(super) fn greatest_wet(wet: &[bool], out: &mut [f32]) -> u32 {
    wide!(greatest_wet_in(wet: &[bool], out: &mut [f32]) -> u32)
}

#[inline(always)]
fn greatest_wet_in(wet: &[bool], out: &mut [f32]) -> u32 {
    let n = out.len();
    let (wet, mut greatest) = (&wet[..n], 0i32);
    for x in 0..n {
        out[x] = if wet[x] { out[x] } else { 0.0 };
        // Without its sign it is the same as a number that has one.
        greatest = greatest.max(out[x].abs().to_bits() as i32);
    }
    greatest as u32
}

/// The greatest magnitude, as bits: see [`greatest_wet`].
pub(super) fn greatest(of: &[f32]) -> u32 {
    wide!(greatest_in(of: &[f32]) -> u32)
}

#[inline(always)]
fn greatest_in(of: &[f32]) -> u32 {
    of.iter().fold(0i32, |greatest, v| greatest.max(v.abs().to_bits() as i32)) as u32
}

/// Accelerates open faces between wet cells by the difference of `p`, × `inverse` and 1/density.
pub(super) fn accelerate(wet: [&[bool]; 2], sides: Sides, p: [&[f32]; 2], inverse: f32, u: &mut [f32]) {
    wide!(accelerate_in(wet: [&[bool]; 2], sides: Sides, p: [&[f32]; 2], inverse: f32, u: &mut [f32]))
}

#[inline(always)]
fn accelerate_in(
    [low, high]: [&[bool]; 2],
    Sides { open, light, .. }: Sides,
    [lower, upper]: [&[f32]; 2],
    inverse: f32,
    u: &mut [f32],
) {
    let n = u.len();
    let (low, high, open, light) = (&low[..n], &high[..n], &open[..n], &light[..n]);
    let (lower, upper) = (&lower[..n], &upper[..n]);
    for x in 0..n {
        let gain = light[x] * (upper[x] - lower[x]) * inverse;
        u[x] -= if (open[x] != 0.0) & low[x] & high[x] { gain } else { 0.0 };
    }
}

/// What wet cells that are fuller than 1 + `slack` have too much, up to `most`; whether any has less than 1 - `slack`.
pub(super) fn surplus(fill: &[f32], wet: &[bool], slack: f32, most: f32, out: &mut [f32]) -> bool {
    wide!(surplus_in(fill: &[f32], wet: &[bool], slack: f32, most: f32, out: &mut [f32]) -> bool)
}

#[inline(always)]
fn surplus_in(fill: &[f32], wet: &[bool], slack: f32, most: f32, out: &mut [f32]) -> bool {
    let n = out.len();
    let (fill, wet, mut is_low) = (&fill[..n], &wet[..n], false);
    for x in 0..n {
        let e = fill[x] - 1.0;
        let more = if e - slack < most { e - slack } else { most };
        out[x] = if wet[x] & (e > slack) { more } else { 0.0 };
        is_low |= wet[x] & (e < -slack);
    }
    is_low
}

/// Displacements, of at most `most`, as velocities beside `u`.
pub(super) fn drift(u: &[f32], most: f32, rate: f32, shift: &mut [f32]) {
    wide!(drift_in(u: &[f32], most: f32, rate: f32, shift: &mut [f32]))
}

#[inline(always)]
fn drift_in(u: &[f32], most: f32, rate: f32, shift: &mut [f32]) {
    for (shift, u) in shift.iter_mut().zip(u) {
        *shift = u + rate * shift.clamp(-most, most);
    }
}

/// Which faces have more mass than `least`; of each, momentum and mass.
pub(super) fn heavy(faces: &[[f32; 2]], least: f32, known: &mut [bool]) {
    wide!(heavy_in(faces: &[[f32; 2]], least: f32, known: &mut [bool]))
}

#[inline(always)]
fn heavy_in(faces: &[[f32; 2]], least: f32, known: &mut [bool]) {
    for (known, [_, mass]) in known.iter_mut().zip(faces) {
        *known = *mass > least;
    }
}

/// Velocities of faces that are `known`, open and have more mass than `least`, 0 for others; of each, momentum and mass.
pub(super) fn velocities(faces: &[[f32; 2]], known: &[bool], open: &[f32], least: f32, u: &mut [f32]) {
    wide!(velocities_in(faces: &[[f32; 2]], known: &[bool], open: &[f32], least: f32, u: &mut [f32]))
}

#[inline(always)]
fn velocities_in(faces: &[[f32; 2]], known: &[bool], open: &[f32], least: f32, u: &mut [f32]) {
    let n = u.len();
    let (faces, known, open) = (&faces[..n], &known[..n], &open[..n]);
    for x in 0..n {
        let [momentum, mass] = faces[x];
        let v = momentum / mass;
        u[x] = if known[x] & (mass > least) & (open[x] > 0.0) { v } else { 0.0 };
    }
}

/// Which are so by one or the other.
pub(super) fn either(one: &[bool], other: &[bool], out: &mut [bool]) {
    wide!(either_in(one: &[bool], other: &[bool], out: &mut [bool]))
}

#[inline(always)]
fn either_in(one: &[bool], other: &[bool], out: &mut [bool]) {
    for ((out, one), other) in out.iter_mut().zip(one).zip(other) {
        *out = *one | *other;
    }
}

/// Leaves out closed faces.
pub(super) fn keep_open(open: &[f32], known: &mut [bool]) {
    wide!(keep_open_in(open: &[f32], known: &mut [bool]))
}

#[inline(always)]
fn keep_open_in(open: &[f32], known: &mut [bool]) {
    for (known, open) in known.iter_mut().zip(open) {
        *known &= *open > 0.0;
    }
}

/// What was gained since `before`.
pub(super) fn gains(u: &[f32], before: &[f32], gain: &mut [f32]) {
    wide!(gains_in(u: &[f32], before: &[f32], gain: &mut [f32]))
}

#[inline(always)]
fn gains_in(u: &[f32], before: &[f32], gain: &mut [f32]) {
    for ((gain, u), before) in gain.iter_mut().zip(u).zip(before) {
        *gain = u - before;
    }
}

/// Velocities of open faces that are `marked` and not `beside` liquid: those of before and the gain.
pub(super) fn fly(marked: &[bool], beside: &[bool], open: &[f32], gained: [&[f32]; 2], u: &mut [f32]) {
    wide!(fly_in(marked: &[bool], beside: &[bool], open: &[f32], gained: [&[f32]; 2], u: &mut [f32]))
}

#[inline(always)]
fn fly_in(marked: &[bool], beside: &[bool], open: &[f32], [before, gain]: [&[f32]; 2], u: &mut [f32]) {
    let n = u.len();
    let (marked, beside, open) = (&marked[..n], &beside[..n], &open[..n]);
    let (before, gain) = (&before[..n], &gain[..n]);
    for x in 0..n {
        let flies = marked[x] & !beside[x] & (open[x] > 0.0);
        u[x] = if flies { before[x] + gain[x] } else { u[x] };
    }
}

/// Adds to the velocities of known faces.
pub(super) fn kick(known: &[bool], kick: f32, u: &mut [f32]) {
    wide!(kick_in(known: &[bool], kick: f32, u: &mut [f32]))
}

#[inline(always)]
fn kick_in(known: &[bool], kick: f32, u: &mut [f32]) {
    for (u, known) in u.iter_mut().zip(known) {
        *u = if *known { *u + kick } else { *u };
    }
}

/// Turns the velocities round of faces behind which fluid sticks.
pub(super) fn mirror(behind: &[Behind], u: &mut [f32]) {
    wide!(mirror_in(behind: &[Behind], u: &mut [f32]))
}

#[inline(always)]
fn mirror_in(behind: &[Behind], u: &mut [f32]) {
    for (u, behind) in u.iter_mut().zip(behind) {
        *u = if *behind == Behind::NoSlip { -*u } else { *u };
    }
}

/// Adds some values to sums.
pub(super) fn add(values: &[f32], sums: &mut [f32]) {
    wide!(add_in(values: &[f32], sums: &mut [f32]))
}

#[inline(always)]
fn add_in(values: &[f32], sums: &mut [f32]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// How full cells are and how deep their centres lie, by counts of markers and those of a `full` cell; which are wet. `walls` leave
/// open so much of cells' hats and of their volumes.
pub(super) fn fill(counts: &[f32], full: f32, walls: [&[f32]; 2], out: [&mut [f32]; 2], wet: &mut [bool]) {
    wide!(fill_in(counts: &[f32], full: f32, walls: [&[f32]; 2], out: [&mut [f32]; 2], wet: &mut [bool]))
}

#[inline(always)]
fn fill_in(
    counts: &[f32],
    full: f32,
    [hat, volume]: [&[f32]; 2],
    [fill, depth]: [&mut [f32]; 2],
    wet: &mut [bool],
) {
    let n = wet.len();
    let (counts, hat, volume) = (&counts[..n], &hat[..n], &volume[..n]);
    let (fill, depth) = (&mut fill[..n], &mut depth[..n]);
    for x in 0..n {
        let share = counts[x] / (full * hat[x]);
        fill[x] = if hat[x] > LEAST_OPEN { share } else { 0.0 };
        depth[x] = depth_of(fill[x]);
        wet[x] = (depth[x] >= 0.0) & (volume[x] > 0.0);
    }
}

/// Which cells are dry and open, and shut off from air on these sides: by liquid, or by a wall. Of cells that a wall cuts this is not
/// told. Whether there are any.
pub(super) fn shut_off(
    wet: &[bool],
    sides: [[&[bool]; 2]; 2],
    open: [[&[f32]; 2]; 2],
    volume: &[f32],
    out: &mut [bool],
) -> bool {
    wide!(shut_off_in(wet: &[bool], sides: [[&[bool]; 2]; 2], open: [[&[f32]; 2]; 2], volume: &[f32], out: &mut [bool]) -> bool)
}

#[inline(always)]
fn shut_off_in(
    wet: &[bool],
    sides: [[&[bool]; 2]; 2],
    open: [[&[f32]; 2]; 2],
    volume: &[f32],
    out: &mut [bool],
) -> bool {
    let n = out.len();
    let (wet, volume) = (&wet[..n], &volume[..n]);
    let [[left, right], [below, above]] = sides.map(|s| s.map(|s| &s[..n]));
    let [[open_left, open_right], [open_below, open_above]] = open.map(|o| o.map(|o| &o[..n]));
    let mut any = false;
    for x in 0..n {
        let along_x = (left[x] | (open_left[x] == 0.0)) & (right[x] | (open_right[x] == 0.0));
        let along_y = (below[x] | (open_below[x] == 0.0)) & (above[x] | (open_above[x] == 0.0));
        let may_be = (along_x & along_y) | (volume[x] < 1.0);
        out[x] = !wet[x] & (volume[x] > 0.0) & may_be;
        any |= out[x];
    }
    any
}
