//! Liquid on a staggered grid of cells.

pub mod poisson;
