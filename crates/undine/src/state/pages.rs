//! Large arrays whose memory the system has back as soon as they are shed.
//!
//! What is freed the usual way the C library keeps, and it keeps it for the thread that asked for it: arrays that only steps
//! need would go on counting while a frame is written.

use bytemuck::Pod;
use memmap2::MmapMut;

/// Bytes from which on an array has pages of its own.
const LARGE: usize = 1 << 20;

/// An array that can be shed.
#[derive(Debug)]
pub struct Pages<T> {
    /// Pages of their own, of large arrays.
    own: Option<MmapMut>,
    few: Vec<T>,
    len: usize,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Pages { own: None, few: Vec::new(), len: 0 }
    }
}

impl<T: Pod> Pages<T> {
    /// Makes it so long. What was in it may be lost, and what is new is anything.
    pub fn resize(&mut self, len: usize) {
        let bytes = len * size_of::<T>();
        if self.own.as_ref().is_some_and(|own| own.len() >= bytes)
            || self.few.len() >= len && self.own.is_none()
        {
            self.len = len;
            return;
        }
        self.shed();
        self.len = len;
        if bytes >= LARGE {
            // Not at all where the system has no such pages.
            self.own = MmapMut::map_anon(bytes + bytes / 16).ok();
        }
        if self.own.is_none() {
            self.few.resize(len, T::zeroed());
        }
    }

    /// Gives its memory back and is empty.
    pub fn shed(&mut self) {
        *self = Pages::default();
    }
}

impl<T: Pod> std::ops::Deref for Pages<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.own {
            // Pages begin at multiples of their size.
            Some(own) => bytemuck::cast_slice(&own[..self.len * size_of::<T>()]),
            None => &self.few[..self.len],
        }
    }
}

impl<T: Pod> std::ops::DerefMut for Pages<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.own {
            Some(own) => bytemuck::cast_slice_mut(&mut own[..self.len * size_of::<T>()]),
            None => &mut self.few[..self.len],
        }
    }
}

impl<T: Pod> Clone for Pages<T> {
    fn clone(&self) -> Self {
        let mut copy = Pages::default();
        copy.resize(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_size_hold_what_is_written() {
        let mut pages = Pages::<f64>::default();
        for len in [0, 5, 100, LARGE / 8, LARGE, 3, LARGE / 4] {
            pages.resize(len);
            assert_eq!(pages.len(), len);
            for (k, v) in pages.iter_mut().enumerate() {
                *v = k as f64;
            }
            let copy = pages.clone();
            assert!(copy.iter().enumerate().all(|(k, v)| *v == k as f64) && copy.len() == len);
        }
        pages.shed();
        assert!(pages.is_empty());
    }
}
