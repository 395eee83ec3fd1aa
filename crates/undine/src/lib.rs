//! Undine: a scene file becomes moving water.
//!
//! The way of the data: scene file → [`scene::Scene`] → world → named passes → [`frame::Frame`] → files. A
//! library never exits or prints.

pub mod atomic;
mod awake;
pub mod checkpoint;
pub mod emitter;
pub mod export;
pub mod fields;
pub mod frame;
pub mod import;
pub mod kernels;
pub mod misread;
pub mod models;
pub mod neighbors;
pub mod picture;
mod plain;
mod ply_number;
pub mod probe;
pub mod run_folder;
pub mod scene;
pub mod simd;
pub mod state;
pub mod surface;
pub mod validate;
pub mod volume;
pub mod walls;
pub mod world;
