//! Keeps a second thread awake through steps.
//!
//! Threads of the pool go to sleep between two loops of a step, and between steps. On a virtual machine the call that wakes one takes 46 µs and the
//! thread starts 30 µs later; a step of `mac` made thirty such calls. Waking them each time made ten seconds of ten thousand
//! particles of `lennard-jones` take 16.1 s instead of 15, and the springs of `u-tube` 1.5 ms a step instead of 1.3.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::Yield;

/// A thread that found no work for so long goes to sleep after all. This also ends any wait of two steps for each other, as of small
/// worlds side by side in one pool. (Ten times as long gained nothing: `u-tube` 4.30 and 4.28 ms a step, `jet-cube` 12.2 and 12.0.)
const PATIENCE: Duration = Duration::from_micros(300);
/// Looks for work before other programs are let to the processor.
const LOOKS: u32 = 32;

/// Runs `work` in the pool while another of its threads, if there is one, looks for parts of it without ever sleeping. From outside
/// the pool every parallel loop would wake it and wait for it to sleep.
pub(crate) fn with_one_awake<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::scope(|_| with_another_awake(work))
}

fn with_another_awake<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let Some(own) = rayon::current_thread_index().filter(|_| rayon::current_num_threads() > 1) else {
        return work();
    };
    let done = AtomicBool::new(false);
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            // The thread that does the work must not wait for itself.
            if rayon::current_thread_index() != Some(own) {
                look_for_work(&done);
            }
        });
        let end = End(&done);
        let result = work();
        drop(end);
        result
    })
}

/// Tells that the work is done, even if it panics.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn look_for_work(done: &AtomicBool) {
    let (mut last, mut looks) = (Instant::now(), 0);
    while !done.load(Ordering::Acquire) {
        if rayon::yield_now() == Some(Yield::Executed) {
            (last, looks) = (Instant::now(), 0);
            continue;
        }
        looks += 1;
        if looks % LOOKS == 0 {
            if last.elapsed() > PATIENCE {
                return;
            }
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn steps_that_run_beside_each_other_all_end_on_any_number_of_threads() {
        for threads in 1..=4 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let sums: Vec<u64> = pool.install(|| {
                let world = |k: u32| {
                    let k = u64::from(k);
                    let step =
                        |s| with_one_awake(|| (0..2000u64).into_par_iter().map(|i| i ^ s).sum::<u64>());
                    (0..50).map(|s| step(k + s)).fold(0u64, |a, b| a.wrapping_mul(31).wrapping_add(b))
                };
                (0..4u32).into_par_iter().with_max_len(1).map(world).collect()
            });
            let step = |s| (0..2000u64).map(|i| i ^ s).sum::<u64>();
            for (k, sum) in sums.into_iter().enumerate() {
                let expected =
                    (0..50).map(|s| step(k as u64 + s)).fold(0u64, |a, b| a.wrapping_mul(31).wrapping_add(b));
                assert_eq!(sum, expected, "{threads} threads");
            }
        }
        assert_eq!(with_one_awake(|| 7), 7);
    }
}
