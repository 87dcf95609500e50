//! How a run is to be carried out.

use crate::event::UserResolution;
use crate::timing::{GATHER, RECONNECT_GRACE};

/// How a run is to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Most operations at once over all workers (`-parallelism`); `None` for as many as the workers take.
    pub parallelism: Option<u32>,
    /// Milliseconds to wait for workers before the first lease of a shard.
    pub gather_ms: u64,
    /// Milliseconds that a worker which left may take to come back.
    pub grace_ms: u64,
    /// No worker joins after the ones that are there (one process): without one that fits, the run ends.
    pub fixed_workers: bool,
    /// What the user says of operations in doubt.
    pub resolutions: Vec<UserResolution>,
    /// Settle these and end, instead of going on with the run.
    pub only_resolve: bool,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            parallelism: None,
            gather_ms: GATHER.as_millis() as u64,
            grace_ms: RECONNECT_GRACE.as_millis() as u64,
            fixed_workers: false,
            resolutions: Vec::new(),
            only_resolve: false,
        }
    }
}

impl RunOptions {
    /// For a worker in the same process: nothing to wait for.
    pub fn in_process() -> RunOptions {
        RunOptions { gather_ms: 0, fixed_workers: true, ..RunOptions::default() }
    }
}
