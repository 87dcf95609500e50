//! Options of a run.

use crate::event::UserResolution;
use crate::timing::{GATHER, RECONNECT_GRACE};

/// Options of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// The maximum number of concurrent operations over all workers (`-parallelism`); `None` if only the limits of the
    /// workers apply.
    pub parallelism: Option<u32>,
    /// Milliseconds to wait for workers before the first shard is leased.
    pub gather_ms: u64,
    /// Milliseconds that a disconnected worker may take to reconnect.
    pub grace_ms: u64,
    /// Whether no further worker will join, as in a single process. In that case, the run ends if no worker is
    /// suitable.
    pub fixed_workers: bool,
    /// The user's decisions on operations in doubt.
    pub resolutions: Vec<UserResolution>,
    /// A seed for the pauses before retries, so that the pauses of different runs differ.
    pub spread: u64,
    /// Whether to settle only the doubts for which there is a decision, and to end without resuming the run.
    pub only_resolve: bool,
    /// With [`RunOptions::only_resolve`]: whether to also look for evidence for the doubts without a decision.
    pub look_up: bool,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            parallelism: None,
            gather_ms: GATHER.as_millis() as u64,
            grace_ms: RECONNECT_GRACE.as_millis() as u64,
            fixed_workers: false,
            resolutions: Vec::new(),
            spread: 0,
            only_resolve: false,
            look_up: false,
        }
    }
}

impl RunOptions {
    /// Options for a worker in the same process, which needs no waiting.
    pub fn in_process() -> RunOptions {
        RunOptions { gather_ms: 0, fixed_workers: true, ..RunOptions::default() }
    }
}
