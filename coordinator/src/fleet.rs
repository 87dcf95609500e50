//! The workers of a coordinator, as the user sees them.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStatus {
    /// It takes operations.
    Ready,
    /// The operator drains it: it finishes its operations, and takes no others.
    Draining,
    /// It is about to leave.
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
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The version of Weft; empty if the worker did not send it.
    pub version: String,
    /// Its status, as [`WorkerStatus::word`].
    pub status: String,
    /// The number of operations that it has, over all runs.
    pub tasks: u32,
    /// The maximum number of its concurrent operations.
    pub capacity: u32,
    /// The identity of the peer that connected it.
    pub identity: String,
}
