//! Markers of the grid's liquid as parallel arrays, kept sorted by cell.

use rayon::prelude::*;

use crate::simd::widest;

/// Markers handed to a thread at a time.
pub const BLOCK: usize = 2048;

/// Markers. All arrays are equally long, but those a scheme has no use for, which are empty.
#[derive(Clone, Debug, Default)]
pub struct Markers {
    /// Positions in cells from the grid's lowest corner.
    pub x: Vec<[f32; 3]>,
    /// Velocities, m/s.
    pub velocity: Vec<[f32; 3]>,
    /// Derivatives of the velocity along each axis, m/s per cell. Only where the scheme carries them.
    pub affine: Vec<[[f32; 3]; 3]>,
    /// How many markers of the scene each stands for; empty where that is one.
    pub weight: Vec<f32>,
    /// Stable number of each, in order of birth.
    pub id: Vec<u32>,
    /// Index of the fluid each belongs to.
    pub fluid: Vec<u8>,
    /// Number the next one gets.
    pub next_id: u32,
    /// Whether gradients are carried.
    pub has_affine: bool,
    /// Whether markers stand for several.
    pub has_weight: bool,
    /// Whether they have no velocities of their own.
    pub only_follow: bool,
}

/// The order of markers by cell.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// First place in `order` of each cell; one more than there are cells.
    pub start: Vec<u32>,
    /// Markers by cell.
    pub order: Vec<u32>,
    key: Vec<u32>,
    span: Vec<(u32, u32)>,
    vector: Vec<[f32; 3]>,
    byte: Vec<u8>,
    scalar: Vec<f32>,
}

impl Markers {
    /// Number of markers.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Makes room for exactly so many more.
    pub fn reserve_exact(&mut self, more: usize) {
        self.x.reserve_exact(more);
        if !self.only_follow {
            self.velocity.reserve_exact(more);
        }
        if self.has_affine {
            self.affine.reserve_exact(more);
        }
        if self.has_weight {
            self.weight.reserve_exact(more);
        }
        self.id.reserve_exact(more);
        self.fluid.reserve_exact(more);
    }

    /// Adds a marker at the end.
    pub fn push(&mut self, x: [f32; 3], velocity: [f32; 3], fluid: u8) {
        self.push_weighted(x, velocity, fluid, 1.0);
    }

    /// Adds a marker at the end that stands for `weight` of them.
    pub fn push_weighted(&mut self, x: [f32; 3], velocity: [f32; 3], fluid: u8, weight: f32) {
        self.x.push(x);
        if !self.only_follow {
            self.velocity.push(velocity);
        }
        if self.has_affine {
            self.affine.push([[0.0; 3]; 3]);
        }
        if self.has_weight {
            self.weight.push(weight);
        }
        self.id.push(self.next_id);
        self.fluid.push(fluid);
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// How many markers of the scene a marker stands for.
    #[inline(always)]
    pub fn weight(&self, i: usize) -> f32 {
        if self.has_weight { self.weight[i] } else { 1.0 }
    }

    /// Deletes a marker; the last one takes its place.
    pub fn swap_remove(&mut self, i: usize) {
        // Arrays that the scheme has no use for are empty.
        fn take<T>(data: &mut Vec<T>, i: usize) {
            if i < data.len() {
                data.swap_remove(i);
            }
        }
        take(&mut self.x, i);
        take(&mut self.velocity, i);
        take(&mut self.affine, i);
        take(&mut self.weight, i);
        take(&mut self.id, i);
        take(&mut self.fluid, i);
    }

    /// Keeps the markers for which `keep(number)` holds, in their order; returns how many went.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) -> usize {
        let n = self.len();
        let kept: Vec<bool> = (0..n).map(keep).collect();
        fn sift<T: Copy>(kept: &[bool], data: &mut Vec<T>) {
            let mut k = kept.iter();
            // Arrays that the scheme has no use for are empty.
            data.retain(|_| *k.next().expect("as many as there are markers"));
        }
        sift(&kept, &mut self.x);
        sift(&kept, &mut self.velocity);
        sift(&kept, &mut self.affine);
        sift(&kept, &mut self.weight);
        sift(&kept, &mut self.id);
        sift(&kept, &mut self.fluid);
        n - self.len()
    }
}

impl Order {
    /// Finds the order of markers by cells, `n` along each axis, x fastest. Markers of a cell stay in their order, so that the
    /// result is one whatever the threads.
    pub fn find(&mut self, x: &[[f32; 3]], n: [usize; 3]) {
        self.find_all(x, n, false);
    }

    /// The same of those inside the grid; others are in no cell and not in the order.
    pub fn find_inside(&mut self, x: &[[f32; 3]], n: [usize; 3]) {
        self.find_all(x, n, true);
    }

    fn find_all(&mut self, x: &[[f32; 3]], n: [usize; 3], only_inside: bool) {
        let cells = n[0] * n[1] * n[2];
        let count = x.len();
        self.key.resize(count, 0);
        // Which cells the markers of a block are in, so that threads need not look at blocks that have nothing for them.
        self.span.resize(count.div_ceil(BLOCK), (0, 0));
        let blocks = (self.key.par_chunks_mut(BLOCK), x.par_chunks(BLOCK), self.span.par_iter_mut());
        blocks.into_par_iter().for_each(|(key, x, span)| {
            find_cells(x, n, key);
            if only_inside {
                let is_inside = |x: &[f32; 3]| (0..3).all(|a| x[a] >= 0.0 && x[a] <= n[a] as f32);
                for (key, _) in key.iter_mut().zip(x).filter(|(_, x)| !is_inside(x)) {
                    *key = cells as u32;
                }
            }
            *span = key.iter().fold((u32::MAX, 0), |s, k| (s.0.min(*k), s.1.max(*k)));
        });
        // Each thread has a range of cells and their markers.
        let parts = rayon::current_num_threads().clamp(1, 16).min(count / (4 * BLOCK) + 1);
        let part = cells.div_ceil(parts);
        self.start.resize(cells + 1, 0);
        let Order { start, order, key, span, .. } = self;
        let mine = |range: (u32, u32)| {
            let blocks = key.chunks(BLOCK).zip(span.iter()).enumerate();
            blocks
                .filter(move |(_, (_, s))| s.0 < range.1 && s.1 >= range.0)
                .flat_map(|(b, (keys, _))| keys.iter().enumerate().map(move |(i, k)| (b * BLOCK + i, *k)))
                .filter(move |(_, k)| *k >= range.0 && *k < range.1)
        };
        let range = |p: usize| ((p * part) as u32, ((p + 1) * part).min(cells) as u32);
        start[..cells].par_chunks_mut(part).enumerate().for_each(|(p, counts)| {
            counts.fill(0);
            let first = range(p).0;
            mine(range(p)).for_each(|(_, k)| counts[(k - first) as usize] += 1);
        });
        let mut sum = 0;
        for s in &mut start[..cells] {
            (*s, sum) = (sum, sum + *s);
        }
        start[cells] = sum;
        order.resize(sum as usize, 0);
        let mut places = Vec::with_capacity(parts);
        let mut rest = &mut order[..];
        for p in 0..cells.div_ceil(part) {
            let (low, high) = range(p);
            let (own, after) = rest.split_at_mut((start[high as usize] - start[low as usize]) as usize);
            places.push(own);
            rest = after;
        }
        places.into_par_iter().enumerate().for_each(|(p, own)| {
            let (low, high) = range(p);
            let first = start[low as usize];
            let mut next: Vec<u32> = start[low as usize..high as usize].iter().map(|s| s - first).collect();
            mine((low, high)).for_each(|(i, k)| {
                let to = &mut next[(k - low) as usize];
                own[*to as usize] = i as u32;
                *to += 1;
            });
        });
    }

    /// Moves positions, numbers, weights and fluids into order; what is not in it goes. Velocities and gradients stay where they are: what reads them once
    /// goes through `order`.
    pub fn apply(&mut self, markers: &mut Markers) {
        let Order { order, vector, key, .. } = self;
        // Both at once: either alone waits for the other's order.
        vector.resize(order.len(), [0.0; 3]);
        key.resize(order.len(), 0);
        let out = vector.par_chunks_mut(BLOCK).zip(key.par_chunks_mut(BLOCK));
        out.zip(order.par_chunks(BLOCK)).for_each(|((x, id), from)| {
            for ((x, id), &i) in x.iter_mut().zip(id).zip(from) {
                *x = markers.x[i as usize];
                *id = markers.id[i as usize];
            }
        });
        std::mem::swap(&mut markers.x, vector);
        std::mem::swap(&mut markers.id, key);
        let first = markers.fluid.first().copied().unwrap_or(0);
        // Of one fluid there is nothing to put in order.
        if markers.fluid.iter().fold(0, |any, fluid| any | (fluid ^ first)) != 0 {
            permute(&self.order, &mut markers.fluid, &mut self.byte);
        }
        markers.fluid.truncate(self.order.len());
        if markers.has_weight {
            permute(&self.order, &mut markers.weight, &mut self.scalar);
        }
    }

    /// Moves velocities into order.
    pub fn apply_to_velocity(&mut self, markers: &mut Markers) {
        permute(&self.order, &mut markers.velocity, &mut self.vector);
    }
}

/// The number of the cell that each of some places is in, or nearest to. Chooses the instruction set.
fn find_cells(x: &[[f32; 3]], n: [usize; 3], key: &mut [u32]) {
    widest!(find_cells_in(x: &[[f32; 3]], n: [usize; 3], key: &mut [u32]));
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // entered through `widest!`, for its instructions
fn find_cells_in<L>(x: &[[f32; 3]], n: [usize; 3], key: &mut [u32]) {
    let last = n.map(|n| n as f32 - 1.0);
    let [row, column] = [n[0] as u32, n[1] as u32];
    for (key, x) in key.iter_mut().zip(x) {
        // What is no number is in the first.
        let cell = |a: usize| x[a].max(0.0).min(last[a]) as i32 as u32;
        *key = cell(0) + row * (cell(1) + column * cell(2));
    }
}

fn permute<T: Copy + Default + Send + Sync>(order: &[u32], data: &mut Vec<T>, spare: &mut Vec<T>) {
    spare.resize(order.len(), T::default());
    spare.par_chunks_mut(4 * BLOCK).zip(order.par_chunks(4 * BLOCK)).for_each(|(out, from)| {
        for (o, &i) in out.iter_mut().zip(from) {
            *o = data[i as usize];
        }
    });
    std::mem::swap(data, spare);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_is_not_in_the_order() {
        let n = [2, 3, 4];
        let x: Vec<[f32; 3]> = (0..20_000u32)
            .map(|i| {
                let r =
                    |k: u32| (i.wrapping_mul(2_654_435_761).rotate_left(k) >> 8) as f32 / (1 << 24) as f32;
                [2.2 * r(0) - 0.1, 3.0 * r(7), 4.0 * r(13)]
            })
            .collect();
        let inside = |x: &[f32; 3]| x[0] >= 0.0 && x[0] <= 2.0;
        let mut markers = Markers { only_follow: true, ..Markers::default() };
        x.iter().for_each(|x| markers.push(*x, [0.0; 3], 0));
        let mut order = Order::default();
        order.find_inside(&markers.x, n);
        order.apply(&mut markers);
        assert_eq!(markers.len(), x.iter().filter(|x| inside(x)).count());
        assert!(markers.len() < x.len() && markers.fluid.len() == markers.len());
        assert_eq!(order.start[24] as usize, markers.len());
        for (place, id) in markers.x.iter().zip(&markers.id) {
            assert!(inside(place) && x[*id as usize] == *place);
        }
    }

    #[test]
    fn markers_come_in_the_order_of_their_cells_and_of_their_birth() {
        let n = [3, 4, 5];
        let x: Vec<[f32; 3]> = (0..100_000u32)
            .map(|i| {
                let r =
                    |k: u32| (i.wrapping_mul(2_654_435_761).rotate_left(k) >> 8) as f32 / (1 << 24) as f32;
                [3.0 * r(0), 4.0 * r(7), 5.0 * r(13)]
            })
            .collect();
        let cell = |x: [f32; 3]| x[0] as usize + 3 * (x[1] as usize + 4 * x[2] as usize);
        let mut plain: Vec<u32> = (0..x.len() as u32).collect();
        plain.sort_by_key(|i| cell(x[*i as usize]));
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut order = Order::default();
            pool.install(|| order.find(&x, n));
            assert_eq!(order.order, plain);
            for c in 0..60 {
                let range = order.start[c] as usize..order.start[c + 1] as usize;
                assert!(order.order[range].iter().all(|i| cell(x[*i as usize]) == c));
            }
        }
    }
}
