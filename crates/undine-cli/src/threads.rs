//! The thread pool.

use anyhow::{Context, Result};

/// Sets the number of threads of the whole program; all cores when not given.
pub fn set(threads: Option<u16>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
    pool.build_global().with_context(|| format!("cannot start {threads} threads"))
}
