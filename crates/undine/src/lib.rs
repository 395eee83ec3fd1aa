//! Undine: a scene file becomes moving water.
//!
//! The way of the data: scene file → [`scene::Scene`] → world → named passes → [`frame::Frame`] → files. A
//! library never exits or prints.

pub mod export;
pub mod frame;
pub mod kernels;
pub mod neighbors;
pub mod scene;
pub mod simd;
