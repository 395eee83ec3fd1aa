//! Plain parallel arrays that models work on.

pub mod particles;
pub mod springs;
