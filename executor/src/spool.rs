//! The spool: results that no coordinator has acknowledged, in a file, so that they outlive the worker's process.
//!
//! A result goes to the spool at once while no coordinator is connected, and otherwise when it is not acknowledged soon. A
//! process of the same name finds it there, and hands it over as the report of the process that made it.

mod file;

use std::fmt;
use std::sync::Arc;

use weft_graph_format::run::RunId;
use weft_protocol::{Task, TaskResult};

pub use file::{FileSpool, FoundResults, SpoolError};

/// A result without an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpooledResult {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: Task,
    /// The incarnation of the process that carried it out.
    pub maker: String,
    /// How it ended.
    pub result: Arc<TaskResult>,
}

/// Changes of a spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolWork {
    /// Results to keep.
    pub keep: Vec<SpooledResult>,
    /// Tasks that are acknowledged, or not wanted any more.
    pub forget: Vec<(RunId, Task)>,
}

impl SpoolWork {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.keep.is_empty() && self.forget.is_empty()
    }
}

/// A durable place for results.
pub trait Spool: Send + Sync {
    /// Whether it encrypts what it keeps.
    fn is_sealed(&self) -> bool;

    /// Forgets tasks and keeps results. The results are durable when it returns. Forgotten results may come back: a
    /// coordinator acknowledges them a second time.
    ///
    /// # Errors
    /// Why the results are not durable, as text.
    fn write(&self, work: &SpoolWork) -> Result<(), String>;
}

/// Encrypts the records of a spool.
pub trait SpoolSeal: Send + Sync {
    /// Whether it encrypts at all.
    fn seals(&self) -> bool;

    /// Encrypts a record.
    ///
    /// # Errors
    /// Why that is impossible, as text.
    fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, String>;

    /// Decrypts a record.
    ///
    /// # Errors
    /// Why that is impossible, as text.
    fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, String>;
}

/// Encrypts nothing.
#[derive(Clone, Copy, Debug)]
pub struct PlainSpool;

impl SpoolSeal for PlainSpool {
    fn seals(&self) -> bool {
        false
    }

    fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, String> {
        Ok(plain.to_vec())
    }

    fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, String> {
        Ok(sealed.to_vec())
    }
}

/// The spool of a worker.
#[derive(Clone)]
pub struct WorkerSpool {
    /// Where results are kept.
    pub place: Arc<dyn Spool>,
    /// What earlier processes of the same name left there.
    pub results: Vec<SpooledResult>,
}

/// Shows numbers only: results are secret.
impl fmt::Debug for WorkerSpool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "WorkerSpool({} results)", self.results.len())
    }
}
