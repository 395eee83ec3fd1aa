//! Plain parallel arrays that models work on.

pub mod markers;
pub mod pages;
pub mod particles;
pub mod springs;
