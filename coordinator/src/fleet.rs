//! The workers of a coordinator, as the user sees them.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStatus {
    /// The worker accepts operations.
    Ready,
    /// The operator drains the worker. The worker finishes its operations, and accepts no other operations.
    Draining,
    /// The worker is about to leave.
    Leaving,
}

impl WorkerStatus {
    /// The word in lists and JSON.
    pub fn word(self) -> &'static str {
        match self {
            WorkerStatus::Ready => "ready",
            WorkerStatus::Draining => "draining",
            WorkerStatus::Leaving => "leaving",
        }
    }
}

/// A connected worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkerListing {
    /// The name of the worker.
    pub name: String,
    /// The labels of the worker.
    pub labels: BTreeMap<String, String>,
    /// The version of Weft; empty if the worker did not send it.
    pub version: String,
    /// The status of the worker, as [`WorkerStatus::word`].
    pub status: String,
    /// The number of operations that the worker has, over all runs.
    pub tasks: u32,
    /// The maximum number of concurrent operations of the worker.
    pub capacity: u32,
    /// The identity of the peer at the worker's end of the connection.
    pub identity: String,
}
