//! The settings that a host gives to its worker.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use weft_expressions::call_context::{Files, ForbiddenFiles};
use weft_graph_format::diagnostic::Diagnostic;
use weft_providers::PoolOptions;

use crate::packages::Packages;
use crate::spool::WorkerSpool;

/// The default maximum number of concurrent tasks: enough to hide the latency of a store and a network.
pub const DEFAULT_CAPACITY: u32 = 256;

/// Messages to the host, in addition to the results of operations.
#[derive(Clone, Debug, PartialEq)]
pub enum HostMessage {
    /// An event of an ephemeral object.
    Ephemeral {
        /// The instance.
        address: String,
        /// The event.
        step: EphemeralStep,
    },
    /// A diagnostic of a provider about an ephemeral object, at a time when no operation waited for the object.
    Problem(Box<Diagnostic>),
}

/// An event of an ephemeral object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EphemeralStep {
    /// The object is about to be opened.
    OpenStarted,
    /// The object is open.
    OpenDone,
    /// The object is about to be renewed.
    RenewStarted,
    /// The object was renewed, or the renewal failed.
    RenewDone,
    /// The object is about to be closed.
    CloseStarted,
    /// The object was closed.
    CloseDone,
}

/// Settings of a worker.
#[derive(Clone)]
pub struct WorkerOptions {
    /// The name of the worker, unique in a cluster and without `/`.
    pub name: String,
    /// The identity of the worker's process, from the coordinator's `process::incarnation()`.
    pub incarnation: String,
    /// Labels for placement rules.
    pub labels: BTreeMap<String, String>,
    /// The maximum number of concurrent tasks over all runs; at least 1.
    pub capacity: u32,
    /// The source of provider packages.
    pub packages: Arc<dyn Packages>,
    /// The settings of the pool of provider processes, such as the maximum number of processes and the deadlines of
    /// calls.
    pub pool: PoolOptions,
    /// File access for functions. Only the worker at home has file access.
    pub files: Arc<dyn Files>,
    /// The base of relative file names.
    pub base_directory: PathBuf,
    /// Receives the events and diagnostics of ephemeral objects. Set only if the worker runs in the process of a
    /// command such as `weft apply`. Such a command shows every line of a provisioner, so a provisioner waits while the
    /// queue of lines is full.
    pub said: Option<mpsc::Sender<HostMessage>>,
    /// Stores results without an acknowledgement, so that they outlive the process.
    pub spool: Option<WorkerSpool>,
}

impl WorkerOptions {
    /// The default settings, without labels and without file access.
    pub fn new(name: impl Into<String>, incarnation: impl Into<String>, packages: Arc<dyn Packages>) -> WorkerOptions {
        WorkerOptions {
            name: name.into(),
            incarnation: incarnation.into(),
            labels: BTreeMap::new(),
            capacity: DEFAULT_CAPACITY,
            packages,
            pool: PoolOptions::default(),
            files: Arc::new(ForbiddenFiles),
            base_directory: PathBuf::new(),
            said: None,
            spool: None,
        }
    }
}
