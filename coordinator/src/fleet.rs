//! The workers of a coordinator as people see them.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a worker does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStatus {
    /// It takes operations.
    Ready,
    /// The operator drains it: it ends what it has, and takes nothing else.
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
    /// The version of Weft; empty if the worker does not say.
    pub version: String,
    /// What it does, as [`WorkerStatus::word`].
    pub status: String,
    /// The number of its operations, over all runs.
    pub tasks: u32,
    /// The maximum number of its concurrent operations.
    pub capacity: u32,
    /// Who connected it.
    pub identity: String,
}
