//! Tests of lanes: all do the same as portable ones.

use super::*;

#[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
fn everything_avx2() -> Vec<Vec<f32>> {
    everything::<Avx2>()
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
fn everything_avx512() -> Vec<Vec<f32>> {
    everything::<Avx512>()
}

#[inline(always)]
fn lanes<L: Lanes>(v: L) -> Vec<f32> {
    let mut out = vec![0.0; L::N];
    // SAFETY: there is room for all lanes.
    unsafe { v.store(out.as_mut_ptr()) };
    out
}

/// Results of every method for sixteen inputs, in as many goes as it takes.
#[inline(always)]
fn everything<L: Lanes>() -> Vec<Vec<f32>> {
    let data: Vec<f32> = (0..160).map(|i| ((i * 37) % 160) as f32 + 0.25).collect();
    let rows: Vec<[f32; 8]> = data.chunks(8).map(|c| c.try_into().unwrap()).collect();
    let quads: Vec<[f32; 4]> = data.chunks(4).map(|c| c.try_into().unwrap()).collect();
    let index: [u32; 16] = [7, 0, 3, 3, 1, 6, 2, 5, 19, 12, 4, 0, 18, 8, 11, 15];
    let mut out = vec![Vec::new(); 25];
    for at in (0..16).step_by(L::N) {
        // SAFETY: all loads stay inside the 160 floats; the indices are below 20, the number of rows.
        let (a, b, r, q) = unsafe {
            (
                L::load(data.as_ptr().add(at)),
                L::load(data.as_ptr().add(at + 3)),
                L::gather8(rows.as_ptr(), index.as_ptr().add(at)),
                L::gather4(quads.as_ptr(), index.as_ptr().add(at)),
            )
        };
        let two = L::splat(2.0);
        let results = [
            a.add(b),
            a.sub(b),
            a.mul(b),
            a.div(b),
            a.sqrt(),
            a.max(b),
            a.min(b),
            a.sub(b).abs(),
            two.mul_add(a, b),
            two.where_below(a, b),
        ];
        for (out, v) in out.iter_mut().zip(results.into_iter().chain(r).chain(q)) {
            out.extend(lanes(v));
        }
        let below = a.below(b);
        out[23].extend((0..L::N).map(|k| (below >> k & 1) as f32));
        // Whole numbers: their sum is the same in any order.
        out[24].push(L::splat(1.0).add(r[0].sub(L::splat(0.25))).sum());
        let four = [a.div(b), b.sqrt(), a.mul(b).sqrt(), b.div(a)];
        assert_eq!(L::sum4(four), [four[0].sum(), four[1].sum(), four[2].sum(), four[3].sum()]);
    }
    out[24] = vec![out[24].iter().sum()];
    out
}

#[test]
fn all_lanes_do_the_same_as_portable_ones() {
    let plain = everything::<Portable>();
    if avx2_available() {
        // SAFETY: AVX2 is available.
        assert_eq!(unsafe { everything_avx2() }, plain);
    }
    if avx512_available() {
        // SAFETY: AVX-512 is available.
        assert_eq!(unsafe { everything_avx512() }, plain);
    }
}

#[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
fn more_avx2() -> Vec<f32> {
    more::<Avx2>()
}

/// Results of what only eight lanes do.
#[inline(always)]
fn more<L: Eight>() -> Vec<f32> {
    let data: Vec<f32> = (0..64).map(|i| ((i * 37) % 64) as f32 + 0.25).collect();
    // SAFETY: both loads stay inside the 64 floats.
    let (a, b) = unsafe { (L::load(data.as_ptr()), L::load(data.as_ptr().add(3))) };
    let sign = a.sub(L::splat(20.0));
    let mut out = Vec::new();
    for v in [a.min(b), b.copy_sign(sign), L::splat(1.0).copy_sign(sign)] {
        out.extend(v.to_array());
    }
    let of: [L; 8] = std::array::from_fn(|k| a.mul(L::splat(0.1 + k as f32)));
    out.extend(L::sums(of).to_array());
    for mask in 0..256u32 {
        let mut packed = [0.0; 8];
        // SAFETY: `packed` has room for eight.
        unsafe { a.store_packed(mask, packed.as_mut_ptr()) };
        out.extend(&packed[..mask.count_ones() as usize]);
    }
    out
}

#[test]
fn avx2_does_the_rest_as_portable_lanes_do() {
    if avx2_available() {
        // SAFETY: AVX2 is available.
        assert_eq!(unsafe { more_avx2() }, more::<Portable>());
    }
}

/// What octets do of two neighbours at once is what they do of one after the other.
#[inline(always)]
fn octets<L: Octets>() {
    let data: Vec<f32> = (0..16).map(|i| ((i * 7) % 16) as f32 + 0.25).collect();
    // SAFETY: sixteen can be read.
    let a = unsafe { L::load(data.as_ptr()) };
    let mut sum = [0.0; 8];
    // SAFETY: there is room for eight.
    unsafe { a.store_eight(sum.as_mut_ptr()) };
    let second = |k: usize| if L::AT_ONCE == 2 { data[8 + k] } else { 0.0 };
    assert_eq!(sum, std::array::from_fn(|k| data[k] + second(k)));
    // SAFETY: eight can be read.
    let twice = lanes(unsafe { L::load_eight(data.as_ptr()) });
    assert!((0..L::N).all(|k| twice[k] == data[k % 8]));
    let rows: [[f32; 8]; 2] = [std::array::from_fn(|c| data[c]), std::array::from_fn(|c| data[8 + c])];
    let (records, spread) = (L::records([&rows[0], &rows[1]]), L::spread());
    (0..8).for_each(|c| {
        let column = lanes(L::column(records, c, &spread));
        assert!((0..L::N).all(|k| column[k] == rows[k / 8][c]));
    });
    let halves = lanes(L::halves(1.0, 2.0));
    assert!((0..L::N).all(|k| halves[k] == if k < 8 { 1.0 } else { 2.0 }));
    let of: [L; 8] = std::array::from_fn(|k| a.mul(L::splat(0.1 + k as f32)));
    assert_eq!(L::sums(of).to_array(), of.map(L::sum));
    for mask in 0..1u32 << L::N {
        let mut packed = [0.0; 16];
        // SAFETY: there is room for sixteen.
        unsafe { a.store_packed(mask, packed.as_mut_ptr()) };
        let kept = (0..L::N).filter(|k| mask >> k & 1 == 1);
        assert!(kept.enumerate().all(|(at, k)| packed[at] == data[k]), "{mask:b}");
    }
}

#[test]
fn octets_have_one_lane_or_two_for_each_particle() {
    #[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
    fn avx2() {
        octets::<Avx2>();
    }
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
    fn avx512() {
        octets::<Avx512>();
    }
    octets::<Portable>();
    if avx2_available() {
        // SAFETY: AVX2 is available.
        unsafe { avx2() };
    }
    if avx512_available() {
        // SAFETY: AVX-512 is available.
        unsafe { avx512() };
    }
}

#[inline(always)]
fn set_bits<L: Lanes>(masks: impl Iterator<Item = u32>) {
    for mask in masks {
        let mut packed = [0; 16];
        // SAFETY: `packed` has room for sixteen.
        unsafe { L::store_set_bits(mask, 100, packed.as_mut_ptr()) };
        let expected: Vec<u32> = (0..32).filter(|k| mask >> k & 1 == 1).map(|k| 100 + k).collect();
        assert_eq!(packed[..expected.len()], expected, "{mask:b}");
    }
}

#[test]
fn set_bits_are_packed_in_order() {
    #[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
    fn avx2() {
        set_bits::<Avx2>(0..256);
    }
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
    fn avx512() {
        set_bits::<Avx512>(0..65536);
    }
    set_bits::<Portable>(0..256);
    if avx2_available() {
        // SAFETY: AVX2 is available.
        unsafe { avx2() };
    }
    if avx512_available() {
        // SAFETY: AVX-512 is available.
        unsafe { avx512() };
    }
}
