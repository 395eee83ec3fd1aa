//! Buffers that are lent to threads and come back.
//!
//! Rayon makes what a loop's threads start from anew for each loop, and for each part of it that another thread takes over. Of
//! megabytes that is memory to ask for, to clear and to fault in, in every step.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// Buffers that nobody has at the moment.
#[derive(Debug, Default)]
pub struct Spares<T>(Mutex<Vec<T>>);

impl<T: Default> Spares<T> {
    /// One of them, with whatever is in it, or a new one.
    pub fn lend(&self) -> Lent<'_, T> {
        let spare = self.0.lock().ok().and_then(|mut spares| spares.pop());
        Lent { spares: self, buffer: spare.unwrap_or_default() }
    }
}

impl<T> Clone for Spares<T> {
    /// Buffers hold nothing that matters: none.
    fn clone(&self) -> Self {
        Spares(Mutex::new(Vec::new()))
    }
}

/// A buffer that goes back when it is dropped.
pub struct Lent<'a, T: Default> {
    spares: &'a Spares<T>,
    buffer: T,
}

impl<T: Default> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.buffer
    }
}

impl<T: Default> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.buffer
    }
}

impl<T: Default> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        if let Ok(mut spares) = self.spares.0.lock() {
            spares.push(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_is_lent_again() {
        let spares = Spares::<Vec<u8>>::default();
        {
            let (mut a, b) = (spares.lend(), spares.lend());
            a.reserve(100);
            assert!(b.is_empty());
        }
        let (a, b) = (spares.lend(), spares.lend());
        assert!(a.capacity().max(b.capacity()) >= 100);
        assert_eq!(spares.lend().capacity(), 0);
    }
}
