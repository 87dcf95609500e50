//! What a worker's host decides.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use weft_expressions::call_context::{Files, ForbiddenFiles};
use weft_graph_format::diagnostic::Diagnostic;
use weft_providers::PoolOptions;

use crate::packages::Packages;

/// Most tasks at once unless the host says otherwise: enough to hide the delay of a store and a network.
pub const DEFAULT_CAPACITY: u32 = 256;

/// What a worker tells its host beside the results of operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// A line that a provisioner wrote.
    Line {
        /// The instance that it belongs to.
        address: String,
        /// Which provisioner: `local-exec`.
        provisioner: String,
        /// The line, without its end.
        line: String,
    },
    /// Something happens to an ephemeral object.
    Ephemeral {
        /// The instance.
        address: String,
        /// What happens.
        step: EphemeralStep,
    },
    /// What a provider said of an ephemeral object while no operation was waiting for it.
    Problem(Box<Diagnostic>),
}

/// What happens to an ephemeral object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EphemeralStep {
    /// It is about to be opened.
    OpenStarted,
    /// It is open.
    OpenDone,
    /// It is about to be renewed.
    RenewStarted,
    /// It was renewed, or cannot be.
    RenewDone,
    /// It is about to be closed.
    CloseStarted,
    /// It was closed.
    CloseDone,
}

/// Tells the lines of one provisioner.
#[derive(Clone, Debug)]
pub(crate) struct Saying {
    to: Option<mpsc::Sender<Said>>,
    address: String,
    provisioner: String,
}

impl Saying {
    pub(crate) fn new(to: Option<mpsc::Sender<Said>>, address: &str, provisioner: &str) -> Saying {
        Saying { to, address: address.to_owned(), provisioner: provisioner.to_owned() }
    }

    fn said(&self, line: String) -> Said {
        Said::Line { address: self.address.clone(), provisioner: self.provisioner.clone(), line }
    }

    /// Tells a line, where anybody listens.
    pub(crate) async fn say(&self, line: String) {
        if let Some(to) = &self.to {
            // Whoever listened may have gone.
            let _ = to.send(self.said(line)).await;
        }
    }

    /// The same, outside of the runtime.
    pub(crate) fn say_blocking(&self, line: String) {
        if let Some(to) = &self.to {
            let _ = to.blocking_send(self.said(line));
        }
    }
}

/// Settings of a worker.
#[derive(Clone)]
pub struct WorkerOptions {
    /// Its name among the workers of a cluster, without `/`.
    pub name: String,
    /// Which process it is: the coordinator's `process::incarnation()`.
    pub incarnation: String,
    /// What placement rules look at.
    pub labels: BTreeMap<String, String>,
    /// Most tasks at once, all runs together; at least 1.
    pub capacity: u32,
    /// Where provider packages come from.
    pub packages: Arc<dyn Packages>,
    /// How many provider processes may run at once, how long to wait for them, where their schemas are kept.
    pub pool: PoolOptions,
    /// How functions reach files. Only the worker of whoever applies has any.
    pub files: Arc<dyn Files>,
    /// What relative file names are relative to.
    pub base_directory: PathBuf,
    /// Who hears what provisioners write and what happens to ephemeral objects.
    pub said: Option<mpsc::Sender<Said>>,
}

impl WorkerOptions {
    /// A worker without labels and files.
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
        }
    }
}
