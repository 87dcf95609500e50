//! The spool: a file with results that no coordinator has acknowledged, so that they outlive the worker's process.
//!
//! While no coordinator is connected, a result is written to the spool at once. Otherwise, a result is written only if
//! it is not acknowledged soon. The result of a task that requested no intent is never written, because its loss leaves
//! nothing uncertain. A later process of the same worker finds the results, and hands each over as a report of the
//! process that made the result.

mod file;
mod problems;

use std::fmt;
use std::sync::Arc;

use weft_graph_format::run::RunId;
use weft_protocol::{Task, TaskResult};

pub use file::{FileSpool, FoundResults};
pub use problems::{SpoolError, UnreadableRecord};

/// A result without an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpooledResult {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: Task,
    /// The incarnation of the process that made the result.
    pub maker: String,
    /// The end of the task.
    pub result: Arc<TaskResult>,
}

/// Changes of a spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolWork {
    /// Results to store.
    pub keep: Vec<SpooledResult>,
    /// Tasks that are acknowledged, or no longer wanted.
    pub forget: Vec<(RunId, Task)>,
}

impl SpoolWork {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.keep.is_empty() && self.forget.is_empty()
    }
}

/// Durable storage for results.
pub trait Spool: Send + Sync {
    /// Whether the spool encrypts its content.
    fn is_sealed(&self) -> bool;

    /// Forgets the results of tasks, and stores new results. The new results are durable when this method returns. A
    /// forgotten result may be found again when the spool is next opened. A coordinator then acknowledges it again.
    ///
    /// # Errors
    /// Returns an error if the results are not durable.
    fn write(&self, work: &SpoolWork) -> Result<(), SpoolError>;
}

/// Why a record cannot be encrypted or decrypted.
pub type SealError = Box<dyn std::error::Error + Send + Sync>;

/// Encrypts the records of a spool.
pub trait SpoolSeal: Send + Sync {
    /// Whether records are encrypted at all.
    fn seals(&self) -> bool;

    /// Encrypts a record.
    ///
    /// # Errors
    /// Returns an error if the record cannot be encrypted.
    fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, SealError>;

    /// Decrypts a record.
    ///
    /// # Errors
    /// Returns an error if the record cannot be decrypted.
    fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, SealError>;
}

/// Encrypts nothing.
#[derive(Clone, Copy, Debug)]
pub struct PlainSpool;

impl SpoolSeal for PlainSpool {
    fn seals(&self) -> bool {
        false
    }

    fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        Ok(plain.to_vec())
    }

    fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        Ok(sealed.to_vec())
    }
}

/// The spool of a worker.
#[derive(Clone)]
pub struct WorkerSpool {
    /// The storage of the results.
    pub place: Arc<dyn Spool>,
    /// Results that earlier processes of the same name left.
    pub results: Vec<SpooledResult>,
}

/// Shows only numbers, because results are secret.
impl fmt::Debug for WorkerSpool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "WorkerSpool({} results)", self.results.len())
    }
}
