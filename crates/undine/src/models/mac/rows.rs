//! Loops over rows of cells or faces along x, without branches and with AVX2 where there is: as plain loops for any processor of the
//! kind they would be four lanes wide, with masks put together by hand.

/// Calls a function, compiled for AVX2 if the processor has it. Sums and products are the same to the last bit.
macro_rules! wide {
    ($kernel:ident($($arg:ident: $kind:ty),* $(,)?) $(-> $result:ty)?) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $kind),*) $(-> $result)? {
                $kernel($($arg),*)
            }
            if crate::simd::level() >= crate::simd::Level::Avx2 {
                // SAFETY: this processor has the instruction set.
                return unsafe { avx2($($arg),*) };
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
