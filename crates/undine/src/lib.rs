//! Undine: a scene file becomes moving water.
//!
//! The way of the data: scene file → [`scene::Scene`] → world → named passes → [`frame::Frame`] → files. A
//! library never exits or prints.

pub mod atomic;
pub mod checkpoint;
pub mod export;
pub mod frame;
mod plain;
pub mod run_folder;
pub mod scene;
