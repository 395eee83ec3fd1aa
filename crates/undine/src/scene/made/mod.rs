//! Shapes made by code, each from a few numbers and a seed: terrain, rocks, heaps of rocks, turned vessels, a dragon.
//!
//! Only +, -, ×, ÷ and square roots go into them (turned shapes aside), so that a seed means the same shape everywhere.

mod dragon;
mod implicit;
mod lathe;
mod noise;
mod pile;
mod rock;
mod terrain;

pub use dragon::dragon;
pub use lathe::lathe;
pub use pile::Pile;
pub use rock::Rock;
pub use terrain::{Terrain, Valley};

#[cfg(test)]
mod tests;
